"""The figure of what equipment makes of requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bomi.analysis import insight
from bomi.analysis.drawing import (
    BLUE,
    ORANGE,
    SKY,
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
from bomi.space import Categorical, Ordinal
from bomi.space.cells import Known
from bomi.space.units import with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def equipment(optimizer: Optimizer) -> Figure:
    """What was done of what was asked, for every parameter that strays, and what will be done at the best setting."""
    frame = optimizer.execution()
    names = [str(name) for name in frame["parameter"][frame["strayed"] > 0]]
    setting = optimizer.best().setting if names else None
    if setting is None:
        raise BomiError("there is no execution error to show: as far as is known, everything was done as asked")
    figure, panels = new_panels(len(names), 3.8, 3.4, least=6.5)
    drawn = {(gap.row, gap.parameter): gap.draws for gap in optimizer.gap_draws()}
    for axes, name in zip(panels, names, strict=True):
        _asked_and_done(axes, optimizer, name, setting, drawn)
    heading(figure, "Asked and done")
    legend_below(figure, panels)
    return figure


def _asked_and_done(
    axes: Any,
    optimizer: Optimizer,
    name: str,
    setting: Mapping[str, Known],
    drawn: Mapping[tuple[int, str], Sequence[Known]],
) -> None:
    """One parameter: the rows, a gap by its draws, and the range of what will be done around the setting."""
    space = optimizer.space
    parameter, columns = space.parameters[name], space.columns[list(space.names).index(name)]
    words = isinstance(parameter, Categorical | Ordinal)
    jitter = np.random.default_rng(0)
    points: dict[bool, list[tuple[float, float]]] = {True: [], False: []}  # recorded, or draws of a gap
    for i, row in enumerate(optimizer.observations.rows):
        if row.tried and name in row.asked and parameter.contains(row.asked[name]):
            cell = row.recorded[name]
            known = isinstance(cell, Known)
            values = (cell,) if isinstance(cell, Known) else drawn.get((i, name), ())[:20]
            points[known] += [(height(parameter, row.asked[name]), height(parameter, value)) for value in values]
    for known, (color, size, label) in {False: (SKY, 9, "draws of a gap"), True: (BLUE, 22, "recorded")}.items():
        if points[known]:
            at = np.array(points[known]) + (jitter.uniform(-0.15, 0.15, (len(points[known]), 2)) if words else 0)
            axes.scatter(*at.T, s=size, color=color, alpha=0.8 if known else 0.35, linewidth=0, label=label, zorder=3)
    if not isinstance(parameter, Categorical | Ordinal):
        along = np.linspace(0, 1, 61)[:, None]
        places = np.tile(space.to_unit(setting), (len(along), 1))
        places[:, columns] = along
        likely, done = optimizer.done_of(places)
        bounds = np.array(
            [insight.quantiles(d, w, (0.05, 0.95)) for d, w in zip(done[..., columns.start].T, likely.T, strict=True)]
        )
        low, high = (parameter.numbers(end[:, None]) for end in bounds.T)
        x = parameter.numbers(along)
        axes.fill_between(x, low, high, color=ORANGE, alpha=0.3, linewidth=0, label="90 % of what is done", zorder=1)
        axes.plot(x, x, color=SOFT, linewidth=0.9, linestyle=(0, (4, 3)), label="as asked", zorder=2)
    for axis in "xy":
        scale(axes, parameter, axis)
    axes.set(xlabel=with_unit(f"asked {name}", parameter.unit), ylabel=with_unit("done", parameter.unit))
    grid(axes, "both")
