"""The table of a campaign, checked."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bomi.campaign import storage
from bomi.campaign.columns import (
    Echo,
    Numbers,
    Words,
    declared_unit,
    digest,
    echoes,
    lettered,
    unit_in_cells,
    word_echoes,
    words_for_unknown,
)
from bomi.campaign.marks import Decision, decide
from bomi.campaign.sheet import Sheet, load_sheet
from bomi.campaign.toml import Campaign
from bomi.data.columns import SHOWN_PROBLEMS, read_columns
from bomi.data.objectives import ERROR, Objective, keeps_limits
from bomi.data.observations import Row
from bomi.data.reading import read_exclude
from bomi.data.settings import candidate_columns
from bomi.errors import CellProblem, TableError
from bomi.space import EXCLUDE, IDENTITY, RESERVED, TAKEN, Categorical, Ordinal
from bomi.space.cells import Interval, Known, Normal
from bomi.space.typed import Marks

_GAPS = (type(None), Normal, Interval)
_NUMBERS = (float, int)


@dataclass(frozen=True)
class Experiments:
    """A sheet whose cells make sense to its campaign: `rows` of the sheet, in its order."""

    campaign: Campaign
    sheet: Sheet
    rows: tuple[Row, ...]
    echoes: tuple[Echo, ...] = ()  # what was read otherwise than it was typed

    @property
    def numbers(self) -> list[int]:
        """The line that each row begins at."""
        return self.sheet.numbers

    def label(self, place: int) -> str:
        """A row as people call it: by its id, where it has one, and by its line."""
        identity, line = self.rows[place].id, f"row {self.numbers[place]}"
        return f"{identity} ({line})" if identity else line

    def best(self, objective: Objective) -> int | None:
        """The place of the best row by one outcome, of those that keep all limits; an excluded row does not count."""
        name, objectives = objective.name, self.campaign.objectives
        rows = [(i, row.outcomes) for i, row in enumerate(self.rows) if name in row.outcomes and not row.excluded]
        kept = [(objective.merit(seen[name]), -i) for i, seen in rows if keeps_limits(objectives, seen)]
        return -max(kept)[1] if kept else None


@dataclass(frozen=True)
class Library:
    """A list of candidates in a file: what is known of each, by columns, and its id or its line."""

    columns: Mapping[str, Sequence[Known | None]]
    labels: Sequence[str | int]


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
    unmeasured: int = 0  # rows whose outcome will never be known
    censored: int = 0  # rows of whose outcome only a limit is known

    @property
    def said(self) -> str:
        """How many rows of each kind there are, in words."""
        rest = {
            "excluded": self.excluded,
            "not measured": self.unmeasured,
            "known only up to a limit": self.censored,
        }
        more = "".join(f", {count} {what}" for what, count in rest.items() if count)
        return (
            f"{self.rows} rows, {self.outcomes} with an outcome, {self.pending} pending, {self.failed} failed{more}; "
            f"{self.complete} with every input known"
        )


def summarize(experiments: Experiments) -> Summary:
    """Count rows, outcomes and gaps; of rows that are excluded, only how many there are."""
    rows = [row for row in experiments.rows if not row.excluded]
    columns = []
    gaps: set[int] = set()  # places of rows with an input that is not known exactly
    for name in experiments.campaign.space.names:
        found = [row.recorded[name] for row in rows]
        kinds = Counter(map(type, found))
        unknown, uncertain = kinds[type(None)], kinds[Normal] + kinds[Interval]
        numbers = [cell for cell in found if cell.__class__ in _NUMBERS] if kinds[float] + kinds[int] else []
        ends = (min(numbers), max(numbers)) if numbers else (None, None)
        columns.append(ColumnSummary(name, len(rows) - unknown - uncertain, uncertain, unknown, *ends))
        if unknown or uncertain:
            gaps.update(place for place, cell in enumerate(found) if cell.__class__ in _GAPS)
    for name in experiments.campaign.outcomes if len(experiments.campaign.outcomes) > 1 else ():
        measured = [row.outcomes[name] for row in rows if name in row.outcomes]
        ends = (min(measured), max(measured)) if measured else (None, None)
        columns.append(ColumnSummary(name, len(measured), 0, len(rows) - len(measured), *ends))
    pending, failed = sum(row.pending for row in rows), sum(row.failed for row in rows)
    complete, outcomes = len(rows) - len(gaps), sum(bool(row.outcomes) for row in rows)
    broken = [
        f"{experiments.label(place)} breaks the constraint {one}: it has {one.total(_numbers(row)):.10g}"
        for place, row in enumerate(experiments.rows if experiments.campaign.space.constraints else ())
        if not row.excluded
        for one in experiments.campaign.space.broken(row.recorded)
    ]
    unmeasured = sum(bool(row.unmeasured) and not row.tried for row in rows)
    censored = sum(bool(row.censored) and not row.outcomes for row in rows)
    return Summary(
        len(experiments.rows),
        outcomes,
        pending,
        failed,
        complete,
        tuple(columns),
        tuple(broken),
        len(experiments.rows) - len(rows),
        unmeasured,
        censored,
    )


def _numbers(row: Row) -> dict[str, float]:
    return {name: float(cell) for name, cell in row.recorded.items() if isinstance(cell, int | float)}


def read_experiments(path: Path, campaign: Campaign) -> Experiments:
    """The checked table in a file; TableError names every problem with file, row and column."""
    return parse_experiments(path, storage.read_bytes(path), campaign)


def parse_experiments(path: Path, content: bytes, campaign: Campaign) -> Experiments:
    """The checked table in the content of a file."""
    with storage.uncollected():
        return check(load_sheet(path, content, column_names(campaign), sheet=campaign.sheet), campaign)


def read_library(path: Path, campaign: Campaign, given: Collection[str] = ()) -> Library:
    """The candidates in a file, read as the table is; TableError names every problem with file, row and column."""
    content = storage.read_bytes(path)
    campaign = replace(campaign, sheet=None)
    with storage.uncollected():
        sheet = load_sheet(path, content, column_names(campaign))
        reading = readers(sheet, campaign)
        problems = [CellProblem(sheet.header_number, name, question) for name, question in reading.questions.items()]
        out = [read_exclude(cell) for cell in sheet.columns.get(EXCLUDE, [""] * len(sheet.rows))]
        kept = [place for place, excluded in enumerate(out) if not excluded]
        read: Mapping[str, Sequence[object]] = {**sheet.columns, **reading.columns}
        columns = {name: [column[place] for place in kept] for name, column in read.items()}
        numbers = [sheet.numbers[place] for place in kept]
        try:
            found = candidate_columns(campaign.space, columns, numbers, given, reading.readers)
        except TableError as error:
            if not (problems := [*problems, *error.problems]):
                raise TableError(f"{path}: {error}") from None
        if problems:
            raise table_error(path, problems, _spoken_ids(sheet, campaign))
    ids = columns.get(campaign.id_column, [""] * len(kept))
    return Library(found, [str(name).strip() or number for name, number in zip(ids, numbers, strict=True)])


def check(sheet: Sheet, campaign: Campaign) -> Experiments:
    """The sheet, if it fits the campaign."""
    needed = (*campaign.space.names, *campaign.outcomes, *campaign.space.beside)
    defaults = {name for name, parameter in campaign.space.parameters.items() if parameter.filling is not None}
    problems = [*_header_problems(sheet, needed, defaults), *_width_problems(sheet)]
    reading = readers(sheet, campaign)
    problems += [CellProblem(sheet.header_number, name, question) for name, question in reading.questions.items()]
    blank = [""] * len(sheet.rows)
    columns: dict[str, Sequence[object]] = dict.fromkeys(needed, blank)
    columns |= {name: sheet.columns[name] for name in column_names(campaign) if name in sheet.columns}
    columns |= reading.columns
    if campaign.id_column in sheet.columns:
        columns[IDENTITY] = sheet.columns[campaign.id_column]
    rows: Sequence[Row] = ()
    odd: dict[str, Counter[str]] = {}
    try:
        rows = read_columns(
            _without_excluded(columns),
            campaign.space,
            campaign.outcomes,
            keep_outside=campaign.out_of_bounds == "keep",
            labels=sheet.numbers,
            readers=reading.readers,
            odd=odd,
        )
    except TableError as error:
        problems += sorted(error.problems, key=lambda problem: int(str(problem.row)))
    if problems:
        raise table_error(sheet.path, problems, _spoken_ids(sheet, campaign))
    return Experiments(campaign, sheet, tuple(rows), tuple(_echoes(campaign, reading, odd)))


@dataclass(frozen=True)
class ColumnReaders:
    """How each column is read, and what somebody has to say before it can be."""

    readers: Mapping[str, Numbers | Words]
    columns: Mapping[str, list[float | str]]  # with plain numbers as numbers
    marks: Mapping[str, Marks]
    questions: Mapping[str, str]


def readers(sheet: Sheet, campaign: Campaign) -> ColumnReaders:
    """A reader for each column of the campaign, from the whole table."""
    numeric = {name: sheet.columns[name] for name in number_columns(campaign) if name in sheet.columns}
    decision = decide(numeric, separator=sheet.separator, declared=campaign.decimal)
    if decision.questions:  # columns that the campaign does not use may tell
        wider = decide(sheet.columns, separator=sheet.separator)
        told = {name: wider.marks[name] for name in decision.questions if name not in wider.questions}
        left = {name: why for name, why in decision.questions.items() if name not in told}
        decision = Decision({**decision.marks, **told}, left)
    questions, unknown = dict(decision.questions), words_for_unknown(campaign.unknown)
    made: dict[str, Numbers | Words] = {}
    columns: dict[str, list[float | str]] = {}
    objectives = {objective.name: objective for objective in campaign.objectives}
    for name, column in numeric.items():
        own = name.removeprefix(RESERVED).removesuffix(ERROR) if name not in objectives else name
        said = (objectives.get(own) or campaign.space.parameters.get(own) or campaign.objectives[0]).unit
        unit = declared_unit(name, sheet.units, said) or declared_unit(own, sheet.units)
        marks = decision.marks[name]
        read = digest(column, Numbers(marks, unit, unknown))
        if not unit:
            typed_in = unit_in_cells(read, marks)
            unit = typed_in.unit
            if typed_in.question and name not in questions:
                questions[name] = typed_in.question
        made[name], columns[name] = Numbers(marks, unit, unknown, lettered(read)), read.cells
    for name, parameter in campaign.space.parameters.items():
        if isinstance(parameter, Categorical | Ordinal):
            for title in (name, RESERVED + name):
                made[title] = Words(parameter, made.get(title, Numbers()), unknown)  # type: ignore[arg-type]
    return ColumnReaders(made, columns, decision.marks, questions)


def _echoes(campaign: Campaign, reading: ColumnReaders, odd: Mapping[str, Mapping[str, int]]) -> Iterator[Echo]:
    """What was read otherwise than it was typed, column by column."""
    for name in (*campaign.space.names, *campaign.outcomes):
        reader, parameter = reading.readers.get(name), campaign.space.parameters.get(name)
        if isinstance(reader, Words):
            yield from word_echoes(name, reader, odd.get(name, {}))
        elif isinstance(reader, Numbers):
            yield from echoes(name, reader, odd.get(name, {}), parameter)


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


def _header_problems(sheet: Sheet, needed: Sequence[str], defaults: Collection[str]) -> Iterator[CellProblem]:
    spare = [name for name in sheet.columns if name not in needed]
    for name in needed:
        if name in sheet.columns:
            continue
        alike = [n for n in spare if n.lower() == name.lower()]
        near = alike or difflib.get_close_matches(name, spare, n=1, cutoff=0.85 if name in defaults else 0.6)
        if name in defaults and not near:
            continue
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, sheet.columns))}"
        beside = "; its default would stand in for it" if name in defaults else ""
        yield CellProblem(
            sheet.header_number,
            name,
            f"the campaign names it, but the table (read as {sheet.written}) lacks it{beside}; {hint}",
        )
    for name in set(sheet.doubled).intersection(needed):
        yield CellProblem(sheet.header_number, name, "more than one column has this name; rename or remove one")


def _width_problems(sheet: Sheet) -> Iterator[CellProblem]:
    hint = "; a decimal comma needs quotes, or semicolons between cells" if sheet.separator == "," else ""
    for number, width in sheet.beyond():
        yield CellProblem(number, "", f"{width} cells, but the header has {len(sheet.header)} columns{hint}")


def table_error(path: Path, problems: Sequence[CellProblem], ids: Mapping[object, str] | None = None) -> TableError:
    """All problems in one error, each line with the file's name: the first twenty, then a count.

    Rows are called by their ids too, where these are given.
    """
    lines = [f"{path}{_where(problem, ids or {})}: {problem.message}" for problem in problems[:SHOWN_PROBLEMS]]
    if len(problems) > SHOWN_PROBLEMS:
        lines.append(f"{path}: and {len(problems) - SHOWN_PROBLEMS} more problems")
    error = TableError("\n".join(lines))
    error.problems = tuple(problems)
    return error


def _spoken_ids(sheet: Sheet, campaign: Campaign) -> dict[object, str]:
    """The ids of rows by their numbers, but for ids that are numbers themselves."""
    ids = zip(sheet.numbers, sheet.columns.get(campaign.id_column, ()), strict=False)
    return {number: text.strip() for number, text in ids if text.strip() and not text.strip().isdigit()}


def _where(problem: CellProblem, ids: Mapping[object, str]) -> str:
    row = "" if problem.row is None else f", row {problem.row}"
    row = f", {ids[problem.row]} (row {problem.row})" if problem.row in ids else row
    return f"{row}, column {problem.column!r}" if problem.column else row


# --- numbers -------------------------------------------------------------------------------------------------------


def column_names(campaign: Campaign) -> list[str]:
    """The columns that mean something to a campaign."""
    beside = (*(RESERVED + name for name in campaign.space.names), *(name + ERROR for name in campaign.outcomes))
    return [campaign.id_column, EXCLUDE, *campaign.space.names, *campaign.outcomes, *beside, *campaign.space.beside]


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
