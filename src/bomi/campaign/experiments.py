"""The table of a campaign, checked."""

from __future__ import annotations

import difflib
import gc
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bomi.campaign import storage
from bomi.campaign.sheet import NAMES, Sheet, load_sheet
from bomi.campaign.toml import Campaign
from bomi.data.objectives import ERROR
from bomi.data.observations import Row
from bomi.data.reading import SHOWN_PROBLEMS, read_columns, read_exclude
from bomi.errors import Problem, TableError
from bomi.space import EXCLUDE, RESERVED, TAKEN, Categorical, Ordinal
from bomi.space.cells import Interval, Normal

_COMMA_NUMBER = re.compile(r"[-+\d,eE±./\s]+")


@dataclass(frozen=True)
class Experiments:
    """A sheet whose cells make sense to its campaign: `rows` of the sheet, in its order."""

    campaign: Campaign
    sheet: Sheet
    rows: tuple[Row, ...]

    @property
    def numbers(self) -> list[int]:
        """The line that each row begins at."""
        return self.sheet.numbers


@dataclass(frozen=True)
class ColumnSummary:
    """How much of a column is known, of a parameter or of one of several outcomes, and between which numbers."""

    column: str
    known: int
    uncertain: int
    unknown: int
    smallest: float | None
    largest: float | None


@dataclass(frozen=True)
class Summary:
    """What a table holds."""

    rows: int
    outcomes: int
    pending: int
    failed: int
    complete: int
    columns: tuple[ColumnSummary, ...]
    broken: tuple[str, ...] = ()  # rows that break a constraint, and which
    excluded: int = 0


def summarize(experiments: Experiments) -> Summary:
    """Count rows, outcomes and gaps; of rows that are excluded, only how many there are."""
    lines = [pair for pair in zip(experiments.numbers, experiments.rows, strict=True) if not pair[1].excluded]
    rows = [row for _, row in lines]
    columns = []
    for name in experiments.campaign.space.names:
        found = [row.recorded[name] for row in rows]
        kinds = Counter(map(type, found))
        unknown, uncertain = kinds[type(None)], kinds[Normal] + kinds[Interval]
        numbers = [cell for cell in found if isinstance(cell, int | float)] if kinds[float] + kinds[int] else []
        ends = (min(numbers), max(numbers)) if numbers else (None, None)
        columns.append(ColumnSummary(name, len(rows) - unknown - uncertain, uncertain, unknown, *ends))
    for name in experiments.campaign.outcomes if len(experiments.campaign.outcomes) > 1 else ():
        measured = [row.outcomes[name] for row in rows if name in row.outcomes]
        ends = (min(measured), max(measured)) if measured else (None, None)
        columns.append(ColumnSummary(name, len(measured), 0, len(rows) - len(measured), *ends))
    pending, failed = sum(row.pending for row in rows), sum(row.failed for row in rows)
    complete, outcomes = sum(row.complete for row in rows), sum(bool(row.outcomes) for row in rows)
    broken = [
        f"row {number} breaks the constraint {one}: it has {one.total(_numbers(row)):.10g}"
        for number, row in lines
        for one in experiments.campaign.space.broken(row.recorded)
    ]
    excluded = len(experiments.rows) - len(rows)
    return Summary(len(experiments.rows), outcomes, pending, failed, complete, tuple(columns), tuple(broken), excluded)


def _numbers(row: Row) -> dict[str, float]:
    return {name: float(cell) for name, cell in row.recorded.items() if isinstance(cell, int | float)}


def read_experiments(path: Path, campaign: Campaign) -> Experiments:
    """The checked table in a file; TableError names every problem with file, row and column."""
    return parse_experiments(path, storage.read_bytes(path), campaign)


