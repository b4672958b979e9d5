"""Nothing that was typed is lost: by no reload, no lost connection, no restarted server, no closed tab and no click."""

import signal

from bomi.campaign.kept import kept_path

from .driving import SLOW, button, cell, go, marked, only, retype, rows, save, told


def wait_kept(tab, path, text):
    """Until something typed is on disk."""
    for _ in range(100):
        if path.exists() and text in path.read_text(encoding="utf-8"):
            return
        tab.wait_for_timeout(50)
    raise AssertionError(f"{text!r} is not in {path}")


def is_held(tab):
    """What the browser holds because it is not known to be safe."""
    return tab.evaluate("Object.keys(bomi.held()).length")


def test_a_server_that_is_killed_and_started_again_loses_no_keystroke(lab, served, tab):
    first = served(lab, alone=True)
    page = tab(first.address)
    retype(page, 0, 7, "Ann")
    retype(page, 1, 7, "Bo")
    button(page, "Add row").click()
    cell(page, 40, 2).wait_for()
    wait_kept(page, kept_path(lab), "Bo")
    wait_kept(page, kept_path(lab), '"added": [{')  # the row too
    page.wait_for_function("Object.keys(bomi.held()).length === 0")  # the browser knows that it is safe
    before = lab.read_bytes()
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    page.get_by_text("No connection. What you type stays in this browser").wait_for()
    # Typed while nobody listens: one cell that is entered, and one that is being typed into.
    retype(page, 2, 7, "Cleo")
    cell(page, 3, 7).dblclick()
    cell(page, 3, 7).locator("input").fill("Dora")
    assert is_held(page) == 2
    served(lab, port=first.port)
    told(page, "Nothing that you typed is lost")
    for row, name in enumerate(("Ann", "Bo", "Cleo", "Dora")):
        page.locator(f'.ag-row[row-index="{row}"] [col-id="c7"].changed', has_text=name).wait_for()
    button(page, "Save 5 changes").wait_for()
    page.wait_for_function("Object.keys(bomi.held()).length === 0")
    assert lab.read_bytes() == before
    page.close()
    # And in a tab that is opened later.
    other = tab(first.address)
    button(other, "Save 5 changes").click()
    told(other, "Saved; the version before")
    assert [row["operator"] for row in rows(lab)[:4]] == ["Ann", "Bo", "Cleo", "Dora"]
    other.wait_for_timeout(700)
    assert not kept_path(lab).exists()


def test_a_table_that_vanishes_for_a_while_takes_nothing_along(lab, served, tab):
    page = tab(served(lab).address)
    button(page, "Add row").click()
    cell(page, 40, 2).wait_for()
    retype(page, 40, 6, "401")
    button(page, "Save 1 change").wait_for()
    aside = lab.with_name("aside")
    lab.rename(aside)
    page.get_by_text("heat-treatment.csv is no longer there: it was moved, renamed or removed").wait_for()
    page.locator(".q-notification.bg-negative", has_text="What you typed is kept").wait_for()
    assert page.locator(".q-notification.bg-positive").count() == 0  # a green tick would say that all is well
    page.get_by_text("What you typed and did not save (1 change) is kept and waits for it.").wait_for()
    aside.rename(lab)
    page.get_by_text("41 rows, 40 with an outcome").wait_for()
    button(page, "Save 1 change").click()
    told(page, "Saved")
    assert rows(lab)[40]["strength"] == "401"
    # Gone for good, it can be written again.
    lab.unlink()
    button(page, "Write it again as it was").click()
    page.get_by_text("41 rows, 40 with an outcome").wait_for()


