"""Parameters that are numbers: real ones and whole ones. Each is one column of the unit cube."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar

import numpy as np

from bomi.errors import CellError, SpaceError, shown
from bomi.space import cells, typed
from bomi.space.axis import Axis
from bomi.space.cells import Cell, Censored, Interval, Known, Normal, Uncertain
from bomi.space.numbers import LARGEST, SMALLEST, Array, level_count, nearby, plain_number, space_number
from bomi.space.options import MAYBE, SEVERAL, check_options

FINEST = 1e15  # steps of a range that a float can still tell apart
SHORT = 12  # digits of a decimal that differs from its neighbours by far more than rounding
_WHOLE = re.compile(r"[+-]?\d{1,101}")


@dataclass(frozen=True)
class _Number:
    """What Real and Integer share: bounds, scale, step, and one column of the cube."""

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)
    unit: str = field(default="", kw_only=True)
    default: float | None = field(default=None, kw_only=True)
    blank: Known | None = field(default=None, kw_only=True, repr=False)  # what a blank means
    same_within: str | None = field(default=None, kw_only=True, repr=False)  # the column of groups that share its value
    measured: bool = field(default=False, kw_only=True, repr=False)  # learned from, never suggested
    decimals: int | None = field(default=None, kw_only=True, compare=False, repr=False)  # of what is suggested

    kind: ClassVar[str]
    width: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name in ("low", "high") if self.step is None else ("low", "high", "step"):
            object.__setattr__(self, name, space_number(f"`{name}`", getattr(self, name), (name,)))
        span = self.high - self.low
        if not self.low < self.high:
            raise SpaceError(
                f"`low < high` must hold, but got (low={self.low:g}, high={self.high:g})", ("low",), ("high",)
            )
        if span < max(SMALLEST, 8 * math.ulp(max(abs(self.low), abs(self.high)))):
            raise SpaceError(
                f"[{self.low!r}, {self.high!r}] is too narrow a range: its values cannot be told apart",
                ("low",),
                ("high",),
            )
        if not isinstance(self.log, bool | np.bool_):
            raise SpaceError(f"`log` must be True or False, but got {shown(self.log)}", ("log",))
        if self.log and self.low < SMALLEST:
            least = "low > 0" if self.low <= 0 else f"low >= {SMALLEST:g}"
            raise SpaceError(f"a log scale needs `{least}`, but got low={self.low:g}", ("low",), ("log",))
        if self.step is not None and not SMALLEST <= self.step <= span:
            raise SpaceError(
                f"`0 < step <= high - low` must hold, but got step={self.step:g} in [{self.low:g}, {self.high:g}]",
                ("step",),
            )
        check_options(self)

    @property
    def filling(self) -> float | None:
        """What a blank is read as; None if it is a gap."""
        return None if self.blank == MAYBE else self.default

    @property
    def usual(self) -> float:
        """What a blank may mean: the default, or else 0, or else the lower end of the range."""
        if self.default is not None:
            return self.default
        return 0.0 if self.low <= 0 <= self.high else self.low

    def may_mean(self, blanks: int) -> bool:
        """Whether it is learned if so many blanks mean the usual value: unasked where a range begins at 0, for none."""
        return self.blank == MAYBE or (self.blank is None and self.low == self.usual == 0 and blanks >= SEVERAL)

    @property
    def levels(self) -> int | None:
        """How many values it can take; None for a continuum."""
        return None if self.step is None else level_count(self.low, self.high, self.step)

    def read(self, value: object) -> Cell:
        """What a value of a table, or a typed one, says of this parameter; CellError if nothing sensible."""
        if value.__class__ in (float, int) and -LARGEST <= value <= LARGEST:
            return self._number(value)  # nearly every cell: no more than this for it
        if isinstance(value, str):
            return self.told(typed.parse(value, unit=self.unit))
        if cells.is_unknown(value):
            return None
        if isinstance(value, Normal | Interval | Censored):
            return self.told(value)
        return self._number(plain_number(value))

    def told(self, cell: float | Uncertain | Censored | None) -> Cell:
        """What was read as a cell of this parameter: a limit such as <5 is the interval that the bounds leave."""
        if isinstance(cell, Censored):
            if not (cell.low < self.high and self.low < cell.high):
                raise CellError(f"{cell} leaves nothing within the bounds {self.range_text}; widen the bounds")
            return cell.within(self.low, self.high)
        return self._number(cell) if isinstance(cell, float) else cell

    def _number(self, number: float) -> Known:
        return float(number)

    def contains(self, value: Known) -> bool:
        """Whether a known value lies inside the bounds."""
        return not isinstance(value, str) and self.low <= value <= self.high

    @property
    def range_text(self) -> str:
        """The bounds as an error message shows them."""
        unit = f" {self.unit}" if self.unit else ""
        return f"[{cells.number_text(self.low)}, {cells.number_text(self.high)}]{unit}"

    def to_unit(self, value: Known) -> list[float]:
        """The value's column of the cube: (x - low) / (high - low), or the same of log x."""
        number = value if isinstance(value, int) else float(value)  # an int of any size stays exact
        if not self.log:
            return [(number - self.low) / (self.high - self.low)]
        if number <= 0:
            raise CellError(f"a log scale needs a value above 0, but got {number:g}")
        return [math.log(number / self.low) / math.log(self.high / self.low)]

    def from_unit(self, columns: Sequence[float] | Array) -> Known:
        """The value at a place of the cube: on the grid if there is a step, else the shortest decimal there."""
        place = min(max(float(columns[0]), 0.0), 1.0)
        if self.step is not None:
            return self._level(round((self._at(place) - self.low) / self.step))
        for _ in range(20):
            number = self._at(place)
            short = self.to_unit(float(f"{number:.{SHORT}g}")) == [place]  # if not, no shorter one is there either
            shorter = (float(f"{number:.{digits}g}") for digits in range(1 if short else SHORT + 1, 18))
            beside = (number + ulps * math.ulp(number) for ulps in (-1, 1, -2, 2, -3, 3))
            for near in (*shorter, *beside):
                if self.low <= near <= self.high and self.to_unit(near) == [place]:
                    return near
            place = self.to_unit(number)[0]  # no value has exactly this place: the nearest one that some value has
        return number

    def _at(self, place: float) -> float:
        if self.log:
            number = self.low * math.exp(math.log(self.high / self.low) * place)
        else:
            number = self.low * (1 - place) + self.high * place
        return min(max(number, self.low), self.high)

    def tidy(self, value: Known) -> Known:
        """The value as one would set it: a continuous one to its decimals, or to a millionth of its range.

        On a log scale it has two digits at least, or six.
        """
        if self.step is not None:
            return value
        return min(max(round(float(value), self.decimals_at(float(value))), self.low), self.high)

    def decimals_at(self, value: float) -> int:
        """How many decimals a value is rounded to."""
        size = math.floor(math.log10(value if self.log else self.high - self.low))
        if self.decimals is None:
            return 6 - size
        return max(self.decimals, 1 - size) if self.log else self.decimals

    def _level(self, index: int) -> Known:
        # Decimals, so that 0.1 + 2 * 0.1 is 0.3 and not a neighbour of it.
        index = min(max(index, 0), (self.levels or 1) - 1)
        return min(float(Decimal(repr(self.low)) + index * Decimal(repr(self.step))), self.high)

    def snap(self, columns: Array) -> Array:
        """The nearest admissible places of the cube.  (..., 1)"""
        inside = np.clip(columns, 0.0, 1.0)
        if self.step is None or self.levels is None:
            return inside
        span = self.high - self.low
        ratio = math.log(self.high / self.low) if self.log else 0.0
        number = self.low * np.exp(inside * ratio) if self.log else self.low + inside * span
        index = np.clip(np.round((number - self.low) / self.step), 0, self.levels - 1)
        number = self.low + index * self.step
        return np.log(number / self.low) / ratio if self.log else (number - self.low) / span

    def axis(self, name: str) -> Axis:
        """Its range and steps, as a constraint sees them."""
        return Axis(name, float(self.low), float(self.high), log=self.log, step=self.step)

    def numbers(self, columns: Array) -> Array:
        """The numbers at places of the cube.  (..., 1) -> (...)"""
        if self.log:
            return np.asarray(self.low * np.exp(columns[..., 0] * math.log(self.high / self.low)))
        return self.low * (1 - columns[..., 0]) + self.high * columns[..., 0]

    def slope(self, columns: Array) -> float:
        """How fast the number changes along the column."""
        return float(self.numbers(columns) * math.log(self.high / self.low)) if self.log else self.high - self.low

    def places(self, numbers: Array) -> Array:
        """The places of numbers in the cube.  (...) -> (..., 1)"""
        if self.log:
            return np.asarray(np.log(numbers / self.low) / math.log(self.high / self.low))[..., None]
        return ((numbers - self.low) / (self.high - self.low))[..., None]

    def every(self) -> list[list[float]]:
        """Every level's place in the cube; none for a continuum."""
        return [self.to_unit(self._level(index)) for index in range(self.levels or 0)]

    def neighbors(self, columns: Array) -> list[list[float]]:
        """Other levels to try in a local search: all if they are few, else steps of 1, 2, 4, 8, ..."""
        if self.step is None or self.levels is None:
            return []
        here = round((float(self.from_unit(columns)) - self.low) / self.step)
        return [self.to_unit(self._level(index)) for index in nearby(here, self.levels)]

    def expand(self, places: Array) -> Array:
        """Positions in [0, 1], spread evenly over what the parameter can be.  (...) -> (..., 1)"""
        if self.levels is not None and not self.log:
            index = np.clip(np.floor(places * self.levels), 0, self.levels - 1)
            places = index * (self.step or 1) / (self.high - self.low)
        return self.snap(places[..., None])


