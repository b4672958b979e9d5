"""What programs ask of a campaign: each function takes where it is and its name, and answers what JSON can hold.

Those that learn run in a worker process, which remembers what it has learned of the campaigns that it had last: it goes
on from there, as an `Optimizer` does that is told one experiment after another.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bomi import saving
from bomi.data.columns import ALIKE
from bomi.data.observations import Observations, Row
from bomi.data.telling import locate, withdrawn
from bomi.errors import SuggestionError, TableError
from bomi.optimizer import Optimizer
from bomi.results import Front, expected, plain
from bomi.saving import Saved
from bomi.web.stores import Store

RETRIES = 10  # times that others may take a suggestion before us
REMEMBERED = 4_000_000  # squared rows of the campaigns that a worker remembers: about half a gigabyte

_remembered: dict[tuple[Store, str], Optimizer] = {}  # of this process; the one used last is the last


def create(store: Store, name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Start a campaign; what the document leaves out is as usual."""
    saved = saving.from_document({"format": saving.FORMAT, "version": saving.VERSION, **document})
    saved = replace(saved, seed=Optimizer.of(saved).seed)  # which checks the rest
    store.create(name, saved)
    return saving.to_document(saved)


def read(store: Store, name: str) -> dict[str, Any]:
    """The whole campaign."""
    return saving.to_document(store.read(name))


def tell(store: Store, name: str, rows: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """Take in experiments. One with the id of a suggestion is that suggestion: what it does not name went as asked."""

    def told(saved: Saved) -> Saved:
        before = saved.observations
        asked = {row.id: row.recorded for row in before.pending if row.id is not None}
        for place, row in enumerate(rows):
            _check_names(place, row, before, suggested=str(row.get("id")) in asked)
        whole = [{**_as_asked(asked, row), **row} for row in rows]
        return replace(saved, observations=before.add(saving.read_records(before, whole)))

    return _counts(store.change(name, told).observations)


def _as_asked(asked: Mapping[str, Mapping[str, Any]], row: Mapping[str, object]) -> Mapping[str, Any]:
    return asked.get(str(row["id"]), {}) if row.get("id") is not None else {}


def _check_names(place: int, row: Mapping[str, object], rows: Observations, *, suggested: bool) -> None:
    """TableError where a name is close to one that the row lacks, or where nothing is said of an outcome."""
    wanted = (*rows.space.names, *rows.objectives, *rows.space.conditions.columns)
    others = [name for name in row if name not in wanted]
    for name in wanted:
        near = [] if name in row else difflib.get_close_matches(name, others, n=1, cutoff=ALIKE)
        if near:
            raise TableError(
                f"row {place} has no {name!r} but {near[0]!r}; rename it if it is the same, "
                f"otherwise give {name!r} too, which is null if nobody knows it"
            )
    if not suggested and not any(name in row for name in rows.objectives):
        raise TableError(
            f"row {place} says nothing of {' or '.join(map(repr, rows.objectives))}; give null if it is still to come"
        )


def withdraw(store: Store, name: str, identity: str) -> dict[str, int]:
    """Take back a suggestion that will not be run."""

    def without(saved: Saved) -> Saved:
        place = locate(saved.observations, identity, None)
        return replace(saved, observations=withdrawn(saved.observations, place))

    return _counts(store.change(name, without).observations)


def _counts(rows: Observations) -> dict[str, int]:
    return {"rows": len(rows.rows), "outcomes": len(rows.done), "pending": len(rows.pending)}


def ask(store: Store, name: str, count: int) -> list[dict[str, Any]]:
    """The next experiments, pending from now on. Others may change the campaign while they are computed."""
    for _ in range(RETRIES):
        suggestions = _optimizer(store, name).ask(count)
        rows = [Row(dict(one), asked=dict(one)) for one in suggestions]
        ids: list[str] = []

        def pending(saved: Saved, rows: Sequence[Row] = rows, ids: list[str] = ids) -> Saved:
            observations = saved.observations
            if any(row.asked == other.asked for row in rows for other in observations.pending):
                raise _TakenError
            for row in rows:
                ids.append(observations.fresh_id())
                observations = observations.add([replace(row, id=ids[-1])])
            return replace(saved, observations=observations)

        try:
            store.change(name, pending)
        except _TakenError:  # somebody else has asked meanwhile
            continue
        return [
            {"id": identity, "setting": dict(one), **expected(one), "note": one.note}
            for identity, one in zip(ids, suggestions, strict=True)
        ]
    raise SuggestionError("others take every suggestion before it can be written down; try again")


class _TakenError(Exception):
    """A suggestion is pending already."""


def best(store: Store, name: str, risk: str = "expected") -> list[dict[str, Any]]:
    """The setting to ask for beside the best row seen; of several outcomes, each trade-off."""
    found = _optimizer(store, name).best(risk)
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


def gaps(store: Store, name: str) -> list[dict[str, Any]]:
    """What each value that is not known exactly may have been, the one most worth knowing first."""
    optimizer = _optimizer(store, name)
    records: Any = plain(optimizer.gaps().to_dict("records"))
    return [{"id": optimizer.observations.rows[record["row"]].id, **record} for record in records]


def _optimizer(store: Store, name: str) -> Optimizer:
    """The optimizer of a campaign as it is now; what this process has learned of its rows before is not lost."""
    saved = store.read(name)
    optimizer = _remembered.pop((store, name), None)
    if optimizer is None or not optimizer.catch_up(saved):
        optimizer = Optimizer.of(saved)
    _remembered[store, name] = optimizer
    sizes = [len(one.observations.rows) ** 2 for one in _remembered.values()]
    for key in list(_remembered)[:-1]:
        if sum(sizes) > REMEMBERED:
            del _remembered[key]
            sizes.pop(0)
    return optimizer
