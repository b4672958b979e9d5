"""What equipment makes of requests, parameter by parameter, and what better control of each would be worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bomi.answers.recommend import EXPECTED, NOMINAL, recommended
from bomi.knowledge import Knowledge
from bomi.learning import Fit
from bomi.model.execution import AskedDone, Execution, asked_and_done
from bomi.results import percent
from bomi.search.choices import Choices
from bomi.space import Array, Categorical, Ordinal, Parameter
from bomi.space.cells import Known

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["parameter", "asked", "lost", "strayed", "above", "5 %", "50 %", "95 %", "instead", "worth"]


def equipment_table(known: Knowledge) -> pd.DataFrame:
    """A line for each parameter, the one whose control would be worth most first."""
    import pandas as pd

    fit, rows = known.fit, known.observations.tried
    worth = _worth(fit, seed=known.seed_of_all_rows)
    pairs = asked_and_done(fit.table, fit.completed)
    found = []
    for j, (name, parameter) in enumerate(fit.table.space.parameters.items()):
        if parameter.measured:  # nobody asks for it
            continue
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


def in_words(known: Knowledge) -> list[str]:
    """The same as sentences, one for each parameter that strays."""
    unit = known.wanted[0].unit if len(known.wanted) == 1 else "standard deviations of an outcome"
    lines = equipment_table(known).to_dict("records")
    return [said for line in lines if (said := _sentence(known.fit, line, unit))]


def _sentence(fit: Fit, line: Mapping[Any, Any], unit: str) -> str:
    """A line of the table as a sentence; nothing of a parameter that never strays. unit: of the worth"""
    if not line["strayed"] > 0:
        return ""
    said = f"{line['parameter']} strays in {percent(line['strayed'])} of {line['asked']} requests"
    if isinstance(line["instead"], Mapping):
        said += f": {', '.join(f'{swap} {percent(share)}' for swap, share in line['instead'].items())}"
    else:
        ends = f"{line['5 %']:+.2g} to {line['95 %']:+.2g} {fit.table.space.parameters[line['parameter']].unit}".strip()
        said += f", by {ends}"
    if not line["worth"] > 0:
        return said
    return f"{said}; holding it exactly is worth {line['worth']:.2g} {unit}".strip()


def done_of(fit: Fit, requests: Array) -> tuple[Array, Array]:
    """What is done of requests, and how likely that is, over all worlds.  (m, d) -> (k, m), (k, m, d)"""
    points = torch.from_numpy(requests)
    with torch.no_grad():
        places = fit.outlook_at(points, fit.execution).places(points)
    draws = places.inputs.shape[1]
    weights = places.weights.unsqueeze(1).expand(-1, draws, -1, -1) / (len(places.weights) * draws)
    return weights.flatten(0, 2).numpy(), places.inputs.flatten(0, 2).numpy()


def _strayed(pairs: AskedDone, j: int, parameter: Parameter) -> dict[str, object]:
    """How often, to which side and how far a parameter strayed, over rows and worlds."""
    known = ~np.isnan(pairs.asked[:, j])
    astray = pairs.strayed[:, known, j]
    found: dict[str, object] = {"strayed": astray.mean() if astray.size else np.nan}
    if not astray.any():
        return found
    asked, done = np.broadcast_to(pairs.asked[known, j], astray.shape)[astray], pairs.done[:, known, j][astray]
    if isinstance(parameter, Categorical | Ordinal):
        # The code of a category is its index, that of a level its share of the ranks.
        last = 1 if isinstance(parameter, Categorical) else len(parameter.values) - 1
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
    even = torch.ones(len(fit.wanted), dtype=torch.float64)
    both = torch.stack([recommended(fit, even, risk, seed=seed) for risk in (EXPECTED, NOMINAL)])

    def outcomes(execution: Execution | None) -> torch.Tensor:
        """What to expect of asking for one or the other.  (2, J)"""
        with torch.no_grad():
            merits = fit.choosing(Choices(fit.table.space), execution=execution).merits(both)
        return _outcomes(fit, merits)

    today, found = outcomes(fit.execution)[:1], {}
    for name, often in zip(fit.table.space.names, fit.execution.usual, strict=True):
        if not often:
            continue
        gains = outcomes(fit.execution.exactly(name)) - today
        if len(even) > 1:
            gains = gains / torch.tensor([float(one.std()) or 1.0 for one in fit.told])
        found[name] = max(float(gains.amax()), 0.0)
    return found


def _outcomes(fit: Fit, merits: torch.Tensor) -> torch.Tensor:
    """Merits in the outcomes' units, where more is better.  (m, J)"""
    columns = []
    for merit, j in zip(merits.unbind(-1), fit.wanted, strict=True):
        transform, aim = fit.transforms[j], fit.aims[j]
        if aim is None:
            columns.append(transform.to_outcomes(merit))
        else:  # how far below the target
            target = torch.tensor(aim, dtype=merit.dtype)
            columns.append(transform.to_outcomes(target + merit) - transform.to_outcomes(target))
    return torch.stack(columns, -1)
