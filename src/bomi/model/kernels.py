"""Covariance functions over the unit cube, batched over worlds.

theta      (Q, k)         log hyper-parameters of each world; the first is always log s^2, the kernel's scale
x1, x2     (Q, ..., d)    pairs of points, broadcast against each other
prepared                  what of the pairs does not depend on theta, computed once while fitting
evaluate   (Q, ...)       the covariance of each pair
pullback   (Q, k)         sum over pairs of weights * dk / dtheta
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import torch
from torch import Tensor

STRIP = 300_000  # numbers a thread prepares at a time, for all columns of a strip of a matrix: what its cache holds
GPU_STRIP = 32_000_000

Prepared: TypeAlias = tuple[Tensor, ...]
Pullback: TypeAlias = Callable[[Tensor], Tensor]


class Kernel(Protocol):
    """What a surrogate needs of a covariance function."""

    def bounds(self) -> list[tuple[float, float]]:
        """The box in which log hyper-parameters are sought."""

    def starts(self) -> Tensor:
        """Log hyper-parameters to begin a search from, all with scale 1.  (r, k)"""

    def log_prior(self, hyper: Tensor) -> tuple[Tensor, Tensor]:
        """Log prior density of theta and the log noise, up to a constant, and its gradient.  (Q,), (Q, k + 1)"""

    def prepare(self, x1: Tensor, x2: Tensor) -> Prepared:
        """What of the pairs does not depend on theta."""

    def evaluate(self, theta: Tensor, prepared: Prepared) -> Tensor:
        """The covariance of each pair.  (Q, ...)"""

    def with_pullback(self, theta: Tensor, prepared: Prepared) -> tuple[Tensor, Pullback]:
        """The covariances, and the function that takes weights of them to the gradient of their weighted sum."""

    def between(self, theta: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        """The covariance of each pair, with a gradient by the points.  (Q, ..., d) -> (Q, ...)"""

    def diagonal(self, theta: Tensor, x: Tensor) -> Tensor:
        """The variance of each point.  (Q, m, d) -> (Q, m)"""


def cross(kernel: Kernel, theta: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
    """The covariance matrix of two sets of points.  (Q, ..., n, d), (Q, ..., m, d) -> (Q, ..., n, m)

    It is computed in strips of rows, so that what is prepared for all columns at once stays small; of a matrix between
    points and themselves only the lower half, and copied to the other.
    """
    if torch.is_grad_enabled():
        return kernel.between(theta, x1.unsqueeze(-2), x2.unsqueeze(-3))
    n, symmetric = x1.shape[-2], x1 is x2
    rows = rows_at_once(x2)
    if n <= rows:
        return kernel.evaluate(theta, kernel.prepare(x1.unsqueeze(-2), x2.unsqueeze(-3)))
    K = x1.new_empty(*x1.shape[:-1], x2.shape[-2])
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        strip = cross(kernel, theta, x1[..., start:stop, :], x2[..., :stop, :] if symmetric else x2)
        K[..., start:stop, : strip.shape[-1]] = strip
        if symmetric:
            K[..., :start, start:stop] = strip[..., :start].mT
    return K


def rows_at_once(columns: Tensor) -> int:
    """How many rows of a matrix with these columns are a strip.  (..., m, d)"""
    return max((GPU_STRIP if columns.is_cuda else STRIP * torch.get_num_threads()) // max(columns.numel(), 1), 1)


@dataclass(frozen=True)
class SquaredExponential:
    """k(x, x') = s^2 exp(-|x - x'|^2 / (2 l^2)), one length scale; theta = (log s^2, log l)."""

    length_bounds: tuple[float, float] = (0.01, 3.0)  # longer ones are a flat line with noise: see docs/method.md
    scale_bounds: tuple[float, float] = (1e-6, 1e4)

    def bounds(self) -> list[tuple[float, float]]:
        """The box in which log hyper-parameters are sought."""
        return [logs(self.scale_bounds), logs(self.length_bounds)]

    def starts(self) -> Tensor:
        """A ladder of length scales."""
        lengths = torch.tensor([0.05, 0.15, 0.4, 1.0, 3.0], dtype=torch.float64).log()
        return torch.stack([torch.zeros_like(lengths), lengths], -1)

    def log_prior(self, hyper: Tensor) -> tuple[Tensor, Tensor]:
        """Flat: the paper's methods maximise the likelihood."""
        return torch.zeros_like(hyper[:, 0]), torch.zeros_like(hyper)

    def prepare(self, x1: Tensor, x2: Tensor) -> Prepared:
        """Squared distances; of every point from every other, |a|^2 + |b|^2 - 2 a b."""
        if x1.shape[-2] == 1 and x1.ndim == 4 and not torch.is_grad_enabled():
            a, b = x1.squeeze(-2), x2.squeeze(-3)
            sums = a.square().sum(-1).unsqueeze(-1) + b.square().sum(-1).unsqueeze(-2)
            return (torch.baddbmm(sums, a, b.mT, alpha=-2).clamp_min_(0),)
        return ((x1 - x2).square().sum(-1),)

    def evaluate(self, theta: Tensor, prepared: Prepared) -> Tensor:
        """The covariance of each pair.  (Q, ...)"""
        scale, length = lift(theta[:, :2], prepared[0].ndim).unbind(1)
        return torch.exp(scale - 0.5 * prepared[0] * torch.exp(-2 * length))

    def with_pullback(self, theta: Tensor, prepared: Prepared) -> tuple[Tensor, Pullback]:
        """dk/dlog s^2 = k, dk/dlog l = k |x - x'|^2 / l^2."""
        covariance = self.evaluate(theta, prepared)

        def pullback(weights: Tensor) -> Tensor:
            weighted = weights * covariance
            by_length = (weighted * prepared[0]).flatten(1).sum(-1) * torch.exp(-2 * theta[:, 1])
            return torch.stack([weighted.flatten(1).sum(-1), by_length], -1)

        return covariance, pullback

    def between(self, theta: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        """The covariance of each pair, with a gradient by the points.  (Q, ..., d) -> (Q, ...)"""
        return self.evaluate(theta, self.prepare(x1, x2))

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
        """Squared differences of the means and sums of the variances, by column.  (Q, ..., d)"""
        (m1, s1), (m2, s2) = x1.chunk(2, -1), x2.chunk(2, -1)
        return (m1 - m2).square(), s1 + s2

    def evaluate(self, theta: Tensor, prepared: Prepared) -> Tensor:
        """The covariance of each pair.  (Q, ...)"""
        differences, variances = prepared
        scale = lift(theta[:, :1], differences.ndim - 1)[:, 0]
        length2 = torch.exp(2 * lift(theta[:, 1:2], differences.ndim)[:, 0])
        if torch.is_grad_enabled():
            total = length2 + variances
            return torch.exp(scale + 0.5 * (torch.log(length2 / total) - differences / total).sum(-1))
        inverse = (length2 + variances).reciprocal_()
        exponent = (length2 * inverse).log_().addcmul_(differences, inverse, value=-1).sum(-1)
        return exponent.mul_(0.5).add_(scale).exp_()

    def with_pullback(self, theta: Tensor, prepared: Prepared) -> tuple[Tensor, Pullback]:
        """By automatic differentiation."""
        with torch.enable_grad():
            leaf = theta.detach().clone().requires_grad_()
            covariance = self.evaluate(leaf, prepared)
        return covariance.detach(), lambda weights: torch.autograd.grad(covariance, leaf, weights)[0]

    def diagonal(self, theta: Tensor, x: Tensor) -> Tensor:
        """Below s^2 where a point is uncertain.  (Q, m)"""
        variances = 2 * x.chunk(2, -1)[1]
        shrink = torch.log1p(variances * torch.exp(-2 * theta[:, 1])[:, None, None])
        return torch.exp(theta[:, :1] - 0.5 * shrink.sum(-1))


def lift(values: Tensor, ndim: int) -> Tensor:
    """(Q, k) -> (Q, k, 1, ...), to go with `ndim` dimensions of which the first is the worlds."""
    return values.reshape(*values.shape, *[1] * (ndim - 1))


def logs(bounds: tuple[float, float]) -> tuple[float, float]:
    """Both ends on a log scale."""
    return math.log(bounds[0]), math.log(bounds[1])
