"""Which mark a table writes decimals with, decided by all its numbers: `1,5` or `1.5`, and whether `1,250` is 1250."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bomi.errors import CellError
from bomi.space.typed import COMMA, MARKS, POINT, Marks, read

NEAR = 10.0  # numbers of one column are seldom further apart than this factor, where one of them has no mark


class Numeral(str):
    """A number that a workbook stores as one: its text has a decimal point, whatever marks people type beside it."""

    __slots__ = ()


@dataclass(frozen=True)
class Evidence:
    """A cell that only makes sense with a decimal comma, one with a point, and one that makes sense with both."""

    comma: str = ""
    point: str = ""
    either: str = ""

    @property
    def marks(self) -> Marks | None:
        """What it says; None where it says nothing, or both."""
        if bool(self.comma) == bool(self.point):
            return None
        return COMMA if self.comma else POINT


@dataclass(frozen=True)
class Decision:
    """The marks of each column, and the columns for which somebody has to say them: a cell of each, and why."""

    marks: Mapping[str, Marks]
    questions: Mapping[str, str]
    open: frozenset[str] = frozenset()  # those of them that a declared mark would answer


def decide(columns: Mapping[str, Sequence[str]], *, separator: str = "\t", declared: str | None = None) -> Decision:
    """The marks of the columns of numbers of a table; a declared decimal mark decides.

    The table decides for all its columns, unless it has both decimal commas and points; then each column for itself.
    """
    if declared is not None:
        return Decision(dict.fromkeys(columns, MARKS[declared]), {})
    each = {name: weigh(column) for name, column in columns.items()}
    commas, points = ([name for name in columns if getattr(each[name], kind)] for kind in ("comma", "point"))
    usual = COMMA if commas and not points else POINT if points and not commas else None
    marks, questions, either = {}, {}, set()
    for name, evidence in each.items():
        marks[name] = evidence.marks or usual or (COMMA if not points and not commas and separator == ";" else POINT)
        if evidence.comma and evidence.point:
            questions[name] = (
                f"{evidence.comma!r} has a decimal comma and {evidence.point!r} a decimal point; use one of them"
            )
        elif evidence.marks is None and (cell := evidence.either):
            said = {mark for mark in (usual, _near(columns[name], cell)) if mark}
            if separator == "," and "," not in cell:  # where commas part cells, a point is the decimal mark
                said = said or {POINT}
            if len(said) == 1:
                marks[name] = said.pop()
            else:
                either.add(name)
                questions[name] = (
                    f"{cell!r} may be {_value(cell, POINT)} or {_value(cell, COMMA)}; "
                    'say which with decimal = "." or decimal = "," in campaign.toml, or --decimal'
                )
    return Decision(marks, questions, frozenset(either))


def weigh(column: Iterable[str]) -> Evidence:
    """What the cells of a column say of its decimal mark."""
    column = list(column)
    commas = [cell for cell in column if "," in cell] if "," in "".join(column) else []
    commas = [cell for cell in commas if cell.__class__ is not Numeral]
    comma, point, either = _first(commas)
    if not (comma and point) and not (point and not commas):
        dots = (cell for cell in column if "." in cell and "," not in cell and cell.__class__ is not Numeral)
        more = _first(dots, enough="point")
        comma, point, either = comma or more[0], point or more[1], either or more[2]
    return Evidence(comma, point, either)


def _first(found: Iterable[str], enough: str = "") -> tuple[str, str, str]:
    """The first cell of each kind: comma, point, either; all that is looked at ends with a point if that is enough."""
    comma = point = either = ""
    for cell in dict.fromkeys(found) if not enough else found:
        a, b = _try(cell, COMMA), _try(cell, POINT)
        if a is None and b is not None:
            point = point or cell
            if enough:
                break
        elif b is None and a is not None:
            comma = comma or cell
        elif a != b:
            either = either or cell
    return comma, point, either


def _try(cell: str, marks: Marks) -> object:
    try:
        return read(cell, marks).value
    except CellError:
        return None


def _near(column: Iterable[str], cell: str) -> Marks | None:
    """The marks by which `1,250` is of the size of the numbers beside it that have no mark, such as 800."""
    plain = [abs(float(text)) for text in column if (text.isdecimal() or text.__class__ is Numeral) and float(text)]
    sizes = {marks: abs(size) for marks in (POINT, COMMA) if isinstance(size := _try(cell, marks), float) and size}
    fits = [marks for marks, size in sizes.items() if all(size / NEAR <= other <= size * NEAR for other in plain)]
    return fits[0] if plain and len(fits) == 1 else None


def _value(cell: str, marks: Marks) -> str:
    from bomi.space.typed import shown

    return shown(read(cell, marks).value)
