"""The table as the methods see it, in the unit cube, with its gaps.

n rows, p parameters, d columns of the unit cube, m outcomes, Q worlds
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bomi.data.observations import Row, members_of
from bomi.impute.transform import ANYWHERE, Ends, Transform
from bomi.space import Categorical, Ordinal, Parameter, Space
from bomi.space.cells import Cell, Interval, Known, Normal, Uncertain

LARGE = 256  # rows, up to which a table is treated exactly and on the processor
WIDE = 12  # parameters times outcomes, up to which it is so many rows
MINIMUM_IMPROVEMENT = 0.02  # median absolute deviations of the outcome
ROUNDING = 1e-3  # of the range: how far beyond it what follows from a fixed sum may lie, recorded in round numbers


@dataclass(frozen=True)
class Stated:
    """A cell whose uncertainty was stated, such as 300±15."""

    row: int
    parameter: int
    cell: Uncertain


@dataclass(frozen=True)
class Table:
    """Rows with an outcome or a failure, in the unit cube; NaN where a value is not known exactly.

    Its targets are the outcomes as told, negated where less is better; `transformed` puts them on a model's scale. The
    target of a censored outcome is its limit, until a world draws another.
    """

    space: Space
    inputs: Tensor  # (n, d) recorded, NaN in a gap
    asked: Tensor  # (n, d) what was asked, NaN where nothing is known of it
    targets: Tensor  # (n,) or (m, n) outcomes, larger is better; NaN where a row lacks one
    stated: tuple[Stated, ...] = ()
    errors: Tensor | None = None  # like the targets: the variance of each that is known beforehand, 0 without one
    device: str = "cpu"  # where its processes are computed, if there are many rows
    aims: tuple[float | None, ...] = (None,)  # of each outcome: the target that is wanted, if one is, or its limit
    limited: tuple[int, ...] = ()  # the outcomes that only have to stay at or below their aim, by place
    keys: tuple[int, ...] = ()  # of the rows in the observations
    limits: Tensor | None = None  # (2, m, n) ends between which a censored target lies, infinite for others
    groups: Tensor | None = None  # (n, p) of a gap that shares its value with others: their number; -1 for others
    bounds: tuple[Ends, ...] = ()  # of each outcome, as told: between which it lies by its nature; none: anywhere
    drawn: Tensor | None = None  # (m Q, n) the targets of each world, where it has drawn those that are censored
    conditions: Tensor | None = None  # (n, e) codes of the groups of each row, and its time; None where none are told

    @classmethod
    def of(cls, space: Space, rows: Sequence[Row], targets: Tensor) -> Table:
        """The rows' inputs beside their targets, of which nothing else is known; keys in the order of the rows."""
        inputs = np.full((len(rows), space.dim), np.nan)
        asked = np.full((len(rows), space.dim), np.nan)
        stated = []
        groups, rows = share(space, rows) if any(one.same_within for one in space.parameters.values()) else (None, rows)
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
        known, wished = torch.from_numpy(inputs), torch.from_numpy(asked)
        return cls(space, known, wished, targets, tuple(stated), keys=tuple(range(len(rows))), groups=groups)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def outcomes(self) -> Tensor:
        """The targets as a matrix, one line for each outcome.  (m, n)"""
        targets: Tensor = torch.atleast_2d(self.targets)
        return targets

    @property
    def ranges(self) -> tuple[Ends, ...]:
        """Between which values each outcome lies by its nature, larger is better."""
        return self.bounds or (ANYWHERE,) * len(self.outcomes)

    @cached_property
    def gaps(self) -> Tensor:
        """Which values are not known exactly, by parameter.  (n, p) bool"""
        firsts = [columns.start for columns in self.space.columns]
        return self.inputs[:, firsts].isnan()

    @property
    def swept(self) -> int:
        """How many rows can be swept one by one: LARGE, or what takes as long where there are many columns."""
        columns = len(self.space) * len(self.outcomes)
        return LARGE if columns <= WIDE else int(LARGE * math.sqrt(WIDE / columns))

    @property
    def large(self) -> bool:
        """Whether there are more rows than that."""
        return len(self) > self.swept

    @cached_property
    def leaders(self) -> Tensor | None:
        """For each gap that shares its value, the row whose gap comes first; for others, their own row. None if no gap
        shares its value.  (n, p)"""
        if self.groups is None or not bool((self.groups >= 0).any()):
            return None
        own = torch.arange(len(self))[:, None].expand(self.groups.shape)
        count = int(self.groups.max()) + 1
        first = torch.full((count,), len(self)).scatter_reduce(
            0, self.groups[self.groups >= 0], own[self.groups >= 0], "amin"
        )
        return torch.where(self.groups >= 0, first[self.groups.clamp_min(0)], own)

    def located(self, inputs: Tensor, rows: Tensor | None = None) -> Tensor:
        """Inputs of the rows, or of some, with their conditions beside them.  (..., n, d) -> (..., n, d + e)"""
        if self.conditions is None:
            return inputs
        own = self.conditions if rows is None else self.conditions[rows]
        return torch.cat([inputs, own.to(inputs).expand(*inputs.shape[:-1], -1)], -1)

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
            limits=None if self.limits is None else self.limits[..., rows],
            groups=None if self.groups is None else self.groups[rows],
            drawn=None if self.drawn is None else self.drawn[:, rows],
            conditions=None if self.conditions is None else self.conditions[rows],
            keys=tuple(key for key, kept in zip(self.keys, rows.tolist(), strict=True) if kept) if self.keys else (),
        )

    def transformed(self, transforms: Sequence[Transform]) -> Table:
        """With every outcome, recorded or drawn, its known variance and its aim on the scale of its transform."""
        each = list(zip(transforms, self.outcomes, strict=True))
        targets = torch.stack([transform.to_targets(outcomes) for transform, outcomes in each])
        errors = None
        if self.errors is not None:
            known = torch.atleast_2d(self.errors).sqrt()
            slopes = torch.stack([transform.slope(outcomes) for transform, outcomes in each])
            errors = (known * slopes).square().nan_to_num()
        aims = [
            None if aim is None else float(transform.to_targets(torch.tensor(aim, dtype=torch.float64)))
            for transform, aim in zip(transforms, self.aims, strict=True)
        ]
        limits = self.limits
        if limits is not None:
            each_limits = zip(transforms, limits.unbind(1), strict=True)
            limits = torch.stack([transform.to_targets(ends) for transform, ends in each_limits], 1)
        drawn = self.drawn
        if drawn is not None:
            parts = zip(transforms, drawn.chunk(len(targets)), self.outcomes, targets, strict=True)
            drawn = torch.cat([torch.where(y == told, target, one.to_targets(y)) for one, y, told, target in parts])
        return replace(self, targets=targets, errors=errors, aims=tuple(aims), limits=limits, drawn=drawn)

    @property
    def censored(self) -> Tensor:
        """Which outcomes are known by their limits alone.  (m, n) bool"""
        if self.limits is None:
            return torch.zeros_like(self.outcomes, dtype=torch.bool)
        ends: Tensor = self.limits.isfinite().any(0)
        return ends

    @property
    def wrong(self) -> Tensor:
        """Which recorded outcomes most worlds take for wrong: they have drawn another.  (m, n) bool"""
        if self.drawn is None:
            return torch.zeros_like(self.outcomes, dtype=torch.bool)
        other = (self.drawn.unflatten(0, (len(self.outcomes), -1)) != self.outcomes[:, None]).double().mean(1)
        wrong: Tensor = (other > 0.5) & ~self.outcomes.isnan() & ~self.censored
        return wrong

    @property
    def as_recorded(self) -> Tensor:
        """Which rows have outcomes that are neither censored nor wrong; all, where fewer than two of an outcome are
        left.  (n,) bool"""
        kept = ~(self.censored | self.wrong).any(0)
        return kept if int((~self.outcomes[:, kept].isnan()).sum(-1).min()) > 1 else torch.ones_like(kept)

    def targets_of(self, worlds: int) -> Tensor:
        """The targets of so many worlds, of the first outcome in all of them, then of the second.  (m Q, n)"""
        return self.outcomes.repeat_interleave(worlds, 0) if self.drawn is None else self.drawn

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
        return self.project(torch.where(self.inputs.isnan(), admissible, self.inputs))

    @cached_property
    def evaluations_since_improvement(self) -> int:
        """How many experiments have been made since the first that is the best, or short of it by less than the minimum
        improvement; 0 where the last 2p were not all asked for, or there are several outcomes."""
        patience = self.patience
        asked = ~self.asked.isnan().all(-1)
        if len(self.outcomes) > 1 or len(self) <= patience or not bool(asked[-patience:].all()):
            return 0
        (aim,), (outcomes,) = self.aims, self.outcomes
        merits = (outcomes if aim is None else -(outcomes - aim).abs()).nan_to_num(nan=-torch.inf)
        deviation = (outcomes - outcomes.nanmedian()).abs().nanmedian()
        return since_improvement(merits, MINIMUM_IMPROVEMENT * float(deviation))

    @property
    def patience(self) -> int:
        """How many evaluations without an improvement are too many: two for each parameter."""
        return 2 * len(self.space)

    @property
    def out_of_patience(self) -> bool:
        """Whether patience has run out."""
        return self.evaluations_since_improvement >= self.patience

    def project(self, worlds: Tensor) -> Tensor:
        """Worlds whose gaps are moved to where they keep the constraints, as far as what was recorded allows.

        worlds: (Q, n, d) -> (Q, n, d)
        """
        if not self.space.constraints or not self.gaps.any():
            return worlds
        rows = self.gaps.any(-1)
        free = self.gaps[rows].repeat(len(worlds), 1).numpy()
        kept = self.space.project(worlds[:, rows].flatten(0, 1).numpy(), free)
        moved = worlds.clone()
        moved[:, rows] = torch.from_numpy(kept).reshape(moved[:, rows].shape)
        return moved


