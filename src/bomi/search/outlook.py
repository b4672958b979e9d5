"""What the worlds expect of every outcome: one batch of Gaussian processes for each, and the chance to succeed.

J outcomes, Q worlds, r rows with an outcome, m points

A point is what can be chosen. It stands for places with weights: what may be done if it is asked for, B places in each
world; and, of what will only be measured, D draws. Each draw makes a world of its own of every world: what is said of
worlds below is said of all Q D, in the order (Q, D). Where all is known and done as asked, there is one place.
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
from bomi.search.choices import Choices

FEW = 4  # draws that a world alone looks at
LEADERS = 4  # of what was tried, which a new outcome may raise or lower
LEVELS = 16  # of what may come out at a place, where the worst of it counts


@dataclass(frozen=True)
class Places:
    """Where points may be in the whole cube. The first dimension is 1 where it is the same in all worlds."""

    weights: Tensor  # (Q, B, m)
    inputs: Tensor  # (Q, D, B, m, d)

    @property
    def flat(self) -> Tensor:
        """All of them, for each of the Q worlds.  (Q, D B m, d)"""
        return self.inputs.flatten(1, 3)

    def by_draw(self, values: Tensor) -> Tensor:
        """What was computed at all of them.  (Q, D B m) -> (Q D, B m)"""
        each: Tensor = values.unflatten(1, (self.inputs.shape[1], -1))
        return each.flatten(0, 1)

    def split(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and values.  (Q D, ..., B m) -> (Q D or 1, ..., B, m), (Q D, ..., B, m)"""
        draws = self.inputs.shape[1]
        weights = self.weights if len(self.weights) == 1 else self.weights.repeat_interleave(draws, 0)
        for _ in range(values.ndim - 2):
            weights = weights.unsqueeze(1)
        return weights, values.unflatten(-1, weights.shape[-2:])

    def mean(self, values: Tensor) -> Tensor:
        """The mean over what is done.  (Q D, ..., B m) -> (Q D, ..., m)"""
        if self.weights.shape[1] == 1:
            return values
        weights, each = self.split(values)
        return (weights * each).sum(-2)

    def over_draws(self, values: Tensor) -> Tensor:
        """The mean over the draws in each of the Q worlds.  (Q D, m) -> (Q, m)"""
        each: Tensor = values.unflatten(0, (-1, self.inputs.shape[1]))
        return each.mean(1)

    def likeliest(self, worlds: int) -> Tensor:
        """What each of Q worlds takes to be done: the likeliest, in a draw of its own.  (Q, m, d)"""
        q = torch.arange(worlds)
        own = self.inputs.expand(worlds, -1, -1, -1, -1)[q, q % self.inputs.shape[1]]  # (Q, B, m, d)
        chosen = self.weights.argmax(1)[:, None, :, None]
        return own.take_along_dim(chosen, 1)[:, 0]


class Limit(NamedTuple):
    """An outcome that only has to stay at or below a value."""

    model: GaussianProcess
    most: float

    def condition_on(self, rows: Tensor, **settings: float) -> Limit:
        """As if the rows had been tried.  (Q, m, d)"""
        return Limit(self.model.condition_on(rows, **settings), self.most)


class Expected(NamedTuple):
    """What is expected of an outcome."""

    mean: Tensor  # (m,)
    variance: Tensor  # (m,)
    execution: Tensor  # (m,) the part of the variance that comes from what is done


