"""Texts and choices that are not lost, whatever happens to the page meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bomi.web import theme
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


def keep_choice(field: Any, session: Session, key: str) -> None:
    """The browser says what is chosen here with its key, as it does with Enter, and holds it until it is on disk.

    A list or a box that was drawn anew meanwhile takes the choice over: what it was made in is gone.
    """
    options = list(getattr(field, "options", ()))
    chosen = f"{theme.dumps(options)}[chosen?.value ?? chosen] ?? ''" if options else "chosen ? 'yes' : ''"
    field.on("update:model-value", js_handler=f"(chosen) => bomi.choose({theme.dumps(key)}, {chosen})")

    def choose(text: str) -> None:
        if not there(field):
            return
        if not options:
            field.value = text == "yes"
        elif text in field.options or not text:
            field.value = text if text in field.options else None

    session.choose[key] = choose
