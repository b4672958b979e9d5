"""What was learned of groups and of drift, in the outcome's unit: for people.

Q worlds, G groups of a column, T times

Only differences between groups can be told from the outcomes: had all of them one offset, f would be as much higher.
So an offset is told against the mean of its column's groups, and drift against now.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from bomi.data.conditions import Coded
from bomi.knowledge import Knowledge
from bomi.learning import Fit
from bomi.model.conditions import ConditionedProcess
from bomi.space import Array
from bomi.space.times import EPOCH

if TYPE_CHECKING:
    import pandas as pd

NEW = "(a new one)"  # in the place of a group: what one without rows may turn out to be
COLUMNS = ["column", "group", "rows", "offset", "sd"]
POINTS = 41  # times at which drift is given


def offsets_table(known: Knowledge, j: int) -> pd.DataFrame:
    """A line for each group of each column, and one for a group to come, of the j-th outcome."""
    import pandas as pd

    fit, coded, sign = known.with_conditions(), known.coded, known.objectives[j].sign
    model, unit = _model(fit, j), _unit(fit, j)
    found = []
    for place, (name, labels) in enumerate(zip(coded.conditions.groups, coded.labels, strict=True)):
        codes = torch.arange(len(labels), dtype=torch.float64)
        mean, covariance = model.offsets(place, codes)
        against = torch.eye(len(labels), dtype=mean.dtype) - 1 / max(len(labels), 1)
        middle, sd = _over_worlds(mean @ against, (against @ covariance @ against).diagonal(dim1=-2, dim2=-1))
        counts = np.bincount(coded.table[:, place].astype(int), minlength=len(labels))
        found += [
            (name, label, int(count), sign * float(m) * unit, float(s) * unit)
            for label, count, m, s in zip(labels, counts, middle, sd, strict=False)
        ]
        found.append((name, NEW, 0, 0.0, float(model.spreads(place).square().mean().sqrt()) * unit))
    return pd.DataFrame(found, columns=COLUMNS)


def drift_table(known: Knowledge, j: int) -> pd.DataFrame:
    """By how much outcomes were higher at times before, and at the end of the table, than they would be now."""
    import pandas as pd

    fit, coded, sign = known.with_conditions(), known.coded, known.objectives[j].sign
    if not coded.conditions.drift:
        return pd.DataFrame(columns=["time", "change", "sd"])
    model, unit = _model(fit, j), _unit(fit, j)
    assert fit.now is not None
    first, last = float(coded.times.min()), float(coded.times.max())
    times = np.linspace(first, last, POINTS if last > first else 1)
    shares = torch.from_numpy(coded.shares(times))
    mean, covariance = model.drift(torch.cat([shares, fit.now[-1:]]))
    against = torch.cat([torch.eye(len(times)), -torch.ones(len(times), 1)], -1).to(mean)  # (T, T + 1)
    middle, sd = _over_worlds(mean @ against.mT, (against @ covariance @ against.mT).diagonal(dim1=-2, dim2=-1))
    return pd.DataFrame(
        {"time": in_words_of(coded, times), "change": sign * middle.numpy() * unit, "sd": sd.numpy() * unit}
    )


def in_words_of(coded: Coded, times: Array) -> list[Any]:
    """Times as they were told: dates, numbers, or the numbers of rows."""
    if not coded.dated:
        return [float(time) for time in times]
    return [(EPOCH + datetime.timedelta(days=float(time))).isoformat(" ", "minutes")[:10] for time in times]


def sentences(known: Knowledge, j: int) -> list[str]:
    """The same in a sentence for each column, and one for drift."""
    coded, name, unit = known.coded, known.objectives[j].name, known.objectives[j].unit
    offsets, drift = (frame.to_dict("records") for frame in (offsets_table(known, j), drift_table(known, j)))
    found = []
    for column in coded.conditions.groups:
        *groups, new = (line for line in offsets if line["column"] == column)
        spread = new["sd"]
        alone = len(coded.table) - sum(line["rows"] for line in groups)
        size = f"{spread:.2g} {unit}".strip()
        if len(groups) > 1:
            low, high = (pick(groups, key=lambda line: line["offset"]) for pick in (min, max))
            ends = " to ".join(f"{one['offset']:+.2g} ± {one['sd']:.2g} ({one['group']})" for one in (low, high))
            said = f"{column}: {name} differs by about {size} from group to group, from {ends}"
        else:
            said = f"{column}: there is no second group to compare; {name} may differ by about {size}"
        found.append(said + (f"; {alone} rows name none and are groups of their own" if alone else ""))
    if drift:
        first = drift[0]
        word = "fallen" if first["change"] > 0 else "risen"
        change = f"{abs(first['change']):.2g} ± {first['sd']:.2g} {unit}".strip()
        since = f"since {first['time']}" if coded.dated else "since the first row"
        found.append(f"drift: {since} {name} has {word} by {change}, whatever is set")
    return found


def _model(fit: Fit, j: int) -> ConditionedProcess:
    model = fit.models[j]
    assert isinstance(model, ConditionedProcess)
    return model


def _unit(fit: Fit, j: int) -> float:
    """What one of the model's unit is in the outcome's, around its median."""
    known = fit.table.outcomes[j]
    return 1 / float(fit.transforms[j].slope(known[~known.isnan()].median()))


def _over_worlds(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation over all worlds.  (Q, G), (Q, G) -> (G,), (G,)"""
    total = variance.clamp_min(0).mean(0) + mean.var(0, correction=0)
    return mean.mean(0), total.sqrt()
