"""A Gaussian process over distributions of inputs (Oliveira, Ott, Ramos 2019): the surrogate of BO-uGP."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from bomi.model.fitting import fit
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.kernels import ExpectedSquaredExponential, Kernel, SquaredExponential


class DistributionProcess(GaussianProcess):
    """Inputs are (mean, variance) columns; a point asked about is missed with the variance `planning`.  (d,)"""

    def __init__(
        self,
        inputs: Tensor,
        targets: Tensor,
        theta: Tensor,
        noise: Tensor,
        *,
        kernel: Kernel,
        planning: Tensor,
        errors: Tensor | None = None,
    ) -> None:
        super().__init__(inputs, targets, theta, noise, kernel=kernel, errors=errors)
        self.planning = planning

    @property
    def places(self) -> Tensor:
        """The means of the rows.  (Q, n, d)"""
        return self.inputs[..., : len(self.planning)]

    def _place(self, points: Tensor) -> Tensor:
        means = super()._place(points)
        return torch.cat([means, self.planning.expand_as(means)], -1)


def fit_uncertain(
    inputs: Tensor,
    variances: Tensor,
    targets: Tensor,
    planning: Tensor,
    *,
    errors: Tensor | None = None,
    find: Callable[..., GaussianProcess] = fit,
) -> DistributionProcess:
    """Hyper-parameters under the expected kernel, by maximum likelihood or otherwise.  inputs, variances: (Q, n, d)"""
    plain = find(torch.cat([inputs, variances], -1), targets, kernel=ExpectedSquaredExponential(), errors=errors)
    return DistributionProcess(
        plain.inputs, targets, plain.theta, plain.noise, kernel=plain.kernel, planning=planning, errors=errors
    )


class DensityProcess(GaussianProcess):
    """A process over log p(x) alone, p the density of the rows' means: see `log_density`."""

    def __init__(
        self, means: Tensor, targets: Tensor, *, errors: Tensor | None, find: Callable[..., GaussianProcess]
    ) -> None:
        plain = find(log_density(means, means[0]), targets, kernel=SquaredExponential(), errors=errors)
        super().__init__(plain.inputs, targets, plain.theta, plain.noise, kernel=plain.kernel, errors=errors)
        self.register_buffer("centers", means)

    centers: Tensor  # (1, n, d)

    @property
    def places(self) -> Tensor:
        """The means of the rows.  (1, n, d)"""
        return self.centers

    def _place(self, points: Tensor) -> Tensor:
        return log_density(super()._place(points), self.centers[0])


def log_density(points: Tensor, rows: Tensor) -> Tensor:
    """log p(x) = log (1/n) sum_i N(x; x_i, I), the kernel density estimate of the rows.  (..., d), (n, d) -> (..., 1)

    The program published with the paper does this for what the paper calls BO-uGP. The unit cube is narrow beside the
    kernel, so two points are the same to it if they are equally far from where the rows are.
    """
    away = (points.unsqueeze(-2) - rows).square().sum(-1)  # (..., n)
    constant = math.log(len(rows)) + 0.5 * rows.shape[-1] * math.log(2 * math.pi)
    return (torch.logsumexp(-0.5 * away, -1) - constant).unsqueeze(-1)
