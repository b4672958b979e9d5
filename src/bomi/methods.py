"""The table of methods: each is a scaling of the outcome, a way of filling gaps, a surrogate and an acquisition.

Settings are the paper's (Luong et al. 2020) unless said otherwise. To change some:
`bomi.method("bomi", worlds=10, rank=5)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol

import torch
from botorch.acquisition.acquisition import AcquisitionFunction, OneShotAcquisitionFunction
from torch import Tensor

from bomi import acquisition
from bomi.candidates import Score
from bomi.errors import MethodError
from bomi.imputers.distributions import Distributions
from bomi.imputers.matrix_factorization import MatrixFactorization
from bomi.imputers.neighbors import Neighbors
from bomi.imputers.posterior import ANCHORS, Posterior
from bomi.imputers.simple import Drop, Mean, Mode, Suggest
from bomi.names import check_method
from bomi.outlook import Outlook
from bomi.space import Space
from bomi.surrogates import gaussian_process
from bomi.surrogates.gaussian_process import GaussianProcess
from bomi.surrogates.kernels import AdditiveMatern, Kernel, SquaredExponential
from bomi.surrogates.mixture import Mixture
from bomi.surrogates.uncertain_inputs import fit_uncertain
from bomi.surrogates.warping import standard
from bomi.worlds import Completed, Scaling, Table, min_max

RESTART_EVERY = 5  # rows, between visits to other modes of the hyper-parameters
IN_TURNS = 64  # rows, above which the worlds take turns in learning hyper-parameters


class Filler(Protocol):
    """A way of dealing with gaps."""

    def __call__(self, table: Table, generator: torch.Generator, warm: Completed | None = None) -> Completed:
        """The completed worlds of a table; `warm` are those of the table before, for fillers that go on from them."""


class Scaler(Protocol):
    """A way of scaling an outcome."""

    def __call__(
        self,
        outcomes: Tensor,
        target: float | None,
        inputs: Tensor,
        space: Space,
        keep: Scaling | None,
        stalled: bool,
        /,
    ) -> Scaling:
        """The scaling of outcomes (n,) whose inputs (n, d) are known but for NaN; like `keep`, if that is given.

        stalled: whether nothing better has come for a while.
        """


class Surrogate(Protocol):
    """What learns from completed worlds."""

    def __call__(self, completed: Completed, space: Space) -> GaussianProcess:
        """The fitted model."""


class Acquisition(Protocol):
    """What decides which point is the most promising."""

    def score(self, outlook: Outlook, *, t: int, parameters: int) -> Score:
        """The function to maximise for the t-th suggestion, t from 1."""


@dataclass(frozen=True)
class PlainGP:
    """One Gaussian process for each world."""

    kernel: Kernel = SquaredExponential()  # noqa: RUF009  # frozen, so one instance serves all

    def __call__(self, completed: Completed, space: Space) -> GaussianProcess:
        """Hyper-parameters by maximum likelihood."""
        return gaussian_process.fit(completed.inputs, completed.targets, kernel=self.kernel, errors=completed.errors)


@dataclass(frozen=True)
class AdditiveGP:
    """One Gaussian process for each world, with a part for each parameter alone and one for all together."""

    def __call__(self, completed: Completed, space: Space) -> GaussianProcess:
        """The most probable hyper-parameters, from those the filler left off with."""
        kernel = AdditiveMatern(tuple(space.groups.tolist()))
        inputs, targets, errors = completed.inputs, completed.targets, completed.errors
        if completed.hyper is None:
            return gaussian_process.fit(inputs, targets, kernel=kernel, errors=errors)
        hyper = completed.hyper.cpu()
        if inputs.shape[1] <= ANCHORS:  # of more rows they were learned from the anchors
            hyper = self._relearn(gaussian_process.Pairs(kernel, inputs, errors), inputs, targets, hyper)
        return gaussian_process.with_hyper(inputs, targets, hyper, kernel=kernel, errors=errors)

    def _relearn(self, pairs: gaussian_process.Pairs, inputs: Tensor, targets: Tensor, hyper: Tensor) -> Tensor:
        """Hyper-parameters a few steps better than before; of a larger table in one world, each in its turn."""
        worlds, rows = inputs.shape[:2]
        visit = rows % RESTART_EVERY == 0
        place = rows // RESTART_EVERY if visit else rows  # so that every world has its turn in both
        turn = torch.arange(worlds) if rows <= IN_TURNS else torch.tensor([place % worlds])
        generator = torch.Generator().manual_seed(rows)
        if worlds > 1:
            hyper = gaussian_process.compared(pairs, targets, hyper, generator)
        own = hyper[turn]
        if visit:
            own = gaussian_process.another_mode(pairs, targets, own, turn, generator)
        return hyper.index_copy(0, turn, gaussian_process.climb(pairs, targets, own, most=10, worlds=turn))


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


@dataclass(frozen=True)
class UpperConfidenceBound:
    """UCB in each world, and UCB-MI over several.

    Exploration is beta_scale * sqrt(beta_t); 0.2 is the factor of the authors' program. The weight of the worlds'
    disagreement is beta_alpha, by default the same as the exploration.
    """

    delta: float = 0.1
    beta_scale: float = 0.2
    beta_alpha: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise MethodError(f"`0 < delta < 1` must hold, but got delta={self.delta!r}")
        if not 0 <= self.beta_scale < math.inf:
            raise MethodError(f"`beta_scale` must be 0 or more, but got {self.beta_scale!r}")

    def score(self, outlook: Outlook, *, t: int, parameters: int) -> Score:
        """mean_q UCB_q + beta_alpha std_q UCB_q, of a single outcome; weighted by the chance to succeed."""
        exploration = self.beta_scale * math.sqrt(acquisition.beta(t, parameters, delta=self.delta))
        disagreement = exploration if self.beta_alpha is None else self.beta_alpha
        ((model, aim),) = zip(outlook.models, outlook.aims, strict=True)

        def score(points: Tensor) -> Tensor:
            mean, variance = model.moments(points)
            merit = acquisition.merit(mean, aim)
            bound = acquisition.ucb_mi(merit, variance.sqrt(), exploration, disagreement)
            return outlook.weigh(bound, points, outlook.tried.min())

        return score


@dataclass(frozen=True)
class ExpectedImprovement:
    """log of the expected improvement averaged over worlds; a world's incumbent is its best posterior mean.

    Of several outcomes: the expected gain in hypervolume over a world's front of posterior means. Where experiments
    have failed, times the chance to succeed.
    """

    def score(self, outlook: Outlook, *, t: int, parameters: int) -> Score:
        """log mean_q EI_q."""
        boxes = acquisition.free_boxes(outlook.tried)

        def score(points: Tensor) -> Tensor:
            gain = acquisition.log_gain(outlook.moments(points), outlook.aims, boxes)
            if outlook.success is None:
                return acquisition.log_mean(gain)
            log_chance = outlook.success.log_chance(points)
            return acquisition.log_mean(gain + log_chance) + acquisition.doubt(log_chance.exp().mean(0))

        return score


@dataclass(frozen=True)
class Botorch:
    """One of BoTorch's acquisition functions, of the worlds as one model; what it draws at random follows from t."""

    factory: Callable[[Mixture], AcquisitionFunction]

    def score(self, outlook: Outlook, *, t: int, parameters: int) -> Score:
        """The function that the factory makes, at one point at a time; points that are likely to fail come last."""
        mixture = Mixture(outlook.models[0])
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(t)
            made = self.factory(mixture)
        if not isinstance(made, AcquisitionFunction):
            raise MethodError(f"`acquisition` must make one of BoTorch's acquisition functions, but it made {made!r}")
        if isinstance(made, OneShotAcquisitionFunction):
            raise MethodError(
                f"{type(made).__name__} looks for several points at once; optimize it by BoTorch's optimize_acqf, "
                "on a bomi.integrations.botorch.WorldsModel"
            )
        with torch.random.fork_rng(devices=()), torch.no_grad():
            torch.manual_seed(t)
            made(mixture.baseline[:1])  # some draw their samples when first called

        def score(points: Tensor) -> Tensor:
            value = torch.cat([made(part.unsqueeze(-2)) for part in points.split(_TOGETHER)])
            if outlook.success is None:
                return value
            return value + acquisition.doubt(outlook.success.log_chance(points).exp().mean(0))

        return score


