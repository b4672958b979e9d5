"""A batch of Gaussian processes, one for each completed world, as one BoTorch model.

    X      (Q, n, d)   inputs of each world          y      (n,)      targets, common to all
    theta  (Q, k)      kernel's log hyper-parameters noise  (Q,)      log noise variance
    K      (Q, n, n)   k(X, X) + noise I = L L^T     alpha  (Q, n)    K^-1 y

Plain torch linear algebra: one Cholesky for all worlds, and the gradient of the marginal likelihood through
the kernel alone, since dL/dK = (K^-1 - alpha alpha^T) / 2 is known in closed form.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from botorch.models.model import Model
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from botorch.posteriors.gpytorch import GPyTorchPosterior
from gpytorch.distributions import MultivariateNormal
from numpy.typing import NDArray
from torch import Tensor

from bomi.surrogates.kernels import Kernel, SquaredExponential

NOISE_BOUNDS = (1e-6, 1.0)
STARTING_NOISES = (1e-4, 1e-2, 0.2)  # shares of the kernel's scale


class GaussianProcess(Model):
    """Q Gaussian processes with zero mean, given their hyper-parameters."""

    def __init__(self, inputs: Tensor, targets: Tensor, theta: Tensor, noise: Tensor, *, kernel: Kernel) -> None:
        super().__init__()
        self.kernel, self.theta, self.noise = kernel, theta, noise
        self.inputs = inputs
        self.targets = targets.expand(inputs.shape[:-1])
        K = kernel.evaluate(theta, kernel.prepare(inputs, inputs))
        self.L = robust_cholesky(K + torch.diag_embed(noise.exp()[:, None].expand(K.shape[:-1])))
        self.alpha = torch.cholesky_solve(self.targets.unsqueeze(-1), self.L).squeeze(-1)

    @property
    def num_outputs(self) -> int:
        """One outcome."""
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        """The worlds."""
        return self.inputs.shape[:1]

    def moments(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of f in each world.  points: (m, d) -> (Q, m), (Q, m)"""
        x = self._place(points).expand(len(self.inputs), -1, -1)
        k = self.kernel.evaluate(self.theta, self.kernel.prepare(self.inputs, x))  # (Q, n, m)
        mean = (k * self.alpha.unsqueeze(-1)).sum(-2)
        explained = torch.linalg.solve_triangular(self.L, k, upper=False).square().sum(-2)
        prior = self.kernel.diagonal(self.theta, x)
        return mean, (prior - explained).clamp_min(1e-12 * prior.detach())

    def fitted(self) -> Tensor:
        """Posterior mean of f at each world's own rows: y - noise * alpha.  (Q, n)"""
        return self.targets - self.noise.exp()[:, None] * self.alpha

    def posterior(self, X: Tensor, *args: Any, **kwargs: Any) -> GPyTorchPosterior:
        """The joint posterior of f at q points in each world.  X: (..., q, d) -> batch (..., Q), event q"""
        x = self._place(X).unsqueeze(-3)
        x = x.expand(*X.shape[:-2], len(self.inputs), *x.shape[-2:])
        k = self.kernel.evaluate(self.theta, self.kernel.prepare(self.inputs, x))  # (..., Q, n, q)
        half = torch.linalg.solve_triangular(self.L, k, upper=False)
        mean = (k * self.alpha.unsqueeze(-1)).sum(-2)
        covariance = self.kernel.evaluate(self.theta, self.kernel.prepare(x, x)) - half.mT @ half
        jitter = 1e-10 * self.theta[:, 0].exp()[:, None].expand(mean.shape)
        return GPyTorchPosterior(MultivariateNormal(mean, covariance + torch.diag_embed(jitter)))

    def believe(self, points: Tensor) -> GaussianProcess:
        """As if the points had been tried and each world had been right about them.

        The mean stays, the variance shrinks: pending points are not asked for again
        (Desautels, Krause, Burdick 2014).  points: (m, d) or (Q, m, d)
        """
        x = self._place(points).expand(len(self.inputs), -1, -1)
        targets = torch.cat([self.targets, self.moments(points)[0]], -1)
        return self._with(torch.cat([self.inputs, x], -2), targets)

    def _place(self, points: Tensor) -> Tensor:
        """The points as the kernel takes them."""
        return points

    def _with(self, inputs: Tensor, targets: Tensor) -> GaussianProcess:
        """The same processes given other data."""
        return GaussianProcess(inputs, targets, self.theta, self.noise, kernel=self.kernel)


