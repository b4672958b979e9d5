"""The table of methods: each is a way of dealing with gaps, a surrogate, an acquisition and a search.

Settings are the paper's (Luong et al. 2020) unless said otherwise. To change some:
`bomi.method("bomi", worlds=10, rank=5)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from typing import Any

from bomi.errors import CellError, MethodError
from bomi.impute.contract import Imputer, Stateless
from bomi.impute.distributions import Distributions
from bomi.impute.matrix_factorization import MatrixFactorization
from bomi.impute.neighbors import Neighbors
from bomi.impute.simple import Drop, Mean, Mode, Suggest
from bomi.model.surrogates import AdditiveGP, DistributionGP, PlainGP, Surrogate
from bomi.names import check_method
from bomi.posterior.imputer import Posterior
from bomi.search.criteria import Acquisition, ExpectedImprovement, UpperConfidenceBound
from bomi.search.strategy import BestOf, MultiStart, Search
from bomi.search.trust_region import TrustRegion
from bomi.space.numbers import plain_number


@dataclass(frozen=True)
class Method:
    """One row of the table. Any imputer goes with any surrogate that can learn from its worlds: `dataclasses.replace`
    recombines them.

    Args:
        name: What it is called.
        about: How it deals with a gap, in a line.
        imputer: What completes the table.
        acquisition: What decides which point is the most promising; None for random points.
        surrogate: What learns from each world.
        search: What finds the point with the best score.
        rows: How many rows it needs at least; with fewer it asks for space-filling points.
        execution: Whether it plans for what equipment makes of a request.
    """

    name: str
    about: str
    imputer: Imputer[Any]
    acquisition: Acquisition | None = UpperConfidenceBound()  # noqa: RUF009  # frozen, so one instance serves all
    surrogate: Surrogate = PlainGP()  # noqa: RUF009
    search: Search = BestOf()  # noqa: RUF009
    rows: int = 2  # fewer completed rows than this: space-filling points
    execution: bool = False  # whether it plans for what equipment makes of a request

    def __post_init__(self) -> None:
        if not issubclass(self.imputer.yields, self.surrogate.takes):
            raise MethodError(
                f"method {self.name!r}: {type(self.surrogate).__name__} learns from {self.surrogate.takes.__name__}, "
                f"but the imputer makes {self.imputer.yields.__name__}; take another surrogate, such as PlainGP"
            )

    @property
    def filler(self) -> Any:
        """What fills the gaps: the imputer, or the pure function inside a stateless one."""
        return self.imputer.fill if isinstance(self.imputer, Stateless) else self.imputer


_ROWS = (
    Method(
        "posterior",
        "Q tables drawn given the outcome, the asked value and the other columns; EI over the worlds (ours)",
        Posterior(),
        acquisition=ExpectedImprovement(),
        surrogate=AdditiveGP(),
        search=MultiStart(TrustRegion()),
        execution=True,
    ),
    Method(
        "bomi",
        "Q tables drawn by matrix factorization, one GP each, UCB-MI (the paper's)",
        Stateless(MatrixFactorization()),
    ),
    Method("drop", "rows with a gap are left out", Stateless(Drop())),
    Method("suggest", "a gap is filled with the asked value; other rows with a gap are left out", Stateless(Suggest())),
    Method("mean", "a gap is filled with the column's mean", Stateless(Mean())),
    Method("mode", "a gap is filled with the column's mode", Stateless(Mode())),
    Method("knn", "a gap is filled with the mean of the 5 nearest rows", Stateless(Neighbors())),
    Method("bpmf", "one table drawn by matrix factorization", Stateless(MatrixFactorization(worlds=1))),
    Method("ugp", "every input is a distribution (BO-uGP)", Stateless(Distributions()), surrogate=DistributionGP()),
    Method("random", "uniform random points", Stateless(Drop()), acquisition=None),
)
MOST = 10**5  # of a setting: more tables, sweeps or points than fit into memory
METHODS = {row.name: row for row in _ROWS}


def method(name: str | Method, **settings: Any) -> Method:
    """A method by name, with some of its settings changed.

    Args:
        name: One of `METHODS`, or a method itself.
        settings: By name, those of its imputer, its surrogate, its acquisition and its search.

    >>> method("bomi", worlds=10).filler.worlds
    10
    """
    if isinstance(name, Method):
        chosen = name
    else:
        check_method(name)
        chosen = METHODS[name]
    known = dict(_paths(chosen))
    for setting in settings:
        if setting not in known:
            raise MethodError(
                f"method {chosen.name!r} has no setting {setting!r}; it has {', '.join(sorted(known)) or 'none'}"
            )
    for setting, value in settings.items():
        chosen = _changed(chosen, known[setting], setting, value)
    return chosen


def settings_of(chosen: Method) -> dict[str, Any]:
    """The settings of a method, as `method` takes them."""
    return {setting: getattr(reduce(getattr, path, chosen), setting) for setting, path in _paths(chosen)}


def _paths(part: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each setting of a method's parts, and the way to the part that has it."""
    for field in fields(part):  # type: ignore[arg-type]
        value = getattr(part, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            yield from _paths(value, (*path, field.name))
        elif path:
            yield field.name, path


def _changed(part: Any, path: tuple[str, ...], setting: str, value: object) -> Any:
    """A part with one setting of itself, or of the part at the end of the way, changed."""
    if not path:
        return replace(part, **{setting: _checked(part, setting, value)})
    return replace(part, **{path[0]: _changed(getattr(part, path[0]), path[1:], setting, value)})


def _checked(part: Any, setting: str, value: object) -> object:
    """A setting that is a plain number, or None where that is the default."""
    default = next(field.default for field in fields(part) if field.name == setting)
    if (value is None and default is None) or not isinstance(default, int | float | None):
        return value
    try:
        number = plain_number(value)
    except CellError as error:
        raise MethodError(f"`{setting}`: {error}") from None
    if abs(number) > MOST:
        raise MethodError(f"`{setting}` must be at most {MOST:,} in size, but got {number:g}")
    return number
