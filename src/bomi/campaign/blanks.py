"""What the pattern of a table's blanks says, told by `check`: that they may mean none, or that rows share a value."""

from __future__ import annotations

from collections.abc import Iterator

from bomi.campaign.experiments import Experiments
from bomi.campaign.writing import toml_key
from bomi.space import SEVERAL, Real

MANY = 0.2  # of the rows, from which the blanks of a column are worth a note
NEAR = 0.25  # of the upper end: a range that begins below may as well begin at 0


def notes(experiments: Experiments) -> list[str]:
    """What a person who knows better should write into campaign.toml."""
    return list(_defaults(experiments))


def _defaults(experiments: Experiments) -> Iterator[str]:
    rows = [row for row in experiments.rows if row.tried]
    for name, parameter in experiments.campaign.space.parameters.items():
        blanks = sum(row.recorded[name] is None and name not in row.asked for row in rows)
        if blanks < max(MANY * len(rows), SEVERAL) or parameter.blank is not None or parameter.default is not None:
            continue
        if parameter.may_mean(blanks):
            yield (
                f"{name!r} has {blanks} blanks, which may mean 0: bomi gaps tells how likely; if you know it, write "
                f'blank = "zero" or blank = "unknown" under [parameters.{toml_key(name)}]'
            )
        elif isinstance(parameter, Real) and not parameter.log and 0 < parameter.low < NEAR * parameter.high:
            yield f"{name!r} has {blanks} blanks; if they mean that there was none of it, begin its range at 0"
