"""Whether somebody sets a column: a small likelihood over its name, its values and how they stand in the table.

What is set is varied on purpose: few levels, round or evenly spaced, each of them several times. What is measured has
all the digits of its instrument and differs from row to row. People, lots, plots and repeats are called by initials or
numbered, and change in blocks. Each sign adds its log odds. The weights are those of the columns of
tests/campaign/corpus, rounded and held back, since tables made up for a test are tidier than real ones.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bomi.campaign.lexicon import (
    is_called_setting,
    is_count,
    is_label,
    is_made,
    is_measured,
    is_outcome,
    is_score,
    is_seen,
    is_setting,
    is_size,
    is_thing,
)
from bomi.campaign.outcome import REPEATED
from bomi.campaign.roles import Column, in_blocks
from bomi.space import cells, units

SURE = 1.0  # log odds from which a column is taken for a parameter without a word
OUT = -2.5  # and up to which it is left out
PRIOR = {"number": 0.5, "category": 1.0}  # of a column that varies, before anything is known: words are oftener set
ENOUGH = 4  # numbers, to say how they differ
FIRST = 1000  # rows that are looked at

_SWITCH = frozenset({
    "yes", "no", "on", "off", "+", "-", "–", "with", "without", "none", "control", "ja", "nein", "mit", "ohne", "keine",
    "keiner", "an", "aus", "oui", "non", "avec", "sans", "aucun", "sí", "si", "con", "sin", "ninguno", "ninguna", "sì",
    "senza", "nessuno", "sim", "não", "com", "sem", "nenhum", "tak", "nie", "brak", "nee", "met", "zonder", "geen",
    "nej", "med", "utan", "uden", "inget", "ingen", "evet", "hayır", "var", "yok", "да", "нет", "有", "无",
    "なし", "あり", "low", "medium", "high", "niedrig", "mittel", "hoch", "bas", "moyen", "haut", "bajo", "medio",
    "alto", "basso", "baixo", "médio", "true", "false", "full", "half", "fine", "coarse", "standard",
    "reference", "referenz", "x",
})  # fmt: skip
_OF_TIME = re.compile(
    r"(?:early|late|night|day|morning|afternoon|früh|spät|nacht|tag|matin|soir|nuit|mañana|tarde|noche|mattina|"
    r"pomeriggio|notte|manhã|noite|rano|noc|mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so|lun|mar|mer|jeu|ven|"
    r"(?:mon|tues|wednes|thurs|fri)day|(?:mon|diens|donners|frei)tag|mittwoch|jan|feb|apr|may|jun|jul|aug|sep|oct|nov|"
    r"dec|spring|summer|autumn|winter)\.?(?: ?shift|schicht)?",
    re.IGNORECASE,
)
_POINT = re.compile(r"factorial|fact\.?|cube|corner|cent(?:er|re)(?: ?point)?|axial|star|face", re.IGNORECASE)
_CAPITALS = re.compile(r"[A-ZÀ-Þ]{2}")
_INITIALS = re.compile(r"[^\W\d_]\.? ?[^\W\d_]\.?|[A-ZÀ-Þ]\.? ?[A-ZÀ-Þ]\.? ?[A-ZÀ-Þ]\.?")
_PERSON = re.compile(
    r"[A-ZÀ-Þ]\.(?:-?[A-ZÀ-Þ]\.)* ?[A-ZÀ-Þ][\w'-]+|[A-ZÀ-Þ][\w'-]+,? [A-ZÀ-Þ]\.|[a-z]\.[a-z]{3,}|"
    r"(?:mr|mrs|ms|dr|hr|fr|herr|frau|sra?|mme|m)\.? [A-ZÀ-Þ]\w+|\S+@\S+|"
    r"[A-ZÀ-Þ]{2,3},? \d{1,2}[./]\d{1,2}\.?",  # initials and a day
)
_PLACE = re.compile(
    r"[NSEW]|[NS][EW]|top|mid(?:dle)?|bot(?:tom)?|left|right|cent(?:er|re)|edge|north|south|east|west|oben|unten|links|"
    r"rechts|nord|süd|ost|west|haut|gauche|droite|sud|est|ouest|norte|sur|este|oeste",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"(?=[IVX])(?:IX|IV|V?I{0,3}|X)(?:\s?[+/&,]\s?(?=[IVX])(?:IX|IV|V?I{0,3}|X))*", re.IGNORECASE)
_ELEMENT = (
    "H|He|Li|Be|B|C|N|O|F|Ne|Na|Mg|Al|Si|P|S|Cl|Ar|K|Ca|Sc|Ti|V|Cr|Mn|Fe|Co|Ni|Cu|Zn|Ga|Ge|As|Se|Br|Kr|Rb|Sr|Y|Zr|Nb|"
    "Mo|Ru|Rh|Pd|Ag|Cd|In|Sn|Sb|Te|I|Xe|Cs|Ba|La|Ce|Pr|Nd|Sm|Eu|Gd|Tb|Dy|Ho|Er|Yb|Lu|Hf|Ta|W|Re|Os|Ir|Pt|Au|Hg|Tl|Pb|Bi"
)
# three capitals are an abbreviation, but for KOH
_PART = rf"(?:\(?(?:{_ELEMENT})\)?(?:(?!0\d)[\d₀-₉.]*)){{1,8}}"
_FORMULA = re.compile(rf"(?!(?!KOH)[A-Z]{{3,}}\b){_PART}(?:[/:+·-](?:{_PART}|[^\W\d]\w*))*")
_CODED = re.compile(rf"[A-Z]|{_FORMULA.pattern}")  # the name of a factor, of an element or an oxide
_RATIO = re.compile(r"\d+(?:[.,]\d+)?(?:\s*[:/]\s*\d+(?:[.,]\d+)?)+")


@dataclass(frozen=True)
class Sign:
    """Something that speaks for or against a column that is set: its log odds, and what it is, in words."""

    odds: float
    text: str = ""


@dataclass(frozen=True)
class Evidence:
    """All that speaks for or against a column that is set."""

    kind: str
    signs: tuple[Sign, ...]

    @property
    def odds(self) -> float:
        """The log odds that somebody sets the column."""
        return PRIOR[self.kind] + sum(sign.odds for sign in self.signs)

    @property
    def out(self) -> bool:
        """Whether the column is better left out."""
        return self.odds <= OUT

    @property
    def against(self) -> str:
        """What speaks against it most, in words; "" if nothing does."""
        worst = min(self.signs, key=lambda sign: sign.odds, default=Sign(0.0))
        return worst.text if worst.odds < 0 else ""


def weigh(
    column: Column,
    texts: Sequence[str],
    others: Sequence[Column],
    outcome: Column,
    days: Sequence[Sequence[str]] = (),
    *,
    behind: bool = False,
) -> Evidence:
    """What speaks for or against a column that is set, given the other columns, the outcome, dates and lots.

    behind: whether it stands right of what was measured
    """
    signs, texts = _by_name(column), texts[:FIRST]
    signs += [_with_days(texts, day[:FIRST]) for day in days]
    if column.kind == "category":
        signs += [*_by_words(column, texts), _standing(column, others)]
    else:
        signs += [*_by_numbers(column, texts, others, outcome), _in_mixture(column, others)]
    if behind and not is_called_setting(column.name):
        signs.append(Sign(-3.0, "it stands right of what was measured"))
    return Evidence(column.kind, tuple(sign for sign in signs if sign.odds))


def _in_mixture(column: Column, others: Sequence[Column]) -> Sign:
    """The parts of a mixture are set; but fractions of a product add up too, and stand right of all that is set."""
    parts = column.mixture.parts if column.mixture else ()
    last = others[-1].name in parts and any(other.name not in parts for other in others)
    return Sign(3.0 if parts and not last else 0.0)


def _by_name(column: Column) -> list[Sign]:
    name, signs = column.name, []
    if is_label(name, last=True) and not column.unit:
        signs.append(Sign(-4.0, "its name may say who, where or which"))
    elif is_measured(name) and column.kind == "number":
        signs.append(Sign(-3.5, "its name may say that it is measured"))
    elif is_score(name) and column.kind == "number":
        signs.append(Sign(-5.0, "its name is that of a score"))
    elif is_made(name):
        signs.append(Sign(-7.0, "its name may say how many were made"))
    elif is_called_setting(name):
        signs.append(Sign(4.0 if column.kind == "category" else 1.0 if is_size(name) else 3.0))
    elif is_label(name) and not column.unit:
        signs.append(Sign(-4.0, "its name may say who, where or which"))
    elif is_count(name) or is_thing(name) or _CODED.fullmatch(re.sub(r"[\s_]*(?:[(\[].*|%.*)", "", name)):
        signs.append(Sign(4.0))
    elif is_setting(name):
        signs.append(Sign(1.0))
    if column.kind == "category" and is_seen(name):
        signs.append(Sign(-3.5, "its name may say what was seen"))
    elif column.kind == "category" and is_outcome(name) and not is_thing(name):
        signs.append(Sign(-3.5, "its name is that of an outcome"))
    return signs


def _with_days(texts: Sequence[str], days: Sequence[str]) -> Sign:
    """Whether each value belongs to one day or lot and each of these to one value: several, of several rows each."""
    pairs = set(zip(texts, days, strict=True))
    alone = len(pairs) == len(set(texts)) == len(set(days))
    return Sign(-2.0 if alone and 2 <= len(pairs) <= len(texts) / 2 else 0.0, "it changes with the date or the lot")


# --- numbers -------------------------------------------------------------------------------------------------------


def _by_numbers(column: Column, texts: Sequence[str], others: Sequence[Column], outcome: Column) -> list[Sign]:
    numbers = column.numbers[:FIRST]
    levels = sorted(set(numbers))
    if len(numbers) < ENOUGH or levels == [0, 1]:
        return []
    if levels in ([-1, 1], [-1, 0, 1]):  # of a coded design
        return [Sign(3.0)]
    numbered = _numbering(column, levels, texts)
    signs = (
        [numbered, _alone(numbers)] if numbered.odds else [_design(numbers, texts), _spacing(levels), _alone(numbers)]
    )
    free = [other for other in others if other.kind == "number" and other is not column and other.variety]
    if any(one.variety <= REPEATED for one in (column, *free)):
        signs += [_repeating(column, free), _roundness(column, levels)]
    else:  # of a random design, values tell nothing
        signs.append(Sign(-1.5, "no column repeats, so that values cannot tell what is set"))
    return [*signs, _following(column.numbers, outcome.numbers)]


def _design(numbers: Sequence[float], texts: Sequence[str]) -> Sign:
    """Whether each level comes about equally often, as in a design, or in one block of rows."""
    if in_blocks(texts):
        return Sign(-1.0, "its values come in blocks of rows, as days and lots do")
    counts = Counter(numbers).values()
    return Sign(1.5 if max(counts) - min(counts) <= 1 < min(counts) else 0.0)


def _numbering(column: Column, levels: Sequence[float], texts: Sequence[str]) -> Sign:
    """1, 2, 3 without a unit, as repeats, blocks and plots are called; long numbers, as lots are."""
    if column.unit or any(level % 1 for level in levels):
        return Sign(0.0)
    if levels in ([*range(len(levels))], [*range(1, len(levels) + 1)]):
        return Sign(-3.0 if len(levels) > 2 else -1.5, "it counts from 1, as repeats, blocks and scores do")
    codes = min(levels) >= 1000 and sum(level % 10 != 0 for level in levels) > len(levels) / 2
    blocks = in_blocks(texts)
    if codes or (blocks and min(levels) >= 100 and any(level % 10 for level in levels)):
        return Sign(-3.0, "its numbers look like those of lots or plots")
    return Sign(0.0)


def _alone(numbers: Sequence[float]) -> Sign:
    """Whether a column is the same in all rows but one."""
    counts = sorted(Counter(numbers).values())
    same = len(numbers) > ENOUGH and len(counts) == 2 and counts[0] == 1
    return Sign(-2.0 if same else 0.0, "it differs in one row alone")


def _repeating(column: Column, others: Sequence[Column]) -> Sign:
    """How often a value comes again, where those of other columns do."""
    if column.variety <= REPEATED:
        return Sign(1.0)
    if column.variety > 0.85:
        return Sign(-3.0, "it differs in nearly each row, as if measured")
    alone = len(column.numbers) > ENOUGH + 1 and all(other.variety <= REPEATED for other in others)
    return Sign(-1.5 if alone else 0.0, "it differs more than all others, as if measured")


def _roundness(column: Column, levels: Sequence[float]) -> Sign:
    """Whether the last digits are 0 or 5, as what one sets, or any, as what one measures."""
    whole = [round(level * 10 ** max(map(_decimals, levels))) for level in levels]
    if max(map(abs, whole)) < 20:
        return Sign(0.0)
    decades = min(whole) > 0 and max(whole) >= 10 * min(whole)
    odds = sum(0.85 if number % 5 == 0 or (decades and _digits(number) == 1) else -0.9 for number in whole)
    low, high = (-1.0, 2.5) if column.variety <= REPEATED else (-2.5, 1.0)  # instruments, too, may step by 5 or 10
    return Sign(max(low, min(high, odds)), "its last digits are those of a measurement")


def _spacing(levels: Sequence[float]) -> Sign:
    """Whether the levels are evenly spaced, or each the same multiple of the one before."""
    steps = [b - a for a, b in pairwise(levels)]
    ratios = [b / a for a, b in pairwise(levels) if a > 0]
    even = max(steps) - min(steps) <= 1e-6 * max(steps)
    finest = 10.0 ** -max(map(_decimals, levels))
    if even and max(steps) < 1.5 * finest and min(map(abs, levels)) >= 10 * finest:
        return Sign(-1.0, "its values differ in the last digit alone")
    geometric = len(ratios) == len(steps) and min(ratios) > 1.25 and max(ratios) - min(ratios) <= 0.02 * max(ratios)
    return Sign(1.5 if len(levels) >= 3 and (even or geometric) else 0.0)


def _following(numbers: Sequence[float], outcome: Sequence[float]) -> Sign:
    """Whether a column is nearly the outcome itself, as a repeat of it is."""
    if len(numbers) != len(outcome):
        return Sign(0.0)
    numbers, outcome = numbers[:FIRST], outcome[:FIRST]
    if all(a * b > 0 and 0.67 < a / b < 1.5 for a, b in zip(numbers, outcome, strict=True)) and (
        _correlation(numbers, outcome) > 0.95
    ):
        return Sign(-4.0, "it is nearly the outcome")
    return Sign(0.0)


def _correlation(a: Sequence[float], b: Sequence[float]) -> float:
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    both = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    size = math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))
    return both / size if size > 0 else 0.0


def _digits(number: int) -> int:
    """How many digits a whole number has, without the zeros at its end."""
    return len(str(abs(number)).rstrip("0"))


def _decimals(number: float) -> int:
    text = cells.number_text(number)
    return len(text.partition(".")[2]) if "e" not in text else 0


# --- words ---------------------------------------------------------------------------------------------------------


def _by_words(column: Column, texts: Sequence[str]) -> list[Sign]:
    meaning = _meaning([value.strip() for value in column.values])
    if in_blocks(texts):
        return [meaning, Sign(-1.0, "its values come in blocks of rows, as people, days and lots do")]
    return [meaning]


def _standing(column: Column, others: Sequence[Column]) -> Sign:
    """Whether words stand right of all numbers that are set, where people write what they saw."""
    last = others[-1] is column and any(other.kind == "number" for other in others)
    return Sign(-1.0 if last else 0.0, "it stands last, as what was seen does")


def _meaning(values: Sequence[str]) -> Sign:
    """What the values look like: switches and formulas, or people, times and running numbers."""
    switches = [value for value in values if value.casefold() in _SWITCH]
    if len(switches) == len(values) or any(len(value) > 3 for value in switches):
        return Sign(3.0)
    for pattern, said in (
        (_OF_TIME, "its values are times of the day, week or year"),
        (_PERSON, "its values look like people"),
        (_PLACE, "its values are places"),
        (_POINT, "its values are the kinds of points of a design"),
        (_ROMAN, "its values are numbered, as blocks are"),
        (_CAPITALS, "its values look like initials"),
    ):
        if all(map(pattern.fullmatch, values)):
            return Sign(-4.0, said)
    numbered = len({re.sub(r"\d+$", "", value) for value in values}) == 1
    if (
        (all(map(_FORMULA.fullmatch, values)) and not numbered)
        or all(map(_RATIO.fullmatch, values))
        or any(map(_amount, values))
    ):
        return Sign(2.0)
    if all(map(_INITIALS.fullmatch, values)):
        return Sign(-3.0, "its values look like initials")
    if len({re.sub(r"\d+", "9", value) for value in values}) == 1:
        return Sign(-3.0, "its values differ in their numbers alone, as lots, machines and places do")
    if all(value.istitle() and value.isalpha() and len(value) > 1 for value in values):
        return Sign(-1.0, "its values may be names of people or places")
    return Sign(0.5 if all(value.islower() for value in values) else 0.0)


def _amount(text: str) -> bool:
    """Whether a text says how much or how long: `80 °C/30 min`."""
    return any(unit != "L" and units.find(unit) for unit in re.findall(r"\d ?([^\W\d]+|°\w|%)", text))
