"""Where the table lies in a file: titles above the header, a row of units below it, notes and totals under the data.

A file is a list of records, each a list of texts. A column of numbers tells the header from the rest: its name is a
text, what stands under it are numbers. What is neither header nor experiment is left out and named.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from bomi.campaign.marks import Numeral
from bomi.errors import CellError, FileError
from bomi.space import RESERVED, cells, units
from bomi.space.typed import COMMA, POINT, read

TOP = 40  # records among which the header is looked for
SAMPLE = 300  # records that tell which columns hold numbers
HEADER_ROWS = 3  # a header may be wrapped over so many
SOME = 3  # experiments, to tell how they are written

_PLAIN = re.compile(r"\s*[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?\s*")
_STATISTICS = re.compile(
    r"lsd.*|hsd.*|p[- ]?values?|f[- ]?test|anova|sed?m?|significance|sig\.?|"
    r"(?:grand |sub)?totals?|sum|means?|averages?|avg\.?|median|min\.?|max\.?|minimum|maximum|std\.?|std\.? ?dev\.?|"
    r"st\.? ?dev\.?|sd|s\.d\.|rsd|rsd ?%|cv|cv ?%|count|n|n ?=.*|anzahl|nb|range|variance|"
    r"lsl|usl|spec\.?|summe|gesamt|mittelwert|mittel|durchschnitt|standardabweichung|stabw\.?|streuung|moyenne|"
    r"mittelw\.?|mw|[øØ⌀∅Σσ]|x̄|"
    r"écart[- ]?type|ecart[- ]?type|somme|médiane|promedio|media|desviación.*|desv\.? ?est\.?|suma|mediana|desvio.*|"
    r"média|soma|moy\.?|prom\.?|somma|totale|deviazione.*|dev\.? ?st(?:d|and)\.?|średnia|odch(?:ylenie|\.).*|razem|"
    r"gemiddelde|gem\.?|totaal|som|standaardafwijking|stdev|medelvärde|medel|summa|standardavvikelse|standardafvigelse|"
    r"gjennomsnitt|snitt|gennemsnit|standardavvik|keskiarvo|keskihajonta|průměr|součet|celkem|směrodatná odchylka|"
    r"ortalama|toplam|std\.? ?sapma|среднее|ср\.?|итого|сумма|ст\. ?откл\.?|平均値?|合計|標準偏差|总计|合计|平均值|"
    r"标准差|"
    r"평균|합계|표준편차",
    re.IGNORECASE,
)
_STATISTICS_TAIL = re.compile(r"\s*(?:[:=]|\(n ?= ?\d+\)|\((?:all|total)\)|(?:±|\+/-) ?s\.?d\.?)\s*$", re.IGNORECASE)
_COMMENT = re.compile(
    r"#(?!\d|$)|//|%|\*+\s|\*\)|[¹²³†‡]|\d\)\s|note|legend|comment|bemerkung|anmerkung|remarque|nota\b",
    re.IGNORECASE,
)
_RULE = re.compile(r"[-–—=:_*+]{2,}")  # what is drawn to part a header from its rows
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
    numeric = _numeric_columns(records[first + 1 : first + 1 + SAMPLE])
    last, found = first, {}
    while last + 1 < min(first + HEADER_ROWS + 1, len(records)):
        row = records[last + 1]
        if _is_units(row):
            found = {place: text for place, text in enumerate(row) if units.find(text) or _in_brackets(text)}
            last += 1
            break
        if last + 1 - first >= HEADER_ROWS or not _is_header(row, numeric):
            break
        last += 1
    wrapped = last - bool(found)
    titles = _grouped(_names(records[first : wrapped + 1]), _groups(records, first, numbers))
    body, left_out = _body(records, numbers, last, numeric, records[wrapped])
    by_name = {titles[place]: units.normalized(text) for place, text in found.items() if place < len(titles)}
    return Layout(titles, first, last, body, {name: unit for name, unit in by_name.items() if name}, tuple(left_out))


def is_numeric(text: str) -> bool:
    """Whether a text says something of a number, in whatever marks."""
    if text.__class__ is Numeral or _PLAIN.fullmatch(text):
        return True
    for marks in (POINT, COMMA):
        try:
            return read(text, marks).value is not None
        except CellError:
            continue
    return False


def _is_word(text: str) -> bool:
    """Whether a text says something, and not of a number."""
    return bool(text.strip()) and not cells.is_unknown(text) and not is_numeric(text)


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
    scores = {place: _score(records, place) for place in wide}
    best = max(scores.values())
    if best > 0:
        found = min(place for place in wide if scores[place] >= best - 0.01)
        _check_upright(records, numbers, found)
        return found
    first = wide[0]
    _check_upright(records, numbers, first)
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
    numeric = _numeric_columns(records[place + 1 : place + 1 + SAMPLE])
    if not numeric:
        return 0.0
    held = [row[j] if j < len(row) else "" for j in numeric]
    words = sum(map(_is_name, held))
    if sum(map(is_numeric, held)) > words or _is_units(row):
        return 0.0
    return words / len(numeric) if words else 0.0


def _is_name(text: str) -> bool:
    """Whether a text may be the name of a column: a word, even one that would say unknown elsewhere."""
    return bool(re.search(r"[^\W\d_]|[°%#]", text)) and not is_numeric(text)


def _is_header(row: Sequence[str], numeric: Sequence[int]) -> bool:
    """Whether a record below the header belongs to it: texts where numbers would stand, and no number anywhere."""
    held = [row[j] for j in numeric if j < len(row) and row[j].strip()]
    words = sum(_is_word(text) and not _is_outcome_word(text) for text in held)
    return len(numeric) >= 2 and words >= max(2, 0.6 * len(numeric)) and not any(map(is_numeric, row))


def _is_outcome_word(text: str) -> bool:
    return text.strip().lower().startswith(("fail", "fehl", "échec", "fallo", "fallid"))


def _is_units(row: Sequence[str]) -> bool:
    """Whether a record holds units: nothing else, and at least one that is known."""
    held = [text.strip() for text in row if text.strip()]
    if held and _UNITS_LABEL.fullmatch(held[0]):
        held = held[1:]
    if any(map(is_numeric, held)):
        return False
    known = sum(units.find(text) is not None for text in held)
    fine = sum(units.find(text) is not None or units.is_none(text) or _in_brackets(text) for text in held)
    several = known + sum(_in_brackets(text) and units.find(text) is None for text in held) >= 2
    return known > 0 and fine == len(held) and (several or not held[0].isalpha())


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
            if part and part not in parts and not _RULE.fullmatch(part):
                parts.append(part)
        names.append(" ".join(parts))
    if names and re.match(r"#\s+\S|#[^\W\d]", names[0]):
        names[0] = names[0][1:].strip()
    return tuple(names)


def _check_upright(records: Sequence[Sequence[str]], numbers: Sequence[int], header: int) -> None:
    """A table whose experiments are columns is told, not read."""
    row = [cell for cell in records[header] if cell.strip()]
    below = [record for record in records[header + 1 : header + 1 + TOP] if any(cell.strip() for cell in record)]
    names = [record[0].strip() for record in below if record and record[0].strip()]
    counted = sum(map(is_numeric, row[1:])) if len(row) > 2 else 0
    if counted > 2 and counted == len(row) - 1 and names and not any(map(is_numeric, names)):
        raise FileError(
            f"the experiments seem to be columns (row {numbers[header]} counts them: {', '.join(row[:4])}, ...) and "
            "the names to be rows; turn the table round, so that each row is an experiment"
        )
    titles = [cell.strip() for cell in row[1:]]
    if len(titles) > 2 and len({_shape(title) for title in titles}) == 1 and len(set(names)) == len(names) > 1:
        named = [name for name in names if units.in_header(name)]
        if 2 * len(named) >= len(names) and len(named) > 1 and not any(map(units.in_header, titles)):
            raise FileError(
                f"the experiments seem to be columns ({', '.join(titles[:3])}, ...) and the names to be rows "
                f"({', '.join(named[:3])}, ...); turn the table round, so that each row is an experiment"
            )


# --- the rows ------------------------------------------------------------------------------------------------------


def _numeric_columns(records: Sequence[Sequence[str]]) -> list[int]:
    """The places of the columns of which most of what they hold is numbers."""
    width = max(map(len, records), default=0)
    found = []
    for j in range(width):
        held = [row[j] for row in records if j < len(row) and row[j].strip()][:60]
        known = [text for text in held if not cells.is_unknown(text)]
        if known and sum(map(is_numeric, known)) > 0.5 * len(known):
            found.append(j)
    return found


def _body(
    records: Sequence[Sequence[str]],
    numbers: Sequence[int],
    last: int,
    numeric: Sequence[int],
    header: Sequence[str],
) -> tuple[list[int], list[tuple[int, str]]]:
    """The places of the experiments, and of what else stands below the header, with why it is none."""
    body: list[int] = []
    left_out: list[tuple[int, str]] = []
    title = [cell.strip() for cell in header]
    columns = len([cell for cell in title if cell])
    for place in range(last + 1, len(records)):
        row = records[place]
        apart = bool(body) and numbers[place] > numbers[place - 1] + 1
        again = [cell.strip() for cell in row] == title
        if apart and not again and _starts_another(row, numeric, records[place + 1 : place + 4]):
            left_out += [(other, "another table begins there") for other in range(place, len(records))]
            break
        held = [cell for cell in row if cell]
        if len(held) > 2 and row[0] != header[0] and len(held) * 2 > columns and not _odd_start(row):
            body.append(place)
            continue
        why = _why_none(row, title, columns, records, body)
        if not why and apart and _unlike(row, records, body):
            why = "a note"
        if why:
            left_out.append((place, why))
        else:
            body.append(place)
    while body and _is_note(records[body[-1]], records, body, numeric, columns):
        left_out.append((body.pop(), "a note"))
    while len(body) > SOME and _is_mean(records[body[-1]], [records[place] for place in body[:-1]], numeric):
        left_out.append((body.pop(), "a summary of the rows"))
    return body, sorted(left_out)


def _is_statistic(text: str) -> bool:
    """Whether a text names a summary of the rows: `Mean`, `Média:`, `Average (n = 6)`."""
    return _STATISTICS.fullmatch(_STATISTICS_TAIL.sub("", text)) is not None


def _is_mean(row: Sequence[str], above: Sequence[Sequence[str]], numeric: Sequence[int]) -> bool:
    """Whether a last record holds the means or the sums of all columns above it, and is called otherwise than they are.

    A center point of a design has the means of what is set, but hardly of its outcome too.
    """
    start = row[0].strip() if row else ""
    if not start or is_numeric(start) or _alike(start, [record[0].strip() for record in above if record]):
        return False
    compared = [j for j in numeric if j < len(row) and row[j].strip()]
    if len(compared) < 2 or numeric[-1] not in compared:
        return False
    for marks in (POINT, COMMA):
        try:
            held = [[read(record[j], marks).value for record in (row, *above) if j < len(record)] for j in compared]
        except CellError:
            continue
        return all(_summarizes(column[0], column[1:]) for column in held)
    return False


def _summarizes(value: object, others: Sequence[object]) -> bool:
    """Whether a number is the mean or the sum of others, to three digits."""
    numbers = [other for other in others if isinstance(other, float | int)]
    if not isinstance(value, float | int) or len(numbers) < 2 or min(numbers) == max(numbers):
        return False
    total = sum(numbers)
    return any(abs(value - expected) <= 5e-3 * abs(expected) for expected in (total, total / len(numbers)))


def _odd_start(row: Sequence[str]) -> bool:
    start = next((cell.strip() for cell in row if cell.strip()), "")
    if start[:1].isdigit() and ")" not in start:
        return False
    return bool(_is_statistic(start) or _COMMENT.match(start))


def _why_none(
    row: Sequence[str], title: Sequence[str], columns: int, records: Sequence[Sequence[str]], body: Sequence[int]
) -> str:
    """Why a record is no experiment; "" if it may be one."""
    held = [(j, cell.strip()) for j, cell in enumerate(row) if cell.strip()]
    texts = [text for _, text in held]
    if [cell.strip() for cell in row][: len(title)] == [*title][: len(row)] and len(texts) > 1:
        return "the header again"
    if not held:
        return "blank"
    if len(texts) > 1 and all(map(_RULE.fullmatch, texts)):
        return "a line"
    place, start = held[0]
    others = [records[i][place].strip() for i in (*body[:100], *body[100:][-100:]) if place < len(records[i])]
    if _is_statistic(start) and others.count(start) < 1 and len(body) >= 2:
        rest = texts[1:]
        if all(is_numeric(text) or cells.is_unknown(text) or text.startswith("=") for text in rest):
            return "a summary of the rows"
    told = " " in start or len(body) >= SOME
    if columns >= 3 and len(held) == 1 and _is_word(start) and told and not _alike(start, others):
        prose = place > 0 and title[place : place + 1] and (not others or any(_is_word(other) for other in others))
        return "" if prose else "a note"  # a column of notes may hold a note and nothing else
    if _COMMENT.match(start) and len(held) <= 2 and columns >= 3 and body and not _alike(start, others):
        return "a note"
    return ""


def _unlike(row: Sequence[str], records: Sequence[Sequence[str]], body: Sequence[int]) -> bool:
    """Whether a record after a blank line is written otherwise than the experiments: its first cell, with blanks."""
    if not row or not row[0].strip() or all(cell.strip() for cell in row) or len(body) < SOME:
        return False
    return not _alike(row[0].strip(), [records[place][0].strip() for place in body[-50:]])


def _alike(text: str, others: Sequence[str]) -> bool:
    """Whether a text is written as others are: letters where they have letters, digits where they have digits."""
    return _shape(text) in {_shape(other) for other in others[-50:] if other}


def _shape(text: str) -> str:
    if is_numeric(text):
        return "9"  # 1 is written as 0.913 is
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))


def _starts_another(row: Sequence[str], numeric: Sequence[int], below: Sequence[Sequence[str]]) -> bool:
    """Whether a second table begins here: names where numbers would stand, and numbers below."""
    held = [row[j] for j in numeric if j < len(row) and row[j].strip()]
    words = sum(_is_word(text) and not _is_outcome_word(text) for text in held)
    if words < 2 or any(map(is_numeric, row)):
        return False
    return any(is_numeric(cell) for record in below for cell in record)


def _is_note(
    row: Sequence[str], records: Sequence[Sequence[str]], body: Sequence[int], numeric: Sequence[int], columns: int
) -> bool:
    """Whether a last record has few cells, and is written otherwise than the others or has words for numbers."""
    held = [cell for cell in row if cell.strip()]
    if len(held) * 2 <= columns and _unlike(row, records, body[:-1]):
        return True
    inside = [row[j] for j in numeric if j < len(row) and row[j].strip()]
    words = [text for text in inside if _is_word(text) and not _is_outcome_word(text)]
    return bool(words) and len(words) == len(inside) and len(held) * 2 <= columns and not any(map(is_numeric, row))
