"""How the chains begin: from nothing, or from the worlds before."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.posterior.blanks import HARDLY, MOSTLY
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.hyper import draw_hyper, of_worlds, start_hyper, temper
from bomi.posterior.priors import GapPriors
from bomi.posterior.sampler import guess, inverse_of, sweep, take

COLD_ROUNDS = 7  # of a move of the hyper-parameters and a sweep, from nothing
WARM_ROUNDS = 3  # of the same, from worlds whose hyper-parameters are of no use
MORE_ROUNDS = 6  # of the same, where the complete rows are too few to learn hyper-parameters from
JOINING, MOST_JOINING = 32, 64  # rows that judge what blanks of a column mean, where more than so many have gaps
ENOUGH = 10  # complete rows for each parameter: these tell of hyper-parameters and the transform without the others


def cold_start(table: Table, known: Tensor, priors: GapPriors, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """From nothing: rows with gaps join the complete ones one by one, then rounds of drawing while the noise cools."""
    worlds = len(priors.pi)
    codes = guess(known.expand(worlds, -1, -1), priors, table)
    complete = ~known.isnan().any(-1)
    counts = (~table.outcomes[:, complete & table.as_recorded].isnan()).sum(-1)
    enough = int(counts.min()) >= ENOUGH * len(table.space)
    learnable = table.as_recorded & complete if enough else table.as_recorded
    hyper = start_hyper(table.select(learnable), from_codes(table, codes[:1, learnable]), worlds, rng)
    warm = temper(hyper, 1.0)
    P = inverse_of(table, warm, from_codes(table, codes), only=complete)
    if priors.blanks is not None:
        priors = _meant(table, codes, P, priors, warm, rng)
    _, priors = sweep(codes, P, table, priors, warm, rng, step=1.0)
    rounds = COLD_ROUNDS if enough else COLD_ROUNDS + MORE_ROUNDS
    hyper = _rounds(table, codes, priors, hyper, rng, count=rounds, cold=COLD_ROUNDS)
    return codes, draw_hyper(table, from_codes(table, codes), hyper, rng)


def _meant(table: Table, codes: Tensor, P: Tensor, priors: GapPriors, hyper: Tensor, rng: torch.Generator) -> GapPriors:
    """The priors with what blanks mean, column by column, by what either answer makes of the outcomes.

    The rows with gaps join the complete ones, once as if blanks of the column were mostly the default and once as if
    they hardly ever were: the product of their outcomes' densities is an estimate of the marginal likelihood. Of many
    such rows some of those that are blank in the column do; all of them have their say in the sweeps to come.
    """
    blanks = priors.blanks
    assert blanks is not None
    gappy = torch.zeros(len(table), dtype=torch.bool)
    gappy[priors.rows] = True
    both = torch.arange(len(codes)).repeat(2)  # every world once for either answer
    answers = torch.tensor([MOSTLY, HARDLY], dtype=torch.float64)
    often, rarely = (answers[:, 0] / answers.sum(-1)).repeat_interleave(len(codes)).chunk(2)
    evidence = torch.zeros(len(both), dtype=torch.float64)
    for j in blanks.parameter[~blanks.at.isnan()].unique().tolist():
        part, worlds, inverse, own = table, codes, P, priors
        if len(priors.rows) > MOST_JOINING and table.leaders is None:
            blank = (((blanks.parameter == j) & ~blanks.at.isnan()).any(-1)).nonzero()[:, 0]
            some = ~gappy
            some[priors.rows[blank[torch.randperm(len(blank), generator=rng)[:JOINING]]]] = True
            place = some.cumsum(0) - 1
            part, worlds, inverse, own = table.select(some), codes[:, some], P[:, some][:, :, some], priors.select(some)
            own = replace(own, rows=place[own.rows])
        part = part if part.drawn is None else replace(part, drawn=of_worlds(part.drawn, both, part))
        own = own.of_worlds(both)
        assert own.blanks is not None
        own.blanks.weight[:, j] = torch.cat([often, rarely])
        inverse = inverse.unflatten(0, (len(table.outcomes), -1))[:, both].flatten(0, 1)
        sweep(worlds[both], inverse, part, own, of_worlds(hyper, both, table), rng, step=1.0, evidence=evidence.zero_())
        mostly, hardly = evidence.chunk(2)
        odds = (mostly - hardly).mean() + blanks.odds[j]
        chosen = torch.rand(len(codes), generator=rng, dtype=torch.float64) < odds.sigmoid()
        blanks.weight[:, j] = torch.where(chosen, often, rarely)
    return priors


def _rounds(
    table: Table, codes: Tensor, priors: GapPriors, hyper: Tensor, rng: torch.Generator, *, count: int, cold: int
) -> Tensor:
    """So many moves of the hyper-parameters and sweeps, which change `codes`; the noise is its own from the `cold`-th
    on."""
    for turn in range(count):
        inputs = from_codes(table, codes)
        hyper = draw_hyper(table, inputs, hyper, rng)
        used = temper(hyper, max(1 - (turn + 1) / cold, 0.0))
        _, priors = sweep(codes, inverse_of(table, used, inputs), table, priors, used, rng)
    return hyper


def warm_start(
    table: Table, known: Tensor, priors: GapPriors, rng: torch.Generator, before: Tensor, hyper: Tensor | None
) -> tuple[Tensor, Tensor]:
    """From the worlds before, NaN in rows they did not have: these are drawn first, then everything is swept again.

    Without hyper-parameters these are learned from one of the worlds, and there are some rounds of learning more.
    """
    pick = torch.arange(len(priors.pi)) % len(before)
    codes = to_codes(table, before[pick])
    fresh = torch.zeros(len(table), dtype=torch.bool)  # of those that only share gaps of others nothing is drawn
    fresh[priors.rows] = codes[:, priors.rows].isnan().any(-1).any(0)
    codes = guess(torch.where(known.isnan(), codes, known), priors, table)
    rounds = 0
    if hyper is None:
        rounds, some = WARM_ROUNDS, ~fresh & table.as_recorded
        hyper = start_hyper(table.select(some), from_codes(table, codes[:1, some]), len(pick), rng)
    else:
        hyper = of_worlds(hyper, pick, table)
    used = temper(hyper)
    P = inverse_of(table, used, from_codes(table, codes), only=~fresh)
    priors = priors.learn(take(codes, priors), rng, ~fresh)
    if fresh.any():
        P, priors = sweep(codes, P, table, priors, used, rng, step=1.0, only=fresh)
    _, priors = sweep(codes, P, table, priors, used, rng)
    hyper = _rounds(table, codes, priors, hyper, rng, count=rounds, cold=1)
    return codes, hyper
