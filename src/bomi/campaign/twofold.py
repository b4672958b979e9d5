"""Cells that can be read in two ways, where the whole column tells which, or a person should look."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bomi.campaign.columns import Numbers
from bomi.campaign.marks import Numeral
from bomi.errors import CellError
from bomi.space import cells
from bomi.space.typed import read

SOME = 100  # cells that are looked at
RATIO = re.compile(r"1\s*:\s*\d+(?:[.,]\d+)?|\d+(?:[.,]\d+)?\s*:\s*1")  # to one
_CODES = frozenset({-999.0, -9999.0, -99.0, -99.9, -999.9, -99999.0, 999.0, 9999.0, 99999.0, 999.9, 1e30, -1e30})
ROUND = 50  # what is meant as 1500 is a multiple of it


def zeros_count(texts: Sequence[str]) -> bool:
    """Whether a zero in front tells two values apart, so that they are names and no numbers: flours 00 and 0."""
    first = {text.strip() for text in texts[:SOME]}
    whole = [text for text in first if text.isdigit()]
    return any(text[0] == "0" and len(text) > 1 for text in whole) and len({*map(int, whole)}) < len(whole)


def may_be_thousands(texts: Sequence[str], reader: Numbers) -> str:
    """What to look at where every number has three decimals and would be a round one without the mark: 1.500."""
    held = [text.strip() for text in texts[:SOME] if not cells.is_unknown(text)]
    mark = reader.marks.decimal
    if not held or not all(re.fullmatch(rf"[1-9]\d{{0,2}}{re.escape(mark)}\d\d[05]", text) for text in held):
        return ""
    if any(int(text.replace(mark, "")) % ROUND for text in held) or any(text.__class__ is Numeral for text in held):
        return ""
    whole = held[0].replace(mark, "")
    return f"has `{held[0]}`, read as {cells.number_text(int(whole) / 1000)}: write {whole} if that is meant"


def ratios(values: Sequence[str]) -> str:
    """What to look at where each value is a ratio to one: `6:1`, `1:100`."""
    if not values or not all(map(RATIO.fullmatch, values[:SOME])):
        return ""
    return f"has ratios such as {values[0]!r}, taken as categories: numbers alone are used as numbers"


def several_in_a_cell(values: Sequence[str]) -> str:
    """What to look at where each value consists of several numbers: `40/4`, `30 min @ 180 °C`."""
    told = [value for value in values[:SOME] if re.search(r"\d", value)]
    parts = [[part for part in re.split(r"\s*[/@;+,x×]\s*|\s(?=\d)", value) if part] for value in told]
    if len(parts) < 2 or not all(len(one) > 1 and all(map(_is_amount, one)) for one in parts):
        return ""
    return f"has several numbers in a cell, such as {told[0]!r}: a column for each lets them be used as numbers"


def _is_amount(text: str) -> bool:
    """Whether a text is a number, with or without a unit."""
    try:
        return isinstance(read(text).value, float)
    except CellError:
        return False


def codes(numbers: Sequence[float]) -> set[float]:
    """Numbers such as -999 that stand far from all others, and so seem to say unknown."""
    found = _CODES.intersection(numbers)
    others = [number for number in numbers if number not in found] if found else []
    if len(others) < 2:
        return set()
    low, high = min(others), max(others)
    return {code for code in found if (code < 0 <= low and -code > 2 * (high - low)) or code < low - 5 * (high - low)
            or (code > high + 5 * (high - low) and code > 5 * high)}  # fmt: skip
