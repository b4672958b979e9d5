"""One check for every number that comes in: bounds, steps, coefficients, cells, outcomes, standard errors, targets.

A number is a plain int or float from here on. Its size is at most 1e100, so that squares, products with another number
and sums of both stay far below the largest float, 1.8e308; where something is divided by a number, it is at least
1e-100 for the same reason. What is measured or set lies within, in any unit.
"""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bomi.errors import CellError, Place, SpaceError, shown

Array: TypeAlias = NDArray[np.float64]

LARGEST = 1e100
SMALLEST = 1e-100  # of what is divided by: ranges, steps, standard deviations, the low end of a log scale
FEW = 16  # levels that a local search tries all of


def unwrapped(value: Any) -> Any:
    """What a NumPy scalar, or an array or tensor of no dimensions, holds; any other value as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def whole_number(value: object) -> int | None:
    """The value as an int; None if it is not one."""
    held = unwrapped(value)
    return held if isinstance(held, int) and not isinstance(held, bool) else None


def plain_number(value: object) -> int | float:
    """The value as an int or a float; CellError if it is no number, not finite or too large.

    >>> import numpy as np
    >>> plain_number(np.int64(3)), plain_number(Decimal("0.5"))
    (3, 0.5)
    """
    held = value if value.__class__ in (int, float) else unwrapped(value)
    if isinstance(held, bool) or not isinstance(held, numbers.Real | Decimal):
        raise CellError(f"expected a number, but got {shown(value)}")
    if isinstance(held, numbers.Integral):
        number: int | float = int(held)
    else:
        try:
            number = float(held)
        except (ValueError, OverflowError):  # a signalling NaN, a fraction beyond all floats
            raise CellError(f"expected a finite number, but got {shown(value)}") from None
    if not abs(number) <= LARGEST:
        raise CellError(f"expected a finite number{limit(value)}, but got {shown(value)}")
    return number


def limit(value: object) -> str:
    """The largest size in words, for the message about a number that is finite and larger."""
    held = unwrapped(value)
    if isinstance(held, bool) or not isinstance(held, numbers.Real | Decimal):
        return ""
    finite = held.is_finite() if isinstance(held, Decimal) else held == held and abs(held) != math.inf
    return f" of at most {LARGEST:g} in size" if finite else ""


def space_number(what: str, value: object, place: Place, kind: str = "finite number") -> int | float:
    """A number of a space's own: a bound, a step, a coefficient; SpaceError says what it must be, and its place."""
    try:
        return plain_number(value)
    except CellError:
        raise SpaceError(f"{what} must be a {kind}{limit(value)}, but got {shown(value)}", place) from None


def level_count(low: float, high: float, step: float) -> int:
    """How many values there are from one end to the other, both included where the step meets them.

    >>> level_count(0.0, 0.3, 0.1)
    4
    """
    return math.floor((high - low) / step * (1 + 1e-12)) + 1


def nearby(here: int, count: int) -> list[int]:
    """The other indices if there are few, else those 1, 2, 4, 8, ... away."""
    steps = [2**k for k in range(count.bit_length())]
    indices = range(count) if count <= FEW else [here + s for step in steps for s in (-step, step)]
    return [index for index in indices if index != here and 0 <= index < count]
