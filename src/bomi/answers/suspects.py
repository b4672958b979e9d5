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
looked at on a log scale. No row speaks of itself, and no cell is changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from bomi.answers.changed import Others, ceiling, changed, elsewhere, instead_of, with_values
from bomi.answers.recorded import Density, even_scale, expected_of, in_bulk, on_scale_of, times
from bomi.knowledge import Knowledge
from bomi.learning import Fit
from bomi.posterior.codes import to_codes
from bomi.posterior.copula import Columns
from bomi.posterior.spread import interpolate
from bomi.search.acquisition import log_mean
from bomi.space import Categorical, Real

if TYPE_CHECKING:
    import pandas as pd

WRONG = 0.01  # e, beforehand
SLIPPED = 0.0025  # e_s
SWAPPED = 0.01  # of a row: e_w for all its pairs together
CANDIDATES = 24  # values that an input may have had instead
LEAST = 1e-4  # probability of a category that the other columns leave no room for
FAR = 3.0  # standard deviations of all outcomes, of one that is wrong
LIKELY = 0.05  # probability, from which a cell is named
DOUBTFUL = 0.04  # times as likely as that all is right: looked at with all values
NEGLIGIBLE = 2e-4  # times as likely as that all is right: not looked at any further


@dataclass(frozen=True)
class Suspect:
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


def suspects_table(known: Knowledge) -> pd.DataFrame:
    """The cells that look wrong, the likeliest first, in the words and units of the user's table."""
    import pandas as pd

    fit, space = known.modelled(), known.space
    names = [*space.names, *known.outcomes]
    tried = [(i, row) for i, row in enumerate(known.observations.rows) if row.tried]
    found = []
    for one in found_in(fit):
        (number, row), name = tried[one.row], names[one.column]
        recorded: object = row.recorded.get(name)
        if one.column < len(space):
            parameter = space.parameters[name]
            width = parameter.width  # of a category, the code is its index
            place = np.eye(width)[round(one.likely)] if width > 1 else np.array([one.likely])
            likely: object = parameter.from_unit(place)
        else:
            j = one.column - len(space)
            told = fit.transforms[j].to_outcomes(torch.tensor(one.likely, dtype=torch.float64))
            told = told.clamp(*fit.table.ranges[j])
            recorded, likely = row.outcomes.get(name), known.objectives[j].sign * float(told)
        found.append((number, name, recorded, likely, one.probability))
    return pd.DataFrame(found, columns=["row", "column", "recorded", "likely", "probability"])


def found_in(fit: Fit) -> list[Suspect]:
    """The cells that look wrong, the likeliest first."""
    worlds, rows = fit.completed, fit.completed.table_rows
    has = ~torch.atleast_2d(worlds.targets).isnan()  # (J, n)
    right = log_mean(elsewhere(fit, None))
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
            Suspect(int(rows[i]), column, float(likely[i]), float(total[i]))
            for i in (total >= LIKELY).nonzero()[:, 0].tolist()
        ]
    return sorted(found, key=lambda one: (-one.probability, one.row, one.column))


# --- inputs --------------------------------------------------------------------------------------------------------


