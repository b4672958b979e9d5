"""The page from end to end: what people do with it, and what it leaves on disk."""

import re

from bomi.campaign import Campaign, read_experiments, summarize

from .driving import SLOW, button, cell, go, idle, marked, only, retype, rows, told


def test_the_whole_loop(lab, served, tab):
    campaign = lab.parent / "campaign.toml"
    campaign.write_text(campaign.read_text(encoding="utf-8").partition("[method]")[0], encoding="utf-8")
    before = lab.read_bytes()
    page = tab(served(lab).address)
    # The table with its gaps, as they are typed.
    page.get_by_text("40 rows, 39 with an outcome, 1 failed. 19 values missing, 6 uncertain").wait_for()
    assert cell(page, 0, 2).inner_text() == "?"
    marked(page, 0, 2, "gap")
    marked(page, 1, 5, "gap")
    assert cell(page, 6, 2).inner_text() == "160±8"
    marked(page, 6, 2, "uncertain")
    # Two suggestions, with a prediction and a reason each, become pending rows.
    go(page, "Suggest")
    page.get_by_label("How many experiments").fill("2")
    button(page, "Suggest").click()
    page.get_by_role("region", name="Suggestion 2").wait_for(timeout=SLOW)
    card = page.get_by_role("region", name="Suggestion 1").inner_text()
    assert re.search(r"[\d.]+ ± [\d.]+\sMPa", card)
    assert "row" in card
    button(page, "Add all 2 to the table").click()
    page.get_by_role("heading", name="Experiment H42").wait_for()
    added = rows(lab)[40:]
    assert [row["id"] for row in added] == ["H41", "H42"]
    assert all(row["temperature"] == row["asked.temperature"] and row["strength"] == "" for row in added)
    assert lab.with_name("heat-treatment.csv.bak").read_bytes() == before
    # The first went as asked.
    waiting = page.locator("section", has=page.get_by_role("heading", name="Experiment H41"))
    waiting.get_by_role("button", name="Enter result").click()
    page.get_by_label("strength (MPa)").fill("470.5")
    button(page, "Save result").click()
    page.get_by_role("heading", name="Experiment H41", exact=True).wait_for(state="detached")
    # In the second nobody knows the temperature, and the time was another one.
    page.get_by_role("button", name="Enter result").click()
    page.get_by_role("group", name="temperature").get_by_role("button", name="don't know").click()
    page.get_by_role("group", name="time").get_by_role("button", name="other value").click()
    page.get_by_label("time (h)").fill("soon")
    page.get_by_label("strength (MPa)").fill("431")
    button(page, "Save result").click()
    page.get_by_text("time: expected a number, 300±15, 290..310, <5, or ? for unknown, but got 'soon'").wait_for()
    page.get_by_label("time (h)").fill("70±5")
    button(page, "Save result").click()
    page.get_by_text("No row awaits its outcome").wait_for()
    first, second = rows(lab)[40:]
    assert first == {**added[0], "strength": "470.5"}
    assert second == {**added[1], "strength": "431", "temperature": "?", "time": "70±5"}
    assert lab.read_bytes().splitlines()[1:41] == [line + b",,,," for line in before.splitlines()[1:]]
    # The best changes, and so do the gaps.
    go(page, "Progress")
    page.get_by_text("470.5\u202fMPa", exact=True).wait_for(timeout=SLOW)
    go(page, "Gaps")
    only(page, "temperature")
    page.get_by_role("region", name="temperature of row 43").wait_for()
    assert (
        f"asked: {added[1]['asked.temperature']}"
        in page.get_by_role("region", name="temperature of row 43").inner_text()
    )
    # A gap that was looked up is a gap no more.
    field = page.get_by_label("temperature of row 43, looked up or measured again")
    field.fill("900")
    field.press("Enter")
    page.get_by_text("900 is outside [120, 240] °C").wait_for()
    assert rows(lab)[41]["temperature"] == "?"
    field.fill("165")
    field.press("Enter")
    page.get_by_role("region", name="temperature of row 43").wait_for(state="detached", timeout=SLOW)
    assert rows(lab)[41]["temperature"] == "165"
    only(page, "time")
    page.get_by_role("region", name="time of row 43").wait_for()
    done = summarize(read_experiments(lab, Campaign.read(campaign)))
    assert (done.rows, done.outcomes, done.failed) == (42, 41, 1)


