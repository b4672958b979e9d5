"""campaign.toml: what is varied, what is measured, what is wanted."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bomi.campaign import storage
from bomi.campaign.describing import described
from bomi.campaign.document import OUT_OF_BOUNDS, meaning
from bomi.campaign.faults import CampaignError, Fault
from bomi.campaign.sheet import is_formula
from bomi.campaign.writing import campaign_text
from bomi.data.objectives import Objective, check_objectives
from bomi.errors import FileError, Place, SpaceError
from bomi.space import IDENTITY, RESERVED, TAKEN, Categorical, Conditions, Ordinal, Space, cells

NAME = "campaign.toml"
LIMIT = 2**20  # bytes
MOST_PARTS = 50  # of a key


@dataclass(frozen=True)
class Campaign:
    """The space of settings, the outcomes and what is wanted of them. Without a method: the library's default."""

    space: Space
    objectives: tuple[Objective, ...]
    method: str | None = None
    out_of_bounds: str = "error"
    decimal: str | None = None  # the decimal mark of the table, where the table itself does not tell
    unknown: tuple[str, ...] = ()  # more words that say that nobody knows
    id_column: str = IDENTITY
    sheet: str | None = None  # of a workbook
    candidates: str | None = None  # the file of a list to choose from, beside the table
    replacement: bool = True  # whether a candidate may be suggested again once it has been tried
    same_in_batch: tuple[str, ...] = ()  # parameters that have one value in all suggestions of a batch

    def __post_init__(self) -> None:
        if faults := list(self._faults()):
            raise CampaignError.of(faults)

    def _faults(self) -> Iterator[Fault]:
        if self.out_of_bounds not in OUT_OF_BOUNDS:
            known = " or ".join(map(repr, OUT_OF_BOUNDS))
            yield Fault(f"out_of_bounds must be {known}, but got {self.out_of_bounds!r}", (("out_of_bounds",),))
        try:
            check_objectives(self.objectives, (*self.space.names, *self.space.conditions.columns, *TAKEN), RESERVED)
        except SpaceError as error:
            yield Fault(str(error), tuple(self._in_the_file(place) for place in error.places))
        for place, text in self._texts():
            if is_formula(text):
                yield Fault(
                    f"a spreadsheet would run {text!r} as a formula, since it starts with {text[0]!r}; "
                    "give it another name, here and in the table",
                    (self._in_the_file(place),),
                )
            elif text != text.strip() or any(ord(mark) < 32 for mark in text):
                yield Fault(
                    f"a name has no spaces around it and no line ends or tabs in it, but got {text!r}",
                    (self._in_the_file(place),),
                )

    def _texts(self) -> Iterator[tuple[Place, str]]:
        """What stands in the table as it is written here: names and categories."""
        for name in self.outcomes:
            yield ("objectives", name), name
        for name, parameter in self.space.parameters.items():
            yield ("parameters", name), name
            if isinstance(parameter, Categorical | Ordinal):
                for value in parameter.values:
                    yield ("parameters", name, "values"), cells.text(value)

    def _in_the_file(self, place: Place) -> Place:
        """The section of a single outcome has no name."""
        single = place[0] == "objectives" and len(self.objectives) == 1
        return ("objective", *(place[2:] or ("name",))) if single else place

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The columns of the outcomes."""
        return tuple(objective.name for objective in self.objectives)

    @property
    def objective(self) -> str:
        """The column of the outcome, or of the first of several."""
        return self.objectives[0].name

    @property
    def goal(self) -> str:
        """What is wanted of the outcome, or of the first of several."""
        return self.objectives[0].goal

    @property
    def unit(self) -> str:
        """The unit of the outcome, or of the first of several."""
        return self.objectives[0].unit

    @property
    def wish(self) -> str:
        """What is wanted, in words."""
        return ", ".join(objective.wish for objective in self.objectives)

    @classmethod
    def read(cls, path: Path) -> Campaign:
        """The campaign in a file; all problems are reported at once."""
        return parse_campaign(path, storage.read_bytes(path, limit=LIMIT))

    def text(
        self, notes: Mapping[str, str] | None = None, unused: Sequence[str] = (), offered: Conditions | None = None
    ) -> str:
        """The content of campaign.toml, with comments for the person who edits it."""
        return campaign_text(self, notes, unused, offered)


def campaign_path(table: Path, given: Path | None = None) -> Path:
    """The campaign.toml of a table: the one given, or the one beside it, which must be there."""
    if given is not None:
        return given
    beside = table.parent / NAME
    storage.check_file(table)  # a table that cannot be read is the first thing to say
    if not beside.exists():
        raise FileError(f"there is no {NAME} beside {table}; `bomi init {table}` writes one for you to edit")
    return beside


def parse_campaign(path: Path, content: bytes) -> Campaign:
    """The campaign in the content of a file; all problems are reported at once."""
    return from_document(path, read_document(path, content))


def read_document(path: Path, content: bytes) -> dict[str, Any]:
    """The sections and keys of a campaign, not checked yet."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{path} is no text in UTF-8; save it as UTF-8") from None
    _check_keys(path, text)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FileError(f"{path} is no valid TOML: {str(error) or 'nested too deeply'}") from None
    except ValueError:  # of Python's own: it reads no whole number of more than 4,300 digits
        raise FileError(f"{path} has a number of thousands of digits; write one that can be measured") from None


def _check_keys(path: Path, text: str) -> None:
    """Refuse keys of very many parts, for which the parser takes the square of their length in memory."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > MOST_PARTS and not line.lstrip().startswith("#"):
            joined = " ".join(line.split()).replace(" .", ".").replace(". ", ".")
            words = re.split(r"[ ,={}\[\]]", joined)
            if max(word.count(".") for word in words) > MOST_PARTS:
                raise FileError(f"{path}, line {number}: a key of more than {MOST_PARTS} parts; is it the right file?")


def from_document(path: Path, document: Mapping[str, Any]) -> Campaign:
    """The campaign of sections and keys; all problems are reported at once, with the path."""
    try:
        means = meaning(described(path, document))
        return Campaign(**vars(means))
    except CampaignError as error:
        raise CampaignError.of(error.faults, path) from None
