"""Other programs with one interface, for the comparisons of this folder: points of the unit cube, larger is better.

botorch      SingleTaskGP and LogEI, or where outcomes are noisy qLogNEI
turbo        one trust region with Thompson sampling (Eriksson et al. 2019), on the same model
optuna-gp    Optuna's GPSampler
tpe          Optuna's TPESampler
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

Point = NDArray[np.float64]  # (d,)


class Peer(Protocol):
    """What a comparison needs of a program."""

    def tell(self, point: Point, outcome: float) -> None:
        """What came out at a point."""

    def ask(self) -> Point:
        """Where to look next."""


class Botorch:
    """A plain BoTorch campaign."""

    def __init__(self, dim: int, seed: int, *, noisy: bool = False) -> None:
        self.dim, self.seed, self.noisy = dim, seed, noisy
        self.points: list[Point] = []
        self.outcomes: list[float] = []

    def tell(self, point: Point, outcome: float) -> None:
        """What came out at a point."""
        self.points.append(point)
        self.outcomes.append(outcome)

    def model(self) -> tuple[Any, torch.Tensor]:
        """A fitted SingleTaskGP, and the points told."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X = torch.tensor(np.array(self.points), dtype=torch.float64)
        model = SingleTaskGP(X, torch.tensor(self.outcomes, dtype=torch.float64)[:, None])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model, X

    def ask(self) -> Point:
        """Where the acquisition is largest."""
        from botorch.acquisition import LogExpectedImprovement, qLogNoisyExpectedImprovement
        from botorch.sampling import SobolQMCNormalSampler

        torch.manual_seed(self.seed + 1000 * len(self.points))
        model, X = self.model()
        acquisition: Any
        if self.noisy:
            sampler = SobolQMCNormalSampler(torch.Size([128]), seed=len(self.points))
            acquisition = qLogNoisyExpectedImprovement(model, X, sampler=sampler, prune_baseline=True)
        else:
            acquisition = LogExpectedImprovement(model, best_f=max(self.outcomes))
        return self.largest(acquisition)

    def largest(self, acquisition: Any) -> Point:
        """The point that `optimize_acqf` finds."""
        from botorch.optim import optimize_acqf

        bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64).repeat(1, self.dim)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            point, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=8, raw_samples=256)
        found: Point = point[0].detach().numpy()
        return found

    def recommend(self) -> tuple[Point, float, float]:
        """The place of the largest posterior mean, with mean and standard deviation there."""
        from botorch.acquisition import PosteriorMean

        torch.manual_seed(self.seed)
        model, _ = self.model()
        place = self.largest(PosteriorMean(model))
        with torch.no_grad():
            posterior = model.posterior(torch.from_numpy(place)[None])
        return place, float(posterior.mean), float(posterior.variance.sqrt())


class Turbo(Botorch):
    """One trust region: doubled after successes, halved after failures, begun again where it has become too small."""

    SMALLEST, LARGEST, FIRST, SUCCESSES = 0.5**7, 1.6, 0.8, 3

    def __init__(self, dim: int, seed: int) -> None:
        super().__init__(dim, seed)
        self.length, self.run = self.FIRST, 0  # successes in a row, or failures as a negative number
        self.best = -math.inf

    def tell(self, point: Point, outcome: float) -> None:
        """What came out; the region grows and shrinks by it."""
        super().tell(point, outcome)
        better = outcome > self.best + 1e-3 * abs(self.best)
        self.best = max(self.best, outcome)
        self.run = max(self.run, 0) + 1 if better else min(self.run, 0) - 1
        if self.run >= self.SUCCESSES:
            self.length, self.run = min(2 * self.length, self.LARGEST), 0
        elif self.run <= -max(4, self.dim):
            self.length, self.run = self.length / 2, 0
        if self.length < self.SMALLEST:
            self.length = self.FIRST

    def ask(self) -> Point:
        """The best of a draw from the posterior, within the region, some coordinates moved."""
        from botorch.generation import MaxPosteriorSampling
        from torch.quasirandom import SobolEngine

        torch.manual_seed(self.seed + 1000 * len(self.points))
        model, X = self.model()
        center = X[int(np.argmax(self.outcomes))]
        scale = model.covar_module.lengthscale.detach().flatten()
        scale = scale / scale.log().mean().exp()
        low = (center - scale * self.length / 2).clamp(0, 1)
        high = (center + scale * self.length / 2).clamp(0, 1)
        count = min(5000, max(2000, 200 * self.dim))
        drawn = low + (high - low) * SobolEngine(self.dim, scramble=True).draw(count).double()
        moved = torch.rand(count, self.dim) <= min(20.0 / self.dim, 1.0)
        moved[torch.arange(count), torch.randint(self.dim, (count,))] = True
        with torch.no_grad():
            point = MaxPosteriorSampling(model, replacement=False)(torch.where(moved, drawn, center), num_samples=1)
        found: Point = point[0].numpy()
        return found


class Optuna:
    """One of Optuna's samplers."""

    def __init__(self, dim: int, seed: int, kind: str) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.simplefilter("ignore")
        sampler = getattr(optuna.samplers, kind)(seed=seed)
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        self.space = {f"x{j}": optuna.distributions.FloatDistribution(0.0, 1.0) for j in range(dim)}
        self.asked: Any = None

    def tell(self, point: Point, outcome: float) -> None:
        """What came out at the point that was asked for, or at another."""
        import optuna

        if self.asked is not None and np.allclose(list(self.asked.params.values()), point):
            self.study.tell(self.asked, outcome)
        else:
            values = dict(zip(self.space, point.tolist(), strict=True))
            trial = optuna.trial.create_trial(params=values, distributions=self.space, value=outcome)
            self.study.add_trial(trial)
        self.asked = None

    def ask(self) -> Point:
        """The next trial's point."""
        self.asked = self.study.ask(self.space)
        return np.array([self.asked.params[name] for name in self.space])


PEERS: dict[str, Callable[[int, int], Peer]] = {
    "botorch": Botorch,
    "turbo": Turbo,
    "optuna-gp": lambda dim, seed: Optuna(dim, seed, "GPSampler"),
    "tpe": lambda dim, seed: Optuna(dim, seed, "TPESampler"),
}
