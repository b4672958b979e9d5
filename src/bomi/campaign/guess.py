"""A campaign guessed from a table: which columns are parameters, of which kind, and which is the objective.

What is not sure is not guessed: `UnsureError` says what to ask, and which answer would be taken.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bomi.campaign import storage
from bomi.campaign.columns import Numbers, declared_unit, digest, lettered, unit_in_cells
from bomi.campaign.layout import is_numeric
from bomi.campaign.lexicon import (
    goal_of,
    is_count,
    is_mean,
    is_outcome,
    is_plain_outcome,
    is_setting,
    is_size,
    is_structure,
)
from bomi.campaign.marks import Decision, decide
from bomi.campaign.roles import CONSTANT, IDENTIFIER, MOSTLY, OUTCOME, PARAMETER, UNUSED, Column, classify
from bomi.campaign.sheet import Sheet, read_sheet
from bomi.campaign.toml import NAME, Campaign
from bomi.data.objectives import ERROR, MAXIMIZE, objective_of
from bomi.data.reading import read_exclude
from bomi.errors import FileError
from bomi.space import EXCLUDE, IDENTITY, RESERVED, Categorical, Integer, Parameter, Real, Space, cells

MOST_PARAMETERS = 50
LOG_RATIO = 50
DIFFERS, REPEATS = (
    0.9,
    0.85,
)  # shares of different numbers: at least, where they are measured; at most, where they are set
OBJECTIVE = "objective"


class UnsureError(FileError):
    """Something that somebody has to say: the option that says it, the answers there are, and the likeliest first."""

    def __init__(self, message: str, option: str, answers: Sequence[str]) -> None:
        super().__init__(message)
        self.option, self.answers = option, tuple(answers)


@dataclass(frozen=True)
class Guess:
    """A campaign guessed from a table, what each column was taken for, and what to look at."""

    campaign: Campaign
    columns: tuple[Column, ...]
    notes: Mapping[str, str]
    sheet_notes: tuple[str, ...] = ()  # what of the file is not read, and how it was

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns that are kept but not used."""
        used = {*self.campaign.space.names, *self.campaign.outcomes, self.campaign.id_column}
        used |= {name + ERROR for name in self.campaign.outcomes}
        return tuple(c.name for c in self.columns if c.name not in used and not c.name.startswith(RESERVED))

    def why(self, column: Column) -> str:
        """Why a column was taken for what it is, with its range or values and what to look at."""
        parameter = self.campaign.space.parameters.get(column.name)
        if parameter is None:
            return column.why
        scale = " on a log scale" if getattr(parameter, "log", False) else ""
        unit = f" {parameter.unit}" if parameter.unit and column.kind == "number" else ""
        kind = "whole " if parameter.kind == "integer" else ""
        said = column.why
        if isinstance(parameter, Real | Integer):
            ends = f"{cells.number_text(parameter.low)} to {cells.number_text(parameter.high)}"
            said = f"{kind}{said}, from {ends}{unit}{scale}"
        codes = [f"{', '.join(column.codes)} taken as unknown"] if column.codes else []
        return "; ".join([said, *codes, *column.notes])

    def text(self) -> str:
        """The content of campaign.toml."""
        return self.campaign.text(self.notes, self.unused)


