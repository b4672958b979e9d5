"""How the page looks, in light and dark, and the few pieces that every view is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from nicegui import json, ui

from bomi.campaign import Campaign
from bomi.results import by_name, capitalized, rounded
from bomi.space import Parameter, cells
from bomi.space.cells import Cell

STATIC = Path(__file__).parent / "static"
# Another name for another version: a browser may keep what it has loaded.
VERSION = sha256(b"".join(path.read_bytes() for path in sorted(STATIC.iterdir()) if path.is_file())).hexdigest()[:12]
# Seen well on white and on black, and by the colour-blind.
BLUE, VERMILION, GREEN, GREY = "#2f8fcf", "#d9662b", "#2a9d7c", "#7d8590"


def dress(table: str) -> None:
    """Give the page its style and its scripts; `table` tells what is typed here from what is typed of other tables."""
    ui.colors(primary="#0067a3", negative="#b3261e", positive="#1d7a55", warning="#a64b00")
    ui.add_head_html(
        f"<script>window.bomiTable = {dumps(table)}</script>"
        f'<link rel="stylesheet" href="/static/bomi.css?{VERSION}">'
        f'<script src="/static/bomi.js?{VERSION}"></script><script src="/static/grid.js?{VERSION}"></script>'
    )
    ui.add_body_html(
        '<div id="offline" role="status" hidden>No connection. What you type stays in this browser, '
        "and goes on as soon as the connection is back.</div>"
    )


def heading(text: str, level: int = 2) -> None:
    """A heading that screen readers know as one."""
    text_as(f"h{level}", text)


def text_as(tag: str, text: str, classes: str = "") -> ui.element:
    """A text in an element of its own."""
    element = ui.label(text).classes(classes)
    element.tag = tag
    return element


def block(classes: str) -> ui.element:
    """A plain element around others."""
    return ui.element("div").classes(classes)


def sheet(classes: str = "") -> ui.element:
    """A card."""
    return ui.element("section").classes(f"sheet {classes}")


def empty(icon: str, title: str, text: str) -> ui.element:
    """What is shown where nothing is there yet; buttons can be put into it."""
    with sheet("empty") as box:
        ui.icon(icon, size="44px").props("aria-hidden=true")
        heading(title)
        ui.label(text).classes("lead")
    return box


def note(text: str, *, bad: bool = False, icon: str = "") -> ui.element:
    """A message that stays; buttons can be put into it."""
    with ui.element("div").classes("note bad" if bad else "note").props("role=status") as box:
        ui.icon(icon or ("error_outline" if bad else "info_outline"), size="22px").props("aria-hidden=true")
        ui.label(text).classes("text")
    return box


def say(text: str, *, bad: bool = False) -> None:
    """A message that goes by itself; an error waits until it is read."""
    ui.notify(
        text,
        type="negative" if bad else "positive",
        position="bottom",
        multi_line=True,
        timeout=0 if bad else 4000,
        close_button="Close" if bad else False,
    )


def ask(title: str, text: str, yes: str, action: Callable[[], Any], *, no: str = "Cancel") -> None:
    """Ask before something is lost; the safe answer has the focus."""
    with ui.dialog(value=True) as dialog, ui.card().style("width: 480px; max-width: 94vw; gap: 12px"):
        name_dialog(dialog, title)
        heading(title)
        ui.label(text).style("white-space: pre-line; overflow-wrap: anywhere")

        def do() -> None:
            dialog.close()
            action()

        with block("line").style("justify-content: flex-end; width: 100%"):
            button(no, dialog.close).props("autofocus")
            button(yes, do, primary=True)


def name_dialog(dialog: ui.dialog, name: str) -> None:
    """A name for screen readers."""
    dialog.props["aria-label"] = name


def button(text: str, action: Callable[[], Any], *, icon: str | None = None, primary: bool = False) -> ui.button:
    """A button, filled for the main thing to do."""
    made = ui.button(text, icon=icon, on_click=action)
    return made.props("color=primary").props("unelevated" if primary else "outline")


def round_button(icon: str, name: str, action: Callable[[], Any]) -> ui.button:
    """A button with a picture only."""
    made = ui.button(icon=icon, on_click=lambda: action()).props("flat round dense color=primary")
    made.props["aria-label"] = name
    made.tooltip(name)
    return made


def plot(figure: Mapping[str, Any], height: int, name: str) -> ui.plotly:
    """A figure with a name for screen readers; it has its room before plotly is loaded, so that nothing jumps."""
    with block("").style(f"min-height: {height}px"):
        made = ui.plotly(dict(figure)).classes("plot").style(f"height: {height}px")
    made.props["role"] = "img"
    made.props["aria-label"] = name
    return made


def export(figure: ui.plotly | Mapping[str, Any], name: str) -> None:
    """Buttons that save a figure as a file: one that is shown, or one that is shown as text and bars."""

    def save(kind: str) -> None:
        options = {"format": kind, "filename": name, "width": 900, "height": 500, "scale": 2 if kind == "png" else 1}
        shown = figure.figure if isinstance(figure, ui.plotly) else figure  # as it is now
        ui.run_javascript(f"bomi.saveFigure({dumps(shown)}, {dumps(options)})")

    with block("line").style("justify-content: flex-end; gap: 0; margin-top: -6px"):
        for kind in ("svg", "png"):
            made = ui.button(kind.upper(), on_click=partial(save, kind))
            made.props("flat dense color=primary size=sm padding='2px 8px'").props["aria-label"] = (
                f"Save {name} as {kind.upper()}"
            )


def dumps(value: object) -> str:
    """A value in the page's script."""
    return json.dumps(value).replace("<", "\\u003c")


