"""States that were: one step back, and forward again."""

from __future__ import annotations

import time
from typing import Any

MOST = 200  # steps
TOGETHER = 1.5  # seconds within which what is typed into one field is one step


class Steps:
    """What came before a state, and what was undone. A state may be anything; it is never looked into."""

    def __init__(self) -> None:
        self.past: list[Any] = []
        self.future: list[Any] = []
        self._last = ("", 0.0)  # the field that was typed into, and when

    def record(self, before: Any, field: str = "") -> None:
        """Something changes; `field` is where, if letter by letter."""
        now = time.monotonic()
        continues = bool(field) and self._last[0] == field and now - self._last[1] < TOGETHER
        self._last = field, now
        if not continues:
            self.past = [*self.past, before][-MOST:]
        self.future = []

    def back(self, now: Any) -> Any:
        """The state before; `now` can be had again."""
        return self._step(self.past, self.future, now)

    def forward(self, now: Any) -> Any:
        """The state that was undone last."""
        return self._step(self.future, self.past, now)

    def _step(self, source: list[Any], target: list[Any], now: Any) -> Any:
        self._last = ("", 0.0)
        target.append(now)
        return source.pop()

    def clear(self) -> None:
        """Nothing can be undone any more."""
        self.past, self.future, self._last = [], [], ("", 0.0)
