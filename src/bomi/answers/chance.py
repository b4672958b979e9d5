"""Whether outcomes can be told from noise, by two tests that must both say so.

    n rows, d columns of the unit cube, p parameters, W worlds, s shuffles
    y  (n,)       targets                  Y  (n, 1 + s)   the same as recorded, then shuffled
    C  (n, n)     covariance of a function of some of the parameters at the rows

**Shuffled outcomes.** Noise could as well have come in any other order. So the evidence for a function of the inputs is
compared with that of the same outcomes, shuffled among the rows (Fisher 1935): how many of the orders have at least as
much? This holds whatever the noise is like. The gaps are drawn without any outcome, and the covariance is the average
over the draws, which is that of f at inputs that are not known exactly. The function is one of a single parameter, a
sum of one of each, or one of all together, as in `model/additive`. Each is as likely, with any of LENGTHS and NOISES:

    log N(y; 0, s^2 (C + r I)) = -log|C + r I| / 2 - n log(y^T (C + r I)^-1 y / n) / 2 + constant

at the s^2 that y likes best, with y and C centered: a constant explains nothing.

**Better than the mean.** The model must predict a row from the others better than their mean does: the squared errors
that it saves are positive on average, by their standard error.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.model.additive import AdditiveMatern, matern
from bomi.model.fitting import Pairs
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.sampler import guess, prior_of

SHUFFLES = 499
WORLDS = 16  # drawn without outcomes
LENGTHS = (0.0, 1.0)  # of the function: what is expected before anything is known, and a spread longer
NOISES = (0.01, 0.1, 1.0)  # variances, in units of that of the function


def shuffled_as_good(table: Table, targets: Tensor, seed: int) -> float:
    """The share of orders of the targets in which the inputs seem to explain them at least as well.  targets: (n,)"""
    rng = torch.Generator().manual_seed(seed)
    n = len(targets)
    orders = torch.stack([torch.arange(n), *(torch.randperm(n, generator=rng) for _ in range(SHUFFLES))], -1)
    Y = (targets - targets.mean())[orders]
    kernel = AdditiveMatern.over(table.space)
    pairs = Pairs(kernel, blind(table, rng))
    (distances,) = pairs.prepared  # (W, p, T)
    p, found = kernel.parameters, []
    for spreads in LENGTHS:
        a = math.sqrt(5) / (kernel.length * math.exp(spreads * kernel.spread)) * distances
        joint = matern(a.square().sum(1).div(p).sqrt()).mean(0)
        alone = matern(a).mean(0)  # (p, T)
        singles = torch.stack([log_evidence(C, Y) for C in pairs.matrix(alone)])
        several = pairs.matrix(torch.stack([alone.mean(0), joint]))
        found += [singles.logsumexp(0) - math.log(p), *(log_evidence(C, Y) for C in several)]
    value = torch.stack(found).logsumexp(0)
    return float((value >= value[0] - 1e-9).double().mean())


def blind(table: Table, rng: torch.Generator) -> Tensor:
    """Worlds whose gaps are drawn as if no outcome were known.  (W, n, d)"""
    if not table.gaps.any():
        return table.inputs[None]
    known = to_codes(table, table.inputs)
    priors = prior_of(table, known, WORLDS)
    return from_codes(table, guess(known.expand(WORLDS, -1, -1), priors, table, rng))


def log_evidence(C: Tensor, Y: Tensor) -> Tensor:
    """Of each column of Y, which are centered, summed over NOISES, up to a constant.  (n, n), (n, c) -> (c,)"""
    centered = C - C.mean(0) - C.mean(1, keepdim=True) + C.mean()
    values, vectors = torch.linalg.eigh(centered)
    variances = values[:, None].clamp_min(0) + C.new_tensor(NOISES)  # (n, N)
    scale = (1 / variances).mT @ (vectors.mT @ Y).square() / len(C)  # (N, c)
    evidence: Tensor = -0.5 * (variances.log().sum(0)[:, None] + len(C) * scale.log())
    return evidence.logsumexp(0)


def no_better_than_mean(targets: Tensor, mean: Tensor) -> float:
    """How likely it would be to save so much of the squared error by chance, were nothing saved on average.

    mean: what is expected of each from the others  (n,), (n,)
    """
    n = len(targets)
    alone = ((targets - targets.mean()) * n / (n - 1)).square()
    saved = alone - (targets - mean).square()
    error = float(saved.std()) / math.sqrt(n)
    beyond_rounding = error > 1e-9 * float(alone.mean())
    return 0.5 * math.erfc(float(saved.mean()) / error / math.sqrt(2)) if beyond_rounding else 1.0
