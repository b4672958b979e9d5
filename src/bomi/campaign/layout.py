"""Where the table lies in a file: titles above the header, a row of units below it, notes and totals under the data.

A file is a list of records, each a list of texts. A column of numbers tells the header from the rest: its name is a
text, what stands under it are numbers. What is neither header nor experiment is left out and named.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from bomi.campaign.body import (
    RULE,
    SAMPLE,
    experiments_in,
    is_numeric,
    is_outcome_word,
    is_word,
    numeric_columns,
    shape,
)
from bomi.campaign.lexicon import is_outcome, is_setting
from bomi.errors import FileError
from bomi.space import RESERVED, cells, units

TOP = 40  # records among which the header is looked for
HEADER_ROWS = 3  # a header may be wrapped over so many

_UNITS_LABEL = re.compile(r"units?|einheit(en)?|unités?|unidad(es)?|unità", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """The names of the columns and their units, the places of the header's last record and of the experiments."""

    names: tuple[str, ...]
    first: int  # the header's first record
    last: int  # and its last one
    body: list[int]
    units: dict[str, str] = field(default_factory=dict)
    left_out: tuple[tuple[int, str], ...] = ()  # other records below the header, and why


def lay_out(records: Sequence[Sequence[str]], numbers: Sequence[int], names: Collection[str] = ()) -> Layout:
    """The table in the records of a file, which begin at these lines; names of expected columns tell the header."""
    first = _header(records, numbers, names)
    numeric = numeric_columns(records[first + 1 : first + 1 + SAMPLE])
    last, found = first, {}
    while last + 1 < min(first + HEADER_ROWS + 1, len(records)):
        row = records[last + 1]
        if _is_units(row) or (last == first and _is_unit_of(row, numeric)):
            found = {place: text for place, text in enumerate(row) if units.find(text) or _in_brackets(text)}
            last += 1
            break
        if last + 1 - first >= HEADER_ROWS or not (_is_header(row, numeric) or _tells_apart(row, records[first])):
            break
        last += 1
    wrapped = last - bool(found)
    titles = _grouped(_names(records[first : wrapped + 1]), _groups(records, first, numbers))
    body, left_out = experiments_in(records, numbers, last, numeric, records[wrapped])
    by_name = {titles[place]: units.normalized(text) for place, text in found.items() if place < len(titles)}
    return Layout(titles, first, last, body, {name: unit for name, unit in by_name.items() if name}, tuple(left_out))


# --- the header ----------------------------------------------------------------------------------------------------


def _header(records: Sequence[Sequence[str]], numbers: Sequence[int], names: Collection[str]) -> int:
    """The place of the header's first record."""
    top = range(min(TOP, len(records)))
    if names:
        wanted = set(names)
        hits = [len(wanted.intersection(_names([records[place]]))) for place in top]
        if max(hits) >= 2 or (max(hits) == 1 and len(wanted) <= 2):
            return hits.index(max(hits))
    filled = [sum(1 for cell in records[place] if cell.strip()) for place in top]
    wide = [place for place in top if filled[place] >= 2] or list(top)
    _check_upright(records, numbers, wide[0])
    scores = {place: _score(records, place) for place in wide}
    best = max(scores.values())
    if best > 0:
        found = min(place for place in wide if scores[place] >= best - 0.01)
        _check_upright(records, numbers, found)
        return found
    first = wide[0]
    below = [cell for record in records[first + 1 : first + 5] for cell in record if cell.strip()]
    if any(map(is_numeric, records[first])) and (any(map(is_numeric, below)) or not below):
        raise FileError(
            f"row {numbers[first]} holds data where the names of the columns are expected: "
            f"{', '.join(cell.strip() for cell in records[first][:4])}, ...; put a row of names above it"
        )
    return first


def _score(records: Sequence[Sequence[str]], place: int) -> float:
    """Which share of the columns of numbers below a record have a text in it; 0 if it has numbers itself."""
    row = records[place]
    numeric = numeric_columns(records[place + 1 : place + 1 + SAMPLE])
    if not numeric:
        return 0.0
    held = [row[j] if j < len(row) else "" for j in numeric]
    below = records[place + 1]
    words = sum(_is_name(text) or _is_age(text, below[j : j + 1]) for j, text in zip(numeric, held, strict=True))
    if sum(map(is_numeric, held)) > words or _is_units(row):
        return 0.0
    return words / len(numeric) if words else 0.0


def _is_name(text: str) -> bool:
    """Whether a text may be the name of a column: a word, even one that would say unknown elsewhere."""
    return bool(re.search(r"[^\W\d_]|[°%#]", text)) and not is_numeric(text)


def _is_age(text: str, below: Sequence[str]) -> bool:
    """Whether a number with a unit is the name of a column of plain numbers: `28 d`, of a strength."""
    named = re.fullmatch(r"\s*\d+(?:[.,]\d+)?\s*[^\W\d]+\.?\s*", text)
    return bool(named and below) and is_numeric(text) and re.search(r"[^\W\d]", below[0]) is None


def _is_header(row: Sequence[str], numeric: Sequence[int]) -> bool:
    """Whether a record below the header belongs to it: texts where numbers would stand, and no number anywhere."""
    held = [row[j] for j in numeric if j < len(row) and row[j].strip()]
    words = sum(is_word(text) and not is_outcome_word(text) for text in held)
    return len(numeric) >= 2 and words >= max(2, 0.6 * len(numeric)) and not any(map(is_numeric, row))


