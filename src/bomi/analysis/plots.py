"""The figures of a campaign: its data, its gaps, and what was learned from them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bomi.analysis import model_plots, sensitivity
from bomi.analysis.drawing import (
    BLUE,
    FORMATS,
    GREEN,
    INK,
    MANY,
    SOFT,
    VERMILION,
    dots,
    grid,
    heading,
    height,
    legend_below,
    new_figure,
    new_panels,
    save,
    scale,
    stated,
    styled,
)
from bomi.data.objectives import Objective, keeps_limits, wanted
from bomi.data.observations import Row
from bomi.errors import BomiError, FileError
from bomi.optimizer import Optimizer
from bomi.results import Front, GapDraws, by_name
from bomi.space import Categorical, Ordinal, Parameter
from bomi.space.cells import Interval, Known, Normal
from bomi.space.units import with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_GAPS, MOST_IN_ALL, FEWEST_GAPS = 40, 240, 6  # shown for one parameter, and for all of them
ONE_BELOW_ANOTHER, ACROSS = 6, 3  # panels up to which each has the whole width; of more, how many stand side by side


@styled
def outcomes(optimizer: Optimizer, *, unit: str = "") -> Figure:
    """Outcome over time with the best so far; rows with a gap are hollow. Several outcomes have one panel each."""
    rows = optimizer.observations.tried
    if not optimizer.observations.done:
        raise BomiError("there is no outcome to show yet")
    several = len(optimizer.objectives) > 1
    figure, panels = new_figure(
        8, 4 if not several else 2.6 * len(optimizer.objectives), rows=len(optimizer.objectives)
    )
    for axes, objective in zip(panels, optimizer.objectives, strict=True):
        _over_time(axes, rows, objective, optimizer.objectives)
        axes.set_ylabel(with_unit(objective.name, unit or objective.unit))
        axes.set_title(f"{objective.name} over time, {_goal(objective)}")
        grid(axes)
    panels[-1].set_xlabel("experiment")
    legend_below(figure, panels)
    return figure


def _goal(objective: Objective) -> str:
    return f"to {objective.goal}" if objective.target is None else f"{objective.goal} {objective.target:g}"


def _over_time(axes: Any, rows: Sequence[Row], objective: Objective, objectives: Sequence[Objective]) -> None:
    """One outcome of each row, the best so far that keeps all limits, and where experiments failed."""
    numbers = np.arange(1, len(rows) + 1)
    values = np.array([row.outcomes.get(objective.name, np.nan) for row in rows], dtype=float)
    known, gappy = ~np.isnan(values), np.array([not row.complete for row in rows])
    best, so_far = -np.inf, np.full(len(rows), np.nan)
    for i, value in enumerate(values):
        if known[i] and keeps_limits(objectives, rows[i].outcomes) and objective.merit(value) > best:
            best, so_far[i] = objective.merit(value), value
        elif i:
            so_far[i] = so_far[i - 1]
    if objective.target is not None:
        axes.axhline(objective.target, color=GREEN, linewidth=1.3, label=objective.goal, zorder=1)
    if not objective.limited:
        label = "best so far" if objective.target is None else "nearest so far"
        axes.step(numbers, so_far, where="post", color=VERMILION, linewidth=1.8, label=label, zorder=2)
    full, hollow = known & ~gappy, known & gappy
    size = dots(len(rows))
    axes.scatter(numbers[full], values[full], color=BLUE, label="every input known", zorder=3, **size)
    axes.scatter(
        numbers[hollow], values[hollow], facecolor="white", edgecolor=BLUE, linewidth=1.3 if len(rows) <= MANY else 0.5,
        label="some input missing", zorder=3, **size,
    )  # fmt: skip
    failed = [number for number, row in zip(numbers, rows, strict=True) if row.failed]
    if failed:
        axes.scatter(
            failed, [0.03] * len(failed), transform=axes.get_xaxis_transform(), marker="x", s=34, color=INK,
            linewidth=1.4, label="failed", zorder=3,
        )  # fmt: skip
    asked = [number for number, row in zip(numbers, rows, strict=True) if row.asked]
    if asked and asked[0] > 1:
        axes.axvline(asked[0] - 0.5, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            "suggested from here", (asked[0] - 0.5, 0), xycoords=("data", "axes fraction"), xytext=(4, 4),
            textcoords="offset points", va="bottom", fontsize=9, color=SOFT,
        )  # fmt: skip
    axes.set_xlim(0, len(rows) + 1)
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)


@styled
def front(optimizer: Optimizer) -> Figure:
    """Every pair of outcomes that are wanted: the rows that keep all limits, the undominated ones among them, and the
    recommended trade-offs."""
    goals = wanted(optimizer.objectives)
    if len(goals) < 2:
        raise BomiError("a front of trade-offs needs two outcomes or more")
    best = optimizer.best()
    several = best.choices if isinstance(best, Front) else ()
    choices = [by_name(one.predicted, optimizer.outcomes) for one in several if one.predicted]
    whole = [row for row in optimizer.observations.done if len(row.outcomes) == len(optimizer.objectives)]
    rows = [row for row in whole if keeps_limits(optimizer.objectives, row.outcomes)] or whole
    merits = np.array([[one.merit(row.outcomes[one.name]) for one in goals] for row in rows])
    beaten = np.array([((merits >= own).all(1) & (merits > own).any(1)).any() for own in merits])
    pairs = list(itertools.combinations(goals, 2))
    figure, panels = new_panels(len(pairs), 4.2, 4.4, least=6.5)
    for axes, (first, second) in zip(panels, pairs, strict=True):
        x, y = (np.array([row.outcomes[one.name] for row in rows]) for one in (first, second))
        axes.scatter(x[beaten], y[beaten], s=26, color=SOFT, alpha=0.5, linewidth=0, label="beaten by a row", zorder=2)
        axes.scatter(x[~beaten], y[~beaten], s=40, color=BLUE, label="not beaten by any row", zorder=4)
        if choices:
            one, other = ([choice[name] for choice in choices] for name in (first.name, second.name))
            axes.errorbar(
                [p.mean for p in one], [p.mean for p in other], [p.sd for p in other], [p.sd for p in one],
                fmt="D", color=VERMILION, markersize=5, markerfacecolor="white", elinewidth=0.8,
                label="recommended, ± 1 sd", zorder=3,
            )  # fmt: skip
        for line, objective in ((axes.axvline, first), (axes.axhline, second)):
            if objective.target is not None:
                line(objective.target, color=GREEN, linewidth=1.3, label="target", zorder=1)
        axes.set(xlabel=_wanted(first), ylabel=_wanted(second))
        grid(axes, "both")
    heading(figure, "Trade-offs")
    legend_below(figure, panels)
    return figure


def _wanted(objective: Objective) -> str:
    return f"{with_unit(objective.name, objective.unit)}, {_goal(objective)}"


@styled
def gap_strips(optimizer: Optimizer, *, labels: Sequence[object] | None = None) -> Figure:
    """The draws of each gap: a strip for every parameter that has gaps."""
    gaps = optimizer.gap_draws()
    if not gaps:
        raise BomiError("there is no gap to show: every input is known")
    by_name = {name: [gap for gap in gaps if gap.parameter == name] for name in optimizer.space.names}
    by_name = {name: found for name, found in by_name.items() if found}
    most = min(MOST_GAPS, max(MOST_IN_ALL // len(by_name), FEWEST_GAPS))
    widest = max(min(len(found), most) for found in by_name.values())
    across, least = (1, 6.5) if len(by_name) <= ONE_BELOW_ANOTHER else (ACROSS, 3.6)
    figure, panels = new_panels(len(by_name), max(least, 2 + 0.34 * widest), 2.4, most=across)
    figure.set_layout_engine("constrained", h_pad=0.12)
    for axes, (name, found) in zip(panels, by_name.items(), strict=True):
        _strip(axes, optimizer.space.parameters[name], name, found[:most], len(found), labels)
        axes.set_xlim(-0.7, max(widest - 0.3, least - 0.2))
    for axes in panels[-across:]:
        axes.set_xlabel("row of the table")
    legend_below(figure, panels)
    return figure


def _strip(
    axes: Any, parameter: Parameter, name: str, gaps: Sequence[GapDraws], count: int, labels: Sequence[object] | None
) -> None:
    """One parameter's gaps side by side: draws as dots, their median, the requested value and the stated range."""
    drawn = [np.array([height(parameter, draw) for draw in gap.draws]) for gap in gaps]
    at = np.arange(len(gaps))
    if isinstance(parameter, Categorical | Ordinal):
        drawn, counts = zip(*(np.unique(heights, return_counts=True) for heights in drawn), strict=True)
        sizes = np.concatenate([150 * each / max(each.sum(), 1) for each in counts])  # the share of the worlds with it
        places = np.repeat(at, [len(values) for values in drawn])
        axes.scatter(places, np.concatenate(drawn), s=sizes, color=BLUE, alpha=0.6, linewidth=0, zorder=2)
    else:
        sizes = np.array([len(heights) for heights in drawn])
        aside = np.repeat(at, sizes) + np.random.default_rng(0).uniform(-0.24, 0.24, sizes.sum())
        axes.scatter(aside, np.concatenate(drawn), s=9, color=BLUE, alpha=0.3, linewidth=0, label="drawn", zorder=2)
        middles, at = [float(np.median(heights)) for heights in drawn if len(heights)], at[sizes > 0]
        axes.hlines(middles, at - 0.32, at + 0.32, color=INK, linewidth=1.6, label="median", zorder=3)
    ranges = [
        (place, *stated(gap.recorded)) for place, gap in enumerate(gaps) if isinstance(gap.recorded, Normal | Interval)
    ]
    asked = [(place, height(parameter, gap.asked)) for place, gap in enumerate(gaps) if gap.asked is not None]
    if ranges:
        axes.vlines(*zip(*ranges, strict=True), color=GREEN, linewidth=7, alpha=0.3, zorder=1)
    if asked:
        axes.scatter(
            *zip(*asked, strict=True), marker="D", s=30, facecolor="white", edgecolor=VERMILION, linewidth=1.5, zorder=4
        )
    # These entries keep the legend the same whichever gaps come first.
    if ranges:
        axes.plot([], [], color=GREEN, linewidth=7, alpha=0.3, label="stated range")
    if asked:
        axes.scatter([], [], marker="D", s=30, facecolor="white", edgecolor=VERMILION, linewidth=1.5, label="asked")
    shown = [gap.row if labels is None else labels[gap.row] for gap in gaps]
    turned = 90 if max(len(str(label)) for label in shown) > 3 else 0
    axes.set_xticks(range(len(gaps)), [str(label) for label in shown], fontsize=8, rotation=turned)
    more = f", first {len(gaps)} of {count}" if count > len(gaps) else ""
    axes.set_title(with_unit(name, parameter.unit) + more)
    scale(axes, parameter, "y")
    grid(axes)


