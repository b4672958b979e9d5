"""The grid as people know it from a spreadsheet program."""

import re

import pytest

from bomi.campaign import read_sheet
from tests.campaign.corpus import spreadsheet

from .driving import SLOW, button, cell, marked, retype, rows, save, scroll, told

FOCUSED = "getElement(document.querySelector('.grid').id.slice(1)).api.getFocusedCell()"


def focused(tab):
    """The row and the column that keys go to."""
    return tab.evaluate(f"(() => {{ const f = {FOCUSED}; return [f.rowIndex, f.column.getColId()] }})()")


def clipboard(tab, text):
    """Paste a text, as a spreadsheet program puts it there."""
    tab.evaluate(
        """text => { const data = new DataTransfer(); data.setData('text/plain', text);
        document.activeElement.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true,
        cancelable: true})) }""",
        text,
    )


def copied(tab, how="copy"):
    """What a copy or a cut puts on the clipboard."""
    return tab.evaluate(
        """how => { const data = new DataTransfer(); document.activeElement.dispatchEvent(
        new ClipboardEvent(how, {clipboardData: data, bubbles: true, cancelable: true}));
        return data.getData('text/plain') }""",
        how,
    )


def test_keys_do_what_they_do_in_a_spreadsheet(lab, served, tab):
    page = tab(served(lab).address)
    # Enter edits, Escape leaves the cell as it was and stays there.
    cell(page, 2, 7).click()
    page.keyboard.press("Enter")
    cell(page, 2, 7).locator("input").wait_for()
    page.keyboard.type("Zoe")
    page.keyboard.press("Escape")
    assert focused(page) == [2, "c7"]
    assert cell(page, 2, 7).inner_text() == "Chidi"
    assert button(page, "Save").is_hidden()
    assert page.evaluate("Object.keys(bomi.held()).length") == 0
    # Typing replaces, Enter goes on to the next row without typing into it.
    page.keyboard.type("Ann")
    page.keyboard.press("Enter")
    button(page, "Save 1 change").wait_for()
    assert focused(page) == [3, "c7"]
    page.keyboard.press("Delete")
    button(page, "Save 2 changes").wait_for()
    assert cell(page, 3, 7).inner_text() == ""
    page.keyboard.press("Control+z")
    button(page, "Save 1 change").wait_for()
    # Tab goes on to the next column, and does not type into it: Ctrl+Z is of the table.
    page.keyboard.type("Eve")
    page.keyboard.press("Tab")
    button(page, "Save 2 changes").wait_for()
    assert focused(page) == [3, "c8"]
    page.keyboard.press("Control+z")
    button(page, "Save 1 change").wait_for()


def test_blocks_are_copied_pasted_filled_and_cleared(lab, served, tab):
    page = tab(served(lab).address)
    cell(page, 0, 3).click()
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_function("document.querySelectorAll('.ag-cell.marked').length === 4")
    block = "\n".join(f"{row['time']}\t{row['cooling']}" for row in rows(lab)[:2])
    assert copied(page) == copied(page, "cut") == block
    button(page, "Save 4 changes").wait_for()
    assert cell(page, 0, 3).inner_text() == ""
    page.keyboard.press("Control+z")
    button(page, "Save 4 changes").wait_for(state="hidden")
    assert copied(page) == block
    # A block from a spreadsheet program, wider than one cell, quoted where it must be.
    scroll(page, 39)
    cell(page, 38, 7).click()
    clipboard(page, 'Ann\t"two\nlines"\r\nBo\tplain\r\nCleo\tnew\r\n')
    button(page, "Save 5 changes").wait_for()
    scroll(page, 40)
    cell(page, 40, 7).wait_for()
    assert cell(page, 40, 7).inner_text() == "Cleo"
    save(page, "Save 5 changes")
    now = rows(lab)
    assert [(row["operator"], row["note"]) for row in now[38:]] == [
        ("Ann", "two\nlines"),
        ("Bo", "plain"),
        ("Cleo", "new"),
    ]
    scroll(page, 0)
    # One value fills what is marked; Ctrl+D fills down; undo takes a block back at once.
    cell(page, 0, 7).click()
    cell(page, 3, 7).click(modifiers=["Shift"])
    clipboard(page, "Dora")
    page.wait_for_function("document.querySelectorAll('.ag-cell.changed').length === 4")
    cell(page, 0, 7).click()
    page.keyboard.press("Control+z")
    button(page, "Save").wait_for(state="hidden")
    cell(page, 0, 7).click()
    cell(page, 2, 7).click(modifiers=["Shift"])
    page.keyboard.press("Control+d")
    page.wait_for_function("document.querySelectorAll('.ag-cell.changed').length === 2")
    assert [cell(page, row, 7).inner_text() for row in range(3)] == ["Bo"] * 3
    # What a spreadsheet would run is refused as a whole.
    cell(page, 4, 7).click()
    clipboard(page, "fine\n=1+1\n")
    told(page, "would run the cell '=1+1' as a formula")
    assert cell(page, 4, 7).inner_text() == rows(lab)[4]["operator"]


