"""What is known of one value: a number, a category, nothing, `Normal(mean, sd)` or `Interval(low, high)`.

In text, as people type it: `300`, `300±15` (also `300+-15`, `300+/-15`), `290..310`, and for
"nobody knows" a blank, `?`, `NA`, `n/a` or `nan`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from bomi.errors import CellError, shown
from bomi.space.numbers import LARGEST, SMALLEST, plain_number, unwrapped

UNKNOWN_WORDS = frozenset({"", "?", "na", "n/a", "nan"})

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
PLAIN = re.compile(_NUMBER)
_NORMAL = re.compile(rf"({_NUMBER})\s*(?:±|\+/?-)\s*({_NUMBER})")
_INTERVAL = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})")


def _ends(*values: object) -> list[float | None]:
    """Both numbers of an uncertain value, None for one that is no number."""
    found: list[float | None] = []
    for value in values:
        try:
            found.append(plain_number(value))
        except CellError:
            found.append(None)
    return found


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else shown(value)


@dataclass(frozen=True, slots=True)
class Normal:
    """A value known up to a Gaussian error, written `mean±sd`."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        mean, sd = _ends(self.mean, self.sd)
        if mean is None or sd is None or not sd >= SMALLEST:
            raise CellError(
                f"an uncertain value needs a finite mean and a standard deviation above 0, "
                f"but got {_short(self.mean)}±{_short(self.sd)}; give the plain number if it is exact"
            )
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "sd", sd)

    @property
    def center(self) -> float:
        """The mean."""
        return self.mean

    def __str__(self) -> str:
        return f"{number_text(self.mean)}±{number_text(self.sd)}"


@dataclass(frozen=True, slots=True)
class Interval:
    """A value known to lie between two numbers, written `low..high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = _ends(self.low, self.high)
        if low is None or high is None or not high - low >= SMALLEST:
            raise CellError(
                f"an interval needs finite ends with low < high, but got {_short(self.low)}..{_short(self.high)}"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def center(self) -> float:
        """The midpoint."""
        return self.low + (self.high - self.low) / 2

    def __str__(self) -> str:
        return f"{number_text(self.low)}..{number_text(self.high)}"


Uncertain: TypeAlias = Normal | Interval
Known: TypeAlias = float | int | str | bool
Cell: TypeAlias = Known | Uncertain | None


def is_unknown(value: object) -> bool:
    """Whether a value of a table says "nobody knows": None, NaN, a missing-value marker, blank, `?`, `NA`."""
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().lower() in UNKNOWN_WORDS
    if type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):  # the markers of pandas and NumPy
        return True
    value = unwrapped(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, float) and math.isnan(value))  # None: NumPy's "not a time"


def parse(text: str) -> float | Uncertain | None:
    """What a typed cell of a numeric column says.

    >>> parse("300±15"), parse("290..310"), parse(" 1e3 "), parse("?")
    (Normal(mean=300.0, sd=15.0), Interval(low=290.0, high=310.0), 1000.0, None)
    """
    if PLAIN.fullmatch(text) and abs(number := float(text)) <= LARGEST:
        return number
    if is_unknown(text):
        return None
    clean = text.strip().replace("\N{MINUS SIGN}", "-")
    if PLAIN.fullmatch(clean):
        return float(plain_number(float(clean)))
    if match := _NORMAL.fullmatch(clean):
        return Normal(float(match[1]), float(match[2]))
    if match := _INTERVAL.fullmatch(clean):
        return Interval(float(match[1]), float(match[2]))
    raise CellError(f"expected a number, 300±15, 290..310 or ? for unknown, but got {shown(text)}")


def plain(text: str) -> float | None:
    """The plain number that a text spells; None if it spells none."""
    return float(text) if PLAIN.fullmatch(text) else None


def text(cell: Cell) -> str:
    """A cell as a person would type it; `parse` reads it back exactly.

    >>> text(Normal(300, 15)), text(Interval(0.5, 1)), text(20.0), text(None)
    ('300±15', '0.5..1', '20', '?')
    """
    if cell is None:
        return "?"
    if isinstance(cell, bool | str | Normal | Interval):
        return str(cell)
    return number_text(cell)


def number_text(number: float) -> str:
    """The shortest decimal that reads back as the same number, without a trailing `.0`."""
    if isinstance(number, int):
        return str(number)
    return repr(float(number)).removesuffix(".0")
