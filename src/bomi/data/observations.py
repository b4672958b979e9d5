"""The experiments told so far: what was asked, what was recorded, the outcomes; pending and failed rows among them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import TYPE_CHECKING, Any

from bomi.data.objectives import ERROR
from bomi.errors import TableError
from bomi.space import EXCLUDE, IDENTITY, RESERVED, Space, cells
from bomi.space.cells import Cell, Censored, Interval, Known, Normal

if TYPE_CHECKING:
    import pandas as pd

EXACT = 2**53  # the whole numbers up to here are floats too
WIDEST = 2**63  # the whole numbers below are those of other programs
FAILED = "failed"  # in the cell of an outcome: the experiment was made and gave none
UNMEASURED = "n/a"  # the experiment was made, and its outcome will never be known


@dataclass(frozen=True)
class Row:
    """One experiment. `asked` holds what was asked for, where known; without any outcome it is pending, or failed.

    An excluded row stays in the table, and nothing is learned from it. Of a censored outcome only a limit is known.
    """

    recorded: Mapping[str, Cell]
    outcomes: Mapping[str, float] = field(default_factory=dict)  # those that are known
    asked: Mapping[str, Known] = field(default_factory=dict)
    id: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)  # known standard errors of outcomes
    failed: bool = False
    excluded: bool = False
    censored: Mapping[str, Censored] = field(default_factory=dict)  # outcomes known only up to a limit
    unmeasured: tuple[str, ...] = ()  # outcomes that will never be known

    @property
    def pending(self) -> bool:
        """Whether its outcome is still awaited."""
        return not (self.outcomes or self.failed or self.excluded or self.censored or self.unmeasured)

    @property
    def tried(self) -> bool:
        """Whether something is to be learned from it: an outcome, a limit of one, or that it failed."""
        return (bool(self.outcomes) or bool(self.censored) or self.failed) and not self.excluded

    @property
    def outcome(self) -> float | None:
        """The outcome, where there is one kind of them; the first that is known of several."""
        return next(iter(self.outcomes.values()), None)

    @property
    def complete(self) -> bool:
        """Whether every input is known exactly."""
        return not any(cell is None or isinstance(cell, Normal | Interval) for cell in self.recorded.values())

    @property
    def known(self) -> dict[str, Known]:
        """The inputs that are known exactly."""
        return {name: cell for name, cell in self.recorded.items() if isinstance(cell, Known)}


def _outcome(row: Row, name: str) -> object:
    """The cell of an outcome."""
    if row.failed or name in row.unmeasured:
        return FAILED if row.failed else UNMEASURED
    return str(row.censored[name]) if name in row.censored else row.outcomes.get(name)


def members_of(column: str | None, rows: Sequence[Row]) -> dict[str, list[int]]:
    """The rows of each group that a column names; a blank names none."""
    found: dict[str, list[int]] = {}
    for i, row in enumerate(rows if column is not None else ()):
        value = row.recorded.get(str(column), row.extra.get(str(column)))
        if not cells.is_unknown(value):
            found.setdefault(str(value).strip(), []).append(i)
    return found


def default_of(space: Space, name: str) -> Known | None:
    """What a blank of a parameter is taken for, if anything is."""
    parameter = space.parameters.get(name)
    return parameter.filling if parameter is not None else None


@dataclass(frozen=True)
class Observations:
    """Everything told so far; adding gives a new value, so a failed call changes nothing.

    Each row has a key of its own, and gets another when it changes: whoever remembers something of a row finds it
    again by its key, however the rows around it come and go.
    """

    space: Space
    objectives: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    keys: tuple[int, ...] = field(default=(), compare=False)
    next_key: int = field(default=0, compare=False)
    withdrawn: frozenset[str] = field(default=frozenset(), compare=False)  # ids that no other row shall have

    def __post_init__(self) -> None:
        if len(self.keys) != len(self.rows):
            object.__setattr__(self, "keys", tuple(range(len(self.rows))))
            object.__setattr__(self, "next_key", len(self.rows))

    @property
    def done(self) -> tuple[Row, ...]:
        """The rows with an outcome, or some of several; like all below without those that are excluded."""
        return tuple(row for row in self.rows if row.tried and row.outcomes)

    @property
    def tried(self) -> tuple[Row, ...]:
        """The rows with an outcome and those that failed."""
        return tuple(row for row in self.rows if row.tried)

    @property
    def tried_keys(self) -> tuple[int, ...]:
        """Their keys."""
        return tuple(key for key, row in zip(self.keys, self.rows, strict=True) if row.tried)

    @property
    def pending(self) -> tuple[Row, ...]:
        """The rows that still await one."""
        return tuple(row for row in self.rows if row.pending)

    def find(self, identity: str) -> int | None:
        """The place of the row with this id."""
        return next((i for i, row in enumerate(self.rows) if row.id == identity), None)

    def add(self, rows: Iterable[Row]) -> Observations:
        """With more rows; one whose id is that of a row without this outcome yet completes it.

        What was asked stays known.
        """
        known: dict[str | None, int] = {row.id: i for i, row in enumerate(self.rows)}
        merged, keys = list(self.rows), list(self.keys)
        for key, row in enumerate(rows, self.next_key):
            place = known.get(row.id) if row.id is not None else None
            if place is None:
                known[row.id] = len(merged)
                merged.append(row)
                keys.append(key)
                continue
            old = merged[place]
            known_now, known_before = {**row.outcomes, **row.censored}, {**old.outcomes, **old.censored}
            if old.failed or known_now.keys() & known_before.keys() or (known_before and not known_now):
                raise TableError(f"the experiment with id {row.id!r} has been told already")
            merged[place] = replace(
                row,
                asked={**old.asked, **row.asked},
                extra={**old.extra, **row.extra},
                outcomes={**old.outcomes, **row.outcomes},
                errors={**old.errors, **row.errors},
                excluded=old.excluded or row.excluded,
                censored={**old.censored, **row.censored},
            )
            keys[place] = key
        return replace(
            self, rows=tuple(merged), keys=tuple(keys), next_key=max(self.next_key, max(keys, default=-1) + 1)
        )

    def put(self, place: int, row: Row) -> Observations:
        """With another row at this place."""
        rows, keys = list(self.rows), list(self.keys)
        rows[place], keys[place] = row, self.next_key
        return replace(self, rows=tuple(rows), keys=tuple(keys), next_key=self.next_key + 1)

    def without(self, place: int) -> Observations:
        """Without the row at this place; no other row will get its id."""
        rows, keys = list(self.rows), list(self.keys)
        gone = rows.pop(place).id
        keys.pop(place)
        withdrawn = self.withdrawn if gone is None else self.withdrawn | {gone}
        return replace(self, rows=tuple(rows), keys=tuple(keys), withdrawn=withdrawn)

    def after(self, before: Observations) -> Observations:
        """With the keys that equal rows had before; all others get new ones."""
        known: dict[str, list[int]] = {}
        for key, row in zip(before.keys, before.rows, strict=True):
            known.setdefault(repr(row), []).append(key)
        fresh = itertools.count(before.next_key)
        keys = tuple(found.pop(0) if (found := known.get(repr(row))) else next(fresh) for row in self.rows)
        return replace(self, keys=keys, next_key=next(fresh))

    def fresh_id(self) -> str:
        """A short id that no row has or had, in the style of the last one: H41 after H40."""
        told = [row.id for row in self.rows if row.id is not None]
        taken = {*told, *self.withdrawn}
        style = re.fullmatch(r"(\D*)(\d{1,9})", told[-1]) if told else None
        prefix, width, number = (style[1], len(style[2]), int(style[2])) if style else ("", 1, len(self.rows))
        while (identity := f"{prefix}{number + 1:0{width}d}") in taken:
            number += 1
        return identity

    def columns(self) -> dict[str, list[object]]:
        """The table by columns, as `read_columns` takes it back."""
        table: dict[str, list[object]] = {IDENTITY: [row.id for row in self.rows]}
        for name in self.space.names:
            table[name] = [row.recorded[name] for row in self.rows]
            if default_of(self.space, name) is not None:  # a blank would be taken for it
                table[name] = ["?" if cell is None else cell for cell in table[name]]
        for name in self.objectives:
            table[name] = [_outcome(row, name) for row in self.rows]
            if any(name in row.errors for row in self.rows):
                table[name + ERROR] = [row.errors.get(name) for row in self.rows]
        for name in self.space.names:
            if any(name in row.asked for row in self.rows):
                table[RESERVED + name] = [row.asked.get(name) for row in self.rows]
        if any(row.excluded for row in self.rows):
            table[EXCLUDE] = [True if row.excluded else None for row in self.rows]
        for name in dict.fromkeys((*self.space.conditions.columns, *(name for row in self.rows for name in row.extra))):
            table[name] = [row.extra.get(name) for row in self.rows]
        return table

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame; unknown cells are NaN or None.

        A column of ours has one type, so that any file format takes it: beside `150±8` or `failed`, numbers are texts.
        """
        import pandas as pd

        others = {EXCLUDE, *(name for row in self.rows for name in row.extra)}
        columns = self.columns().items()
        return pd.DataFrame({name: _series(values if name in others else _alike(values)) for name, values in columns})


def _alike(values: list[object]) -> list[object]:
    """The cells of a column: numbers, texts or truth values as they are, all others as texts; blanks stay blank.

    Truth values beside a blank are texts too, as other programs make numbers of them.
    """
    kinds = {type(value) for value in values}
    wide = any(type(value) is int and abs(value) >= WIDEST for value in values)
    if any(kinds <= plain for plain in ({int, float, NoneType}, {str, NoneType}, {bool})) and not wide:
        return values
    return [None if value is None else cells.text(value) for value in values]  # type: ignore[arg-type]


def _series(values: list[object]) -> pd.Series[Any]:
    """A column as it is: pandas makes floats of whole numbers beside a blank, exact only up to 2^53."""
    import pandas as pd

    large = any(isinstance(value, int) and abs(value) > EXACT for value in values)
    try:
        return pd.Series(values, dtype=object if large else None)
    except Exception:  # a column beside ours may hold anything, even what pandas cannot compare
        return pd.Series(values, dtype=object)
