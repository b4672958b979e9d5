"""What equipment makes of requests, parameter by parameter, and what better control of each would be worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from bomi.data.observations import Row
from bomi.learning import Fit
from bomi.model.execution import Pairs, pairs_of
from bomi.recommend import NOMINAL, Risk, recommended
from bomi.space import Categorical, Ordinal, Parameter
from bomi.space.cells import Known

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["parameter", "asked", "lost", "strayed", "above", "5 %", "50 %", "95 %", "instead", "worth"]


def equipment_table(fit: Fit, rows: Sequence[Row], *, seed: int) -> pd.DataFrame:
    """A line for each parameter, the one whose control would be worth most first. rows: those that were tried"""
    import pandas as pd

    worth = _worth(fit, seed=seed)
    pairs = pairs_of(fit.table, fit.completed)
    found = []
    for j, (name, parameter) in enumerate(fit.table.space.parameters.items()):
        asked = [row for row in rows if name in row.asked]
        lost = sum(not isinstance(row.recorded[name], Known) for row in asked)
        found.append(
            {
                "parameter": name,
                "asked": len(asked),
                "lost": lost / len(asked) if asked else np.nan,
                **_strayed(pairs, j, parameter),
                "worth": worth.get(name, 0.0 if fit.enough else np.nan),
            }
        )
    frame = pd.DataFrame(found, columns=COLUMNS)
    return frame.sort_values(["worth", "strayed"], ascending=False, kind="stable", ignore_index=True)


def _strayed(pairs: Pairs, j: int, parameter: Parameter) -> dict[str, object]:
    """How often, to which side and how far a parameter strayed, over rows and worlds."""
    known = ~np.isnan(pairs.asked[:, j])
    astray = pairs.strayed[:, known, j]
    found: dict[str, object] = {"strayed": astray.mean() if astray.size else np.nan}
    if not astray.any():
        return found
    asked, done = np.broadcast_to(pairs.asked[known, j], astray.shape)[astray], pairs.done[:, known, j][astray]
    if isinstance(parameter, Categorical | Ordinal):
        last = (
            1 if isinstance(parameter, Categorical) else len(parameter.values) - 1
        )  # an index, or a share of the ranks
        words = [
            f"{parameter.values[round(a * last)]} → {parameter.values[round(d * last)]}"
            for a, d in zip(asked, done, strict=True)
        ]
        names, counts = np.unique(words, return_counts=True)
        return found | {"instead": {str(names[i]): float(counts[i] / len(words)) for i in counts.argsort()[::-1]}}
    errors = parameter.numbers(done[:, None]) - parameter.numbers(asked[:, None])
    low, middle, high = np.quantile(errors, [0.05, 0.5, 0.95])
    return found | {"above": float((errors > 0).mean()), "5 %": low, "50 %": middle, "95 %": high}


def _worth(fit: Fit, *, seed: int) -> Mapping[str, float]:
    """What the best expected outcome gains if one parameter is always done as asked and the others as they are.

    It is in the outcome's unit; of several outcomes the largest, as a share of the standard deviation of its rows.
    """
    if not fit.enough or fit.execution is None:
        return {}
    even = torch.ones(len(fit.table.outcomes), dtype=torch.float64)
    now, exact = (recommended(fit, even, risk, seed=seed) for risk in (Risk(), NOMINAL))
    found = {}
    with torch.no_grad():
        today = _outcomes(fit, fit.careful_outlook.merits(now[None]))  # (1, J)
    for name, often in zip(fit.table.space.names, fit.execution.usual, strict=True):
        if not often:
            continue
        better = replace(fit.careful_outlook, execution=fit.execution.exactly(name))
        with torch.no_grad():  # at one place or the other
            gains = _outcomes(fit, better.merits(torch.stack([now, exact]))) - today
        if len(even) > 1:
            gains = gains / torch.tensor([float(one[~one.isnan()].std()) or 1.0 for one in fit.table.outcomes])
        found[name] = max(float(gains.amax()), 0.0)
    return found


def _outcomes(fit: Fit, merits: torch.Tensor) -> torch.Tensor:
    """Merits in the outcomes' units, where more is better.  (m, J)"""
    columns = []
    for merit, transform, aim in zip(merits.unbind(-1), fit.transforms, fit.aims, strict=True):
        if aim is None:
            columns.append(transform.to_outcomes(merit))
        else:  # how far below the target
            target = torch.tensor(aim, dtype=merit.dtype)
            columns.append(transform.to_outcomes(target + merit) - transform.to_outcomes(target))
    return torch.stack(columns, -1)
