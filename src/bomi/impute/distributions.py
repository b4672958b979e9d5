"""Every input as a distribution, for the surrogate over distributions (BO-uGP)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from bomi.errors import MethodError, check_choice
from bomi.impute.completed import Completed, UncertainInputs
from bomi.impute.stated import quantiles
from bomi.impute.table import Table

_LEVELS = (np.arange(64) + 0.5) / 64  # of a stated distribution, for its moments in the unit cube


@dataclass(frozen=True)
class Distributions:
    """The mean and variance of what is known of each input, in one world.

    A recorded value has variance 0, a stated uncertainty its own. A gap of a row that was asked for is the asked value
    with variance execution_sd^2; a gap of which nothing is known is uniform over the range.
    A point planned next will be missed like those before it: its variance is execution_sd^2 times the share of asked
    values that went missing.
    With `blanks="drop"`, rows with a gap of which nothing is known are left out, as in the program published with the
    paper.
    """

    execution_sd: float = 0.05
    blanks: str = "uniform"

    def __post_init__(self) -> None:
        check_choice("blanks", self.blanks, ("uniform", "drop"))
        if not 0 <= self.execution_sd < math.inf:
            raise MethodError(f"`execution_sd`, a share of the range, must be 0 or more, but got {self.execution_sd!r}")

    yields: ClassVar[type[Completed]] = UncertainInputs

    def __call__(self, table: Table, rng: torch.Generator) -> Completed:
        """One world of means, with variances."""
        if self.blanks == "drop":
            known = ~(table.with_centers().inputs.isnan() & table.asked.isnan()).any(-1)
            if not bool(known.all()):
                kept = self(table.select(known), rng)
                return replace(kept, rows=known.nonzero()[:, 0])
        widths = torch.tensor([parameter.width for parameter in table.space.parameters.values()])
        width = widths.repeat_interleave(widths).double()
        share = torch.where(width > 1, 1 / width, 0.5)  # a category's column is 1 with probability 1 / width
        uniform_variance = torch.where(width > 1, share * (1 - share), 1 / 12)

        gap, asked = table.inputs.isnan(), ~table.asked.isnan()
        mean = torch.where(gap, torch.where(asked, table.asked, share), table.inputs)
        variance = torch.where(gap, torch.where(asked, self.execution_sd**2, uniform_variance), 0.0)
        parameters = list(table.space.parameters.values())
        for stated in table.stated:
            parameter = parameters[stated.parameter]
            values = quantiles(stated.cell, parameter, _LEVELS)
            places = np.array([parameter.to_unit(float(value))[0] for value in values])
            column = table.space.columns[stated.parameter]
            mean[stated.row, column], variance[stated.row, column] = float(places.mean()), float(places.var())
        mean = table.project(mean[None])[0]
        missed = (gap & asked).sum(0) / asked.sum(0).clamp_min(1)
        planning = missed * self.execution_sd**2
        return UncertainInputs(
            mean[None], table.targets, variances=variance[None], planning=planning, errors=table.errors
        )
