"""Cells that look wrong: every recorded input and outcome may be, with a small probability.

For each row there are several stories: all of it is right; one input is wrong, and was anything else; the decimal point
of one number has slipped; two inputs were swapped; one outcome is wrong. With the outcomes predicted from all other
rows, in Q worlds, their weights are

    all is right        N(y; mu(x), v(x))
    input j is wrong    e   mean over x' ~ F_j of N(y; mu(x with x'), v)  (1 + g_j(x_j)) / 2 f_j(x_j)
    j has slipped       e_s N(y; mu(x with x'), v)  |dx' / dx_j|  f_j(x') / f_j(x_j),   x' = 10 x_j or x_j / 10
    j, k were swapped   e_w N(y; mu(x swapped), v)  f_jk(x_k, x_j) / f_jk(x_j, x_k)
    outcome is wrong    e   Cauchy(y; 0, 3)
    outcome has slipped e_s N(y'; mu(x), v)  |dy' / dy|,   y' = 10 y or y / 10

F_j is what the other columns of the row make one expect of input j. f_j is the density of how far recorded values lie
from that, g_j that of the column without regard to the others, and f_jk of two columns is f_j g_k and g_j f_k, averaged
as logarithms. A wrong value comes from anywhere in the range or from another row. Columns whose upper tail is long are
looked at on a log scale. Densities are made by the bulk of the other rows, with the tails of a t distribution of 4
degrees of freedom: wrong values do not speak for each other. No row speaks of itself, and no cell is changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from bomi.knowledge import Knowledge
from bomi.learning import Fit
from bomi.model.kernels import AdditiveMatern
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.copula import Columns
from bomi.posterior.moved import Moved
from bomi.posterior.spread import interpolate
from bomi.space import Categorical, Parameter, Real

if TYPE_CHECKING:
    import pandas as pd

WRONG = 0.01  # e, beforehand
SLIPPED = 0.0025  # e_s
SWAPPED = 0.01  # of a row: e_w for all its pairs together
CANDIDATES = 24  # values that an input may have had instead
TAILS = 4.0  # degrees of freedom of a recorded value around what is expected
HEAVY = 0.1  # share of a density that is in its tails
BULK = 3.5  # widths: values further off speak for no other
LEAST = 1e-4  # probability of a category that the other columns leave no room for
LOPSIDED = 0.35  # a column whose upper tail is longer by this much is looked at on a log scale
FINEST = 0.02  # of the range, at least, that recorded values lie apart from what is expected
FAR = 3.0  # standard deviations of all outcomes, of one that is wrong
LIKELY = 0.05  # probability, from which a cell is named
KEPT = 10_000_000  # numbers that are kept for all stories
NEGLIGIBLE = 1e-5  # times as likely as that all is right: not looked at any further


@dataclass(frozen=True)
class Doubt:
    """A cell of the table as the model sees it, which may be wrong."""

    row: int
    column: int  # an input, or after these an outcome
    likely: float  # code of the value that it may have been, or target
    probability: float


@dataclass(frozen=True)
class Story:
    """What may have happened to each row: its log weight, and what the cells were that it makes wrong, by column."""

    weight: Tensor  # (n,)
    likely: dict[int, Tensor]  # (n,) each


@dataclass(frozen=True)
class Density:
    """How the numbers of a column lie around what is expected of each, made by their bulk."""

    apart: Tensor  # (n,), NaN where one is missing
    middle: float
    width: float

    @classmethod
    def of(cls, apart: Tensor) -> Density:
        """Of numbers less what is expected of them.  (n,)"""
        middle = float(apart.nanquantile(0.5)) if not apart.isnan().all() else 0.0
        return cls(apart, middle, float(_width((apart - middle).abs().unsqueeze(-1))))

    def log_at(self, places: Tensor) -> Tensor:
        """The log density at a place for each row, made by all other rows.  (n,) -> (n,)

        (1 - HEAVY) / m sum over the other m of N(x; x_l, h^2) + HEAVY t_4(x),  h = 1.06 width m^(-1/5)
        """
        bulk = (self.apart - self.middle).abs() <= BULK * self.width  # NaN is none of it
        others = bulk.expand(len(bulk), -1) & ~torch.eye(len(bulk), dtype=torch.bool)  # (n, n)
        count = others.sum(-1).clamp_min(1)
        h = 1.06 * self.width * count.double() ** -0.2
        near = -0.5 * ((places[:, None] - self.apart.nan_to_num()) / h[:, None]).square()
        near = torch.where(others, near, -torch.inf).logsumexp(-1) - (count * h * math.sqrt(2 * math.pi)).log()
        tails = torch.distributions.StudentT(TAILS, self.middle, self.width).log_prob(places)
        found: Tensor = torch.logaddexp(near + math.log(1 - HEAVY), tails + math.log(HEAVY))
        return found


def suspects_table(known: Knowledge) -> pd.DataFrame:
    """The cells that look wrong, the likeliest first, in the words and units of the user's table."""
    import pandas as pd

    fit, space = known.modelled(), known.space
    names = [*space.names, *known.outcomes]
    tried = [(i, row) for i, row in enumerate(known.observations.rows) if row.tried]
    found = []
    for doubt in doubts(fit):
        (number, row), name = tried[doubt.row], names[doubt.column]
        recorded: object = row.recorded.get(name)
        if doubt.column < len(space):
            parameter = space.parameters[name]
            width = parameter.width  # of a category, the code is its index
            place = np.eye(width)[round(doubt.likely)] if width > 1 else np.array([doubt.likely])
            likely: object = parameter.from_unit(place)
        else:
            j = doubt.column - len(space)
            told = fit.transforms[j].to_outcomes(torch.tensor(doubt.likely, dtype=torch.float64))
            told = told.clamp(*fit.table.ranges[j])
            recorded, likely = row.outcomes.get(name), known.objectives[j].sign * float(told)
        found.append((number, name, recorded, likely, doubt.probability))
    return pd.DataFrame(found, columns=["row", "column", "recorded", "likely", "probability"])