def test_a_result_starts_from_what_is_written_already(lab, served, tab):
    lines = lab.read_text(encoding="utf-8").splitlines()
    names = ("temperature", "time", "cooling", "quench")
    lines = [lines[0] + "".join(f",asked.{name}" for name in names), *(line + ",,,," for line in lines[1:])]
    lab.write_text("\n".join([*lines, "41,,?,3±1,15,oil,,,,175,4,15,oil"]) + "\n", encoding="utf-8")
    page = tab(served(lab).at("suggest"), "Suggest")
    button(page, "Enter result").click()
    pressed = [
        page.get_by_role("group", name=name).locator("[aria-pressed=true]").inner_text() for name in names
    ]  # fmt: skip
    assert pressed == ["don't know", "other value", "as asked", "as asked"]
    assert page.get_by_label("time (h)").input_value() == "3±1"
    page.get_by_label("strength (MPa)").fill("400")
    page.get_by_label("strength (MPa)").press("Enter")
    page.get_by_text("No row awaits its outcome").wait_for()
    assert lab.read_text(encoding="utf-8").splitlines()[-1] == "41,,?,3±1,15,oil,400,,,175,4,15,oil"


def test_editing_marks_problems_at_the_cell_and_saves_only_on_demand(lab, served, tab):
    page = tab(served(lab).address)
    before = lab.read_bytes()
    retype(page, 3, 2, "hot")
    page.get_by_text("1 problem to mend").wait_for()
    marked(page, 3, 2, "problem")
    page.get_by_role("button", name="Row 5, temperature: expected a number").click()
    marked(page, 3, 2, "ag-cell-focus")
    assert lab.read_bytes() == before
    retype(page, 3, 2, "155±5")
    page.get_by_text("1 problem").wait_for(state="detached")
    retype(page, 2, 2, "")
    marked(page, 3, 2, "uncertain")
    button(page, "Save 1 change").click()  # the other is as it was
    page.get_by_text("Saved; the version before is heat-treatment.csv.bak").wait_for()
    assert lab.read_bytes() == before.replace(b"H04,2023-04-01,150,", "H04,2023-04-01,155±5,".encode())
    assert lab.with_name(lab.name + ".bak").read_bytes() == before
    button(page, "Add row").click()
    cell(page, 40, 2).wait_for()
    retype(page, 40, 6, "401")
    page.get_by_text("41 rows, 40 with an outcome").wait_for()
    button(page, "Save 1 change").click()
    button(page, "Save 1 change").wait_for(state="hidden")
    assert rows(lab)[40]["strength"] == "401"
    retype(page, 0, 8, "=1+1")
    page.get_by_text("would run the cell '=1+1' as a formula").wait_for()
    assert cell(page, 0, 8).inner_text() == "thermostat log lost"
    retype(page, 0, 8, 'a, "quoted" note')
    button(page, "Save 1 change").wait_for()
    cell(page, 0, 8).press("Control+s")
    button(page, "Save 1 change").wait_for(state="hidden")
    assert rows(lab)[0]["note"] == 'a, "quoted" note'


