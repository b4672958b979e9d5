"""No dead end: what cannot go on says so in plain words, with a button that does what is needed."""

import re
import shutil

import pytest

from bomi.campaign import Campaign
from tests.campaign.corpus import spreadsheet

from .conftest import QUICK
from .driving import SLOW, button, cell, go, only, retype, rows, told

ONE = """
[objective]
name = "strength"

[parameters.temperature]
range = [100, 300]

[method]
name = "mean"
"""


def test_one_parameter_has_its_progress(lab, served, tab):
    (lab.parent / "campaign.toml").write_text(ONE, encoding="utf-8")
    page = tab(served(lab).at("progress"), "Progress")
    page.get_by_role("heading", name="Which parameters matter").wait_for(timeout=SLOW)
    page.get_by_text("100 %").first.wait_for()


def test_a_broken_set_up_and_a_missing_table_say_so_everywhere(lab, served, tab):
    campaign = lab.parent / "campaign.toml"
    campaign.write_text("[objective\n", encoding="utf-8")
    server = served(lab)
    page = tab(server.at("gaps"), "Gaps")
    page.get_by_role("heading", name="campaign.toml cannot be read").wait_for()
    page.get_by_text("is no valid TOML").wait_for()
    button(page, "Mend it").click()
    page.get_by_role("heading", name="Set-up", level=1).wait_for()
    page.locator(".cm-content").wait_for()
    campaign.write_text(QUICK, encoding="utf-8")
    page.get_by_label("Column of the outcome").wait_for()
    lab.unlink()
    go(page, "Gaps")
    page.get_by_role("heading", name="heat-treatment.csv is no longer there").wait_for()
    go(page, "Home")
    button(page, "Write it again as it was").click()
    page.get_by_role("heading", name="Best so far").wait_for()


def test_rows_outside_the_range_are_used_with_a_button(lab, served, tab):
    text = lab.read_text(encoding="utf-8")
    lab.write_text(text + "41,,900,4,15,oil,300,,\n", encoding="utf-8")
    page = tab(served(lab).address)
    page.get_by_role("button", name="Row 42, temperature: 900 is outside [120, 240] °C").wait_for()
    go(page, "Suggest")
    button(page, "Use the rows outside the range").click()
    page.get_by_label("How many experiments").wait_for()
    assert 'out_of_bounds = "keep"' in (lab.parent / "campaign.toml").read_text(encoding="utf-8")


def test_a_value_outside_the_range_is_told_in_plain_words_wherever_it_is_typed(lab, served, tab):
    lab.write_text(lab.read_text(encoding="utf-8") + "41,,175,4,15,oil,,,\n", encoding="utf-8")
    campaign, page = lab.parent / "campaign.toml", tab(served(lab).at("suggest"), "Suggest")
    button(page, "Enter result").click()
    page.get_by_label("strength (MPa)").fill("433")
    page.get_by_role("group", name="temperature").get_by_role("button", name="other value").click()
    page.get_by_label("temperature (°C)").fill("250")
    button(page, "Save result").click()
    page.get_by_text("temperature: 250 is outside [120, 240] °C").wait_for()
    button(page, "Use the rows outside the range").wait_for()
    button(page, "Cancel").click()
    button(page, "Keep it for later").click()
    page.get_by_role("dialog").first.wait_for(state="detached")
    go(page, "Gaps")
    only(page, "temperature")
    field = page.get_by_label("temperature of row 2, looked up or measured again")
    field.fill("245")
    field.press("Enter")
    page.get_by_text("245 is outside [120, 240] °C").wait_for()
    assert page.get_by_text("out_of_bounds").count() == 0
    assert "out_of_bounds" not in campaign.read_text(encoding="utf-8").partition("[")[0]
    button(page, "Use the rows outside the range").click()
    told(page, "temperature of row 2 is 245 now")
    assert (rows(lab)[0]["temperature"], rows(lab)[40]["strength"]) == ("245", "")
    go(page, "Suggest")
    button(page, "Go on with the result").click()
    button(page, "Save result").click()
    page.get_by_text("No row awaits its outcome").wait_for()
    assert (rows(lab)[40]["temperature"], rows(lab)[40]["strength"]) == ("250", "433")


