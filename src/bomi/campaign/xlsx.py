"""Rows added to an .xlsx workbook, and cells typed anew: its sheet's XML gets cells, and every other byte inside stays.

A library would load and save the whole book, and lose its charts and what its formulas have computed. What depends on
a changed cell is not computed here: a cell that a formula of the table may use is left to the spreadsheet program.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from bomi.campaign.packing import check_formulas, check_text, not_empty, packed
from bomi.errors import FileError
from bomi.space.cells import number_text
from bomi.space.typed import STRICT

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_DATA = re.compile(r"<sheetData\s*/>|<sheetData>.*</sheetData>", re.DOTALL)
_ROW = re.compile(r"<row\b(?P<attributes>[^>]*?)(?:/>|>(?P<cells>.*?)</row>)", re.DOTALL)
_CELL = re.compile(r"<c\b(?P<attributes>[^>]*?)(?:/>|>(?P<inside>.*?)</c>)", re.DOTALL)
_PLACE = re.compile(r'\br="([A-Z]+)(\d+)"')
_NUMBER = re.compile(r'\br="(\d+)"')
_STYLE = re.compile(r'\bs="\d+"')
_FORMULA = re.compile(r"<f\b[^>]*?(?:/>|>(?P<text>.*?)</f>)", re.DOTALL)
_MERGED = re.compile(r'<mergeCell ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')
_CALCULATION = re.compile(r"<calcPr\b(?![^>]*fullCalcOnLoad)")
_DIMENSION = re.compile(r'(<dimension ref=")([A-Z]+\d+)(?::([A-Z]+)(\d+))?(")')


def append(path: Path, content: bytes, sheet: str, cells: Mapping[int, Mapping[int, str]], above: int) -> bytes:
    """The workbook with more cells, by row and place; those below the row `above` look like those in it."""
    part, text = _opened(content, sheet)
    return packed(content, {part: _with_cells(path, text, cells, above).encode()})


def retype(
    path: Path, content: bytes, sheet: str, cells: Mapping[int, Mapping[int, str]], rows: Collection[int]
) -> bytes:
    """The workbook with cells typed anew, by row and by place in the row; "" empties a cell. Each keeps its looks.

    `rows` are those of the table: a cell that a formula in them may use is not changed, as nobody here computes it.
    """
    part, text = _opened(content, sheet)
    data = _DATA.search(text)
    found = {int(n[1]): row for row in _ROW.finditer(data[0] if data else "") if (n := _NUMBER.search(row[1]))}
    if data is None or not found.keys() >= cells.keys():
        raise FileError(f"{path.name} is written in a way that cells cannot be changed in; save it as CSV")
    for number in rows:
        formulas = [one["text"] or "" for one in _FORMULA.finditer(found[number][0])] if number in found else []
        check_formulas(path, [number], formulas, cells)
    for left, top, right, bottom in _MERGED.findall(text):
        for number in range(int(top), int(bottom) + 1):
            for place in cells.get(number, ()):
                if _index(left) <= place <= _index(right) and (top != bottom or place > _index(left)):
                    raise FileError(
                        f"{path.name}: {_letters(place)}{number} is part of the merged cell "
                        f"{left}{top}:{right}{bottom}; change it in your spreadsheet program"
                    )
    pieces, start = [], 0
    for number in sorted(cells):
        old = found[number]
        made = {j: _cell(number, j, value, {}) for j, value in cells[number].items()}
        pieces += [data[0][start : old.start()], _merged(path, number, old, made, over=True)]
        start = old.end()
    new = "".join(pieces) + data[0][start:]
    width = max((place for row in cells.values() for place in row), default=0)
    changed = _sized(text[: data.start()] + new + text[data.end() :], width, max(cells, default=0))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        book = archive.read("xl/workbook.xml").decode("utf-8")
    anew = _CALCULATION.sub('<calcPr fullCalcOnLoad="1"', book)  # formulas elsewhere, once a spreadsheet opens it
    return packed(content, {part: changed.encode(), "xl/workbook.xml": anew.encode()})


def _opened(content: bytes, sheet: str) -> tuple[str, str]:
    """Where in a workbook a sheet is, and its XML."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        part = _part(archive, sheet)
        return part, archive.read(part).decode("utf-8")


