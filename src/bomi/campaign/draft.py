"""A table with changes that are not saved yet, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from bomi.campaign.edits import (
    Changes,
    Conflict,
    Edit,
    edited,
    locate,
    locate_removals,
    removals,
    save_edits,
    see,
    with_columns,
)
from bomi.campaign.experiments import column_names
from bomi.campaign.sheet import Sheet
from bomi.campaign.snapshot import Snapshot, assess
from bomi.data.reading import PENDING_WORDS, is_failed, read_exclude
from bomi.errors import CellError, CellProblem, FileError, TableError
from bomi.space import EXCLUDE, IDENTITY, Integer, Real, cells, typed
from bomi.space.cells import Censored, Interval, Normal


@dataclass(frozen=True)
class Draft:
    """The table as it was read, and changes that are not saved yet."""

    base: Snapshot
    changes: Changes = field(default_factory=Changes)

    @property
    def count(self) -> int:
        """How many changes are not saved."""
        return self.changes.count

    @property
    def identity(self) -> str:
        """The column that names the experiments."""
        return self.base.campaign.id_column if self.base.campaign else IDENTITY

    @cached_property
    def result(self) -> Snapshot:
        """What the file would be if it were saved now."""
        if not self.count or self.base.sheet is None:
            return self.base
        content, _ = edited(self.base.sheet, self.changes)
        return assess(replace(self.base, content=content))

    @property
    def sheet(self) -> Sheet:
        """The table with the changes."""
        if self.result.sheet is None:
            raise FileError(self.result.table_fault or "there is no table yet")
        return self.result.sheet

    @cached_property
    def origins(self) -> list[int]:
        """Where the rows stood in the table as it was read; rows added since come after them."""
        numbers = self.base.sheet.numbers if self.base.sheet else []
        gone = {removal.number for removal in self.changes.removed}
        return [place for place, number in enumerate(numbers) if number not in gone]

    def typed(self, place: int, column: str, text: str) -> Draft:
        """With one cell typed anew; typed as it was before, it is no longer a change. An error changes nothing."""
        return self.pasted({(place, column): text})

    def pasted(self, texts: Mapping[tuple[int, str], str]) -> Draft:
        """With several cells typed anew, by place of the row and column: all of them, or an error and none."""
        sheet, base = self.sheet, self.base.sheet
        old = len(self.origins)
        edits = {(edit.number, edit.column): edit for edit in self.changes.edits}
        added = list(self.changes.added)
        for (place, column), text in texts.items():
            if base is None or not 0 <= place < len(sheet.rows) or column not in sheet.columns:
                raise FileError(f"there is no cell in column {column!r} of that row")
            if place >= old:
                added[place - old] = {**added[place - old], column: text}
                continue
            seen = see(base, self.origins[place])
            edit = Edit(base.numbers[self.origins[place]], seen, column, text, self.identity)
            edits.pop((edit.number, column), None)
            if seen.get(column, "") != text:
                edits[edit.number, column] = edit
        changed = replace(self, changes=replace(self.changes, edits=tuple(edits.values()), added=tuple(added)))
        if len(changed.sheet.rows) != len(sheet.rows):  # a cell that cannot be written is reported now, not on saving
            raise FileError("that would leave the row without anything in it; type ? for what nobody knows")
        return changed

    def with_row(self, row: Mapping[str, str] | None = None) -> Draft:
        """With a new row at the end, whose inputs are unknown unless they are given."""
        names = self.base.campaign.space.names if self.base.campaign else self.sheet.header[:1]
        known = [name for name in names if name in self.sheet.columns] or self.sheet.header[:1]
        blank = dict.fromkeys(known, "?")
        return replace(self, changes=replace(self.changes, added=(*self.changes.added, {**blank, **(row or {})})))

    def with_columns(self, names: Collection[str]) -> Draft:
        """With columns at the right, those that are not there yet."""
        new = tuple(name for name in names if name not in self.sheet.header)
        return replace(self, changes=replace(self.changes, columns=(*self.changes.columns, *new)))

    def without(self, places: Collection[int]) -> Draft:
        """Without some rows, and without what was typed into them."""
        old, base, changes = len(self.origins), self.base.sheet, self.changes
        if base is None or not all(0 <= place < old + len(changes.added) for place in places):
            raise FileError("there is no such row")
        gone = removals(base, [self.origins[place] for place in places if place < old])
        numbers = {removal.number for removal in gone}
        kept = replace(
            changes,
            edits=tuple(edit for edit in changes.edits if edit.number not in numbers),
            added=tuple(row for place, row in enumerate(changes.added, old) if place not in places),
            removed=(*changes.removed, *gone),
        )
        return replace(self, changes=kept)

    def place_of(self, edit: Edit) -> int | None:
        """Where the row that an edit was typed into stands now, if the cell can still take it."""
        found, _ = locate(self.sheet, [edit])
        return next((row for row, _ in found), None)

    def rebased(self, now: Snapshot) -> tuple[Draft, list[Conflict]]:
        """The same changes on top of a newer version of the file, and those that it leaves no room for.

        Without a table that can be read they stay where they are: it may come back.
        """
        changes = self.changes
        if now.sheet is None:
            return self, []
        columns = tuple(name for name in changes.columns if name not in now.sheet.header)
        wide = with_columns(now.sheet, columns)
        places, conflicts = locate(wide, changes.edits)
        gone, kept = locate_removals(now.sheet, changes.removed)
        made = tuple(
            Edit(wide.numbers[row], see(now.sheet, row), wide.header[column], text, Draft(now).identity)
            for (row, column), text in places.items()
            if wide.columns[wide.header[column]][row] != text
        )
        moved = Changes(columns, made, changes.added, removals(now.sheet, gone))
        return Draft(now, moved), conflicts + kept

    def save(self, *, whole: bool = False) -> list[Conflict]:
        """Write the changes that fit into the file as it is now; returns the others. `whole`: all, or an error."""
        names = column_names(self.base.campaign) if self.base.campaign else ()
        sheet = self.base.sheet.name if self.base.sheet else ""
        return save_edits(self.base.table, self.changes, names=names, sheet=sheet or None, whole=whole)


def enter(base: Snapshot, place: int, texts: Mapping[str, str]) -> None:
    """Write what is known of one row, such as an outcome: all of it, or nothing if a cell makes no sense or changed."""
    draft = Draft(base).pasted({(place, column): text for column, text in texts.items()})
    number = draft.sheet.numbers[place]
    wrong = [p for p in draft.result.problems if p.row == number and p.column in texts]
    if wrong:
        error = TableError("\n".join(f"{problem.column}: {problem.message}" for problem in wrong))
        error.problems = tuple(wrong)
        raise error
    draft.save(whole=True)


def remove_row(base: Snapshot, place: int) -> None:
    """Remove one row from the file, such as a suggestion that nobody will run, unless it was changed meanwhile."""
    Draft(base).without([place]).save(whole=True)


def marks(snapshot: Snapshot) -> dict[tuple[int, str], str]:
    """What is special about cells, by place of the row and column: gap, uncertain, pending or failed.

    Nothing is special about the cells of a row that is excluded.
    """
    found: dict[tuple[int, str], str] = {}
    sheet, campaign = snapshot.sheet, snapshot.campaign
    if sheet is None or campaign is None:
        return found
    excluded = {place for place, text in enumerate(sheet.columns.get(EXCLUDE, ())) if read_exclude(text)}
    for name, parameter in campaign.space.parameters.items():
        for place, text in enumerate(sheet.columns.get(name, ())):
            if cells.is_unknown(text) and text.strip() not in map(cells.text, getattr(parameter, "values", ())):
                found[place, name] = "gap"
            elif isinstance(parameter, Real | Integer) and _uncertain(text):
                found[place, name] = "uncertain"
    for name in campaign.outcomes:
        for place, text in enumerate(sheet.columns.get(name, ())):
            if cells.is_unknown(text):
                found[place, name] = "pending" if text.strip().lower() in PENDING_WORDS else "gap"
            elif is_failed(text):
                found[place, name] = "failed"
    return {(place, name): kind for (place, name), kind in found.items() if place not in excluded}


def cell_problems(snapshot: Snapshot) -> dict[tuple[int, str], str]:
    """What is wrong, by place of the row and column; a problem of a whole row has the column ""."""
    if snapshot.sheet is None:
        return {}
    places = {number: place for place, number in enumerate(snapshot.sheet.numbers)}
    return {
        (places[problem.row], problem.column): problem.message
        for problem in snapshot.problems
        if isinstance(problem.row, int) and problem.row in places
    }


def other_problems(snapshot: Snapshot) -> list[CellProblem]:
    """Problems of the header, that no row has."""
    rows = set(snapshot.sheet.numbers) if snapshot.sheet else set()
    return [problem for problem in snapshot.problems if problem.row not in rows]


def _uncertain(text: str) -> bool:
    try:
        return isinstance(typed.parse(text.replace(",", ".")), Normal | Interval | Censored)
    except CellError:
        return False
