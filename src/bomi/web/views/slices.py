"""Around a setting: what to expect along each parameter, and over two of them as a map; controls to look elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nicegui import background_tasks, ui

from bomi.campaign import Experiments
from bomi.errors import BomiError
from bomi.space import Integer, Parameter, Real, cells
from bomi.space.cells import Known
from bomi.space.units import with_unit
from bomi.web import figures, theme
from bomi.web.desk import Session
from bomi.web.views.waiting import there

if TYPE_CHECKING:
    from bomi.analysis.insight import Slice

STEPS = 400  # of a slider whose parameter has no step


class Slices:
    """Slices of one outcome through a setting that can be moved, with a map of two parameters below them."""

    def __init__(
        self,
        session: Session,
        experiments: Experiments,
        outcome: str,
        recommended: dict[str, Known],
        ranked: Sequence[str] = (),
    ) -> None:
        self.session, self.experiments, self.outcome = session, experiments, outcome
        self.ranked = ranked  # the parameter that matters most first
        self.recommended = recommended
        self.setting = dict(recommended)
        self.controls: dict[str, tuple[Any, ui.label]] = {}
        self.plots: dict[str, ui.plotly] = {}
        self.busy = self.again = False

    @property
    def parameters(self) -> dict[str, Parameter]:
        """What may vary."""
        return dict(self.experiments.campaign.space.parameters)

    def build(self, found: Sequence[Slice], predicted: Any) -> Slices:
        """Draw them."""
        with theme.sheet("slices") as self.box:
            with theme.block("line between"):
                with theme.block("stack tight title"):
                    self.title = ui.label()
                    self.title.tag = "h2"
                    ui.label(
                        "What to expect along each parameter, the others as set here. Move a slider to look elsewhere. "
                        "Bands are one and two standard deviations; dots are rows."
                    ).classes("soft small")
                    self.where = ui.label().classes("small")
                with theme.block("line"):
                    self.here = ui.label().classes("big").style("font-size: 22px").props("role=status")
                    self.home = theme.button("Back to the recommended", self.back, icon="restart_alt")
            with theme.block("cards").style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 270px), 1fr))"):
                for one in found:
                    with theme.block("stack").style("min-width: 0; gap: 4px"):
                        self.one(one, self.parameters[one.parameter])
        self.map()
        self.draw(found, predicted)
        return self

    def one(self, one: Slice, parameter: Parameter) -> None:
        """A parameter's figure and its control."""
        name = one.parameter
        with theme.block("line between"):
            theme.heading(with_unit(name, parameter.unit))
            value = ui.label().style("font-weight: 500")
        height = figures.slice_height(one, parameter)
        empty = {"data": [], "layout": figures.layout(height=height), "config": figures.CONFIG}
        figure = self.plots[name] = theme.plot(empty, height, f"expected {self.outcome} along {name}")
        theme.export(figure, f"{self.outcome} along {name}")
        self.controls[name] = (self.control(name, parameter), value)

    def control(self, name: str, parameter: Parameter) -> Any:
        """What moves a parameter: a slider along its scale, buttons, or a list of many values."""
        if isinstance(parameter, Real | Integer):
            low, high, step = _scale(parameter)
            made: Any = ui.slider(min=low, max=high, step=step, value=_position(parameter, self.setting[name]))
            made.on("update:model-value", lambda event: self.move(name, _value(parameter, event.args)), throttle=0.15)
            made.props["aria-label"] = with_unit(name, parameter.unit)
            return made
        texts = [cells.text(value) for value in parameter.values]
        if figures.side_by_side(texts):
            made = ui.toggle(texts, value=cells.text(self.setting[name]))
            made.props("no-caps unelevated dense padding='2px 10px' role=group").style("align-self: flex-start")
            made.props["aria-label"] = name
        else:
            made = ui.select(texts, value=cells.text(self.setting[name]), label=name).props("outlined dense")
        made.on_value_change(lambda event: self.move(name, parameter.read(event.value)))
        return made

    def draw(self, found: Sequence[Slice], predicted: Any) -> None:
        """Put slices into their figures, and say what they are of."""
        experiments = self.experiments
        outcomes = [row.outcomes[self.outcome] for row in experiments.rows if self.outcome in row.outcomes]
        possible = next(one.bounds for one in experiments.campaign.objectives if one.name == self.outcome)
        ends = figures.limits(found, outcomes, possible)
        self.here.text = dict(theme.expected(experiments.campaign, predicted))[self.outcome]
        moved = self.setting != self.recommended
        self.home.set_visibility(moved)
        self.title.text = "Around your own setting" if moved else "Around the recommended setting"
        told = [f"{name} {theme.shown(value, self.parameters[name])}" for name, value in self.setting.items()]
        self.where.text = ", ".join(told)
        for one in found:
            self.tell(one.parameter)
            known = figures.known_points(experiments, one.parameter, self.outcome)
            figure = figures.slice_figure(
                one, self.parameters[one.parameter], self.setting[one.parameter], ends, known, self.axis(), possible
            )
            self.plots[one.parameter].update_figure(figure)

    def axis(self) -> str:
        """The outcome, with its unit."""
        objective = next(one for one in self.experiments.campaign.objectives if one.name == self.outcome)
        return with_unit(objective.name, objective.unit)

    def move(self, name: str, value: Any) -> None:
        """Another value of one parameter: look there."""
        if value is None or self.setting.get(name) == value:
            return
        self.setting[name] = value
        self.tell(name)
        self.look()

    def tell(self, name: str) -> None:
        """The value of a parameter, to the eye and to a screen reader; its slider may be on the way further."""
        control, label = self.controls[name]
        label.text = theme.shown(self.setting[name], self.parameters[name])
        if isinstance(control, ui.slider):
            found = f"getHtmlElement({control.id})?.setAttribute('aria-valuetext', {theme.dumps(label.text)})"
            control.client.run_javascript(f"setTimeout(() => {found}, 0)")

    def back(self) -> None:
        """To the recommended setting."""
        self.go(self.recommended)

    def go(self, setting: dict[str, Known]) -> None:
        """To a setting."""
        self.setting = dict(setting)
        for name, (control, _) in self.controls.items():
            parameter, value = self.parameters[name], self.setting[name]
            number = isinstance(parameter, Real | Integer)
            control.value = _position(parameter, value) if number else cells.text(value)
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
                    items = tuple(self.setting.items())
                    found, predicted = await self.session.compute("slices", items, self.outcome)
                    if not self.again:
                        break
                if there(self.box):
                    self.draw(found, predicted)
            except BomiError as error:
                if there(self.box):
                    self.session.say(str(error), bad=True)
            finally:
                self.busy = False

        background_tasks.create(run())

    # --- the map ---------------------------------------------------------------------------------------------------

    def map(self) -> None:
        """What to expect over two parameters, once two are chosen."""
        names = [name for name, one in self.parameters.items() if isinstance(one, Real | Integer)]
        if len(names) < 2:
            return
        first, second, *_ = dict.fromkeys((*(name for name in self.ranked if name in names), *names))
        with theme.sheet() as self.chart:
            with theme.block("line between"):
                theme.heading(f"Map of the expected {self.outcome}")
                with theme.block("line"):
                    self.across = ui.select(names, value=first, label="Across").props("outlined dense")
                    self.up = ui.select(names, value=second, label="Up").props("outlined dense")
                    for one in (self.across, self.up):
                        one.style("min-width: 150px")
                    self.unsure = ui.checkbox("How unsure it is")
                    theme.button("Draw", self.draw_map, icon="map")
            self.chart_place = ui.element("div").style("width: 100%")

    def draw_map(self) -> None:
        """Compute the map around the setting, and show it."""
        across, up = str(self.across.value), str(self.up.value)
        if across == up:
            self.session.say("Choose two different parameters.", bad=True)
            return
        items, unsure = tuple(self.setting.items()), bool(self.unsure.value)

        async def run() -> None:
            try:
                found, rows = await self.session.compute("surface", items, across, up, self.outcome)
            except BomiError as error:
                self.session.say(str(error), bad=True)
                return
            if not there(self.chart_place):
                return
            self.chart_place.clear()
            with self.chart_place:
                title = f"standard deviation of {self.axis()}" if unsure else self.axis()
                shown = figures.map_figure(
                    found, (across, up), self.parameters, title, dict(items), rows, unsure=unsure
                )
                named = f"{'uncertainty of' if unsure else 'expected'} {self.outcome} over {across} and {up}"
                theme.export(theme.plot(shown, 420, named), named)
                ui.label("Circles are rows; orange dots are where a row with a gap may be.").classes("soft small")

        background_tasks.create(run())


def _scale(parameter: Real | Integer) -> tuple[float, float, float]:
    """The ends and the step of a slider: in the parameter's own unit, or along its logarithm."""
    if parameter.log:
        return 0.0, 1.0, 1 / STEPS
    step = parameter.step or (parameter.high - parameter.low) / STEPS
    return parameter.low, parameter.high, step


def _position(parameter: Parameter, value: Any) -> float:
    """Where a value stands on its slider."""
    log = isinstance(parameter, Real | Integer) and parameter.log
    return float(parameter.to_unit(value)[0]) if log else float(value)


def _value(parameter: Real | Integer, position: Any) -> Known:
    """The value at a place of the slider, as the parameter has it."""
    inside = min(max(float(position), parameter.low), parameter.high)
    return parameter.tidy(parameter.from_unit([float(position) if parameter.log else parameter.to_unit(inside)[0]]))
