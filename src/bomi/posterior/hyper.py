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
from bomi.impute.table import Table
from bomi.model import fitting
from bomi.model.fitting import Pairs
from bomi.posterior.sampler import kernel_of

LEAST_NOISE = 1e-5  # of the kernel's scale
WARM_NOISE = 0.1  # variance from which the noise is lowered while chains begin


def draw_hyper(table: Table, inputs: Tensor, hyper: Tensor, rng: torch.Generator, *, count: int = 1) -> Tensor:
    """Drawn on by `count` moves in every world.

    Those of a table of more rows than can be swept were learned from its anchors, and stay.
    """
    kernel = kernel_of(table)
    found = []
    for part in _each(table, explained(table, inputs, hyper)):
        if part.inputs.shape[1] > table.swept:
            found.append(part.hyper)
            continue
        pairs = Pairs(kernel, part.located, part.errors)
        targets = part.targets if part.drawn is None else part.drawn
        found.append(fitting.draw_hyper(pairs, targets, part.hyper, rng, count=count))
    return torch.cat(found)


def start_hyper(table: Table, inputs: Tensor, worlds: int, rng: torch.Generator) -> Tensor:
    """From nothing, for so many worlds, each a draw of its own.  inputs: (1, n, d)"""
    kernel = kernel_of(table)
    completed = Completed(inputs, table.targets, errors=table.errors, conditions=table.conditions)
    return torch.cat(
        [
            fitting.draw_starts(Pairs(kernel, part.located, part.errors), part.targets, worlds, rng)
            for part in _each(table, completed.to(_device(table)))
        ]
    )


def explained(table: Table, inputs: Tensor, hyper: Tensor) -> Explained:
    """The worlds with what explains them, on the table's own scale."""
    return Explained(
        inputs, table.targets, errors=table.errors, conditions=table.conditions, hyper=hyper, drawn=table.drawn
    )


Worlds = TypeVar("Worlds", bound=Completed)


def _each(table: Table, completed: Worlds) -> Iterator[Worlds]:
    return (completed.of(j) for j in range(len(table.outcomes)))


def _device(table: Table) -> str:
    return table.device if table.large else "cpu"


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
