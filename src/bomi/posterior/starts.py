"""How the chains begin: from nothing, from the worlds before, or slowly for a restart."""

from __future__ import annotations

import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.hyper import improve_hyper, of_worlds, search_hyper, temper
from bomi.posterior.priors import GapPriors
from bomi.posterior.sampler import guess, inverse_of, kernel_of, sweep, take

COLD_ROUNDS = 7  # of hyper-parameters and a sweep, from nothing
WARM_ROUNDS = 3  # of the same, from worlds whose hyper-parameters are of no use
MORE_ROUNDS = 6  # of the same, where the complete rows are too few to learn hyper-parameters from
RESTART_ROUNDS = 40  # of a restart: hyper-parameters are learned in the second half, the last fifth is cold
ENOUGH = 10  # complete rows for each parameter: these tell of hyper-parameters and the transform without the others


def cold_start(table: Table, known: Tensor, priors: GapPriors, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """From nothing: complete rows first, the others added one by one, then rounds of learning and sweeping."""
    worlds = len(priors.cdf)
    codes = guess(known.expand(worlds, -1, -1), priors, table)
    complete = _complete(table, priors)
    counts = (~table.outcomes[:, complete].isnan()).sum(-1)
    learnable = complete if int(counts.min()) >= ENOUGH * len(table.space) else torch.ones_like(complete)
    part = table.select(learnable)
    hyper = search_hyper(part, from_codes(table, codes[:1, learnable]))
    hyper = of_worlds(hyper, torch.zeros(worlds, dtype=torch.long), table)
    rounds = COLD_ROUNDS if learnable is complete else COLD_ROUNDS + MORE_ROUNDS
    learning = range(0 if learnable is complete else rounds)
    return codes, anneal(table, codes, priors, hyper, rng, rounds=rounds, cold=COLD_ROUNDS, learning=learning)


def _complete(table: Table, priors: GapPriors) -> Tensor:
    """Which rows have no gap to draw.  (n,) bool"""
    complete = torch.ones(len(table), dtype=torch.bool)
    complete[priors.rows] = False
    return complete


def anneal(
    table: Table,
    codes: Tensor,
    priors: GapPriors,
    hyper: Tensor,
    rng: torch.Generator,
    *,
    rounds: int,
    cold: int,
    learning: range,
) -> Tensor:
    """Rows with gaps join the complete ones one by one, then rounds of sweeping while the noise cools down.

    It changes `codes` and gives the hyper-parameters, which are learned in some of the rounds and at the end.
    """
    P = inverse_of(table, temper(hyper, 1.0), from_codes(table, codes), only=_complete(table, priors))
    _, priors = sweep(codes, P, table, priors, temper(hyper, 1.0), rng, step=1.0)
    hyper = _rounds(table, codes, priors, hyper, rng, count=rounds, cold=cold, learning=learning)
    return improve_hyper(table, from_codes(table, codes), hyper, steps=6)


def _rounds(
    table: Table,
    codes: Tensor,
    priors: GapPriors,
    hyper: Tensor,
    rng: torch.Generator,
    *,
    count: int,
    cold: int,
    learning: range,
) -> Tensor:
    """So many sweeps, the noise at its own from the `cold`-th on; hyper-parameters are learned before some of them."""
    for turn in range(count):
        inputs = from_codes(table, codes)
        if turn in learning:
            hyper = improve_hyper(table, inputs, hyper, steps=8)
        used = temper(hyper, max(1 - (turn + 1) / cold, 0.0))
        _, priors = sweep(codes, inverse_of(table, used, inputs), table, priors, used, rng)
    return hyper


def restart(table: Table, known: Tensor, priors: GapPriors, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """From nothing, slowly, with a kernel that is all but additive.

    Worlds that are continued from row to row can settle on an explanation in which wrong gaps and short lengths bear
    each other out. Gaps that add up are found only by a process that is additive from the start, given time.
    """
    worlds = len(priors.cdf)
    codes = guess(known.expand(worlds, -1, -1), priors, table)
    hyper = kernel_of(table).additive().repeat(worlds * len(table.outcomes), 1)
    learning, cold = range(RESTART_ROUNDS // 2, RESTART_ROUNDS, 2), RESTART_ROUNDS * 4 // 5
    return codes, anneal(table, codes, priors, hyper, rng, rounds=RESTART_ROUNDS, cold=cold, learning=learning)


def warm_start(
    table: Table, known: Tensor, priors: GapPriors, rng: torch.Generator, before: Tensor, hyper: Tensor | None
) -> tuple[Tensor, Tensor]:
    """From the worlds before, NaN in rows they did not have: these are drawn first, then everything is swept again.

    Without hyper-parameters these are learned from one of the worlds, and there are some rounds of learning more.
    """
    pick = torch.arange(len(priors.cdf)) % len(before)
    codes = to_codes(table, before[pick])
    fresh = codes.isnan().any(-1).any(0) & known.isnan().any(-1)
    codes = guess(torch.where(known.isnan(), codes, known), priors, table)
    rounds = 0
    if hyper is None:
        rounds, part = WARM_ROUNDS, table.select(~fresh)
        hyper = search_hyper(part, from_codes(table, codes[:1, ~fresh]))
        pick = torch.zeros_like(pick)
    hyper = of_worlds(hyper, pick, table)
    used = temper(hyper)
    P = inverse_of(table, used, from_codes(table, codes), only=~fresh)
    priors = priors.learn_execution(take(codes, priors), rng, ~fresh)
    if fresh.any():
        P, priors = sweep(codes, P, table, priors, used, rng, step=1.0, only=fresh)
    _, priors = sweep(codes, P, table, priors, used, rng)
    hyper = _rounds(table, codes, priors, hyper, rng, count=rounds, cold=1, learning=range(rounds))
    return codes, hyper