def test_the_set_up_keeps_what_is_typed_over_views_reloads_and_tabs(lab, served, tab):
    campaign = lab.parent / "campaign.toml"
    before = campaign.read_text(encoding="utf-8")
    server = served(lab)
    page = tab(server.at("setup"), "Set-up")
    page.get_by_label("To", exact=True).first.fill("26")
    button(page, "Add a parameter").click()
    page.get_by_role("region", name="a new parameter").get_by_label("Name, as in the table").fill("pressure")
    go(page, "Data")
    go(page, "Set-up")
    assert page.get_by_label("To", exact=True).first.input_value() == "26"
    wait_kept(page, kept_path(lab), "pressure")
    page.reload()
    page.get_by_role("region", name="pressure").wait_for()
    assert page.evaluate("sessionStorage.getItem('bomi-cut')") is None  # a reload is no lost connection
    assert page.get_by_text("Connected again").count() == 0
    assert page.get_by_label("To", exact=True).first.input_value() == "26"
    page.close()
    page = tab(server.at("setup"), "Set-up")
    page.get_by_role("region", name="pressure").wait_for()
    page.get_by_label("To", exact=True).first.fill("260")
    page.get_by_role("region", name="pressure").get_by_label("From").fill("1")
    page.get_by_role("region", name="pressure").get_by_label("To").fill("5")
    assert campaign.read_text(encoding="utf-8") == before
    page.keyboard.press("Control+s")
    told(page, "Saved as campaign.toml")
    assert "range = [120, 260]" in campaign.read_text(encoding="utf-8")
    # The column that the table lacks is offered and added.
    go(page, "Data")
    page.get_by_text("The set-up speaks of pressure, but the table has no such column").wait_for()
    button(page, "Add 1 column").click()
    button(page, "Save 1 change").click()
    told(page, "Saved; the version before")
    assert rows(lab)[0]["pressure"] == ""
    # Steps can be undone and done again, a parameter that was removed among them.
    go(page, "Set-up")
    page.get_by_role("button", name="Remove pressure").click()
    page.get_by_role("region", name="pressure").wait_for(state="detached")
    page.get_by_label("To", exact=True).first.fill("250")
    button(page, "Undo").click()
    page.wait_for_function("document.querySelectorAll('input[aria-label=\"To\"]')[0]?.value === '260'")
    button(page, "Undo").click()
    page.get_by_role("region", name="pressure").wait_for()
    button(page, "Save").wait_for()
    assert page.get_by_role("button", name="Discard").count() == 0
    button(page, "Do again").click()
    page.get_by_role("region", name="pressure").wait_for(state="detached")
    # Discarding asks, and can be undone.
    page.get_by_label("To", exact=True).first.fill("999")
    button(page, "Discard").click()
    button(page, "Keep").click()
    page.get_by_role("dialog").wait_for(state="detached")
    assert page.get_by_label("To", exact=True).first.input_value() == "999"
    button(page, "Discard").click()
    button(page, "Discard it").click()
    page.wait_for_function("document.querySelectorAll('input[aria-label=\"To\"]')[0]?.value === '260'")
    button(page, "Undo").click()
    page.wait_for_function("document.querySelectorAll('input[aria-label=\"To\"]')[0]?.value === '999'")
    button(page, "Undo").click()
    page.wait_for_function("document.querySelectorAll('input[aria-label=\"To\"]')[0]?.value === '260'")
    button(page, "Undo").click()
    page.get_by_role("region", name="pressure").wait_for()
    # The version before the last save comes back.
    button(page, "Versions").click()
    page.get_by_text("4 parameters, maximize strength").wait_for()
    button(page, "Restore the version before").click()
    told(page, "campaign.toml is the version before now")
    assert campaign.read_text(encoding="utf-8") == before


def test_saving_one_gap_keeps_what_is_typed_into_another(lab, served, tab):
    page = tab(served(lab).at("gaps"), "Gaps")
    only(page, "temperature")
    fields = page.get_by_label("looked up or measured again")
    fields.nth(0).fill("150")
    fields.nth(1).fill("16")
    second = fields.nth(1).get_attribute("aria-label")
    fields.nth(0).press("Enter")
    told(page, "is 150 now")
    page.get_by_label(second).wait_for(timeout=SLOW)
    assert page.get_by_label(second).input_value() == "16"
    page.reload()
    only(page, "temperature")
    assert page.get_by_label(second).input_value() == "16"
    assert page.get_by_text("What you typed before").count() == 0  # what was saved does not come back


