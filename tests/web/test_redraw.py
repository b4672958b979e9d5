"""Typing goes on while a view is drawn anew: files change outside, results come in, other tabs are at work."""

from bomi.campaign.kept import kept_path
from bomi.web.desk import Desk, Session

from .driving import button, cell, go, idle, only, rows, told
from .test_losses import wait_kept


def change(lab, edit):
    """Somebody changes the lines of the table in another program."""
    lines = lab.read_text(encoding="utf-8").splitlines()
    edit(lines)
    lab.write_text("\n".join(lines) + "\n", encoding="utf-8")


def come_before(lab):
    change(lab, lambda lines: lines.insert(1, "H99,2023-01-01,170,3,15,oil,300,Zed,"))


def go_before(lab):
    change(lab, lambda lines: lines.pop(2))


def get_a_column(lab):
    def widen(lines):
        lines[:] = [lines[0] + ",extra", *(line + ",1" for line in lines[1:])]

    change(lab, widen)


def set_up_anew(lab):
    path = lab.parent / "campaign.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("240", "250"), encoding="utf-8")


def test_a_cell_is_typed_to_its_end_whatever_happens_to_the_table(lab, served, tab):
    page = tab(served(lab).address)
    assert page.locator(".ag-row-no-animation").count() > 0  # on its way, a row would be clicked for another
    assert page.locator(".ag-row-animation").count() == 0
    before = [row["operator"] for row in rows(lab)]
    cell(page, 3, 7).dblclick()
    cell(page, 3, 7).locator("input").wait_for()
    page.keyboard.press("Control+a")
    for letter, meanwhile in zip("Dora", (come_before, go_before, get_a_column, set_up_anew), strict=True):
        page.keyboard.type(letter)
        meanwhile(lab)
        told(page, "The files were changed outside")
    page.wait_for_timeout(300)  # rows and columns have come
    page.keyboard.type("h")
    page.keyboard.press("Enter")
    button(page, "Save 1 change").click()
    told(page, "Saved; the version before")
    now = {row["id"]: row["operator"] for row in rows(lab) if row["id"] != "H99"}
    assert now.pop("H04") == "Dorah"
    assert [now[key] for key in sorted(now)] == [before[int(key[1:]) - 1] for key in sorted(now)]


def test_a_cell_whose_row_goes_while_it_is_typed_says_so_and_harms_no_other(lab, served, tab):
    page = tab(served(lab).address)
    cell(page, 3, 7).dblclick()
    cell(page, 3, 7).locator("input").fill("Do")
    change(lab, lambda lines: lines.pop(4))
    told(page, "The files were changed outside")
    page.keyboard.type("ra")
    page.keyboard.press("Enter")
    told(page, "'Dora' was not kept: its row is gone")
    page.locator('.ag-row[row-index="3"] [col-id="c0"]', has_text="H05").wait_for()
    assert button(page, "Save").is_hidden()


def test_gaps_are_typed_into_while_the_table_is_learned_anew(lab, served, slow_tab):
    page, wire = slow_tab
    page.goto(served(lab).at("gaps"))
    only(page, "temperature")
    field = page.get_by_label("temperature of row 4, looked up or measured again")
    field.click()
    page.keyboard.type("1")
    change(lab, lambda lines: lines.append("H41,2023-09-01,170,3,15,oil,300,Zed,"))
    told(page, "The files were changed outside")
    page.keyboard.type("6")
    idle(page)
    assert {title.inner_text() for title in page.locator(".cards h2").all()} == {"temperature"}
    # Enter counts, though the server has another card by then, and in another row.
    wire.hold("in")
    change(lab, lambda lines: lines.insert(1, "H42,2023-09-02,160,3,15,oil,310,Zed,"))
    page.wait_for_timeout(2500)
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    wire.release("in")
    told(page, "is 165 now")
    assert {row["id"]: row["temperature"] for row in rows(lab)}["H03"] == "165"


