"""Is it worth going on: what the next experiments, a value looked up and a repeated row are expected to gain.

    Q worlds, M draws of the gaps, m points, S draws of the outcomes
    f*   what each world expects of its best row

The gain of k experiments at chosen points is E max(max_i f(x_i) - f*, 0). That of knowing something, a gap's value v or
a second outcome of a row, is how much better the best choice among some good points becomes on average by knowing it
(the value of information; Frazier, Powell and Dayanik 2009): E_v max_x E[f(x) | v] - max_x E f(x).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from bomi.data.objectives import Objective
from bomi.impute.summary import fitted_by
from bomi.impute.table import LARGE
from bomi.learning import AT_ONCE, Fit
from bomi.model.gaussian_process import robust_cholesky
from bomi.recommend import FEWEST_DRAWS
from bomi.results import GapDraws, Prospects
from bomi.space import Array, Integer, Real

HORIZONS = (1, 5, 10)  # experiments ahead
TO_REPEAT = 5  # rows
AS_GOOD = 0.005  # of the outcomes' spread: what differs by less is as good
SAMPLES = 512  # of the outcomes at chosen points, in each world


def prospects_of(
    fit: Fit,
    objective: Objective,
    places: Sequence[Tensor],
    best: Tensor,
    *,
    gaps: Sequence[GapDraws],
    numbers: Sequence[int],
    trusted: bool,
    seed: int,
) -> Prospects:
    """What going on is expected to gain: at the next places, by a look-up, by a repeat.

    places: k times (d,); best: the recommended place (d,); numbers: of the rows of the table
    """
    gains = expected_gains(fit, places, seed)
    words = {name: not isinstance(p, Real | Integer) for name, p in fit.table.space.parameters.items()}
    promising = torch.cat([best[None], fit.good_rows]).unique(dim=0)
    worth = gains_of_looking_up(fit, gaps, promising, words)
    gap = max(zip(gaps, worth, strict=True), key=lambda pair: pair[1]) if worth else None
    rows = best_complete_rows(fit)
    repeated = gains_of_repeating(fit, torch.cat([fit.table.inputs[rows], best[None]]))[:-1]
    known = ~fit.table.outcomes[0].isnan()
    outcomes: Array = objective.sign * fit.table.outcomes[0, known].numpy()
    spread = spread_of(outcomes)
    return Prospects(
        objective.name,
        objective.unit,
        {count: float(gains[count - 1]) for count in HORIZONS},
        None if gap is None else (gap[0].row, gap[0].parameter, gap[1]),
        (numbers[int(rows[repeated.argmax()])], float(repeated.max())) if len(rows) else None,
        spread,
        since_improvement(np.array([objective.merit(y) for y in outcomes]), spread),
        objective.cost,
        trusted,
    )


def expected_gains(fit: Fit, places: Sequence[Tensor], seed: int) -> Array:
    """How much better the best of the only outcome is expected to become by the first 1, 2, ... of some experiments.

    In the outcome's unit.  k times (d,) -> (k,)
    """
    (model,), (aim,) = fit.models, fit.aims
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        joint = model.posterior(torch.stack(list(places))).distribution  # batch Q, event k
        luck = torch.randn(SAMPLES, *joint.mean.shape, generator=rng, dtype=torch.float64)
        drawn = joint.mean + (luck.unsqueeze(-2) @ robust_cholesky(joint.covariance_matrix).mT).squeeze(-2)  # (S, Q, k)
        before = _merit(fit, fit.outlook.tried[..., 0].amax(-1), aim, own=True)  # (Q,)
        found = (_merit(fit, drawn, aim) - before[:, None]).clamp_min(0)
    if fit.outlook.success is not None:
        found = found * fit.outlook.success.log_chance(torch.stack(list(places))).exp().mean(0)
    return found.cummax(-1).values.mean((0, 1)).numpy()


def _merit(fit: Fit, targets: Tensor, aim: float | None, *, own: bool = False) -> Tensor:
    """How good outcomes are, in their unit; `own`: given as merits on the model's scale."""
    (transform,) = fit.transforms
    outcomes = transform.to_outcomes(aim + targets if own and aim is not None else targets).clamp(*fit.table.ranges[0])
    if aim is None:
        return outcomes
    return -(outcomes - transform.to_outcomes(torch.tensor(aim, dtype=torch.float64))).abs()


def gains_of_looking_up(fit: Fit, gaps: Sequence[GapDraws], points: Tensor, words: Mapping[str, bool]) -> list[float]:
    """The value of knowing each gap, in the outcome's unit; none of a large table or a method without draws.

    points: (m, d); words: by parameter, whether its values are
    """
    draws = fit.draws
    if len(fit.table) > LARGE or len(draws.inputs) < FEWEST_DRAWS:
        return []
    found = []
    for some in torch.arange(len(draws.inputs)).split(AT_ONCE):
        with torch.no_grad():
            mean = fit.models_of(draws.select(some))[0].moments(points)[0]
        found.append(_merit(fit, mean, fit.aims[0]))
    merits = torch.cat(found).numpy()  # (M, m)
    best = merits.mean(0).max()
    return [
        max(float(fitted_by(gap.draws, merits, words=words[gap.parameter]).max(1).mean() - best), 0.0)
        if len(gap.draws) == len(merits)
        else 0.0
        for gap in gaps
    ]


def gains_of_repeating(fit: Fit, points: Tensor) -> Array:
    """The value of a second outcome at each of some points, for the choice among all of them.  (m, d) -> (m,)"""
    (model,), (aim,) = fit.models, fit.aims
    z = torch.special.ndtri((torch.arange(64, dtype=torch.float64) + 0.5) / 64)
    with torch.no_grad():
        joint = model.posterior(points).distribution
        covariance, noise = joint.covariance_matrix.mean(0), model.noise.exp().mean()  # (m, m)
        mean = joint.mean.mean(0)
        step = (
            covariance / (covariance.diagonal() + noise).sqrt()
        )  # column r: how far a repeat of r may move each point
        moved = mean[:, None, None] + step.unsqueeze(-1) * z  # (m, m, 64)
        best = _merit(fit, mean, aim).max()
        gain = _merit(fit, moved, aim).amax(0).mean(-1) - best
    return gain.clamp_min(0).numpy()


def spread_of(outcomes: Array) -> float:
    """The span of what was measured, outliers apart: from 5 to 95 %."""
    low, high = np.quantile(outcomes, [0.05, 0.95])
    return float(high - low) or float(np.ptp(outcomes)) or 1.0


def since_improvement(merits: Array, spread: float) -> int:
    """How many outcomes came after the first that is the best, or as good as the best.  merits: (n,)"""
    return len(merits) - 1 - int((merits >= merits.max() - AS_GOOD * spread).argmax())


def best_complete_rows(fit: Fit) -> Tensor:
    """The few rows without a gap of which most is expected, by their place in the table.  (r,)"""
    worlds = fit.completed
    known = (~torch.atleast_2d(worlds.targets)[0].isnan()).nonzero()[:, 0]
    rows = known if worlds.rows is None else worlds.rows[known]
    complete = ~fit.table.gaps.any(-1)[rows]
    merits = torch.where(complete, fit.outlook.tried[..., 0].mean(0), -torch.inf)
    return rows[merits.topk(min(TO_REPEAT, int(complete.sum()))).indices]
