"""A parameter as a constraint sees it: a range of numbers, and the discrete values in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bomi.space.numbers import Array, level_count


@dataclass(frozen=True)
class Axis:
    """A parameter that a constraint speaks of: its range, and its values if they are discrete."""

    name: str
    low: float
    high: float
    log: bool = False
    step: float | None = None
    levels: tuple[float, ...] = ()  # rising, where they are not evenly apart

    @property
    def discrete(self) -> bool:
        """Whether it takes discrete values."""
        return self.step is not None or bool(self.levels)

    @property
    def count(self) -> int:
        """How many discrete values there are."""
        if self.levels:
            return len(self.levels)
        assert self.step is not None
        return level_count(self.low, self.high, self.step)

    def index(self, z: Array) -> Array:
        """Where between its discrete values a number lies, counted from 0."""
        if self.levels:
            return np.asarray(np.interp(z, self.levels, np.arange(len(self.levels), dtype=float)))
        assert self.step is not None
        return (z - self.low) / self.step

    def value(self, index: Array) -> Array:
        """The discrete value of this index."""
        index = np.clip(np.nan_to_num(index), 0, self.count - 1)
        if self.levels:
            return np.asarray(np.array(self.levels)[index.astype(int)])
        assert self.step is not None
        return np.minimum(self.low + index * self.step, self.high)

    def between(self, wanted: Array, low: Array, high: Array) -> Array:
        """The admissible value between two ends that is nearest to the wanted one; NaN where there is none."""
        if not self.discrete:
            return np.where(
                low <= high + 1e-9 * (self.high - self.low), np.clip(wanted, np.minimum(low, high), high), np.nan
            )
        first, last = self._ends(low, high)
        index = np.clip(np.round(self.index(wanted)), first, last)
        return np.where(first <= last, self.value(index), np.nan)

    def draw(self, u: Array, low: Array, high: Array) -> Array:
        """The value between two ends at a share u of the way, evenly on the parameter's scale; NaN without any."""
        if self.discrete:
            first, last = self._ends(low, high)
            index = first + np.floor(u * (last - first + 1))
            return np.where(first <= last, self.value(np.minimum(index, last)), np.nan)
        if self.log:
            low, high = np.maximum(low, self.low), np.maximum(high, self.low)
            drawn = low * np.exp(u * np.log(high / low))
        else:
            drawn = low + u * (high - low)
        return np.where(low <= high + 1e-9 * (self.high - self.low), drawn, np.nan)

    def _ends(self, low: Array, high: Array) -> tuple[Array, Array]:
        slack = 1e-7  # of a step: sums of decimals are not exact
        first = np.ceil(np.clip(self.index(np.maximum(low, self.low)), 0, self.count - 1) - slack)
        last = np.floor(np.clip(self.index(np.minimum(high, self.high)), 0, self.count - 1) + slack)
        if self.levels:  # an end outside all levels must not be taken for the nearest of them
            first = np.where(low > self.levels[-1] + slack, self.count, first)
            last = np.where(high < self.levels[0] - slack, -1, last)
        else:
            first = np.where(low > self.high, np.maximum(first, np.ceil(self.index(low) - slack)), first)
        return first, last
