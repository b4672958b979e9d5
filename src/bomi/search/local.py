"""Local optimization: what each start leads to.

L-BFGS runs along the continuous columns, side by side from all starts, and coordinate moves along the discrete ones, in
turn. With constraints every point on the way keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from bomi.model.lbfgs import minimize
from bomi.search import feasible
from bomi.search.trust_region import Region
from bomi.space import Space

Score: TypeAlias = Callable[[Tensor], Tensor]  # (m, d) -> (m,)

EXACTLY, ROUGHLY = 1e-8, 1e-5  # by which share a score has to rise for a search to go on
STEPS = 50  # at most, of L-BFGS
ROUNDS = 12  # at most, of alternating between continuous and discrete moves


def optimize(
    score: Score, space: Space, points: Tensor, within: Region | None, tolerance: float
) -> tuple[Tensor, Tensor]:
    """Local optimization from each point, continuous and discrete moves in turn.  (r, d) -> (r, d), (r,)"""
    continuous = torch.tensor(
        [parameter.levels is None for parameter in space.parameters.values() for _ in range(parameter.width)]
    )
    if continuous.any():
        points = _lbfgs(score, space, points, continuous, within, tolerance)
    values = evaluate(score, points)
    counts = space.polytope is not None and bool(space.polytope.counts)
    going = torch.arange(len(points))  # those that a single change has bettered
    for _ in range(0 if continuous.all() and not counts else ROUNDS):
        moved, better = _best_change(score, space, points[going], values[going])
        bettered = better > values[going]
        if not bettered.any():
            break
        going, moved = going[bettered], moved[bettered]
        moved = _lbfgs(score, space, moved, continuous, within, tolerance) if continuous.any() else moved
        points, values = points.index_copy(0, going, moved), values.index_copy(0, going, evaluate(score, moved))
    return points, values


def _lbfgs(score: Score, space: Space, points: Tensor, free: Tensor, within: Region | None, tolerance: float) -> Tensor:
    """L-BFGS within the cube, or the region, along the free columns, all points side by side."""
    low, high = torch.zeros(len(free), dtype=torch.float64), torch.ones(len(free), dtype=torch.float64)
    if within is not None:
        low, high = (within.center - within.radius).clamp(0, 1), (within.center + within.radius).clamp(0, 1)
    if bool(free[[space.columns[j].start for j in space.constrained]].any()):
        return feasible.slsqp(score, space, points, free, low, high, tolerance=tolerance)

    def loss(moving: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        moving.requires_grad_()
        x = points[which].masked_scatter(free.expand(len(moving), -1), moving)
        with torch.enable_grad():
            value = -score(x)
            (gradient,) = torch.autograd.grad(value.sum(), moving)
        return value.detach(), gradient

    found, _ = minimize(loss, points[:, free], low[free], high[free], most=STEPS, tolerance=tolerance)
    moved = points.clone()
    moved[:, free] = found.clamp(0, 1)
    return moved


def _best_change(score: Score, space: Space, points: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Each point after the best change of a discrete parameter, or of what is 0, or of several parameters at once, if
    there is a better one."""
    moves, origin, parameters = _single_changes(space, points)
    scores = evaluate(score, moves)
    joint, whose = _joint_changes(space, points, moves, origin, parameters, scores - values[origin])
    found, gains = torch.cat([moves, joint]), torch.cat([scores, evaluate(score, joint)])
    best_points, best_values = points.clone(), values.clone()
    for i, move, value in zip(torch.cat([origin, whose]).tolist(), found, gains, strict=True):
        if value > best_values[i]:
            best_points[i], best_values[i] = move, value
    return best_points, best_values


def _single_changes(space: Space, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Points with one discrete parameter at another value, or another one that is 0: also of which of the points it is,
    and the parameter, -1 of the latter.  (m, d), (m,), (m,)"""
    changed, origin, parameters = [], [], []
    for i, point in enumerate(points):
        for j, (parameter, columns) in enumerate(zip(space.parameters.values(), space.columns, strict=True)):
            for other in parameter.neighbors(point[columns].numpy()):
                move = point.clone()
                move[columns] = torch.tensor(other, dtype=point.dtype)
                changed.append(move)
                origin.append(i)
                parameters.append(j)
    moves = torch.stack(changed) if changed else points[:0]
    whose, which = torch.tensor(origin, dtype=torch.long), torch.tensor(parameters, dtype=torch.long)
    if space.constraints:
        if changed:
            moves, kept = feasible.exchange(space, moves, which)
            whose, which = whose[kept], which[kept]
        swapped = [feasible.swaps(space, point) for point in points]
        moves = torch.cat([moves, *swapped])
        whose = torch.cat([whose, *(torch.full((len(each),), i) for i, each in enumerate(swapped))])
        which = torch.cat([which, torch.full((len(moves) - len(which),), -1)])
    return moves, whose, which


def _joint_changes(
    space: Space, points: Tensor, moves: Tensor, origin: Tensor, parameters: Tensor, gains: Tensor
) -> tuple[Tensor, Tensor]:
    """Each point after its best two, three and more changes of different parameters at once, each of which betters it.

    What two parameters gain together is most often what either gains alone.  -> (m, d), (m,) of which of the points
    """
    found, whose = [], []
    for i, point in enumerate(points):
        better = ((origin == i) & (gains > 0) & (parameters >= 0)).nonzero()[:, 0]
        changed, together = set[int](), point
        for m in better[gains[better].argsort(descending=True)].tolist():
            if int(parameters[m]) in changed:
                continue
            changed.add(int(parameters[m]))
            together = torch.where(moves[m] != point, moves[m], together)
            if len(changed) > 1:
                found.append(together)
                whose.append(i)
    joint = torch.stack(found) if found else points[:0]
    kept = torch.from_numpy(space.holds(joint.numpy()))
    return joint[kept], torch.tensor(whose, dtype=torch.long)[kept]


@torch.no_grad()
def evaluate(score: Score, points: Tensor) -> Tensor:
    """Scores without gradients.  (m,)"""
    return score(points).nan_to_num(nan=-torch.inf)
