"""How the best setting moves with an input that is measured and cannot be set, and what controlling it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bomi.analysis.drawing import (
    BLUE,
    ORANGE,
    SOFT,
    grid,
    heading,
    height,
    legend_below,
    new_panels,
    scale,
    styled,
)
from bomi.errors import BomiError
from bomi.optimizer import Optimizer
from bomi.results import WIDTH, Prediction
from bomi.space import Categorical, Ordinal
from bomi.space.cells import Known, text
from bomi.space.units import with_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

VALUES = 9  # of a number, over the range in which it has been


@dataclass(frozen=True)
class Moved:
    """The best setting for each value of a measured parameter, and what knowing or controlling it would be worth.

    With the outcome f, the setting x and the measured value h: `always` is the best of E_h f(x, h), `adapted` the mean
    over h of the best f(x, h), and `controlled` the best f(x, h) of all. What is said is what the model expects.
    """

    parameter: str
    outcome: str
    unit: str
    table: pd.DataFrame  # its values; the best setting for each, `expected` and `sd`; and `always` of the one setting
    always: float
    adapted: float
    controlled: float
    best_value: Known
    knowing: float  # what is gained by choosing when the value is known
    controlling: float  # and by keeping it at the best value

    @property
    def sentence(self) -> str:
        """What it is worth, in words."""
        unit = f" {self.unit}" if self.unit else ""
        value = f"{self.best_value:.3g}" if isinstance(self.best_value, float) else text(self.best_value)
        return (
            f"knowing {self.parameter} before choosing is worth {self.knowing:.2g}{unit} of {self.outcome}, and "
            f"keeping it at {value} {self.controlling:.2g}{unit}, against one setting for all days "
            f"(expected {self.always:.4g}{unit})"
        )


def moved(optimizer: Optimizer, name: str) -> Moved:
    """How the best setting moves with a measured parameter."""
    space = optimizer.space
    if name not in space.measured:
        known = f"measured are {', '.join(space.measured)}" if space.measured else "no parameter is measured"
        raise BomiError(f"{name!r} is no measured parameter; {known}")
    if len(optimizer.objectives) > 1:
        raise BomiError("what a measured parameter is worth is told of a single outcome, and here are several")
    import pandas as pd

    (objective,), parameter = optimizer.objectives, space.parameters[name]
    always = optimizer.best()
    if always.setting is None or not isinstance(always.predicted, Prediction):
        raise BomiError(f"there is no model yet: {always.note}")
    seen = [cell for row in optimizer.observations.tried if isinstance(cell := row.recorded[name], Known)]
    if not seen:
        raise BomiError(f"{name!r} has never been recorded: nothing can be told of it")
    if isinstance(parameter, Categorical | Ordinal):
        values: list[Known] = [value for value in parameter.values if value in seen]
    else:
        ends = parameter.places(np.quantile(np.array(seen, dtype=float), [0.0, 1.0]))[:, 0].clip(0, 1)
        places = np.linspace(float(ends[0]), float(ends[1]), VALUES)
        values = list(dict.fromkeys(parameter.tidy(parameter.from_unit([place])) for place in places))
    rows, merits = [], []
    fixed = {key: value for key, value in always.setting.items() if key != name}
    for value in values:
        best = optimizer.best(given={name: value})
        assert best.setting is not None
        assert isinstance(best.predicted, Prediction)
        beside = optimizer.predict({**fixed, name: value})
        assert isinstance(beside, Prediction)
        mean = max(best.predicted.mean, beside.mean, key=objective.merit)  # both were found by a search
        rows.append({**best.setting, "expected": mean, "sd": best.predicted.sd, "always": beside.mean})
        merits.append(objective.merit(mean))
    table = pd.DataFrame(rows)
    table.insert(0, name, table.pop(name))
    at = [values.index(one) for one in seen if one in values] if isinstance(parameter, Categorical | Ordinal) else None
    if at is None:
        x = [height(parameter, value) for value in values]
        each, one = (np.interp(np.array(seen, dtype=float), x, table[column]) for column in ("expected", "always"))
    else:
        each, one = (table[column].to_numpy(dtype=float)[at] for column in ("expected", "always"))
    base = objective.merit(float(one.mean()))
    top = int(np.argmax(merits))
    return Moved(
        name,
        objective.name,
        objective.unit,
        table,
        float(one.mean()),
        float(each.mean()),
        float(table["expected"][top]),
        values[top],
        max(0.0, objective.merit(float(each.mean())) - base),
        max(0.0, merits[top] - base),
    )


@styled
def figure(optimizer: Optimizer, found: Moved) -> Figure:
    """The expected outcome along a measured parameter, for the best setting each time and for one setting always; and
    each parameter of the best setting."""
    space, name, table = optimizer.space, found.parameter, found.table
    parameter, chosen = space.parameters[name], [n for n in space.names if n in table.columns and n != found.parameter]
    drawn, panels = new_panels(1 + len(chosen), 3.8, 3.2, least=6.5)
    words = isinstance(parameter, Categorical | Ordinal)
    x = np.array([height(parameter, value) for value in table[name]])
    mark = {"marker": "o", "markersize": 4, "linestyle": "none" if words else "-"}
    mean, sd = table["expected"].to_numpy(dtype=float), table["sd"].to_numpy(dtype=float)
    axes = panels[0]
    axes.errorbar(x, mean, WIDTH * sd, color=BLUE, alpha=0.35, linewidth=0, elinewidth=1.2)
    axes.plot(x, mean, color=BLUE, label="best setting for each value", **mark)
    axes.plot(x, table["always"], color=ORANGE, label="one setting for all", **mark)
    axes.set(ylabel=with_unit(found.outcome, found.unit))
    for panel, one in zip(panels[1:], chosen, strict=True):
        panel.plot(x, [height(space.parameters[one], value) for value in table[one]], color=BLUE, **mark)
        scale(panel, space.parameters[one], "y")
        panel.set(ylabel=with_unit(f"best {one}", space.parameters[one].unit))
    seen = [cell for row in optimizer.observations.tried if isinstance(cell := row.recorded[name], Known)]
    for panel in panels:
        panel.plot(
            [height(parameter, value) for value in seen], [0.02] * len(seen), "|", color=SOFT, markersize=7,
            transform=panel.get_xaxis_transform(), label="recorded" if panel is axes else None,
        )  # fmt: skip
        scale(panel, parameter, "x")
        panel.set(xlabel=with_unit(name, parameter.unit))
        grid(panel, "both")
    heading(drawn, f"The best setting as {name} changes")
    legend_below(drawn, panels[:1])
    return drawn
