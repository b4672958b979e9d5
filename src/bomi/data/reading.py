"""From what people type in one cell to a checked value: an input, an outcome, a standard error, an id."""

from __future__ import annotations

import re
from collections.abc import Callable

from bomi.data.observations import FAILED, UNMEASURED
from bomi.errors import CellError, UnreadableError, shown
from bomi.space import Integer, Parameter, Real, cells, typed
from bomi.space.cells import Cell, Censored, Interval, Known, Normal
from bomi.space.numbers import LARGEST, limit, unwrapped

NO = frozenset({"no", "n", "false", "0"})  # in the column `exclude`, beside a blank
FAILED_WORDS = frozenset({
    "failed", "fail", "failure", "fehlgeschlagen", "fehlversuch", "misslungen", "gescheitert", "échec", "echec",
    "échoué", "raté", "aborted", "crashed", "abgebrochen", "fallido", "fallo", "falló", "fracaso", "fallito",
    "falhou", "falha", "nieudany", "nieudana", "nieudane", "mislukt", "misslyckad", "misslyckades", "mislykket",
    "mislyktes", "epäonnistui", "selhalo", "neúspěšný", "başarısız", "неудача", "не удалось", "失敗", "失败", "실패",
})  # fmt: skip
PENDING_WORDS = frozenset({
    "", "?", "??", "nan", "<na>", "null", "tbd", "t.b.d.", "tba", "t.b.a.", "tbc", "to be determined", "pending",
    "awaited", "in progress", "running", "ongoing", "to do", "todo", "steht aus", "ausstehend", "offen", "läuft",
    "en cours", "en attente", "pendiente", "en curso",
})  # fmt: skip  # in the cell of an outcome: it is still awaited
EXPECTED = "expected a finite number, 5±1, <5, a blank for pending, n/a for not measured, or 'failed'"
_ANY_NUMBER = Real(-1.0, 1.0)  # reads a number in all its spellings; its bounds are not looked at


def read_cell(parameter: Parameter, value: object, *, keep_outside: bool = False) -> Cell:
    """A checked cell: what `value` says of the parameter, inside its bounds unless `keep_outside`."""
    cell = parameter.read(value)
    if cell is None:
        return None
    center = cell.center if isinstance(cell, Normal | Interval) else cell
    inside = _overlaps(cell, parameter) if isinstance(cell, Interval) else parameter.contains(center)
    if not inside and not keep_outside:
        raise CellError(
            f"{cells.text(cell)} is out of bounds {parameter.range_text}; "
            'widen the bounds, or admit it with out_of_bounds="keep"'
        )
    if not inside:
        parameter.to_unit(center)  # a log scale has no place for 0 and below: better told here than later
    return cell


def _overlaps(interval: Interval, parameter: Parameter) -> bool:
    return isinstance(parameter, Real | Integer) and interval.low < parameter.high and parameter.low < interval.high


def read_outcome(value: object) -> float | None:
    """A finite number, or None for pending."""
    if value.__class__ is float and -LARGEST <= value <= LARGEST:
        return value
    if cells.is_unknown(value):
        return None
    try:
        outcome = None if isinstance(value, Censored) else _ANY_NUMBER.read(value)
    except CellError:
        outcome = None
    if not isinstance(outcome, float):
        number = cells.plain(value) if isinstance(value, str) else value
        raise CellError(
            f"expected a finite number{limit(number)}, a blank for pending or 'failed', but got {shown(value)}"
        )
    return outcome


def read_told(value: object, read: Callable[[str], object] = typed.parse) -> float | Normal | Censored | str | None:
    """What the cell of an outcome tells: a number, one with its standard error, a limit, failed, not measured, or None.

    None is for an outcome that is still awaited.
    """
    if not isinstance(value, str):
        return value if isinstance(value, Normal | Censored) else read_outcome(value)
    word = value.strip().lower()
    if says_failed(word) or word in PENDING_WORDS:
        return None if word in PENDING_WORDS else FAILED
    try:
        told = read(value)
    except UnreadableError as error:
        raise UnreadableError(EXPECTED, error.got) from None
    if told is None:
        return UNMEASURED
    if isinstance(told, Interval):
        return Censored(told.low, told.high)
    return told if isinstance(told, Normal | Censored) else read_outcome(told)


def read_error(value: object) -> float | None:
    """A standard error: a finite number from 0, or None where it is not known."""
    error = None
    if not cells.is_unknown(value):
        try:
            error = read_outcome(value)
        except CellError:
            error = -1.0
    if error is not None and error < 0:
        raise CellError(f"a standard error is a number from 0, or blank, but got {shown(value)}")
    return error


def read_exclude(value: object) -> bool:
    """Whether a row is excluded: by anything but a blank or a no."""
    value = unwrapped(value)
    if cells.is_unknown(value):
        return False
    if isinstance(value, str):
        return value.strip().lower() not in NO
    return bool(value) if isinstance(value, bool | int | float) else True


_MORE_OF_IT = re.compile(  # how, when or where it failed
    r"\s*[-–:;,(]|\s(?:in|at|on|during|after|due|because|by|beim?|im|nach|wegen|lors|après|durante|por|en|dopo|nel|após)\b"
)


def is_failed(value: object) -> bool:
    """Whether a cell of an outcome says that the experiment failed."""
    return isinstance(value, str) and says_failed(value)


def says_failed(text: str) -> bool:
    """Whether a text says that an experiment failed: `failed`, `FAIL - leaked`, `failed (crack)`, `failed in the jig`.

    >>> says_failed("failed: leak"), says_failed("failed in the jig"), says_failed("failed to write it down")
    (True, True, False)
    """
    word = text.strip().casefold()
    return word in FAILED_WORDS or _MORE_OF_IT.split(word, maxsplit=1)[0] in FAILED_WORDS


def is_blank(value: object) -> bool:
    """Whether nothing was typed: a `?` or `NA` says that nobody knows, an empty cell that nobody varied it."""
    return not isinstance(value, str) or not value.strip()


def read_asked(parameter: Parameter, value: object, keep_outside: bool) -> Known | None:
    """What was asked: a checked plain value, or None where nobody knows."""
    cell = read_cell(parameter, value, keep_outside=keep_outside)
    if isinstance(cell, Normal | Interval):
        raise CellError(f"what was asked is a plain value, but got {cells.text(cell)}")
    return cell


def read_id(value: object) -> str | None:
    """The name of an experiment; None if it has none."""
    value = unwrapped(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of whole numbers with a blank among them is one of floats
    if not isinstance(value, str) and cells.is_unknown(value):
        return None
    try:
        return str(value).strip() or None
    except Exception:  # an int of more than 4,300 digits, or what has no text
        raise CellError(f"an id is a text or a number, but got {shown(value)}") from None
