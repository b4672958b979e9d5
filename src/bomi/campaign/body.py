"""Which records below the header of a table are experiments, and what the others are: notes, means, limits."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bomi.campaign.marks import Numeral
from bomi.errors import CellError
from bomi.space import cells
from bomi.space.typed import COMMA, POINT, read

SAMPLE = 300  # records that tell which columns hold numbers
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
_EXAMPLE = re.compile(
    r"e\.? ?g\.|z\. ?b\.|(?:example|beispiel|exemple|ejemplo|esempio|exemplo|przykład|例)\b", re.IGNORECASE
)
_BOUND = re.compile(  # rows right below the header that tell the range of each column
    r"(?:low(?:er)?|high|upper|min(?:imum)?|max(?:imum)?|untere?r?|obere?r?|inférieure?|supérieure?|inferior|superior)"
    r"\.?(?: ?(?:level|limit|bound|value|wert|stufe|grenze|limite|límite|nivel|niveau))?|range|bereich|plage|rango|"
    r"intervallo|limits?|lsl|usl|spec\.?|target|goal|direction|ziel|nominal|soll(?:wert)?|type|typ",
    re.IGNORECASE,
)
RULE = re.compile(r"[-–—=:_*+]{2,}")  # what is drawn to part a header from its rows


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


def is_word(text: str) -> bool:
    """Whether a text says something, and not of a number."""
    return bool(text.strip()) and not cells.is_unknown(text) and not is_numeric(text)


def is_outcome_word(text: str) -> bool:
    """Whether a text says that an experiment failed, and so may stand where a number would."""
    return text.strip().lower().startswith(("fail", "fehl", "échec", "fallo", "fallid"))


def numeric_columns(records: Sequence[Sequence[str]]) -> list[int]:
    """The places of the columns of which most of what they hold is numbers."""
    width = max(map(len, records), default=0)
    found = []
    for j in range(width):
        held = [row[j] for row in records if j < len(row) and row[j].strip()][:60]
        known = [text for text in held if not cells.is_unknown(text)]
        if known and sum(map(is_numeric, known)) > 0.5 * len(known):
            found.append(j)
    return found


def experiments_in(
    records: Sequence[Sequence[str]],
    numbers: Sequence[int],
    last: int,
    numeric: Sequence[int],
    header: Sequence[str],
) -> tuple[list[int], list[tuple[int, str]]]:
    """The places of the experiments, and of what else stands below the header, with why it is no experiment."""
    body: list[int] = []
    left_out: list[tuple[int, str]] = []
    title = [cell.strip() for cell in header]
    columns = len([cell for cell in title if cell])
    for place in range(last + 1, len(records)):
        row = records[place]
        titled = bool(left_out) and left_out[-1] == (place - 1, "a note")
        apart = bool(body) and (numbers[place] > numbers[place - 1] + 1 or titled)
        again = [cell.strip() for cell in row] == title
        if apart and not again and _starts_another(row, numeric, records[place + 1 : place + 4]):
            left_out += [(other, "another table begins there") for other in range(place, len(records))]
            break
        if why := _why_aside(records, place, last, numeric):
            left_out.append((place, why))
            continue
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


def _why_aside(records: Sequence[Sequence[str]], place: int, last: int, numeric: Sequence[int]) -> str:
    """Why a record is set aside by how it alone begins: `#3`, `e.g.`, the ends of ranges; "" if it is not."""
    row = records[place]
    start = row[0].strip() if row else ""
    if not start or start[0].isdigit():
        return ""
    around = [record[0].strip() for record in records[last + 1 : last + 1 + SAMPLE] if record and record[0].strip()]
    if start.startswith(("#", "//")) and 2 * sum(other[0] == start[0] for other in around) <= len(around):
        return "commented out"
    if _EXAMPLE.match(start) and sum(map(bool, map(_EXAMPLE.match, around))) == 1:
        return "an example"
    outcome = row[numeric[-1]].strip() if numeric and numeric[-1] < len(row) else ""
    blank = [j for j in numeric if j >= len(row) or not row[j].strip()]
    alone = not is_numeric(outcome) or 2 * len(blank) >= len(numeric)  # of what is wanted, too, not of what is set
    if _BOUND.fullmatch(start) and around.count(start) == 1 and alone:
        return "a range or a limit, not an experiment"
    return ""


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
    if len(texts) > 1 and all(map(RULE.fullmatch, texts)):
        return "a line"
    place, start = held[0]
    others = [records[i][place].strip() for i in (*body[:100], *body[100:][-100:]) if place < len(records[i])]
    partly = 2 * len(held) <= columns and any(
        map(_is_statistic, re.split(r"[\s_:-]+", start))
    )  # `A mean`, below a block
    if (_is_statistic(start) or partly) and others.count(start) < 1 and len(body) >= 2:
        rest = texts[1:]
        if rest and all(is_numeric(text) or cells.is_unknown(text) or text.startswith("=") for text in rest):
            return "a summary of the rows"
    told = " " in start or len(body) >= SOME
    if columns >= 3 and len(held) == 1 and is_word(start) and told and not _alike(start, others):
        prose = place > 0 and title[place : place + 1] and (not others or any(is_word(other) for other in others))
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
    return shape(text) in {shape(other) for other in others[-50:] if other}


def shape(text: str) -> str:
    """How a text is written: `a-9` for H-12, and 9 for every number."""
    if is_numeric(text):
        return "9"  # 1 is written as 0.913 is
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))


def _starts_another(row: Sequence[str], numeric: Sequence[int], below: Sequence[Sequence[str]]) -> bool:
    """Whether a second table begins here: names where numbers would stand, and numbers below."""
    held = [row[j] for j in numeric if j < len(row) and row[j].strip()]
    words = sum(is_word(text) and not is_outcome_word(text) for text in held)
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
    words = [text for text in inside if is_word(text) and not is_outcome_word(text)]
    return bool(words) and len(words) == len(inside) and len(held) * 2 <= columns and not any(map(is_numeric, row))