@dataclass(frozen=True)
class Real(_Number):
    """A number between two bounds, on a log scale or in steps if wished.

    Args:
        low: The least value.
        high: The largest value.
        log: True for a log scale, where ratios count and not differences.
        step: The distance between values that can be set, counted from `low`; None for a continuum.
        unit: As people write it, such as "°C"; cells in another unit of the same kind are converted.
        default: What a blank means in rows that did not vary it.
        blank: What a blank may mean. "zero" or a value: the same as `default`. "maybe": perhaps the default, and the
            outcomes decide. "unknown": a lost value and nothing else. Left out, it is "maybe" where the range begins
            at 0 and twenty or more cells are blank.
        same_within: A column of the table, such as the lot, whose rows share one value of this parameter.
        measured: True if nobody can set it: it is learned from, and never suggested.
        decimals: Of suggested values; left out, they are rounded to a millionth of the range.

    >>> Real(20, 400).to_unit(115), Real(20, 400, step=5).from_unit([0.263])
    ([0.25], 120.0)
    """

    kind: ClassVar[str] = "real"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.levels is not None and self.levels > FINEST:
            raise SpaceError(
                f"a step of {self.step:g} makes more values in {self.range_text} than can be told apart; "
                "leave it out, or take a larger one",
                ("step",),
            )

    def drawn(self, columns: Sequence[float] | Array) -> Known:
        """The value at a place to its last digit or two, much faster than `from_unit`: for many drawn values."""
        place = min(max(float(columns[0]), 0.0), 1.0)
        if self.step is not None:
            return self.from_unit(columns)
        number = self._at(place)
        short = float(f"{number:.{SHORT}g}")
        return short if self.low <= short <= self.high and self.to_unit(short) == [place] else number


