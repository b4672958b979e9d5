"""The outcome transform: from outcomes to the targets that a model learns, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Scaling:
    """targets = (w(z) - shift) / scale with z = (outcome - center) / unit and w(z) = asinh(bend z) / bend.

    A bend of 0 is w(z) = z; a larger one draws in the tails. Outcomes are negated beforehand if less is better.
    """

    shift: float = 0.0
    scale: float = 1.0
    center: float = 0.0
    unit: float = 1.0
    bend: float = 0.0
    from_best: bool = False  # whether the center is the best outcome

    def to_targets(self, outcomes: Tensor) -> Tensor:
        """Outcomes, larger is better, as targets."""
        z = (outcomes - self.center) / self.unit
        return ((torch.asinh(self.bend * z) / self.bend if self.bend else z) - self.shift) / self.scale

    def to_outcomes(self, targets: Tensor) -> Tensor:
        """Targets as outcomes, larger is better."""
        w = targets * self.scale + self.shift
        if self.bend:
            most = 700 - max(np.log(self.unit), 0.0)  # what the largest number can hold
            w = torch.sinh((self.bend * w).clamp(-most, most)) / self.bend
        return w * self.unit + self.center

    def slope(self, outcomes: Tensor) -> Tensor:
        """How fast targets grow with outcomes there: what turns a small error of one into that of the other."""
        z = (outcomes - self.center) / self.unit
        return 1 / (torch.hypot(self.bend * z, torch.ones_like(z)) * self.unit * self.scale)

    def to_outcome(self, mean: Tensor, sd: Tensor) -> tuple[Tensor, Tensor]:
        """A prediction of the target as one of the outcome: its middle, and half the width of one sd to either side."""
        return self.to_outcomes(mean), (self.to_outcomes(mean + sd) - self.to_outcomes(mean - sd)) / 2


def min_max(outcomes: Tensor, *_: object) -> Scaling:
    """To [0, 1] by the current minimum and maximum; constant outcomes to 0."""
    if len(outcomes) == 0:
        return Scaling()
    low, high = float(outcomes.min()), float(outcomes.max())
    return Scaling(center=low, unit=span(high - low, low))


def span(span: float, level: float) -> float:
    """The span, or the size of the level where the outcomes are the same up to rounding."""
    return span if span > 1e-12 * abs(level) and np.isfinite(span) else (abs(level) or 1.0)
