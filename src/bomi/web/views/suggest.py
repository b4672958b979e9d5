"""Suggest: the next experiments with what to expect of each and why; and the results of those that were run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import background_tasks, ui

from bomi.campaign import Campaign, append
from bomi.campaign.draft import remove_row
from bomi.campaign.run_sheet import run_sheet
from bomi.data.objectives import Objective
from bomi.data.observations import Row
from bomi.errors import BomiError
from bomi.results import WIDTH, Prediction, by_name, capitalized
from bomi.web import theme
from bomi.web.desk import Asking, Suggested
from bomi.web.views import View
from bomi.web.views.given import Given
from bomi.web.views.own import Own
from bomi.web.views.result import ResultDialog
from bomi.web.views.results import ResultsDialog
from bomi.web.views.waiting import progress, there
from bomi.web.worker import StoppedError

if TYPE_CHECKING:
    from bomi.workflow import Advice

MOST = 50


class SuggestView(View):
    """Suggestions, and the rows that await their outcome."""

    def build(self) -> None:
        """Draw the view."""
        theme.heading("Suggest", 1)
        if not self.prepared():
            return
        self.ready = True
        with theme.sheet():
            with theme.block("line"):
                self.count = (
                    ui.number("How many experiments", value=1, min=1, max=MOST, precision=0)
                    .props("outlined dense")
                    .style("width: 190px")
                    .on("keydown.enter", self.ask)
                )
                theme.button("Suggest", self.ask, icon="auto_awesome", primary=True)
                ui.label(
                    "Each suggestion takes the ones before it, and the rows that await their outcome, into account."
                ).classes("soft small")
            self.given = Given(self.session, self.session.snapshot.campaign).build()
        if self.session.snapshot.campaign is not None:
            Own(self.session, self.session.snapshot.campaign).build()
        self.results = ui.element("div").classes("stack")
        self.waiting = ui.element("div").classes("stack")
        self.show_results()
        self.show_waiting()

    def update(self) -> None:
        """The table changed: the rows that wait are others, and suggestions may be of an older table."""
        if not self.prepared():
            return
        if not self.ready:
            self.go("suggest")
            return
        self.show_results()
        self.show_waiting()

    # --- asking ----------------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Compute suggestions; they are there even if somebody goes to another view meanwhile."""
        count = min(max(int(self.count.value or 1), 1), MOST)
        self.count.value = count
        given = self.given.read()
        if given is None:
            return
        session, desk = self.session, self.session.desk
        if desk.asking is not None:
            self.join()
            return
        desk.asking, desk.refused = Asking(count), ""
        snapshot = session.snapshot

        async def run() -> None:
            try:
                found = await desk.computing.wait(session, snapshot, "suggest", count, given)
                desk.suggested = Suggested(snapshot.key, tuple(found), tuple(range(len(found))))
            except BomiError as error:
                desk.refused = "Stopped." if isinstance(error, StoppedError) and error.wanted else str(error)
            finally:
                desk.asking = None
                desk.tell()

        background_tasks.create(run())
        desk.tell()

    def stop(self) -> None:
        """This tab no longer waits."""
        self.session.stopped = self.session.desk.asking
        self.session.desk.computing.leave(self.session, "suggest")
        self.session.on_change()

    def join(self) -> None:
        """This tab waits too."""
        self.session.stopped = None
        self.session.on_change()

    def show_results(self) -> None:
        """What is suggested, or how far it is, or why there is nothing."""
        desk = self.session.desk
        state = (desk.asking, self.session.stopped, desk.refused, desk.suggested, self.session.snapshot.key)
        if getattr(self, "_state", None) == state and there(self.results):
            return
        self._state = state
        self.results.clear()
        with self.results:
            if desk.asking is not None and self.session.stopped is desk.asking:
                with theme.note("Stopped here; another tab still waits for it."):
                    theme.button("Wait for it too", self.join)
            elif desk.asking is not None:
                desk.computing.join(self.session, "suggest")
                progress(self.session, "suggest", self.stop)
            elif desk.refused:
                with theme.note(desk.refused, bad=desk.refused != "Stopped."):
                    theme.button("Try again", self.ask)
            elif desk.suggested is not None and desk.suggested.left:
                self.show(desk.suggested)

    def show(self, suggested: Suggested) -> None:
        """Cards, one for each suggestion."""
        campaign = self.session.snapshot.campaign
        if campaign is None:
            return
        if suggested.key != self.session.snapshot.key:
            text = "The table or the set-up has changed since: these suggestions are of the version before."
            with theme.note(text, icon="history"):
                theme.button("Suggest again", self.ask, primary=True)
        left = suggested.left
        if suggested.advices[left[0]].doubt:
            theme.note(theme.sentence(suggested.advices[left[0]].doubt), icon="help_outline")
        with theme.block("line between"):
            theme.heading("Suggested" if len(left) > 1 else "Suggested experiment")
            with theme.block("line"):
                theme.button("Dismiss", self.dismiss)
                if len(left) > 1:
                    whole = len(left) == len(suggested.advices)
                    text = f"Add all {len(left)} to the table" if whole else f"Add the other {len(left)} to the table"
                    theme.button(text, lambda: self.add(left), icon="playlist_add", primary=True)
        with theme.block("cards"):
            for place in left:
                self.card(campaign, suggested.advices[place], place)

    def dismiss(self) -> None:
        """The suggestions are not wanted."""
        self.session.desk.suggested = None
        self.session.desk.tell()

    def card(self, campaign: Campaign, advice: Advice, place: int) -> None:
        """One suggestion."""
        predicted = advice.suggestion.predicted
        kind, reason = advice.why
        objectives = {one.name: one for one in campaign.objectives}
        each = by_name(predicted, campaign.outcomes) if predicted is not None else {}
        with theme.sheet().props(f'aria-label="Suggestion {place + 1}"'):
            with theme.block("line between"):
                ui.label(f"Suggestion {place + 1}").classes("soft")
                if kind:
                    ui.label(kind).classes("badge")
            for name, text in theme.expected(campaign, predicted):
                objective, one = objectives[name], each[name]
                with theme.block("stack tight"):
                    ui.label(text).classes("big")
                    ui.label(f"expected {name}{self.beside_mark(objective, one.mean)}").classes("soft small")
                    self.interval(objective, one)
            for name, text in theme.expected(campaign, advice.suggestion.as_done):
                ui.label(f"As the equipment does it: {text} {name}").classes("soft small")
            self.beside_nearest(campaign, advice)
            ui.label(theme.sentence(reason)).classes("soft small")
            ui.element("div").classes("grow")
            theme.button("Add to the table", lambda: self.add([place]), icon="playlist_add")

    def beside_nearest(self, campaign: Campaign, advice: Advice) -> None:
        """The setting, and in brackets where the nearest row differs from it."""
        experiments, parameters = self.session.snapshot.experiments, campaign.space.parameters
        lines = dict(zip(experiments.numbers, experiments.rows, strict=True)) if experiments is not None else {}
        near = lines[advice.nearest].recorded if advice.nearest in lines else {}
        chosen = advice.suggestion.candidate
        told = [] if chosen is None else [("candidate", str(chosen))]
        differs = {name for name, value in advice.suggestion.items() if name in near and near[name] != value}
        for name, value in advice.suggestion.items():
            other = f" ({theme.shown(near[name])})" if name in differs else ""
            told.append((name, theme.shown(value, parameters[name]) + other))
        theme.facts(told)
        if advice.nearest is not None and differs:
            nearest = theme.called(advice.nearest, lines[advice.nearest].id)
            ui.label(f"In brackets: the nearest row, {nearest}.").classes("soft small")

    def mark(self, objective: Objective) -> float | None:
        """What to compare an expected outcome with: its limit, or the best so far."""
        experiments = self.session.snapshot.experiments
        if objective.limited:
            return objective.target
        place = experiments.best(objective) if experiments is not None else None
        return None if experiments is None or place is None else experiments.rows[place].outcomes[objective.name]

    def beside_mark(self, objective: Objective, mean: float) -> str:
        """How far the expected outcome is from the best so far, or from its limit."""
        mark = self.mark(objective)
        if mark is None:
            return ""
        change = mean - mark
        text = theme.with_unit(("+" if change >= 0 else "−") + theme.number(abs(change), 2), objective.unit)
        return f", {text} beside {'its limit' if objective.limited else 'the best so far'} ({theme.number(mark)})"

    def interval(self, objective: Objective, one: Prediction) -> None:
        """The 90 % interval among the outcomes so far, as a bar, with a mark at the best of them or at the limit."""
        experiments, name, mark = self.session.snapshot.experiments, objective.name, self.mark(objective)
        if experiments is None or mark is None:
            return
        measured = [row.outcomes[name] for row in experiments.rows if name in row.outcomes]
        least, most = objective.bounds
        low, high = max(one.mean - WIDTH * one.sd, least), min(one.mean + WIDTH * one.sd, most)
        start, end = min(*measured, low, mark), max(*measured, high, mark)
        width = (end - start) or 1.0
        what = "its limit" if objective.limited else "the best so far"
        about = f"90 % between {theme.number(low)} and {theme.number(high)}; the mark is {what}"
        with theme.block("interval") as bar:
            ui.element("span").style(
                f"left: {100 * (low - start) / width:.1f}%; width: {max(100 * (high - low) / width, 1):.1f}%"
            )
            ui.element("i").style(f"left: {min(100 * (mark - start) / width, 99.2):.1f}%")
        bar.props["role"] = "img"
        bar.props["aria-label"] = about
        bar.tooltip(about)

    def add(self, places: Sequence[int]) -> None:
        """Add suggestions as rows that await their outcome, with what was expected of them and why."""
        snapshot, desk = self.session.snapshot, self.session.desk
        suggested = desk.suggested
        if snapshot.campaign is None or suggested is None or not places:
            return
        advices = [suggested.advices[place] for place in places]
        try:
            ids = append(snapshot.table, snapshot.campaign, [advice.suggestion for advice in advices])
        except BomiError as error:
            self.session.say(str(error), bad=True)
            return
        for identity, advice in zip(ids, advices, strict=True):
            expected = theme.expected(snapshot.campaign, advice.suggestion.predicted)
            desk.keep(f"asked/{identity}", {"expected": dict(expected), "why": str(advice.why)})
        current = suggested.key == snapshot.key
        desk.suggested = suggested.without(places)
        desk.refresh()
        if current:  # what was added is what they were suggested beside
            desk.suggested = desk.suggested.at(desk.snapshot.key)
        desk.tell()
        self.session.say(
            f"Added as {', '.join(ids)}; run {'it' if len(ids) == 1 else 'them'}, then enter what came out below."
        )

    # --- results ---------------------------------------------------------------------------------------------------

    def show_waiting(self) -> None:
        """The rows that await their outcome."""
        experiments, campaign = self.session.snapshot.experiments, self.session.snapshot.campaign
        kept = self.session.desk.kept("result/")
        state = (self.session.snapshot.key, sorted(kept))
        if getattr(self, "_waiting_state", None) == state:
            return
        self._waiting_state = state
        self.waiting.clear()
        if experiments is None or campaign is None:
            return
        rows = [
            (place, number, row)
            for place, (number, row) in enumerate(zip(experiments.numbers, experiments.rows, strict=True))
            if not row.failed and not row.excluded and len(row.outcomes) < len(campaign.outcomes)
        ]
        with self.waiting:
            with theme.block("line between"):
                theme.heading("Waiting for a result")
                with theme.block("line"):
                    if any(row.pending for _, _, row in rows):
                        theme.button("Run sheet", self.run_sheet, icon="print")
                    if len(rows) > 1 and self.session.snapshot.editable:
                        theme.button("Enter several results", lambda: ResultsDialog(self.session, campaign, rows))
            if not rows:
                ui.label("No row awaits its outcome. Suggestions that you add to the table appear here.").classes(
                    "soft"
                )
                return
            with theme.block("cards"):
                for place, number, row in rows:
                    self.waiting_card(campaign, place, number, row, kept)

    def run_sheet(self) -> None:
        """A page to print, with boxes for what was done and what came out."""
        experiments = self.session.snapshot.experiments
        if experiments is not None:
            ui.download.content(run_sheet(experiments), f"{self.session.snapshot.table.stem} run sheet.html")

    def waiting_card(self, campaign: Campaign, place: int, number: int, row: Row, kept: Mapping[str, Any]) -> None:
        """A row that awaits its outcome."""
        parameters = campaign.space.parameters
        with theme.sheet():
            with theme.block("line between"):
                theme.heading(f"Experiment {row.id}" if row.id else f"Row {number}")
                ui.label(f"row {number}" if row.id else "").classes("soft small")
            inputs = [(name, theme.shown(cell, parameters[name])) for name, cell in row.recorded.items()]
            theme.facts([*inputs, *theme.seen(campaign, row.outcomes)])
            asked = self.session.desk.texts.get(f"asked/{row.id}") if row.id else None
            if isinstance(asked, Mapping):
                expected = ", ".join(f"{name} {text}" for name, text in dict(asked.get("expected", {})).items())
                said = [f"Expected: {expected}."] if expected else []
                why = str(asked.get("why", ""))
                ui.label(" ".join([*said, theme.sentence(why)])).classes("soft small")
            ui.element("div").classes("grow")
            begun = any(key.startswith(f"{row.id or number}/") for key in kept)
            with theme.block("line"):
                open_result: Callable[[], object] = partial(ResultDialog, self.session, campaign, place, row)
                text = "Go on with the result" if begun else "Enter result"
                theme.button(text, open_result, icon="edit", primary=True)
                if not row.outcomes and self.session.snapshot.editable:
                    theme.button("Withdraw", partial(self.withdraw, place, number, row))

    def withdraw(self, place: int, number: int, row: Row) -> None:
        """Take a row that nobody will run out of the table, once that is said."""
        snapshot = self.session.snapshot
        name = f"experiment {row.id}" if row.id else f"row {number}"

        def remove() -> None:
            try:
                remove_row(snapshot, place)
            except BomiError as error:
                self.session.say(str(error), bad=True)
                return
            for prefix in (f"asked/{row.id}", f"result/{row.id or number}/"):
                self.session.desk.forget(prefix)
            self.session.refresh()
            self.session.say(f"{capitalized(name)} is withdrawn: its row is removed from the table.")

        theme.ask(
            f"Withdraw {name}?",
            f"Its row is removed from the table; the version before is kept as {snapshot.table.name}.bak.",
            "Withdraw it",
            remove,
        )
