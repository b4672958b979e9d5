"""What makes sense in a table but looks like a mistake: told by `check`, which calls the table fine all the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from bomi.campaign.experiments import Experiments
from bomi.campaign.lexicon import goal_of
from bomi.campaign.words import likely_mistakes, merge_spellings
from bomi.data.bulk import far_from_bulk
from bomi.space import Categorical, cells, units

FEW = 6  # different numbers that may be names of something
APART = 0.5  # of the range of all outcomes: further apart, two outcomes of one experiment are told
_CODE = re.compile(
    r"(?:^|[\s_])(?:type|code|class|kind|group|machine|line|reactor|furnace|oven|grade|alloy|legierung|alliage|aleación|supplier|strain|variety|recipe|typ|"
    r"art|klasse|ofen|anlage|maschine|sorte|gruppe|classe|four|groupe|tipo|clase|grupo|horno)(?:$|[\s_.])",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"yield|purity|conversion|selectivity|ausbeute|reinheit|umsatz|rendement|pureté|rendimiento|pureza", re.I
)


def doubts(experiments: Experiments) -> list[str]:
    """What a person should look at, though nothing is wrong with it."""
    return [
        *_nameless(experiments),
        *_numbers_as_names(experiments),
        *_near_duplicates(experiments),
        *_constant_outcomes(experiments),
        *_impossible_outcomes(experiments),
        *_far_outcomes(experiments),
        *_contradictions(experiments),
    ]


def _nameless(experiments: Experiments) -> Iterator[str]:
    for place in experiments.sheet.nameless():
        yield f"column {place} has cells but no name, so it is not read"


def _numbers_as_names(experiments: Experiments) -> Iterator[str]:
    for name, parameter in experiments.campaign.space.parameters.items():
        if parameter.kind not in ("real", "integer") or not _CODE.search(name):
            continue
        found = {row.recorded[name] for row in experiments.rows if isinstance(row.recorded[name], int | float)}
        if 1 < len(found) <= FEW and all(isinstance(cell, int | float) and cell == int(cell) for cell in found):
            listed = ", ".join(f'"{cells.text(cell)}"' for cell in sorted(found, key=str))
            yield f"{name!r} looks like a category called by numbers; values = [{listed}] makes it one"


def _near_duplicates(experiments: Experiments) -> Iterator[str]:
    for name, parameter in experiments.campaign.space.parameters.items():
        if isinstance(parameter, Categorical):
            texts = [str(value) for value in parameter.values if isinstance(value, str)]
            counts = dict.fromkeys(texts, 0)
            for row in experiments.rows:
                if isinstance(cell := row.recorded[name], str):
                    counts[cell] += 1
            for merged in merge_spellings(counts)[1]:
                yield f"{name!r}: {merged.replace('taken as', 'may be')}; values that are listed may be suggested"
            for wrong, right in likely_mistakes(counts).items():
                yield f"{name!r}: {wrong!r}, in one cell, may be {right!r} misspelt; a listed value may be suggested"


def _constant_outcomes(experiments: Experiments) -> Iterator[str]:
    for name in experiments.campaign.outcomes:
        told = [row.outcomes[name] for row in experiments.rows if name in row.outcomes]
        if len(told) > 1 and min(told) == max(told):
            yield f"{name!r} is {cells.number_text(told[0])} in every row: there is nothing to learn from it"


def _impossible_outcomes(experiments: Experiments) -> Iterator[str]:
    for objective in experiments.campaign.objectives:
        name = objective.name
        unit = objective.unit or experiments.sheet.units.get(name, "") or units.in_header(name)
        share = _SHARE.search(name) is not None and units.same(unit, "%")
        told = [(row.outcomes[name], i) for i, row in enumerate(experiments.rows) if name in row.outcomes]
        wrong = [(value, i) for value, i in told if (share and not 0 <= value <= 100)]
        if not share and goal_of(name) and sum(value < 0 for value, _ in told) * 10 <= len(told):
            wrong = [(value, i) for value, i in told if value < 0]
        for value, i in wrong[:3]:
            said = f"{cells.number_text(value)} {unit}".strip()
            yield f"{experiments.label(i)}: {name!r} is {said}; can it be?"


def _far_outcomes(experiments: Experiments) -> Iterator[str]:
    for name in experiments.campaign.outcomes:
        told = np.array([row.outcomes.get(name, np.nan) for row in experiments.rows], dtype=float)
        far = np.flatnonzero(far_from_bulk(told))
        for i in far[:3]:
            said = cells.number_text(float(told[i]))
            yield f"{experiments.label(int(i))}: {name!r} is {said}, far from all others; can it be?"


def _contradictions(experiments: Experiments) -> Iterator[str]:
    for name in experiments.campaign.outcomes:
        alike = defaultdict(list)
        told = [row.outcomes[name] for row in experiments.rows if name in row.outcomes]
        for i, row in enumerate(experiments.rows):
            if name in row.outcomes:
                alike[tuple(row.recorded.values())].append((row.outcomes[name], i))
        span = max(told, default=0.0) - min(told, default=0.0)
        for rows in alike.values():
            low, high = min(rows), max(rows)
            if len(rows) < 2 or len(told) < 5 or not experiments.rows[low[1]].complete:
                continue
            if len(alike) > 1 and span > 0 and high[0] - low[0] > APART * span:
                yield (
                    f"{experiments.label(low[1])} and {experiments.label(high[1])} have the same settings, and "
                    f"{name!r} {cells.number_text(low[0])} and {cells.number_text(high[0])}"
                )
