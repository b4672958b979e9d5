"""Where experiments succeed: Gaussian process classification of what failed and what did not, in every world.

    y  (n,)       +1 for a success, -1 for a failure          f  (Q, n)   latent values, f ~ GP(m, k)
    P(y = 1 | f) = Phi(f)                                      W  (Q, n)   -d^2 log Phi(y f) / df^2

Laplace's approximation (Rasmussen and Williams 2006, algorithms 3.1 and 3.2): Newton's steps to the most probable f,
and a normal distribution around it. The prior mean m gives the share of successes where nothing is known. Length scale
and steepness are the likeliest of a few; all parameters have the same, both alone and together.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from bomi.model.additive import AdditiveMatern
from bomi.model.gaussian_process import robust_cholesky
from bomi.model.kernels import cross

LENGTHS = (0.15, 0.4, 1.0)
SCALES = (3.0, 30.0)  # of the latent values' variance: how abruptly successes turn into failures
STEPS = 20
CERTAIN = 0.02  # the prior chance is kept this far from 0 and 1


@dataclass(frozen=True)
class Success:
    """The chance that an experiment does not fail, at any place and in every world."""

    kernel: AdditiveMatern
    theta: Tensor  # (Q, k)
    inputs: Tensor  # (Q, n, d)
    mean: float  # m
    pull: Tensor  # (Q, n) d log Phi(y f) / df = K^-1 (f - m)
    root: Tensor  # (Q, n) sqrt(W)
    L: Tensor  # (Q, n, n) of I + sqrt(W) K sqrt(W)

    def log_chance(self, points: Tensor) -> Tensor:
        """log P(success) = log Phi(mean / sqrt(1 + variance)).  (m, d) -> (Q, m)"""
        x = points.expand(len(self.inputs), -1, -1)
        k = cross(self.kernel, self.theta, self.inputs, x)  # (Q, n, m)
        mean = self.mean + (k * self.pull.unsqueeze(-1)).sum(-2)
        half = torch.linalg.solve_triangular(self.L, self.root.unsqueeze(-1) * k, upper=False)
        variance = (self.kernel.diagonal(self.theta, x) - half.square().sum(-2)).clamp_min(0)
        log: Tensor = torch.special.log_ndtr(mean / (1 + variance).sqrt())
        return log

    def worlds(self) -> list[Success]:
        """Each world alone."""
        parts = zip(*(part.split(1) for part in (self.theta, self.inputs, self.pull, self.root, self.L)), strict=True)
        return [Success(self.kernel, theta, inputs, self.mean, *rest) for theta, inputs, *rest in parts]


def learn_success(inputs: Tensor, failed: Tensor, kernel: AdditiveMatern) -> Success:
    """The classifier with the likeliest of the settings.  inputs: (Q, n, d), failed: (n,) bool"""
    y = torch.where(failed, -1.0, 1.0).to(inputs)
    share = float((~failed).double().mean().clamp(CERTAIN, 1 - CERTAIN))
    found = [
        _laplace(kernel, _theta(kernel, length, scale, len(inputs)), inputs, y, share)
        for length, scale in itertools.product(LENGTHS, SCALES)
    ]
    return max(found, key=lambda pair: pair[0])[1]


def _theta(kernel: AdditiveMatern, length: float, scale: float, worlds: int) -> Tensor:
    """Half alone, half together.  (Q, k)"""
    p = kernel.parameters
    together = math.log(length) + 0.5 * math.log(p)
    return torch.tensor([math.log(scale), 0.0, *[math.log(length)] * p, *[together] * p], dtype=torch.float64).expand(
        worlds, -1
    )


@torch.no_grad()
def _laplace(kernel: AdditiveMatern, theta: Tensor, inputs: Tensor, y: Tensor, share: float) -> tuple[float, Success]:
    """The approximate log evidence, summed over worlds, and the classifier."""
    K = cross(kernel, theta, inputs, inputs)
    scale = float(theta[0, 0].exp())
    m = math.sqrt(1 + scale) * float(torch.special.ndtri(torch.tensor(share, dtype=torch.float64)))
    f = torch.full(inputs.shape[:2], m, dtype=inputs.dtype)
    for _ in range(STEPS):
        pull, root, L = _around(f, y, K)
        b = root.square() * (f - m) + pull
        Kb = (K @ b.unsqueeze(-1)).squeeze(-1)
        a = b - root * torch.cholesky_solve((root * Kb).unsqueeze(-1), L).squeeze(-1)
        after = m + (K @ a.unsqueeze(-1)).squeeze(-1)
        moved = float((after - f).abs().max())
        f = after
        if moved < 1e-6:
            break
    pull, root, L = _around(f, y, K)
    evidence = torch.special.log_ndtr(y * f).sum(-1) - 0.5 * (a * (f - m)).sum(-1)
    evidence = evidence - L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return float(evidence.sum()), Success(kernel, theta, inputs, m, pull, root, L)


def _around(f: Tensor, y: Tensor, K: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The likelihood's slope and curvature at f, and the factor of I + sqrt(W) K sqrt(W)."""
    z = y * f
    ratio = torch.exp(-0.5 * z.square() - 0.5 * math.log(2 * math.pi) - torch.special.log_ndtr(z))  # phi / Phi
    root = (ratio * (ratio + z)).clamp_min(1e-12).sqrt()
    B = root.unsqueeze(-1) * K * root.unsqueeze(-2)
    B.diagonal(dim1=-2, dim2=-1).add_(1.0)
    return y * ratio, root, robust_cholesky(B)
