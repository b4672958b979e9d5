"""Progress: the best so far, the recommended setting, slices through it, and which parameters matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nicegui import background_tasks, ui

from bomi import cells
from bomi.cells import Known
from bomi.errors import BomiError
from bomi.space import Integer, Parameter, Real
from bomi.web import figures, theme
from bomi.web.desk import Session
from bomi.web.views.waiting import compute, needs, there

if TYPE_CHECKING:
    from bomi.insight import Importance, Slice
    from bomi.loop import Overview
    from bomi.optimizer import Prediction


class ProgressView:
    """Where the campaign of a session stands."""

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        self.session = session
        self.go = go
        self.setting: dict[str, Known] = {}
        self.controls: dict[str, Any] = {}
        self.plots: dict[str, ui.plotly] = {}
        self.busy = False
        self.again = False

    def build(self) -> None:
        """Draw the view."""
        theme.heading("Progress", 1)
        if not needs(self.session, self.go, outcomes=1):
            return
        self.place = ui.element("div").classes("stack").style("gap: 16px")
        self.learn()

    def update(self) -> None:
        """The table changed: learn again."""
        if not hasattr(self, "place") or self.session.snapshot.experiments is None:
            self.go("progress")
            return
        self.learn()

    def learn(self) -> None:
        """Compute the overview, unless that has been done."""
        done = self.session.desk.computed(self.session.snapshot, "overview")
        if done is not None:
            self.place.clear()
            with self.place:
                self.show(done)
        else:
            compute(self.session, self.place, lambda: self.session.compute("overview"), self.show, self.learn)

    def show(self, found: Overview) -> None:
        """Everything, from the best down to the slices."""
        experiments = self.session.snapshot.experiments
        if experiments is None:
            return
        campaign = experiments.campaign
        best = found.recommendation.best
        parameters = campaign.space.parameters
        with theme.block("pair"):
            with theme.sheet():
                theme.heading("Best so far")
                ui.label(theme.with_unit(theme.number(best.seen), campaign.unit)).classes("big").mark("best-seen")
                place = experiments.numbers.index(found.recommendation.row)
                identity = experiments.rows[place].id
                ui.label(f"row {found.recommendation.row}" + (f" · {identity}" if identity else "")).classes(
                    "soft small"
                )
                theme.facts([(n, theme.shown(c, parameters[n])) for n, c in found.recommendation.recorded.items()])
            with theme.sheet():
                theme.heading("Recommended setting")
                if best.setting is None:
                    ui.label("–").classes("big")
                elif best.predicted is not None:
                    expected = f"{theme.number(best.predicted.mean)} ± {theme.number(best.predicted.sd, 2)}"
                    ui.label(theme.with_unit(expected, campaign.unit)).classes("big").mark("expected-best")
                    ui.label("expected, given all rows and their gaps").classes("soft small")
                if best.setting is not None:
                    theme.facts([(n, theme.shown(v, parameters[n])) for n, v in best.setting.items()])
                if best.note:
                    ui.label(best.note.capitalize() + ".").classes("soft small")
        with theme.sheet():
            goal = "more is better" if campaign.goal == "maximize" else "less is better"
            theme.heading(f"{campaign.objective} over time, {goal}")
            figure = ui.plotly(figures.outcomes(experiments)).classes("plot").style("height: 300px")
            figure.props["role"] = "img"
            figure.props["aria-label"] = (
                f"{campaign.objective} of {len(experiments.rows)} experiments; the best is {theme.number(best.seen)}"
            )
        if found.importance:
            self.importance(found.importance)
        if found.slices and best.setting is not None and best.predicted is not None:
            self.recommended = dict(best.setting)
            self.slices(found.slices, best.predicted)

    def importance(self, found: Sequence[Importance]) -> None:
        """How much each parameter matters, as bars."""
        with theme.sheet():
            theme.heading("Which parameters matter")
            ui.label(
                "The share of the variation of the expected outcome over the whole space: alone, and, lighter, "
                "together with other parameters."
            ).classes("soft small")
            largest = max(max(one.total, one.alone) for one in found) or 1.0
            with ui.element("div").style(
                "display: grid; grid-template-columns: max-content 1fr max-content; gap: 10px 16px; align-items: center"
            ):
                for one in found:
                    ui.label(one.parameter)
                    with theme.block("line").style("gap: 0; flex-wrap: nowrap").props("aria-hidden=true"):
                        alone = min(one.alone, one.total) if one.total else one.alone
                        ui.element("div").classes("share").style(f"width: {100 * alone / largest:.1f}%")
                        rest = max(one.total - alone, 0.0)
                        ui.element("div").classes("share more").style(f"width: {100 * rest / largest:.1f}%")
                    ui.label(f"{one.total:.0%}")

    # --- slices ----------------------------------------------------------------------------------------------------

    def slices(self, found: Sequence[Slice], predicted: Prediction) -> None:
        """The expected outcome along each parameter, with a slider to move the setting."""
        campaign = self.session.snapshot.campaign
        if campaign is None:
            return
        self.setting = dict(self.recommended)
        self.controls, self.plots = {}, {}
        with theme.sheet():
            with theme.block("line between"):
                with theme.block("stack tight"):
                    theme.heading("Around the recommended setting")
                    ui.label(
                        "What to expect along each parameter, the others as set here. Move a slider to look elsewhere."
                    ).classes("soft small")
                with theme.block("line"):
                    self.here = ui.label().classes("big").style("font-size: 22px").props("role=status")
                    theme.button("Back to the recommended", self.back, icon="restart_alt")
            with theme.block("cards").style("grid-template-columns: repeat(auto-fill, minmax(min(100%, 270px), 1fr))"):
                for one in found:
                    with theme.block("stack").style("min-width: 0; gap: 4px"):
                        self.one_slice(one, campaign.space.parameters[one.parameter])
        self.draw(found, predicted)

    def one_slice(self, one: Slice, parameter: Parameter) -> None:
        """A parameter's figure and its control."""
        name = one.parameter
        with theme.block("line between"):
            theme.heading(figures.with_unit(name, parameter.unit))
            value = ui.label().style("font-weight: 500")
        figure = ui.plotly({"data": [], "layout": figures.layout(height=210), "config": figures.CONFIG})
        figure.classes("plot").style("height: 210px").props["role"] = "img"
        figure.props["aria-label"] = f"expected outcome along {name}"
        self.plots[name] = figure
        if not isinstance(parameter, Real | Integer):
            control: Any = ui.toggle([cells.text(v) for v in parameter.values], value=cells.text(self.setting[name]))
            control.props["role"] = "group"
            control.props("no-caps unelevated dense padding='2px 10px'").style("align-self: flex-start")
            control.on_value_change(lambda event: self.move(name, parameter.read(event.value)))
        else:
            place = parameter.to_unit(self.setting[name])[0]
            control = ui.slider(min=0.0, max=1.0, step=0.0025, value=place)
            control.on(
                "update:model-value",
                lambda event: self.move(name, parameter.tidy(parameter.from_unit([float(event.args)]))),
                throttle=0.15,
            )
        control.props["aria-label"] = name
        self.controls[name] = (control, value, parameter)

    def draw(self, found: Sequence[Slice], predicted: Prediction) -> None:
        """Put slices into their figures."""
        experiments = self.session.snapshot.experiments
        if experiments is None:
            return
        campaign = experiments.campaign
        outcomes = [row.outcome for row in experiments.rows if row.outcome is not None]
        ends = figures.limits(found, outcomes)
        text = f"{theme.number(predicted.mean)} ± {theme.number(predicted.sd, 2)}"
        self.here.text = theme.with_unit(text, campaign.unit)
        for one in found:
            _, value, parameter = self.controls[one.parameter]
            value.text = theme.shown(self.setting[one.parameter], parameter)
            known = figures.known_points(experiments, one.parameter)
            figure = figures.slice_figure(one, parameter, self.setting[one.parameter], ends, known)
            self.plots[one.parameter].update_figure(figure)

    def move(self, name: str, value: Any) -> None:
        """Another value of one parameter: look there."""
        if value is None or self.setting.get(name) == value:
            return
        self.setting[name] = value
        self.controls[name][1].text = theme.shown(value, self.controls[name][2])
        self.look()

    def back(self) -> None:
        """To the recommended setting."""
        self.setting = dict(self.recommended)
        for name, (control, _, parameter) in self.controls.items():
            value = self.setting[name]
            control.value = parameter.to_unit(value)[0] if isinstance(parameter, Real | Integer) else cells.text(value)
        self.look()

    def look(self) -> None:
        """Compute the slices here; of several moves meanwhile, only the last."""
        if self.busy:
            self.again = True
            return
        self.busy = True

        async def run() -> None:
            try:
                while True:
                    self.again = False
                    found, predicted = await self.session.compute("slices", tuple(self.setting.items()))
                    if not self.again:
                        break
                if there(self.place):
                    self.draw(found, predicted)
            except BomiError as error:
                if there(self.place):
                    self.session.say(str(error), bad=True)
            finally:
                self.busy = False

        background_tasks.create(run())
