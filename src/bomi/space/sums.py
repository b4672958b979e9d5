"""What constraints say, in numbers: sums with limits, and how many values may be other than 0.

    z        (m, k)   settings of the k parameters that a constraint speaks of
    A        (c, k)   coefficients of each sum: lower <= A t(z) <= upper, equal for a fixed sum
    t(z)              the numbers as they are, or for a product their logarithms

Numbers on a log scale need nothing special: their constraint is linear in their own unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bomi.space.axis import Axis
from bomi.space.linear import Linear
from bomi.space.nonzero import NonZero
from bomi.space.numbers import Array
from bomi.space.product import Product

Mask: TypeAlias = NDArray[np.bool_]
Constraint: TypeAlias = Linear | Product | NonZero

TOLERANCE = 1e-9  # of the largest value that a constraint's sum can have
TINY = 1e-300  # what stands for 0 in a logarithm
NOTHING = 1e-9  # of a range: what is as good as 0


class Sums:
    """The constraints on some parameters, as sums."""

    def __init__(self, constraints: Sequence[Constraint], axes: Sequence[Axis]) -> None:
        self.constraints, self.axes = tuple(constraints), tuple(axes)
        sums = [(i, one) for i, constraint in enumerate(constraints) for one in constraint.sums]
        self.owner = np.array([i for i, _ in sums], dtype=int)  # the constraint of each sum
        self.A = np.array([[one.terms.get(axis.name, 0.0) for axis in axes] for _, one in sums], dtype=float)
        self.A = self.A.reshape(len(sums), len(axes))
        self.lower = np.array([one.lower for _, one in sums])
        self.upper = np.array([one.upper for _, one in sums])
        self.log = np.array([one.log for _, one in sums], dtype=bool)
        self.counts = [  # the constraint, which parameters it counts (k,), and how many may be other than 0
            (i, np.array([axis.name in one.names for axis in axes]), one.max)
            for i, one in enumerate(constraints)
            if isinstance(one, NonZero)
        ]
        self.counted = np.any([mask for _, mask, _ in self.counts] or [np.zeros(len(axes), dtype=bool)], axis=0)
        self.low = np.array([axis.low for axis in axes], dtype=float)
        self.high = np.array([axis.high for axis in axes], dtype=float)
        self.span = self.high - self.low
        self.discrete = np.array([axis.discrete for axis in axes])
        largest = np.where(self.log[:, None], 1.0, np.maximum(np.abs(self.low), np.abs(self.high)))
        self.slack = TOLERANCE * (np.abs(self.A) * largest).sum(-1)
        self.size = np.where(self.log, 1.0, np.abs(self.A) @ self.span)  # by how much each sum varies
        self.fixed = self.upper - self.lower <= self.slack  # sums that are fixed

    def terms(self, z: Array) -> Array:
        """What each parameter adds to each sum.  (..., k) -> (..., c, k)"""
        z = z[..., None, :]
        if not self.log.any():
            return self.A * z
        return np.asarray(self.A * np.where(self.log[:, None], np.log(np.maximum(z, TINY)), z))

    def totals(self, z: Array) -> Array:
        """The sums.  (..., k) -> (..., c)"""
        return np.asarray(self.terms(z).sum(-1) if self.log.any() else z @ self.A.T)

    def slopes(self, z: Array) -> Array:
        """How fast each sum changes with each number.  (k,) -> (c, k)"""
        return np.where(self.log[:, None], self.A / np.maximum(z, TINY), self.A)

    def number(self, c: int, t: Array) -> Array:
        """The number whose t(z) in a sum is so much."""
        return np.exp(np.clip(t, -690.0, 690.0)) if self.log[c] else t

    def nonzero(self, z: Array) -> Mask:
        """Which numbers are other than 0.  (..., k)"""
        return np.asarray(np.abs(z) > NOTHING * self.span)

    def kept(self, z: Array) -> Mask:
        """Which constraints settings keep, up to rounding.  (m, k) -> (m, constraints)"""
        sums = self.totals(z)
        fine = (sums >= self.lower - self.slack) & (sums <= self.upper + self.slack)
        kept = np.ones((len(z), len(self.constraints)), dtype=bool)
        for c, i in enumerate(self.owner):
            kept[:, i] &= fine[:, c]
        for i, mask, most in self.counts:
            kept[:, i] = (self.nonzero(z) & mask).sum(-1) <= most
        return kept

    def holds(self, z: Array) -> Mask:
        """Whether settings keep all constraints, up to rounding.  (m, k) -> (m,)"""
        return np.asarray(self.kept(z).all(-1))

    @cached_property
    def linked(self) -> Mask:
        """Which two parameters share a constraint.  (k, k)"""
        shared = (self.A != 0).T.astype(int) @ (self.A != 0) > 0
        for _, mask, _ in self.counts:
            shared |= mask[:, None] & mask
        return np.asarray(shared)
