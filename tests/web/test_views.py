"""What the views show beyond the loop: a phone's cards, several results at once, maps and figures to save."""

from bomi.campaign.edits import Changes
from bomi.campaign.kept import Kept, kept_path, write_kept

from .driving import SLOW, button, go, rows, told
from .test_dead_ends import without_a_set_up
from .test_losses import wait_kept


def test_a_phone_gets_cards_and_types_into_them(lab, served, tab):
    page = tab(served(lab).address)
    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_role("region", name="Row 3", exact=True).wait_for()
    assert page.locator(".ag-row").count() == 0
    page.get_by_label("Search the table").fill("H07")
    page.get_by_role("region", name="Row 3", exact=True).wait_for(state="detached")
    page.get_by_role("region", name="Row 8", exact=True).get_by_role("button", name="Edit").click()
    page.get_by_label("operator").fill("Zoe")
    page.get_by_label("operator").press("Tab")
    # What is being typed is there again after a reload, though the field was never left.
    page.get_by_label("time", exact=True).press_sequentially("soon")
    page.reload()
    button(page, "Save 2 changes").wait_for()
    page.get_by_label("Search the table").fill("H07")
    page.get_by_role("region", name="Row 8", exact=True).get_by_text("expected a number").wait_for()
    button(page, "Undo").click()
    button(page, "Save 1 change").wait_for()
    page.get_by_role("region", name="Row 8", exact=True).get_by_role("button", name="Edit").click()
    button(page, "Remove").click()
    button(page, "Remove it").click()
    page.get_by_text("39 rows").first.wait_for()
    button(page, "Undo").click()
    button(page, "Save 1 change").click()
    told(page, "Saved")
    assert (rows(lab)[6]["operator"], rows(lab)[6]["time"]) == ("Zoe", "2")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 860})
    page.locator(".ag-row").first.wait_for()


def test_several_results_are_entered_at_once(lab, served, tab):
    text = lab.read_text(encoding="utf-8")
    expected = {"asked/41": {"expected": {"strength": "442"}, "why": "it is expected to be the best"}}
    write_kept(lab, Kept(Changes(), expected))
    lab.write_text(text + "41,,175,4,15,oil,,,\n42,,180,4,15,oil,,,\n43,,185,4,15,oil,,,\n", encoding="utf-8")
    page = tab(served(lab).at("suggest"), "Suggest")
    button(page, "Enter several results").click()
    page.get_by_label("strength of 41").fill("430")
    page.get_by_label("operator of 41").fill("Ann")
    page.keyboard.press("Escape")  # for later: what was typed is kept
    page.get_by_role("dialog").wait_for(state="detached")
    button(page, "Enter several results").click()
    page.get_by_label("strength of 42").fill("much")
    button(page, "Save results").click()
    page.get_by_text("'much'").wait_for()
    assert rows(lab)[40]["strength"] == ""
    page.get_by_label("strength of 42").fill("failed")
    button(page, "Save results").click()
    told(page, "Saved 2 results. 41: strength: expected 442, got 430.")
    page.get_by_role("heading", name="Experiment 43").wait_for()
    page.get_by_role("heading", name="Experiment 41").wait_for(state="detached")
    assert [(row["strength"], row["operator"]) for row in rows(lab)[40:]] == [("430", "Ann"), ("failed", ""), ("", "")]


