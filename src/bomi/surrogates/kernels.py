"""Covariance functions over the unit cube, batched over worlds.

    theta        (Q, k)      log hyper-parameters of each world
    x1, x2       (Q, n, d), (Q, m, d)
    prepare      what of (x1, x2) does not depend on theta, computed once while fitting
    evaluate     (Q, n, m)   the covariance matrix, from what `prepare` gave

The first entry of theta is always log s^2, the kernel's scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import torch
from torch import Tensor

Prepared: TypeAlias = tuple[Tensor, ...]


class Kernel(Protocol):
    """What a surrogate needs of a covariance function."""

    def bounds(self, dim: int) -> list[tuple[float, float]]:
        """The box in which log hyper-parameters are sought."""

    def starts(self, dim: int) -> Tensor:
        """Log hyper-parameters to begin a search from, all with scale 1.  (r, k)"""

    def log_prior(self, theta: Tensor) -> Tensor:
        """Log prior density, up to a constant.  (Q,)"""

    def prepare(self, x1: Tensor, x2: Tensor) -> Prepared:
        """What does not depend on theta."""

    def evaluate(self, theta: Tensor, prepared: Prepared) -> Tensor:
        """The covariance matrix.  (Q, n, m)"""

    def diagonal(self, theta: Tensor, x: Tensor) -> Tensor:
        """The variance of each point.  (Q, m)"""


def squared_distances(x1: Tensor, x2: Tensor) -> Tensor:
    """|x1_i - x2_j|^2, exactly zero for equal points and differentiable there.  (..., n, m)"""
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).square().sum(-1)


@dataclass(frozen=True)
class SquaredExponential:
    """k(x, x') = s^2 exp(-|x - x'|^2 / (2 l^2)), one length scale; theta = (log s^2, log l)."""

    length_bounds: tuple[float, float] = (0.01, 20.0)
    scale_bounds: tuple[float, float] = (1e-6, 1e4)

    def bounds(self, dim: int) -> list[tuple[float, float]]:
        """The box in which log hyper-parameters are sought."""
        return [_logs(self.scale_bounds), _logs(self.length_bounds)]

    def starts(self, dim: int) -> Tensor:
        """A ladder of length scales."""
        lengths = torch.tensor([0.05, 0.15, 0.4, 1.0, 3.0], dtype=torch.float64).log()
        return torch.stack([torch.zeros_like(lengths), lengths], -1)

    def log_prior(self, theta: Tensor) -> Tensor:
        """Flat: the paper's methods maximise the likelihood."""
        return torch.zeros(theta.shape[:-1], dtype=theta.dtype, device=theta.device)

    def prepare(self, x1: Tensor, x2: Tensor) -> Prepared:
        """Squared distances."""
        return (squared_distances(x1, x2),)

    def evaluate(self, theta: Tensor, prepared: Prepared) -> Tensor:
        """The covariance matrix.  (Q, n, m)"""
        scale, length = theta[:, 0, None, None], theta[:, 1, None, None]
        return torch.exp(scale - 0.5 * prepared[0] * torch.exp(-2 * length))

    def diagonal(self, theta: Tensor, x: Tensor) -> Tensor:
        """s^2 everywhere.  (Q, m)"""
        return theta[:, :1].exp().expand(len(theta), x.shape[-2])


@dataclass(frozen=True)
class ExpectedSquaredExponential(SquaredExponential):
    """The squared exponential averaged over two Gaussian inputs (Girard 2004; Oliveira, Ott, Ramos 2019).

    A point is N(m, diag S), given as the columns (m, S): d of the mean, then d of the variance. With W = l^2 I

        k = s^2 |I + W^-1 (S1 + S2)|^(-1/2) exp(-1/2 (m1 - m2)^T (W + S1 + S2)^-1 (m1 - m2)).
    """

    def prepare(self, x1: Tensor, x2: Tensor) -> Prepared:
        """Squared differences of the means and sums of the variances, by column."""
        (m1, s1), (m2, s2) = x1.chunk(2, -1), x2.chunk(2, -1)
        return (m1.unsqueeze(-2) - m2.unsqueeze(-3)).square(), s1.unsqueeze(-2) + s2.unsqueeze(-3)

    def evaluate(self, theta: Tensor, prepared: Prepared) -> Tensor:
        """The covariance matrix.  (Q, n, m)"""
        differences, variances = prepared
        scale, length2 = theta[:, 0, None, None], torch.exp(2 * theta[:, 1])[:, None, None, None]
        total = length2 + variances
        shrink = torch.log(length2 / total)
        return torch.exp(scale + 0.5 * (shrink - differences / total).sum(-1))

    def diagonal(self, theta: Tensor, x: Tensor) -> Tensor:
        """Below s^2 where a point is uncertain.  (Q, m)"""
        variances = 2 * x.chunk(2, -1)[1]
        shrink = torch.log1p(variances * torch.exp(-2 * theta[:, 1])[:, None, None])
        return torch.exp(theta[:, :1] - 0.5 * shrink.sum(-1))


def _logs(bounds: tuple[float, float]) -> tuple[float, float]:
    return math.log(bounds[0]), math.log(bounds[1])
