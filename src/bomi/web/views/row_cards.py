"""The table on a phone: a card for each row, and a dialog to type into one."""

from __future__ import annotations

import json
from collections.abc import Callable

from nicegui import ui

from bomi.campaign.draft import marks
from bomi.campaign.edits import continued, see
from bomi.errors import BomiError, FileError
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
        self.place = ui.element("div").classes("stack").style("gap: 12px")
        if focus is not None and focus[0] in session.draft.sheet.numbers:
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
        """Type into a row."""
        RowDialog(self.session, place)


class RowDialog:
    """The cells of one row; each is kept as soon as it is left, wherever the row stands by then."""

    def __init__(self, session: Session, place: int) -> None:
        self.session, self.place = session, place
        self.sheet = sheet = session.draft.sheet
        with session.stage:
            box = ui.dialog(value=True)
        with box as self.dialog, ui.card().style("width: 480px; max-width: 96vw; gap: 10px"):
            theme.name_dialog(box, f"Row {sheet.numbers[place]}")
            theme.heading(f"Row {sheet.numbers[place]}")
            shown = [(name, column[place]) for name, column in sheet.columns.items() if name not in sheet.doubled]
            fields = [self.field(*cell) for cell in shown]
            with theme.block("line between").style("width: 100%"):
                theme.button("Remove", self.remove, icon="delete_outline")
                theme.button("Done", box.close, primary=True)
        box.on_value_change(lambda: [leave() for leave in fields])  # Escape leaves none of them

    def here(self) -> int:
        """Where the row stands now."""
        sheet = self.session.draft.sheet
        places = continued(self.sheet, sheet, self.session.draft.identity)
        if self.place not in places:
            raise FileError("its row is gone")
        self.sheet, self.place = sheet, places.index(self.place)
        return self.place

    def remove(self) -> None:
        """Take the row out of the table, once that is said."""

        def gone() -> None:
            try:
                self.session.desk.change(self.session.draft.without([self.here()]))
            except BomiError as error:
                self.session.say(str(error), bad=True)
            self.dialog.close()

        safe = "The file stays as it is until you save; the version before is then kept as .bak."
        theme.ask(f"Remove row {self.sheet.numbers[self.place]}?", safe, "Remove it", gone, no="Keep")

    def field(self, name: str, text: str) -> Callable[[], None]:
        """One cell of the row; returns what is done once it is left."""
        made = ui.input(name, value=text).props("outlined dense").style("width: 100%")
        draft, kept = self.session.draft, text
        seen = {"number": draft.sheet.numbers[self.place], "column": name, "seen": see(draft.sheet, self.place)}
        made.props["data-cell"] = json.dumps(seen)  # the browser holds it until it is safe

        def leave() -> None:
            nonlocal kept
            if (typed := str(made.value or "")) == kept:
                return
            before, kept = kept, typed
            self.session.received(f"cell/{seen['number']}/{name}", {**seen, "text": typed})
            try:
                place, draft = self.here(), self.session.draft
                if (now := draft.sheet.columns.get(name, [before] * (place + 1))[place]) not in (before, typed):
                    raise FileError(f"the cell in column {name!r} says {now!r} now")
                self.session.desk.change(draft.typed(place, name, typed))
            except BomiError as error:
                self.session.say(f"{typed!r} was not kept: {error}", bad=True)

        made.on("blur", leave, [])
        return leave