def since_improvement(merits: Tensor, least: float) -> int:
    """How many came after the first that is the best, or short of it by no more than the least improvement.  (n,)"""
    return len(merits) - 1 - int((merits >= merits.max() - least).int().argmax())


def share(space: Space, rows: Sequence[Row]) -> tuple[Tensor, list[Row]]:
    """The groups of gaps that share a value, by row and parameter, and the rows with values that their group tells.

    A blank is in no group. Where a group has recorded different values, its gaps still share one.  -> (n, p)
    """
    numbers = torch.full((len(rows), len(space)), -1, dtype=torch.long)
    recorded = [dict(row.recorded) for row in rows]
    count = 0
    for j, (name, parameter) in enumerate(space.parameters.items()):
        for members in members_of(parameter.same_within, rows).values():
            blank = [i for i in members if rows[i].recorded[name] is None and name not in rows[i].asked]
            told = {cell for i in members if isinstance(cell := rows[i].recorded[name], Known)}
            for i in blank if len(told) == 1 else ():
                (recorded[i][name],) = told
            if blank and len(told) != 1:
                numbers[blank, j] = count
                count += 1
    return numbers, [replace(row, recorded=cells) for row, cells in zip(rows, recorded, strict=True)]


def deduce(space: Space, recorded: Mapping[str, Cell]) -> Mapping[str, Cell]:
    """A row's values with those that follow from the constraints: the last of a fixed sum or product, and 0 where no
    more may be other than 0."""
    found = dict(recorded)
    for _ in space.constraints:  # one may give what another needs
        for one in space.constraints:
            known = {name: float(cell) for name in one.names if isinstance(cell := found[name], Known)}
            for name, number in one.solve(known).items():
                parameter = space.parameters[name]
                if found[name] is not None:
                    continue
                assert not isinstance(parameter, Categorical)
                axis = parameter.axis(name)
                inside = min(max(number, axis.low), axis.high)
                value = parameter.from_unit(parameter.snap(parameter.places(np.array(inside))))
                if abs(float(value) - number) <= ROUNDING * (axis.high - axis.low):
                    found[name] = value if parameter.levels is not None else inside
    return found


def _within(cell: Uncertain, parameter: Parameter) -> Uncertain:
    """The part of an interval inside the bounds, if there is one; other cells as they are."""
    if not isinstance(cell, Interval) or isinstance(parameter, Categorical | Ordinal):
        return cell
    low, high = max(cell.low, parameter.low), min(cell.high, parameter.high)
    return Interval(low, high) if low < high else cell
