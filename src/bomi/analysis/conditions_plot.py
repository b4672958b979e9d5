"""The figure of what groups and time change, whatever is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bomi.analysis.drawing import BLUE, ORANGE, SKY, SOFT, WIDE, grid, heading, new_figure, styled
from bomi.answers.offsets import NEW
from bomi.errors import BomiError
from bomi.optimizer import Optimizer
from bomi.results import WIDTH
from bomi.space.units import with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 30  # groups that have a name below them


@styled
def conditions(optimizer: Optimizer, outcome: str | None = None) -> Figure:
    """The offsets of each column's groups, and the drift up to now."""
    offsets, drift = optimizer.offsets(outcome), optimizer.drift(outcome)
    names = list(dict.fromkeys(offsets["column"]))
    panels = len(names) + bool(len(drift))
    if not panels:
        raise BomiError("there are no groups and no drift to show")
    one = optimizer.objectives[optimizer.outcomes.index(outcome) if outcome else 0]
    figure, axes_of = new_figure(max(6.5, 4.6 * panels), 3.6, rows=1, columns=panels)
    for axes, name in zip(axes_of, names, strict=False):
        lines = offsets[offsets["column"] == name]
        _groups(axes, lines[lines["group"] != NEW], float(lines["sd"].iloc[-1]))
        axes.set_xlabel(name)
    if len(drift):
        _drift(axes_of[-1], drift)
        axes_of[-1].set_xlabel(optimizer.space.conditions.time or "row")
    for axes in axes_of:
        axes.set_ylabel(with_unit(f"added to {one.name}", one.unit))
        axes.axhline(0, color=SOFT, linewidth=0.9, zorder=1)
        grid(axes)
    below = "with 90 % intervals; the band is what a new one may add" if names else "against now, with a 90 % interval"
    heading(figure, "What groups and time add, whatever is set", below)
    return figure


def _groups(axes: Any, lines: Any, spread: float) -> None:
    at = np.arange(len(lines))
    axes.axhspan(-WIDTH * spread, WIDTH * spread, color=SKY, alpha=0.18, linewidth=0)
    axes.errorbar(at, lines["offset"], WIDTH * lines["sd"], fmt="o", color=BLUE, markersize=5, elinewidth=1.2, zorder=3)
    labels = [str(label) for label in lines["group"]]
    if len(labels) <= MOST:
        axes.set_xticks(at, labels)
        if sum(map(len, labels)) > WIDE:
            axes.tick_params(axis="x", labelrotation=90, labelsize=8)
    else:
        axes.set_xticks([])


def _drift(axes: Any, lines: Any) -> None:
    words = isinstance(lines["time"].iloc[0], str)
    x = np.arange(len(lines)) if words else lines["time"].to_numpy()
    low, high = (lines["change"] + side * WIDTH * lines["sd"] for side in (-1, 1))
    axes.fill_between(x, low, high, color=ORANGE, alpha=0.3, linewidth=0)
    axes.plot(x, lines["change"], color=ORANGE, linewidth=1.8)
    if words:
        some = np.unique(np.linspace(0, len(x) - 1, 4).round().astype(int))
        axes.set_xticks(x[some], lines["time"].iloc[some])