def doubts(fit: Fit) -> list[Doubt]:
    """The cells that look wrong, the likeliest first."""
    table, worlds = fit.table, fit.completed
    rows = torch.arange(len(table)) if worlds.rows is None else worlds.rows
    has = ~torch.atleast_2d(worlds.targets).isnan()  # (J, n)
    right = _log_mean(_elsewhere(fit, None))
    every = (*_of_inputs(fit, rows, right), *_of_outcomes(fit))
    stories = [story for story in every if story.weight.isfinite().any()]
    if not stories:
        return []
    chances = torch.stack([*(story.weight for story in stories), right]).softmax(0)[:-1]  # (S, n)
    chances = torch.where(has.any(0), chances, 0.0)
    found = []
    for column in {column for story in stories for column in story.likely}:
        mine = [s for s, story in enumerate(stories) if column in story.likely]
        total, best = chances[mine].sum(0), chances[mine].argmax(0)
        likely = torch.stack([stories[s].likely[column] for s in mine]).gather(0, best[None])[0]
        found += [
            Doubt(int(rows[i]), column, float(likely[i]), float(total[i]))
            for i in (total >= LIKELY).nonzero()[:, 0].tolist()
        ]
    return sorted(found, key=lambda one: (-one.probability, one.row, one.column))


# --- inputs --------------------------------------------------------------------------------------------------------


