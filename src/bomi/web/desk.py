"""The two files on disk and what was computed from them, shared by every tab; and one tab's view of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bomi.campaign.draft import Draft
from bomi.campaign.edits import Conflict
from bomi.campaign.snapshot import Snapshot, take_snapshot
from bomi.campaign.toml import NAME
from bomi.errors import BomiError
from bomi.web.worker import Worker


class Desk:
    """The files, read again only when they changed, and each result, computed once for a version of them."""

    def __init__(self, table: Path, campaign: Path | None = None) -> None:
        self.table = table
        self.campaign = table.parent / NAME if campaign is None else campaign
        self.worker = Worker()
        self.doing = ""  # what the worker is at
        self._seen: tuple[Any, Snapshot] | None = None
        self._results: dict[tuple[Any, ...], asyncio.Future[Any]] = {}

    def look(self) -> Snapshot:
        """The files as they are now."""
        if self._seen is None or self._seen[0] != self._stamp():
            stamp = self._stamp()  # before reading: who writes meanwhile is noticed next time
            self._seen = stamp, take_snapshot(self.table, self.campaign)
        return self._seen[1]

    def _stamp(self) -> Any:
        return _stamp(self.table), _stamp(self.campaign)

    async def compute(self, snapshot: Snapshot, job: str, *arguments: Any) -> Any:
        """The result of a job for a version of the files; who asks for the same meanwhile shares it."""
        if snapshot.content is None or snapshot.toml is None:
            raise BomiError("there is no table or no set-up yet")
        key = (snapshot.key, job, *arguments)
        if key not in self._results:
            self._results = {k: v for k, v in self._results.items() if k[0] == snapshot.key and len(k) < 4}
            version = (snapshot.table, snapshot.campaign_path, snapshot.content, snapshot.toml)
            self._results[key] = asyncio.ensure_future(self.worker.run(job, version, *arguments, progress=self._say))
        try:
            return await asyncio.shield(self._results[key])
        except BomiError:
            self._results.pop(key, None)
            raise

    def computed(self, snapshot: Snapshot, job: str) -> Any:
        """The result, if it is there already."""
        future = self._results.get((snapshot.key, job))
        return future.result() if future is not None and future.done() and not future.exception() else None

    def _say(self, text: str) -> None:
        self.doing = text


class Session:
    """One tab: the version it shows, its changes that are not saved, and whom to tell when either changes."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.draft = Draft(desk.look())
        self.conflicts: list[Conflict] = []
        self.on_change: Callable[[], None] = lambda: None
        self.say: Callable[..., None] = lambda text, bad=False: None  # a message that goes by itself

    @property
    def snapshot(self) -> Snapshot:
        """The files as this tab shows them."""
        return self.draft.base

    def refresh(self) -> bool:
        """Take in what changed on disk; unsaved changes stay where they still fit. Returns whether anything did."""
        now = self.desk.look()
        if now.key == self.snapshot.key:
            return False
        self.draft, conflicts = self.draft.rebased(now)
        self.conflicts += conflicts
        self.on_change()
        return True

    def save(self) -> None:
        """Write the changes; those that no longer fit are kept as conflicts."""
        conflicts = self.draft.save()
        self.draft = Draft(self.desk.look())
        self.conflicts += conflicts
        self.on_change()

    def discard(self) -> None:
        """Forget the changes that are not saved."""
        self.draft = Draft(self.snapshot)
        self.on_change()

    async def compute(self, job: str, *arguments: Any) -> Any:
        """The result of a job for the version this tab shows."""
        return await self.desk.compute(self.snapshot, job, *arguments)


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
