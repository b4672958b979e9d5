"""What decides which point is the most promising: the acquisitions that a method can be made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from botorch.acquisition.acquisition import AcquisitionFunction, OneShotAcquisitionFunction
from torch import Tensor

from bomi.errors import MethodError, check_choice, shown
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.mixture import Mixture
from bomi.search import acquisition
from bomi.search.local import Score
from bomi.search.outlook import Outlook, Places


class Acquisition(Protocol):
    """What decides which point is the most promising."""

    def score(self, outlook: Outlook, *, t: int, parameters: int) -> Score:
        """The function to maximise for the t-th suggestion, t from 1."""


@dataclass(frozen=True)
class UpperConfidenceBound:
    """UCB in each world, and UCB-MI over several.

    Exploration is beta_scale * sqrt(beta_t); 0.2 is the factor of the authors' program. The weight of the worlds'
    disagreement is beta_alpha, by default the same as the exploration.

    The other settings are those in which that program differs from the paper's formulas: it adds the variance where
    they have the standard deviation (`spread="variance"`), the worlds' standard deviation is that of a population
    (`correction=0`), and beta_t lacks a factor 2 (`union=1`).
    """

    delta: float = 0.1
    beta_scale: float = 0.2
    beta_alpha: float | None = None
    spread: str = "sd"
    correction: int = 1
    union: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise MethodError(f"`0 < delta < 1` must hold, but got delta={self.delta!r}")
        if not 0 <= self.beta_scale < math.inf:
            raise MethodError(f"`beta_scale` must be 0 or more, but got {self.beta_scale!r}")
        check_choice("spread", self.spread, ("sd", "variance"))
        if self.correction not in (0, 1):
            raise MethodError(f"`correction` must be 0 or 1, but got {self.correction!r}")
        if not self.union > 0:
            raise MethodError(f"`union` must be above 0, but got {self.union!r}")

    def score(self, outlook: Outlook, *, t: int, parameters: int) -> Score:
        """mean_q UCB_q + beta_alpha std_q UCB_q, of a single outcome; weighted by the chance to succeed."""
        exploration = self.beta_scale * math.sqrt(acquisition.beta(t, parameters, delta=self.delta, union=self.union))
        disagreement = exploration if self.beta_alpha is None else self.beta_alpha
        (aim,) = outlook.aims

        def score(points: Tensor) -> Tensor:
            places = outlook.places(points)
            ((mean, sd),) = outlook.asked_moments(places)
            merit, sd = (places.over_draws(part) for part in (acquisition.merit(mean, aim), sd))
            width = sd if self.spread == "sd" else sd.square()
            value = acquisition.ucb_mi(merit, width, exploration, disagreement, correction=self.correction)
            return outlook.weigh(value, places, outlook.tried.min())

        return score


@dataclass(frozen=True)
class ExpectedImprovement:
    """log of what an outcome is expected to add to the best posterior mean, averaged over worlds.

    Without noise it is the expected improvement over that mean, and so it is toward a target. Of several outcomes: the
    expected gain in hypervolume over a world's front of posterior means. Where experiments have failed, times the
    chance to succeed. Where there are limits, times the chance to keep them (Gardner et al. 2014). Where equipment
    strays, what counts is the average outcome of asking.
    """

    def score(self, outlook: Outlook, *, t: int, parameters: int) -> Score:
        """log mean_q EI_q."""
        log_gain = self.log_gain(outlook)

        def score(points: Tensor) -> Tensor:
            places = outlook.places(points)
            gain = log_gain(places)
            keeping, success = outlook.log_keeping(places), outlook.log_success(places)
            if keeping is not None:  # a limit that is just broken teaches where it is: no penalty
                gain = gain + keeping
            if success is None:
                return acquisition.log_mean(gain)
            return acquisition.log_mean(gain + success) + acquisition.infeasibility_penalty(success.exp().mean(0))

        return score

    def log_gain(self, outlook: Outlook) -> Callable[[Places], Tensor]:
        """log EI_q, in each world.  -> (Q, m)"""
        if (leaders := outlook.leaders) is not None:
            return _log_rise(outlook.models[0], *leaders)
        boxes = acquisition.free_boxes(outlook.tried)
        return lambda places: acquisition.log_gain(outlook.asked_moments(places), outlook.aims, boxes)


def _log_rise(model: GaussianProcess, expected: Tensor, rows: Tensor) -> Callable[[Places], Tensor]:
    """log of the expected rise of the best mean, over the rows and the point.  (Q, k), (Q, k, d)"""

    lessons = model.lessons(rows)

    def log_rise(places: Places) -> Tensor:
        mean, own, others = lessons(places.flat)
        return acquisition.log_rise(places.mean(mean), places.mean(own), expected, places.mean(others))

    return log_rise


@dataclass(frozen=True)
class Botorch:
    """One of BoTorch's acquisition functions, of the worlds as one model; what it draws at random follows from t."""

    factory: Callable[[Mixture], AcquisitionFunction]

    def score(self, outlook: Outlook, *, t: int, parameters: int) -> Score:
        """The function that the factory makes, at one point at a time; points that are likely to fail come last."""
        mixture = Mixture(outlook.models[0])
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(t)
            made = self.factory(mixture)
        if not isinstance(made, AcquisitionFunction):
            raise MethodError(f"`acquisition` must make one of BoTorch's acquisition functions, but it made {made!r}")
        if isinstance(made, OneShotAcquisitionFunction):
            raise MethodError(
                f"{type(made).__name__} looks for several points at once; optimize it by BoTorch's optimize_acqf, "
                "on a bomi.integrations.botorch.WorldsModel"
            )
        with torch.random.fork_rng(devices=()), torch.no_grad():
            torch.manual_seed(t)
            made(mixture.baseline[:1])  # some draw their samples when first called

        def score(points: Tensor) -> Tensor:
            places = outlook.places(points)
            each = torch.cat([made(part.unsqueeze(-2)) for part in places.flat.flatten(0, 1).split(_TOGETHER)])
            value = places.mean(places.by_draw(each.reshape(len(places.inputs), -1))).mean(0)
            chance = outlook.chance(places)
            return value if chance is None else value + acquisition.infeasibility_penalty(chance)

        return score


_TOGETHER = 64  # points whose samples are held in memory at a time

ACQUISITIONS: dict[str, Acquisition] = {"ei": ExpectedImprovement(), "ucb-mi": UpperConfidenceBound()}


def find_acquisition(name: str | Acquisition | Callable[[Mixture], AcquisitionFunction]) -> Acquisition:
    """An acquisition by name, or one of BoTorch's by what makes it."""
    if isinstance(name, str):
        if name not in ACQUISITIONS:
            raise MethodError(f"unknown acquisition {name!r}; the known ones are {', '.join(ACQUISITIONS)}")
        return ACQUISITIONS[name]
    if hasattr(name, "score"):
        return name
    if callable(name):
        return Botorch(name)
    raise MethodError(
        f"`acquisition` must be one of {', '.join(ACQUISITIONS)}, an Acquisition, or a function that makes one of "
        f"BoTorch's from a model, but got {shown(name)}"
    )
