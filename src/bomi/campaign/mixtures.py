"""Parameters that add up to the same in every row, as the parts of a mixture do.

A suggestion that does not keep such a sum cannot be made. Typed numbers are rounded, so a sum may be slightly off in
some rows. In such a table a blank often means that there was none of it: then the others make up the whole without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomi.data.observations import Row
from bomi.space import Linear, Parameter, cells

FloatArray = NDArray[np.float64]
FEWEST = 4  # different settings, and more than there are parts
LOOKED_AT = 1000  # rows
EXACTLY, ABOUT = 1e-9, 0.02  # of the total: what floating-point numbers add to it, and rounding
WIDE = 4.0  # times what rounding adds: so much do the sums of unrelated parts differ at least


class Mixture(NamedTuple):
    """Parts with a fixed sum, and those of them of which a blank means none."""

    parts: tuple[str, ...]
    total: float
    none: tuple[str, ...] = ()

    @property
    def constraint(self) -> Linear:
        """Their sum is what it is."""
        return Linear(dict.fromkeys(self.parts, 1.0), equals=self.total)

    def __str__(self) -> str:
        whole = f"{listed(self.parts)} add up to {cells.number_text(self.total)}"
        return f"{whole} if a blank of {listed(self.none)} means 0" if self.none else whole


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: 'a', 'b' and 'c'."""
    *others, last = map(repr, names)
    return f"{', '.join(others)} and {last}" if others else last


def mixtures(columns: Mapping[str, tuple[str, Sequence[float | None]]]) -> list[Mixture]:
    """The columns of one unit, side by side, that have a fixed sum: the fewest that do.

    Sums that are the same to the last digit come first, so that a part of which there is little is not left out.
    columns: the unit of each, and its numbers, None where nobody knows
    """
    by_unit: dict[str, list[str]] = {}
    for name, (unit, _) in columns.items():
        by_unit.setdefault(unit, []).append(name)
    found: list[Mixture] = []
    for names in (names for names in by_unit.values() if len(names) > 1):
        table = np.array([columns[name][1][:LOOKED_AT] for name in names], dtype=float).T
        found += _of_one_unit(names, table)
    return found


def mixtures_of(parameters: Mapping[str, Parameter], rows: Sequence[Row]) -> list[Mixture]:
    """The mixtures among the parameters of a campaign."""
    numbers = {
        name: (parameter.unit or "", [_number(row, name) for row in rows[:LOOKED_AT]])
        for name, parameter in parameters.items()
        if parameter.kind in ("real", "integer") and not parameter.measured
    }
    return mixtures(numbers)


def _of_one_unit(names: Sequence[str], table: FloatArray) -> Iterator[Mixture]:
    """table: (n, k)"""
    blank, filled = np.isnan(table), np.nan_to_num(table)
    most = min(len(names), len(table) - 1)  # parts, of which there are fewer than rows
    taken: set[int] = set()
    for rounded in (False, True):
        for count in range(2, most + 1):
            for run in (range(first, first + count) for first in range(len(names) - count + 1)):
                if taken & {*run}:
                    continue
                found = _mixture([names[i] for i in run], blank[:, run], filled[:, run], rounded)
                if found:
                    taken.update(run)
                    yield found


def _number(row: Row, name: str) -> float | None:
    """What a row has of a part: None where nobody knows, or only about."""
    cell = row.recorded[name]
    return float(cell) if isinstance(cell, int | float) else None


def _mixture(names: Sequence[str], blank: NDArray[np.bool_], filled: FloatArray, rounded: bool) -> Mixture | None:
    """The mixture of these parts, if their sum is the same in every row that has all of them; or in every row if a
    blank is none, where few rows have all. With `rounded`, in most rows, and nearly in the others.  (n, k)"""
    complete, some = ~blank.any(-1), ~blank.all(-1)
    fewest = max(FEWEST, len(names) + 1)
    told = complete if complete.sum() >= fewest else some
    if told.sum() < fewest:
        return None
    sums = filled.sum(-1)
    total = float(f"{np.median(sums[told]):.9g}")
    close = (ABOUT if rounded else EXACTLY) * total
    whole = abs(sums - total) <= close
    if not whole[told].all() or total <= 0 or (filled < 0).any() or not (np.ptp(filled[told], 0) > 0).all():
        return None
    if rounded and (
        np.mean(abs(sums[told] - total) <= EXACTLY * total) <= 0.5 or np.sqrt(filled[told].var(0).sum()) < WIDE * close
    ):
        return None
    if len(np.unique(filled[told], axis=0)) < fewest:
        return None
    gappy = some & ~complete
    none = [i for i in range(len(names)) if blank[some, i].any()]
    none = none if told is some or (gappy.sum() >= FEWEST and whole[gappy].all()) else []
    return Mixture(tuple(names), total, tuple(names[i] for i in none))
