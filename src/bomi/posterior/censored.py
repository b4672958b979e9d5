"""Outcomes of which only a limit is known, such as <5, drawn in each world like gaps.

Given all other outcomes of its world, a censored outcome is a normal number cut to what its limits leave: the
likelihood has the normal's tail there (data augmentation: Chib 1992). With P = K^-1 and c the censored rows

    y_c ~ N(m, C)  between the limits,    C = (P_cc)^-1,    m = y_c - C (P y)_c.

All of them are proposed at once, each given those before it: y_c = m + L z with L L^T = C and z_k a standard normal
number cut to what is left for it. The proposal has the density of the truth divided by w = prod_k (probability of what
was left for z_k), so it is accepted with probability w / w' (Geweke, Hajivassiliou and Keane; Metropolis and Hastings).
Then each is drawn given all others.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.model.gaussian_process import robust_cholesky

LEAST = 1e-300  # of a probability


def draw_censored(table: Table, P: Tensor, rng: torch.Generator) -> Tensor:
    """The targets of each world, with those that are censored drawn anew.  P: (m Q, n, n) -> (m Q, n)"""
    assert table.limits is not None
    limits = table.limits.movedim(0, -1)  # (m, n, 2)
    worlds = len(P) // len(limits)
    drawn = [
        _draw(y, own, ends, rng, fresh=table.drawn is None)
        for y, own, ends in zip(table.targets_of(worlds).split(worlds), P.split(worlds), limits, strict=True)
    ]
    return torch.cat(drawn)


def _draw(y: Tensor, P: Tensor, limits: Tensor, rng: torch.Generator, *, fresh: bool) -> Tensor:
    """Those of one outcome, of which none has been drawn before if they are fresh.  (Q, n), (Q, n, n), (n, 2)"""
    rows = limits.isfinite().any(-1).nonzero()[:, 0]
    if len(rows) == 0:
        return y
    y, ends = y.clone(), limits[rows]
    weighted = (P @ y.nan_to_num().unsqueeze(-1)).squeeze(-1)  # (Q, n)
    L = robust_cholesky(torch.cholesky_inverse(robust_cholesky(P[:, rows[:, None], rows])))
    mean = y[:, rows] - (L @ (L.mT @ weighted[:, rows, None])).squeeze(-1)
    there, weight = _one_by_one(mean, L, ends, rng)
    if not fresh:
        here = torch.linalg.solve_triangular(L, (y[:, rows] - mean).unsqueeze(-1), upper=False).squeeze(-1)
        chance = torch.rand(len(y), generator=rng, dtype=torch.float64)
        accepted = chance.log() < weight - _one_by_one(mean, L, ends, rng, z=here)[1]
        there = torch.where(accepted[:, None], there, y[:, rows])
    weighted = weighted + (P[:, :, rows] @ (there - y[:, rows]).unsqueeze(-1)).squeeze(-1)
    y[:, rows] = there
    for i, (low, high) in zip(rows.tolist(), ends, strict=True):
        precision = P[:, i, i]
        middle, sd = y[:, i] - weighted[:, i] / precision, precision.rsqrt()
        value = middle + sd * _cut_normal((low - middle) / sd, (high - middle) / sd, rng)[0]
        weighted = weighted + P[:, :, i] * (value - y[:, i])[:, None]
        y[:, i] = value
    return y


def _one_by_one(
    mean: Tensor, L: Tensor, ends: Tensor, rng: torch.Generator, z: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """y_c with each drawn given those before it, or made of the z given, and log w.  (Q, c), (Q,)"""
    used = torch.zeros_like(mean) if z is None else z
    log_weight = torch.zeros_like(mean[:, 0])
    for k, (low, high) in enumerate(ends):
        middle, sd = mean[:, k] + (L[:, k, :k] * used[:, :k]).sum(-1), L[:, k, k]
        value, probability = _cut_normal((low - middle) / sd, (high - middle) / sd, rng)
        log_weight = log_weight + probability.log()
        if z is None:
            used[:, k] = value
    return mean + (L @ used.unsqueeze(-1)).squeeze(-1), log_weight


def _cut_normal(low: Tensor, high: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Standard normal numbers between two ends, and the probability of these.  (Q,), (Q,)"""
    right = low > 0  # where the tail is the right one, its mirror image has more digits
    a, b = torch.where(right, -high, low), torch.where(right, -low, high)
    below, above = torch.special.ndtr(a), torch.special.ndtr(b)
    chance = torch.rand(low.shape, generator=rng, dtype=torch.float64)
    z = torch.special.ndtri(torch.lerp(below, above, chance).clamp(LEAST, 1 - 1e-16))
    z = torch.maximum(torch.minimum(z, b), a)
    return torch.where(right, -z, z), (above - below).clamp_min(LEAST)