def _part(archive: zipfile.ZipFile, sheet: str) -> str:
    """Where in the archive a sheet is."""
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    identity = next(one.get(_RELATION) for one in book.iter(f"{_MAIN}sheet") if one.get("name") == sheet)
    target = next(one.get("Target", "") for one in relations if one.get("Id") == identity)
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _with_cells(path: Path, text: str, cells: Mapping[int, Mapping[int, str]], above: int) -> str:
    """The XML of a sheet with more cells, by row and by place in the row."""
    data = _DATA.search(text)
    if data is None:
        raise FileError(f"{path.name} is written in a way that rows cannot be added to; save it as CSV")
    found = {int(place[1]): row for row in _ROW.finditer(data[0]) if (place := _NUMBER.search(row["attributes"]))}
    styles = _styles(found[above]["cells"] or "") if above in found else {}
    pieces, start = [], len("<sheetData>")
    inner = data[0] if not data[0].endswith("/>") else "<sheetData></sheetData>"
    later = sorted(number for number in found)
    for number, row in sorted(cells.items()):
        made = {j: _cell(number, j, value, styles if number > above else {}) for j, value in row.items()}
        if number in found:
            old = found[number]
            pieces += [inner[start : old.start()], _merged(path, number, old, made)]
            start = old.end()
        else:
            after = next((found[n].start() for n in later if n > number), inner.rindex("</sheetData>"))
            pieces += [inner[start:after], f'<row r="{number}">{"".join(made[j] for j in sorted(made))}</row>']
            start = after
    new = "<sheetData>" + "".join(pieces) + inner[start:]
    width = max((place for row in cells.values() for place in row), default=0)
    return _sized(text[: data.start()] + new + text[data.end() :], width, max(cells, default=0))


def _merged(path: Path, number: int, old: re.Match[str], made: Mapping[int, str], *, over: bool = False) -> str:
    """A row that is there already, with cells that are blank in it, or `over` what it holds."""
    held: dict[int, str] = {}
    for cell in _CELL.finditer(old["cells"] or ""):
        place = _PLACE.search(cell["attributes"])
        if place is None:
            raise FileError(f"{path.name} is written in a way that row {number} cannot be changed in; save it as CSV")
        j = _index(place[1])
        held[j] = cell[0]
        full = re.search(r"<(?:v|f|is)\b", cell["inside"] or "")
        if full and j in made and not over:
            raise not_empty(path, number)
        style = _STYLE.search(cell["attributes"])
        if j in made and style:
            made = {**made, j: _STYLE.sub("", made[j]).replace("<c ", f"<c {style[0]} ")}
    together = {**held, **made}
    return f"<row{old['attributes']}>{''.join(together[place] for place in sorted(together))}</row>"


def _styles(row: str) -> dict[int, str]:
    """The looks of the cells of a row."""
    found = {}
    for cell in _CELL.finditer(row):
        place, style = _PLACE.search(cell["attributes"]), _STYLE.search(cell["attributes"])
        if place and style:
            found[_index(place[1])] = style[0]
    return found


def _cell(number: int, place: int, text: str, styles: Mapping[int, str]) -> str:
    """A cell: a number where the text is written as one, else a text."""
    head = f'<c r="{_letters(place)}{number}"' + (f" {styles[place]}" if place in styles else "")
    if not text:
        return f"{head}/>"
    check_text(text)
    if STRICT.plain.fullmatch(text) and number_text(float(text)) == text:
        return f"{head}><v>{text}</v></c>"
    return f'{head} t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def _sized(text: str, width: int, height: int) -> str:
    """With the size that the sheet states of itself."""

    def grown(match: re.Match[str]) -> str:
        column, row = match[3] or re.sub(r"\d", "", match[2]), int(match[4] or re.sub(r"\D", "", match[2]))
        return f"{match[1]}{match[2]}:{_letters(max(_index(column), width))}{max(row, height)}{match[5]}"

    return _DIMENSION.sub(grown, text, count=1)


def _letters(place: int) -> str:
    """The name of a column by its place from 0: A, B, ..., Z, AA."""
    name, place = "", place + 1
    while place:
        place, rest = divmod(place - 1, 26)
        name = chr(65 + rest) + name
    return name


def _index(letters: str) -> int:
    place = 0
    for letter in letters:
        place = place * 26 + ord(letter) - 64
    return place - 1
