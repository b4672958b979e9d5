"""From what people type to checked rows: cells, outcomes and whole tables, every problem with its row and column."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bomi.data.objectives import ERROR
from bomi.data.observations import FAILED, UNMEASURED, Row, default_of
from bomi.errors import CellError, CellProblem, TableError, UnreadableError, shown
from bomi.space import EXCLUDE, IDENTITY, RESERVED, TAKEN, Integer, Parameter, Real, Space, cells, typed
from bomi.space.cells import Cell, Censored, Interval, Known, Normal
from bomi.space.numbers import LARGEST, limit, unwrapped
from bomi.space.times import day_first, read_time
from bomi.space.typed import STRICT

SHOWN_PROBLEMS = 20
NO = frozenset({"no", "n", "false", "0"})  # in the column `exclude`, beside a blank
ALIKE = 0.8  # of 1: names so alike that one is taken for a misspelling of the other
FAILED_WORDS = frozenset({
    "failed", "fail", "failure", "fehlgeschlagen", "fehlversuch", "misslungen", "gescheitert", "échec", "echec",
    "échoué", "raté", "aborted", "crashed", "abgebrochen", "fallido", "fallo", "falló", "fracaso", "fallito",
    "falhou", "falha", "nieudany", "nieudana", "nieudane", "mislukt", "misslyckad", "misslyckades", "mislykket",
    "mislyktes", "epäonnistui", "selhalo", "neúspěšný", "başarısız", "неудача", "не удалось", "失敗", "失败", "실패",
})  # fmt: skip
PENDING_WORDS = frozenset({
    "", "?", "??", "nan", "<na>", "null", "tbd", "t.b.d.", "tba", "t.b.a.", "tbc", "to be determined", "pending",
    "awaited", "in progress", "running", "ongoing", "to do", "todo", "steht aus", "ausstehend", "offen", "läuft",
    "en cours", "en attente", "pendiente", "en curso",
})  # fmt: skip  # in the cell of an outcome: it is still awaited
EXPECTED = "expected a finite number, 5±1, <5, a blank for pending, n/a for not measured, or 'failed'"
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
    if value.__class__ is float and -LARGEST <= value <= LARGEST:
        return value
    if cells.is_unknown(value):
        return None
    try:
        outcome = None if isinstance(value, Censored) else _ANY_NUMBER.read(value)
    except CellError:
        outcome = None
    if not isinstance(outcome, float):
        number = cells.plain(value) if isinstance(value, str) else value
        raise CellError(
            f"expected a finite number{limit(number)}, a blank for pending or 'failed', but got {shown(value)}"
        )
    return outcome


def read_told(value: object, read: Callable[[str], object] = typed.parse) -> float | Normal | Censored | str | None:
    """What the cell of an outcome tells: a number, one with its standard error, a limit, failed, not measured, or None.

    None is for an outcome that is still awaited.
    """
    if not isinstance(value, str):
        return value if isinstance(value, Normal | Censored) else read_outcome(value)
    word = value.strip().lower()
    if says_failed(word) or word in PENDING_WORDS:
        return None if word in PENDING_WORDS else FAILED
    try:
        told = read(value)
    except UnreadableError as error:
        raise UnreadableError(EXPECTED, error.got) from None
    if told is None:
        return UNMEASURED
    if isinstance(told, Interval):
        return Censored(told.low, told.high)
    return told if isinstance(told, Normal | Censored) else read_outcome(told)


def read_error(value: object) -> float | None:
    """A standard error: a finite number from 0, or None where it is not known."""
    error = None
    if not cells.is_unknown(value):
        try:
            error = read_outcome(value)
        except CellError:
            error = -1.0
    if error is not None and error < 0:
        raise CellError(f"a standard error is a number from 0, or blank, but got {shown(value)}")
    return error


def read_exclude(value: object) -> bool:
    """Whether a row is excluded: by anything but a blank or a no."""
    value = unwrapped(value)
    if cells.is_unknown(value):
        return False
    if isinstance(value, str):
        return value.strip().lower() not in NO
    return bool(value) if isinstance(value, bool | int | float) else True


def is_failed(value: object) -> bool:
    """Whether a cell of an outcome says that the experiment failed."""
    return isinstance(value, str) and says_failed(value)


def says_failed(text: str) -> bool:
    """Whether a text says that an experiment failed: `failed`, `FAIL - leaked`, `failed (crack)`.

    >>> says_failed("failed: leak"), says_failed("failsafe")
    (True, False)
    """
    word = text.strip().casefold()
    return word in FAILED_WORDS or re.split(r"\s*[-–:;,(]", word, maxsplit=1)[0] in FAILED_WORDS


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
    readers = readers or {}
    objectives = (objectives,) if isinstance(objectives, str) else tuple(objectives)
    asked_names = {RESERVED + name: name for name in space.names}
    error_names = {name + ERROR: name for name in objectives}
    expected = {*space.names, *objectives, *TAKEN, *asked_names, *error_names}
    unexpected = [name for name in columns if name not in expected]
    needed = (*space.names, *objectives, *space.conditions.columns)
    missing = [name for name in needed if name not in columns and default_of(space, name) is None]
    if missing:
        beside = f"; unexpected columns: {', '.join(map(repr, unexpected))}" if unexpected else ""
        raise TableError(f"the table lacks {', '.join(map(repr, missing))}{beside}")
    for name in space.names:
        near = [] if name in columns else difflib.get_close_matches(name, unexpected, n=1, cutoff=ALIKE)
        if near:
            raise TableError(
                f"the table has no column {name!r} but {near[0]!r}; rename it if it is the same, "
                f"otherwise add a column {name!r}, which may be blank where the default "
                f"{cells.text(default_of(space, name))} was kept"
            )

    count = len(next(iter(columns.values())))
    labels = labels if labels is not None else range(count)
    problems: list[CellProblem] = []

    def column(name: str, read: Any, low: float = 0.0, high: float = -1.0) -> list[Any]:
        told: dict[str, Any] = {}  # blanks and categories come again and again
        counts: Counter[str] = Counter()
        plain = STRICT.plain.fullmatch if name not in readers else lambda text: None
        values = list(columns[name])
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
                problems.append(CellProblem(labels[i], name, str(error)))
                values[i] = None
        if odd is not None:
            odd[name] = counts
        return values

    def understood(name: str, value: object) -> object:
        return readers[name](value) if name in readers and isinstance(value, str) else value

    columns = {**{name: [None] * count for name in space.names}, **columns}
    recorded = {
        name: column(
            name,
            lambda value, name=name, p=p: read_cell(p, understood(name, value), keep_outside=keep_outside),
            *((p.low, p.high) if isinstance(p, Real) else ()),
        )
        for name, p in space.parameters.items()
    }
    asked = {
        name: column(
            title,
            lambda value, title=title, p=space.parameters[name]: _read_asked(p, understood(title, value), keep_outside),
        )
        for title, name in asked_names.items()
        if title in columns
    }
    for name, p in space.parameters.items():
        if p.filling is not None:
            known = asked.get(name, [None] * count)
            cells_of = enumerate(zip(recorded[name], known, columns[name], strict=True))
            blanks = [i for i, (cell, wish, text) in cells_of if cell is None and wish is None and is_blank(text)]
            try:
                value = read_cell(p, p.filling, keep_outside=keep_outside) if blanks else None
                for i in blanks:
                    recorded[name][i] = value
            except CellError as error:  # once, however many blanks there are
                many = f" (and for {len(blanks) - 1} more blanks)" if len(blanks) > 1 else ""
                problems.append(CellProblem(labels[blanks[0]], name, f"the default {error}{many}"))
    outcomes = {
        name: column(name, lambda value, name=name: read_told(value, readers.get(name, typed.parse)), -LARGEST, LARGEST)
        for name in objectives
    }
    errors = {
        name: column(title, lambda value, title=title: read_error(understood(title, value)), 0.0, LARGEST)
        for title, name in error_names.items()
        if title in columns
    }
    for objective, cells_told in outcomes.items():
        for i, told in enumerate(cells_told):
            if isinstance(told, Normal):  # 5±1 brings its standard error with it
                spread = errors.setdefault(objective, [None] * count)
                if spread[i] is not None and spread[i] != told.sd:
                    problems.append(
                        CellProblem(labels[i], objective, f"{told} has one standard error, {ERROR} another")
                    )
                cells_told[i], spread[i] = told.mean, told.sd
    failed = [FAILED in told for told in zip(*outcomes.values(), strict=True)]
    for i, name in ((i, name) for i in range(count) if failed[i] for name in objectives):
        if isinstance(outcomes[name][i], float | Censored):
            problems.append(
                CellProblem(labels[i], name, "the experiment failed in one outcome; this one must be blank too")
            )
    if (time := space.conditions.time) is not None:
        first = day_first(columns[time])
        column(time, lambda value: read_time(value, day_first=first))
    excluded = column(EXCLUDE, read_exclude) if EXCLUDE in columns else [False] * count
    ids = column(IDENTITY, read_id) if IDENTITY in columns else [None] * count
    seen: dict[str, object] = {}
    for label, identity in zip(labels, ids, strict=True):
        if identity is not None and identity in seen:
            problems.append(CellProblem(label, IDENTITY, f"{identity!r} is the id of row {seen[identity]} too"))
        elif identity is not None:
            seen[identity] = label
    if problems:
        raise table_error(problems)
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
            extra={name: columns[name][i] for name in unexpected} if unexpected else {},
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


def is_blank(value: object) -> bool:
    """Whether nothing was typed: a `?` or `NA` says that nobody knows, an empty cell that nobody varied it."""
    return not isinstance(value, str) or not value.strip()


def table_error(problems: Sequence[CellProblem]) -> TableError:
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


def read_id(value: object) -> str | None:
    """The name of an experiment; None if it has none."""
    value = unwrapped(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of whole numbers with a blank among them is one of floats
    if not isinstance(value, str) and cells.is_unknown(value):
        return None
    try:
        return str(value).strip() or None
    except Exception:  # an int of more than 4,300 digits, or what has no text
        raise CellError(f"an id is a text or a number, but got {shown(value)}") from None


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
