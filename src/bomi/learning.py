"""What is learned from one state of the table: outcomes are scaled, gaps are filled, and each world gets its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bomi.data.objectives import Objective
from bomi.data.observations import Row
from bomi.impute.completed import Completed
from bomi.impute.table import LARGE, Table
from bomi.impute.transform import Scaling
from bomi.methods import Method
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.success import Success, learn_success
from bomi.search import acquisition as scores
from bomi.search.outlook import Outlook
from bomi.space import Space

RESCALE_EVERY = 5  # rows, between choices of the outcomes' scale
PLENTY = 10  # complete rows for each parameter: these tell of the scale without the others
READABLE = 150  # rows up to which a table is read again: of more it would take many seconds and find little
MUCH = 0.02  # median absolute deviations of the outcome: nothing better by as much is nothing much better
CONVINCING = 5.0  # log evidence, very strong for Kass and Raftery (1995), by which a straight reading has to be better


@dataclass
class Fit:
    """What was learned from one state of the table."""

    rows: tuple[Row, ...]
    scalings: tuple[Scaling, ...]  # of each outcome
    aims: tuple[float | None, ...]
    table: Table
    completed: Completed
    method: Method
    settled: int = 0  # how many rows there are to be before another scale is thought of
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
            due = len(rows) // RESCALE_EVERY > len(before.rows) // RESCALE_EVERY and len(rows) >= before.settled
            worlds = before.warm(rows)
            scalings = self._scalings(table, worlds, () if due else before.scalings)
            fit = self._filled(rows, table, scalings, worlds, before.scalings)
            fit.settled = before.settled
            whiles, rest = divmod(self._in_vain(table), self._while)
            return self._read_again(fit, table) if rest == 0 and whiles.bit_count() == 1 else fit  # 1, 2, 4, 8, ...
        scalings = self._scalings(table)
        fit = self._filled(rows, table, scalings)
        if not self.method.goes_on or not fit.enough:
            return fit
        complete = int((~table.gaps.any(-1)).sum())
        if complete < min(len(rows), PLENTY * len(self.space)):
            better = self._scalings(table, fit.completed)  # now that the rows with gaps have a say
            if not _alike(scalings, better):
                fit = self._filled(rows, table, better, fit.completed, scalings)
        return self._read_again(fit, table)

    def _read_again(self, fit: Fit, table: Table) -> Fit:
        """Where nothing much better has come for a while on a bent scale: a straight reading, if it explains far more.

        A scale and the worlds drawn on it bear each other out. So either scale is judged by worlds of its own, drawn
        with the same patience.
        """
        another = getattr(self.method.filler, "another", None)
        if another is None or self._in_vain(table) < self._while or not table.gaps.any() or len(table) > READABLE:
            return fit
        straight = self._scalings(table, keep=(Scaling(),))
        if _alike(straight, fit.scalings):
            return fit
        found = self._filled(fit.rows, table, straight, fill=another)
        claim = _evidence(found, table) - CONVINCING
        if claim < _evidence(fit, table):
            return fit
        if claim < _evidence(self._filled(fit.rows, table, fit.scalings, fill=another), table):
            return fit
        found.settled = len(table) + self._while
        return found

    def _table(self, rows: tuple[Row, ...]) -> Table:
        """The rows with their outcomes, larger is better, not yet scaled."""
        targets = [one.sign * _column([row.outcomes.get(one.name) for row in rows]) for one in self.objectives]
        return Table.of(self.space, rows, torch.stack(targets), device=self.device if len(rows) > LARGE else "cpu")

    def _scalings(
        self, table: Table, worlds: Completed | None = None, keep: Sequence[Scaling] = ()
    ) -> tuple[Scaling, ...]:
        """How each outcome of a table is scaled, by what one of the worlds says; or as before."""
        inputs, found, stalled = table.inputs, [], self._in_vain(table, much=0.0) >= self._while
        if worlds is not None:
            inputs = torch.where(inputs.isnan(), worlds.inputs[len(table) % len(worlds.inputs)], inputs)
        for j, (objective, outcomes) in enumerate(zip(self.objectives, table.outcomes, strict=True)):
            known = ~outcomes.isnan()
            like = keep[j] if keep else None
            made = self.method.scaling(outcomes[known], objective.target, inputs[known], self.space, like, stalled)
            found.append(made)
        return tuple(found)

    @property
    def _while(self) -> int:
        """How many experiments are a while: 2p."""
        return 2 * len(self.space)

    def _in_vain(self, table: Table, *, much: float = MUCH) -> int:
        """How many experiments have been made since one nearly as good as the best; 0 where those of the last while
        were not all asked for, or there are several outcomes."""
        asked = ~table.asked.isnan().all(-1)
        if len(self.objectives) > 1 or len(table) <= self._while or not bool(asked[-self._while :].all()):
            return 0
        (target,), (outcomes,) = [one.target for one in self.objectives], table.outcomes
        merits = scores.merit(outcomes, target).nan_to_num(nan=-torch.inf)
        away = (outcomes - outcomes.nanmedian()).abs().nanmedian()
        nearly = merits >= merits.max() - much * away
        return len(table) - 1 - int(nearly.int().argmax())

    def _filled(
        self,
        rows: tuple[Row, ...],
        table: Table,
        scalings: tuple[Scaling, ...],
        warm: Completed | None = None,
        before: tuple[Scaling, ...] = (),
        fill: Callable[[Table, torch.Generator], Completed] | None = None,
    ) -> Fit:
        """The table's gaps filled, going on from worlds made with other scalings before, or by another way."""
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
            completed = self.method.filler(table, generator, warm) if fill is None else fill(table, generator)
        return Fit(rows, scalings, tuple(aims), table, completed, self.method)


def draw_seed(seed: int, count: int) -> int:
    """A seed that depends on nothing but the campaign's and how much has been told: restarts repeat."""
    return int(np.random.SeedSequence([seed, count]).generate_state(1)[0])


def _alike(some: Sequence[Scaling], others: Sequence[Scaling]) -> bool:
    """Whether outcomes are bent alike."""
    return [(one.bend, one.from_best) for one in some] == [(one.bend, one.from_best) for one in others]


def _evidence(fit: Fit, table: Table) -> float:
    """The log evidence of the outcomes as they were told, in the middle one of the worlds."""
    (model,), (scaling,), (outcomes,) = fit.models, fit.scalings, table.outcomes
    return float(model.log_evidence().median() + scaling.slope(outcomes[~outcomes.isnan()]).log().sum())


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