@dataclass(frozen=True)
class Integer(_Number):
    """A whole number between two bounds, both included.

    Args:
        low: The least value.
        high: The largest value.
        log: True for a log scale, where ratios count and not differences.
        step: The distance between values that can be set, counted from `low`.
        unit: As people write it, such as "°C"; cells in another unit of the same kind are converted.
        default: What a blank means in rows that did not vary it.
        blank: What a blank may mean. "zero" or a value: the same as `default`. "maybe": perhaps the default, and the
            outcomes decide. "unknown": a lost value and nothing else. Left out, it is "maybe" where the range begins
            at 0 and twenty or more cells are blank.
        same_within: A column of the table, such as the lot, whose rows share one value of this parameter.
        measured: True if nobody can set it: it is learned from, and never suggested.
        decimals: Of suggested values; a whole number has none.

    >>> Integer(1, 8).from_unit([0.5])
    5
    """

    step: float | None = field(default=1, kw_only=True)
    kind: ClassVar[str] = "integer"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high", "step"):
            number = getattr(self, name)
            if number is None or number != int(number):
                raise SpaceError(f"an integer parameter needs a whole `{name}`, but got {number!r}", (name,))
            object.__setattr__(self, name, int(number))

    def read(self, value: object) -> Cell:
        """What a value of a table, or a typed one, says of this parameter; a whole number of any size is exact."""
        if isinstance(value, str) and _WHOLE.fullmatch(clean := value.strip()):
            value = int(clean)
        return super().read(value)

    def _number(self, number: float) -> Known:
        if number != int(number):
            raise CellError(f"expected a whole number, but got {cells.number_text(number)}")
        return int(number)

    def _level(self, index: int) -> Known:
        index = min(max(index, 0), (self.levels or 1) - 1)
        return int(self.low) + index * int(self.step or 1)