def _of_inputs(fit: Fit, rows: Tensor, right: Tensor) -> Iterator[Story]:
    """The stories in which inputs are wrong; where all is right has the weights `right`."""
    table, plain = fit.table, list(fit.table.space.parameters.values())
    codes = to_codes(table, table.inputs)
    scaled = [_scaled(parameter, column) for parameter, column in zip(plain, codes.T, strict=True)]
    codes = torch.stack([_moved(a, b, column) for a, b, column in zip(plain, scaled, codes.T, strict=True)], -1)
    columns, known = Columns.of(_bulk(codes, scaled), scaled), codes[rows]
    expected = _expected_inputs(columns, known)
    given, alone = [Density.of(one) for one in (known - expected).T], [Density.of(column) for column in known.T]
    log_given = [one.log_at(apart.nan_to_num()) for one, apart in zip(given, (known - expected).T, strict=True)]
    log_alone = [one.log_at(column.nan_to_num()) for one, column in zip(alone, known.T, strict=True)]
    filled, least = to_codes(table, fit.completed.inputs), right - _ceiling(fit) + math.log(NEGLIGIBLE)
    others = [Others(fit, filled, j) for j in range(len(fit.models))]

    def explained(values: dict[int, Tensor], possible: Tensor, otherwise: Tensor) -> Story:
        """The story that some inputs were others, given what speaks for it but for the outcomes. These are looked at
        where it could matter, if they fitted perfectly."""
        moved = {j: _moved(scaled[j], plain[j], value) for j, value in values.items()}
        some, weight = possible & (otherwise > least), torch.full_like(otherwise, -torch.inf)
        if some.any():
            weight[some] = _log_mean(_changed(fit, others, filled, moved, some)) + otherwise[some]
        return Story(weight, moved)

    levels = (torch.arange(CANDIDATES, dtype=torch.float64) + 0.5) / CANDIDATES
    beside = [columns.one(known, j) for j in range(len(scaled))]
    tried = [interpolate(cdf, nodes, levels.expand(len(rows), -1).contiguous()) for nodes, cdf in beside]  # (n, S) each
    tried = [one.round() if isinstance(a, Categorical) else one for a, one in zip(scaled, tried, strict=True)]
    instead = torch.stack([_moved(a, b, one) for a, b, one in zip(scaled, plain, tried, strict=True)])  # (p, n, S)
    for j, (parameter, found) in enumerate(
        zip(scaled, _instead(fit, others, filled, instead, ~known.T.isnan()), strict=True)
    ):  # (S, Q, n)
        nodes, cdf = beside[j]
        usual, strayed = log_given[j], log_alone[j]
        if isinstance(parameter, Categorical):
            ends = known[:, j, None].nan_to_num() + torch.tensor([-0.5, 0.5], dtype=torch.float64)
            below, above = interpolate(nodes, cdf, ends).unbind(-1)
            usual, strayed = (parameter.width * (above - below)).clamp_min(LEAST).log(), torch.zeros_like(above)
        share = found.logsumexp(1).softmax(0).T  # (n, S)
        order = tried[j].argsort(-1)
        middle = (share.gather(-1, order).cumsum(-1) < 0.5).sum(-1).clamp_max(CANDIDATES - 1)
        likely = tried[j].gather(-1, order).gather(-1, middle[:, None])[:, 0]
        came = torch.logaddexp(torch.zeros_like(strayed), strayed) - math.log(2)
        weight = _log_mean(found.flatten(0, 1)) + math.log(WRONG) + came - usual
        yield Story(torch.where(known[:, j].isnan(), -torch.inf, weight), {j: _moved(parameter, plain[j], likely)})
    numbers = [j for j, parameter in enumerate(scaled) if isinstance(parameter, Real)]
    for j in numbers:
        for factor in (10.0, 0.1):
            was, slope = _times(scaled[j], known[:, j], factor)
            if not (possible := _inside(was)).any():
                continue
            was = was.nan_to_num().clamp(0, 1)
            fits = given[j].log_at(was - expected[:, j]) - log_given[j] + math.log(slope)
            yield explained({j: was}, possible, fits + math.log(SLIPPED))
    for j, k in combinations(numbers, 2):
        a, b = _moved(scaled[k], scaled[j], known[:, k]), _moved(scaled[j], scaled[k], known[:, j])
        if not (possible := _inside(a) & _inside(b) & (known[:, j] != a)).any():
            continue
        a, b = a.nan_to_num().clamp(0, 1), b.nan_to_num().clamp(0, 1)
        swapped = _with(known, {j: a, k: b})
        apart = swapped - _expected_inputs(columns, swapped)
        now = given[j].log_at(apart[:, j]) + given[k].log_at(apart[:, k]) + alone[j].log_at(a) + alone[k].log_at(b)
        then = log_given[j] + log_given[k] + log_alone[j] + log_alone[k]
        before = math.log(SWAPPED / math.comb(len(numbers), 2))
        yield explained({j: a, k: b}, possible, 0.5 * (now - then) + before)


