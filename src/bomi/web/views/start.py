"""Where there is no table that can be read: why, and how to begin or go on."""

from __future__ import annotations

from bomi.campaign.edits import replace_file
from bomi.campaign.template import EXAMPLE_CAMPAIGN, EXAMPLE_TABLE, empty_table
from bomi.errors import BomiError
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.outside import plain
from bomi.web.views.upload import Upload


def missing(session: Session) -> None:
    """A table that was there and is gone, or cannot be read, with what was typed into it."""
    desk, snapshot = session.desk, session.snapshot
    waits = theme.count(desk.draft.count, "change")
    kept = f" What you typed and did not save ({waits}) is kept and waits for it." if desk.draft.count else ""
    if snapshot.table_fault:
        theme.note(f"The table cannot be read:\n{plain(snapshot, snapshot.table_fault)}{kept}", bad=True)
    elif snapshot.content is None and desk.draft.base.content is not None:
        before = desk.draft.base.content

        def write() -> None:
            try:
                replace_file(snapshot.table, before, expected=None)
            except BomiError as error:
                session.say(str(error), bad=True)
            session.refresh()

        text = f"{snapshot.table.name} is no longer there: it was moved, renamed or removed.{kept}"
        with theme.note(text, bad=True):
            theme.button("Write it again as it was", write, icon="restore", primary=True)


def begin(session: Session) -> None:
    """How to begin a table."""
    snapshot = session.snapshot
    with theme.empty(
        "table_view",
        "There is no table yet",
        f"Upload the table you already keep, or start {snapshot.table.name} from a template. "
        "A blank or ? is a value that nobody knows; 160±8 and 140..160 are uncertain ones.",
    ), theme.block("line"):  # fmt: skip
        theme.button("Upload a table", lambda: Upload(session), icon="upload", primary=True)
        if snapshot.campaign is not None:
            theme.button("Empty table for the set-up", lambda: _start(session, empty=True), icon="grid_on")
        theme.button("Start from the example", lambda: _start(session, empty=False), icon="science")


def _start(session: Session, *, empty: bool) -> None:
    """Write a template where there is no table."""
    snapshot = session.snapshot
    try:
        if empty and snapshot.campaign is not None:
            replace_file(snapshot.table, empty_table(snapshot.campaign).encode(), expected=None)
        else:
            replace_file(snapshot.table, EXAMPLE_TABLE.encode(), expected=None)
            if snapshot.toml is None and not snapshot.campaign_fault:
                replace_file(snapshot.campaign_path, EXAMPLE_CAMPAIGN.encode(), expected=None)
    except BomiError as error:
        session.say(str(error), bad=True)
        return
    session.refresh()