def test_maps_figures_to_save_and_the_way_from_a_gap_to_its_row(lab, served, tab):
    page = tab(served(lab).at("progress"), "Progress")
    page.get_by_text("alone / ").first.wait_for(timeout=SLOW)
    page.get_by_role("heading", name="Around the recommended setting").wait_for()
    texts = "[...document.querySelectorAll('.js-plotly-plot')].flatMap(p => p.data ?? []).flatMap(d => d.text ?? [])"
    page.wait_for_function(f"{texts}.some(text => /temperature: 150/.test(text))")  # hovering shows the setting
    # A slider along a logarithm says the value, and not its place.
    slider = page.get_by_role("slider", name="time (h)")
    before = slider.get_attribute("aria-valuetext")
    assert 0.5 <= float(before.removesuffix("\u202fh")) <= 100
    slider.locator("[tabindex]").press("ArrowLeft")
    page.get_by_role("heading", name="Around your own setting").wait_for()
    assert float(slider.get_attribute("aria-valuetext").removesuffix("\u202fh")) < float(before.removesuffix("\u202fh"))
    # Marks are as dark as they are meant to be: rows along a slice, and the bars of what matters.
    dots = (
        "[...document.querySelectorAll('.js-plotly-plot')].flatMap(p => p.data ?? []).map(d => d.marker?.opacity ?? 1)"
    )
    bars = "[...document.querySelectorAll('.share')].map(bar => Number(getComputedStyle(bar).opacity))"
    assert {*page.evaluate(dots), *page.evaluate(bars)} == {1}
    button(page, "Draw").click()
    page.get_by_role("img", name="expected strength over time and temperature").wait_for(timeout=SLOW)
    page.get_by_role("heading", name="Predicted against measured").wait_for()
    with page.expect_download() as download:
        button(page, "Save strength over time as SVG").click()
    assert download.value.suggested_filename == "strength over time.svg"
    # What is shown as bars and as a table is drawn to be saved.
    for name, text in (
        ("what matters for strength", "with others"),
        ("what matters only together for strength", "time"),
    ):
        with page.expect_download() as download:
            button(page, f"Save {name} as SVG").click()
        assert text in download.value.path().read_text(encoding="utf-8")
    go(page, "Gaps")
    with page.expect_download(timeout=SLOW) as download:
        button(page, "Save temperature of row 2 as PNG").click(timeout=SLOW)
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    page.get_by_role("button", name="H01 (row 2)").first.click(timeout=SLOW)
    page.get_by_role("heading", name="Data", level=1).wait_for()
    page.locator('.ag-row[row-index="0"] .ag-cell-focus').wait_for()


def test_a_setting_of_one_s_own_is_predicted_and_added(lab, served, tab):
    page = tab(served(lab).at("suggest"), "Suggest")
    page.get_by_text("What if I run my own?").click()
    for name, value in (("temperature", "180 °C"), ("time", "6"), ("cooling", "8")):
        page.get_by_label(name).fill(value)
    button(page, "What to expect").click()
    page.get_by_text("The setting lacks 'quench'.").wait_for()
    page.get_by_label("quench").click()
    page.get_by_role("option", name="oil").click()
    button(page, "What to expect").click()
    page.get_by_text("Its chance to beat the best row is").wait_for(timeout=SLOW)
    button(page, "Add to the table").click()
    told(page, "Added as H41")
    with page.expect_download() as download:
        button(page, "Run sheet").click()
    assert download.value.suggested_filename == "heat-treatment run sheet.html"
    assert "H41 (row 42)" in download.value.path().read_text(encoding="utf-8")
    assert [rows(lab)[40][name] for name in ("id", "temperature", "time", "quench")] == ["H41", "180", "6", "oil"]


def test_home_tells_whether_to_trust_it_whether_to_go_on_and_makes_the_report(lab, served, tab):
    page = tab(served(lab).at("home"), "Home")
    page.get_by_text("The model explains 73 % of what varies in strength").wait_for(timeout=SLOW)
    page.get_by_text("the next experiment is expected to gain").wait_for(timeout=SLOW)
    button(page, "Make the report").click()
    with page.expect_download(timeout=SLOW) as download:
        button(page, "Download the report").click(timeout=SLOW)
    assert download.value.suggested_filename == "heat-treatment report.html"
    assert "Suggested experiments" in download.value.path().read_text(encoding="utf-8")


def test_the_set_up_says_what_other_columns_are_taken_for_and_takes_them(lab, served, tab):
    page = without_a_set_up(lab, served, tab)
    page.get_by_text("4 other columns of the table").wait_for()  # unfolded as long as it is a guess
    page.get_by_text("notes, by its name").wait_for()
    page.get_by_role("button", name="operator may vary").click()
    page.get_by_role("region", name="operator").wait_for()
    assert page.get_by_role("region", name="operator").get_by_label("Values").input_value() == "Bo, Chidi, Ann"
    page.get_by_text("3 other columns of the table").wait_for()