def fit(inputs: Tensor, targets: Tensor, *, kernel: Kernel | None = None) -> GaussianProcess:
    """Hyper-parameters of every world by maximum likelihood (with the kernel's prior, where it has one).

    A coarse search over the kernel's starting points, with the best scale for each in closed form, then L-BFGS
    from the two best in every world side by side.  inputs: (Q, n, d), targets: (n,)
    """
    kernel = kernel or SquaredExponential()
    dim = inputs.shape[-1]
    prepared = kernel.prepare(inputs, inputs)
    bounds = [*kernel.bounds(dim), tuple(map(math.log, NOISE_BOUNDS))]
    low, high = torch.tensor(bounds, dtype=torch.float64).unbind(-1)
    starts = _coarse_search(kernel, prepared, targets, dim, keep=2).clamp(low, high)  # (2, Q, k + 1)
    worlds = torch.arange(len(inputs)).repeat(len(starts))

    def loss(flat: NDArray[np.float64], batch_indices: list[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        which = worlds[batch_indices]
        value, gradient = negative_log_evidence(
            torch.from_numpy(flat), kernel, tuple(part[which] for part in prepared), targets
        )
        return value.numpy(), gradient.numpy()

    found, values, _ = fmin_l_bfgs_b_batched(
        loss, starts.flatten(0, 1).numpy(), bounds=bounds, maxiter=60, factr=None, ftol=1e-7, pass_batch_indices=True
    )
    values = torch.as_tensor(np.asarray(values)).reshape(len(starts), -1)
    best = torch.from_numpy(np.asarray(found)).reshape(*starts.shape)[values.argmin(0), torch.arange(len(inputs))]
    return GaussianProcess(inputs, targets, best[:, :-1], best[:, -1], kernel=kernel)


def negative_log_evidence(
    parameters: Tensor, kernel: Kernel, prepared: tuple[Tensor, ...], targets: Tensor
) -> tuple[Tensor, Tensor]:
    """-log p(y | theta) - log p(theta) and its gradient, in each world.  parameters: (Q, k + 1) -> (Q,), (Q, k + 1)

    -log p(y | theta) = y^T K^-1 y / 2 + log|K| / 2 + n log(2 pi) / 2
    """
    with torch.enable_grad():
        leaf = parameters.detach().clone().requires_grad_()
        theta, noise = leaf[:, :-1], leaf[:, -1]
        covariance, noise_variance = kernel.evaluate(theta, prepared), noise.exp()
        prior = kernel.log_prior(theta)
    with torch.no_grad():
        n = covariance.shape[-1]
        K = covariance.clone()
        K.diagonal(dim1=-2, dim2=-1).add_(noise_variance[:, None])
        L = robust_cholesky(K)
        y = targets.expand(len(leaf), n).unsqueeze(-1)
        alpha = torch.cholesky_solve(y, L)
        value = 0.5 * (y * alpha).sum((-2, -1)) + L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        value = value + 0.5 * n * math.log(2 * math.pi) - prior
        dK = torch.baddbmm(torch.cholesky_inverse(L), alpha, alpha.mT, beta=0.5, alpha=-0.5)
    outputs = [covariance, noise_variance]
    weights = [dK, dK.diagonal(dim1=-2, dim2=-1).sum(-1)]
    if prior.requires_grad:
        outputs, weights = [*outputs, prior], [*weights, -torch.ones_like(prior)]
    (gradient,) = torch.autograd.grad(outputs, leaf, weights)
    return value, gradient


def _coarse_search(kernel: Kernel, prepared: tuple[Tensor, ...], targets: Tensor, dim: int, *, keep: int) -> Tensor:
    """The best of the kernel's starting points crossed with noise levels, each with its best scale.

    For K = s^2 C the best scale is s^2 = y^T C^-1 y / n.  -> (keep, Q, k + 1)
    """
    values, points = [], []
    y = targets[:, None]
    for start in kernel.starts(dim):
        theta = start.expand(len(prepared[0]), -1)
        covariance = kernel.evaluate(theta, prepared)
        n = covariance.shape[-1]
        for share in STARTING_NOISES:
            L = robust_cholesky(covariance + share * torch.eye(n, dtype=y.dtype))
            half = torch.linalg.solve_triangular(L, y.expand(len(theta), -1, -1), upper=False)
            scale = (half.square().sum((-2, -1)) / n).clamp_min(1e-10).log()
            values.append(0.5 * n * scale + L.diagonal(dim1=-2, dim2=-1).log().sum(-1))
            points.append(
                torch.cat([theta[:, :1] + scale[:, None], theta[:, 1:], (scale + math.log(share))[:, None]], 1)
            )
    order = torch.stack(values).argsort(0)[:keep]  # (keep, Q)
    return torch.stack(points)[order, torch.arange(order.shape[1])]


def robust_cholesky(K: Tensor) -> Tensor:
    """The Cholesky factor, of each matrix with the least of a ladder of jitters that makes it exist.  (..., n, n)"""
    L: Tensor
    L, failed = torch.linalg.cholesky_ex(K)
    if not failed.any():
        return L
    eye = torch.eye(K.shape[-1], dtype=K.dtype, device=K.device)
    size = K.abs().amax((-2, -1)).clamp_min(1e-30)
    jitter = torch.zeros_like(size)
    while failed.any() and jitter.max() < 1e6:
        jitter = torch.where(failed > 0, (10 * jitter).clamp_min(1e-12), jitter)
        L, failed = torch.linalg.cholesky_ex(K + (jitter * size)[..., None, None] * eye)
    return L
