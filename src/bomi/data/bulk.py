"""Which numbers lie far from all others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

BULK = 0.8  # share of the numbers
FAR = 3.0  # lengths of the shortest interval that holds the bulk, beyond its ends
FEWEST = 8  # numbers, to tell a bulk


def far_from_bulk(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Those far from the shortest interval that holds most of the numbers; NaN is not.  (n,) -> (n,)"""
    ordered = np.sort(numbers[~np.isnan(numbers)])
    if len(ordered) < FEWEST:
        return np.zeros(len(numbers), dtype=bool)
    width = math.ceil(BULK * len(ordered)) - 1
    first = int(np.argmin(ordered[width:] - ordered[: len(ordered) - width]))
    low, high = ordered[first], ordered[first + width]
    far: NDArray[np.bool_] = (numbers < low - FAR * (high - low)) | (numbers > high + FAR * (high - low))
    return far
