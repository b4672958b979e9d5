"""The campaigns below a folder: each a table with a campaign.toml beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bomi.campaign import summarize
from bomi.campaign.snapshot import Snapshot, take_snapshot
from bomi.campaign.toml import NAME

TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".xlsm", ".xls", ".ods")
DEPTH = 4  # folders below
MOST = 200  # campaigns


@dataclass(frozen=True)
class Found:
    """A table with a campaign, by its path below the folder."""

    name: str
    path: Path


def find_campaigns(folder: Path) -> list[Found]:
    """The tables below a folder that have a campaign.toml beside them, hidden folders left out."""
    return [Found(str(path.relative_to(folder)), path) for path in sorted(_tables(folder))][:MOST]


def _tables(folder: Path) -> Iterator[Path]:
    depth = len(folder.parts)
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")) and name != "node_modules")
        if len(Path(place).parts) - depth >= DEPTH:
            folders[:] = []
        if NAME in files:
            yield from (
                Path(place) / name
                for name in files
                if name.lower().endswith(TABLES) and not name.startswith((".", "~$"))
            )


def state(found: Found) -> tuple[str, Snapshot]:
    """Where a campaign stands, in a sentence."""
    snapshot = take_snapshot(found.path)
    if snapshot.campaign_fault or snapshot.table_fault:
        return "cannot be read; open it to see why", snapshot
    if snapshot.problems:
        count = len(snapshot.problems)
        return f"{count} problem{'s' if count > 1 else ''} to mend", snapshot
    if snapshot.experiments is None:
        return "not begun", snapshot
    seen = summarize(snapshot.experiments)
    told = [f"{seen.rows} row{'s' if seen.rows != 1 else ''}", f"{seen.outcomes} with an outcome"]
    told += [f"{seen.pending} waiting"] if seen.pending else []
    return ", ".join(told), snapshot
