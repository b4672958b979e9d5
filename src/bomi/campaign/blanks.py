"""What the pattern of a table's blanks says, told by `check`: they may mean none, be one value, or be no accident."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bomi.campaign.experiments import Experiments, column_names
from bomi.campaign.writing import toml_key, toml_value
from bomi.data.observations import members_of
from bomi.space import SEVERAL, Real, cells
from bomi.space.cells import Known

MANY = 0.2  # of the rows, from which the blanks of a column are worth a note
BLOCK = 5  # rows in a line without a value, and no others: they may share one
LOOKED_AT = 2000  # rows
ALARM = 0.01  # of tables whose blanks are accidents
NEAR = 0.25  # of the upper end: a range that begins below may as well begin at 0


def notes(experiments: Experiments) -> list[str]:
    """What a person who knows better should write into campaign.toml."""
    return [*_defaults(experiments), *_groups(experiments), *_blocks(experiments), *_no_accidents(experiments)]


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


def _groups(experiments: Experiments) -> Iterator[str]:
    """Values that a group should share and does not, and rows in no group."""
    rows = experiments.rows
    for name, parameter in experiments.campaign.space.parameters.items():
        column = parameter.same_within
        if column is None:
            continue
        groups = members_of(column, rows)
        for group, members in groups.items():
            told = dict.fromkeys(cell for i in members if isinstance(cell := rows[i].recorded[name], Known))
            if len(told) > 1:
                listed = ", ".join(map(cells.text, told))
                yield f"{name!r} should be the same within {column} {group!r}, but it is {listed}"
        alone = len(rows) - sum(map(len, groups.values()))
        if alone:
            yield f"{column!r} is blank in {alone} rows: {name!r} is a value of its own in each of them"


def _blocks(experiments: Experiments) -> Iterator[str]:
    """Columns that are blank for some rows in a line and for no others."""
    campaign, sheet, rows = experiments.campaign, experiments.sheet, experiments.rows
    for name, parameter in campaign.space.parameters.items():
        blank = [i for i, row in enumerate(rows) if row.recorded[name] is None and name not in row.asked]
        together = len(blank) >= BLOCK and blank[-1] - blank[0] == len(blank) - 1 and len(blank) < len(rows)
        if not together or parameter.same_within is not None or parameter.filling is not None:
            continue
        beside = [other for other in sheet.columns if other not in column_names(campaign)]
        named = next((other for other in beside if _names(sheet.columns[other], blank)), None)
        lines = f"rows {experiments.numbers[blank[0]]} to {experiments.numbers[blank[-1]]}"
        column = "same_within = " + toml_value(named or "campaign")
        how = "" if named else ", and name these rows in a column campaign"
        yield f"{name!r} is blank in {lines} and in no others; if it was one value there, write {column}{how}"


def _no_accidents(experiments: Experiments) -> Iterator[str]:
    """Columns whose blanks come more often where an outcome or another column is large, or small.

    By the rank sums of Wilcoxon. Of tables whose blanks are accidents one in a hundred gets such a note.
    """
    campaign, rows = experiments.campaign, [row for row in experiments.rows if row.tried][:LOOKED_AT]
    columns = {name: np.array([_number(row.recorded[name]) for row in rows]) for name in campaign.space.names}
    columns |= {name: np.array([row.outcomes.get(name, np.nan) for row in rows]) for name in campaign.outcomes}
    found = []
    tests = 0
    for name, parameter in campaign.space.parameters.items():
        blank = np.array([row.recorded[name] is None and name not in row.asked for row in rows], dtype=bool)
        if parameter.filling is not None or parameter.same_within is not None or parameter.blank is not None:
            continue
        for other, column in columns.items():
            known = np.isfinite(column)
            if other != name and min((blank & known).sum(), (~blank & known).sum()) >= BLOCK:
                tests += 1
                found.append((rank_sum(column[known], blank[known]), name, other))
    for name in dict.fromkeys(name for z, name, _ in found if math.erfc(abs(z) / math.sqrt(2)) * tests < ALARM):
        z, _, other = max((one for one in found if one[1] == name), key=lambda one: abs(one[0]))
        yield (
            f"{name!r} is blank more often where {other!r} is {'large' if z > 0 else 'small'}, which is hardly an "
            'accident: if a blank means none of it, write blank = "zero"; if values were lost since they were too '
            "large or small to be seen, write a limit such as >300"
        )


def rank_sum(numbers: NDArray[np.float64], marked: NDArray[np.bool_]) -> float:
    """How far the ranks of marked numbers lie above those of the others, in standard deviations (Wilcoxon 1945)."""
    _, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[place]  # of equal numbers, the mean
    n, m = len(numbers), int(marked.sum())
    variance = m * (n - m) / (n * (n - 1)) * float(((ranks - ranks.mean()) ** 2).sum())
    return float(ranks[marked].sum() - m * ranks.mean()) / math.sqrt(variance) if variance > 0 else 0.0


def _number(cell: object) -> float:
    return float(cell) if isinstance(cell, int | float) else math.nan


def _names(column: Sequence[str], rows: Sequence[int]) -> bool:
    """Whether a column has one text in these rows, and no other row has it."""
    text = column[rows[0]].strip()
    return bool(text) and [i for i, other in enumerate(column) if other.strip() == text] == list(rows)
