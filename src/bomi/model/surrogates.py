"""What learns from completed worlds: the surrogates that a method can be made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from bomi.errors import MethodError
from bomi.impute.completed import Completed
from bomi.impute.table import LARGE
from bomi.model import fitting, gaussian_process
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.kernels import AdditiveMatern, Kernel, SquaredExponential
from bomi.model.uncertain_inputs import fit_uncertain
from bomi.space import Space

RESTART_EVERY = 5  # rows, between visits to other modes of the hyper-parameters
IN_TURNS = 64  # rows, above which the worlds take turns in learning hyper-parameters


class Surrogate(Protocol):
    """What learns from completed worlds."""

    def __call__(self, completed: Completed, space: Space) -> GaussianProcess:
        """The fitted model."""


@dataclass(frozen=True)
class PlainGP:
    """One Gaussian process for each world."""

    kernel: Kernel = SquaredExponential()  # noqa: RUF009  # frozen, so one instance serves all

    def __call__(self, completed: Completed, space: Space) -> GaussianProcess:
        """Hyper-parameters by maximum likelihood."""
        return fitting.fit(completed.inputs, completed.targets, kernel=self.kernel, errors=completed.errors)


@dataclass(frozen=True)
class AdditiveGP:
    """One Gaussian process for each world, with a part for each parameter alone and one for all together."""

    def __call__(self, completed: Completed, space: Space) -> GaussianProcess:
        """The most probable hyper-parameters, from those the filler left off with."""
        kernel = AdditiveMatern(tuple(space.groups.tolist()))
        inputs, targets, errors = completed.inputs, completed.targets, completed.errors
        if completed.hyper is None:
            return fitting.fit(inputs, targets, kernel=kernel, errors=errors)
        hyper = completed.hyper.cpu()
        if inputs.shape[1] <= LARGE:  # of more rows they were learned from the anchors
            hyper = self._relearn(fitting.Pairs(kernel, inputs, errors), inputs, targets, hyper)
        return gaussian_process.with_hyper(inputs, targets, hyper, kernel=kernel, errors=errors)

    def _relearn(self, pairs: fitting.Pairs, inputs: Tensor, targets: Tensor, hyper: Tensor) -> Tensor:
        """Hyper-parameters a few steps better than before; of a larger table in one world, each in its turn."""
        worlds, rows = inputs.shape[:2]
        visit = rows % RESTART_EVERY == 0
        place = rows // RESTART_EVERY if visit else rows  # so that every world has its turn in both
        turn = torch.arange(worlds) if rows <= IN_TURNS else torch.tensor([place % worlds])
        generator = torch.Generator().manual_seed(rows)
        if worlds > 1:
            hyper = fitting.compared(pairs, targets, hyper, generator)
        own = hyper[turn]
        if visit:
            own = fitting.another_mode(pairs, targets, own, turn, generator)
        return hyper.index_copy(0, turn, fitting.climb(pairs, targets, own, most=10, worlds=turn))


@dataclass(frozen=True)
class DistributionGP:
    """A Gaussian process over distributions, with the expected kernel."""

    def __call__(self, completed: Completed, space: Space) -> GaussianProcess:
        """Hyper-parameters by maximum likelihood."""
        if completed.variances is None or completed.planning is None:
            raise MethodError("a surrogate over distributions needs a filler that gives variances")
        return fit_uncertain(
            completed.inputs, completed.variances, completed.targets, completed.planning, errors=completed.errors
        )
