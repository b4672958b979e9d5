"""From what people type to checked rows: cells, outcomes and whole tables, every problem with its row and column."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bomi.data.objectives import ERROR
from bomi.data.observations import FAILED, Row, default_of
from bomi.errors import CellError, Problem, TableError
from bomi.space import IDENTITY, RESERVED, Integer, Parameter, Real, Space, cells
from bomi.space.cells import Cell, Interval, Known, Normal

SHOWN_PROBLEMS = 20
_ANY_NUMBER = Real(-1.0, 1.0)  # reads a number in all its spellings; its bounds are not looked at


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
        raise CellError(f"expected a finite number, a blank for pending or 'failed', but got {value!r}")
    return outcome


def read_error(value: object) -> float | None:
    """A standard error: a finite number from 0, or None where it is not known."""
    error = None
    if not cells.is_unknown(value):
        try:
            error = read_outcome(value)
        except CellError:
            error = -1.0
    if error is not None and error < 0:
        raise CellError(f"a standard error is a number from 0, or blank, but got {value!r}")
    return error


def is_failed(value: object) -> bool:
    """Whether a cell of an outcome says that the experiment failed."""
    return isinstance(value, str) and value.strip().lower() == FAILED


def read_columns(
    columns: Mapping[str, Sequence[object]],
    space: Space,
    objectives: str | Sequence[str],
    *,
    keep_outside: bool = False,
    labels: Sequence[object] | None = None,
) -> list[Row]:
    """The rows of a table given by columns; TableError names every problem with its row and column.

    Columns: each parameter, each objective, optionally `id`, `asked.<parameter>` and `<objective>.sd`; others are kept
    as they are.
    """
    objectives = (objectives,) if isinstance(objectives, str) else tuple(objectives)
    asked_names = {RESERVED + name: name for name in space.names}
    error_names = {name + ERROR: name for name in objectives}
    expected = {*space.names, *objectives, IDENTITY, *asked_names, *error_names}
    unexpected = [name for name in columns if name not in expected]
    missing = [name for name in (*space.names, *objectives) if name not in columns and default_of(space, name) is None]
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
    size = sys.float_info.max
    outcomes = {
        name: column(name, lambda value: FAILED if is_failed(value) else read_outcome(value), -size, size)
        for name in objectives
    }
    errors = {name: column(title, read_error, 0.0, size) for title, name in error_names.items() if title in columns}
    failed = [FAILED in told for told in zip(*outcomes.values(), strict=True)]
    for i, name in ((i, name) for i in range(count) if failed[i] for name in objectives):
        if isinstance(outcomes[name][i], float):
            problems.append(
                Problem(labels[i], name, "the experiment failed in one outcome; this one must be blank too")
            )
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
            outcomes={name: told[i] for name, told in outcomes.items() if isinstance(told[i], float)},
            asked={name: values[i] for name, values in asked.items() if values[i] is not None},
            id=ids[i],
            extra={name: columns[name][i] for name in unexpected},
            errors={name: told[i] for name, told in errors.items() if told[i] is not None},
            failed=failed[i],
        )
        for i in range(count)
    ]


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