def test_what_is_typed_before_the_connection_is_there_stays(lab, served, slow_tab):
    path = lab.parent / "campaign.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("[parameters.cooling]", '[parameters.cooling]\nrole = "measured"'), encoding="utf-8")
    page, wire = slow_tab
    server = served(lab)
    page.goto(server.at("suggest"))
    field = page.get_by_label("cooling, given")
    wire.hold("in")
    field.fill("12")
    wire.release("in")
    page.get_by_text("What if I run my own?").click()
    page.get_by_label("time, [0.5, 100]").fill("7")
    wait_kept(page, kept_path(lab), '"own/time": "7"')
    assert field.input_value() == "12"
    # Both are there in every view of this table that is opened later.
    go(page, "Data")
    go(page, "Suggest")
    assert page.get_by_label("cooling, given").input_value() == "12"
    assert page.get_by_label("time, [0.5, 100]").input_value() == "7"


def test_keys_that_are_on_their_way_while_the_set_up_is_drawn_anew_arrive(lab, served, slow_tab):
    page, wire = slow_tab
    page.goto(served(lab).at("setup"))
    field = page.get_by_label("To", exact=True).first
    field.click()
    page.keyboard.press("Control+a")
    page.keyboard.type("25")
    wait_kept(page, kept_path(lab), '"high": "25"')
    wire.hold("out")
    page.keyboard.type("0")
    set_up_anew(lab)
    page.get_by_text("was changed outside since you typed this").wait_for()
    wire.release("out")
    page.keyboard.type("1")
    assert field.input_value() == "2501"
    wait_kept(page, kept_path(lab), '"high": "2501"')
    # The text, too.
    page.reload()
    page.get_by_role("button", name="Text").click()
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("# our")
    wait_kept(page, kept_path(lab), "# our")
    wire.hold("out")
    page.keyboard.type(" own")
    path = lab.parent / "campaign.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("250", "260"), encoding="utf-8")
    told(page, "The files were changed outside")
    page.wait_for_timeout(500)  # the editor is loaded
    wire.release("out")
    page.keyboard.type(" words")
    wait_kept(page, kept_path(lab), "# our own words")


def test_a_choice_counts_though_its_list_is_drawn_anew_at_that_moment(lab, served, slow_tab):
    page, wire = slow_tab
    server = served(lab)

    def choose(field, option, meanwhile):
        field.click()
        page.get_by_role("option", name=option, exact=True).wait_for()
        wire.hold("in")  # the browser does not hear of the new card
        meanwhile(lab)
        page.wait_for_timeout(2500)
        page.get_by_role("option", name=option, exact=True).click()
        wire.release("in")

    page.goto(server.at("setup"))
    choose(page.get_by_label("Scale", exact=True).first, "log", set_up_anew)
    wait_kept(page, kept_path(lab), '"scale": "log"')
    choose(page.get_by_label("How gaps are dealt with"), "knn", come_before)
    wait_kept(page, kept_path(lab), '"method": "knn"')
    page.goto(server.at("gaps"))
    only(page, "quench")
    choose(page.get_by_label("looked up or measured again").first, "water", go_before)
    wait_kept(page, kept_path(lab), '/quench": "water"')


def test_a_choice_that_never_arrived_comes_back_after_a_reload(lab, served, slow_tab):
    page, wire = slow_tab
    page.goto(served(lab).at("suggest"))
    page.get_by_text("What if I run my own?").click()
    page.get_by_label("quench").click()
    page.get_by_role("option", name="water").wait_for()
    wire.hold("out")
    page.get_by_role("option", name="water").click()
    page.wait_for_timeout(300)
    wire.held["out"] = None  # what was on its way is lost
    page.reload()
    wait_kept(page, kept_path(lab), '"own/quench": "water"')


