"""Suggest: the next experiments with what to expect of each and why; and the results of those that were run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from bomi.campaign import Campaign, append
from bomi.campaign.draft import enter
from bomi.data.objectives import ERROR
from bomi.data.observations import FAILED, Row
from bomi.errors import BomiError
from bomi.space import RESERVED, Integer, Real, cells
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.waiting import compute, needs

if TYPE_CHECKING:
    from bomi.workflow import Advice

MOST = 50
AS_ASKED, OTHER, UNKNOWN = "as asked", "other value", "don't know"


class SuggestView:
    """Suggestions, and the rows that await their outcome."""

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        self.session = session
        self.go = go
        self.key = ""

    def build(self) -> None:
        """Draw the view."""
        theme.heading("Suggest", 1)
        if not needs(self.session, self.go):
            return
        with theme.sheet():
            with theme.block("line"):
                self.count = (
                    ui.number("How many experiments", value=1, min=1, max=MOST, precision=0)
                    .props("outlined dense")
                    .style("width: 190px")
                )
                theme.button("Suggest", self.ask, icon="auto_awesome", primary=True)
            ui.label(
                "Each suggestion takes the ones before it, and the rows that await their outcome, into account."
            ).classes("soft small")
        self.results = ui.element("div").classes("stack")
        self.waiting = ui.element("div").classes("stack")
        self.show_waiting()

    def update(self) -> None:
        """The table changed: the rows that wait are others; suggestions that are shown stay."""
        if not hasattr(self, "waiting") or self.session.snapshot.experiments is None:
            self.go("suggest")
            return
        self.show_waiting()

    # --- asking ----------------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Compute suggestions."""
        count = min(max(int(self.count.value or 1), 1), MOST)
        self.count.value = count
        session = self.session
        self.key = session.snapshot.key
        compute(session, self.results, lambda: session.compute("suggest", count), self.show, self.ask)

    def show(self, advices: Sequence[Advice]) -> None:
        """Cards, one for each suggestion."""
        campaign = self.session.snapshot.campaign
        if campaign is None:
            return
        cards: dict[int, ui.element] = {}
        with theme.block("line between"):
            theme.heading("Suggested" if len(advices) > 1 else "Suggested experiment")
            if len(advices) > 1:
                whole = theme.button(
                    f"Add all {len(advices)} to the table",
                    lambda: self.add(advices, cards, list(cards)),
                    icon="playlist_add",
                    primary=True,
                )
                cards_button = whole
            else:
                cards_button = None
        with theme.block("cards"):
            for place, advice in enumerate(advices):
                cards[place] = self.card(campaign, advice, place, advices, cards)
        self.add_all = cards_button

    def card(
        self, campaign: Campaign, advice: Advice, place: int, advices: Sequence[Advice], cards: dict[int, ui.element]
    ) -> ui.element:
        """One suggestion."""
        predicted, parameters = advice.suggestion.predicted, campaign.space.parameters
        kind, _, reason = advice.why.partition(": ")
        with theme.sheet().props(f'aria-label="Suggestion {place + 1}"') as card:
            with theme.block("line between"):
                ui.label(f"Suggestion {place + 1}").classes("soft")
                if reason:
                    ui.label(kind).classes("badge")
            for name, text in theme.expected(campaign, predicted):
                with theme.block("stack tight"):
                    ui.label(text).classes("big")
                    ui.label(f"expected {name}").classes("soft small")
            theme.facts([(name, theme.shown(value, parameters[name])) for name, value in advice.suggestion.items()])
            said = reason or advice.why
            ui.label(said[:1].upper() + said[1:] + ".").classes("soft small")
            ui.element("div").classes("grow")
            theme.button("Add to the table", lambda: self.add(advices, cards, [place]), icon="playlist_add")
        return card

    def add(self, advices: Sequence[Advice], cards: dict[int, ui.element], places: Sequence[int]) -> None:
        """Add suggestions as rows that await their outcome."""
        snapshot = self.session.snapshot
        if snapshot.campaign is None or not places:
            return
        try:
            ids = append(snapshot.table, snapshot.campaign, [advices[place].suggestion for place in places])
        except BomiError as error:
            self.session.say(str(error), bad=True)
            return
        for place in list(places):
            cards.pop(place).delete()
        if not cards:
            self.results.clear()
        elif self.add_all is not None:
            self.add_all.text = f"Add the other {len(cards)} to the table"
        self.session.refresh()
        self.session.say(
            f"Added as {', '.join(ids)}; run {'it' if len(ids) == 1 else 'them'}, then enter what came out below."
        )

    # --- results ---------------------------------------------------------------------------------------------------

    def show_waiting(self) -> None:
        """The rows that await their outcome."""
        experiments, campaign = self.session.snapshot.experiments, self.session.snapshot.campaign
        self.waiting.clear()
        if experiments is None or campaign is None:
            return
        rows = [
            (place, number, row)
            for place, (number, row) in enumerate(zip(experiments.numbers, experiments.rows, strict=True))
            if not row.failed and not row.excluded and len(row.outcomes) < len(campaign.outcomes)
        ]
        with self.waiting:
            theme.heading("Waiting for a result")
            if not rows:
                ui.label("No row awaits its outcome. Suggestions that you add to the table appear here.").classes(
                    "soft"
                )
                return
            with theme.block("cards"):
                for place, number, row in rows:
                    open_result = partial(self.enter, campaign, place, row)
                    with theme.sheet():
                        with theme.block("line between"):
                            theme.heading(f"Experiment {row.id}" if row.id else f"Row {number}")
                            ui.label(f"row {number}").classes("soft small")
                        parameters = campaign.space.parameters
                        inputs = [(name, theme.shown(cell, parameters[name])) for name, cell in row.recorded.items()]
                        theme.facts([*inputs, *theme.seen(campaign, row.outcomes)])
                        ui.element("div").classes("grow")
                        theme.button("Enter result", open_result, icon="edit", primary=True)

    def enter(self, campaign: Campaign, place: int, row: Row) -> None:
        """Ask what came out, and what was different from what was asked."""
        ResultDialog(self.session, campaign, place, row)


