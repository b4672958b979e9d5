"""What was guessed from a table: the campaign, what each column was taken for, and what to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bomi.campaign.roles import MEASURED, Column
from bomi.campaign.toml import Campaign
from bomi.data.objectives import ERROR
from bomi.space import RESERVED, Conditions, Integer, Real, cells

FEW = 4  # columns that a remark names
NOBODY = "perhaps nobody sets"


@dataclass(frozen=True)
class Guess:
    """A campaign guessed from a table, what each column was taken for, and what to look at."""

    campaign: Campaign
    columns: tuple[Column, ...]
    notes: Mapping[str, str]
    sheet_notes: tuple[str, ...] = ()  # what of the file is not read, and how it was
    conditions: Conditions | None = None  # columns that might tell of good days and bad lots, for a person to decide
    doubtful: Mapping[str, str] = field(default_factory=dict)  # parameters that perhaps nobody sets, and why
    unsaid: tuple[str, ...] = ()  # objectives of which nothing says whether more or less is better

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns that are kept but not used."""
        used = {*self.campaign.space.names, *self.campaign.outcomes, self.campaign.id_column}
        used |= {name + ERROR for name in self.campaign.outcomes}
        return tuple(c.name for c in self.columns if c.name not in used and not c.name.startswith(RESERVED))

    @property
    def doubt(self) -> str:
        """Which parameters perhaps nobody sets, why, and what to say then; "" if there is no doubt."""
        if not self.doubtful:
            return ""
        said = "; ".join(f"{name!r}: {why}" for name, why in self.doubtful.items())
        sure = [name for name in self.campaign.space.names if name not in self.doubtful]
        return f"{NOBODY} {said}. Name what you set: --parameters {','.join(sure) or 'A,B,C'!r}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to look at, beside each column's line: other outcomes, columns left out by their values, doubts."""
        measured = [repr(column.name) for column in self.columns if column.role == MEASURED and column.kind == "number"]
        before = f"{NOBODY} it: "
        out = [f"{c.name!r} ({c.why.removeprefix(before)})" for c in self.columns if c.why.startswith(before)]
        look = [f"{column.name!r} {column.look}" for column in self.columns if column.look]
        found = (
            *look,
            f"measured as well, it seems: {_some(measured)}; --objective says which are wanted" if measured else "",
            f"left out: {_some(out)}; --parameters names what you set" if out else "",
            self.doubt,
        )
        return tuple(filter(None, found))

    def why(self, column: Column) -> str:
        """Why a column was taken for what it is, with its range or values and what to look at."""
        parameter = self.campaign.space.parameters.get(column.name)
        if parameter is None:
            return column.told
        scale = " on a log scale" if getattr(parameter, "log", False) else ""
        unit = f" {parameter.unit}" if parameter.unit and column.kind == "number" else ""
        kind = "whole " if parameter.kind == "integer" else ""
        said = column.told
        if isinstance(parameter, Real | Integer):
            ends = f"{cells.number_text(parameter.low)} to {cells.number_text(parameter.high)}"
            said = f"{kind}{said}, from {ends}{unit}{scale}"
        codes = [f"{', '.join(column.codes)} taken as unknown"] if column.codes else []
        return "; ".join([said, *codes, *column.notes])

    def text(self) -> str:
        """The content of campaign.toml."""
        return self.campaign.text(self.notes, self.unused, self.conditions)


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:FEW]) + (", ..." if len(texts) > FEW else "")
