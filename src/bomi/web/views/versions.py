"""The version of a file before the last save, to be had again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from bomi.campaign import storage
from bomi.campaign.edits import replace_file
from bomi.errors import BomiError
from bomi.web import theme
from bomi.web.desk import Session


def offer_versions(session: Session, file: Path, now: bytes | None, tell: Callable[[bytes], str]) -> None:
    """Say what the version before is, and bring it back when told to; `tell` says what a content is, in short."""
    path = file.with_name(file.name + ".bak")
    try:
        content = storage.read_bytes(path)
        about = tell(content)
        saved = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(path.stat().st_mtime))
    except (BomiError, OSError):
        session.say(f"There is no version before this one: {path.name} is written when something is saved.")
        return

    def restore() -> None:
        try:
            replace_file(file, content, expected=now)
        except BomiError as error:
            session.say(str(error), bad=True)
            return
        session.refresh()
        session.say(f"{file.name} is the version before now; what it was is {path.name}.")

    theme.ask(
        "Go back to the version before?",
        f"{path.name}, kept at {saved}: {about}. Now: {_told(now, tell)}. "
        "What is there now is kept as the version before, so that you can come back.",
        "Restore the version before",
        restore,
    )


def _told(content: bytes | None, tell: Callable[[bytes], str]) -> str:
    try:
        return tell(content) if content is not None else "no file"
    except BomiError:
        return "a file that cannot be read"
