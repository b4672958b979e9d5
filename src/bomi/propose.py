"""Where to experiment next."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bomi.learning import Fit, draw_seed
from bomi.methods import Method
from bomi.search import candidates
from bomi.search.candidates import Score
from bomi.search.choices import Choices
from bomi.search.criteria import Acquisition
from bomi.search.outlook import Outlook
from bomi.search.strategy import Task

LIKELIEST_OF = 8  # space-filling points, where experiments have failed
SPARE = 64  # points drawn where one is wanted, as small spaces give the same one again


def promising(
    fit: Fit,
    acquisition: Acquisition,
    pending: Tensor,
    *,
    count: int,
    t: int,
    first_seed: int,
    seed: int,
    choices: Choices | None = None,
) -> list[Tensor]:
    """The points with the best score, the t-th and following suggestions.  pending: (m, d) -> count times (r,)

    Each is chosen given that those before it have been tried, and have given what each world expects of them.
    """
    choices, search = choices or Choices(fit.table.space), fit.method.search
    outlook = fit.choosing(choices, pending, execution=fit.planned)
    starts, taken = choices.points(fit.good_rows), choices.taken(pending)
    shortlist: Tensor | None = None
    listed = choices.listed
    places: list[Tensor] = []

    def score(outlook: Outlook, k: int) -> Score:
        return acquisition.score(outlook, t=t + k, parameters=len(fit.table.space))

    for k in range(count):
        per_world = [score(each, k) for each in outlook.worlds()]
        own_seed = draw_seed(seed, first_seed + k)
        if k % candidates.SHARED_BY == 0 and choices.listed is not None:
            listed = candidates.shortlist_of_list(choices.listed, per_world)
        elif k % candidates.SHARED_BY == 0 and (count > 1 or outlook.execution is not None):  # a score of many places
            shortlist = search.shortlist(per_world, choices.left, seed=own_seed, starts=starts)
        task = Task(
            score(outlook, k),
            choices.left,
            own_seed,
            starts=starts,
            taken=_taken(taken, places),
            per_world=per_world,
            within=choices.region(search.region(*fit.leveled, t + k)),
            shortlist=shortlist,
        )
        place = search.maximize(task) if listed is None else candidates.best_listed(task.score, listed, task.taken)
        places.append(place)
        if k + 1 < count:
            outlook = outlook.condition_on(place[None])
    return places


def space_filling(
    fit: Fit, pending: Tensor, *, count: int, first: int, seed: int, choices: Choices | None = None
) -> list[Tensor]:
    """Points for a method that has learned nothing yet, those after the first so many.  -> count times (r,)"""
    choices = choices or Choices(fit.table.space)
    taken = choices.taken(pending)
    places: list[Tensor] = []
    for k in range(first, first + count):
        spread = choices.spread(SPARE, seed=draw_seed(seed, 0), skip=k)
        if fit.success is not None:  # away from what failed
            chance = fit.success.log_chance(choices.places(spread[:LIKELIEST_OF]))
            likely = chance.mean(0).argsort(descending=True)
            spread = torch.cat([spread[likely], spread[LIKELIEST_OF:]])
        places.append(candidates.first_free(choices.left, spread, _taken(taken, places)))
    return places


def uniform(choices: Choices, pending: Tensor, *, count: int, first: int, seed: int) -> list[Tensor]:
    """Random points, for a method that never learns.  -> count times (r,)"""
    taken = choices.taken(pending)
    places: list[Tensor] = []
    for k in range(first, first + count):
        points = choices.draw(SPARE, np.random.default_rng(draw_seed(seed, k)))
        places.append(candidates.first_free(choices.left, points, _taken(taken, places)))
    return places


def too_few(fit: Fit, method: Method) -> str:
    """What is missing before a method learns."""
    return f"space-filling: method {method.name!r} can use {fit.usable} rows and needs {method.rows}"


def _taken(pending: Tensor, places: list[Tensor]) -> Tensor:
    """What has been asked for already.  (m, r)"""
    return torch.cat([pending, *(place[None] for place in places)])
