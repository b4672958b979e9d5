"""Parameters, what is known of their values, constraints on them, and the map to and from the unit cube."""

from bomi.space.choices import Categorical, Ordinal
from bomi.space.conditions import Conditions
from bomi.space.linear import Linear
from bomi.space.nonzero import NonZero
from bomi.space.numbers import Array
from bomi.space.options import MAYBE, SEVERAL, UNKNOWN, ZERO
from bomi.space.parameters import Measured, Parameter
from bomi.space.product import Product
from bomi.space.quantities import Integer, Real
from bomi.space.space import EXCLUDE, IDENTITY, RESERVED, TAKEN, Space
from bomi.space.sums import Constraint

__all__ = [
    "EXCLUDE",
    "IDENTITY",
    "MAYBE",
    "RESERVED",
    "SEVERAL",
    "TAKEN",
    "UNKNOWN",
    "ZERO",
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