def _tells_apart(row: Sequence[str], header: Sequence[str]) -> bool:
    """Whether a record below the header holds different words under columns of one name, `set` and `actual`."""
    held = {place: text.strip() for place, text in enumerate(row) if text.strip()}
    names = [header[place].strip() if place < len(header) else "" for place in held]
    below = {*zip(names, held.values(), strict=True)}
    doubled = all(name and sum(other.strip() == name for other in header) > 1 for name in names)
    return len(held) > 1 and doubled and len(below) == len(held) and all(map(is_word, held.values()))


def _is_units(row: Sequence[str]) -> bool:
    """Whether a record holds units: nothing else, and at least one that is known."""
    held = [text.strip() for text in row if text.strip()]
    if held and _UNITS_LABEL.fullmatch(held[0]):
        held = held[1:]
    if any(is_numeric(text) and not text.startswith("1/") for text in held):
        return False
    known = sum(units.find(text) is not None for text in held)
    fine = sum(units.find(text) is not None or units.is_none(text) or _in_brackets(text) for text in held)
    several = known + sum(_in_brackets(text) and units.find(text) is None for text in held) >= 2
    plain = sum(units.find(text) is not None and len(text) > 1 for text in held)  # T and t may be names
    mostly = plain >= 2 and known > 0.6 * len(held)  # units that nobody knows among them
    return mostly or (known > 0 and fine == len(held) and (several or not held[0].isalpha()))


def _is_unit_of(row: Sequence[str], numeric: Sequence[int]) -> bool:
    """Whether a record holds nothing but the unit of one column of numbers, right of the first column."""
    held = [(place, text) for place, text in enumerate(row) if text.strip()]
    return len(held) == 1 and held[0][0] in numeric and held[0][0] > 0 and units.find(held[0][1].strip()) is not None


def _in_brackets(text: str) -> bool:
    text = text.strip()
    return len(text) > 2 and (text[0], text[-1]) in (("(", ")"), ("[", "]")) and not units.is_none(text)


def _groups(records: Sequence[Sequence[str]], first: int, numbers: Sequence[int]) -> Sequence[str]:
    """The record above the header, if it names groups of columns: each name stands over several, as merged cells do."""
    if first == 0 or numbers[first] - numbers[first - 1] > 1:
        return []
    above = records[first - 1]
    held = [cell for cell in above if cell.strip()]
    return above if len(held) >= 2 and not any(map(is_numeric, held)) else []


def _grouped(names: tuple[str, ...], groups: Sequence[str]) -> tuple[str, ...]:
    """Names that several columns have, each with the name of its group before it."""
    made, group = [], ""
    for j, name in enumerate(names):
        group = " ".join(groups[j].split()) if j < len(groups) and groups[j].strip() else group
        made.append(f"{group} {name}" if name and group and names.count(name) > 1 else name)
    return tuple(made)


def _names(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names of the columns, from the header's records one below the other."""
    width = max(map(len, rows), default=0)
    names = []
    filled = [""] * len(rows)
    for j in range(width):
        parts: list[str] = []
        below = [" ".join(row[j].translate(cells.INVISIBLE).split()) if j < len(row) else "" for row in rows]
        for i, text in enumerate(below):
            filled[i] = text or filled[i]
            inherited = len(rows) > 1 and not text and any(below[i + 1 :]) and i < len(rows) - 1
            part = filled[i] if inherited and not below[-1].startswith(RESERVED) else text
            if part and part not in parts and not RULE.fullmatch(part):
                parts.append(part)
        names.append(" ".join(parts))
    if names and re.match(r"#\s+\S|#[^\W\d]", names[0]):
        names[0] = names[0][1:].strip()
    return tuple(names)


def _check_upright(records: Sequence[Sequence[str]], numbers: Sequence[int], header: int) -> None:
    """A table whose experiments are columns is reported, not read."""
    row = [cell for cell in records[header] if cell.strip()]
    below = [record for record in records[header + 1 : header + 1 + TOP] if any(cell.strip() for cell in record)]
    names = [record[0].strip() for record in below if record and record[0].strip()]
    counted = sum(map(is_numeric, row[1:])) if len(row) > 2 else 0
    if counted > 2 and counted == len(row) - 1 and names and not any(map(is_numeric, names)):
        raise FileError(
            f"the experiments seem to be columns (row {numbers[header]} counts them: {', '.join(row[:4])}, ...) and "
            "the names to be rows; turn the table round, so that each row is an experiment"
        )
    titles = [cell.strip() for cell in row[1:] if not _UNITS_LABEL.fullmatch(cell.strip())]
    if len(titles) > 2 and len({shape(title) for title in titles}) == 1 and len(set(names)) == len(names) > 1:
        named = [name for name in names if _names_a_quantity(name)]
        if 2 * len(named) >= len(names) and len(named) > 1 and not any(map(_names_a_quantity, titles)):
            raise FileError(
                f"the experiments seem to be columns ({', '.join(titles[:3])}, ...) and the names to be rows "
                f"({', '.join(named[:3])}, ...); turn the table round, so that each row is an experiment"
            )


def _names_a_quantity(text: str) -> bool:
    """Whether a text is the name of something set or measured; T1 and P2 may be names of anything."""
    return bool(units.in_header(text)) or (len(text) > 3 and (is_setting(text) or is_outcome(text)))
