"""Rows added to an .ods workbook, and cells typed anew: the XML of its sheet gets cells, and every other byte stays.

As in `xlsx`, a cell that a formula of the table may use is left to the spreadsheet program. Rows and cells that are
alike are written once in this format, with a number; one that is changed is taken out of its run.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from bomi.campaign.packing import check_formulas, check_text, not_empty, packed
from bomi.errors import FileError
from bomi.space.cells import number_text
from bomi.space.typed import STRICT

PART = "content.xml"
_SHEET = re.compile(r"<table:table\s[^>]*>")
_NAME = re.compile(r'\btable:name="([^"]*)"')
_ROW = re.compile(r"<table:table-row\b(?P<head>[^>]*?)(?:/>|>(?P<inside>.*?)</table:table-row>)", re.DOTALL)
_CELL = re.compile(
    r"<table:(?P<kind>(?:covered-)?table-cell)\b(?P<head>[^>]*?)(?:/>|>(?P<inside>.*?)</table:(?P=kind)>)", re.DOTALL
)
_TIMES = re.compile(r'\s*table:number-(?:rows|columns)-repeated="(\d+)"')
_STYLE = re.compile(r'\stable:style-name="[^"]*"')
_SPANNED = re.compile(r'table:number-(?:rows|columns)-spanned="(?!1")\d+"')
_FORMULA = re.compile(r'\btable:formula="([^"]*)"')
_NOTE = re.compile(r"<office:annotation\b.*?</office:annotation>", re.DOTALL)


@dataclass(frozen=True)
class _Run:
    """Rows or cells that are alike: the first of them from 0, how many, and their XML."""

    first: int
    times: int
    match: re.Match[str]

    @property
    def head(self) -> str:
        """The attributes, without the number."""
        return _TIMES.sub("", self.match["head"])

    @property
    def inside(self) -> str:
        return self.match["inside"] or ""


def append(path: Path, content: bytes, sheet: str, cells: Mapping[int, Mapping[int, str]], above: int) -> bytes:
    """The workbook with more cells, by row and place; those below the row `above` look like those in it."""
    return _written(path, content, sheet, cells, above=above)


def retype(
    path: Path, content: bytes, sheet: str, cells: Mapping[int, Mapping[int, str]], rows: Collection[int]
) -> bytes:
    """The workbook with cells typed anew, by row and by place in the row; "" empties a cell. Each keeps its looks.

    `rows` are those of the table: a cell that a formula in them may use is not changed, as nobody here computes it.
    """
    return _written(path, content, sheet, cells, table=rows)


def _written(
    path: Path,
    content: bytes,
    sheet: str,
    cells: Mapping[int, Mapping[int, str]],
    *,
    above: int | None = None,
    table: Collection[int] = (),
) -> bytes:
    """The workbook with cells: below the row `above`, where nothing may stand, or over what the table holds."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = archive.read(PART).decode("utf-8")
    start, end = _extent(path, text, sheet)
    runs = list(_runs(_ROW, text[start:end]))
    by_number = {run.first + 1: run for run in runs}
    own = set(table)
    for run in runs:
        numbers = own.intersection(range(run.first + 1, run.first + min(run.times, 1000) + 1))
        formulas = (
            [re.sub(r"^\w+:=", "", html.unescape(one)) for one in _FORMULA.findall(run.inside)] if numbers else []
        )
        check_formulas(path, numbers, formulas, cells)
    looks = _looks(runs, above)
    pieces, at, wanted = [], 0, dict(cells)
    for run in by_number.values():
        here = {n: wanted.pop(n) for n in sorted(wanted) if run.first < n <= run.first + run.times}
        if here:
            pieces += [text[start + at : start + run.match.start()], _row(path, run, here, looks, above)]
            at = run.match.end()
    body = "".join(pieces) + text[start + at : end]
    beyond = runs[-1].first + runs[-1].times if runs else 0
    for number in sorted(wanted):
        gap = f"<table:table-row{_repeated('rows', number - beyond - 1)}/>" if number > beyond + 1 else ""
        body += f"{gap}<table:table-row>{_cells(path, number, '', wanted[number], looks, fresh=True)}</table:table-row>"
        beyond = number
    return packed(content, {PART: (text[:start] + body + text[end:]).encode()})


def _extent(path: Path, text: str, sheet: str) -> tuple[int, int]:
    """Where the rows of a sheet begin and end."""
    for found in _SHEET.finditer(text):
        name = _NAME.search(found[0])
        if name is not None and html.unescape(name[1]) == sheet:
            end = text.find("</table:table>", found.end())
            rows = [*_ROW.finditer(text, found.end(), end)] if not found[0].endswith("/>") and end > 0 else []
            if rows and not _SHEET.search(text, found.end(), end):
                return rows[0].start(), rows[-1].end()
    raise FileError(f"{path.name} is written in a way that cells cannot be changed in; save it as .xlsx or CSV")