def _inside(codes: Tensor) -> Tensor:
    """Whether codes are within their range; NaN is not."""
    return (codes >= 0) & (codes <= 1)


def _scaled(parameter: Parameter, codes: Tensor) -> Parameter:
    """A parameter on the scale on which its column is more even: a log scale where its upper tail is the longer one."""
    if not isinstance(parameter, Real) or parameter.log or codes.isnan().all():
        return parameter
    values = parameter.low + (parameter.high - parameter.low) * codes[~codes.isnan()]
    least = float(values.min())
    if least <= 0 or not _lopsided(values) > max(LOPSIDED, abs(_lopsided(values.log()))):
        return parameter
    return Real(least, parameter.high, log=True)


def _lopsided(values: Tensor) -> float:
    """How much longer the upper tail is than the lower one, from -1 to 1: (q90 + q10 - 2 q50) / (q90 - q10)."""
    low, middle, high = values.quantile(torch.tensor([0.1, 0.5, 0.9], dtype=values.dtype)).tolist()
    return (high + low - 2 * middle) / (high - low) if high > low else 0.0


def _bulk(codes: Tensor, parameters: Sequence[Parameter]) -> Tensor:
    """Codes without the numbers that lie far from the bulk of their column: these teach nothing.  (n, p) -> (n, p)"""
    numbers = torch.tensor([not isinstance(parameter, Categorical) for parameter in parameters])
    apart = (codes - codes.nanquantile(0.5, 0)).abs()
    return torch.where(numbers & (apart > BULK * _width(apart)), torch.nan, codes)


def _width(apart: Tensor) -> Tensor:
    """The standard deviation that half of the distances, and nine tenths of them, say: what is larger.  (n, p) -> (p,)

    Of a design most distances may be 0, or all the same; a few wrong values have no say.
    """
    half, most = apart.nanquantile(torch.tensor([0.5, 0.9], dtype=apart.dtype), 0)
    return torch.maximum(half / 0.6745, most / 1.6449).nan_to_num().clamp_min(FINEST)


def _expected_inputs(columns: Columns, codes: Tensor) -> Tensor:
    """What the other cells of a row, those far from the bulk aside, make one expect of numbers.  (n, p) -> (n, p)"""
    bulk = _bulk(codes, columns.parameters)
    expected = columns.expect_known(bulk)
    for j in (bulk.isnan() & ~codes.isnan()).any(0).nonzero()[:, 0].tolist():  # what is far tells nothing of itself
        alone = bulk.clone()
        alone[:, j] = columns.regressions.center[torch.searchsorted(columns.owner, torch.tensor(j))]
        expected[:, j] = columns.expect_known(alone)[:, j]
    return expected


def _times(parameter: Parameter, codes: Tensor, factor: float) -> tuple[Tensor, float]:
    """The codes of values a factor larger, and the slope of that.  (n,) -> (n,)"""
    assert isinstance(parameter, Real)
    if parameter.log:
        return codes + math.log(factor) / math.log(parameter.high / parameter.low), 1.0
    span = parameter.high - parameter.low
    return (factor * (parameter.low + span * codes) - parameter.low) / span, factor


