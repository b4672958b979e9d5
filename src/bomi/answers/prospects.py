"""Is it worth going on: what the next experiments, a value looked up and a repeated row are expected to gain.

    Q worlds, M draws of the gaps, m points, S draws of the outcomes, J outcomes, W trade-offs between them
    u_w(y)   how good outcomes are for a trade-off: of one outcome its merit, in its own unit
    u*_w     what each world expects of its best row

The gain of k experiments at chosen points is E max(max_i u(f(x_i)) - u*, 0). That of knowing something, a gap's value v
or a second outcome of a row, is how much better the best choice among some good points becomes on average by knowing it
(the value of information; Frazier, Powell and Dayanik 2009): E_v max_x E[u(f(x)) | v] - max_x E u(f(x)). What is chosen
is taken to be done as asked.

Several outcomes are put on one scale: what they fall short of the best of their rows, in per cent of the rows' spread.
For a trade-off with weights w, the largest of which is 1, outcomes are as good as the worst: u_w(y) = min_j w_j u_j.
The gain is the mean over trade-offs, evenly spread: how much the R2 indicator improves (Hansen and Jaszkiewicz 1998).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bomi.answers.gaps import draws_of_gaps
from bomi.answers.propose import next_points
from bomi.answers.recommend import FEWEST_DRAWS, NOMINAL, recommended, trade_offs
from bomi.answers.validation import validated
from bomi.data.objectives import Objective
from bomi.impute.summary import fitted_by
from bomi.impute.table import since_improvement
from bomi.knowledge import Knowledge
from bomi.learning import AT_ONCE, Fit
from bomi.model.gaussian_process import GaussianProcess
from bomi.results import GapDraws, Prospects
from bomi.search.choices import Choices
from bomi.search.outlook import judged, kept_by
from bomi.space import Array, Integer, Real

HORIZONS = (1, 5, 10)  # experiments ahead
TO_REPEAT = 5  # rows
AS_GOOD = 0.005  # of the outcomes' spread: what differs by less is as good
SAMPLES = 512  # of the outcomes at chosen points, in each world
REPEATS = 64  # outcomes that a repeated row may have
PER_CENT = 100.0


@dataclass(frozen=True)
class Scale:
    """How good outcomes are, as one number for each trade-off: of a single outcome its merit, in its own unit."""

    fit: Fit
    objectives: tuple[Objective, ...]  # those wanted

    @cached_property
    def weights(self) -> Tensor:
        """(W, J)"""
        weights = trade_offs(len(self.objectives))
        return weights / weights.amax(-1, keepdim=True)

    @cached_property
    def measured(self) -> Tensor:
        """How good the rows were of which every outcome is known, outcome by outcome, in its own unit; as bad as the
        worst where they broke a limit.  (r, J)"""
        outcomes, table = self.fit.table.outcomes.mT, self.fit.table
        outcomes = outcomes[~outcomes.isnan().any(-1)]
        each = zip(outcomes[:, list(self.fit.wanted)].unbind(-1), self.objectives, strict=True)
        merits = [torch.tensor([one.merit(one.sign * y) for y in ys.tolist()], dtype=torch.float64) for ys, one in each]
        found, most = torch.stack(merits, -1), [table.aims[j] or 0.0 for j in table.limited]
        kept = (outcomes[:, list(table.limited)] <= outcomes.new_tensor(most)).all(-1, keepdim=True)
        return torch.where(kept, found, found.amin(0))

    @cached_property
    def spreads(self) -> Tensor:
        """The spread of each outcome over its rows.  (J,)"""
        return torch.tensor([spread_of(one.numpy()) for one in self.fit.told], dtype=torch.float64)

    @property
    def spread(self) -> float:
        """The spread of a single outcome in its unit; of several outcomes 100 per cent."""
        return float(self.spreads[0]) if len(self.objectives) == 1 else PER_CENT

    @property
    def unit(self) -> str:
        """The unit of gains."""
        return self.objectives[0].unit if len(self.objectives) == 1 else "% of the spread"

    @property
    def cost(self) -> float | None:
        """What an experiment costs, if that is stated: of several outcomes, of the first that states it."""
        if len(self.objectives) == 1:
            return self.objectives[0].cost
        pairs = zip(self.objectives, self.spreads.tolist(), strict=True)
        return next((PER_CENT * one.cost / spread for one, spread in pairs if one.cost is not None), None)

    def merits(self, targets: Tensor, j: int) -> Tensor:
        """How good values of an outcome on the model's scale are, in its unit."""
        transform, aim = self.fit.transforms[j], self.fit.aims[j]
        outcomes = transform.to_outcomes(targets).clamp(*self.fit.table.ranges[j])
        if aim is None:
            return outcomes
        return -(outcomes - transform.to_outcomes(torch.tensor(aim, dtype=torch.float64))).abs()

    def utilities(self, merits: Tensor) -> Tensor:
        """How good that is for each trade-off.  (..., J) -> (..., W)"""
        if len(self.objectives) == 1:
            return merits
        shares = PER_CENT * (merits - self.measured.amax(0)) / self.spreads
        return (shares.unsqueeze(-2) * self.weights.clamp_min(1e-3)).amin(-1)

    def of(self, targets: Sequence[Tensor]) -> Tensor:
        """How good values of all outcomes on the model's scale are for each trade-off.  J times (...) -> (..., W)"""
        pairs = zip(targets, self.fit.wanted, strict=True)
        return self.utilities(torch.stack([self.merits(each, j) for each, j in pairs], -1))

    def expected(self, models: Sequence[GaussianProcess], points: Tensor) -> Tensor:
        """How good models of all outcomes expect points to be; as bad as the worst where a limit is expected to be
        broken.  (m, d) -> (Q, m, W)"""
        limits = self.fit.limits_of(models)
        kept = kept_by([one.model.means(points) for one in limits], limits)
        found = self.of([models[j].means(points) for j in self.fit.wanted])
        return torch.stack([judged(one, kept) for one in found.unbind(-1)], -1)


