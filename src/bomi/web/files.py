"""Campaigns as files that `Optimizer.save` writes, one folder of them: what programs ask of one, each write locked.

Each function takes the path of a file and answers what JSON can hold. Those that compute may run in another process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bomi import saving
from bomi.campaign import locks
from bomi.data.observations import Row
from bomi.data.telling import locate, withdrawn
from bomi.errors import FileError, SuggestionError
from bomi.optimizer import Optimizer
from bomi.results import Front, expected, plain
from bomi.saving import Saved

NAME = re.compile(r"\w[\w .-]{0,99}")
RETRIES = 10  # times that others may take a suggestion before us


def find(folder: Path, name: str) -> Path:
    """The file of a campaign, which need not be there."""
    if not NAME.fullmatch(name):
        raise FileError(f"a campaign's name has letters, digits, spaces, _ - and . within it, but got {name!r}")
    return folder / f"{name}.json"


def names(folder: Path) -> list[str]:
    """The campaigns of a folder."""
    return sorted(path.stem for path in folder.glob("*.json") if NAME.fullmatch(path.stem))


def create(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Start a campaign; what the document leaves out is as usual."""
    saved = saving.from_document({"format": saving.FORMAT, "version": saving.VERSION, **document})
    objective = {one.name: one for one in saved.objectives}
    made = Optimizer(saved.space, objective=objective, method=saved.method, seed=saved.seed)  # which checks the rest
    with locks.locked(path):
        if path.exists():
            raise FileExistsError(f"there is a campaign {path.stem!r} already")
        saving.save(path, replace(saved, seed=made.seed))
    return read(path)


def read(path: Path) -> dict[str, Any]:
    """The whole file."""
    return saving.to_document(saving.load(path))


def tell(path: Path, rows: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """Take in experiments. One with the id of a suggestion is that suggestion: what it does not name went as asked."""
    with locks.locked(path):
        saved = saving.load(path)
        before = saved.observations
        asked = {row.id: row.recorded for row in before.pending if row.id is not None}
        whole = [{**_as_asked(asked, row), **row} if isinstance(row, Mapping) else row for row in rows]
        after = before.add(saving.read_records(before, whole))
        saving.save(path, replace(saved, observations=after))
    return _counts(replace(saved, observations=after))


def _as_asked(asked: Mapping[str, Mapping[str, Any]], row: Mapping[str, object]) -> Mapping[str, Any]:
    return asked.get(str(row["id"]), {}) if row.get("id") is not None else {}


def withdraw(path: Path, identity: str) -> dict[str, int]:
    """Take back a suggestion that will not be run."""
    with locks.locked(path):
        saved = saving.load(path)
        saved = replace(saved, observations=withdrawn(saved.observations, locate(saved.observations, identity, None)))
        saving.save(path, saved)
    return _counts(saved)


def _counts(saved: Saved) -> dict[str, int]:
    rows = saved.observations
    return {"rows": len(rows.rows), "outcomes": len(rows.done), "pending": len(rows.pending)}


def ask(path: Path, count: int) -> list[dict[str, Any]]:
    """The next experiments, pending from now on. The file is free while they are computed."""
    for _ in range(RETRIES):
        suggestions = Optimizer.load(path).ask(count)
        with locks.locked(path):
            saved = saving.load(path)
            observations = saved.observations
            if any(dict(one) == dict(row.asked) for one in suggestions for row in observations.pending):
                continue  # somebody else has asked meanwhile
            ids = []
            for one in suggestions:
                ids.append(observations.fresh_id())
                observations = observations.add([Row(dict(one), asked=dict(one), id=ids[-1])])
            saving.save(path, replace(saved, observations=observations))
        return [
            {"id": identity, "setting": dict(one), **expected(one), "note": one.note}
            for identity, one in zip(ids, suggestions, strict=True)
        ]
    raise SuggestionError("others take every suggestion before it can be written down; try again")


def best(path: Path, risk: str = "expected") -> list[dict[str, Any]]:
    """The setting to ask for beside the best row seen; of several outcomes, each trade-off."""
    found = Optimizer.load(path).best(risk)
    choices = found.choices or (found,) if isinstance(found, Front) else (found,)
    return [
        {
            "setting": None if one.setting is None else dict(one.setting),
            **expected(one),
            "seen": {"row": one.seen_row, "outcome": plain(one.seen)},
            "note": one.note,
        }
        for one in choices
    ]


def gaps(path: Path) -> list[dict[str, Any]]:
    """What each value that is not known exactly may have been, the one most worth knowing first."""
    optimizer = Optimizer.load(path)
    records: Any = plain(optimizer.gaps().to_dict("records"))
    return [{"id": optimizer.observations.rows[record["row"]].id, **record} for record in records]