def facts(pairs: list[tuple[str, str]]) -> None:
    """Names and values, aligned."""
    with ui.element("dl").classes("facts"):
        for name, value in pairs:
            text_as("dt", name)
            text_as("dd", value)


def key(kind: str, text: str) -> None:
    """An entry of a legend."""
    with ui.element("span").classes("key"):
        ui.element("span").classes(f"swatch {kind}").props("aria-hidden=true")
        ui.label(text)


def sentence(text: str) -> str:
    """With a capital letter and a full stop, and no percentage torn apart."""
    return f"{capitalized(text)}.".replace(" %", "\u202f%")


def percent(share: float) -> str:
    """A share, not to be torn apart."""
    return with_unit(f"{100 * share:.0f}", "%")


def count(number: int, word: str) -> str:
    """So many of something."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def number(value: float | None, digits: int = 4) -> str:
    """A number that people read."""
    return "–" if value is None else minus(f"{float(f'{value:.{digits}g}'):,.10g}".replace(",", "\u2009"))


def minus(text: str) -> str:
    """A number with a minus sign, as it is printed."""
    return text.replace("-", "\N{MINUS SIGN}")


def shown(value: Cell, parameter: Parameter | None = None) -> str:
    """A value with its unit."""
    text = number(value) if isinstance(value, float) else cells.text(value)
    unit = parameter.unit if parameter is not None else ""
    return f"{text}\u202f{unit}" if unit and value is not None else text


def expected(campaign: Campaign, predicted: Any) -> list[tuple[str, str]]:
    """What is expected of each outcome, in words: its name, and mean ± sd with its unit."""
    each = by_name(predicted, campaign.outcomes)
    objectives = [(one, each.get(one.name)) for one in campaign.objectives]
    return [(one.name, with_unit(minus(rounded(found)), one.unit)) for one, found in objectives if found is not None]


def called(number: int, identity: str | None) -> str:
    """A row, by its id if it has one, and by its line."""
    return f"{identity} (row {number})" if identity else f"row {number}"


def seen(campaign: Campaign, outcomes: Any) -> list[tuple[str, str]]:
    """Outcomes that were measured: their names, and each with its unit."""
    each = by_name(outcomes, campaign.outcomes)
    return [(one.name, with_unit(number(each[one.name]), one.unit)) for one in campaign.objectives if one.name in each]


def with_unit(text: str, unit: str) -> str:
    """A number and its unit, not to be torn apart."""
    return f"{text}\u202f{unit}" if unit else text
