"""A parameter for a column: the range of what was tried, on which scale, or the list of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace

from bomi.campaign.lexicon import is_count, is_setting
from bomi.campaign.roles import Column
from bomi.errors import FileError
from bomi.space import Categorical, Integer, Parameter, Real, cells

LOG_RATIO = 50  # of the largest number to the smallest: at least, on a log scale


def parameter_for(column: Column) -> tuple[Parameter, str]:
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
    whole = all(number % 1 == 0 for number in numbers)
    if whole and (is_count(column.name) or steps_of_one(numbers, column)):
        return Integer(int(low), int(high), unit=column.unit), "; ".join(said)
    positive = [number for number in numbers if number > 0]
    if decades:
        made = Real(_round(low, low, math.floor), _round(high, high, math.ceil), log=True, unit=column.unit)
        return made, "; ".join(said)
    if low == 0 and len(positive) > 2 and max(positive) / min(positive) >= 1000:
        said.append(f"for a log scale write 0 as <{cells.number_text(min(positive))}, and begin the range above 0")
    made = Real(_round(low, high - low, math.floor), _round(high, high - low, math.ceil), unit=column.unit)
    return made, "; ".join(said)


def with_asked(column: Column, asked: Column) -> Column:
    """A parameter with what was asked of it: what one has asked for can be set."""
    if column.kind == "number":
        return replace(column, numbers=(*column.numbers, *asked.numbers))
    known = {cells.look(value) for value in column.values}
    return replace(
        column, values=(*column.values, *dict.fromkeys(v for v in asked.values if cells.look(v) not in known))
    )


def steps_of_one(numbers: Collection[float], column: Column) -> bool:
    """Whether the numbers are few and each one of 1, 2, 3, ...: something counted, with no unit; or on and off."""
    values = sorted(set(numbers))
    if values == [0, 1] and not column.unit:
        return True
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