def test_columns_have_units_and_what_was_asked_folds_away(lab, served, tab):
    lines = lab.read_text(encoding="utf-8").splitlines()
    lines = [lines[0] + ",asked.temperature", *(line + "," for line in lines[1:])]
    lab.write_text("\n".join([*lines, "41,,170,3,15,oil,,,,175"]) + "\n", encoding="utf-8")
    page = tab(served(lab).address)
    page.get_by_role("columnheader", name="temperature (°C)").wait_for()
    assert page.get_by_role("columnheader", name="asked: temperature").count() == 0
    page.get_by_text("what was asked").click()
    page.get_by_role("columnheader", name="asked: temperature").wait_for()
    left = """name => [...document.querySelectorAll('.ag-header-cell-text')].find(e => e.textContent === name)
           .getBoundingClientRect().left"""
    places = [page.evaluate(left, name) for name in ("temperature (°C)", "asked: temperature", "time (h)")]
    assert places == sorted(places)
    align = page.evaluate("e => getComputedStyle(e).textAlign", cell(page, 0, 3).element_handle())
    assert align == "right"
    # A mark beside the colour, "new" in full, and a box in the header that selects all and none.
    glyph = "e => getComputedStyle(e, '::before').content"
    assert "◌" in page.evaluate(glyph, cell(page, 0, 2).element_handle())
    page.get_by_label("Search the table").fill("H07")
    page.wait_for_function("document.querySelectorAll('.ag-center-cols-container .ag-row').length === 1")
    page.get_by_label("Search the table").fill("")
    page.locator('.ag-header-cell[col-id="c7"] .ag-header-cell-filter-button').click()
    page.locator(".ag-filter-body input").first.fill("Ann")
    shown = "[...document.querySelectorAll('.ag-row [col-id=c7]')]"
    page.wait_for_function(f"{shown}.every(one => one.innerText === 'Ann')")
    page.locator(".ag-filter-body input").first.fill("")
    page.keyboard.press("Escape")
    page.wait_for_function("document.querySelectorAll('.ag-center-cols-container .ag-row').length > 9")
    page.locator(".ag-header-select-all input").click()
    button(page, "Remove 41 rows").wait_for()
    page.locator(".ag-header-select-all input").click()
    button(page, "Remove").wait_for(state="hidden")
    button(page, "Add row").click()
    assert page.locator('.ag-row[row-index="41"] [col-id="line"]').inner_text() == "new"


