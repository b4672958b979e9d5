"""The kinds of parameters, and the map of each to and from its columns of the unit cube.

A number is one column of the cube, and so are ordered levels, evenly apart; a category is one column for each of its
values (1 for the value it has, 0 for the others).
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bomi.errors import CellError, SpaceError, shown
from bomi.space import cells, typed
from bomi.space.cells import Cell, Censored, Interval, Known, Normal, Uncertain
from bomi.space.descriptors import Descriptors
from bomi.space.numbers import LARGEST, SMALLEST, level_count, plain_number, space_number, unwrapped
from bomi.space.polytope import Axis

Array: TypeAlias = NDArray[np.float64]

FEW = 16  # levels that a local search tries all of
FINEST = 1e15  # steps of a range that a float can still tell apart
SHORT = 12  # digits of a decimal that differs from its neighbours by far more than rounding
_WHOLE = re.compile(r"[+-]?\d{1,101}")
SEVERAL = 20  # blanks of a column, from which their meaning is learned unasked
MAYBE, UNKNOWN, ZERO = "maybe", "unknown", "zero"  # what `blank` may say; otherwise it is a value


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
        _check_unit(self)
        _check_default(self)

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
        return [self.to_unit(self._level(index)) for index in _others(here, self.levels)]

    def expand(self, places: Array) -> Array:
        """Positions in [0, 1], spread evenly over what the parameter can be.  (...) -> (..., 1)"""
        if self.levels is not None and not self.log:
            index = np.clip(np.floor(places * self.levels), 0, self.levels - 1)
            places = index * (self.step or 1) / (self.high - self.low)
        return self.snap(places[..., None])


@dataclass(frozen=True)
class Real(_Number):
    """A number between two bounds, on a log scale or in steps if wished.

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
        """The value at a place, to its last digit or two, in much less time: of many that were drawn."""
        place = min(max(float(columns[0]), 0.0), 1.0)
        if self.step is not None:
            return self.from_unit(columns)
        number = self._at(place)
        short = float(f"{number:.{SHORT}g}")
        return short if self.low <= short <= self.high and self.to_unit(short) == [place] else number


