"""What is known of one value: a number, a category, nothing, `Normal`, `Interval`, or a limit that it lies beyond.

In text: `300`, `300±15`, `290..310`, `<5`, `>200`, and `?` for unknown. `typed` reads many more spellings.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from bomi.errors import CellError, shown
from bomi.space.numbers import SMALLEST, plain_number, unwrapped

# Words for "nobody knows", in the languages of many labs; a value of a category that is called so wins over them.
_WORDS = frozenset({
    "", "?", "??", "???", "-", "--", "---", "–", "—", ".", "..", "...", "…", "/", "na", "n/a", "n.a.", "n.a", "nan",
    "<na>", "\\n", "null", "nd", "n.d.", "n.d", "n/d", "nm", "n.m.", "n/m", "nr", "n.r.", "n.b.", "n.c.", "k.a.", "k.a",
    "k/a", "s/d", "s.d.", "tbd", "t.b.d.", "tba", "t.b.a.", "tbc", "pending", "to be determined", "missing",
    "unknown", "unk", "unk.", "lost", "not measured", "not recorded", "not known", "not determined",
    "not available", "no data", "not done", "not tested", "not run", "n.t.", "unbekannt", "fehlt", "verloren",
    "keine angabe", "keine daten", "nicht gemessen", "nicht bestimmt", "nicht ermittelt", "nicht durchgeführt",
    "nicht getestet", "n.g.", "o.a.", "inconnu", "inconnue", "perdu", "perdue", "manquant", "non mesuré",
    "non mesurée", "non déterminé", "non réalisé", "non réalisée", "non testé", "non testée", "non disponible",
    "pas de données", "desconocido", "desconocida", "perdido", "perdida", "sin dato", "sin datos", "sin medir",
    "no medido", "no medida", "no determinado", "no determinada", "no realizado", "no realizada", "no disponible",
    "no se midió", "no se determinó", "non compté", "nicht gezählt", "not counted", "sconosciuto", "ignoto", "perso",
    "persa", "mancante", "non misurato", "non misurata", "non determinato", "non determinata", "non rilevato",
    "non disponibile", "nessun dato", "desconhecido", "desconhecida", "não medido", "não medida", "não determinado",
    "não determinada", "não disponível", "não realizado", "sem dados", "brak", "brak danych", "nieznany",
    "nieznana", "nieznane", "nie zmierzono", "nie oznaczono", "nie badano", "onbekend", "niet gemeten",
    "niet bepaald", "niet bekend", "geen gegevens", "n.v.t.", "ontbreekt", "okänd", "okänt", "ej mätt", "ej känd",
    "ej känt", "ej bestämd", "saknas", "ukjent", "ukendt", "ikke målt", "ikke bestemt", "ikke kendt", "mangler",
    "tuntematon", "ei mitattu", "ei tiedossa", "puuttuu", "neznámé", "neznámý", "neznámá", "neměřeno", "nezměřeno",
    "nestanoveno", "chybí", "bilinmiyor", "ölçülmedi", "belirlenmedi", "eksik", "неизвестно", "н/д", "н.д.",
    "нет данных", "не измерено", "не измеряли", "не определено", "не опр.", "н.о.", "утеряно", "不明", "未測定", "欠測",
    "測定なし", "未知", "未测", "未测定", "未检测", "无数据", "缺失", "미측정", "측정 안 함",
})  # fmt: skip
UNKNOWN_WORDS = _WORDS | {bare for word in _WORDS if len(bare := word.replace(".", "")) > 2}  # nvt is n.v.t.
_NOT_DONE = re.compile(  # nobody looked; not treated and not woven are values
    r"(?:not|nicht|non|no|não|niet|ej|ikke|nie|не|pas) (?:yet )?(?:analy[sz]ed|sampled|measured|determined|tested|"
    r"recorded|taken|made|done|carried out|gemacht|faite?s?|mesurée?s?|hech[oa]|fatt[oa]|feit[oa]|gedaan|gjort|"
    r"read|abgelesen|avläst|avlest|aflæst|afgelezen|leíd[oa]|lett[oa]|lid[oa]|relevad[oa]|"
    r"assessed|evaluated|quantified|analysiert|beprobt|erfasst|ausgewertet|notiert|analysée?|prélevée?|évaluée?|"
    r"quantifiée?|"
    r"relevée?|notée?|analizad[oa]|muestread[oa]|evaluad[oa]|cuantificad[oa]|registrad[oa]|anotad[oa]|analisad[oa]|"
    r"avaliad[oa]|quantificad[oa]|analizzat[oa]|valutat[oa]|quantificat[oa]|registrat[oa]|geanalyseerd|bepaald|"
    r"analyserad|analyseret|analysert|analizowano|oznaczono|определ\w+|измер\w+)"
)
PLAIN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ERROR_VALUE = re.compile(r"#(?:[^\W\d]|[/¡¿0 .])+[!?]|#n/?[avdk]", re.IGNORECASE)  # what a failed formula leaves

FULLWIDTH = {0xFF01 + place: 0x21 + place for place in range(94)}  # of East Asian keyboards: ８０％ is 80%
INVISIBLE = str.maketrans("", "", "\u200b\u200c\u200d\u2060\ufeff\u00ad")  # what copying from a page leaves
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def _ends(*values: object) -> list[float | None]:
    """Both numbers of an uncertain value, None for one that is no number."""
    found: list[float | None] = []
    for value in values:
        try:
            found.append(plain_number(value))
        except CellError:
            found.append(None)
    return found


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else shown(value)


@dataclass(frozen=True, slots=True)
class Normal:
    """A value known up to a Gaussian error, written `mean±sd`.

    Args:
        mean: The most likely value.
        sd: The standard deviation.
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        mean, sd = _ends(self.mean, self.sd)
        if mean is None or sd is None or not sd >= SMALLEST:
            raise CellError(
                f"an uncertain value needs a finite mean and a standard deviation above 0, "
                f"but got {_short(self.mean)}±{_short(self.sd)}; give the plain number if it is exact"
            )
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "sd", sd)

    @property
    def center(self) -> float:
        """The mean."""
        return self.mean

    def __str__(self) -> str:
        return f"{number_text(self.mean)}±{number_text(self.sd)}"


