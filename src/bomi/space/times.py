"""Dates and times as people write them, as days; a plain number is a time as it is."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence

import numpy as np

from bomi.errors import CellError, shown
from bomi.space import cells
from bomi.space.numbers import LARGEST, unwrapped

EPOCH = datetime.datetime(1970, 1, 1)
DAY = 86400.0  # seconds
_DATE = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{2,4})(?:[ T,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?", re.ASCII)
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?", re.ASCII)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_NAMED = re.compile(r"(\d{1,2})[. -]*([a-z]{3})[a-z]*[. ,-]*(\d{2,4})|([a-z]{3})[a-z]*[. ]*(\d{1,2}),? +(\d{4})", re.I)


def read_time(value: object, *, day_first: bool = True) -> float | None:
    """The days since 1970 that a date says, or a number as it is; None for a blank.

    >>> read_time("2026-11-18"), read_time("18.11.2026 12:00"), read_time(7)
    (20775.0, 20775.5, 7.0)
    """
    value = value.astype("datetime64[us]").item() if isinstance(value, np.datetime64) else unwrapped(value)
    if isinstance(value, datetime.date):  # a datetime, and a Timestamp of pandas, are dates too
        if value != value:  # pandas' blank
            return None
        return _days(value if isinstance(value, datetime.datetime) else datetime.datetime(*value.timetuple()[:3]))
    if cells.is_unknown(value):
        return None
    if isinstance(value, str):
        found = _read_text(value.strip(), day_first)
        if found is not None:
            return found
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST:
        return float(value)
    raise CellError(f"expected a date such as 2026-11-18, a number or a blank, but got {shown(value)}")


def day_first(values: Sequence[object]) -> bool:
    """Whether dates such as 3/4/2026 begin with the day: unless one of the column can only begin with the month."""
    texts = (_DATE.fullmatch(value.strip()) for value in values if isinstance(value, str))
    return not any(match and len(match[1]) < 3 and int(match[3]) > 12 for match in texts)


def ambiguous(values: Sequence[object]) -> bool:
    """Whether the column has dates with slashes and none of them tells the day from the month."""
    found = (_DATE.fullmatch(value.strip()) for value in values if isinstance(value, str))
    slashed = [match for match in found if match and match[2] == "/" and len(match[1]) < 3]
    return bool(slashed) and all(int(match[1]) <= 12 and int(match[3]) <= 12 for match in slashed)


def is_number(value: object) -> bool:
    """Whether a time is told as a plain number."""
    value = unwrapped(value)
    if isinstance(value, str):
        return _NUMBER.fullmatch(value.strip()) is not None
    return isinstance(value, int | float)


def _read_text(text: str, first: bool) -> float | None:
    try:
        number = float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else math.nan
        if abs(number) <= LARGEST:
            return number
        if match := _DATE.fullmatch(text):
            a, b, c = int(match[1]), int(match[3]), int(match[4])
            year, month, day = (a, b, c) if len(match[1]) > 2 else (c, b, a) if first else (c, a, b)
            hour, minute, second = (int(part or 0) for part in match.groups()[4:])
            return _days(datetime.datetime(_century(year), month, day, hour, minute, second))
        if match := _NAMED.fullmatch(text):
            date, name, when = match.groups()[:3] if match[1] else (match[5], match[4], match[6])
            return _days(datetime.datetime(_century(int(when)), _MONTHS.index(name.lower()) + 1, int(date)))
        return _days(datetime.datetime.fromisoformat(text))
    except ValueError:  # no such day, or no date at all
        return None


def _century(year: int) -> int:
    return year + 2000 if year < 100 else year


def _days(moment: datetime.datetime) -> float:
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - EPOCH).total_seconds() / DAY
