"""One table with its campaign, what was typed and not saved, and what was computed: shared by all open tabs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bomi.campaign.draft import Draft
from bomi.campaign.edits import Changes, Conflict
from bomi.campaign.kept import Kept, read_kept, write_kept
from bomi.campaign.snapshot import Snapshot, take_snapshot
from bomi.campaign.toml import NAME
from bomi.errors import BomiError
from bomi.web.computing import Computing
from bomi.web.steps import Steps
from bomi.web.worker import Worker


@dataclass(frozen=True)
class Suggested:
    """Suggestions for one version of the files, and which of them are not in the table yet."""

    key: str
    advices: tuple[Any, ...]
    left: tuple[int, ...]

    def without(self, places: Collection[int]) -> Suggested:
        """Once some of them are in the table."""
        return replace(self, left=tuple(place for place in self.left if place not in places))

    def at(self, key: str) -> Suggested:
        """For another version that differs only by these suggestions."""
        return replace(self, key=key)


@dataclass(frozen=True, eq=False)
class Asking:
    """Suggestions that are being computed: how many."""

    count: int


class Desk:
    """The files, read again only when they changed; the changes that wait to be saved; and whom to tell of either.

    What is typed in one tab is seen in all of them, and is kept in a hidden file beside the table until it is saved or
    discarded.
    """

    def __init__(self, table: Path, campaign: Path | None = None, worker: Worker | None = None) -> None:
        self.table = table
        self.campaign = table.parent / NAME if campaign is None else campaign
        self.computing = Computing(worker or Worker())
        self.sessions: set[Session] = set()
        self.conflicts: list[Conflict] = []
        self.texts: dict[str, Any] = {}  # typed into fields that are not cells of the table
        self.suggested: Suggested | None = None
        self.asking: Asking | None = None  # while suggestions are being computed
        self.refused = ""  # why there are none
        self.trouble = ""  # why what is typed cannot be kept on disk
        self.steps = Steps()  # of the table
        self.setup_steps = Steps()
        self._waits = False  # to be written into the hidden file
        self._seen: tuple[Any, Snapshot] | None = None
        self.snapshot = self._look()
        self.draft = Draft(self.snapshot)
        self._take_up()

    # --- the files -------------------------------------------------------------------------------------------------

    def _look(self) -> Snapshot:
        """The files as they are now."""
        stamp = _stamp(self.table), _stamp(self.campaign)  # before reading: who writes meanwhile is noticed next time
        if self._seen is None or self._seen[0] != stamp:
            self._seen = stamp, take_snapshot(self.table, self.campaign)
        return self._seen[1]

    def refresh(self) -> bool:
        """Take in what changed on disk; unsaved changes stay where they still fit. Returns whether anything did."""
        now = self._look()
        if now.key == self.snapshot.key and now.table_fault == self.snapshot.table_fault:
            return False
        self.snapshot = now
        if now.sheet is not None:
            self.draft, conflicts = self.draft.rebased(now)
            self.conflicts += conflicts
            self._waits = True
        self._forget_answered()
        self.tell()
        return True

    def _forget_answered(self) -> None:
        """What was expected of an experiment is kept until its result is there."""
        experiments = self.snapshot.experiments
        if experiments is not None:
            names = experiments.campaign.outcomes
            waits = {row.id for row in experiments.rows if not row.failed and len(row.outcomes) < len(names)}
            for identity in self.kept("asked/"):
                if identity not in waits:
                    self.keep(f"asked/{identity}", None)

    async def watch(self) -> None:
        """Look at the files, and write down what waits; called every now and then."""
        await asyncio.to_thread(self._look)
        before = len(self.conflicts)
        if self.refresh() and len(self.conflicts) == before:
            there = "The files were changed outside; this is the new version."
            gone = f"{self.table.name} is no longer there. What you typed is kept."
            self.say(there if self.snapshot.content is not None else gone, bad=self.snapshot.content is None)
        self.write_down()

    def tell(self, but: Session | None = None) -> None:
        """Something changed: every tab shows it."""
        for session in list(self.sessions):
            if session is not but:
                session.on_change()

    def say(self, text: str, *, bad: bool = False) -> None:
        """A message in every tab."""
        for session in list(self.sessions):
            session.say(text, bad=bad)

    # --- changes that are not saved --------------------------------------------------------------------------------

    def change(self, draft: Draft) -> None:
        """Another state of the table; the one before can be had again."""
        if draft.changes == self.draft.changes:
            return
        self.steps.record(self.draft.changes)
        self._set(draft)

    def _set(self, draft: Draft) -> None:
        self.draft = draft
        self._waits = True
        self.tell()

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to undo."""
        return bool(self.steps.past)

    @property
    def can_redo(self) -> bool:
        """Whether there is a step to do again."""
        return bool(self.steps.future)

    def undo(self) -> None:
        """One step back."""
        if self.can_undo:
            self._take(self.steps.back(self.draft.changes))

    def redo(self) -> None:
        """One step forward again."""
        if self.can_redo:
            self._take(self.steps.forward(self.draft.changes))

    def _take(self, changes: Changes) -> None:
        wanted, conflicts = Draft(self.draft.base, changes).rebased(self.draft.base)
        self.conflicts += conflicts
        self._set(wanted)

    def save(self) -> None:
        """Write the changes; those that no longer fit are kept as conflicts."""
        self.conflicts += self.draft.save()
        self.steps.clear()
        self.snapshot = self._look()
        self._set(Draft(self.snapshot))
        self.write_down()

    def discard(self) -> None:
        """Forget the changes that are not saved; they can be undone back."""
        self.change(Draft(self.draft.base if self.snapshot.sheet is None else self.snapshot))

    def keep(self, key: str, value: Any) -> None:
        """Keep what was typed into a field; None forgets it, and browsers need not hold it any more."""
        if self.texts.get(key) != value:
            known = key in self.texts
            self.texts = {k: v for k, v in self.texts.items() if k != key}
            if value is not None:
                self.texts[key] = value
            self._waits = True
            if known != (value is not None):
                for session in list(self.sessions):
                    session.on_kept()
        if value is None:
            for session in list(self.sessions):
                session.release(key)

    def kept(self, prefix: str) -> Mapping[str, Any]:
        """What is kept under keys that begin so, by the rest of the key."""
        return {key.removeprefix(prefix): value for key, value in self.texts.items() if key.startswith(prefix)}

    def forget(self, prefix: str) -> None:
        """Forget what is kept under keys that begin so."""
        for key in [key for key in self.texts if key.startswith(prefix)]:
            self.keep(key, None)

    def write_down(self) -> None:
        """Write what waits into the hidden file, and tell the tabs that it is safe."""
        if self._waits:
            try:
                write_kept(self.table, Kept(self.draft.changes, self.texts))
            except (BomiError, OSError) as error:
                if self.trouble != str(error):
                    self.trouble = str(error)
                    self.say(f"What you type cannot be kept on disk until you save it: {error}", bad=True)
            else:
                self.trouble = ""
            self._waits = False
        if not self.trouble:
            for session in list(self.sessions):
                session.confirm()

    def _take_up(self) -> None:
        """Begin with what the last time left."""
        try:
            kept = read_kept(self.table)
        except BomiError as error:
            self.trouble = str(error)
            return
        self.draft, self.conflicts = Draft(self.snapshot, kept.changes).rebased(self.snapshot)
        self.texts = dict(kept.texts)


