"""What makes sense in a table but looks like a mistake: told by `check`, which calls the table fine all the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from bomi.campaign.experiments import Experiments
from bomi.campaign.lexicon import OUT_NAME, goal_of, is_count, is_thing
from bomi.campaign.mixtures import listed, mixtures_of
from bomi.campaign.words import likely_mistakes, merge_spellings
from bomi.campaign.writing import toml_key
from bomi.data.bulk import far_from_bulk
from bomi.data.observations import Row
from bomi.data.reading import read_exclude
from bomi.space import EXCLUDE, Categorical, cells, units

FloatArray = NDArray[np.float64]
FEW = 6  # different numbers that may be names of something
ENOUGH = 4  # rows, to say that two columns move together
FEWEST = 3  # values of a category that may name combinations of the others
SOME = 1000  # rows that are looked at first
FIRST = 30  # and of every three parameters
CLOSE = 0.005  # of a number: what is computed from others is typed to about three digits
APART = 0.5  # of the range of all outcomes: further apart, two outcomes of one experiment are named
_CODE = re.compile(
    r"(?:^|[\s_])(?:type|code|class|kind|group|machine|line|reactor|furnace|oven|grade|alloy|legierung|alliage|aleación|supplier|strain|variety|recipe|typ|"
    r"art|klasse|ofen|anlage|maschine|sorte|gruppe|classe|four|groupe|tipo|clase|grupo|horno)(?:$|[\s_.])",
    re.IGNORECASE,
)
_LEGEND = re.compile(r"\b1\s*[=:]\s*[^\W\d]")  # solvent (1 = MeOH, 2 = EtOH)
_OUT = re.compile(
    r"\b(?:excl|exclude[ds]?|outliers?|invalid|discard(?:ed)?|do not use|omit(?:ted)?|void(?:ed)?|rejected|ausreißer|"
    r"ungültig|nicht verwenden|nicht werten|verworfen|à exclure|exclue?|aberrante?|invalide|excluid[oa]|descartad[oa]|"
    r"inválid[oa]|atípic[oa]|scartat[oa]|esclus[oa]|excluíd[oa]|odrzucon[ey]|nieważn[ye]|ongeldig|ogiltig|neplatn[ýé]|geçersiz)\b|"
    r"除外|剔除|无效|無効",
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
        *_said_twice(experiments),
        *_fixed_sums(experiments),
        *_derived(experiments),
        *_said_to_be_out(experiments),
        *_names_of_settings(experiments),
        *_blank_below(experiments),
    ]


def _nameless(experiments: Experiments) -> Iterator[str]:
    for place in experiments.sheet.nameless():
        yield f"column {place} has cells but no name, so it is not read"


def _numbers_as_names(experiments: Experiments) -> Iterator[str]:
    for name, parameter in experiments.campaign.space.parameters.items():
        coded = ("(" not in name and _CODE.search(name)) or _LEGEND.search(name)  # what is in brackets may be a unit
        thing = is_thing(name) and not is_count(name)
        if parameter.kind not in ("real", "integer") or parameter.unit or not (coded or thing):
            continue
        found = {cell for row in experiments.rows if isinstance(cell := row.recorded[name], int | float)}
        if not 1 < len(found) <= FEW or any(cell % 1 for cell in found):
            continue
        if all(isinstance(cell, int | float) and cell % 10 == 0 for cell in found):  # as amounts are, hardly names
            continue
        if coded or found in ({*range(len(found))}, {*range(1, len(found) + 1)}):
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
            for best, others in merge_spellings(counts)[1].items():
                said = ", ".join(map(repr, others))
                yield f"{name!r}: {said} may be {best!r}; values that are listed may be suggested"
            for wrong, right in likely_mistakes(counts).items():
                yield f"{name!r}: {wrong!r}, in one cell, may be {right!r} misspelt; a listed value may be suggested"


def _constant_outcomes(experiments: Experiments) -> Iterator[str]:
    for name in experiments.campaign.outcomes:
        told = [row.outcomes[name] for row in experiments.rows if name in row.outcomes]
        limited = any(name in row.censored for row in experiments.rows)
        if len(told) > 1 and min(told) == max(told) and not limited:
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


def _said_twice(experiments: Experiments) -> Iterator[str]:
    """Parameters that move together in every row: one of them coded, in another unit, or the name of a setting."""
    parameters, rows = experiments.campaign.space.parameters, experiments.rows
    numbers = {name for name, parameter in parameters.items() if parameter.kind in ("real", "integer")}
    some = {name: _numbers(name, rows[:SOME]) for name in numbers}
    sums = [{*one.names} for one in experiments.campaign.space.constraints]
    groups: list[list[str]] = []
    for name in parameters:
        for group in groups:
            one, both = group[0], {group[0], name} <= numbers and {group[0], name} not in sums
            if all(_go_together(one, name, part) for part in (rows[:FIRST], rows)) or (
                both and _in_line(some[one], some[name]) and _in_line(_numbers(one, rows), _numbers(name, rows))
            ):
                group.append(name)
                break
        else:
            groups.append([name])
    for group in (group for group in groups if len(group) > 1):
        yield f"{listed(group)} move together in every row, so they cannot be told apart: is one the other?"


def _fixed_sums(experiments: Experiments) -> Iterator[str]:
    """Mixtures that no constraint of the campaign speaks of."""
    space = experiments.campaign.space
    for found in mixtures_of(space.parameters, experiments.rows):
        if not any({*found.parts} & {*one.names} for one in space.constraints):
            terms = ", ".join(f"{toml_key(name)} = 1" for name in found.parts)
            total = cells.number_text(found.total)
            yield f"{found}; if they have to, write a constraint: terms = {{{terms}}}, equals = {total}"


def _go_together(one: str, other: str, rows: Sequence[Row]) -> bool:
    """Whether each value of one parameter stands beside one value of another and no other, again and again."""
    pairs = [(row.recorded[one], row.recorded[other]) for row in rows]
    known = [pair for pair in pairs if all(isinstance(cell, str | int | float) for cell in pair)]
    met = set(known)
    alone = all(len({pair[i] for pair in met}) == len(met) for i in (0, 1))
    return alone and 1 < len(met) <= len(known) / 2 and ENOUGH <= len(known) > len(pairs) / 2


def _derived(experiments: Experiments) -> Iterator[str]:
    """Parameters that are the sum, difference, product or ratio of two others in every row, to three digits."""
    parameters = experiments.campaign.space.parameters.items()
    names = [name for name, parameter in parameters if parameter.kind in ("real", "integer")]
    first = [_numbers(name, experiments.rows[:FIRST]) for name in names]
    told: set[frozenset[int]] = set()
    for i, j in combinations(range(len(names)), 2):
        for sign, (one, other) in {"+": (i, j), "-": (i, j), "×": (i, j), "/": (i, j), "/ ": (j, i)}.items():
            made = _computed(first[one], sign.strip(), first[other])
            for k in (k for k in range(len(names)) if k not in (i, j) and frozenset({i, j, k}) not in told):
                if not _same(first[k], made):
                    continue
                whole = {n: _numbers(names[n], experiments.rows) for n in (one, other, k)}
                if _same(whole[k], _computed(whole[one], sign.strip(), whole[other])):
                    told.add(frozenset({i, j, k}))
                    made_of = f"{names[one]!r} {sign.strip()} {names[other]!r}"
                    yield f"{names[k]!r} is {made_of} in every row: leave one of the three out"


def _computed(a: FloatArray, sign: str, b: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "×" else a / b


def _same(column: FloatArray, made: FloatArray) -> bool:
    """Whether two columns are the same in all rows that have both: several, of several different numbers."""
    known = np.isfinite(column) & np.isfinite(made)
    column, made = column[known], made[known]
    if len(column) <= ENOUGH or not (np.abs(column[:2] - made[:2]) <= CLOSE * np.abs(column[:2])).all():
        return False
    return len(set(column)) >= FEWEST and bool((np.abs(column - made) <= CLOSE * np.abs(column)).all())


def _said_to_be_out(experiments: Experiments) -> Iterator[str]:
    """Rows of which a name or a note says that they do not count."""
    used = {*experiments.campaign.space.names, *experiments.campaign.outcomes, EXCLUDE}
    found = []
    for name, column in experiments.sheet.columns.items():
        said: Iterable[tuple[int, str]] = ()
        if name not in used and OUT_NAME.fullmatch(name.strip(" ?")):
            said = ((i, text.strip()) for i, text in enumerate(column) if read_exclude(text))
        elif name not in used and _OUT.search("\n".join(column)):
            said = ((i, match[0]) for i, text in enumerate(column) if (match := _OUT.search(text)))
        found += [(i, name, word) for i, word in said if not experiments.rows[i].excluded]
    for i, name, word in sorted(found)[:3]:
        yield f"{experiments.label(i)}: {name!r} says {word!r}; yes in a column {EXCLUDE!r} leaves the row out"


def _numbers(name: str, rows: Sequence[Row]) -> FloatArray:
    """The numbers of a parameter, NaN where there is none."""
    cells_of = (row.recorded[name] for row in rows)
    return np.array([cell if isinstance(cell, int | float) else np.nan for cell in cells_of], dtype=float)


def _in_line(a: FloatArray, b: FloatArray) -> bool:
    """Whether one column is a line of the other, to the digits that are typed, in the rows that have both."""
    known = np.isfinite(a) & np.isfinite(b)
    if known.sum() < ENOUGH or 2 * known.sum() <= len(known):
        return False
    a, b = a[known] - a[known].mean(), b[known] - b[known].mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return spread > 0 and abs(float(a @ b)) > (1 - 1e-9) * spread


def _names_of_settings(experiments: Experiments) -> Iterator[str]:
    """Categories that only name what the other parameters are: one combination of them for each value."""
    space = experiments.campaign.space
    for name, parameter in space.parameters.items():
        others = [other for other in space.names if other != name]
        if not isinstance(parameter, Categorical) or len(others) < 2:
            continue
        stands_for: dict[object, tuple[object, ...]] = {}
        known = [row.recorded for row in experiments.rows if row.recorded[name] is not None]
        besides = ((row[name], tuple(row[other] for other in others)) for row in known)
        if any(stands_for.setdefault(value, settings) != settings for value, settings in besides):
            continue
        if len(set(stands_for.values())) == len(stands_for) >= FEWEST and 2 * len(stands_for) <= len(known):
            yield f"{name!r} has one combination of the others for each value: leave it out if it only names that"


def _blank_below(experiments: Experiments) -> Iterator[str]:
    """Columns with a value and blanks below it, again and again, as merged cells leave them."""
    rows = experiments.rows
    for name in experiments.campaign.space.names if rows else ():
        if rows[0].recorded[name] is None or rows[-1].recorded[name] is not None:
            continue
        told = [cell for row in rows if (cell := row.recorded[name]) is not None]
        if len(told) > 1 and 2 * len(told) <= len(rows) and all(one != other for one, other in pairwise(told)):
            yield f"{name!r} has blanks below each value: fill them in if they mean the same; they are unknown now"
