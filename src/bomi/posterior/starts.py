"""How the chains begin: from nothing, from the worlds before, or slowly for a restart."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.model.fitting import Pairs, climb, search
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.priors import GapPriors
from bomi.posterior.sampler import guess, inverse_of, kernel_of, sweep, take

COLD_ROUNDS = 7  # of hyper-parameters and a sweep, from nothing
WARM_ROUNDS = 3  # of the same, from worlds whose hyper-parameters are of no use
MORE_ROUNDS = 6  # of the same, where the complete rows are too few to learn hyper-parameters from
SLOW_ROUNDS = 40  # of another reading: hyper-parameters are learned in the second half, the last fifth is cold
ENOUGH = 10  # complete rows for each parameter
LEAST_NOISE = 1e-5
WARM_NOISE = 0.1  # variance from which the noise cools down over these rounds


def search_hyper(table: Table, completed: Completed) -> Tensor:
    """Hyper-parameters of every outcome from nothing.  (m Q, k + 1)"""
    parts = [completed.of(j) for j in range(len(table.outcomes))]
    return torch.cat(
        [search(kernel_of(table), part.inputs, part.targets, most=20, errors=part.errors) for part in parts]
    )


def climb_hyper(table: Table, completed: Completed, *, most: int) -> Tensor:
    """The hyper-parameters of every outcome after some steps uphill.  (m Q, k + 1)"""
    found = []
    for part in (completed.of(j) for j in range(len(table.outcomes))):
        assert part.hyper is not None
        found.append(climb(Pairs(kernel_of(table), part.inputs, part.errors), part.targets, part.hyper, most=most))
    return torch.cat(found)


def of_worlds(hyper: Tensor, worlds: Tensor, table: Table) -> Tensor:
    """The hyper-parameters of some worlds, for every outcome.  (m Q, k + 1) -> (m W, k + 1)"""
    by_outcome: Tensor = hyper.reshape(len(table.outcomes), -1, hyper.shape[-1])
    return by_outcome[:, worlds].flatten(0, 1)


def cold_start(table: Table, known: Tensor, priors: GapPriors, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """From nothing: complete rows first, the others added one by one, then rounds of learning and sweeping."""
    worlds = len(priors.cdf)
    codes = guess(known.expand(worlds, -1, -1), priors, table)
    complete = _complete(table, priors)
    counts = (~table.outcomes[:, complete].isnan()).sum(-1)
    learnable = complete if int(counts.min()) >= ENOUGH * len(table.space) else torch.ones_like(complete)
    part = table.select(learnable)
    hyper = search_hyper(part, Completed(from_codes(table, codes[:1, learnable]), part.targets, errors=part.errors))
    hyper = of_worlds(hyper, torch.zeros(worlds, dtype=torch.long), table)
    rounds = COLD_ROUNDS if learnable is complete else COLD_ROUNDS + MORE_ROUNDS
    learning = range(0 if learnable is complete else rounds)
    return codes, anneal(table, codes, priors, hyper, generator, rounds=rounds, cold=COLD_ROUNDS, learning=learning)


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
    generator: torch.Generator,
    *,
    rounds: int,
    cold: int,
    learning: range,
) -> Tensor:
    """Rows with gaps join the complete ones one by one, then rounds of sweeping while the noise cools down.

    It changes `codes` and gives the hyper-parameters, which are learned in some of the rounds and at the end.
    """
    P = inverse_of(table, tempered(hyper, 1.0), from_codes(table, codes), only=_complete(table, priors))
    _, priors = sweep(codes, P, table, priors, tempered(hyper, 1.0), generator, step=1.0)
    hyper = _rounds(table, codes, priors, hyper, generator, count=rounds, cold=cold, learning=learning)
    inputs = from_codes(table, codes)
    return climb_hyper(table, Completed(inputs, table.targets, hyper=hyper, errors=table.errors), most=6)


def _rounds(
    table: Table,
    codes: Tensor,
    priors: GapPriors,
    hyper: Tensor,
    generator: torch.Generator,
    *,
    count: int,
    cold: int,
    learning: range,
) -> Tensor:
    """So many sweeps, the noise at its own from the `cold`-th on; hyper-parameters are learned before some of them."""
    for turn in range(count):
        inputs = from_codes(table, codes)
        if turn in learning:
            hyper = climb_hyper(table, Completed(inputs, table.targets, hyper=hyper, errors=table.errors), most=8)
        used = tempered(hyper, max(1 - (turn + 1) / cold, 0.0))
        _, priors = sweep(codes, inverse_of(table, used, inputs), table, priors, used, generator)
    return hyper


def tempered(hyper: Tensor, warmth: float = 0.0) -> Tensor:
    """With the noise raised towards WARM_NOISE: first guesses of many gaps contradict each other, and an exact process
    would be torn between them. Never below LEAST_NOISE of the kernel's scale: an inverse that is updated many times
    keeps no more digits than that."""
    noise = torch.maximum(hyper[:, -1:], hyper[:, :1] + math.log(LEAST_NOISE))
    return torch.cat([hyper[:, :-1], noise + warmth * (math.log(WARM_NOISE) - noise).clamp_min(0)], -1)


def warm_start(
    table: Table, known: Tensor, priors: GapPriors, generator: torch.Generator, before: Tensor, hyper: Tensor | None
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
        hyper = search_hyper(part, Completed(from_codes(table, codes[:1, ~fresh]), part.targets, errors=part.errors))
        pick = torch.zeros_like(pick)
    hyper = of_worlds(hyper, pick, table)
    used = tempered(hyper)
    P = inverse_of(table, used, from_codes(table, codes), only=~fresh)
    priors = priors.learn_straying(take(codes, priors), generator, ~fresh)
    if fresh.any():
        P, priors = sweep(codes, P, table, priors, used, generator, step=1.0, only=fresh)
    _, priors = sweep(codes, P, table, priors, used, generator)
    hyper = _rounds(table, codes, priors, hyper, generator, count=rounds, cold=1, learning=range(rounds))
    return codes, hyper
