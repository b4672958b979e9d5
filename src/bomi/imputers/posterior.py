"""Gaps drawn from their posterior under the Gaussian process itself: given the outcome, what was asked, the columns.

    y_i = f(x_i) + noise, f ~ GP.  Gibbs sampling over the rows with gaps, Q chains side by side.

For row i, S candidates for its gaps are drawn so that they and the current values are exchangeable under the prior;
one of them is picked with probability proportional to the leave-one-out density N(y_i; mu_-i(x), s2_-i(x)): iterated
sampling importance resampling, an exact MCMC kernel (Andrieu, Lee, Vihola 2018) that jumps between modes. Candidates
lie around the current value by the reversible walk e' = sqrt(1 - s^2) e + s noise: near it for a small step s, and
fresh draws from the prior for s = 1.

    codes  (Q, n, p)   the worlds: numbers in [0, 1], categories as indices
    P      (Q, n, n)   K^-1; with q = P_i / P_ii, the inverse without row i is P - P_i q^T: its row i is zero
    k      (Q, S, n)   covariance of the candidates with all rows

After the move, u = P_-i k and v = u - e_i: P' = P_-i + v v^T / (k_ii + noise - k^T u). No Cholesky in the loop.

Of m outcomes each has a process of its own on the same worlds, and their densities are multiplied: hyper-parameters and
P are those of the first outcome in all worlds, then those of the second, m Q in all. A row that lacks an outcome is not
among the rows of its process.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from bomi.errors import MethodError
from bomi.imputers.constrained import Constrained
from bomi.imputers.gap_priors import GapPriors, from_codes, gap_priors, to_codes
from bomi.space import Categorical, Space
from bomi.surrogates.gaussian_process import (
    GaussianProcess,
    Pairs,
    climb,
    robust_cholesky,
    search,
    with_hyper,
)
from bomi.surrogates.kernels import AdditiveMatern, cross, matern
from bomi.worlds import Completed, Table

CANDIDATES = 24
NEAR = (0.003, 0.7)  # steps of every second row in a sweep; the others take fresh draws
COLD_ROUNDS = 7  # of hyper-parameters and a sweep, from nothing
WARM_ROUNDS = 3  # of the same, from worlds whose hyper-parameters are of no use
MORE_ROUNDS = 6  # of the same, where the complete rows are too few to learn hyper-parameters from
SLOW_ROUNDS = 40  # of another reading: hyper-parameters are learned in the second half, the last fifth is cold
ENOUGH = 10  # complete rows for each parameter
LEAST_NOISE = 1e-5
WARM_NOISE = 0.1  # variance from which the noise cools down over these rounds
ANCHORS = 256  # rows that are swept one by one; those of a larger table beyond them are drawn side by side
WORLDS = (5, 20)  # at least and at most
ROWS_OF_WORLDS = 1000  # in all worlds together, between these
SAMPLES = 200  # draws of each gap, where its distribution is asked for
BLOCK = 64  # such rows at a time


@dataclass(frozen=True)
class Posterior:
    """Q worlds drawn from the posterior of the gaps; a table without gaps is one world as it stands.

    By default 5 worlds, and up to 20 of a table of fewer than 200 rows: the price of a suggestion stays the same, and
    where little is known the luck of a few draws would decide.
    """

    worlds: int | None = None

    def __post_init__(self) -> None:
        if self.worlds is not None and (not isinstance(self.worlds, int) or self.worlds < 1):
            raise MethodError(f"`worlds` must be a whole number from 1, but got {self.worlds!r}")

    def __call__(self, table: Table, generator: torch.Generator, warm: Completed | None = None) -> Completed:
        """Draws that go on from the worlds before, if there are any, or start from the complete rows."""
        if not table.gaps.any():
            hyper = None
            if warm is not None and warm.hyper is not None:
                hyper = warm.hyper[:: len(warm.hyper) // len(table.outcomes)]  # one world's, of each outcome
            return Completed(table.inputs[None], table.targets, hyper=hyper, errors=table.errors)
        if len(table) > ANCHORS:
            return self._by_anchors(table, generator, warm)
        known = to_codes(table, table.inputs)
        priors = _priors(table, known, self._count(table))
        if warm is None:
            codes, hyper = _cold_start(table, known, priors, generator)
        else:
            codes, hyper = _warm_start(table, known, priors, generator, warm.inputs, warm.hyper)
        return Completed(from_codes(table, codes), table.targets, hyper=hyper, errors=table.errors)

    def another(self, table: Table, generator: torch.Generator) -> Completed:
        """Another reading of a table of moderate size: parameters act one by one, and worlds are drawn slowly.

        Worlds that go on from row to row can settle on a reading in which wrong gaps and short lengths bear each other
        out. Gaps that add up are found only by a process that is additive from the start, given time.
        """
        known = to_codes(table, table.inputs)
        worlds = min(self._count(table), WORLDS[0])
        priors = _priors(table, known, worlds)
        codes = _guess(known.expand(worlds, -1, -1), priors, table)
        hyper = _kernel(table).additive().repeat(worlds * len(table.outcomes), 1)
        learning, cold = range(SLOW_ROUNDS // 2, SLOW_ROUNDS, 2), SLOW_ROUNDS * 4 // 5
        hyper = _cooled(table, codes, priors, hyper, generator, rounds=SLOW_ROUNDS, cold=cold, learning=learning)
        return Completed(from_codes(table, codes), table.targets, hyper=hyper, errors=table.errors)

    def _count(self, table: Table) -> int:
        """How many worlds a table gets."""
        low, high = WORLDS
        return self.worlds or min(max(ROWS_OF_WORLDS // len(table), low), high)

    def _by_anchors(self, table: Table, generator: torch.Generator, warm: Completed | None) -> Completed:
        """Of a large table, some rows are worlds as ever; the others are drawn given these, each on its own."""
        chosen = _anchors(table, generator)
        part = None if warm is None else replace(warm, inputs=warm.inputs[:, chosen])
        anchors = self(table.select(chosen), generator, part)
        hyper = anchors.hyper
        if hyper is None:  # the anchors have no gaps: one world, and its hyper-parameters are still to be learned
            hyper = _search(table, anchors)
        count = self._count(table)
        worlds = torch.arange(count) % len(anchors.inputs)
        anchors = replace(anchors, inputs=anchors.inputs[worlds], hyper=_of_worlds(hyper, worlds, table))
        inputs = table.inputs.expand(count, -1, -1).clone()
        inputs[:, chosen] = anchors.inputs
        gappy = table.gaps.any(-1) & ~chosen
        if gappy.any():
            inputs[:, gappy] = draw_given(anchors, table, gappy, generator, anchored=chosen)
        return Completed(inputs, table.targets, hyper=anchors.hyper, errors=table.errors)

    def sample(
        self, table: Table, completed: Completed, points: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Many draws of every gap, and with each what its world expects of every outcome at some points.

        points: (l, d) -> (M, n, d), (m, M, l)
        """
        assert completed.hyper is not None
        outcomes = len(table.outcomes)
        if len(table) > ANCHORS:
            drawn = replace(self, worlds=SAMPLES // 10)._by_anchors(table, generator, completed)
            with torch.no_grad():
                return drawn.inputs, torch.stack(
                    [_model(table, drawn.of(j)).moments(points)[0] for j in range(outcomes)]
                )
        hyper, kernel = _tempered(completed.hyper), _kernel(table)
        inputs, expected = [], []
        codes = to_codes(table, completed.inputs)
        priors = _priors(table, to_codes(table, table.inputs), len(codes))
        priors = priors.learn_straying(_take(codes, priors), generator)
        y = _by_world(table.outcomes.nan_to_num(), len(codes)).unsqueeze(-1)
        for turn in range(math.ceil(SAMPLES / len(codes))):
            if turn % 10 == 0:
                P = _inverse(table, hyper, from_codes(table, codes))
            P, priors = sweep(codes, P, table, priors, hyper, generator)
            world = from_codes(table, codes)
            k = cross(kernel, hyper[:, :-1], world.repeat(outcomes, 1, 1), points.expand(len(hyper), -1, -1))
            inputs.append(world)
            expected.append((k.mT @ (P @ y)).squeeze(-1).unflatten(0, (outcomes, -1)))  # (m, Q, l)
        return torch.cat(inputs), torch.cat(expected, 1)


def _priors(table: Table, known: Tensor, worlds: int) -> GapPriors:
    """The gaps' priors, those that follow from fixed sums on their own."""
    priors = gap_priors(table, known, worlds)
    return Constrained(table, priors).free_pivots(priors) if table.space.constraints else priors


def _kernel(table: Table) -> AdditiveMatern:
    return AdditiveMatern(tuple(table.space.groups.tolist()))


def _model(table: Table, completed: Completed) -> GaussianProcess:
    """The processes of one outcome, with the hyper-parameters that come with the worlds."""
    assert completed.hyper is not None
    there = completed.to(table.device)
    return with_hyper(there.inputs, there.targets, completed.hyper, kernel=_kernel(table), errors=there.errors)


def _search(table: Table, completed: Completed) -> Tensor:
    """Hyper-parameters of every outcome from nothing.  (m Q, k + 1)"""
    parts = [completed.of(j) for j in range(len(table.outcomes))]
    return torch.cat([search(_kernel(table), part.inputs, part.targets, most=20, errors=part.errors) for part in parts])


def _climb(table: Table, completed: Completed, *, most: int) -> Tensor:
    """The hyper-parameters of every outcome after some steps uphill.  (m Q, k + 1)"""
    found = []
    for part in (completed.of(j) for j in range(len(table.outcomes))):
        assert part.hyper is not None
        found.append(climb(Pairs(_kernel(table), part.inputs, part.errors), part.targets, part.hyper, most=most))
    return torch.cat(found)


def _of_worlds(hyper: Tensor, worlds: Tensor, table: Table) -> Tensor:
    """The hyper-parameters of some worlds, for every outcome.  (m Q, k + 1) -> (m W, k + 1)"""
    by_outcome: Tensor = hyper.reshape(len(table.outcomes), -1, hyper.shape[-1])
    return by_outcome[:, worlds].flatten(0, 1)


def _by_world(values: Tensor, worlds: int) -> Tensor:
    """What is the same in all worlds, for each outcome and world.  (m, n) -> (m Q, n)"""
    return values.repeat_interleave(worlds, 0)


def _anchors(table: Table, generator: torch.Generator) -> Tensor:
    """Rows that speak for a large table: complete ones first, among them the best half by outcome.  (n,) bool"""
    luck = torch.rand(len(table), generator=generator, dtype=torch.float64)
    complete = ~table.gaps.any(-1)
    order = (2 * complete.double() + luck).argsort(descending=True)
    pool = order[: min(max(int(complete.sum()), ANCHORS), 2 * ANCHORS)]
    merit = table.outcomes.nan_to_num(nan=-math.inf).amax(0)  # good in any of several outcomes
    best = pool[merit[pool].argsort(descending=True)[: ANCHORS // 2]]
    chosen = torch.zeros(len(table), dtype=torch.bool)
    chosen[best] = True
    rest = order[~chosen[order]][: ANCHORS - len(best)]
    chosen[rest] = True
    return chosen


def draw_given(
    anchors: Completed, table: Table, rows: Tensor, generator: torch.Generator, *, anchored: Tensor | None = None
) -> Tensor:
    """Gappy rows drawn given completed ones, each on its own: all are independent given f's values there.

    One of many draws from the prior, picked by the density of the row's outcome.
    rows, anchored: (n,) bool -> (Q, R, d)
    """
    outcomes = table.outcomes[:, rows]  # (m, R)
    errors = torch.zeros_like(outcomes) if table.errors is None else torch.atleast_2d(table.errors)[:, rows]
    models = [_model(table, anchors.of(j)) for j in range(len(outcomes))]
    known = to_codes(table, table.inputs)
    everything = _priors(table, known, len(anchors.inputs))
    if anchored is not None:  # what the anchors say of straying holds for the other rows too
        codes = known.expand(len(anchors.inputs), -1, -1).clone()
        codes[:, anchored] = to_codes(table, anchors.inputs)
        everything = everything.learn_straying(_take(codes, everything), generator, anchored)
    priors = everything.select(rows)
    Q, R, g = len(anchors.inputs), len(priors.rows), priors.used.shape[1]
    e = torch.randn(Q, 2 * CANDIDATES, R, g, generator=generator, dtype=torch.float64)
    values = priors.draw(e)
    if priors.discrete.any():
        values = _snap(values, priors, table.space)
    luck = _gumbel(values.shape[:3], generator)
    if table.space.constraints:
        constrained = Constrained(table, priors)
        values[:, 0] = constrained.put_right(values[:, 0])  # so that one of them can be
        values, weights = constrained.follow(values, priors)
        weights[:, 0] = weights[:, 0].clamp_min(-1e9)
        luck = luck + weights
    codes = known[rows].expand(Q, 2 * CANDIDATES, -1, -1).clone()  # (Q, S, R, p)
    row, slot = priors.used.nonzero().unbind(-1)
    codes[:, :, row, priors.parameter[row, slot]] = values[:, :, row, slot]
    drawn = []
    for part in range(0, R, BLOCK):
        block = codes[:, :, part : part + BLOCK]
        x = from_codes(table, block)  # (Q, S, B, d)
        weight = x.new_zeros(x.shape[:3])
        for j, model in enumerate(models):
            with torch.no_grad():
                mean, variance = (moment.reshape(x.shape[:3]) for moment in model.moments(x.flatten(1, 2)))
            y, error = (values[j, part : part + BLOCK] for values in (outcomes, errors))
            variance = variance + model.hyper[:, -1].exp()[:, None, None] + error
            weight -= 0.5 * ((y - mean).square() / variance + variance.log()).nan_to_num()  # 0 where it is lacking
        chosen = (weight + luck[:, :, part : part + BLOCK]).argmax(1)  # (Q, B)
        drawn.append(x[torch.arange(Q)[:, None], chosen, torch.arange(x.shape[2])])
    return torch.cat(drawn, 1)


def _cold_start(table: Table, known: Tensor, priors: GapPriors, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """From nothing: complete rows first, the others added one by one, then rounds of learning and sweeping."""
    worlds = len(priors.cdf)
    codes = _guess(known.expand(worlds, -1, -1), priors, table)
    complete = _complete(table, priors)
    counts = (~table.outcomes[:, complete].isnan()).sum(-1)
    learnable = complete if int(counts.min()) >= ENOUGH * len(table.space) else torch.ones_like(complete)
    part = table.select(learnable)
    hyper = _search(part, Completed(from_codes(table, codes[:1, learnable]), part.targets, errors=part.errors))
    hyper = _of_worlds(hyper, torch.zeros(worlds, dtype=torch.long), table)
    rounds = COLD_ROUNDS if learnable is complete else COLD_ROUNDS + MORE_ROUNDS
    learning = range(0 if learnable is complete else rounds)
    return codes, _cooled(table, codes, priors, hyper, generator, rounds=rounds, cold=COLD_ROUNDS, learning=learning)


def _complete(table: Table, priors: GapPriors) -> Tensor:
    """Which rows have no gap to draw.  (n,) bool"""
    complete = torch.ones(len(table), dtype=torch.bool)
    complete[priors.rows] = False
    return complete


def _cooled(
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
    P = _inverse(table, _tempered(hyper, 1.0), from_codes(table, codes), only=_complete(table, priors))
    _, priors = sweep(codes, P, table, priors, _tempered(hyper, 1.0), generator, step=1.0)
    hyper = _rounds(table, codes, priors, hyper, generator, count=rounds, cold=cold, learning=learning)
    inputs = from_codes(table, codes)
    return _climb(table, Completed(inputs, table.targets, hyper=hyper, errors=table.errors), most=6)


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
            hyper = _climb(table, Completed(inputs, table.targets, hyper=hyper, errors=table.errors), most=8)
        used = _tempered(hyper, max(1 - (turn + 1) / cold, 0.0))
        _, priors = sweep(codes, _inverse(table, used, inputs), table, priors, used, generator)
    return hyper


def _tempered(hyper: Tensor, warmth: float = 0.0) -> Tensor:
    """With the noise raised towards WARM_NOISE: first guesses of many gaps contradict each other, and an exact process
    would be torn between them. Never below LEAST_NOISE of the kernel's scale: an inverse that is updated many times
    keeps no more digits than that."""
    noise = torch.maximum(hyper[:, -1:], hyper[:, :1] + math.log(LEAST_NOISE))
    return torch.cat([hyper[:, :-1], noise + warmth * (math.log(WARM_NOISE) - noise).clamp_min(0)], -1)


def _warm_start(
    table: Table, known: Tensor, priors: GapPriors, generator: torch.Generator, before: Tensor, hyper: Tensor | None
) -> tuple[Tensor, Tensor]:
    """From the worlds before, NaN in rows they did not have: these are drawn first, then everything is swept again.

    Without hyper-parameters these are learned from one of the worlds, and there are some rounds of learning more.
    """
    pick = torch.arange(len(priors.cdf)) % len(before)
    codes = to_codes(table, before[pick])
    fresh = codes.isnan().any(-1).any(0) & known.isnan().any(-1)
    codes = _guess(torch.where(known.isnan(), codes, known), priors, table)
    rounds = 0
    if hyper is None:
        rounds, part = WARM_ROUNDS, table.select(~fresh)
        hyper = _search(part, Completed(from_codes(table, codes[:1, ~fresh]), part.targets, errors=part.errors))
        pick = torch.zeros_like(pick)
    hyper = _of_worlds(hyper, pick, table)
    used = _tempered(hyper)
    P = _inverse(table, used, from_codes(table, codes), only=~fresh)
    priors = priors.learn_straying(_take(codes, priors), generator, ~fresh)
    if fresh.any():
        P, priors = sweep(codes, P, table, priors, used, generator, step=1.0, only=fresh)
    _, priors = sweep(codes, P, table, priors, used, generator)
    hyper = _rounds(table, codes, priors, hyper, generator, count=rounds, cold=1, learning=range(rounds))
    return codes, hyper


def sweep(
    codes: Tensor,
    P: Tensor,
    table: Table,
    priors: GapPriors,
    hyper: Tensor,
    generator: torch.Generator,
    *,
    step: float | None = None,
    only: Tensor | None = None,
) -> tuple[Tensor, GapPriors]:
    """One pass over the rows with gaps, changing `codes` and P in place; then the straying weights are drawn anew.

    step: how far the candidates go, the same for all rows; by default a step of its own for each row.
    """
    Q, outcomes = len(codes), table.outcomes
    several = len(outcomes) > 1
    has = (~outcomes.isnan()).T.tolist()  # by row and outcome
    y = _by_world(outcomes.nan_to_num(), Q)  # (m Q, n)
    values = _take(codes, priors)
    steps = _steps(priors, generator) if step is None else torch.full(priors.rows.shape, step, dtype=torch.float64)
    candidates = _candidates(values, priors, generator, steps, table.space)  # (Q, S, R, g)
    luck = _gumbel(candidates.shape[:3], generator)
    if table.space.constraints:
        candidates, weights = Constrained(table, priors).follow(candidates, priors)
        candidates[:, 0], weights[:, 0] = values, weights[:, 0].clamp_min(-1e9)  # the current ones are always there
        luck = luck + weights
    metric = _Metric(hyper, table.space)
    noise = hyper[:, -1:].exp().expand(-1, len(table))  # (m Q, n)
    if table.errors is not None:
        noise = noise + _by_world(torch.atleast_2d(table.errors), Q)
    every = torch.arange(Q)
    worlds = codes.repeat(len(outcomes), 1, 1) if several else codes  # (m Q, n, p), those of each outcome's process
    order = torch.randperm(len(priors.rows), generator=generator).tolist()
    rows, widths = priors.rows.tolist(), priors.used.sum(-1).tolist()
    wanted = only.tolist() if only is not None else None
    for r in order:
        i, g = rows[r], widths[r]
        if wanted is not None and not wanted[i]:
            continue
        slots = priors.parameter[r, :g]
        tried = candidates[:, :, r, :g]
        k = metric.candidates(worlds, i, slots, tried.repeat(len(outcomes), 1, 1) if several else tried)  # (m Q, S, n)
        column = P[:, :, i]
        own = column[:, i]
        inverse = torch.where(own > 0, 1 / own, 0.0)  # a row not yet among them has nothing to take out
        kP = k @ P
        along = kP[:, :, i]  # (m Q, S)
        mean = (kP @ y.unsqueeze(-1)).squeeze(-1) - along * (inverse * (column * y).sum(-1))[:, None]
        explained = k.mul_(kP).sum(-1) - along.square() * inverse[:, None]
        own_noise = noise[:, i, None]
        variance = (metric.scale[:, None] + own_noise - explained).clamp_min(0.1 * own_noise)
        weight = -0.5 * ((y[:, i, None] - mean).square() / variance + variance.log())
        if several or not all(has[i]):
            known = torch.tensor(has[i])
            weight = (weight.unflatten(0, (len(outcomes), Q)) * known[:, None, None]).sum(0)  # (Q, S)
        chosen = (weight + luck[:, :, r]).argmax(-1)
        codes[:, i, slots] = candidates[every, chosen, r, :g]
        if several:
            worlds[:, i, slots] = codes[:, i, slots].repeat(len(outcomes), 1)
            chosen = chosen.repeat(len(outcomes))
        all_worlds = torch.arange(len(P))
        v = kP[all_worlds, chosen] - column * (inverse * along[all_worlds, chosen])[:, None]
        v[:, i] = -1.0
        gain = 1 / variance[all_worlds, chosen]
        if not all(has[i]):  # a row without this outcome stays outside
            gain = torch.where(torch.tensor(has[i]).repeat_interleave(Q), gain, 0.0)
        left = torch.stack([-inverse[:, None] * column, gain[:, None] * v], -1)
        P.baddbmm_(left, torch.stack([column.clone(), v], 1))
    return P, priors.learn_straying(_take(codes, priors), generator)


class _Metric:
    """The additive kernel between a row's candidates and all rows, computing only what the gaps change."""

    def __init__(self, hyper: Tensor, space: Space) -> None:
        self.parameters = len(space)
        self.scale, self.weight = hyper[:, 0].exp(), torch.sigmoid(hyper[:, 1])
        self.alone, self.together = (math.sqrt(5) * torch.exp(-hyper[:, 2:-1])).chunk(2, -1)  # (Q, p)
        self.categories = torch.tensor([isinstance(p, Categorical) for p in space.parameters.values()])

    def _distances(self, differences: Tensor, parameters: Tensor) -> Tensor:
        """(..., p) differences of codes as distances."""
        if not self.categories.any():
            return differences.abs_()
        return torch.where(self.categories[parameters], (differences != 0).double(), differences.abs())

    def candidates(self, codes: Tensor, i: int, slots: Tensor, values: Tensor) -> Tensor:
        """codes: (Q, n, p), values: (Q, S, g) of row i's gaps -> (Q, S, n)"""
        rest = torch.ones(self.parameters, dtype=torch.bool)
        rest[slots] = False
        others = rest.nonzero()[:, 0]
        known = self._distances(codes[:, :, others] - codes[:, i, None, others], others)  # (Q, n, p - g)
        joint = (known * self.together[:, None, others]).square_().sum(-1)  # (Q, n)
        additive = matern(known * self.alone[:, None, others]).sum(-1)
        moved = self._distances(values.unsqueeze(2) - codes[:, None, :, slots], slots)  # (Q, S, n, g)
        joint = _total((moved * self.together[:, None, None, slots]).square_()).add_(joint[:, None])
        additive = _total(matern(moved.mul_(self.alone[:, None, None, slots]))).add_(additive[:, None])
        weight = self.weight[:, None, None]
        additive.mul_(weight / self.parameters).add_(matern(joint.sqrt_()).mul_(1 - weight))
        return additive.mul_(self.scale[:, None, None])


def _total(values: Tensor) -> Tensor:
    """The sum over the last dimension, which most often has one element.  (..., g) -> (...)"""
    return values.squeeze(-1) if values.shape[-1] == 1 else values.sum(-1)


def _steps(priors: GapPriors, generator: torch.Generator) -> Tensor:
    """For each row at random a fresh draw or a small step of any size; separate values know no small steps."""
    low, high = map(math.log, NEAR)
    fresh, size = torch.rand(2, len(priors.rows), generator=generator, dtype=torch.float64)
    separate = (priors.discrete & priors.used).any(-1)
    return torch.where((fresh < 0.5) | separate, 1.0, torch.exp(low + size * (high - low)))


def _candidates(values: Tensor, priors: GapPriors, generator: torch.Generator, steps: Tensor, space: Space) -> Tensor:
    """The current values and others exchangeable with them under the prior.  (Q, R, g), (R,) -> (Q, S, R, g)

    A common center one step from the current value, and the others one step from the center.
    """
    step = steps[:, None]
    keep = (1 - step.square()).sqrt()
    center = keep * priors.locate(values) + step * torch.randn(values.shape, generator=generator, dtype=torch.float64)
    size = (len(values), CANDIDATES, *values.shape[1:])
    drawn = priors.draw(keep * center[:, None] + step * torch.randn(size, generator=generator, dtype=torch.float64))
    if priors.discrete.any():
        drawn = _snap(drawn, priors, space)
    drawn[:, 0] = values
    return drawn


def _snap(values: Tensor, priors: GapPriors, space: Space) -> Tensor:
    """Slots' values at the nearest admissible ones.  (..., R, g)"""
    snapped = values.clone()
    for j, parameter in enumerate(space.parameters.values()):
        mine = priors.used & (priors.parameter == j)
        if parameter.levels is not None and mine.any():
            part = values[..., mine].numpy()
            fixed = np.round(part) if isinstance(parameter, Categorical) else parameter.snap(part[..., None])[..., 0]
            snapped[..., mine] = torch.from_numpy(np.ascontiguousarray(fixed))
    return snapped


def _take(codes: Tensor, priors: GapPriors) -> Tensor:
    """The gaps' values, slot by slot.  (Q, n, p) -> (Q, R, g)"""
    return codes[:, priors.rows[:, None], priors.parameter]


def _put(codes: Tensor, priors: GapPriors, values: Tensor, space: Space) -> None:
    """Write slots' values into the worlds."""
    values = _snap(values, priors, space)
    row, slot = priors.used.nonzero().unbind(-1)
    codes[:, priors.rows[row], priors.parameter[row, slot]] = values[:, row, slot]


def _guess(codes: Tensor, priors: GapPriors, table: Table) -> Tensor:
    """With the middle of its prior where a gap has no value yet."""
    filled = codes.clone()
    middle = priors.draw(torch.zeros(len(codes), 1, *priors.used.shape, dtype=torch.float64))[:, 0]
    if table.space.constraints:
        middle = Constrained(table, priors).put_right(_snap(middle, priors, table.space))
    _put(filled, priors, middle, table.space)
    return torch.where(codes.isnan(), filled, codes)


def _gumbel(shape: Iterable[int], generator: torch.Generator) -> Tensor:
    """Gumbel numbers: the largest of log weights plus these is a draw with those weights."""
    return -torch.empty(tuple(shape), dtype=torch.float64).exponential_(generator=generator).log()


def _inverse(table: Table, hyper: Tensor, inputs: Tensor, *, only: Tensor | None = None) -> Tensor:
    """K^-1 over some of the rows, for each outcome those that have it; zero elsewhere.  (m Q, n, n)"""
    kernel, n = _kernel(table), inputs.shape[1]
    errors = None if table.errors is None else torch.atleast_2d(table.errors)
    found = []
    for j, (own, has) in enumerate(zip(hyper.chunk(len(table.outcomes)), ~table.outcomes.isnan(), strict=True)):
        rows = has if only is None else has & only
        whole = bool(rows.all())
        part = inputs if whole else inputs[:, rows]
        with torch.no_grad():
            K = cross(kernel, own[:, :-1], part, part)
        K.diagonal(dim1=-2, dim2=-1).add_(own[:, -1:].exp() if errors is None else own[:, -1:].exp() + errors[j, rows])
        inverse = torch.cholesky_inverse(robust_cholesky(K))
        if not whole:
            index = rows.nonzero()[:, 0]
            inverse, part = inputs.new_zeros(len(inputs), n, n), inverse
            inverse[:, index[:, None], index] = part
        found.append(inverse)
    return torch.cat(found) if len(found) > 1 else found[0]
