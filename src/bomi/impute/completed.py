"""What every way of dealing with gaps makes of a table: Q completed worlds.

Q worlds, n rows, d columns of the unit cube, m outcomes, k hyper-parameters of a kernel
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from bomi.impute.transform import Transform


@dataclass(frozen=True)
class Completed:
    """Q completed worlds of a table, and the scale that its outcomes are on."""

    inputs: Tensor  # (Q, n, d)
    targets: Tensor  # (n,) or (m, n), NaN where a row lacks an outcome
    rows: Tensor | None = None  # (n,) which rows of the table these are; None for all
    errors: Tensor | None = None  # like the targets: known variances
    transforms: tuple[Transform, ...] = (Transform(),)  # of each outcome
    aims: tuple[float | None, ...] = (None,)  # of each outcome, on the same scale
    conditions: Tensor | None = None  # (n, e) those that the rows were made under, if any are told

    def of(self, outcome: int) -> Self:
        """The worlds of one outcome: of the rows that have it."""
        targets = torch.atleast_2d(self.targets)
        known = ~targets[outcome].isnan()
        return replace(
            self,
            inputs=self.inputs[:, known],
            targets=targets[outcome, known],
            rows=None if self.rows is None else self.rows[known],
            errors=None if self.errors is None else torch.atleast_2d(self.errors)[outcome, known],
            transforms=self.transforms[outcome : outcome + 1],
            aims=self.aims[outcome : outcome + 1],
            conditions=None if self.conditions is None else self.conditions[known],
        )

    @property
    def table_rows(self) -> Tensor:
        """Which rows of the table these are.  (n,)"""
        return torch.arange(self.inputs.shape[1]) if self.rows is None else self.rows

    @property
    def located(self) -> Tensor:
        """The inputs with their conditions beside them.  (Q, n, d + e)"""
        if self.conditions is None:
            return self.inputs
        return torch.cat([self.inputs, self.conditions.expand(len(self.inputs), -1, -1)], -1)

    def select(self, worlds: Tensor) -> Self:
        """Some of the worlds, each as often as it is named.  worlds: (W,)"""
        return replace(self, inputs=self.inputs[worlds])

    def to(self, device: str) -> Self:
        """The same where its processes are to be computed."""
        moved: dict[str, Any] = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **moved)


@dataclass(frozen=True)
class UncertainInputs(Completed):
    """Worlds whose inputs are distributions: `inputs` are their means."""

    variances: Tensor = field(kw_only=True)  # (Q, n, d)
    planning: Tensor = field(kw_only=True)  # (d,) variance of a point that is asked for next

    def of(self, outcome: int) -> Self:
        """The worlds of one outcome: of the rows that have it."""
        known = ~torch.atleast_2d(self.targets)[outcome].isnan()
        return replace(super().of(outcome), variances=self.variances[:, known])

    def select(self, worlds: Tensor) -> Self:
        """Some of the worlds, each as often as it is named.  worlds: (W,)"""
        return replace(super().select(worlds), variances=self.variances[worlds])


@dataclass(frozen=True)
class Explained(Completed):
    """Worlds that bring the process that explains their outcomes."""

    hyper: Tensor = field(kw_only=True)  # (m Q, k + 1) log hyper-parameters, the log noise last, by outcome
    drawn: Tensor | None = field(default=None, kw_only=True)  # (m Q, n) targets of each world, where some are censored
    complete: Tensor | None = field(default=None, kw_only=True)  # (n,) bool, the rows without gaps; None for all

    def of(self, outcome: int) -> Self:
        """The worlds of one outcome: of the rows that have it."""
        targets, drawn, complete = torch.atleast_2d(self.targets), self.drawn, self.complete
        known = ~targets[outcome].isnan()
        if drawn is not None:
            drawn = drawn.chunk(len(targets))[outcome][:, known]
        if complete is not None:
            complete = complete[known]
        worlds = super().of(outcome)
        return replace(worlds, hyper=self.hyper.chunk(len(targets))[outcome], drawn=drawn, complete=complete)

    def select(self, worlds: Tensor) -> Self:
        """Some of the worlds, each as often as it is named.  worlds: (W,)"""
        outcomes = len(torch.atleast_2d(self.targets))

        def some(values: Tensor) -> Tensor:
            chosen: Tensor = values.unflatten(0, (outcomes, -1))[:, worlds].flatten(0, 1)
            return chosen

        drawn = None if self.drawn is None else some(self.drawn)
        return replace(super().select(worlds), hyper=some(self.hyper), drawn=drawn)
