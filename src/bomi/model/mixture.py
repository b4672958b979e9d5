"""The worlds as one BoTorch model: a mixture of Gaussian processes, one for each world.

    m, C   (..., Q, q), (..., Q, q, q)  mean and covariance of f at q points in each of Q worlds
    w      (..., Q)                     how likely each world is; they add to one

A mixture is not a Gaussian. Its mean and variance, which analytic acquisitions use, follow from the law of total
variance,

    E f = sum_q w_q m_q,    var f = sum_q w_q (C_q + (m_q - E f)^2),

and its samples, which Monte-Carlo acquisitions use, are each drawn from one world.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import torch
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models.model import Model
from botorch.posteriors.posterior import Posterior
from botorch.sampling.base import MCSampler
from botorch.sampling.get_sampler import GetSampler
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch.sampling.pathwise.posterior_samplers import DrawMatheronPaths
from botorch.sampling.pathwise.prior_samplers import DrawKernelFeaturePaths
from torch import Size, Tensor

from bomi.errors import MethodError
from bomi.model.gaussian_process import GaussianProcess, robust_cholesky

OF_ONE_PROCESS = ("train_inputs", "train_targets", "likelihood", "mean_module", "covar_module")
INSTEAD = "take an acquisition that uses mean and variance or samples; of entropy searches, qLowerBoundMaxValueEntropy"


class NotGaussianError(MethodError, AttributeError):
    """Something that only a Gaussian posterior has."""


class MixturePosterior(Posterior):
    """The joint posterior of f at q points, over all worlds.

    It is sampled from q + 1 normal numbers: the first chooses the world, the others are those of a Gaussian there. So
    any of BoTorch's samplers of normal numbers serves, and quasi-random ones spread over the worlds too.
    """

    def __init__(self, mean: Tensor, covariance: Tensor, weights: Tensor) -> None:
        self.means, self.covariances = mean, covariance  # (..., Q, q), (..., Q, q, q)
        self.weights = weights.expand(mean.shape[:-1])  # (..., Q)

    @property
    def device(self) -> torch.device:
        """Where the numbers lie."""
        return self.means.device

    @property
    def dtype(self) -> torch.dtype:
        """What kind of numbers they are."""
        return self.means.dtype

    @property
    def batch_shape(self) -> Size:
        """What comes before the worlds."""
        return self.means.shape[:-2]

    @property
    def mean(self) -> Tensor:
        """sum_q w_q m_q.  (..., q, 1)"""
        return (self.weights.unsqueeze(-1) * self.means).sum(-2).unsqueeze(-1)

    @property
    def variance(self) -> Tensor:
        """sum_q w_q (C_q + (m_q - mean)^2).  (..., q, 1)"""
        inner = self.covariances.diagonal(dim1=-2, dim2=-1)
        total = inner + (self.means - self.mean.squeeze(-1).unsqueeze(-2)).square()
        return (self.weights.unsqueeze(-1) * total).sum(-2).unsqueeze(-1)

    def quantile(self, value: Tensor) -> Tensor:
        """Where the distribution function sum_q w_q Phi((y - m_q) / s_q) reaches a value, by bisection.

        () -> (..., q, 1), or with the shape of several values before it
        """
        if value.numel() > 1:
            return torch.stack([self.quantile(one) for one in value])
        mean, sd = self.means, self.covariances.diagonal(dim1=-2, dim2=-1).sqrt()  # (..., Q, q)
        ends = mean + sd * torch.special.ndtri(value.to(mean))  # a mixture's quantile lies between its members'
        low, high = ends.amin(-2), ends.amax(-2)
        for _ in range(64):
            middle = (low + high) / 2
            below = (self.weights.unsqueeze(-1) * torch.special.ndtr((middle.unsqueeze(-2) - mean) / sd)).sum(-2)
            low, high = torch.where(below < value, middle, low), torch.where(below < value, high, middle)
        found: Tensor = (low + high) / 2
        return found.unsqueeze(-1)

    def density(self, value: Tensor) -> Tensor:
        """sum_q w_q N(value; m_q, s_q^2) at each point.  () -> (..., q, 1), or as above"""
        if value.numel() > 1:
            return torch.stack([self.density(one) for one in value])
        sd = self.covariances.diagonal(dim1=-2, dim2=-1).sqrt()
        each = torch.exp(-0.5 * ((value - self.means) / sd).square()) / (sd * math.sqrt(2 * math.pi))
        return (self.weights.unsqueeze(-1) * each).sum(-2).unsqueeze(-1)

    def scaled(self, factor: Tensor, offset: float) -> MixturePosterior:
        """That of factor f + offset.  factor: ()"""
        return MixturePosterior(factor * self.means + offset, factor.square() * self.covariances, self.weights)

    @property
    def distribution(self) -> NoReturn:
        """There is none: a mixture is not a Gaussian."""
        raise NotGaussianError(f"a mixture of worlds is not a Gaussian: {INSTEAD}")

    mvn = distribution

    @property
    def base_sample_shape(self) -> Size:
        """One number for the world, and one for each point."""
        return self.batch_shape + Size([self.means.shape[-1] + 1])

    @property
    def batch_range(self) -> tuple[int, int]:
        """All but the last dimension of a base sample are batches, which share their chance."""
        return (0, -1)

    def _extended_shape(self, sample_shape: Size = Size()) -> Size:  # noqa: B008
        return sample_shape + self.batch_shape + Size([self.means.shape[-1], 1])

    def rsample_from_base_samples(self, sample_shape: Size, base_samples: Tensor) -> Tensor:
        """Samples with gradients.  base_samples: (sample_shape, ..., q + 1) -> (sample_shape, ..., q, 1)"""
        z = base_samples.expand(sample_shape + self.base_sample_shape)
        ends = self.weights.detach().cumsum(-1)[..., :-1]  # (..., Q - 1)
        world = (torch.special.ndtr(z[..., :1]) > ends).sum(-1)  # (sample_shape, ...)
        roots = robust_cholesky(self.covariances)
        pick = world[..., None, None]
        mean = self.means.expand(*sample_shape, *self.means.shape)
        mean = mean.gather(-2, pick.expand(*world.shape, 1, mean.shape[-1])).squeeze(-2)
        if z.shape[-1] == 2:  # a single point: no matrices
            sd = roots.squeeze(-1).expand(*sample_shape, *self.means.shape).gather(-2, pick).squeeze(-2)
            return (mean + sd * z[..., 1:]).unsqueeze(-1)
        root = roots.expand(*sample_shape, *roots.shape)
        root = root.gather(-3, pick[..., None].expand(*world.shape, 1, *root.shape[-2:])).squeeze(-3)
        return mean.unsqueeze(-1) + root @ z[..., 1:, None]

    def rsample(self, sample_shape: Size | None = None) -> Tensor:
        """Samples with gradients, from torch's own chance."""
        shape = Size([1]) if sample_shape is None else sample_shape
        z = torch.randn(shape + self.base_sample_shape, dtype=self.dtype, device=self.device)
        return self.rsample_from_base_samples(shape, z)