def prospects_of(known: Knowledge) -> Prospects:
    """What going on is expected to gain: by the next experiments, by a look-up, by a repeat."""
    fit, choices, seed = known.modelled(), Choices(known.space), known.seed_of_all_rows
    gaps = [] if fit.table.large else draws_of_gaps(known)
    scale = Scale(fit, known.wanted)
    points, _ = next_points(known, max(HORIZONS), choices, exactly=True)
    best = recommended(fit, trade_offs(len(known.wanted))[-1], NOMINAL, seed=seed)
    *places, best = torch.from_numpy(known.typical(choices.places(torch.stack([*points, best])).numpy()))
    gains = expected_gains(scale, places, seed)
    words = {name: not isinstance(p, Real | Integer) for name, p in fit.table.space.parameters.items()}
    promising = torch.cat([best[None], fit.good_rows]).unique(dim=0)
    worth = gains_of_looking_up(scale, gaps, promising, words)
    gap = max(zip(gaps, worth, strict=True), key=lambda pair: pair[1]) if worth else None
    rows = best_complete_rows(scale)
    repeated = gains_of_repeating(scale, torch.cat([fit.table.inputs[rows], best[None]]), seed)[:-1]
    return Prospects(
        ", ".join(known.outcomes),
        scale.unit,
        {count: float(gains[count - 1]) for count in HORIZONS},
        None if gap is None else (gap[0].row, gap[0].parameter, gap[1]),
        (known.tried_numbers[int(rows[repeated.argmax()])], float(repeated.max())) if len(rows) else None,
        scale.spread,
        min(since_improvement(one, AS_GOOD * scale.spread) for one in scale.utilities(scale.measured).unbind(-1)),
        scale.cost,
        all(validated(known, j).trusted for j in range(len(known.objectives))),
    )


