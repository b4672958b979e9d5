"""Small messy tables in the habits of several fields and languages, with what every cell of them must be read as.

A case is a text file of three parts, separated by lines of five hyphens: how the file is written and called, its
content, and what `init` and `check` must make of it. A content for a workbook is written as tab-separated text; what
reads as a plain number there is a number in the workbook, and a cell that starts with = is a formula.
"""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

from bomi.campaign import guess
from bomi.campaign.doubts import doubts
from bomi.campaign.experiments import check
from bomi.campaign.sheet import load_sheet
from bomi.data.observations import Row
from bomi.errors import BomiError
from bomi.space import cells

FOLDER = Path(__file__).with_name("corpus")


@dataclass(frozen=True)
class Case:
    """A messy table: the options that `init` gets, its bytes by the name of its file, and what must be read."""

    name: str
    options: dict[str, str]
    content: str
    expected: str

    @property
    def file(self) -> str:
        return self.name + self.options.get("form", ".csv")

    def bytes(self) -> bytes:
        form = self.options.get("form", ".csv")
        rows = [line.split("\t") for line in self.content.splitlines()]
        if form == ".xlsx":
            return workbook(rows, self.options)
        if form == ".ods":
            return spreadsheet(rows)
        text = self.content.replace("\n", self.options.get("ends", "\n").encode().decode("unicode_escape"))
        return text.encode(self.options.get("encoding", "utf-8"))


@cache
def cases() -> list[Case]:
    """Every case."""
    return [load(path) for path in sorted(FOLDER.glob("*.txt"))]


def load(path: Path) -> Case:
    options, content, expected = path.read_text(encoding="utf-8").split("-----\n")
    pairs = (line.split(": ", 1) for line in options.splitlines())
    return Case(path.stem, dict(pairs), content, expected)


def outcome(case: Case) -> str:
    """What `init` and `check` make of a case, column by column, or the error."""
    path, options = Path(case.file), case.options
    try:
        sheet = load_sheet(path, case.bytes(), sheet=options.get("sheet"))
        wanted = dict.fromkeys(options["objective"].split(",")) if "objective" in options else None
        found = guess(sheet, objective=wanted, decimal=options.get("decimal"))
        experiments = check(sheet, found.campaign)
    except BomiError as error:
        return f"error: {str(error).replace(str(path), 'FILE')}\n"
    campaign = found.campaign
    lines = []
    if campaign.id_column in sheet.columns:
        lines.append(f"id {campaign.id_column}: " + " | ".join(row.id or "" for row in experiments.rows))
    for name, parameter in campaign.space.parameters.items():
        kind = parameter.kind + (" log" if getattr(parameter, "log", False) else "")
        head = f"{kind} {name}" + (f" [{parameter.unit}]" if parameter.unit else "")
        lines.append(f"{head}: " + " | ".join(cells.text(row.recorded[name]) for row in experiments.rows))
    for objective in campaign.objectives:
        head = f"{objective.goal} {objective.name}" + (f" [{objective.unit}]" if objective.unit else "")
        lines.append(f"{head}: " + " | ".join(told(row, objective.name) for row in experiments.rows))
    lines += [f"constraint: {one}" for one in campaign.space.constraints]
    if found.unused:
        lines.append(f"unused: {', '.join(found.unused)}")
    if found.doubtful:
        lines.append(f"doubt: {', '.join(found.doubtful)}")
    lines += [f"note: {note}" for note in sheet.notes]
    lines += [f"look: {doubt}" for doubt in doubts(experiments)]
    return "\n".join(lines) + "\n"


def told(row: Row, name: str) -> str:
    if row.failed:
        return "failed"
    if name in row.unmeasured:
        return "n/a"
    if name in row.censored:
        return str(row.censored[name])
    if name not in row.outcomes:
        return "pending"
    spread = f"±{cells.number_text(row.errors[name])}" if name in row.errors else ""
    return cells.number_text(row.outcomes[name]) + spread


def number(text: str) -> float | None:
    try:
        return (
            float(text)
            if (text.strip() == text and not text.startswith("0")) or text in ("0",) or "." in text
            else None
        )
    except ValueError:
        return None


def workbook(rows: list[list[str]], options: dict[str, str]) -> bytes:
    import openpyxl
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    book = openpyxl.Workbook()
    sheet = book.active
    for title in options.get("before", "").split(",") if "before" in options else ():
        other = book.create_sheet(title, 0)
        other["A1"] = "see the other sheet"
    for i, row in enumerate(rows, 1):
        for j, text in enumerate(row, 1):
            percent = text.endswith("%%")  # a number shown in percent
            value = number(text.removesuffix("%%"))
            if text:
                typed = text.removeprefix("'") if value is None else value / 100 if percent else value
                if re.match(r"\d{4}-\d\d-\d\d", text) and get_column_letter(j) in options.get("dates", "").split(","):
                    typed = datetime.datetime.fromisoformat(text)
                cell = sheet.cell(i, j, typed)
                cell.number_format = "0%" if percent else "General"
    for merged in options.get("merged", "").split(",") if "merged" in options else ():
        sheet.merge_cells(merged)
    for shaped in options.get("format", "").split("; ") if "format" in options else ():
        letter, _, shape = shaped.partition("=")
        for cell in sheet[letter][1:]:
            cell.number_format = shape
    for struck in options.get("struck", "").split(",") if "struck" in options else ():
        sheet[struck].font = Font(strike=True)
    for place in options.get("hidden", "").split(",") if "hidden" in options else ():
        (sheet.row_dimensions[int(place)] if place.isdigit() else sheet.column_dimensions[place]).hidden = True
    packed = io.BytesIO()
    book.save(packed)
    return packed.getvalue()


def spreadsheet(rows: list[list[str]]) -> bytes:
    """The smallest .ods that holds the rows."""

    def cell(text: str) -> str:
        value = number(text.removesuffix("%%"))
        if not text:
            return "<table:table-cell/>"
        if value is None:
            return f'<table:table-cell office:value-type="string"><text:p>{escape(text)}</text:p></table:table-cell>'
        kind, value = ("percentage", value / 100) if text.endswith("%%") else ("float", value)
        shown = escape(text.replace(".", ",").replace("%%", "%"))
        head = f'<table:table-cell office:value-type="{kind}" office:value="{value!r}">'
        return f"{head}<text:p>{shown}</text:p></table:table-cell>"

    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces}><office:body><office:spreadsheet>'
        f'<table:table table:name="Table1">{lines}<table:table-row table:number-rows-repeated="1048000">'
        '<table:table-cell table:number-columns-repeated="1024"/></table:table-row></table:table>'
        "</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
    return packed.getvalue()
