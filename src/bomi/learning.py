"""What is learned from one state of the table: outcomes are scaled, gaps are filled, and each world gets its models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bomi import acquisition as scores
from bomi.methods import Method
from bomi.objectives import Objective
from bomi.observations import Row
from bomi.outlook import Outlook
from bomi.space import Space
from bomi.surrogates.gaussian_process import GaussianProcess
from bomi.surrogates.success import Success, learn_success
from bomi.worlds import Completed, Scaling, Table

RESCALE_EVERY = 5  # rows, between choices of the outcomes' scale
PLENTY = 10  # complete rows for each parameter: these tell of the scale without the others
FEW = 256  # rows up to which a GPU costs more than it brings


@dataclass
class Fit:
    """What was learned from one state of the table."""

    rows: tuple[Row, ...]
    scalings: tuple[Scaling, ...]  # of each outcome
    aims: tuple[float | None, ...]
    table: Table
    completed: Completed
    method: Method
    many: tuple[Tensor, Tensor | None] | None = None  # more worlds, once someone has asked for them

    @property
    def usable(self) -> int:
        """How many rows the method can use, of the outcome of which there are fewest."""
        return int((~torch.atleast_2d(self.completed.targets).isnan()).sum(-1).min())

    @property
    def enough(self) -> bool:
        """Whether there are as many as a model needs."""
        return self.usable >= self.method.rows

    @property
    def warm_enough(self) -> bool:
        """Whether there is something to go on from."""
        return self.method.goes_on and self.enough

    @cached_property
    def models(self) -> tuple[GaussianProcess, ...]:
        """One for each outcome."""
        each = range(len(self.scalings))
        there = self.completed.to(self.table.device)
        return tuple(self.method.surrogate(there.of(j), self.table.space) for j in each)

    @cached_property
    def measured(self) -> Tensor:
        """The rows with an outcome.  (Q, r, d)"""
        return self.completed.inputs[:, ~self._failed]

    @property
    def _failed(self) -> Tensor:
        """Which of the rows that the method can use have no outcome at all.  (n,) bool"""
        failed: Tensor = torch.atleast_2d(self.completed.targets).isnan().all(0)
        return failed

    @cached_property
    def outlook(self) -> Outlook:
        """What the worlds expect."""
        return Outlook.of(self.models, self.aims, self.measured, self.success)

    @cached_property
    def success(self) -> Success | None:
        """Where experiments succeed; None if none has failed that the method can use."""
        known = ~self.completed.inputs.isnan().any(-1).any(0)  # all, once there is an outcome to fill gaps by
        if not bool((known & self._failed).any()):
            return None
        groups = tuple(self.table.space.groups.tolist())
        return learn_success(self.completed.inputs[:, known], self._failed[known], groups)

    @cached_property
    def good_rows(self) -> Tensor:
        """Where each world's best rows are.  (s, d)"""
        return _good_rows(self.outlook, self.measured)

    @cached_property
    def merits(self) -> Tensor:
        """How good each row's first outcome is, larger is better.  (r,)"""
        return scores.merit(self.completed.of(0).targets, self.aims[0])

    def warm(self, rows: tuple[Row, ...]) -> Completed:
        """These worlds for another state of the table: NaN in the rows that are new."""
        completed, place = self.completed, {id(row): i for i, row in enumerate(self.rows)}
        inputs = torch.full(
            (len(completed.inputs), len(rows), completed.inputs.shape[-1]), torch.nan, dtype=torch.float64
        )
        for i, row in enumerate(rows):
            if id(row) in place:
                inputs[:, i] = completed.inputs[:, place[id(row)]]
        return replace(completed, inputs=inputs, hyper=torch.cat([model.hyper for model in self.models]))


