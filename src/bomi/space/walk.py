"""Hit and run (Smith 1984): settings that keep the constraints, moved until they are spread evenly over all that do."""

from __future__ import annotations

import numpy as np

from bomi.space.numbers import Array
from bomi.space.sums import Mask, Sums

WALK = 40  # steps of hit and run
SHRUNK = 8  # times that a step which breaks a product is drawn again


def hit_and_run(sums: Sums, z: Array, rng: np.random.Generator) -> Array:
    """Hit and run from each setting, the discrete values staying as they are, and those that have to be 0."""
    moving = np.where(sums.counted, sums.nonzero(z), True) & ~sums.discrete
    if (sums.fixed & sums.log).any():  # a fixed product is curved: no straight step keeps it
        moving &= ~(sums.A[sums.fixed & sums.log] != 0).any(0)
    walked = z.copy()
    for pattern in np.unique(moving, axis=0):
        mine = (moving == pattern).all(-1)
        walked[mine] = _walk(sums, z[mine], _directions(sums, pattern), rng)
    return walked


def _directions(sums: Sums, moving: Mask) -> Array:
    """An orthonormal basis of the directions along which moving values change no fixed sum, ranges taken as units
    of length.  (k,) -> (k, r)"""
    fixed = (sums.A * sums.span)[sums.fixed & ~sums.log][:, moving]
    if len(fixed):
        _, sizes, rows = np.linalg.svd(fixed)
        rank = int((sizes > 1e-12 * sizes.max(initial=1e-300)).sum())
        inner = rows[rank:].T
    else:
        inner = np.eye(int(moving.sum()))
    basis = np.zeros((len(sums.axes), inner.shape[1]))
    basis[moving] = inner
    return basis


def _walk(sums: Sums, z: Array, basis: Array, rng: np.random.Generator) -> Array:
    """Hit and run along the directions of a basis."""
    if not basis.shape[1]:
        return z
    straight = ~sums.log
    log = [j for j, axis in enumerate(sums.axes) if axis.log and not axis.discrete]
    start = z
    for _ in range(WALK):
        direction = (rng.standard_normal((len(z), basis.shape[1])) @ basis.T) * sums.span
        ends = []
        for value, rate, low, high in (
            (z, direction, sums.low, sums.high),
            (z @ sums.A[straight].T, direction @ sums.A[straight].T, sums.lower[straight], sums.upper[straight]),
        ):
            moves = np.abs(rate) > 1e-12 * np.abs(direction).max(-1, keepdims=True)
            if low is not sums.low:
                moves &= ~sums.fixed[straight]
            with np.errstate(divide="ignore", invalid="ignore"):
                one, other = (low - value) / rate, (high - value) / rate
            ends.append(
                (
                    np.where(moves, np.minimum(one, other), -np.inf).max(-1, initial=-np.inf),
                    np.where(moves, np.maximum(one, other), np.inf).min(-1, initial=np.inf),
                )
            )
        low, high = np.maximum(ends[0][0], ends[1][0]), np.minimum(ends[0][1], ends[1][1])
        low, high = np.minimum(low, 0), np.maximum(high, 0)
        t = low[:, None] + rng.random((len(z), 4)) * (high - low)[:, None]
        if log:  # evenly on the log scale: of the place and four others one, by the density there
            t[:, 0] = 0
            there = np.maximum(z[:, None, log] + t[..., None] * direction[:, None, log], sums.low[log])
            chance = -np.log(there).sum(-1) + rng.gumbel(size=t.shape)
            t[:, 0] = t[np.arange(len(t)), chance.argmax(-1)]
        if sums.log.any():
            t[:, 0] = _shrunk(sums, z, direction, t[:, 0], low, high, rng)
        z = np.clip(z + t[:, :1] * direction, sums.low, sums.high)
    return np.where(sums.holds(z)[:, None], z, start)


def _shrunk(
    sums: Sums, z: Array, direction: Array, t: Array, low: Array, high: Array, rng: np.random.Generator
) -> Array:
    """Steps that keep the products: those that do not are drawn again from what lies nearer (Neal 2003).  (m,)"""
    for _ in range(SHRUNK):
        broken = ~sums.holds(np.clip(z + t[:, None] * direction, sums.low, sums.high))
        if not broken.any():
            return t
        low, high = np.where(broken & (t < 0), t, low), np.where(broken & (t > 0), t, high)
        t = np.where(broken, low + rng.random(len(t)) * (high - low), t)
    return np.where(sums.holds(np.clip(z + t[:, None] * direction, sums.low, sums.high)), t, 0.0)
