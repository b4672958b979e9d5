"""What a prediction rests on: the rows that move it, the gaps that it hangs on, and the chance to beat the best row.

Q worlds, M draws of the gaps, n rows, d columns of the unit cube
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from bomi.answers.gaps import draws_of_gaps
from bomi.answers.predict import predicted
from bomi.data.settings import check_setting
from bomi.impute.summary import gap_table
from bomi.knowledge import Knowledge
from bomi.learning import AT_ONCE, Fit
from bomi.results import Explanation, by_name
from bomi.search import acquisition
from bomi.space.cells import Known

SAMPLES = 256  # of several outcomes at a point, in each world


def explained(known: Knowledge, j: int, setting: Mapping[str, Known]) -> Explanation:
    """What the prediction of the j-th outcome for a setting rests on."""
    setting = check_setting(known.space, setting)
    fit, place = known.modelled(), known.places(setting)
    prediction = by_name(predicted(known, place)[0], known.outcomes)[known.outcomes[j]]
    point, numbers, sign = torch.from_numpy(known.typical(place)[0]), known.tried_numbers, known.objectives[j].sign
    rows, moves = influence_of_rows(fit, j, point)
    strongest = moves.abs().argsort(descending=True).tolist()
    drawn = expected_in_draws(fit, j, point)
    hang = [] if drawn is None else gap_table(known.space, draws_of_gaps(known), [drawn.numpy()]).to_dict("records")
    return Explanation(
        prediction,
        float(chance_to_beat_the_best(fit, point[None])),
        tuple((numbers[int(rows[i])], sign * float(moves[i])) for i in strongest),
        tuple((one["row"], one["parameter"], one["worth"]) for one in hang if one["worth"] > 0),
    )


def influence_of_rows(fit: Fit, outcome: int, point: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of the table, and by how much each moves the expected outcome at a point.  (d,) -> (n,), (n,)"""
    model, transform, worlds = fit.models[outcome], fit.transforms[outcome], fit.completed
    with torch.no_grad():
        mean = model.means(point[None]).mean()
        change = model.influence(point).mean(0)
    known = (~torch.atleast_2d(worlds.targets)[outcome].isnan()).nonzero()[:, 0]
    rows = worlds.table_rows[known]
    here, without = (transform.to_outcomes(one).clamp(*fit.table.ranges[outcome]) for one in (mean, mean - change))
    return rows, here - without


def expected_in_draws(fit: Fit, outcome: int, point: Tensor) -> Tensor | None:
    """What each of many worlds expects of an outcome at a point; None of a large table or one without gaps.

    (d,) -> (M,)
    """
    if fit.table.large or not fit.table.gaps.any():
        return None
    found = []
    for some in torch.arange(len(fit.draws.inputs)).split(AT_ONCE):
        with torch.no_grad():
            found.append(fit.models_of(fit.draws.select(some))[outcome].means(point[None])[:, 0])
    return fit.transforms[outcome].to_outcomes(torch.cat(found)).clamp(*fit.table.ranges[outcome])


def chance_to_beat_the_best(fit: Fit, points: Tensor) -> Tensor:
    """The chance to be better than what is expected of the best row, times that to succeed and to keep limits.

    (m, d) -> (m,)

    Of several outcomes, the chance that no row is expected to be as good in all of them.
    """
    outlook = fit.outlook
    with torch.no_grad():
        moments = [model.moments(points) for model in fit.contest.models]
        succeeds = fit.contest.chance(fit.contest.places(points))
    if len(moments) == 1:
        ((mean, variance),), (aim,) = moments, outlook.aims
        found = acquisition.chance(mean, variance.sqrt(), outlook.tried[..., 0].amax(-1), aim)  # (Q, m)
    else:
        rng = torch.Generator().manual_seed(fit.seed)
        merits = []
        for (mean, variance), aim in zip(moments, outlook.aims, strict=True):
            luck = torch.randn(SAMPLES, *mean.shape, generator=rng, dtype=torch.float64)
            merits.append(acquisition.merit(mean + variance.sqrt() * luck, aim))
        drawn = torch.stack(merits, -1)  # (S, Q, m, J)
        beaten = torch.zeros(drawn.shape[:-1], dtype=torch.bool)
        for row in outlook.tried.unbind(1):  # (Q, J)
            beaten |= (row[:, None] >= drawn).all(-1)
        found = 1 - beaten.double().mean(0)
    chance: Tensor = found.mean(0)
    return chance if succeeds is None else chance * succeeds
