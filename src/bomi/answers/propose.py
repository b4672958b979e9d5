"""Where to experiment next."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from bomi.answers.predict import expectations
from bomi.data.observations import Observations, Row
from bomi.errors import SpaceError, SuggestionError
from bomi.knowledge import Knowledge
from bomi.learning import Fit, draw_seed
from bomi.methods import Method
from bomi.model.execution import Execution
from bomi.results import Suggestion
from bomi.search import candidates
from bomi.search.choices import Choices
from bomi.search.criteria import Acquisition
from bomi.search.local import Score
from bomi.search.outlook import Outlook
from bomi.search.strategy import Task
from bomi.space import cells
from bomi.space.cells import Known

LIKELIEST_OF = 8  # space-filling points, where experiments have failed
SPARE = 64  # points drawn where one is wanted, as small spaces give the same one again

logger = logging.getLogger(__name__)


def suggested(
    known: Knowledge, count: int, choices: Choices, conditions: Mapping[str, object]
) -> tuple[Observations, list[Suggestion]]:
    """The next experiments, and what is known with them pending."""
    points, note = next_points(known, count, choices)
    settings: list[dict[str, Known]] = []
    for point in points:
        settings.append(_unasked(known, choices.setting(point), settings, choices))
    predicted, as_done = expectations(known, settings)
    observations, suggestions = known.observations, []
    for point, setting, expected, done in zip(points, settings, predicted, as_done, strict=True):
        suggestion = Suggestion(observations.fresh_id(), setting, expected, note, choices.candidate(point), done)
        recorded = {name: setting.get(name) for name in known.space.names}
        row = Row(recorded, asked=dict(setting), id=suggestion.id, extra=dict(conditions))
        observations = observations.add([row])
        suggestions.append(suggestion)
    return observations, suggestions


def suggested_alike(
    known: Knowledge,
    count: int,
    choices: Choices,
    conditions: Mapping[str, object],
    same: Sequence[str],
    narrowed: Callable[[Mapping[str, object]], Choices],
) -> tuple[Observations, list[Suggestion]]:
    """The same for experiments that share the values of some parameters: those of the best, and others to go with it.

    narrowed: what there is to choose from once values are given
    """
    observations, (first,) = suggested(known, 1, choices, conditions)
    shared = {name: first[name] for name in same if name in first}
    try:
        left = narrowed({**choices.given, **shared})
        observations, others = suggested(known.after(observations), count - 1, left, conditions)
    except (SpaceError, SuggestionError) as error:
        said = ", ".join(f"{name} = {cells.text(value)}" for name, value in shared.items())
        raise SuggestionError(f"with {said} for all {count}: {error}") from None
    return observations, [first, *others]


def _unasked(
    known: Knowledge, setting: dict[str, Known], before: Sequence[dict[str, Known]], choices: Choices
) -> dict[str, Known]:
    """The setting, or where rounding has made it one that is pending or in the same batch, another one."""
    asked = [*(dict(row.asked) for row in known.observations.pending), *before]
    if setting not in asked or choices.listed is not None:
        return setting
    others = [choices.setting(point) for point in choices.spread(SPARE, seed=known.seed_of_all_rows)]
    return next((other for other in others if other not in asked), setting)


def next_points(known: Knowledge, count: int, choices: Choices, *, exactly: bool = False) -> tuple[list[Tensor], str]:
    """Where to experiment next, and a note if the method could not say.

    exactly: as if everything were done as asked
    """
    rows, acquisition, pending = len(known.observations.rows), known.method.acquisition, known.pending_places
    if choices.listed is not None and (free := len(choices.listed) - len(choices.taken(pending))) < count:
        raise SuggestionError(
            f"only {free} of {len(choices.listed)} candidates are left to ask for, not {count}: the others are "
            "pending; ask for fewer, tell their outcomes, or withdraw those that will not be run"
        )
    if acquisition is None:
        return uniform(choices, pending, count=count, first=rows, seed=known.seed), ""
    fit = known.fit
    if not fit.enough:
        points = space_filling(fit, pending, count=count, first=rows, seed=known.seed, choices=choices)
        note = too_few(fit, known.method)
        logger.info(note)
        return points, note
    t = 1 + sum(bool(row.asked) for row in known.observations.rows)
    points = promising(
        fit,
        acquisition,
        pending,
        count=count,
        t=t,
        first_seed=rows,
        seed=known.seed,
        choices=choices,
        execution=None if exactly else fit.planned,
    )
    return points, ""


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
    execution: Execution | None = None,
) -> list[Tensor]:
    """The points with the best score, the t-th and following suggestions.  pending: (m, d) -> count times (r,)

    Each is chosen given that those before it have been tried, and have given what each world expects of them.
    """
    choices, search = choices or Choices(fit.table.space), fit.method.search
    outlook = fit.choosing(choices, pending, execution=execution)
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
    return f"space-filling: method {method.name!r} needs {method.rows} rows that it can use and has {fit.usable}"


def _taken(pending: Tensor, places: list[Tensor]) -> Tensor:
    """What has been asked for already.  (m, r)"""
    return torch.cat([pending, *(place[None] for place in places)])
