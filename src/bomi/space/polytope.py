"""Constraints on the parameters, in their own units, and the settings that keep them.

    z        (m, k)   settings of the k parameters that a constraint speaks of
    A        (c, k)   coefficients of each sum: lower <= A t(z) <= upper, equal for a fixed sum
    t(z)              the numbers as they are, or for a product their logarithms
    free     (m, k)   which values may be moved; the others are given

Numbers on a log scale need nothing special: their constraint is linear in their own unit. Integers, steps and ordered
numbers stay at their own values. Where only some may be other than 0, these are chosen first: the largest of a setting
that is projected, any for one that is drawn. The others are 0, and given from there on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bomi.errors import SpaceError
from bomi.space.linear import Linear
from bomi.space.nonzero import NonZero
from bomi.space.numbers import LARGEST, level_count
from bomi.space.product import Product

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Constraint: TypeAlias = Linear | Product | NonZero

TOLERANCE = 1e-9  # of the largest value that a constraint's sum can have
PASSES = 60  # of the projection over all constraints
WALK = 40  # steps of hit and run
SECONDS = 10.0  # for the integer programme that looks for any setting
QUICK = 0.2  # for one of many
PROGRAMMES = 16  # at most at a time
COUNTABLE = 10**9  # values that an integer programme counts; finer steps are as good as none
TRIES = 8  # orders in which a setting is projected
BLIND = 64  # random settings among which one that keeps products is looked for, if all else fails
TINY = 1e-300  # what stands for 0 in a logarithm
NOTHING = 1e-9  # of a range: what is as good as 0


@dataclass(frozen=True)
class Axis:
    """A parameter that a constraint speaks of: its range, and its values if they are discrete."""

    name: str
    low: float
    high: float
    log: bool = False
    step: float | None = None
    levels: tuple[float, ...] = ()  # rising, where they are not evenly apart

    @property
    def discrete(self) -> bool:
        """Whether it takes discrete values."""
        return self.step is not None or bool(self.levels)

    @property
    def count(self) -> int:
        """How many discrete values there are."""
        if self.levels:
            return len(self.levels)
        assert self.step is not None
        return level_count(self.low, self.high, self.step)

    def index(self, z: Array) -> Array:
        """Where between its discrete values a number lies, counted from 0."""
        if self.levels:
            return np.asarray(np.interp(z, self.levels, np.arange(len(self.levels), dtype=float)))
        assert self.step is not None
        return (z - self.low) / self.step

    def value(self, index: Array) -> Array:
        """The discrete value of this index."""
        index = np.clip(np.nan_to_num(index), 0, self.count - 1)
        if self.levels:
            return np.asarray(np.array(self.levels)[index.astype(int)])
        assert self.step is not None
        return np.minimum(self.low + index * self.step, self.high)

    def between(self, wanted: Array, low: Array, high: Array) -> Array:
        """The admissible value between two ends that is nearest to the wanted one; NaN where there is none."""
        if not self.discrete:
            return np.where(
                low <= high + 1e-9 * (self.high - self.low), np.clip(wanted, np.minimum(low, high), high), np.nan
            )
        first, last = self._ends(low, high)
        index = np.clip(np.round(self.index(wanted)), first, last)
        return np.where(first <= last, self.value(index), np.nan)

    def draw(self, u: Array, low: Array, high: Array) -> Array:
        """The value between two ends at a share u of the way, evenly on the parameter's scale; NaN without any."""
        if self.discrete:
            first, last = self._ends(low, high)
            index = first + np.floor(u * (last - first + 1))
            return np.where(first <= last, self.value(np.minimum(index, last)), np.nan)
        if self.log:
            low, high = np.maximum(low, self.low), np.maximum(high, self.low)
            drawn = low * np.exp(u * np.log(high / low))
        else:
            drawn = low + u * (high - low)
        return np.where(low <= high + 1e-9 * (self.high - self.low), drawn, np.nan)

    def _ends(self, low: Array, high: Array) -> tuple[Array, Array]:
        slack = 1e-7  # of a step: sums of decimals are not exact
        first = np.ceil(np.clip(self.index(np.maximum(low, self.low)), 0, self.count - 1) - slack)
        last = np.floor(np.clip(self.index(np.minimum(high, self.high)), 0, self.count - 1) + slack)
        if self.levels:  # an end outside all levels must not be taken for the nearest of them
            first = np.where(low > self.levels[-1] + slack, self.count, first)
            last = np.where(high < self.levels[0] - slack, -1, last)
        else:
            first = np.where(low > self.high, np.maximum(first, np.ceil(self.index(low) - slack)), first)
        return first, last


