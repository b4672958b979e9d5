"""What is known of each gap, in numbers for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bomi.results import GapDraws
from bomi.space import Array, Categorical, Ordinal, Parameter, Space
from bomi.space.cells import Known

if TYPE_CHECKING:
    import pandas as pd


def gap_table(space: Space, gaps: Sequence[GapDraws], best: Sequence[Array]) -> pd.DataFrame:
    """One line for each gap, the one most worth knowing first.

    best: what each world expects of the best of each outcome, J times (M,); empty if that is not known.
    """
    import pandas as pd

    found = []
    for gap in gaps:
        parameter = space.parameters[gap.parameter]
        words = isinstance(parameter, Categorical) or not all(isinstance(draw, int | float) for draw in gap.draws)
        found.append(
            {
                "row": gap.row,
                "parameter": gap.parameter,
                **summary(() if words else gap.draws),
                "probabilities": probabilities(parameter, gap.draws),
                "worth": max((worth(gap.draws, one, words=words) for one in best), default=math.nan),
            }
        )
    columns = ["row", "parameter", "mean", "sd", "5 %", "50 %", "95 %", "worth", "probabilities"]
    return pd.DataFrame(found, columns=columns).sort_values("worth", ascending=False, kind="stable", ignore_index=True)


def probabilities(parameter: Parameter, draws: Sequence[Known]) -> dict[Known, float] | None:
    """How often each value of a list was drawn; None for numbers of a range and for rows that the method leaves out."""
    if not draws or not isinstance(parameter, Categorical | Ordinal):
        return None
    return {value: draws.count(value) / len(draws) for value in parameter.values}


def summary(draws: Sequence[Known]) -> dict[str, float]:
    """Mean, sd and quantiles of drawn numbers; NaN without any."""
    if not draws:
        return {name: float("nan") for name in ("mean", "sd", "5 %", "50 %", "95 %")}
    values = np.array(draws, dtype=float)
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    sd = values.std(ddof=1) if np.ptp(values) > 0 else 0.0
    return {"mean": values.mean(), "sd": sd, "5 %": low, "50 %": middle, "95 %": high}


def worth(draws: Sequence[Known], best: Array, *, words: bool) -> float:
    """The standard deviation of E[best | value], by a cubic regression (for categories, the groups' means)."""
    if len(draws) < len(best):
        return float("nan")
    design = _design(draws, words=words)
    size = np.abs(best).max() or 1.0  # to order one, so that no square overflows
    best = best / size
    coefficients, *_ = np.linalg.lstsq(design, best, rcond=None)
    rest = best - design @ coefficients
    freedom = max(len(best) - design.shape[1], 1)
    explained = best.var() - rest.var() * (len(best) - 1) / freedom  # less what chance alone would explain
    return float(np.sqrt(max(explained, 0.0)) * size)


def fitted_by(draws: Sequence[Known], outcomes: Array, *, words: bool) -> Array:
    """E[outcome | value] at each draw of a gap, by the same regression, less what chance alone would explain.

    outcomes: (M, m) -> (M, m)
    """
    design = _design(draws, words=words)
    middle = outcomes.mean(0)
    coefficients, *_ = np.linalg.lstsq(design, outcomes - middle, rcond=None)
    found: Array = design @ coefficients
    rest = (outcomes - middle - found).var(0) / max(len(draws) - design.shape[1], 1) * (design.shape[1] - 1)
    share = np.sqrt(np.clip(1 - rest / np.maximum(found.var(0), 1e-300), 0, 1))
    shrunk: Array = middle + share * found
    return shrunk


def _design(draws: Sequence[Known], *, words: bool) -> Array:
    """Powers of a drawn number, or a column for each drawn category.  (M, c)"""
    if words:
        names = sorted({str(draw) for draw in draws})
        return np.array([[float(str(draw) == name) for name in names] for draw in draws])
    values = np.array(draws, dtype=float)
    z = (values - values.mean()) / (values.std() or 1.0)
    return np.stack([z**power for power in range(4)], 1)