def test_rows_are_removed_once_that_is_said_and_saved(lab, served, tab):
    address = served(lab).address
    page = tab(address)
    before = lab.read_text(encoding="utf-8").splitlines(keepends=True)
    for row in (1, 3):
        page.locator(f'.ag-row[row-index="{row}"] .ag-checkbox-input').first.check()
    button(page, "Remove 2 rows").click()
    page.get_by_text("Row 3: H02").wait_for()
    button(page, "Keep").click()
    page.get_by_role("dialog").wait_for(state="detached")
    # With the keyboard: Space selects the row of a cell, Ctrl+Delete asks.
    page.locator('.ag-row[row-index="3"] .ag-checkbox-input').first.uncheck()
    cell(page, 5, 0).click()
    page.keyboard.press("Space")
    button(page, "Remove 2 rows").wait_for()
    page.keyboard.press("Control+Delete")
    page.get_by_text("Row 7: H06").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Remove 2 rows").click()
    page.get_by_text("38 rows, 37 with an outcome").wait_for()
    button(page, "Remove").wait_for(state="hidden")
    page.locator('.ag-row[row-index="1"] [col-id="c0"]', has_text="H03").wait_for()
    assert page.locator(".ag-row-selected").count() == 0
    assert lab.read_text(encoding="utf-8") == "".join(before)
    # What is typed goes to the row that it is typed into, and somebody else's change of a removed row is kept.
    retype(page, 1, 7, "Ann")
    lab.write_text("".join(before).replace("H06,2023-04-06,", "H06,2023-04-04,"), encoding="utf-8")
    page.get_by_text("row 7: you removed it, but it, or a row like it, was changed").wait_for()
    page.get_by_text("39 rows, 38 with an outcome").wait_for()
    button(page, "Save 2 changes").click()
    page.get_by_text("Saved; the version before is heat-treatment.csv.bak").wait_for()
    now = {row["id"]: row for row in rows(lab)}
    assert (len(now), "H02" in now, now["H03"]["operator"], now["H06"]["date"]) == (39, False, "Ann", "2023-04-04")
    assert next(line for line in before if line.startswith("H04")) in lab.read_text(encoding="utf-8")


def test_two_tabs_and_a_spreadsheet_lose_nothing(lab, served, tab):
    address = served(lab).address
    one, two = tab(address), tab(address)
    # What is typed in one tab is seen in the other, and a spreadsheet that changes the same cell is not overwritten.
    retype(one, 0, 7, "Ann")
    two.locator('.ag-row[row-index="0"] [col-id="c7"].changed', has_text="Ann").wait_for()
    retype(two, 1, 7, "Bo")
    one.locator('.ag-row[row-index="1"] [col-id="c7"].changed', has_text="Bo").wait_for()
    text = lab.read_text(encoding="utf-8")
    lab.write_text(text.replace("416.5,Bo,", "416.5,Eve,"), encoding="utf-8")
    for page in (one, two):
        page.get_by_text("these changes of yours were not saved").wait_for()
        page.get_by_text("row 2, column 'operator': you typed 'Ann', but the cell now says 'Eve'").wait_for()
    button(two, "Save 1 change").click()
    button(one, "Save 1 change").wait_for(state="hidden")
    assert [row["operator"] for row in rows(lab)[:2]] == ["Eve", "Bo"]
    button(one, "I have seen it").click()
    # Somebody saves it in a spreadsheet meanwhile, with a row removed above, while a cell is being typed and another
    # is typed but not saved: both go where their rows are now, which wait until the cell is typed.
    retype(one, 7, 7, "Zoe")
    button(one, "Save 1 change").wait_for()
    cell(one, 5, 7).dblclick()
    cell(one, 5, 7).locator("input").fill("Ann")
    lines = lab.read_text(encoding="utf-8").splitlines(keepends=True)
    lab.write_text("".join(lines[:2] + lines[3:]) + "H99,,,1,2,oil,300,,\n", encoding="utf-8")
    for page in (one, two):
        page.get_by_text("The files were changed outside").first.wait_for()
        page.get_by_text("40 rows, 39 with an outcome").wait_for()
    cell(two, 4, 0).get_by_text("H06").wait_for()
    cell(one, 5, 7).locator("input").press("Enter")
    cell(one, 4, 0).get_by_text("H06").wait_for()
    button(one, "Save 2 changes").click()
    one.get_by_text("Saved; the version before").wait_for()
    now = {row["id"]: row["operator"] for row in rows(lab)}
    assert (now["H06"], now["H08"], now["H01"], now["H99"], "H02" in now) == ("Ann", "Zoe", "Eve", "", False)
    # Suggestions are there in both tabs, each is added once, and all are there.
    for page in (one, two):
        go(page, "Suggest")
    one.get_by_label("How many experiments").fill("2")
    button(one, "Suggest").click()
    for page in (one, two):
        page.get_by_role("region", name="Suggestion 2").wait_for(timeout=SLOW)
    two.get_by_role("region", name="Suggestion 1").get_by_role("button", name="Add to the table").click()
    one.get_by_role("region", name="Suggestion 1").wait_for(state="detached")
    one.get_by_role("region", name="Suggestion 2").get_by_role("button", name="Add to the table").click()
    one.get_by_role("region", name="Suggestion 2").wait_for(state="detached")
    assert len(rows(lab)) == 42
    assert len({row["id"] for row in rows(lab)}) == 42


