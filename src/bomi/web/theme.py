"""How the page looks, in light and dark, and the few pieces that every view is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from bomi.campaign import Campaign
from bomi.space import Parameter, cells
from bomi.space.cells import Cell

BLUE, VERMILION, GREEN = "#2f8fcf", "#d9662b", "#2a9d7c"  # seen well on white and on black, and by the colour-blind

CSS = (
    """
:root {
  --page: #f6f6f4; --card: #ffffff; --ink: #1d2125; --soft: #5c636d; --line: #e2e3e5; --field: #fafafa;
  --accent: #0067a3; --accent-soft: #e7f1f9; --warm: #a64b00;
  --gap: #ffedc2; --uncertain: #e2eefa; --pending: #d3eddf; --failed: #f3d8d2; --bad: #b3261e; --bad-soft: #fdeceb;
}
body.body--dark {
  --page: #131619; --card: #1b1f23; --ink: #e7e9ec; --soft: #a3abb6; --line: #2d333a; --field: #20252a;
  --accent: #6cb8ee; --accent-soft: #16303f; --warm: #f0a35e;
  --gap: #4a3c14; --uncertain: #1d3448; --pending: #1b3a2b; --failed: #432b26; --bad: #ff9a92; --bad-soft: #3b2120;
}
body, .q-body--prevent-scroll { background: var(--page) !important; color: var(--ink);
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; font-size: 15px;
  line-height: 1.5; font-variant-numeric: tabular-nums; }
.nicegui-content { padding: 0 !important; gap: 0 !important; align-items: stretch !important; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.bar { position: sticky; top: 0; z-index: 20; display: flex; align-items: center; gap: 4px 20px; padding: 0 24px;
  background: var(--card); border-bottom: 1px solid var(--line); flex-wrap: wrap; }
.brand { font-weight: 700; font-size: 19px; letter-spacing: -0.02em; color: var(--accent); padding: 10px 0; }
.file { color: var(--soft); font-size: 14px; max-width: 30vw; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.bar .q-tabs { flex: 0 1 auto; color: var(--soft); }
.bar .q-tab { min-height: 52px; padding: 0 14px; text-transform: none; }
.bar .q-tab__label { font-size: 15px; font-weight: 500; }
.bar .q-tab--active { color: var(--accent); }
.grow { flex: 1; }
.view { padding: 24px; max-width: 1440px; width: 100%; margin: 0 auto; box-sizing: border-box; display: flex;
  flex-direction: column; gap: 16px; }
h1 { font-size: 22px; font-weight: 650; letter-spacing: -0.01em; line-height: 1.3; margin: 0; }
h2 { font-size: 16px; font-weight: 600; line-height: 1.4; margin: 0; }
.soft { color: var(--soft); }
.small { font-size: 13px; }
.lead { color: var(--soft); max-width: 75ch; }
.stack { display: flex; flex-direction: column; gap: 12px; }
.tight { gap: 4px; }
.title { flex: 1 1 320px; min-width: 0; }
.stack:empty, .sheet > div:empty:not(.grow) { display: none; }
.line { display: flex; align-items: center; gap: 8px 12px; flex-wrap: wrap; }
.between { justify-content: space-between; }
.sheet { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 20px;
  box-sizing: border-box; display: flex; flex-direction: column; gap: 12px; min-width: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 290px), 1fr)); gap: 16px;
  align-items: stretch; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 16px; }
