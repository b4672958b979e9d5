"""What the features of a row say of one that it lacks: a joint normal, and a sparse regression for each feature.

    z    (n, f)      features, centered and scaled; a missing one at its mean given the others of its row, with
    C    (n, f, f)   the covariance that is left there, 0 where nothing is missing
    w    (f, f)      weights: z_j is near a_j + sum_k w_jk z_k, up to a residual of variance s2_j

The joint normal fills what is missing among the features from which another one is expected, and says how the gaps of
a row move together. It would make columns that are not related related by chance; the sparse regressions do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

EXPECTATIONS = 10  # rounds at most of expectation and maximization for the joint normal
PRIOR = 0.1  # rows for each feature that show no correlation, beside those of the table
ROUNDS = 30  # at most, of learning the precisions of the weights
SPARSITY = 0.1  # shape of these precisions' prior, for a feature a row: the larger, the more weights are taken for 0
SETTLED = 1e-3  # change in a round, in standard deviations, with which the rounds end
LEAST = 5  # known values of a feature, for the others to say something of it
NONE = 1e8  # precision of a weight that is 0


@dataclass(frozen=True)
class Regressions:
    """What is expected of each feature given the others."""

    center: Tensor  # (f,)
    scale: Tensor  # (f,)
    precision: Tensor  # (f, f) of the joint normal
    weights: Tensor  # (f, f) w
    offset: Tensor  # (f,) a
    noise: Tensor  # (f,) s2, with what is not known of a
    covariances: Tensor  # (f, f, f) of each feature's weights

    @classmethod
    def of(cls, features: Tensor, owner: Tensor) -> Regressions:
        """Learned from a table with gaps; a feature says nothing of another of the same owner.  (n, f), (f,)"""
        known = ~features.isnan()
        count = known.sum(0).clamp_min(1)
        center = features.nan_to_num().sum(0) / count
        scale = ((features - center).nan_to_num().square().sum(0) / count).sqrt()
        scale = torch.where(scale > 1e-9, scale, 1.0)
        z = (features - center) / scale
        precision = _joint_precision(z)
        weights, offset, noise, covariances = _sparse_regressions(*_fill(z, precision), known.double(), owner)
        return cls(center, scale, precision, weights, offset, noise, covariances)

    def expect(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and variance of each feature given the others of its row, and the covariance of those that are missing.

        All of centered and scaled features.  (n, f) -> (n, f), (n, f), (n, f, f)
        """
        z, C = _fill((features - self.center) / self.scale, self.precision)
        missing = torch.einsum("jk,nkl,jl->nj", self.weights, C, self.weights)
        return self.offset + z @ self.weights.T, self.noise + self._uncertainty(z) + missing, C

    def of_known(self, features: Tensor) -> Tensor:
        """What the regressions expect of features that are known, each without its own row.  (n, f) -> (n, f)

        With r the residual and h = z^T V z / s2 the row's leverage it is z - r / (1 - h). NaN where the feature is
        missing, or another that has a weight.
        """
        z = (features - self.center) / self.scale
        filled = z.nan_to_num()
        lacking = (z.isnan().double() @ (self.weights != 0).double().T > 0) | z.isnan()
        residual = z - self.offset - filled @ self.weights.T
        alone = residual / (1 - self._uncertainty(filled) / self.noise).clamp_min(0.1)
        return torch.where(lacking, torch.nan, z - alone)

    def _uncertainty(self, z: Tensor) -> Tensor:
        """The variance that the weights' own uncertainty leaves.  (n, f) -> (n, f)"""
        return torch.einsum("nk,jkl,nl->nj", z, self.covariances, z)


def _joint_precision(z: Tensor) -> Tensor:
    """The inverse covariance of a normal, by EM over the rows with gaps, as if some rows had shown the identity.

    z: (n, f) -> (f, f)
    """
    n, f = z.shape
    eye = torch.eye(f, dtype=z.dtype)
    covariance = precision = eye
    for _ in range(EXPECTATIONS if z.isnan().any() else 1):
        filled, C = _fill(z, precision)
        before, covariance = covariance, (filled.T @ filled + C.sum(0) + f * PRIOR * eye) / (n + f * PRIOR)
        precision = torch.linalg.inv(covariance)
        if bool((covariance - before).abs().max() < SETTLED):
            break
    return precision


