"""Whether a model can be trusted: every row predicted from all others.

    Q worlds, n rows
    mu, v  (Q, n)   mean and variance of each target given the other rows, in each world
    w      (Q, n)   weights of the worlds, row by row

Within a world nothing is fitted anew: the inverse of its covariance matrix holds all that is needed. But the worlds
were drawn given every outcome, that of the row itself among them. A gap that was drawn to fit an outcome will fit it.
So a row with gaps is asked about where these may be without its outcome. And the worlds given the outcomes of the other
rows alone are the same worlds with the weights 1 / p(y_i | the other rows, world) (Gelfand, Dey and Chang 1992), none
of which may outgrow the others by far (Ionides 2008).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bomi.answers.chance import no_better_than_mean, shuffled_as_good
from bomi.data.objectives import Objective
from bomi.impute.completed import Explained
from bomi.impute.table import LARGE
from bomi.knowledge import Knowledge
from bomi.learning import AT_ONCE, Fit, draw_seed
from bomi.results import FEWEST, WIDTH, Validation


def validated(known: Knowledge, j: int) -> Validation:
    """What is expected of each row from all others, of the j-th outcome; computed once."""
    fit = known.modelled()
    if j not in known.validations:
        known.validations[j] = _validated(fit, j, known.objectives[j], known.tried_numbers)
    return known.validations[j]


def _validated(fit: Fit, j: int, objective: Objective, numbers: Sequence[int]) -> Validation:
    """The same, of the rows of the table, which have these numbers among all."""
    rows, targets, mean, sd = leave_one_out(fit, j)
    right = ~fit.wrong[j, rows]
    to_outcomes = fit.transforms[j].to_outcomes
    possible = fit.transforms[j].to_targets(torch.tensor(objective.signed_bounds, dtype=torch.float64))
    middle, *ends = (
        np.clip(objective.sign * to_outcomes(mean + side * WIDTH * sd).numpy(), *objective.bounds)
        for side in (0, -1, 1)
    )
    return Validation(
        objective.name,
        objective.unit,
        tuple(numbers[i] for i in rows.tolist()),
        objective.sign * fit.table.outcomes[j, rows].numpy(),
        middle,
        np.minimum(*ends),
        np.maximum(*ends),
        share_explained(targets[right], mean[right].clamp(*possible)),
        tuple(numbers[i] for i in rows[~right].tolist()),
        by_chance(fit, j, rows[right], targets[right], mean[right].clamp(*possible)),
    )


def by_chance(fit: Fit, outcome: int, rows: Tensor, targets: Tensor, mean: Tensor) -> float:
    """How likely it is that these rows are explained so well by chance: the less favourable of two tests.

    What groups and time explain is no merit of the inputs: outcomes are shuffled as if all were made under the
    conditions of the next experiment.  (n,) places in the table, (n,), (n,)
    """
    if len(rows) < FEWEST:
        return 1.0
    table, level = fit.table, targets
    if fit.now is not None:
        model, known = fit.models[outcome], ~torch.atleast_2d(fit.completed.targets)[outcome].isnan()
        own = fit.completed.table_rows[known]
        level = targets - (model.fitted() - model.fitted_now()).mean(0)[torch.searchsorted(own, rows)]
    some = torch.zeros(len(table), dtype=torch.bool).index_fill(0, rows, True)
    shuffled = shuffled_as_good(table.select(some), level, draw_seed(fit.seed, len(table) + 3))
    return max(shuffled, no_better_than_mean(targets, mean))


def leave_one_out(fit: Fit, outcome: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rows of the table that have an outcome; its target there; mean and standard deviation given all other rows.

    On the model's scale, noise included: what another measurement may give. Of a large table some rows, at random,
    speak for all.  (n,), (n,), (n,), (n,)
    """
    large = fit.table.large
    rng = torch.Generator().manual_seed(draw_seed(fit.seed, len(fit.table) + 2))
    worlds = fit.completed if large else fit.draws
    known = (~torch.atleast_2d(worlds.targets)[outcome].isnan()).nonzero()[:, 0]
    own = torch.randperm(len(known), generator=rng)[:LARGE].sort().values  # among the rows of the outcome's process
    targets = torch.atleast_2d(worlds.targets)[outcome, known[own]]
    rows = worlds.table_rows[known[own]]
    drawn = isinstance(worlds, Explained)  # given the outcomes
    gappy = fit.table.gaps.any(-1)[rows] & drawn
    elsewhere = fit.method.imputer.blind(fit.state, worlds, rng)[:, known[own][gappy]] if gappy.any() else None
    parts = []
    for some in torch.arange(len(worlds.inputs)).split(AT_ONCE):
        model = fit.models[outcome] if large else fit.models_of(worlds.select(some))[outcome]
        mu, v = model.leave_one_out(own)
        if elsewhere is not None:
            mu[:, gappy], v[:, gappy] = model.without_row(own[gappy], elsewhere[some])
        parts.append((mu, v))
    mu, v = (torch.cat(each) for each in zip(*parts, strict=True))
    w = _weights(mu, v, targets) if drawn else torch.full_like(mu, 1 / len(mu))
    w[:, gappy] = 1 / len(mu)
    mean = (w * mu).sum(0)
    variance = (w * (v + (mu - mean).square())).sum(0)
    return rows, targets, mean, variance.sqrt()


def _weights(mu: Tensor, v: Tensor, targets: Tensor) -> Tensor:
    """w proportional to 1 / N(y; mu, v), none larger than the mean weight times sqrt(Q).  (Q, n)"""
    w = (0.5 * ((targets - mu).square() / v + v.log())).softmax(0).clamp_max(1 / math.sqrt(len(mu)))
    return w / w.sum(0)


def share_explained(targets: Tensor, mean: Tensor) -> float:
    """1 - sum (y - mean)^2 / sum (y - y')^2, y' the mean of the other rows; 0 where nothing varies.  (n,), (n,)"""
    n = len(targets)
    alone = (targets - targets.mean()) * n / (n - 1) if n > 1 else targets.new_zeros(n)  # y - y'
    total = float(alone.square().sum())
    return 1 - float((targets - mean).square().sum()) / total if total > 1e-18 * n else 0.0
