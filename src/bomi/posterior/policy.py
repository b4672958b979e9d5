"""When the method has second thoughts: another outcome transform, or a restart of its chains.

A transform and the worlds drawn on it bear each other out. On a warped scale a process of short lengths explains any
gaps, and given those gaps the warped scale explains more. So a transform is chosen anew every few rows; and where
patience has run out on a warped scale, either scale is judged by worlds of its own, drawn with the same care.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.impute.transform import Transform
from bomi.posterior.warping import choose_transform, same_transform

CHOOSE_EVERY = 5  # rows, between choices of the transform
RESTART_ROWS = 150  # up to which a table is worth a restart: of more it would take many seconds and find little
RESTART_GAIN = 5.0  # log evidence by which worlds on the identity scale have to be better


def choose_transforms(table: Table, worlds: Tensor | None = None) -> tuple[Transform, ...]:
    """How each outcome is transformed, by what the complete rows say, or one of the worlds.  worlds: (Q, n, d)"""
    inputs = table.inputs
    if worlds is not None:
        inputs = torch.where(inputs.isnan(), worlds[len(table) % len(worlds)], inputs)
    found = []
    for outcomes, aim in zip(table.outcomes, table.aims, strict=True):
        known = ~outcomes.isnan()
        found.append(choose_transform(outcomes[known], aim, inputs[known], table.space, keep_upper_tail=table.stalled))
    return tuple(found)


def same_transforms(table: Table, like: Sequence[Transform]) -> tuple[Transform, ...]:
    """Transforms that warp a table's outcomes as others do those of the table before."""
    each = zip(table.outcomes, table.aims, like, strict=True)
    return tuple(same_transform(outcomes[~outcomes.isnan()], aim, one) for outcomes, aim, one in each)


def identity_transforms(table: Table) -> tuple[Transform, ...]:
    """Transforms that warp nothing."""
    return same_transforms(table, [Transform()] * len(table.outcomes))


def alike(some: Sequence[Transform], others: Sequence[Transform]) -> bool:
    """Whether outcomes are warped alike."""
    return [one.shape for one in some] == [one.shape for one in others]


def choice_is_due(rows: int, before: int) -> bool:
    """Whether the transform is to be chosen anew, now that there are so many rows."""
    return rows // CHOOSE_EVERY > before // CHOOSE_EVERY


def is_stuck(table: Table) -> bool:
    """Whether patience has run out on a table that a restart may help."""
    return table.stalled and bool(table.gaps.any()) and len(table) <= RESTART_ROWS


def restart_is_due(table: Table) -> bool:
    """Whether patience has just run out, in a running process, for the 1st, 2nd, 4th, 8th, ... time."""
    times, rest = divmod(table.evaluations_since_improvement, table.patience)
    return rest == 0 and times.bit_count() == 1
