"""When the outcome transform is chosen anew, by what the complete rows say, or one of the worlds; and when the worlds
begin from nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.impute.transform import Transform
from bomi.posterior.warping import choose_transform, same_transform

CHOOSE_EVERY = 5  # rows, between choices of the transform where there are no gaps
GROWN = 1.2  # times the rows: so far apart are restarts where there are gaps, which cost more in a long table


def choose_transforms(table: Table, worlds: Tensor | None = None) -> tuple[Transform, ...]:
    """How each outcome is transformed, by what the complete rows say, or one of the worlds.  worlds: (Q, n, d)

    Outcomes that are wrong have no say.
    """
    inputs = table.inputs
    if worlds is not None:
        inputs = torch.where(inputs.isnan(), worlds[len(table) % len(worlds)], inputs)
    found = []
    for outcomes, aim, ends, wrong in zip(table.outcomes, table.aims, table.ranges, table.wrong, strict=True):
        known = ~outcomes.isnan() & ~wrong
        told = outcomes[known], aim, inputs[known], table.space
        conditions = None if table.conditions is None else table.conditions[known]
        found.append(choose_transform(*told, conditions=conditions, keep_upper_tail=table.out_of_patience, ends=ends))
    return tuple(found)


def same_transforms(table: Table, like: Sequence[Transform]) -> tuple[Transform, ...]:
    """Transforms that warp a table's outcomes as others do those of the table before."""
    known = ~table.outcomes.isnan() & ~table.wrong
    each = zip(table.outcomes, table.aims, like, table.ranges, known, strict=True)
    return tuple(same_transform(outcomes[some], aim, one, ends) for outcomes, aim, one, ends, some in each)


def alike(some: Sequence[Transform], others: Sequence[Transform]) -> bool:
    """Whether outcomes are warped alike."""
    return [one.shape for one in some] == [one.shape for one in others]


def choice_is_due(rows: int, before: int) -> bool:
    """Whether the transform is to be chosen anew, now that there are so many rows."""
    return rows // CHOOSE_EVERY > before // CHOOSE_EVERY


def restart_is_due(rows: int, before: int) -> bool:
    """Whether the worlds are to begin from nothing, now that there are so many rows."""
    return math.floor(math.log(rows, GROWN)) > math.floor(math.log(before, GROWN))
