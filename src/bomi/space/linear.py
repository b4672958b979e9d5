"""A linear constraint on the parameters: a fixed sum, or a sum with limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from bomi.errors import SpaceError, shown
from bomi.space.cells import Known, number_text
from bomi.space.numbers import SMALLEST, space_number


@dataclass(frozen=True)
class Linear:
    """A weighted sum of parameters, in their own units, that has a smallest or a largest value or a fixed one.

    >>> print(Linear({"water": 1, "oil": 2}, max=500))
    water + 2 oil <= 500
    """

    terms: Mapping[str, float]
    min: float | None = field(default=None, kw_only=True)
    max: float | None = field(default=None, kw_only=True)
    equals: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.terms, Mapping) or not self.terms:
            raise SpaceError(
                f"a constraint needs a mapping of parameter to coefficient, but got {shown(self.terms)}", ("terms",)
            )
        terms = {}
        for name, coefficient in self.terms.items():
            if not isinstance(name, str):
                raise SpaceError(f"a constraint speaks of parameters by name, but got {shown(name)}", ("terms",))
            what, kind = f"the coefficient of {name!r}", "number other than 0"
            terms[name] = space_number(what, coefficient, ("terms", name), kind)
            if abs(terms[name]) < SMALLEST:
                raise SpaceError(f"{what} must be a {kind}, but got {coefficient!r}", ("terms", name))
        object.__setattr__(self, "terms", terms)
        limits = {name: getattr(self, name) for name in ("min", "max", "equals") if getattr(self, name) is not None}
        for name, limit in limits.items():
            limits[name] = space_number(f"`{name}` of a constraint", limit, (name,))
            object.__setattr__(self, name, limits[name])
        if not limits or (self.equals is not None and len(limits) > 1):
            raise SpaceError(
                f"a constraint needs min or max or both, or equals alone, but got {limits or 'none of them'}"
            )
        if self.min is not None and self.max is not None and self.min > self.max:
            raise SpaceError(
                f"`min <= max` must hold, but got (min={self.min:g}, max={self.max:g})", ("min",), ("max",)
            )

    def __hash__(self) -> int:
        return hash((tuple(self.terms.items()), self.min, self.max, self.equals))

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

    def given(self, values: Mapping[str, Known]) -> Linear | None:
        """What it asks of its other parameters once some have a value; None if it has no others.

        >>> print(Linear({"water": 1, "oil": 2}, max=500).given({"oil": 100}))
        water <= 300
        """
        terms = {name: coefficient for name, coefficient in self.terms.items() if name not in values}
        fixed = sum(coefficient * float(values[name]) for name, coefficient in self.terms.items() if name in values)
        limits = {name: getattr(self, name) for name in ("min", "max", "equals")}
        return Linear(terms, **{name: v - fixed for name, v in limits.items() if v is not None}) if terms else None

    @property
    def sum_text(self) -> str:
        """The weighted sum, written out."""
        parts = []
        for name, coefficient in self.terms.items():
            size = "" if abs(coefficient) == 1 else f"{number_text(abs(coefficient))} "
            parts += ["-" if coefficient < 0 else "+", f"{size}{name}"]
        return " ".join(parts[1:] if parts[0] == "+" else parts)

    def __str__(self) -> str:
        if self.equals is not None:
            return f"{self.sum_text} = {number_text(self.equals)}"
        low = f"{number_text(self.min)} <= " if self.min is not None and self.max is not None else ""
        if self.max is not None:
            return f"{low}{self.sum_text} <= {number_text(self.max)}"
        return f"{self.sum_text} >= {number_text(self.lower)}"
