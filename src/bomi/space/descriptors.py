"""Numbers that describe categories, such as the polarity of solvents, and how far apart these are by them.

v categories, k descriptors, each scaled to its range [0, 1] over the categories

    e_ab^2 = sum over the descriptors of E (z_a - z_b)^2,   D_ab^2 = (1 - c) e_ab^2 / max e^2 + c  for a other than b

A blank may be any of the values that the other categories have: with their mean m and variance s^2, the expectation is
(z_a - m)^2 + s^2 where one of the two is blank, and 2 s^2 where both are. So a category of which little is known is
like no other. Two categories with the same numbers are not the same: c keeps them 0.1 apart, where the farthest are 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bomi.errors import CellError, SpaceError, shown
from bomi.space import cells
from bomi.space.cells import Known
from bomi.space.numbers import plain_number, unwrapped

APART = 0.01  # c


@dataclass(frozen=True)
class Descriptors:
    """What is known of each category: a row for each, a number or None for each descriptor."""

    names: tuple[str, ...]
    rows: tuple[tuple[float | None, ...], ...]
    file: str | None = field(default=None, compare=False)  # where campaign.toml names one

    @classmethod
    def of(cls, spec: object, values: Sequence[Known], file: str | None = None) -> Descriptors:
        """Those of some categories, from a table or a mapping of category to descriptors; others are left out."""
        if isinstance(spec, Descriptors):
            return spec
        told = {_text(category): row for category, row in _rows(spec, values).items()}
        names = list(dict.fromkeys(str(name) for row in told.values() for name in row))
        rows = []
        for value in values:
            row = told.get(_text(value))
            if row is None:
                near = difflib.get_close_matches(_text(value), told, n=1)
                hint = f"did you mean {near[0]!r} there?" if near else "give it a line, with blanks for what is unknown"
                raise _error(f"there are no descriptors of {_text(value)!r}; {hint}")
            rows.append([_number(name, value, row.get(name)) for name in names])
        table = np.array(rows, dtype=object).reshape(len(rows), len(names))
        kept = [j for j in range(len(names)) if any(isinstance(one, float) for one in table[:, j])]
        for j in kept:
            for value, one in zip(values, table[:, j], strict=True):
                if isinstance(one, str):
                    raise _error(f"{names[j]!r} of {_text(value)!r} must be a number or blank, but got {one!r}")
        made = cls(tuple(names[j] for j in kept), tuple(tuple(row) for row in table[:, kept].tolist()), file)
        if not made.squares.any():
            raise _error("the descriptors are the same for all categories: they tell none of them apart")
        return made

    def as_mapping(self, values: Sequence[Known]) -> dict[str, dict[str, float]]:
        """By category and name, without the blanks."""
        return {
            _text(value): {name: one for name, one in zip(self.names, row, strict=True) if one is not None}
            for value, row in zip(values, self.rows, strict=True)
        }

    @cached_property
    def squares(self) -> NDArray[np.float64]:
        """Expected squared distances, descriptors scaled to their ranges.  (v, v)"""
        z = np.array(self.rows, dtype=float).reshape(len(self.rows), len(self.names))
        known = ~np.isnan(z)
        low = np.where(known, z, np.inf).min(0, initial=np.inf)
        span = np.where(known, z, -np.inf).max(0, initial=-np.inf) - low
        z = (z - low) / np.where(span > 0, span, 1.0)
        count = np.maximum(known.sum(0), 1)
        mean = np.where(known, z, 0.0).sum(0) / count
        variance = (np.where(known, z - mean, 0.0) ** 2).sum(0) / count
        middle = np.where(known, z, mean)
        open_part = np.where(known, 0.0, variance).sum(-1)
        squares: NDArray[np.float64] = ((middle[:, None] - middle) ** 2).sum(-1) + open_part[:, None] + open_part
        np.fill_diagonal(squares, 0.0)
        return squares

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """How far apart categories are: at most 1, and at least 0.1 if they are not the same.  (v, v)"""
        squares: NDArray[np.float64] = (1 - APART) * self.squares / self.squares.max() + APART
        np.fill_diagonal(squares, 0.0)
        distances: NDArray[np.float64] = np.sqrt(squares)
        return distances


def _rows(spec: Any, values: Sequence[Known]) -> Mapping[object, Mapping[str, object]]:
    """A row for each category, from whatever was given."""
    if hasattr(spec, "to_dict") and hasattr(spec, "index") and hasattr(spec, "columns"):  # a table of pandas
        named = {_text(one) for one in spec.index}
        if len(spec.columns) > 1 and not any(_text(value) in named for value in values):
            spec = spec.set_index(spec.columns[0])  # then the first column names them
        if not spec.index.is_unique:
            doubled = spec.index[spec.index.duplicated()][0]
            raise _error(f"two lines of the descriptors are of {_text(doubled)!r}; keep one of them")
        spec = spec.to_dict("index")
    if isinstance(spec, Mapping) and spec and all(isinstance(row, Mapping) for row in spec.values()):
        return spec
    raise _error(
        'descriptors are a table with a line for each category, or a mapping such as {"water": {"polarity": 80}}, '
        f"but got {shown(spec)}"
    )


def _number(name: str, value: Known, cell: object) -> float | str | None:
    """A number, None for a blank, or the text that is neither."""
    if cells.is_unknown(cell):
        return None
    if isinstance(held := unwrapped(cell), bool):
        return float(held)
    if isinstance(cell, str):
        found = cells.plain(cell.strip())
        return cell.strip() if found is None else float(found)
    try:
        return float(plain_number(cell))
    except CellError as error:
        raise _error(f"{name!r} of {_text(value)!r}: {error}") from None


def _text(value: object) -> str:
    held = unwrapped(value)
    return cells.text(held).strip() if isinstance(held, Known) else str(held).strip()


def _error(message: str) -> SpaceError:
    return SpaceError(message, ("descriptors",))