def test_a_broken_upload_is_told_and_changes_nothing(lab, served, tab, tmp_path):
    page = tab(served(lab).address)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    def upload(name, content):
        page.locator('input[type="file"]').set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})

    button(page, "Upload").click()
    upload("photo.csv", bytes(range(256)))
    page.get_by_text("photo.csv is no text").wait_for()
    upload("broken.toml", b"[objective\n")
    page.get_by_text("broken.toml is no valid TOML").wait_for()
    upload("empty.csv", b"")
    page.get_by_text("empty.csv is empty").wait_for()
    upload("../../evil.csv", b'a,b\n"1,2\n')
    page.get_by_text("evil.csv, row 2: a quote is opened and never closed").wait_for()
    large = tmp_path / "large"
    large.mkdir()
    with open(large / "large.csv", "wb") as file:
        file.truncate(20 * 2**20 + 1)
    page.locator('input[type="file"]').set_input_files(large / "large.csv")
    page.get_by_text("That file is too large: up to 20 MB").wait_for()
    changed = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file() and not p.name.startswith(".log")}
    assert changed == {name: content for name, content in before.items() if not name.startswith(".log")}
    # A good one replaces the table once that is said, and the version before is kept.
    good = b"id,temperature,time,cooling,quench,strength\n1,150,2,3,oil,300\n"
    upload("good.csv", good)
    page.get_by_text("good.csv: a table with 1 row and 6 columns").wait_for()
    assert lab.read_bytes() == before[lab.name]
    button(page, "Replace").click()
    page.get_by_text("1 row, 1 with an outcome").wait_for()
    assert lab.read_bytes() == good
    assert lab.with_name(lab.name + ".bak").read_bytes() == before[lab.name]
    with page.expect_download() as download:
        button(page, "Download").click()
    assert download.value.suggested_filename == lab.name
    assert download.value.path().read_bytes() == good


def test_text_of_cells_is_never_run(lab, served, tab):
    bad = "<img src=x onerror=window.bad=1><script>window.bad=1</script>"
    lines = lab.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[0] = lines[0].replace("note", ":note").replace("id,", "id,", 1)
    lines[1] = lines[1].replace("thermostat log lost", "window.bad = 1").replace("H01", f'"{bad}"').replace("Bo", bad)
    lab.write_text("".join(lines), encoding="utf-8")
    campaign = lab.parent / "campaign.toml"
    toml = campaign.read_text(encoding="utf-8").replace('"MPa"', f"'{bad}'").replace('"air"]', f"\"air\", '{bad}']")
    campaign.write_text(toml, encoding="utf-8")
    page = tab(served(lab).address)
    assert cell(page, 0, 0).inner_text() == bad
    page.evaluate("getElement(document.querySelector('.grid').id.slice(1)).api.ensureColumnVisible('c8')")
    assert cell(page, 0, 8).inner_text() == "window.bad = 1"
    page.evaluate("getElement(document.querySelector('.grid').id.slice(1)).api.ensureColumnVisible('c0')")
    retype(page, 1, 4, bad)
    page.get_by_role("button", name="Row 3, cooling").wait_for()
    button(page, "Discard").click()
    button(page, "Discard 1 change").click()
    for view in ("Suggest", "Progress", "Gaps", "Set-up"):
        go(page, view)
        if view == "Suggest":
            button(page, "Suggest").click()
            page.get_by_role("region", name="Suggestion 1").wait_for(timeout=SLOW)
        page.get_by_text(bad).first.wait_for(timeout=SLOW) if view != "Set-up" else page.wait_for_timeout(300)
        idle(page)
    assert page.evaluate("window.bad") is None
    assert page.locator("img[src=x]").count() == 0


