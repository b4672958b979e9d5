"""How a column is spread, and how a gap in it is, given what the other columns make one expect there.

A distribution function is tabulated at N nodes: linear between them, and with a step where two are the same, at the
first where it does not begin with 0 and at the last where it does not end with 1.

    m, v   (G, 1)   mean and variance of a gap's feature, in units of the column's mean and standard deviation
    x      codes: numbers in [0, 1], categories as indices        z = (x - center) / scale
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor
from torch.nn.functional import pad

NODES = 256
SMOOTHING = 10.0  # a column of so many known values is trusted as much as an even spread
COMMON = 0.1  # of the known values, and three of them: such a value has a probability of its own
CENTERS = 100  # of kernels, at most
BALANCING = 20  # rounds of `_balance`
GRID = torch.linspace(0, 1, NODES // 2, dtype=torch.float64)
RESIDUALS = torch.linspace(-5, 5, NODES // 2, dtype=torch.float64)


@dataclass(frozen=True)
class NumberSpread:
    """How numbers are spread: some values that come again and again, and others."""

    center: float
    scale: float
    count: int  # known values
    unexplained: float  # variance that the other columns leave, in units of the column's
    common: Tensor  # (K,) values that come again
    others: Tensor  # (r,) some of the others
    weights: Tensor  # (K + 1,) log c of `_balance`, the last of all others together
    own: Tensor  # (N / 2,) distribution function of the others, at GRID
    residuals: Tensor  # (N / 2,) and of what the other columns leave open, at RESIDUALS

    @classmethod
    def of(cls, x: Tensor, expected: Tensor, unexplained: float, *, steps: bool) -> Self:
        """From known values, what the other columns say of some of them, and the variance that this leaves.

        x: (n,); expected: (n,) in units of the column's mean and standard deviation, NaN where it is not known
        steps: whether values that come again have a probability of their own
        """
        x = x.clamp(0, 1)
        center = float(x.mean()) if len(x) else 0.5
        scale = (float(x.std(correction=0)) if len(x) else 0.0) or 1.0
        values, counts = x.unique(return_counts=True)
        again = (counts >= 3) & (counts >= COMMON * len(x)) & steps
        others = x[~torch.isin(x, values[again])]
        trust = len(others) / (len(others) + SMOOTHING)
        mirrored = _kernel_cdf(torch.cat([others, -others, 2 - others]), GRID, _width(others))
        residuals = ((x - center) / scale - expected)[~expected.isnan()]
        common, weights = values[again], torch.zeros(1, dtype=torch.float64)
        others = _thinned(others) if len(others) else GRID
        if len(common):
            shares = torch.cat([counts[again], counts.new_tensor([len(x) - int(counts[again].sum()) + 1])]) / (
                len(x) + 1
            )
            places = expected[~expected.isnan(), None] if len(residuals) else torch.zeros(1, 1, dtype=torch.float64)
            z = torch.cat([common, others]).sub(center) / scale
            weights = _balance(_log_densities(z, len(common), places, torch.tensor(unexplained)), shares.double())
        own = trust * mirrored + (1 - trust) * GRID
        return cls(center, scale, len(x), unexplained, common, others, weights, own, _residual_cdf(residuals))

    def given(self, m: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes and distribution functions of gaps.  m, v: (G, 1) -> (G, N), (G, N)

        A number is m + sqrt(v) u. As far as v is what the residuals leave, u is spread as they are; as far as it is m
        that is not known, u is normal. With the share SMOOTHING v / (n + SMOOTHING v) a number is as far from m as the
        column is spread. What would lie beyond an end of the range is at the end. Where the other columns say nothing
        (v = 1) it is spread as its column. A value that comes again has a probability proportional to c N(x; m, v), and
        none of the others'.
        """
        place = (self.center + self.scale * m).clamp(0, 1)
        again = torch.isin(torch.tensor([0.0, 1.0], dtype=torch.float64), self.common)
        near, wide = place + self.scale * v.sqrt() * RESIDUALS, place + self.scale * RESIDUALS
        nodes = torch.cat([GRID.expand(near.shape), near.clamp(0, 1)], -1).sort().values
        share = SMOOTHING * v / (self.count + SMOOTHING * v)
        known = (self.unexplained / v).clamp_max(1)  # (G, 1)
        u = known * self.residuals + (1 - known) * torch.special.ndtr(RESIDUALS)
        inside = [_within(at, u, nodes, again) for at in (near, wide)]
        related = (1 - share) * inside[0] + share * inside[1]
        own = interpolate(GRID.expand(near.shape).contiguous(), self.own.expand(near.shape), nodes)
        cdf = torch.where(v < 1, related, own)
        if not len(self.common):
            return nodes, cdf
        z = torch.cat([self.common, self.others]).sub(self.center) / self.scale
        weights = (self.weights + _log_densities(z, len(self.common), m, v)).softmax(-1)
        return _with_steps(self.common, weights, nodes, cdf)


