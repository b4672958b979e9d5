"""What to expect of settings, in the outcomes' own units: if they are done exactly, or as the equipment does them.

m places, d columns of the unit cube
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch

from bomi.data.objectives import Objective
from bomi.learning import Fit
from bomi.model.execution import Execution
from bomi.results import AsDone
from bomi.space import Array

T = TypeVar("T")


def predictions(
    fit: Fit, objectives: Sequence[Objective], places: Array, execution: Execution | None = None
) -> dict[str, list[AsDone]]:
    """What all worlds together expect at places, or of asking for them, by outcome.  (m, d), NaN for what is unknown"""
    if not len(places):
        return {one.name: [] for one in objectives}
    points = torch.from_numpy(places)
    with torch.no_grad():
        outlook = fit.outlook_at(points, execution)
        expected = outlook.expected(outlook.places(points))
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
