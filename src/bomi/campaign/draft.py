"""A table with changes that are not saved yet, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from bomi.campaign.edits import Conflict, Edit, Removal, edited, locate, locate_removals, removals, save_edits, see
from bomi.campaign.experiments import column_names
from bomi.campaign.sheet import Sheet
from bomi.campaign.snapshot import Snapshot, assess
from bomi.data.reading import is_failed, read_exclude
from bomi.errors import CellError, FileError, Problem, TableError
from bomi.space import EXCLUDE, Integer, Real, cells
from bomi.space.cells import Interval, Normal


@dataclass(frozen=True)
class Draft:
    """The table as it was read, the cells typed anew since, rows added at its end, and rows removed."""

    base: Snapshot
    edits: tuple[Edit, ...] = ()
    added: tuple[Mapping[str, str], ...] = ()
    removed: tuple[Removal, ...] = ()

    @property
    def count(self) -> int:
        """How many changes are not saved."""
        return len(self.edits) + len(self.added) + len(self.removed)

    @cached_property
    def result(self) -> Snapshot:
        """What the file would be if it were saved now."""
        if not self.count or self.base.sheet is None:
            return self.base
        content, _ = edited(self.base.sheet, self.edits, self.added, self.removed)
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
        gone = {removal.number for removal in self.removed}
        return [place for place, number in enumerate(numbers) if number not in gone]

    def typed(self, place: int, column: str, text: str) -> Draft:
        """With one cell typed anew; as it was before, it is no change any more. An error changes nothing."""
        sheet, base = self.sheet, self.base.sheet
        if base is None or not 0 <= place < len(sheet.rows) or column not in sheet.columns:
            raise FileError(f"there is no cell in column {column!r} of that row")
        if place >= len(self.origins):
            number = place - len(self.origins)
            rows = [{**row, column: text} if i == number else row for i, row in enumerate(self.added)]
            changed = replace(self, added=tuple(rows))
        else:
            origin = self.origins[place]
            edit = Edit(base.numbers[origin], see(base, origin), column, text)
            others = tuple(e for e in self.edits if (e.number, e.column) != (edit.number, column))
            changed = replace(self, edits=others if edit.seen[column] == text else (*others, edit))
        if len(changed.sheet.rows) != len(sheet.rows):  # a cell that cannot be written is told now, not on saving
            raise FileError("that would leave the row without anything in it; type ? for what nobody knows")
        return changed

    def with_row(self, row: Mapping[str, str] | None = None) -> Draft:
        """With a new row at the end, whose inputs are unknown unless they are given."""
        names = self.base.campaign.space.names if self.base.campaign else self.sheet.header[:1]
        blank = dict.fromkeys(names, "?")
        return replace(self, added=(*self.added, {**blank, **(row or {})}))

    def without(self, places: Collection[int]) -> Draft:
        """Without some rows, and without what was typed into them."""
        old, base = len(self.origins), self.base.sheet
        if base is None or not all(0 <= place < old + len(self.added) for place in places):
            raise FileError("there is no such row")
        gone = removals(base, [self.origins[place] for place in places if place < old])
        numbers = {removal.number for removal in gone}
        return replace(
            self,
            edits=tuple(edit for edit in self.edits if edit.number not in numbers),
            added=tuple(row for place, row in enumerate(self.added, old) if place not in places),
            removed=(*self.removed, *gone),
        )

    def rebased(self, now: Snapshot) -> tuple[Draft, list[Conflict]]:
        """The same changes on top of a newer version of the file, and those that it leaves no room for."""
        if now.sheet is None:
            return Draft(now), [*map(Conflict, self.edits), *map(Conflict, self.removed)]
        places, conflicts = locate(now.sheet, self.edits)
        gone, kept = locate_removals(now.sheet, self.removed)
        made = tuple(
            Edit(now.sheet.numbers[row], see(now.sheet, row), now.sheet.header[column], text)
            for (row, column), text in places.items()
            if now.sheet.columns[now.sheet.header[column]][row] != text
        )
        return Draft(now, made, self.added, removals(now.sheet, gone)), conflicts + kept

    def save(self) -> list[Conflict]:
        """Write the changes that fit into the file as it is now; returns the others."""
        names = column_names(self.base.campaign) if self.base.campaign else ()
        return save_edits(self.base.table, self.edits, self.added, self.removed, names=names)


def enter(base: Snapshot, place: int, texts: Mapping[str, str]) -> None:
    """Write what is known of one row, such as an outcome: all of it, or nothing if a cell makes no sense or changed."""
    draft = Draft(base)
    for column, text in texts.items():
        draft = draft.typed(place, column, text)
    number = draft.sheet.numbers[place]
    wrong = [p for p in draft.result.problems if p.row == number and p.column in texts]
    if wrong:
        error = TableError("\n".join(f"{problem.column}: {problem.message}" for problem in wrong))
        error.problems = tuple(wrong)
        raise error
    names = column_names(base.campaign) if base.campaign else ()
    save_edits(base.table, draft.edits, names=names, whole=True)


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
            if cells.is_unknown(text):
                found[place, name] = "gap"
            elif isinstance(parameter, Real | Integer) and _uncertain(text):
                found[place, name] = "uncertain"
    for name in campaign.outcomes:
        for place, text in enumerate(sheet.columns.get(name, ())):
            if cells.is_unknown(text):
                found[place, name] = "pending"
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


def other_problems(snapshot: Snapshot) -> list[Problem]:
    """Problems of the header, that no row has."""
    rows = set(snapshot.sheet.numbers) if snapshot.sheet else set()
    return [problem for problem in snapshot.problems if problem.row not in rows]


def _uncertain(text: str) -> bool:
    try:
        return isinstance(cells.parse(text.replace(",", ".")), Normal | Interval)
    except CellError:
        return False
