"""What is said on standard error."""

import io
import time

import pytest
from rich.console import Console

from bomi.cli import console


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_what_is_being_done_and_for_how_long(monkeypatch, terminal):
    shown = io.StringIO()
    monkeypatch.setattr(console, "console", lambda *, stderr: Console(file=shown, force_terminal=terminal, width=80))
    with console.working("reading [1/min]") as update:
        time.sleep(1.2)
        update("2 of 3 found")
    told = shown.getvalue()
    if not terminal:
        assert told == ""
        return
    assert "reading [1/min]" in told
    assert "2 of 3 found" in told
    assert "0:00:01" in told
