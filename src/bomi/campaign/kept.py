"""What was typed and is not saved yet, in a hidden file beside the table.

It outlives the tab, the connection and the program. The file is written at one stroke, and is gone once nothing waits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bomi.campaign import storage
from bomi.campaign.edits import Changes, Edit, Removal
from bomi.errors import FileError
from bomi.space import IDENTITY

LIMIT = 16 * 2**20  # bytes; a person types far less


@dataclass(frozen=True)
class Kept:
    """Changes of the table, and what was typed into other fields, by a name for each."""

    changes: Changes = field(default_factory=Changes)
    texts: Mapping[str, Any] = field(default_factory=dict)


def kept_path(table: Path) -> Path:
    """The hidden file beside a table."""
    return table.with_name(f".{table.name}.draft")


def read_kept(table: Path) -> Kept:
    """What was left there; nothing if there is no such file. One that makes no sense is an error and stays there."""
    path = kept_path(table)
    if not path.exists():
        return Kept()
    content = storage.read_bytes(path, limit=LIMIT)
    try:
        found = json.loads(content)
        made = found["changes"]
        return Kept(
            Changes(
                tuple(map(str, made["columns"])),
                tuple(
                    Edit(
                        int(one["number"]), dict(one["seen"]), one["column"], one["text"], one.get("identity", IDENTITY)
                    )
                    for one in made["edits"]
                ),
                tuple(dict(row) for row in made["added"]),
                tuple(Removal(int(one["number"]), dict(one["seen"]), int(one["alike"])) for one in made["removed"]),
            ),
            dict(found["texts"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} should hold what was typed and not saved, but cannot be read: {error}") from None


def write_kept(table: Path, kept: Kept) -> None:
    """Keep it; if nothing waits, no file stays."""
    path = kept_path(table)
    if not kept.changes.count and not kept.texts:
        path.unlink(missing_ok=True)
        return
    changes = kept.changes
    content = json.dumps(
        {
            "changes": {
                "columns": changes.columns,
                "edits": [{**vars(edit), "seen": dict(edit.seen)} for edit in changes.edits],
                "added": [dict(row) for row in changes.added],
                "removed": [{**vars(removal), "seen": dict(removal.seen)} for removal in changes.removed],
            },
            "texts": dict(kept.texts),
        },
        ensure_ascii=False,
    ).encode()
    if len(content) > LIMIT:
        raise FileError(f"more than {LIMIT // 2**20} MB is not saved: save or discard some of it to have more kept")
    storage.replace_bytes(path, content, mode=0o600)
