"""The point of the space with the best score.

Sobol points and the surroundings of good rows are scored, and local optimization starts from the best of them. A small
discrete space is enumerated. With constraints all these points keep them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from bomi.errors import SuggestionError
from bomi.search import feasible
from bomi.search.local import EXACTLY, ROUGHLY, Score, evaluate, optimize
from bomi.search.trust_region import Region
from bomi.space import Space

RAW = 512
RESTARTS = 8
SHORTLIST = 256  # raw points that all worlds look at, where each has looked at some
SHORTLIST_OF_BATCH = 96  # for the points of a batch
SHARED_BY = 16  # points of a batch that share a shortlist
ENUMERABLE = 4096
AROUND = 16  # points at growing distances around a start
ELSEWHERE = 8  # other places tried for each parameter of a start
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
    values = evaluate(score, shortlist)
    optimized, tops = optimize(score, space, shortlist[_pick(values, seed, restarts)], within, tolerance)
    return _best_free(score, space, torch.cat([optimized, shortlist]), torch.cat([tops, values]), seed, taken)


def better(score: Score, space: Space, point: Tensor) -> Tensor:
    """What local optimization reaches from a point that is the best by a score much like this one.  (d,) -> (d,)"""
    found, values = optimize(score, space, point[None], None, EXACTLY)
    return found[0] if bool(values[0] > evaluate(score, point[None])[0]) else point


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
    """The points of a long list with the best per-world scores.  (N, r) -> (s, r)"""
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
    values = evaluate(score, found) if values is None else values
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


def _every_point(space: Space) -> Tensor:
    """All points of a discrete space.  (m, d)"""
    each = [parameter.every() for parameter in space.parameters.values()]
    points = torch.tensor(
        [[u for part in point for u in part] for point in itertools.product(*each)], dtype=torch.float64
    )
    return points[torch.from_numpy(space.holds(points.numpy()))]


def _evaluate_parts(score: Score, points: Tensor) -> Tensor:
    """The same of any number of points, some at a time.  (m,)"""
    return torch.cat([evaluate(score, part) for part in points.split(ENUMERABLE)])
