"""What is known of one value: a number, a category, nothing, `Normal(mean, sd)` or `Interval(low, high)`.

In text, as people type it: `300`, `300±15` (also `300+-15`, `300+/-15`), `290..310`, and for
"nobody knows" a blank, `?`, `NA`, `n/a` or `nan`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from bomi.errors import CellError

UNKNOWN_WORDS = frozenset({"", "?", "na", "n/a", "nan"})

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
PLAIN = re.compile(_NUMBER)
_NORMAL = re.compile(rf"({_NUMBER})\s*(?:±|\+/?-)\s*({_NUMBER})")
_INTERVAL = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})")


@dataclass(frozen=True, slots=True)
class Normal:
    """A value known up to a Gaussian error, written `mean±sd`."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and math.isfinite(self.sd) and self.sd > 0):
            raise CellError(
                f"an uncertain value needs a finite mean and a standard deviation above 0, "
                f"but got {self.mean:g}±{self.sd:g}; give the plain number if it is exact"
            )

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
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise CellError(f"an interval needs finite ends with low < high, but got {self.low:g}..{self.high:g}")

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
    if isinstance(value, Normal | Interval):
        return False
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' own markers
        return True
    differs = value != value  # NaN differs from itself; of an array this is an array
    return isinstance(differs, bool | np.bool_) and bool(differs)


def parse(text: str) -> float | Uncertain | None:
    """What a typed cell of a numeric column says.

    >>> parse("300±15"), parse("290..310"), parse(" 1e3 "), parse("?")
    (Normal(mean=300.0, sd=15.0), Interval(low=290.0, high=310.0), 1000.0, None)
    """
    if PLAIN.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    if is_unknown(text):
        return None
    clean = text.strip().replace("\N{MINUS SIGN}", "-")
    if PLAIN.fullmatch(clean) and math.isfinite(number := float(clean)):
        return number
    if match := _NORMAL.fullmatch(clean):
        return Normal(float(match[1]), float(match[2]))
    if match := _INTERVAL.fullmatch(clean):
        return Interval(float(match[1]), float(match[2]))
    raise CellError(f"expected a number, 300±15, 290..310 or ? for unknown, but got {text!r}")


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
