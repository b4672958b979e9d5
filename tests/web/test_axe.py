"""Everybody can use the page: axe-core finds nothing in any view, in light and dark, wide, narrow and on a phone."""

from pathlib import Path

import pytest

from .driving import SLOW, button, go, idle

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
WIDTHS = {"wide": 1280, "narrow": 700, "phone": 390}
COLOURS = ("color-contrast", "link-in-text-block")  # the rules that light and dark make a difference to
CHECK = """async (rules) => (await axe.run(document, {resultTypes: ['violations'], preload: false,
    ...(rules && {runOnly: {type: 'rule', values: rules}})})).violations.flatMap(v =>
    v.nodes.map(n => `${v.id}: ${n.target} ${n.html.slice(0, 160)} ${(n.any[0] || {}).message || ''}`))"""


def faults(page, rules=None):
    """What axe-core finds wrong."""
    page.mouse.move(2, 2)
    page.wait_for_function("!document.querySelector('.q-tooltip, .q-notification')")  # which come and go
    page.wait_for_timeout(100)
    found = page.evaluate(CHECK, rules)
    if found:  # a button that the mouse has just left may still be fading
        page.wait_for_timeout(600)
        found = page.evaluate(CHECK, rules)
    return found


def test_axe_finds_nothing(lab, served, chromium):
    text = lab.read_text(encoding="utf-8")
    lab.write_text(text + "41,,175,4,15,oil,,,\n42,,hot,4,15,oil,300,,\n", encoding="utf-8")
    server = served(lab)
    context = chromium.new_context(bypass_csp=True, reduced_motion="reduce")
    context.set_default_timeout(90_000)
    context.add_init_script(AXE)
    page = context.new_page()
    found = {}

    def look(name):
        for theme in ("dark", "light"):
            page.emulate_media(color_scheme=theme)
            page.wait_for_function("dark => Quasar.Dark.isActive === dark", arg=theme == "dark")
            for size, width in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": 860})
                found[f"{name}, {theme}, {size}"] = faults(page, COLOURS if theme == "dark" else None)
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    found[f"{name}, {theme}, {size}"].append("wider than the window")
        page.set_viewport_size({"width": 1280, "height": 860})

    page.goto(server.address)
    page.get_by_text("1 problem to mend").wait_for()
    look("problems")
    lab.write_text(text + "41,,175,4,15,oil,,,\n", encoding="utf-8")
    page.get_by_text("41 rows, 39 with an outcome").wait_for()
    look("data")
    go(page, "Suggest")
    button(page, "Suggest").click()
    page.get_by_role("region", name="Suggestion 1").wait_for(timeout=SLOW)
    look("suggest")
    button(page, "Enter result").click()
    page.get_by_label("strength (MPa)").wait_for()
    look("result")
    button(page, "Cancel").click()
    page.get_by_role("dialog").wait_for(state="detached")
    go(page, "Gaps")
    page.get_by_label("Show", exact=True).wait_for(timeout=SLOW)
    look("gaps")
    go(page, "Progress")
    page.get_by_role("heading", name="Which parameters matter").wait_for(timeout=SLOW)
    look("progress")
    go(page, "Set-up")
    button(page, "Add a constraint").click()
    look("set-up")
    go(page, "Home")
    page.get_by_role("heading", name="Most worth looking up").wait_for()
    idle(page)
    look("home")
    context.close()
    told = [f"{name}: {problem}" for name, problems in found.items() for problem in problems]
    if told:
        pytest.fail("\n".join(told))
