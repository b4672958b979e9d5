"""A campaign guessed from a table: which columns are parameters, of which kind, and which is the objective.

What is not sure is not guessed: `UnsureError` says what to ask, and which answer would be taken.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bomi.campaign import storage
from bomi.campaign.body import is_numeric
from bomi.campaign.columns import Numbers, declared_unit, digest, lettered, unit_in_cells
from bomi.campaign.evidence import SURE, Evidence, weigh
from bomi.campaign.guessed import NOBODY, Guess
from bomi.campaign.lexicon import (
    DATE_NAME,
    GROUP_NAME,
    goal_of,
    is_aside,
    is_called_setting,
    is_label,
    is_outcome,
    is_setting,
    is_size,
    is_sum,
    measure_of,
    target_of,
)
from bomi.campaign.marks import Decision, decide
from bomi.campaign.mixtures import LOOKED_AT, mixtures
from bomi.campaign.outcome import (
    DIFFERS,
    REPEATS,
    UnsureError,
    done_as_asked,
    is_found,
    measured,
    repeats,
    repeats_of,
    wanted_of,
)
from bomi.campaign.ranges import parameter_for, steps_of_one, with_asked
from bomi.campaign.roles import (
    CONSTANT,
    DATE,
    IDENTIFIER,
    MEASURED,
    MOSTLY,
    OUTCOME,
    PARAMETER,
    UNUSED,
    Column,
    classify,
    number_in,
)
from bomi.campaign.sheet import Sheet, read_sheet
from bomi.campaign.toml import NAME, Campaign
from bomi.data.objectives import objective_of
from bomi.data.reading import read_exclude
from bomi.errors import FileError
from bomi.space import EXCLUDE, IDENTITY, RESERVED, ZERO, Conditions, Parameter, Space, cells

MOST_PARAMETERS = 50
OBJECTIVE = "objective"


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
    if doubled := [name for name in sheet.doubled if not is_aside(name)]:
        raise FileError(f"{sheet.path}: more than one column is called {', '.join(map(repr, doubled))}; rename them")
    for name, texts in sheet.columns.items() if sheet.book is not None else ():
        if any(text[:1] == "=" for text in texts):
            raise FileError(
                f"{sheet.path}, column {name!r}: formulas were never computed; "
                "open the file in a spreadsheet and save it"
            )
    sheet = _counted(sheet)
    columns = _read(sheet, decimal)
    wanted = wanted_of(sheet, columns, objective, goal)
    said = {name for name, wish in objective.items() if wish} if isinstance(objective, Mapping) else set()
    guessed = set(wanted) - (set(wanted) if goal else said)
    columns = _settled(sheet, columns, wanted, guessed, parameters)
    chosen = [column for column in columns.values() if column.role == PARAMETER]
    if not chosen:
        near = [f"of {c.name!r}, {c.why}" for c in columns.values() if c.kind == "mixed"]
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
        made[column.name], notes[column.name] = parameter_for(with_asked(column, asked) if asked else column)
    units = {name: columns[name].unit for name in wanted}
    objectives = tuple(objective_of(name, one, units[name]) for name, one in wanted.items())
    used = (column for column in columns.values() if column.role in (PARAMETER, OBJECTIVE))
    codes = tuple(dict.fromkeys(code for column in used for code in column.codes))
    campaign = Campaign(
        Space(made), objectives, decimal=decimal, unknown=codes, id_column=_id_column(columns), sheet=_named(sheet)
    )
    campaign, mixed = _with_sums(campaign, columns)
    nameless = [f"column {place} has cells but no name, so it is not read" for place in sheet.nameless()]
    kept = {name: note for name, note in notes.items() if note}
    doubtful = {} if parameters is not None else _doubtful(sheet, chosen, columns, next(iter(wanted)))
    for name, why in doubtful.items():
        kept[name] = "; ".join(filter(None, [kept.get(name), f"{NOBODY} it: {why}"]))
    unsaid = tuple(name for name in wanted if name in guessed and not _says(name))
    found = Guess(campaign, tuple(columns.values()), kept, (*sheet.notes, *nameless, *mixed), None, doubtful, unsaid)
    return replace(found, conditions=_conditions(sheet, [columns[name] for name in found.unused]))


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
    with storage.uncollected():
        read = read_sheet(table, sheet=sheet)
        found = guess(read, objective=objective, goal=goal, parameters=parameters, decimal=decimal)
    return save_guess(found, table, path, force=force), found


def save_guess(found: Guess, table: Path, path: Path | None = None, *, force: bool = False) -> Path:
    """Write a guessed campaign, beside its table unless another path is given; returns where."""
    path = place_for_guess(table, path, force=force)
    storage.replace_bytes(path, found.text().encode())
    return path


def place_for_guess(table: Path, path: Path | None = None, *, force: bool = False) -> Path:
    """Where the campaign of a table is written; an error if there is one already."""
    path = table.parent / NAME if path is None else path
    if path.exists() and not force:
        raise FileError(f"{path} is there already and was left as it is; --force writes a new one over it")
    return path


def _conditions(sheet: Sheet, unused: Sequence[Column]) -> Conditions:
    """The columns not used that people and lots are named in, or days, several rows to each; and the first of days."""
    days = [column.name for column in unused if column.role == DATE]
    groups = [
        name
        for name in (column.name for column in unused)
        if (name in days or GROUP_NAME.fullmatch(name.strip()))
        and len(told := Counter(text.strip() for text in sheet.columns[name] if text.strip())) >= 2
        and 2 * len(told) <= told.total()
    ]
    return Conditions(groups, days[0] if days else False)


def _counted(sheet: Sheet) -> Sheet:
    """The sheet without its rows that are excluded: what stands there says nothing."""
    marks = [read_exclude(cell) for cell in sheet.columns.get(EXCLUDE, ())]
    if not any(marks):
        return sheet
    kept = [place for place, out in enumerate(marks) if not out]
    return replace(sheet, rows=[sheet.rows[i] for i in kept], numbers=[sheet.numbers[i] for i in kept])


def _named(sheet: Sheet) -> str | None:
    """The name of the sheet, where its workbook has several."""
    return sheet.name if sheet.beside else None


def _read(sheet: Sheet, decimal: str | None) -> dict[str, Column]:
    """What each column is taken for, read with the marks that the whole table tells."""
    marks = decide(sheet.columns, separator=sheet.separator, declared=decimal)
    columns, questions = _classified(sheet, marks)
    if marks.questions or len(set(marks.marks.values())) > 1:  # dates and labels have no say in it
        held = {name: sheet.columns[name] for name, column in columns.items() if _may_be_numbers(column, sheet)}
        decided = decide(held, separator=sheet.separator, declared=decimal)
        for name, why in decided.questions.items():
            if name in decided.open:
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
        if not unit and not DATE_NAME.fullmatch(name.strip()):
            found = unit_in_cells(digests[name], mark, several=True)
            unit = found.unit
            if found.question:
                questions[name] = found.question
        readers[name] = Numbers(mark, unit, lettered=lettered(digests[name]))
    columns = classify(sheet, readers, digests)
    numbers = {
        name: (column.unit, [number_in(text, readers[name]) for text in sheet.columns[name][:LOOKED_AT]])
        for name, column in columns.items()
        if column.kind == "number" and (column.role == PARAMETER or (column.role == CONSTANT and column.blanks))
    }
    for mixture in mixtures(numbers):
        for part in (columns[name] for name in mixture.parts):
            made = replace(part, role=PARAMETER, why="number", look="") if part.role == CONSTANT else part
            none = (0.0,) if part.name in mixture.none else ()
            columns[part.name] = replace(made, mixture=mixture, numbers=(*part.numbers, *none))
    return columns, questions


def _with_sums(campaign: Campaign, columns: Mapping[str, Column]) -> tuple[Campaign, list[str]]:
    """The campaign with a fixed sum for each mixture, whose blanks may mean none; and what to say of it."""
    parameters = dict(campaign.space.parameters)
    each = dict.fromkeys(column.mixture for column in columns.values() if column.mixture)
    found = [mixture for mixture in each if parameters.keys() >= {*mixture.parts}]
    for name in (name for mixture in found for name in mixture.none):
        parameters[name] = replace(parameters[name], blank=ZERO)
    space = Space(parameters, constraints=[mixture.constraint for mixture in found])
    return replace(campaign, space=space), [f"{mixture}; suggestions will too" for mixture in found]


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
    decided = {}
    numbers = [c for c in columns.values() if c.role == PARAMETER and c.kind == "number" and c.name not in wanted]
    done = done_as_asked(columns)
    unsettled = [c for c in columns.values() if c.role == PARAMETER and c.name not in {*wanted, *done}]
    as_measured = measured(unsettled)
    repeated = [c for name in wanted for c in repeats_of(columns[name], list(columns.values())[: names.index(name)])]
    measures = {measure for name in wanted if len(measure := measure_of(name)) > 2}
    left = [c for c in numbers if c not in as_measured and names.index(c.name) < first]
    for place, (name, column) in enumerate(columns.items()):
        role, why, made = column.role, column.why, column
        begins = column.kind == "category" and any(names.index(c.name) > place for c in left)  # a biomass, chosen
        if name in wanted:
            wish = f"{_wish(wanted[name])}{_guessed(name) if name in guessed else ''}"
            made = replace(column, role=OBJECTIVE, why=wish if why == "number" else f"{wish}; {why}", kept=False)
        elif parameters is not None and name in parameters:
            made = replace(column, role=PARAMETER, kept=False)
        elif parameters is not None and role in (PARAMETER, OUTCOME):
            made = _aside(column, "not among the parameters named", eligible=False)
        elif role == PARAMETER and (measure_of(name) in measures or column in repeated):
            made = _aside(column, "seems to be measured as the objective is")
        elif role == OUTCOME or (role == PARAMETER and is_found(column) and name not in done and not begins):
            made = _aside(column, "seems to be another outcome; --objective takes several", MEASURED, eligible=False)
        elif role == PARAMETER and is_sum(name):
            made = _aside(column, "a sum of others, by its name")
        elif column in as_measured and not column.mixture:
            made = _aside(column, "it differs in each row, as if measured", MEASURED)
        elif role == PARAMETER and before and place > first and (not is_setting(name) or _differs(column, left)):
            made = _aside(column, "stands right of the objective", MEASURED)
        if made.role == PARAMETER and column in numbers and column.variety > 0.8 and sum(map(repeats, unsettled)) > 1:
            each = "each row" if column.variety == 1 else "nearly each row"
            note = f"differs in {each}: if it is measured and not set, give it role = 'measured'"
            made = replace(made, notes=(*made.notes, note))
        decided[name] = made
    for column in [c for c in numbers if decided[c.name].role == PARAMETER and steps_of_one(c.numbers, c)]:
        beside = [c.name for c in decided.values() if c.role == PARAMETER and c.name != column.name]
        if parameters is None and _numbers_settings(sheet, column.name, beside):
            decided[column.name] = _aside(decided[column.name], "counts the combinations of the others")
    return decided if parameters is not None else _left_out(sheet, decided, next(iter(wanted)))


def _aside(column: Column, why: str, role: str = UNUSED, *, eligible: bool = True) -> Column:
    """A column that is kept and not used."""
    return replace(column, role=role, why=why, kept=True, eligible=eligible)


def _left_out(sheet: Sheet, columns: Mapping[str, Column], outcome: str) -> dict[str, Column]:
    """The columns without those that hardly anybody sets, as far as others are left."""
    chosen = [column for column in columns.values() if column.role == PARAMETER]
    found = _weighed(sheet, chosen, columns, outcome)
    kept = done_as_asked(columns)  # what was asked of it stands beside it
    out = {name for name, evidence in found.items() if evidence.out and name not in kept}
    out -= {name for name in out if is_called_setting(name) and not is_size(name)}
    out -= {name for name in out if (mixture := columns[name].mixture) and {*mixture.parts} - out}  # made as a whole
    if len(out) == len(chosen):
        return dict(columns)
    why = {name: f"{NOBODY} it: {found[name].against}" for name in out}
    return {name: _aside(c, why[name]) if name in out else c for name, c in columns.items()}


def _weighed(
    sheet: Sheet, chosen: Sequence[Column], columns: Mapping[str, Column], outcome: str
) -> dict[str, Evidence]:
    """What speaks for and against each of the columns that may be set."""
    days = [
        sheet.columns[c.name] for c in columns.values() if c.role == DATE or (c.role == UNUSED and is_label(c.name))
    ]
    order = [*columns.values()]
    first = min(order.index(c) for c in order if c.role == OBJECTIVE or (c.role == MEASURED and c.kind == "number"))
    behind = {c.name for c in order[first:]} if any(c in chosen for c in order[:first]) else set()
    return {
        c.name: weigh(c, sheet.columns[c.name], chosen, columns[outcome], days, behind=c.name in behind) for c in chosen
    }


def _doubtful(sheet: Sheet, chosen: Sequence[Column], columns: Mapping[str, Column], outcome: str) -> dict[str, str]:
    """The parameters that perhaps nobody sets, and why."""
    done = done_as_asked(columns)
    found = _weighed(sheet, chosen, columns, outcome)
    return {name: evidence.against for name, evidence in found.items() if evidence.odds < SURE and name not in done}


def _numbers_settings(sheet: Sheet, name: str, others: Sequence[str]) -> bool:
    """Whether each number of a column stands for one combination of the other parameters, in several rows."""
    rows = list(zip(*(sheet.columns[other] for other in others), strict=True))
    pairs = set(zip(sheet.columns[name], rows, strict=False))
    numbers = len(set(sheet.columns[name]))
    return len(others) > 1 and len(pairs) == numbers == len(set(rows)) and 3 <= numbers < len(rows)


def _differs(column: Column, left: Sequence[Column]) -> bool:
    """Whether a column differs in nearly each row, as if measured, while those left of the objective repeat."""
    return column.kind == "number" and column.variety >= DIFFERS and all(c.variety <= REPEATS for c in left)


def _says(name: str) -> bool:
    """Whether the name of an outcome says what is wanted of it."""
    return goal_of(name) is not None or target_of(name) is not None


def _guessed(name: str) -> str:
    if _says(name):
        return ", a guess by its name"
    return ", though its name does not tell: --minimize if less is better"


def _wish(goal: object) -> str:
    return f"target {goal[1]}" if isinstance(goal, tuple | list) else str(goal)


def _id_column(columns: Mapping[str, Column]) -> str:
    """The column that names the experiments: `id`, or the first identifier that counts or differs in every row."""
    if IDENTITY in columns:
        return IDENTITY
    return next((c.name for c in columns.values() if c.role == IDENTIFIER), IDENTITY)
