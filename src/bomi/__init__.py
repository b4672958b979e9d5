"""Bayesian optimization of experiments whose inputs may be missing.

>>> import bomi
>>> space = bomi.Space({"temperature": bomi.Real(20, 400, unit="°C"), "quench": ["water", "oil"]})
>>> optimizer = bomi.Optimizer(space, objective="strength", seed=0)
>>> suggestion = optimizer.ask()
>>> optimizer.tell(suggestion, 182.5, actual={"temperature": None})  # nobody knows how hot it was
"""

import logging
from typing import TYPE_CHECKING, Any

from bomi.data.objectives import Objective
from bomi.errors import BomiError
from bomi.results import Best, Front, Prediction, Suggestion, Validation
from bomi.space import Categorical, Integer, Linear, Measured, NonZero, Ordinal, Product, Real, Space
from bomi.space.cells import Censored, Interval, Normal

if TYPE_CHECKING:
    from bomi.methods import METHODS, Method, method
    from bomi.optimizer import Optimizer

logging.getLogger("bomi").addHandler(logging.NullHandler())  # silent until the user wants to hear

__version__ = "0.1.0"
__all__ = [
    "METHODS",
    "Best",
    "BomiError",
    "Categorical",
    "Censored",
    "Front",
    "Integer",
    "Interval",
    "Linear",
    "Measured",
    "Method",
    "NonZero",
    "Normal",
    "Objective",
    "Optimizer",
    "Ordinal",
    "Prediction",
    "Product",
    "Real",
    "Space",
    "Suggestion",
    "Validation",
    "__version__",
    "method",
]

# These load torch, which takes seconds: only when first used.
_LAZY = {
    "METHODS": "bomi.methods",
    "Method": "bomi.methods",
    "method": "bomi.methods",
    "Optimizer": "bomi.optimizer",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'bomi' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)
