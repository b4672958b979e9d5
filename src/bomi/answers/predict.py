"""What to expect of settings, in the outcomes' own units: if they are done exactly, or as the equipment does them.

m places, d columns of the unit cube
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch

from bomi.data.objectives import Objective
from bomi.knowledge import Knowledge
from bomi.learning import Fit
from bomi.model.execution import Execution
from bomi.results import AsDone, Predicted, PredictedAsDone, Prediction
from bomi.space import Array
from bomi.space.cells import Known

T = TypeVar("T")


def predicted(known: Knowledge, places: Array) -> list[Predicted]:
    """What is expected at places of the unit cube.  (m, d), NaN for what is not known"""
    each = predictions(known.modelled(), known.objectives, places)
    return by_setting({name: [Prediction(one.mean, one.sd) for one in found] for name, found in each.items()})


def predicted_asked(known: Knowledge, places: Array) -> list[PredictedAsDone]:
    """What is expected of asking for places of the unit cube.  (m, d)"""
    fit = known.modelled()
    return by_setting(predictions(fit, known.objectives, places, fit.execution))


def expectations(
    known: Knowledge, settings: Sequence[Mapping[str, Known]]
) -> tuple[Sequence[Predicted | None], Sequence[PredictedAsDone | None]]:
    """What is expected if settings are done exactly, and as equipment does them; None without a model or errors."""
    none, model = [None] * len(settings), known.has_model
    places = known.space.places(settings)
    strays = model and known.fit.execution is not None
    return predicted(known, places) if model else none, predicted_asked(known, places) if strays else none


def chances_to_succeed(fit: Fit, places: Array) -> list[float]:
    """The chance of each place not to fail and to keep all limits, over all worlds.  (m, d)"""
    points = torch.from_numpy(places)
    outlook = fit.outlook_at(points)
    with torch.no_grad():
        chances = outlook.chance(outlook.places(points))
    return [1.0] * len(places) if chances is None else chances.tolist()


def predictions(
    fit: Fit, objectives: Sequence[Objective], places: Array, execution: Execution | None = None
) -> dict[str, list[AsDone]]:
    """What all worlds together expect at places, or of asking for them, by outcome.  (m, d), NaN for what is unknown"""
    if not len(places):
        return {one.name: [] for one in objectives}
    points = torch.from_numpy(places)
    with torch.no_grad():
        outlook = fit.outlook_at(points, execution)
        expected = outlook.expected(outlook.places(points), fit.models)
    found = {}
    for objective, one, transform in zip(objectives, expected, fit.transforms, strict=True):
        mean, sd = transform.to_prediction(one.mean, one.variance.sqrt(), objective.signed_bounds)
        part = sd * (one.execution / one.variance).sqrt()
        columns = (column.tolist() for column in (objective.sign * mean, sd, part))
        found[objective.name] = [AsDone(*each) for each in zip(*columns, strict=True)]
    return found


def by_setting(each: Mapping[str, Sequence[T]]) -> list[Any]:
    """What is said of each outcome, by setting: of the only one itself, of several by name."""
    if len(each) == 1:
        (only,) = each.values()
        return list(only)
    return [dict(zip(each, together, strict=True)) for together in zip(*each.values(), strict=True)]
