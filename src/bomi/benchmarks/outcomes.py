"""Problems with noisy outcomes, and problems with two outcomes.

    noisybranin     Branin's function; the noise is about a tenth of the spread of its better half
    noisyhartmann   Hartmann's function of six; noise of 0.2, where the maximum is 3.32
    branincurrin    Branin's and Currin's functions of the same two inputs (BoTorch)
    zdt1            four inputs, a convex front (Zitzler, Deb, Thiele 2000)
    dtlz2           four inputs, the front is a quarter of a circle (Deb et al. 2005)

All outcomes are maximized. The value of a set of outcomes is the hypervolume above a reference point. If the front is
known, its hypervolume is the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bomi.benchmarks import functions
from bomi.benchmarks.functions import FloatArray, Problem


def _noisy(family: str, noise: float) -> Problem:
    plain = functions.problem(family)
    return replace(plain, name=f"noisy{plain.name}", noise=noise)


def _several(test_function: str, **options: Any) -> Problem:
    """A test function of BoTorch with several outcomes, which BoTorch minimizes."""
    from botorch.test_functions import multi_objective

    made = getattr(multi_objective, test_function)(**options)
    reference = tuple(-float(value) for value in made.ref_point)
    name = test_function.lower() + (f"{made.dim}d" if "dim" in options else "")
    function = partial(functions.evaluate, made, -1.0)
    return Problem(name, functions.box(made), function, float(made.max_hv), reference=reference)


def hypervolume(outcomes: FloatArray, reference: tuple[float, ...]) -> float:  # (m, J)
    """The hypervolume that the outcomes dominate above the reference point."""
    import torch
    from botorch.utils.multi_objective.box_decompositions.dominated import DominatedPartitioning

    points = torch.tensor(np.reshape(outcomes, (-1, len(reference))), dtype=torch.float64)
    made = DominatedPartitioning(torch.tensor(reference, dtype=torch.float64), points)
    return float(made.compute_hypervolume())


OUTCOMES: dict[str, Callable[[], Problem]] = {
    "noisybranin": partial(_noisy, "branin", 5.0),
    "noisyhartmann": partial(_noisy, "hartmann6d", 0.2),
    "branincurrin": partial(_several, "BraninCurrin"),
    "zdt1": partial(_several, "ZDT1", dim=4),
    "dtlz2": partial(_several, "DTLZ2", dim=4),
}
"""The problems of this module by name."""
