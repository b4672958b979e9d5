"""The table of experiments: what was asked, what was recorded, the outcome; pending rows among them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bomi import cells
from bomi.cells import Cell, Interval, Known, Normal
from bomi.errors import CellError, TableError
from bomi.space import IDENTITY, RESERVED, Integer, Parameter, Real, Space

if TYPE_CHECKING:
    import pandas as pd

SHOWN_PROBLEMS = 20
_ANY_NUMBER = Real(-1.0, 1.0)  # reads a number in all its spellings; its bounds are not looked at


@dataclass(frozen=True)
class Row:
    """One experiment. `asked` holds what was asked for, where known; an outcome of None is pending."""

    recorded: Mapping[str, Cell]
    outcome: float | None
    asked: Mapping[str, Known] = field(default_factory=dict)
    id: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def pending(self) -> bool:
        """Whether its outcome is still awaited."""
        return self.outcome is None

    @property
    def complete(self) -> bool:
        """Whether every input is known exactly."""
        return not any(cell is None or isinstance(cell, Normal | Interval) for cell in self.recorded.values())


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a table: where, what was found and what was expected."""

    row: object
    column: str
    message: str

    def __str__(self) -> str:
        return f"row {self.row}, column {self.column!r}: {self.message}"


def read_cell(parameter: Parameter, value: object, *, keep_outside: bool = False) -> Cell:
    """A checked cell: what `value` says of the parameter, inside its bounds unless `keep_outside`."""
    cell = parameter.read(value)
    if cell is None:
        return None
    center = cell.center if isinstance(cell, Normal | Interval) else cell
    inside = _overlaps(cell, parameter) if isinstance(cell, Interval) else parameter.contains(center)
    if not inside and not keep_outside:
        raise CellError(
            f"{cells.text(cell)} is out of bounds {parameter.range_text}; "
            'widen the bounds, or admit it with out_of_bounds="keep"'
        )
    if not inside:
        parameter.to_unit(center)  # a log scale has no place for 0 and below: better told here than later
    return cell


def _overlaps(interval: Interval, parameter: Parameter) -> bool:
    return isinstance(parameter, Real | Integer) and interval.low < parameter.high and parameter.low < interval.high


def read_outcome(value: object) -> float | None:
    """A finite number, or None for pending."""
    if cells.is_unknown(value):
        return None
    try:
        outcome = _ANY_NUMBER.read(value)
    except CellError:
        outcome = None
    if not isinstance(outcome, float):
        raise CellError(f"expected a finite number, or a blank for pending, but got {value!r}")
    return outcome


def read_columns(
    columns: Mapping[str, Sequence[object]],
    space: Space,
    objective: str,
    *,
    keep_outside: bool = False,
    labels: Sequence[object] | None = None,
) -> list[Row]:
    """The rows of a table given by columns; TableError names every problem with its row and column.

    Columns: each parameter, the objective, optionally `id` and `asked.<parameter>`; others are kept as they are.
    """
    asked_names = {RESERVED + name: name for name in space.names}
    expected = {*space.names, objective, IDENTITY, *asked_names}
    unexpected = [name for name in columns if name not in expected]
    missing = [name for name in (*space.names, objective) if name not in columns and _default(space, name) is None]
    if missing:
        beside = f"; unexpected columns: {', '.join(map(repr, unexpected))}" if unexpected else ""
        raise TableError(f"the table lacks {', '.join(map(repr, missing))}{beside}")

    count = len(next(iter(columns.values())))
    labels = labels if labels is not None else range(count)
    problems: list[Problem] = []

    def column(name: str, read: Any, low: float = 0.0, high: float = -1.0) -> list[Any]:
        values: list[Any] = []
        typed: dict[str, Any] = {}  # blanks and categories come again and again
        plain = cells.PLAIN.fullmatch
        for label, value in zip(labels, columns[name], strict=True):
            # Nearly every cell of a large table is a typed number within bounds: no more than this for it.
            if value.__class__ is str and plain(value) and low <= (number := float(value)) <= high:
                values.append(number)
                continue
            try:
                if not isinstance(value, str):
                    values.append(read(value))
                    continue
                if value not in typed:
                    typed[value] = read(value)
                values.append(typed[value])
            except CellError as error:
                problems.append(Problem(label, name, str(error)))
                values.append(None)
        return values

    columns = {**{name: [None] * count for name in space.names}, **columns}
    recorded = {
        name: column(
            name,
            lambda value, p=p: read_cell(p, value, keep_outside=keep_outside),
            *((p.low, p.high) if isinstance(p, Real) else ()),
        )
        for name, p in space.parameters.items()
    }
    asked = {
        name: column(title, lambda value, p=space.parameters[name]: _read_asked(p, value, keep_outside))
        for title, name in asked_names.items()
        if title in columns
    }
    for name, p in space.parameters.items():
        if p.default is not None:
            known = asked.get(name, [None] * count)
            for i, (value, label) in enumerate(zip(columns[name], labels, strict=True)):
                if recorded[name][i] is None and known[i] is None and _is_blank(value):
                    try:
                        recorded[name][i] = read_cell(p, p.default, keep_outside=keep_outside)
                    except CellError as error:
                        problems.append(Problem(label, name, f"the default {error}"))
    outcomes = column(objective, read_outcome, -sys.float_info.max, sys.float_info.max)
    ids = column(IDENTITY, _read_id) if IDENTITY in columns else [None] * count
    seen: dict[str, object] = {}
    for label, identity in zip(labels, ids, strict=True):
        if identity is not None and identity in seen:
            problems.append(Problem(label, IDENTITY, f"{identity!r} is the id of row {seen[identity]} too"))
        elif identity is not None:
            seen[identity] = label
    if problems:
        raise table_error(problems)
    names = tuple(recorded)
    together = zip(*recorded.values(), strict=True)
    return [
        Row(
            recorded=dict(zip(names, next(together), strict=True)),
            outcome=outcomes[i],
            asked={name: values[i] for name, values in asked.items() if values[i] is not None},
            id=ids[i],
            extra={name: columns[name][i] for name in unexpected},
        )
        for i in range(count)
    ]


