"""Fields whose text is not lost, whatever happens to the page while somebody types."""

from __future__ import annotations

from nicegui import ui

from bomi.web.desk import Session


def keep(field: ui.element, session: Session, key: str) -> None:
    """The browser holds what is typed here until it is on disk.

    A field that is drawn anew says what has come in from its browser. If more was typed since, the browser puts it in.
    """
    field.props["data-keep"] = key
    field.props["data-got"] = str(session.got.get(key, ""))
