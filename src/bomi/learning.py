"""What is learned from one state of the table: gaps filled, and a model for each world.

J outcomes, Q worlds, n rows, d columns of the unit cube
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bomi.data.conditions import Coded
from bomi.data.objectives import Objective
from bomi.data.observations import Observations, Row
from bomi.impute.completed import Completed, Explained
from bomi.impute.table import LARGE, Table
from bomi.impute.transform import Transform
from bomi.methods import Method
from bomi.model.additive import AdditiveMatern
from bomi.model.equipment import learn_execution
from bomi.model.execution import Execution
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.success import Success, learn_success
from bomi.search import acquisition
from bomi.search.choices import Choices
from bomi.search.outlook import Limit, Outlook
from bomi.space import Space

DRAWS = 200  # of each gap, where its distribution is asked for
AT_ONCE = 25  # draws whose processes are held in memory
TYPICAL = 16  # rows that stand for what is not known of a row to come
PLANNED = 0.3  # of the draws of how equipment strays, for a suggestion


@dataclass(frozen=True)
class Fit:
    """What was learned from one state of the table."""

    table: Table
    method: Method
    seed: int
    state: Any  # of the method's imputer; None while nothing is known of an outcome
    completed: Completed
    now: Tensor | None = None  # (e,) the conditions of an experiment to come; None where none are told

    def under(self, now: Tensor) -> Fit:
        """The same for an experiment under other conditions; what does not depend on these is not computed again."""
        other = replace(self, now=now)
        kept = ("draws", "typical", "execution", "planned", "measured", "requests", "success", "wrong")
        vars(other).update({name: value for name, value in vars(self).items() if name in kept})
        return other

    @property
    def usable(self) -> int:
        """How many rows the method can use, of the outcome of which there are fewest."""
        return int((~torch.atleast_2d(self.completed.targets).isnan()).sum(-1).min())

    @property
    def enough(self) -> bool:
        """Whether there are as many as a model needs."""
        return self.usable >= self.method.rows

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """The transform of each outcome: what its model was learned from."""
        return self.completed.transforms

    @property
    def aims(self) -> tuple[float | None, ...]:
        """Where each outcome should be, on the model's scale."""
        return self.completed.aims

    @property
    def wanted(self) -> tuple[int, ...]:
        """The outcomes that are to be good, by place; the others only have to keep their limits."""
        return tuple(j for j in range(len(self.table.outcomes)) if j not in self.table.limited)

    @property
    def told(self) -> list[Tensor]:
        """What was told of each outcome that is to be good.  J times (n,)"""
        outcomes = [self.table.outcomes[j] for j in self.wanted]
        return [one[~one.isnan()] for one in outcomes]

    @cached_property
    def models(self) -> tuple[GaussianProcess, ...]:
        """One for each outcome."""
        return self.models_of(self.completed)

    def models_of(self, completed: Completed) -> tuple[GaussianProcess, ...]:
        """The models of some worlds, one for each outcome."""
        if self.table.conditions is not None:
            completed = replace(completed, conditions=self.table.conditions[completed.table_rows])
        there, each = completed.to(self.table.device), range(len(self.table.outcomes))
        models = tuple(self.method.surrogate(there.of(j), self.table.space) for j in each)
        return models if self.now is None else tuple(model.under(self.now) for model in models)

    @cached_property
    def measured(self) -> Tensor:
        """The rows with an outcome.  (Q, r, d)"""
        return self.completed.inputs[:, ~self.failed]

    @cached_property
    def wrong(self) -> Tensor:
        """Which recorded outcomes most worlds take for wrong.  (J, n) bool"""
        if not isinstance(self.completed, Explained):
            return self.table.wrong
        return replace(self.table, targets=self.completed.targets, drawn=self.completed.drawn).wrong

    @property
    def failed(self) -> Tensor:
        """Which of the rows that the method can use have no outcome at all.  (n,) bool"""
        failed: Tensor = torch.atleast_2d(self.completed.targets).isnan().all(0)
        return failed

    @cached_property
    def outlook(self) -> Outlook:
        """What the worlds expect at places."""
        wanted = [self.models[j] for j in self.wanted], [self.aims[j] for j in self.wanted]
        return Outlook.of(*wanted, self.measured, self.success, self.limits_of(self.models))

    def limits_of(self, models: Sequence[GaussianProcess]) -> tuple[Limit, ...]:
        """The limits that are to be kept, of models of all outcomes."""
        return tuple(Limit(models[j], self.aims[j] or 0.0) for j in self.table.limited)

    @cached_property
    def contest(self) -> Outlook:
        """The same for an improvement over what was tried, under the same conditions: what these add is no part of it.

        It is as if each world's best row had been repeated under them, and had given what the world expects.
        """
        if self.now is None:
            return self.outlook
        best = self.outlook.tried.argmax(1)  # (Q, J)
        rows = self.measured[torch.arange(len(best))[:, None], best]  # (Q, J, d)
        models = [model.condition_on(rows[:, [j]], noise=0.0) for j, model in enumerate(self.outlook.models)]
        limits = [one.condition_on(rows[:, :1], noise=0.0) for one in self.outlook.limits]
        return replace(self.outlook, models=tuple(models), limits=tuple(limits))

    @cached_property
    def leveled(self) -> tuple[Table, Completed]:
        """The table and the worlds with outcomes as they would be now; as they are without conditions, or of several
        outcomes, which nobody asks for."""
        if self.now is None or len(self.models) > 1:
            return self.table, self.completed
        (model,), targets = self.models, torch.atleast_2d(self.completed.targets).clone()
        targets[0, ~self.failed] -= (model.fitted() - model.fitted_now()).mean(0)
        outcomes = self.table.outcomes.clone()
        outcomes[0, self.completed.table_rows] = self.transforms[0].to_outcomes(targets[0])
        return replace(self.table, targets=outcomes), replace(self.completed, targets=targets)

    @cached_property
    def typical(self) -> Tensor:
        """Rows of the worlds, evenly along a column: what is not known of a row to come may be as in these.  (D, d)"""
        rows = self.completed.inputs.flatten(0, 1)
        rows = rows[~rows.isnan().any(-1)]
        if not len(rows):
            return torch.full((1, self.table.space.dim), 0.5, dtype=torch.float64)
        even = (torch.arange(TYPICAL) + 0.5) / TYPICAL * len(rows)
        space = self.table.space
        column = space.columns[space.names.index(space.measured[0])].start if space.measured else 0
        return rows[rows[:, column].argsort()][even.long()]

    @cached_property
    def execution(self) -> Execution | None:
        """What equipment makes of a request; None if it does what it is asked, or the method does not plan for it."""
        if not self.method.execution:
            return None
        return learn_execution(self.table, self.completed, seed=draw_seed(self.seed, len(self.table) + 2))

    @cached_property
    def planned(self) -> Execution | None:
        """The same with fewer draws, for a suggestion."""
        return None if self.execution is None else self.execution.fewer(PLANNED)

    def outlook_at(self, places: Tensor, execution: Execution | None = None) -> Outlook:
        """What the worlds expect at places of the whole cube, or of asking for them; some may be unknown.  (m, d)"""
        return replace(self.outlook, execution=execution, draws=self.typical if places.isnan().any() else None)

    def choosing(
        self, choices: Choices, pending: Tensor | None = None, *, execution: Execution | None = None
    ) -> Outlook:
        """What the worlds expect of what there is to choose; for the next experiment, as if what is pending had been
        tried.

        pending: (m, d), NaN where nobody knows what it will be
        """
        outlook, rows = self.outlook if pending is None else self.contest, self.measured
        if pending is not None and len(pending):
            done = self.outlook_at(pending, execution).places(pending).likeliest(len(rows))  # (Q, m, d)
            outlook = outlook.condition_on(done)
            rows = torch.cat([rows, done], 1)
        outlook = outlook.choosing(choices, rows, self.typical)
        if execution is None:
            return outlook
        requests = self.requests if pending is None else torch.cat([self.requests, pending[~pending.isnan().any(-1)]])
        return outlook.asking(execution, choices.points(requests))

    @cached_property
    def requests(self) -> Tensor:
        """What was asked in the rows with an outcome; where that is not known, what was done.  (r, d)"""
        asked = self.table.asked[self.completed.table_rows][~self.failed]
        return torch.where(asked.isnan().any(-1, keepdim=True), self.measured[0], asked)

    @cached_property
    def success(self) -> Success | None:
        """Where experiments succeed; None if none has failed that the method can use."""
        known = ~self.completed.inputs.isnan().any(-1).any(0)  # all, once there is an outcome to fill gaps by
        if not bool((known & self.failed).any()):
            return None
        kernel = AdditiveMatern.over(self.table.space)
        return learn_success(self.completed.inputs[:, known], self.failed[known], kernel)

    @cached_property
    def good_rows(self) -> Tensor:
        """Where each world's best rows are.  (s, d)"""
        return _good_rows(self.outlook, self.measured)

    @cached_property
    def draws(self) -> Completed:
        """More worlds than a suggestion needs, for the distribution of each gap."""
        if self.state is None or not self.enough:
            return self.completed
        rng = torch.Generator().manual_seed(draw_seed(self.seed, len(self.table) + 1))
        return self.method.imputer.draws(self.state, DRAWS, rng)


