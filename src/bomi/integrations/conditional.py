"""Conditional spaces: a parameter that applies only where another one has certain values.

Optuna learns of conditions only by what trials suggest: where `kind` is "forest" there is a `depth`, elsewhere none.
A parameter that does not apply is no gap. Nobody will ever know its value, since it has none, and the outcome does not
depend on it. So it is put at the middle of its range, both in the rows and in the points that an acquisition scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState
from torch import Tensor

from bomi.search.criteria import Acquisition
from bomi.search.local import Score
from bomi.search.outlook import Outlook
from bomi.space import Parameter, Space
from bomi.space.cells import Known


@dataclass(frozen=True)
class Condition:
    """A parameter applies only where the parent does, and has a value between two ends or not one of these choices."""

    name: str
    parent: str
    low: float = -math.inf  # of the parent's value as Optuna stores it: of a choice its place
    high: float = math.inf
    without: frozenset[int] = frozenset()  # choices with which the parameter does not apply

    def holds(self, value: float) -> bool:
        """Whether the parameter applies where the parent has this value."""
        return self.low < value < self.high and value not in self.without

    def at(self, places: Tensor, parent: Parameter) -> Tensor:
        """The same of many places of the parent in the cube.  (m, width) -> (m,) bool"""
        if parent.width > 1:
            allowed = torch.tensor([place not in self.without for place in range(parent.width)])
            return allowed[places.argmax(-1)]
        low, high = (parent.to_unit(end)[0] if math.isfinite(end) else end for end in (self.low, self.high))
        return (low < places[:, 0]) & (places[:, 0] < high)


def conditions(trials: Sequence[FrozenTrial], space: Mapping[str, BaseDistribution]) -> dict[str, Condition]:
    """The condition of each parameter that some complete trials lack, if one other parameter decides; parents first.

    A parent is suggested before its child, in every trial that has the child. Trials that took no time were added, not
    run: what an old experiment lacks may be a value that nobody knows. Choices decide more often than whole
    numbers, and these more often than others.
    """
    complete = [trial for trial in trials if trial.state is TrialState.COMPLETE and trial.duration]
    found: dict[str, Condition] = {}
    for name in sorted(space, key=lambda name: -sum(name in trial.params for trial in complete)):
        having = [trial for trial in complete if name in trial.params]
        if not having or len(having) == len(complete):
            continue
        before = [
            other
            for other in space
            if all(other in trial.params and _earlier(trial, other, name) for trial in having)
            and all(other in found or other in trial.params for trial in complete)
        ]
        for parent in sorted(before, key=lambda other: _rank(space[other])):
            condition = _condition(name, parent, complete, space[parent])
            if condition is not None:
                found[name] = condition
                break
    return found


def _earlier(trial: FrozenTrial, one: str, other: str) -> bool:
    names = list(trial.params)
    return names.index(one) < names.index(other)


def _rank(distribution: BaseDistribution) -> int:
    return 0 if isinstance(distribution, CategoricalDistribution) else 1 + isinstance(distribution, FloatDistribution)


def _condition(
    name: str, parent: str, trials: Sequence[FrozenTrial], distribution: BaseDistribution
) -> Condition | None:
    """The condition on the parent that tells the trials with the parameter from those without it, if one does."""
    values: tuple[set[float], set[float]] = (set(), set())
    for trial in trials:
        if parent in trial.params:
            values[name in trial.params].add(distribution.to_internal_repr(trial.params[parent]))
    without, having = values
    if isinstance(distribution, CategoricalDistribution):
        return None if without & having else Condition(name, parent, without=frozenset(map(int, without)))
    if not without:
        return Condition(name, parent)
    if max(without) < min(having):
        return Condition(name, parent, low=(max(without) + min(having)) / 2)
    if max(having) < min(without):
        return Condition(name, parent, high=(max(having) + min(without)) / 2)
    return None


def applies(
    name: str, found: Mapping[str, Condition], values: Mapping[str, object], space: Mapping[str, BaseDistribution]
) -> bool:
    """Whether a parameter applies in a trial with these values; yes where that is not known."""
    condition = found.get(name)
    if condition is None:
        return True
    if condition.parent not in values:
        return applies(condition.parent, found, values, space)
    value = space[condition.parent].to_internal_repr(values[condition.parent])
    return condition.holds(value) and applies(condition.parent, found, values, space)


def middle(parameter: Parameter) -> Known:
    """Where a parameter is put that does not apply."""
    return parameter.from_unit([0.5] * parameter.width)


@dataclass(frozen=True)
class Applicable:
    """An acquisition that puts what does not apply at the middle of its range before it scores a point."""

    acquisition: Acquisition
    space: Space
    conditions: Mapping[str, Condition]  # of columns of the space, parents first

    def score(self, outlook: Outlook, *, t: int, parameters: int) -> Score:
        """The score of the points with what does not apply at its middle."""
        own = self.acquisition.score(outlook, t=t, parameters=parameters)
        return lambda points: own(self.without_idle(points))

    def without_idle(self, points: Tensor) -> Tensor:
        """Points with all that does not apply at its middle.  (m, d)"""
        columns = dict(zip(self.space.names, self.space.columns, strict=True))
        held: dict[str, Tensor] = {}
        for name, condition in self.conditions.items():
            parameter, parent, own = (*(self.space.parameters[one] for one in (name, condition.parent)), columns[name])
            here = condition.at(points[:, columns[condition.parent]], parent)
            held[name] = here & held.get(condition.parent, torch.tensor(True))
            idle = torch.tensor(parameter.to_unit(middle(parameter)), dtype=points.dtype)
            block = torch.where(held[name][:, None], points[:, own], idle)
            points = torch.cat([points[:, : own.start], block, points[:, own.stop :]], 1)
        return points
