"""What is shown while something is computed, and what when it fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import background_tasks, ui

from bomi.errors import BomiError
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.worker import StoppedError

_LATEST: WeakKeyDictionary[ui.element, object] = WeakKeyDictionary()  # what was asked for last in each place


def there(element: ui.element) -> bool:
    """Whether an element is still shown: its view may be another by now, or its tab closed."""
    try:
        return not element.is_deleted and element.client is not None
    except RuntimeError:
        return False


def compute(
    session: Session,
    place: ui.element,
    job: Callable[[], Awaitable[Any]],
    show: Callable[[Any], None],
    again: Callable[[], None],
) -> None:
    """Run a job with its progress in a place of the page, then show its result there; an error leaves the page."""

    turn = _LATEST[place] = object()

    async def run() -> None:
        place.clear()
        with place, theme.sheet().props("aria-busy=true role=status"):
            with theme.block("line between"):
                with theme.block("line"):
                    ui.spinner(size="22px").props("aria-hidden=true")
                    text = ui.label("Learning from the table …")
                theme.button("Stop", session.desk.worker.stop, icon="stop")
            ui.linear_progress(show_value=False).props('indeterminate rounded size=6px aria-label="Computing"')
            ui.timer(0.2, lambda: text.set_text(f"{(session.desk.doing or 'loading').capitalize()} …"))
        try:
            result = await job()
        except BomiError as error:
            if not there(place) or _LATEST[place] is not turn:
                return
            place.clear()
            stopped = isinstance(error, StoppedError) and error.wanted
            with place, theme.note("Stopped." if stopped else str(error), bad=not stopped):
                theme.button("Try again", again)
            return
        if there(place) and _LATEST[place] is turn:
            place.clear()
            with place:
                show(result)

    background_tasks.create(run())


def needs(session: Session, go: Callable[[str], None], *, outcomes: int = 0) -> bool:
    """Whether the table is ready to learn from; if not, says what is missing."""
    snapshot = session.snapshot
    if snapshot.content is None:
        with theme.empty("table_view", "There is no table yet", "Upload one, or start from a template."):
            theme.button("To the data", lambda: go("data"), primary=True)
        return False
    if snapshot.campaign is None:
        text = "Say which columns may vary and which one is the outcome; a first guess is made from the table."
        with theme.empty("tune", "There is no set-up yet", snapshot.campaign_fault or text):
            theme.button("To the set-up", lambda: go("setup"), primary=True)
        return False
    if snapshot.experiments is None:
        count = len(snapshot.problems)
        text = snapshot.table_fault or f"{count} cell{'s' if count > 1 else ''} cannot be understood."
        with theme.empty("rule", "The table has problems", f"{text} They are marked in the table."):
            theme.button("To the data", lambda: go("data"), primary=True)
        return False
    done = sum(row.tried for row in snapshot.experiments.rows)
    if done < outcomes:
        with theme.empty(
            "hourglass_empty", "There is no outcome yet", "This view fills once the first outcomes are in the table."
        ):
            theme.button("To the suggestions", lambda: go("suggest"), primary=True)
        return False
    return True
