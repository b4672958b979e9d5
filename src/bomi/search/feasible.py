"""Points of a space that keep its constraints: space-filling, optimized inside them, moved along discrete values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import Bounds, NonlinearConstraint, minimize
from torch import Tensor

from bomi.space import Array, Space
from bomi.space.sums import Mask

POOL = 1024  # random points, from which well-spread ones are picked
CHOICE = 16  # points of which the one farthest from those before is taken
STEPS = 40  # of SLSQP, at most


def spread(space: Space, count: int, *, seed: int, skip: int = 0) -> Tensor:
    """Well-spread points, the same sequence for the same seed: of 16 random points each time the one that is farthest
    from those before (Mitchell 1991).  (count, d)"""
    chosen: list[Array] = []
    block = POOL // CHOICE
    for k in range(skip + count):
        if k % block == 0:
            pool = space.draw(POOL, np.random.default_rng([seed, k // block]))
        few = pool[k % block * CHOICE :][:CHOICE]
        if chosen:
            apart = np.square(few[:, None] - np.array(chosen)).sum(-1).min(-1)
            few = few[[int(apart.argmax())]]
        chosen.append(few[0])
    return torch.from_numpy(np.array(chosen[skip:]).reshape(count, space.dim))


def around(space: Space, points: Tensor, parameter: int | None = None) -> Tensor:
    """Points projected onto the constraints, one parameter staying if it is named; without those that cannot be.

    (m, d) -> (<= m, d)
    """
    free = np.ones((len(points), len(space)), dtype=bool)
    if parameter is not None:
        free[:, parameter] = False
    projected = space.project(points.numpy(), free, thorough=False)
    return torch.from_numpy(projected[space.holds(projected)])


def slsqp(
    score: Callable[[Tensor], Tensor],
    space: Space,
    points: Tensor,
    moving: Tensor,
    low: Tensor,
    high: Tensor,
    *,
    tolerance: float = 1e-9,
) -> Tensor:
    """Maximization along the moving columns inside the constraints, from each point on its own, by sequential quadratic
    programming (Kraft 1988), until a step gains less than the tolerance.  points: (r, d); moving: (d,) bool; low, high:
    (d,)"""
    polytope = space.polytope
    assert polytope is not None
    first = np.array([space.columns[j].start for j in space.constrained])
    size = polytope.size
    optimized, free = points.numpy().copy(), np.zeros((len(points), len(space)), dtype=bool)
    for place, may_move in zip(optimized, free, strict=True):
        mask = moving.numpy().copy()
        mask[first[polytope.counted & ~polytope.nonzero(space.numbers(place))]] = False  # what has to be 0 stays
        mine = mask[first]  # constrained parameters that move
        position = (np.cumsum(mask) - 1)[first][mine]  # and where they are among the moving columns
        bounds = Bounds(low.numpy()[mask], high.numpy()[mask])
        speaks = (polytope.A[:, mine] != 0).any(-1)
        may_move[space.constrained[mine]] = True
        if not mask.any():
            continue

        def loss(v: Array, place: Array = place, mask: Mask = mask) -> tuple[float, Array]:
            x = torch.from_numpy(_with(place, mask, v)).requires_grad_()
            with torch.enable_grad():
                value = -score(x[None])[0]
                (gradient,) = torch.autograd.grad(value, x)
            if not torch.isfinite(value):
                return 1e300, np.zeros(len(v))
            return float(value.detach()), np.asarray(gradient.nan_to_num().numpy()[mask])

        def limit(
            rows: Mask, place: Array = place, mask: Mask = mask, mine: Mask = mine, position: Array = position
        ) -> NonlinearConstraint:
            def sums(v: Array) -> Array:
                return np.asarray((polytope.totals(space.numbers(_with(place, mask, v))) / size)[rows])

            def slopes(v: Array) -> Array:
                there = _with(place, mask, v)
                found = np.zeros((len(polytope.A), len(v)))
                by_column = polytope.slopes(space.numbers(there)) * space.slopes(there)
                found[:, position] = by_column[:, mine] / size[:, None]
                return found[rows]

            lower, upper = (polytope.lower / size)[rows], (polytope.upper / size)[rows]
            return NonlinearConstraint(sums, lower, upper, jac=slopes)

        rows = (speaks & polytope.fixed, speaks & ~polytope.fixed)
        found = minimize(
            loss,
            np.clip(place[mask], bounds.lb, bounds.ub),
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=[limit(each) for each in rows if each.any()],
            options={"maxiter": STEPS, "ftol": tolerance},
        )
        if np.isfinite(found.x).all():
            place[mask] = np.clip(found.x, bounds.lb, bounds.ub)
    projected = torch.from_numpy(space.project(optimized, free, thorough=False))
    kept = torch.from_numpy(space.holds(projected.numpy()))
    return torch.where(kept[:, None], projected, points)


def _with(place: Array, mask: Mask, v: Array) -> Array:
    """A place with other values in some columns."""
    moved = place.copy()
    moved[mask] = v
    return moved


def exchange(space: Space, moves: Tensor, parameters: Tensor) -> tuple[Tensor, Tensor]:
    """Points of which one parameter was changed: as they are if they keep the constraints; else with one other
    parameter of a broken constraint taking up the difference, for each that can.

    moves: (m, d), parameters: (m,) -> (m', d), (m',) which of the moves each is
    """
    kept = torch.from_numpy(space.holds(moves.numpy()))
    found, origin = [moves[kept]], [kept.nonzero()[:, 0]]
    polytope = space.polytope
    assert polytope is not None
    place, linked = {int(j): i for i, j in enumerate(space.constrained)}, polytope.linked
    broken = (~kept).nonzero()[:, 0]
    for i, partner in enumerate(space.constrained):
        mine = [m for m in broken.tolist() if parameters[m] != partner and linked[place[int(parameters[m])], i]]
        if not mine:
            continue
        index = torch.tensor(mine)
        free = np.zeros((len(mine), len(space)), dtype=bool)
        free[:, partner] = True
        projected = torch.from_numpy(space.project(moves[index].numpy(), free, thorough=False))
        fine = torch.from_numpy(space.holds(projected.numpy()))
        found.append(projected[fine])
        origin.append(index[fine])
    return torch.cat(found), torch.cat(origin)


def swaps(space: Space, point: Tensor) -> Tensor:
    """A point with one parameter 0 that was not, and another of the same count, which was 0, in its stead.

    It gets the same share of its range, and the others take up what a sum lacks.  (d,) -> (m, d)
    """
    polytope = space.polytope
    if polytope is None or not polytope.counts:
        return point.new_zeros(0, len(point))
    numbers = space.numbers(point.numpy())
    some = polytope.nonzero(numbers)
    pairs = {
        (int(i), int(j))
        for _, mask, _ in polytope.counts
        for i in np.flatnonzero(mask & some)
        for j in np.flatnonzero(mask & ~some)
    }
    moved = np.tile(numbers, (len(pairs), 1))
    for line, (i, j) in zip(moved, sorted(pairs), strict=True):
        line[i], line[j] = 0.0, numbers[i] / polytope.span[i] * polytope.span[j]
    places = space.with_numbers(np.tile(point.numpy(), (len(moved), 1)), moved)
    return around(space, torch.from_numpy(space.snap(places)))
