"""Names of other programs as names of a table, where some have a meaning of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bomi.data.objectives import ERROR
from bomi.space import RESERVED, TAKEN


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with underscores appended until neither it nor the column of its standard errors is taken."""
    while name in taken or name + ERROR in taken:
        name += "_"
    return name


def column_names(parameters: Iterable[str]) -> dict[str, str]:
    """Each parameter's column: its name, with underscores where a table gives that name a meaning of its own."""
    names = list(parameters)
    found: dict[str, str] = {}
    for name in names:
        own = f"_{name}" if name.startswith(RESERVED) or not name.strip() else name
        while own in TAKEN or own in found.values() or (own != name and own in names):
            own += "_"
        found[name] = own
    return found