.big { font-size: 28px; font-weight: 650; letter-spacing: -0.02em; line-height: 1.2; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; margin: 0; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; font-weight: 500; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.rows { border-collapse: collapse; width: 100%; white-space: nowrap; }
.rows th { text-align: left; font-weight: 500; color: var(--soft); }
.rows th, .rows td { padding: 6px 20px 6px 0; border-bottom: 1px solid var(--line); }
.rows tbody tr:last-child > * { border-bottom: 0; } .rows td:last-child { padding-right: 0; text-align: right; }
.key { display: inline-flex; align-items: center; gap: 6px; font-size: 13px; color: var(--soft); }
.swatch { width: 14px; height: 14px; border-radius: 3px; border: 1px solid var(--line); }
.swatch.gap { background: var(--gap); } .swatch.uncertain { background: var(--uncertain); }
.swatch.pending { background: var(--pending); } .swatch.failed { background: var(--failed); }
.swatch.problem { background: var(--bad-soft); border: 2px solid var(--bad); }
.badge { font-size: 12.5px; padding: 1px 9px; border-radius: 99px; background: var(--accent-soft); color: var(--accent);
  white-space: nowrap; }
.note { border-radius: 8px; padding: 12px 16px; background: var(--accent-soft); display: flex; gap: 12px;
  align-items: center; flex-wrap: wrap; }
.note.bad { background: var(--bad-soft); } .note.bad .q-icon { color: var(--bad); }
.note .text { flex: 1; min-width: 200px; white-space: pre-line; overflow-wrap: anywhere; }
.empty { text-align: center; align-items: center; padding: 48px 24px; gap: 10px; }
.empty > .q-icon { color: var(--soft); opacity: .7; }
.q-btn { text-transform: none; font-weight: 500; border-radius: 7px; }
.q-btn-toggle { border: 1px solid var(--line); border-radius: 8px; background: var(--field); padding: 2px; }
.q-dialog__inner > .q-card { padding: 24px; }
.q-btn--standard { box-shadow: none; }
@layer overrides { body.body--dark .text-primary { color: var(--accent) !important; } }
.q-field--outlined .q-field__control { border-radius: 7px; background: var(--field); }
.q-card, .q-dialog__inner > div { background: var(--card); color: var(--ink); border-radius: 12px; }
.q-field__label, .q-field__bottom { color: var(--soft); }
.q-field--error .q-field__bottom, .q-field--error .q-field__label { color: var(--bad); }
.q-field__bottom { line-height: 1.3; } .q-field__messages { line-height: 1.3; overflow-wrap: anywhere; }
.q-field__native, .q-field__input { color: var(--ink) !important; }
.form { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 150px), 1fr)); gap: 12px;
  align-items: start; }
.parameter { display: flex; gap: 12px; align-items: start; } .parameter .form { flex: 1;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 116px), 1fr)); gap: 12px; }
.parameter .wide { grid-column: span 3; } .parameter .name { grid-column: span 2; }
.grid { height: max(340px, calc(100vh - 232px)); width: 100%; }
.ag-root-wrapper { border-radius: 10px !important; border-color: var(--line) !important; }
.grid, .grid * { --ag-font-family: inherit; }
.nicegui-aggrid { --ag-background-color: var(--card); --ag-foreground-color: var(--ink); --ag-border-color: var(--line);
  --ag-header-background-color: var(--field); --ag-header-text-color: var(--ink); --ag-font-size: 14px;
  --ag-row-height: 34px; --ag-header-height: 40px; --ag-accent-color: var(--accent); --ag-font-family: inherit;
  --ag-odd-row-background-color: var(--card); --ag-cell-horizontal-padding: 12px; }
.ag-cell.gap { background: var(--gap); } .ag-cell.uncertain { background: var(--uncertain); }
.ag-cell.pending { background: var(--pending); } .ag-cell.failed { background: var(--failed); }
.ag-cell.problem { background: var(--bad-soft); box-shadow: inset 0 0 0 2px var(--bad); }
.ag-cell.changed::after { content: ""; position: absolute; top: 0; right: 0; border: 5px solid transparent;
  border-top-color: var(--accent); border-right-color: var(--accent); }
