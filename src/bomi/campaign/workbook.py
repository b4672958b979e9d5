"""Workbooks, .xlsx, .xls and .ods: their sheets as rows of texts, as the same table in a text file would have them."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bomi.campaign import storage
from bomi.campaign.marks import Numeral
from bomi.errors import FileError
from bomi.space import cells, units

UNPACKED_LIMIT = 8 * storage.LIMIT  # bytes of a workbook once unpacked
MOST_CELLS = 3_000_000  # of a sheet: a hundred thousand rows of thirty columns
WIDEST = 1000  # columns: what stands further right is no table

Rows = list[list[str]]
_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_UNIT_FORMAT = re.compile(r"""[^"\\]*[0#?]((?:\s*"[^"]*"|\s*\\.|\s*[€$£°]\w?)+)\s*""")
_UNIT_SHOWN = re.compile(r"[\d.,]+\s*")
_NEVER_COMPUTED = "a formula that was never computed"


@dataclass
class Drawn:
    """How a spreadsheet program draws a sheet: its hidden rows and columns, from 1, and the cells struck through."""

    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)


def read_workbook(path: Path, content: bytes) -> dict[str, tuple[Rows, Drawn]]:
    """The sheets of a workbook by name: their rows as texts, merged cells filled down, and how they are drawn."""
    read = READERS[path.suffix.lower()]
    try:
        return {name: (rows, drawn) for name, rows, drawn in read(path, content)}
    except FileError:
        raise
    except Exception as error:  # a broken workbook may raise anything
        raise FileError(f"{path} cannot be read as a workbook: {error or type(error).__name__}") from None


def _xlsx(path: Path, content: bytes) -> Iterator[tuple[str, Rows, Drawn]]:
    try:
        import openpyxl  # type: ignore[import-untyped]
    except ImportError:
        raise FileError(f"to read {path.name} install openpyxl: pip install 'bomi[xlsx]'; or save it as CSV") from None
    _check_size(path, content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = [part for part in archive.namelist() if part.startswith("xl/worksheets/") and part.endswith(".xml")]
        _check_cells(path, sum(_cells_in(archive, part) for part in parts))
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    struck = any(font.strike for font in book._fonts)
    formulas = openpyxl.load_workbook(io.BytesIO(content)) if _has_formulas(content) else None
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible" and len(book.worksheets) > 1:
            continue
        _check_cells(path, (sheet.max_row or 1) * min(sheet.max_column or 1, WIDEST), sheet.dimensions)
        rows: Rows = [
            [_text(cell.value, cell.number_format if isinstance(cell.value, float | int) else "") for cell in row]
            for row in sheet.iter_rows(max_col=min(sheet.max_column or 1, WIDEST))
        ]
        if formulas is not None:
            for row in formulas[sheet.title].iter_rows(max_col=min(sheet.max_column or 1, WIDEST)):
                for cell in row:
                    if cell.data_type == "f" and not rows[cell.row - 1][cell.column - 1]:
                        rows[cell.row - 1][cell.column - 1] = f"={_NEVER_COMPUTED}"
        for merged in sheet.merged_cells.ranges:
            _fill_down(rows, merged.min_row - 1, merged.max_row, merged.min_col - 1)
        yield sheet.title, rows, _drawn(sheet, struck)


def _drawn(sheet: Any, struck: bool) -> Drawn:
    """How an .xlsx sheet is drawn; one entry may stand for several columns."""
    spans = [(column.min, column.max) for column in sheet.column_dimensions.values() if column.hidden]
    columns = [place for first, last in spans if first for place in range(first, min(last, WIDEST) + 1)]
    rows = [number for number, row in sheet.row_dimensions.items() if row.hidden]
    cells_of = (cell for row in sheet.iter_rows() for cell in row) if struck else ()
    return Drawn(rows, sorted(columns), [c.coordinate for c in cells_of if c.value is not None and c.font.strike])


def _has_formulas(content: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        return any(re.search(rb"<(?:\w+:)?f[ >/]", archive.read(name)) for name in sheets if not name.endswith("/"))


def _xls(path: Path, content: bytes) -> Iterator[tuple[str, Rows, Drawn]]:
    try:
        import xlrd  # type: ignore[import-untyped]
    except ImportError:
        raise FileError(f"to read {path.name} install xlrd: pip install 'bomi[xlsx]'; or save it as .xlsx") from None
    book = xlrd.open_workbook(file_contents=content, formatting_info=True, ragged_rows=True, logfile=io.StringIO())
    for sheet in book.sheets():
        if sheet.visibility and book.nsheets > 1:
            continue
        rows: Rows = []
        width = min(max((sheet.row_len(i) for i in range(sheet.nrows)), default=0), WIDEST)
        _check_cells(path, sheet.nrows * width, f"{sheet.nrows} rows and {width} columns")
        for i in range(sheet.nrows):
            row = []
            for cell in sheet.row(i)[:WIDEST]:
                value: object = cell.value
                if cell.ctype == xlrd.XL_CELL_DATE:
                    value = xlrd.xldate_as_datetime(cell.value, book.datemode)
                elif cell.ctype == xlrd.XL_CELL_BOOLEAN:
                    value = bool(cell.value)
                elif cell.ctype == xlrd.XL_CELL_ERROR:
                    value = xlrd.error_text_from_code.get(cell.value, "#N/A")
                shape = book.format_map[book.xf_list[cell.xf_index].format_key].format_str if cell.ctype == 2 else ""
                row.append(_text(value, shape))
            rows.append(row + [""] * (width - len(row)))
        for top, bottom, left, _ in sheet.merged_cells:
            _fill_down(rows, top, bottom, left)
        unseen = [i + 1 for i, row_told in sheet.rowinfo_map.items() if row_told.hidden]
        yield sheet.name, rows, Drawn(unseen, [i + 1 for i, told in sheet.colinfo_map.items() if told.hidden])


_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def _ods(path: Path, content: bytes) -> Iterator[tuple[str, Rows, Drawn]]:
    _check_size(path, content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        document = archive.read("content.xml")
    if b"<!DOCTYPE" in document[:1000]:  # no spreadsheet writes one; it may unfold without end
        raise FileError(f"{path} cannot be read as a workbook: its content has a document type")
    for sheet in ElementTree.fromstring(document).iter(f"{_TABLE}table"):
        rows: Rows = []
        spans = []
        held = 0
        drawn = Drawn()
        place = 0
        for column in sheet.iter(f"{_TABLE}table-column"):
            times = min(int(column.get(f"{_TABLE}number-columns-repeated", 1)), WIDEST - place)
            if column.get(f"{_TABLE}visibility", "visible") != "visible":
                drawn.columns.extend(range(place + 1, place + times + 1))
            place += times
        for element in sheet.iter(f"{_TABLE}table-row"):
            row: list[str] = []
            for cell in element:
                if cell.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                    continue
                if cell.tag == f"{_TABLE}table-cell" and int(cell.get(f"{_TABLE}number-rows-spanned", 1)) > 1:
                    spans.append((len(rows), len(rows) + int(cell.get(f"{_TABLE}number-rows-spanned", 1)), len(row)))
                times = min(int(cell.get(f"{_TABLE}number-columns-repeated", 1)), WIDEST - len(row))
                row += [_ods_text(cell) if cell.tag == f"{_TABLE}table-cell" else ""] * times
            while row and not row[-1]:
                row.pop()
            times = int(element.get(f"{_TABLE}number-rows-repeated", 1))
            held += times * len(row)
            _check_cells(path, held)
            if row and element.get(f"{_TABLE}visibility", "visible") != "visible":
                drawn.rows.extend(range(len(rows) + 1, len(rows) + times + 1))
            rows += [list(row) for _ in range(times if row or times < 1000 else 0)]  # a sheet ends in a million blanks
        for top, bottom, left in spans:
            _fill_down(rows, top, bottom, left)
        yield sheet.get(f"{_TABLE}name", ""), rows, drawn


def _ods_text(cell: ElementTree.Element) -> str:
    kind, value = cell.get(f"{_OFFICE}value-type", ""), cell.get(f"{_OFFICE}value")
    shown = "\n".join("".join(_ods_pieces(line)) for line in cell.findall(f"{_TEXT}p"))
    if kind in ("float", "currency", "percentage") and value is not None:
        return _text(float(value), "0%" if kind == "percentage" else f'0"{_UNIT_SHOWN.split(shown)[-1]}"')
    if kind == "date":
        return _text(datetime.datetime.fromisoformat(cell.get(f"{_OFFICE}date-value", "")[:19]), "")
    if kind == "boolean":
        return _text(cell.get(f"{_OFFICE}boolean-value") == "true", "")
    if not shown and cell.get(f"{_TABLE}formula") and not kind:
        return f"={_NEVER_COMPUTED}"
    return shown


def _ods_pieces(element: ElementTree.Element) -> Iterator[str]:
    """The text of a paragraph, with the spaces and tabs that it has elements for."""
    yield element.text or ""
    for part in element:
        if part.tag == f"{_TEXT}s":
            yield " " * int(part.get(f"{_TEXT}c", 1))
        elif part.tag == f"{_TEXT}tab":
            yield "\t"
        elif part.tag != f"{_OFFICE}annotation":
            yield from _ods_pieces(part)
        yield part.tail or ""


READERS: Mapping[str, Callable[[Path, bytes], Iterator[tuple[str, Rows, Drawn]]]] = {
    ".xlsx": _xlsx,
    ".xlsm": _xlsx,
    ".xls": _xls,
    ".ods": _ods,
}


def _text(value: Any, shape: str) -> str:
    """A cell as a text file would have it: a number to 15 digits, in percent or with a unit where it is shown so."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        percent = "%" in _QUOTED.sub("", shape)
        number = cells.number_text(float(f"{value * (100 if percent else 1):.15g}"))
        return Numeral(number + ("%" if percent else _unit_shown(shape)))
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(value, datetime.time | datetime.timedelta) and "s" not in _QUOTED.sub("", shape).casefold():
        return str(value).removesuffix(":00")  # as it is shown
    return str(value)


