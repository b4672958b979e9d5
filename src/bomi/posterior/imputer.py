"""Our default: worlds drawn from the posterior of the gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bomi.errors import MethodError
from bomi.impute.completed import Completed
from bomi.impute.table import LARGE, Table
from bomi.model.kernels import cross
from bomi.posterior.anchors import choose_anchors, draw_given, model_of
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.sampler import by_world, guess, inverse_of, kernel_of, prior_of, sweep, take
from bomi.posterior.starts import SLOW_ROUNDS, anneal, cold_start, of_worlds, search_hyper, tempered, warm_start

WORLDS = (5, 20)  # at least and at most
ROWS_OF_WORLDS = 1000  # in all worlds together, between these
SAMPLES = 200  # draws of each gap, where its distribution is asked for


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
        if len(table) > LARGE:
            return self._by_anchors(table, generator, warm)
        known = to_codes(table, table.inputs)
        priors = prior_of(table, known, self._count(table))
        if warm is None:
            codes, hyper = cold_start(table, known, priors, generator)
        else:
            codes, hyper = warm_start(table, known, priors, generator, warm.inputs, warm.hyper)
        return Completed(from_codes(table, codes), table.targets, hyper=hyper, errors=table.errors)

    def another(self, table: Table, generator: torch.Generator) -> Completed:
        """Another reading of a table of moderate size: parameters act one by one, and worlds are drawn slowly.

        Worlds that go on from row to row can settle on a reading in which wrong gaps and short lengths bear each other
        out. Gaps that add up are found only by a process that is additive from the start, given time.
        """
        known = to_codes(table, table.inputs)
        worlds = min(self._count(table), WORLDS[0])
        priors = prior_of(table, known, worlds)
        codes = guess(known.expand(worlds, -1, -1), priors, table)
        hyper = kernel_of(table).additive().repeat(worlds * len(table.outcomes), 1)
        learning, cold = range(SLOW_ROUNDS // 2, SLOW_ROUNDS, 2), SLOW_ROUNDS * 4 // 5
        hyper = anneal(table, codes, priors, hyper, generator, rounds=SLOW_ROUNDS, cold=cold, learning=learning)
        return Completed(from_codes(table, codes), table.targets, hyper=hyper, errors=table.errors)

    def _count(self, table: Table) -> int:
        """How many worlds a table gets."""
        low, high = WORLDS
        return self.worlds or min(max(ROWS_OF_WORLDS // len(table), low), high)

    def _by_anchors(self, table: Table, generator: torch.Generator, warm: Completed | None) -> Completed:
        """Of a large table, some rows are worlds as ever; the others are drawn given these, each on its own."""
        chosen = choose_anchors(table, generator)
        part = None if warm is None else replace(warm, inputs=warm.inputs[:, chosen])
        anchors = self(table.select(chosen), generator, part)
        hyper = anchors.hyper
        if hyper is None:  # the anchors have no gaps: one world, and its hyper-parameters are still to be learned
            hyper = search_hyper(table, anchors)
        count = self._count(table)
        worlds = torch.arange(count) % len(anchors.inputs)
        anchors = replace(anchors, inputs=anchors.inputs[worlds], hyper=of_worlds(hyper, worlds, table))
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
        if len(table) > LARGE:
            drawn = replace(self, worlds=SAMPLES // 10)._by_anchors(table, generator, completed)
            with torch.no_grad():
                return drawn.inputs, torch.stack(
                    [model_of(table, drawn.of(j)).moments(points)[0] for j in range(outcomes)]
                )
        hyper, kernel = tempered(completed.hyper), kernel_of(table)
        inputs, expected = [], []
        codes = to_codes(table, completed.inputs)
        priors = prior_of(table, to_codes(table, table.inputs), len(codes))
        priors = priors.learn_straying(take(codes, priors), generator)
        y = by_world(table.outcomes.nan_to_num(), len(codes)).unsqueeze(-1)
        for turn in range(math.ceil(SAMPLES / len(codes))):
            if turn % 10 == 0:
                P = inverse_of(table, hyper, from_codes(table, codes))
            P, priors = sweep(codes, P, table, priors, hyper, generator)
            world = from_codes(table, codes)
            k = cross(kernel, hyper[:, :-1], world.repeat(outcomes, 1, 1), points.expand(len(hyper), -1, -1))
            inputs.append(world)
            expected.append((k.mT @ (P @ y)).squeeze(-1).unflatten(0, (outcomes, -1)))  # (m, Q, l)
        return torch.cat(inputs), torch.cat(expected, 1)
