"""What a browser held back while it could not reach us: cells and texts that were typed, to be taken in once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bomi.campaign.edits import Edit
from bomi.errors import BomiError
from bomi.web.desk import Session
from bomi.web.views.setup_form import fresh

FIELDS = ("gap/", "result/", "given/", "own/")  # what is typed into them is one text each
MOST = 10_000  # entries; a person types far less between two connections


def take(session: Session, found: Sequence[object]) -> bool:
    """Take in what a browser held; returns whether a field that is no cell has another text now."""
    desk, before = session.desk, dict(session.desk.texts)
    for entry in found[:MOST]:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("key"), str):
            continue
        key, value = str(entry["key"]), entry.get("value")
        session.received(key, value)
        if key.startswith("cell/") and isinstance(value, Mapping):
            try:
                _type(session, value)
            except (BomiError, KeyError, TypeError, ValueError) as error:
                session.say(f"{value.get('text')!r} was typed but could not be kept: {error}", bad=True)
        elif key.startswith(FIELDS) and isinstance(value, str):
            desk.keep(key, value)
        elif key.startswith("setup/") and isinstance(value, str):
            _set_up(session, key, value)
    return before != desk.texts


def take_cells(session: Session, told: Any) -> None:
    """Cells that were typed or pasted while the table was shown, and came once it was not any more."""
    changes, extra = (told.get(name, []) if isinstance(told, Mapping) else [] for name in ("changes", "extra"))
    take(session, [{"key": f"cell/{one.get('number')}/{one.get('column')}", "value": one} for one in changes])
    for row in extra:
        session.desk.change(session.draft.with_row({str(name): str(text) for name, text in row.items()}))


def _type(session: Session, value: Mapping[str, Any]) -> None:
    """A cell, typed into its row wherever that is now."""
    desk, draft = session.desk, session.draft
    text = str(value["text"])
    seen = {str(name): str(cell) for name, cell in dict(value["seen"]).items()}
    place = draft.place_of(Edit(int(value["number"]), seen, str(value["column"]), text, draft.identity))
    if place is None:
        raise BomiError(f"the cell in column {value['column']!r}, or its row, is another one now")
    if draft.sheet.columns[str(value["column"])][place] != text:
        desk.change(draft.typed(place, str(value["column"]), text))


def _set_up(session: Session, key: str, text: str) -> None:
    """A field of the set-up, by its place in the document: setup/parameters/0/unit."""
    desk = session.desk
    state = json.loads(json.dumps(desk.texts.get("setup") or fresh(session.snapshot)))
    *path, last = key.removeprefix("setup/").split("/")
    here: Any = state
    for step in path:
        try:
            here = here[int(step)] if isinstance(here, list) else here[step]
        except (KeyError, IndexError, ValueError, TypeError):
            return
    if isinstance(here, dict) and here.get(last) != text:
        here[last] = text
        state["as_text"] = state["as_text"] or last == "text"
        desk.keep("setup", state)
