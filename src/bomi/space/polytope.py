"""Linear constraints on the parameters, in their own units, and the settings that keep them.

    z        (m, k)   settings of the k parameters that a constraint speaks of
    A        (c, k)   one row of coefficients for each constraint: lower <= A z <= upper, equal for a fixed sum
    free     (m, k)   which values may be moved; the others are given

Numbers on a log scale need nothing special: their constraint is linear in their own unit. Integers, steps and ordered
numbers stay at their own values.
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
from bomi.space.numbers import LARGEST, level_count

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

TOLERANCE = 1e-9  # of the largest value that a constraint's sum can have
PASSES = 60  # of the projection over all constraints
WALK = 40  # steps of hit and run
SECONDS = 10.0  # for the integer programme that looks for any setting
QUICK = 0.2  # for one of many
PROGRAMMES = 16  # at most at a time
COUNTABLE = 10**9  # values that an integer programme counts; finer steps are as good as none
TRIES = 8  # orders in which a setting is projected


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

    def __init__(self, constraints: Sequence[Linear], axes: Sequence[Axis]) -> None:
        self.constraints, self.axes = tuple(constraints), tuple(axes)
        self.A = np.array([[c.terms.get(axis.name, 0.0) for axis in axes] for c in constraints], dtype=float)
        self.lower = np.array([c.lower for c in constraints])
        self.upper = np.array([c.upper for c in constraints])
        self.low = np.array([axis.low for axis in axes], dtype=float)
        self.high = np.array([axis.high for axis in axes], dtype=float)
        self.span = self.high - self.low
        self.discrete = np.array([axis.discrete for axis in axes])
        self.slack = TOLERANCE * (np.abs(self.A) @ np.maximum(np.abs(self.low), np.abs(self.high)))
        self.fixed = self.upper - self.lower <= self.slack  # sums that are fixed
        self.lower_or_0 = np.where(np.isfinite(self.lower), self.lower, 0.0)

    def holds(self, z: Array) -> Mask:
        """Whether settings keep all constraints, up to rounding.  (m, k) -> (m,)"""
        sums = z @ self.A.T
        kept: Mask = ((sums >= self.lower - self.slack) & (sums <= self.upper + self.slack)).all(-1)
        return kept

    def project(self, z: Array, free: Mask | None = None, *, thorough: bool = True) -> Array:
        """The nearest settings that keep the constraints, moving only what is free; NaN where there are none.

        First a projection, which spreads a correction over all free values; then one value after another is moved as
        little as the others' ranges allow, which makes the sums exact and keeps discrete values at their own; and
        where that ends in a blind alley and it is to be thorough, an integer programme.  (m, k) -> (m, k)
        """
        free = np.ones(z.shape, dtype=bool) if free is None else free
        near = self._project(z, free)
        found = np.where(self._admissible(z)[:, None], z, np.nan)
        rng = np.random.default_rng(0)
        for turn in range(TRIES if thorough else 2):
            left = np.isnan(found).any(-1)
            if not left.any():
                return found
            found[left] = self._settle(near[left], free[left], self._order(rng if turn else None))
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
                z[left] = self._settle(u, np.ones(u.shape, dtype=bool), self._order(rng), drawing=True)
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
        ends = np.stack([self.A * self.low, self.A * self.high])  # (2, c, k)
        least = np.where(free[:, None, :], ends.min(0), self.A * z[:, None, :])  # (m, c, k)
        most = np.where(free[:, None, :], ends.max(0), self.A * z[:, None, :])
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
            speaks = a != 0
            low = np.where(speaks, np.minimum(one, other), -np.inf).max(-1)
            high = np.where(speaks, np.maximum(one, other), np.inf).min(-1)
            low, high = np.maximum(low, self.low[j]), np.minimum(high, self.high[j])
            axis = self.axes[j]
            z[rows, j] = axis.draw(z[rows, j], low, high) if drawing else axis.between(z[rows, j], low, high)
            least[rows, :, j] = most[rows, :, j] = a * z[rows, j, None]
        z = self._exact(z, free, order)
        return np.where(self.holds(z)[:, None], z, np.nan)

    def _exact(self, z: Array, free: Mask, order: Sequence[int]) -> Array:
        """Fixed sums met to the last digit, by the continuous value settled last."""
        for c in np.flatnonzero(self.fixed):
            for j in reversed(order):
                if self.A[c, j] and not self.discrete[j]:
                    moved = z[:, j] - (z @ self.A[c] - self.lower[c]) / self.A[c, j]
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

    @cached_property
    def _directions(self) -> Array:
        """An orthonormal basis of the directions along which continuous values move without changing a fixed sum,
        ranges taken as units of length.  (k, r)"""
        moving = ~self.discrete
        fixed = (self.A * self.span)[self.fixed][:, moving]
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
        """Hit and run from each setting, the discrete values staying as they are."""
        basis = self._directions
        if not basis.shape[1]:
            return z
        log = [j for j, axis in enumerate(self.axes) if axis.log and not axis.discrete]
        start = z
        for _ in range(WALK):
            direction = (rng.standard_normal((len(z), basis.shape[1])) @ basis.T) * self.span
            ends = []
            for value, rate, low, high in (
                (z, direction, self.low, self.high),
                (z @ self.A.T, direction @ self.A.T, self.lower, self.upper),
            ):
                moves = np.abs(rate) > 1e-12 * np.abs(direction).max(-1, keepdims=True)
                if low is self.lower:
                    moves &= ~self.fixed
                with np.errstate(divide="ignore", invalid="ignore"):
                    one, other = (low - value) / rate, (high - value) / rate
                ends.append(
                    (
                        np.where(moves, np.minimum(one, other), -np.inf).max(-1),
                        np.where(moves, np.maximum(one, other), np.inf).min(-1),
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
            z = np.clip(z + t[:, :1] * direction, self.low, self.high)
        return np.where(self.holds(z)[:, None], z, start)

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
        eye, none = np.eye(len(moved)), np.zeros((len(self.A) + len(picked), len(moved)))
        size = np.maximum(np.abs(self.A) @ self.span, self.slack) if scaled else np.ones(len(self.A))
        sums = np.hstack([np.vstack([self.A @ Z / size[:, None], one_each]), none])
        left, right = (self.lower - self.A @ base) / size, (self.upper - self.A @ base) / size
        found = milp(
            np.repeat([0.0, 1.0], [n, len(moved)]),
            integrality=np.concatenate([whole, np.zeros(len(moved))]),
            bounds=Bounds(np.append(low, 0 * moved), np.append(high, np.full(len(moved), np.inf))),
            constraints=[
                LinearConstraint(sums, np.append(left, np.ones(len(picked))), np.append(right, np.ones(len(picked)))),
                LinearConstraint(np.hstack([along, -eye]), -np.inf, away),  # z - wanted <= move
                LinearConstraint(np.hstack([-along, -eye]), -np.inf, -away),
            ],
            options={"time_limit": seconds, "mip_rel_gap": 0.1},
        )
        if found.x is None:
            return None
        z = base + Z @ np.where(whole, np.round(found.x[:n]), found.x[:n])
        for j in np.flatnonzero(free & self.discrete).tolist():
            z[j] = self.axes[j].value(np.round(self.axes[j].index(z[j])))
        # The solver's own tolerance is coarser than ours: the continuous values take up the rest.
        near = self._settle(z[None], (free & ~self.discrete)[None], self._order(None))[0]
        return None if np.isnan(near).any() else near

    def check(self) -> None:
        """SpaceError, with a reason, if no setting keeps the constraints."""
        ends = np.stack([self.A * self.low, self.A * self.high])
        least, most = ends.min(0).sum(-1), ends.max(0).sum(-1)
        sizes = np.abs(ends).sum(-1).max(0)
        limits = zip(self.constraints, sizes, least, most, self.slack, strict=True)
        for place, (constraint, size, lowest, highest, slack) in enumerate(limits):
            if not size <= LARGEST:
                raise SpaceError(
                    f"the sum {constraint.sum_text} may be {size:.2g}; its size must be at most {LARGEST:g}",
                    ("constraints", place),
                )
            within = f"the constraint {constraint} cannot be kept: within the ranges {constraint.sum_text} is"
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
        names = ", ".join(axis.name for axis in self.axes if axis.discrete and axis.name in alone.terms)
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
        return next((one for one in tries if one is not None), None)

    @property
    def anchor(self) -> Array:
        """A setting that keeps the constraints.  (k,)"""
        assert self._any is not None, "checked when the space was made"
        return self._any
