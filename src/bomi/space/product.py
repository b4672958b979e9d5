"""A product or a ratio of parameters with a limit: linear in their logarithms, and a ratio of two linear as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from bomi.errors import SpaceError, shown
from bomi.space.cells import Known, number_text
from bomi.space.linear import Linear, Sum, check_limits, limits_text, read_terms


@dataclass(frozen=True)
class Product:
    """A product of powers of parameters, in their own units, that has a smallest or a largest value or a fixed one.

    Args:
        powers: A mapping of numeric parameter to its power; {"acid": 1, "base": -1} is a ratio.
        min: The least product.
        max: The largest product.
        equals: The only product, instead of `min` and `max`.

    >>> print(Product({"flow": 1, "time": 1}, max=100), Product({"acid": 1, "base": -1}, min=0.5, max=2), sep="; ")
    flow * time <= 100; 0.5 <= acid / base <= 2
    """

    powers: Mapping[str, float]
    min: float | None = field(default=None, kw_only=True)
    max: float | None = field(default=None, kw_only=True)
    equals: float | None = field(default=None, kw_only=True)

    key = "product"

    def __post_init__(self) -> None:
        object.__setattr__(self, "powers", read_terms(self.powers, self.key, "power"))
        for name, limit in check_limits(self).items():
            if limit < 0 or (limit == 0 and name != "min"):
                raise SpaceError(f"`{name}` of a product must be above 0, but got {shown(limit)}", (name,))
            object.__setattr__(self, name, limit)

    def __hash__(self) -> int:
        return hash((tuple(self.powers.items()), self.min, self.max, self.equals))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that it speaks of."""
        return tuple(self.powers)

    @property
    def lower(self) -> float:
        """What the product must reach."""
        limit = self.min if self.equals is None else self.equals
        return 0.0 if limit is None else limit

    @property
    def upper(self) -> float:
        """What the product must not exceed."""
        limit = self.max if self.equals is None else self.equals
        return math.inf if limit is None else limit

    @property
    def sums(self) -> tuple[Sum, ...]:
        """The same as sums with limits: of one parameter and of a ratio of two in their own units, else of logarithms.

        a / b <= r is a - r b <= 0, so that a denominator may be 0 if the numerator is.
        """
        (first, power), *others = self.powers.items()
        if len(others) > 1 or (others and others[0][1] != -power):
            low, high = (math.log(limit) if limit > 0 else -math.inf for limit in (self.lower, self.upper))
            return (Sum(self.powers, low, high, log=True),)
        ends = (self.lower, self.upper) if power > 0 else (self.upper, self.lower)
        low, high = (_root(end, power) for end in ends)
        if not others:
            return (Sum({first: 1.0}, low, high),)
        second = others[0][0]
        if low == high:
            return (Sum({first: 1.0, second: -low}, 0.0, 0.0),)
        below = [Sum({first: 1.0, second: -high}, -math.inf, 0.0)] if math.isfinite(high) else []
        above = [Sum({first: 1.0, second: -low}, 0.0, math.inf)] if low > 0 else []
        return (*below, *above)

    def total(self, values: Mapping[str, float]) -> float:
        """The product of a setting."""
        return math.prod(_power(values[name], power) for name, power in self.powers.items())

    def reach(self, low: Mapping[str, float], high: Mapping[str, float]) -> tuple[float, float]:
        """The smallest and the largest product within ranges."""
        ends = [sorted((_power(low[name], p), _power(high[name], p))) for name, p in self.powers.items()]
        return math.prod(end[0] for end in ends), math.prod(end[1] for end in ends)

    def solve(self, known: Mapping[str, float]) -> dict[str, float]:
        """What follows of the others, if some are known: of a fixed product the last one."""
        missing = [name for name in self.powers if name not in known]
        if self.equals is None or len(missing) != 1:
            return {}
        rest = math.prod(_power(known[name], p) for name, p in self.powers.items() if name in known)
        usable = 0 < rest < math.inf
        return {missing[0]: _root(self.equals / rest, self.powers[missing[0]])} if usable else {}

    def rest(self, values: Mapping[str, Known]) -> tuple[Product | Linear, ...]:
        """What it asks of its other parameters once some have a value.

        >>> print(*Product({"flow": 1, "time": 1}, max=100).rest({"time": 4}))
        flow <= 25
        """
        known = {name: float(values[name]) for name in self.powers if name in values}
        others = {name: power for name, power in self.powers.items() if name not in values}
        if not known or not others:
            return (self,) if others else ()
        if not self.sums[0].log:  # a ratio of two
            linear = [Linear(one.terms, min=_finite(one.lower), max=_finite(one.upper)) for one in self.sums]
            return tuple(left for one in linear for left in one.rest(values))
        total = math.prod(_power(value, self.powers[name]) for name, value in known.items())
        if total in (0.0, math.inf):
            if self.lower > 0 if total == 0 else math.isfinite(self.upper):
                raise SpaceError(f"the constraint {self} cannot be kept")
            return ()
        limits = {name: getattr(self, name) for name in ("min", "max", "equals")}
        return (Product(others, **{name: limit / total for name, limit in limits.items() if limit is not None}),)

    @property
    def total_text(self) -> str:
        """The product, written out."""
        above = [_factor(name, power) for name, power in self.powers.items() if power > 0]
        below = [_factor(name, -power) for name, power in self.powers.items() if power < 0]
        return " / ".join([" * ".join(above) or "1", *below])

    def __str__(self) -> str:
        return limits_text(self.total_text, self.min, self.max, self.equals)


def _power(value: float, power: float) -> float:
    """value^power; 0 to a negative power is infinite, and a negative number, which is out of range, counts as 0."""
    if value <= 0:
        return 0.0 if power > 0 else math.inf
    return float(value**power)


def _root(value: float, power: float) -> float:
    return _power(value, 1 / power) if math.isfinite(value) else (math.inf if power > 0 else 0.0)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _factor(name: str, power: float) -> str:
    return name if power == 1 else f"{name}^{number_text(power)}"
