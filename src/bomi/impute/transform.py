"""The outcome transform: from outcomes to the targets that a model learns, and back.

z = (outcome - center) / unit          target = (w(z) - shift) / scale
w(z) = z                                                               for a warp b of 0
w(z) = asinh(b z) / b                                                  draws in what is far from the center
w(z) = (asinh(b (z + half)) + asinh(b (z - half))) / 2b                spreads what is near the ends of a range

The last is the one before where half is 0. Between the ends it is a logit that becomes linear at a distance of
1 / b from them, so that an outcome may lie on an end, or beyond it by its noise. It has an inverse in closed form:
b z = sinh(b w) sqrt(1 + (b half / cosh(b w))^2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

Ends: TypeAlias = tuple[float, float]  # between which an outcome lies by its nature, larger is better
ANYWHERE: Ends = (-math.inf, math.inf)
QUANTILES = torch.special.ndtri((torch.arange(200, dtype=torch.float64) + 0.5) / 200)  # of the standard normal
MIDDLE, BEST, RANGE = "middle", "best", "range"  # from where outcomes are warped: median or aim, best, ends

ROUNDING = 1e-14  # of their size, by which outcomes that are the same may differ


@dataclass(frozen=True)
class Transform:
    """targets = (w(z) - shift) / scale. A warp of 0 is the identity; a larger one draws in what is far from the origin.

    Outcomes are negated beforehand if less is better.
    """

    shift: float = 0.0
    scale: float = 1.0
    center: float = 0.0
    unit: float = 1.0
    warp: float = 0.0
    half: float = 0.0  # half the width of a range with two ends, in units
    origin: str = MIDDLE  # what the center is

    @property
    def shape(self) -> tuple[float, str]:
        """What two transforms share that warp alike, whatever the outcomes they were made for."""
        return self.warp, self.origin

    def to_targets(self, outcomes: Tensor) -> Tensor:
        """Outcomes, larger is better, as targets."""
        return (self.warped((outcomes - self.center) / self.unit) - self.shift) / self.scale

    def warped(self, z: Tensor) -> Tensor:
        """w(z)."""
        if not self.warp:
            return z
        b, h = self.warp, self.half
        return torch.asinh(b * z) / b if not h else (torch.asinh(b * (z + h)) + torch.asinh(b * (z - h))) / (2 * b)

    def to_outcomes(self, targets: Tensor) -> Tensor:
        """Targets as outcomes, larger is better."""
        w = targets * self.scale + self.shift
        if self.warp:
            most = 700 - max(np.log(self.unit), 0.0)  # what the largest number can hold
            inner = (self.warp * w).clamp(-most, most)
            w = torch.sinh(inner) / self.warp
            if self.half:
                w = w * torch.hypot(torch.ones_like(w), self.warp * self.half / torch.cosh(inner))
        return w * self.unit + self.center

    def slope(self, outcomes: Tensor) -> Tensor:
        """d target / d outcome: what turns a small error of one into that of the other."""
        z = (outcomes - self.center) / self.unit
        ends = (z,) if not self.half else (z + self.half, z - self.half)
        parts = [1 / torch.hypot(self.warp * end, torch.ones_like(end)) for end in ends]
        return torch.stack(parts).mean(0) / (self.unit * self.scale)

    def to_prediction(self, mean: Tensor, sd: Tensor, ends: Ends = ANYWHERE) -> tuple[Tensor, Tensor]:
        """A prediction of the target as one of the outcome: its middle, and half the width of one sd to either side.

        What would lie beyond the ends of the outcome's range lies on them. Where that begins within one sd, it is the
        mean and the standard deviation of what may come out: most of it can lie on one end, but not all.
        """
        low, middle, high = (self.to_outcomes(mean + side * sd) for side in (-1, 0, 1))
        if ends == ANYWHERE:
            return middle, (high - low) / 2
        if not self.warp:
            return within(middle, (high - low) / 2, *ends)
        cut = (low < ends[0]) | (high > ends[1])
        each = self.to_outcomes(mean + sd * QUANTILES.reshape(-1, *[1] * mean.ndim)).clamp(*ends)
        spread = each.std(0, correction=0)
        return torch.where(cut, each.mean(0), middle), torch.where(cut, spread, (high - low) / 2)


def within(mean: Tensor, sd: Tensor, low: float, high: float) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of y ~ N(mean, sd^2) moved to the nearest value of a range: what it can be at most.

    With a = (low - mean) / sd and b = (high - mean) / sd, where d = sd (phi(a) - phi(b)) and p = Phi(b) - Phi(a):
    E y = low Phi(a) + high (1 - Phi(b)) + mean p + d, and E y^2 likewise; both about the mean, to lose no digits.
    """
    sd = sd.clamp_min(1e-300)
    a, b = (low - mean) / sd, (high - mean) / sd
    below, above = torch.special.ndtr(a), torch.special.ndtr(-b)
    phi_a, phi_b = (torch.exp(-0.5 * z.square()) / math.sqrt(2 * math.pi) for z in (a, b))
    ends = [torch.where(end.isinf(), 0.0, end) for end in (a, b)]  # nothing lies beyond an infinite end
    first = ends[0] * below + ends[1] * above + phi_a - phi_b
    second = ends[0].square() * below + ends[1].square() * above + (1 - below - above)
    second = second + ends[0] * phi_a - ends[1] * phi_b
    spread = (second - first.square()).clamp_min(0).sqrt()
    return (mean + sd * first).clamp(low, high), sd * spread


def min_max(outcomes: Tensor) -> Transform:
    """To [0, 1] by the current minimum and maximum; constant outcomes to 0.  outcomes: (n,)"""
    if len(outcomes) == 0:
        return Transform()
    low, high = float(outcomes.min()), float(outcomes.max())
    return Transform(center=low, unit=span_or_size(high - low, low))


def span_or_size(span: float, level: float) -> float:
    """The span, or the size of the level where the outcomes are the same up to rounding."""
    return span if span > ROUNDING * abs(level) and np.isfinite(span) else (abs(level) or 1.0)
