"""How the texts of each column are read, given the whole table; and what was read otherwise than it was typed.

A reader is made once a column, from the marks of the table, the unit of the column and the words for unknown. What it
makes of a text is a function of the text alone, so that each way of reading can be told once a column.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import filterfalse

from bomi.campaign.marks import Numeral
from bomi.data.reading import PENDING_WORDS, says_failed
from bomi.errors import CellError
from bomi.space import Categorical, Ordinal, Parameter, cells, typed, units
from bomi.space.cells import Censored, Interval, Normal, Uncertain
from bomi.space.typed import PLAIN, POINT, STRICT, UNKNOWN, WRITTEN, Marks, Reading

_NOT_PLAIN = re.compile("[_iInN]")  # of 1_000, inf and nan, which `float` reads
_OTHER = re.compile(r"[^0-9.+\-eE]")
_UNITLESS = re.compile(r"[\d\s.,±<>~?+-]*(?:[eE][+-]?\d+)?")
_LETTERED = re.compile(r"(\s*[+-]?\d[\d.,]*)\s?([a-e](?:,?\s?[a-e]){0,3})\s*")
_OF_SCALE = re.compile(r"\s*\d+(?:[.,]\d+)?\s*(/(?:5|7|9|10|20|100))\s*")  # 7/10, of a score
_UNIT_OF_WORDS = re.compile(r"\s?[^\W\d]+(?:[/. ][^\W\d]+){0,2}\.?")  # drops, lb/ac
_MINUTES = re.compile(r"\s*\d+(?:[.,]\d+)?\s?['′]\s*")
LAST = 20  # cells that tell whether people type the unit
NEAR = 1.5  # numbers without a unit are in that of the others if they are no further off than this factor


@dataclass(frozen=True)
class Echo:
    """What was read otherwise than it was typed: in one column, in one way, in so many cells."""

    column: str
    text: str
    read: str
    count: int
    how: str

    def __str__(self) -> str:
        return f"{self.column}: read `{self.text}` as {self.read} in {self.count} cell{'s' if self.count > 1 else ''}"


@dataclass(frozen=True)
class Numbers:
    """Reads the texts of a column of numbers."""

    marks: Marks = STRICT
    unit: str = ""
    unknown: frozenset[str] = frozenset()
    lettered: bool = False  # a letter behind a number is a mark

    @cached_property
    def codes(self) -> frozenset[float]:
        """The numbers among the words for unknown, such as -999."""
        return frozenset(float(word) for word in self.unknown if STRICT.plain.fullmatch(word))

    @cached_property
    def _read(self) -> dict[str, Reading]:
        return {}

    def reading(self, text: str) -> Reading:
        """What a text says, and how it was read; remembered, since a text comes again and is told of afterwards."""
        numeral = text.__class__ is Numeral
        if (found := self._read.get(text)) is None or numeral:
            found = self._reading(text)
            if not numeral:
                self._read[text] = found
        return found

    def _reading(self, text: str) -> Reading:
        if self.unknown and _folded(text) in self.unknown:
            return Reading(None, UNKNOWN)
        if text[:1] == "=":
            raise CellError(f"expected a number, but got {text[1:]}; open the file in a spreadsheet and save it")
        if self.lettered and (match := _LETTERED.fullmatch(text)):
            return replace(typed.read(match[1], self.marks, self.unit), how=WRITTEN)
        found = typed.read(text, POINT if text.__class__ is Numeral else self.marks, self.unit)
        return Reading(None, UNKNOWN) if self.codes and found.value in self.codes else found

    def __call__(self, text: str) -> float | Uncertain | Censored | None:
        """What a text says."""
        return self.reading(text).value


@dataclass(frozen=True)
class Digest:
    """The cells of a column: plain numbers as numbers, all else as typed; and where that is."""

    cells: list[float | str]
    odd: list[tuple[int, str]]

    @property
    def numbers(self) -> list[float]:
        """The plain numbers."""
        return [cell for cell in self.cells if cell.__class__ is float]


def digest(column: Sequence[str], reader: Numbers) -> Digest:
    """A column with its plain numbers read: of a large table nearly all cells are such, and read only once."""
    plain, mark = reader.marks.plain.fullmatch, reader.marks.decimal
    found: list[float | str] = []
    joined = "".join(column)
    if mark == "." and not _NOT_PLAIN.search(joined):  # then what `float` reads is a plain number
        try:
            other = match[0] if (match := _OTHER.search(joined)) else "?"  # most often there is one, such as ±
            found = [text if not text or other in text else float(text) for text in column]
        except ValueError:
            found = [_float(text) for text in column]
    else:
        found = [float(text.replace(mark, ".")) if plain(text) else text for text in column]
    if reader.codes:
        found = [text if cell in reader.codes else cell for cell, text in zip(found, column, strict=True)]
    return Digest(found, [(place, cell) for place, cell in enumerate(found) if not isinstance(cell, float)])


def lettered(column: Digest) -> bool:
    """Whether letters behind numbers are marks: of footnotes, in few cells, or of groups that differ, `8.9 ab`.

    Where most cells have a letter, numbers with a decimal mark tell them from names such as 1a. A d alone may be days.
    """
    if not re.search(r"\d\s?[a-e]", "\n".join(text for _, text in column.odd)):
        return False
    known = [text for _, text in column.odd if text.__class__ is not Numeral and not cells.is_unknown(text)]
    found = [match for text in known if (match := _LETTERED.fullmatch(text))]
    marked = [re.sub(r"\W", "", match[2]) for match in found]
    letters = {*"".join(marked)}
    if not found or letters == {"d"} or any([*mark] != sorted(mark) for mark in marked):
        return False
    few = 2 * len(found) <= len(column.cells) - len(column.odd) + len(known)
    return few or ({"a", "b"} <= letters and 2 * sum(mark in match[1] for match in found for mark in ".,") > len(found))


def _float(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


@dataclass(frozen=True)
class Words:
    """Reads the texts of a column of categories; numbers among them as the table writes numbers."""

    parameter: Categorical | Ordinal
    numbers: Numbers
    unknown: frozenset[str] = frozenset()

    def __call__(self, text: str) -> object:
        """What a text says: a text that the parameter reads, or None."""
        listed = {cells.text(value) for value in self.parameter.values}
        if text.strip() in listed:
            return text
        if self.unknown and _folded(text) in self.unknown:
            return None
        if all(isinstance(value, int | float) for value in self.parameter.values):
            try:
                value = self.numbers(text)
            except CellError:
                return text
            return cells.text(value) if isinstance(value, float) else text
        return text


def _folded(text: str) -> str:
    return text.strip().casefold()


def words_for_unknown(words: Iterable[str]) -> frozenset[str]:
    """Words of a campaign, as readers compare them."""
    return frozenset(map(_folded, words))


# --- units ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitFound:
    """The unit that the cells of a column are in, "" if they have none; or why it has to be said."""

    unit: str = ""
    question: str = ""


def unit_in_cells(column: Digest, marks: Marks, *, several: bool = False) -> UnitFound:
    """The unit of a column whose name and campaign have none; `several` of one kind are converted to the commonest."""
    found: Counter[str] = Counter()
    examples: dict[str, str] = {}
    bare: list[float] = []
    numbers: list[float] = []
    texts = Counter(text for _, text in column.odd)
    if all(_UNITLESS.fullmatch(text) for text in texts):
        return UnitFound()
    scales = [_OF_SCALE.fullmatch(text) for text in texts if not cells.is_unknown(text)]
    if all(scales) and len(found_in := {match[1] for match in scales if match}) == 1:
        return UnitFound(found_in.pop())
    if own := _own_unit(texts, marks):
        return UnitFound(own)
    if (minutes := [*map(_MINUTES.fullmatch, filterfalse(cells.is_unknown, texts))]) and all(minutes):
        return UnitFound("min")
    marked = lettered(column)
    for text, count in texts.items():
        if marked and _LETTERED.fullmatch(text):
            continue
        try:
            reading = typed.read(text, POINT if text.__class__ is Numeral else marks)
        except CellError:
            continue
        size = _size(reading.value)
        if size is None:
            continue
        if not reading.unit:
            bare.append(size)
            continue
        unit = next((known for known in found if units.same(known, reading.unit)), units.normalized(reading.unit))
        found[unit] += count
        examples.setdefault(unit, text.strip())
        numbers.append(size)
    if not found:
        return UnitFound()
    bare += [abs(number) for number in column.cells if isinstance(number, float)]
    best = found.most_common(1)[0][0]
    if len(found) > 1:
        some = " and ".join(repr(examples[unit]) for unit in list(found)[:3])
        kinds = {one.kind if (one := units.find(unit)) else unit for unit in found}
        if not several or bare or len(kinds) > 1:
            return UnitFound(
                best,
                f"some cells have different units, {some}; say the column's own in its name, such as ({best}), "
                "or as unit = ... in campaign.toml",
            )
    far = [number for number in bare if not min(numbers) / NEAR <= number <= max(numbers) * NEAR]
    if far:
        return UnitFound(
            best,
            f"{examples[best]!r} has a unit and {cells.number_text(far[0])} has none, and they seem to be in different "
            f"ones; say the column's own in its name, such as ({best}), or as unit = ... in campaign.toml",
        )
    return UnitFound(best)


def _own_unit(texts: Iterable[str], marks: Marks) -> str:
    """What stands apart behind every one of several numbers, and is no unit that is known: `5 drops`, `80 lb/ac`."""
    unit, numbers = "", set()
    for text in filterfalse(cells.is_unknown, texts):
        first = marks.number.match(text.strip())
        behind = text.strip()[first.end() :] if first else ""
        apart = behind[:1].isspace() or "/" in behind or (len(behind) > 1 and behind.islower())
        if not first or not apart or not _UNIT_OF_WORDS.fullmatch(behind) or behind.strip() != (unit or behind.strip()):
            return ""
        unit = behind.strip()
        numbers.add(first[0])
    return unit if len(numbers) > 1 and not units.find(unit) else ""


def _size(value: float | Uncertain | Censored | None) -> float | None:
    """About how large a value is."""
    if isinstance(value, Censored):
        return abs(value.high if value.high < math.inf else value.low)
    return None if value is None else abs(value.center if isinstance(value, Normal | Interval) else value)


def typed_unit(column: Sequence[str], reader: Callable[[str], object]) -> str:
    """The unit that people type into the cells of a column, "" if most of its last cells have none."""
    if not isinstance(reader, Numbers) or not reader.unit:
        return ""
    last = [text for text in column[-LAST:] if text.__class__ is not Numeral and not cells.is_unknown(text)]
    with_unit = 0
    for text in last:
        with suppress(CellError):
            with_unit += bool(reader.reading(text).unit)
    return reader.unit if 2 * with_unit > len(last) else ""


def declared_unit(name: str, row: Mapping[str, str], parameter_unit: str = "") -> str:
    """The unit that a campaign, a row of units or the name of a column declares."""
    return parameter_unit or row.get(name, "") or units.in_header(name)


# --- what is told --------------------------------------------------------------------------------------------------


def echoes(name: str, reader: Numbers, counts: Mapping[str, int], parameter: Parameter | None = None) -> list[Echo]:
    """What was read otherwise than it was typed in a column of numbers, once for each way of reading."""
    found: dict[str, Counter[str]] = {}
    for text, count in counts.items():
        word = _folded(text)
        if parameter is None and (word in PENDING_WORDS or says_failed(word)):
            if word not in ("", "?", "failed"):
                found.setdefault("pending" if word in PENDING_WORDS else "failed", Counter())[text] += count
            continue
        try:
            how = reader.reading(text).how
        except CellError:
            continue
        if how != PLAIN:
            found.setdefault(how, Counter())[text] += count
    made = []
    for how, texts in found.items():
        text, total = texts.most_common(1)[0][0], sum(texts.values())
        if (said := _read_as(how, text, reader, parameter)) != text.strip():
            made.append(Echo(name, text.strip(), said, total, how))
    return made


def _read_as(how: str, text: str, reader: Numbers, parameter: Parameter | None) -> str:
    if how in ("failed", "pending"):
        return how
    value = reader(text)
    if parameter is None and (value is None or how in (typed.LIMIT, typed.RANGE)):
        return "not measured" if value is None else f"a limit {value}"
    if parameter is None:
        return typed.shown(value)
    shown = typed.shown(value)
    if isinstance(value, Censored):
        shown = cells.text(parameter.read(value))
    unit = f" {reader.unit}" if reader.unit and how in (typed.UNIT, typed.CONVERTED) else ""
    return shown + unit


def word_echoes(name: str, read: Words, counts: Mapping[str, int]) -> list[Echo]:
    """The same for a column of categories."""
    made = []
    unknown: Counter[str] = Counter()
    for text, count in counts.items():
        try:
            value = read.parameter.read(read(text))
        except CellError:
            continue
        if value is None and text.strip() not in ("", "?"):
            unknown[text] += count
        elif value is not None and isinstance(value, str) and text.strip() != value:
            made.append(Echo(name, text.strip(), repr(value), count, "spelling"))
    if unknown:
        made.append(Echo(name, unknown.most_common(1)[0][0].strip(), "unknown", sum(unknown.values()), UNKNOWN))
    return made
