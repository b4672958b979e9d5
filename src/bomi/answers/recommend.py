"""What to ask for: the setting of the best expected outcome, or the best trade-offs between several outcomes.

J outcomes, w trade-offs, m points, d columns of the unit cube
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bomi.errors import BomiError, CellError, shown
from bomi.learning import AT_ONCE, Fit
from bomi.model.execution import Execution
from bomi.search import acquisition, candidates
from bomi.search.choices import Choices
from bomi.search.local import Score
from bomi.search.outlook import Outlook, judged, kept_by
from bomi.space.numbers import plain_number

TRADE_OFFS = 9  # at least, recommended where there are several outcomes
FEWEST_DRAWS = 10  # that say how the best outcome depends on a gap


@dataclass(frozen=True)
class Risk:
    """What is to be best: the outcome of asking, or of the place itself; in expectation, or the worst share of it."""

    execution: bool = True
    worst: float | None = None

    def done(self, fit: Fit) -> Execution | None:
        """What equipment makes of a request, or that it does not matter."""
        return fit.execution if self.execution else None


EXPECTED, NOMINAL = Risk(), Risk(execution=False)


def read_risk(risk: object) -> Risk:
    """A risk as people write it: "expected", "nominal", ("worst", 0.1) or "worst:0.1"."""
    if isinstance(risk, str) and risk in ("expected", "nominal"):
        return Risk(execution=risk == "expected")
    parts = risk.split(":") if isinstance(risk, str) else risk
    if isinstance(parts, tuple | list) and len(parts) == 2 and parts[0] == "worst":
        try:
            share = float(parts[1]) if isinstance(risk, str) else plain_number(parts[1])
        except (CellError, ValueError):
            share = math.nan
        if 0 < share <= 1:
            return Risk(worst=float(share))
    raise BomiError(
        'risk must be "expected", "nominal" or ("worst", share), as one text worst:share, with a share above 0 and '
        f"up to 1 of what may come out, but got {shown(risk)}"
    )


def trade_offs(outcomes: int) -> Tensor:
    """Weights of the outcomes, evenly spread, the equal ones at the end.  (w, J)"""
    if outcomes == 1:
        return torch.ones(1, 1, dtype=torch.float64)
    steps = next(h for h in itertools.count(1) if math.comb(h + outcomes - 1, outcomes - 1) >= TRADE_OFFS)
    every = itertools.product(range(steps + 1), repeat=outcomes)
    lattice = [[part / steps for part in parts] for parts in every if sum(parts) == steps]
    return torch.tensor([*lattice, [1 / outcomes] * outcomes], dtype=torch.float64)


def recommended(
    fit: Fit,
    weights: Tensor,
    risk: Risk = EXPECTED,
    *,
    seed: int,
    shortlist: Tensor | None = None,
    choices: Choices | None = None,
) -> Tensor:
    """The point with the best expected outcome over all worlds; of several outcomes, for a trade-off.  (J,) -> (r,)

    Where equipment strays, it is sought by some of what may be done, and from there by all of it.
    """
    choices = choices or Choices(fit.table.space)
    execution = risk.done(fit)
    outlook = fit.choosing(choices, execution=execution and fit.planned)

    def score_of(outlook: Outlook) -> Score:
        def score(points: Tensor) -> Tensor:
            merits = _relative_merits(outlook, points, risk)
            return merits[:, 0] if len(weights) == 1 else acquisition.chebyshev(merits, weights)

        return score

    per_world = [score_of(world) for world in outlook.worlds()]
    whole = score_of(replace(outlook, execution=execution))
    if choices.listed is not None:
        return candidates.best_listed(whole, choices.listed, per_world=per_world)
    found = candidates.maximize(
        score_of(outlook),
        choices.left,
        seed=seed,
        starts=choices.points(fit.good_rows),
        per_world=per_world,
        shortlist=shortlist,
    )
    return found if execution is None else candidates.better(whole, choices.left, found)


def shortlist_of(fit: Fit, weights: Tensor, choices: Choices, risk: Risk = EXPECTED, *, seed: int) -> Tensor | None:
    """Points that are good for one trade-off or another; None of a list.  (w, J) -> (s, r)"""
    if choices.listed is not None:
        return None
    outlook = fit.choosing(choices, execution=risk.done(fit) and fit.planned)

    def score_of(outlook: Outlook) -> Score:
        def score(points: Tensor) -> Tensor:
            merits = _relative_merits(outlook, points, risk)
            each = torch.stack([acquisition.chebyshev(merits, one) for one in weights])  # (w, m)
            return (each - each.amax(-1, keepdim=True)).amax(0)

        return score

    per_world = [score_of(world) for world in outlook.worlds()]
    starts = choices.points(fit.good_rows)
    return candidates.shortlist_of(per_world, choices.left, seed=seed, starts=starts, most=candidates.SHORTLIST)


def _relative_merits(outlook: Outlook, points: Tensor, risk: Risk = EXPECTED) -> Tensor:
    """Expected merits as shares of what was tried, the best of which is 0.  (m, J)"""
    tried = outlook.tried.mean(0)  # (r, J)
    return (outlook.merits(points, risk.worst) - tried.amax(0)) / (tried.amax(0) - tried.amin(0)).clamp_min(1e-12)


def best_of_each_draw(fit: Fit, *, seed: int) -> list[Tensor] | None:
    """What each of many worlds expects of the best of each outcome, in its own unit; None of too few.  J times (M,)

    The best is sought among every world's best rows and the recommended setting, where a world expects limits to be
    kept.
    """
    draws = fit.draws
    if len(draws.inputs) < FEWEST_DRAWS:
        return None
    even = torch.ones(len(fit.wanted), dtype=torch.float64)
    best = recommended(fit, even, NOMINAL, seed=seed)[None]
    points = torch.cat([fit.good_rows, fit.choosing(Choices(fit.table.space)).places(best).flat[0]])
    found: dict[int, list[Tensor]] = {j: [] for j in fit.wanted}
    for some in torch.arange(len(draws.inputs)).split(AT_ONCE):
        models = fit.models_of(draws.select(some))
        with torch.no_grad():
            limits = fit.limits_of(models)
            kept = kept_by([one.model.means(points) for one in limits], limits)
            for j, parts in found.items():
                aim = fit.aims[j]
                merits = judged(acquisition.merit(models[j].means(points), aim), kept).amax(-1)
                # The nearest to an aim that a world expects is given as a place above it: only the distance counts.
                told = fit.transforms[j].to_outcomes(merits if aim is None else aim - merits)
                parts.append(told.clamp(*fit.table.ranges[j]))
    return [torch.cat(parts) for parts in found.values()]