@dataclass(frozen=True)
class CategorySpread:
    """How often each of K categories occurs. Its features are e_k: 1 for the one that is there and 0 for the others."""

    center: Tensor  # (K,)
    scale: Tensor  # (K,)
    unexplained: float  # mean variance of the features around what is expected, in units of `scale`
    root: Tensor  # (K - 1, K - 1) R with R R^T the inverse of the covariance around what is expected, without the last
    weights: Tensor  # (K,) log c of `_balance`

    @classmethod
    def of(cls, x: Tensor, expected: Tensor) -> Self:
        """From known indices, and what the other columns say of their features.

        x: (n,); expected: (n, K) in units of the features' means and standard deviations, NaN where it is not known
        """
        count = expected.shape[1]
        there = (x[:, None] == torch.arange(count)).double()
        center = there.sum(0) / max(len(x), 1)
        scale = (center * (1 - center)).sqrt()
        scale = torch.where(scale > 0, scale, 1.0)
        some = ~expected.isnan().any(-1)
        place = center + scale * expected[some]
        left = (there[some] - place)[:, :-1]
        covariance = left.T @ left / max(len(left), 1) + 1e-4 * torch.eye(count - 1, dtype=torch.float64)
        root = torch.linalg.inv(torch.linalg.cholesky(covariance)).T
        unexplained = float(((there[some] - place) / scale).square().mean()) if len(left) else 1.0
        bare = cls(center, scale, max(unexplained, 1e-6), root, torch.zeros(count, dtype=torch.float64))
        shares = (there.sum(0) + 1) / (len(x) + count)
        return replace(bare, weights=_balance(bare._log_densities(place if len(left) else center[None]), shares))

    def given(self, m: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes and distribution functions of gaps, where P(k) ~ c_k N(e_k; m, V).  (G, K) -> (G, N), (G, N)"""
        wider = (v.mean(-1, keepdim=True) / self.unexplained).clamp_min(1)
        ends = (self.weights + self._log_densities(self.center + self.scale * m) / wider).softmax(-1).cumsum(-1)
        cdf = torch.stack([pad(ends[:, :-1], (1, 0)), ends], -1).flatten(1)
        nodes = torch.arange(len(self.center), dtype=torch.float64).repeat_interleave(2).expand(len(m), -1)
        rest = (0, NODES - nodes.shape[1])
        return pad(nodes, rest, value=len(self.center) - 1.0), pad(cdf, rest, value=1.0)

    def _log_densities(self, place: Tensor) -> Tensor:
        """log N(e_k; place, V) up to a constant.  (G, K) -> (G, K)"""
        apart = torch.eye(len(self.center), dtype=torch.float64) - place[:, None]  # (G, K, K)
        return -0.5 * (apart[..., :-1] @ self.root).square().sum(-1)


def _log_densities(z: Tensor, common: int, m: Tensor, v: Tensor) -> Tensor:
    """log N(z; m, v) at the first few z, up to a constant, and of its mean over the others.

    (K + r,), (G, 1), (G, 1) -> (G, K + 1)
    """
    each = -0.5 * (z - m).square() / v
    others = each[:, common:].logsumexp(-1, keepdim=True) - math.log(len(z) - common)
    return torch.cat([each[:, :common], others], -1)


def _balance(log_densities: Tensor, shares: Tensor) -> Tensor:
    """log c for which P_i(k) ~ c_k N_ik is the share of k, on average over the rows i.  (n, K), (K,) -> (K,)"""
    c = shares.log()
    for _ in range(BALANCING):
        average = (c + log_densities).softmax(-1).mean(0)
        c = c + shares.log() - average.clamp_min(1e-12).log()
    return c


def _with_steps(at: Tensor, weights: Tensor, nodes: Tensor, cdf: Tensor) -> tuple[Tensor, Tensor]:
    """Steps of some weights, and the last weight times a distribution function.  (K,), (G, K + 1), (G, N), (G, N)"""
    kept = torch.linspace(0, NODES - 1, NODES - 2 * len(at)).round().long()  # nodes, to make room for the steps
    twice = at.repeat_interleave(2).expand(len(nodes), -1)
    both, order = torch.cat([nodes[:, kept], twice], -1).sort(stable=True)
    rises = torch.stack([torch.zeros_like(weights), weights], -1)[:, :-1].flatten(1)
    rises = pad(rises, (len(kept), 0)).gather(-1, order)
    return both, weights[:, -1:] * interpolate(nodes, cdf, both) + rises.cumsum(-1)


def _within(at: Tensor, cdf: Tensor, nodes: Tensor, cut: Tensor) -> Tensor:
    """Distribution functions within the range, at nodes: what lies beyond an end is at it, or is cut off.

    (G, M), (G, M), (G, N), (2,) bool: whether it is cut off at either end -> (G, N)
    """
    ends = nodes.new_tensor([0.0, 1.0]).expand(len(at), 2)
    reached = interpolate(at, cdf, torch.cat([nodes, ends], -1))
    low, high = torch.where(cut, reached[:, -2:], ends).split(1, -1)
    left = high - low
    nearest = (at[:, :1] + at[:, -1:]).div(2).clamp(0, 1)  # where next to nothing is left, all of it
    return torch.where(left > 1e-3, (reached[:, :-2] - low) / left.clamp_min(1e-9), (nodes >= nearest).double())


def _residual_cdf(residuals: Tensor) -> Tensor:
    """A kernel estimate of mean square 1, at RESIDUALS."""
    if not len(residuals):
        return _kernel_cdf(torch.zeros(1, dtype=torch.float64), RESIDUALS, 1.0)
    residuals = residuals / residuals.square().mean().clamp_min(1e-12).sqrt()
    width = _width(residuals)
    return _kernel_cdf(residuals / math.sqrt(1 + width**2), RESIDUALS, width / math.sqrt(1 + width**2))


def _width(values: Tensor) -> float:
    """Silverman's rule."""
    return max(1.06 * float(values.std(correction=0)) * len(values) ** -0.2, 0.01) if len(values) else 1.0


def _kernel_cdf(values: Tensor, at: Tensor, width: float) -> Tensor:
    """A kernel estimate of a distribution function between the first and the last place of `at`."""
    if not len(values):
        return (at - at[0]) / (at[-1] - at[0])
    cdf: Tensor = torch.special.ndtr((at[:, None] - _thinned(values)) / width).sum(-1)
    return (cdf - cdf[0]) / (cdf[-1] - cdf[0])


def _thinned(values: Tensor) -> Tensor:
    """Many values by some of their quantiles."""
    if len(values) <= CENTERS:
        return values
    return values.sort().values[torch.linspace(0, len(values) - 1, CENTERS).round().long()]


def interpolate(at: Tensor, values: Tensor, x: Tensor, *, above: bool = True) -> Tensor:
    """Piecewise linear functions through (at, values), at x; on a step its upper or its lower end.

    (..., N), (..., N), (..., S) -> (..., S)
    """
    after = torch.searchsorted(at, x, right=above).clamp(1, at.shape[-1] - 1)
    left, right = at.gather(-1, after - 1), at.gather(-1, after)
    share = ((x - left) / (right - left).clamp_min(1e-300)).clamp(0, 1)
    low, high = values.gather(-1, after - 1), values.gather(-1, after)
    return low + share * (high - low)
