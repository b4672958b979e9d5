"""A linear constraint on the parameters: a fixed sum, or a sum with limits; and what all constraints share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bomi.errors import SpaceError, shown
from bomi.space.cells import Known, number_text
from bomi.space.numbers import SMALLEST, space_number


class Sum(NamedTuple):
    """A weighted sum of parameters, or of their logarithms, between two limits: what a constraint comes down to."""

    terms: Mapping[str, float]
    lower: float
    upper: float
    log: bool = False


@dataclass(frozen=True)
class Linear:
    """A weighted sum of parameters, in their own units, that has a smallest or a largest value or a fixed one.

    Args:
        terms: A mapping of numeric parameter to its coefficient.
        min: The least sum.
        max: The largest sum.
        equals: The only sum, instead of `min` and `max`.

    >>> print(Linear({"water": 1, "oil": 2}, max=500))
    water + 2 oil <= 500
    """

    terms: Mapping[str, float]
    min: float | None = field(default=None, kw_only=True)
    max: float | None = field(default=None, kw_only=True)
    equals: float | None = field(default=None, kw_only=True)

    key = "terms"

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", read_terms(self.terms, self.key, "coefficient"))
        for name, limit in check_limits(self).items():
            object.__setattr__(self, name, limit)

    def __hash__(self) -> int:
        return hash((tuple(self.terms.items()), self.min, self.max, self.equals))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that it speaks of."""
        return tuple(self.terms)

    @property
    def sums(self) -> tuple[Sum, ...]:
        """Itself."""
        return (Sum(self.terms, self.lower, self.upper),)

    @property
    def lower(self) -> float:
        """What the sum must reach."""
        limit = self.min if self.equals is None else self.equals
        return -math.inf if limit is None else limit

    @property
    def upper(self) -> float:
        """What the sum must not exceed."""
        limit = self.max if self.equals is None else self.equals
        return math.inf if limit is None else limit

    def total(self, values: Mapping[str, float]) -> float:
        """The weighted sum of a setting."""
        return sum(coefficient * values[name] for name, coefficient in self.terms.items())

    def reach(self, low: Mapping[str, float], high: Mapping[str, float]) -> tuple[float, float]:
        """The smallest and the largest sum within ranges."""
        ends = [sorted((a * low[name], a * high[name])) for name, a in self.terms.items()]
        return sum(end[0] for end in ends), sum(end[1] for end in ends)

    def solve(self, known: Mapping[str, float]) -> dict[str, float]:
        """What follows of the others, if some are known: of a fixed sum the last one."""
        missing = [name for name in self.terms if name not in known]
        if self.equals is None or len(missing) != 1:
            return {}
        rest = self.total({**known, missing[0]: 0.0})
        return {missing[0]: (self.equals - rest) / self.terms[missing[0]]}

    def rest(self, values: Mapping[str, Known]) -> tuple[Linear, ...]:
        """What it asks of its other parameters once some have a value.

        >>> print(*Linear({"water": 1, "oil": 2}, max=500).rest({"oil": 100}))
        water <= 300
        """
        terms = {name: coefficient for name, coefficient in self.terms.items() if name not in values}
        fixed = sum(coefficient * float(values[name]) for name, coefficient in self.terms.items() if name in values)
        limits = {name: getattr(self, name) for name in ("min", "max", "equals")}
        left = {name: limit - fixed for name, limit in limits.items() if limit is not None}
        return (Linear(terms, **left),) if terms else ()

    @property
    def total_text(self) -> str:
        """The weighted sum, written out."""
        parts = []
        for name, coefficient in self.terms.items():
            size = "" if abs(coefficient) == 1 else f"{number_text(abs(coefficient))} "
            parts += ["-" if coefficient < 0 else "+", f"{size}{name}"]
        return " ".join(parts[1:] if parts[0] == "+" else parts)

    def __str__(self) -> str:
        return limits_text(self.total_text, self.min, self.max, self.equals)


def read_terms(terms: object, key: str, noun: str) -> dict[str, float]:
    """A number other than 0 for each parameter, checked."""
    if not isinstance(terms, Mapping) or not terms:
        raise SpaceError(f"a constraint needs a mapping of parameter to {noun}, but got {shown(terms)}", (key,))
    read = {}
    for name, value in terms.items():
        if not isinstance(name, str):
            raise SpaceError(f"a constraint speaks of parameters by name, but got {shown(name)}", (key,))
        what, kind = f"the {noun} of {name!r}", "number other than 0"
        read[name] = space_number(what, value, (key, name), kind)
        if abs(read[name]) < SMALLEST:
            raise SpaceError(f"{what} must be a {kind}, but got {value!r}", (key, name))
    return read


def check_limits(constraint: Any) -> dict[str, float]:
    """The limits of a constraint as numbers: min or max or both, or equals alone."""
    told = {name: getattr(constraint, name) for name in ("min", "max", "equals")}
    limits = {
        name: space_number(f"`{name}` of a constraint", limit, (name,))
        for name, limit in told.items()
        if limit is not None
    }
    if not limits or ("equals" in limits and len(limits) > 1):
        raise SpaceError(f"a constraint needs min or max or both, or equals alone, but got {limits or 'none of them'}")
    if limits.get("min", -math.inf) > limits.get("max", math.inf):
        raise SpaceError(
            f"`min <= max` must hold, but got (min={limits['min']:g}, max={limits['max']:g})", ("min",), ("max",)
        )
    return limits


def limits_text(total: str, least: float | None, most: float | None, equals: float | None) -> str:
    """A constraint as people write it."""
    if equals is not None:
        return f"{total} = {number_text(equals)}"
    low = f"{number_text(least)} <= " if least is not None and most is not None else ""
    if most is not None:
        return f"{low}{total} <= {number_text(most)}"
    return f"{total} >= {number_text(least or 0.0)}"
