"""The figures of a campaign. The colours are Okabe and Ito's, which colour-blind people can distinguish."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np

from bomi.analysis import insight
from bomi.data.objectives import Objective
from bomi.data.observations import Row
from bomi.errors import BomiError, FileError
from bomi.optimizer import Optimizer
from bomi.results import Front, GapDraws, by_name
from bomi.space import Categorical, Ordinal, Parameter
from bomi.space.cells import Cell, Interval, Known, Normal

BLUE, ORANGE, GREEN, SKY, VERMILION = "#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00"
INK, SOFT, FAINT = "#222222", "#767676", "#dddddd"
STYLE: dict[Any, Any] = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.hashsalt": "bomi",  # the same figure gives the same file
}
FORMATS = ("png", "svg")
MOST_GAPS = 40  # shown for one parameter

P = ParamSpec("P")


def _styled(draw: Callable[P, Any]) -> Callable[P, Any]:
    """Draw in our style, and leave the user's own matplotlib settings as they are."""

    @functools.wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> Any:
        import matplotlib as mpl

        with mpl.rc_context(STYLE):
            return draw(*args, **kwargs)

    return styled


@_styled
def outcomes(optimizer: Optimizer, *, unit: str = "") -> Any:
    """Outcome over time with the best so far; rows with a gap are hollow. Several outcomes have one panel each."""
    rows = optimizer.observations.tried
    if not optimizer.observations.done:
        raise BomiError("there is no outcome to show yet")
    several = len(optimizer.objectives) > 1
    figure, panels = _figure(8, 4 if not several else 2.6 * len(optimizer.objectives), rows=len(optimizer.objectives))
    for axes, objective in zip(panels, optimizer.objectives, strict=True):
        _over_time(axes, rows, objective)
        axes.set_ylabel(_with_unit(objective.name, unit or objective.unit))
        goal = f"to {objective.goal}" if objective.target is None else f"target {objective.target:g}"
        axes.set_title(f"{objective.name} over time, {goal}")
        _grid(axes)
    panels[-1].set_xlabel("experiment")
    _legend_below(figure, panels)
    return figure