def learn(table: Table, method: Method, seed: int, before: Any = None) -> Fit:
    """What a table says; the method's imputer continues from the state that it was in before."""
    if bool(table.outcomes.isnan().all(-1).any()):  # an outcome of which nothing is known: nothing to learn yet
        transforms = (Transform(),) * len(table.outcomes)
        unfilled = Completed(table.inputs[None], table.targets, None, table.errors, transforms, table.aims)
        return Fit(table, method, seed, None, unfilled)
    rng = torch.Generator().manual_seed(draw_seed(seed, len(table)))
    state = method.imputer.init(table, rng) if before is None else method.imputer.step(before, table, rng)
    return Fit(table, method, seed, state, method.imputer.completed(state))


def conditions_of(space: Space, observations: Observations) -> Coded:
    """The conditions of the experiments that were tried."""
    places = [i for i, row in enumerate(observations.rows) if row.tried]
    return Coded.of(space.conditions, observations.tried, places)


def table_of(space: Space, objectives: Sequence[Objective], observations: Observations, device: str = "cpu") -> Table:
    """The experiments that were tried, with their outcomes as told, negated where less is better."""
    rows = observations.tried
    conditions = torch.from_numpy(conditions_of(space, observations).table) if space.conditions else None
    targets = [one.sign * _column([_told(row, one.name) for row in rows]) for one in objectives]
    errors = [_column([row.errors.get(one.name) for row in rows]).nan_to_num() for one in objectives]
    return replace(
        Table.of(space, rows, torch.stack(targets)),
        errors=torch.stack(errors).square() if any(bool(error.any()) for error in errors) else None,
        device=device if len(rows) > LARGE else "cpu",
        aims=tuple(one.target for one in objectives),
        limited=tuple(j for j, one in enumerate(objectives) if one.limited),
        keys=observations.tried_keys,
        limits=_limits(rows, objectives) if any(row.censored for row in rows) else None,
        bounds=tuple(one.signed_bounds for one in objectives),
        conditions=conditions,
    )


