"""Units of measure as labs write them, and conversion between those of one kind.

A table of our own: it knows how units are written by hand in several languages (`Std.`, `U/min`, `degC`), and a unit
that it does not know is only a name. `a/b` is read as the ratio of two units.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from bomi.errors import CellError
from bomi.space.cells import FULLWIDTH

# Each kind has a base unit of factor 1; names of one unit are separated by a bar.
_KINDS: dict[str, dict[str, float]] = {
    "time": {
        "s|sec|secs|second|seconds|sek|sekunde|sekunden|seconde|secondes|segundo|segundos|seg|сек|с|秒|초": 1.0,
        "ms": 1e-3,
        "µs": 1e-6,
        "ns": 1e-9,
        "min|mins|minute|minutes|minuten|minuto|minutos|minuti|minuty|minuut|minuter|dk|dakika|мин|分|分钟|分鐘|"
        "분": 60.0,
        "h|hr|hrs|hour|hours|std|stunde|stunden|heure|heures|hora|horas|ora|ore|godz|godz.|uur|tim|timme|timmar|hod|"
        "hodin|hodina|hodiny|saat|ч|час|часа|часов|小时|小時|時間|시간": 3600.0,
        "d|day|days|tag|tage|jour|jours|día|días|dia|dias|j|gg|giorni|giorno|dni|dagen|dag|dagar|dage|gün|сут|дней|"
        "天|日|일": 86400.0,
        "wk|wks|week|weeks|woche|wochen|semaine|semaines|semana|semanas|weken|wkn|veckor|uger|uker|settimane": 604800.0,
        "month|months|monat|monate|mois|mes|meses|mesi|mnd|maanden|månader|måneder|miesiące|мес|月": 2629746.0,
    },
    "temperature": {"K|kelvin": 1.0, "°C|C|degC|deg C|celsius|grad C|Grad": 1.0, "°F|F|degF|fahrenheit": 5 / 9},
    "mass": {
        "kg|кг": 1e3, "g|gr|gram|grams|gramm|г": 1.0, "mg|мг": 1e-3, "µg|mcg": 1e-6, "ng": 1e-9, "t|tonne|tonnes": 1e6,
        "lb|lbs": 453.59237, "oz": 28.349523125,
    },
    "length": {
        "km": 1e3, "m": 1.0, "dm": 0.1, "cm": 1e-2, "mm": 1e-3, "µm|micron|microns": 1e-6, "nm": 1e-9, "pm": 1e-12,
        "Å|angstrom": 1e-10, "in|inch|inches|Zoll": 0.0254, "ft|feet": 0.3048, "mil|mils": 2.54e-5,
    },
    "area": {"m2|m²": 1.0, "dm2|dm²": 1e-2, "cm2|cm²": 1e-4, "mm2|mm²": 1e-6, "µm2|µm²": 1e-12, "ha": 1e4},
    "volume": {
        "L|l|liter|litre|litres|liters|л": 1.0, "dL|dl": 0.1, "cL|cl": 1e-2, "mL|ml|cc|cm3|cm³|мл": 1e-3, "µL|µl": 1e-6,
        "nL|nl": 1e-9, "m3|m³": 1e3,
    },
    "pressure": {
        "Pa": 1.0, "hPa": 1e2, "kPa": 1e3, "MPa|N/mm2|N/mm²|"
        "МПа": 1e6, "GPa": 1e9, "bar": 1e5, "mbar": 1e2, "atm": 101325.0,
        "Torr|mmHg|mm Hg": 101325 / 760, "mTorr": 101325 / 760e3, "psi": 6894.757293168, "ksi": 6894757.293168,
    },
    "viscosity": {"Pa s|Pa.s|Pa·s|Pa*s|Pas": 1.0, "mPa s|mPa.s|mPa·s|mPa*s|mPas|cP": 1e-3, "P|poise": 0.1},
    "amount": {"mol": 1.0, "mmol": 1e-3, "µmol": 1e-6, "nmol": 1e-9, "kmol": 1e3},
    "concentration": {"M|mol/L|mol/l": 1.0, "mM|mmol/L|mmol/l": 1e-3, "µM": 1e-6, "nM": 1e-9},
    "share": {"%|pct|percent|Prozent": 1e-2, "‰": 1e-3, "ppm": 1e-6, "ppb": 1e-9},
    "share of mass": {"wt%|wt.%|wt-%|wt %|wt. %|% (w/w)|Gew.-%|Gew%|m%|w%|mass%": 1.0},
    "share of volume": {"vol%|vol.%|vol-%|vol %|vol. %|Vol.-%|% (v/v)|v%": 1.0},
    "share of amount": {"mol%|mol-%|mol %|mol.%": 1.0},
    "share of atoms": {"at%|at.%|at-%|at %|at. %": 1.0},
    "energy": {"J": 1.0, "mJ": 1e-3, "kJ": 1e3, "MJ": 1e6, "cal": 4.184, "kcal": 4184.0, "eV": 1.602176634e-19,
               "keV": 1.602176634e-16, "Wh": 3600.0, "kWh": 3.6e6,
               "ft-lb|ft lb|ft·lb|ft-lbf|ft·lbf|ft.lb": 1.3558179483314},
    "power": {"W": 1.0, "mW": 1e-3, "kW": 1e3, "MW": 1e6},
    "voltage": {"V": 1.0, "mV": 1e-3, "kV": 1e3},
    "current": {"A": 1.0, "mA": 1e-3, "µA": 1e-6, "nA": 1e-9},
    "force": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "frequency": {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    "rotation": {
        "rpm|r/min|rev/min|U/min|1/min|min-1|min⁻¹|min^-1|tr/min|t/min|/min|obr/min|tpm|giri/min|об/мин|转/分|"
        "varv/min|omw/min|devir/dk": 1.0,
        "krpm|k rpm": 1e3,
    },
    "angle": {"°|deg": 1.0, "rad": 57.29577951308232},
    "resistance": {"Ω|ohm|ohms": 1.0, "kΩ|kohm": 1e3, "mΩ|mohm": 1e-3, "MΩ": 1e6},
    "squares": {"sq|□|square": 1.0},
    "gas flow": {"sccm": 1.0, "slm": 1e3},
    "hardness": {"HV": 1.0},
    "Rockwell hardness": {"HRC": 1.0},
    "Brinell hardness": {"HB|HBW": 1.0},
    "dollars": {"$|USD|US$": 1.0},
    "euros": {"€|EUR": 1.0},
    "pounds": {"£|GBP": 1.0},
    "francs": {"CHF": 1.0},
    "yen": {"¥|JPY": 1.0},
    "reais": {"R$|BRL": 1.0},
    "crowns": {"kr|SEK|NOK|DKK": 1.0},
    "koruny": {"Kč|CZK": 1.0},
    "zloty": {"zł|PLN": 1.0},
    "multiples": {"×": 1.0},
    "counts": {"k": 1e3, "Mio|Mio.|Mill.|million|millions|Millionen|millón|millones": 1e6,
               "Mrd|Mrd.|Milliarden|milliard|milliards|billion|billions": 1e9},
    "spoons and cups": {"tsp|teaspoon|teaspoons|TL": 1.0, "tbsp|tablespoon|tablespoons|EL": 3.0, "cup|cups": 48.0},
    "equivalents": {"eq|equiv|eq.|equiv.|Äq.": 1.0},
    "parts of rubber": {"phr": 1.0},
    "turns": {"rev|cycles|cycle|Zyklen|passes|pass|Durchgänge|ciclos": 1.0},
    "pieces": {"pcs|pc|Stk|Stück|units|unit|pieces": 1.0},
    "pixels": {"px": 1.0},
    "field": {"T": 1.0, "mT": 1e-3},
    "activity": {"U": 1.0, "IU": 1.0, "kU": 1e3},
    "colonies": {"CFU|cfu|KBE": 1.0},
    "density of cells": {"OD|OD600": 1.0},
    "mass in dalton": {"Da": 1.0, "kDa": 1e3},
    "decibels": {"dB": 1.0},
    "rate of pump": {"gpm": 1.0},
}  # fmt: skip
SHORT = 4  # letters that a unit has less than
CHARGE_RATE = "C-rate"  # charges or discharges an hour, of a battery
_CURRENCIES = ("dollars", "euros", "pounds", "francs", "yen", "reais", "crowns", "koruny", "zloty")
_ZERO = {"K": 0.0, "°C": 273.15, "°F": 459.67 * 5 / 9}  # where each scale of temperature begins, in kelvin
_NO_UNIT = frozenset({"", "-", "–", "—", "a.u.", "au", "arb. u.", "dimensionless", "none", "n/a"})
_SPELLING = str.maketrans({"μ": "µ", "º": "°", "˚": "°", "∘": "°", "\u00a0": " ", "\u202f": " ", "−": "-",
                           "Ω": "Ω"}) | FULLWIDTH  # fmt: skip
_INVERSE = re.compile(r"(?:^|[ ·.])([^\W\d]+)(?:-1|⁻¹|\^-1)")  # kg ha-1
_CLOCK = {"mm:ss": "min", "m:ss": "min", "min:s": "min", "h:mm": "h", "hh:mm": "h", "hh:mm:ss": "h", "h:mm:ss": "h"}
_MARK = r"(?:[a-d]|\s*[*†‡§¹²³ᵃᵇᶜ]+|\s*(?:±|\+/-).*)?"  # of a footnote, or of a spread, after a unit in brackets
_HEADER = (
    re.compile(r"(?P<name>.*?)\s*[(\[{]\s*(?P<unit>[^()\[\]{}]*(?:\([^()]*\))?)\s*[)\]}]" + _MARK + r"\s*"),
    re.compile(r"(?P<name>.*?\S)(?:\s+/\s*|\s*/\s+|\s+in\s+|,\s+|\s+en\s+)(?P<unit>\S+(?: \S+)?)"),
    re.compile(r"(?P<name>.*?[^\s_])[_\s]+(?P<unit>[^\s_]+)"),
    re.compile(r"(?P<name>[^/]+)/(?P<unit>\S+)"),
)
_COUNTED = re.compile(r"(?:cells|zellen|cellules|células|cfu|kbe|ufc|copies|particles|counts?|number)$", re.IGNORECASE)

_STEMS = {  # what a column measures whose name ends in a short unit
    "time": "time|zeit|dauer|duration|temps|durée|tiempo|tempo|tijd|czas|süre|время|hold|soak|age|时间|時間|시간",
    "current": "current|strom|courant",
    "voltage": "volt|spannung|potential",
    "force": "force|kraft|load",
}
_SYMBOLS = {  # what a column measures whose unit is one capital letter after a slash
    "temperature": r"^[Tθϑ]|T$|(?i:temp)",
    "voltage": r"^[UVEφ]|(?i:volt|spannung|potential|bias)",
    "current": r"^[Ii]|(?i:current|strom|courant)",
    "power": r"^P|(?i:power|leistung|puissance|potencia)",
    "force": r"^F|(?i:force|kraft|load|last)",
    "energy": r"^[EWQ]|(?i:energ|work|impact|cvn)",
    "concentration": r"^c|(?i:conc|konz)",
    "volume": r"^V|(?i:vol)",
}


@dataclass(frozen=True)
class Unit:
    """What a unit measures, how much of the base unit it is, and where its zero lies."""

    kind: str
    factor: float
    zero: float = 0.0


@cache
def _table() -> tuple[dict[str, Unit], dict[str, set[Unit]]]:
    """Every name with its unit; and without regard to case, every unit that a name may mean."""
    exact: dict[str, Unit] = {}
    folded: dict[str, set[Unit]] = {}
    for kind, members in _KINDS.items():
        for names, factor in members.items():
            first, *_ = spelled = names.split("|")
            zero = _ZERO.get(first, 0.0) if kind == "temperature" else 0.0
            for name in spelled:
                exact[name] = unit = Unit(kind, factor, zero)
                folded.setdefault(name.casefold(), set()).add(unit)
    return exact, folded


def normalized(text: str) -> str:
    """A unit without the marks around it, and with one spelling of signs: `[ºC]` is `°C`."""
    for wrong, right in (("Â°", "°"), ("Âµ", "µ"), ("℃", "°C"), ("℉", "°F"), ("°С", "°C")):  # the last С is Cyrillic
        text = text.replace(wrong, right)
    text = text.translate(_SPELLING)
    text = " ".join(text.split())
    while len(text) > 2 and (text[0], text[-1]) in (("(", ")"), ("[", "]"), ("{", "}")):
        text = text[1:-1].strip()
    if text.startswith("in ") and len(text) > 3:
        text = text[3:]
    return text.replace("° ", "°")


@cache
def find(text: str) -> Unit | None:
    """The unit of a name, None if there is no such unit in the table."""
    exact, folded = _table()
    name = normalized(text)
    micro = "µ" + name[1:] if name[:1] == "u" and len(name) > 1 else name  # typed without the Greek letter
    for spelled in (name, micro, name.rstrip(".")):
        if spelled in exact:
            return exact[spelled]
        if len(spelled) > 1 and len(meant := folded.get(spelled.casefold(), set())) == 1:
            return next(iter(meant))
    name = _INVERSE.sub(r"/\1", name)
    name = f"1{name}" if name.startswith("/") else name
    pieces = re.split(r"\s*/\s*", name) if "/" in name.strip("/") else []
    parts = [Unit("", 1.0) if piece == "1" else find(piece) for piece in pieces]
    if len(parts) < 2 or None in parts:
        return None
    units = [part for part in parts if part is not None]
    factor = units[0].factor
    for unit in units[1:]:
        factor /= unit.factor
    return Unit("/".join(unit.kind for unit in units), factor)


def is_none(text: str) -> bool:
    """Whether a text says that there is no unit."""
    return normalized(text).lower() in _NO_UNIT or text.strip() in ("[-]", "(-)", "[]", "()")


def same(one: str, other: str) -> bool:
    """Whether two names mean the same unit."""
    if normalized(one) == normalized(other):
        return True
    found = find(one)
    return found is not None and found == find(other)


def is_price(unit: str, of: str) -> bool:
    """Whether a unit is a currency and another is so much of it for something: 3.45 € in a column of €/kg."""
    currency = find(unit)
    paid, slash, _ = normalized(of).partition("/")
    return bool(slash) and currency is not None and currency.kind in _CURRENCIES and currency == find(paid)


def scale(unit: str, to: str) -> tuple[float, float]:
    """The numbers a, b with which x in one unit is a x + b in another; CellError if they are of different kinds.

    >>> scale("h", "min"), [round(number, 2) for number in scale("K", "°C")]
    ((60.0, 0.0), [1.0, -273.15])
    """
    if same(unit, to):
        return 1.0, 0.0
    one, other = find(unit), find(to)
    if one is None or other is None or one.kind != other.kind:
        raise CellError(f"{unit} cannot be converted to {to}")
    return one.factor / other.factor, (one.zero - other.zero) / other.factor


def in_header(name: str) -> str:
    """The unit in the name of a column, "" if there is none: `Temp. (°C)`, `time [min]`, `T / K`, `v in m/s`, `t_h`.

    >>> in_header("Temp. (°C)"), in_header("time_min"), in_header("pressure, bar"), in_header("yield (%)")
    ('°C', 'min', 'bar', '%')
    """
    plain = name.translate(_SPELLING).strip()
    if re.fullmatch(r"(?:.*[\s_(])?C[ -]?rate[)]?|.*\brate [(\[]C[)\]]", plain, re.IGNORECASE):
        return CHARGE_RATE
    bracket, spoken, suffix, over = (pattern.fullmatch(plain) for pattern in _HEADER)
    if bracket and (text := normalized(bracket["unit"])) and not is_none(text):
        return _CLOCK.get(text.lower(), text if find(text) or _like_a_unit(text) else "")
    if spoken and find(spoken["unit"]):
        return normalized(spoken["unit"])
    if suffix and (unit := find(suffix["unit"])):
        *words, before = re.split(r"[_\s]+", suffix["name"])
        if before.replace(",", ".", 1).replace(".", "", 1).isdigit():
            return ""  # after 24 h, at 25 °C
        if words and len(before) > 1 and find(before):
            return f"{normalized(before)}/{normalized(suffix['unit'])}"  # speed_mm_s
        if _may_be_suffix(suffix["name"], suffix["unit"], unit):
            return normalized(suffix["unit"])
    if over and (unit := find(over["unit"])):  # T/°C has a unit, mm/s is one
        *words, last = over["name"].split()
        if words and len(last) < SHORT and last.isalpha() and last.islower():
            return f"{last}/{normalized(over['unit'])}"  # resa q/ha
        if unit.kind == "time" and len(over["name"]) > 1 and not re.search(_STEMS["time"], over["name"], re.I):
            return ""  # turns/day is no number of days
        if unit.kind in ("mass", "volume", "length", "area") and re.search(r"[^\W\dsS]{3}s$", over["name"]):
            return ""  # seeds/kg is no weight
        if _COUNTED.search(over["name"]):
            return ""  # cells/mL is a unit itself
        if re.fullmatch(r"[A-Z]", over["unit"]):  # T/K has a unit; W/C and Pd/C are ratios
            named = re.search(_SYMBOLS.get(unit.kind, "^$"), over["name"].strip())
            return normalized(over["unit"]) if named else ""
        symbol = len(over["name"]) == 1 and unit.kind in ("time", "pressure", "temperature")
        return normalized(over["unit"]) if symbol or not find(over["name"]) else ""
    return ""


def _like_a_unit(text: str) -> bool:
    """Whether a text in brackets may be a unit that the table does not know: very short, or with a sign of units."""
    if text[0].isdigit() and text[:2] != "1/":
        return False
    if "/" in text and "%" not in text:
        over = find(text.rpartition("/")[2])  # dt/ha is a unit, Pd/C is not
        return over is not None and over.kind != "temperature"
    return len(text) <= 2 or (len(text) <= 15 and any(mark in text for mark in "%°µ²³^·"))


def _may_be_suffix(stem: str, suffix: str, unit: Unit) -> bool:
    """Whether `stem_suffix` ends in a unit: `time_min` does, `temp_min` and `site_A` do not."""
    if suffix.casefold() in ("min", "d", "m", "a", "t", "x", "n", "v", "u", "l", "in", "unit", "units", "pass", "std"):
        stems = _STEMS.get(unit.kind)
        return stems is not None and re.search(stems, stem, re.IGNORECASE) is not None
    if len(suffix) == 1 and unit.kind not in ("temperature", "time", "mass", "share"):
        return False
    if unit.kind == "temperature" and len(suffix) == 1:
        return re.match(r"t$|t_|temp", stem, re.IGNORECASE) is not None
    return True


def with_unit(name: str, unit: str) -> str:
    """The name of a quantity with its unit, unless it says it already.

    >>> with_unit("time", "h"), with_unit("Temp (°C)", "°C"), with_unit("growth", "h"), with_unit("t_min", "min")
    ('time (h)', 'Temp (°C)', 'growth (h)', 't_min')
    """
    before, after = ("(?<![^\\W_])" if unit[:1].isalnum() else "", "(?![^\\W_])" if unit[-1:].isalnum() else "")
    said = not unit or re.search(f"{before}{re.escape(unit)}{after}", name)
    return name if said else f"{name} ({unit})"
