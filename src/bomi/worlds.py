"""The table as the methods see it, before and after its gaps are filled.

    n rows, p parameters, d columns of the unit cube, m outcomes, Q worlds

`Table` is the gappy table in the unit cube. A way of dealing with gaps turns it into `Completed`: Q worlds,
each a table without gaps. Everything after that is one path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bomi.cells import Cell, Interval, Known, Normal, Uncertain
from bomi.observations import Row
from bomi.space import Categorical, Ordinal, Parameter, Space

ROUNDING = 1e-3  # of the range: how far beyond it what follows from a fixed sum may lie, recorded in round numbers


@dataclass(frozen=True)
class Stated:
    """A cell whose uncertainty was stated, such as 300±15."""

    row: int
    parameter: int
    cell: Uncertain


@dataclass(frozen=True)
class Table:
    """Rows with an outcome or a failure, in the unit cube; NaN where a value is not known exactly."""

    space: Space
    inputs: Tensor  # (n, d) recorded, NaN in a gap
    asked: Tensor  # (n, d) what was asked, NaN where nothing is known of it
    targets: Tensor  # (n,) or (m, n) outcomes, larger is better, scaled; NaN where a row lacks one
    stated: tuple[Stated, ...] = ()
    errors: Tensor | None = None  # like the targets: the variance of each that is known beforehand, 0 without one
    device: str = "cpu"  # where its processes are computed, if there are many rows

    @classmethod
    def of(cls, space: Space, rows: Sequence[Row], targets: Tensor, *, device: str = "cpu") -> Table:
        """The rows' inputs beside their targets."""
        inputs = np.full((len(rows), space.dim), np.nan)
        asked = np.full((len(rows), space.dim), np.nan)
        stated = []
        parts = list(zip(space.parameters.items(), space.columns, strict=True))
        for i, row in enumerate(rows):
            recorded = deduce(space, row.recorded) if space.constraints else row.recorded
            for j, ((name, parameter), columns) in enumerate(parts):
                cell = recorded[name]
                if isinstance(cell, Normal | Interval):
                    stated.append(Stated(i, j, _within(cell, parameter)))
                elif cell is not None:
                    inputs[i, columns] = parameter.to_unit(cell)
                if name in row.asked:
                    asked[i, columns] = parameter.to_unit(row.asked[name])
        return cls(space, torch.from_numpy(inputs), torch.from_numpy(asked), targets, tuple(stated), device=device)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def outcomes(self) -> Tensor:
        """The targets as a matrix, one line for each outcome.  (m, n)"""
        targets: Tensor = torch.atleast_2d(self.targets)
        return targets

    @cached_property
    def gaps(self) -> Tensor:
        """Which values are not known exactly, by parameter.  (n, p) bool"""
        firsts = [columns.start for columns in self.space.columns]
        return self.inputs[:, firsts].isnan()

    def select(self, rows: Tensor) -> Table:
        """Some of the rows.  rows: (n,) bool"""
        place = torch.cumsum(rows, 0) - 1
        return replace(
            self,
            inputs=self.inputs[rows],
            asked=self.asked[rows],
            targets=self.targets[..., rows],
            stated=tuple(replace(s, row=int(place[s.row])) for s in self.stated if rows[s.row]),
            errors=None if self.errors is None else self.errors[..., rows],
        )

    def with_centers(self) -> Table:
        """With every stated uncertainty replaced by its center, for methods that fill a gap with one value."""
        if not self.stated:
            return self
        inputs = self.inputs.clone()
        parameters = list(self.space.parameters.values())
        for stated in self.stated:
            center = parameters[stated.parameter].to_unit(stated.cell.center)
            inputs[stated.row, self.space.columns[stated.parameter]] = torch.tensor(center, dtype=inputs.dtype)
        return replace(self, inputs=inputs, stated=())

    def fill(self, draws: Tensor) -> Tensor:
        """Worlds with the gaps taken from the draws, at admissible values; what was recorded stays as it is.

        draws: (Q, n, d) -> (Q, n, d)
        """
        admissible = torch.from_numpy(self.space.snap(draws.cpu().numpy())).to(draws)
        return self.put_right(torch.where(self.inputs.isnan(), admissible, self.inputs))

    def put_right(self, worlds: Tensor) -> Tensor:
        """Worlds whose gaps are moved to where they keep the constraints, as far as what was recorded allows.

        worlds: (Q, n, d) -> (Q, n, d)
        """
        if not self.space.constraints or not self.gaps.any():
            return worlds
        rows = self.gaps.any(-1)
        free = self.gaps[rows].repeat(len(worlds), 1).numpy()
        right = self.space.put_right(worlds[:, rows].flatten(0, 1).numpy(), free)
        moved = worlds.clone()
        moved[:, rows] = torch.from_numpy(right).reshape(moved[:, rows].shape)
        return moved


