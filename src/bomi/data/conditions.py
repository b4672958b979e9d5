"""The conditions of experiments as numbers: of each group a code, of the time a share of the campaign.

n rows, e conditions: those of the groups, then the time if there is drift
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bomi.data.observations import Row
from bomi.errors import CellError, TableError, shown
from bomi.space import Array, Conditions, cells
from bomi.space.numbers import unwrapped
from bomi.space.times import day_first, is_number, read_time

NEW = -1.0  # the code of a group that has no row yet


@dataclass(frozen=True)
class Coded:
    """The conditions of some rows. A row that does not name its group is in a group of its own."""

    conditions: Conditions
    labels: tuple[tuple[str, ...], ...]  # of each column of groups, in the order of their codes
    table: Array  # (n, e)
    times: Array  # (n,) as told, or the places of the rows
    day_first: bool = True
    dated: bool = False  # whether the times are dates

    @classmethod
    def of(cls, conditions: Conditions, rows: Sequence[Row], places: Sequence[int] | None = None) -> Coded:
        """The conditions of rows; places: where they are among all rows, which is their time if no column tells it."""
        labels, columns = [], []
        for name in conditions.groups:
            texts = [group_of(row.extra.get(name)) for row in rows]
            known = tuple(dict.fromkeys(text for text in texts if text))
            code = {text: float(i) for i, text in enumerate(known)}
            labels.append(known)
            columns.append([code[text] if text else float(len(known) + i) for i, text in enumerate(texts)])
        order = np.array(range(len(rows)) if places is None else places, dtype=float)
        times, first, dated = order, True, False
        if conditions.time is not None:
            cells_of = [row.extra.get(conditions.time) for row in rows]
            first = day_first(cells_of)
            told = np.array([np.nan if (t := _time(cell, first)) is None else t for cell in cells_of], dtype=float)
            blank = np.isnan(told)
            if not blank.all():  # a blank is between the rows around it
                told[blank] = np.interp(order[blank], order[~blank], told[~blank])
                times = told
                dated = not all(cells.is_unknown(cell) or is_number(cell) for cell in cells_of)
        made = cls(conditions, tuple(labels), np.zeros((len(rows), 0)), times, first, dated)
        if conditions.drift:
            columns.append(made.shares(times).tolist())
        table = np.array(columns, dtype=float).reshape(len(columns), len(rows)).T
        return cls(conditions, tuple(labels), table, times, first, dated)

    def shares(self, times: Array) -> Array:
        """Times as shares of what the rows span: 0 for the first of them, 1 for the last."""
        if not len(self.times):
            return np.zeros_like(times)
        first, last = self.times.min(), self.times.max()
        return np.asarray((times - first) / (last - first) if last > first else np.zeros_like(times))

    def now(self, given: Mapping[str, object] | None = None) -> Array:
        """The conditions of an experiment to come: new groups and the latest time, but for what is given.  (e,)"""
        given = given or {}
        found = []
        for name, known in zip(self.conditions.groups, self.labels, strict=True):
            text = group_of(given.get(name))
            found.append(float(known.index(text)) if text in known else NEW)
        if self.conditions.drift:
            latest = self.times.max(initial=-np.inf)
            if self.conditions.time is None:
                latest = latest + 1
            elif self.conditions.time in given:
                try:
                    told = read_time(given[self.conditions.time], day_first=self.day_first)
                except CellError as error:
                    raise TableError(f"`given`, {self.conditions.time!r}: {error}") from None
                latest = latest if told is None else told
            found.append(float(self.shares(np.array(latest))) if len(self.times) else 0.0)
        return np.array(found, dtype=float)


def group_of(value: object) -> str:
    """The name of a group; none for a blank."""
    value = unwrapped(value)
    if not isinstance(value, str) and cells.is_unknown(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of whole numbers with a blank among them is one of floats
    try:
        text = str(value).strip()
    except Exception:  # what has no text
        raise TableError(f"the name of a group is a text or a number, but got {shown(value)}") from None
    return "" if cells.is_unknown(text) else text


def check_condition(conditions: Conditions, name: str, value: object) -> object:
    """The cell of a condition, if it makes sense; TableError otherwise."""
    group_of(value)
    if name == conditions.time:
        try:
            read_time(value)
        except CellError as error:
            raise TableError(f"{name!r}: {error}") from None
    return value


def _time(cell: object, first: bool) -> float | None:
    """What a cell that was checked says of the time."""
    try:
        return read_time(cell, day_first=first)
    except CellError:  # no such day, if the column begins with the month: as if it were blank
        return None
