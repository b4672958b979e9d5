"""The settings that keep the constraints, in the parameters' units: nearest ones, random ones, or why there are none.

    z        (m, k)   settings of the k parameters that a constraint speaks of
    free     (m, k)   which values may be moved; the others are given

Integers, steps and ordered numbers stay at their own values. Where only some may be other than 0, these are chosen
first: the largest of a setting that is projected, any for one that is drawn. The others are 0, and given from there on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bomi.errors import SpaceError
from bomi.space.linear import Linear
from bomi.space.numbers import LARGEST, Array
from bomi.space.programme import programme
from bomi.space.sums import TOLERANCE, Mask, Sums
from bomi.space.walk import hit_and_run

PASSES = 60  # of the projection over all constraints
SECONDS = 10.0  # for the integer programme that looks for any setting
QUICK = 0.2  # for one of many
PROGRAMMES = 16  # at most at a time
TRIES = 8  # orders in which a setting is projected
BLIND = 64  # random settings among which one that keeps products is looked for, if all else fails


class Polytope(Sums):
    """The settings that keep all constraints."""

    def project(self, z: Array, free: Mask | None = None, *, thorough: bool = True) -> Array:
        """The nearest settings that keep the constraints, moving only what is free; NaN where there are none.

        A projection comes first and spreads a correction over all free values. Then one value after another is moved as
        little as the others' ranges allow: this makes the sums exact and keeps discrete values at their own. Where that
        is a dead end, an integer programme is solved, if it is to be thorough.  (m, k) -> (m, k)
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
        if len(missing):  # dead ends: some by an integer programme, the others like those there are
            for i in missing[:TRIES]:
                wanted = self.low + rng.random(len(self.axes)) * self.span
                nearest = self._programme(wanted, np.ones(len(self.axes), dtype=bool), seconds=QUICK)
                z[i] = self.anchor if nearest is None else nearest
            known = z[~np.isnan(z).any(-1)]
            z[missing[TRIES:]] = known[rng.integers(len(known), size=len(missing[TRIES:]))]
        return hit_and_run(self, z, rng)

    def _order(self, rng: np.random.Generator | None) -> list[int]:
        """Discrete values first: the continuous ones can take up what is left."""
        shuffled = np.arange(len(self.axes)) if rng is None else rng.permutation(len(self.axes))
        return sorted(shuffled.tolist(), key=lambda j: not self.discrete[j])

    def _admissible(self, z: Array) -> Mask:
        """Whether settings are inside the ranges, at discrete values where these are discrete, and keep all sums."""
        inside: Mask = ((z >= self.low - 1e-12 * self.span) & (z <= self.high + 1e-12 * self.span)).all(-1)
        for j, axis in enumerate(self.axes):
            if axis.discrete:
                inside &= np.abs(z[:, j] - axis.value(np.round(axis.index(z[:, j])))) <= 1e-9 * self.span[j]
        return inside & self.holds(z)

    def _supported(self, size: Array, taken: Mask, free: Mask) -> Mask:
        """Which values may be other than 0: of each count those that are given, and of the free the largest.  (m, k)"""
        support = np.ones(size.shape, dtype=bool)
        for _, mask, most in self.counts:
            left = most - (taken & ~free & mask).sum(-1)  # (m,)
            rank = np.where(free & mask, -size, np.inf).argsort(-1, kind="stable").argsort(-1)
            support &= ~(free & mask) | (rank < left[:, None])
        return support

    def _settle(self, z: Array, free: Mask, order: Sequence[int], *, drawing: bool = False) -> Array:
        """Move (or draw) one free value after another, within what the values settled so far and the ranges of the
        others leave of its range.  (m, k) -> (m, k), NaN where nothing is left"""
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

    def _programme(self, wanted: Array, free: Mask, *, seconds: float, scaled: bool = False) -> Array | None:
        """What a programme finds, with the sums met to the last digit; None if it finds nothing that keeps them."""
        z = programme(self, wanted, free, seconds=seconds, scaled=scaled)
        if z is None:
            return None
        # Its tolerance is coarser than ours, and it knows no products: the continuous values take up the rest, but for
        # those that have to be 0.
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
        if self._some is not None:
            return
        conflict = list(range(len(self.constraints)))
        for place in range(len(self.constraints)):
            rest = [other for other in conflict if other != place]
            if rest and Polytope([self.constraints[other] for other in rest], self.axes)._some is None:
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

    @cached_property
    def _some(self) -> Array | None:
        """A setting that keeps the constraints; None if none is found.  (k,)"""
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
        assert self._some is not None, "checked when the space was made"
        return self._some
