"""The desks of a page: one for a table, or one for each campaign below a folder that somebody has opened."""

from __future__ import annotations

from pathlib import Path

from bomi.web.campaigns import find_campaigns
from bomi.web.desk import Desk
from bomi.web.worker import Worker


class Desks:
    """What the page was started with. Only tables that belong to it can be opened, whatever a request says."""

    def __init__(self, path: Path, campaign: Path | None = None) -> None:
        self.path = path
        self.campaign = campaign
        self.is_folder = path.is_dir()
        self.worker = Worker()
        self._open: dict[Path, Desk] = {}

    def get(self, name: str = "") -> Desk | None:
        """The desk of a table, by its path below the folder; None for the list of them."""
        if not self.is_folder:
            return self._desk(self.path, self.campaign)
        for desk in self._open.values():  # one that vanished for a while, too: what was typed waits for it
            if self.title(desk) == name:
                return desk
        found = next((one.path for one in find_campaigns(self.path) if one.name == name), None) if name else None
        return self._desk(found) if found is not None else None

    def title(self, desk: Desk) -> str:
        """What a table is called."""
        return str(desk.table.relative_to(self.path)) if self.is_folder else desk.table.name

    def _desk(self, table: Path, campaign: Path | None = None) -> Desk:
        if table not in self._open:
            self._open[table] = Desk(table, campaign, self.worker)
        return self._open[table]

    async def watch(self) -> None:
        """Look at the files of every desk that is open."""
        for desk in list(self._open.values()):
            await desk.watch()

    def close(self) -> None:
        """Write down what waits, and end what computes."""
        for desk in self._open.values():
            desk.write_down()
        self.worker.close()
