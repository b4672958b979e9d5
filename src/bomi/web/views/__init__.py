"""The views of the page, one module each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.waiting import compute, needs


class View:
    """What can be shown below the bar."""

    ready = False  # whether there is a table to show, and more than a line that says what is missing
    above: Any = None  # where that line is

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        self.session = session
        self.go = go

    def build(self) -> None:
        """Draw the view."""

    def update(self) -> None:
        """Show what changed in the session."""

    def prepared(self, *, outcomes: int = 0) -> bool:
        """Whether the files can be learned from; if not, says what is missing. What is shown below stays as it is."""
        self.above = self.above or theme.block("stack")
        self.above.clear()
        with self.above:
            return needs(self.session, self.go, outcomes=outcomes)

    def save(self) -> None:
        """Ctrl+S."""

    def undo(self, told: Any = None) -> None:
        """One step back."""

    def redo(self, told: Any = None) -> None:
        """One step forward again."""

    def remove(self, told: Any = None) -> None:
        """Ctrl+Delete in the table."""


class Learned(View):
    """Shows what a job learns from the table, and learns it again once the table changes."""

    job = ""
    place: ui.element
    shown = ""  # the version of the files

    def begin(self) -> None:
        """Draw what is below the heading."""
        if self.prepared(outcomes=1):
            self.ready = True
            self.place = theme.block("stack").style("gap: 16px")
            self.learn()

    def update(self) -> None:
        """Something changed."""
        if not self.prepared(outcomes=1):
            self.shown = ""
        elif not self.ready:
            self.begin()
        elif self.session.snapshot.key != self.shown:
            self.learn()

    def learn(self) -> None:
        """Compute it, unless that has been done."""
        self.shown = self.session.snapshot.key
        compute(self.session, self.place, self.job, self.show)

    def show(self, found: Any) -> None:
        """Show what was learned."""
