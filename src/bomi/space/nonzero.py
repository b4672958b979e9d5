"""A limit on how many of several parameters are other than 0: a recipe of at most three of ten ingredients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bomi.errors import SpaceError, shown
from bomi.space.cells import Known
from bomi.space.linear import Sum
from bomi.space.numbers import whole_number


@dataclass(frozen=True)
class NonZero:
    """At most so many of some parameters are other than 0.

    Args:
        names: The parameters that are counted.
        max: How many of them may be other than 0.

    >>> print(NonZero(["resin", "chalk", "glass"], max=2))
    at most 2 of resin, chalk, glass are not 0
    """

    names: Sequence[str]
    max: int = field(kw_only=True)

    key = "nonzero"
    sums: tuple[Sum, ...] = field(default=(), init=False, repr=False)
    lower = 0.0
    equals = None

    def __post_init__(self) -> None:
        listed = not isinstance(self.names, str | bytes) and isinstance(self.names, Sequence)
        names = tuple(self.names) if listed else ()
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise SpaceError(f"it needs a list of different parameters, but got {shown(self.names)}", (self.key,))
        most = whole_number(self.max)
        if most is None or not 0 <= most < len(names):
            raise SpaceError(
                f"`max` must be a whole number from 0, below that of the parameters, {len(names)}, "
                f"but got {shown(self.max)}",
                ("max",),
            )
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "max", most)

    @property
    def upper(self) -> float:
        """How many may be other than 0."""
        return float(self.max)

    def total(self, values: Mapping[str, float]) -> float:
        """How many are other than 0, of those that are known."""
        return float(sum(values.get(name, 0) != 0 for name in self.names))

    def reach(self, low: Mapping[str, float], high: Mapping[str, float]) -> tuple[float, float]:
        """How many at least, and at most."""
        return float(sum(not low[name] <= 0 <= high[name] for name in self.names)), float(len(self.names))

    def solve(self, known: Mapping[str, float]) -> dict[str, float]:
        """What follows of the others, if some are known: 0, if no more may be other than 0."""
        missing = [name for name in self.names if name not in known]
        return dict.fromkeys(missing, 0.0) if self.total(known) >= self.max else {}

    def rest(self, values: Mapping[str, Known]) -> tuple[NonZero, ...]:
        """What it asks of its other parameters once some have a value.

        >>> print(*NonZero(["resin", "chalk", "glass", "talc"], max=2).rest({"resin": 0.5}))
        at most 1 of chalk, glass, talc are not 0
        """
        others = [name for name in self.names if name not in values]
        used = sum(float(values[name]) != 0 for name in self.names if name in values)
        if used > self.max:
            raise SpaceError(f"the constraint {self} cannot be kept")
        return (NonZero(others, max=self.max - used),) if self.max - used < len(others) else ()

    @property
    def total_text(self) -> str:
        """What is counted."""
        return f"the number of {', '.join(self.names)} that are not 0"

    def __str__(self) -> str:
        return f"at most {self.max} of {', '.join(self.names)} are not 0"
