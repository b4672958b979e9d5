"""What there is to choose from: the settings that are left once some values are given.

points  (m, r)   places in the cube of what is left
places  (m, d)   the same in the whole cube
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bomi.errors import SuggestionError
from bomi.search import candidates as search
from bomi.search import feasible
from bomi.search.trust_region import Region
from bomi.space import Array, Integer, Space
from bomi.space.cells import Known


@dataclass(frozen=True)
class Choices:
    """The settings of a space, of which some values are given, and others will only be measured."""

    space: Space
    given: Mapping[str, Known] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left  # noqa: B018  # values that leave nothing to choose are refused here

    @cached_property
    def left(self) -> Space:
        """What is left to choose."""
        return self.space if self.all else self.space.rest(self.given)

    @cached_property
    def fixed(self) -> Tensor:
        """Columns of the cube whose value does not depend on what is chosen.  (d,) bool"""
        return torch.tensor([name not in self.left.names for name in self.space.names])[self.space.groups]

    @property
    def all(self) -> bool:
        """Whether every parameter is to be chosen."""
        return not self.given and not self.space.measured

    @property
    def unknown(self) -> bool:
        """Whether there are values that nobody knows when choosing: what will only be measured."""
        return any(name not in self.given for name in self.space.measured)

    @property
    def listed(self) -> Tensor | None:
        """All points, where they are a list.  (N, 1)"""
        return None

    @cached_property
    def _given_place(self) -> Tensor:
        return torch.from_numpy(self.space.place(self.given))

    def places(self, points: Tensor) -> Tensor:
        """Where points are in the whole cube.  (m, r) -> (m, d)"""
        if self.all:
            return points
        places = self._given_place.repeat(len(points), 1)
        places[:, ~self.fixed] = points
        return places

    def today(self, rows: Tensor) -> Tensor:
        """Rows with the values that hold whatever is chosen.  (..., d) -> (..., d)"""
        return torch.where(self.fixed, self._given_place, rows)

    def points(self, places: Tensor) -> Tensor:
        """What of places of the whole cube can be chosen, whatever is given.  (m, d) -> (m, r)"""
        return places[:, ~self.fixed]

    def taken(self, places: Tensor) -> Tensor:
        """The points of places that have what is given.  (m, d) -> (l, r)"""
        same = (self._given_place - places).abs().nan_to_num() <= search.SAME
        return self.points(places[same.all(-1)])

    def region(self, region: Region | None) -> Region | None:
        """The part of a region that can be chosen."""
        return region if region is None or self.all else region._replace(center=region.center[~self.fixed])

    def spread(self, count: int, *, seed: int, skip: int = 0) -> Tensor:
        """Points that fill the space, the same sequence for the same seed.  (count, r)"""
        return search.space_filling(self.left, count, seed=seed, skip=skip)

    def draw(self, count: int, rng: np.random.Generator) -> Tensor:
        """Random points.  (count, r)"""
        return torch.from_numpy(self.left.draw(count, rng))

    def candidate(self, point: Tensor) -> int | None:
        """Which candidate of a list it is.  (r,)"""
        return None

    def setting(self, point: Tensor) -> dict[str, Known]:
        """What to set, in round numbers, beside what is given.  (r,)"""
        chosen = {**self.left.setting(point.numpy()), **self.given}
        return {name: chosen[name] for name in self.space.names if name in chosen}


@dataclass(frozen=True, eq=False)
class Listed(Choices):
    """The candidates of a list that can be chosen. What is not known of a candidate is a gap."""

    columns: Mapping[str, Sequence[Known | None]] = field(default_factory=dict)  # of the whole list
    kept: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # which of it can be chosen

    @classmethod
    def of(
        cls,
        space: Space,
        columns: Mapping[str, Sequence[Known | None]],
        given: Mapping[str, Known],
        tried: Sequence[Mapping[str, Known]] = (),
    ) -> Listed:
        """Those that have what is given, keep the constraints and are not among the tried; of equal ones the first."""
        count = len(next(iter(columns.values())))
        table, before = space.table(columns, count), space.places(tried)
        place = space.place(given)
        spoken = ~np.isnan(table).all(0)
        _, first = np.unique(_comparable(table), axis=0, return_index=True)
        reasons = {
            "differ from what is given": (np.abs(table - place) > search.SAME).any(-1),
            "break a constraint": _broken(space, columns, given, np.where(np.isnan(place), table, place)),
            "were tried already": _found(table[:, spoken], before[:, spoken]),
        }
        kept = np.isin(np.arange(count), first) & ~np.any(list(reasons.values()), axis=0)
        if not kept.any():
            told = ", ".join(f"{int(which.sum())} {reason}" for reason, which in reasons.items() if which.any())
            raise SuggestionError(f"none of the {count} candidates can be chosen: {told}")
        return cls(space, given, columns, np.flatnonzero(kept))

    @cached_property
    def left(self) -> Space:
        """The position in the list."""
        return Space({"candidate": Integer(0, max(len(self.kept), 2) - 1)})

    @cached_property
    def fixed(self) -> Tensor:
        """Columns of the cube that are given, and those of what is measured after choosing.  (d,) bool"""
        later = [name in self.space.measured and name not in self.given for name in self.space.names]
        return ~self._given_place.isnan() | (torch.tensor(later)[self.space.groups] & self.table.isnan().all(0))

    @property
    def all(self) -> bool:
        """Never: a list is a part of the space."""
        return False

    @cached_property
    def table(self) -> Tensor:
        """The candidates in the cube, NaN in their gaps.  (N, d)"""
        columns = {name: [column[i] for i in self.kept] for name, column in self.columns.items()}
        columns |= {name: [value] * len(self.kept) for name, value in self.given.items()}
        return torch.from_numpy(self.space.table(columns, len(self.kept)))

    @cached_property
    def unknown(self) -> bool:
        """Whether a candidate has gaps."""
        return bool(self.table.isnan().any())

    @cached_property
    def listed(self) -> Tensor:
        """The position of each.  (N, 1)"""
        count = len(self.kept)
        return torch.arange(count, dtype=torch.float64)[:, None] / (max(count, 2) - 1)

    def _index(self, points: Tensor) -> Tensor:
        last = len(self.kept) - 1
        return (points[..., 0] * max(last, 1)).round().long().clamp(0, last)

    def places(self, points: Tensor) -> Tensor:
        """Where points are in the whole cube.  (m, 1) -> (m, d)"""
        return self.table[self._index(points)]

    def points(self, places: Tensor) -> Tensor:
        """A list has no points beside its own.  (m, d) -> (0, 1)"""
        return places[:0, :1]

    def taken(self, places: Tensor) -> Tensor:
        """The candidates that are at one of the places.  (m, d) -> (l, 1)"""
        spoken = ~np.isnan(self.space.table(self.columns, len(next(iter(self.columns.values()))))).all(0)
        return self.listed[torch.from_numpy(_found(self.table.numpy()[:, spoken], places.numpy()[:, spoken]))]

    def region(self, region: Region | None) -> Region | None:
        """Anywhere in the list."""
        return None

    def spread(self, count: int, *, seed: int, skip: int = 0) -> Tensor:
        """Candidates far from each other, the same sequence for the same seed.  (count, 1)"""
        rng, chosen = np.random.default_rng(seed), list[int]()
        table = self.table.nan_to_num(nan=0.5)
        for _ in range(skip + count):
            few = rng.integers(len(table), size=feasible.CHOICE)
            apart = torch.cdist(table[few], table[chosen]).amin(-1) if chosen else torch.zeros(len(few))
            chosen.append(int(few[int(apart.argmax())]))
        return self.listed[chosen[skip:]]

    def draw(self, count: int, rng: np.random.Generator) -> Tensor:
        """Random candidates.  (count, 1)"""
        return self.listed[rng.integers(len(self.kept), size=count)]

    def candidate(self, point: Tensor) -> int:
        """Which candidate of the list it is, from 0."""
        return int(self.kept[self._index(point)])

    def setting(self, point: Tensor) -> dict[str, Known]:
        """What is known of the candidate, and what is given."""
        place = self.candidate(point)
        chosen = {**{name: column[place] for name, column in self.columns.items()}, **self.given}
        return {name: value for name in self.space.names if (value := chosen.get(name)) is not None}


def _comparable(table: Array) -> Array:
    """Equal numbers for what is the same setting, and for what is not known of it."""
    return np.round(np.nan_to_num(table, nan=-1.0) / search.SAME)


def _found(table: Array, places: Array) -> NDArray[np.bool_]:
    """Which candidates are among some places, with the same gaps.  (N, d), (m, d) -> (N,)"""
    known = {row.tobytes() for row in _comparable(places)}
    return np.array(
        [row.tobytes() in known for row in _comparable(table)] if known else np.zeros(len(table)), dtype=bool
    )


def _broken(
    space: Space, columns: Mapping[str, Sequence[Known | None]], given: Mapping[str, Known], table: Array
) -> NDArray[np.bool_]:
    """Which candidates break a constraint, as far as they are known.  (N, d) -> (N,)"""
    broken = ~space.holds(table)
    for i in np.flatnonzero(broken & np.isnan(table).any(-1)).tolist():
        broken[i] = bool(space.broken({**{name: column[i] for name, column in columns.items()}, **given}))
    return broken
