"""What the data say: slices and maps around a setting, why a setting was suggested, which gaps matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bomi.data.objectives import wanted
from bomi.data.observations import Row
from bomi.impute.table import LARGE
from bomi.optimizer import Optimizer
from bomi.results import Best, Front, Predicted, Prediction, Suggestion, percent
from bomi.space import Array, Integer, Parameter, Real, Space, cells
from bomi.space.cells import Known

if TYPE_CHECKING:
    import pandas as pd

SLICE_POINTS = 121
NEAR_BEST = 0.05  # share of the outcomes' spread: this close to the best is as good as the best
SURE = 0.1  # share of the outcomes' spread: a smaller standard deviation does not matter


def quantiles(values: Array, weights: Array, levels: Sequence[float]) -> Array:
    """Quantiles of weighted values.  (k,), (k,) -> (l,)

    >>> quantiles(np.array([3.0, 1.0]), np.array([0.75, 0.25]), (0.1, 0.9)).tolist()
    [1.0, 3.0]
    """
    order = values.argsort()
    below = weights[order].cumsum()
    at = np.searchsorted(below, np.array(levels) * below[-1]).clip(max=len(values) - 1)
    found: Array = values[order][at]
    return found


@dataclass(frozen=True)
class Slice:
    """The expected outcome along one parameter, with the others held at a setting."""

    parameter: str
    values: tuple[Known, ...]
    mean: Array  # (m,)
    sd: Array  # (m,)


def slices(
    optimizer: Optimizer, setting: Mapping[str, Known], *, points: int = SLICE_POINTS, outcome: str | None = None
) -> list[Slice]:
    """A slice along every parameter through the setting: evenly spaced on its scale, or at each level if there are few.

    With several outcomes it is the first, unless `outcome` names another. The other functions here do the same.
    """
    space = optimizer.space
    place = space.to_unit(optimizer.completed(setting))
    found = []
    for (name, parameter), columns in zip(space.parameters.items(), space.columns, strict=True):
        along = _along(parameter, points)
        places = np.tile(place, (len(along), 1))
        places[:, columns] = along
        mean, sd = optimizer.expected(places, outcome)
        found.append(Slice(name, tuple(parameter.from_unit(row) for row in along), mean, sd))
    return found


def _along(parameter: Parameter, points: int) -> Array:
    """Places of a parameter in its columns, evenly on its scale; each level if there are few.  (m, width)"""
    every = parameter.every() if parameter.levels is not None and parameter.levels <= points else []
    return np.array(every) if every else parameter.snap(np.linspace(0, 1, points)[:, None])


@dataclass(frozen=True)
class Surface:
    """The expected outcome over two parameters, the others as in a setting."""

    across: tuple[Known, ...]
    up: tuple[Known, ...]
    mean: Array  # (len(up), len(across))
    sd: Array  # (len(up), len(across))


def surface(
    optimizer: Optimizer,
    setting: Mapping[str, Known],
    across: str,
    up: str,
    *,
    points: int = 41,
    outcome: str | None = None,
) -> Surface:
    """The expected outcome on a grid over two parameters, evenly on their scales."""
    space = optimizer.space
    spans, grids = [], []
    for name in (across, up):
        grids.append(_along(space.parameters[name], points))
        spans.append(space.columns[space.names.index(name)])
    places = np.tile(space.to_unit(optimizer.completed(setting)), (len(grids[0]) * len(grids[1]), 1))
    places[:, spans[0]] = np.tile(grids[0], (len(grids[1]), 1))
    places[:, spans[1]] = np.repeat(grids[1], len(grids[0]), axis=0)
    mean, sd = (each.reshape(len(grids[1]), len(grids[0])) for each in optimizer.expected(places, outcome))
    names = zip((across, up), grids, strict=True)
    values = [tuple(space.parameters[name].from_unit(row) for row in grid) for name, grid in names]
    return Surface(values[0], values[1], mean, sd)


SMEAR, MOST_SMEARS = 40, 60  # draws of a gap on a map, and gaps


@dataclass(frozen=True)
class Placed:
    """A row on a map: where it is, or where it may be if it lacks one of the two values or both."""

    row: int  # counted from 0, in the order told
    across: tuple[Known, ...]
    up: tuple[Known, ...]

    @property
    def known(self) -> bool:
        """Whether there is one place only."""
        return len(self.across) == 1


def placed(optimizer: Optimizer, across: str, up: str, *, outcome: str | None = None) -> list[Placed]:
    """The rows with an outcome, over two parameters; draws where a value is not known exactly."""
    name = outcome or optimizer.outcomes[0]
    rows = {i: row for i, row in enumerate(optimizer.observations.rows) if row.tried and name in row.outcomes}
    few = optimizer.gap_draws() if len(rows) <= LARGE else ()  # of a large table they would hide the map
    draws = {(gap.row, gap.parameter): gap.draws[:SMEAR] for gap in few}
    found, smears = [], 0
    for i, row in rows.items():
        ends = [
            (cell,) if isinstance(cell := row.recorded[one], Known) else draws.get((i, one), ()) for one in (across, up)
        ]
        count = max(map(len, ends)) if all(ends) else 0
        smears += count > 1
        if count == 1 or (count and smears <= MOST_SMEARS):
            found.append(Placed(i, *(one * count if len(one) == 1 else one for one in ends)))
    return found


@dataclass(frozen=True)
class Neighbor:
    """The complete row that is nearest to a setting, and the parameter in which it differs most."""

    row: int  # counted from 0, in the order told
    parameter: str
    share: float  # of the parameter's range (on its scale); 1 for another category


def nearest(optimizer: Optimizer, setting: Mapping[str, Known]) -> Neighbor | None:
    """The row with the smallest largest difference, as a share of a parameter's range; None without a complete row."""
    rows = [(i, row) for i, row in enumerate(optimizer.observations.rows) if row.complete and row.tried]
    if not rows:
        return None
    place = optimizer.space.place(setting)
    shares = np.array([_shares(optimizer.space, row, place) for _, row in rows])  # (n, p)
    # Ties are broken by the sum of the differences.
    best = min(range(len(rows)), key=lambda i: (shares[i].max(), shares[i].sum()))
    j = int(shares[best].argmax())
    return Neighbor(rows[best][0], optimizer.space.names[j], float(shares[best, j]))


