"""A gap is filled from the rows most like it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from sklearn.impute import KNNImputer

from bomi.errors import MethodError
from bomi.impute.completed import Completed
from bomi.impute.simple import fill_once
from bomi.impute.table import Table


@dataclass(frozen=True)
class Neighbors:
    """The mean (for a category, the vote) of the k nearest rows that know the value, by Euclidean distance.

    Distances run over the columns that both rows know, scaled up for those they do not.
    """

    neighbors: int = 5

    def __post_init__(self) -> None:
        if not isinstance(self.neighbors, int) or self.neighbors < 1:
            raise MethodError(f"`neighbors` must be a whole number from 1, but got {self.neighbors!r}")

    yields: ClassVar[type[Completed]] = Completed

    def __call__(self, table: Table, rng: torch.Generator) -> Completed:
        """One world."""
        imputer = KNNImputer(n_neighbors=self.neighbors, keep_empty_features=True)
        return fill_once(table, lambda inputs: np.asarray(imputer.fit_transform(inputs)))