class Session:
    """One tab: which desk it looks at, whom to tell when something changes, and what its browser still holds."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.on_change: Callable[[], None] = lambda: None
        self.say: Callable[..., None] = lambda text, bad=False: None  # a message that goes by itself
        self.on_kept: Callable[[], None] = lambda: None  # something is typed and not saved, or no longer so
        self.on_safe: Callable[[Mapping[str, Any]], None] = lambda found: None  # the browser can forget these
        self.wanted: tuple[int, str] | None = None  # a row, by its line, and a column to be shown in the table
        self.small = False  # as narrow as a phone
        self.stage: Any = None  # the element that dialogs belong to
        self.stopped: Asking | None = None  # what this tab no longer waits for
        self.got: dict[str, Any] = {}  # what its browser sent last of each field
        self.enter: dict[str, Callable[[str], None]] = {}  # what Enter does in each field, given its text
        self.choose: dict[str, Callable[[str], None]] = {}  # what takes over a choice, by its key
        self._unsafe: dict[str, Any] = {}
        desk.sessions.add(self)

    @property
    def snapshot(self) -> Snapshot:
        """The files as they are."""
        return self.desk.snapshot

    @property
    def draft(self) -> Draft:
        """The table with the changes that are not saved."""
        return self.desk.draft

    def received(self, key: str, value: Any) -> None:
        """The browser sent this and holds it until it is safe."""
        self.got[key] = self._unsafe[key] = value

    def confirm(self) -> None:
        """What was received is on disk now."""
        if self._unsafe:
            self.on_safe(self._unsafe)
            self._unsafe = {}

    def release(self, key: str) -> None:
        """What was typed into a field, or into any field below it, is saved or thrown away."""
        gone = {name: text for name, text in self._unsafe.items() if f"{name}/".startswith(f"{key}/")}
        if gone:
            self.on_safe(gone)
            self._unsafe = {name: text for name, text in self._unsafe.items() if name not in gone}

    def type(self, key: str, text: str, *, before: str = "") -> None:
        """Something was typed into a field that is no cell; what it held before need not be kept."""
        self.received(key, text)
        self.desk.keep(key, None if text == before else text)

    def refresh(self) -> None:
        """Look at the files now."""
        self.desk.refresh()

    async def compute(self, job: str, *arguments: Any) -> Any:
        """The result of a job for the files as they are; it is given up when nobody waits for it any more."""
        return await self.desk.computing.wait(self, self.snapshot, job, *arguments)

    def close(self) -> None:
        """The tab is gone."""
        self.desk.sessions.discard(self)
        self.desk.computing.leave(self)


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