def test_the_set_up_is_checked_and_written(lab, served, tab):
    campaign = lab.parent / "campaign.toml"
    before = campaign.read_text(encoding="utf-8")
    page = tab(served(lab).at("setup"), "Set-up")
    page.get_by_label("To", exact=True).first.fill("100")
    button(page, "Save").click()
    page.get_by_text("`low < high` must hold, but got (low=120, high=100)", exact=False).first.wait_for()
    assert campaign.read_text(encoding="utf-8") == before
    page.get_by_label("To", exact=True).first.fill("260")
    page.get_by_label("Values, with commas between").last.fill("oil, water, air, brine")
    button(page, "Save").click()
    told(page, "Saved as campaign.toml")
    made = Campaign.read(campaign)
    assert made.space.parameters["temperature"].high == 260
    assert made.space.parameters["temperature"].step == 5
    assert made.space.parameters["time"].log
    assert list(made.space.parameters["quench"].values) == ["oil", "water", "air", "brine"]
    assert (made.method, made.unit) == ("mean", "MPa")
    assert campaign.with_name("campaign.toml.bak").read_text(encoding="utf-8") == before
    # As text, comments and all; broken TOML is told and not written.
    written = campaign.read_text(encoding="utf-8")
    button(page, "Text").click()
    editor = page.locator(".cm-content")
    editor.press("Control+End")
    page.keyboard.insert_text("\n[broken\n")
    button(page, "Save").click()
    page.get_by_text("is no valid TOML").wait_for()
    assert campaign.read_text(encoding="utf-8") == written


def test_constraints_are_told_and_edited(lab, served, tab):
    campaign = lab.parent / "campaign.toml"
    toml = campaign.read_text(encoding="utf-8") + "\n[[constraints]]\nterms = {temperature = 1, time = 2}\nmax = 180\n"
    campaign.write_text(toml, encoding="utf-8")
    page = tab(served(lab).address)
    page.get_by_text("breaks the constraint").first.wait_for()
    go(page, "Set-up")

    def save(*problem):
        before = campaign.read_text(encoding="utf-8")
        drawn = button(page, "Save").element_handle()
        drawn.click()
        for text in problem:
            page.get_by_text(text).first.wait_for()
        if not problem:
            drawn.wait_for_element_state("hidden")  # what is saved is drawn anew
            assert campaign.read_text(encoding="utf-8") != before
        assert not problem or campaign.read_text(encoding="utf-8") == before
        return [(dict(c.terms), c.min, c.max, c.equals) for c in Campaign.read(campaign).space.constraints]

    first = page.get_by_role("region", name="Constraint 1")
    first.get_by_text("temperature + 2 time <= 180").wait_for()
    assert first.get_by_label("quench").is_hidden()  # no number
    # What is not known of a limit, of a coefficient and of all of them.
    first.get_by_label("Value").fill("")
    first.get_by_label("cooling").fill("many")
    save("The coefficient of 'cooling' must be a number other than 0, but got 'many'")
    first.get_by_label("cooling").fill("-0,1")
    save("`max` of a constraint must be a finite number, but got ''")
    first.get_by_label("Value").fill("200")
    first.get_by_text("temperature + 2 time - 0.1 cooling <= 200").wait_for()
    button(page, "Add a constraint").click()
    second = page.get_by_role("region", name="Constraint 2")
    second.get_by_label("Value").fill("10")
    save("Give at least one parameter a coefficient")
    # Spaces without a setting, with the library's reason.
    second.get_by_label("temperature").fill("1")
    save("the constraint temperature <= 10 cannot be kept: within the ranges temperature is at least 120")
    second.get_by_label("Their sum").click()
    page.get_by_role("option", name="is at least").click()
    second.get_by_label("Value").fill("239")
    save("no setting keeps these constraints together: temperature + 2 time - 0.1 cooling <= 200; temperature >= 239")
    second.get_by_label("Their sum").click()
    page.get_by_role("option", name="is between").click()
    second.get_by_label("Value").fill("130")
    second.get_by_label("and", exact=True).fill("190")
    # A parameter that gets another name keeps its part in them.
    page.get_by_label("Name, as in the table").first.fill("oven")
    second.get_by_text("130 <= oven <= 190").wait_for()
    assert save() == [
        ({"oven": 1, "time": 2, "cooling": -0.1}, None, 200, None),
        ({"oven": 1}, 130, 190, None),
    ]
    page.get_by_role("button", name="Remove constraint 1").click()
    page.get_by_role("region", name="Constraint 2").wait_for(state="detached")
    page.get_by_role("button", name="Remove oven").click()
    page.get_by_role("region", name="oven").wait_for(state="detached")
    save("Terms speak of 'oven', which is no parameter")
    page.get_by_role("button", name="Remove constraint 1").click()
    assert save() == []