def test_suggestions_stay_and_say_when_they_are_of_an_older_table(lab, served, tab):
    page = tab(served(lab).at("suggest"), "Suggest")
    page.get_by_label("How many experiments").fill("2")
    page.get_by_label("How many experiments").press("Enter")
    page.get_by_role("region", name="Suggestion 2").wait_for(timeout=SLOW)
    before = page.get_by_role("region", name="Suggestion 1").inner_text()
    assert "beside the best so far" in before
    assert "In brackets: the nearest row" in before
    interval = page.get_by_role("region", name="Suggestion 1").get_by_role("img")
    assert re.fullmatch(r"90 % between \S+ and \S+; the mark is the best so far", interval.get_attribute("aria-label"))
    go(page, "Data")
    page.go_back()
    page.get_by_role("heading", name="Suggest", level=1).wait_for()
    assert page.get_by_role("region", name="Suggestion 1").inner_text() == before
    page.reload()
    page.get_by_role("region", name="Suggestion 2").wait_for()
    # One of them is added: the other is as good as before. Then the table changes.
    page.get_by_role("region", name="Suggestion 1").get_by_role("button", name="Add to the table").click()
    page.get_by_role("heading", name="Experiment H41").wait_for()
    page.get_by_text("Expected: strength").wait_for()
    assert page.get_by_text("these suggestions are of the version before").count() == 0
    lab.write_text(lab.read_text(encoding="utf-8").replace("416.5", "417.5"), encoding="utf-8")
    page.get_by_text("these suggestions are of the version before").wait_for()
    # A suggestion that nobody will run is withdrawn.
    button(page, "Withdraw").click()
    button(page, "Withdraw it").click()
    told(page, "Experiment H41 is withdrawn")
    page.get_by_text("No row awaits its outcome").wait_for()
    assert [row["id"] for row in rows(lab)][-1] == "H40"


def test_stopping_in_one_tab_leaves_the_work_of_another(lab, served, tab):
    (lab.parent / "campaign.toml").write_text(QUICK.partition("[method]")[0], encoding="utf-8")
    server = served(lab)
    one, two = tab(server.at("suggest"), "Suggest"), tab(server.at("suggest"), "Suggest")
    one.get_by_label("How many experiments").fill("2")
    button(one, "Suggest").click()
    button(two, "Stop").click()
    two.get_by_text("Stopped here; another tab still waits for it.").wait_for()
    one.get_by_role("region", name="Suggestion 2").wait_for(timeout=SLOW)


def test_work_that_nobody_waits_for_is_given_up_and_a_reload_goes_on_with_it(lab, served, tab):
    (lab.parent / "campaign.toml").write_text(QUICK.partition("[method]")[0], encoding="utf-8")
    server = served(lab)
    page = tab(server.at("suggest"), "Suggest")
    page.get_by_label("How many experiments").fill("50")
    button(page, "Suggest").click()
    button(page, "Stop").wait_for()
    page.reload()
    button(page, "Stop").wait_for()  # it is not computed in silence
    page.close()
    other = tab(server.at("gaps"), "Gaps")
    other.get_by_role("heading", name="temperature").first.wait_for(timeout=SLOW)
    go(other, "Suggest")
    other.get_by_text("Stopped.").wait_for()


def test_eighteen_categories_can_be_read(lab, served, tab):
    names = [f"solvent {letter}" for letter in "abcdefghijklmnopqr"]
    lines = [f"{i},{10 + i % 7},{names[i % 18]},{20 + i % 5 + i % 18}" for i in range(36)]
    lab.write_text("\n".join(["id,time,solvent,strength", *lines, "36,12,?,31"]) + "\n", encoding="utf-8")
    listed = ", ".join(f'"{name}"' for name in names)
    (lab.parent / "campaign.toml").write_text(
        '[objective]\nname = "strength"\n[parameters.time]\nrange = [5, 20]\n'
        f"[parameters.solvent]\nvalues = [{listed}]\n",
        encoding="utf-8",
    )
    page = tab(served(lab).at("gaps"), "Gaps")
    page.get_by_text("12 others together").wait_for(timeout=SLOW)
    assert page.locator(".share").count() == 6
    go(page, "Progress")
    chosen = page.get_by_role("combobox", name="solvent")
    chosen.wait_for(timeout=SLOW)
    chosen.click()
    assert page.get_by_role("option").count() == 18
    page.keyboard.press("Escape")
    # They are listed below each other: side by side, their names take the room of the figure.
    shown = page.get_by_role("img", name="expected strength along solvent").locator(".ytick")
    shown.nth(17).wait_for()
    assert {text.strip() for text in shown.all_text_contents()} == set(names)


