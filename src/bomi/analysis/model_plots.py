"""Figures of what was learned: slices, maps, what matters, and whether to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bomi.analysis import insight, sensitivity
from bomi.analysis.drawing import (
    BLUE,
    INK,
    MANY,
    SKY,
    SOFT,
    VERMILION,
    dots,
    grid,
    heading,
    height,
    legend_below,
    new_figure,
    new_panels,
    scale,
    styled,
)
from bomi.errors import BomiError
from bomi.optimizer import Optimizer
from bomi.results import STOP, percent
from bomi.space import Array, Categorical, Ordinal, Parameter, cells
from bomi.space.cells import Cell, Known
from bomi.space.units import with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST, LOOKS_BACK = 6, 6  # experiments, and how many times the table is looked at as it was before
NAMED = 8  # rows, the most surprising ones
MOST_WITH_TICKS = 12  # slices; the outcome's scale has fewer ticks in more of them
MOST_WRITTEN, WRITTEN = 10, 0.005  # parameters of which every share is written; of more, those that are not 0 %


@styled
def slices(
    optimizer: Optimizer, *, setting: Mapping[str, Known] | None = None, unit: str = "", outcome: str | None = None
) -> Figure:
    """The expected outcome along every parameter through the recommended setting, with its uncertainty.

    With several outcomes it is the first, unless `outcome` names another.
    """
    name = outcome or optimizer.outcomes[0]
    if setting is None:
        setting = optimizer.best().setting
    if setting is None:
        raise BomiError("there is no recommended setting to slice through yet")
    setting = optimizer.completed(setting)
    found = insight.slices(optimizer, setting, outcome=name)
    across = 2 if len(found) == 4 else 3
    figure, panels = new_panels(len(found), 3.6, 2.9, most=across, share=True)
    rows = [row for row in optimizer.observations.done if name in row.outcomes]
    bounds = next(objective.bounds for objective in optimizer.objectives if objective.name == name)
    for place, (axes, one) in enumerate(zip(panels, found, strict=True)):
        parameter = optimizer.space.parameters[one.parameter]
        known = [(row.recorded[one.parameter], row.outcomes[name]) for row in rows]
        _slice(axes, parameter, one, setting[one.parameter], known, bounds)
        axes.set_xlabel(with_unit(one.parameter, parameter.unit))
        if place % across == 0:
            axes.set_ylabel(with_unit(name, unit))
        if len(found) > MOST_WITH_TICKS:
            axes.yaxis.get_major_locator().set_params(nbins=4)
    what = "outcome" if len(optimizer.outcomes) == 1 else name
    heading(figure, f"Expected {what} around the recommended setting")
    legend_below(figure, panels)
    return figure


@styled
def importance(
    optimizer: Optimizer, *, outcome: str | None = None, ranked: Sequence[sensitivity.Importance] | None = None
) -> Figure:
    """How much each parameter matters for an outcome, with what may be: the first, unless `outcome` names another."""
    name = outcome or optimizer.outcomes[0]
    found = list(ranked or sensitivity.importance(optimizer, outcome=name))[::-1]
    figure, axes = new_figure(7.5, 1.7 + 0.42 * len(found))
    places, totals = np.arange(len(found)), np.array([one.total for one in found])
    axes.barh(places, totals, height=0.62, color=SKY, alpha=0.55, label="with others")
    axes.barh(places, [one.alone for one in found], height=0.62, color=BLUE, label="alone")
    beside = np.abs(np.array([(one.low, one.high) for one in found]).T - totals)
    axes.errorbar(totals, places, xerr=beside, fmt="none", ecolor=INK, elinewidth=1.1, capsize=3, label="90 % interval")
    for place, one in zip(places, found, strict=True):
        axes.text(1.03, place, f"{percent(one.total)}, {one.verdict}", va="center", fontsize=9)
    axes.set_yticks(places, [one.parameter for one in found])
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda value, _: percent(value))
    axes.set_xlabel(f"share of the variation of {name} over the whole space")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    grid(axes, "x")
    heading(figure, "Which parameters matter", optimizer.validation(name).doubt)
    legend_below(figure, [axes])
    return figure


@styled
def interactions(optimizer: Optimizer, *, outcome: str | None = None) -> Figure:
    """Which pairs of parameters do something only together, as a matrix."""
    name, names = outcome or optimizer.outcomes[0], optimizer.space.names
    if len(names) < 2:
        raise BomiError("a single parameter has none to act together with")
    shares = sensitivity.interactions(optimizer, outcome=name)
    lower = np.ma.masked_where(np.triu(np.ones_like(shares, dtype=bool)), shares)[1:, :-1]
    side = 1.2 + 0.55 * len(names)
    figure, axes = new_figure(max(side + 1.2, 4.2), max(side, 2.6))
    shown = axes.imshow(lower, cmap="Blues", vmin=0, vmax=max(0.2, float(shares.max())))
    for row, column in zip(*np.tril_indices(len(names) - 1), strict=True):
        share = shares[row + 1, column]
        if share < WRITTEN and len(names) > MOST_WRITTEN:
            continue
        ink = "white" if share > 0.6 * shown.get_clim()[1] else INK
        axes.text(column, row, percent(share), ha="center", va="center", fontsize=8, color=ink)
    axes.set_xticks(range(len(names) - 1), names[:-1], rotation=90)
    axes.set_yticks(range(len(names) - 1), names[1:])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    heading(figure, f"What two parameters do to {name} only together", optimizer.validation(name).doubt)
    return figure


@styled
def surface(
    optimizer: Optimizer,
    pair: tuple[str, str] | None = None,
    *,
    setting: Mapping[str, Known] | None = None,
    outcome: str | None = None,
    ranked: Sequence[sensitivity.Importance] | None = None,
) -> Figure:
    """The expected outcome and its standard deviation over two parameters, with the rows; a gap is a smear.

    The two are those that matter most, unless they are named; the others are as in the recommended setting.
    """
    name = outcome or optimizer.outcomes[0]
    parameters = optimizer.space.parameters
    if pair is None:
        ranked = ranked or sensitivity.importance(optimizer, outcome=name)
        numeric = [one.parameter for one in ranked if not isinstance(parameters[one.parameter], Categorical | Ordinal)]
        if len(numeric) < 2:
            raise BomiError(f"a map needs two parameters that are numbers, but there are {len(numeric)}")
        pair = numeric[0], numeric[1]
    if setting is None:
        setting = optimizer.best().setting
    if setting is None:
        raise BomiError("there is no recommended setting to draw a map around yet")
    found = insight.surface(optimizer, setting, *pair, outcome=name)
    figure, panels = new_figure(10.5, 4.6, rows=1, columns=2)
    objective = next(one for one in optimizer.objectives if one.name == name)
    unit = objective.unit
    for axes, heights, colours, what, possible in (
        (panels[0], found.mean, "viridis", f"expected {with_unit(name, unit)}", objective.bounds),
        (panels[1], found.sd, "Greys", with_unit("standard deviation", unit), (0.0, np.inf)),
    ):
        shown = axes.contourf(found.across, found.up, heights, levels=_levels(heights, possible), cmap=colours)
        figure.colorbar(shown, ax=axes, label=what)
        _rows_on(axes, optimizer, pair, name)
        axes.plot(
            setting[pair[0]], setting[pair[1]], "D", color="white", markeredgecolor=VERMILION, markersize=9,
            markeredgewidth=2, label="recommended", zorder=4, clip_on=False,
        )  # fmt: skip
        for axis, one in zip("xy", pair, strict=True):
            scale(axes, parameters[one], axis)
            getattr(axes, f"set_{axis}lim")(*_ends(found.across if axis == "x" else found.up))
            getattr(axes, f"set_{axis}label")(with_unit(one, parameters[one].unit))
    others = ", ".join(
        f"{one} {_rounded(value)} {parameters[one].unit}".strip() for one, value in setting.items() if one not in pair
    )
    heading(figure, f"{name} over {pair[0]} and {pair[1]}", f"with {others}" if others else "")
    legend_below(figure, panels)
    return figure


def _rows_on(axes: Any, optimizer: Optimizer, pair: tuple[str, str], outcome: str) -> None:
    """The rows that know both parameters as points, and draws of those that lack one."""
    found = insight.placed(optimizer, *pair, outcome=outcome)
    for known, style in (
        (False, {"color": VERMILION, "alpha": 0.25, "linewidth": 0}),
        (True, {"color": "white", "edgecolor": INK, "linewidth": 0.8, "label": "experiments", "clip_on": False}),
    ):
        ends = [(x, y) for one in found if one.known is known for x, y in zip(one.across, one.up, strict=True)]
        if ends:
            x, y = np.array(ends, dtype=float).T
            axes.scatter(x, y, **(dots(len(ends), 22) if known else {"s": 7}), zorder=2 + known, **style)
            if not known:  # one dot of a smear could not be seen in the legend
                axes.scatter([], [], s=22, color=VERMILION, alpha=0.5, linewidth=0, label="where a gap may be")


def _levels(heights: Array, possible: tuple[float, float]) -> Array:
    """Round heights at which colours change, none beyond what is possible."""
    from matplotlib.ticker import MaxNLocator

    ends = MaxNLocator(14).tick_values(float(heights.min()), float(heights.max()))
    found: Array = np.unique(np.clip(ends, *possible))
    return found if len(found) > 1 else found + np.array([-0.5, 0.5])


def _rounded(value: Known) -> str:
    """A value as it is written beside a figure."""
    return f"{value:.4g}" if isinstance(value, float) else cells.text(value)


def _ends(values: Sequence[Known]) -> tuple[float, float]:
    return float(values[0]), float(values[-1])


@styled
def validation(optimizer: Optimizer, *, outcome: str | None = None, labels: Sequence[object] | None = None) -> Figure:
    """Every row as expected from all others against what was measured; those outside their interval are named."""
    from matplotlib.patheffects import withStroke

    whole = optimizer.validation(outcome)
    found, left_out = whole.believed, len(whole.wrong)
    name = with_unit(found.outcome, found.unit)
    figure, axes = new_figure(6.8, 5.4)
    complete = np.array([optimizer.observations.rows[row].complete for row in found.rows])
    beside = np.abs(np.array([found.low, found.high]) - found.mean)
    few = len(found.rows) <= MANY
    if few:
        style = {"fmt": "none", "ecolor": SKY, "elinewidth": 1.1, "alpha": 0.8, "zorder": 1}
        axes.errorbar(found.measured, found.mean, yerr=beside, label="90 % interval", **style)
    for chosen, colour, label in ((complete, BLUE, "every input known"), (~complete, "white", "some input missing")):
        style = {"color": colour, "edgecolor": BLUE, "linewidth": 1.2, "label": label, "zorder": 3}
        axes.scatter(found.measured[chosen], found.mean[chosen], **dots(len(found.rows), 30), **style)
    ends = [min(found.measured.min(), found.mean.min()), max(found.measured.max(), found.mean.max())]
    axes.plot(ends, ends, color=VERMILION, linewidth=1.3, linestyle=(0, (4, 3)), label="as measured", zorder=2)
    away = np.maximum(found.low - found.measured, found.measured - found.high) / beside.sum(0).clip(1e-300)
    for place in np.argsort(-away)[:NAMED]:
        if away[place] > 0:
            label = str(found.rows[place] if labels is None else labels[found.rows[place]])
            at = found.measured[place], found.mean[place]
            halo = [withStroke(linewidth=2.5, foreground="white")]  # a name is read across the points of others
            axes.annotate(label, at, xytext=(6, 4), textcoords="offset points", fontsize=8, path_effects=halo, zorder=4)
    axes.set(xlabel=f"measured {name}", ylabel=f"expected {name}, from the other rows")
    grid(axes, "both")
    note = f"; {left_out} that cannot be believed left out" if left_out else ""
    heading(figure, "Predicted against measured", found.sentence + note)
    legend_below(figure, [axes])
    return figure


@styled
def prospects(optimizer: Optimizer, *, labels: Sequence[object] | None = None) -> Figure:
    """What the next 1 and 10 experiments were expected to gain, as the table grew, beside what stopping takes."""
    rows = optimizer.observations.rows
    done = [place for place, row in enumerate(rows, 1) if row.tried]
    if len(done) < FEWEST:
        raise BomiError(f"what experiments gain is shown from {FEWEST} of them on, but there are {len(done)}")
    whole = optimizer.prospects()
    counts = np.unique(np.linspace(max(FEWEST, len(done) // 4), len(done), LOOKS_BACK).round().astype(int))
    found = []
    for count in counts[:-1]:
        wanted = {one.name: one for one in optimizer.objectives}
        before = Optimizer(optimizer.space, objective=wanted, method=optimizer.method, seed=optimizer.seed)
        before.tell_rows(rows[: done[count - 1]])
        found.append(before.prospects())
    found.append(whole)
    figure, axes = new_figure(7.5, 3.8)
    for horizon, colour, label in ((1, BLUE, "the next experiment"), (10, SKY, "the next 10 together")):
        axes.plot(counts, [one.gains[horizon] for one in found], "o-", color=colour, linewidth=1.8, label=label)
    least = [one.spread * STOP if one.cost is None else one.cost for one in found]
    axes.plot(counts, least, color=VERMILION, linestyle=(0, (4, 3)), label="what the next one must gain")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylim(bottom=min(min(least) / 3, *(max(one.gains[1], 1e-12) for one in found)))
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    axes.set(xlabel="experiments", ylabel=f"expected gain, {with_unit(whole.outcome, whole.unit)}")
    grid(axes, "both")
    heading(figure, "Is it worth going on?", whole.advice(labels))
    legend_below(figure, [axes])
    return figure


def _slice(
    axes: Any,
    parameter: Parameter,
    one: insight.Slice,
    chosen: Known,
    known: Sequence[tuple[Cell, float | None]],
    bounds: tuple[float, float],
) -> None:
    """The mean with bands of one and two standard deviations, the rows that know this parameter, and the setting."""
    bands = [np.clip(one.mean + side * one.sd, *bounds) for side in (-2, -1, 1, 2)]
    along = np.array([height(parameter, value) for value in one.values])
    aside = 0.16 if isinstance(parameter, Categorical | Ordinal) else 0.0  # beside the bar, not under it
    points = [
        (height(parameter, cell) - aside, y)
        for cell, y in known
        if isinstance(cell, Known) and parameter.contains(cell)
    ]
    if points:
        style = {"color": SOFT, "alpha": 0.55, "linewidth": 0, "label": "experiments", "zorder": 1}
        axes.scatter(*zip(*points, strict=True), **dots(len(points), 12), **style)
    if isinstance(parameter, Categorical | Ordinal) or (parameter.levels is not None and parameter.levels <= 12):
        axes.errorbar(
            along, one.mean, np.abs(np.array([bands[0], bands[-1]]) - one.mean), fmt="o", color=BLUE, markersize=6,
            elinewidth=1.6, capsize=4, label="expected, ± 2 sd", zorder=3,
        )  # fmt: skip
    else:
        axes.fill_between(along, bands[0], bands[-1], color=SKY, alpha=0.22, linewidth=0)
        axes.fill_between(along, bands[1], bands[2], color=SKY, alpha=0.35, linewidth=0)
        axes.plot(along, one.mean, color=BLUE, linewidth=1.8, label="expected, ± 1 and 2 sd", zorder=3)
    axes.axvline(
        height(parameter, chosen), color=VERMILION, linewidth=1.3, linestyle=(0, (4, 3)), label="recommended", zorder=2
    )
    scale(axes, parameter, "x")
    grid(axes)
