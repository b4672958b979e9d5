"""Which parameters matter, and which pairs of them: variance-based sensitivity, with its uncertainty.

    f         an outcome as a function of the unit cube, uniform over it
    A, B      two sets of m points; A_j is A with the parameter j as in B, A_jk with both
    alone     S_j = E f(B) (f(A_j) - f(A)) / Var f           what x_j explains by itself (Saltelli 2010)
    total     T_j = E (f(A) - f(A_j))^2 / 2 Var f            what stays unexplained without x_j (Jansen 1999)
    together  E (f(A) - f(A_j) - f(A_k) + f(A_jk))^2 / 4 Var f   what j and k do only together (Liu and Owen 2006)

Nobody knows f. The shares are those of many functions drawn from the posterior, over worlds and hyper-parameters: where
these disagree, what matters cannot be told yet. Nor can it where the model takes noise for a function: of what a model
fails to predict, each parameter's total gets about half, whether it matters or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import qmc
from torch import Tensor

from bomi.model.additive import AdditiveMatern
from bomi.model.conditions import UnderConditions
from bomi.model.gaussian_process import GaussianProcess, robust_cholesky
from bomi.optimizer import Optimizer
from bomi.results import Validation
from bomi.space import Array

MOST_POINTS = 1024  # at which a function is drawn
POINTS = 512  # for the interactions, at which only the expected outcome is computed
FUNCTIONS, FROM_WORLDS = 48, 8  # drawn in all, and from how many worlds
MATTERS, HARDLY = 0.05, 0.15  # totals: more than the one at the lower end, less than the other at the upper end
TOLD = ("matters", "hardly matters", "cannot be told")


@dataclass(frozen=True)
class Importance:
    """The share of an outcome's variance over the whole space that a parameter explains, from 0 to 1."""

    parameter: str
    alone: float
    total: float  # the median of what may be
    low: float  # 5 % of the total
    high: float  # 95 %
    verdict: str  # one of TOLD


def importance(optimizer: Optimizer, *, outcome: str | None = None) -> list[Importance]:
    """How much each parameter matters, the largest total first; of several outcomes, the first unless named."""
    space, p = optimizer.space, len(optimizer.space)
    judged = optimizer.validation(outcome)
    count = 2 ** int(np.log2(MOST_POINTS / (p + 2)))
    A, B = _pairs(p, count, optimizer.seed)
    blocks = [A, B, *(_exchanged(A, B, j) for j in range(p))]
    f = _functions(optimizer, space.expand(np.concatenate(blocks)), outcome).reshape(-1, p + 2, count)
    alone, total = shares(f)
    low, high = np.quantile(total, [0.05, 0.95], axis=0)
    found = [
        Importance(name, float(one), float(share), float(least), float(most), _verdict(least, most, judged))
        for name, one, share, least, most in zip(
            space.names, np.median(alone, 0), np.median(total, 0), low, high, strict=True
        )
    ]
    return sorted(found, key=lambda one: -one.total)


def shares(f: Array) -> tuple[Array, Array]:
    """What each parameter explains alone and with others, from functions at A, B and each A_j.  (F, p + 2, m) -> (F, p)

    No share alone is estimated to be more than that with others, of which it is a part.
    """
    a, b, each = f[:, :1], f[:, 1:2], f[:, 2:]
    both = f[:, :2].reshape(len(f), -1)
    variance = both.var(-1)[:, None]
    varies = variance > 1e-18 * max(float(np.abs(f).max()), 1e-300) ** 2
    variance = np.where(varies, variance, np.inf)
    total = np.clip(((a - each) ** 2).mean(-1) / (2 * variance), 0, 1)
    alone = ((b - both.mean(-1)[:, None, None]) * (each - a)).mean(-1) / variance
    return np.clip(alone, 0, total), total


