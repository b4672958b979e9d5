"""Every error a user can meet. Catch `BomiError` to catch them all.

A message says the rule, the value received and, where there is one, the remedy. A program that wants to know what is at
fault finds it beside the message, and never has to read the message.
"""

from collections.abc import Iterable
from dataclasses import dataclass

Place = tuple[str | int, ...]  # the way to something, from outside in: ("constraints", 0, "max")


@dataclass(frozen=True)
class CellProblem:
    """One thing wrong with a table: where, what was found and what was expected."""

    row: object
    column: str
    message: str

    def __str__(self) -> str:
        return f"row {self.row}, column {self.column!r}: {self.message}"


class BomiError(Exception):
    """Something the user can correct; nothing was changed."""


class SpaceError(BomiError, ValueError):
    """A parameter, a constraint or a space that cannot be; `places` are the arguments at fault."""

    def __init__(self, message: str, *places: Place) -> None:
        super().__init__(message)
        self.places = places

    def within(self, *outer: str | int) -> tuple[Place, ...]:
        """The places as seen from outside: ("low",) of a parameter is ("parameters", name, "low") of a space."""
        return tuple((*outer, *place) for place in self.places or ((),))


class CellError(BomiError, ValueError):
    """A cell that is no number, category, uncertainty or blank."""


class UnreadableError(CellError):
    """A text that says nothing that was expected; `got` is what it says, with a hint where there is one."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(expected, got)
        self.expected, self.got = expected, got

    def __str__(self) -> str:
        return f"{self.expected}, but got {self.got}"


class TableError(BomiError, ValueError):
    """A table that does not fit the space; `problems` lists each with its row and column."""

    problems: tuple[CellProblem, ...] = ()


class MethodError(BomiError, ValueError):
    """A method that is not known, or a setting it does not take."""


class BenchmarkError(BomiError, ValueError):
    """A benchmark problem, a setting of its missing inputs, or a folder of its data that cannot be used."""


class SuggestionError(BomiError, ValueError):
    """A suggestion told twice, or one that this optimizer never made."""


class FileError(BomiError, ValueError):
    """A file that cannot be read or written, or a campaign.toml that makes no sense."""


class StudyError(BomiError, ValueError):
    """An Optuna study or trial that cannot be used, or a record of one that cannot be made."""


def shown(value: object, most: int = 200) -> str:
    """A value as a message shows it: its repr in one line, shortened.

    >>> shown(10**5000)
    'an int that is too large to show'
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # repr may do anything; an int of more than 4,300 digits raises a ValueError
        kind = type(value).__name__
        text = "an int that is too large to show" if isinstance(value, int) else f"a {kind} that cannot be shown"
    return text if len(text) <= most else f"{text[:most]}..."


def check_choice(setting: str, value: object, known: Iterable[str]) -> None:
    """That a setting is one of the known words."""
    if value not in (words := tuple(known)):
        raise MethodError(f"`{setting}` must be {' or '.join(map(repr, words))}, but got {shown(value)}")
