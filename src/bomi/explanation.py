"""What a prediction rests on: the rows that move it, the gaps that it hangs on, and the chance to beat the best row.

Q worlds, M draws of the gaps, n rows, d columns of the unit cube
"""

from __future__ import annotations

import torch
from torch import Tensor

from bomi.impute.table import LARGE
from bomi.learning import AT_ONCE, Fit
from bomi.search import acquisition


def influence_of_rows(fit: Fit, outcome: int, point: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of the table, and by how much each moves the expected outcome at a point.  (d,) -> (n,), (n,)"""
    model, transform, worlds = fit.models[outcome], fit.transforms[outcome], fit.completed
    with torch.no_grad():
        mean = model.moments(point[None])[0].mean()
        change = model.influence(point).mean(0)
    known = (~torch.atleast_2d(worlds.targets)[outcome].isnan()).nonzero()[:, 0]
    rows = known if worlds.rows is None else worlds.rows[known]
    return rows, transform.to_outcomes(mean) - transform.to_outcomes(mean - change)


def expected_in_draws(fit: Fit, outcome: int, point: Tensor) -> Tensor | None:
    """What each of many worlds expects of an outcome at a point; None of a large table.  (d,) -> (M,)"""
    if len(fit.table) > LARGE:
        return None
    found = []
    for some in torch.arange(len(fit.draws.inputs)).split(AT_ONCE):
        with torch.no_grad():
            found.append(fit.models_of(fit.draws.select(some))[outcome].moments(point[None])[0][:, 0])
    return fit.transforms[outcome].to_outcomes(torch.cat(found))


def chance_to_beat_the_best(fit: Fit, points: Tensor) -> Tensor:
    """The chance that the only outcome is better than what is expected of the best row, times that to succeed.  (m,)"""
    ((mean, sd),), (aim,) = fit.outlook.moments(points), fit.outlook.aims
    chance = acquisition.chance(mean, sd, fit.outlook.tried[..., 0].amax(-1), aim).mean(0)
    success = fit.outlook.success
    return chance if success is None else chance * success.log_chance(points).exp().mean(0)