@cache
def _unit_shown(shape: str) -> str:
    """The unit that a number format shows behind each number, such as 0.0 "°C"; "" if none that is known.

    A comma behind the digits shows thousands, so that what is shown is not the number; % is read from the number.
    """
    if shape in ("", "General") or not (match := _UNIT_FORMAT.fullmatch(shape.split(";")[0])):
        return ""
    text = re.sub(r'["\\]', "", match[1]).strip()
    return f" {text}" if units.find(text) and "%" not in text else ""


def _fill_down(rows: Sequence[list[str]], top: int, bottom: int, left: int) -> None:
    """What stands in a merged cell stands in each row of it."""
    for i in range(top + 1, min(bottom, len(rows))):
        if left < len(rows[top]):
            rows[i] += [""] * (left + 1 - len(rows[i]))
            rows[i][left] = rows[top][left]


def _cells_in(archive: zipfile.ZipFile, part: str) -> int:
    """How many cells a sheet has, counted without unpacking it as a whole."""
    count, rest = 0, b""
    with archive.open(part) as stream:
        while piece := stream.read(2**20):
            count += (rest + piece).count(b"<c ")
            rest = piece[-2:]
    return count


def _check_cells(path: Path, count: int, where: str = "") -> None:
    if count > MOST_CELLS:
        reason = f"reaches over {where}; is there a cell far from the table?" if where else "is it the right file?"
        raise FileError(f"{path} has room for {count:,} cells, and up to {MOST_CELLS:,} are read: {reason}")


def _check_size(path: Path, content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > UNPACKED_LIMIT:
        raise FileError(f"{path} unpacks to {unpacked / 2**20:.0f} MB; is it the right file?")
