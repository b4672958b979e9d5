"""Every error a user can meet. Catch `BomiError` to catch them all.

A message says the rule, the value received and, where there is one, the remedy.
"""


class BomiError(Exception):
    """Something the user can mend; nothing was changed."""


class SpaceError(BomiError, ValueError):
    """A parameter or a space that cannot be."""


class CellError(BomiError, ValueError):
    """A cell that is no number, category, uncertainty or blank."""


class TableError(BomiError, ValueError):
    """A table that does not fit the space; `problems` lists each with its row and column."""

    problems: tuple[object, ...] = ()


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
