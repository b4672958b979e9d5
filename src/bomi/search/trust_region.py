"""A trust region around the best row, while the search has found nothing better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.search import acquisition


class Region(NamedTuple):
    """The surroundings of a point: numbers within a radius of it."""

    center: Tensor  # (d,)
    radius: float


@dataclass(frozen=True)
class TrustRegion:
    """Once patience has run out, every second suggestion stays within a radius of the best row.

    On a smooth outcome that is where the acquisition looks anyway; on a rugged one it is where better peaks are.
    """

    radius: float = 0.05

    def region(self, table: Table, completed: Completed, t: int) -> Region | None:
        """The region of the t-th suggestion, if it has one.

        The best row is taken from one world after another, since it may have gaps.
        """
        if t % 2 or not table.out_of_patience:
            return None
        part = completed.of(0)
        merits = acquisition.merit(part.targets, part.aims[0])
        if not bool(merits.max() > merits.min()):
            return None
        center = part.inputs[t // 2 % len(part.inputs), int(merits.argmax())]
        return Region(center.clamp(0, 1), self.radius)
