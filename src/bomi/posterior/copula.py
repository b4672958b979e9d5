"""What the other columns say of a gap: a Gaussian copula whose correlations are shrunk."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bomi.space import Categorical, Parameter

NODES = 256
SMOOTHING = 10.0  # a column of so many known values is trusted as much as an even spread


@dataclass(frozen=True)
class Columns:
    """How the columns of a table are spread, and how they move together."""

    nodes: Tensor  # (N,)
    cdf: Tensor  # (p, N) of each column, smoothed and mixed with an even spread
    scores: Tensor  # (n, p) normal scores, NaN in gaps and categories
    correlation: Tensor  # (p, p) of the normal scores, shrunk; categories take no part
    shares: tuple[Tensor, ...]  # of each column's categories

    @classmethod
    def of(cls, codes: Tensor, parameters: list[Parameter]) -> Columns:
        """What the known cells say.  codes: (n, p)"""
        nodes = torch.linspace(0, 1, NODES, dtype=torch.float64)
        cdf, shares = [], []
        for j, parameter in enumerate(parameters):
            known = codes[~codes[:, j].isnan(), j]
            if isinstance(parameter, Categorical):
                counts = torch.bincount(known.long(), minlength=parameter.width).double() + 1
                cdf.append(nodes)
                shares.append(counts / counts.sum())
            else:
                cdf.append(_smooth_cdf(nodes, known.clamp(0, 1)))
                shares.append(torch.empty(0))
        numeric = torch.tensor([not isinstance(parameter, Categorical) for parameter in parameters])
        table = torch.stack(cdf)
        scores = _normal_scores(nodes, table, torch.where(numeric, codes, torch.nan))
        return cls(nodes, table, scores, _shrunk_correlation(scores), tuple(shares))

    def at(self, codes: Tensor) -> Columns:
        """The same columns, for other rows of numbers.  codes: (m, p)"""
        return replace(self, scores=_normal_scores(self.nodes, self.cdf, codes))

    def conditional(self, row: int, gaps: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and root of the covariance of some normal scores of a row given its known ones."""
        scores = self.scores[row]
        linked = (self.correlation[gaps].abs().sum(0) > 0) & ~scores.isnan()
        known = linked.nonzero()[:, 0]
        covariance = self.correlation[gaps][:, gaps]
        if len(known) == 0:
            return torch.zeros(len(gaps), dtype=torch.float64), torch.linalg.cholesky(covariance)
        weights = torch.linalg.solve(self.correlation[known][:, known], self.correlation[known][:, gaps]).T
        rest = covariance - weights @ self.correlation[known][:, gaps]
        return weights @ scores[known], torch.linalg.cholesky(rest + 1e-9 * torch.eye(len(gaps), dtype=torch.float64))


def _smooth_cdf(nodes: Tensor, known: Tensor) -> Tensor:
    """A kernel estimate of a column's distribution, reflected at the ends, mixed with an even spread."""
    if len(known) == 0:
        return nodes
    width = max(1.06 * float(known.std(correction=0)) * len(known) ** -0.2, 0.01)
    mirrored = torch.cat([known, -known, 2 - known])
    cdf: Tensor = torch.special.ndtr((nodes[:, None] - mirrored) / width).sum(-1)
    cdf = (cdf - cdf[0]) / (cdf[-1] - cdf[0])
    trust = len(known) / (len(known) + SMOOTHING)
    return trust * cdf + (1 - trust) * nodes


def _normal_scores(nodes: Tensor, cdf: Tensor, codes: Tensor) -> Tensor:
    """Phi^-1(F_j(x_j)), NaN where x is.  codes: (n, p) -> (n, p)"""
    x = codes.clamp(0, 1).T.contiguous()
    level = interpolate(nodes.expand(cdf.shape).contiguous(), cdf, x.nan_to_num(0.5))
    scores: Tensor = torch.special.ndtri(level.clamp(1e-4, 1 - 1e-4)).T.contiguous()
    scores[codes.isnan()] = torch.nan
    return scores


def _shrunk_correlation(scores: Tensor) -> Tensor:
    """Correlations over the rows that know both, each shrunk by its own sampling error: r (1 - 4 var(r) / r^2)+."""
    known = (~scores.isnan()).double()
    z = scores.nan_to_num(0.0)
    pairs = known.T @ known
    center = (z.T @ known) / pairs.clamp_min(1)  # (p, p): the mean of column i over the rows that know j too
    covariance = (z.T @ z) / pairs.clamp_min(1) - center * center.T
    square = (z.square().T @ known) / pairs.clamp_min(1) - center.square()
    r = covariance / (square * square.T).clamp_min(1e-12).sqrt()
    error = (1 - r.square()).square() / (pairs - 1).clamp_min(1)
    r = torch.where(pairs > 4, r * (1 - 4 * error / r.square().clamp_min(1e-12)).clamp_min(0), 0.0)
    r = r.clamp(-0.999, 0.999).fill_diagonal_(1.0)
    values, vectors = torch.linalg.eigh((r + r.T) / 2)
    fixed = vectors @ torch.diag(values.clamp_min(1e-3)) @ vectors.T
    size = fixed.diagonal().sqrt()
    return fixed / size[:, None] / size if bool((values < 1e-3).any()) else r


def interpolate(at: Tensor, values: Tensor, x: Tensor) -> Tensor:
    """Piecewise linear functions through (at, values), at x.  (..., N), (..., N), (..., S) -> (..., S)"""
    after = torch.searchsorted(at, x, right=True).clamp(1, at.shape[-1] - 1)
    left, right = at.gather(-1, after - 1), at.gather(-1, after)
    share = ((x - left) / (right - left).clamp_min(1e-300)).clamp(0, 1)
    low, high = values.gather(-1, after - 1), values.gather(-1, after)
    return low + share * (high - low)