@dataclass(frozen=True)
class Integer(_Number):
    """A whole number between two bounds, both included.

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


@dataclass(frozen=True)
class _Choice:
    """What Categorical and Ordinal share: a list of values, read by the way they are written."""

    values: Sequence[Known]
    unit: str = field(default="", kw_only=True)
    default: Known | None = field(default=None, kw_only=True)
    blank: Known | None = field(default=None, kw_only=True, repr=False)  # what a blank means
    same_within: str | None = field(default=None, kw_only=True, repr=False)  # the column of groups that share its value
    measured: bool = field(default=False, kw_only=True, repr=False)  # learned from, never suggested

    kind: ClassVar[str]
    noun: ClassVar[str]

    def __post_init__(self) -> None:
        unordered = isinstance(self.values, str | bytes | Set | Mapping)
        try:
            values = () if unordered else tuple(unwrapped(value) for value in self.values)
        except TypeError:
            unordered = True
        if unordered:
            raise SpaceError(f"{self.noun} must be a list of values, but got {shown(self.values)}", ("values",))
        for value in values:
            if cells.is_unknown(value) and (not isinstance(value, str) or value.strip() in ("", "?")):
                raise SpaceError(f"no value can be called {value!r}: that is read as unknown", ("values",))
        values = tuple(
            value
            if isinstance(value, str | bool)
            else space_number(f"each of {self.noun}", value, ("values",), "text or a number")
            for value in values
        )
        object.__setattr__(self, "values", values)
        if len(self._by_text) < max(2, len(values)):
            raise SpaceError(
                f"{self.noun} must be two or more different values, but got {shown(list(values))}", ("values",)
            )
        _check_unit(self)
        _check_default(self)

    @cached_property
    def _by_text(self) -> dict[str, int]:
        return {cells.text(value).strip(): index for index, value in enumerate(self.values)}

    @cached_property
    def _by_look(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, value in enumerate(self.values):
            found.setdefault(cells.look(cells.text(value)), []).append(index)
        return found

    @property
    def filling(self) -> Known | None:
        """What a blank is read as; None if it is a gap."""
        return None if self.blank == MAYBE else self.default

    @property
    def usual(self) -> Known | None:
        """What a blank may mean: the default; without one, whatever is the commonest."""
        return self.default

    def may_mean(self, blanks: int) -> bool:
        """Whether it is learned if blanks mean the usual value."""
        return self.blank == MAYBE

    @property
    def levels(self) -> int:
        """How many values it can take."""
        return len(self.values)

    def read(self, value: object) -> Cell:
        """The value that a cell of a table names; CellError if there is none."""
        if isinstance(value, str) and value.strip() in self._by_text:  # a value called Na is no gap
            return self.values[self._by_text[value.strip()]]
        unknown = cells.is_unknown(value)
        if unknown and not isinstance(value, str):
            return None
        value = unwrapped(value)
        if not isinstance(value, str | bool):
            with suppress(CellError):
                value = plain_number(value)
        text = cells.text(value).strip() if isinstance(value, bool | float | str) else shown(value)
        if text not in self._by_text and (number := cells.plain(text)) is not None:
            text = cells.number_text(number)  # 2.0 and 2 are the same level
        if text in self._by_text:
            return self.values[self._by_text[text]]
        alike = self._by_look.get(cells.look(text), ())
        if unknown and not alike:
            return None
        if len(alike) == 1 and not unknown:
            return self.values[alike[0]]
        if alike:
            raise CellError(
                f"{value!r} may be {' or '.join(repr(cells.text(self.values[i])) for i in alike)}"
                f"{' or unknown; write ? for unknown' if unknown else '; write it as it is listed'}"
            )
        near = difflib.get_close_matches(text, self._by_text, n=3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise CellError(f"expected one of {', '.join(self._by_text)}, but got {shown(value)}{hint}")

    def contains(self, value: Known) -> bool:
        """Whether it is one of the values."""
        return value in self.values

    @property
    def range_text(self) -> str:
        """The values as an error message shows them."""
        return "{" + ", ".join(self._by_text) + "}"

    def index(self, value: Known) -> int:
        """The place of a value among all, from 0."""
        return self._by_text[cells.text(value).strip()]

    def tidy(self, value: Known) -> Known:
        """The value as it is."""
        return value


@dataclass(frozen=True)
class Categorical(_Choice):
    """One of several values without an order; numbers that describe each of them say which are alike.

    >>> Categorical(["water", "oil", "air"]).to_unit("oil")
    [0.0, 1.0, 0.0]
    """

    descriptors: Any = field(default=None, kw_only=True, repr=False)  # a table or a mapping; a `Descriptors` once made

    kind: ClassVar[str] = "categorical"
    noun: ClassVar[str] = "categories"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.descriptors is not None:
            object.__setattr__(self, "descriptors", Descriptors.of(self.descriptors, self.values))

    @property
    def width(self) -> int:
        """How many columns of the cube it has: one for each value."""
        return len(self.values)

    def to_unit(self, value: Known) -> list[float]:
        """1 in the column of the value, 0 in the others."""
        index = self.index(value)
        return [float(column == index) for column in range(self.width)]

    def from_unit(self, columns: Sequence[float] | Array) -> Known:
        """The value whose column is largest."""
        return self.values[int(np.argmax(np.asarray(columns)))]

    def snap(self, columns: Array) -> Array:
        """The nearest admissible places of the cube.  (..., width)"""
        return np.asarray(np.eye(self.width)[np.argmax(columns, axis=-1)])

    def every(self) -> list[list[float]]:
        """Every value's place in the cube."""
        return [self.to_unit(value) for value in self.values]

    def neighbors(self, columns: Array) -> list[list[float]]:
        """The other values."""
        here = int(np.argmax(columns))
        return [row for index, row in enumerate(np.eye(self.width).tolist()) if index != here]

    def expand(self, places: Array) -> Array:
        """Positions in [0, 1], spread evenly over the values.  (...) -> (..., width)"""
        index = np.clip(np.floor(places * self.width), 0, self.width - 1).astype(int)
        return np.asarray(np.eye(self.width)[index])