class Polytope:
    """The settings that keep all constraints."""

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

    def _supported(self, size: Array, taken: Mask, free: Mask) -> Mask:
        """Which values may be other than 0: of each count those that are given, and of the free the largest.  (m, k)"""
        support = np.ones(size.shape, dtype=bool)
        for _, mask, most in self.counts:
            left = most - (taken & ~free & mask).sum(-1)  # (m,)
            rank = np.where(free & mask, -size, np.inf).argsort(-1, kind="stable").argsort(-1)
            support &= ~(free & mask) | (rank < left[:, None])
        return support

    def project(self, z: Array, free: Mask | None = None, *, thorough: bool = True) -> Array:
        """The nearest settings that keep the constraints, moving only what is free; NaN where there are none.

        First a projection, which spreads a correction over all free values; then one value after another is moved as
        little as the others' ranges allow, which makes the sums exact and keeps discrete values at their own; and
        where that ends in a blind alley and it is to be thorough, an integer programme.  (m, k) -> (m, k)
        """
        free = np.ones(z.shape, dtype=bool) if free is None else free
        found = np.where(self._admissible(z)[:, None], z, np.nan)
        rng = np.random.default_rng(0)
        movable, near = free, z
        if not self.counts:
            near = self._project(z, free)
        for turn in range(TRIES if thorough else 2):
            left = np.isnan(found).any(-1)
            if not left.any():
                return found
            if self.counts:
                size = np.abs(z) / self.span + (turn > 0) * rng.random(z.shape)
                support = self._supported(size, self.nonzero(z), free)
                movable = free & support
                near = self._project(np.where(free & ~support, 0.0, z), movable)
            found[left] = self._settle(near[left], movable[left], self._order(rng if turn else None))
        for i in np.flatnonzero(np.isnan(found).any(-1))[: PROGRAMMES if thorough else 0]:
            nearest = self._programme(near[i], free[i], seconds=QUICK)
            if nearest is not None:
                found[i] = nearest
        return found

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Settings that keep the constraints, spread over all that do.  (count, k)

        One value after another is drawn from what the others' ranges leave of its own, in many orders; then the
        continuous ones take steps of hit and run (Smith 1984), to be spread evenly.
        """
        parts = np.array_split(np.arange(count), TRIES)
        z = np.full((count, len(self.axes)), np.nan)
        for part in parts:
            for _ in range(TRIES):
                left = part[np.isnan(z[part]).any(-1)]
                if not len(left):
                    break
                u = rng.random((len(left), len(self.axes)))
                support = np.ones(u.shape, dtype=bool)
                if self.counts:
                    support = self._supported(rng.random(u.shape), ~support, support)
                z[left] = self._settle(np.where(support, u, 0.0), support, self._order(rng), drawing=True)
        missing = np.flatnonzero(np.isnan(z).any(-1))
        if len(missing):  # blind alleys: some by an integer programme, the others like those there are
            for i in missing[:TRIES]:
                wanted = self.low + rng.random(len(self.axes)) * self.span
                nearest = self._programme(wanted, np.ones(len(self.axes), dtype=bool), seconds=QUICK)
                z[i] = self.anchor if nearest is None else nearest
            known = z[~np.isnan(z).any(-1)]
            z[missing[TRIES:]] = known[rng.integers(len(known), size=len(missing[TRIES:]))]
        return self._hit_and_run(z, rng)

    def _order(self, rng: np.random.Generator | None) -> list[int]:
        """Separate values first: the continuous ones can take up what is left."""
        shuffled = np.arange(len(self.axes)) if rng is None else rng.permutation(len(self.axes))
        return sorted(shuffled.tolist(), key=lambda j: not self.discrete[j])

    def _admissible(self, z: Array) -> Mask:
        """Whether settings are inside the ranges, at discrete values where these are discrete, and keep all sums."""
        inside: Mask = ((z >= self.low - 1e-12 * self.span) & (z <= self.high + 1e-12 * self.span)).all(-1)
        for j, axis in enumerate(self.axes):
            if axis.discrete:
                inside &= np.abs(z[:, j] - axis.value(np.round(axis.index(z[:, j])))) <= 1e-9 * self.span[j]
        return inside & self.holds(z)

    def _settle(self, z: Array, free: Mask, order: Sequence[int], *, drawing: bool = False) -> Array:
        """One free value after another, moved (or drawn) inside what the values so far and the ranges of the others
        leave of its range.  (m, k) -> (m, k), NaN where nothing is left"""
        z = z.copy()
        # What each term adds to its sum, at least and at most: the value where it is settled, the range where not.
        ends = self.terms(np.stack([self.low, self.high]))  # (2, c, k)
        least = np.where(free[:, None, :], ends.min(0), self.terms(z))  # (m, c, k)
        most = np.where(free[:, None, :], ends.max(0), self.terms(z))
        for j in order:
            rows = free[:, j]
            if not rows.any():
                continue
            others_least = least[rows].sum(-1) - least[rows, :, j]  # (r, c)
            others_most = most[rows].sum(-1) - most[rows, :, j]
            a = self.A[:, j]
            with np.errstate(divide="ignore", invalid="ignore"):
                one, other = (
                    (self.lower - self.slack / 2 - others_most) / a,
                    (self.upper + self.slack / 2 - others_least) / a,
                )
            if self.log.any():
                one, other = (np.where(self.log, np.exp(np.clip(t, -690.0, 690.0)), t) for t in (one, other))
            speaks = a != 0
            low = np.where(speaks, np.minimum(one, other), -np.inf).max(-1, initial=-np.inf)
            high = np.where(speaks, np.maximum(one, other), np.inf).min(-1, initial=np.inf)
            low, high = np.maximum(low, self.low[j]), np.minimum(high, self.high[j])
            axis = self.axes[j]
            z[rows, j] = axis.draw(z[rows, j], low, high) if drawing else axis.between(z[rows, j], low, high)
            least[rows, :, j] = most[rows, :, j] = self.terms(z[rows])[..., j]
        z = self._exact(z, free, order)
        return np.where(self.holds(z)[:, None], z, np.nan)

    def _exact(self, z: Array, free: Mask, order: Sequence[int]) -> Array:
        """Fixed sums met to the last digit, by the continuous value settled last."""
        for c in np.flatnonzero(self.fixed):
            for j in reversed(order):
                if self.A[c, j] and not self.discrete[j]:
                    each = self.terms(z)[:, c]
                    moved = self.number(int(c), (self.lower[c] - each.sum(-1) + each[:, j]) / self.A[c, j])
                    z[:, j] = np.where(free[:, j], np.clip(moved, self.low[j], self.high[j]), z[:, j])
                    break
        return z

    def _project(self, z: Array, free: Mask) -> Array:
        """The nearest point of the polytope, ranges taken as units of length (Boyle and Dykstra 1986)."""
        x = (z - self.low) / self.span
        normals = self.A * self.span  # (c, k)
        offset = self.A @ self.low
        lower, upper = self.lower - offset, self.upper - offset
        size = free @ (normals**2).T  # (m, c)
        corrections = np.zeros((len(normals) + 1, *x.shape))
        for _ in range(PASSES):
            before = x
            for c, normal in enumerate(normals):
                if self.log[c]:
                    x = self._product(x, c, free)
                    continue
                y = x + corrections[c]
                total = y @ normal
                excess = total - np.clip(total, lower[c], upper[c])
                step = np.divide(excess, size[:, c], out=np.zeros_like(excess), where=size[:, c] > 0)
                x = y - step[:, None] * normal * free
                corrections[c] = y - x
            y = x + corrections[-1]
            x = np.where(free, np.clip(y, 0, 1), y)
            corrections[-1] = y - x
            if np.abs(x - before).max(initial=0.0) < 1e-12:
                break
        return np.asarray(self.low + x * self.span)

    def _product(self, x: Array, c: int, free: Mask) -> Array:
        """A step towards the limits of a product, along its slope, as far as free values go.  (m, k) -> (m, k)

        One of its logarithm alone would go too far where the product is to fall: it is halved then.
        """
        z = np.maximum(self.low + x * self.span, 1e-3 * self.span)
        total = self.totals(self.low + x * self.span)[:, c]
        excess = total - np.clip(total, self.lower[c], self.upper[c])
        slope = self.A[c] * self.span / z * free
        size = (slope**2).sum(-1)
        step = np.divide(excess, size, out=np.zeros_like(excess), where=size > 0)
        step = np.where(excess > 1e-6, step / 2, step)
        return np.asarray(np.where(free, np.clip(x - step[:, None] * slope, 0, 1), x))

    def _directions(self, moving: Mask) -> Array:
        """An orthonormal basis of the directions along which moving values change no fixed sum, ranges taken as units
        of length.  (k,) -> (k, r)"""
        fixed = (self.A * self.span)[self.fixed & ~self.log][:, moving]
        if len(fixed):
            _, sizes, rows = np.linalg.svd(fixed)
            rank = int((sizes > 1e-12 * sizes.max(initial=1e-300)).sum())
            inner = rows[rank:].T
        else:
            inner = np.eye(int(moving.sum()))
        basis = np.zeros((len(self.axes), inner.shape[1]))
        basis[moving] = inner
        return basis

    def _hit_and_run(self, z: Array, rng: np.random.Generator) -> Array:
        """Hit and run from each setting, the discrete values staying as they are, and those that have to be 0."""
        moving = np.where(self.counted, self.nonzero(z), True) & ~self.discrete
        if (self.fixed & self.log).any():  # a fixed product is curved: no straight step keeps it
            moving &= ~(self.A[self.fixed & self.log] != 0).any(0)
        walked = z.copy()
        for pattern in np.unique(moving, axis=0):
            mine = (moving == pattern).all(-1)
            walked[mine] = self._walk(z[mine], self._directions(pattern), rng)
        return walked

    def _walk(self, z: Array, basis: Array, rng: np.random.Generator) -> Array:
        """Hit and run along the directions of a basis."""
        if not basis.shape[1]:
            return z
        straight = ~self.log
        log = [j for j, axis in enumerate(self.axes) if axis.log and not axis.discrete]
        start = z
        for _ in range(WALK):
            direction = (rng.standard_normal((len(z), basis.shape[1])) @ basis.T) * self.span
            ends = []
            for value, rate, low, high in (
                (z, direction, self.low, self.high),
                (z @ self.A[straight].T, direction @ self.A[straight].T, self.lower[straight], self.upper[straight]),
            ):
                moves = np.abs(rate) > 1e-12 * np.abs(direction).max(-1, keepdims=True)
                if low is not self.low:
                    moves &= ~self.fixed[straight]
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
                there = np.maximum(z[:, None, log] + t[..., None] * direction[:, None, log], self.low[log])
                chance = -np.log(there).sum(-1) + rng.gumbel(size=t.shape)
                t[:, 0] = t[np.arange(len(t)), chance.argmax(-1)]
            if self.log.any():
                t[:, 0] = self._shrunk(z, direction, t[:, 0], low, high, rng)
            z = np.clip(z + t[:, :1] * direction, self.low, self.high)
        return np.where(self.holds(z)[:, None], z, start)

    def _shrunk(self, z: Array, direction: Array, t: Array, low: Array, high: Array, rng: np.random.Generator) -> Array:
        """Steps that keep the products: those that do not are drawn again from what lies nearer (Neal 2003).  (m,)"""
        for _ in range(TRIES):
            broken = ~self.holds(np.clip(z + t[:, None] * direction, self.low, self.high))
            if not broken.any():
                return t
            low, high = np.where(broken & (t < 0), t, low), np.where(broken & (t > 0), t, high)
            t = np.where(broken, low + rng.random(len(t)) * (high - low), t)
        return np.where(self.holds(np.clip(z + t[:, None] * direction, self.low, self.high)), t, 0.0)

    def _programme(self, wanted: Array, free: Mask, *, seconds: float, scaled: bool = False) -> Array | None:
        """The setting nearest to the wanted one by the sum of the moves, as shares of the ranges; None if none keeps
        the constraints, or none is found in time: a mixed-integer linear programme.

        The solver's tolerances are absolute. Scaled, numbers are shares of their ranges and sums shares of what they
        can vary by, which suits very large and very small ones.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        # z = base + Z v: an unknown v for each free value, or where levels are not evenly apart one for each of them.
        base = np.where(free, 0.0, wanted)
        unknowns: list[tuple[int, float, bool, float, float]] = []  # whose, unit, whole, least, most
        for j in np.flatnonzero(free).tolist():
            axis = self.axes[j]
            if axis.levels:
                unknowns += [(j, level, True, 0.0, 1.0) for level in axis.levels]
                continue
            base[j] = axis.low
            if axis.step is not None and axis.count <= COUNTABLE:
                unknowns.append((j, axis.step, True, 0.0, axis.count - 1.0))
            else:
                span = axis.high - axis.low
                unknowns.append((j, span, False, 0.0, 1.0) if scaled else (j, 1.0, False, 0.0, span))
        if not unknowns:
            return wanted if bool(self.holds(wanted[None])[0]) else None
        owner, unit, whole, low, high = (np.array(part) for part in zip(*unknowns, strict=True))
        n, moved = len(unknowns), np.flatnonzero(free)
        Z = np.zeros((len(self.axes), n))
        Z[owner, np.arange(n)] = unit
        picked = [j for j in moved if self.axes[j].levels]
        one_each = np.array([owner == j for j in picked], dtype=float).reshape(len(picked), n)
        along, away = Z[moved] / self.span[moved, None], ((wanted - base) / self.span)[moved]
        A, lower, upper = (part[~self.log] for part in (self.A, self.lower, self.upper))
        size = np.maximum(np.abs(A) @ self.span, self.slack[~self.log]) if scaled else np.ones(len(A))
        left, right, ones = (lower - A @ base) / size, (upper - A @ base) / size, np.ones(len(picked))
        # Beside the unknowns: a move of each value, and for each that is counted whether it is other than 0.
        counted = np.array([j for j in moved if self.counted[j]], dtype=int)
        eye, chosen = np.eye(len(moved)), np.eye(len(counted))
        no_move, no_count = np.zeros((1, len(moved))), np.zeros((1, len(counted)))

        def rows(unknown: Array, move: Array, count: Array) -> Array:
            length = max(len(unknown), len(move), len(count))
            return np.hstack([np.broadcast_to(part, (length, part.shape[1])) for part in (unknown, move, count)])

        sums = np.vstack([A @ Z / size[:, None], one_each])
        limits = [
            *(
                [LinearConstraint(rows(sums, no_move, no_count), np.append(left, ones), np.append(right, ones))]
                if len(sums)
                else []
            ),
            LinearConstraint(rows(along, -eye, no_count), -np.inf, away),  # z - wanted <= move
            LinearConstraint(rows(-along, -eye, no_count), -np.inf, -away),
        ]
        if len(counted):  # low y <= z <= high y, and a sum of y
            limits += [
                LinearConstraint(rows(Z[counted], no_move, -self.high[counted] * chosen), -np.inf, -base[counted]),
                LinearConstraint(rows(Z[counted], no_move, -self.low[counted] * chosen), -base[counted], np.inf),
            ]
            taken = self.nonzero(wanted) & ~free
            limits += [
                LinearConstraint(
                    rows(np.zeros((1, n)), no_move, mask[counted][None].astype(float)), 0, most - (taken & mask).sum()
                )
                for _, mask, most in self.counts
            ]
        found = milp(
            np.repeat([0.0, 1.0, 0.0], [n, len(moved), len(counted)]),
            integrality=np.concatenate([whole, 0 * moved, np.ones(len(counted))]),
            bounds=Bounds(
                np.concatenate([low, 0 * moved, 0 * counted]),
                np.concatenate([high, np.full(len(moved), np.inf), np.ones(len(counted))]),
            ),
            constraints=limits,
            options={"time_limit": seconds, "mip_rel_gap": 0.1},
        )
        if found.x is None:
            return None
        z = base + Z @ np.where(whole, np.round(found.x[:n]), found.x[:n])
        for j in np.flatnonzero(free & self.discrete).tolist():
            z[j] = self.axes[j].value(np.round(self.axes[j].index(z[j])))
        # The solver's own tolerance is coarser than ours, and it knows no products: the continuous values take up the
        # rest, but for those that have to be 0.
        nothing = self.counted & ~(np.abs(z) > 1e-6 * self.span) & free
        z = np.where(nothing, 0.0, z)
        near = self._settle(z[None], (free & ~self.discrete & ~nothing)[None], self._order(None))[0]
        return None if np.isnan(near).any() else near

    def check(self) -> None:
        """SpaceError, with a reason, if no setting keeps the constraints."""
        low, high = ({axis.name: getattr(axis, end) for axis in self.axes} for end in ("low", "high"))
        for place, constraint in enumerate(self.constraints):
            lowest, highest = constraint.reach(low, high)
            slack = self.slack[self.owner == place].max(initial=0.0) if isinstance(constraint, Linear) else 0.0
            if not (size := slack / TOLERANCE) <= LARGEST:
                raise SpaceError(
                    f"the sum {constraint.total_text} may be {size:.2g}; its size must be at most {LARGEST:g}",
                    ("constraints", place),
                )
            within = f"the constraint {constraint} cannot be kept: within the ranges {constraint.total_text} is"
            if lowest > constraint.upper + slack:
                raise SpaceError(f"{within} at least {lowest:.6g}", ("constraints", place))
            if highest < constraint.lower - slack:
                raise SpaceError(f"{within} at most {highest:.6g}", ("constraints", place))
        if self._feasible():
            return
        conflict = list(range(len(self.constraints)))
        for place in range(len(self.constraints)):
            rest = [other for other in conflict if other != place]
            if rest and not Polytope([self.constraints[other] for other in rest], self.axes)._feasible():
                conflict = rest
        places = [("constraints", place) for place in conflict]
        if len(conflict) > 1:
            told = "; ".join(str(self.constraints[place]) for place in conflict)
            raise SpaceError(f"no setting keeps these constraints together: {told}", *places)
        alone = self.constraints[conflict[0]]
        names = ", ".join(axis.name for axis in self.axes if axis.discrete and axis.name in alone.names)
        raise SpaceError(
            f"the constraint {alone} cannot be kept at the discrete values (whole numbers, steps) of {names}", *places
        )

    def _feasible(self) -> bool:
        return self._any is not None

    @cached_property
    def _any(self) -> Array | None:
        middle = (self.low + self.high) / 2
        found: Array = self.project(middle[None], thorough=False)[0]
        if not np.isnan(found).any():
            return found
        free = np.ones(len(self.axes), dtype=bool)
        tries = (self._programme(middle, free, seconds=SECONDS, scaled=scaled) for scaled in (False, True))
        one = next((one for one in tries if one is not None), None)
        if one is None and self.log.any():  # a programme knows no products
            rng = np.random.default_rng(0)
            found = self.project(self.low + rng.random((BLIND, len(self.axes))) * self.span)
            one = next(iter(found[~np.isnan(found).any(-1)]), None)
        return one

    @property
    def anchor(self) -> Array:
        """A setting that keeps the constraints.  (k,)"""
        assert self._any is not None, "checked when the space was made"
        return self._any
