"""Everybody can use the page: axe-core finds nothing in any view, in light and dark, wide, narrow and on a phone."""

import re
from pathlib import Path

import pytest

from .driving import SLOW, button, go, idle

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
TABLES = ("problems", "data")
WIDTHS = {"wide": 1280, "narrow": 700, "phone": 390}
COLOURS = ("color-contrast", "link-in-text-block")  # the rules that light and dark make a difference to
CHECK = """async (rules) => (await axe.run({exclude: ['.q-notification', '.q-tooltip']},  // which come and go
    {resultTypes: ['violations'], preload: false,
    ...(rules && {runOnly: {type: 'rule', values: rules}})})).violations.flatMap(v =>
    v.nodes.map(n => `${v.id}: ${n.target} ${n.html.slice(0, 160)} ${(n.any[0] || {}).message || ''}`))"""


def faults(page, rules=None):
    """What axe-core finds wrong."""
    page.mouse.move(2, 2)
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
                if name in TABLES:  # which are cards on a phone
                    page.wait_for_function("cards => cards === !document.querySelector('.ag-row')", arg=size == "phone")
                found[f"{name}, {theme}, {size}"] = faults(page, COLOURS if theme == "dark" else None)
                page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
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


def contrast(one, other):
    """By the formula of WCAG 2: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""

    def luminance(colour):
        shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_marks_stand_out_from_the_cards_in_light_and_dark():
    """Figures and bars, which axe-core does not look at."""
    theme = pytest.importorskip("bomi.web.theme")
    cards = re.findall(r"--card: (#\w{6})", (theme.STATIC / "bomi.css").read_text(encoding="utf-8"))
    marks = (theme.BLUE, theme.VERMILION, theme.GREEN, theme.GREY)
    assert len(cards) == 2
    assert [(mark, card) for mark in marks for card in cards if contrast(mark, card) < 3] == []
