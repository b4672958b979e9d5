"""The kinds of parameters: numbers, and one of several values; what is measured is either of them."""

from __future__ import annotations

from typing import Any, TypeAlias

from bomi.errors import SpaceError, shown
from bomi.space.choices import Categorical, Ordinal
from bomi.space.quantities import Integer, Real

Parameter: TypeAlias = Real | Integer | Categorical | Ordinal


def Measured(*range_or_values: Any, **options: Any) -> Real | Categorical:  # noqa: N802  # it stands where Real does
    """What is measured but cannot be set: a number between two bounds, or one of several values.

    Args:
        range_or_values: `low, high`, or one list of values.
        options: Those of `Real` or `Categorical`.

    >>> Measured(20, 80, unit="%").measured, Measured(["Acme", "Bolt"]).range_text
    (True, '{Acme, Bolt}')
    """
    if len(range_or_values) == 1:
        return Categorical(range_or_values[0], measured=True, **options)
    if len(range_or_values) != 2:
        raise SpaceError(
            f"Measured needs a low and a high bound, or a list of values, but got {shown(range_or_values)}"
        )
    return Real(*range_or_values, measured=True, **options)
