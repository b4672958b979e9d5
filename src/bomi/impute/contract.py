"""The contract of every way of dealing with gaps: a small state machine that yields completed worlds.

    state = imputer.init(table, rng)            from nothing
    state = imputer.step(state, table, rng)     the table has changed: go on
    imputer.completed(state)                    what the surrogate gets
    imputer.draws(state, count, rng)            many worlds, for the distribution of each gap
    imputer.blind(state, worlds, rng)           their gaps without the outcomes, to see whether these can be predicted

A state is opaque and immutable. It holds whatever a method remembers from one table to the next: the outcome transform,
chains, hyper-parameters. Rows are known by their keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, TypeVar

import torch
from torch import Tensor

from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.impute.transform import Transform, min_max

State = TypeVar("State")


class Imputer(Protocol[State]):
    """A way of dealing with gaps."""

    @property
    def yields(self) -> type[Completed]:
        """The kind of worlds it makes: a surrogate that needs more than completed inputs asks for it."""

    def init(self, table: Table, rng: torch.Generator) -> State:
        """The state after a table, from nothing."""

    def step(self, state: State, table: Table, rng: torch.Generator) -> State:
        """The state after a table that continues the one before."""

    def completed(self, state: State) -> Completed:
        """The completed worlds."""

    def draws(self, state: State, count: int, rng: torch.Generator) -> Completed:
        """About `count` worlds, drawn for the distribution of each gap; an imputer that draws none gives its own."""

    def blind(self, state: State, worlds: Completed, rng: torch.Generator) -> Tensor:
        """The worlds' inputs with every gap drawn anew, as if the outcome of its own row were not known.  (Q, n, d)"""


class Filler(Protocol):
    """A pure function from a table to completed worlds."""

    yields: ClassVar[type[Completed]]

    def __call__(self, table: Table, rng: torch.Generator, /) -> Completed:
        """The completed worlds of a table whose outcomes are on the scale of the model."""


@dataclass(frozen=True)
class Stateless:
    """A pure function as an imputer: its state is the worlds that it made last."""

    fill: Filler
    transform: Callable[[Tensor], Transform] = min_max

    @property
    def yields(self) -> type[Completed]:
        """The kind of worlds it makes."""
        return self.fill.yields

    def init(self, table: Table, rng: torch.Generator) -> Completed:
        """Every outcome on its scale, then every gap filled."""
        transforms = tuple(self.transform(outcomes[~outcomes.isnan()]) for outcomes in table.outcomes)
        scaled = table.transformed(transforms)
        return replace(self.fill(scaled, rng), transforms=transforms, aims=scaled.aims)

    def step(self, state: Completed, table: Table, rng: torch.Generator) -> Completed:
        """Again from nothing."""
        return self.init(table, rng)

    def completed(self, state: Completed) -> Completed:
        """The state itself."""
        return state

    def draws(self, state: Completed, count: int, rng: torch.Generator) -> Completed:
        """There are no others."""
        return state

    def blind(self, state: Completed, worlds: Completed, rng: torch.Generator) -> Tensor:
        """As they are: a function of the table that fills a gap by the other columns."""
        return worlds.inputs