_TOGETHER = 64  # points whose samples are held in memory at a time

ACQUISITIONS: dict[str, Acquisition] = {"ei": ExpectedImprovement(), "ucb-mi": UpperConfidenceBound()}


def find_acquisition(name: str | Acquisition | Callable[[Mixture], AcquisitionFunction]) -> Acquisition:
    """An acquisition by name, or one of BoTorch's by what makes it."""
    if isinstance(name, str):
        if name not in ACQUISITIONS:
            raise MethodError(f"unknown acquisition {name!r}; the known ones are {', '.join(ACQUISITIONS)}")
        return ACQUISITIONS[name]
    if hasattr(name, "score"):
        return name
    if callable(name):
        return Botorch(name)
    raise MethodError(
        f"`acquisition` must be one of {', '.join(ACQUISITIONS)}, an Acquisition, or a function that makes one of "
        f"BoTorch's from a model, but got {name!r}"
    )


@dataclass(frozen=True)
class Method:
    """One row of the table. Without an acquisition it asks for random points."""

    name: str
    about: str
    filler: Filler
    acquisition: Acquisition | None = UpperConfidenceBound()
    surrogate: Surrogate = PlainGP()
    scaling: Scaler = min_max
    rows: int = 2  # fewer completed rows than this: space-filling points
    goes_on: bool = False  # whether the filler goes on from the worlds before
    points: int | None = 10_000  # how many the next one is chosen from, as the authors' program does; None: by ascent
    radius: float | None = None  # how near to the best row every second suggestion stays while nothing better comes