def _moved(parameter: Parameter, to: Parameter, codes: Tensor) -> Tensor:
    """The codes that the values of one parameter would have if they were values of another.  (n,) -> (n,)"""
    if parameter is to or not isinstance(parameter, Real) or not isinstance(to, Real):
        return codes
    if parameter.log:
        values = parameter.low * (parameter.high / parameter.low) ** codes
    else:
        values = parameter.low + (parameter.high - parameter.low) * codes
    if to.log:
        return (values / to.low).clamp_min(1e-300).log() / math.log(to.high / to.low)
    return (values - to.low) / (to.high - to.low)


def _with(codes: Tensor, values: dict[int, Tensor]) -> Tensor:
    """Worlds or rows with other values of some inputs.  (..., n, p), (n,) -> (..., n, p)"""
    changed = codes.clone()
    for j, value in values.items():
        changed[..., j] = value
    return changed


# --- outcomes ------------------------------------------------------------------------------------------------------


def _of_outcomes(fit: Fit) -> Iterator[Story]:
    """The stories in which an outcome is wrong."""
    targets, first = torch.atleast_2d(fit.completed.targets), len(fit.table.space)
    far = -(math.pi * FAR * (1 + (targets / FAR).square())).log()
    for j, (y, transform) in enumerate(zip(targets, fit.transforms, strict=True)):
        has = ~y.isnan()
        rest, expected = _log_mean(_elsewhere(fit, None, without=j)), _expected(fit, j)
        yield Story(torch.where(has, rest + far[j] + math.log(WRONG), -torch.inf), {first + j: expected})
        for factor in (10.0, 0.1):
            outcomes = transform.to_outcomes(y)
            was = transform.to_targets(factor * outcomes)
            slope = factor * transform.slope(factor * outcomes) / transform.slope(outcomes)
            changed = targets.clone()
            changed[j] = was
            outcome = _log_mean(_elsewhere(fit, None, targets=changed)) + slope.abs().log()
            yield Story(
                torch.where(has & outcome.isfinite(), outcome + math.log(SLIPPED), -torch.inf), {first + j: was}
            )


def _expected(fit: Fit, j: int) -> Tensor:
    """What all other rows make one expect of an outcome of each row.  -> (n,)"""
    y: Tensor = torch.atleast_2d(fit.completed.targets)[j].clone()
    has = ~y.isnan()
    with torch.no_grad():
        y[has] = fit.models[j].leave_one_out(torch.arange(int(has.sum())))[0].mean(0)
    return y


def _elsewhere(
    fit: Fit,
    inputs: Tensor | None,
    *,
    rows: Tensor | None = None,
    without: int | None = None,
    targets: Tensor | None = None,
) -> Tensor:
    """Log densities of the outcomes of each row given the other rows, had it been made there; None: where it was.

    Of some rows, without one of the outcomes, or with other targets of the rows.  (Q, R, d), (n,) bool -> (Q, R)
    """
    told = torch.atleast_2d(fit.completed.targets)
    some = torch.ones(told.shape[1], dtype=torch.bool) if rows is None else rows
    total: Tensor = told.new_zeros(len(fit.completed.inputs), int(some.sum()))
    for j, (y, model) in enumerate(zip(told, fit.models, strict=True)):
        if j == without:
            continue
        has = ~y.isnan()
        at = some[has].nonzero()[:, 0]  # among the rows of this outcome
        mine = has[some]
        with torch.no_grad():
            mean, variance = model.leave_one_out(at) if inputs is None else model.without_row(at, inputs[:, mine])
        total[:, mine] += _log_normal((y if targets is None else targets[j])[has & some], mean, variance)
    return total