def _told(row: Row, outcome: str) -> float | None:
    """An outcome, or of a censored one the middle of its limits, or the only one there is."""
    censored = row.censored.get(outcome)
    if censored is None:
        return row.outcomes.get(outcome)
    finite = [end for end in (censored.low, censored.high) if math.isfinite(end)]
    return sum(finite) / len(finite)


def _limits(rows: Sequence[Row], objectives: Sequence[Objective]) -> Tensor:
    """Between which ends each censored outcome lies, negated where less is better; infinite for others.  (2, m, n)"""
    ends = torch.full((2, len(objectives), len(rows)), math.inf, dtype=torch.float64)
    ends[0] = -math.inf
    for j, one in enumerate(objectives):
        for i, row in enumerate(rows):
            if one.name in row.censored:
                censored = row.censored[one.name]
                ends[:, j, i] = torch.tensor(sorted((one.sign * censored.low, one.sign * censored.high)))
    return ends


def draw_seed(seed: int, count: int) -> int:
    """A seed that depends on nothing but the campaign's and how much has been told: restarts repeat."""
    return int(np.random.SeedSequence([seed, count]).generate_state(1)[0])


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
            front = acquisition.undominated(merits).nonzero()[:, 0]
            front = front[merits[front, 0].argsort()]
            chosen = front[torch.linspace(0, len(front) - 1, min(2 * count, len(front))).round().long()]
        found.append(inputs[chosen])
    return torch.cat(found).clamp(0, 1)
