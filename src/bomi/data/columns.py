"""From a table given by columns to checked rows, every problem with its row and column."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bomi.data.objectives import ERROR
from bomi.data.observations import FAILED, UNMEASURED, Row, default_of
from bomi.data.reading import is_blank, read_asked, read_cell, read_error, read_exclude, read_id, read_told
from bomi.errors import CellError, CellProblem, TableError, shown
from bomi.space import EXCLUDE, IDENTITY, RESERVED, TAKEN, Parameter, Real, Space, cells, typed
from bomi.space.cells import Cell, Censored, Known, Normal
from bomi.space.numbers import LARGEST
from bomi.space.times import day_first, read_time
from bomi.space.typed import STRICT

SHOWN_PROBLEMS = 20
ALIKE = 0.8  # of 1: names so alike that one is taken for a misspelling of the other


def read_columns(
    columns: Mapping[str, Sequence[object]],
    space: Space,
    objectives: str | Sequence[str],
    *,
    keep_outside: bool = False,
    labels: Sequence[object] | None = None,
    readers: Mapping[str, Callable[[str], object]] | None = None,
    odd: dict[str, Counter[str]] | None = None,
) -> list[Row]:
    """The rows of a table given by columns; TableError names every problem with its row and column.

    Columns: each parameter, each objective, optionally `id`, `asked.<parameter>`, `<objective>.sd` and `exclude`;
    others are kept as they are. A reader turns the texts of a column into what a parameter reads. Into `odd` go the
    texts of each column, with how often they come; plain numbers are better given as numbers.
    """
    objectives = (objectives,) if isinstance(objectives, str) else tuple(objectives)
    beside = _check_names(columns, space, objectives)
    count = len(next(iter(columns.values())))
    whole = {**{name: [None] * count for name in space.names}, **columns}
    reader = _Reader(whole, labels if labels is not None else range(count), readers or {}, odd)
    recorded = {
        name: reader.column(
            name,
            reader.understood(name, partial(read_cell, p, keep_outside=keep_outside)),
            *((p.low, p.high) if isinstance(p, Real) else ()),
        )
        for name, p in space.parameters.items()
    }
    asked = {
        name: reader.column(title, reader.understood(title, partial(read_asked, p, keep_outside=keep_outside)))
        for name, p in space.parameters.items()
        if (title := RESERVED + name) in columns
    }
    for name, p in space.parameters.items():
        if p.filling is not None:
            _fill_blanks(reader, name, p, recorded[name], asked.get(name, [None] * count), keep_outside)
    outcomes, errors = _read_outcomes(reader, objectives)
    failed = [FAILED in told for told in zip(*outcomes.values(), strict=True)]
    for i, name in ((i, name) for i in range(count) if failed[i] for name in objectives):
        if isinstance(outcomes[name][i], float | Censored):
            reader.wrong(i, name, "the experiment failed in one outcome; this one must be blank too")
    if (time := space.conditions.time) is not None:
        first = day_first(columns[time])
        reader.column(time, partial(read_time, day_first=first))
    excluded = reader.column(EXCLUDE, read_exclude) if EXCLUDE in columns else [False] * count
    ids = reader.column(IDENTITY, read_id) if IDENTITY in columns else [None] * count
    seen: dict[str, int] = {}
    for i, identity in enumerate(ids):
        if identity is not None and seen.setdefault(identity, i) != i:
            reader.wrong(i, IDENTITY, f"{identity!r} is the id of row {reader.labels[seen[identity]]} too")
    if reader.problems:
        raise table_error(reader.problems)
    limits = {name: told for name, told in outcomes.items() if Censored in set(map(type, told))}
    never = {name: told for name, told in outcomes.items() if UNMEASURED in told}
    names = tuple(recorded)
    together = zip(*recorded.values(), strict=True)
    return [
        Row(
            recorded=dict(zip(names, next(together), strict=True)),
            outcomes={name: told[i] for name, told in outcomes.items() if isinstance(told[i], float)},
            asked={name: values[i] for name, values in asked.items() if values[i] is not None} if asked else {},
            id=ids[i],
            extra={name: columns[name][i] for name in beside} if beside else {},
            errors={name: told[i] for name, told in errors.items() if told[i] is not None} if errors else {},
            failed=failed[i],
            excluded=excluded[i],
            censored={name: told[i] for name, told in limits.items() if isinstance(told[i], Censored)}
            if limits
            else {},
            unmeasured=tuple(name for name, told in never.items() if told[i] == UNMEASURED) if never else (),
        )
        for i in range(count)
    ]


def _check_names(columns: Collection[str], space: Space, objectives: Sequence[str]) -> list[str]:
    """The columns that mean nothing here; TableError if one is missing, or looks misspelt."""
    beside = [RESERVED + name for name in space.names] + [name + ERROR for name in objectives]
    expected = {*space.names, *objectives, *TAKEN, *beside}
    unexpected = [name for name in columns if name not in expected]
    needed = (*space.names, *objectives, *space.conditions.columns)
    missing = [name for name in needed if name not in columns and default_of(space, name) is None]
    if missing:
        there = f"; unexpected columns: {', '.join(map(repr, unexpected))}" if unexpected else ""
        raise TableError(f"the table lacks {', '.join(map(repr, missing))}{there}")
    for name in space.names:
        near = [] if name in columns else difflib.get_close_matches(name, unexpected, n=1, cutoff=ALIKE)
        if near:
            raise TableError(
                f"the table has no column {name!r} but {near[0]!r}; rename it if it is the same, "
                f"otherwise add a column {name!r}, which may be blank where the default "
                f"{cells.text(default_of(space, name))} was kept"
            )
    return unexpected


@dataclass(frozen=True)
class _Reader:
    """Reads one column of a table after another, and notes every problem."""

    columns: Mapping[str, Sequence[object]]
    labels: Sequence[object]  # what the rows are called
    readers: Mapping[str, Callable[[str], object]]
    odd: dict[str, Counter[str]] | None
    problems: list[CellProblem] = field(default_factory=list)

    def wrong(self, row: int, column: str, message: str) -> None:
        """Note a problem with a cell."""
        self.problems.append(CellProblem(self.labels[row], column, message))

    def understood(self, name: str, read: Callable[[object], object]) -> Callable[[object], object]:
        """What reads a cell of a column, once the column's own reader has read a text."""
        own = self.readers.get(name)
        return read if own is None else lambda value: read(own(value) if isinstance(value, str) else value)

    def column(self, name: str, read: Any, low: float = 0.0, high: float = -1.0) -> list[Any]:
        """The cells of a column as they are read; floats between two ends as they are."""
        told: dict[str, Any] = {}  # blanks and categories come again and again
        counts: Counter[str] = Counter()
        plain = STRICT.plain.fullmatch if name not in self.readers else lambda text: None
        values = list(self.columns[name])
        # Nearly every cell of a large table is a number within bounds: no more than this for it.
        others = [i for i, value in enumerate(values) if not (value.__class__ is float and low <= value <= high)]
        for i in others:
            value = values[i]
            if value.__class__ is str and plain(value) and low <= (number := float(value)) <= high:
                values[i] = number
                continue
            try:
                if not isinstance(value, str):
                    values[i] = read(value)
                    continue
                counts[value] += 1
                key = value if value.__class__ is str else value + "\0"  # a workbook's number, or a text like it
                if key not in told:
                    told[key] = read(value)
                values[i] = told[key]
            except CellError as error:
                self.wrong(i, name, str(error))
                values[i] = None
        if self.odd is not None:
            self.odd[name] = counts
        return values