def _fill(z: Tensor, precision: Tensor) -> tuple[Tensor, Tensor]:
    """Missing features at their mean given the others of the row, and their covariance.  (n, f) -> (n, f), (n, f, f)

    With P the precision, g the missing and o the other features: mean -P_gg^-1 P_go z_o, covariance P_gg^-1.
    """
    gap = z.isnan()
    known = z.nan_to_num()
    both = gap[:, :, None] & gap[:, None, :]
    covariance = torch.zeros(*z.shape, z.shape[1], dtype=z.dtype)
    rows = gap.any(-1)
    if not rows.any():
        return known, covariance
    block = torch.where(both[rows], precision, 0.0) + torch.diag_embed((~gap[rows]).double())
    covariance[rows] = torch.where(both[rows], torch.linalg.inv(block), 0.0)
    return known - (covariance @ (known @ precision).unsqueeze(-1)).squeeze(-1), covariance


def _sparse_regressions(z: Tensor, C: Tensor, known: Tensor, owner: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Each feature on the others, over the rows that know it: w_jk ~ N(0, 1 / alpha_jk), all alpha learned.

    With V the variance of a weight and c = SPARSITY f / n, alpha = (1 - alpha V + 2 c) / w^2 again and again: the
    precision of a weight that the rows do not ask for grows without bound (automatic relevance determination; Tipping
    2001). The more features there are for a row, the more of them seem related by chance, and the larger is c.
    -> w (f, f), a (f,), s2 (f,), V (f, f, f)
    """
    count = known.sum(0)  # (f,)
    rows = count.clamp_min(1)
    means = (known.T @ z) / rows[:, None]  # (f, f): of feature k over the rows that know j
    product = (known.T @ (z[:, :, None] * z[:, None, :] + C).flatten(1)).unflatten(1, means.shape)
    gram = product - count[:, None, None] * means[:, :, None] * means[:, None, :]  # (f, f, f)
    every = torch.arange(len(owner))
    total, b = gram[every, every, every], gram[every, :, every]  # (f,), (f, f)
    apart = (owner[:, None] == owner) | (count < LEAST)[:, None] | (total <= 1e-9)[:, None]
    sparsity = SPARSITY * len(owner) / rows[:, None]  # (f, 1)
    alpha = torch.where(apart, NONE, float(len(owner)))
    noise = (0.5 * total / rows).clamp_min(1e-6)
    w = torch.zeros_like(b)
    for _ in range(ROUNDS):
        V = torch.linalg.inv(gram / noise[:, None, None] + torch.diag_embed(alpha))
        before, w = w, (V @ b.unsqueeze(-1)).squeeze(-1) / noise[:, None]
        determined = (1 - alpha * V.diagonal(dim1=-2, dim2=-1)).clamp(0, 1)  # by the rows, 0 to 1
        left = total - 2 * (w * b).sum(-1) + torch.einsum("jk,jkl,jl->j", w, gram, w)
        noise = (left / (count - 1 - determined.sum(-1)).clamp_min(1)).clamp_min(1e-6)
        alpha = ((determined + 2 * sparsity) / w.square().clamp_min(1e-12)).clamp(1e-3, NONE).where(~apart, NONE)
        if bool((w - before).abs().max() < SETTLED):
            break
    w = torch.where(alpha > 1e6, 0.0, w)
    related = (w != 0).any(-1)
    # The mean of the variance's posterior. To have tried a weight that is 0 has cost half a degree of freedom.
    free = count - 3 - determined.clamp_min(0.5).where(~apart, 0.0).sum(-1)
    noise = (left / free.clamp_min(1) * (1 + 1 / rows)).clamp_min(1e-6).where(related, 1.0)
    # Nor is it known to be 0: its prior is no narrower than what the rows alone leave open, but for a factor of two.
    alone = gram.diagonal(dim1=-2, dim2=-1) / noise[:, None] + 1e-9
    V = torch.linalg.inv(gram / noise[:, None, None] + torch.diag_embed(alpha.minimum(0.5 * alone).where(~apart, NONE)))
    offset = (means[every, every] - (w * means).sum(-1)).where(related, 0.0)
    return w, offset, noise, V.where(related[:, None, None], 0.0)
