"""The views of the page, one module each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bomi.web.desk import Session


class View:
    """What can be shown below the bar."""

    ready = False  # whether there is a table to show, and more than a line that says what is missing

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        self.session = session
        self.go = go

    def build(self) -> None:
        """Draw the view."""

    def update(self) -> None:
        """Show what changed in the session."""

    def save(self) -> None:
        """Ctrl+S."""

    def cells(self, told: Any) -> None:
        """Cells were typed or pasted."""

    def undo(self, told: Any = None) -> None:
        """One step back."""

    def redo(self, told: Any = None) -> None:
        """One step forward again."""

    def remove(self, told: Any = None) -> None:
        """Ctrl+Delete in the table."""