class Others:
    """What all other rows make one expect of an outcome of each row, had some of its inputs been others."""

    def __init__(self, fit: Fit, filled: Tensor, j: int) -> None:
        self.y, self.model = torch.atleast_2d(fit.completed.targets)[j], fit.models[j]
        self.additive = isinstance(getattr(self.model.kernel, "base", self.model.kernel), AdditiveMatern)
        if not self.additive:
            return
        self.has = (~self.y.isnan()).nonzero()[:, 0]
        self.places = self.has if fit.completed.rows is None else fit.completed.rows[self.has]
        self.rows, self.moved, self.root = filled[:, self.has], Moved(self.model, fit.table), self.model.inverse_root()
        few = self.rows[..., 0].numel() * len(self.has) <= KEPT
        self.whole = self.moved.whole(self.rows) if few else None

    def log_densities(self, which: Tensor, slots: Tensor, values: Tensor) -> Tensor:
        """Of some of the rows that have it, by the values of some inputs.

        (r,), (r, g), (Q, r, S, g) -> (Q, r, S)
        """
        found: Tensor = values.new_zeros(values.shape[:-1])
        for part in torch.arange(len(which)).split(self.moved.at_once(*values.shape[2:])):
            own = which[part]
            rows = self.rows[:, own]
            if self.whole is None:
                whole = self.moved.whole(rows)
            else:
                at = own.to(self.whole[0].device)
                whole = self.whole[0][:, at], self.whole[1][:, at]
            with torch.no_grad():
                k = self.moved.changed(self.places[own], rows, whole, slots[part], values[:, part])
                mean, variance = self.model.without_row_by(own, k, self.moved.prior.unsqueeze(-1), self.root)
            found[:, part] = _log_normal(self.y[self.has[own], None], mean, variance)
        return found


def _changed(fit: Fit, others: Sequence[Others], filled: Tensor, values: dict[int, Tensor], some: Tensor) -> Tensor:
    """The same, had some rows had other values of some inputs.  (Q, n, p), (n,) each, (n,) bool -> (Q, R)"""
    if not all(one.additive for one in others):
        return _elsewhere(fit, from_codes(fit.table, _with(filled, values))[:, some], rows=some)
    total: Tensor = filled.new_zeros(len(filled), int(some.sum()))
    slots, tried = torch.tensor(list(values)), torch.stack(list(values.values()), -1)
    for one in others:
        which, mine = some[one.has].nonzero()[:, 0], ~one.y.isnan()[some]
        each = tried[one.has[which], None].expand(len(filled), -1, -1, -1)  # (Q, r, 1, g)
        total[:, mine] += one.log_densities(which, slots.expand(len(which), -1), each)[..., 0]
    return total


def _instead(fit: Fit, others: Sequence[Others], filled: Tensor, tried: Tensor, recorded: Tensor) -> Iterator[Tensor]:
    """The same, had each recorded input been each of some values, the others as they are; 0 for gaps.

    (Q, n, p), (p, n, S), (p, n) -> p times (S, Q, n)
    """
    for j, values in enumerate(tried):
        if not all(one.additive for one in others):
            yield torch.stack([_elsewhere(fit, from_codes(fit.table, _with(filled, {j: one}))) for one in values.T])
            continue
        total: Tensor = values.new_zeros(values.shape[1], *filled.shape[:2])
        for one in others:
            which = recorded[j, one.has].nonzero()[:, 0]
            each = values[one.has[which], :, None].expand(len(filled), -1, -1, -1)  # (Q, r, S, 1)
            found = one.log_densities(which, torch.full((len(which), 1), j), each)
            total[..., one.has[which]] += found.permute(2, 0, 1)
        yield total


def _ceiling(fit: Fit) -> Tensor:
    """What the log density of each row's outcomes could be at most: they are just as expected, but for noise.  (n,)"""
    told = torch.atleast_2d(fit.completed.targets)
    most: Tensor = told.new_zeros(told.shape[1])
    for y, model in zip(told, fit.models, strict=True):
        noise = model.variances.expand_as(model.targets).amin(0).cpu()
        most[~y.isnan()] -= 0.5 * (2 * math.pi * noise).log()
    return most


def _log_normal(y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    return -0.5 * ((y - mean).square() / variance + (2 * math.pi * variance).log())


def _log_mean(logs: Tensor) -> Tensor:
    """Over worlds.  (Q, n) -> (n,)"""
    return logs.logsumexp(0) - math.log(len(logs))
