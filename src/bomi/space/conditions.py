"""The conditions that experiments are made under, in columns beside the parameters: their groups, and their time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bomi.errors import SpaceError, shown


@dataclass(frozen=True)
class Conditions:
    """What nobody sets, and what moves the outcomes of many experiments alike.

    groups: columns such as the day, the operator or the lot. Each value of a column has an offset of its own.
    drift: the column of the time along which all outcomes change slowly; True for the order of the rows.
    """

    groups: Sequence[str] = ()
    drift: str | bool = False

    def __post_init__(self) -> None:
        groups = (self.groups,) if isinstance(self.groups, str) else self.groups
        if not isinstance(groups, Sequence) or not all(isinstance(name, str) and name.strip() for name in groups):
            raise SpaceError(
                f'groups must be a list of columns, such as ["day", "lot"], but got {shown(self.groups)}',
                ("groups", "columns"),
            )
        doubled = [name for name in groups if list(groups).count(name) > 1]
        if doubled:
            raise SpaceError(f"groups name the column {doubled[0]!r} twice", ("groups", "columns"))
        drift = False if self.drift is None else self.drift
        if not isinstance(drift, bool | str) or (isinstance(drift, str) and not drift.strip()):
            raise SpaceError(
                f"drift must be the name of a column, or True for the order of the rows, but got {shown(self.drift)}",
                ("drift", "column"),
            )
        object.__setattr__(self, "groups", tuple(groups))
        object.__setattr__(self, "drift", drift)

    def __bool__(self) -> bool:
        return bool(self.groups or self.drift)

    @property
    def time(self) -> str | None:
        """The column of the time, if there is one."""
        return self.drift if isinstance(self.drift, str) else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that tell of them; the day may be a group and the time."""
        return tuple(dict.fromkeys((*self.groups, *([self.time] if self.time else []))))
