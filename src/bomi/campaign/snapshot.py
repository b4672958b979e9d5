"""A table and its campaign as they are on disk at one moment, whatever state they are in."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from bomi.campaign import storage
from bomi.campaign.experiments import Experiments, check, column_names
from bomi.campaign.faults import CampaignError, Fault
from bomi.campaign.sheet import Sheet, load_sheet
from bomi.campaign.toml import LIMIT, NAME, Campaign, parse_campaign
from bomi.errors import CellProblem, FileError, TableError


@dataclass(frozen=True)
class Snapshot:
    """What is on disk, and what is wrong with it. Everything that could not be had is None."""

    table: Path
    campaign_path: Path
    content: bytes | None = None  # of the table; None if there is none
    toml: bytes | None = None  # of the campaign
    sheet: Sheet | None = None
    campaign: Campaign | None = None
    experiments: Experiments | None = None  # only if nothing is wrong
    problems: tuple[CellProblem, ...] = ()  # with the table's cells
    table_fault: str = ""  # why the table cannot be read
    campaign_fault: str = ""  # why the campaign cannot be had
    campaign_faults: tuple[Fault, ...] = ()  # the same with places, if it can be read but makes no sense

    @property
    def key(self) -> str:
        """The same for the same two files."""
        parts = [b"-" if part is None else hashlib.sha256(part).digest() for part in (self.content, self.toml)]
        return hashlib.sha256(b"".join(parts)).hexdigest()

    @property
    def editable(self) -> bool:
        """Whether cells can be written: an .xls is only read."""
        return self.sheet is not None and self.sheet.editable


def take_snapshot(table: Path, campaign: Path | None = None) -> Snapshot:
    """Read the two files, as far as they can be read; never an error."""
    path = table.parent / NAME if campaign is None else campaign
    content, table_fault = _read(table, storage.LIMIT)
    toml, campaign_fault = _read(path, LIMIT)
    return assess(Snapshot(table, path, content, toml, table_fault=table_fault, campaign_fault=campaign_fault))


def assess(given: Snapshot) -> Snapshot:
    """What the two contents of a snapshot mean."""
    known: Campaign | None = None
    sheet: Sheet | None = None
    campaign_fault, table_fault = given.campaign_fault, given.table_fault
    campaign_faults: tuple[Fault, ...] = ()
    if given.toml is not None:
        try:
            known = parse_campaign(given.campaign_path, given.toml)
        except FileError as error:
            campaign_fault = str(error)
            campaign_faults = error.faults if isinstance(error, CampaignError) else ()
    names: Collection[str] = column_names(known) if known else ()
    if given.content is not None:
        try:
            sheet = load_sheet(given.table, given.content, names, sheet=known.sheet if known else None)
        except FileError as error:
            table_fault = str(error)
    experiments: Experiments | None = None
    problems: tuple[CellProblem, ...] = ()
    if known is not None and sheet is not None:
        try:
            experiments = check(sheet, known)
        except TableError as error:
            problems = error.problems
    return Snapshot(
        given.table,
        given.campaign_path,
        given.content,
        given.toml,
        sheet,
        known,
        experiments,
        problems,
        table_fault,
        campaign_fault,
        campaign_faults,
    )


def _read(path: Path, limit: int) -> tuple[bytes | None, str]:
    """The content of a file that need not be there."""
    if not path.exists():
        return None, ""
    try:
        return storage.read_bytes(path, limit=limit), ""
    except FileError as error:
        return None, str(error)
