"""Data: the table, editable, with its gaps and its problems marked at the cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from bomi.campaign import summarize
from bomi.campaign.sheet import Sheet, load_sheet
from bomi.campaign.snapshot import Snapshot
from bomi.errors import BomiError
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views import View
from bomi.web.views.data_notes import DataNotes
from bomi.web.views.data_rows import SelectedRows
from bomi.web.views.grid import Grid
from bomi.web.views.row_cards import RowCards
from bomi.web.views.start import begin, missing
from bomi.web.views.upload import Upload
from bomi.web.views.versions import offer_versions

_LEGEND = {
    "gap": "◌ missing",
    "uncertain": "± uncertain",
    "pending": "… awaits its outcome",
    "failed": "✕ failed",
    "problem": "! has a problem",
}


class DataView(View):
    """The table of a session."""

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        super().__init__(session, go)
        self.grid: Grid | None = None
        self.cards: RowCards | None = None  # instead of it, on a phone
        self._shown: Snapshot | None = None

    def build(self) -> None:
        """Draw the view."""
        self._shown = snapshot = self.session.snapshot
        self.editable = self.session.draft.base.editable
        with theme.block("line between"):
            with theme.block("stack tight title"):
                theme.heading("Data", 1)
                self.summary = ui.label().classes("lead").props("role=status")
            with theme.block("line"):
                if self.has_table:
                    self.saving()
                self.more()
        self.banner = ui.element("div").classes("stack")
        if not self.has_table:
            self.summary.text = snapshot.table.name
            with self.banner:
                missing(self.session)
            if snapshot.content is None:
                begin(self.session)
            return
        self.tools()
        if self.session.small:
            self.cards, self.session.wanted = RowCards(self.session, self.session.wanted), None
            self.tell()
            return
        self.grid = self.selected.grid = Grid(self.session, self.selected.select)
        self.tell()
        if self.session.wanted is not None:
            (number, column), self.session.wanted = self.session.wanted, None
            key = next((key for key, row in self.grid.rows.items() if row["line"] == number), None)
            if key is not None:
                self.grid.find(key, column, after=600)

    @property
    def has_table(self) -> bool:
        """Whether there is a table to type into; one that vanished stays, with what was typed."""
        return self.session.draft.base.sheet is not None

    def saving(self) -> None:
        """The buttons that change the table."""
        self.save_button = theme.button("Save", self.save, icon="save", primary=True)
        self.discard_button = theme.button("Discard", self.discard)
        self.undo_button = theme.round_button("undo", "Undo", self.undo)
        self.redo_button = theme.round_button("redo", "Do again", self.redo)
        self.add_button = theme.button("Add row", self.add_row, icon="add")
        if not self.editable:
            for button in (self.undo_button, self.redo_button, self.add_button):
                button.set_visibility(False)

    def more(self) -> None:
        """What is done with the file as a whole."""
        theme.button("Upload", lambda: Upload(self.session), icon="upload")
        if self.session.snapshot.content is not None:
            theme.round_button("download", "Download", self.download)
            theme.round_button("history", "Versions", self.versions)

    def tools(self) -> None:
        """The legend, a search, and what can be done with selected rows."""
        with theme.block("line").style("min-height: 40px"):
            for kind, text in _LEGEND.items():
                theme.key(kind, text)
            ui.element("div").classes("grow")
            self.selected = SelectedRows(self.session)
            self.asked = ui.switch("what was asked", on_change=lambda event: self.fold(not event.value)).classes(
                "small"
            )
            search = ui.input(placeholder="Search", on_change=lambda event: self.search(str(event.value or "")))
            search.props('outlined dense clearable debounce=200 aria-label="Search the table"').style("width: 170px")
            with search.add_slot("prepend"):
                ui.icon("search").props("aria-hidden=true")

    def fold(self, folded: bool) -> None:
        """Hide or show the columns of what was asked."""
        if self.grid is not None:
            self.grid.fold(folded)

    def search(self, text: str) -> None:
        """Show the rows that hold some text."""
        shown = self.grid or self.cards
        if shown is not None:
            shown.search(text)

    def update(self) -> None:
        """Show what changed."""
        snapshot, shown = self.session.snapshot, self.grid or self.cards
        if shown is None or not self.has_table or self.editable != self.session.draft.base.editable:
            self.go("data")
            return
        if self._shown is not snapshot:
            self.selected.clear()  # somebody else was at it: what is to be removed is looked at again
        self._shown = snapshot
        shown.update()
        self.tell()

    # --- typing ----------------------------------------------------------------------------------------------------

    def cells(self, told: Any) -> None:
        """Cells of the grid were typed or pasted."""
        assert self.grid is not None
        changes = told.get("changes", []) if isinstance(told, dict) else []
        for one in changes:
            self.session.received(f"cell/{one.get('number')}/{one.get('column')}", one)
        try:
            draft = self.grid.typed(told)
        except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
            self.session.say(str(error) if isinstance(error, BomiError) else "that cell cannot be changed", bad=True)
            self.grid.restore([str(one.get("row")) for one in changes])
            return
        if draft.changes == self.session.draft.changes:
            self.grid.restore([str(one.get("row")) for one in changes])
        self.session.desk.change(draft)

    def undo(self, told: Any = None) -> None:
        """One step back."""
        self.session.desk.undo()

    def redo(self, told: Any = None) -> None:
        """One step forward again."""
        self.session.desk.redo()

    def add_row(self) -> None:
        """A new row at the end, to be typed in."""
        self.session.desk.change(self.session.draft.with_row())
        if self.grid is not None:
            self.grid.find(list(self.grid.rows)[-1], self.session.draft.sheet.header[0], after=100)
        elif self.cards is not None:
            self.cards.open(len(self.session.draft.sheet.rows) - 1)

    # --- what is going on ------------------------------------------------------------------------------------------

    def tell(self) -> None:
        """The summary, the problems, and the buttons that fit."""
        session = self.session
        desk, result, count = session.desk, session.draft.result, session.draft.count
        self.summary.text = _summary(result, session.draft.sheet)
        self.save_button.text = f"Save {theme.count(count, 'change')}"
        self.save_button.set_visibility(bool(count))
        self.discard_button.set_visibility(bool(count))
        self.undo_button.set_enabled(desk.can_undo)
        self.redo_button.set_enabled(desk.can_redo)
        self.asked.set_visibility(self.grid is not None and bool(self.grid.asked))
        self.banner.clear()
        with self.banner:
            DataNotes(session, self.go, self.grid).build()

    # --- saving ----------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write the changes to the file."""
        desk = self.session.desk
        count, before = desk.draft.count, len(desk.conflicts)
        if not count:
            return
        try:
            desk.save()
        except BomiError as error:
            self.session.say(str(error), bad=True)
            return
        if count > len(desk.conflicts) - before:
            self.session.say(f"Saved; the version before is {self.session.snapshot.table.name}.bak")

    def discard(self) -> None:
        """Forget the changes, once that is said."""
        changes = theme.count(self.session.draft.count, "change")
        theme.ask(
            f"Discard {changes}?",
            "The table is as it was saved last. You can undo this as long as nothing is saved.",
            f"Discard {changes}",
            self.session.desk.discard,
            no="Keep",
        )

    def remove(self, told: Any = None) -> None:
        """Ctrl+Delete: remove the selected rows."""
        if self.grid is not None:
            self.selected.remove()

    def versions(self) -> None:
        """The version before the last save, to be had again."""
        snapshot = self.session.snapshot
        names = snapshot.sheet.header if snapshot.sheet else ()
        name = snapshot.sheet.name if snapshot.sheet else ""

        def tell(content: bytes) -> str:
            sheet = load_sheet(snapshot.table, content, names, sheet=name or None)
            return f"{theme.count(len(sheet.rows), 'row')}, {theme.count(len(sheet.header), 'column')}"

        offer_versions(self.session, snapshot.table, snapshot.content, tell)

    def download(self) -> None:
        """The table as it is on disk."""
        snapshot = self.session.snapshot
        if snapshot.content is not None:
            ui.download.content(snapshot.content, snapshot.table.name)


def _summary(result: Snapshot, sheet: Sheet) -> str:
    if result.experiments is None:
        return f"{theme.count(len(sheet.rows), 'row')}, {theme.count(len(sheet.header), 'column')}"
    found = summarize(result.experiments)
    inputs = [column for column in found.columns if column.column in result.experiments.campaign.space.names]
    missing, unsure = sum(column.unknown for column in inputs), sum(column.uncertain for column in inputs)
    parts = [theme.count(found.rows, "row"), f"{found.outcomes} with an outcome"]
    parts += [f"{found.pending} waiting"] if found.pending else []
    parts += [f"{found.failed} failed"] if found.failed else []
    gaps = f"{theme.count(missing, 'value')} missing, {unsure} uncertain"
    return f"{', '.join(parts)}. {gaps}; complete: {theme.count(found.complete, 'row')}."
