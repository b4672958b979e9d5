"""Cells that look wrong: every recorded input and outcome may be, with a small probability.

For each row there are p + J + 1 stories: all of it is right; one input is wrong, and was something else; one outcome is
wrong. With the outcomes predicted from all other rows, in Q worlds, their weights are

    all is right        (1 - (p + J) e) N(y; mu(x), v(x))
    input j is wrong    e  mean over x' ~ F_j of N(y; mu(x with x'), v)  u / f_j(x_j)
    outcome is wrong    e  Cauchy(y; 0, 3)

where F_j is what the other columns of the row make one expect of input j. Its density f_j at the recorded value must
not be made by wrong values: it is that of a t distribution with 4 degrees of freedom around what the regression
expects, as wide as the median deviation of all rows says. u = 1 is an even spread over the range, from which a wrong
value may come. No row speaks of itself, and no cell is changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from bomi.learning import Fit
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.copula import Columns
from bomi.posterior.spread import interpolate
from bomi.space import Categorical

WRONG = 0.02  # e, beforehand
CANDIDATES = 24  # values that an input may have had instead
TAILS = 4.0  # degrees of freedom of a recorded value around what is expected
LEAST = 1e-4  # probability of a category that the other columns leave no room for
FINEST = 0.02  # of the range, at least, that recorded values lie apart from what is expected
FAR = 3.0  # standard deviations of all outcomes, of one that is wrong
LIKELY = 0.05  # probability, from which a cell is named


@dataclass(frozen=True)
class Doubt:
    """A cell of the table as the model sees it, which may be wrong."""

    row: int
    column: int  # an input, or after these an outcome
    likely: float  # code of the value that it may have been, or target
    probability: float


def doubts(fit: Fit) -> list[Doubt]:
    """The cells that look wrong, the likeliest first."""
    table, worlds = fit.table, fit.completed
    parameters = list(table.space.parameters.values())
    known, inputs = to_codes(table, table.inputs), worlds.inputs
    rows = torch.arange(len(table)) if worlds.rows is None else worlds.rows
    has = ~torch.atleast_2d(worlds.targets).isnan()  # (J, n)
    right, far, expected = _of_outcomes(fit)
    total = right.sum(0)  # (Q, n)
    columns, codes = Columns.of(known, parameters), to_codes(table, inputs)
    expected_inputs = columns.expect_known(known)
    weights, likely = [], []
    for j, parameter in enumerate(parameters):
        nodes, cdf = _alone(columns, known[rows], j)
        if isinstance(parameter, Categorical):
            ends = known[rows, j, None].nan_to_num() + torch.tensor([-0.5, 0.5], dtype=torch.float64)
            below, above = interpolate(nodes, cdf, ends).unbind(-1)
            usual = (parameter.width * (above - below)).clamp_min(LEAST).log()
        else:
            usual = _log_density(known[rows, j] - expected_inputs[rows, j])
        levels = (torch.arange(CANDIDATES, dtype=torch.float64) + 0.5) / CANDIDATES
        tried = interpolate(cdf, nodes, levels.expand(len(rows), -1).contiguous())  # (n, S)
        tried = tried.round() if isinstance(parameter, Categorical) else tried
        found = torch.stack([_elsewhere(fit, from_codes(table, _with(codes, j, one))) for one in tried.T])  # (S, Q, n)
        wrong = found.flatten(0, 1).logsumexp(0) - math.log(found.shape[0] * found.shape[1])
        weights.append(torch.where(known[rows, j].isnan(), -torch.inf, wrong + math.log(WRONG) - usual))
        share = found.logsumexp(1).softmax(0).T  # (n, S)
        order = tried.argsort(-1)
        middle = (share.gather(-1, order).cumsum(-1) < 0.5).sum(-1).clamp_max(CANDIDATES - 1)
        likely.append(tried.gather(-1, order).gather(-1, middle[:, None])[:, 0])
    for j in range(len(has)):  # the other outcomes are right
        rest = (total - right[j]).logsumexp(0) - math.log(len(total))
        weights.append(torch.where(has[j], rest + far[j] + math.log(WRONG), -torch.inf))
        likely.append(expected[j])
    none = total.logsumexp(0) - math.log(len(total)) + math.log(1 - WRONG * len(weights))
    chances = torch.stack([*weights, none]).softmax(0)[:-1]  # (p + J, n)
    chances = torch.where(has.any(0), chances, 0.0)
    places = (chances >= LIKELY).nonzero().tolist()
    named = [Doubt(int(rows[i]), j, float(likely[j][i]), float(chances[j, i])) for j, i in places]
    return sorted(named, key=lambda one: -one.probability)


def _of_outcomes(fit: Fit) -> tuple[Tensor, Tensor, Tensor]:
    """Log densities of the outcomes given the other rows, and if they were wrong; and what is expected of them.

    -> (J, Q, n), (J, n), (J, n)
    """
    targets = torch.atleast_2d(fit.completed.targets)
    right, expected = targets.new_zeros(len(targets), len(fit.completed.inputs), targets.shape[1]), targets.clone()
    for j, (y, model) in enumerate(zip(targets, fit.models, strict=True)):
        has = ~y.isnan()
        with torch.no_grad():
            mean, variance = model.leave_one_out(torch.arange(int(has.sum())))
        right[j][:, has], expected[j, has] = _log_normal(y[has], mean, variance), mean.mean(0)
    far = -(math.pi * FAR * (1 + (targets / FAR).square())).log()
    return right, far.nan_to_num(), expected


def _elsewhere(fit: Fit, inputs: Tensor) -> Tensor:
    """Log densities of all outcomes of each row given the other rows, had it been made there.  (Q, n, d) -> (Q, n)"""
    total = inputs.new_zeros(inputs.shape[:2])
    for y, model in zip(torch.atleast_2d(fit.completed.targets), fit.models, strict=True):
        has = ~y.isnan()
        with torch.no_grad():
            mean, variance = model.without_row(torch.arange(int(has.sum())), inputs[:, has])
        total[:, has] += _log_normal(y[has], mean, variance)
    return total


def _log_density(apart: Tensor) -> Tensor:
    """Of recorded values around what is expected.  (n,), NaN where one is missing -> (n,)"""
    apart = apart - apart.nanmedian()
    width = float(1.4826 * apart.abs().nanmedian())
    tails = torch.distributions.StudentT(TAILS, 0.0, max(width, FINEST))
    found: Tensor = tails.log_prob(apart.nan_to_num())
    return found


def _log_normal(y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    return -0.5 * ((y - mean).square() / variance + (2 * math.pi * variance).log())


def _alone(columns: Columns, known: Tensor, j: int) -> tuple[Tensor, Tensor]:
    """The distribution of one input of each row given its other cells.  (n, p) -> (n, N), (n, N)"""
    blanked = known.clone()
    blanked[:, j] = torch.nan
    gaps = columns.gaps(blanked)
    mine = gaps.gap.nonzero()[:, 1] == j
    return gaps.nodes[mine].contiguous(), gaps.cdf[mine].contiguous()


def _with(codes: Tensor, j: int, values: Tensor) -> Tensor:
    """Worlds with other values of an input.  (Q, n, p), (n,) -> (Q, n, p)"""
    changed = codes.clone()
    changed[:, :, j] = values
    return changed
