"""What people type for a number: `1,5`, `<5`, `150-160`, `~150`, `180 °C`, `5±1`, `150(5)`, `1.2×10^-3`, `$1,037.50`.

A reading is a function of the text, of the marks that the whole table uses for decimals and of the unit of the column.
What could mean two things is an error that says what to write instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from bomi.errors import CellError, UnreadableError
from bomi.space import units
from bomi.space.cells import FULLWIDTH, INVISIBLE, Censored, Interval, Normal, Uncertain, is_unknown, number_text
from bomi.space.numbers import LARGEST, plain_number

EXPECTED = "expected a number, 300±15, 290..310, <5, or ? for unknown"
ABOUT = 0.05  # `~150` is 150 with a standard deviation of 5 % of it
ROOM = Interval(18.0, 25.0)  # °C, what `RT` is taken for
NIGHT = Interval(12.0, 18.0)  # h, what `overnight` is taken for

_SPACES = " '’\u00a0\u2009\u202f"  # thousands may stand apart by these, whatever the other marks
_SIGNS = FULLWIDTH | str.maketrans({
    "\N{MINUS SIGN}": "-", "﹣": "-", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2007": " ",
    "∼": "~", "≈": "~", "≃": "~", "≅": "~",
    "⩽": "≤", "⩾": "≥", "½": " 1/2", "⅓": " 1/3", "⅔": " 2/3", "¼": " 1/4", "¾": " 3/4", "⅛": " 1/8",
}) | INVISIBLE  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_LESS = r"<=?|≤|=<|less than|below|under|at most|up to|max\.?|unter|bis zu|weniger als|höchstens|kleiner als|" \
    r"moins de|inférieur à|au plus|jusqu'à|menos de|inferior a|hasta|como máximo|meno di|poniżej|" \
    r"小于|低于|不足|不到"  # fmt: skip
_MORE = r">=?|≥|=>|more than|above|over|at least|min\.|über|mehr als|mindestens|mind\.|größer als|plus de|" \
    r"supérieur à|au moins|más de|mas de|superior a|al menos|più di|almeno|mais de|pelo menos|powyżej|" \
    r"大于|高于|超过"  # fmt: skip
_ABOUT = r"~|cc?a\.?|c\.|circa|appr(?:ox)?\.?|approximately|about|abt\.?(?= )|around|roughly|est\.|etwa|ungefähr|" \
    r"ungef\.|rund|env\.|environ|aprox\.?|aproximadamente|unos|alrededor de|cerca de|ok\.|około|大?约|約"  # fmt: skip
_OR_LESS = r"max\.?|maximum|or less|oder weniger|ou moins|o menos|以下|以内|未満|未满"
_OR_MORE = r"\+|or more|oder mehr|ou plus|o más|以上|超"
_BETWEEN = r"between|zwischen|entre|von|from|de"
_PREFIX = re.compile(
    rf"(?:(?P<less>{_LESS})|(?P<more>{_MORE})|(?P<about>{_ABOUT})|(?P<between>{_BETWEEN}))\s*(?=[\d.,+\-$€£¥])",
    re.IGNORECASE,
)
_SUFFIX = re.compile(rf"(?<=[\w%.])\s*(?:(?P<less>{_OR_LESS})|(?P<more>{_OR_MORE}))$", re.IGNORECASE)
_RANGE = r"-|–|—|‒|―|\.\.+|…|to|bis|à|a|hasta"
_JOINED = re.compile(
    rf"(?P<unit>[^\d±]*?)\s*(?:(?P<pm>±|\+/-|\+-|\+/–|\+ ?/ ?- ?)|(?P<range>{_RANGE})|(?P<and>and|und|et|y|e))"
    r"\s*(?=[\d.,+\-])",
    re.IGNORECASE,
)
_DASH = re.compile(r"^[–—‒](?=\d)")  # typed for a minus sign
_CONCISE = re.compile(r"\((\d+)\)\s*")
_BRACKETED = re.compile(r"\(([^()]*(?:±|\+/?-)[^()]*)\)\s*(\S*)")
_SPREAD_APART = re.compile(r"\(\s*((?:±|\+/?-)[^()]*?)\s*\)")  # 325 (±12)
_CHARGE_RATE = re.compile(r"C\s?/\s?(?P<hours>\d+(?:[.,]\d+)?)|(?P<rate>.*?)\s?C")
_DATE = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?: \d\d:\d\d.*)?|\d{1,2}[-. ][A-Za-zäé]{3,4}\.?|[A-Za-zäé]{3,4}[-. ]\d{1,2}"
)
_ROOM = re.compile(
    r"r\.? ?t\.?|t\.? ?a\.?|room ?temp(?:erature|\.)?|raumtemp(?:eratur|\.)?|ambient|ambiante|ambiente|"
    r"t(?:emp(?:érature|eratura)?)?\.? ?amb(?:iante|iente)?\.?|室温|常温|상온|실온|kamertemp(?:eratuur|\.)?|k\.?t\.?|"
    r"rumstemp(?:eratur|\.)?|romtemp(?:eratur|\.)?|stuetemp(?:eratur|\.)?|huoneenlämpö|pokojov[áa] teplota|"
    r"temp(?:eratura|\.)? pokojowa|oda sıcaklığı|комн(?:атная|\.)?",
    re.IGNORECASE,
)
_NIGHT = re.compile(
    r"over ?night|o/n|o\. ?n\.|über nacht|ü\. ?n\.|ün|(?:une |toute la )?nuit|(?:una |toda la )?noche|"
    r"(?:una |tutta la )?notte|(?:a )?noite|przez noc|overnacht|over natten|natten over|přes noc|ночь|一晩|终夜|过夜",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"none|nil|without|kein(?:e[rs]?)?|ohne|sans|aucune?|sin|ningun[oa]|senza|nessun[oa]?|sem|nenhum|bez|brak|geen|无|なし",
    re.IGNORECASE,
)
_GUESSED = re.compile(
    r"\s*(?:\?|\(\?\)|左右|程度|前[后後]|\((?:est|approx|ca|circa|env|aprox|estimated|geschätzt|estimée?|estimad[oa]|stimat[oa])\.?\))$",
    re.IGNORECASE,
)
_FOOTNOTE = re.compile(  # 12.3*, 12.3 a), 12.3 ¹, 12.3 (n=3); 10² is a hundred
    r"(?<=[\d%)])(?:\s?(?:\*{1,3}|[†‡§¶ᵃᵇᶜᵈᵉ#])+|\s?[a-h1-9*]\)|\s?\([a-h*]\)|(?:\s|(?<!10))[¹²³⁴⁵]|"
    r"\s?\((?:[nN] ?= ?\d+|\d ?[x×])\))$"
)
_REMARK = re.compile(  # 8.8 (haze), 8.8 - haze
    r"(?<=[\d%])(?:\s*\((?=[^()]+\)$)|\s+[-–—]\s+(?!.*\)$))([^\W\d][^\d()±<>=/]{2,})\)?$"
)
_TELLING = re.compile(  # a remark that says what the number is, or that there is none
    r"fail|fehl|exclu|outlier|ausrei|invalid|ungültig|error|wrong|falsch|\bmax|\bmin|\bset\b|soll|target|nominal|est\b|est\.|"
    r"approx|circa|\benv|aprox|estim|geschätzt|stimat|calc|theor|\bcrude\b|\broh|brut",
    re.IGNORECASE,
)
_FRACTION = r"(?:(?P<ones>\d+) )?(?P<above>\d+)/(?P<below>2|3|4|8|16|32|64)(?![\d/.,])"  # of an inch, of a cup
_LIMIT_TOLD = re.compile(  # < LOQ (0.05)
    r"[<≤]?\s*(?:LOD|LOQ|MDL|DL|LD|LQ|NWG|BG|BDL|RL)\.?\s*[(=:,]?\s*(?P<of>[<≤]?\s*\d[^()]*)\)?", re.IGNORECASE
)
_ARC = re.compile(r"([+-]?\d+) ?° ?([0-5]?\d) ?['′](?: ?([0-5]?\d) ?(?:″|'')?)?")  # 12°30'
_CURRENCY = re.compile(r"(?:(?:US|R)?[$€£¥]|zł|Kč|(?:CHF|kr)(?=\s))\s*")


@dataclass(frozen=True)
class Marks:
    """How a table writes numbers: its decimal mark, and the mark between thousands, "" for none."""

    decimal: str = "."
    thousands: str = ""

    @cached_property
    def plain(self) -> re.Pattern[str]:
        """A number without any mark but the decimal one."""
        mark = re.escape(self.decimal)
        return re.compile(rf"[+-]?(?:\d+(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?")

    @cached_property
    def number(self) -> re.Pattern[str]:
        """A number at the start of a text, in any spelling."""
        mark, apart = re.escape(self.decimal), re.escape(self.thousands)
        groups = [rf"\d{{1,3}}(?:{space}\d{{3}})+(?!\d)" for space in _SPACES]
        if self.thousands:
            groups += [rf"[1-9]\d{{0,2}}(?:{apart}\d{{3}})+(?!\d)", rf"[1-9]\d?(?:{apart}\d\d)+{apart}\d{{3}}(?!\d)"]
        whole = "|".join([*groups, r"\d+"])
        power = r"\s*(?:\^|\*\*)\s*\(?(?P<{0}power>[+-]?\d+)\)?|(?P<{0}superscript>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)"
        return re.compile(
            rf"[+-]?\s?(?:10(?:{power.format('only_')})|{_FRACTION}|"
            rf"(?P<digits>(?:{whole})(?:{mark}(?![.]\D*\d)\d*)?|{mark}\d+)"
            rf"(?:[eE](?P<exponent>[+-]?\d+)|\s*[×x*·]\s*10(?:{power.format('')}|(?P<bare>[+-]\d+)))?)"
        )

    def value(self, match: re.Match[str]) -> float:
        """The number that `number` matched."""
        sign = -1.0 if match[0].lstrip().startswith("-") else 1.0
        if match["below"]:
            return sign * (int(match["ones"] or 0) + int(match["above"]) / int(match["below"]))
        digits = match["digits"] or "1"
        for space in _SPACES:
            digits = digits.replace(space, "")
        digits = (digits.replace(self.thousands, "") if self.thousands else digits).replace(self.decimal, ".")
        kinds = ("exponent", "power", "superscript", "bare", "only_power", "only_superscript")
        power = next((match[kind].translate(_SUPERSCRIPTS) for kind in kinds if match[kind]), "0")
        return sign * float(f"{digits}e{power}")


STRICT = Marks()  # of a text without a table around it
POINT = Marks(".", ",")
COMMA = Marks(",", ".")
MARKS = {".": POINT, ",": COMMA}  # by the decimal mark; the other one stands between thousands

# How a text was read, where it was not simply a number; a table says each once a column.
PLAIN, UNKNOWN, LIMIT, RANGE, ABOUT_IT, SPREAD, UNIT, CONVERTED, WRITTEN = (
    "plain", "unknown", "limit", "range", "about", "spread", "unit", "converted", "written"
)  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """What a text says, how it was read, and the unit that stands in it."""

    value: float | Uncertain | Censored | None
    how: str = PLAIN
    unit: str = ""


def parse(text: str, marks: Marks = STRICT, unit: str = "") -> float | Uncertain | Censored | None:
    """What a typed cell of a column of numbers says; CellError if it makes no sense, or may mean two things.

    >>> parse("300±15"), parse("290..310"), parse(" 1e3 "), parse("?"), parse("2 h", unit="min"), str(parse("<5"))
    (Normal(mean=300.0, sd=15.0), Interval(low=290.0, high=310.0), 1000.0, None, 120.0, '<5')
    """
    found = read(text, marks, unit)
    if found.unit and not unit:
        raise CellError(f"{text.strip()!r} has a unit, but its column has none; say which: unit = {found.unit!r}")
    return found.value


def read(text: str, marks: Marks = STRICT, unit: str = "") -> Reading:
    """What a typed cell says and how it was read, converted to the unit of its column where it has another."""
    if marks.plain.fullmatch(text) and abs(number := float(text.replace(marks.decimal, "."))) <= LARGEST:
        return Reading(number)
    if is_unknown(text):
        return Reading(None, UNKNOWN if text.strip() not in ("", "?") else PLAIN)
    clean = " ".join(text.translate(_SIGNS).split()).removeprefix("'").strip('"').strip()
    clean = _DASH.sub("-", clean)
    if bracketed := _BRACKETED.fullmatch(clean):
        clean = f"{bracketed[1]} {bracketed[2]}".rstrip()
    clean = _SPREAD_APART.sub(r"\1", clean)
    if limit := _LIMIT_TOLD.fullmatch(clean):
        clean = "<" + limit["of"].lstrip("<≤ ")
    try:
        found = _read(clean, marks, unit)
    except CellError as error:
        raise CellError(f"{error}, but got {text!r}") from None
    except (OverflowError, ValueError):
        found = None
    if found is None:
        raise UnreadableError(EXPECTED, f"{text!r}{_hint(clean)}")
    return found


def _read(clean: str, marks: Marks, unit: str) -> Reading | None:
    if (named := units.find(unit)) and named.kind == "temperature" and _ROOM.fullmatch(clean):
        factor, shift = units.scale("°C", unit)
        return Reading(Interval(_converted(ROOM.low, factor, shift), _converted(ROOM.high, factor, shift)), RANGE)
    if named and named.kind == "time" and _NIGHT.fullmatch(clean):
        factor, _ = units.scale("h", unit)
        return Reading(Interval(_converted(NIGHT.low, factor, 0.0), _converted(NIGHT.high, factor, 0.0)), RANGE)
    if unit == units.CHARGE_RATE and (charge := _CHARGE_RATE.fullmatch(clean)):  # C/2 is half a charge an hour
        hours = charge["hours"]
        found = _read(hours or charge["rate"], marks, "")
        if found is None or found.unit or not (hours is None or isinstance(found.value, float | int)):
            return None
        value = 1 / found.value if hours is not None and isinstance(found.value, float) else found.value
        return Reading(value, UNIT if hours is None else CONVERTED, "C")
    if arc := _ARC.fullmatch(clean):
        degrees = (float(arc[2]) + float(arc[3] or 0) / 60) / 60
        factor, _ = _scale("°", unit)
        sign = -1.0 if arc[1].startswith("-") else 1.0
        return Reading(_converted(sign * (abs(float(arc[1])) + degrees), factor, 0.0), CONVERTED, "°")
    if named and named.kind == "time" and clean[-1:] == "'":
        clean = clean.rstrip("'") + (" s" if clean.endswith("''") else " min")
    marked = _FOOTNOTE.search(clean)
    if marked:
        found = _read(clean[: marked.start()], marks, unit)
        return found and replace(found, how=WRITTEN if found.how == PLAIN else found.how)
    if (remark := _REMARK.search(clean)) and not _TELLING.search(remark[1]) and not _is_unit(remark[1], unit):
        found = _read(clean[: remark.start()], marks, unit)
        return found and replace(found, how=WRITTEN if found.how in (PLAIN, UNIT) else found.how)
    text = _GUESSED.sub("", clean)
    about = text != clean
    prefix = _PREFIX.match(text)
    text = text[prefix.end() :] if prefix else text
    suffix = None if prefix else _SUFFIX.search(text)
    text = text[: suffix.start()] if suffix else text
    kind = prefix.lastgroup if prefix else suffix.lastgroup if suffix else ""
    about = about or kind == "about"
    currency = _CURRENCY.match(text)
    text = text[currency.end() :] if currency else text
    first = marks.number.match(text)
    if first is None:
        return None
    number, rest = marks.value(first), text[first.end() :]
    if first["below"] and (int(first["above"]) >= int(first["below"]) or not (rest.strip() or unit)):
        return None  # 1/2 of something is a number, 1/2 alone may be a date or a ratio
    plain_number(number)
    if currency:
        rest = rest + currency[0].strip() if not rest.strip() else rest
    written = WRITTEN if not marks.plain.fullmatch(first[0]) else PLAIN
    spread = _concise(first[0], rest, marks)
    if spread is not None:
        rest = _CONCISE.sub("", rest.lstrip(), count=1)
    rest = rest.strip()
    if not rest or _is_unit(rest, unit):
        return _single(number, spread, rest, unit, kind, about, written)
    if spread is not None or kind in ("less", "more"):
        return None
    return _joined(number, rest, marks, unit, kind, about)


def _single(
    number: float, spread: float | None, found: str, unit: str, kind: str | None, about: bool, written: str
) -> Reading | None:
    """One number, with what stands before it and its unit behind it."""
    factor, shift = _scale(found, unit)
    value = _converted(number, factor, shift)
    how = CONVERTED if (factor, shift) != (1.0, 0.0) else UNIT if found else written
    if spread is not None:
        return Reading(Normal(value, factor * spread), SPREAD, found)
    if kind == "between":
        return None
    if kind == "less":
        return Reading(Censored(high=value), LIMIT, found)
    if kind == "more":
        return Reading(Censored(low=value), LIMIT, found)
    if about:
        if value == 0:
            raise CellError("expected how far about 0 may be off, such as 0±1")
        return Reading(Normal(value, _converted(abs(factor * number), ABOUT, 0.0)), ABOUT_IT, found)
    return Reading(value, how, found)


def _joined(number: float, rest: str, marks: Marks, unit: str, kind: str | None, about: bool) -> Reading | None:
    """Two numbers: a value and how far it may be off, or the ends of an interval."""
    if found := _time(number, rest, unit):
        return found
    joint = _JOINED.match(rest)
    second = marks.number.match(rest, joint.end()) if joint else None
    if joint is None or second is None:
        return None
    other, before, after = marks.value(second), joint["unit"].strip(), rest[second.end() :].strip()
    if (before and not _is_unit(before, unit)) or (after and not _is_unit(after, unit)):
        return None
    if joint["pm"] and not kind:
        if after == "%" and before != "%" and not units.same(unit, "%"):  # 150 ± 5 %, of a quantity in °C
            if not before and not unit:
                raise CellError("expected the spread as a number, since its % may be of the value or a part of it")
            other, after = abs(number) * other / 100, before
        a, shift = _scale(before or after, unit)
        b, _ = _scale(after or before, unit)
        return Reading(Normal(_converted(number, a, shift), b * other), PLAIN, before or after)
    if joint["pm"] or bool(joint["and"]) > (kind == "between"):
        return None
    (a, shift), (b, more) = _scale(before or after, unit or after), _scale(after or before, unit or after)
    low, high = _converted(number, a, shift), _converted(other, b, more)
    if not low < high:
        raise CellError("an interval needs low < high")
    return Reading(Interval(low, high), PLAIN if joint["range"] == ".." and not about else RANGE, after or before)


def _converted(number: float, factor: float, shift: float) -> float:
    """A number in another unit, to the digits that are meant: 356 °F is 180 °C."""
    return number if (factor, shift) == (1.0, 0.0) else float(f"{factor * number + shift:.12g}")


def _time(number: float, rest: str, unit: str) -> Reading | None:
    """A time in two units, `1 h 30 min` or `2h30`, or as a clock shows it, `1:30 h`; None if it is no time."""
    if clock := re.fullmatch(r":([0-5]\d)(?::([0-5]\d))?\s*(\S*)", rest):
        return _clock(number, float(clock[1]), clock[2], clock[3], unit)
    if not (match := re.fullmatch(r"([^\W\d]+)\.?\s*(\d+)\s*([^\W\d]*)\.?", rest)):
        return None
    large, small = units.find(match[1]), units.find(match[3] or "min")
    if large is None or small is None or not large.kind == small.kind == "time" or large.factor <= small.factor:
        return None
    if not match[3] and large.factor != 3600:
        return None
    total = number + float(match[2]) * small.factor / large.factor
    factor, _ = _scale(match[1], unit)
    return Reading(factor * total, CONVERTED, match[1])


def _clock(first: float, second: float, third: str | None, found: str, unit: str) -> Reading | None:
    """A time written as h:mm:ss; as h:mm where its unit is hours, as mm:ss where it is minutes or seconds."""
    named = units.find(found or unit)
    if named is None or named.kind != "time" or not 1 <= named.factor <= 3600:
        return None
    large = 3600.0 if third or named.factor == 3600 else 60.0
    seconds = first * large + second * large / 60 + float(third or 0)
    factor, _ = _scale(found or unit, unit)
    return Reading(_converted(seconds, factor / named.factor, 0.0), CONVERTED, found)


def _concise(first: str, rest: str, marks: Marks) -> float | None:
    """The standard deviation of `1.234(5)`: as many of the last digits as stand in brackets."""
    if not (match := _CONCISE.match(rest.lstrip())) or "e" in first.lower() or rest[:1] == " ":
        return None
    digits = len(first.split(marks.decimal)[1]) if marks.decimal in first else 0
    return float(match[1]) * 10.0**-digits


def _is_unit(text: str, unit: str) -> bool:
    return units.find(text) is not None or (bool(unit) and units.same(text, unit))


def _scale(found: str, unit: str) -> tuple[float, float]:
    if not found or not unit or units.is_price(found, unit):
        return 1.0, 0.0
    try:
        return units.scale(found, unit)
    except CellError:
        raise CellError(f"expected {unit}, which {found} cannot be converted to") from None


def _hint(clean: str) -> str:
    """What else the text may be."""
    if _DATE.fullmatch(clean):
        return ": is it a date that a spreadsheet has made of a number or an interval?"
    if re.fullmatch(
        r"<\s*(lod|loq|dl|ld|nwg|bg|mdl)|bdl|b\.d\.l\.|n\.n\.|traces?|spuren|tracce|trazas?|vestígios|ślady|stopy|spår|eser|痕量|痕跡|微量",
        clean,
        re.IGNORECASE,
    ):
        return ": write the limit, such as <0.01"
    if re.fullmatch(r"[\d.,]+\s*[/;&]\s*[\d.,]+", clean):
        return ": are they two values? Then write their mean, with its standard error as in 59.5±1.5, or a row for each"
    if _NOTHING.fullmatch(clean):
        return ": if that is 0, write 0"
    if _ROOM.fullmatch(clean):
        return ": say the unit of the column, or write 18..25"
    if _NIGHT.fullmatch(clean):
        return ": say the unit of the column, or write 12..18 h"
    if re.search(r"\d,\d", clean):
        return ': is the comma a decimal mark? Then write a point, or decimal = "," in campaign.toml'
    return ""


def shown(value: float | Uncertain | Censored | None) -> str:
    """What was read, as a note tells it."""
    return "unknown" if value is None else number_text(value) if isinstance(value, float | int) else str(value)
