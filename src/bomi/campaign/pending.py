"""Experiments that await their outcome: suggested ones are added to a table, and taken back if they will not be run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bomi.campaign import storage
from bomi.campaign.columns import typed_unit
from bomi.campaign.experiments import Experiments, parse_experiments, readers, table_error
from bomi.campaign.locks import locked
from bomi.campaign.toml import Campaign
from bomi.data.observations import Observations, Row
from bomi.errors import CellProblem
from bomi.space import RESERVED, cells
from bomi.space.cells import Known


@dataclass(frozen=True)
class Ledger:
    """A table that nobody else of us writes to meanwhile, and the content it was read from."""

    experiments: Experiments
    content: bytes

    def append(
        self, settings: Sequence[Mapping[str, Known]], conditions: Mapping[str, object] | None = None
    ) -> list[str]:
        """Add experiments as pending rows, with what was asked beside them; returns their ids. The groups and the time
        that they were chosen for go into their columns."""
        ids: list[str] = []

        def change(content: bytes) -> bytes:
            nonlocal ids
            now = self._now(content)
            ids = _fresh_ids(now, len(settings))
            return _appended(now, settings, ids, conditions or {})

        storage.update_bytes(self.experiments.sheet.path, change)
        return ids

    def withdraw(self, ids: Sequence[str] = (), numbers: Sequence[int] = ()) -> list[Row]:
        """Remove suggested rows that still await their outcome, by id or by the line they begin at; returns them.

        If one of them cannot be withdrawn, none is.
        """
        gone: list[Row] = []

        def change(content: bytes) -> bytes:
            nonlocal gone
            now = self._now(content)
            places = _withdrawable(now, ids, numbers)
            gone = [now.rows[place] for place in places]
            return now.sheet.retyped({}, without=places)

        storage.update_bytes(self.experiments.sheet.path, change)
        return gone

    def _now(self, content: bytes) -> Experiments:
        """The table as it is now: as it was read, unless a person has saved it meanwhile."""
        if content == self.content:
            return self.experiments
        return parse_experiments(self.experiments.sheet.path, content, self.experiments.campaign)


@contextmanager
def ledger(path: Path, campaign: Campaign) -> Iterator[Ledger]:
    """Hold a table for writing to it: read under a lock, so that two who write at once lose nothing."""
    storage.check_file(path)  # no lock beside what is not there
    storage.check_writable(path)
    with locked(path):
        content = storage.read_bytes(path)
        experiments = parse_experiments(path, content, campaign)
        experiments.sheet.append([], [])  # a table that cannot be written to is reported before anything is computed
        yield Ledger(experiments, content)


def append(path: Path, campaign: Campaign, settings: Sequence[Mapping[str, Known]]) -> list[str]:
    """Add experiments to a table as pending rows; returns their ids."""
    with ledger(path, campaign) as held:
        return held.append(settings)


def withdraw(path: Path, campaign: Campaign, ids: Sequence[str] = (), numbers: Sequence[int] = ()) -> list[Row]:
    """Remove suggested rows of a table that still await their outcome, by id or line number; returns them."""
    with ledger(path, campaign) as held:
        return held.withdraw(ids, numbers)


def _appended(
    experiments: Experiments,
    settings: Sequence[Mapping[str, Known]],
    ids: Sequence[str],
    conditions: Mapping[str, object],
) -> bytes:
    sheet, campaign = experiments.sheet, experiments.campaign
    reading = readers(sheet, campaign)
    marks = reading.marks if sheet.lines is not None else {}
    units = {name: typed_unit(sheet.columns[name], reading.readers[name]) for name in reading.marks}
    rows = []
    for identity, setting in zip(ids, settings, strict=True):
        typed = {name: cells.text(setting[name]) if name in setting else "" for name in campaign.space.names}
        typed |= {name: text.replace(".", marks[name].decimal) for name, text in typed.items() if name in marks}
        typed |= {name: f"{text} {units[name]}" for name, text in typed.items() if units.get(name)}
        beside = {name: str(value) for name, value in conditions.items()}
        asked = {RESERVED + name: text for name, text in typed.items()}
        rows.append({campaign.id_column: identity, **typed, **beside, **asked})
    return sheet.append([*campaign.space.names, *(RESERVED + name for name in campaign.space.names)], rows)


def _fresh_ids(experiments: Experiments, count: int) -> list[str]:
    observations = Observations(experiments.campaign.space, experiments.campaign.outcomes, experiments.rows)
    ids: list[str] = []
    for _ in range(count):
        ids.append(observations.fresh_id())
        observations = observations.add([Row({}, id=ids[-1])])
    return ids


def _withdrawable(experiments: Experiments, ids: Sequence[str], numbers: Sequence[int]) -> list[int]:
    """The places of suggested rows, by id or line number; TableError says of each other one why it stays."""
    sheet, rows = experiments.sheet, experiments.rows
    by_id = {row.id: place for place, row in enumerate(rows) if row.id is not None}
    by_number = {number: place for place, number in enumerate(sheet.numbers)}
    wanted = [(f"id {identity!r}", by_id.get(identity)) for identity in ids]
    wanted += [(f"number {number}", by_number.get(number)) for number in numbers]
    waiting = [
        f"{number} (id {row.id!r})" if row.id else str(number)
        for number, row in zip(sheet.numbers, rows, strict=True)
        if _is_suggested(row)
    ]
    hint = f"the rows that await their outcome are {', '.join(waiting)}" if waiting else "no row awaits its outcome"
    problems = []
    for name, place in wanted:
        if place is None:
            problems.append(CellProblem(None, "", f"no row has the {name}; {hint}"))
        elif not _is_suggested(rows[place]):
            problems.append(CellProblem(sheet.numbers[place], "", _refusal(rows[place])))
    if problems:
        raise table_error(sheet.path, problems)
    return sorted({place for _, place in wanted if place is not None})


def _is_suggested(row: Row) -> bool:
    """Whether we asked for it, and it still awaits its outcome."""
    return row.pending and bool(row.asked)


def _refusal(row: Row) -> str:
    if row.excluded:
        return "it is excluded, so it is not withdrawn; remove it in the table itself"
    if row.pending:
        return "it was not suggested by bomi, so it is not withdrawn; remove it in the table itself"
    what = "failed" if row.failed else "has an outcome"
    return f"it {what}, so it is not withdrawn; correct it in the table, or remove it there"
