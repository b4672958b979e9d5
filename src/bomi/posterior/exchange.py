"""Jumps between explanations: the gaps and the hyper-parameters of a world change together.

Given the gaps, the noise is nearly known, and given the noise so are the gaps: each can move to where it explains its
outcome to within the noise. Gibbs sampling, which draws one given the other, does not get from one explanation to
another. So beside each world there are hyper-parameters that know of the complete rows alone, where no gap can hide
anything: draws of theta_0 ~ p(theta | y_c). Now and then the two change places. All gaps are then drawn anew, row by
row: of S draws from the prior of row i one is picked by its outcome's density w_i, given the complete rows and those
drawn so far. With

    W(theta) = prod_i mean_s w_is,    E W(theta) = p(y | theta) / p(y_c | theta),

the exchange is accepted with probability min(1, W(theta_0) / W(theta)). The W of the world as it is comes from the same
S, one of which is the current value. That leaves p(theta, gaps | y) p(theta_0 | y_c) unchanged, whatever S: it is
configurational-bias Monte Carlo (Siepmann and Frenkel 1992), a particle-marginal move (Andrieu, Doucet, Holenstein
2010) between replicas that know of more and of less.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.hyper import of_worlds, temper
from bomi.posterior.priors import GapPriors
from bomi.posterior.sampler import guess, inverse_of, prior_of, sweep, take


def exchange(
    table: Table, inputs: Tensor, hyper: Tensor, alone: Tensor, rng: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """The worlds and what the complete rows alone say of hyper-parameters, after these may have changed places.

    (Q, n, d), (m Q, k + 1), (m Q, k + 1)
    """
    codes, known, Q = to_codes(table, inputs), to_codes(table, table.inputs), len(inputs)
    priors = prior_of(table, known, Q)
    priors = priors.learn(take(codes, priors), rng)
    drawn, gain = redraw(table, codes, known, hyper, alone, priors, rng)
    accepted = torch.rand(Q, generator=rng, dtype=torch.float64).log() < gain
    by_outcome = accepted.repeat(len(table.outcomes))[:, None]
    codes = torch.where(accepted[:, None, None], drawn, codes)
    after = torch.where(by_outcome, alone, hyper), torch.where(by_outcome, hyper, alone)
    return from_codes(table, codes), *after


def redraw(
    table: Table, codes: Tensor, known: Tensor, hyper: Tensor, other: Tensor, priors: GapPriors, rng: torch.Generator
) -> tuple[Tensor, Tensor]:
    """All gaps drawn anew under other hyper-parameters, and log W(other) - log W(hyper).  (Q, n, p), (Q,)"""
    Q = len(codes)
    each = torch.arange(Q).repeat(2)
    both = torch.cat([codes, guess(known.expand(Q, -1, -1), priors, table)])
    used = temper(torch.cat([hyper, other])).unflatten(0, (2, len(table.outcomes), Q)).transpose(0, 1).flatten(0, 2)
    twice = table if table.drawn is None else replace(table, drawn=of_worlds(table.drawn, each, table))
    evidence = torch.zeros(2 * Q, dtype=torch.float64)
    P = inverse_of(table, used, from_codes(table, both), only=~table.gaps.any(-1))
    kept = torch.arange(2 * Q) < Q
    sweep(both, P, twice, priors.of_worlds(each), used, rng, step=1.0, evidence=evidence, kept=kept)
    return both[Q:], evidence[Q:] - evidence[:Q]