def _of_inputs(fit: Fit, rows: Tensor, right: Tensor) -> Iterator[Story]:
    """The stories in which inputs are wrong; where all is right has the weights `right`."""
    table, plain = fit.table, list(fit.table.space.parameters.values())
    codes = to_codes(table, table.inputs)
    scaled = [even_scale(parameter, column) for parameter, column in zip(plain, codes.T, strict=True)]
    codes = torch.stack([on_scale_of(a, b, column) for a, b, column in zip(plain, scaled, codes.T, strict=True)], -1)
    columns, known = Columns.of(in_bulk(codes, scaled), scaled), codes[rows]
    every = torch.ones(len(known), dtype=torch.bool)
    expected = expected_of(columns, known, every)
    given, alone = [Density.of(one) for one in (known - expected).T], [Density.of(column) for column in known.T]
    log_given = [one.log_at(apart.nan_to_num(), every) for one, apart in zip(given, (known - expected).T, strict=True)]
    log_alone = [one.log_at(column.nan_to_num(), every) for one, column in zip(alone, known.T, strict=True)]
    filled, least = to_codes(table, fit.completed.inputs), right + math.log(NEGLIGIBLE)
    most = ceiling(fit)
    others = [Others(fit, filled, j) for j in range(len(fit.models))]

    def explained(values: dict[int, Tensor], possible: Tensor, otherwise: Tensor) -> Story:
        """The story that some inputs were others, given what speaks for it but for the outcomes. These are looked at
        where it could matter, if they fitted perfectly."""
        moved = {j: on_scale_of(scaled[j], plain[j], value) for j, value in values.items()}
        some, weight = possible & (otherwise + most > least), torch.full_like(otherwise, -torch.inf)
        if some.any():
            weight[some] = log_mean(changed(fit, others, filled, moved, some, least - otherwise)) + otherwise[some]
        return Story(weight, moved)

    levels = (torch.arange(CANDIDATES, dtype=torch.float64) + 0.5) / CANDIDATES
    beside = [columns.one(known, j) for j in range(len(scaled))]
    tried = [interpolate(cdf, nodes, levels.expand(len(rows), -1).contiguous()) for nodes, cdf in beside]  # (n, S) each
    tried = [one.round() if isinstance(a, Categorical) else one for a, one in zip(scaled, tried, strict=True)]
    instead = [on_scale_of(a, b, one) for a, b, one in zip(scaled, plain, tried, strict=True)]
    every_value = torch.arange(CANDIDATES)
    few = every_value[1::3]  # evenly among all
    for j, parameter in enumerate(scaled):
        nodes, cdf = beside[j]
        usual, strayed = log_given[j], log_alone[j]
        if isinstance(parameter, Categorical):
            ends = known[:, j, None].nan_to_num() + torch.tensor([-0.5, 0.5], dtype=torch.float64)
            below, above = interpolate(nodes, cdf, ends).unbind(-1)
            usual, strayed = (parameter.width * (above - below)).clamp_min(LEAST).log(), torch.zeros_like(above)
        came = torch.logaddexp(torch.zeros_like(strayed), strayed) - math.log(2)

        def by(values: Tensor, some: Tensor, j: int = j, fits: Tensor = came - usual) -> tuple[Tensor, Tensor]:
            """The weight that some values may have been there instead, and the likeliest of them.  -> (n,), (n,)"""
            found = instead_of(fit, others, filled, j, instead[j][:, values], some)  # (S, Q, n)
            share, own = found.logsumexp(1).softmax(0).T, tried[j][:, values]  # (n, S)
            order = own.argsort(-1)
            middle = (share.gather(-1, order).cumsum(-1) < 0.5).sum(-1).clamp_max(len(values) - 1)
            likely = own.gather(-1, order).gather(-1, middle[:, None])[:, 0]
            return log_mean(found.flatten(0, 1)) + math.log(WRONG) + fits, likely

        recorded = ~known[:, j].isnan()
        weight, likely = by(few, recorded)
        if (doubtful := recorded & (weight > right + math.log(DOUBTFUL))).any():
            pairs = zip(by(every_value, doubtful), (weight, likely), strict=True)
            weight, likely = (torch.where(doubtful, fine, rough) for fine, rough in pairs)
        yield Story(torch.where(recorded, weight, -torch.inf), {j: on_scale_of(parameter, plain[j], likely)})
    numbers = [j for j, parameter in enumerate(scaled) if isinstance(parameter, Real)]
    for j in numbers:
        for factor in (10.0, 0.1):
            was, slope = times(scaled[j], known[:, j], factor)
            if not (possible := _inside(was)).any():
                continue
            was = was.nan_to_num().clamp(0, 1)
            fits = given[j].log_at(was - expected[:, j], every) - log_given[j] + math.log(slope)
            yield explained({j: was}, possible, fits + math.log(SLIPPED))
    for j, k in combinations(numbers, 2):
        a, b = on_scale_of(scaled[k], scaled[j], known[:, k]), on_scale_of(scaled[j], scaled[k], known[:, j])
        if not (possible := _inside(a) & _inside(b) & (known[:, j] != a)).any():
            continue
        a, b = a.nan_to_num().clamp(0, 1), b.nan_to_num().clamp(0, 1)
        swapped = with_values(known, {j: a, k: b})
        apart = swapped[possible] - expected_of(columns, swapped, possible)
        now = given[j].log_at(apart[:, j], possible) + given[k].log_at(apart[:, k], possible)
        now = now + alone[j].log_at(a[possible], possible) + alone[k].log_at(b[possible], possible)
        then = (log_given[j] + log_given[k] + log_alone[j] + log_alone[k])[possible]
        fits = torch.full_like(a, -torch.inf)
        fits[possible] = 0.5 * (now - then) + math.log(SWAPPED / math.comb(len(numbers), 2))
        yield explained({j: a, k: b}, possible, fits)


def _inside(codes: Tensor) -> Tensor:
    """Whether codes are within their range; NaN is not."""
    return (codes >= 0) & (codes <= 1)


# --- outcomes ------------------------------------------------------------------------------------------------------


def _of_outcomes(fit: Fit) -> Iterator[Story]:
    """The stories in which an outcome is wrong."""
    targets, first = torch.atleast_2d(fit.completed.targets), len(fit.table.space)
    far = -(math.pi * FAR * (1 + (targets / FAR).square())).log()
    for j, (y, transform) in enumerate(zip(targets, fit.transforms, strict=True)):
        has = ~y.isnan()
        rest, expected = log_mean(elsewhere(fit, None, without=j)), _expected(fit, j)
        yield Story(torch.where(has, rest + far[j] + math.log(WRONG), -torch.inf), {first + j: expected})
        for factor in (10.0, 0.1):
            outcomes = transform.to_outcomes(y)
            was = transform.to_targets(factor * outcomes)
            slope = factor * transform.slope(factor * outcomes) / transform.slope(outcomes)
            slipped = targets.clone()
            slipped[j] = was
            outcome = log_mean(elsewhere(fit, None, targets=slipped)) + slope.abs().log()
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
