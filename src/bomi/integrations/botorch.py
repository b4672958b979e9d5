"""BoTorch: the completed worlds as a model for its acquisition functions and `optimize_acqf`."""

from __future__ import annotations

import torch
from torch import Tensor

from bomi.errors import MethodError
from bomi.impute.completed import Completed
from bomi.impute.transform import Transform
from bomi.model import fitting
from bomi.model.mixture import Mixture, MixturePosterior
from bomi.optimizer import Optimizer

__all__ = ["MixturePosterior", "WorldsModel"]


class WorldsModel(Mixture):
    """What an optimizer has learned, as one BoTorch model of f: a mixture over the worlds.

    Inputs are points of the unit cube, `optimizer.space.to_unit(setting)`. Outcomes are the optimizer's targets:
    standardized, with heavy tails warped, and larger is better whatever the goal, as BoTorch expects. `to_targets` and
    `to_outcomes` convert. The outcome transform is monotone but not always linear, so convert samples and quantiles,
    not variances. The model is not conditioned on pending experiments: pass them as `X_pending`.

    With several outcomes it is a model of the first, or of the one named `outcome`.
    `WorldsModel(completed)` takes your own worlds, `bomi.impute.completed.Completed`, with their targets as they are.
    """

    def __init__(self, source: Optimizer | Completed, outcome: str | None = None) -> None:
        if isinstance(source, Optimizer):
            worlds, scaling = source.learned(outcome)
            sign = source.objectives[0 if outcome is None else source.outcomes.index(outcome)].sign
        elif isinstance(source, Completed):
            one = source.of(0)
            worlds, scaling, sign = fitting.fit(one.inputs, one.targets), Transform(), 1.0
        else:
            raise MethodError(f"WorldsModel takes an Optimizer or Completed worlds, but got {type(source).__name__}")
        super().__init__(worlds)
        self._scaling, self._sign = scaling, sign

    def to_targets(self, outcomes: Tensor) -> Tensor:
        """Outcomes in the user's unit as targets of the model."""
        return self._scaling.to_targets(self._sign * torch.as_tensor(outcomes, dtype=torch.float64))

    def to_outcomes(self, targets: Tensor) -> Tensor:
        """Targets, such as samples of the posterior, in the user's unit."""
        return self._sign * self._scaling.to_outcomes(targets)