class Why(NamedTuple):
    """Why a point is suggested, in plain words."""

    kind: str  # explore, exploit, or both; "" without a model
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}" if self.kind else self.reason


def why(
    optimizer: Optimizer,
    suggestion: Suggestion,
    best: Best | Prediction | None,
    labels: Sequence[object] | None = None,
) -> Why:
    """In plain words: whether a suggestion explores or exploits, and how far it is from what is known.

    `best` is the prediction for the best setting, or settings. `labels` name the rows.
    """
    expected = _choices(best)
    if suggestion.predicted is None or not expected:
        return Why("", suggestion.note or "a random point")
    here, goals = _merits(optimizer, suggestion.predicted), wanted(optimizer.objectives)
    told = [
        np.array([row.outcomes[one.name] for row in optimizer.observations.done if one.name in row.outcomes])
        for one in goals
    ]
    spread = np.array([np.ptp(outcomes) or 1.0 for outcomes in told])
    usual = [np.mean([one.merit(y) for y in ys]) for one, ys in zip(goals, told, strict=True)]
    top = np.array([_merits(optimizer, choice) for choice in expected])  # (choices, J)
    rise = float(((top - usual) / spread).max())
    behind = float(((top - here) / spread).min(1).max())  # by how much one of the best is better in every outcome
    each = zip(_each(optimizer, suggestion.predicted), spread, strict=True)
    sure = all(one.sd <= SURE * size for one, size in each)
    among = "the best" if len(goals) == 1 else "the best trade-offs"
    if rise < SURE:
        kind, reason = "explore", "the rows do not show yet which settings are better"
    elif behind > NEAR_BEST:
        kind, reason = "explore", "not expected to be the best, but too little is known here to rule it out"
    elif not sure:
        kind, reason = "exploit and explore", f"expected to be among {among}, and still uncertain"
    else:
        kind, reason = "exploit", f"expected to be among {among}, and fairly certain"
    reason += f"; {chance_of(optimizer)} is {percent(optimizer.chances([suggestion])[0])}"
    if len(goals) < len(optimizer.objectives) or any(row.failed for row in optimizer.observations.tried):
        reason += f"; its probability of success is {percent(optimizer.success([suggestion])[0])}"
    return Why(kind, f"{reason}; {distance(optimizer, suggestion, labels)}")