def test_from_nothing_to_a_first_suggestion(tmp_path, served, tab):
    table = tmp_path / "new.csv"
    page = tab(served(table).address)
    page.get_by_text("There is no table yet").wait_for()
    button(page, "Start from the example").click()
    page.get_by_text("10 rows, 9 with an outcome, 1 failed").wait_for()
    assert summarize(read_experiments(table, Campaign.read(tmp_path / "campaign.toml"))).failed == 1
    (tmp_path / "campaign.toml").unlink()
    page.get_by_text("There is no set-up yet").wait_for()
    button(page, "Set it up").click()
    page.get_by_text("Guessed from the table").wait_for()
    button(page, "Save").click()
    told(page, "Saved as campaign.toml")
    assert Campaign.read(tmp_path / "campaign.toml").objective == "strength"
    assert list(tmp_path.glob(".nicegui*")) == []


def test_a_computation_that_fails_or_is_stopped_keeps_the_page(lab, served, tab):
    campaign = lab.parent / "campaign.toml"
    toml = campaign.read_text(encoding="utf-8").partition("[method]")[0]
    campaign.write_text(toml, encoding="utf-8")
    page = tab(served(lab).at("suggest"), "Suggest")
    page.get_by_label("How many experiments").fill("50")
    button(page, "Suggest").click()
    button(page, "Stop").click()
    page.get_by_text("Stopped.").wait_for()
    other = tab(page.url, "Suggest")
    button(other, "Suggest").click()
    button(other, "Stop").wait_for()
    go(other, "Gaps")  # the suggestion is still on its way
    other.close()
    lab.write_text(lab.read_text(encoding="utf-8").replace("12,2,oil,416.5", "12,x,oil,416.5"), encoding="utf-8")
    page.get_by_text("The table has problems").wait_for()
    button(page, "To the data").click()
    page.get_by_role("button", name="Row 2, cooling: expected a number").wait_for()


def test_two_thousand_rows(lab, served, tab):
    lines = lab.read_text(encoding="utf-8").splitlines()
    many = [re.sub(r"^H", f"B{i:02d}-", line) for i in range(50) for line in lines[1:]]
    lab.write_text("\n".join([lines[0], *many]) + "\n", encoding="utf-8")
    page = tab(served(lab).address)
    page.get_by_text("2000 rows, 1950 with an outcome, 50 failed. 950 values missing").wait_for()
    retype(page, 1, 4, "hot")
    page.get_by_role("button", name="Row 3, cooling").wait_for()
    cell(page, 0, 0).click()
    page.keyboard.press("Control+End")
    cell(page, 1999, 0).wait_for()


def test_keyboard_and_names_for_screen_readers(lab, served, tab):
    page = tab(served(lab).address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to main content"
    page.get_by_role("tab", name="Data").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Suggest", level=1, exact=True).wait_for()
    for view in ("Data", "Suggest", "Set-up"):
        go(page, view)
        nameless = page.evaluate(
            """[...document.querySelectorAll('button, input, [role=slider], [role=combobox]')].filter(e =>
               e.offsetParent !== null && !e.closest('.ag-root-wrapper, .q-uploader') && !(e.getAttribute('aria-label')
               || e.textContent.trim() || e.labels?.length || e.closest('label'))).map(e => e.outerHTML)"""
        )
        assert nameless == []
    assert page.evaluate("document.documentElement.lang") == "en-US"
    dark = page.evaluate("Quasar.Dark.isActive")
    button(page, "Light or dark").click()
    page.reload()
    page.get_by_role("heading", name="Set-up", level=1).wait_for()
    page.wait_for_function(f"Quasar.Dark.isActive === {str(not dark).lower()}")
