"""Large tables: some rows are swept one by one, the others are drawn given these."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from bomi.impute.completed import Explained
from bomi.impute.table import Table
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.surrogates import AdditiveGP
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.constrained import Constrained
from bomi.posterior.moved import Moved
from bomi.posterior.priors import GapPriors
from bomi.posterior.sampler import CANDIDATES, gumbel, prior_of, snap, take
from bomi.posterior.starts import JOINING
from bomi.posterior.tied import follow

MEMBERS = 5  # of a group that shares a gap, that are anchors
MORE = 2  # times that they are drawn again, where all rows may say something else of blanks


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
    anchors: Explained,
    table: Table,
    rows: Tensor,
    rng: torch.Generator,
    *,
    anchored: Tensor | None = None,
    before: Tensor | None = None,
) -> Tensor:
    """Gappy rows drawn given completed ones, each on its own: all are independent given f's values there.

    One of many draws from the prior, picked by the density of the row's outcome. Worlds before, NaN in rows that they
    did not have, tell of execution errors and blanks what otherwise has to be learned in turns.
    rows, anchored: (n,) bool; before: (Q, n, d) -> (Q, R, d)
    """
    known = to_codes(table, table.inputs)
    everything = prior_of(table, known, len(anchors.inputs))
    worlds = known.expand(len(anchors.inputs), -1, -1).clone()
    told = torch.zeros_like(rows) if anchored is None else anchored.clone()
    if before is not None:
        worlds = torch.where(worlds.isnan(), to_codes(table, before), worlds)
        told |= ~worlds.isnan().any(-1).any(0)
    if anchored is not None:  # what the anchors say of the execution error holds for the other rows too
        worlds[:, anchored] = to_codes(table, anchors.inputs)
        worlds = follow(worlds, table)
    if told.any():
        everything = everything.learn(take(worlds, everything), rng, told)
    own = torch.zeros_like(rows)  # those with gaps that no anchor shares
    own[everything.rows] = rows[everything.rows]
    if not own.any():
        return from_codes(table, worlds[:, rows])
    worlds[:, own] = _drawn(anchors, table, worlds, own, everything.select(own), rng)
    blanks, judged = everything.blanks, int(told[everything.rows].sum()) >= JOINING
    for _ in range(MORE if before is None and blanks is not None else 0):  # what blanks mean, all rows tell
        everything, meant = everything.learn(take(worlds, everything), rng, own | told), blanks
        blanks = everything.blanks
        if judged and blanks and meant and blanks.mostly.equal(meant.mostly):  # the same as the anchors said
            break
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
    weight = gumbel(values.shape[:3], rng)
    if table.space.constraints:
        constrained = Constrained(table, priors)
        values[:, 0] = constrained.project(values[:, 0])  # so that one of them can be
        values, weights = constrained.follow(values, priors)
        weights[:, 0] = weights[:, 0].clamp_min(-1e9)
        weight = weight + weights
    row, slot = priors.used.nonzero().unbind(-1)
    own = rows.nonzero()[:, 0]
    for j, model in enumerate(models):
        for some, mean, variance in _moments(model, table, worlds, own, priors, values):
            y, error = outcomes[j, some], errors[j, some]
            variance = variance + model.hyper[:, -1].exp()[:, None, None] + error
            weight[:, :, some] -= 0.5 * ((y - mean).square() / variance + variance.log()).nan_to_num()  # 0: it lacks y
    chosen = weight.argmax(1)  # (Q, R)
    drawn = worlds[:, rows]
    picked = values[torch.arange(Q)[:, None], chosen, torch.arange(R)]  # (Q, R, g)
    drawn[:, row, priors.parameter[row, slot]] = picked[:, row, slot]
    return drawn


def _moments(
    model: GaussianProcess, table: Table, worlds: Tensor, own: Tensor, priors: GapPriors, values: Tensor
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Some of the rows, and mean and variance of f at their candidates, those with as many gaps together.

    own: (R,) places in the table; values: (Q, S, R, g) -> (B,), (Q, S, B), (Q, S, B)
    """
    moved, widths, (Q, S) = Moved(model, table), priors.used.sum(-1), values.shape[:2]
    for width in widths.unique().tolist():
        alike = (widths == width).nonzero()[:, 0]
        for some in alike.split(moved.at_once(S, width)):
            rows, slots = worlds[:, own[some]], priors.parameter[some, :width]
            k = moved.covariances(own[some], rows, slots, values[:, :, some, :width].transpose(1, 2))
            k = k.flatten(1, 2)  # (Q, B S, n)
            mean = (k @ model.alpha.unsqueeze(-1)).squeeze(-1)
            explained = torch.linalg.solve_triangular(model.L, k.mT, upper=False).square().sum(-2)
            variance = (moved.prior - explained).clamp_min(1e-12 * moved.prior)
            yield some, *(one.reshape(Q, len(some), S).mT.cpu() for one in (mean, variance))
