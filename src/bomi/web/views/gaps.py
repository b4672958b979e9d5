"""Gaps: what each missing value may have been, the one most worth looking up first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nicegui import ui

from bomi.campaign import Campaign
from bomi.campaign.draft import enter
from bomi.campaign.snapshot import Snapshot
from bomi.errors import BomiError, TableError
from bomi.impute.summary import meanings
from bomi.space import Integer, Real, cells
from bomi.space.cells import Interval, Normal
from bomi.web import figures, saved_figures, theme
from bomi.web.desk import Session
from bomi.web.theme import percent
from bomi.web.views import Learned
from bomi.web.views.outside import offer, refused
from bomi.web.views.result import beside
from bomi.web.views.typed import keep, keep_choice

if TYPE_CHECKING:
    from bomi.workflow import Gap

PAGE = 24  # gaps shown at once
ALL = "all parameters"
MANY = 6  # categories from which they are listed


class GapsView(Learned):
    """The gaps of a session's table."""

    job = "gaps"

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        super().__init__(session, go)
        self.count = PAGE
        self.parameter = ALL

    def build(self) -> None:
        """Draw the view."""
        with theme.block("stack tight"):
            theme.heading("Gaps", 1)
            ui.label(
                "What each value that is not known exactly may have been, given its row's outcome and all other rows. "
                "First comes the gap that the best predictable outcome depends on most: if you can look one up, "
                "look up that one."
            ).classes("lead")
        self.begin()

    def show(self, gaps: Sequence[Gap]) -> None:
        """A card for each gap."""
        campaign = self.session.snapshot.campaign
        if campaign is None:
            return
        if not gaps:
            theme.empty("done_all", "There is no gap", "Every input of every row with an outcome is known exactly.")
            return
        names = [ALL, *(name for name in campaign.space.names if any(gap.parameter == name for gap in gaps))]
        with theme.block("line between"):
            with theme.block("line"):
                ui.select(names, value=self.parameter if self.parameter in names else ALL, label="Show").props(
                    "outlined dense"
                ).style("width: 220px").on_value_change(lambda event: self.choose(str(event.value), gaps, campaign))
                self.said = ui.label().classes("soft small")
            with theme.block("line"):
                for text, colour in figures.LEGEND.items():
                    with ui.element("span").classes("key"):
                        ui.element("span").classes("swatch").style(f"background: {colour}").props("aria-hidden=true")
                        ui.label(text)
        for sentence in meanings(campaign.space, ((gap.parameter, gap.probabilities) for gap in gaps)):
            ui.label(sentence).classes("soft small")
        self.cards = ui.element("div").classes("cards")
        self.more = ui.element("div").classes("line").style("justify-content: center")
        self.fill(gaps, campaign)

    def choose(self, name: str, gaps: Sequence[Gap], campaign: Campaign) -> None:
        """Show the gaps of one parameter."""
        self.parameter, self.count = name, PAGE
        self.fill(gaps, campaign)

    def fill(self, gaps: Sequence[Gap], campaign: Campaign) -> None:
        """The cards that are wanted."""
        wanted = [gap for gap in gaps if self.parameter in (ALL, gap.parameter)] or list(gaps)
        self.said.text = theme.count(len(wanted), "value")
        self.cards.clear()
        self.more.clear()
        with self.cards:
            for gap in wanted[: self.count]:
                self.card(gap, campaign)
        if len(wanted) > self.count:

            def on() -> None:
                self.count += 2 * PAGE
                self.fill(gaps, campaign)

            with self.more:
                theme.button(f"Show more ({len(wanted) - self.count} left)", on, icon="expand_more")

    def card(self, gap: Gap, campaign: Campaign) -> None:
        """One gap: its density, in words what it says, and a field for a value that was looked up."""
        parameter = campaign.space.parameters[gap.parameter]
        with theme.sheet() as box:
            box.props["aria-label"] = f"{gap.parameter} of row {gap.number}"
            with theme.block("line between"):
                theme.heading(gap.parameter)
                found = ui.button(theme.called(gap.number, gap.id))
                found.props("flat dense color=primary no-caps padding='0 6px'").tooltip("Show this row in the table")
                found.on_click(lambda: self.find(gap))
            ui.label(self.beside(gap, campaign)).classes("soft small")
            if gap.heights and len(gap.values) > MANY and not isinstance(parameter, Real | Integer):
                self.bars(gap)
            elif gap.heights:
                ui.html(figures.density(gap, parameter), sanitize=False).style("width: 100%")
                self.axis(gap, campaign)
            if gap.heights:
                theme.export(saved_figures.gap(gap, parameter), f"{gap.parameter} of row {gap.number}")
            ui.label(_words(gap, campaign)).classes("small")
            if gap.worth:
                worth = theme.with_unit(theme.number(gap.worth, 2), campaign.unit)
                with theme.block("line").style("gap: 8px"):
                    ui.label(f"worth {worth}").classes("badge")
                    ui.label("of the uncertainty of the best predictable outcome hang on it").classes("soft small")
            ui.element("div").classes("grow")
            self.field(gap, campaign)

    def bars(self, gap: Gap) -> None:
        """Of many categories, the likeliest as a list with bars."""
        ranked = sorted(zip(gap.heights, map(cells.text, gap.values), strict=True), reverse=True)
        with (
            ui.element("div")
            .style(
                "display: grid; grid-template-columns: max-content 1fr max-content; gap: 2px 10px; align-items: center"
            )
            .classes("small")
        ):
            for share, value in ranked[:MANY]:
                ui.label(value)
                ui.element("div").classes("share").style(f"width: {100 * share:.1f}%").props("aria-hidden=true")
                ui.label(percent(share))
        rest = sum(share for share, _ in ranked[MANY:])
        ui.label(f"{len(ranked) - MANY} others together {percent(rest)}").classes("soft small")

    def beside(self, gap: Gap, campaign: Campaign) -> str:
        """What else the table says of its row: its outcome, and who did it when."""
        sheet, place = self.session.snapshot.sheet, _place(self.session.snapshot, gap.number)
        if sheet is None or place < 0:
            return ""
        names = [name for name in (*campaign.outcomes, *beside(sheet, campaign)) if name in sheet.columns]
        told = [(name, sheet.columns[name][place].strip()) for name in names]
        return ", ".join(f"{name} {text}" if name in campaign.outcomes else text for name, text in told if text)

    def find(self, gap: Gap) -> None:
        """Show the row in the table."""
        sheet = self.session.snapshot.sheet
        self.session.wanted = (gap.number, gap.parameter) if sheet is not None else None
        self.go("data")

    def axis(self, gap: Gap, campaign: Campaign) -> None:
        """The ends of the scale, or the categories."""
        parameter = campaign.space.parameters[gap.parameter]
        with theme.block("line small soft").style("flex-wrap: nowrap; gap: 0; margin-top: -8px"):
            if isinstance(parameter, Real | Integer):
                ui.label(cells.number_text(parameter.low)).style("flex: 1")
                ui.label(theme.shown(parameter.high, parameter))
            else:
                for value, share in zip(gap.values, gap.heights, strict=True):
                    ui.label(f"{cells.text(value)} {percent(share)}").style("flex: 1; text-align: center; min-width: 0")

    def field(self, gap: Gap, campaign: Campaign) -> None:
        """Where a value that was looked up goes."""
        parameter = campaign.space.parameters[gap.parameter]
        snapshot = self.session.snapshot
        if not snapshot.editable:
            return
        key = f"gap/{gap.id or gap.number}/{gap.parameter}"

        def again() -> None:
            nonlocal snapshot
            snapshot = self.session.snapshot
            write()

        def write() -> None:
            text = str(typed.value or "").strip()
            if cells.is_unknown(text):
                _wrong(typed, "type the value that was found")
                return
            try:
                enter(snapshot, _place(snapshot, gap.number), {gap.parameter: text})
            except TableError as error:
                wrong, beyond = refused(snapshot, _place(snapshot, gap.number), {gap.parameter: text})
                _wrong(typed, "; ".join(message for _, message in wrong) or str(error))
                more.clear()
                with more:
                    if beyond:
                        offer(self.session, again)
                return
            except BomiError as error:
                _wrong(typed, str(error))
                return
            self.session.desk.keep(key, None)
            self.session.say(f"{gap.parameter} of row {gap.number} is {text} now; everything is learned anew.")
            self.session.refresh()

        with theme.block("line").style("flex-wrap: nowrap; align-items: flex-start"):
            label, kept = "Value looked up", self.session.desk.texts.get(key)
            if not isinstance(parameter, Real | Integer):
                options = [cells.text(value) for value in parameter.values]
                typed = ui.select(options, label=label, value=kept if kept in options else None)
            else:
                typed = ui.input(label, value=kept or "")  # type: ignore[assignment]
            typed.on_value_change(lambda event: self.session.type(key, str(event.value or "")))
            typed.props("outlined dense").style("flex: 1; min-width: 0")
            if isinstance(typed, ui.input):
                keep(typed, self.session, key, write)
            else:
                keep_choice(typed, self.session, key)
            typed.props["aria-label"] = f"{gap.parameter} of row {gap.number}, looked up or measured again"
            write_button = ui.button(icon="save", on_click=write).props("outline color=primary")
            write_button.props["aria-label"] = f"Save {gap.parameter} of row {gap.number}"
            write_button.style("height: 40px")
        more = ui.element("div")


def _words(gap: Gap, campaign: Campaign) -> str:
    parameter = campaign.space.parameters[gap.parameter]
    if not gap.heights:
        return "The method leaves this row out."
    if not isinstance(parameter, Real | Integer):
        share, value = max(zip(gap.heights, map(cells.text, gap.values), strict=True))
        text = f"Most likely {value} ({percent(share)})"
    elif gap.low is not None and gap.middle is not None and gap.high is not None:
        middle = theme.with_unit(theme.number(gap.middle, 3), parameter.unit)
        low, high = theme.number(gap.low, 3), theme.number(gap.high, 3)
        text = f"About {middle}" + (f", 90 % between {low} and {high}" if low != high else "")
    else:
        text = ""
    if gap.asked is not None:
        text += f"; asked: {theme.shown(gap.asked, parameter)}"
    if isinstance(gap.recorded, Normal | Interval):
        text += f"; written: {cells.text(gap.recorded)}"
    return text + "."


def _place(snapshot: Snapshot, number: int) -> int:
    sheet = snapshot.sheet
    return sheet.numbers.index(number) if sheet is not None and number in sheet.numbers else -1


def _wrong(field: ui.input | ui.select, text: str) -> None:
    field.props("error")
    field.props["error-message"] = text
    field.update()
