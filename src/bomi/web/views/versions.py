"""The version of the table before the last save, to be had again."""

from __future__ import annotations

import time

from bomi.campaign import storage
from bomi.campaign.edits import replace_file
from bomi.campaign.sheet import load_sheet
from bomi.errors import BomiError
from bomi.web import theme
from bomi.web.desk import Session


def offer_versions(session: Session) -> None:
    """Say what the version before is, and bring it back when told to."""
    snapshot = session.snapshot
    path = snapshot.table.with_name(snapshot.table.name + ".bak")
    try:
        content = storage.read_bytes(path)
        sheet = load_sheet(snapshot.table, content)
        saved = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(path.stat().st_mtime))
    except (BomiError, OSError):
        session.say(f"There is no version before this one: {path.name} is written when something is saved.")
        return

    def restore() -> None:
        try:
            replace_file(snapshot.table, content, expected=snapshot.content)
        except BomiError as error:
            session.say(str(error), bad=True)
            return
        session.refresh()
        session.say(f"{snapshot.table.name} is the version before now; what it was is {path.name}.")

    now = len(snapshot.sheet.rows) if snapshot.sheet else 0
    theme.ask(
        "Go back to the version before?",
        f"{path.name}, kept at {saved}, has {theme.count(len(sheet.rows), 'row')} and "
        f"{theme.count(len(sheet.header), 'column')}; the table has {theme.count(now, 'row')} now. "
        "The table as it is now is kept as the version before, so that you can come back.",
        "Restore the version before",
        restore,
    )
