"""What there is to choose from: the settings that are left once some values are given.

points  (m, r)   places in the cube of what is left
places  (m, d)   the same in the whole cube
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bomi.search import candidates
from bomi.search.trust_region import Region
from bomi.space import Space
from bomi.space.cells import Known


@dataclass(frozen=True)
class Choices:
    """The settings of a space, of which some values are given."""

    space: Space
    given: Mapping[str, Known] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left  # noqa: B018  # values that leave nothing to choose are refused here

    @cached_property
    def left(self) -> Space:
        """What is left to choose."""
        return self.space.rest(self.given) if self.given else self.space

    @cached_property
    def fixed(self) -> Tensor:
        """Columns of the cube whose value does not depend on what is chosen.  (d,) bool"""
        return torch.tensor([name not in self.left.names for name in self.space.names])[self.space.groups]

    @property
    def all(self) -> bool:
        """Whether nothing is given: every setting of the space."""
        return not self.given

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
        same = (self._given_place - places).abs().nan_to_num() <= candidates.SAME
        return self.points(places[same.all(-1)])

    def region(self, region: Region | None) -> Region | None:
        """The part of a region that can be chosen."""
        return region if region is None or self.all else region._replace(center=region.center[~self.fixed])

    def spread(self, count: int, *, seed: int, skip: int = 0) -> Tensor:
        """Points that fill the space, the same sequence for the same seed.  (count, r)"""
        return candidates.space_filling(self.left, count, seed=seed, skip=skip)

    def draw(self, count: int, rng: np.random.Generator) -> Tensor:
        """Random points.  (count, r)"""
        return torch.from_numpy(self.left.draw(count, rng))

    def setting(self, point: Tensor) -> dict[str, Known]:
        """What to set, in round numbers, beside what is given.  (r,)"""
        chosen = {**self.left.setting(point.numpy()), **self.given}
        return {name: chosen[name] for name in self.space.names if name in chosen}
