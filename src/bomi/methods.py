"""The table of methods: each is a scaling of the outcome, a way of filling gaps, a surrogate and an acquisition.

Settings are the paper's (Luong et al. 2020) unless said otherwise. To change some:
`bomi.method("bomi", worlds=10, rank=5)`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from bomi.errors import MethodError
from bomi.impute.completed import Completed
from bomi.impute.distributions import Distributions
from bomi.impute.matrix_factorization import MatrixFactorization
from bomi.impute.neighbors import Neighbors
from bomi.impute.simple import Drop, Mean, Mode, Suggest
from bomi.impute.table import Table
from bomi.impute.transform import Scaling, min_max
from bomi.model.surrogates import AdditiveGP, DistributionGP, PlainGP, Surrogate
from bomi.names import check_method
from bomi.posterior.imputer import Posterior
from bomi.posterior.warping import standard
from bomi.search.criteria import Acquisition, ExpectedImprovement, UpperConfidenceBound
from bomi.space import Space


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


@dataclass(frozen=True)
class Method:
    """One row of the table. Without an acquisition it asks for random points."""

    name: str
    about: str
    filler: Filler
    acquisition: Acquisition | None = UpperConfidenceBound()  # noqa: RUF009  # frozen, so one instance serves all
    surrogate: Surrogate = PlainGP()  # noqa: RUF009
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
