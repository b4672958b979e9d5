"""Outcomes that are wrong, such as a slipped decimal point or a mixed-up sample: drawn in each world like gaps.

A recorded outcome r is right with probability 1 - WRONG: then it is the process's own value with its noise. Otherwise
it is any number, r ~ N(0, SPREAD^2), and nothing is known of the true one. Given all other outcomes of a world, with
P = K^-1, the true one is

    y_i ~ N(m, 1 / P_ii),    m = y_i - (P y)_i / P_ii,

so the odds that r is wrong are WRONG N(r; 0, SPREAD^2) to (1 - WRONG) N(r; m, 1 / P_ii). Row by row, Gibbs sampling
draws whether it is, and if so the true one. Chains begin where outcomes that lie far from all others are wrong: they
would hide each other, and spoil the scale.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from bomi.data.bulk import far_from_bulk
from bomi.impute.table import Table

WRONG = 0.005
SPREAD = 10.0  # standard deviations of the outcomes
MOST = 0.15  # share of the outcomes
NEGLIGIBLE = 1e-4  # a probability: rows that are wrong so rarely are not looked at


def draw_outliers(table: Table, P: Tensor, rng: torch.Generator) -> Tensor | None:
    """The targets of each world, with those that it takes for wrong drawn anew; None where all are right.

    P: (m Q, n, n) -> (m Q, n)
    """
    worlds = len(P) // len(table.outcomes)
    recorded = table.outcomes.repeat_interleave(worlds, 0)
    known = ~(recorded.isnan() | table.censored.repeat_interleave(worlds, 0))
    y = table.targets_of(worlds).nan_to_num()
    weighted = (P @ y.unsqueeze(-1)).squeeze(-1)
    variance = 1 / P.diagonal(dim1=-2, dim2=-1)
    odds = _log_odds(recorded, y - weighted * variance, variance)
    before = (known & (y != recorded)).any(0)
    suspect = (known & (odds > math.log(NEGLIGIBLE))).any(0) & ~before
    for i in [*before.nonzero()[:, 0].tolist(), *suspect.nonzero()[:, 0].tolist()]:  # what was drawn may mislead others
        middle = y[:, i] - weighted[:, i] * variance[:, i]
        chance = torch.rand(len(y), generator=rng, dtype=torch.float64)
        luck = torch.randn(len(y), generator=rng, dtype=torch.float64)
        wrong = torch.logit(chance) < _log_odds(recorded[:, i], middle, variance[:, i])
        drawn = torch.where(wrong, middle + luck * variance[:, i].sqrt(), recorded[:, i])
        value = torch.where(known[:, i], drawn, y[:, i])
        weighted = weighted + P[:, :, i] * (value - y[:, i])[:, None]
        y[:, i] = value
    y = torch.where(recorded.isnan(), recorded, y)
    return None if table.limits is None and y.equal(recorded) else y


def _log_odds(recorded: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Log odds that recorded outcomes are wrong, given what all other rows say of each."""
    right = -0.5 * ((recorded - mean).square() / variance + variance.log())
    wrong = -0.5 * (recorded / SPREAD).square() - math.log(SPREAD)
    return math.log(WRONG / (1 - WRONG)) + wrong - right


def suspect_the_farthest(table: Table) -> Table:
    """The table with one world to begin with, in which outcomes that lie far from all others are wrong.

    But where the nearest row is as far, the two bear each other out.
    """
    far = torch.from_numpy(np.stack([far_from_bulk(outcomes.numpy()) for outcomes in table.outcomes])) & ~table.censored
    if not far.any():
        return table
    places = table.inputs.nan_to_num(nan=0.5)
    nearest = torch.cdist(places, places).fill_diagonal_(torch.inf).argmin(-1)
    middle = table.outcomes.nanmedian(-1, keepdim=True).values
    side = far * (table.outcomes - middle).sign().nan_to_num()  # (m, n)
    suspected = far & (side[:, nearest] != side)
    return replace(table, drawn=torch.where(suspected, middle, table.outcomes)) if suspected.any() else table


def too_many(table: Table) -> bool:
    """Whether more outcomes are called wrong than can be: then the processes explain nothing."""
    return bool((table.wrong.sum(-1) > MOST * (~table.outcomes.isnan()).sum(-1)).any())