_ROWS = (
    Method(
        "posterior",
        "Q tables drawn given the outcome, the asked value and the other columns; EI over the worlds (ours)",
        Posterior(),
        acquisition=ExpectedImprovement(),
        surrogate=AdditiveGP(),
        scaling=standard,
        goes_on=True,
        points=None,
        radius=0.05,
    ),
    Method("bomi", "Q tables drawn by matrix factorization, one GP each, UCB-MI (the paper's)", MatrixFactorization()),
    Method("drop", "rows with a gap are left out", Drop()),
    Method("suggest", "a gap is filled with the asked value; other rows with a gap are left out", Suggest()),
    Method("mean", "a gap is filled with the column's mean", Mean()),
    Method("mode", "a gap is filled with the column's mode", Mode()),
    Method("knn", "a gap is filled with the mean of the 5 nearest rows", Neighbors()),
    Method("bpmf", "one table drawn by matrix factorization", MatrixFactorization(worlds=1)),
    Method("ugp", "every input is a distribution (BO-uGP)", Distributions(), surrogate=DistributionGP()),
    Method("random", "uniform random points", Drop(), acquisition=None),
)
METHODS = {row.name: row for row in _ROWS}


def method(name: str | Method, **settings: Any) -> Method:
    """A method by name, with some of its settings changed.

    >>> method("bomi", worlds=10).filler
    MatrixFactorization(worlds=10, rank=15, noise=0.01, sweeps=40)
    """
    if isinstance(name, Method):
        chosen = name
    else:
        check_method(name)
        chosen = METHODS[name]
    known = {}
    for part in ("filler", "surrogate", "acquisition"):
        value = getattr(chosen, part)
        if is_dataclass(value):
            known.update({field.name: part for field in fields(value)})
    for setting in settings:
        if setting not in known:
            raise MethodError(
                f"method {chosen.name!r} has no setting {setting!r}; it has {', '.join(sorted(known)) or 'none'}"
            )
    for part in {known[setting] for setting in settings}:
        changes = {setting: value for setting, value in settings.items() if known[setting] == part}
        chosen = replace(chosen, **{part: replace(getattr(chosen, part), **changes)})
    return chosen