def _runs(pattern: re.Pattern[str], text: str) -> Iterator[_Run]:
    place = 0
    for found in pattern.finditer(text):
        times = _TIMES.search(found["head"])
        yield _Run(place, int(times[1]) if times else 1, found)
        place += int(times[1]) if times else 1


def _looks(runs: Sequence[_Run], above: int | None) -> dict[int, str]:
    """The looks of the cells in the row above, by place: their style, and whether they are in percent."""
    if above is None:
        return {}
    row = next(run for run in runs if run.first < above <= run.first + run.times)
    return {cell.first: cell.head for cell in _runs(_CELL, row.inside) if cell.times == 1}


def _row(
    path: Path, run: _Run, wanted: Mapping[int, Mapping[int, str]], looks: Mapping[int, str], above: int | None
) -> str:
    """A run of rows with cells in some of them."""
    pieces, at = [], run.first + 1
    for number, texts in wanted.items():
        pieces += [_again(run, "rows", number - at)]
        fresh = above is not None and number > above
        made = _cells(path, number, run.inside, texts, looks if fresh else {}, fresh=above is not None)
        pieces += [f"<table:table-row{run.head}>{made}</table:table-row>"]
        at = number + 1
    return "".join([*pieces, _again(run, "rows", run.first + run.times + 1 - at)])


def _cells(
    path: Path, number: int, inside: str, texts: Mapping[int, str], looks: Mapping[int, str], *, fresh: bool
) -> str:
    """The cells of a row with some of them anew; `fresh`: only where nothing stands."""
    pieces, end, wanted = [], 0, dict(texts)
    for run in _runs(_CELL, inside):
        at, end = run.first, run.first + run.times
        for place in sorted(place for place in wanted if at <= place < end):
            pieces += [_again(run, "columns", place - at)]
            pieces += [_anew(path, number, run, wanted.pop(place), looks.get(place, ""), fresh=fresh)]
            at = place + 1
        pieces += [_again(run, "columns", end - at)]
    for place in sorted(wanted):
        pieces += [f"<table:table-cell{_repeated('columns', place - end)}/>"] if place > end else []
        pieces += [_cell(looks.get(place, ""), wanted[place])]
        end = place + 1
    return "".join(pieces)


def _anew(path: Path, number: int, run: _Run, text: str, look: str, *, fresh: bool) -> str:
    """A cell in the place of another."""
    head, note = run.head, _NOTE.search(run.inside)
    if run.match["kind"] != "table-cell" or _SPANNED.search(head):
        raise FileError(f"{path.name}: row {number} has a merged cell there; change it in your spreadsheet program")
    if fresh and ("office:value-type" in head or "table:formula" in head or "<text:p" in run.inside):
        raise not_empty(path, number)
    return _cell(head if "table:style-name" in head or not look else look, text, note[0] if note else "")


def _cell(look: str, text: str, note: str = "") -> str:
    """A cell that looks like another: a number where the text is written as one, else a text."""
    check_text(text)
    style = found[0] if (found := _STYLE.search(look)) else ""
    if not text:
        return f"<table:table-cell{style}>{note}</table:table-cell>" if note else f"<table:table-cell{style}/>"
    if STRICT.plain.fullmatch(text) and number_text(float(text)) == text:
        percent = 'office:value-type="percentage"' in look
        kind, shown = ("percentage", number_text(100 * float(text)) + "%") if percent else ("float", text)
        value = f' office:value-type="{kind}" office:value="{text}"'
        return f"<table:table-cell{style}{value}>{note}<text:p>{shown}</text:p></table:table-cell>"
    lines = "".join(f"<text:p>{_spaced(line)}</text:p>" for line in text.split("\n"))
    return f'<table:table-cell{style} office:value-type="string">{note}{lines}</table:table-cell>'


def _spaced(line: str) -> str:
    """A line in which no space is lost: of several, and at its ends, a reader keeps only those that are counted."""
    marked = re.sub(r"^ +| +$| {2,}", lambda found: f'<text:s text:c="{len(found[0])}"/>', escape(line))
    return marked.replace("\t", "<text:tab/>")


def _again(run: _Run, what: str, times: int) -> str:
    """A run as it was, so many times."""
    if times <= 0:
        return ""
    tag = "table-row" if what == "rows" else run.match["kind"]
    head = f"<table:{tag}{run.head}{_repeated(what, times)}"
    return f"{head}>{run.inside}</table:{tag}>" if run.inside else f"{head}/>"


def _repeated(what: str, times: int) -> str:
    return f' table:number-{what}-repeated="{times}"' if times > 1 else ""
