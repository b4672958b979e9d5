"""A gap is filled from the rows most like it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from sklearn.impute import KNNImputer

from bomi.errors import MethodError, check_choice
from bomi.impute.completed import Completed
from bomi.impute.simple import fill_once
from bomi.impute.table import Table
from bomi.space import Array


@dataclass(frozen=True)
class Neighbors:
    """The mean (for a category, the vote) of the k nearest rows that know the value, by Euclidean distance.

    Distances run over the columns that both rows know, scaled up for those they do not; with `near="table"`,
    also over the outcomes, on their scale from 0 to 1, as in the program published with the paper.
    """

    neighbors: int = 5
    near: str = "inputs"

    def __post_init__(self) -> None:
        if not isinstance(self.neighbors, int) or self.neighbors < 1:
            raise MethodError(f"`neighbors` must be a whole number from 1, but got {self.neighbors!r}")
        check_choice("near", self.near, ("inputs", "table"))

    yields: ClassVar[type[Completed]] = Completed

    def __call__(self, table: Table, rng: torch.Generator) -> Completed:
        """One world."""
        imputer = KNNImputer(n_neighbors=self.neighbors, keep_empty_features=True)
        beside = table.outcomes.mT.numpy() if self.near == "table" else np.empty((len(table), 0))

        def fill(inputs: Array) -> Array:  # (n, d) -> (n, d)
            return np.asarray(imputer.fit_transform(np.hstack([inputs, beside])))[:, : inputs.shape[1]]

        return fill_once(table, fill)