def guess(
    sheet: Sheet,
    *,
    objective: str | Mapping[str, object] | None = None,
    goal: str | tuple[str, float] | None = None,
    parameters: Sequence[str] | None = None,
    decimal: str | None = None,
) -> Guess:
    """A campaign for a table: numbers get a range around what was tried, words that repeat are categories.

    Several objectives are a mapping of name to goal. Named parameters are taken, and no others.
    """
    if sheet.doubled:
        raise FileError(f"{sheet.path}: more than one column is called {', '.join(map(repr, sheet.doubled))}")
    for name, texts in sheet.columns.items() if sheet.book is not None else ():
        if any(text[:1] == "=" for text in texts):
            raise FileError(
                f"{sheet.path}, column {name!r}: formulas were never computed; "
                "open the file in a spreadsheet and save it"
            )
    sheet = _counted(sheet)
    columns = _read(sheet, decimal)
    wanted = _objectives(sheet, columns, objective, goal)
    said = {name for name, wish in objective.items() if wish} if isinstance(objective, Mapping) else set()
    guessed = set(wanted) - (set(wanted) if goal else said)
    columns = _settled(sheet, columns, wanted, guessed, parameters)
    chosen = [column for column in columns.values() if column.role == PARAMETER]
    if not chosen:
        near = [f"{c.name!r} is {c.why}" for c in columns.values() if c.role == UNUSED and " cells are " in c.why]
        raise FileError(
            f"{sheet.path} has no column that could be a parameter: one of numbers that vary, or of words that repeat"
            f"{'; ' if near else ''}{'; '.join(near[:3])}"
        )
    if len(chosen) > MOST_PARAMETERS and not parameters:
        raise FileError(
            f"{sheet.path} has {len(chosen)} columns that could be parameters, more than {MOST_PARAMETERS}; "
            "name those that you set, with --parameters A,B,C"
        )
    made: dict[str, Parameter] = {}
    notes: dict[str, str] = {}
    for column in chosen:
        asked = columns.get(RESERVED + column.name)
        made[column.name], notes[column.name] = _parameter(_with_asked(column, asked) if asked else column)
    units = {name: columns[name].unit for name in wanted}
    objectives = tuple(objective_of(name, one, units[name]) for name, one in wanted.items())
    used = [column for column in columns.values() if column.role in (PARAMETER, OBJECTIVE)]
    codes = tuple(dict.fromkeys(code for column in used for code in column.codes))
    campaign = Campaign(
        Space(made), objectives, decimal=decimal, unknown=codes, id_column=_id_column(columns), sheet=_named(sheet)
    )
    nameless = [f"column {place} has cells but no name, so it is not read" for place in sheet.nameless()]
    kept = {name: note for name, note in notes.items() if note}
    return Guess(campaign, tuple(columns.values()), kept, (*sheet.notes, *nameless))


def write_guess(
    table: Path,
    path: Path | None = None,
    *,
    objective: str | Mapping[str, object] | None = None,
    goal: str | tuple[str, float] | None = None,
    parameters: Sequence[str] | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    force: bool = False,
) -> tuple[Path, Guess]:
    """Write the campaign guessed from a table, beside it unless another path is given; returns where, and what."""
    path = table.parent / NAME if path is None else path
    with storage.uncollected():
        read = read_sheet(table, sheet=sheet)
        found = guess(read, objective=objective, goal=goal, parameters=parameters, decimal=decimal)
    if path.exists() and not force:
        raise FileError(f"{path} is there already and was left as it is; --force writes a new one over it")
    storage.replace_bytes(path, found.text().encode())
    return path, found


def _counted(sheet: Sheet) -> Sheet:
    """The sheet without its rows that are excluded: what stands there says nothing."""
    marks = [read_exclude(cell) for cell in sheet.columns.get(EXCLUDE, ())]
    if not any(marks):
        return sheet
    kept = [place for place, out in enumerate(marks) if not out]
    return replace(sheet, rows=[sheet.rows[i] for i in kept], numbers=[sheet.numbers[i] for i in kept])


def _named(sheet: Sheet) -> str | None:
    """The name of the sheet, where its workbook has several."""
    return sheet.name if sheet.book is not None and any("read from sheet" in note for note in sheet.notes) else None


def _read(sheet: Sheet, decimal: str | None) -> dict[str, Column]:
    """What each column is taken for, read with the marks that the whole table tells."""
    marks = decide(sheet.columns, separator=sheet.separator, declared=decimal)
    columns, questions = _classified(sheet, marks)
    if marks.questions or len(set(marks.marks.values())) > 1:  # dates and labels have no say in it
        held = {name: sheet.columns[name] for name, column in columns.items() if _may_be_numbers(column, sheet)}
        decided = decide(held, separator=sheet.separator, declared=decimal)
        for name, why in decided.questions.items():
            if "may be" in why:
                raise UnsureError(f"{sheet.path}, column {name!r}: {why}", "--decimal", (".", ","))
            raise FileError(f"{sheet.path}, column {name!r}: {why}")
        columns, questions = _classified(sheet, Decision({**marks.marks, **decided.marks}, {}))
    for name, why in questions.items():
        if columns[name].kind == "number":
            raise FileError(f"{sheet.path}, column {name!r}: {why}")
    return columns


