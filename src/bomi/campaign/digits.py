"""How many decimals a suggestion has: as many as a person types into the column, three digits where nobody has yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bomi.campaign.experiments import Experiments
from bomi.space import Parameter, Real, Space, cells

LOOKED_AT = 1000  # cells of a column
USUAL = 0.75  # of the cells of a column have no more decimals than suggestions get
DIGITS = 3  # of a column without numbers
MOST_DIGITS = 4  # measured values may have many more than anybody can set


def settable(experiments: Experiments) -> Space:
    """The space of a campaign, with as many decimals for each number as its column has."""
    space = experiments.campaign.space
    rows = experiments.rows[:LOOKED_AT]
    made: dict[str, Parameter] = {}
    for name, parameter in space.parameters.items():
        made[name] = parameter
        if isinstance(parameter, Real) and parameter.step is None and parameter.decimals is None:
            found = [row.asked.get(name, row.recorded[name]) for row in rows]
            numbers = [cell for cell in found if isinstance(cell, float)]
            made[name] = replace(parameter, decimals=_decimals(parameter, numbers))
    return Space(made, constraints=space.constraints, conditions=space.conditions)


def _decimals(parameter: Real, numbers: Sequence[float]) -> int:
    size = math.floor(math.log10(parameter.high - parameter.low))
    if not numbers:
        return DIGITS - 1 - size
    each = sorted(_places(number) for number in numbers)
    usual = each[min(math.ceil(USUAL * len(each)), len(each) - 1) - 1]  # one cell, such as 353 K among °C, says nothing
    return max(min(usual, MOST_DIGITS - 1 - size), DIGITS - 2 - size)


def _places(number: float) -> int:
    """The decimals that a number is written with."""
    mantissa, _, exponent = cells.number_text(number).partition("e")
    return max(len(mantissa.partition(".")[2]) - int(exponent or 0), 0)
