"""What the worlds expect of every outcome: one batch of Gaussian processes for each, and the chance to succeed.

A point is asked for. What is done may be another one: B branches, one where equipment never strays.

J outcomes, Q worlds, r rows with an outcome, m points
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from bomi.model.execution import Execution
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.success import Success
from bomi.search import acquisition

LEVELS = 16  # of what may come out at a place, where the worst of it counts


@dataclass(frozen=True)
class Outlook:
    """The models of all outcomes on common worlds. Larger is better, except for an outcome with an aim."""

    models: tuple[GaussianProcess, ...]
    aims: tuple[float | None, ...]
    tried: Tensor  # (Q, r, J) the expected merits of what was tried, or is conditioned on
    success: Success | None = None  # None where nothing has failed
    execution: Execution | None = None  # None where everything is done as asked

    @classmethod
    def of(
        cls, models: Sequence[GaussianProcess], aims: Sequence[float | None], rows: Tensor, success: Success | None
    ) -> Outlook:
        """With what the models expect at the rows tried.  rows: (Q, r, d)"""
        tried = [
            # A single outcome is known at all of its rows: nothing to compute.
            model.fitted() if len(models) == 1 else model.moments(rows)[0]
            for model in models
        ]
        return cls(tuple(models), tuple(aims), _merits(tried, aims), success)

    def moments(self, points: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Mean and standard deviation of each outcome in each world.  (m, d) -> J times (Q, m), (Q, m)"""
        return [(mean, variance.sqrt()) for mean, variance in (model.moments(points) for model in self.models)]

    def worlds(self) -> list[Outlook]:
        """Each world alone, as if everything were done as asked."""
        models = zip(*(model.worlds() for model in self.models), strict=True)
        success = [None] * len(self.tried) if self.success is None else self.success.worlds()
        parts = zip(models, self.tried.split(1), success, strict=True)
        return [Outlook(own, self.aims, tried, chance) for own, tried, chance in parts]

    def branches(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """What is done of what is asked, with how likely that is.  (m, d) -> (Q, B, m), (Q, B m, d)

        Where everything is done as asked, the first dimension is 1, for all worlds alike.
        """
        if self.execution is None:
            return points.new_ones(1, 1, len(points)), points[None]
        chance, places = self.execution.branches(points)
        return chance, places.flatten(1, 2)

    def weigh(self, score: Tensor, points: Tensor, worst: Tensor | float) -> Tensor:
        """p score + (1 - p) worst, with p the chance to succeed; unlikely points last.  (m,) -> (m,)"""
        if self.success is None:
            return score
        likely, places = self.branches(points)
        each = self.success.log_chance(places).exp().unflatten(1, likely.shape[1:])
        chance: Tensor = (likely * each).sum(1).mean(0)
        return chance * score + (1 - chance) * worst + acquisition.infeasibility_penalty(chance)

    def condition_on(self, points: Tensor) -> Outlook:
        """As if the points had been tried and each world had been right about them.  (m, d)"""
        with torch.no_grad():
            expected = [model.moments(points)[0] for model in self.models]
        return replace(
            self,
            models=tuple(model.condition_on(points) for model in self.models),
            tried=torch.cat([self.tried, _merits(expected, self.aims)], 1),
        )

    def expected(self, points: Tensor) -> list[Expected]:
        """What all worlds together expect of asking for each point, of each outcome."""
        likely, places = self.branches(points)
        found = []
        for mean, sd in self.moments(places):
            means, variances = (part.unflatten(1, likely.shape[1:]) for part in (mean, sd.square()))  # (Q, B, m)
            by_world = (likely * means).sum(1)
            center = by_world.mean(0)
            variance = (likely * variances).sum(1).mean(0)
            between, within = by_world.var(0, correction=0), (likely * (means - by_world.unsqueeze(1)).square()).sum(1)
            found.append(Expected(center, variance + between + within.mean(0), within.mean(0)))
        return found

    def merits(self, points: Tensor, worst: float | None = None) -> Tensor:
        """The expected merit of each outcome over all worlds, where a failure is as bad as the worst row.  (m, J)

        Or that of the worst share of what may come out.
        """
        if not len(points):  # where constraints leave few settings, a search may have none to compare
            return points.new_zeros(0, len(self.models))
        if worst is None:
            merits = [
                acquisition.expected_merit(one.mean, one.variance.sqrt(), aim)
                for one, aim in zip(self.expected(points), self.aims, strict=True)
            ]
        else:
            merits = self._worst(points, worst)
        found = [self.weigh(merit, points, self.tried[..., j].min()) for j, merit in enumerate(merits)]
        return torch.stack(found, -1)

    def _worst(self, points: Tensor, share: float) -> list[Tensor]:
        """The mean merit of the worst share of what may come out, over worlds, what is done, and the outcome there."""
        likely, places = self.branches(points)
        levels = (torch.arange(LEVELS, dtype=points.dtype) + 0.5) / LEVELS
        z = torch.special.ndtri(levels)[:, None, None, None]
        found = []
        for (mean, sd), aim in zip(self.moments(places), self.aims, strict=True):
            means, sds = (part.unflatten(1, likely.shape[1:]) for part in (mean, sd))
            values = acquisition.merit(means + sds * z, aim)  # (L, Q, B, m)
            weights = (likely / (LEVELS * len(means))).expand_as(values)
            found.append(acquisition.mean_of_worst(values.flatten(0, 2), weights.flatten(0, 2), share))
        return found


class Expected(NamedTuple):
    """What is expected of an outcome."""

    mean: Tensor  # (m,)
    variance: Tensor  # (m,)
    execution: Tensor  # (m,) the part of the variance that comes from what is done


def _merits(means: Sequence[Tensor], aims: Sequence[float | None]) -> Tensor:
    """J times (Q, r) -> (Q, r, J)"""
    return torch.stack([acquisition.merit(mean, aim) for mean, aim in zip(means, aims, strict=True)], -1)
