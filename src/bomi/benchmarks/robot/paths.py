"""The path from the start to a place, around the trees.

It is the shortest path over a grid, with corners cut wherever the straight line is free. Every drive begins at the same
place, so one tree of shortest paths (Dijkstra 1959) serves all of them.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from bomi.benchmarks.functions import FloatArray
from bomi.benchmarks.missingness import BoolArray
from bomi.benchmarks.robot.scene import LENGTH, START, WIDTH, Scene

CELL = 0.03  # of the grid, metres
CLEARANCE = 0.125  # between the robot's middle and a trunk


class Planner:
    """Paths over one scene; places in metres."""

    def __init__(self, ground: Scene) -> None:
        self._trees = ground.trees[:, :2]
        self._radii = ground.trees[:, 2] + CLEARANCE
        x, y = np.meshgrid(np.arange(0, WIDTH, CELL), np.arange(0, LENGTH, CELL), indexing="ij")
        self._nodes = np.stack([x.ravel(), y.ravel()], axis=1)  # (cells, 2)
        open_ = self._free(self._nodes)
        begin = int(np.argmin(np.where(open_, np.hypot(*(self._nodes - START).T), np.inf)))
        distance, before = dijkstra(_links(open_.reshape(x.shape)), indices=[begin], return_predecessors=True)
        self._before, self._reachable = before[0], np.isfinite(distance[0])

    def plan(self, goal: FloatArray) -> FloatArray:  # (2,) -> (m, 2)
        """The corners of the path from the start to the goal, or to the nearest free ground if a tree is there."""
        away = np.hypot(*(self._nodes - goal).T)
        node = int(np.argmin(np.where(self._reachable, away, np.inf)))
        end = goal if self._free(goal[None])[0] and self._clear(self._nodes[node], goal) else self._nodes[node]
        way = [end]
        while node >= 0:
            way.append(self._nodes[node])
            node = int(self._before[node])
        way[-1] = START
        return self._straightened(way[::-1])

    def _straightened(self, way: list[FloatArray]) -> FloatArray:  # -> (m, 2)
        """The same path with every possible corner cut."""
        corners, here = [way[0]], 0
        while here < len(way) - 1:
            here = next(k for k in range(len(way) - 1, here, -1) if k == here + 1 or self._clear(way[here], way[k]))
            corners.append(way[here])
        return np.array(corners)

    def _free(self, places: FloatArray) -> BoolArray:  # (n, 2) -> (n,)
        """Whether the robot can stand there."""
        away = np.hypot(*(places[:, None] - self._trees).transpose(2, 0, 1))
        return np.asarray((away >= self._radii).all(1))

    def _clear(self, first: FloatArray, second: FloatArray) -> bool:
        """Whether the straight line between two places keeps away from every tree."""
        along = second - first
        share = np.clip((self._trees - first) @ along / max(float(along @ along), 1e-12), 0, 1)
        away = np.hypot(*(first + share[:, None] * along - self._trees).T)
        return bool((away >= self._radii).all())


def _links(open_: BoolArray) -> csr_array:  # (columns, rows) -> (cells, cells)
    """The lengths between neighbouring cells, straight and diagonal, that are both open; 0 where there is no link."""
    cell = np.arange(open_.size).reshape(open_.shape)
    first, second = (
        np.concatenate([cells.ravel() for cells in side])
        for side in (
            (cell[1:], cell[:, 1:], cell[1:, 1:], cell[1:, :-1]),
            (cell[:-1], cell[:, :-1], cell[:-1, :-1], cell[:-1, 1:]),
        )
    )
    both = open_.flat[first] & open_.flat[second]
    first, second = first[both], second[both]
    columns, rows = (
        np.abs(a - b) for a, b in zip(*(np.unravel_index(k, open_.shape) for k in (first, second)), strict=True)
    )
    lengths = CELL * np.hypot(columns, rows)
    return csr_array((np.tile(lengths, 2), (np.r_[first, second], np.r_[second, first])), shape=(open_.size,) * 2)
