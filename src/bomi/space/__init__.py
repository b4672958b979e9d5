"""Parameters, what is known of their values, constraints on them, and the map to and from the unit cube."""

from bomi.space.linear import Linear
from bomi.space.parameters import Array, Categorical, Integer, Measured, Ordinal, Parameter, Real
from bomi.space.space import EXCLUDE, IDENTITY, RESERVED, TAKEN, Space

__all__ = [
    "EXCLUDE",
    "IDENTITY",
    "RESERVED",
    "TAKEN",
    "Array",
    "Categorical",
    "Integer",
    "Linear",
    "Measured",
    "Ordinal",
    "Parameter",
    "Real",
    "Space",
]
