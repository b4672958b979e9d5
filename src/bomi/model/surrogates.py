"""What learns from completed worlds: the surrogates that a method can be made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from bomi.errors import MethodError, check_choice
from bomi.impute.completed import Completed, Explained, UncertainInputs
from bomi.model import fitting
from bomi.model.additive import AdditiveMatern
from bomi.model.conditions import kernel_under, process_of
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.kernels import Kernel, SquaredExponential
from bomi.model.uncertain_inputs import DensityProcess, fit_uncertain
from bomi.space import Space


class Surrogate(Protocol):
    """What learns from completed worlds."""

    takes: ClassVar[type[Completed]]  # the worlds that it can learn from

    def __call__(self, completed: Completed, space: Space, /) -> GaussianProcess:
        """The fitted model of one outcome."""


@dataclass(frozen=True)
class PlainGP:
    """One Gaussian process for each world; its hyper-parameters by maximum likelihood, or by 50 steps of Adam."""

    kernel: Kernel = SquaredExponential()  # noqa: RUF009  # frozen, so one instance serves all
    fit: str = "likelihood"

    def __post_init__(self) -> None:
        check_choice("fit", self.fit, fitting.FITS)

    takes: ClassVar[type[Completed]] = Completed

    def __call__(self, completed: Completed, space: Space) -> GaussianProcess:
        """The processes with their hyper-parameters."""
        return _fitted(completed, kernel_under(self.kernel, space, completed.conditions), fitting.FITS[self.fit])


@dataclass(frozen=True)
class AdditiveGP:
    """One Gaussian process for each world, with a part for each parameter alone and one for all together."""

    takes: ClassVar[type[Completed]] = Completed

    def __call__(self, completed: Completed, space: Space) -> GaussianProcess:
        """The hyper-parameters that the worlds bring, or else the most probable ones.

        Gaps are drawn to explain the outcomes of their rows, so only complete rows show how well others are predicted.
        """
        kernel = kernel_under(AdditiveMatern.over(space), space, completed.conditions)
        if not isinstance(completed, Explained):
            return _fitted(completed, kernel, fitting.fit)
        drawn = completed.targets if completed.drawn is None else completed.drawn
        model = process_of(completed.located, drawn, completed.hyper, kernel=kernel, errors=completed.errors)
        return model if completed.complete is None else model.rescaled(completed.complete.nonzero()[:, 0])


def _fitted(completed: Completed, kernel: Kernel, find: Callable[..., GaussianProcess]) -> GaussianProcess:
    """With the hyper-parameters that a search finds."""
    inputs, targets, errors = completed.located, completed.targets, completed.errors
    model = find(inputs, targets, kernel=kernel, errors=errors)
    if completed.conditions is None:
        return model
    return process_of(inputs, targets, model.hyper, kernel=kernel, errors=errors)


@dataclass(frozen=True)
class DistributionGP:
    """A Gaussian process over distributions, with the expected kernel.

    With `over="density"` it is over the log density of the rows' means instead: see `DensityProcess`.
    """

    fit: str = "likelihood"
    over: str = "distributions"

    def __post_init__(self) -> None:
        check_choice("fit", self.fit, fitting.FITS)
        check_choice("over", self.over, ("distributions", "density"))

    takes: ClassVar[type[Completed]] = UncertainInputs

    def __call__(self, completed: Completed, space: Space) -> GaussianProcess:
        """The process with its hyper-parameters."""
        if not isinstance(completed, UncertainInputs):
            raise MethodError("a surrogate over distributions needs an imputer that gives variances")
        if completed.conditions is not None:
            raise MethodError("a surrogate over distributions learns no offsets of groups and no drift")
        find = fitting.FITS[self.fit]
        if self.over == "density":
            return DensityProcess(completed.inputs, completed.targets, errors=completed.errors, find=find)
        return fit_uncertain(
            completed.inputs,
            completed.variances,
            completed.targets,
            completed.planning,
            errors=completed.errors,
            find=find,
        )