def test_several_campaigns_below_a_folder(lab, served, tab, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shutil.copy(lab, tmp_path / name / "lab.csv")
        (tmp_path / name / "campaign.toml").write_text(QUICK, encoding="utf-8")
    (tmp_path / "two" / "lab.csv").write_text("id,temperature\n1,hot\n", encoding="utf-8")
    server, below = served(lab), tmp_path.name
    page = tab(server.root + f"?token={server.token}", "Campaigns")
    first = page.get_by_role("region", name=f"{below}/one/lab.csv")
    first.get_by_text("40 rows, 39 with an outcome").wait_for()
    page.get_by_role("region", name=f"{below}/two/lab.csv").get_by_text("to mend").wait_for()
    first.get_by_role("link", name=f"Open {below}/one/lab.csv").click()
    page.get_by_role("heading", name="Home", level=1).wait_for()
    assert page.title() == f"Home · {below}/one/lab.csv – bomi"
    go(page, "Data")
    retype(page, 0, 7, "Ann")
    button(page, "Save 1 change").click()
    told(page, "Saved")
    assert rows(tmp_path / "one" / "lab.csv")[0]["operator"] == "Ann"
    # Only what is below the folder, whatever a request says.
    page.goto(server.root + "?table=../../etc/passwd")
    page.get_by_role("heading", name="Campaigns", level=1).wait_for()


def test_workbooks_are_uploaded_and_cells_that_would_run_are_named(lab, served, tab, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    header = ["id", "temperature", "time", "cooling", "quench", "strength"]
    book = openpyxl.Workbook()
    for row in (header, ["1", 150, 2, 3, "oil", 300]):
        book.active.append(row)
    book.save(tmp_path / "book.xlsx")
    (tmp_path / "book.ods").write_bytes(spreadsheet([header, ["1", "160", "2", "3", "oil", "310"]]))
    page = tab(served(lab).address)
    button(page, "Upload").click()
    page.locator('input[type="file"]').set_input_files(
        {"name": "evil.csv", "mimeType": "text/csv", "buffer": b"id,note\n1,=cmd|'/c calc'!A1\n2,fine\n"}
    )
    page.get_by_text("a spreadsheet program would run these cells as formulas").wait_for()
    page.get_by_text("row 2, column 'note': =cmd|").wait_for()
    page.locator('input[type="file"]').set_input_files(tmp_path / "book.xlsx")
    page.get_by_text("book.xlsx: a table with 1 row and 6 columns").wait_for()
    button(page, "Replace").click()
    page.get_by_text("1 row, 1 with an outcome").wait_for()
    assert rows(lab)[0]["temperature"] == "150"
    button(page, "Upload").click()
    page.locator('input[type="file"]').set_input_files(tmp_path / "book.ods")
    page.get_by_text("book.ods: a table with 1 row and 6 columns").wait_for()
    button(page, "Replace").click()
    cell(page, 0, 1).get_by_text("160").wait_for()
    assert rows(lab)[0] == dict(zip(header, ["1", "160", "2", "3", "oil", "310"], strict=True))


def test_from_nothing_one_is_led(tmp_path, served, tab):
    server = served(tmp_path / "new.csv")
    page = tab(server.at("home"), "Home")
    button(page, "Describe it").click()
    page.get_by_label("Column of the outcome").fill("yield")
    page.get_by_label("Name, as in the table").fill("temp")
    page.keyboard.press("Control+s")
    told(page, "Saved as campaign.toml")
    go(page, "Home")
    button(page, "Start the table").click()
    button(page, "Empty table for the set-up").click()
    page.get_by_text("0 rows").first.wait_for()
    go(page, "Home")
    button(page, "Suggest a first design").click()
    page.get_by_label("How many experiments").fill("2")
    page.get_by_label("How many experiments").press("Enter")
    page.get_by_role("region", name="Suggestion 2").wait_for(timeout=SLOW)
    button(page, "Add all 2 to the table").click()
    page.get_by_role("heading", name="Experiment 2").wait_for()
    go(page, "Home")
    button(page, "Enter results").click()
    page.get_by_role("heading", name="Suggest", level=1).wait_for()
    assert [row["temp"] == row["asked.temp"] for row in rows(tmp_path / "new.csv")] == [True, True]
    # Of one table, the address of a view is short, and the title says which it is.
    page.goto(server.at("gaps"))
    page.get_by_role("heading", name="Gaps", level=1).wait_for()
    assert page.title() == "Gaps · new.csv – bomi"
    assert "token" not in page.url
    go(page, "Set-up")
    assert page.url.endswith("?view=setup")
    page.go_back()
    page.get_by_role("heading", name="Gaps", level=1).wait_for()


def without_a_set_up(table, served, tab):
    """The Set-up of a table that has none any more."""
    page = tab(served(table).address)
    (table.parent / "campaign.toml").unlink()
    button(page, "Set it up").click()
    page.get_by_role("heading", name="Set-up", level=1).wait_for()
    return page


def test_a_wide_table_has_a_list_of_columns_to_tick(lab, served, tab):
    names = [f"x{i}" for i in range(199)]
    lines = [",".join(str((i * j) % 7 + 0.5) for j in range(200)) for i in range(20)]
    lab.write_text("\n".join([",".join([*names, "y"]), *lines]) + "\n", encoding="utf-8")
    page = without_a_set_up(lab, served, tab)
    page.get_by_text("The table is wide").wait_for()
    page.get_by_role("checkbox", name="x198", exact=True).wait_for()
    assert page.evaluate("document.documentElement.scrollHeight") < 3000  # the list fills the width
    page.get_by_label("Column of the outcome").fill("y")
    for name in ("x3", "x5"):
        page.get_by_role("checkbox", name=name, exact=True).click()
    button(page, "Show their fields").click()
    page.get_by_role("region", name="x5", exact=True).wait_for()
    page.keyboard.press("Control+s")
    told(page, "Saved as campaign.toml")
    made = Campaign.read(lab.parent / "campaign.toml")
    assert (made.space.names, made.outcomes) == (("x3", "x5"), ("y",))


def test_what_a_guess_cannot_tell_is_asked_with_a_button_for_each_answer(lab, served, tab):
    lines = [f"P{i},{850 + 10 * (i % 4)},{i % 3 + 1},{300 + 7 * i},{250 + 5 * i}" for i in range(8)]
    lab.write_text("\n".join(["Probe,T (°C),t (h),Rm [MPa],Rp0.2 [MPa]", *lines]) + "\n", encoding="utf-8")
    page = without_a_set_up(lab, served, tab)
    page.get_by_text("Which column is the outcome?").wait_for()
    assert page.get_by_text(str(lab.parent)).count() == page.get_by_text("--objective").count() == 0
    page.get_by_role("button", name="Rm [MPa]", exact=True).click()
    page.get_by_role("region", name="T (°C)").wait_for()
    assert page.get_by_label("Column of the outcome").input_value() == "Rm [MPa]"
    page.reload()  # the answer is kept with the rest
    page.get_by_role("region", name="T (°C)").wait_for()
    button(page, "Save").click()
    told(page, "Saved as campaign.toml")
    made = Campaign.read(lab.parent / "campaign.toml")
    assert (made.outcomes, made.id_column) == (("Rm [MPa]",), "Probe")


def test_a_key_that_means_nothing_is_removed_with_a_button(lab, served, tab):
    campaign = lab.parent / "campaign.toml"
    text = 'colour = "red"\n' + QUICK.replace("[parameters.time]", "[parameters.time]\nspeed = 3")
    campaign.write_text(text, encoding="utf-8")
    page = tab(served(lab).at("setup"), "Set-up")
    page.get_by_text("unknown key 'colour'").wait_for()
    button(page, "Remove speed from [parameters.time]").click()
    page.get_by_text("Unknown key 'speed'").wait_for(state="detached")
    button(page, "Remove colour").click()
    page.get_by_text("unknown key 'colour'").wait_for(state="detached")
    assert campaign.read_text(encoding="utf-8") == text
    page.reload()  # what goes is kept with the rest, and comes back by a step
    button(page, "Undo").click()
    page.get_by_text("Also in campaign.toml, and kept as it is: colour").wait_for()
    button(page, "Save").click()
    button(page, "Remove colour").click()
    page.get_by_text("unknown key 'colour'").wait_for(state="detached")
    button(page, "Save").click()
    told(page, "Saved as campaign.toml")
    made = Campaign.read(campaign)
    assert (made.outcomes, made.space.parameters["time"].log) == (("strength",), True)


def test_what_perhaps_nobody_sets_is_said_at_its_fields_once_a_sheet_is_uploaded(lab, served, tab):
    lines = [
        f"{i},{20 + 5 * (i % 4)},{1 + i % 3},{6.81 + 0.07 * (5 * i % 11):.2f},{30 + 7 * i % 23}" for i in range(12)
    ]
    sheet = "\n".join(["run,temperature,time,pH,yield", *lines]) + "\n"
    page = tab(served(lab).address)
    (lab.parent / "campaign.toml").unlink()
    button(page, "Upload").click()
    page.locator('input[type="file"]').set_input_files(
        {"name": "batch.csv", "mimeType": "text/csv", "buffer": sheet.encode()}
    )
    button(page, "Replace").click()
    page.get_by_text("12 rows, 5 columns").wait_for()
    button(page, "Set it up").click()
    page.get_by_text("Perhaps nobody sets pH: it differs in nearly each row, as if measured.").wait_for()
    button(page, "Nobody sets pH").click()
    page.get_by_role("region", name="pH", exact=True).wait_for(state="detached")
    page.get_by_role("button", name="pH may vary").wait_for()
    button(page, "Save").click()
    told(page, "Saved as campaign.toml")
    made = Campaign.read(lab.parent / "campaign.toml")
    assert (made.space.names, made.outcomes) == (("temperature", "time"), ("yield",))
