"""What stands above the table: what is missing of the set-up, what met another version, and every problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nicegui import ui

from bomi.campaign import summarize
from bomi.campaign.draft import other_problems
from bomi.campaign.snapshot import Snapshot
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.grid import Grid
from bomi.web.views.outside import USE, outside, plain_problems, use_outside
from bomi.web.views.start import missing
from bomi.web.views.upload import as_csv

SHOWN = 200  # problems
BROKEN = 5  # rows that break a constraint


class DataNotes:
    """The notes of a session's table, each with a button that does what is needed."""

    def __init__(self, session: Session, go: Callable[[str], None], grid: Grid | None) -> None:
        self.session = session
        self.go = go
        self.grid = grid

    def build(self) -> None:
        """Draw those that there is a reason for."""
        desk, name, result = self.session.desk, self.session.snapshot.table.name, self.session.draft.result
        if desk.trouble:
            theme.note(f"What you type is not safe until you save it: {desk.trouble}", bad=True)
        missing(self.session)
        if desk.conflicts:
            self.show_conflicts()
        self.show_setup()
        if not self.session.draft.base.editable:
            self.show_read_only(name)
        for text in result.sheet.notes if result.sheet else ():
            theme.note(f"{name}: {text}")
        if result.experiments is not None and (broken := summarize(result.experiments).broken):
            more = [f"and {len(broken) - BROKEN} more rows"] if len(broken) > BROKEN else []
            theme.note("\n".join([*broken[:BROKEN], *more]))
        if result.problems:
            self.show_problems(result)

    def show_read_only(self, name: str) -> None:
        """A file of a kind that is not written."""
        sheet, table = self.session.draft.sheet, self.session.snapshot.table
        with theme.note(
            f"{name} is only read here: this page writes CSV, .xlsx and .ods, and no {table.suffix}. Save it as "
            "one of these in your spreadsheet program, or take a copy, to type into it and to add suggestions."
        ):
            theme.button("Download as CSV", lambda: ui.download.content(as_csv(sheet), f"{table.stem}.csv"))

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
        if lacking and draft.base.editable:
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
            theme.button(USE, lambda: use_outside(self.session))

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