@GetSampler.register(MixturePosterior)  # type: ignore[untyped-decorator]
def _sampler(posterior: MixturePosterior, sample_shape: Size, *, seed: int | None = None) -> MCSampler:
    return SobolQMCNormalSampler(sample_shape=sample_shape, seed=seed)


class Mixture(Model):
    """A batch of Gaussian processes as one model of f, in the unit cube and in scaled outcomes, larger is better.

    `X`, `Y` are further observations that it is conditioned on, with noise of a variance: each world learns from them,
    and worlds that expected them gain weight.  X: (..., k, d), Y: (..., k, 1), noise: (..., Q, k)
    """

    _supports_cache_root = False

    def __init__(
        self, worlds: GaussianProcess, X: Tensor | None = None, Y: Tensor | None = None, noise: Tensor | None = None
    ) -> None:
        super().__init__()
        self.worlds = worlds
        self.X, self.Y, self.noise = X, Y, noise

    def __getattr__(self, name: str) -> Any:
        """What acquisitions seek in a single process is in none of several."""
        if name in OF_ONE_PROCESS:
            raise NotGaussianError(f"a mixture of worlds has no {name}: {INSTEAD}")
        return super().__getattr__(name)

    @property
    def num_outputs(self) -> int:
        """One outcome."""
        return 1

    @property
    def batch_shape(self) -> Size:
        """That of the further observations, if any: the worlds are within."""
        return Size() if self.Y is None else self.Y.shape[:-2]

    @property
    def bounds(self) -> Tensor:
        """The unit cube, as `optimize_acqf` takes it.  (2, d)"""
        d = self.worlds.places.shape[-1]
        return torch.stack([torch.zeros(d, dtype=torch.float64), torch.ones(d, dtype=torch.float64)])

    @property
    def baseline(self) -> Tensor:
        """Where the experiments were, with gaps at their mean over the worlds: `X_baseline` of noisy EI.  (n, d)"""
        return self.worlds.places.mean(0).clamp(0, 1).cpu()

    @property
    def best_f(self) -> Tensor:
        """The best f at a row of the table, averaged over the worlds: `best_f` of expected improvement.  ()"""
        return self.worlds.fitted().amax(-1).mean()

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: Any = None,
    ) -> Any:
        """The joint posterior of f, or of outcomes with noise, at q points.  X: (..., q, d)"""
        mean, covariance, weights = self._moments(X)
        if observation_noise is not False:
            noise = self.worlds.noise.exp()[:, None].to(mean) if observation_noise is True else observation_noise.mT
            covariance = covariance + torch.diag_embed(noise.expand(mean.shape))
        posterior = MixturePosterior(mean, covariance, weights)
        if isinstance(posterior_transform, ScalarizedPosteriorTransform):
            (factor,) = torch.as_tensor(posterior_transform.weights)
            return posterior.scaled(factor, posterior_transform.offset)
        return posterior if posterior_transform is None else posterior_transform(posterior)

    def _moments(self, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """m, C and w, given the further observations.

        With K = C_kk + noise I of these in a world: m + C_qk K^-1 (Y - m_k), C - C_qk K^-1 C_kq, and a weight in
        proportion to N(Y; m_k, K).
        """
        Q, q = len(self.worlds.inputs), X.shape[-2]
        if self.X is None or self.Y is None or self.noise is None:
            prior = self.worlds.posterior(X).distribution
            return prior.mean, prior.covariance_matrix, torch.full((Q,), 1 / Q, dtype=X.dtype, device=X.device)
        batch = torch.broadcast_shapes(X.shape[:-2], self.X.shape[:-2], self.Y.shape[:-2])
        both = torch.cat([X.expand(*batch, *X.shape[-2:]), self.X.expand(*batch, *self.X.shape[-2:])], -2)
        joint = self.worlds.posterior(both).distribution
        mean, covariance = joint.mean, joint.covariance_matrix  # (..., Q, q + k), (..., Q, q + k, q + k)
        L = robust_cholesky(covariance[..., q:, q:] + torch.diag_embed(self.noise))
        half = torch.linalg.solve_triangular(L, covariance[..., q:, :q], upper=False)  # (..., Q, k, q)
        rest = self.Y.squeeze(-1).unsqueeze(-2) - mean[..., q:]  # (..., Q, k)
        white = torch.linalg.solve_triangular(L, rest.unsqueeze(-1), upper=False)
        evidence = -0.5 * white.square().sum((-2, -1)) - L.diagonal(dim1=-2, dim2=-1).log().sum(-1)  # (..., Q)
        new_mean = mean[..., :q] + (half.mT @ white).squeeze(-1)
        return new_mean, covariance[..., :q, :q] - half.mT @ half, evidence.softmax(-1)

    def condition_on_observations(self, X: Tensor, Y: Tensor, noise: Tensor | None = None, **kwargs: Any) -> Mixture:
        """The same with further observations; without a variance of their noise it is what each world has learned.

        X: (..., k, d), Y: (..., k, 1), noise: (..., k, 1)
        """
        if noise is None:
            own = self.worlds.noise.exp()[:, None].to(Y).expand(-1, Y.shape[-2])
        else:
            own = noise.expand(Y.shape).mT.expand(*Y.shape[:-2], len(self.worlds.inputs), Y.shape[-2])
        if self.X is not None and self.Y is not None and self.noise is not None:
            batch = torch.broadcast_shapes(X.shape[:-2], Y.shape[:-2], self.X.shape[:-2], self.Y.shape[:-2])
            X = torch.cat([part.expand(*batch, *part.shape[-2:]) for part in (self.X, X)], -2)
            Y = torch.cat([part.expand(*batch, *part.shape[-2:]) for part in (self.Y, Y)], -2)
            own = torch.cat([part.expand(*batch, *part.shape[-2:]) for part in (self.noise, own)], -1)
        return Mixture(self.worlds, X, Y, own)

    def fantasize(
        self, X: Tensor, sampler: MCSampler, observation_noise: Tensor | None = None, **kwargs: Any
    ) -> Mixture:
        """As if the points had been tried, once for each sample of their outcomes; for look-ahead acquisitions.

        X: (..., q, d), observation_noise: the variance of their noise, (..., q, 1)
        """
        Y = sampler(self.posterior(X, observation_noise=True if observation_noise is None else observation_noise))
        return self.condition_on_observations(X, Y, noise=observation_noise)

    def subset_output(self, idcs: list[int]) -> Mixture:
        """The model itself, as it has one outcome."""
        if list(idcs) not in ([0], [-1]):
            raise MethodError(
                f"the model has one outcome, of index 0, but got {idcs!r}; "
                "WorldsModel(optimizer, outcome=NAME) is that of another"
            )
        return self


@DrawKernelFeaturePaths.register(Mixture)  # type: ignore[untyped-decorator]
@DrawMatheronPaths.register(Mixture)  # type: ignore[untyped-decorator]
def _paths(model: Mixture, **kwargs: Any) -> NoReturn:
    raise MethodError(
        "pathwise samples need a kernel of GPyTorch's; draw samples at points of your choice instead, by "
        "MaxPosteriorSampling or model.posterior(X).rsample(...)"
    )