def _may_be_numbers(column: Column, sheet: Sheet) -> bool:
    """Whether a column holds numbers, whatever its marks."""
    if column.kind == "number":
        return True
    held = [text for text in sheet.columns[column.name] if not cells.is_unknown(text)]
    return column.role in (UNUSED, PARAMETER) and sum(map(is_numeric, held)) >= MOSTLY * len(held) > 0


def _classified(sheet: Sheet, marks: Decision) -> tuple[dict[str, Column], dict[str, str]]:
    """What each column is taken for, given the marks of each; and what has to be said of units."""
    readers, digests, questions = {}, {}, {}
    for name, column in sheet.columns.items():
        unit, mark = declared_unit(name, sheet.units), marks.marks[name]
        digests[name] = digest(column, Numbers(mark))
        if not unit:
            found = unit_in_cells(digests[name], mark, several=True)
            unit = found.unit
            if found.question:
                questions[name] = found.question
        readers[name] = Numbers(mark, unit, lettered=lettered(digests[name]))
    return classify(sheet, readers, digests), questions


def _objectives(
    sheet: Sheet,
    columns: Mapping[str, Column],
    objective: str | Mapping[str, object] | None,
    goal: str | tuple[str, float] | None,
) -> dict[str, object]:
    """The outcomes and what is wanted of each."""
    if objective is None:
        objective = _likeliest(sheet, columns)
    given = dict(objective) if isinstance(objective, Mapping) else {objective: goal}
    for name in given:
        if name not in columns:
            near = difflib.get_close_matches(name, columns, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise FileError(f"{sheet.path} has no column {name!r}; it has {', '.join(map(repr, columns))}{hint}")
        if columns[name].kind != "number":
            raise FileError(f"{sheet.path}: {name!r} cannot be the objective: {columns[name].why}")
        if columns[name].role == CONSTANT:
            raise FileError(f"{sheet.path}: {name!r} has the same value in every row, so it cannot be the objective")
    return {name: wish or goal_of(name) or MAXIMIZE for name, wish in given.items()}


def _likeliest(sheet: Sheet, columns: Mapping[str, Column]) -> str:
    """The column that is the objective, if one plainly is."""
    numeric = [c for c in columns.values() if c.kind == "number" and c.role in (PARAMETER, OUTCOME) and c.numbers]
    named = [c for c in columns.values() if c.role in (PARAMETER, OUTCOME, UNUSED) and is_outcome(c.name)]
    words = [c for c in named if c.kind != "number" and c.why != "blank"]
    if words and not any(c.failed for c in numeric):
        if len(named) == 1:
            raise FileError(
                f"{sheet.path}: {named[0].name!r} seems to be the outcome, but is no column of numbers "
                f"({named[0].why}); write numbers, or name another column with --objective"
            )
        numeric = [c for c in numeric if is_outcome(c.name)] + words
    if not numeric:
        raise FileError(f"{sheet.path} has no column of numbers to be the objective; columns: {', '.join(columns)}")
    last = len(sheet.rows) - 1
    signs: tuple[Callable[[Column], bool], ...] = (
        lambda c: c.failed,
        lambda c: c.name + ERROR in columns,
        lambda c: (is_outcome(c.name) and not is_structure(c.name)) or _is_mean_of(c, columns),
        lambda c: is_mean(c.name),
        lambda c: last in c.blanks and not is_setting(c.name),  # an outcome that is awaited
        lambda c: _stands_out(c, numeric),
    )
    for sign in signs:
        sure = [column for column in numeric if sign(column)]
        if len(sure) == 1 and not (rivals := _rivals(sure[0], numeric)):
            return sure[0].name
        numeric = [*sure, *rivals] if len(sure) == 1 else sure or numeric
        if len(sure) == 1:
            break
    likely = [c.name for c in sorted(numeric, key=lambda c: c.kind == "number")][::-1]
    raise UnsureError(
        f"{sheet.path}: which column is the outcome? Say it with --objective {likely[0]!r}, or another: "
        f"{', '.join(map(repr, likely[1:8]))}{', ...' if len(likely) > 8 else ''}",
        "--objective",
        likely,
    )


def _is_mean_of(column: Column, columns: Mapping[str, Column]) -> bool:
    """Whether a column is called a mean and stands right of outcomes: yield 1, yield 2, mean."""
    names = list(columns)
    left = names[: names.index(column.name)]
    return is_mean(column.name) and not is_setting(column.name) and bool(left) and is_outcome(left[-1])


def _rivals(column: Column, numeric: Sequence[Column]) -> list[Column]:
    """Other columns that may be the outcome as well, where a name says only that a column is measured."""
    if goal_of(column.name) or column.failed or not is_outcome(column.name) or is_plain_outcome(column.name):
        return []
    right = numeric[numeric.index(column) + 1 :]
    return [other for other in right if not is_setting(other.name) and _variety(other) >= DIFFERS]


def _stands_out(column: Column, numeric: Sequence[Column]) -> bool:
    """Whether a column is the last one of numbers, and the only one that is not set: by its name, or as it repeats."""
    others = [other for other in numeric if other is not column]
    if column is not numeric[-1] or (is_setting(column.name) and others and not is_size(column.name)):
        return False
    free = others if is_setting(column.name) else [other for other in others if not is_setting(other.name)]
    return not free or (_variety(column) >= DIFFERS and all(_variety(other) <= REPEATS for other in free))


def _variety(column: Column) -> float:
    """Which share of its numbers differ: what is set repeats, what is measured seldom does."""
    return len(set(column.numbers)) / len(column.numbers) if len(column.numbers) >= 4 else 0.0


def _settled(
    sheet: Sheet,
    columns: Mapping[str, Column],
    wanted: Mapping[str, object],
    guessed: Collection[str],
    parameters: Sequence[str] | None,
) -> dict[str, Column]:
    """What each column is, now that the objective is known."""
    names = list(columns)
    if parameters is not None:
        for name in parameters:
            if name not in columns:
                near = difflib.get_close_matches(name, columns, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise FileError(f"{sheet.path} has no column {name!r} to be a parameter{hint}")
            if columns[name].kind not in ("number", "category") or columns[name].role == CONSTANT:
                raise FileError(f"{sheet.path}: {name!r} cannot be a parameter: {columns[name].why}")
    first = min(names.index(name) for name in wanted)
    before = any(c.role == PARAMETER and not is_outcome(c.name) for c in list(columns.values())[:first])
    settled = {}
    numbers = [c for c in columns.values() if c.role == PARAMETER and c.kind == "number" and c.name not in wanted]
    plain = [c for c in numbers if not is_size(c.name)]
    after = names.index(plain[-1].name) if plain and all(_variety(c) <= REPEATS for c in plain) else len(names)
    left = [c for c in numbers if names.index(c.name) < first]
    for place, (name, column) in enumerate(columns.items()):
        role, why = column.role, column.why
        if name in wanted:
            role, why = OBJECTIVE, f"{_wish(wanted[name])}{_guessed(name) if name in guessed else ''}; {why}"
        elif parameters is not None and name in parameters:
            role = PARAMETER
        elif parameters is not None and role in (PARAMETER, OUTCOME):
            role, why = UNUSED, f"kept, not used: not among the parameters named; {why}"
        elif role == OUTCOME or (role == PARAMETER and is_outcome(name)):
            role, why = UNUSED, "kept, not used: seems to be another outcome; --objective takes several"
        elif role == PARAMETER and is_size(name) and place > after and _variety(column) >= DIFFERS:
            role, why = UNUSED, f"kept, not used: it differs in each row, as if measured; --parameters names it; {why}"
        elif role == PARAMETER and before and place > first and (not is_setting(name) or _differs(column, left)):
            role, why = UNUSED, f"kept, not used: stands right of the objective; --parameters names it; {why}"
        notes = column.notes
        if role == PARAMETER and column in numbers and _alone_differs(column, numbers):
            notes = (*notes, "differs in each row: if it is measured and not set, give it role = 'measured'")
        settled[name] = replace(column, role=role, why=why, notes=notes)
    return settled


def _differs(column: Column, left: Sequence[Column]) -> bool:
    """Whether a column differs in nearly each row, as if measured, while those left of the objective repeat."""
    return column.kind == "number" and _variety(column) >= DIFFERS and all(_variety(c) <= REPEATS for c in left)


def _alone_differs(column: Column, numbers: Sequence[Column]) -> bool:
    """Whether no two numbers of a column are the same, while those of all others repeat."""
    others = [other for other in numbers if other is not column]
    return bool(others) and _variety(column) == 1 and all(_variety(other) <= REPEATS for other in others)


def _guessed(name: str) -> str:
    if goal_of(name):
        return ", a guess by its name"
    return ", though its name does not tell: --goal minimize if less is better"


def _wish(goal: object) -> str:
    return str(goal) if isinstance(goal, str) else "target"


def _id_column(columns: Mapping[str, Column]) -> str:
    """The column that names the experiments: `id`, or the first identifier that counts or differs in every row."""
    if IDENTITY in columns:
        return IDENTITY
    return next((c.name for c in columns.values() if c.role == IDENTIFIER), IDENTITY)


# --- parameters ----------------------------------------------------------------------------------------------------


def _parameter(column: Column) -> tuple[Parameter, str]:
    """A parameter for a column, and what to look at."""
    if column.kind == "category":
        return Categorical(column.values, unit=column.unit, default=column.default), "; ".join(column.notes)
    numbers = column.numbers
    if not numbers or not min(numbers) < max(numbers):
        raise FileError(f"column {column.name!r} cannot be a parameter: its numbers do not vary")
    low, high = min(numbers), max(numbers)
    said = [f"the table has {cells.number_text(low)} to {cells.number_text(high)}"]
    decades = low > 0 and high / low >= (2 * LOG_RATIO if column.below else LOG_RATIO)
    if column.below:
        low = low / 10 if decades else 0.0 if low >= 0 else low - (high - low) / 4
        said.append(f"cells such as <{cells.number_text(min(numbers))} are taken as from {cells.number_text(low)}")
    if column.above is not None and column.above >= high:
        high = column.above + (column.above - low) / 4
        said.append(f"cells such as >{cells.number_text(column.above)} are taken as up to {cells.number_text(high)}")
    if column.codes:
        said.append(f"{', '.join(column.codes)} taken as unknown")
    whole = all(number == int(number) for number in numbers)
    if whole and (is_count(column.name) or _steps_of_one(numbers, column)):
        return Integer(int(low), int(high), unit=column.unit), "; ".join(said)
    positive = [number for number in numbers if number > 0]
    if decades:
        made = Real(_round(low, low, math.floor), _round(high, high, math.ceil), log=True, unit=column.unit)
        return made, "; ".join(said)
    if low == 0 and len(positive) > 2 and max(positive) / min(positive) >= 1000:
        said.append(f"for a log scale write 0 as <{cells.number_text(min(positive))}, and begin the range above 0")
    made = Real(_round(low, high - low, math.floor), _round(high, high - low, math.ceil), unit=column.unit)
    return made, "; ".join(said)


def _with_asked(column: Column, asked: Column) -> Column:
    """A parameter with what was asked of it: what one has asked for can be set."""
    if column.kind == "number":
        return replace(column, numbers=(*column.numbers, *asked.numbers))
    known = {cells.look(value) for value in column.values}
    return replace(
        column, values=(*column.values, *dict.fromkeys(v for v in asked.values if cells.look(v) not in known))
    )


def _steps_of_one(numbers: Collection[float], column: Column) -> bool:
    """Whether the numbers are few and each one of 1, 2, 3, ...: something counted, with no unit."""
    values = sorted(set(numbers))
    return not column.unit and not is_setting(column.name) and 3 <= len(values) <= 10 and values[0] in (0, 1) and (
        values == [values[0] + i for i in range(len(values))]
    )  # fmt: skip


def _round(number: float, size: float, toward: Callable[[float], int]) -> float:
    """To one more digit than the size has, away from the data but not to or across zero."""
    if not 1e-300 < size < 1e300:
        return number
    unit = 10.0 ** (math.floor(math.log10(size)) - 1)
    rounded = float(f"{toward(round(number / unit, 6)) * unit:.12g}")
    if rounded * number <= 0:
        return number
    return min(rounded, number) if toward is math.floor else max(rounded, number)