@dataclass(frozen=True)
class Learner:
    """How a campaign learns from its rows."""

    space: Space
    objectives: tuple[Objective, ...]
    method: Method
    seed: int
    device: str = "cpu"

    def learn(self, rows: tuple[Row, ...], before: Fit | None = None) -> Fit:
        """What the rows say; it goes on from what was learned before, where the method does."""
        table = self._table(rows)
        if before is not None and before.warm_enough:
            due = len(rows) // RESCALE_EVERY > len(before.rows) // RESCALE_EVERY
            worlds = before.warm(rows)
            scalings = self._scalings(table, worlds, () if due else before.scalings)
            return self._filled(rows, table, scalings, worlds, before.scalings)
        scalings = self._scalings(table)
        fit = self._filled(rows, table, scalings)
        complete = int((~table.gaps.any(-1)).sum())
        if not self.method.goes_on or not fit.enough or complete >= min(len(rows), PLENTY * len(self.space)):
            return fit
        better = self._scalings(table, fit.completed)  # now that the rows with gaps have a say
        return fit if _alike(scalings, better) else self._filled(rows, table, better, fit.completed, scalings)

    def _table(self, rows: tuple[Row, ...]) -> Table:
        """The rows with their outcomes, larger is better, not yet scaled."""
        targets = [one.sign * _column([row.outcomes.get(one.name) for row in rows]) for one in self.objectives]
        return Table.of(self.space, rows, torch.stack(targets), device=self.device if len(rows) > FEW else "cpu")

    def _scalings(
        self, table: Table, worlds: Completed | None = None, keep: Sequence[Scaling] = ()
    ) -> tuple[Scaling, ...]:
        """How each outcome of a table is scaled, by what one of the worlds says; or as before."""
        inputs, found, stalled = table.inputs, [], self._stalled(table)
        if worlds is not None:
            inputs = torch.where(inputs.isnan(), worlds.inputs[len(table) % len(worlds.inputs)], inputs)
        for j, (objective, outcomes) in enumerate(zip(self.objectives, table.outcomes, strict=True)):
            known = ~outcomes.isnan()
            like = keep[j] if keep else None
            made = self.method.scaling(outcomes[known], objective.target, inputs[known], self.space, like, stalled)
            found.append(made)
        return tuple(found)

    def _stalled(self, table: Table) -> bool:
        """Whether the last 2p experiments were all asked for, and none was better than those before."""
        late = 2 * len(self.space)
        if len(self.objectives) > 1 or len(table) <= late or bool(table.asked[-late:].isnan().all(-1).any()):
            return False
        merits = table.outcomes[0].nan_to_num(nan=-torch.inf)
        return bool(merits[-late:].max() <= merits[:-late].max())

    def _filled(
        self,
        rows: tuple[Row, ...],
        table: Table,
        scalings: tuple[Scaling, ...],
        warm: Completed | None = None,
        before: tuple[Scaling, ...] = (),
    ) -> Fit:
        """The table's gaps filled, going on from worlds that were made with other scalings before."""
        aims, targets, errors = [], [], []
        for objective, scaling, outcomes in zip(self.objectives, scalings, table.outcomes, strict=True):
            error = _column([row.errors.get(objective.name) for row in rows]).nan_to_num()
            aims.append(None if objective.target is None else float(scaling.to_targets(_column([objective.target]))))
            targets.append(scaling.to_targets(outcomes))
            errors.append((error * scaling.slope(outcomes)).square().nan_to_num())
        known_errors = torch.stack(errors) if any(bool(error.any()) for error in errors) else None
        table = replace(table, targets=torch.stack(targets), errors=known_errors)
        if bool(table.outcomes.isnan().all(-1).any()):  # an outcome of which nothing is known: nothing to learn yet
            completed = Completed(table.inputs[None], table.targets, errors=table.errors)
        else:
            if warm is not None and not _alike(scalings, before):
                warm = replace(warm, hyper=None)  # those of a scale bent otherwise are of no use
            generator = torch.Generator().manual_seed(draw_seed(self.seed, len(rows)))
            completed = self.method.filler(table, generator, warm)
        return Fit(rows, scalings, tuple(aims), table, completed, self.method)


def draw_seed(seed: int, count: int) -> int:
    """A seed that depends on nothing but the campaign's and how much has been told: restarts repeat."""
    return int(np.random.SeedSequence([seed, count]).generate_state(1)[0])


def _alike(some: Sequence[Scaling], others: Sequence[Scaling]) -> bool:
    """Whether outcomes are bent alike."""
    return [(one.bend, one.from_best) for one in some] == [(one.bend, one.from_best) for one in others]


def _column(values: Sequence[float | None]) -> Tensor:
    """Numbers, NaN for None.  (n,)"""
    return torch.tensor([np.nan if value is None else value for value in values], dtype=torch.float64)


def _good_rows(outlook: Outlook, rows: Tensor, count: int = 3) -> Tensor:
    """Where each world's best rows are: those of the best merit, or of several outcomes some of the front.  (s, d)"""
    found = []
    for merits, inputs in zip(outlook.tried, rows, strict=True):  # (r, J), (r, d)
        if merits.shape[-1] == 1:
            chosen = merits[:, 0].topk(min(count, len(merits))).indices
        else:
            front = scores.undominated(merits).nonzero()[:, 0]
            front = front[merits[front, 0].argsort()]
            chosen = front[torch.linspace(0, len(front) - 1, min(2 * count, len(front))).round().long()]
        found.append(inputs[chosen])
    return torch.cat(found).clamp(0, 1)
