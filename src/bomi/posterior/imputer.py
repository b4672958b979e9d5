"""Our default: worlds drawn from the posterior of the gaps, each with the process that explains it."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from bomi.errors import MethodError
from bomi.impute.completed import Completed, Explained
from bomi.impute.table import Table
from bomi.impute.transform import Transform
from bomi.posterior import policy
from bomi.posterior.anchors import choose_anchors, draw_given
from bomi.posterior.censored import draw_censored
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.exchange import exchange
from bomi.posterior.hyper import draw_hyper, explained, of_worlds, start_hyper, temper
from bomi.posterior.outliers import draw_outliers, suspect_the_farthest, too_many
from bomi.posterior.sampler import by_world, guess, inverse_of, prior_of, sweep, take
from bomi.posterior.starts import ENOUGH, cold_start, warm_start

WORLDS = (5, 20)  # at least and at most
ROWS_OF_WORLDS = 1000  # in all worlds together, between these
DRAWS_OF_LARGE = 20  # at most, of the gaps of a large table
SWEPT = 4_000_000  # gaps times rows, in all sweeps of these draws
FIRST_MOVES = 4  # of hyper-parameters, from nothing
ROWS_OF_EXCHANGES = 200  # in all exchanges together, from nothing
MOVES_ALONE = 2  # of those that know of the complete rows alone, before each exchange
LEAST_ROWS = 2  # with an outcome, to learn anything from

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chains:
    """Where the sampler is: the state of `Posterior`."""

    table: Table  # its outcomes on the scale of the transforms
    transforms: tuple[Transform, ...]  # of each outcome
    inputs: Tensor  # (Q, n, d)
    hyper: Tensor | None  # (m Q, k + 1); None while there are too few rows

    def continued(self, table: Table) -> tuple[Tensor, Table]:
        """The inputs of the worlds for another state of the table, NaN in the rows that are new, and the table with
        the outcomes that they have drawn, as these would have been told.  (Q, n, d)"""
        place = {key: i for i, key in enumerate(self.table.keys)}
        inputs = torch.full((len(self.inputs), *table.inputs.shape), torch.nan, dtype=torch.float64)
        pairs = [(i, place[key]) for i, key in enumerate(table.keys) if key in place]
        new, old = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).unbind(-1)
        inputs[:, new] = self.inputs[:, old]
        if self.table.drawn is None or table.large:
            return inputs, table
        before = self.table.drawn[:, old]
        same = before == by_world(self.table.outcomes, len(self.inputs))[:, old]
        each = zip(self.transforms, before.chunk(len(self.transforms)), strict=True)
        told = torch.cat([transform.to_outcomes(drawn) for transform, drawn in each])
        drawn = by_world(table.outcomes, len(self.inputs))
        drawn[:, new] = torch.where(same, drawn[:, new], told)
        return inputs, replace(table, drawn=drawn)


@dataclass(frozen=True)
class Posterior:
    """Q worlds drawn from the posterior of the gaps, each with hyper-parameters of its own.

    By default 5 worlds, and up to 20 of a table of fewer than 200 rows: the price of a suggestion stays the same, and
    where little is known the luck of a few draws would decide.
    """

    worlds: int | None = None

    yields: ClassVar[type[Completed]] = Explained

    def __post_init__(self) -> None:
        if self.worlds is not None and (not isinstance(self.worlds, int) or self.worlds < 1):
            raise MethodError(f"`worlds` must be a whole number from 1, but got {self.worlds!r}")

    # --- the contract ----------------------------------------------------------------------------------------------

    def init(self, table: Table, rng: torch.Generator) -> Chains:
        """From nothing: a transform by the complete rows. Where these are few, another by the worlds drawn; and where
        other outcomes are wrong than those suspected at first, once more without these."""
        begun = table if table.large else suspect_the_farthest(table)
        chains = self._draw(begun, policy.choose_transforms(begun), rng)
        if not _enough(table):
            return chains
        complete = int((~table.gaps.any(-1)).sum())
        if complete < min(len(table), ENOUGH * len(table.space)):
            better = policy.choose_transforms(begun, chains.inputs)
            if not policy.alike(better, chains.transforms):
                chains = self._draw(begun, better, rng, chains.inputs)
        chains = self._learned(chains, rng)
        worlds = chains.inputs
        if not chains.table.wrong.equal(begun.wrong):
            worlds, table = chains.continued(table)
            chains = self._learned(self._draw(table, policy.choose_transforms(table, worlds), rng, worlds), rng)
        if too_many(chains.table):
            logger.info("%d rows: too many outcomes would be called wrong; all of them count as right", len(table))
            table = replace(table, drawn=None)
            chains = self._draw(table, policy.choose_transforms(table, worlds), rng, worlds)
            chains = self._learned(chains, rng, judged=False)
        return self._exchanged(chains, rng)

    def step(self, state: Chains, table: Table, rng: torch.Generator) -> Chains:
        """A warm start: new rows are drawn first, then all are swept, then the processes are learned a little more.

        Without gaps, transforms are chosen anew every few rows. Gaps that were drawn on one scale bear it out, and the
        noise that they were drawn under, so where there are some, now and then everything begins from nothing.
        """
        gaps, counts = bool(table.gaps.any()), (len(table), len(state.table))
        if state.hyper is None:
            return self.init(table, rng)
        if gaps and policy.restart_is_due(*counts):
            logger.info("restart after %d rows: the table has grown by a fifth", len(table))
            return self.init(table, rng)
        worlds, table = state.continued(table)
        if not gaps and policy.choice_is_due(*counts):
            transforms = policy.choose_transforms(table)
        else:
            transforms = policy.same_transforms(table, state.transforms)
        hyper: Tensor | None = state.hyper
        if not policy.alike(transforms, state.transforms):
            hyper = None  # those of another warp are useless
            logger.info("after %d rows outcomes are warped by %s", len(table), [one.warp for one in transforms])
        chains = self._learned(self._draw(table, transforms, rng, worlds, hyper), rng)
        if too_many(chains.table):
            logger.info("restart after %d rows: too many outcomes were called wrong", len(table))
            return self.init(replace(table, drawn=None), rng)
        return chains

    def completed(self, state: Chains) -> Completed:
        """The worlds with their processes; without these while there are too few rows."""
        scaled = state.table
        if state.hyper is None:
            plain = Completed(state.inputs, scaled.targets, errors=scaled.errors)
            return replace(plain, transforms=state.transforms, aims=scaled.aims)
        found, gappy = explained(scaled, state.inputs, state.hyper), scaled.gaps.any(-1)
        return replace(found, transforms=state.transforms, aims=scaled.aims, complete=~gappy if gappy.any() else None)

    def draws(self, state: Chains, count: int, rng: torch.Generator) -> Completed:
        """The chains run on, their processes fixed."""
        table, found = state.table, self.completed(state)
        if state.hyper is None or not isinstance(found, Explained) or not table.gaps.any():
            return found
        if table.large:
            several = replace(self, worlds=min(count, DRAWS_OF_LARGE))
            inputs, hyper = several._by_anchors(table, rng, state.inputs, state.hyper)
            return replace(found, inputs=inputs, hyper=hyper)
        hyper, worlds = temper(state.hyper), len(state.inputs)
        codes = to_codes(table, state.inputs)
        priors = prior_of(table, to_codes(table, table.inputs), worlds)
        priors = priors.learn(take(codes, priors), rng)
        turns, drawn = math.ceil(count / worlds), []
        work = int(table.gaps.sum()) * len(table) * len(table.outcomes)
        turns = min(turns, max(SWEPT // work, math.ceil(DRAWS_OF_LARGE / worlds)))
        for turn in range(turns):
            if turn % 10 == 0:  # an inverse that is updated many times loses digits
                P = inverse_of(table, hyper, from_codes(table, codes))
            P, priors = sweep(codes, P, table, priors, hyper, rng)
            drawn.append(from_codes(table, codes))
        each = found.select(torch.arange(worlds).repeat(turns))
        return replace(each, inputs=torch.cat(drawn), hyper=temper(each.hyper))

    def blind(self, state: Chains, worlds: Completed, rng: torch.Generator) -> Tensor:
        """Drawn from the gaps' priors, with the execution errors that these worlds have."""
        table = state.table
        if state.hyper is None or not table.gaps.any():
            return worlds.inputs
        known = to_codes(table, table.inputs)
        priors = prior_of(table, known, len(worlds.inputs))
        priors = priors.learn(take(to_codes(table, worlds.inputs), priors), rng)
        return from_codes(table, guess(known.expand(len(worlds.inputs), -1, -1), priors, table, rng))

    # --- its parts -------------------------------------------------------------------------------------------------

    def _draw(
        self,
        table: Table,
        transforms: Sequence[Transform],
        rng: torch.Generator,
        worlds: Tensor | None = None,
        hyper: Tensor | None = None,
    ) -> Chains:
        """The gaps drawn on the scale of the transforms, from worlds before if there are any."""
        scaled = table.transformed(transforms)
        if scaled.drawn is not None:
            before = len(scaled.drawn) // len(transforms)
            scaled = replace(scaled, drawn=of_worlds(scaled.drawn, torch.arange(self._count(table)) % before, table))
        inputs, hyper = self._fill(scaled, rng, worlds, hyper)
        return Chains(scaled, tuple(transforms), inputs, hyper)

    def _fill(
        self, table: Table, rng: torch.Generator, worlds: Tensor | None, hyper: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Completed inputs with the hyper-parameters so far, None if they are still to be learned.  (Q, n, d)"""
        if not table.gaps.any():
            each = torch.arange(self._count(table))
            if hyper is not None:
                hyper = of_worlds(hyper, each % (len(hyper) // len(table.outcomes)), table)
            return table.inputs.expand(len(each), -1, -1), hyper
        if table.large:
            return self._by_anchors(table, rng, worlds, hyper)
        known = to_codes(table, table.inputs)
        priors = prior_of(table, known, self._count(table))
        if worlds is None:
            codes, hyper = cold_start(table, known, priors, rng)
        else:
            codes, hyper = warm_start(table, known, priors, rng, worlds, hyper)
        return from_codes(table, codes), hyper

    def _by_anchors(
        self, table: Table, rng: torch.Generator, worlds: Tensor | None, hyper: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Some rows of a large table are drawn together, as in a small one; each of the others is drawn given these."""
        chosen = choose_anchors(table, rng)
        part = table.select(chosen)
        inputs, learned = self._fill(part, rng, None if worlds is None else worlds[:, chosen], hyper)
        if learned is None:  # the anchors have no gaps: one world, and its hyper-parameters are still to be learned
            learned = start_hyper(part, inputs[:1], len(inputs), rng)
        count = self._count(table)
        each = torch.arange(count) % len(inputs)
        anchors = explained(part, inputs[each], of_worlds(learned, each, table))
        filled = table.inputs.expand(count, -1, -1).clone()
        filled[:, chosen] = anchors.inputs
        gappy = table.gaps.any(-1) & ~chosen
        if gappy.any():
            before = None if worlds is None else worlds[torch.arange(count) % len(worlds)]
            filled[:, gappy] = draw_given(anchors, table, gappy, rng, anchored=chosen, before=before)
        return filled, anchors.hyper

    def _count(self, table: Table) -> int:
        """How many worlds a table gets."""
        if table.large and not table.gaps.any():
            return 1
        low, high = WORLDS
        return self.worlds or min(max(ROWS_OF_WORLDS // len(table), low), high)

    def _exchanged(self, chains: Chains, rng: torch.Generator) -> Chains:
        """With worlds that may have changed their explanation as a whole, by what the complete rows alone say."""
        table, complete = chains.table, ~chains.table.gaps.any(-1)
        part, worlds = table.select(complete), len(chains.inputs)
        if chains.hyper is None or table.large or table.leaders is not None or complete.all() or not _enough(part):
            return chains
        some, inputs, hyper = part.as_recorded, chains.inputs, chains.hyper
        alone = start_hyper(part.select(some), part.inputs[None, some], worlds, rng)
        for _ in range(max(ROWS_OF_EXCHANGES // len(table), 1)):
            alone = draw_hyper(part, part.inputs.expand(worlds, -1, -1), alone, rng, count=MOVES_ALONE)
            inputs, hyper, alone = exchange(table, inputs, hyper, alone, rng)
        return replace(chains, inputs=inputs, hyper=hyper)

    def _learned(self, chains: Chains, rng: torch.Generator, *, judged: bool = True) -> Chains:
        """With hyper-parameters learned, from nothing or a bit further, and which outcomes are wrong, if judged."""
        if not _enough(chains.table):
            return replace(chains, hyper=None)
        hyper, moves = chains.hyper, 1
        if hyper is None:
            some = chains.table.as_recorded
            if chains.table.large:
                some = some & choose_anchors(chains.table, rng)
            hyper = start_hyper(chains.table.select(some), chains.inputs[:1, some], len(chains.inputs), rng)
            moves = FIRST_MOVES
        table, inputs = chains.table, chains.inputs
        if table.large:
            return replace(chains, hyper=draw_hyper(table, inputs, hyper, rng, count=moves))
        for _ in range(moves):
            P = inverse_of(table, temper(hyper), inputs)
            if table.limits is not None:
                table = replace(table, drawn=draw_censored(table, P, rng))
            if judged:
                table = replace(table, drawn=draw_outliers(table, P, rng))
            hyper = draw_hyper(table, inputs, hyper, rng)
        return replace(chains, table=table, hyper=hyper)


def _enough(table: Table) -> bool:
    """Whether every outcome has as many rows as a process can learn from."""
    return int((~table.outcomes.isnan()).sum(-1).min()) >= LEAST_ROWS