def test_an_edit_is_acknowledged_at_once_at_ten_thousand_rows(lab, served, slow_tab):
    """The browser marks it: it does not wait for the table to be checked."""
    lines = lab.read_text(encoding="utf-8").splitlines()
    many = [re.sub(r"^H", f"B{i:03d}-", line) for i in range(250) for line in lines[1:]]
    lab.write_text("\n".join([lines[0], *many]) + "\n", encoding="utf-8")
    page, wire = slow_tab
    page.goto(served(lab).address)
    page.get_by_text("10000 rows, 9750 with an outcome").wait_for(timeout=SLOW)
    cell(page, 1, 4).dblclick()
    editor = cell(page, 1, 4).locator("input")
    wire.hold("in")
    editor.fill("hot")
    editor.press("Enter")
    marked(page, 1, 4, "changed")
    wire.release("in")
    button(page, "Save 1 change").wait_for()
    marked(page, 1, 4, "problem")
    retype(page, 1, 4, "3")
    page.get_by_text("10000 rows, 9750 with an outcome").wait_for()


def test_rows_are_excluded_and_used_again_and_stay_in_the_table(lab, served, tab):
    page = tab(served(lab).address)
    for row in (1, 3):
        page.locator(f'.ag-row[row-index="{row}"] .ag-checkbox-input').first.check()
    button(page, "Exclude 2 rows").click()
    save(page, "Save 3 changes")  # the column among them
    assert [row["exclude"] for row in rows(lab)[:4]] == ["", "yes", "", "yes"]
    page.get_by_text("40 rows, 37 with an outcome").wait_for()
    page.locator(".ag-row.excluded").first.wait_for()
    page.locator('.ag-row[row-index="1"] .ag-checkbox-input').first.check()
    button(page, "Use 1 row").click()
    save(page, "Save 1 change")
    page.get_by_text("40 rows, 38 with an outcome").wait_for()
    assert [row["exclude"] for row in rows(lab)[:4]] == ["", "", "", "yes"]


@pytest.fixture(params=[".xlsx", ".ods"])
def book(lab, request):
    """The lab's table as a workbook; an .xlsx with a bold cell and a second sheet."""
    sheet = read_sheet(lab)
    if request.param == ".ods":
        lab.with_suffix(".ods").write_bytes(spreadsheet([list(sheet.header), *sheet.rows]))
        lab.unlink()
        return lab.with_suffix(".ods")
    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    for row in (sheet.header, *sheet.rows):
        made.active.append([float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else text or None for text in row])
    made.active["H3"].font = openpyxl.styles.Font(bold=True)
    made.create_sheet("notes")["A1"] = "kept"
    made.save(lab.with_suffix(".xlsx"))
    lab.unlink()
    return lab.with_suffix(".xlsx")


def test_a_workbook_is_typed_into_added_to_and_brought_back(book, served, tab):
    before = book.read_bytes()
    page = tab(served(book).address)
    page.get_by_text("40 rows, 39 with an outcome").wait_for()
    retype(page, 1, 7, "Ann")
    retype(page, 2, 2, "165±5")
    marked(page, 2, 2, "uncertain")
    button(page, "Add row").click()
    cell(page, 40, 2).wait_for()
    retype(page, 40, 6, "401")
    assert book.read_bytes() == before
    save(page, "Save 3 changes")
    sheet = read_sheet(book)
    assert (sheet.columns["operator"][1], sheet.columns["temperature"][2]) == ("Ann", "165±5")
    assert (len(sheet.rows), sheet.columns["strength"][40]) == (41, "401")
    if book.suffix == ".xlsx":
        import openpyxl

        now = openpyxl.load_workbook(book)
        assert (now.active["H3"].font.bold, now["notes"]["A1"].value) == (True, "kept")
    # A row less, the version before, and a cell that is refused stays as it was.
    scroll(page, 0)
    page.locator('.ag-row[row-index="1"] .ag-checkbox-input').first.check()
    button(page, "Remove 1 row").click()
    page.get_by_text("In a workbook their cells are emptied").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Remove 1 row").click()
    save(page, "Save 1 change")
    page.get_by_text("40 rows, 39 with an outcome").wait_for()
    button(page, "Versions").click()
    button(page, "Restore the version before").click()
    page.get_by_text("41 rows, 40 with an outcome").wait_for()
    retype(page, 0, 8, "=1+1")
    told(page, "would run the cell '=1+1' as a formula")
    assert cell(page, 0, 8).inner_text() == "thermostat log lost"
