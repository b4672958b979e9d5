"""What the worlds expect of every outcome: one batch of Gaussian processes for each, and the chance to succeed.

J outcomes, Q worlds, r rows with an outcome, m points
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bomi.model.gaussian_process import GaussianProcess
from bomi.model.success import Success
from bomi.search import acquisition
from bomi.search.choices import Choices


@dataclass(frozen=True)
class Outlook:
    """The models of all outcomes on common worlds. Larger is better, except for an outcome with an aim."""

    models: tuple[GaussianProcess, ...]
    aims: tuple[float | None, ...]
    tried: Tensor  # (Q, r, J) the expected merits of what was tried, or is conditioned on
    success: Success | None = None  # None where nothing has failed
    choices: Choices | None = None  # what points are points of; None for the whole cube

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

    def choosing(self, choices: Choices, rows: Tensor) -> Outlook:
        """Where points are what there is to choose; what was tried is what it would give today.  rows: (Q, r, d)"""
        if choices.all:
            return self
        today = choices.today(rows)
        tried = [model.moments(today)[0] for model in self.models]
        return replace(self, tried=_merits(tried, self.aims), choices=choices)

    def places(self, points: Tensor) -> Tensor:
        """Where points are in the whole cube.  (m, r) -> (m, d)"""
        return points if self.choices is None else self.choices.places(points)

    def moments(self, points: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Mean and standard deviation of each outcome in each world.  (m, r) -> J times (Q, m), (Q, m)"""
        places = self.places(points)
        return [(mean, variance.sqrt()) for mean, variance in (model.moments(places) for model in self.models)]

    def log_chance(self, points: Tensor) -> Tensor:
        """log of the chance to succeed, in each world.  (m, r) -> (Q, m)"""
        assert self.success is not None
        return self.success.log_chance(self.places(points))

    def worlds(self) -> list[Outlook]:
        """Each world alone."""
        models = zip(*(model.worlds() for model in self.models), strict=True)
        success = [None] * len(self.tried) if self.success is None else self.success.worlds()
        parts = zip(models, self.tried.split(1), success, strict=True)
        return [Outlook(own, self.aims, tried, chance, self.choices) for own, tried, chance in parts]

    def weigh(self, score: Tensor, points: Tensor, worst: Tensor | float) -> Tensor:
        """p score + (1 - p) worst, with p the chance to succeed; unlikely points last.  (m,) -> (m,)"""
        if self.success is None:
            return score
        chance = self.log_chance(points).exp().mean(0)
        return chance * score + (1 - chance) * worst + acquisition.infeasibility_penalty(chance)

    def condition_on(self, points: Tensor) -> Outlook:
        """As if the points had been tried and each world had been right about them.  (m, r)"""
        places = self.places(points)
        with torch.no_grad():
            expected = [model.moments(places)[0] for model in self.models]
        return replace(
            self,
            models=tuple(model.condition_on(places) for model in self.models),
            tried=torch.cat([self.tried, _merits(expected, self.aims)], 1),
        )

    def merits(self, points: Tensor) -> Tensor:
        """The expected merit of each outcome over all worlds, where a failure is as bad as the worst row.  (m, J)"""
        if not len(points):  # where constraints leave few settings, a search may have none to compare
            return points.new_zeros(0, len(self.models))
        found = []
        for j, ((mean, sd), aim) in enumerate(zip(self.moments(points), self.aims, strict=True)):
            total = (sd.square().mean(0) + mean.var(0, correction=0)).sqrt()
            merit = acquisition.expected_merit(mean.mean(0), total, aim)
            found.append(self.weigh(merit, points, self.tried[..., j].min()))
        return torch.stack(found, -1)


def _merits(means: Sequence[Tensor], aims: Sequence[float | None]) -> Tensor:
    """J times (Q, r) -> (Q, r, J)"""
    return torch.stack([acquisition.merit(mean, aim) for mean, aim in zip(means, aims, strict=True)], -1)
