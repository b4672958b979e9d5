"""Bayesian optimization of experiments whose inputs may be missing."""

from bomi.cells import Interval, Normal
from bomi.errors import BomiError

__version__ = "0.1.0"
__all__ = ["BomiError", "Interval", "Normal", "__version__"]