def chance_of(optimizer: Optimizer) -> str:
    """What a chance refers to."""
    several = len(wanted(optimizer.objectives)) > 1
    return "its chance " + ("not to be beaten by any row" if several else "to beat the best row")


def _choices(best: Best | Prediction | None) -> list[Any]:
    """The prediction for each of the best settings."""
    if best is None or isinstance(best, Prediction):
        return [best] if best else []
    choices = best.choices if isinstance(best, Front) else (best,)
    return [choice.predicted for choice in choices if choice.predicted]


def _each(optimizer: Optimizer, predicted: Predicted) -> list[Prediction]:
    """The prediction of each outcome that is wanted."""
    goals = wanted(optimizer.objectives)
    return [predicted] if isinstance(predicted, Prediction) else [predicted[one.name] for one in goals]


def _merits(optimizer: Optimizer, predicted: Predicted) -> list[float]:
    pairs = zip(wanted(optimizer.objectives), _each(optimizer, predicted), strict=True)
    return [objective.merit(one.mean) for objective, one in pairs]


def ranked_gaps(optimizer: Optimizer) -> pd.DataFrame:
    """The gaps sorted by worth, the largest first; by their spread where the worth is unknown."""
    frame = optimizer.gaps()
    spans = [_span(optimizer.space, name) for name in frame["parameter"]]
    order = frame.assign(spread=frame["sd"] / spans).sort_values(
        ["worth", "spread", "row"], ascending=[False, False, True], kind="stable"
    )
    return order.drop(columns="spread").reset_index(drop=True)


DENSITY_POINTS = 81


def density(parameter: Parameter, draws: Sequence[Known]) -> tuple[tuple[Known, ...], Array]:
    """The density of a parameter given draws of it, along its scale, in the measure of the unit cube.

    For categories it is the share of each value. For numbers it is a Gaussian kernel estimate with Silverman's
    bandwidth, reflected at the bounds so that no mass is lost beyond them.
    """
    if not isinstance(parameter, Real | Integer):
        shares = [sum(draw == value for draw in draws) / max(len(draws), 1) for value in parameter.values]
        return tuple(parameter.values), np.array(shares)
    along = np.linspace(0, 1, DENSITY_POINTS)
    places = np.clip([parameter.to_unit(draw)[0] for draw in draws], 0, 1)
    spread = min(places.std(), np.subtract(*np.quantile(places, [0.75, 0.25])) / 1.349) or places.std()
    # The levels of a step must not show as separate peaks.
    least = 1 / (parameter.levels - 1) if parameter.levels else 0.0
    width = max(0.9 * spread * len(places) ** -0.2, 0.6 * least, 1 / DENSITY_POINTS)
    folded = np.concatenate([places, -places, 2 - places])
    heights = np.exp(-0.5 * ((along[:, None] - folded) / width) ** 2).sum(1) / (
        len(places) * width * np.sqrt(2 * np.pi)
    )
    return tuple(parameter.from_unit([place]) for place in along), heights


def _shares(space: Space, row: Row, place: Array) -> list[float]:
    """How far a complete row is from a point, by parameter; what is not known of the point is no distance."""
    apart = np.nan_to_num(np.abs(space.place(row.recorded) - place))
    return [float(apart[columns].max()) for columns in space.columns]


def distance(optimizer: Optimizer, setting: Mapping[str, Known], labels: Sequence[object] | None = None) -> str:
    """How far a setting is from the nearest complete row, in words. `labels` name the rows."""
    neighbor = nearest(optimizer, setting)
    if neighbor is None:
        return "no complete row to compare it with"
    label = f"row {neighbor.row}" if labels is None else labels[neighbor.row]
    if neighbor.share < 0.005:
        return f"the same as {label}"
    if optimizer.space.parameters[neighbor.parameter].kind == "categorical":
        other = optimizer.observations.rows[neighbor.row].recorded[neighbor.parameter]
        return f"the nearest known row, {label}, has another {neighbor.parameter} ({cells.text(other)})"
    return f"the nearest known row, {label}, is {percent(neighbor.share)} of the range away in {neighbor.parameter}"


def _span(space: Space, name: str) -> float:
    parameter = space.parameters[name]
    return parameter.high - parameter.low if isinstance(parameter, Real | Integer) else 1.0
