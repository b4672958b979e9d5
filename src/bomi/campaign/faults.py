"""What is wrong with a campaign, and where in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bomi.campaign.writing import toml_key
from bomi.errors import FileError, Place


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a campaign. `places` are the ways to what is at fault, by sections and keys.

    >>> print(Fault("`low` must be a finite number, but got 'a'", (("parameters", "time (h)", "range", 0),)))
    [parameters."time (h)"] `low` must be a finite number, but got 'a'
    """

    message: str
    places: tuple[Place, ...] = ()
    unknown: bool = False  # a key that means nothing: without it, all else means the same

    @property
    def section(self) -> str:
        """The section that it is in, as the file names it; nothing if it is in none, or in several."""
        sections = {_section(place) for place in self.places}
        return sections.pop() if len(sections) == 1 else ""

    def __str__(self) -> str:
        return f"[{self.section}] {self.message}" if self.section else self.message


def _section(place: Place) -> str:
    first, rest = (place[0], place[1:]) if place else ("", ())
    if first in ("parameters", "objectives") and rest:
        return f"{first}.{toml_key(str(rest[0]))}"
    if first == "constraints" and rest:
        return f"{first} {int(rest[0]) + 1}"
    return str(first) if first in ("objective", "method", "groups", "drift") else ""


class CampaignError(FileError):
    """A campaign that makes no sense; `faults` lists everything that is wrong with it."""

    def __init__(self, message: str, faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults

    @classmethod
    def of(cls, faults: Sequence[Fault], path: Path | None = None) -> CampaignError:
        """All faults in one error, each line with the path of the file, if there is one."""
        lines = (str(fault) if path is None else f"{path}: {fault}" for fault in faults)
        return cls("\n".join(lines), tuple(faults))
