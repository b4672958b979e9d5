"""What each column of a table is taken for, and why: a parameter, an outcome, an identifier, a date, a note.

Nothing here is certain. Everything is told, so that a person can say otherwise.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from bomi.campaign.columns import Digest, Numbers
from bomi.campaign.lexicon import (
    DATE_NAME,
    IDENTIFIER_NAME,
    LABEL_NAME,
    NOTE_NAME,
    OUT_NAME,
    SPREAD_NAME,
    asked_of,
    is_computed,
    is_count,
    is_mean,
    is_outcome,
    is_ratio,
    is_setting,
    is_size,
    is_temperature,
    is_thing,
    is_time,
)
from bomi.campaign.marks import Numeral
from bomi.campaign.mixtures import Mixture
from bomi.campaign.sheet import Sheet
from bomi.campaign.twofold import codes, may_be_thousands, ratios, several_in_a_cell, zeros_count
from bomi.campaign.words import BALANCE, VERDICTS, likely_mistakes, merge_spellings, plain_words
from bomi.data.objectives import ERROR
from bomi.data.reading import PENDING_WORDS, says_failed
from bomi.errors import CellError
from bomi.space import EXCLUDE, RESERVED, cells, units
from bomi.space.cells import Censored, Interval, Normal
from bomi.space.units import in_header

PARAMETER, OUTCOME, MEASURED, IDENTIFIER, DATE, NOTE, CONSTANT, UNUSED, SPREAD, ASKED = (
    "parameter", "outcome", "measured", "identifier", "date", "note", "constant", "unused", "spread", "asked"
)  # fmt: skip
VERDICT = "verdict"  # a kind of column: pass or fail
MOSTLY = 0.7  # of the cells of a column of numbers are numbers
LONG = 6  # rows that are counted in the first column, to say that nothing else is meant
FEW_VALUES = 20  # different words of a category
SHOWN = 3

_TIME = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?:\s*[ap]m)?|P?T?\d+H\d+M\d+S", re.IGNORECASE)
_TO_ONE = re.compile(r"1:\d\d|1:\d:\d{1,3}|1:\d{3}")  # a ratio: nobody experiments at night
_DAY = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\s?\d{1,2}[-/.]\s?(?:\d{4}|\d\d)|\d{1,2}\.\d{1,2}\.|"
    r"(?:\d{4}年)?\d{1,2}月\d{1,2}日|\d{1,2}월 ?\d{1,2}일|"
    r"\d{1,2}[-. ]+[^\W\d_]{3,9}\.?[-. ,]+\d{2,4}|[^\W\d_]{3,9}\.? \d{1,2},? \d{4}|\d{1,2}[-.][^\W\d_]{3}\.?|\d{8})"
    r"(?:[T ]\d{1,2}:\d\d(?::\d\d)?.*)?",
    re.IGNORECASE,
)
_PADDED = re.compile(r"[0-3]\d/[0-3]\d")  # 02/02, in any column that goes through the days
_DAY_OR_SHORT = re.compile(rf"{_DAY.pattern}|\d{{1,2}}/\d{{1,2}}", re.IGNORECASE)  # 12/11, in a column of dates
_GRADE = re.compile(r"not[ae]s?", re.IGNORECASE)  # of a jury, in the Romance languages, where it holds numbers
_GRADE_OF = re.compile(r"\d+[A-Z]\w*")  # 316L and 42CrMo4
_WELL = re.compile(r"[A-P]\d{1,2}")
_TICKS = frozenset({
    "x", "✓", "✔", "√", "•", "●", "+", "yes", "y", "ja", "j", "oui", "o", "sí", "si", "s", "sì", "sim", "tak",
    "1", "true",
})  # fmt: skip
NOT_TICKED = "no"
_NUMBERED = re.compile(r".*(?:#|№|\b(?:no|nr|num|number|nummer|id)\.?)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """A column, what it is taken for, and why."""

    name: str
    role: str
    why: str
    kind: str = ""  # number, category, or mixed
    unit: str = ""
    numbers: tuple[float, ...] = ()  # every number in it, the ends of what is uncertain among them
    values: tuple[str, ...] = ()  # of a category
    odd: tuple[tuple[int, str], ...] = ()  # cells that are no numbers in a column of numbers, by row
    codes: tuple[str, ...] = ()  # numbers that seem to say unknown
    notes: tuple[str, ...] = ()
    below: bool = False  # some cells are `<5`
    above: float | None = None  # the largest limit of cells such as `>200`
    limits: frozenset[float] = frozenset()  # of both
    failed: bool = False  # some cells say that the experiment failed
    blanks: tuple[int, ...] = field(default=(), repr=False)  # places of blank cells
    default: str | None = None  # of a category: what a blank means
    mixture: Mixture | None = None  # that it is a part of
    look: str = ""  # what a person should look at, though it was read
    kept: bool = False  # in the table, and not used
    eligible: bool = False  # a parameter all the same, if somebody names it

    @property
    def told(self) -> str:
        """Why, as a table of the columns tells it."""
        parts = ["kept, not used"] if self.kept else []
        hint = "; --parameters names it" if self.eligible else ""
        return ": ".join([*parts, *filter(None, [self.why])]) + hint

    @cached_property
    def variety(self) -> float:
        """Which share of its numbers differ: what is set repeats, what is measured seldom does; 0 if they are few."""
        known = [number for number in self.numbers if number not in self.limits] if self.limits else self.numbers
        known = known if len(known) >= 4 else self.numbers
        return len(set(known)) / len(known) if len(known) >= 4 else 0.0


def classify(sheet: Sheet, readers: Mapping[str, Numbers], digests: Mapping[str, Digest]) -> dict[str, Column]:
    """What each column is taken for; which outcome is the objective is not decided here."""
    return {name: _classify(sheet, name, readers[name], digests[name]) for name in sheet.columns}


def _classify(sheet: Sheet, name: str, reader: Numbers, column: Digest) -> Column:
    title = name.strip()
    blanks = tuple(place for place, text in column.odd if not text.strip())
    if name == EXCLUDE:
        return Column(name, UNUSED, "marks rows that nothing is learned from")
    if name.startswith(RESERVED):
        asked = [text.strip() for _, text in column.odd if not cells.is_unknown(text)]
        read = [number for text in asked if (number := number_in(text, reader)) is not None]
        return Column(name, ASKED, f"what was asked of {name.removeprefix(RESERVED)}",
                      numbers=(*column.numbers, *read), values=tuple(asked))  # fmt: skip
    if spread := _spread_of(name, sheet):
        exact = name == spread + ERROR
        return Column(name, SPREAD, f"the standard error of {spread}" if exact else
                      f"seems to be the spread of {spread}; call it {spread + ERROR} to have it used")  # fmt: skip
    if len(blanks) == len(column.cells):
        return Column(name, UNUSED, "blank", blanks=blanks)
    if _stands_beside(sheet, name, blanks):
        return Column(name, UNUSED, "seems to belong to another table, beside this one", kept=True)
    if NOTE_NAME.fullmatch(title) and not (_GRADE.fullmatch(title) and 2 * len(column.numbers) > len(column.cells)):
        return Column(name, NOTE, "notes, by its name")
    if OUT_NAME.fullmatch(title.rstrip(" ?")):
        why = f"seems to mark rows to leave out; call it {EXCLUDE!r}, and nothing is learned from them"
        return Column(name, NOTE, why)
    if recorded := asked_of(name, sheet.columns):
        why = f"seems to be what was asked of {recorded!r}; call it {RESERVED + recorded!r} to have it used"
        return Column(name, UNUSED, why, kept=True)
    if is_computed(name, sheet.columns):
        return Column(name, UNUSED, "computed from the others, by its name", kept=True)
    known = [(place, text) for place, text in column.odd if not cells.is_unknown(text)]
    total = len(known) + len(column.cells) - len(column.odd)
    words = [text.strip() for _, text in known if text.__class__ is not Numeral]
    clock = sum(_TIME.fullmatch(word) is not None for word in words)
    if (
        is_ratio(title)
        or (all(map(_TO_ONE.fullmatch, words)) and not is_time(title))
        or ((unit := units.find(reader.unit)) and unit.kind == "time")
    ):
        clock = 0  # 1:15 is a ratio, or a time that is read
    dated = DATE_NAME.fullmatch(title) is not None
    padded = all(map(_PADDED.fullmatch, words)) and any("/0" in f"/{word}" for word in words) and in_blocks(words)
    day = _DAY_OR_SHORT if dated or padded else _DAY
    days = sum(day.fullmatch(word) is not None for word in words) + clock
    if days and (days >= MOSTLY * total or (dated and days * 2 >= total)):
        times = clock == days and (is_setting(name) or is_time(name))
        look = f"has times such as {words[0]}: write them as numbers, or their unit behind them, to use them"
        return Column(name, DATE, "times" if times else "date", look=look if times else "")
    whole = column.numbers and all(number % 1 == 0 for number in column.numbers)
    if dated and not is_setting(name.replace("time", "")) and whole:
        return Column(name, DATE, "date, by its name")
    if found := _identifier(name, sheet.columns[name], first=name == next(iter(sheet.columns))):
        return found
    return _content(sheet, name, known, reader, column, blanks)


def in_blocks(texts: Sequence[str]) -> bool:
    """Whether each value stands in one block of rows: two blocks at least, most of several rows."""
    held = [text.strip() for text in texts if text.strip()]
    counts = Counter(held)
    changes = sum(a != b for a, b in pairwise(held))
    return len(counts) >= 2 and changes == len(counts) - 1 and 2 * len(counts) <= len(held)


def _stands_beside(sheet: Sheet, name: str, blanks: tuple[int, ...]) -> bool:
    """Whether a column right of an empty one ends above the last row, which columns left of the empty one reach."""
    rows, gaps = sheet.rows, [j for j, title in enumerate(sheet.header[: sheet.header.index(name)]) if not title]
    if not gaps or not blanks or blanks != tuple(range(blanks[0], len(rows))) or blanks[0] == 0:
        return False
    empty = all(not row[gaps[-1]].strip() for row in rows if gaps[-1] < len(row))
    return empty and any(cell.strip() for cell in rows[-1][: gaps[-1]])


def number_in(text: str, reader: Numbers) -> float | None:
    """The number in a cell, None if there is no plain one."""
    try:
        value = reader(text)
    except CellError:
        return None
    return value if isinstance(value, float) else None


def _content(
    sheet: Sheet,
    name: str,
    known: Sequence[tuple[int, str]],
    reader: Numbers,
    column: Digest,
    blanks: tuple[int, ...],
) -> Column:
    """A column by what its cells hold."""
    numbers = column.numbers
    if zeros_count(sheet.columns[name]):
        return _category(sheet, name, blanks)
    odd: list[tuple[int, str]] = []
    limits: list[float] = []
    below, above, failed, read = False, None, False, len(numbers)
    for place, text in known:
        word = text.strip().casefold()
        if word in PENDING_WORDS or says_failed(word):
            failed = failed or word not in PENDING_WORDS
            continue
        try:
            value = reader(text)
        except CellError:
            odd.append((sheet.numbers[place], text.strip()))
            continue
        read += value is not None
        if isinstance(value, Normal):
            numbers.append(value.mean)
        elif isinstance(value, Interval):
            numbers += [value.low, value.high]
        elif isinstance(value, Censored):
            below = below or value.low == -math.inf
            above = above if value.low == -math.inf else max(value.low, above if above is not None else value.low)
            limits.append(value.high if value.low == -math.inf else value.low)
        elif value is not None:
            numbers.append(value)
    said = [text for _, text in odd]
    thing = is_thing(name) and not is_temperature(name) and not is_time(name)
    if not column.numbers and (odd or thing) and all(_GRADE_OF.fullmatch(text.strip()) for _, text in known):
        return _category(sheet, name, blanks)
    total = read + len(odd)
    numbers = [number for number in (*numbers, *limits) if math.isfinite(number)]
    if total and read >= MOSTLY * total and not _few_codes(said):
        coded = codes(numbers)
        kept = tuple(number for number in numbers if number not in coded) if coded else tuple(numbers)
        why = f"number, {read} of {total} cells" if odd else "number"
        notes = [f"row {row}: {text!r}" for row, text in odd[:SHOWN]] + (["..."] if len(odd) > SHOWN else [])
        whole = f"{why}; {', '.join(notes)}" if odd else why
        same = (
            min(kept, default=0.0) == max(kept, default=0.0) or len({text.strip() for text in sheet.columns[name]}) == 1
        )
        if kept and same and not failed:
            shown = cells.number_text(kept[0]) if min(kept) == max(kept) else known[0][1].strip()
            why = f"constant {shown}: not used"
            look = "is the same wherever it is filled, so not used: write 0 in its blanks if they mean none"
            return Column(name, CONSTANT, why, "number", reader.unit, kept, blanks=blanks, look=look if blanks else "")
        return Column(
            name, OUTCOME if failed else PARAMETER, whole + ("; some failed" if failed else ""), "number", reader.unit,
            kept, (), tuple(odd), tuple(map(cells.number_text, sorted(coded))), (), below, above, frozenset(limits),
            failed, blanks, look=may_be_thousands(sheet.columns[name], reader),
        )  # fmt: skip
    if read * 2 >= total and 0 < read < total:
        words = ", ".join(map(repr, dict.fromkeys(said[:SHOWN])))
        why = f"{read} of {total} cells are numbers and {total - read} are words ({words})"
        return Column(name, UNUSED, why, "mixed", look=f"is not used: {why}", kept=True)
    if failed and total == 0:
        return Column(name, OUTCOME, "says which experiments failed, and nothing else", failed=True)
    if failed or (said and all(word.casefold() in VERDICTS for word in said)):
        return Column(name, UNUSED, f"says what was found, such as {said[0]!r}, and is not set", VERDICT, kept=True)
    return _category(sheet, name, blanks)


def _few_codes(said: Sequence[str]) -> bool:
    """Whether the texts that are not numbers repeat, as categories do, and so are no mistakes."""
    return len(said) >= 6 and len(set(said)) <= len(said) / 3


def _category(sheet: Sheet, name: str, blanks: tuple[int, ...]) -> Column:
    texts = [" ".join(text.translate(cells.INVISIBLE).split()) for text in sheet.columns[name]]
    said, unknown = plain_words(texts)
    counts = Counter(said)
    if counts and all(word.casefold() in BALANCE for word in counts):
        return Column(name, CONSTANT, f"{said[0]!r}, what the others leave: not used")
    merged, alike = merge_spellings(counts)
    notes = [f"{', '.join(map(repr, others))} taken as {best!r}" for best, others in alike.items()]
    if unknown:
        notes = [*notes, f"{', '.join(map(repr, unknown))} taken as unknown"]
    held = [word for word in ("Na", "Nd", "NA", "ND", "nd", "-", "None") if word in counts and cells.is_unknown(word)]
    if held:
        notes = [*notes, f"{', '.join(map(repr, held))} taken as a value: unknown = [{held[0]!r}] makes it unknown"]
    values = list(merged)
    mistakes = likely_mistakes(merged)
    for wrong, right in mistakes.items():
        notes = [*notes, f"{wrong!r} looks like {right!r} misspelt: left out; list it if it is meant"]
        values.remove(wrong)
    count = sum(merged.values())
    if len(values) == 1 and not mistakes and blanks and values[0].casefold() in _TICKS:
        why, both = f"ticked in {count} cells, and a blank is taken as {NOT_TICKED!r}", (NOT_TICKED, values[0])
        return Column(name, PARAMETER, why, "category", values=both, default=NOT_TICKED, blanks=blanks)
    if len(values) < 2:
        constant = f"constant {values[0]!r}: not used" if values and not mistakes else ""
        role = CONSTANT if values else UNUSED
        return Column(name, role, constant, notes=tuple(notes), kept=not constant)
    if all(_WELL.fullmatch(value) for value in values) and len(values) > 0.8 * count:
        return Column(name, UNUSED, "wells", kept=True)
    look = ratios(values) or ("" if is_ratio(name) else several_in_a_cell(values))
    if len(values) > FEW_VALUES or len(values) > 0.75 * count or max(map(len, values)) > 60:
        different = "every cell differs" if len(values) == count else f"{len(values)} different words in {count} cells"
        above = "; if a blank means the same as above, fill it in" if blanks and len(blanks) >= count else ""
        return Column(name, UNUSED, f"{different}{above}", kept=True, look=look)
    return Column(name, PARAMETER, f"category: {', '.join(values[:6])}{', ...' if len(values) > 6 else ''}", "category",
                  values=tuple(values), notes=tuple(notes), blanks=blanks, look=look)  # fmt: skip


def _identifier(name: str, column: Sequence[str], *, first: bool) -> Column | None:
    """A column that names the experiments, by its name or since it counts up."""
    named = IDENTIFIER_NAME.fullmatch(name.strip()) is not None
    enough = 3 if first else 5
    likely = _counts_up(column[:6], enough) or (first and _counts_with_gaps(column[:6])) or _numbers_rows(column)
    if not named and not LABEL_NAME.fullmatch(name.strip()) and not likely:
        return None
    texts = [text.strip() for text in column if not cells.is_unknown(text)]
    counts = _counts_up(texts, enough)
    counts_in_any_order = _numbers_rows(column)
    if named and len(set(texts)) == len(texts):
        return Column(name, IDENTIFIER, "counts up" if counts else "every cell differs")
    if named:
        why = "an identifier by its name, but some cells are the same"
        return Column(name, UNUSED, why, look="" if first else f"is not used: {why}", kept=True)
    if first and counts and texts[0] == "1" and len(texts) == len(column) >= LONG and not units.in_header(name):
        return Column(name, IDENTIFIER, "counts up")
    set_by_number = is_setting(name) and texts[0].isdigit() and not _NUMBERED.fullmatch(name)
    counted = set_by_number or is_outcome(name) or is_count(name)
    if counts and not counted and len(texts) == len(column):
        return Column(name, IDENTIFIER, "counts up")
    if counts_in_any_order and not counted:
        return Column(name, IDENTIFIER, "counts the rows, in another order")
    if first and len(texts) == len(column) and _counts_with_gaps(texts) and not counted:
        return Column(name, IDENTIFIER, "counts up, with gaps")
    if LABEL_NAME.fullmatch(name.strip()):
        return Column(name, UNUSED, "by its name it says who, where or from which lot", kept=True)
    return None


def _counts_up(texts: Sequence[str], enough: int) -> bool:
    """Whether the cells are 1, 2, 3, ... or H1, H2, H3, ..., and not too few to tell."""
    found = [re.fullmatch(r"(.*?)(\d+)", text.strip()) for text in texts]
    if len(texts) < enough or not all(found):
        return False
    pairs = [(match[1], int(match[2])) for match in found if match]
    return all(a[0] == b[0] and b[1] == a[1] + 1 for a, b in pairwise(pairs))


def _numbers_rows(column: Sequence[str]) -> bool:
    """Whether the cells are 1 to n in any order, one for each of n rows: the order of a design."""
    if len(column) < 5 or not all(text.isdigit() for text in column[:6]):
        return False
    return set(column) == {str(number) for number in range(1, len(column) + 1)}


def _counts_with_gaps(texts: Sequence[str]) -> bool:
    """Whether the cells are letters and a number that grows, H1, H2, H5, ..., or numbers that mostly grow by one."""
    found = [re.fullmatch(r"(.*?)(\d+)", text.strip()) for text in texts]
    if len(texts) < 3 or not all(found):
        return False
    pairs = [(match[1], int(match[2])) for match in found if match]
    steps = [b[1] - a[1] for a, b in pairwise(pairs)]
    named = any(letter.isalpha() for letter in pairs[0][0])
    grows = len({pair[0] for pair in pairs}) == 1 and min(steps) > 0
    return grows and (named or (not pairs[0][0] and 2 * steps.count(1) >= len(steps)))


def _spread_of(name: str, sheet: Sheet) -> str:
    """The outcome whose spread a column holds, "" if none."""
    if not (match := SPREAD_NAME.fullmatch(name.strip())):
        return ""
    others = list(sheet.columns)
    if not (said := match["of"] or match["to"]):  # sd, right of what it is the spread of
        left = others[others.index(name) - 1] if others.index(name) else ""
        if (unit := in_header(name)) not in ("", "%") and not units.same(unit, in_header(left)):
            return ""  # what scatters light has a unit of its own
        return left if not is_setting(left) or is_size(left) else ""
    stem = _stem(re.sub(r"[\s._\-(\[]+$", "", said))
    begun = [other for other in others if other != name and _stem(other).startswith(stem)]
    exact = [other for other in begun if stem in (_stem(other), _stem(other).removesuffix(_stem(in_header(other))))]
    return next(iter([*exact, *filter(is_mean, begun)]), "")


def _stem(name: str) -> str:
    return re.sub(r"[\s._-]+|[(\[].*?[)\]]", "", name).casefold()