@dataclass(frozen=True, slots=True)
class Interval:
    """A value known to lie between two numbers, written `low..high`.

    Args:
        low: The least value that it may have.
        high: The largest.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = _ends(self.low, self.high)
        if low is None or high is None or not high - low >= SMALLEST:
            raise CellError(
                f"an interval needs finite ends with low < high, but got {_short(self.low)}..{_short(self.high)}"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def center(self) -> float:
        """The midpoint."""
        return self.low + (self.high - self.low) / 2

    def __str__(self) -> str:
        return f"{number_text(self.low)}..{number_text(self.high)}"


@dataclass(frozen=True, slots=True)
class Censored:
    """An outcome known only to lie beyond a limit, written `<high` or `>low`, or between two.

    Args:
        low: What it is not below.
        high: What it is not above.
    """

    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        low, high = _ends(self.low, self.high)
        low = self.low if low is None and isinstance(self.low, float) and self.low == -math.inf else low
        high = self.high if high is None and isinstance(self.high, float) and self.high == math.inf else high
        if low is None or high is None or not low < high or (math.isinf(low) and math.isinf(high)):
            raise CellError(
                f"a limit needs a finite number, and low < high, but got {_short(self.low)}..{_short(self.high)}"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def within(self, low: float, high: float) -> Interval:
        """The interval of values that it leaves between two bounds."""
        return Interval(max(self.low, low), min(self.high, high))

    def __str__(self) -> str:
        if math.isinf(self.low):
            return f"<{number_text(self.high)}"
        return f">{number_text(self.low)}" if math.isinf(self.high) else str(Interval(self.low, self.high))


Uncertain: TypeAlias = Normal | Interval
Known: TypeAlias = float | int | str | bool
Cell: TypeAlias = Known | Uncertain | None


def is_unknown(value: object) -> bool:
    """Whether a value of a table says "nobody knows": None, NaN, a missing-value marker, blank, `?`, `NA`, `n.d.`."""
    if value is None:
        return True
    if isinstance(value, str):
        word = value.strip().lower()
        word = word if word.isascii() else word.translate(FULLWIDTH)
        if word in UNKNOWN_WORDS or (word[:1] == "#" and _ERROR_VALUE.fullmatch(word)):
            return True
        if " " not in word:
            return False
        return word.replace(". ", ".") in UNKNOWN_WORDS or _NOT_DONE.fullmatch(word) is not None  # k. A. is k.A.
    if isinstance(value, float | int):
        return value != value  # NaN differs from itself
    if type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):  # the markers of pandas and NumPy
        return True
    value = unwrapped(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, float) and math.isnan(value))  # None: NumPy's "not a time"


def look(text: str) -> str:
    """A word without regard to case, spaces and accents: `Oil ` looks like `oil`, and `Öl` like `Oel`.

    >>> look("ÖL "), look("Oel"), look("toluène")
    ('oel', 'oel', 'toluene')
    """
    folded = " ".join(text.translate(INVISIBLE).split()).casefold()
    if folded.isascii():
        return folded
    spelled = unicodedata.normalize("NFKC", folded).translate(_UMLAUTS)
    return "".join(mark for mark in unicodedata.normalize("NFD", spelled) if not unicodedata.combining(mark))


def plain(text: str) -> float | None:
    """The plain number that a text spells; None if it spells none."""
    return float(text) if PLAIN.fullmatch(text) else None


def text(cell: Cell | Censored) -> str:
    """A cell as a person would type it; `typed.parse` reads it back exactly.

    >>> text(Normal(300, 15)), text(Interval(0.5, 1)), text(20.0), text(None)
    ('300±15', '0.5..1', '20', '?')
    """
    if cell is None:
        return "?"
    if isinstance(cell, bool | str | Normal | Interval | Censored):
        return str(cell)
    return number_text(cell)


def number_text(number: float) -> str:
    """The shortest decimal that reads back as the same number, without a trailing `.0`."""
    if isinstance(number, int):
        return str(number)
    return repr(float(number)).removesuffix(".0")
