"""A batch of Gaussian processes, one for each completed world, as one BoTorch model.

    X      (Q, n, d)   inputs of each world          y      (n,)      targets, common to all
    theta  (Q, k)      kernel's log hyper-parameters noise  (Q,)      log noise variance
    K      (Q, n, n)   k(X, X) + noise I + errors    alpha  (Q, n)    K^-1 y
                       = L L^T                       errors (n,)      variances of targets known beforehand, or None

Plain torch linear algebra: one Cholesky for all worlds, and the gradient of the marginal likelihood through
the kernel alone, since dL/dK = (K^-1 - alpha alpha^T) / 2 is known in closed form.

All of it is computed where the inputs lie, on a GPU if they do; points come from, and what is learned goes back to,
wherever the caller computes.
"""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable
from typing import Any

import torch
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from gpytorch.distributions import MultivariateNormal
from torch import Tensor

from bomi.model.kernels import Kernel, cross

CHUNK = 500_000  # covariances between points and rows at a time
GPU_CHUNK = 8 * CHUNK
SCALED_BY = 5  # rows that the scale of a process counts for as it is
MOST_PREDICTED = 128  # rows that tell of it
STRIPS = 5  # in which a triangular matrix is multiplied

logger = logging.getLogger(__name__)


class GaussianProcess(Model):
    """Q Gaussian processes with zero mean, given their hyper-parameters."""

    def __init__(
        self,
        inputs: Tensor,
        targets: Tensor,
        theta: Tensor,
        noise: Tensor,
        *,
        kernel: Kernel,
        errors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel, self.theta, self.noise = kernel, theta, noise
        self.inputs = inputs
        self.targets = targets.expand(inputs.shape[:-1])
        self.variances = noise.exp()[:, None] if errors is None else noise.exp()[:, None] + errors  # (Q, 1) or (Q, n)
        with torch.no_grad():
            K = cross(kernel, theta, inputs, inputs)
            K.diagonal(dim1=-2, dim2=-1).add_(self.variances)
            self.L = robust_cholesky(K)
        self.alpha = torch.cholesky_solve(self.targets.unsqueeze(-1), self.L).squeeze(-1)

    @property
    def num_outputs(self) -> int:
        """One outcome."""
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        """The worlds."""
        return self.inputs.shape[:1]

    @property
    def places(self) -> Tensor:
        """Where the rows are, as points are asked about.  (Q, n, d)"""
        return self.inputs

    @property
    def hyper(self) -> Tensor:
        """The log hyper-parameters with the log noise last.  (Q, k + 1)"""
        return torch.cat([self.theta, self.noise[:, None]], -1).cpu()

    def moments(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of f in each world.  points: (m, d) or (Q, m, d) -> (Q, m), (Q, m)"""
        mean, variance = self._in_parts(lambda points: self._moments(points)[:2], points)
        return mean, variance

    def lessons(self, places: Tensor) -> Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]:
        """What an outcome at a point would teach, noise included: the mean there, and by how much that and the means at
        some places would move for each standard deviation of the outcome.

        With s^2 the variance of f at x and t^2 the noise, that is s^2 / sqrt(s^2 + t^2) at the point itself, and
        cov(f(a), f(x)) / sqrt(s^2 + t^2) at a place a.  (Q, k, d) -> of points (m, d) or (Q, m, d): (Q, m), (Q, m),
        (Q, k, m)
        """
        a = self._place(places)
        with torch.no_grad():
            k = cross(self.kernel, self.theta, self.inputs, a)  # (Q, n, k)
            whitened = torch.linalg.solve_triangular(self.L, k, upper=False)

        def compute(points: Tensor) -> tuple[Tensor, ...]:
            mean, variance, half, k = self._moments(points, a)
            size = (variance + self.noise.exp()[:, None]).sqrt()
            return mean, variance / size, (k - whitened.mT @ half) / size.unsqueeze(1)

        def of(points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            mean, own, others = self._in_parts(compute, points)
            return mean, own, others

        return of

    def _in_parts(self, compute: Callable[[Tensor], tuple[Tensor, ...]], points: Tensor) -> tuple[Tensor, ...]:
        """What is computed of so many points at a time that it stays small, where the points are."""
        most = max((GPU_CHUNK if self.inputs.is_cuda else CHUNK) // self.inputs[..., 0].numel(), 8)
        if points.shape[-2] <= most or torch.is_grad_enabled():
            return tuple(part.to(points.device) for part in compute(points))
        parts = [compute(part) for part in points.split(most, -2)]
        return tuple(torch.cat(each, -1).to(points.device) for each in zip(*parts, strict=True))

    def _moments(self, points: Tensor, places: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Mean and variance of f, L^-1 k(X, x), and the prior covariance with some places.

        (m, d) or (Q, m, d), (Q, k, d) -> (Q, m), (Q, m), (Q, n, m), (Q, k, m)
        """
        x = self._place(points).expand(len(self.inputs), -1, -1)
        others = self.inputs if places is None else torch.cat([self.inputs, places], -2)
        k, beside = cross(self.kernel, self.theta, others, x).tensor_split([self.inputs.shape[-2]], -2)
        half = torch.linalg.solve_triangular(self.L, k, upper=False)
        mean = (k * self.alpha.unsqueeze(-1)).sum(-2)
        prior = self.kernel.diagonal(self.theta, x)
        return mean, (prior - half.square().sum(-2)).clamp_min(1e-12 * prior.detach()), half, beside

    def means(self, points: Tensor) -> Tensor:
        """The mean alone, which takes no triangular solve.  (m, d) or (Q, m, d) -> (Q, m)"""

        def compute(points: Tensor) -> tuple[Tensor]:
            x = self._place(points).expand(len(self.inputs), -1, -1)
            return ((cross(self.kernel, self.theta, self.inputs, x) * self.alpha.unsqueeze(-1)).sum(-2),)

        (mean,) = self._in_parts(compute, points)
        return mean

    def worlds(self) -> list[GaussianProcess]:
        """Each world alone."""
        each = [copy.copy(self) for _ in self.inputs]
        for name in ("inputs", "targets", "theta", "noise", "variances", "L", "alpha"):
            for one, part in zip(each, getattr(self, name).split(1), strict=True):
                setattr(one, name, part)
        return each

    def fitted(self) -> Tensor:
        """Posterior mean of f at each world's own rows: y - (noise + errors) alpha.  (Q, n)"""
        return (self.targets - self.variances * self.alpha).cpu()

    def fitted_now(self) -> Tensor:
        """The same, were the rows made now.  (Q, n)"""
        return self.fitted()

    def under(self, now: Tensor) -> GaussianProcess:
        """The same, asked about places under other conditions.  (e,)"""
        return self

    def leave_one_out(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the targets of some rows, noise included, given all others.  (R,) -> (Q, R), (Q, R)

        mu_i = y_i - alpha_i / [K^-1]_ii and 1 / [K^-1]_ii, without a second fit (Sundararajan and Keerthi 2001).
        """
        at = rows.to(self.inputs.device)
        variance = 1 / self._precisions(at)
        return (self.targets[:, at] - self.alpha[:, at] * variance).cpu(), variance.cpu()

    def rescaled(self, rows: Tensor) -> GaussianProcess:
        """With variances by which some rows are predicted from all others, if these are larger. The means stay.

        All variances are c times as large, where c is the mean of (y_i - mu_i)^2 / s_i^2 over these rows and all
        worlds, mu_i and s_i^2 given all other rows: the scale by cross-validation, for a process that is not quite the
        data's (Bachoc 2013). It counts beside SCALED_BY rows of which it is 1.  (R,)
        """
        rows = rows[:: math.ceil(len(rows) / MOST_PREDICTED)] if len(rows) else rows
        mean, variance = self.leave_one_out(rows)
        off = (self.targets[:, rows.to(self.inputs.device)].cpu() - mean).square() / variance
        c = max((SCALED_BY + float(off.mean(0).sum())) / (SCALED_BY + len(rows)), 1.0)
        scaled = copy.copy(self)
        scaled.theta = torch.cat([self.theta[:, :1] + math.log(c), self.theta[:, 1:]], -1)
        scaled.noise, scaled.variances = self.noise + math.log(c), self.variances * c
        scaled.L, scaled.alpha = self.L * math.sqrt(c), self.alpha / c
        return scaled

    def without_row(self, rows: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the targets of some rows, noise included, were they at other points, given all others.

        rows: (R,), points: (Q, R, d) -> (Q, R), (Q, R)
        """
        x = self._place_rows(points, rows.to(self.inputs.device))
        k = cross(self.kernel, self.theta, self.inputs, x).mT  # (Q, R, n)
        prior = self.kernel.diagonal(self.theta, x).unsqueeze(-1)
        root = self.inverse_root()
        mean, variance = self.without_row_by(rows, k.unsqueeze(-2), prior, root, root.mT @ root)
        return mean.squeeze(-1), variance.squeeze(-1)

    def inverse_root(self) -> Tensor:
        """L^-1, whose square is K^-1.  (Q, n, n)"""
        eye = torch.eye(self.L.shape[-1], dtype=self.L.dtype, device=self.L.device)
        root: Tensor = torch.linalg.solve_triangular(self.L, eye, upper=False)
        return root

    def without_row_by(
        self, rows: Tensor, k: Tensor, prior: Tensor, root: Tensor, inverse: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The same for several points of each row, by their covariances with all rows and their prior variance.

        With u = P k and P = K^-1, the row itself is taken out of mean k^T alpha and explained variance k^T u by
        u_i alpha_i / P_ii and u_i^2 / P_ii.  (R,), (Q, R, S, n), (Q, R, S), L^-1, P -> (Q, R, S), (Q, R, S)
        """
        at, n = rows.to(self.inputs.device), k.shape[-1]
        mean, u, precision = self._mean_without(at, k, inverse)
        flat, explained = k.flatten(1, 2), k.new_zeros(k.shape[:-1])
        for start in range(0, n, strip := max(n // STRIPS, 1)):  # L^-1 is triangular: the rest of a strip is 0
            stop = min(start + strip, n)
            half = flat[..., :stop] @ root[:, start:stop, :stop].mT
            explained += half.square_().sum(-1).view_as(u)
        explained -= u.square() / precision
        noise = self.variances.expand_as(self.targets)[:, at, None]
        return mean.cpu(), ((prior - explained).clamp_min(0) + noise).cpu()

    def mean_without_row(self, rows: Tensor, k: Tensor, inverse: Tensor) -> Tensor:
        """The mean of these alone.  (R,), (Q, R, S, n), P -> (Q, R, S)"""
        return self._mean_without(rows.to(self.inputs.device), k, inverse)[0].cpu()

    def _mean_without(self, at: Tensor, k: Tensor, inverse: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The mean, u_i and P_ii.  (Q, R, S), (Q, R, S), (Q, R, 1)"""
        precision, u = inverse.diagonal(dim1=-2, dim2=-1)[:, at, None], (k * inverse[:, at, None]).sum(-1)
        return (k * self.alpha[:, None, None]).sum(-1) - u * self.alpha[:, at, None] / precision, u, precision

    def means_of(self, points: Tensor, targets: Tensor) -> Tensor:
        """The posterior means that other targets would give.  points: (m, d), targets: (Q, n, b) -> (Q, m, b)"""
        x = self._place(points).expand(len(self.inputs), -1, -1)
        k = cross(self.kernel, self.theta, self.inputs, x)  # (Q, n, m)
        return (k.mT @ torch.cholesky_solve(targets.to(self.inputs.device), self.L)).cpu()

    def influence(self, point: Tensor) -> Tensor:
        """By how much each row moves the mean at a point, against the mean without it: u_i alpha_i / [K^-1]_ii.

        u = K^-1 k, k the covariance of the point with all rows.  (d,) -> (Q, n)
        """
        x = self._place(point)[None].expand(len(self.inputs), -1, -1)
        u = torch.cholesky_solve(cross(self.kernel, self.theta, self.inputs, x), self.L).squeeze(-1)
        every = torch.arange(self.inputs.shape[1], device=self.inputs.device)
        return (u * self.alpha / self._precisions(every)).cpu()

    def _precisions(self, rows: Tensor) -> Tensor:
        """[K^-1]_ii = |L^-1 e_i|^2 of some rows.  (R,) -> (Q, R)"""
        e = torch.zeros(self.L.shape[-1], len(rows), dtype=self.L.dtype, device=self.L.device)
        e[rows, torch.arange(len(rows), device=self.L.device)] = 1.0
        # One world at a time: the inverses of all would be as large as their factors.
        return torch.stack([torch.linalg.solve_triangular(L, e, upper=False).square().sum(-2) for L in self.L])

    def posterior(self, X: Tensor, *args: Any, **kwargs: Any) -> GPyTorchPosterior:
        """The joint posterior of f at q points in each world.  X: (..., q, d) -> batch (..., Q), event q"""
        x = self._place(X)
        x = x.expand(len(self.inputs), *x.shape)  # (Q, ..., q, d)
        k = cross(self.kernel, self.theta, self.inputs, x.flatten(1, -2))  # (Q, n, ... q)
        half = torch.linalg.solve_triangular(self.L, k, upper=False)
        mean = (k * self.alpha.unsqueeze(-1)).sum(-2).reshape(x.shape[:-1])
        half = half.mT.reshape(*x.shape[:-1], -1)
        covariance = cross(self.kernel, self.theta, x, x) - half @ half.mT
        jitter = 1e-10 * self.theta[:, 0].exp().reshape(-1, *[1] * (mean.ndim - 1)).expand(mean.shape)
        covariance = (covariance + torch.diag_embed(jitter)).movedim(0, -3)
        return GPyTorchPosterior(MultivariateNormal(mean.movedim(0, -2).to(X.device), covariance.to(X.device)))

    def draws(self, points: Tensor, count: int, rng: torch.Generator) -> Tensor:
        """Joint draws of f at some points in each world.  (m, d) -> (count, Q, m)"""
        joint = self.posterior(points).distribution  # batch Q, event m
        z = torch.randn(count, *joint.mean.shape, generator=rng, dtype=torch.float64)
        found: Tensor = joint.mean + (z.unsqueeze(-2) @ robust_cholesky(joint.covariance_matrix).mT).squeeze(-2)
        return found

    def condition_on(self, points: Tensor, noise: float | None = None) -> GaussianProcess:
        """As if the points had been tried and each world had been right about them.

        The mean stays, the variance shrinks: pending points are not asked for again
        (Desautels, Krause, Burdick 2014).  points: (m, d) or (Q, m, d); noise: of these trials, the world's own if none
        is given

        Nothing is factorized anew: with k = k(X, x) the factor grows by the rows [(L^-1 k)^T, R], R R^T = k(x, x) +
        noise - k^T K^-1 k, and a target that is the mean itself adds a 0 to alpha.
        """
        x = self._place(points).expand(len(self.inputs), -1, -1)
        with torch.no_grad():
            k = cross(self.kernel, self.theta, self.inputs, x)  # (Q, n, m)
            half = torch.linalg.solve_triangular(self.L, k, upper=False)
            rest = cross(self.kernel, self.theta, x, x) - half.mT @ half
            variance = self.noise.exp()[:, None] if noise is None else torch.full_like(self.noise[:, None], noise)
            rest.diagonal(dim1=-2, dim2=-1).add_(variance)
            beside = torch.zeros_like(half)
            grown = torch.cat([torch.cat([self.L, half.mT], 1), torch.cat([beside, robust_cholesky(rest)], 1)], 2)
        more = copy.copy(self)
        more.inputs, more.L = torch.cat([self.inputs, x], -2), grown
        mean = (k * self.alpha.unsqueeze(-1)).sum(-2)
        more.targets = torch.cat([self.targets, mean], -1)
        more.alpha = torch.cat([self.alpha, torch.zeros_like(mean)], -1)
        if self.variances.shape[-1] > 1 or noise is not None:
            each = self.variances.expand_as(self.targets)
            more.variances = torch.cat([each, variance.expand_as(mean)], -1)
        return more

    def _place_rows(self, points: Tensor, rows: Tensor) -> Tensor:
        """Points as the kernel takes them, each for one of the rows.  (Q, R, d)"""
        return self._place(points)

    def _place(self, points: Tensor) -> Tensor:
        """The points as the kernel takes them, where it computes."""
        return points.to(self.inputs.device)


def with_hyper(
    inputs: Tensor, targets: Tensor, hyper: Tensor, *, kernel: Kernel, errors: Tensor | None = None
) -> GaussianProcess:
    """The processes with hyper-parameters given as one tensor, the noise last.  hyper: (Q, k + 1)"""
    hyper = hyper.to(inputs.device)
    return GaussianProcess(inputs, targets, hyper[:, :-1], hyper[:, -1], kernel=kernel, errors=errors)


def misfit(y: Tensor, alpha: Tensor, L: Tensor) -> Tensor:
    """-log p(y | theta), given K^-1 y and the Cholesky factor.  (Q, n), (Q, n), (Q, n, n) -> (Q,)"""
    value = 0.5 * (y * alpha).sum(-1) + L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return value + 0.5 * y.shape[-1] * math.log(2 * math.pi)


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
    logger.info(
        "fit trouble: a covariance matrix of %d rows is factorized with a jitter of %.0e", len(eye), jitter.max()
    )
    return L
