"""Fields whose text is not lost, whatever happens to the page while somebody types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bomi.web.desk import Session
from bomi.web.views.waiting import there


def keep(field: Any, session: Session, key: str, entered: Callable[[], None] | None = None) -> None:
    """The browser holds what is typed here until it is on disk; `entered` is called on Enter.

    A field that is drawn anew says what has come in from its browser. If more was typed since, the browser puts it in.
    Enter comes with the key of the field and its text: the field that it was pressed in may be another one by now.
    """
    field.props["data-keep"] = key
    field.props["data-got"] = str(session.got.get(key, ""))

    def enter(text: str) -> None:
        if entered is not None and there(field):
            field.value = text
            entered()

    session.enter[key] = enter