def test_what_is_saved_is_not_held_any_more(lab):
    """Else a reload would bring it back as something that was typed and not saved."""
    desk = Desk(lab)
    session = Session(desk)
    dropped = []
    session.on_safe = dropped.append
    session.type("gap/H01/temperature", "150")
    session.type("gap/H03/temperature", "16")
    desk.keep("gap/H01/temperature", None)
    assert dropped == [{"gap/H01/temperature": "150"}]
    session.received("setup/form/parameters/0/unit", "mm")
    desk.keep("setup", {"form": {}})
    desk.keep("setup", None)
    assert dropped[1:] == [{"setup/form/parameters/0/unit": "mm"}]
    desk.write_down()
    assert dropped[2:] == [{"gap/H03/temperature": "16"}]


def test_a_cell_that_is_left_open_is_entered_wherever_one_goes(lab, served, tab):
    page = tab(served(lab).at("home"), "Home")

    def leave(row, name, way):
        cell(page, row, 7).dblclick()
        cell(page, row, 7).locator("input").fill(name)
        way()
        wait_kept(page, kept_path(lab), f'"text": "{name}"')

    go(page, "Data")
    leave(3, "Dora", page.go_back)
    page.get_by_text("1 change of the table not saved yet").wait_for()
    go(page, "Data")
    leave(4, "Emil", page.get_by_role("tab", name="Home", exact=True).click)
    page.get_by_text("2 changes of the table not saved yet").wait_for()
    go(page, "Data")
    leave(5, "Fay", lambda: page.set_viewport_size({"width": 390, "height": 800}))
    page.get_by_role("region", name="Row 7", exact=True).get_by_text("Fay").wait_for()
    page.set_viewport_size({"width": 1280, "height": 860})


def test_what_is_searched_for_stays_when_columns_come(lab, served, tab):
    page = tab(served(lab).address)
    search = page.get_by_label("Search the table")
    search.fill("H0")
    get_a_column(lab)
    page.get_by_role("columnheader", name="extra").wait_for()
    page.keyboard.type("7")
    page.wait_for_function("document.querySelectorAll('.ag-center-cols-container .ag-row').length === 1")
    assert search.input_value() == "H07"


def test_what_is_typed_goes_on_while_the_table_is_away_or_has_problems(lab, served, tab):
    page = tab(served(lab).at("suggest"), "Suggest")
    page.get_by_text("What if I run my own?").click()
    page.get_by_label("time, [0.5, 100]").click()
    page.keyboard.type("1")
    aside = lab.with_name("aside")
    lab.rename(aside)
    page.get_by_role("heading", name="heat-treatment.csv is no longer there").wait_for()
    page.keyboard.type("2")
    aside.rename(lab)
    page.get_by_role("heading", name="heat-treatment.csv is no longer there").wait_for(state="detached")
    change(lab, lambda lines: lines.append("H41,2023-09-01,hot,3,15,oil,300,Zed,"))
    page.get_by_role("heading", name="The table has problems").wait_for()
    page.keyboard.type(".5")
    wait_kept(page, kept_path(lab), '"own/time": "12.5"')
    assert page.get_by_label("time, [0.5, 100]").input_value() == "12.5"


def test_a_phone_types_into_its_row_wherever_that_is_and_escape_loses_nothing(lab, served, tab):
    page = tab(served(lab).address)
    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_role("region", name="Row 8", exact=True).get_by_role("button", name="Edit").click()
    page.get_by_label("operator").fill("Zoe")
    come_before(lab)
    told(page, "The files were changed outside")
    page.get_by_label("note").fill("hey")
    page.keyboard.press("Escape")
    page.get_by_role("region", name="Row 9", exact=True).get_by_text("hey").wait_for()
    button(page, "Save 2 changes").click()
    told(page, "Saved; the version before")
    assert [(row["id"], row["note"]) for row in rows(lab) if row["operator"] == "Zoe"] == [("H07", "hey")]
    page.set_viewport_size({"width": 1280, "height": 860})
