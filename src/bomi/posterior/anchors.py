"""Large tables: some rows are swept one by one, the others are drawn given these."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bomi.impute.completed import Explained
from bomi.impute.table import LARGE, Table
from bomi.model.surrogates import AdditiveGP
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.constrained import Constrained
from bomi.posterior.priors import GapPriors
from bomi.posterior.sampler import CANDIDATES, gumbel, prior_of, snap, take

BLOCK = 64  # such rows at a time
MORE = 2  # times that they are drawn again, where it is learned what blanks mean


def choose_anchors(table: Table, rng: torch.Generator) -> Tensor:
    """Rows that speak for a large table: complete ones first, among them the best half by outcome.  (n,) bool"""
    luck = torch.rand(len(table), generator=rng, dtype=torch.float64)
    complete = ~table.gaps.any(-1)
    order = (2 * complete.double() + luck).argsort(descending=True)
    pool = order[: min(max(int(complete.sum()), LARGE), 2 * LARGE)]
    merit = table.outcomes.nan_to_num(nan=-math.inf).amax(0)  # good in any of several outcomes
    best = pool[merit[pool].argsort(descending=True)[: LARGE // 2]]
    chosen = torch.zeros(len(table), dtype=torch.bool)
    chosen[best] = True
    rest = order[~chosen[order]][: LARGE - len(best)]
    chosen[rest] = True
    return chosen


def draw_given(
    anchors: Explained, table: Table, rows: Tensor, rng: torch.Generator, *, anchored: Tensor | None = None
) -> Tensor:
    """Gappy rows drawn given completed ones, each on its own: all are independent given f's values there.

    One of many draws from the prior, picked by the density of the row's outcome.
    rows, anchored: (n,) bool -> (Q, R, d)
    """
    known = to_codes(table, table.inputs)
    everything = prior_of(table, known, len(anchors.inputs))
    worlds = known.expand(len(anchors.inputs), -1, -1).clone()
    if anchored is not None:  # what the anchors say of the execution error holds for the other rows too
        worlds[:, anchored] = to_codes(table, anchors.inputs)
        everything = everything.learn(take(worlds, everything), rng, anchored)
    drawn = _drawn(anchors, table, rows, everything.select(rows), rng)
    if everything.blanks is not None:  # what blanks mean, all rows tell
        for _ in range(MORE):
            worlds[:, rows] = to_codes(table, drawn)
            everything = everything.learn(take(worlds, everything), rng, rows if anchored is None else rows | anchored)
            drawn = _drawn(anchors, table, rows, everything.select(rows), rng)
    return drawn


def _drawn(anchors: Explained, table: Table, rows: Tensor, priors: GapPriors, rng: torch.Generator) -> Tensor:
    """Some rows drawn once, given their priors.  -> (Q, R, d)"""
    outcomes = table.outcomes[:, rows]  # (m, R)
    errors = torch.zeros_like(outcomes) if table.errors is None else torch.atleast_2d(table.errors)[:, rows]
    models = [AdditiveGP()(anchors.of(j).to(table.device), table.space) for j in range(len(outcomes))]
    known = to_codes(table, table.inputs)
    Q, R, g = len(anchors.inputs), len(priors.rows), priors.used.shape[1]
    e = torch.randn(Q, 2 * CANDIDATES, R, g, generator=rng, dtype=torch.float64)
    values = priors.draw(e)
    if priors.discrete.any():
        values = snap(values, priors, table.space)
    if priors.blanks is not None:
        values = priors.blanks.put(values, rng)
    luck = gumbel(values.shape[:3], rng)
    if table.space.constraints:
        constrained = Constrained(table, priors)
        values[:, 0] = constrained.project(values[:, 0])  # so that one of them can be
        values, weights = constrained.follow(values, priors)
        weights[:, 0] = weights[:, 0].clamp_min(-1e9)
        luck = luck + weights
    codes = known[rows].expand(Q, 2 * CANDIDATES, -1, -1).clone()  # (Q, S, R, p)
    row, slot = priors.used.nonzero().unbind(-1)
    codes[:, :, row, priors.parameter[row, slot]] = values[:, :, row, slot]
    drawn = []
    for part in range(0, R, BLOCK):
        block = codes[:, :, part : part + BLOCK]
        x = from_codes(table, block)  # (Q, S, B, d)
        weight = x.new_zeros(x.shape[:3])
        for j, model in enumerate(models):
            with torch.no_grad():
                mean, variance = (moment.reshape(x.shape[:3]) for moment in model.moments(x.flatten(1, 2)))
            y, error = (values[j, part : part + BLOCK] for values in (outcomes, errors))
            variance = variance + model.hyper[:, -1].exp()[:, None, None] + error
            weight -= 0.5 * ((y - mean).square() / variance + variance.log()).nan_to_num()  # 0 where it is lacking
        chosen = (weight + luck[:, :, part : part + BLOCK]).argmax(1)  # (Q, B)
        drawn.append(x[torch.arange(Q)[:, None], chosen, torch.arange(x.shape[2])])
    return torch.cat(drawn, 1)
