"""The table on a phone: a card for each row, and a dialog to type into one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nicegui import ui

from bomi.campaign.draft import marks
from bomi.campaign.edits import see
from bomi.errors import BomiError
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.outside import plain_problems

PAGE = 20  # cards shown at once
_MARKS = {"gap": "◌", "uncertain": "±", "pending": "…", "failed": "✕"}


class RowCards:
    """The rows of a session's table as cards."""

    def __init__(self, session: Session, focus: tuple[int, str] | None = None) -> None:
        self.session = session
        self.count = PAGE
        self.text = ""
        self.header = session.draft.sheet.header
        self.place = ui.element("div").classes("stack").style("gap: 12px")
        if focus is not None and focus[0] in session.draft.sheet.numbers:
            self.text = ""
            self.open(session.draft.sheet.numbers.index(focus[0]))
        self.update()

    def search(self, text: str) -> None:
        """Show the rows that hold some text."""
        self.text, self.count = text.lower(), PAGE
        self.update()

    def update(self) -> None:
        """Draw the cards."""
        draft = self.session.draft
        sheet, result = draft.sheet, draft.result
        kinds, wrong = marks(result), plain_problems(result)
        places = [i for i, row in enumerate(sheet.rows) if not self.text or self.text in " ".join(row).lower()]
        self.place.clear()
        with self.place:
            for place in places[: self.count]:
                number = str(sheet.numbers[place]) if place < len(draft.origins) else "new"
                with theme.sheet() as card:
                    card.props["aria-label"] = f"Row {number}"
                    with theme.block("line between"):
                        theme.heading(f"Row {number}")
                        if self.session.snapshot.editable:
                            theme.button("Edit", self.opener(place), icon="edit").props("dense padding='2px 10px'")
                    theme.facts(
                        [
                            (name, f"{_MARKS.get(kinds.get((place, name), ''), '')} {column[place]}".strip())
                            for name, column in sheet.columns.items()
                            if column[place].strip() or (place, name) in kinds
                        ]
                    )
                    for (row, name), message in wrong.items():
                        if row == place:
                            theme.note(f"{name}: {message}" if name else message, bad=True)
            if len(places) > self.count:
                theme.button(f"Show more ({len(places) - self.count} left)", self.more, icon="expand_more")

    def more(self) -> None:
        """More cards."""
        self.count += 2 * PAGE
        self.update()

    def opener(self, place: int) -> Callable[[], None]:
        """What opens a row."""
        return lambda: self.open(place)

    def open(self, place: int) -> None:
        """Type into a row; each field is kept as soon as it is left."""
        draft = self.session.draft
        with self.session.stage:
            box = ui.dialog(value=True)
        number = draft.sheet.numbers[place]
        with box, ui.card().style("width: 480px; max-width: 96vw; gap: 10px"):
            theme.name_dialog(box, f"Row {number}")
            theme.heading(f"Row {number}")
            message = ui.element("div").style("width: 100%")
            for name, column in draft.sheet.columns.items():
                if name not in draft.sheet.doubled:
                    self.field(place, name, column[place], message)
            with theme.block("line between").style("width: 100%"):
                theme.button("Remove", lambda: self.remove(place, box), icon="delete_outline")
                theme.button("Done", box.close, primary=True)

    def remove(self, place: int, box: ui.dialog) -> None:
        """Take the row out of the table, once that is said."""
        draft, number = self.session.draft, self.session.draft.sheet.numbers[place]

        def gone() -> None:
            if self.session.draft is not draft:
                self.session.say("The table was changed meanwhile; look at it, then try again.", bad=True)
                return
            box.close()
            self.session.desk.change(draft.without([place]))

        safe = "The file stays as it is until you save; the version before is then kept as .bak."
        theme.ask(f"Remove row {number}?", safe, "Remove it", gone, no="Keep")

    def field(self, place: int, name: str, text: str, message: ui.element) -> None:
        """One cell of the row."""
        made = ui.input(name, value=text).props("outlined dense").style("width: 100%")
        draft = self.session.draft
        seen = {"number": draft.sheet.numbers[place], "column": name, "seen": see(draft.sheet, place)}
        made.props["data-cell"] = json.dumps(seen)  # the browser holds it until it is safe

        def keep(_: Any) -> None:
            message.clear()
            self.session.received(f"cell/{seen['number']}/{name}", {**seen, "text": str(made.value or "")})
            try:
                self.session.desk.change(self.session.draft.typed(place, name, str(made.value or "")))
            except BomiError as error:
                with message:
                    theme.note(str(error), bad=True)

        made.on("change", keep, [])
