"""Changes of a table that others may be writing to: what changed meanwhile is reported, never overwritten.

An edit carries its row as it was seen. On saving, the row is looked for in the file as it is now: by its id where the
table has ids, else by all its cells. If the cell reads as it was seen, it is written; if not, somebody was faster, and
the edit comes back as a conflict. A row is removed only if all its cells read as they were seen.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bomi.campaign import storage
from bomi.campaign.locks import locked
from bomi.campaign.sheet import Sheet, load_sheet
from bomi.errors import FileError
from bomi.space import IDENTITY

UPLOAD_LIMIT = 20 * 2**20  # bytes


@dataclass(frozen=True)
class Edit:
    """A cell typed anew: the line its row began at and what the row held when it was seen, the column, the new text.

    `identity` is the column that names the rows of the table.
    """

    number: int
    seen: Mapping[str, str]
    column: str
    text: str
    identity: str = IDENTITY


@dataclass(frozen=True)
class Removal:
    """A row to be removed: the line it began at, what it held when it was seen, and how many rows held just that."""

    number: int
    seen: Mapping[str, str]
    alike: int = 1


@dataclass(frozen=True)
class Changes:
    """Changes of a table: columns added at its right, cells typed anew, rows added at its end, rows removed."""

    columns: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    added: tuple[Mapping[str, str], ...] = ()
    removed: tuple[Removal, ...] = ()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.columns) + len(self.edits) + len(self.added) + len(self.removed)


@dataclass(frozen=True)
class Conflict:
    """A change that was not made, as its cell now holds something else; None if its row or column is gone."""

    edit: Edit | Removal
    now: str | None = None

    def __str__(self) -> str:
        edit = self.edit
        if isinstance(edit, Removal):
            return f"row {edit.number}: you removed it, but it, or a row like it, was changed or removed meanwhile"
        found = "is no longer there" if self.now is None else f"now says {self.now!r}"
        return f"row {edit.number}, column {edit.column!r}: you typed {edit.text!r}, but the cell {found}"


def see(sheet: Sheet, place: int) -> dict[str, str]:
    """What a row holds, by column."""
    return {name: column[place] for name, column in sheet.columns.items()}


def locate(sheet: Sheet, edits: Sequence[Edit]) -> tuple[dict[tuple[int, int], str], list[Conflict]]:
    """Where each edit goes in a table as it is now, by place of row and column, and those that go nowhere."""
    by_id = {name: _by_id(sheet, name) for name in {edit.identity for edit in edits}}
    by_number = {number: place for place, number in enumerate(sheet.numbers)}
    places: dict[tuple[int, int], str] = {}
    conflicts = []
    for edit in edits:
        row = _row(sheet, edit, by_id[edit.identity], by_number)
        if row is None or edit.column not in sheet.columns:
            conflicts.append(Conflict(edit, None))
            continue
        now = sheet.columns[edit.column][row]
        if now == edit.seen.get(edit.column, "") or now == edit.text:
            places[row, sheet.header.index(edit.column)] = edit.text
        else:
            conflicts.append(Conflict(edit, now))
    return places, conflicts


def _by_id(sheet: Sheet, name: str) -> dict[str, int]:
    """The places of the rows with an id that no other row has."""
    ids = sheet.columns.get(name, [])
    often = Counter(ids)
    return {identity: place for place, identity in enumerate(ids) if identity.strip() and often[identity] == 1}


def _row(sheet: Sheet, edit: Edit, by_id: Mapping[str, int], by_number: Mapping[int, int]) -> int | None:
    identity = edit.seen.get(edit.identity, "")
    if identity.strip() and identity in by_id:
        return by_id[identity]
    here = by_number.get(edit.number)
    if here is not None and see(sheet, here) == dict(edit.seen):
        return here
    others = [name for name in edit.seen if name in sheet.columns]
    rows = zip(*(sheet.columns[name] for name in others), strict=True)
    wanted = tuple(edit.seen[name] for name in others)
    alike = [place for place, row in enumerate(rows) if row == wanted]
    return alike[0] if len(alike) == 1 else None


def continued(before: Sheet, after: Sheet, identity: str = IDENTITY) -> list[int | None]:
    """The place that each row had in an older version of the table, None if it is new.

    A row is known again by its id, else by what it says, else by the row above it.
    """
    left = set(range(len(before.rows)))
    found: list[int | None] = [None] * len(after.rows)
    for said in (lambda sheet: _identities(sheet, identity), _contents):
        places: dict[Any, deque[int]] = defaultdict(deque)
        for place, says in enumerate(said(before)):
            if place in left:
                places[says].append(place)
        for i, says in enumerate(said(after)):
            if found[i] is None and says and places[says]:
                left.discard(place := places[says].popleft())
                found[i] = place
    for i in range(len(found)):
        above = found[i - 1] if i else -1
        if found[i] is None and above is not None and above + 1 in left:
            left.discard(above + 1)
            found[i] = above + 1
    return found


def _identities(sheet: Sheet, name: str) -> list[str]:
    return [text.strip() for text in sheet.columns.get(name, ())]


def removals(sheet: Sheet, places: Collection[int]) -> tuple[Removal, ...]:
    """The removals of some rows of a table, by their places."""
    if not places:
        return ()
    alike = _by_content(sheet)
    rows = [(sheet.numbers[place], see(sheet, place)) for place in sorted(places)]
    return tuple(Removal(number, seen, len(alike[_content(seen)])) for number, seen in rows)


def locate_removals(sheet: Sheet, removed: Sequence[Removal]) -> tuple[set[int], list[Conflict]]:
    """The places of the rows to be removed in a table as it is now, and the removals of rows that changed.

    Of rows that are alike, one that somebody else removed may be the one that was meant: then none is.
    """
    places: set[int] = set()
    conflicts = []
    alike = _by_content(sheet) if removed else {}
    for removal in removed:
        found = alike.get(_content(removal.seen), [])
        if len(found) != removal.alike:
            conflicts.append(Conflict(removal))
            continue
        left = [place for place in found if place not in places]
        places.update([place for place in left if sheet.numbers[place] == removal.number] or left[:1])
    return places, conflicts


def _content(seen: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """What a row says; a column that is blank in it may come and go."""
    return frozenset((name, text) for name, text in seen.items() if text.strip())


def _by_content(sheet: Sheet) -> Mapping[frozenset[tuple[str, str]], list[int]]:
    found = defaultdict(list)
    for place, says in enumerate(_contents(sheet)):
        found[says].append(place)
    return found


def _contents(sheet: Sheet) -> list[frozenset[tuple[str, str]]]:
    return [_content(see(sheet, place)) for place in range(len(sheet.rows))]


def with_columns(sheet: Sheet, names: Sequence[str]) -> Sheet:
    """The table with more columns at its right, blank in every row."""
    return _reread(sheet, sheet.append(names, []), names) if names else sheet


def _reread(sheet: Sheet, content: bytes, names: Sequence[str] = ()) -> Sheet:
    """The same table with other content."""
    return load_sheet(sheet.path, content, (*sheet.header, *names), sheet=sheet.name or None)


def edited(sheet: Sheet, changes: Changes) -> tuple[bytes, list[Conflict]]:
    """The file with the changes that fit, and the changes that do not."""
    sheet = with_columns(sheet, [name for name in changes.columns if name not in sheet.header])
    places, conflicts = locate(sheet, changes.edits)
    gone, kept = locate_removals(sheet, changes.removed)
    content = sheet.retyped(places, without=gone)
    if changes.added:
        content = _reread(sheet, content).append([], [dict(row) for row in changes.added])
    return content, conflicts + kept


def save_edits(
    path: Path, changes: Changes, *, names: Collection[str] = (), sheet: str | None = None, whole: bool = False
) -> list[Conflict]:
    """Write changes into a table as it is now, and keep the version before as `.bak`; returns conflicts.

    `sheet` is one of a workbook's. With `whole`, a conflict is an error and nothing is written.
    """
    conflicts: list[Conflict] = []

    def change(content: bytes) -> bytes:
        nonlocal conflicts
        new, conflicts = edited(load_sheet(path, content, names, sheet=sheet), changes)
        if whole and conflicts:
            raise FileError("\n".join(map(str, conflicts)))
        return new

    storage.check_file(path)  # no lock beside what is not there
    with locked(path):
        storage.update_bytes(path, change)
    return conflicts


def replace_file(path: Path, content: bytes, *, expected: bytes | None) -> None:
    """Give a file new content, unless it no longer holds what was expected; None: it was not there.

    The version before is kept as `.bak`.
    """
    changed = FileError(f"{path.name} was changed meanwhile and was left as it is; look at it, then try again")
    with locked(path):
        if expected is None:
            if path.exists():
                raise changed
            storage.replace_bytes(path, content)
            return

        def change(now: bytes) -> bytes:
            if now != expected:
                raise changed
            return content

        storage.update_bytes(path, change)
