"""Progress: the best so far, the recommended setting, slices through it, and which parameters matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from bomi.data.objectives import Objective, wanted
from bomi.results import by_name
from bomi.space.cells import Cell, Known
from bomi.web import figures, saved_figures, theme
from bomi.web.desk import Session
from bomi.web.theme import percent
from bomi.web.views import Learned
from bomi.web.views.slices import Slices

if TYPE_CHECKING:
    from bomi.analysis.sensitivity import Importance
    from bomi.campaign import Experiments
    from bomi.workflow import Overview, Recommendation


FEW = 6  # parameters of which all pairs are shown
LEAST = 0.01  # share of the variation that two parameters account for only together, if it is told of many


class ProgressView(Learned):
    """Where the campaign of a session stands."""

    job = "overview"

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        super().__init__(session, go)
        self.outcome = ""
        self.slices: Slices | None = None
        self.found: Overview
        self.experiments: Experiments

    def build(self) -> None:
        """Draw the view."""
        theme.heading("Progress", 1)
        self.begin()

    def show(self, found: Overview) -> None:
        """Everything, from the best down to the slices."""
        experiments = self.session.snapshot.experiments
        if experiments is None:
            return
        self.found, self.experiments = found, experiments
        outcomes = experiments.campaign.outcomes
        self.outcome = self.outcome if self.outcome in outcomes else outcomes[0]
        for one in found.validations.values():
            if one.doubt:
                theme.note(theme.sentence(one.doubt), icon="help_outline")
        if len(wanted(experiments.campaign.objectives)) == 1:
            self.best(found.recommended[0])
        else:
            self.trade_offs(found.recommended)
        allowed = "Suggestions and the recommended setting allow for it."
        self.sentences("Equipment", found.equipment, allowed)
        whatever = "The recommended setting is the best whatever they add."
        self.sentences("Groups and drift", found.conditions, whatever)
        if len(outcomes) > 1:
            with theme.block("line"):
                ui.label("Below:").classes("soft")
                chosen = ui.toggle(list(outcomes), value=self.outcome).props("no-caps unelevated dense")
                chosen.props("padding='4px 12px'").props["aria-label"] = "Outcome"
                chosen.on_value_change(lambda event: self.choose(str(event.value)))
        self.below = ui.element("div").classes("stack").style("gap: 16px")
        self.fill()

    def choose(self, outcome: str) -> None:
        """Show another outcome."""
        self.outcome = outcome
        self.fill()

    def best(self, one: Recommendation) -> None:
        """The best row and the recommended setting, side by side."""
        campaign, best = self.experiments.campaign, one.best
        with theme.block("pair"):
            with theme.sheet():
                theme.heading("Best so far")
                for _, text in theme.seen(campaign, best.seen):
                    ui.label(text).classes("big")
                ui.label(self.called(one)).classes("soft small")
                theme.facts(self.settings(one.recorded))
            with theme.sheet():
                theme.heading("Recommended setting")
                for _, text in theme.expected(campaign, best.as_done or best.predicted):
                    ui.label(text).classes("big")
                    asking = " of asking for it" if best.as_done else ""
                    ui.label(f"expected{asking}, given all rows and their gaps").classes("soft small")
                for _, text in theme.expected(campaign, best.predicted) if best.as_done else ():
                    ui.label(f"{text} if it is done exactly").classes("soft small")
                if best.setting is not None:
                    theme.facts(self.settings(best.setting))
                for said in (best.note, one.apart):
                    if said:
                        ui.label(theme.sentence(said)).classes("soft small")

    def sentences(self, title: str, said: Sequence[str], closing: str) -> None:
        """What equipment, groups or time do, if there is something to say of it."""
        if said:
            with theme.sheet():
                theme.heading(title)
                for one in said:
                    ui.label(theme.sentence(one))
                ui.label(closing).classes("soft small")

    def trade_offs(self, choices: Sequence[Recommendation]) -> None:
        """The best trade-offs between several outcomes: a figure of two of them, and the settings."""
        campaign = self.experiments.campaign
        with theme.sheet():
            theme.heading("Best trade-offs")
            ui.label(
                f"{theme.sentence(campaign.wish)} No setting is expected to be better than one of "
                "these in every outcome."
            ).classes("soft small")
            predictions = [by_name(one.best.predicted, campaign.outcomes) for one in choices if one.best.predicted]
            x, y = wanted(campaign.objectives)[:2]
            named = f"{y.name} against {x.name}, with the best trade-offs"
            theme.export(theme.plot(figures.front(self.experiments, (x, y), predictions), 340, named), "trade-offs")
            with theme.block("scroll"), ui.element("table").classes("rows"):
                names = [*campaign.outcomes, *campaign.space.names]
                with ui.element("thead"), ui.element("tr"):
                    for title in ("", *names, "nearest so far", ""):
                        theme.text_as("th", title).props("scope=col")
                with ui.element("tbody"):
                    for place, one in enumerate(choices, 1):
                        self.trade_off(place, one, names)

    def trade_off(self, place: int, one: Recommendation, names: Sequence[str]) -> None:
        """One of them, with the row that came nearest to it."""
        campaign, best = self.experiments.campaign, one.best
        told = dict([*theme.expected(campaign, best.as_done or best.predicted), *self.settings(best.setting or {})])
        nearest = ", ".join(text for _, text in theme.seen(campaign, best.seen))
        with ui.element("tr"):
            theme.text_as("th", str(place)).props("scope=row")
            for name in names:
                theme.text_as("td", told.get(name, "–"))
            theme.text_as("td", f"{nearest}: {self.called(one)}" + (f"; {best.note}" if best.note else ""), "soft")
            with ui.element("td"):
                if one.around is not None and best.predicted is not None:
                    look = theme.button("Look around it", partial(self.around, dict(one.around)), icon="explore")
                    look.props("flat dense no-wrap", remove="outline")

    def around(self, setting: dict[str, Known]) -> None:
        """Slices through another of the settings."""
        if self.slices is not None:
            self.slices.go(setting)
        ui.run_javascript("document.querySelector('.slices')?.scrollIntoView({behavior: 'smooth'})")

    def called(self, one: Recommendation) -> str:
        """A row, in words."""
        identity = self.experiments.rows[self.experiments.numbers.index(one.row)].id
        return theme.called(one.row, identity)

    def settings(self, values: Mapping[str, Cell]) -> list[tuple[str, str]]:
        """A setting, in words."""
        parameters = self.experiments.campaign.space.parameters
        return [(name, theme.shown(value, parameters[name])) for name, value in values.items()]

    def fill(self) -> None:
        """What is shown of one outcome."""
        objective = next(one for one in self.experiments.campaign.objectives if one.name == self.outcome)
        self.below.clear()
        with self.below:
            with theme.sheet():
                goals = {"maximize": "more is better", "minimize": "less is better"}
                theme.heading(f"{objective.name} over time, {goals.get(objective.goal, objective.wish)}")
                named = f"{objective.name} of {len(self.experiments.rows)} experiments over time"
                figure = theme.plot(figures.outcomes(self.experiments, objective), 300, named)
                theme.export(figure, f"{objective.name} over time")
            if self.outcome in self.found.importance:
                self.importance(self.found.importance[self.outcome])
            middle = self.found.recommended[len(self.found.recommended) // 2]
            if self.outcome in self.found.slices and middle.around is not None:
                ranked = [one.parameter for one in self.found.importance.get(self.outcome, ())]
                made = Slices(self.session, self.experiments, self.outcome, dict(middle.around), ranked)
                self.slices = made.build(self.found.slices[self.outcome], middle.best.predicted)
            self.trust(objective)

    def trust(self, objective: Objective) -> None:
        """What is expected of each row from all others, beside what was measured, and what that says of the model."""
        found = self.found.validations.get(objective.name)
        if found is None:
            return
        with theme.sheet():
            theme.heading("Predicted against measured")
            ui.label(theme.sentence(found.sentence))
            if len(found.rows) < 3:
                return
            ui.label(
                "Each row is predicted from all other rows, with a 90 % interval. Points far from the line deserve a "
                "second look."
            ).classes("soft small")
            drawn = figures.validation(self.experiments, objective, found)
            figure = theme.plot(drawn, 340, f"predicted against measured {objective.name}")
            theme.export(figure, f"{objective.name} predicted against measured")

    def doubt(self) -> None:
        """The sentence about the model, while it is bad news."""
        found = self.found.validations.get(self.outcome)
        if found is not None and found.doubt:
            theme.note(theme.sentence(found.doubt), icon="help_outline")

    def importance(self, found: Sequence[Importance]) -> None:
        """How much each parameter matters, as bars."""
        with theme.sheet():
            theme.heading("Which parameters matter")
            self.doubt()
            ui.label(
                f"The share of the variation of {self.outcome} over the whole space that each parameter accounts for: "
                "alone (solid), and with others (pale); in brackets, the 90 % interval of the latter."
            ).classes("soft small")
            largest = max(one.total for one in found) or 1.0
            with theme.block("importance"):
                for one in found:
                    ui.label(one.parameter)
                    bar = theme.block("share").props("aria-hidden=true")
                    alone = 100 * one.alone / (one.total or 1)
                    bar.style(f"width: {100 * one.total / largest:.1f}%; --alone: {alone:.0f}%")
                    shares = f"{percent(one.alone)} alone / {percent(one.total)} with others"
                    ui.label(f"{shares} ({percent(one.low)} to {percent(one.high)}): {one.verdict}").classes("small")
            theme.export(saved_figures.importance(found, self.outcome), f"what matters for {self.outcome}")
            self.interactions()

    def interactions(self) -> None:
        """What two parameters do only together, as a small matrix."""
        everyone, shares = self.experiments.campaign.space.names, self.found.interactions[self.outcome]
        if len(everyone) < 2:
            return
        some = [place for place, most in enumerate(shares.max(axis=0)) if most >= LEAST or len(everyone) <= FEW]
        if not some:  # of many parameters, most do nothing with any other
            ui.label(f"No two parameters do {percent(LEAST)} or more to {self.outcome} only together.").classes("small")
            return
        names, shares = [everyone[place] for place in some], shares[some][:, some]
        rest = "" if len(names) == len(everyone) else f"; pairs with any other do less than {percent(LEAST)}"
        ui.label(f"What two parameters do to {self.outcome} only together{rest}:").classes("small")
        with theme.block("scroll"), ui.element("table").classes("rows matrix"):
            with ui.element("thead"), ui.element("tr"):
                ui.element("td")
                for title in names[:-1]:
                    theme.text_as("th", title).props("scope=col")
            with ui.element("tbody"):
                for row, name in enumerate(names[1:], 1):
                    with ui.element("tr"):
                        theme.text_as("th", name).props("scope=row")
                        for share in shares[row, :row]:
                            shade = (
                                f"background: color-mix(in srgb, {theme.BLUE} {min(100 * share, 45):.0f}%, transparent)"
                            )
                            theme.text_as("td", percent(share)).style(shade)
        together = saved_figures.interactions(names, shares, self.outcome)
        theme.export(together, f"what matters only together for {self.outcome}")
