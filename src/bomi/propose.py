"""Where to experiment next."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bomi.learning import Fit, draw_seed
from bomi.methods import Method
from bomi.search import candidates
from bomi.search.candidates import Score
from bomi.search.criteria import Acquisition
from bomi.search.outlook import Outlook
from bomi.search.strategy import Task
from bomi.space import Space

LIKELIEST_OF = 8  # space-filling points, where experiments have failed
SPARE = 64  # points drawn where one is wanted, as small spaces give the same one again


def promising(
    fit: Fit, acquisition: Acquisition, pending: Tensor, *, count: int, t: int, first_seed: int, seed: int
) -> list[Tensor]:
    """The points with the best score, the t-th and following suggestions.  pending: (m, d) -> count times (d,)

    Each is chosen given that those before it have been tried, and have given what each world expects of them.
    """
    space, search = fit.table.space, fit.method.search
    outlook = fit.outlook.condition_on(pending) if len(pending) else fit.outlook
    shortlist: Tensor | None = None
    places: list[Tensor] = []

    def score(outlook: Outlook, k: int) -> Score:
        return acquisition.score(outlook, t=t + k, parameters=len(space))

    for k in range(count):
        per_world = [score(each, k) for each in outlook.worlds()]
        own_seed = draw_seed(seed, first_seed + k)
        if k % candidates.SHARED_BY == 0 and (count > 1 or outlook.execution is not None):  # a score of many branches
            shortlist = search.shortlist(per_world, space, seed=own_seed, starts=fit.good_rows)
        task = Task(
            score(outlook, k),
            space,
            own_seed,
            starts=fit.good_rows,
            taken=_taken(pending, places),
            per_world=per_world,
            within=search.region(fit.table, fit.completed, t + k),
            shortlist=shortlist,
        )
        place = search.maximize(task)
        places.append(place)
        if k + 1 < count:
            outlook = outlook.condition_on(place[None])
    return places


def space_filling(fit: Fit, pending: Tensor, *, count: int, first: int, seed: int) -> list[Tensor]:
    """Points for a method that has learned nothing yet, those after the first so many.  -> count times (d,)"""
    places: list[Tensor] = []
    for k in range(first, first + count):
        spread = candidates.space_filling(fit.table.space, SPARE, seed=draw_seed(seed, 0), skip=k)
        if fit.success is not None:  # away from what failed
            likely = fit.success.log_chance(spread[:LIKELIEST_OF]).mean(0).argsort(descending=True)
            spread = torch.cat([spread[likely], spread[LIKELIEST_OF:]])
        places.append(candidates.first_free(fit.table.space, spread, _taken(pending, places)))
    return places


def uniform(space: Space, pending: Tensor, *, count: int, first: int, seed: int) -> list[Tensor]:
    """Random points, for a method that never learns.  -> count times (d,)"""
    places: list[Tensor] = []
    for k in range(first, first + count):
        points = torch.from_numpy(space.draw(SPARE, np.random.default_rng(draw_seed(seed, k))))
        places.append(candidates.first_free(space, points, _taken(pending, places)))
    return places


def too_few(fit: Fit, method: Method) -> str:
    """What is missing before a method learns."""
    return f"space-filling: method {method.name!r} can use {fit.usable} rows and needs {method.rows}"


def _taken(pending: Tensor, places: list[Tensor]) -> Tensor:
    """What has been asked for already.  (m, d)"""
    return torch.cat([pending, *(place[None] for place in places)])
