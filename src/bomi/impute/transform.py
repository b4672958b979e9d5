"""The outcome transform: from outcomes to the targets that a model learns, and back.

z = (outcome - center) / unit          w(z) = asinh(warp z) / warp, or z itself for a warp of 0
target = (w(z) - shift) / scale
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Transform:
    """targets = (w(z) - shift) / scale. A warp of 0 is the identity; a larger one draws in the tails.

    Outcomes are negated beforehand if less is better.
    """

    shift: float = 0.0
    scale: float = 1.0
    center: float = 0.0
    unit: float = 1.0
    warp: float = 0.0
    from_best: bool = False  # whether the center is the best outcome

    @property
    def shape(self) -> tuple[float, bool]:
        """What two transforms share that warp alike, whatever the outcomes they were made for."""
        return self.warp, self.from_best

    def to_targets(self, outcomes: Tensor) -> Tensor:
        """Outcomes, larger is better, as targets."""
        z = (outcomes - self.center) / self.unit
        return ((torch.asinh(self.warp * z) / self.warp if self.warp else z) - self.shift) / self.scale

    def to_outcomes(self, targets: Tensor) -> Tensor:
        """Targets as outcomes, larger is better."""
        w = targets * self.scale + self.shift
        if self.warp:
            most = 700 - max(np.log(self.unit), 0.0)  # what the largest number can hold
            w = torch.sinh((self.warp * w).clamp(-most, most)) / self.warp
        return w * self.unit + self.center

    def slope(self, outcomes: Tensor) -> Tensor:
        """d target / d outcome: what turns a small error of one into that of the other."""
        z = (outcomes - self.center) / self.unit
        return 1 / (torch.hypot(self.warp * z, torch.ones_like(z)) * self.unit * self.scale)

    def to_prediction(self, mean: Tensor, sd: Tensor) -> tuple[Tensor, Tensor]:
        """A prediction of the target as one of the outcome: its middle, and half the width of one sd to either side."""
        return self.to_outcomes(mean), (self.to_outcomes(mean + sd) - self.to_outcomes(mean - sd)) / 2


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
    return span if span > 1e-12 * abs(level) and np.isfinite(span) else (abs(level) or 1.0)