.ag-cell.rownumber { color: var(--soft); } .ag-cell.aside { color: var(--soft); }
.ag-header-cell.objective .ag-header-cell-text { color: var(--accent); font-weight: 700; }
.ag-header-cell.aside .ag-header-cell-text { color: var(--soft); font-weight: 400; }
.js-plotly-plot text { fill: var(--soft) !important; }
.js-plotly-plot .gridlayer path { stroke: var(--line) !important; }
.js-plotly-plot .zerolinelayer path { stroke: var(--line) !important; }
.js-plotly-plot .hoverlayer text { fill: #fff !important; }
.plot { width: 100%; }
.density { width: 100%; height: 84px; display: block; }
.density .area { fill: %(blue)s; opacity: .28; } .density .edge { fill: none; stroke: %(blue)s; stroke-width: 1.5; }
.density .axis { stroke: var(--line); stroke-width: 1; } .density .asked { stroke: %(vermilion)s; stroke-width: 2;
  stroke-dasharray: 4 3; } .density .middle { stroke: var(--ink); stroke-width: 1.5; }
.density .stated { fill: %(green)s; opacity: .2; } .density .full { fill: %(blue)s; opacity: .75; }
.share { height: 10px; border-radius: 5px; background: %(blue)s; opacity: .85; min-width: 2px; }
.share.more { opacity: .3; border-radius: 0 5px 5px 0; margin-left: -5px; min-width: 0; }
body.body--dark .cm-editor { filter: invert(.88) hue-rotate(180deg); }
.drop { width: 100%; background: var(--field); border: 1.5px dashed var(--line); border-radius: 10px; }
.drop .q-uploader__header { background: none; color: var(--ink); padding: 24px; }
.drop .q-uploader__list { display: none; }
.problems { font-size: 14px; max-height: 168px; overflow: auto; display: flex; flex-direction: column; gap: 2px; }
.problems button { all: unset; cursor: pointer; padding: 3px 8px; border-radius: 6px; overflow-wrap: anywhere; }
.problems button:hover { background: var(--card); }
.problems button:focus-visible { outline: 2px solid var(--accent); }
.nicegui-skip-link { background: var(--card); color: var(--accent); }
@media (max-width: 820px) {
  .bar { padding: 0 12px; } .bar nav { order: 9; width: 100%; } .bar .q-tab { padding: 0 11px; min-height: 44px; }
  .file { max-width: 50vw; } .view { padding: 14px 12px; } .sheet { padding: 16px; }
  .grid { height: max(340px, calc(100vh - 330px)); }
}
@media (prefers-reduced-motion: reduce) { * { animation-duration: .01ms !important; transition: none !important; } }
""".replace("%(blue)s", BLUE)
    .replace("%(vermilion)s", VERMILION)
    .replace("%(green)s", GREEN)
)

REMEMBER = """<script>
  // A figure that is taken away while it is being fitted to its place says so; nobody needs to know.
  addEventListener("unhandledrejection", (event) => {
    if (String(event.reason?.message ?? event.reason).startsWith("Resize must be passed")) event.preventDefault();
  });
  const bomiTheme = () => {
    const chosen = localStorage.getItem("bomi-dark");
    if (window.Quasar && document.body.classList.contains("desktop") | document.body.classList.contains("mobile")) {
      Quasar.Dark.set(chosen === null ? "auto" : chosen === "1");
    } else setTimeout(bomiTheme, 20);
  };
  document.addEventListener("DOMContentLoaded", () => setTimeout(bomiTheme, 0));
</script>"""


def dress() -> None:
    """Give the page its style, and the light or dark that was chosen last."""
    ui.colors(primary="#0067a3", negative="#b3261e", positive="#1d7a55", warning="#a64b00")
    ui.add_css(CSS)
    ui.add_head_html(REMEMBER)


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


def button(text: str, action: Callable[[], Any], *, icon: str | None = None, primary: bool = False) -> ui.button:
    """A button, filled for the main thing to do."""
    made = ui.button(text, icon=icon, on_click=action)
    return made.props("color=primary").props("unelevated" if primary else "outline")


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


def count(number: int, word: str) -> str:
    """So many of something."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def number(value: float | None, digits: int = 4) -> str:
    """A number that people read."""
    return "–" if value is None else f"{float(f'{value:.{digits}g}'):,.10g}".replace(",", "\u2009")


def shown(value: Cell, parameter: Parameter | None = None) -> str:
    """A value with its unit."""
    text = number(value) if isinstance(value, float) else cells.text(value)
    unit = parameter.unit if parameter is not None else ""
    return f"{text}\u202f{unit}" if unit and value is not None else text


def expected(campaign: Campaign, predicted: Any) -> list[tuple[str, str]]:
    """What is expected of each outcome, in words: its name, and mean ± sd with its unit."""
    by_name = predicted if isinstance(predicted, Mapping) else {campaign.objective: predicted}
    return [
        (one.name, with_unit(f"{number(found.mean)} ± {number(found.sd, 2)}", one.unit))
        for one in campaign.objectives
        if (found := by_name.get(one.name)) is not None
    ]


def seen(campaign: Campaign, outcomes: Any) -> list[tuple[str, str]]:
    """Outcomes that were measured: their names, and each with its unit."""
    by_name = outcomes if isinstance(outcomes, Mapping) else {campaign.objective: outcomes}
    return [
        (one.name, with_unit(number(by_name[one.name]), one.unit)) for one in campaign.objectives if one.name in by_name
    ]


def with_unit(text: str, unit: str) -> str:
    """A number and its unit, not to be torn apart."""
    return f"{text}\u202f{unit}" if unit else text