def test_a_click_beside_the_result_loses_nothing_and_leaving_it_asks(lab, served, tab):
    text = lab.read_text(encoding="utf-8")
    lab.write_text(text + "41,,175,4,15,oil,,,\n", encoding="utf-8")
    server = served(lab)
    page = tab(server.at("suggest"), "Suggest")
    button(page, "Enter result").click()
    page.get_by_label("strength (MPa)").fill("433")
    page.get_by_role("group", name="time").get_by_role("button", name="other value").click()
    page.get_by_label("time (h)").fill("4.5")
    page.mouse.click(5, 400)
    page.wait_for_timeout(300)
    assert page.get_by_label("strength (MPa)").input_value() == "433"
    page.keyboard.press("Escape")
    button(page, "Keep it for later").click()
    page.get_by_label("strength (MPa)").wait_for(state="detached")
    page.close()
    page = tab(server.at("suggest"), "Suggest")
    button(page, "Go on with the result").click()
    assert page.get_by_label("strength (MPa)").input_value() == "433"
    assert page.get_by_label("time (h)").input_value() == "4.5"
    button(page, "Cancel").click()
    button(page, "Throw it away").click()
    button(page, "Enter result").click()
    assert page.get_by_label("strength (MPa)").input_value() == ""
    page.get_by_label("operator").fill("Ann")
    page.get_by_label("strength (MPa)").fill("440")
    button(page, "Save result").click()
    page.get_by_text("No row awaits its outcome").wait_for()
    assert lab.read_text(encoding="utf-8").splitlines()[-1] == "41,,175,4,15,oil,440,Ann,"


def test_steps_are_undone_and_done_again_and_the_version_before_comes_back(lab, served, tab):
    page = tab(served(lab).address)
    before = lab.read_bytes()
    retype(page, 0, 7, "Ann")
    retype(page, 1, 7, "Eve")
    button(page, "Save 2 changes").wait_for()
    button(page, "Undo").click()
    button(page, "Save 1 change").wait_for()
    cell(page, 1, 0).click()
    page.keyboard.press("Control+z")
    button(page, "Save").wait_for(state="hidden")
    assert cell(page, 0, 7).inner_text() == "Bo"
    page.keyboard.press("Control+y")
    button(page, "Do again").click()
    button(page, "Save 2 changes").wait_for()
    assert cell(page, 1, 7).inner_text() == "Eve"
    # Discarding asks, and is a step that can be undone.
    button(page, "Discard").click()
    button(page, "Discard 2 changes").click()
    button(page, "Save").wait_for(state="hidden")
    button(page, "Undo").click()
    button(page, "Save 2 changes").click()
    told(page, "Saved; the version before")
    after = lab.read_bytes()
    assert after != before
    button(page, "Versions").click()
    button(page, "Restore the version before").click()
    told(page, "is the version before now")
    assert lab.read_bytes() == before
    assert lab.with_name(lab.name + ".bak").read_bytes() == after
    marked(page, 0, 2, "gap")


def test_a_connection_that_is_cut_for_a_while_comes_back_by_itself(lab, served, tab, cut):
    server = served(lab)
    line = cut(server.port)
    page = tab(server.address.replace(str(server.port), str(line.port)))
    retype(page, 0, 7, "Ann")
    button(page, "Save 1 change").wait_for()
    page.evaluate("dispatchEvent(new Event('offline'))")
    assert page.locator("#offline").is_hidden()  # it may be back in a moment
    page.evaluate("dispatchEvent(new Event('online'))")
    line.cut()
    page.get_by_text("No connection. What you type stays in this browser").wait_for()
    retype(page, 1, 7, "Eve")
    line.mend()
    told(page, "Connected again. Nothing that you typed is lost.")
    button(page, "Save 2 changes").wait_for()
    page.get_by_text("No connection. What you type stays in this browser").wait_for(state="hidden")


def test_what_was_on_its_way_when_the_connection_broke_is_sent_again(lab, served, tab, cut):
    """A laptop that sleeps breaks a connection long before either end notices."""
    server = served(lab)
    line = cut(server.port)

    def lost(type_):
        line.swallow()
        type_()
        line.cut()
        line.mend()

    page = tab(server.address.replace(str(server.port), str(line.port)))
    names = ["Ann", "Eve", "Zoe"]
    lost(lambda: [retype(page, row, 7, name) for row, name in enumerate(names)])
    save(page, "Save 3 changes")
    assert [row["operator"] for row in rows(lab)[:3]] == names
    go(page, "Set-up")
    end = page.get_by_label("To", exact=True).first
    lost(lambda: end.fill("260"))
    wait_kept(page, kept_path(lab), '"high": "260"')
    assert end.input_value() == "260"
    button(page, "Save").click()
    told(page, "Saved as campaign.toml")
    assert "range = [120, 260]" in (lab.parent / "campaign.toml").read_text(encoding="utf-8")