def _fill_blanks(
    reader: _Reader, name: str, p: Parameter, recorded: list[Cell], asked: Sequence[Known | None], keep: bool
) -> None:
    """Put the default of a parameter where nothing was typed and nothing asked."""
    rows = enumerate(zip(recorded, asked, reader.columns[name], strict=True))
    blanks = [i for i, (cell, wish, text) in rows if cell is None and wish is None and is_blank(text)]
    try:
        value = read_cell(p, p.filling, keep_outside=keep) if blanks else None
        for i in blanks:
            recorded[i] = value
    except CellError as error:  # once, however many blanks there are
        many = f" (and for {len(blanks) - 1} more blanks)" if len(blanks) > 1 else ""
        reader.wrong(blanks[0], name, f"the default {error}{many}")


def _read_outcomes(reader: _Reader, objectives: Sequence[str]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The outcomes and their standard errors, by objective."""
    outcomes = {
        name: reader.column(name, partial(read_told, read=reader.readers.get(name, typed.parse)), -LARGEST, LARGEST)
        for name in objectives
    }
    errors = {
        name: reader.column(title, reader.understood(title, read_error), 0.0, LARGEST)
        for name in objectives
        if (title := name + ERROR) in reader.columns
    }
    for name, cells_told in outcomes.items():
        for i, told in enumerate(cells_told):
            if isinstance(told, Normal):  # 5±1 brings its standard error with it
                spread = errors.setdefault(name, [None] * len(cells_told))
                if spread[i] is not None and spread[i] != told.sd:
                    reader.wrong(i, name, f"{told} has one standard error, {ERROR} another")
                cells_told[i], spread[i] = told.mean, told.sd
    return outcomes, errors


def table_error(problems: Sequence[CellProblem]) -> TableError:
    """All problems in one error: the first twenty, then a count."""
    lines = [str(problem) for problem in problems[:SHOWN_PROBLEMS]]
    if len(problems) > SHOWN_PROBLEMS:
        lines.append(f"and {len(problems) - SHOWN_PROBLEMS} more problems")
    error = TableError("\n".join(lines))
    error.problems = tuple(problems)
    return error


def table_columns(frame: Any) -> dict[str, list[object]]:
    """The columns of a table by name: of a DataFrame of pandas or polars, or of a Table of pyarrow."""
    try:
        if hasattr(frame, "iloc"):
            names = [str(name) for name in frame.columns]
            columns = [frame.iloc[:, i].tolist() for i in range(len(names))]
        elif hasattr(frame, "column_names"):
            names, columns = list(frame.column_names), [column.to_pylist() for column in frame.columns]
        else:
            names, columns = list(frame.columns), [column.to_list() for column in frame.get_columns()]
    except (AttributeError, TypeError):
        raise TableError(
            f"a table is a DataFrame of pandas or polars, or a Table of pyarrow, but got {shown(frame)}"
        ) from None
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise TableError(f"the table has more than one column {', '.join(map(repr, doubled))}")
    return dict(zip(names, columns, strict=True))
