"""Which outcome transform: how far heavy tails are drawn in.

w(z) = asinh(b z) / b, from the median, from the best outcome, or from the ends of the range in which an outcome lies by
its nature: a yield of 99 % differs from one of 97 % as one of 60 % does from one of 33 %. The more normal the outcomes
are made, the better the best of them are told apart; so Box and Cox (1964) choose a power. But the rows of an optimizer
crowd near the best outcome and look heavy-tailed even where the function is tame, and warping destroys additivity. So a
warp must also leave the outcomes explicable by the inputs, which is what a Gaussian process says of them (Snelson,
Rasmussen, Ghahramani 2003):

    log p(y) = log N(w(y); 0, K) + sum_i log w'(y_i),

at the best of some hyper-parameters, whose Cholesky factors serve all warps: those of a coarse grid, and what L-BFGS
makes of the best of these for the identity. Of the transforms on which this is about as large as on the best one, the
outcomes get the one on which they are the most normal; but the weakest one where they are noisy, since a warp is for
the function and makes the noise of a good outcome larger than that of others.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from bomi.impute.table import LARGE
from bomi.impute.transform import ANYWHERE, BEST, MIDDLE, RANGE, Ends, Transform, span_or_size
from bomi.model.additive import AdditiveMatern
from bomi.model.conditions import kernel_under
from bomi.model.fitting import STARTING_NOISES, Pairs, grid, maximize
from bomi.model.kernels import Kernel
from bomi.space import Space

WARPS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
MARGIN = 2.0  # how much more normal, in nats, warped outcomes must be
SLACK = 4.0  # nats, by which a process may explain them worse
PILED = 0.1  # share of outcomes on an end of their range: with more they are cut off there, and do not come near it
NOISES = (1e-6, *STARTING_NOISES)
STEPS = 30  # of L-BFGS
NOISY = 1e-2  # the least of these that is called noise


def choose_transform(
    outcomes: Tensor,
    aim: float | None,
    inputs: Tensor,
    space: Space,
    *,
    conditions: Tensor | None = None,
    keep_upper_tail: bool = False,
    ends: Ends = ANYWHERE,
) -> Transform:
    """To mean 0 and standard deviation 1, heavy tails drawn in; constant outcomes to 0.

    outcomes: (n,), inputs: (n, d), conditions: (n, e); rows with NaN have no place and no say. Where an aim is wanted
    the outcomes are warped around it, to both sides alike: what is nearer to it stays nearer.

    keep_upper_tail: drawn in, the best rows look like many others, and the search turns away from where a better one is
    likely. ends: between which outcomes lie by their nature, larger is better.
    """
    choices = _choices(outcomes, aim, ends)
    if keep_upper_tail and aim is None:
        choices = [one for one in choices if one.slope(outcomes.max()) >= one.slope(outcomes.median())]
    placed = (~inputs.isnan().any(-1)).nonzero()[:, 0]
    if len(choices) == 1 or len(placed) < 2:
        return choices[0]
    some = placed[torch.linspace(0, len(placed) - 1, min(len(placed), LARGE)).round().long()]
    kernel = kernel_under(AdditiveMatern.over(space), space, conditions)
    inputs = inputs if conditions is None else torch.cat([inputs, conditions], -1)
    evidence = log_evidence(choices, outcomes[some], inputs[some], kernel)  # (N, c)
    best = evidence.amax(0)
    explained = best >= best.max() - SLACK
    if bool(evidence[:, best.argmax()].softmax(0)[torch.tensor(NOISES) >= NOISY].sum() > 0.5):
        return next(one for one, good in zip(choices, explained, strict=True) if good)
    normality = [_log_normality(one, outcomes) - MARGIN * (one.warp > 0) for one in choices]
    return max(zip(normality, choices, explained, strict=True), key=lambda each: (each[2], each[0]))[1]


def same_transform(outcomes: Tensor, aim: float | None, like: Transform, ends: Ends = ANYWHERE) -> Transform:
    """The transform of other outcomes that warps as another does.  outcomes: (n,)"""
    choices = _choices(outcomes, aim, ends)
    return next((one for one in choices if one.shape == like.shape), choices[0])


def _log_normality(transform: Transform, outcomes: Tensor) -> float:
    """The log likelihood of the outcomes if on this scale they were normal, up to a constant."""
    return float(transform.slope(outcomes).log().sum())  # targets have mean 0 and standard deviation 1 on every scale


def _choices(outcomes: Tensor, aim: float | None, ends: Ends) -> list[Transform]:
    """The identity, then the warps; only one if there is nothing to choose by.

    z is measured in units of the median absolute deviation. From the best outcome only one tail is drawn in, and what
    is nearly best is kept apart; from the ends of a range, so is what is near them.
    """
    if len(outcomes) == 0:
        return [Transform()]
    middle = float(outcomes.median())
    away = (outcomes - middle).abs()
    unit = span_or_size(float(away.median()) or float(away.mean()), middle)
    centers = {MIDDLE: (middle if aim is None else aim, 0.0)}  # with half the width of a range
    if aim is None:
        centers[BEST] = float(outcomes.max()), 0.0
        finite = [end for end in ends if math.isfinite(end)]
        on_an_end = (outcomes <= ends[0]) | (outcomes >= ends[1])
        if finite and float(on_an_end.double().mean()) <= PILED:
            centers[RANGE] = sum(finite) / len(finite), (max(finite) - min(finite)) / 2 / unit
    found = []
    for warp, origin in ((0.0, MIDDLE), *itertools.product(WARPS, centers)):
        center, half = centers[origin]
        plain = Transform(0.0, 1.0, center, unit, warp, half, origin)
        w = plain.to_targets(outcomes)
        sd = float(w.std(correction=0))
        if sd < 1e-9:
            return [Transform(float(w.mean()), 1.0, center, unit)]
        if np.isfinite(sd):  # or else too weak a warp for such outliers
            found.append(replace(plain, shift=float(w.mean()), scale=sd))
    return found


def log_evidence(choices: list[Transform], outcomes: Tensor, inputs: Tensor, kernel: Kernel) -> Tensor:
    """log p(y) on each scale, at each of NOISES.  outcomes: (n,), inputs: (n, d) -> (N, c)

    On the grid all lengths are alike. Where parameters matter unequally, only L-BFGS finds that no warp is needed.
    """
    targets = torch.stack([choice.to_targets(outcomes) for choice in choices], -1)  # (n, c)
    stretch = torch.stack([choice.slope(outcomes).log().sum() for choice in choices])
    pairs = Pairs(kernel, inputs[None])
    value, hyper = (part.squeeze(1) for part in grid(pairs, targets, noises=NOISES))  # (g, c), (g, c, k + 1)
    start = hyper[value[:, 0].argmax(), :1]
    found, _ = maximize(pairs, targets[:, 0], start, torch.zeros(1, dtype=torch.long), most=STEPS)
    more = grid(pairs, targets, noises=NOISES, starts=found[:, :-1])[0].squeeze(1)
    by_noise: Tensor = torch.cat([value, more]).unflatten(0, (-1, len(NOISES))).amax(0)
    return stretch + by_noise
