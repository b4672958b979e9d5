"""How the point with the best score is found: the searches that a method can be made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from bomi.errors import MethodError, check_choice
from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.search import candidates
from bomi.search.local import Score
from bomi.search.trust_region import Region, TrustRegion
from bomi.space import Space


@dataclass(frozen=True)
class Task:
    """One search: what to maximize, and what is known beforehand."""

    score: Score
    space: Space
    seed: int
    starts: Tensor  # (s, d) good rows
    taken: Tensor  # (m, d) points that are pending or asked for already
    per_world: Sequence[Score]  # each world's own score, which is cheaper
    within: Region | None  # where the point has to lie; None for anywhere
    shortlist: Tensor | None  # (r, d) points that the searches for a batch share


class Search(Protocol):
    """What finds the point with the best score."""

    def region(self, table: Table, completed: Completed, t: int) -> Region | None:
        """Where the t-th suggestion has to lie; None for anywhere."""

    def shortlist(self, per_world: Sequence[Score], space: Space, *, seed: int, starts: Tensor) -> Tensor | None:
        """Points that the searches for a whole batch can share, if that saves anything.  (r, d)"""

    def maximize(self, task: Task) -> Tensor:
        """The best point found that is not taken.  (d,)"""


@dataclass(frozen=True)
class BestOf:
    """The best of many points: space-filling ones, or uniform random ones as in the program published with the paper.

    Space-filling points are dealt out to the worlds first, and what a world thinks best of its own is scored by all of
    them. Of random ones every point is.
    """

    points: int = 10_000
    sampling: str = "sobol"

    def __post_init__(self) -> None:
        check_choice("sampling", self.sampling, ("sobol", "uniform"))
        if isinstance(self.points, bool) or not isinstance(self.points, int) or self.points < 1:
            raise MethodError(f"`points` must be a whole number from 1, but got {self.points!r}")

    def region(self, table: Table, completed: Completed, t: int) -> Region | None:
        """Anywhere."""
        return None

    def shortlist(self, per_world: Sequence[Score], space: Space, *, seed: int, starts: Tensor) -> Tensor | None:
        """Every search looks at points of its own."""
        return None

    def maximize(self, task: Task) -> Tensor:
        """The best of the points that is not taken.  (d,)"""
        if self.sampling == "uniform":
            return candidates.best_of_uniform(
                task.score, task.space, points=self.points, seed=task.seed, taken=task.taken
            )
        return candidates.best_of(
            task.score, task.space, points=self.points, seed=task.seed, taken=task.taken, per_world=task.per_world
        )


@dataclass(frozen=True)
class MultiStart:
    """Local optimization from many starts, now and then within a trust region."""

    trust_region: TrustRegion | None = None

    def region(self, table: Table, completed: Completed, t: int) -> Region | None:
        """The trust region, if there is one."""
        return None if self.trust_region is None else self.trust_region.region(table, completed, t)

    def shortlist(self, per_world: Sequence[Score], space: Space, *, seed: int, starts: Tensor) -> Tensor | None:
        """While a batch is made a score only ever falls: the best point stays among those that were the best."""
        return candidates.shortlist_of(per_world, space, seed=seed, starts=starts)

    def maximize(self, task: Task) -> Tensor:
        """The best point that any start leads to.  (d,)"""
        return candidates.maximize(
            task.score,
            task.space,
            seed=task.seed,
            starts=task.starts,
            taken=task.taken,
            within=task.within,
            per_world=task.per_world,
            shortlist=task.shortlist,
        )
