"""Parameters, what is known of their values, constraints on them, and the map to and from the unit cube."""

from bomi.space.conditions import Conditions
from bomi.space.linear import Linear
from bomi.space.nonzero import NonZero
from bomi.space.parameters import (
    MAYBE,
    SEVERAL,
    UNKNOWN,
    Array,
    Categorical,
    Integer,
    Measured,
    Ordinal,
    Parameter,
    Real,
)
from bomi.space.polytope import Constraint
from bomi.space.product import Product
from bomi.space.space import EXCLUDE, IDENTITY, RESERVED, TAKEN, Space

__all__ = [
    "EXCLUDE",
    "IDENTITY",
    "MAYBE",
    "RESERVED",
    "SEVERAL",
    "TAKEN",
    "UNKNOWN",
    "Array",
    "Categorical",
    "Conditions",
    "Constraint",
    "Integer",
    "Linear",
    "Measured",
    "NonZero",
    "Ordinal",
    "Parameter",
    "Product",
    "Real",
    "Space",
]
