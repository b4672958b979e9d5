"""What the columns of groups and of the time say, told by `check`: groups of one row, blanks, dates read either way."""

from __future__ import annotations

from collections.abc import Iterator

from bomi.campaign.experiments import Experiments
from bomi.data.conditions import Coded
from bomi.space import cells
from bomi.space.times import ambiguous

NAMED = 5  # groups that are named


def notes(experiments: Experiments) -> list[str]:
    """What a person should know of the groups and the dates."""
    conditions = experiments.campaign.space.conditions
    return [*_groups(experiments), *_dates(experiments)] if conditions else []


def _groups(experiments: Experiments) -> Iterator[str]:
    rows = [row for row in experiments.rows if row.tried]
    coded = Coded.of(experiments.campaign.space.conditions, rows)
    for place, (name, labels) in enumerate(zip(coded.conditions.groups, coded.labels, strict=True)):
        codes = coded.table[:, place].tolist()
        counts = {label: codes.count(float(i)) for i, label in enumerate(labels)}
        if blank := len(rows) - sum(counts.values()):
            yield f"{name!r} is blank in {blank} rows: each of them is taken for a group of its own"
        alone = [label for label, count in counts.items() if count == 1]
        if len(labels) == 1 and not blank:
            yield f"{name!r} is {labels[0]!r} in every row: there is no other to compare it with"
        elif labels and len(alone) == len(labels):
            yield f"{name!r} is another in every row: offsets cannot be told from noise"
        elif alone:
            more = f" and {len(alone) - NAMED} more" if len(alone) > NAMED else ""
            named = ", ".join(map(repr, alone[:NAMED])) + more
            yield f"{name!r}: {named} {'have' if len(alone) > 1 else 'has'} one row: little is known of such an offset"
        looks: dict[str, str] = {}
        for label in labels:
            other = looks.setdefault(cells.look(label), label)
            if other != label:
                yield f"{name!r}: {other!r} and {label!r} are two groups; write them alike if they are one"


def _dates(experiments: Experiments) -> Iterator[str]:
    time = experiments.campaign.space.conditions.time
    if time is None:
        return
    told = [row.extra.get(time) for row in experiments.rows if row.tried]
    blank = sum(cells.is_unknown(cell) for cell in told)
    if blank and blank == len(told):
        yield f"{time!r} is blank in every row: drift is learned along the order of the rows"
    elif blank:
        yield f"{time!r} is blank in {blank} rows: each is taken for between those of the rows around it"
    if ambiguous(told):
        first = next(cell for cell in told if isinstance(cell, str) and "/" in cell)
        yield f"{time!r}: {first.strip()} is read with the day first; write it as 2026-11-18 to be sure"