def _verdict(low: float, high: float, judged: Validation) -> str:
    """What may be said of a parameter whose total lies between two ends."""
    matters, hardly, unknown = TOLD
    if not judged.trusted:
        return unknown
    if low > max(MATTERS, (1 - judged.explained) / 2):
        return matters
    return hardly if high < HARDLY else unknown


def interactions(optimizer: Optimizer, *, outcome: str | None = None) -> Array:
    """The share of the expected outcome's variance that each pair of parameters explains only together.  (p, p)"""
    space, p = optimizer.space, len(optimizer.space)
    model, transform = optimizer.learned(outcome)
    A, B = (torch.from_numpy(space.expand(points)) for points in _pairs(p, POINTS, optimizer.seed))
    objective = next(one for one in optimizer.objectives if outcome in (None, one.name))
    with torch.no_grad():
        here = model.means(A).mean(0)
        there = here + _changes(model, A, B, torch.from_numpy(space.groups))
    f, changed = (transform.to_outcomes(one).clamp(*objective.signed_bounds) for one in (here, there))
    alone = changed.diagonal().mT  # (p, m)
    together = (f - alone[:, None] - alone + changed).square().mean(-1) / 4
    variance, size = float(f.var(correction=0)), max(float(changed.abs().max()), 1e-300)
    found = (together / variance).clamp_max(1).fill_diagonal_(0) if variance > 1e-18 * size**2 else 0 * together
    shares: Array = found.numpy()
    return shares


def _changes(model: GaussianProcess, A: Tensor, B: Tensor, groups: Tensor) -> Tensor:
    """By how much the worlds' mean changes where one or two parameters of A are as in B.  (m, d) -> (p, p, m)"""
    kernel, theta, rows = model.kernel, model.theta, model.inputs
    if isinstance(kernel, UnderConditions):  # what the conditions add is the same everywhere
        theta, rows, kernel = kernel.of_inputs(theta), model.places, kernel.base
    if isinstance(kernel, AdditiveMatern):
        parts = zip(*(each.to(rows).split(kernel.at_once(rows)) for each in (A, B)), strict=True)
        return torch.cat([kernel.changes(theta, rows, model.alpha, *part).mean(0).cpu() for part in parts], -1)
    each = [groups == j for j in range(int(groups[-1]) + 1)]
    mixed = torch.stack([torch.stack([torch.where(one | other, B, A) for other in each]) for one in each])
    return (model.means(mixed.flatten(0, 2)).mean(0)).reshape(mixed.shape[:-1]) - model.means(A).mean(0)


def _pairs(p: int, count: int, seed: int) -> tuple[Array, Array]:
    """Two sets of points of the unit cube.  (m, p), (m, p)"""
    points = qmc.Sobol(2 * p, rng=np.random.default_rng(seed)).random(count)
    return points[:, :p], points[:, p:]


def _exchanged(A: Array, B: Array, *columns: int) -> Array:
    """A with some columns as in B."""
    mixed = A.copy()
    mixed[:, columns] = B[:, columns]
    return mixed


def _functions(optimizer: Optimizer, places: Array, outcome: str | None) -> Array:
    """Functions drawn from the posterior at places of the cube.  (m, d) -> (F, m)"""
    model, transform = optimizer.learned(outcome)
    worlds = model.worlds()
    chosen = np.unique(np.linspace(0, len(worlds) - 1, FROM_WORLDS).round().astype(int))
    rng = torch.Generator().manual_seed(optimizer.seed)
    drawn = []
    with torch.no_grad():
        for place in chosen:
            found = worlds[place].posterior(torch.from_numpy(places)).distribution
            L = robust_cholesky(found.covariance_matrix[0])
            luck = torch.randn(len(places), FUNCTIONS // len(chosen), generator=rng, dtype=torch.float64)
            drawn.append(found.mean[0] + (L @ luck).mT)
    objective = next(one for one in optimizer.objectives if outcome in (None, one.name))
    found_all: Array = transform.to_outcomes(torch.cat(drawn)).clamp(*objective.signed_bounds).numpy()
    return found_all
