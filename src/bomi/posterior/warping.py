"""The scale on which an outcome is modelled.

Outcomes with heavy tails are drawn in: w(z) = asinh(b z) / b, from the median or from the best outcome. The more normal
they are made, the better the best of them are told apart; so Box and Cox (1964) choose a power. But the rows of an
optimizer crowd near the best outcome, look heavy-tailed even where the function is as tame as can be, and what was a
sum over parameters is none once it is bent. So a bend must also leave the outcomes explicable by the inputs, which is
what a Gaussian process says of them (Snelson, Rasmussen, Ghahramani 2003):

    log p(y) = log N(w(y); 0, K) + sum_i log w'(y_i),

at the best of a coarse grid of hyper-parameters, whose Cholesky factors serve all bends. Of the scales on which this is
about as large as on the best one, the outcomes get the one on which they are the most normal.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch import Tensor

from bomi.impute.table import LARGE
from bomi.impute.transform import Scaling, span
from bomi.model.fitting import STARTING_NOISES, Pairs, grid
from bomi.model.kernels import AdditiveMatern, Kernel
from bomi.space import Space

BENDS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
MARGIN = 2.0  # how much more normal, in nats, bent outcomes must be
SLACK = 4.0  # nats, by which a process may explain them worse
NOISES = (1e-6, *STARTING_NOISES)


def standard(
    outcomes: Tensor,
    target: float | None,
    inputs: Tensor,
    space: Space,
    keep: Scaling | None = None,
    stalled: bool = False,
) -> Scaling:
    """To mean 0 and standard deviation 1, heavy tails drawn in; constant outcomes to 0.

    outcomes: (n,), inputs: (n, d); rows with NaN have no place and no say. `keep` has the bend to keep to, if it is not
    to be chosen anew. Where a target is wanted the outcomes are bent around it, to both sides alike: what is nearer to
    it stays nearer.

    stalled: nothing better has come for a while. Then the upper tail is left as it is: drawn in, the best rows look
    like many others, and the search turns away from where a better one is likely.
    """
    choices = _choices(outcomes, target)
    if keep is not None:
        return next((one for one in choices if (one.bend, one.from_best) == (keep.bend, keep.from_best)), choices[0])
    if stalled and target is None:
        choices = [one for one in choices if one.from_best or not one.bend]
    placed = (~inputs.isnan().any(-1)).nonzero()[:, 0]
    if len(choices) == 1 or len(placed) < 2:
        return choices[0]
    some = placed[torch.linspace(0, len(placed) - 1, min(len(placed), LARGE)).round().long()]
    kernel = AdditiveMatern(tuple(space.groups.tolist()))
    evidence = log_evidence(choices, outcomes[some], inputs[some], kernel)
    explained = evidence >= evidence.max() - SLACK
    normality = [_log_normality(one, outcomes) - MARGIN * (one.bend > 0) for one in choices]
    return max(zip(normality, choices, explained, strict=True), key=lambda each: (each[2], each[0]))[1]


def _log_normality(scaling: Scaling, outcomes: Tensor) -> float:
    """The log likelihood of the outcomes if on this scale they were normal, up to a constant."""
    return float(scaling.slope(outcomes).log().sum())  # targets have mean 0 and standard deviation 1 on every scale


def _choices(outcomes: Tensor, target: float | None) -> list[Scaling]:
    """The straight scaling, then the bent ones; only one if there is nothing to choose by.

    z is measured in units of the median absolute deviation. From the best outcome only one tail is drawn in, and what
    is nearly best is kept apart.
    """
    if len(outcomes) == 0:
        return [Scaling()]
    middle = float(outcomes.median())
    away = (outcomes - middle).abs()
    unit = span(float(away.median()) or float(away.mean()), middle)
    sides = (False, True) if target is None else (False,)
    found = []
    for bend, from_best in ((0.0, False), *itertools.product(BENDS, sides)):
        center = float(outcomes.max()) if from_best else middle if target is None else target
        z = (outcomes - center) / unit
        w = torch.asinh(bend * z) / bend if bend else z
        sd = float(w.std(correction=0))
        if sd < 1e-9:
            return [Scaling(float(w.mean()), 1.0, center, unit)]
        if np.isfinite(sd):  # or else too weak a bend for such outliers
            found.append(Scaling(float(w.mean()), sd, center, unit, bend, from_best))
    return found


def log_evidence(choices: list[Scaling], outcomes: Tensor, inputs: Tensor, kernel: Kernel) -> Tensor:
    """log p(y) on each scale.  outcomes: (n,), inputs: (n, d) -> (c,)"""
    targets = torch.stack([choice.to_targets(outcomes) for choice in choices], -1)  # (n, c)
    stretch = torch.stack([choice.slope(outcomes).log().sum() for choice in choices])
    value, _ = grid(Pairs(kernel, inputs[None]), targets, noises=NOISES)
    return stretch + value.amax((0, 1))
