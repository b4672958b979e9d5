"""The point of the space with the best score.

Sobol points and the surroundings of good rows are scored; the best of them start L-BFGS along the continuous columns,
side by side, and coordinate moves along the discrete ones. A small discrete space is enumerated. With
constraints every point on the way keeps them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from numpy.typing import NDArray
from torch import Tensor
from torch.quasirandom import SobolEngine

from bomi.errors import SuggestionError
from bomi.search import feasible
from bomi.search.trust_region import Region
from bomi.space import Space

Score: TypeAlias = Callable[[Tensor], Tensor]  # (m, d) -> (m,)

RAW = 512
RESTARTS = 8
EXACTLY, ROUGHLY = 1e-8, 1e-5  # by which share a score has to rise for a search to go on
SHORTLIST = 256  # raw points that all worlds look at, where each has looked at some
SHORTLIST_OF_BATCH = 96  # for the points of a batch
SHARED_BY = 16  # points of a batch that share a shortlist
ENUMERABLE = 4096
AROUND = 16  # points at growing distances around a start
ELSEWHERE = 8  # other places tried for each parameter of a start
ROUNDS = 12  # at most, of alternating between continuous and discrete moves
SAME = 2e-6  # points closer than this are one setting, rounded as a person would set it


def space_filling(space: Space, count: int, *, seed: int, skip: int = 0) -> Tensor:
    """Scrambled Sobol points, the same sequence for the same seed.  (count, d)"""
    if space.constraints:
        return feasible.spread(space, count, seed=seed, skip=skip)
    engine = SobolEngine(len(space), scramble=True, seed=seed).fast_forward(skip)
    return torch.from_numpy(space.expand(engine.draw(count, dtype=torch.float64).numpy()))


def first_free(space: Space | None, points: Tensor, taken: Tensor) -> Tensor:
    """The first of the points that is not taken, or else of all points of the space.  (m, d), (l, d) -> (d,)"""
    for tried in (points, *([_every_point(space)] if space and _is_enumerable(space) else [])):
        free = ~_are_taken(tried, taken)
        if free.any():
            return tried[int(free.int().argmax())]
    raise _nothing_free(len(taken))


def _are_taken(points: Tensor, taken: Tensor) -> Tensor:
    """Which points are taken already.  (m, d), (l, d) -> (m,) bool"""
    return (torch.cdist(points, taken, compute_mode="donot_use_mm_for_euclid_dist") <= SAME).any(-1)


def _is_enumerable(space: Space) -> bool:
    """Whether the space is a set of few points."""
    levels = [parameter.levels for parameter in space.parameters.values()]
    return all(level is not None for level in levels) and math.prod(level or 1 for level in levels) <= ENUMERABLE


def _nothing_free(taken: int) -> SuggestionError:
    return SuggestionError(
        f"no setting of the space is left: {taken} are pending or asked for already; ask for fewer, "
        "tell the outcomes of those that were run, withdraw those that will not be, or widen the space"
    )


def maximize(
    score: Score,
    space: Space,
    *,
    seed: int,
    starts: Tensor | None = None,
    taken: Tensor | None = None,
    within: Region | None = None,
    per_world: Sequence[Score] = (),
    shortlist: Tensor | None = None,
) -> Tensor:
    """The best point that multi-start optimization finds, anywhere or within a region.  (d,)

    starts: (s, d) good rows to search around, taken: (m, d) to stay away from. per_world: cheaper scores, each world's
    own, that share the first look at the raw points; shortlist: (r, d) the best of these, where they were chosen
    beforehand. The result is admissible: integers, steps and categories are moved along their own values.
    """
    if _is_enumerable(space):
        return _best_free(score, space, _every_point(space), None, seed, taken)
    # A shared shortlist was chosen with care: half the starts, and not to the last digit.
    restarts, tolerance = (RESTARTS, EXACTLY) if shortlist is None else (RESTARTS // 2, ROUGHLY)
    if within is not None or shortlist is None:
        most = SHORTLIST if shortlist is None else len(shortlist)
        shortlist = _raw_points(space, seed, starts) if within is None else _near_points(space, seed, within)
        shortlist = _shortlisted(shortlist, per_world, most) if len(per_world) > 1 else shortlist
    values = _evaluate(score, shortlist)
    optimized, tops = _optimize(score, space, shortlist[_pick(values, seed, restarts)], within, tolerance)
    return _best_free(score, space, torch.cat([optimized, shortlist]), torch.cat([tops, values]), seed, taken)


def best_listed(
    score: Score, listed: Tensor, taken: Tensor | None = None, *, per_world: Sequence[Score] = ()
) -> Tensor:
    """The best of listed points that is not taken.  listed: (N, r), taken: (m, r) -> (r,)"""
    found = shortlist_of_list(listed, per_world)
    if taken is not None and len(taken):
        found = found[~_are_taken(found, taken)]
        if not len(found):
            return first_free(None, listed, taken)
    return found[int(_evaluate_parts(score, found).argmax())]


def shortlist_of_list(listed: Tensor, per_world: Sequence[Score]) -> Tensor:
    """Of a long list those of the best per-world scores.  (N, r) -> (s, r)"""
    return _shortlisted(listed, per_world, SHORTLIST) if len(listed) > SHORTLIST and per_world else listed


def best_of(
    score: Score,
    space: Space,
    *,
    points: int,
    seed: int,
    taken: Tensor | None = None,
    per_world: Sequence[Score] = (),
) -> Tensor:
    """The best of so many space-filling points, or of all points of a small discrete space.  (d,)"""
    if _is_enumerable(space):
        found = _every_point(space)
    else:
        found = _even_points(space, points, seed)
        found = _shortlisted(found, per_world, SHORTLIST) if len(per_world) > 1 else found
    return _best_free(score, space, found, None, seed, taken)


def best_of_uniform(score: Score, space: Space, *, points: int, seed: int, taken: Tensor | None = None) -> Tensor:
    """The best of so many points drawn uniformly at random, by the score itself.  (d,)"""
    found = torch.from_numpy(space.draw(points, np.random.default_rng(seed)))
    return _best_free(score, space, found, _evaluate_parts(score, found), seed, taken)


def _best_free(
    score: Score, space: Space, found: Tensor, values: Tensor | None, seed: int, taken: Tensor | None
) -> Tensor:
    """The best point that is not taken, or any other of the space if all of them are.  found: (m, d), values: (m,)"""
    values = _evaluate(score, found) if values is None else values
    if taken is not None and len(taken):
        free = ~_are_taken(found, taken)
        if not free.any():  # any other then
            return first_free(space, _even_points(space, RAW, seed), taken)
        found, values = found[free], values[free]
    return found[int(values.argmax())]


def shortlist_of(
    per_world: Sequence[Score], space: Space, *, seed: int, starts: Tensor, most: int = SHORTLIST_OF_BATCH
) -> Tensor | None:
    """The raw points of the best per-world scores, for searches that share them; None in a space that is enumerated.

    Where a score only ever falls from one search to the next, as it does while a batch is made, the best point stays
    among those that were the best at first.  -> (r, d)
    """
    return None if _is_enumerable(space) else _shortlisted(_raw_points(space, seed, starts), per_world, most)


def _even_points(space: Space, count: int, seed: int) -> Tensor:
    """Many points, evenly over the space: Sobol points, or random ones that keep the constraints.  (count, d)"""
    if not space.constraints:
        return space_filling(space, count, seed=seed)
    return torch.from_numpy(space.draw(count, np.random.default_rng(seed)))


def _raw_points(space: Space, seed: int, starts: Tensor | None) -> Tensor:
    """Sobol points; the starts with their surroundings; the starts with one parameter elsewhere.  (m, d)

    The last find what no step from a good row and no random point does: one parameter's better region, with the others
    kept as they are.
    """
    points = [_even_points(space, RAW, seed)]
    if starts is not None and len(starts):
        starts = torch.unique(starts, dim=0)
        generator = torch.Generator().manual_seed(seed)
        around = starts.repeat(AROUND, 1)
        reach = torch.logspace(-3, -0.5, AROUND, dtype=torch.float64).repeat_interleave(len(starts))[:, None]
        around = around + reach * torch.randn(around.shape, generator=generator, dtype=torch.float64)
        near = torch.from_numpy(space.snap(torch.cat([starts, around]).numpy()))
        points += [feasible.around(space, near) if space.constraints else near]
        points += [_coordinate_moves(space, starts, generator)]
    return torch.cat(points)


def _near_points(space: Space, seed: int, within: Region) -> Tensor:
    """Sobol points within a region.  (m, d)"""
    engine = SobolEngine(space.dim, scramble=True, seed=seed)
    points = within.center + within.radius * (2 * engine.draw(RAW, dtype=torch.float64) - 1)
    near = torch.from_numpy(space.snap(points.numpy()))
    if space.constraints:
        near = feasible.around(space, near)
        near = near if len(near) >= RESTARTS else _even_points(space, RAW, seed)
    return near


def _coordinate_moves(space: Space, points: Tensor, generator: torch.Generator) -> Tensor:
    """Each point with one parameter at another place, for every parameter and evenly over its range.  (m, d)"""
    moved = []
    for j, columns in enumerate(space.columns):
        shift = torch.rand(len(points), 1, generator=generator, dtype=torch.float64)
        places = (torch.arange(ELSEWHERE, dtype=torch.float64) + shift) / ELSEWHERE  # (s, ELSEWHERE)
        every = torch.zeros(*places.shape, len(space), dtype=torch.float64)
        every[..., j] = places
        block = points.unsqueeze(1).repeat(1, ELSEWHERE, 1)
        block[..., columns] = torch.from_numpy(space.expand(every.numpy()))[..., columns]
        moved.append(feasible.around(space, block.flatten(0, 1), j) if space.constraints else block.flatten(0, 1))
    return torch.cat(moved)


def _shortlisted(points: Tensor, per_world: Sequence[Score], most: int) -> Tensor:
    """The points are dealt out to the worlds; each keeps the best of its own.  (m, d) -> (at most so many, d)"""
    chosen = []
    for turn, score in enumerate(per_world):
        own = points[turn :: len(per_world)]
        chosen.append(own[_evaluate_parts(score, own).topk(min(most // len(per_world), len(own))).indices])
    return torch.cat(chosen)


def _pick(values: Tensor, seed: int, restarts: int) -> Tensor:
    """Which points to start from: the best one, and others drawn with weights that rise with their score."""
    values = values.nan_to_num(nan=-1e300, neginf=-1e300)
    order = values.argsort(descending=True)
    spread = values.std().clamp_min(1e-300)
    weights = torch.exp(2 * (values - values.max()) / spread).clamp_min(1e-30)
    weights[order[0]] = 0
    count = min(restarts, len(values)) - 1
    others = torch.multinomial(weights, count, generator=torch.Generator().manual_seed(seed))
    return torch.cat([order[:1], others])


def _optimize(
    score: Score, space: Space, points: Tensor, within: Region | None, tolerance: float
) -> tuple[Tensor, Tensor]:
    """Local optimization from each point, continuous and discrete moves in turn.  (r, d) -> (r, d), (r,)"""
    continuous = torch.tensor(
        [parameter.levels is None for parameter in space.parameters.values() for _ in range(parameter.width)]
    )
    if continuous.any():
        points = _lbfgs(score, space, points, continuous, within, tolerance)
    values = _evaluate(score, points)
    counts = space.polytope is not None and bool(space.polytope.counts)
    going = torch.arange(len(points))  # those that a single change has bettered
    for _ in range(0 if continuous.all() and not counts else ROUNDS):
        moved, better = _best_change(score, space, points[going], values[going])
        bettered = better > values[going]
        if not bettered.any():
            break
        going, moved = going[bettered], moved[bettered]
        moved = _lbfgs(score, space, moved, continuous, within, tolerance) if continuous.any() else moved
        points, values = points.index_copy(0, going, moved), values.index_copy(0, going, _evaluate(score, moved))
    return points, values


def _lbfgs(score: Score, space: Space, points: Tensor, free: Tensor, within: Region | None, tolerance: float) -> Tensor:
    """L-BFGS within the cube, or the region, along the free columns, all points side by side."""
    low, high = torch.zeros(len(free), dtype=torch.float64), torch.ones(len(free), dtype=torch.float64)
    if within is not None:
        low, high = (within.center - within.radius).clamp(0, 1), (within.center + within.radius).clamp(0, 1)
    if bool(free[[space.columns[j].start for j in space.constrained]].any()):
        return feasible.slsqp(score, space, points, free, low, high, tolerance=tolerance)

    def loss(flat: NDArray[np.float64], batch_indices: list[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        moving = torch.from_numpy(flat).requires_grad_()
        x = points[batch_indices].masked_scatter(free.expand(len(flat), -1), moving)
        with torch.enable_grad():
            value = -score(x)
            (gradient,) = torch.autograd.grad(value.sum(), moving)
        return value.detach().numpy(), gradient.numpy()

    bounds = list(zip(low[free].tolist(), high[free].tolist(), strict=True))
    found, _, _ = fmin_l_bfgs_b_batched(
        loss,
        points.clamp(low, high)[:, free].numpy(),
        bounds=bounds,
        maxiter=50,
        factr=None,
        ftol=tolerance,
        pass_batch_indices=True,
    )
    moved = points.clone()
    moved[:, free] = torch.from_numpy(np.asarray(found)).clamp(0, 1)
    return moved


def _best_change(score: Score, space: Space, points: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Each point after the best change of a discrete parameter, or of what is 0, or of several parameters at once, if
    there is a better one."""
    moves, origin, parameters = _single_changes(space, points)
    scores = _evaluate(score, moves)
    joint, whose = _joint_changes(space, points, moves, origin, parameters, scores - values[origin])
    found, gains = torch.cat([moves, joint]), torch.cat([scores, _evaluate(score, joint)])
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
    """Of each point the best two, three and more changes of different parameters that each better it, made at once.

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


def _every_point(space: Space) -> Tensor:
    """All points of a discrete space.  (m, d)"""
    each = [parameter.every() for parameter in space.parameters.values()]
    points = torch.tensor(
        [[u for part in point for u in part] for point in itertools.product(*each)], dtype=torch.float64
    )
    return points[torch.from_numpy(space.holds(points.numpy()))]


@torch.no_grad()
def _evaluate(score: Score, points: Tensor) -> Tensor:
    """Scores without gradients.  (m,)"""
    return score(points).nan_to_num(nan=-torch.inf)


def _evaluate_parts(score: Score, points: Tensor) -> Tensor:
    """The same of any number of points, some at a time.  (m,)"""
    return torch.cat([_evaluate(score, part) for part in points.split(ENUMERABLE)])
