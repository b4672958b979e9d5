"""Everything of bomi that writes a file of the user, as one thing: each write adds one, and the file tells how many.

A hunter lets these write while it kills them, lets them race or takes something away from them, and asks then how many
writes the file holds. All that were reported must be there, and no more than the one that was under way.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from bomi import Optimizer
from bomi.campaign import Campaign, append, read_experiments
from bomi.campaign.edits import Changes, save_edits
from bomi.campaign.kept import Kept, kept_path, read_kept, write_kept
from bomi.errors import BomiError
from bomi.saving import load
from bomi.web import service
from bomi.web.stores import Folder
from tests.campaign.conftest import TABLE, TOML

SETTING = {"temperature": 312.5, "time": 900.0, "passes": 3, "quench": "oil"}
TYPED = 4  # rows of the table that a person typed
SPACE = {"x": (0, 1)}


@dataclass(frozen=True)
class Writer:
    """One thing that writes: its file, how it begins, one write, and how many writes the file holds."""

    name: str
    file: str
    begin: Callable[[Path], object]
    write: Callable[[Path], object]
    count: Callable[[Path], int]
    adds: bool = True  # whether several at once add up; otherwise the last one stands
    locked: bool = True  # whether it holds the lock of its file

    def path(self, folder: Path) -> Path:
        """The file that is written."""
        return folder / self.file

    def held(self, folder: Path) -> int | str:
        """How many writes the file holds, or what is wrong with it."""
        try:
            return self.count(folder)
        except BomiError as error:
            return f"the file cannot be read: {error}"


def _table(folder: Path) -> None:
    (folder / "campaign.toml").write_text(TOML, encoding="utf-8")
    (folder / "lab.csv").write_bytes(TABLE.encode())


def _workbook(folder: Path) -> None:
    import pandas as pd

    _table(folder)
    frame = pd.read_csv(folder / "lab.csv", dtype=str, keep_default_na=False)
    frame.to_excel(folder / "lab.xlsx", index=False)
    (folder / "lab.csv").unlink()


def _campaign(folder: Path) -> Campaign:
    return Campaign.read(folder / "campaign.toml")


def _rows(name: str) -> Callable[[Path], int]:
    def count(folder: Path) -> int:
        found = read_experiments(folder / name, _campaign(folder))
        rows, notes = found.rows, found.sheet.columns["note"][:TYPED]
        if notes != ["first", "no thermometer, sorry", "", "pending"]:
            raise BomiError(f"what a person typed has changed: {notes}")
        if len({row.id for row in rows}) != len(rows):
            raise BomiError(f"an id stands twice: {[row.id for row in rows]}")
        return len(rows) - TYPED

    return count


def _append(name: str) -> Callable[[Path], object]:
    return lambda folder: append(folder / name, _campaign(folder), [SETTING])


def _add_row(folder: Path) -> None:
    """A row typed on the page, with an id that nobody else has."""
    row: Any = {"id": os.urandom(6).hex(), "temperature": "100", "time": "60", "passes": "1", "quench": "air"}
    save_edits(folder / "lab.csv", Changes(added=(row,)))


def _save(folder: Path) -> None:
    optimizer = Optimizer.load(folder / "lab.json")
    optimizer.tell({"x": 0.5}, 1.0)
    optimizer.save(folder / "lab.json")


def _draft(folder: Path) -> None:
    count = read_kept(folder / "lab.csv").texts.get("count", 0)
    write_kept(folder / "lab.csv", Kept(texts={"count": count + 1, "typed": "x" * 5000}))


def _served(folder: Path) -> None:
    service.create(Folder(folder), "lab", {"objectives": {"y": {}}, "parameters": {"x": {"range": [0, 1]}}})


def _saved_rows(folder: Path) -> int:
    return len(load(folder / "lab.json").observations.rows)


WRITERS = (
    Writer("append", "lab.csv", _table, _append("lab.csv"), _rows("lab.csv")),
    Writer("append to a workbook", "lab.xlsx", _workbook, _append("lab.xlsx"), _rows("lab.xlsx")),
    Writer("the page's save", "lab.csv", _table, _add_row, _rows("lab.csv")),
    Writer(
        "the page's draft",
        kept_path(Path("lab.csv")).name,
        _table,
        _draft,
        lambda folder: int(read_kept(folder / "lab.csv").texts.get("count", 0)),
        adds=False,
        locked=False,
    ),
    Writer(
        "Optimizer.save",
        "lab.json",
        lambda folder: Optimizer(SPACE, method="random", seed=0).save(folder / "lab.json"),
        _save,
        _saved_rows,
        adds=False,
        locked=False,
    ),
    Writer(
        "serve",
        "lab.json",
        _served,
        lambda folder: service.tell(Folder(folder), "lab", [{"x": 0.5, "y": 1.0}]),
        _saved_rows,
    ),
)
EXPECTED = {"campaign.toml", *(name for one in WRITERS for name in (one.file, f"{one.file}.bak"))}


def left_over(folder: Path) -> list[str]:
    """What lies there and should not: temporary files and locks."""
    return sorted(set(os.listdir(folder)) - EXPECTED)


def begun(seed: int, folder: Path, writers: tuple[Writer, ...] = WRITERS) -> tuple[Writer, random.Random]:
    """One of the writers with a few writes behind it, and the random numbers of the case."""
    draw = random.Random(seed)
    writer = draw.choice(writers)
    writer.begin(folder)
    for _ in range(draw.choice((0, 0, 1, 3))):
        writer.write(folder)
    return writer, draw