def parse_experiments(path: Path, content: bytes, campaign: Campaign) -> Experiments:
    """The checked table in the content of a file."""
    with _uncollected():
        return check(load_sheet(path, content, column_names(campaign)), campaign)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looking for cycles among millions of new cells, which have none: a quarter less time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def check(sheet: Sheet, campaign: Campaign) -> Experiments:
    """The sheet, if it fits the campaign."""
    needed = (*campaign.space.names, *campaign.outcomes)
    defaults = {name for name, parameter in campaign.space.parameters.items() if parameter.default is not None}
    problems = [*_header_problems(sheet, [name for name in needed if name not in defaults]), *_width_problems(sheet)]
    numeric = number_columns(campaign)
    decimal = sheet.decimal(numeric)
    if decimal is None:
        problems.append(
            Problem(sheet.header_number, "", "below are both decimal commas and decimal points; use one of them")
        )
    blank = [""] * len(sheet.rows)
    columns: dict[str, Sequence[object]] = dict.fromkeys(needed, blank)
    columns |= {name: sheet.columns[name] for name in column_names(campaign) if name in sheet.columns}
    if decimal == ",":
        columns |= {name: [_with_point(cell) for cell in sheet.columns.get(name, blank)] for name in numeric}
    rows: Sequence[Row] = ()
    try:
        rows = read_columns(
            _without_excluded(columns),
            campaign.space,
            campaign.outcomes,
            keep_outside=campaign.out_of_bounds == "keep",
            labels=sheet.numbers,
        )
    except TableError as error:
        problems += sorted(error.problems, key=lambda problem: int(str(problem.row)))
    if problems:
        raise table_error(sheet.path, problems)
    return Experiments(campaign, sheet, tuple(rows))


def _without_excluded(columns: Mapping[str, Sequence[object]]) -> Mapping[str, Sequence[object]]:
    """The columns with nothing but the id and the mark in rows that are excluded: what stands there is not checked."""
    excluded = [read_exclude(cell) for cell in columns.get(EXCLUDE, ())]
    if not any(excluded):
        return columns
    return {
        name: column if name in TAKEN else ["" if out else cell for cell, out in zip(column, excluded, strict=True)]
        for name, column in columns.items()
    }


# --- what can be wrong ---------------------------------------------------------------------------------------------


def _header_problems(sheet: Sheet, needed: Sequence[str]) -> Iterator[Problem]:
    spare = [name for name in sheet.columns if name not in needed]
    for name in needed:
        if name not in sheet.columns:
            near = difflib.get_close_matches(name, spare, n=1) or [n for n in spare if n.lower() == name.lower()]
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, sheet.columns))}"
            yield Problem(
                sheet.header_number,
                name,
                f"the campaign names it, but the table (read as {NAMES[sheet.separator]}-separated) lacks it; {hint}",
            )
    for name in sheet.doubled:
        yield Problem(sheet.header_number, name, "more than one column has this name; rename or remove one")


def _width_problems(sheet: Sheet) -> Iterator[Problem]:
    hint = "; a decimal comma needs quotes, or semicolons between cells" if sheet.separator == "," else ""
    for number, width in sheet.beyond():
        yield Problem(number, "", f"{width} cells, but the header has {len(sheet.header)} columns{hint}")


def table_error(path: Path, problems: Sequence[Problem]) -> TableError:
    """All problems in one error, each line with the file's name: the first twenty, then a count."""
    lines = [f"{path}{_where(problem)}: {problem.message}" for problem in problems[:SHOWN_PROBLEMS]]
    if len(problems) > SHOWN_PROBLEMS:
        lines.append(f"{path}: and {len(problems) - SHOWN_PROBLEMS} more problems")
    error = TableError("\n".join(lines))
    error.problems = tuple(problems)
    return error


def _where(problem: Problem) -> str:
    row = "" if problem.row is None else f", row {problem.row}"
    return f"{row}, column {problem.column!r}" if problem.column else row


# --- numbers -------------------------------------------------------------------------------------------------------


def column_names(campaign: Campaign) -> list[str]:
    """The columns that mean something to a campaign."""
    beside = (*(RESERVED + name for name in campaign.space.names), *(name + ERROR for name in campaign.outcomes))
    return [*TAKEN, *campaign.space.names, *campaign.outcomes, *beside]


def number_columns(campaign: Campaign) -> list[str]:
    """The columns that hold numbers, categories called by numbers among them."""
    parameters = [
        name
        for name, parameter in campaign.space.parameters.items()
        if not isinstance(parameter, Categorical | Ordinal)
        or not any(isinstance(value, str) for value in parameter.values)
    ]
    outcomes = [*campaign.outcomes, *(name + ERROR for name in campaign.outcomes)]
    return [*parameters, *outcomes, *(RESERVED + name for name in parameters)]


def _with_point(cell: str) -> str:
    """A number with a decimal comma as one with a point; anything else as it is typed."""
    return cell.replace(",", ".") if "," in cell and _COMMA_NUMBER.fullmatch(cell) else cell
