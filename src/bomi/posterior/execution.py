"""Execution error: how far, and to which side, what was done lies from what was asked."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bomi.posterior.spread import NODES

_FAR = (0.0125, 0.02, 0.032, 0.05, 0.08, 0.125, 0.2, 0.32)  # how far equipment may be off, as shares of the range
CENTERS = (0.0, *_FAR, *(-far for far in _FAR))  # and to which side
WIDTHS = (0.0075, *(max(0.3 * far, 0.0075) for far in (*_FAR, *_FAR)))
COMPONENTS = len(CENTERS) + 1  # the last is anywhere
OUTSIDE = 1e-3  # a component with less of its mass inside the range


def nodes_around(asked: Tensor) -> Tensor:
    """Nodes over the range, dense where an asked value may have strayed little.  (A,) -> (A, N)"""
    fine = torch.linspace(-1, 1, NODES // 4, dtype=torch.float64)
    near = asked[:, None] + torch.cat([0.04 * fine, 0.15 * fine])
    even = torch.linspace(0, 1, NODES // 2, dtype=torch.float64).expand(len(asked), -1)
    return torch.cat([even, near], -1).clamp(0, 1).sort().values


def _components(asked: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, width and mass inside the range of the components of the execution error.  (A,) -> (A, K - 1) each"""
    center = asked[..., None] + torch.tensor(CENTERS, dtype=torch.float64)
    width = torch.tensor(WIDTHS, dtype=torch.float64).expand_as(center)
    mass = torch.special.ndtr((1 - center) / width) - torch.special.ndtr(-center / width)
    return center, width, mass


def distribution(nodes: Tensor, asked: Tensor) -> Tensor:
    """Distribution functions of the components of the execution error, cut to the range.  (A, N), (A,) -> (A, K, N)

    A component that lies outside the range has nothing to say there: it is even.
    """
    center, width, mass = (part.unsqueeze(-1) for part in _components(asked))
    nodes = nodes.unsqueeze(-2)
    cut = (nodes - center).div_(width)
    torch.special.ndtr(cut, out=cut).sub_(torch.special.ndtr(-center / width)).div_(mass)
    return torch.cat([torch.where(mass > OUTSIDE, cut, nodes), nodes], -2)


def density(x: Tensor, asked: Tensor) -> Tensor:
    """Densities of the components of the execution error.  (..., A), (A,) -> (..., A, K)"""
    center, width, mass = _components(asked)
    z = (x.unsqueeze(-1) - center) / width
    bells = torch.exp(-0.5 * z.square()) / (width * math.sqrt(2 * math.pi) * mass)
    bells = torch.where(mass > OUTSIDE, bells, 1.0)
    return torch.cat([bells, torch.ones_like(bells[..., :1])], -1)


def recorded_counts(codes: Tensor, asked: Tensor) -> Tensor:
    """How often recorded values that differ from the asked ones fell to each component.  (p, K)"""
    counts = torch.zeros(codes.shape[-1], COMPONENTS, dtype=torch.float64)
    for j in range(codes.shape[-1]):
        differ = (codes[:, j] - asked[:, j]).abs() > 1e-6
        heights = density(codes[differ, j], asked[differ, j].clamp(0, 1))
        counts[j] = (heights / heights.sum(-1, keepdim=True)).sum(0)
    return counts


def dirichlet(counts: Tensor) -> Tensor:
    """The Dirichlet parameters of the weights of the execution error.  (..., p, K)"""
    pooled = counts.sum(-2, keepdim=True) + 1 / COMPONENTS
    return counts + 1 / COMPONENTS + 2 * pooled / pooled.sum(-1, keepdim=True)
