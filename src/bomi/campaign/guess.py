"""A campaign guessed from a table: which columns are parameters, of which kind, and which is the objective."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bomi.campaign import storage
from bomi.campaign.sheet import Sheet, read_sheet
from bomi.campaign.toml import NAME, Campaign
from bomi.data.objectives import ERROR, MAXIMIZE, objective_of
from bomi.data.observations import FAILED
from bomi.errors import CellError, FileError
from bomi.space import RESERVED, TAKEN, Categorical, Integer, Parameter, Real, Space, cells
from bomi.space.cells import Interval, Normal

# --- guessing ------------------------------------------------------------------------------------------------------

NO_PARAMETER = re.compile(
    r"id|#|no\.?|nr\.?|number|row|run|sample|date|day|operator|person|who|author|notes?|comments?|remarks?",
    re.IGNORECASE,
)
_UNIT = re.compile(r".*[(\[]\s*([^)\]]+?)\s*[)\]]")
FEW_VALUES = 12
FEW_LEVELS = 20
LOG_RATIO = 50


@dataclass(frozen=True)
class Guess:
    """A campaign guessed from a table, what to look at in it, and the columns it leaves out."""

    campaign: Campaign
    notes: Mapping[str, str]
    unused: tuple[str, ...]

    def text(self) -> str:
        """The content of campaign.toml."""
        return self.campaign.text(self.notes, self.unused)


def guess(
    sheet: Sheet,
    *,
    objective: str | Mapping[str, object] | None = None,
    goal: str | tuple[str, float] = MAXIMIZE,
) -> Guess:
    """A campaign for a table: numbers get a range around what was tried, words that repeat are categories.

    The objective is the last column of numbers unless it is named; several are a mapping of name to goal.
    """
    if sheet.doubled:
        raise FileError(f"{sheet.path}: more than one column is called {', '.join(map(repr, sheet.doubled))}")
    decimal = sheet.decimal([name for name in sheet.columns if not NO_PARAMETER.fullmatch(name)]) or "."
    columns = {name: column for name, column in sheet.columns.items() if not name.startswith(RESERVED)}
    numbers = {name: found for name in columns if (found := _numbers(columns[name], decimal))}
    if objective is None:
        usable = [name for name in numbers if not NO_PARAMETER.fullmatch(name)]
        if not usable:
            raise FileError(f"{sheet.path} has no column of numbers to be the objective; columns: {', '.join(columns)}")
        objective = usable[-1]
    wanted = dict(objective) if isinstance(objective, Mapping) else {objective: goal}
    for name in wanted:
        if name not in columns:
            near = difflib.get_close_matches(name, columns, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise FileError(f"{sheet.path} has no column {name!r}; it has {', '.join(map(repr, columns))}{hint}")
    for name in wanted:
        columns.pop(name + ERROR, None)
    made: dict[str, Parameter] = {}
    notes: dict[str, str] = {}
    for name in columns:
        if name in wanted or name in TAKEN or NO_PARAMETER.fullmatch(name):
            continue
        unit = match[1] if (match := _UNIT.fullmatch(name)) else ""
        if name in numbers and min(numbers[name]) < max(numbers[name]):
            low, high = min(numbers[name]), max(numbers[name])
            made[name] = _number_parameter(numbers[name], unit)
            notes[name] = f"the table has {cells.number_text(low)} to {cells.number_text(high)}"
        elif name not in numbers and (values := _categories(columns[name])):
            made[name] = Categorical(values, unit=unit)
    unused = tuple(name for name in columns if name not in wanted and name not in made)
    if not made:
        raise FileError(
            f"{sheet.path} has no column that could be a parameter: one of numbers that vary, or of words that repeat"
        )
    objectives = tuple(
        objective_of(name, one, match[1] if (match := _UNIT.fullmatch(name)) else "") for name, one in wanted.items()
    )
    return Guess(Campaign(Space(made), objectives), notes, unused)


def write_guess(
    table: Path,
    path: Path | None = None,
    *,
    objective: str | Mapping[str, object] | None = None,
    goal: str | tuple[str, float] = MAXIMIZE,
    force: bool = False,
) -> tuple[Path, Guess]:
    """Write the campaign guessed from a table, beside it unless another path is given; returns where, and what."""
    path = table.parent / NAME if path is None else path
    found = guess(read_sheet(table), objective=objective, goal=goal)
    if path.exists() and not force:
        raise FileError(f"{path} is there already and was left as it is; --force writes a new one over it")
    storage.replace_bytes(path, found.text().encode())
    return path, found


def _numbers(column: Collection[str], decimal: str) -> list[float]:
    """The numbers of a column, the ends of what is uncertain among them; none if it holds anything else."""
    found: list[float] = []
    for text in column:
        try:
            cell = cells.parse(text.replace(decimal, "."))
        except CellError:
            if text.strip().lower() != FAILED:
                return []
            continue
        if isinstance(cell, Normal):
            found += [cell.mean]
        elif isinstance(cell, Interval):
            found += [cell.low, cell.high]
        elif cell is not None:
            found += [cell]
    return found


def _categories(column: Collection[str]) -> list[str]:
    """The values of a column of words that repeat; none if they do not, or there are many."""
    words = [text.strip() for text in column if not cells.is_unknown(text)]
    values = list(dict.fromkeys(words))
    return values if 2 <= len(values) <= min(FEW_VALUES, len(words) / 2) else []


def _number_parameter(numbers: Sequence[float], unit: str) -> Parameter:
    """Bounds at round numbers around what was tried."""
    low, high = min(numbers), max(numbers)
    if all(number == int(number) for number in numbers) and high - low < FEW_LEVELS:
        return Integer(int(low), int(high), unit=unit)
    if low > 0 and high / low >= LOG_RATIO:
        return Real(_round(low, low, math.floor), _round(high, high, math.ceil), log=True, unit=unit)
    return Real(_round(low, high - low, math.floor), _round(high, high - low, math.ceil), unit=unit)


def _round(number: float, size: float, toward: Callable[[float], int]) -> float:
    """To one more digit than the size has, away from the data but not to or across zero."""
    if not 1e-300 < size < 1e300:
        return number
    unit = 10.0 ** (math.floor(math.log10(size)) - 1)
    rounded = float(f"{toward(round(number / unit, 6)) * unit:.12g}")
    if rounded * number <= 0:
        return number
    return min(rounded, number) if toward is math.floor else max(rounded, number)