def _over_time(axes: Any, rows: Sequence[Row], objective: Objective) -> None:
    """One outcome of each row, the best so far, and where experiments failed."""
    numbers = np.arange(1, len(rows) + 1)
    values = np.array([row.outcomes.get(objective.name, np.nan) for row in rows], dtype=float)
    known, gappy = ~np.isnan(values), np.array([not row.complete for row in rows])
    best, so_far = -np.inf, np.full(len(rows), np.nan)
    for i, value in enumerate(values):
        if known[i] and objective.merit(value) > best:
            best, so_far[i] = objective.merit(value), value
        elif i:
            so_far[i] = so_far[i - 1]
    if objective.target is not None:
        axes.axhline(objective.target, color=GREEN, linewidth=1.3, label="target", zorder=1)
    label = "best so far" if objective.target is None else "nearest so far"
    axes.step(numbers, so_far, where="post", color=VERMILION, linewidth=1.8, label=label, zorder=2)
    full, hollow = known & ~gappy, known & gappy
    axes.scatter(numbers[full], values[full], s=34, color=BLUE, label="every input known", zorder=3)
    axes.scatter(
        numbers[hollow], values[hollow], s=34, facecolor="white", edgecolor=BLUE, linewidth=1.3,
        label="some input missing", zorder=3,
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


@_styled
def front(optimizer: Optimizer) -> Any:
    """Every pair of outcomes: the rows, the undominated ones among them, and the recommended trade-offs."""
    if len(optimizer.objectives) < 2:
        raise BomiError("a front of trade-offs needs two outcomes or more")
    best = optimizer.best()
    several = best.choices if isinstance(best, Front) else ()
    choices = [by_name(one.predicted, optimizer.outcomes) for one in several if one.predicted]
    rows = [row for row in optimizer.observations.done if len(row.outcomes) == len(optimizer.objectives)]
    merits = np.array([[one.merit(row.outcomes[one.name]) for one in optimizer.objectives] for row in rows])
    beaten = np.array([((merits >= own).all(1) & (merits > own).any(1)).any() for own in merits])
    pairs = list(itertools.combinations(optimizer.objectives, 2))
    across = min(3, len(pairs))
    down = -(-len(pairs) // across)
    figure, panels = _figure(max(6.5, 4.2 * across), 4.4 * down + 0.4, rows=down, columns=across)
    for axes, (first, second) in zip(panels, pairs, strict=False):
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
        _grid(axes, "both")
    for axes in panels[len(pairs) :]:
        axes.set_visible(False)
    figure.suptitle("Trade-offs", x=0.01, ha="left", fontsize=11, weight="bold")
    _legend_below(figure, panels[: len(pairs)])
    return figure


def _wanted(objective: Objective) -> str:
    goal = f"to {objective.goal}" if objective.target is None else f"target {objective.target:g}"
    return f"{_with_unit(objective.name, objective.unit)}, {goal}"


@_styled
def gap_strips(optimizer: Optimizer, *, labels: Sequence[object] | None = None) -> Any:
    """The draws of each gap: a strip for every parameter that has gaps."""
    gaps = optimizer.gap_draws()
    if not gaps:
        raise BomiError("there is no gap to show: every input is known")
    by_name = {name: [gap for gap in gaps if gap.parameter == name] for name in optimizer.space.names}
    by_name = {name: found for name, found in by_name.items() if found}
    widest = max(min(len(found), MOST_GAPS) for found in by_name.values())
    figure, panels = _figure(max(6.5, 2 + 0.34 * widest), 2.4 * len(by_name) + 0.5, rows=len(by_name))
    figure.get_layout_engine().set(h_pad=0.12)
    for axes, (name, found) in zip(panels, by_name.items(), strict=True):
        _strip(axes, optimizer.space.parameters[name], name, found[:MOST_GAPS], len(found), labels)
        axes.set_xlim(-0.7, max(widest - 0.3, 6.3))
    panels[-1].set_xlabel("row of the table")
    _legend_below(figure, panels)
    return figure


@_styled
def slices(
    optimizer: Optimizer, *, setting: Mapping[str, Known] | None = None, unit: str = "", outcome: str | None = None
) -> Any:
    """The expected outcome along every parameter through the recommended setting, with its uncertainty.

    With several outcomes it is the first, unless `outcome` names another.
    """
    name = outcome or optimizer.outcomes[0]
    if setting is None:
        setting = optimizer.best().setting
    if setting is None:
        raise BomiError("there is no recommended setting to slice through yet")
    found = insight.slices(optimizer, setting, outcome=name)
    across = 2 if len(found) == 4 else min(3, len(found))
    down = -(-len(found) // across)
    figure, panels = _figure(3.6 * across, 2.9 * down + 0.4, rows=down, columns=across, share=True)
    rows = [row for row in optimizer.observations.done if name in row.outcomes]
    for place, (axes, one) in enumerate(zip(panels, found, strict=False)):
        parameter = optimizer.space.parameters[one.parameter]
        known = [(row.recorded[one.parameter], row.outcomes[name]) for row in rows]
        _slice(axes, parameter, one, setting[one.parameter], known)
        axes.set_xlabel(_with_unit(one.parameter, parameter.unit))
        if place % across == 0:
            axes.set_ylabel(_with_unit(name, unit))
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    what = "outcome" if len(optimizer.outcomes) == 1 else name
    figure.suptitle(f"Expected {what} around the recommended setting", x=0.01, ha="left", fontsize=11, weight="bold")
    _legend_below(figure, panels[: len(found)])
    return figure


@_styled
def equipment(optimizer: Optimizer) -> Any:
    """What was done of what was asked, for every parameter that strays, and what will be done at the best setting."""
    frame = optimizer.execution()
    names = [str(name) for name in frame["parameter"][frame["strayed"] > 0]]
    setting = optimizer.best().setting if names else None
    if setting is None:
        raise BomiError("there is no straying to show: as far as is known, everything was done as asked")
    across = min(3, len(names))
    down = -(-len(names) // across)
    figure, panels = _figure(max(6.5, 3.8 * across), 3.4 * down + 0.4, rows=down, columns=across)
    drawn = {(gap.row, gap.parameter): gap.draws for gap in optimizer.gap_draws()}
    for axes, name in zip(panels, names, strict=False):
        _asked_and_done(axes, optimizer, name, setting, drawn)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    figure.suptitle("Asked and done", x=0.01, ha="left", fontsize=11, weight="bold")
    _legend_below(figure, panels[: len(names)])
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
            points[known] += [(_height(parameter, row.asked[name]), _height(parameter, value)) for value in values]
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
        _scale(axes, parameter, axis)
    axes.set(xlabel=_with_unit(f"asked {name}", parameter.unit), ylabel=_with_unit("done", parameter.unit))
    _grid(axes, "both")


@_styled
def importance(optimizer: Optimizer, *, outcome: str | None = None) -> Any:
    """How much each parameter matters for the expected outcome: the first, unless `outcome` names another."""
    name = outcome or optimizer.outcomes[0]
    found = insight.importance(optimizer, outcome=name)[::-1]
    figure, axes = _figure(7, 1.5 + 0.42 * len(found))
    places = np.arange(len(found))
    axes.barh(places, [one.total for one in found], height=0.62, color=SKY, alpha=0.55, label="with interactions")
    axes.barh(places, [one.alone for one in found], height=0.62, color=BLUE, label="alone")
    for place, one in zip(places, found, strict=True):
        axes.text(max(one.total, one.alone) + 0.012, place, f"{one.total:.0%}", va="center", fontsize=9)
    axes.set_yticks(places, [one.parameter for one in found])
    axes.set_xlim(0, max(0.1, 1.12 * max(one.total for one in found)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel(f"share of the variation of the expected {name}")
    axes.set_title("Which parameters matter")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _grid(axes, "x")
    _legend_below(figure, [axes])
    return figure


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
    if several:
        makers["front"] = lambda: front(optimizer)
    for one in optimizer.objectives:
        tail = "-" + re.sub(r"\W+", "_", one.name) if several else ""
        makers["slices" + tail] = partial(slices, optimizer, unit=unit or one.unit, outcome=one.name)
        makers["importance" + tail] = partial(importance, optimizer, outcome=one.name)
    files: list[Path] = []
    left_out: list[str] = []
    for name, make in makers.items():
        try:
            files += save(make(), folder / name, formats)
        except FileError:
            raise
        except BomiError as error:
            left_out.append(f"no figure of {name}: {error}")
        done(name)
    return files, left_out


@_styled
def save(figure: Any, path: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Save a figure under a name, once for each format."""
    files = [path.with_name(f"{path.name}.{kind}") for kind in formats]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for file, kind in zip(files, formats, strict=True):
            when = {"metadata": {"Date": None}} if kind == "svg" else {}
            figure.savefig(file, format=kind, dpi=160, **when)
    except OSError as error:
        raise FileError(
            f"the figures cannot be written to {path.parent}: {error.strerror or error}; choose another folder"
        ) from None
    return files


# --- parts ---------------------------------------------------------------------------------------------------------


def _figure(width: float, height: float, *, rows: int = 0, columns: int = 1, share: bool = False) -> tuple[Any, Any]:
    """A figure with one set of axes, or a list of them; without pyplot, which has global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    if not rows:
        return figure, figure.subplots()
    return figure, list(figure.subplots(rows, columns, squeeze=False, sharey=share).flat)


def _strip(
    axes: Any, parameter: Parameter, name: str, gaps: Sequence[GapDraws], count: int, labels: Sequence[object] | None
) -> None:
    """One parameter's gaps side by side: draws as dots, their median, the requested value and the stated range."""
    jitter = np.random.default_rng(0)
    for place, gap in enumerate(gaps):
        label = "drawn" if place == 0 else None
        heights = np.array([_height(parameter, draw) for draw in gap.draws])
        if isinstance(parameter, Categorical | Ordinal):
            values, counts = np.unique(heights, return_counts=True)
            sizes = 150 * counts / max(len(heights), 1)  # the share of the worlds with this category
            axes.scatter([place] * len(values), values, s=sizes, color=BLUE, alpha=0.6, linewidth=0, zorder=2)
        elif len(heights):
            aside = place + jitter.uniform(-0.24, 0.24, len(heights))
            axes.scatter(aside, heights, s=9, color=BLUE, alpha=0.3, linewidth=0, label=label, zorder=2)
            middle = float(np.median(heights))
            label = "median" if place == 0 else None
            axes.hlines(middle, place - 0.32, place + 0.32, color=INK, linewidth=1.6, label=label, zorder=3)
        if isinstance(gap.recorded, Normal | Interval):
            low, high = _stated(gap.recorded)
            axes.vlines(place, low, high, color=GREEN, linewidth=7, alpha=0.3, zorder=1)
        if gap.asked is not None:
            axes.scatter(
                place, _height(parameter, gap.asked), marker="D", s=30, facecolor="white", edgecolor=VERMILION,
                linewidth=1.5, zorder=4,
            )  # fmt: skip
    # These entries keep the legend the same whichever gaps come first.
    if any(isinstance(gap.recorded, Normal | Interval) for gap in gaps):
        axes.plot([], [], color=GREEN, linewidth=7, alpha=0.3, label="stated range")
    if any(gap.asked is not None for gap in gaps):
        axes.scatter([], [], marker="D", s=30, facecolor="white", edgecolor=VERMILION, linewidth=1.5, label="asked")
    shown = [gap.row if labels is None else labels[gap.row] for gap in gaps]
    axes.set_xticks(range(len(gaps)), [str(label) for label in shown], fontsize=8)
    more = f", first {len(gaps)} of {count}" if count > len(gaps) else ""
    axes.set_title(_with_unit(name, parameter.unit) + more)
    _scale(axes, parameter, "y")
    _grid(axes)


def _slice(
    axes: Any, parameter: Parameter, one: insight.Slice, chosen: Known, known: Sequence[tuple[Cell, float | None]]
) -> None:
    """The mean with bands of one and two standard deviations, the rows that know this parameter, and the setting."""
    along = np.array([_height(parameter, value) for value in one.values])
    aside = 0.16 if isinstance(parameter, Categorical | Ordinal) else 0.0  # beside the bar, not under it
    points = [
        (_height(parameter, cell) - aside, y)
        for cell, y in known
        if isinstance(cell, Known) and parameter.contains(cell)
    ]
    if points:
        axes.scatter(
            *zip(*points, strict=True), s=12, color=SOFT, alpha=0.55, linewidth=0, label="experiments", zorder=1
        )
    if isinstance(parameter, Categorical | Ordinal) or (parameter.levels is not None and parameter.levels <= 12):
        axes.errorbar(
            along, one.mean, 2 * one.sd, fmt="o", color=BLUE, markersize=6, elinewidth=1.6, capsize=4,
            label="expected, ± 2 sd", zorder=3,
        )  # fmt: skip
    else:
        axes.fill_between(along, one.mean - 2 * one.sd, one.mean + 2 * one.sd, color=SKY, alpha=0.22, linewidth=0)
        axes.fill_between(along, one.mean - one.sd, one.mean + one.sd, color=SKY, alpha=0.35, linewidth=0)
        axes.plot(along, one.mean, color=BLUE, linewidth=1.8, label="expected, ± 1 and 2 sd", zorder=3)
    axes.axvline(
        _height(parameter, chosen), color=VERMILION, linewidth=1.3, linestyle=(0, (4, 3)), label="recommended", zorder=2
    )
    _scale(axes, parameter, "x")
    _grid(axes)


def _scale(axes: Any, parameter: Parameter, axis: str) -> None:
    """The parameter's own scale along an axis."""
    if isinstance(parameter, Categorical | Ordinal):
        ticks = [str(value) for value in parameter.values]
        getattr(axes, f"set_{axis}ticks")(range(len(ticks)), ticks)
        getattr(axes, f"set_{axis}lim")(-0.6, len(ticks) - 0.4)
        return
    if parameter.log:
        getattr(axes, f"set_{axis}scale")("log")
        getattr(axes, f"{axis}axis").set_major_formatter(lambda value, _: f"{value:g}")
        margin = (parameter.high / parameter.low) ** 0.03
        limits = parameter.low / margin, parameter.high * margin
    else:
        pad = 0.03 * (parameter.high - parameter.low)
        limits = parameter.low - pad, parameter.high + pad
    getattr(axes, f"set_{axis}lim")(*limits)


def _height(parameter: Parameter, value: Known) -> float:
    """Where a value is along an axis: the value itself, or the index of its category."""
    return float(parameter.values.index(value)) if isinstance(parameter, Categorical | Ordinal) else float(value)


def _stated(cell: Normal | Interval) -> tuple[float, float]:
    return (cell.low, cell.high) if isinstance(cell, Interval) else (cell.mean - 2 * cell.sd, cell.mean + 2 * cell.sd)


def _grid(axes: Any, axis: str = "y") -> None:
    axes.set_axisbelow(True)
    axes.grid(axis=axis, color=FAINT, linewidth=0.7)


def _legend_below(figure: Any, panels: Sequence[Any]) -> None:
    """One legend for all panels, each entry once."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside lower left", ncols=5)


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit and unit not in name else name
