"""Data: the table, editable, with its gaps and its problems marked at the cell."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from bomi.campaign import storage, summarize
from bomi.campaign.draft import other_problems
from bomi.campaign.edits import replace_file
from bomi.campaign.sheet import Sheet, load_sheet
from bomi.campaign.snapshot import Snapshot
from bomi.errors import BomiError
from bomi.space import EXCLUDE, RESERVED
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views import View
from bomi.web.views.grid import Grid
from bomi.web.views.outside import outside, plain_problems, use_outside
from bomi.web.views.row_cards import RowCards
from bomi.web.views.start import begin, missing
from bomi.web.views.upload import Upload

_LEGEND = {
    "gap": "◌ missing",
    "uncertain": "± uncertain",
    "pending": "… awaits its outcome",
    "failed": "✕ failed",
    "problem": "! has a problem",
}
SHOWN = 200  # problems


class DataView(View):
    """The table of a session."""

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        super().__init__(session, go)
        self.grid: Grid | None = None
        self.cards: RowCards | None = None  # instead of it, on a phone
        self._shown: Snapshot | None = None
        self._selected: list[str] = []

    def build(self) -> None:
        """Draw the view."""
        snapshot = self.session.snapshot
        self._shown = snapshot
        with theme.block("line between"):
            with theme.block("stack tight title"):
                theme.heading("Data", 1)
                self.summary = ui.label().classes("lead").props("role=status")
            with theme.block("line"):
                if snapshot.sheet is not None:
                    self.saving()
                self.more()
        self.banner = ui.element("div").classes("stack")
        if snapshot.sheet is None:
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
        self.grid = Grid(self.session, self.select)
        self.tell()
        if self.session.wanted is not None:
            (number, column), self.session.wanted = self.session.wanted, None
            key = next((key for key, row in self.grid.rows.items() if row["line"] == number), None)
            if key is not None:
                self.grid.find(key, column, after=600)

    def saving(self) -> None:
        """The buttons that change the table."""
        self.save_button = theme.button("Save", self.save, icon="save", primary=True)
        self.discard_button = theme.button("Discard", self.discard)
        self.undo_button = _round("undo", "Undo", self.undo)
        self.redo_button = _round("redo", "Do again", self.redo)
        self.add_button = theme.button("Add row", self.add_row, icon="add")
        if not self.session.snapshot.editable:
            for button in (self.undo_button, self.redo_button, self.add_button):
                button.set_visibility(False)

    def more(self) -> None:
        """What is done with the file as a whole."""
        theme.button("Upload", lambda: Upload(self.session), icon="upload")
        if self.session.snapshot.content is not None:
            theme.button("Download", self.download, icon="download")
            theme.button("Versions", self.versions, icon="history")

    def tools(self) -> None:
        """The legend, a search, and what can be done with selected rows."""
        with theme.block("line").style("min-height: 40px"):
            for kind, text in _LEGEND.items():
                theme.key(kind, text)
            ui.element("div").classes("grow")
            self.exclude_button = theme.button("Exclude", self.exclude, icon="block").props("dense padding='4px 10px'")
            self.exclude_button.tooltip("Nothing is learned from an excluded row; it stays in the table")
            self.remove_button = theme.button("Remove", self.remove, icon="delete_outline")
            self.remove_button.props("dense padding='4px 10px'").tooltip("Ctrl+Delete in the table")
            if not self.session.small and any(name.startswith(RESERVED) for name in self.session.draft.sheet.header):
                ui.switch("what was asked", on_change=lambda event: self.fold(not event.value)).classes("small")
            search = ui.input(placeholder="Search", on_change=lambda event: self.search(str(event.value or "")))
            search.props('outlined dense clearable debounce=200 aria-label="Search the table"').style("width: 170px")
            with search.add_slot("prepend"):
                ui.icon("search").props("aria-hidden=true")
        self.select([])

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
        snapshot = self.session.snapshot
        if self.cards is not None and snapshot.sheet is not None:
            self.cards.update()
            self.tell()
            return
        if self.grid is None or snapshot.sheet is None or self.grid.outdated:
            self.go("data")
            return
        if self._shown is not snapshot:
            self.grid.deselect()  # somebody else was at it: what is to be removed is looked at again
            self.select([])
        self._shown = snapshot
        self.grid.update()
        self.tell()

    # --- typing ----------------------------------------------------------------------------------------------------

    def cells(self, told: Any) -> None:
        """Cells were typed or pasted."""
        if self.grid is None:
            return
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
            key = list(self.grid.rows)[-1]
            ui.run_javascript(f"setTimeout(() => bomiGrid.find('{key}', 'c0'), 100)")
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
        self.banner.clear()
        with self.banner:
            if desk.trouble:
                theme.note(f"What you type is not safe until you save it: {desk.trouble}", bad=True)
            if desk.conflicts:
                self.show_conflicts()
            self.show_setup()
            if not session.snapshot.editable:
                theme.note(
                    f"{session.snapshot.table.name} is a workbook: its cells are only read here, while suggestions can "
                    "be added to an .xlsx. Save it as CSV to edit it on this page."
                )
            for text in result.sheet.notes if result.sheet else ():
                theme.note(f"{session.snapshot.table.name}: {text}")
            if result.experiments is not None and (broken := summarize(result.experiments).broken):
                more = [f"and {len(broken) - 5} more rows"] if len(broken) > 5 else []
                theme.note("\n".join([*broken[:5], *more]))
            if result.problems:
                self.show_problems(result)

    def show_setup(self) -> None:
        """What is missing of the set-up, or of the columns that it needs."""
        snapshot, draft = self.session.snapshot, self.session.draft
        if snapshot.campaign is None:
            fault = snapshot.campaign_fault
            text = f"The set-up cannot be read:\n{fault}" if fault else (
                "There is no set-up yet. Say which columns may vary and which one is the outcome: "
                "a first guess is made from the table."
            )  # fmt: skip
            with theme.note(text, bad=bool(fault)):
                theme.button("Mend it" if fault else "Set it up", lambda: self.go("setup"), primary=not fault)
            return
        needed = {**snapshot.campaign.space.parameters, **dict.fromkeys(snapshot.campaign.outcomes)}
        lacking = [name for name in needed if name not in draft.sheet.columns]
        lacking = [name for name in lacking if getattr(needed[name], "filling", None) is None]
        if lacking and snapshot.editable:
            names = ", ".join(lacking)
            text = f"The set-up speaks of {names}, but the table has no such column."
            with theme.note(text, bad=True):
                theme.button(
                    f"Add {theme.count(len(lacking), 'column')}",
                    lambda: self.session.desk.change(self.session.draft.with_columns(lacking)),
                    icon="add",
                    primary=True,
                )

    def show_problems(self, result: Snapshot) -> None:
        """Every problem, each leading to its cell."""
        count = len(result.problems)
        with ui.element("section").classes("note bad").style("display: block"):
            with theme.block("line"):
                ui.icon("error_outline", size="22px").props("aria-hidden=true")
                theme.heading(f"{theme.count(count, 'problem')} to mend before anything can be suggested")
                self.offer_outside(result)
            with theme.block("problems").props('tabindex=0 role=region aria-label="Problems"'):
                for problem in other_problems(result):
                    ui.label(f"{problem.column or 'the header'}: {problem.message}").style("padding: 3px 8px")
                keys = list(self.grid.rows) if self.grid else []
                for (place, column), message in list(plain_problems(result).items())[:SHOWN]:
                    number = self.session.draft.sheet.numbers[place]
                    where = f"Row {number}, {column}: " if column else f"Row {number}: "
                    if not keys:
                        ui.label(where + message).style("padding: 3px 8px")
                        continue
                    with ui.element("button").on("click", partial(self.find, keys[place], column), []):
                        ui.label(where + message)

    def offer_outside(self, result: Snapshot) -> None:
        """Rows outside the ranges can be used as they are."""
        if outside(result):
            theme.button("Use the rows outside the range", lambda: use_outside(self.session))

    def find(self, key: str, column: str) -> None:
        """Bring a cell into view."""
        if self.grid is not None:
            self.grid.find(key, column)

    def show_conflicts(self) -> None:
        """Changes that met a newer version of the file."""
        desk = self.session.desk
        lines = "\n".join(str(conflict) for conflict in desk.conflicts)

        def seen() -> None:
            desk.conflicts = []
            desk.tell()

        with theme.note(
            f"The table was changed outside of this page, and these changes of yours were not saved:\n{lines}", bad=True
        ):
            theme.button("I have seen it", seen)

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

    def versions(self) -> None:
        """The version before the last save, to be had again."""
        snapshot = self.session.snapshot
        path = snapshot.table.with_name(snapshot.table.name + ".bak")
        try:
            content = storage.read_bytes(path)
            sheet = load_sheet(snapshot.table, content)
            saved = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(path.stat().st_mtime))
        except (BomiError, OSError):
            self.session.say(f"There is no version before this one: {path.name} is written when something is saved.")
            return

        def restore() -> None:
            try:
                replace_file(snapshot.table, content, expected=snapshot.content)
            except BomiError as error:
                self.session.say(str(error), bad=True)
                return
            self.session.refresh()
            self.session.say(f"{snapshot.table.name} is the version before now; what it was is {path.name}.")

        now = len(snapshot.sheet.rows) if snapshot.sheet else 0
        theme.ask(
            "Go back to the version before?",
            f"{path.name}, kept at {saved}, has {theme.count(len(sheet.rows), 'row')} and "
            f"{theme.count(len(sheet.header), 'column')}; the table has {theme.count(now, 'row')} now. "
            "The table as it is now is kept as the version before, so that you can come back.",
            "Restore the version before",
            restore,
        )

    def download(self) -> None:
        """The table as it is on disk."""
        snapshot = self.session.snapshot
        if snapshot.content is not None:
            ui.download.content(snapshot.content, snapshot.table.name)

    # --- rows ------------------------------------------------------------------------------------------------------

    def select(self, keys: list[str]) -> None:
        """Rows were selected."""
        self._selected = keys
        chosen = bool(keys)
        self.remove_button.text = f"Remove {theme.count(len(keys), 'row')}"
        self.remove_button.set_visibility(chosen)
        out = chosen and all(self.grid.rows[key].get("excluded") for key in keys) if self.grid else False
        self.exclude_button.text = f"{'Use' if out else 'Exclude'} {theme.count(len(keys), 'row')}"
        self.exclude_button.set_visibility(chosen)

    def exclude(self) -> None:
        """Leave rows out of what is learned from, or take them in again; they stay in the table."""
        if self.grid is None or not self._selected:
            return
        places = [self.grid.place(key) for key in self._selected]
        out = not all(self.grid.rows[key].get("excluded") for key in self._selected)
        draft = self.session.draft.with_columns([EXCLUDE])
        self.session.desk.change(draft.pasted({(place, EXCLUDE): "yes" if out else "" for place in places}))

    def remove(self, told: Any = None) -> None:
        """Say what would be removed, and do it when told to."""
        grid, draft = self.grid, self.session.draft
        places = [grid.place(key) for key in self._selected if key in grid.rows] if grid else []
        if grid is None or not places:
            self.session.say("Select the rows to remove first: a click on their boxes, or Space.")
            return

        def remove() -> None:
            if self.session.draft is not draft:
                self.session.say("The table was changed meanwhile; look at it, then select the rows again.", bad=True)
                return
            grid.deselect()
            self.select([])
            self.session.desk.change(draft.without(places))

        rows = theme.count(len(places), "row")
        listed = [self.told(place) for place in places[:8]]
        listed += [f"and {len(places) - 8} more"] if len(places) > 8 else []
        safe = "The file stays as it is until you save; the version before is then kept as .bak."
        theme.ask(f"Remove {rows}?", "\n".join([*listed, safe]), f"Remove {rows}", remove, no="Keep")

    def told(self, place: int) -> str:
        """A row in short: its line, and what it begins with."""
        row = list(self.grid.rows.values())[place] if self.grid else {}
        texts = [str(row[f"c{j}"]) for j in range(len(self.session.draft.sheet.header))]
        short = ", ".join(text for text in texts if text.strip())
        number = "A new row" if row["line"] == "new" else f"Row {row['line']}"
        return f"{number}: {short[:77]}..." if len(short) > 80 else f"{number}: {short}"


def _round(icon: str, name: str, action: Callable[[], Any]) -> ui.button:
    """A button with a picture only."""
    made = ui.button(icon=icon, on_click=lambda: action()).props("flat round dense color=primary")
    made.props["aria-label"] = name
    made.tooltip(name)
    return made


def _summary(result: Snapshot, sheet: Sheet) -> str:
    if result.experiments is None:
        return f"{theme.count(len(sheet.rows), 'row')}, {theme.count(len(sheet.header), 'column')}"
    found = summarize(result.experiments)
    inputs = [column for column in found.columns if column.column in result.experiments.campaign.space.names]
    missing, unsure = sum(column.unknown for column in inputs), sum(column.uncertain for column in inputs)
    parts = [theme.count(found.rows, "row"), f"{found.outcomes} with an outcome"]
    parts += [f"{found.pending} pending"] if found.pending else []
    parts += [f"{found.failed} failed"] if found.failed else []
    gaps = f"{theme.count(missing, 'value')} missing, {unsure} uncertain"
    return f"{', '.join(parts)}. {gaps}; complete: {theme.count(found.complete, 'row')}."
