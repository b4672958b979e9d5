"""Large tables: some rows are swept one by one, the others are drawn given these."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bomi.impute.completed import Explained
from bomi.impute.table import Table
from bomi.model.surrogates import AdditiveGP
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.constrained import Constrained
from bomi.posterior.priors import GapPriors
from bomi.posterior.sampler import CANDIDATES, gumbel, prior_of, snap, take
from bomi.posterior.tied import follow

BLOCK = 64  # such rows at a time
MEMBERS = 5  # of a group that shares a gap, that are anchors
MORE = 2  # times that they are drawn again, where it is learned what blanks mean


def choose_anchors(table: Table, rng: torch.Generator) -> Tensor:
    """Rows that speak for a large table: complete ones first, among them the best half by outcome.  (n,) bool"""
    luck = torch.rand(len(table), generator=rng, dtype=torch.float64)
    complete = ~table.gaps.any(-1)
    order = (2 * complete.double() + luck).argsort(descending=True)
    shared = _tied(table)
    most = table.swept
    pool = order[: min(max(int(complete.sum()), most), 2 * most)]
    merit = table.outcomes.nan_to_num(nan=-math.inf).amax(0)  # good in any of several outcomes
    best = pool[merit[pool].argsort(descending=True)[: most // 2]]
    chosen = torch.zeros(len(table), dtype=torch.bool)
    chosen[best[: most - len(shared)]] = True
    chosen[shared] = True
    rest = order[~chosen[order]][: max(most - int(chosen.sum()), 0)]
    chosen[rest] = True
    return chosen


def _tied(table: Table) -> Tensor:
    """Some rows of each group that shares a gap, the first among them."""
    if table.leaders is None or table.groups is None:
        return torch.zeros(0, dtype=torch.long)
    numbers = [column[column >= 0].unique() for column in table.groups.T]
    rows = [
        (column == number).nonzero()[:MEMBERS, 0]
        for column, each in zip(table.groups.T, numbers, strict=True)
        for number in each
    ]
    members: Tensor = torch.cat(rows).unique()
    return members


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
        worlds = follow(worlds, table)
        everything = everything.learn(take(worlds, everything), rng, anchored)
    own = torch.zeros_like(rows)  # those with gaps that no anchor shares
    own[everything.rows] = rows[everything.rows]
    if not own.any():
        return from_codes(table, worlds[:, rows])
    worlds[:, own] = _drawn(anchors, table, worlds, own, everything.select(own), rng)
    if everything.blanks is not None:  # what blanks mean, all rows tell
        for _ in range(MORE):
            everything = everything.learn(take(worlds, everything), rng, own if anchored is None else own | anchored)
            worlds[:, own] = _drawn(anchors, table, worlds, own, everything.select(own), rng)
    return from_codes(table, worlds[:, rows])


def _drawn(
    anchors: Explained, table: Table, worlds: Tensor, rows: Tensor, priors: GapPriors, rng: torch.Generator
) -> Tensor:
    """Some rows of the worlds drawn once, given their priors.  (Q, n, p) -> (Q, R, p)"""
    outcomes = table.outcomes[:, rows]  # (m, R)
    errors = torch.zeros_like(outcomes) if table.errors is None else torch.atleast_2d(table.errors)[:, rows]
    models = [AdditiveGP()(anchors.of(j).to(table.device), table.space) for j in range(len(outcomes))]
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
    codes = worlds[:, None, rows].repeat(1, 2 * CANDIDATES, 1, 1)  # (Q, S, R, p)
    row, slot = priors.used.nonzero().unbind(-1)
    codes[:, :, row, priors.parameter[row, slot]] = values[:, :, row, slot]
    own = rows.nonzero()[:, 0]
    drawn = []
    for part in range(0, R, BLOCK):
        block = codes[:, :, part : part + BLOCK]
        x = table.located(from_codes(table, block), own[part : part + BLOCK])  # (Q, S, B, d), with their conditions
        weight = x.new_zeros(x.shape[:3])
        for j, model in enumerate(models):
            with torch.no_grad():
                mean, variance = (moment.reshape(x.shape[:3]) for moment in model.moments(x.flatten(1, 2)))
            y, error = (values[j, part : part + BLOCK] for values in (outcomes, errors))
            variance = variance + model.hyper[:, -1].exp()[:, None, None] + error
            weight -= 0.5 * ((y - mean).square() / variance + variance.log()).nan_to_num()  # 0 where it is lacking
        chosen = (weight + luck[:, :, part : part + BLOCK]).argmax(1)  # (Q, B)
        drawn.append(block[torch.arange(Q)[:, None], chosen, torch.arange(x.shape[2])])
    return torch.cat(drawn, 1)
