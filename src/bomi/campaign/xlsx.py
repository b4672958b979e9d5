"""Rows added to an .xlsx workbook: its sheet's XML gets cells, and every other byte inside stays.

A library would load and save the whole book, and lose its charts and what its formulas have computed.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

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
_DIMENSION = re.compile(r'(<dimension ref=")([A-Z]+\d+)(?::([A-Z]+)(\d+))?(")')


def append(
    path: Path,
    content: bytes,
    sheet: str,
    header: Sequence[str],
    header_number: int,
    last: int,
    missing: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    percent: Collection[str] = (),
) -> bytes:
    """The workbook with more columns, named in the header's row, and with more rows below its row `last`.

    A new cell looks like the one in the row above. Columns shown in percent are written as shares.
    """
    if path.suffix.lower() not in (".xlsx", ".xlsm"):
        raise FileError(f"{path.name} is a workbook that is only read; save it as .xlsx or CSV to have rows added")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        part = _part(archive, sheet)
        text = archive.read(part).decode("utf-8")
    places = {name: place for place, name in enumerate((*header, *missing)) if name}
    cells: dict[int, dict[int, str]] = {header_number: {places[name]: name for name in missing}} if missing else {}
    for number, row in enumerate(rows, last + 1):
        cells[number] = {
            places[name]: _share(text) if name in percent else text for name, text in row.items() if name in places
        }
        cells[number] = {place: text for place, text in cells[number].items() if text}
    changed = _with_cells(path, text, cells, last)
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info, changed.encode() if info.filename == part else old.read(info.filename))
    return packed.getvalue()


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


def _merged(path: Path, number: int, old: re.Match[str], made: Mapping[int, str]) -> str:
    """A row that is there already, with cells that are blank in it."""
    held: dict[int, str] = {}
    for cell in _CELL.finditer(old["cells"] or ""):
        if place := _PLACE.search(cell["attributes"]):
            j = _index(place[1])
            held[j] = cell[0]
            full = re.search(r"<(?:v|f|is)\b", cell["inside"] or "")
            if full and j in made:
                raise FileError(
                    f"{path.name}: row {number} is not empty, so no experiment can be added below the last one; "
                    "leave blank rows between the table and what stands under it"
                )
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
    if STRICT.plain.fullmatch(text) and number_text(float(text)) == text:
        return f"{head}><v>{text}</v></c>"
    return f'{head} t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def _share(text: str) -> str:
    return number_text(float(text) / 100) if STRICT.plain.fullmatch(text) else text


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
