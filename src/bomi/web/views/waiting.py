"""What is shown while something is computed, and what when it fails or cannot begin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import background_tasks, ui

from bomi.errors import BomiError
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.outside import outside, plain, use_outside
from bomi.web.worker import StoppedError

_LATEST: WeakKeyDictionary[ui.element, object] = WeakKeyDictionary()  # what was asked for last in each place
_ABOVE: WeakKeyDictionary[ui.element, ui.element] = WeakKeyDictionary()  # where each place tells how far it is


def there(element: ui.element) -> bool:
    """Whether an element is still shown: its view may be another by now, or its tab closed."""
    try:
        return not element.is_deleted and element.client is not None
    except RuntimeError:
        return False


def compute(session: Session, place: ui.element, job: str, show: Callable[[Any], None]) -> None:
    """Run a job with its progress in a place of the page, then show its result there; an error leaves the page.

    What the place shows already stays below until there is something newer: somebody may be typing there.
    """
    done = session.desk.computing.computed(session.snapshot, job)
    if done is not None:
        place.clear()
        with place:
            show(done)
        return
    turn = _LATEST[place] = object()
    again = partial(compute, session, place, job, show)

    def latest() -> bool:
        return there(place) and _LATEST.get(place) is turn

    async def run() -> None:
        try:
            result = await session.compute(job)
        except BomiError as error:
            if latest():
                stopped = isinstance(error, StoppedError) and error.wanted
                with above(place), theme.note("Stopped." if stopped else str(error), bad=not stopped):
                    theme.button("Try again", again)
            return
        if latest() and session.snapshot.experiments is not None:
            place.clear()
            with place:
                show(result)

    def stop() -> None:
        _LATEST[place] = object()
        with above(place), theme.note("Stopped."):
            theme.button("Try again", again)
        session.desk.computing.leave(session, job)

    with above(place):
        progress(session, job, stop)
    background_tasks.create(run())


def above(place: ui.element) -> ui.element:
    """An empty element above what a place shows."""
    found = _ABOVE.get(place)
    if found is None or found.is_deleted:
        with place:
            found = _ABOVE[place] = ui.element("div").classes("stack")
        found.move(target_index=0)
    found.clear()
    return found


def progress(session: Session, job: str, stop: Callable[[], None]) -> None:
    """What a job is at, since when, how long it took the last time, and a button that no longer waits for it."""
    computing = session.desk.computing
    with theme.sheet().props("aria-busy=true role=status"):
        with theme.block("line between"):
            text = ui.label("Loading …")
            theme.button("Stop", stop, icon="stop")
        ui.linear_progress(show_value=False).props('indeterminate rounded size=6px aria-label="Computing"')
        ui.timer(0.2, lambda: text.set_text(computing.told(session, job)))


def needs(session: Session, go: Callable[[str], None], *, outcomes: int = 0) -> bool:
    """Whether the table is ready to learn from; if not, says what is missing, with a button that does it."""
    snapshot = session.snapshot
    if snapshot.content is None:
        gone = session.desk.draft.base.content is not None
        text = "It was moved, renamed or removed." if gone else "Upload one, or start from a template."
        title = f"{snapshot.table.name} is no longer there" if gone else "There is no table yet"
        with theme.empty("table_view", title, text):
            theme.button("To the data", lambda: go("data"), primary=True)
        return False
    if snapshot.campaign is None:
        if snapshot.campaign_fault:
            name = snapshot.campaign_path.name
            with theme.empty("rule", f"{name} cannot be read", plain(snapshot, snapshot.campaign_fault)):
                theme.button("Mend it", lambda: go("setup"), primary=True)
        else:
            text = "Say which columns may vary and which one is the outcome; a first guess is made from the table."
            with theme.empty("tune", "There is no set-up yet", text):
                theme.button("To the set-up", lambda: go("setup"), primary=True)
        return False
    if snapshot.experiments is None:
        count = len(snapshot.problems)
        text = plain(snapshot, snapshot.table_fault) or f"{count} cell{'s' if count > 1 else ''} cannot be understood."
        with (
            theme.empty("rule", "The table has problems", f"{text} They are marked in the table."),
            theme.block("line"),
        ):
            theme.button("To the data", lambda: go("data"), primary=True)
            if outside(snapshot):
                theme.button("Use the rows outside the range", lambda: use_outside(session))
        return False
    done = sum(row.tried for row in snapshot.experiments.rows)
    if done < outcomes:
        with theme.empty(
            "hourglass_empty", "There is no outcome yet", "This view fills once the first outcomes are in the table."
        ):
            theme.button("To the suggestions", lambda: go("suggest"), primary=True)
        return False
    return True
