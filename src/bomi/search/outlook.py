"""What the worlds expect of every outcome: one batch of Gaussian processes for each, and the chance to succeed.

J outcomes, Q worlds, r rows with an outcome, m points

A choice may leave values open that nobody knows beforehand. Each of D draws of them makes a world of its own of every
world: what is said of worlds below is said of all Q D, in the order (Q, D).
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

FEW = 4  # draws that a world alone looks at


@dataclass(frozen=True)
class Outlook:
    """The models of all outcomes on common worlds. Larger is better, except for an outcome with an aim."""

    models: tuple[GaussianProcess, ...]
    aims: tuple[float | None, ...]
    tried: Tensor  # (Q D, r, J) the expected merits of what was tried, or is conditioned on
    success: Success | None = None  # None where nothing has failed
    choices: Choices | None = None  # what points are points of; None for the whole cube
    draws: Tensor | None = None  # (D, d) of values that nobody knows when choosing; None where all are known

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

    def choosing(self, choices: Choices, rows: Tensor, draws: Tensor) -> Outlook:
        """Where points are what there is to choose; what was tried is what it would give today.

        Rows that are not on the front of the mean over the draws count as the worst: an improvement is one over what
        would be used, not over what would have been the best in hindsight.  rows: (Q, r, d), draws: (D, d)
        """
        if choices.all:
            return self
        some = draws if choices.unknown else draws[:1]
        today = choices.today(rows).unsqueeze(1)  # (Q, 1, r, d)
        today = torch.where(today.isnan(), some[:, None], today).expand(-1, len(some), -1, -1)  # (Q, D, r, d)
        means = [model.moments(today.flatten(1, 2))[0] for model in self.models]
        tried = _merits(means, self.aims).unflatten(1, today.shape[1:3])  # (Q, D, r, J)
        if len(some) > 1:
            front = torch.stack([acquisition.undominated(world) for world in tried.mean(1)])  # (Q, r)
            tried = torch.where(front[:, None, :, None], tried, tried.amin(2, keepdim=True))
        return replace(self, tried=tried.flatten(0, 1), choices=choices, draws=some if choices.unknown else None)

    def places(self, points: Tensor) -> Tensor:
        """Where points may be in the whole cube.  (m, r) -> (D, m, d)"""
        places = points if self.choices is None else self.choices.places(points)
        return places[None] if self.draws is None else torch.where(places.isnan(), self.draws[:, None], places)

    @staticmethod
    def _per_draw(values: Tensor, draws: int) -> Tensor:
        """(Q, D m) -> (Q D, m)"""
        each: Tensor = values.unflatten(-1, (draws, -1))
        return each.flatten(0, 1)

    def over_draws(self, values: Tensor) -> Tensor:
        """The mean over the draws in each of the Q worlds.  (Q D, m) -> (Q, m)"""
        each: Tensor = values.unflatten(0, (-1, 1 if self.draws is None else len(self.draws)))
        return each.mean(1)

    def moments(self, points: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Mean and standard deviation of each outcome in each world.  (m, r) -> J times (Q D, m), (Q D, m)"""
        places = self.places(points)
        each = (model.moments(places.flatten(0, 1)) for model in self.models)
        return [(self._per_draw(m, len(places)), self._per_draw(v.sqrt(), len(places))) for m, v in each]

    def log_chance(self, points: Tensor) -> Tensor:
        """log of the chance to succeed, in each world.  (m, r) -> (Q D, m)"""
        assert self.success is not None
        places = self.places(points)
        return self._per_draw(self.success.log_chance(places.flatten(0, 1)), len(places))

    def worlds(self) -> list[Outlook]:
        """Each of the Q worlds alone, with a part of the draws."""
        models = list(zip(*(model.worlds() for model in self.models), strict=True))
        success = [None] * len(models) if self.success is None else self.success.worlds()
        tried = self.tried.unflatten(0, (len(models), -1))  # (Q, D, r, J)
        found = []
        for q, (own, chance) in enumerate(zip(models, success, strict=True)):
            part = torch.arange(tried.shape[1])[q % tried.shape[1] :: max(len(models), tried.shape[1] // FEW)]
            draws = None if self.draws is None else self.draws[part]
            found.append(replace(self, models=own, tried=tried[q, part], success=chance, draws=draws))
        return found

    def weigh(self, score: Tensor, points: Tensor, worst: Tensor | float) -> Tensor:
        """p score + (1 - p) worst, with p the chance to succeed; unlikely points last.  (m,) -> (m,)"""
        if self.success is None:
            return score
        chance = self.log_chance(points).exp().mean(0)
        return chance * score + (1 - chance) * worst + acquisition.infeasibility_penalty(chance)

    def condition_on(self, points: Tensor) -> Outlook:
        """As if the points had been tried and each world had been right about them; of what nobody knows beforehand,
        each world takes a draw of its own.  (m, r), or in the whole cube (Q, m, d)"""
        with torch.no_grad():
            expected = [mean for mean, _ in self.moments(points)]
        places = self.places(points)  # (D, m, d)
        own = places[0] if self.draws is None else places[torch.arange(len(self.models[0].inputs)) % len(places)]
        return replace(
            self,
            models=tuple(model.condition_on(own) for model in self.models),
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
