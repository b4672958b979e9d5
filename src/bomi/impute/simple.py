"""The plain ways: leave rows out, take the asked value, fill with the column's mean or mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.stats import gaussian_kde
from sklearn.impute import SimpleImputer

from bomi.errors import check_choice
from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.space import Array

NOTHING_KNOWN = 0.5  # a column without a single value: the middle of its range


@dataclass(frozen=True)
class Drop:
    """Rows with a gap are left out."""

    yields: ClassVar[type[Completed]] = Completed

    def __call__(self, table: Table, rng: torch.Generator) -> Completed:
        """One world of the complete rows."""
        table = table.with_centers()
        return _without_gaps(table, table.inputs)


@dataclass(frozen=True)
class Suggest:
    """A gap is filled with the asked value; rows with a gap where nothing was asked are left out."""

    yields: ClassVar[type[Completed]] = Completed

    def __call__(self, table: Table, rng: torch.Generator) -> Completed:
        """One world of the rows that are complete or were asked for."""
        table = table.with_centers()
        filled = torch.where(table.inputs.isnan(), table.asked, table.inputs)
        whole = ~filled.isnan().any(-1)
        filled[whole] = table.select(whole).project(filled[whole][None])[0]
        return _without_gaps(table, filled)


@dataclass(frozen=True)
class Mean:
    """A gap is filled with the mean of the column, a category with the most frequent one.

    With a `marker` every gap counts as that number in the mean: -1 in the program published with the paper, where a gap
    is marked so in the unit cube.
    """

    marker: float | None = None

    yields: ClassVar[type[Completed]] = Completed

    def __call__(self, table: Table, rng: torch.Generator) -> Completed:
        """One world."""
        imputer = SimpleImputer(strategy="mean", keep_empty_features=True)

        def fill(inputs: Array) -> Array:  # (n, d) -> (n, d)
            if self.marker is None:
                return np.asarray(imputer.fit_transform(inputs))
            means = np.nan_to_num(inputs, nan=self.marker).mean(0)
            return np.where(np.isnan(inputs), means.clip(0, 1), inputs)

        return fill_once(table, fill)


@dataclass(frozen=True)
class Mode:
    """A gap is filled with the mode of the column: the peak of a kernel density estimate, or the commonest level.

    With `of="values"` every column is taken for discrete, as in the program published with the paper: of numbers that
    all occur once, the mode is the smallest.
    """

    of: str = "density"

    def __post_init__(self) -> None:
        check_choice("of", self.of, ("density", "values"))

    yields: ClassVar[type[Completed]] = Completed

    def __call__(self, table: Table, rng: torch.Generator) -> Completed:
        """One world."""
        parameters = table.space.parameters.values()

        def modes(inputs: Array) -> Array:
            filled = inputs.copy()
            for parameter, columns in zip(parameters, table.space.columns, strict=True):
                known = inputs[~np.isnan(inputs[:, columns.start]), columns]
                filled[np.isnan(inputs[:, columns.start]), columns] = mode(
                    known, discrete=parameter.levels is not None or self.of == "values"
                )
            return filled

        return fill_once(table, modes)


def fill_once(table: Table, impute: Callable[[Array], Array]) -> Completed:
    """One world by an imputer of arrays with NaN; a column without a value gets the middle of its range."""
    table = table.with_centers()
    inputs = table.inputs.numpy().copy()
    inputs[:, np.isnan(inputs).all(0)] = NOTHING_KNOWN
    filled = impute(inputs) if len(inputs) else inputs
    return Completed(table.fill(torch.from_numpy(filled)[None]), table.targets, errors=table.errors)


def _without_gaps(table: Table, inputs: torch.Tensor) -> Completed:
    keep = ~inputs.isnan().any(-1)
    kept = table.select(keep)
    return Completed(inputs[keep][None], kept.targets, rows=keep.nonzero()[:, 0], errors=kept.errors)


def mode(known: Array, *, discrete: bool) -> Array:
    """The commonest row of a discrete parameter's columns, or the peak of the density of a continuous one."""
    values, counts = np.unique(known, axis=0, return_counts=True)
    if discrete or len(values) < 3 or np.ptp(values) < 1e-9:  # no density to speak of
        return np.asarray(values[counts.argmax()])
    density = gaussian_kde(known[:, 0])
    grid = np.linspace(known.min(), known.max(), 512)
    return np.asarray(grid[[density(grid).argmax()]])
