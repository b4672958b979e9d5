"""A Gaussian process over distributions of inputs (Oliveira, Ott, Ramos 2019): the surrogate of BO-uGP."""

from __future__ import annotations

import torch
from torch import Tensor

from bomi.model.fitting import fit
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.kernels import ExpectedSquaredExponential, Kernel


class UncertainInputs(GaussianProcess):
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
    inputs: Tensor, variances: Tensor, targets: Tensor, planning: Tensor, *, errors: Tensor | None = None
) -> UncertainInputs:
    """Hyper-parameters by maximum likelihood under the expected kernel.  inputs, variances: (Q, n, d)"""
    plain = fit(torch.cat([inputs, variances], -1), targets, kernel=ExpectedSquaredExponential(), errors=errors)
    return UncertainInputs(
        plain.inputs, targets, plain.theta, plain.noise, kernel=plain.kernel, planning=planning, errors=errors
    )