def expected_gains(scale: Scale, places: Sequence[Tensor], seed: int) -> Array:
    """How much better the best is expected to become by the first 1, 2, ... experiments.  k times (d,) -> (k,)"""
    fit, rng = scale.fit, torch.Generator().manual_seed(seed)
    points, drawn = torch.stack(list(places)), []
    with torch.no_grad():
        for model in fit.contest.models:
            drawn.append(model.draws(points, SAMPLES, rng))  # (S, Q, k)
        before = _expected_of_rows(scale).amax(1)  # (Q, W)
        found = (scale.of(drawn) - before.unsqueeze(1)).clamp_min(0)  # (S, Q, k, W)
        chance = fit.outlook.chance(fit.outlook.places(points))
    if chance is not None:
        found = found * chance[:, None]
    gains: Array = found.cummax(-2).values.mean((0, 1, 3)).numpy()
    return gains


def _expected_of_rows(scale: Scale) -> Tensor:
    """How good each world expects its rows to be.  (Q, r, W)"""
    fit = scale.fit
    return scale.of([fit.models[0].fitted_now()]) if len(fit.models) == 1 else scale.expected(fit.models, fit.measured)


def gains_of_looking_up(
    scale: Scale, gaps: Sequence[GapDraws], points: Tensor, words: Mapping[str, bool]
) -> list[float]:
    """The value of knowing each gap; none without gaps or for a method without draws.

    points: (m, d); words: by parameter, whether its values are
    """
    fit = scale.fit
    if not gaps or len(fit.draws.inputs) < FEWEST_DRAWS:
        return []
    draws = fit.draws
    found = []
    for some in torch.arange(len(draws.inputs)).split(AT_ONCE):
        with torch.no_grad():
            found.append(scale.expected(fit.models_of(draws.select(some)), points))
    merits = torch.cat(found).numpy()  # (M, m, W)
    best, flat = merits.mean(0).max(0), merits.reshape(len(merits), -1)

    def gain(gap: GapDraws) -> float:
        known = fitted_by(gap.draws, flat, words=words[gap.parameter]).reshape(merits.shape)
        return max(float((known.max(1).mean(0) - best).mean()), 0.0)

    return [gain(gap) if len(gap.draws) == len(merits) else 0.0 for gap in gaps]


def gains_of_repeating(scale: Scale, points: Tensor, seed: int) -> Array:
    """The value of a second outcome at each of some points, for the choice among all of them.  (m, d) -> (m,)"""
    even = (torch.arange(REPEATS, dtype=torch.float64) + 0.5) / REPEATS
    rng = torch.Generator().manual_seed(seed)
    means, moved = [], []
    with torch.no_grad():
        for model in scale.fit.outlook.models:
            joint = model.posterior(points).distribution
            covariance, noise = joint.covariance_matrix.mean(0), model.noise.exp().mean()  # (m, m)
            # column r: how far a repeat of r may move each point
            step = covariance / (covariance.diagonal() + noise).sqrt()
            z = torch.special.ndtri(even)[torch.randperm(REPEATS, generator=rng)]  # outcomes err independently
            means.append(joint.mean.mean(0))
            moved.append(means[-1][:, None, None] + step.unsqueeze(-1) * z)  # (m, m, 64)
        gain = scale.of(moved).amax(0).mean(-2) - scale.of(means).amax(0)  # (m, W)
    gains: Array = gain.mean(-1).clamp_min(0).numpy()
    return gains


def spread_of(outcomes: Array) -> float:
    """The span of what was measured, outliers apart: from 5 to 95 %."""
    low, high = np.quantile(outcomes, [0.05, 0.95])
    return float(high - low) or float(np.ptp(outcomes)) or 1.0


def best_complete_rows(scale: Scale) -> Tensor:
    """The few rows without a gap of which most is expected, by their place in the table.  (r,)"""
    fit, worlds = scale.fit, scale.fit.completed
    known = (~torch.atleast_2d(worlds.targets).isnan().all(0)).nonzero()[:, 0]
    rows = worlds.table_rows[known]
    complete = ~fit.table.gaps.any(-1)[rows]
    with torch.no_grad():
        merits = _expected_of_rows(scale).mean(0)  # (r, W)
    merits = torch.where(complete[:, None], merits, -torch.inf)
    if len(merits) == 0 or not complete.any():
        return rows[:0]
    each = max(TO_REPEAT // merits.shape[-1], 1)  # of every trade-off
    chosen = merits.topk(min(each, int(complete.sum())), dim=0).indices.flatten().unique()
    return rows[chosen]