def test_a_result_asks_for_what_people_keep_beside_it_in_their_own_words(lab, served, tab):
    """The date, the lot and a note, whatever they are called; a unit that the column names is not said twice."""
    lab.write_text(
        "Versuch;Datum;Charge;Zeit (min);Festigkeit (MPa);Bemerkung\nV1;01.03.2026;L1;5,5;12,1;\nV2;;;7,5;;\n",
        encoding="utf-8",
    )
    (lab.parent / "campaign.toml").write_text(
        'id = "Versuch"\n[objective]\nname = "Festigkeit (MPa)"\nunit = "MPa"\n'
        '[parameters."Zeit (min)"]\nrange = [5, 10]\nunit = "min"\n',
        encoding="utf-8",
    )
    page = tab(served(lab).at("suggest"), "Suggest")
    button(page, "Enter result").click()
    for label, text in (("Festigkeit (MPa)", "14,2"), ("Datum", "02.03.2026"), ("Charge", "L2"), ("Bemerkung", "fest")):
        page.get_by_label(label, exact=True).fill(text)
    button(page, "Save result").click()
    told(page, "Saved.")
    assert lab.read_text(encoding="utf-8").splitlines()[2] == "V2;02.03.2026;L2;7,5;14,2;fest"


def test_save_stays_in_sight_and_a_dot_says_that_something_is_not_saved(lab, served, tab):
    page = tab(served(lab).at("setup"), "Set-up")
    dot = page.get_by_role("img", name="not saved yet")
    assert dot.is_hidden()
    page.get_by_label("Unit").last.fill("K")
    dot.wait_for()
    page.get_by_role("tab", name="Set-up").locator(".dot").wait_for()
    page.get_by_label("Rows outside the ranges").scroll_into_view_if_needed()
    box = button(page, "Save").bounding_box()
    assert 0 <= box["y"] < 200
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert 0 <= button(page, "Save").bounding_box()["y"] < 200


def test_groups_and_drift_are_named_in_the_set_up(lab, served, tab):
    page = tab(served(lab).at("setup"), "Set-up")
    page.get_by_label("Columns of groups").click()
    options = page.get_by_role("option")
    options.filter(has_text="operator").click()
    assert options.filter(has_text="strength").count() == options.filter(has_text="time").count() == 0
    page.keyboard.press("Escape")
    page.get_by_label("Slow drift").click()
    page.get_by_role("option", name="along date").click()
    wait_kept(page, kept_path(lab), '"drift": "date"')
    page.reload()
    button(page, "Save").click()
    told(page, "Saved as campaign.toml")
    text = (lab.parent / "campaign.toml").read_text(encoding="utf-8")
    assert '[groups]\ncolumns = ["operator"]' in text
    assert '[drift]\ncolumn = "date"' in text
    go(page, "Progress")
    page.get_by_role("heading", name="Groups and drift").wait_for(timeout=SLOW)


def test_what_is_given_today_is_kept_by_the_suggestions(lab, served, tab):
    """A measured parameter has a field at once, others when they are picked; what is typed is kept for other tabs."""
    path = lab.parent / "campaign.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("[parameters.cooling]", '[parameters.cooling]\nrole = "measured"'), encoding="utf-8")
    page = tab(served(lab).at("suggest"), "Suggest")
    page.get_by_label("cooling, given").fill("1000")
    button(page, "Suggest").click()
    page.get_by_text("1000").first.wait_for(timeout=SLOW)
    assert page.get_by_role("heading", name="Suggested experiment").count() == 0
    page.get_by_label("cooling, given").fill("8")
    page.get_by_label("Another parameter is given").click()
    page.get_by_role("option", name="quench").click()
    page.get_by_label("quench, given").click()
    page.get_by_role("option", name="oil").click()
    button(page, "Suggest").click()
    page.get_by_role("heading", name="Suggested experiment").wait_for(timeout=SLOW)
    button(page, "Add to the table").first.click()
    told(page, "Added as")
    assert (rows(lab)[40]["quench"], rows(lab)[40]["cooling"]) == ("oil", "8")
    go(page, "Data")
    go(page, "Suggest")
    assert page.get_by_label("cooling, given").input_value() == "8"
    go(page, "Set-up")
    page.get_by_label("Unit").first.fill("mm")
    button(page, "Save").click()
    told(page, "Saved")
    assert 'role = "measured"' in path.read_text(encoding="utf-8")
