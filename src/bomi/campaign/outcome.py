"""Which column of a table is the outcome, and what is wanted of it; what is not sure is asked, never guessed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from bomi.campaign.body import is_numeric
from bomi.campaign.lexicon import (
    asked_of,
    goal_of,
    is_called_outcome,
    is_called_setting,
    is_computed,
    is_dosed,
    is_mean,
    is_outcome,
    is_plain_outcome,
    is_setting,
    is_signal,
    is_size,
    is_structure,
    is_thing,
    target_of,
)
from bomi.campaign.roles import CONSTANT, OUTCOME, PARAMETER, UNUSED, VERDICT, Column
from bomi.campaign.sheet import Sheet
from bomi.data.objectives import ERROR, MAXIMIZE, TARGET
from bomi.errors import FileError
from bomi.space import RESERVED, cells

DIFFERS = 0.9  # the share of different numbers: at least, where they are measured
REPEATS = 0.85  # and at most, where they are set
REPEATED = 0.67  # at most, where there are a few levels
MOST_REPEATS = 12
ENOUGH = 5  # numbers that all differ, to say that they seem to be measured


_VALIDATION = re.compile(r"(?:^|[\W_])(?:val|valid|validation|test|dev|eval)(?:$|[\W_])", re.IGNORECASE)


class UnsureError(FileError):
    """Something that somebody has to say: the option that says it, the answers there are, and the likeliest first."""

    def __init__(self, message: str, option: str, answers: Sequence[str]) -> None:
        super().__init__(message)
        self.option, self.answers = option, tuple(answers)


def wanted_of(
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
    return {name: wish or _wished(name) for name, wish in given.items()}


def _wished(name: str) -> str | tuple[str, float]:
    """What is wanted of an outcome, as its name says, or else more of it."""
    target = target_of(name)
    return (TARGET, target) if target is not None else goal_of(name) or MAXIMIZE


def _likeliest(sheet: Sheet, columns: Mapping[str, Column]) -> str:
    """The column that is the objective, if one plainly is."""
    done = done_as_asked(columns)
    used = [c for c in columns.values() if c.role in (PARAMETER, OUTCOME) and c.name not in done]
    numeric = [c for c in used if c.kind == "number" and c.numbers]
    named = [c for c in columns.values() if c.role in (PARAMETER, OUTCOME, UNUSED) and is_outcome(c.name)]
    named = [c for c in named if c.name not in done and not is_computed(c.name, columns)]
    words = [c for c in named if c.kind != "number" and len(c.blanks) < len(sheet.rows)]
    if any(is_found(c) for c in numeric):  # pass or fail beside what was measured
        words = [c for c in words if c.kind != VERDICT]
    if any(is_found(c) for c in numeric):  # grades of something else can be no objective
        words = [c for c in words if c.kind != "category"]
    if words and not any(c.failed or is_mean(c.name) for c in numeric):
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
        lambda c: (is_found(c) and not is_structure(c.name)) or _is_mean_of(c, columns),
        lambda c: is_found(c) and _VALIDATION.search(c.name) is not None,
        lambda c: bool(repeats_of(c, [*columns.values()][: [*columns].index(c.name)])),
        lambda c: is_mean(c.name) and (c is numeric[-1] or _is_one_of(c, columns)),
        lambda c: is_found(c) and not is_signal(c.name),
        lambda c: is_found(c) and is_called_outcome(c.name),
        lambda c: is_found(c) and any(_is_computed(c, one, used) for one in numeric if is_found(one)),
        lambda c: last in c.blanks and not is_setting(c.name) and _all_await(numeric, last),
        lambda c: _stands_out(c, numeric),
    )
    for sign in signs:
        sure = [column for column in numeric if sign(column)]
        if len(sure) == 1 and not (rivals := _rivals(sure[0], numeric, used)):
            return sure[0].name
        numeric = [*sure, *rivals] if len(sure) == 1 else sure or numeric
        if len(sure) == 1:
            break
    if (unread := _unread(sheet, columns, numeric)) and not any(map(is_found, numeric)):
        raise FileError(
            f"{sheet.path}: {unread.name!r} may be the outcome, but {_example(sheet.columns[unread.name])!r} is no "
            "number; write numbers, or name another column with --objective"
        )
    order = [*columns]
    asked = sorted(numeric, key=lambda c: (c.kind == "number", order.index(c.name)))[::-1]
    likely = [c.name for c in [*asked, *(c for c in measured(used) if c not in asked)]]
    raise UnsureError(
        f"{sheet.path}: which column is the outcome? Say it with --objective {likely[0]!r}"
        f"{', or another: ' if len(likely) > 1 else ''}{', '.join(map(repr, likely[1:8]))}"
        f"{', ...' if len(likely) > 8 else ''}",
        "--objective",
        likely,
    )


def _all_await(numeric: Sequence[Column], last: int) -> bool:
    """Whether all outcomes by their name await the last experiment: one that lacks another was not asked for it."""
    return all(last in column.blanks for column in numeric if is_found(column))


def _unread(sheet: Sheet, columns: Mapping[str, Column], numeric: Sequence[Column]) -> Column | None:
    """The last column of a table, if most of its cells begin with a number, though it is not a column of numbers."""
    names = [c.name for c in columns.values() if c in numeric or (c.role == UNUSED and _example(sheet.columns[c.name]))]
    return None if columns[names[-1]] in numeric else columns[names[-1]]


def _example(texts: Sequence[str]) -> str:
    """A cell that could not be read in a column of which most cells begin with a number; "" if they do not."""
    held = [text.strip() for text in texts if not cells.is_unknown(text)]
    begun = [text for text in held if re.match(r"[<>(\[~]?\s?\d", text)]
    return next((text for text in held if not is_numeric(text)), "") if 2 * len(begun) > len(held) else ""


def done_as_asked(columns: Collection[str]) -> set[str]:
    """The columns of what was done where another says what was asked: `pH` beside `asked.pH` or `setpoint pH`."""
    return {name.removeprefix(RESERVED) if name.startswith(RESERVED) else asked_of(name, columns) for name in columns}


def is_found(column: Column) -> bool:
    """Whether a column is an outcome by its name; where it repeats, as a final pH that is set, by a wish in it."""
    if column.kind == "category" and is_thing(column.name):  # a target for sputtering
        return False
    return is_outcome(column.name) and (is_called_outcome(column.name) or not 0 < column.variety <= REPEATED)


def _is_mean_of(column: Column, columns: Mapping[str, Column]) -> bool:
    """Whether a column is called a mean and stands right of outcomes: yield 1, yield 2, mean."""
    names = list(columns)
    left = names[: names.index(column.name)]
    return is_mean(column.name) and not is_setting(column.name) and bool(left) and is_outcome(left[-1])


def _is_computed(column: Column, other: Column, columns: Iterable[Column]) -> bool:
    """Whether a column is a multiple of the ratio of another one and a third in every row: a yield."""
    count = len(column.numbers)
    if other is column or count < ENOUGH or len(other.numbers) != count or 0 in column.numbers or 0 in other.numbers:
        return False
    shares = [a / b for a, b in zip(column.numbers, other.numbers, strict=True)]
    for third in (c for c in columns if c not in (column, other) and len(c.numbers) == count and c.variety > 0):
        factors = [share * number for share, number in zip(shares, third.numbers, strict=True)]
        if abs(max(factors) - min(factors)) <= 0.005 * abs(max(factors)):
            return True
    return False


def _is_one_of(mean: Column, columns: Collection[str]) -> bool:
    """Whether other columns are called as a mean is: `Thk mean` beside `Thk range`; a room's humidity stands alone."""
    first = mean.name.split()[0]
    return is_mean(first) or any(name != mean.name and name.split()[:1] == [first] for name in columns)