class ResultDialog:
    """The result of one row: the outcome, and for each parameter as asked, another value, or nobody knows."""

    def __init__(self, session: Session, campaign: Campaign, place: int, row: Row) -> None:
        self.session, self.campaign, self.place, self.row = session, campaign, place, row
        self.snapshot = session.snapshot
        self.choices: dict[str, ui.toggle] = {}
        self.others: dict[str, Any] = {}
        self.outcomes: dict[str, ui.input] = {}
        with ui.dialog(value=True) as self.dialog, ui.card().style("width: 740px; max-width: 95vw; gap: 14px"):
            theme.heading(f"Result of experiment {row.id}" if row.id else "Result")
            with theme.block("line"):
                for place_, one in enumerate(campaign.objectives):
                    self.outcome(one.name, f"{one.name} ({one.unit})" if one.unit else one.name, first=not place_)
                    if self.column(one.name + ERROR) is not None:
                        self.outcome(one.name + ERROR, "its standard error, if known")
                self.failed = ui.checkbox("It failed: there is no outcome", on_change=self.changed)
            ui.label("What were the settings in fact?").classes("soft")
            with theme.block("stack").style("width: 100%"):
                for name in campaign.space.names:
                    self.parameter(name)
            self.message = ui.element("div").style("width: 100%")
            with theme.block("line").style("justify-content: flex-end; width: 100%"):
                theme.button("Cancel", self.dialog.close)
                theme.button("Save result", self.save, icon="save", primary=True)

    def column(self, name: str) -> str | None:
        """What the row holds in a column, if there is one."""
        columns = self.snapshot.sheet.columns if self.snapshot.sheet else {}
        return columns[name][self.place] if name in columns else None

    def outcome(self, name: str, label: str, *, first: bool = False) -> None:
        """A field for what was measured."""
        field = ui.input(label, value=self.column(name) or "").props("outlined inputmode=decimal")
        self.outcomes[name] = field.style("width: 220px").on("keydown.enter", self.save)
        if first:
            field.props("autofocus")

    def parameter(self, name: str) -> None:
        """One parameter's choice."""
        parameter = self.campaign.space.parameters[name]
        asked = self.row.asked.get(name, self.row.recorded[name])
        label = AS_ASKED if name in self.row.asked else "as in the table"
        typed, recorded = self.column(name) or "", self.row.recorded[name]
        now = label if recorded == asked else UNKNOWN if recorded is None else OTHER
        with theme.block("line").style("width: 100%; border-top: 1px solid var(--line); padding-top: 8px"):
            with theme.block("stack tight").style("width: 150px; gap: 0"):
                ui.label(name).style("font-weight: 500")
                ui.label(theme.shown(asked, parameter)).classes("soft small")
            choice = ui.toggle([label, OTHER, UNKNOWN], value=now, on_change=self.changed)
            choice.props('no-caps unelevated dense padding="4px 10px"').props["aria-label"] = name
            choice.props["role"] = "group"
            self.choices[name] = choice
            if not isinstance(parameter, Real | Integer):
                other: Any = ui.select([cells.text(value) for value in parameter.values], label=name)
            else:
                other = ui.input(name + (f" ({parameter.unit})" if parameter.unit else ""), placeholder="165 or 165±5")
            self.others[name] = other.props("outlined dense").style("width: 190px")
            other.set_visibility(now == OTHER)
            if now == OTHER:
                other.value = typed.strip()

    def changed(self) -> None:
        """Show the fields that are needed."""
        for name, choice in self.choices.items():
            self.others[name].set_visibility(choice.value == OTHER)
        for field in self.outcomes.values():
            field.set_enabled(not self.failed.value)

    def texts(self) -> dict[str, str]:
        """The cells to write."""
        found = {}
        sheet = self.snapshot.sheet
        for name, choice in self.choices.items():
            if choice.value == UNKNOWN:
                found[name] = "?"
            elif choice.value == OTHER:
                found[name] = str(self.others[name].value or "").strip()
                if not found[name]:
                    raise BomiError(f"{name}: type the other value, or choose “{UNKNOWN}”")
            elif choice.value == AS_ASKED and sheet is not None:
                found[name] = sheet.columns[RESERVED + name][self.place]
        if self.failed.value:
            return {**found, **dict.fromkeys(self.campaign.outcomes, FAILED)}
        told = {name: str(field.value or "").strip() for name, field in self.outcomes.items()}
        if all(cells.is_unknown(told[name]) for name in self.campaign.outcomes):
            raise BomiError(f"{self.campaign.objective}: type what came out, or mark it as failed")
        return {**found, **told}

    def save(self) -> None:
        """Write it down."""
        self.message.clear()
        try:
            enter(self.snapshot, self.place, self.texts())
        except BomiError as error:
            with self.message:
                theme.note(str(error), bad=True)
            return
        self.dialog.close()
        self.session.refresh()
        self.session.say("Saved. Suggestions, gaps and progress take it into account from now on.")