def save_all(
    optimizer: Optimizer,
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS,
    labels: Sequence[object] | None = None,
    unit: str = "",
    done: Callable[[str], None] = lambda name: None,
) -> tuple[list[Path], list[str]]:
    """Save every figure that the data allow; return the files, and why a figure was left out."""
    makers: dict[str, Callable[[], Any]] = {
        "outcomes": lambda: outcomes(optimizer, unit=unit),
        "gaps": lambda: gap_strips(optimizer, labels=labels),
    }
    several = len(optimizer.objectives) > 1
    recommended = cache(lambda: optimizer.best().setting)
    if len(wanted(optimizer.objectives)) > 1:
        makers["front"] = lambda: front(optimizer)
    for one in optimizer.objectives:
        tail = "-" + re.sub(r"\W+", "_", one.name) if several else ""
        alike = sum(name == f"slices{tail}" or name.startswith(f"slices{tail}-") for name in makers)
        tail += f"-{alike + 1}" if alike else ""  # a/b and a_b are two outcomes
        makers |= {name + tail: maker for name, maker in _of_model(optimizer, one, recommended, labels, unit).items()}
    files: list[Path] = []
    left_out: list[str] = []
    for place, (name, make) in enumerate(makers.items(), 1):
        try:
            files += save(make(), folder / name, formats)
        except FileError:
            raise
        except BomiError as error:
            left_out.append(f"no figure of {name}: {error}")
        done(f"{name}, {place} of {len(makers)}")
    return files, left_out


def _of_model(
    optimizer: Optimizer,
    objective: Objective,
    recommended: Callable[[], Mapping[str, Known] | None],
    labels: Sequence[object] | None,
    unit: str,
) -> dict[str, Callable[[], Figure]]:
    """What makes each figure of what was learned of an outcome; what several of them need is computed once."""
    name = objective.name
    ranked = cache(lambda: sensitivity.importance(optimizer, outcome=name))
    return {
        "slices": lambda: model_plots.slices(
            optimizer, setting=recommended(), unit=unit or objective.unit, outcome=name
        ),
        "importance": lambda: model_plots.importance(optimizer, outcome=name, ranked=ranked()),
        "interactions": lambda: model_plots.interactions(optimizer, outcome=name),
        "map": lambda: model_plots.surface(optimizer, setting=recommended(), outcome=name, ranked=ranked()),
        "trust": lambda: model_plots.validation(optimizer, outcome=name, labels=labels),
    }
