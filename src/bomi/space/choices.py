"""Parameters that are one of several values: categories without an order, and ordered levels.

Ordered levels are one column of the unit cube, evenly apart; a category is one column for each of its values (1 for the
value it has, 0 for the others).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bomi.errors import CellError, SpaceError, shown
from bomi.space import cells
from bomi.space.axis import Axis
from bomi.space.cells import Cell, Known
from bomi.space.descriptors import Descriptors
from bomi.space.numbers import Array, nearby, plain_number, space_number, unwrapped
from bomi.space.options import MAYBE, check_options


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
        check_options(self)

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

    Args:
        values: Texts, numbers or booleans, at least two.
        unit: As people write it.
        default: What a blank means in rows that did not vary it.
        blank: What a blank may mean. "zero" or a value: the same as `default`. "maybe": perhaps the default, or without
            one the commonest value, and the outcomes decide. "unknown", or left out: a lost value and nothing else.
        same_within: A column of the table, such as the lot, whose rows share one value of this parameter.
        measured: True if nobody can set it: it is learned from, and never suggested.
        descriptors: Numbers that describe the values: a table whose index or first column names them, or a mapping of
            value to {descriptor: number}.

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

    Args:
        values: Numbers or words, in their order.
        unit: As people write it, such as "°C".
        default: What a blank means in rows that did not vary it.
        blank: What a blank may mean. "zero" or a value: the same as `default`. "maybe": perhaps the default, or without
            one the commonest value, and the outcomes decide. "unknown", or left out: a lost value and nothing else.
        same_within: A column of the table, such as the lot, whose rows share one value of this parameter.
        measured: True if nobody can set it: it is learned from, and never suggested.

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
        return [[index / (count - 1)] for index in nearby(here, count)]

    def expand(self, places: Array) -> Array:
        """Positions in [0, 1], spread evenly over the values.  (...) -> (..., 1)"""
        index = np.clip(np.floor(places * len(self.values)), 0, len(self.values) - 1)
        return np.asarray(index / (len(self.values) - 1))[..., None]
