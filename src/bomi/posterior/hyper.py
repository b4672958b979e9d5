"""The hyper-parameters of every world's processes, while its gaps are drawn.

hyper  (m Q, k + 1)   log hyper-parameters, the log noise last: of the first outcome in all worlds, then the second
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeVar

import torch
from torch import Tensor

from bomi.impute.completed import Completed, Explained
from bomi.impute.table import LARGE, Table
from bomi.model import fitting
from bomi.model.fitting import Pairs
from bomi.posterior.sampler import kernel_of

LEAST_NOISE = 1e-5  # of the kernel's scale
WARM_NOISE = 0.1  # variance from which the noise is lowered while chains begin
OTHER_MODES_EVERY = 5  # rows, between proposals of other modes
IN_TURNS = 64  # rows, above which the worlds take turns in learning


def search_hyper(table: Table, inputs: Tensor, *, steps: int = 20, keep: int = 3) -> Tensor:
    """From nothing: the best of a grid, and L-BFGS from there.  inputs: (Q, n, d)"""
    kernel = kernel_of(table)
    return torch.cat(
        [
            fitting.search(kernel, part.inputs, part.targets, most=steps, keep=keep, errors=part.errors)
            for part in _each(table, Completed(inputs, table.targets, errors=table.errors).to(_device(table)))
        ]
    )


def improve_hyper(table: Table, inputs: Tensor, hyper: Tensor, *, steps: int) -> Tensor:
    """After some steps of L-BFGS."""
    kernel = kernel_of(table)
    return torch.cat(
        [
            fitting.maximize_evidence(Pairs(kernel, part.inputs, part.errors), part.targets, part.hyper, most=steps)
            for part in _each(table, explained(table, inputs, hyper))
        ]
    )


def relearn_hyper(table: Table, inputs: Tensor, hyper: Tensor) -> Tensor:
    """A few steps better than before, in a large table for one world at a time, each in its turn.

    Every world also tries the hyper-parameters of another, and now and then another mode of its own. Those of a table
    of more rows than can be swept were learned from its anchors, and stay.
    """
    kernel = kernel_of(table)
    return torch.cat(
        [
            _relearned(Pairs(kernel, part.inputs, part.errors), part) if part.inputs.shape[1] <= LARGE else part.hyper
            for part in _each(table, explained(table, inputs, hyper))
        ]
    )


def _relearned(pairs: Pairs, part: Explained) -> Tensor:
    """Those of one outcome.  (Q, k + 1)"""
    worlds, rows = part.inputs.shape[:2]
    visit = rows % OTHER_MODES_EVERY == 0
    place = rows // OTHER_MODES_EVERY if visit else rows  # so that every world has its turn in both
    turn = torch.arange(worlds) if rows <= IN_TURNS else torch.tensor([place % worlds])
    rng = torch.Generator().manual_seed(rows)
    hyper = part.hyper
    if worlds > 1:
        hyper = fitting.exchange(pairs, part.targets, hyper, rng)
    own = hyper[turn]
    if visit:
        own = fitting.propose_mode(pairs, part.targets, own, turn, rng)
    return hyper.index_copy(0, turn, fitting.maximize_evidence(pairs, part.targets, own, most=10, worlds=turn))


def explained(table: Table, inputs: Tensor, hyper: Tensor) -> Explained:
    """The worlds with what explains them, on the table's own scale."""
    return Explained(inputs, table.targets, errors=table.errors, hyper=hyper)


Worlds = TypeVar("Worlds", bound=Completed)


def _each(table: Table, completed: Worlds) -> Iterator[Worlds]:
    return (completed.of(j) for j in range(len(table.outcomes)))


def _device(table: Table) -> str:
    return table.device if len(table) > LARGE else "cpu"


def of_worlds(hyper: Tensor, worlds: Tensor, table: Table) -> Tensor:
    """The hyper-parameters of some worlds, for every outcome.  (m Q, k + 1) -> (m W, k + 1)"""
    by_outcome: Tensor = hyper.reshape(len(table.outcomes), -1, hyper.shape[-1])
    return by_outcome[:, worlds].flatten(0, 1)


def temper(hyper: Tensor, warmth: float = 0.0) -> Tensor:
    """With the noise raised towards WARM_NOISE: first guesses of many gaps contradict each other, and an exact process
    would be torn between them. Never below LEAST_NOISE of the kernel's scale: an inverse that is updated many times
    keeps no more digits than that."""
    noise = torch.maximum(hyper[:, -1:], hyper[:, :1] + math.log(LEAST_NOISE))
    return torch.cat([hyper[:, :-1], noise + warmth * (math.log(WARM_NOISE) - noise).clamp_min(0)], -1)