@dataclass(frozen=True)
class Ordinal(_Choice):
    """One of several values in an order, numbers or words: from one to the next is one step, whatever they are.

    >>> Ordinal([1, 2, 5, 10, 20]).to_unit(5), Ordinal(["low", "medium", "high"]).from_unit([0.9])
    ([0.5], 'high')
    """

    kind: ClassVar[str] = "ordinal"
    noun: ClassVar[str] = "ordered levels"
    width: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.numeric and list(self.values) not in (
            sorted(self.values, key=float),
            sorted(self.values, key=float)[::-1],
        ):
            raise SpaceError(
                f"ordered levels that are numbers must rise or fall, but got {list(self.values)!r}", ("values",)
            )

    @property
    def numeric(self) -> bool:
        """Whether all its values are numbers."""
        return not any(isinstance(value, str | bool) for value in self.values)

    def to_unit(self, value: Known) -> list[float]:
        """The value's rank, from 0 for the first to 1 for the last."""
        return [self.index(value) / (len(self.values) - 1)]

    def from_unit(self, columns: Sequence[float] | Array) -> Known:
        """The nearest value by rank."""
        return self.values[round(min(max(float(columns[0]), 0.0), 1.0) * (len(self.values) - 1))]

    def axis(self, name: str) -> Axis:
        """Its numbers, as a constraint sees them."""
        numbers = tuple(sorted(float(value) for value in self.values))
        return Axis(name, numbers[0], numbers[-1], levels=numbers)

    def numbers(self, columns: Array) -> Array:
        """The numbers at places of the cube, between levels too.  (..., 1) -> (...)"""
        ranks = np.linspace(0, 1, len(self.values))
        return np.asarray(np.interp(columns[..., 0], ranks, np.array(self.values, dtype=float)))

    def slope(self, columns: Array) -> float:
        """Levels are apart: there is nothing between them to move along."""
        return 0.0

    def places(self, numbers: Array) -> Array:
        """The places of numbers in the cube.  (...) -> (..., 1)"""
        ranks, values = np.linspace(0, 1, len(self.values)), np.array(self.values, dtype=float)
        order = values.argsort()
        return np.asarray(np.interp(numbers, values[order], ranks[order]))[..., None]

    def snap(self, columns: Array) -> Array:
        """The nearest admissible places of the cube.  (..., 1)"""
        steps = len(self.values) - 1
        return np.asarray(np.round(np.clip(columns, 0.0, 1.0) * steps) / steps)

    def every(self) -> list[list[float]]:
        """Every value's place in the cube."""
        return [self.to_unit(value) for value in self.values]

    def neighbors(self, columns: Array) -> list[list[float]]:
        """The other values, or those 1, 2, 4, 8, ... ranks away where there are many."""
        count, here = len(self.values), round(float(columns[0]) * (len(self.values) - 1))
        return [[index / (count - 1)] for index in _others(here, count)]

    def expand(self, places: Array) -> Array:
        """Positions in [0, 1], spread evenly over the values.  (...) -> (..., 1)"""
        index = np.clip(np.floor(places * len(self.values)), 0, len(self.values) - 1)
        return np.asarray(index / (len(self.values) - 1))[..., None]


def _check_unit(parameter: Any) -> None:
    if not isinstance(parameter.unit, str):
        raise SpaceError(f"`unit` must be a text, but got {shown(parameter.unit)}", ("unit",))
    if not isinstance(parameter.measured, bool):
        raise SpaceError(f"`measured` must be True or False, but got {shown(parameter.measured)}", ("measured",))
    if parameter.same_within is not None and not isinstance(parameter.same_within, str):
        raise SpaceError(
            f"`same_within` must be the name of a column, but got {shown(parameter.same_within)}", ("same_within",)
        )


def _check_default(parameter: Any) -> None:
    """What blanks are taken for must be a value that the parameter can read, inside its bounds or not.

    A value of `blank` is the default under another name.
    """
    key = "default"
    if parameter.blank is not None and parameter.blank not in (MAYBE, UNKNOWN):
        key = "blank"
        value = 0 if parameter.blank == ZERO and ZERO not in getattr(parameter, "values", ()) else parameter.blank
        if parameter.default is not None:
            raise SpaceError(
                f"`blank` says that a blank is {shown(value)}, and `default` that it is {shown(parameter.default)}; "
                f"keep one of them, or say blank={MAYBE!r}",
                ("blank",),
                ("default",),
            )
        object.__setattr__(parameter, "default", value)
        object.__setattr__(parameter, "blank", None)
    if parameter.default is None:
        return
    try:
        value = parameter.read(parameter.default)
        if not isinstance(value, Known):
            raise CellError(f"it must be a plain value, but got {shown(parameter.default)}")
        parameter.to_unit(value)
    except CellError as error:
        hint = f" (or {MAYBE!r}, {UNKNOWN!r}, {ZERO!r})" if key == "blank" else ""
        raise SpaceError(f"`{key}`{hint}: {error}", (key,)) from None
    object.__setattr__(parameter, "default", value)


Parameter: TypeAlias = Real | Integer | Categorical | Ordinal


def Measured(*range_or_values: Any, **options: Any) -> Real | Categorical:  # noqa: N802  # it stands where Real does
    """What is measured but cannot be set: a number between two bounds, or one of several values.

    >>> Measured(20, 80, unit="%").measured, Measured(["Acme", "Bolt"]).range_text
    (True, '{Acme, Bolt}')
    """
    if len(range_or_values) == 1:
        return Categorical(range_or_values[0], measured=True, **options)
    if len(range_or_values) != 2:
        raise SpaceError(
            f"Measured needs a low and a high bound, or a list of values, but got {shown(range_or_values)}"
        )
    return Real(*range_or_values, measured=True, **options)


def _others(here: int, count: int) -> list[int]:
    """The other indices if there are few, else those 1, 2, 4, 8, ... away."""
    steps = [2**k for k in range(count.bit_length())]
    indices = range(count) if count <= FEW else [here + s for step in steps for s in (-step, step)]
    return [index for index in indices if index != here and 0 <= index < count]