@dataclass(frozen=True)
class Outlook:
    """The models of all outcomes on common worlds. Larger is better, except for an outcome with an aim.

    Outcomes that only have to keep a limit are beside them: what was tried and is expected to break one counts as the
    worst, and points are weighed by the chance to keep them all.
    """

    models: tuple[GaussianProcess, ...]
    aims: tuple[float | None, ...]
    tried: Tensor  # (Q D, r, J) the expected merits of what was tried, or is conditioned on
    success: Success | None = None  # None where nothing has failed
    choices: Choices | None = None  # what points are points of; None for the whole cube
    execution: Execution | None = None  # None where points are done as asked
    draws: Tensor | None = None  # (D, d) of values that nobody knows when choosing; None where all are known
    rows: Tensor | None = None  # (Q, r, d) where what was tried is; None where that was never done
    limits: tuple[Limit, ...] = ()  # what is to be kept beside

    @classmethod
    def of(
        cls,
        models: Sequence[GaussianProcess],
        aims: Sequence[float | None],
        rows: Tensor,
        success: Success | None,
        limits: Sequence[Limit] = (),
    ) -> Outlook:
        """With what the models expect at the rows tried.  rows: (Q, r, d)"""
        tried = [
            # A single outcome is known at all of its rows: nothing to compute.
            model.fitted_now() if len(models) == 1 and not limits else model.means(rows)
            for model in models
        ]
        merits = _merits(tried, aims, kept_by([one.model.means(rows) for one in limits], limits))
        return cls(tuple(models), tuple(aims), merits, success, rows=rows, limits=tuple(limits))

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
        there = today.flatten(1, 2)
        kept = kept_by([one.model.means(there) for one in self.limits], self.limits)
        tried = _merits([model.means(there) for model in self.models], self.aims, kept)
        tried = tried.unflatten(1, today.shape[1:3])  # (Q, D, r, J)
        if len(some) > 1:
            front = torch.stack([acquisition.undominated(world) for world in tried.mean(1)])  # (Q, r)
            tried = torch.where(front[:, None, :, None], tried, tried.amin(2, keepdim=True))
        own = some if choices.unknown else None
        return replace(self, tried=tried.flatten(0, 1), choices=choices, draws=own, rows=None)

    def places(self, points: Tensor) -> Places:
        """Where points may be, and how likely that is.  (m, r), or what each world takes for sure (Q, m, d)"""
        asked = points if self.choices is None else self.choices.places(points)
        if self.execution is None:
            weights = asked.new_ones(1, 1, asked.shape[-2])
            done = (asked if asked.ndim == 3 else asked[None]).unsqueeze(1)  # (Q or 1, 1, m, d)
        else:
            weights, done = self.execution.branches(asked)  # (Q, B, m), (Q, B, m, d)
        done = done.unsqueeze(1)
        if self.draws is not None:
            done = torch.where(done.isnan(), self.draws[:, None, None], done)
        return Places(weights, done)

    def means(self, places: Places) -> list[Tensor]:
        """Mean of the average outcome over what is done.  J times (Q D, m)"""
        return [places.mean(places.by_draw(model.means(places.flat))) for model in self.models]

    def kept(self, places: Places) -> Tensor | None:
        """Whether all limits are expected to be kept, in each world; None without any.  (Q D, m) bool"""
        return kept_by([places.mean(places.by_draw(one.model.means(places.flat))) for one in self.limits], self.limits)

    def moments(self, places: Places) -> list[tuple[Tensor, Tensor]]:
        """Mean and standard deviation of each outcome in each world.  J times (Q D, B m), (Q D, B m)"""
        return [_moments(model, places) for model in self.models]

    def asked_moments(self, places: Places) -> list[tuple[Tensor, Tensor]]:
        """Mean and standard deviation of the average outcome over what is done.  J times (Q D, m), (Q D, m)

        The places are near each other: a world errs about all of them alike. Where there is an aim, what is done misses
        it too.
        """
        found = []
        for (mean, sd), aim in zip(self.moments(places), self.aims, strict=True):
            weights, each = places.split(mean)
            middle, size = (weights * each).sum(1), places.mean(sd)
            if aim is not None:
                size = (size.square() + (weights * (each - middle.unsqueeze(1)).square()).sum(1)).sqrt()
            found.append((middle, size))
        return found

    @property
    def leaders(self) -> tuple[Tensor, Tensor] | None:
        """The best of what was tried in each world: what is expected of it, and where it is; None where what is best is
        not the largest mean of a single outcome, or depends on the draw.  -> (Q, k), (Q, k, d)"""
        if self.rows is None or self.aims != (None,) or self.limits or self.draws is not None:
            return None
        tried, best = self.tried[..., 0].topk(min(LEADERS, self.tried.shape[1]))
        return tried, self.rows.take_along_dim(best.unsqueeze(-1), 1)

    def asking(self, execution: Execution, requests: Tensor) -> Outlook:
        """Where points are asked for, and so is what was tried: an improvement is one over the best request.  (m, r)"""
        asked = replace(self, execution=execution)
        if self.draws is not None or not len(requests):
            return asked
        with torch.no_grad():
            places = asked.places(requests)
            tried = _merits(asked.means(places), self.aims, asked.kept(places))
        return replace(asked, tried=tried, rows=places.likeliest(len(self.models[0].inputs)))

    def log_success(self, places: Places) -> Tensor | None:
        """log of the chance not to fail, in each world; None where nothing has failed.  (Q D, m)"""
        return None if self.success is None else _log_mean(places, places.by_draw(self.success.log_chance(places.flat)))

    def log_keeping(self, places: Places) -> Tensor | None:
        """log of the chance to keep all limits, in each world; None without any.  (Q D, m)"""
        if not self.limits:
            return None
        moments = [_moments(one.model, places) for one in self.limits]
        each = [
            torch.special.log_ndtr((one.most - mean) / sd) for one, (mean, sd) in zip(self.limits, moments, strict=True)
        ]
        return _log_mean(places, torch.stack(each).sum(0))  # independent, given a world

    def chance(self, places: Places) -> Tensor | None:
        """The chance not to fail and to keep all limits, over all worlds; None where it is 1.  (m,)"""
        parts = [one for one in (self.log_success(places), self.log_keeping(places)) if one is not None]
        return torch.stack(parts).sum(0).exp().mean(0) if parts else None

    def worlds(self) -> list[Outlook]:
        """Each of the Q worlds alone, with a part of the draws, as if everything were done as asked."""
        models = list(zip(*(model.worlds() for model in self.models), strict=True))
        success = [None] * len(models) if self.success is None else self.success.worlds()
        limits = [one.model.worlds() for one in self.limits]
        tried = self.tried.unflatten(0, (len(models), -1))  # (Q, D, r, J)
        found = []
        for q, (own, chance) in enumerate(zip(models, success, strict=True)):
            part = torch.arange(tried.shape[1])[q % tried.shape[1] :: max(len(models), tried.shape[1] // FEW)]
            draws = None if self.draws is None else self.draws[part]
            rows = None if self.rows is None else self.rows[q : q + 1]
            kept = tuple(Limit(worlds[q], one.most) for worlds, one in zip(limits, self.limits, strict=True))
            alone = replace(
                self, models=own, tried=tried[q, part], success=chance, execution=None, draws=draws, rows=rows,
                limits=kept,
            )  # fmt: skip
            found.append(alone)
        return found

    def weigh(self, score: Tensor, places: Places, worst: Tensor | float) -> Tensor:
        """p score + (1 - p) worst, with p the chance to succeed and keep limits; unlikely points last.  (m,) -> (m,)"""
        chance = self.chance(places)
        if chance is None:
            return score
        return chance * score + (1 - chance) * worst + acquisition.infeasibility_penalty(chance)

    def condition_on(self, points: Tensor) -> Outlook:
        """As if the points had been tried and each world had been right about them; of what nobody knows beforehand,
        each world takes what is likeliest, in a draw of its own.  (m, r), or in the whole cube (Q, m, d)"""
        with torch.no_grad():
            places = self.places(points)
            expected, kept = _merits(self.means(places), self.aims), self.kept(places)
        if kept is not None:
            expected = torch.where(kept.unsqueeze(-1), expected, self.tried.amin(1, keepdim=True))
        own = places.likeliest(len(self.models[0].inputs))
        return replace(
            self,
            models=tuple(model.condition_on(own) for model in self.models),
            limits=tuple(one.condition_on(own) for one in self.limits),
            tried=torch.cat([self.tried, expected], 1),
            rows=None if self.rows is None else torch.cat([self.rows, own], 1),
        )

    def expected(self, places: Places, models: Sequence[GaussianProcess] | None = None) -> list[Expected]:
        """What all worlds together expect of each point, by the law of total variance; of each outcome that is wanted,
        or of each model."""
        found = []
        for mean, sd in (_moments(model, places) for model in models or self.models):
            weights, each = places.split(mean)
            means = (weights * each).sum(1)  # (Q D, m)
            within = (weights * (each - means.unsqueeze(1)).square()).sum(1).mean(0)
            variance = places.mean(sd.square()).mean(0) + means.var(0, correction=0) + within
            found.append(Expected(means.mean(0), variance, within))
        return found

    def merits(self, points: Tensor, worst: float | None = None) -> Tensor:
        """The expected merit of each outcome over all worlds, where a failure is as bad as the worst row.  (m, J)

        Or that of the worst share of what may come out.
        """
        if not len(points):  # where constraints leave few settings, a search may have none to compare
            return points.new_zeros(0, len(self.models))
        places = self.places(points)
        if worst is None and all(aim is None for aim in self.aims):  # variances have no say
            merits = [mean.mean(0) for mean in self.means(places)]
        elif worst is None:
            merits = [
                acquisition.expected_merit(one.mean, one.variance.sqrt(), aim)
                for one, aim in zip(self.expected(places), self.aims, strict=True)
            ]
        else:
            merits = self._worst(places, worst)
        found = [self.weigh(merit, places, self.tried[..., j].min()) for j, merit in enumerate(merits)]
        return torch.stack(found, -1)

    def _worst(self, places: Places, share: float) -> list[Tensor]:
        """The mean merit of the worst share of what may come out, over worlds, what is done, and the outcome there."""
        levels = (torch.arange(LEVELS, dtype=places.inputs.dtype) + 0.5) / LEVELS
        z = torch.special.ndtri(levels)[:, None, None]
        found = []
        for (mean, sd), aim in zip(self.moments(places), self.aims, strict=True):
            values = acquisition.merit(mean + sd * z, aim)  # (L, Q D, B m)
            weights, each = places.split(values.flatten(0, 1))
            weights = (weights / len(each)).expand(len(mean), -1, -1).repeat(LEVELS, 1, 1)
            found.append(acquisition.mean_of_worst(each.flatten(0, 1), weights.flatten(0, 1), share))
        return found


def _moments(model: GaussianProcess, places: Places) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation in each world.  (Q D, B m), (Q D, B m)"""
    mean, variance = model.moments(places.flat)
    return places.by_draw(mean), places.by_draw(variance.sqrt())


def _log_mean(places: Places, logs: Tensor) -> Tensor:
    """log of the mean over what is done.  (Q D, B m) -> (Q D, m)"""
    return logs if places.weights.shape[1] == 1 else places.mean(logs.exp()).clamp_min(1e-300).log()


def kept_by(means: Sequence[Tensor], limits: Sequence[Limit]) -> Tensor | None:
    """Whether expected outcomes keep all limits; None without any.  L times (Q, r) -> (Q, r) bool"""
    each = [mean <= one.most for mean, one in zip(means, limits, strict=True)]
    return torch.stack(each).all(0) if each else None


def judged(merits: Tensor, kept: Tensor | None) -> Tensor:
    """Merits, where a limit is broken the worst of all.  (Q, r), (Q, r) bool"""
    return merits if kept is None else torch.where(kept, merits, merits.amin(1, keepdim=True))


def _merits(means: Sequence[Tensor], aims: Sequence[float | None], kept: Tensor | None = None) -> Tensor:
    """J times (Q, r), (Q, r) bool -> (Q, r, J)"""
    each = [judged(acquisition.merit(mean, aim), kept) for mean, aim in zip(means, aims, strict=True)]
    return torch.stack(each, -1)