def deduce(space: Space, recorded: Mapping[str, Cell]) -> Mapping[str, Cell]:
    """A row's values with those that follow from a fixed sum of which nothing else is missing."""
    found = dict(recorded)
    sums = [one for one in space.constraints if one.equals is not None]
    for _ in sums:  # one may give what another needs
        for one in sums:
            missing = [name for name in one.terms if not isinstance(found[name], Known)]
            if len(missing) != 1 or found[missing[0]] is not None:
                continue
            (name,) = missing
            parameter = space.parameters[name]
            assert not isinstance(parameter, Categorical)
            others = {other: float(found[other]) if other != name else 0.0 for other in one.terms}  # type: ignore[arg-type]
            number = (one.upper - one.total(others)) / one.terms[name]
            axis = parameter.axis(name)
            inside = min(max(number, axis.low), axis.high)
            value = parameter.from_unit(parameter.snap(parameter.places(np.array(inside))))
            if abs(float(value) - number) <= ROUNDING * (axis.high - axis.low):
                found[name] = value if parameter.levels is not None else inside
    return found


def _within(cell: Uncertain, parameter: Parameter) -> Uncertain:
    """Of an interval the part inside the bounds, if there is one."""
    if not isinstance(cell, Interval) or isinstance(parameter, Categorical | Ordinal):
        return cell
    low, high = max(cell.low, parameter.low), min(cell.high, parameter.high)
    return Interval(low, high) if low < high else cell


@dataclass(frozen=True)
class Completed:
    """Q completed worlds of a table."""

    inputs: Tensor  # (Q, n, d)
    targets: Tensor  # (n,) or (m, n), NaN where a row lacks an outcome
    rows: Tensor | None = None  # (n,) which rows of the table these are; None for all
    variances: Tensor | None = None  # (Q, n, d) of each input, for the surrogate over distributions
    planning: Tensor | None = None  # (d,) variance of a point asked for next, likewise
    hyper: Tensor | None = None  # (m Q, k + 1) log hyper-parameters and noise to start learning from, by outcome
    errors: Tensor | None = None  # like the targets: known variances

    def of(self, outcome: int) -> Completed:
        """The worlds of one outcome: of the rows that have it."""
        targets = torch.atleast_2d(self.targets)
        known = ~targets[outcome].isnan()
        return Completed(
            self.inputs[:, known],
            targets[outcome, known],
            None if self.rows is None else self.rows[known],
            None if self.variances is None else self.variances[:, known],
            self.planning,
            None if self.hyper is None else self.hyper.chunk(len(targets))[outcome],
            None if self.errors is None else torch.atleast_2d(self.errors)[outcome, known],
        )

    def to(self, device: str) -> Completed:
        """The same where its processes are to be computed."""
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)}
        return replace(self, **moved)


@dataclass(frozen=True)
class Scaling:
    """targets = (w(z) - shift) / scale with z = (outcome - center) / unit and w(z) = asinh(bend z) / bend.

    A bend of 0 is w(z) = z; a larger one draws in the tails. Outcomes are negated beforehand if less is better.
    """

    shift: float = 0.0
    scale: float = 1.0
    center: float = 0.0
    unit: float = 1.0
    bend: float = 0.0
    from_best: bool = False  # whether the center is the best outcome

    def to_targets(self, outcomes: Tensor) -> Tensor:
        """Outcomes, larger is better, as targets."""
        z = (outcomes - self.center) / self.unit
        return ((torch.asinh(self.bend * z) / self.bend if self.bend else z) - self.shift) / self.scale

    def to_outcomes(self, targets: Tensor) -> Tensor:
        """Targets as outcomes, larger is better."""
        w = targets * self.scale + self.shift
        if self.bend:
            most = 700 - max(np.log(self.unit), 0.0)  # what the largest number can hold
            w = torch.sinh((self.bend * w).clamp(-most, most)) / self.bend
        return w * self.unit + self.center

    def slope(self, outcomes: Tensor) -> Tensor:
        """How fast targets grow with outcomes there: what turns a small error of one into that of the other."""
        z = (outcomes - self.center) / self.unit
        return 1 / (torch.hypot(self.bend * z, torch.ones_like(z)) * self.unit * self.scale)

    def to_outcome(self, mean: Tensor, sd: Tensor) -> tuple[Tensor, Tensor]:
        """A prediction of the target as one of the outcome: its middle, and half the width of one sd to either side."""
        return self.to_outcomes(mean), (self.to_outcomes(mean + sd) - self.to_outcomes(mean - sd)) / 2


def min_max(outcomes: Tensor, *_: object) -> Scaling:
    """To [0, 1] by the current minimum and maximum; constant outcomes to 0."""
    if len(outcomes) == 0:
        return Scaling()
    low, high = float(outcomes.min()), float(outcomes.max())
    return Scaling(center=low, unit=span(high - low, low))


def span(span: float, level: float) -> float:
    """The span, or the size of the level where the outcomes are the same up to rounding."""
    return span if span > 1e-12 * abs(level) and np.isfinite(span) else (abs(level) or 1.0)