def _rivals(column: Column, numeric: Sequence[Column], columns: Sequence[Column]) -> list[Column]:
    """Other columns that may be the outcome as well, where the name of one does not say what is wanted of it."""
    wanted = goal_of(column.name) and not 0 < column.variety <= REPEATED  # a weight gain of 2, 3 and 4 % may be set
    if wanted or column.failed or is_plain_outcome(column.name) or is_mean(column.name):
        return []
    right = [other for other in numeric[numeric.index(column) + 1 :] if not is_setting(other.name)]
    as_measured = measured(columns)
    return [c for c in numeric if c is not column and (c in as_measured or (c in right and c.variety >= DIFFERS))]


def _stands_out(column: Column, numeric: Sequence[Column]) -> bool:
    """Whether a column is the last one of numbers, and the only one that is not set: by its name, or as it repeats."""
    others = [other for other in numeric if other is not column]
    if column is not numeric[-1]:
        return False
    if is_called_setting(column.name) and not is_size(column.name):
        return column.variety >= DIFFERS and all(0 < other.variety <= REPEATED for other in others)
    free = others if is_setting(column.name) else [other for other in others if not is_setting(other.name)]
    return not free or (column.variety >= DIFFERS and all(other.variety <= REPEATS for other in free))


def measured(columns: Sequence[Column]) -> list[Column]:
    """The columns of numbers that are as if measured: they differ in each row, right of all columns that repeat."""
    repeating = [i for i, column in enumerate(columns) if repeats(column)]
    right = [c for c in columns[repeating[-1] :] if len(c.numbers) >= ENOUGH] if len(repeating) > 1 else []
    return [c for c in right if c.variety >= DIFFERS and (is_size(c.name) or not is_dosed(c.name))]


def repeats(column: Column) -> bool:
    """Whether the values of a column repeat, as those of a setting do."""
    return column.kind == "category" or 0 < column.variety <= REPEATS


def repeats_of(mean: Column, left: Sequence[Column]) -> list[Column]:
    """The columns directly left of one that is their mean in every row: what it is the mean of."""
    numbers = [column for column in left if column.kind == "number" and len(column.numbers) == len(mean.numbers)]
    for count in range(2, min(MOST_REPEATS, len(numbers)) + 1):
        rows = zip(mean.numbers, zip(*(column.numbers for column in numbers[-count:]), strict=True), strict=True)
        if all(abs(sum(row) / count - value) <= 0.005 * abs(value) for value, row in rows):
            return numbers[-count:]
    return []