def _default(space: Space, name: str) -> Known | None:
    parameter = space.parameters.get(name)
    return parameter.default if parameter is not None else None


def _is_blank(value: object) -> bool:
    """Whether nothing was typed: a `?` or `NA` says that nobody knows, an empty cell that nobody varied it."""
    return not isinstance(value, str) or not value.strip()


def table_error(problems: Sequence[Problem]) -> TableError:
    """All problems in one error: the first twenty, then a count."""
    lines = [str(problem) for problem in problems[:SHOWN_PROBLEMS]]
    if len(problems) > SHOWN_PROBLEMS:
        lines.append(f"and {len(problems) - SHOWN_PROBLEMS} more problems")
    error = TableError("\n".join(lines))
    error.problems = tuple(problems)
    return error


def _read_asked(parameter: Parameter, value: object, keep_outside: bool) -> Known | None:
    cell = read_cell(parameter, value, keep_outside=keep_outside)
    if isinstance(cell, Normal | Interval):
        raise CellError(f"what was asked is a plain value, but got {cells.text(cell)}")
    return cell


def _read_id(value: object) -> str | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of whole numbers with a blank among them is one of floats
    blank = not isinstance(value, str) and cells.is_unknown(value)
    return None if blank else str(value).strip() or None


@dataclass(frozen=True)
class Observations:
    """Everything told so far; adding gives a new value, so a failed call changes nothing."""

    space: Space
    objective: str
    rows: tuple[Row, ...] = ()

    @property
    def done(self) -> tuple[Row, ...]:
        """The rows with an outcome."""
        return tuple(row for row in self.rows if not row.pending)

    @property
    def pending(self) -> tuple[Row, ...]:
        """The rows that still await one."""
        return tuple(row for row in self.rows if row.pending)

    def find(self, identity: str) -> int | None:
        """The place of the row with this id."""
        return next((i for i, row in enumerate(self.rows) if row.id == identity), None)

    def add(self, rows: Iterable[Row]) -> Observations:
        """With more rows; one whose id is that of a pending row takes its place, and what was asked stays known."""
        known: dict[str | None, int] = {row.id: i for i, row in enumerate(self.rows)}
        merged = list(self.rows)
        for row in rows:
            place = known.get(row.id) if row.id is not None else None
            if place is None:
                known[row.id] = len(merged)
                merged.append(row)
            elif (old := merged[place]).pending:
                merged[place] = replace(row, asked={**old.asked, **row.asked}, extra={**old.extra, **row.extra})
            else:
                raise TableError(f"the experiment with id {row.id!r} has been told already")
        return replace(self, rows=tuple(merged))

    def fresh_id(self) -> str:
        """A short id that no row has."""
        taken = {row.id for row in self.rows}
        number = len(self.rows) + 1
        while str(number) in taken:
            number += 1
        return str(number)

    def columns(self) -> dict[str, list[object]]:
        """The table by columns, as `read_columns` takes it back."""
        table: dict[str, list[object]] = {IDENTITY: [row.id for row in self.rows]}
        for name in self.space.names:
            table[name] = [row.recorded[name] for row in self.rows]
            if _default(self.space, name) is not None:  # a blank would be taken for it
                table[name] = ["?" if cell is None else cell for cell in table[name]]
        table[self.objective] = [row.outcome for row in self.rows]
        for name in self.space.names:
            if any(name in row.asked for row in self.rows):
                table[RESERVED + name] = [row.asked.get(name) for row in self.rows]
        for name in dict.fromkeys(name for row in self.rows for name in row.extra):
            table[name] = [row.extra.get(name) for row in self.rows]
        return table

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame; unknown cells are NaN or None."""
        import pandas as pd

        return pd.DataFrame(self.columns())
