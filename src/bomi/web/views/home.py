"""Home: where the campaign stands and what to do next; a lab that starts from nothing is led from step to step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from bomi.campaign import Experiments
from bomi.data.objectives import Objective, wanted
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views import View
from bomi.web.views.start import missing
from bomi.web.views.waiting import compute, needs

if TYPE_CHECKING:
    from bomi.results import Validation
    from bomi.workflow import Gap


@dataclass(frozen=True)
class Step:
    """A step of a new campaign: whether it is done, and what does it."""

    title: str
    text: str
    done: bool
    button: str
    view: str


class HomeView(View):
    """Where a session's campaign stands."""

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        super().__init__(session, go)
        self.shown = ""

    def build(self) -> None:
        """Draw the view."""
        snapshot = self.session.snapshot
        self.shown = f"{snapshot.key} {self.session.draft.count}"
        theme.heading("Home", 1)
        self.unsaved()
        missing(self.session)
        steps = self.steps()
        if not all(step.done for step in steps):
            self.lead(steps)
            if snapshot.campaign_fault or snapshot.problems or snapshot.table_fault:
                needs(self.session, self.go)
            return
        experiments = snapshot.experiments
        if experiments is None or not needs(self.session, self.go):
            return
        with theme.block("pair"):
            self.best(experiments)
            self.next(experiments)
        known = [row for row in experiments.rows if row.outcomes]
        if known:
            self.section("Can it be trusted?", "trust", self.show_trust)
            self.section("Go on or stop?", "prospects", self.show_prospects)
        if not all(row.complete for row in known):
            self.section("Most worth looking up", "gaps", self.show_gap)
        if known:
            self.report()

    def update(self) -> None:
        """Something changed: draw it anew, unless it is the same here."""
        if self.shown != f"{self.session.snapshot.key} {self.session.draft.count}":
            self.go("home")

    def unsaved(self) -> None:
        """What was typed and is not saved yet."""
        desk = self.session.desk
        if desk.draft.count:
            with theme.note(f"{theme.count(desk.draft.count, 'change')} of the table not saved yet.", icon="edit"):
                theme.button("To the data", lambda: self.go("data"))
        if "setup" in desk.texts:
            with theme.note("The set-up has changes that are not saved yet.", icon="edit"):
                theme.button("To the set-up", lambda: self.go("setup"))

    # --- starting --------------------------------------------------------------------------------------------------

    def steps(self) -> list[Step]:
        """From nothing to the first results."""
        snapshot = self.session.snapshot
        rows = snapshot.sheet.rows if snapshot.sheet else []
        experiments = snapshot.experiments
        some = any(row.outcomes or row.failed for row in experiments.rows) if experiments else bool(rows)
        return [
            Step(
                "Describe the experiment",
                "What you vary and how far, and what you measure.",
                snapshot.campaign is not None,
                "Describe it",
                "setup",
            ),
            Step(
                "Start the table",
                "Upload the one you keep, or begin with an empty one.",
                snapshot.sheet is not None,
                "Start the table",
                "data",
            ),
            Step(
                "First design",
                "A few experiments spread over the ranges, suggested for you.",
                bool(rows),
                "Suggest a first design",
                "suggest",
            ),
            Step(
                "First results",
                "Run them, then type in what came out.",
                some,
                "Enter results",
                "suggest",
            ),
        ]

    def lead(self, steps: Sequence[Step]) -> None:
        """The steps, with a button at the next one."""
        first = next(step for step in steps if not step.done)
        with theme.block("steps"):
            for place, step in enumerate(steps, 1):
                with theme.sheet("step done" if step.done else "step now" if step is first else "step"):
                    ui.label(f"Step {place}" + (", done" if step.done else "")).classes("soft small")
                    theme.heading(step.title)
                    ui.label(step.text).classes("soft")
                    ui.element("div").classes("grow")
                    if step is first:
                        theme.button(step.button, partial(self.go, step.view), primary=True)

    # --- standing --------------------------------------------------------------------------------------------------

    def best(self, experiments: Experiments) -> None:
        """The best row of each outcome so far."""
        with theme.sheet():
            theme.heading("Best so far")
            for objective in wanted(experiments.campaign.objectives):
                self.best_of(experiments, objective)

    def best_of(self, experiments: Experiments, objective: Objective) -> None:
        """The best row of one outcome."""
        outcomes = experiments.campaign.outcomes
        place = experiments.best(objective)
        if place is None:
            kept = " that keeps the limits" if len(wanted(experiments.campaign.objectives)) < len(outcomes) else ""
            ui.label(f"{objective.name}: no outcome yet{kept}").classes("soft")
            return
        row, tried = experiments.rows[place], sum(objective.name in one.outcomes for one in experiments.rows)
        if len(outcomes) > 1:
            ui.label(objective.name).classes("soft")
        ui.label(theme.with_unit(theme.number(row.outcomes[objective.name], 6), objective.unit)).classes("big")
        ui.label(f"{objective.wish}; {experiments.label(place)}, of {theme.count(tried, 'row')}").classes("soft small")
        parameters = experiments.campaign.space.parameters
        theme.facts([(name, theme.shown(cell, parameters[name])) for name, cell in row.recorded.items()])

    def next(self, experiments: Experiments) -> None:
        """What waits for a result, and the button for what comes next."""
        outcomes = experiments.campaign.outcomes
        waits = [
            (number, row)
            for number, row in zip(experiments.numbers, experiments.rows, strict=True)
            if not row.failed and len(row.outcomes) < len(outcomes) and not row.excluded
        ]
        with theme.sheet():
            theme.heading("Next")
            if waits:
                names = [theme.called(number, row.id) for number, row in waits]
                more = f" and {len(names) - 6} more" if len(names) > 6 else ""
                ui.label(f"Waiting for a result: {', '.join(names[:6])}{more}.")
            else:
                ui.label("No row awaits its outcome.").classes("soft")
            with theme.block("line"):
                theme.button("Suggest next", lambda: self.go("suggest"), icon="auto_awesome", primary=True)
                if waits:
                    theme.button("Enter results", lambda: self.go("suggest"), icon="edit")

    def section(self, title: str, job: str, show: Callable[[Any], None]) -> None:
        """What is computed of the table, once it is known."""
        with theme.sheet():
            theme.heading(title)
            place = theme.block("stack")
        compute(self.session, place, job, show)

    def show_trust(self, found: Sequence[Validation]) -> None:
        """A sentence for each outcome."""
        if not found:
            ui.label("There is no model to judge yet: more rows with an outcome are needed.").classes("soft")
        for one in found:
            ui.label(theme.sentence(one.sentence))
            if one.disbelief:
                theme.note(theme.sentence(one.disbelief), icon="help_outline")

    def show_prospects(self, advice: str) -> None:
        """One line."""
        ui.label(theme.sentence(advice) if advice else "There is no model yet that could say.")

    def report(self) -> None:
        """A button that makes the report, and gives it to the browser."""
        with theme.sheet():
            theme.heading("Report")
            ui.label(
                "One page for the group meeting: the question, the data, what is believed and how far, what to do next."
            ).classes("soft")
            place = ui.element("div").classes("stack")
            with place:
                theme.button("Make the report", lambda: self.write(place), icon="description")

    def write(self, place: ui.element) -> None:
        """Compute the report, and offer it."""
        name = f"{self.session.snapshot.table.stem} report.html"
        place.clear()

        def show(text: str) -> None:
            theme.button("Download the report", lambda: ui.download.content(text, name), icon="download", primary=True)

        compute(self.session, place, "report", show)

    def show_gap(self, gaps: Sequence[Gap]) -> None:
        """The first of the gaps."""
        campaign = self.session.snapshot.campaign
        worth = [gap for gap in gaps if gap.worth]
        if campaign is None or not worth:
            ui.label("No gap that the best predictable outcome depends on.").classes("soft")
            return
        gap = worth[0]
        value = theme.with_unit(theme.number(gap.worth, 2), campaign.unit)
        ui.label(
            f"{gap.parameter} of {theme.called(gap.number, gap.id)}: if you can look up one value, look up this one. "
            f"{value} of the uncertainty of the best predictable outcome hang on it."
        )
        with theme.block("line"):
            theme.button("To the gaps", lambda: self.go("gaps"))
