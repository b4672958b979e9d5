"""A table as spreadsheets write it, with every byte kept.

Text: UTF-8 with or without a byte-order mark, else Windows-1252; `,`, `;` or tab between cells; quoted cells, blank
lines, trailing empty columns, any line ends. A record is one row of the table; it may span several lines if a quoted
cell does. Rows are called by the number of their first line, as an editor or a spreadsheet shows it.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bomi.campaign import storage
from bomi.errors import FileError
from bomi.space import cells

SEPARATORS = ("\t", ";", ",")
NAMES = {"\t": "tab", ";": "semicolon", ",": "comma"}
SNIFFED = 200  # lines that the separator is guessed from
UNPACKED_LIMIT = 8 * storage.LIMIT  # bytes of a workbook once unpacked

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_DECLARED = re.compile(r"sep=([\t;,])[ \r\n]*", re.IGNORECASE)
_NUMERIC = re.compile(r"[-+\d.,eE±/\s]*\d[-+\d.,eE±/\s]*")
_POINT = re.compile(r"(?<!\.)\.(?!\.)")  # of a number, not of an interval
_FORMULA = re.compile(r"[=+\-@\t\r]")


@dataclass(frozen=True)
class Sheet:
    """A table of texts. `rows` leaves out blank lines; `numbers` are the lines that the rows begin at, from 1."""

    path: Path
    header: tuple[str, ...]
    header_number: int
    rows: list[list[str]]
    numbers: list[int]
    notes: tuple[str, ...] = ()
    encoding: str = "utf-8"
    separator: str = ","
    lines: list[str] | None = None  # with their ends; None for a workbook, which is only read
    ends: tuple[int, ...] = ()  # the last line of the header and of each row

    @cached_property
    def columns(self) -> dict[str, list[str]]:
        """The named columns; of two with one name the first. Short rows end in blanks."""
        width = len(self.header)
        full = [row if len(row) >= width else row + [""] * (width - len(row)) for row in self.rows]
        by_place = list(zip(*full, strict=False)) if full else [()] * width
        found: dict[str, list[str]] = {}
        for name, column in zip(self.header, by_place, strict=False):
            if name:
                found.setdefault(name, list(column))
        return found

    @property
    def doubled(self) -> list[str]:
        """The names that more than one column has."""
        return sorted({name for name in self.header if name and self.header.count(name) > 1})

    def beyond(self) -> list[tuple[int, int]]:
        """Rows with something beyond the last column: their number and how many cells they have."""
        width = len(self.header)
        return [
            (number, len(row))
            for number, row in zip(self.numbers, self.rows, strict=True)
            if len(row) > width and any(cell.strip() for cell in row[width:])
        ]

    def decimal(self, names: Collection[str]) -> str | None:
        """The decimal mark of the number columns, None if commas and points are mixed.

        A comma counts only where it does not separate cells. Without a decimal to go by: a semicolon is what
        spreadsheets write where the comma is the decimal mark.
        """
        if self.separator == ",":
            return "."
        found = [cell for name in names if name in self.columns for cell in self.columns[name]]
        commas = any("," in cell and _NUMERIC.fullmatch(cell) for cell in found)
        points = any("." in cell and _POINT.search(cell) and _NUMERIC.fullmatch(cell) for cell in found)
        if commas and points:
            return None
        return "," if commas or (self.separator == ";" and not points) else "."

    def append(self, names: Sequence[str], rows: Sequence[dict[str, str]]) -> bytes:
        """The file with columns `names`, where it lacks them, and with more rows; all else is as it was typed."""
        if self.lines is None:
            raise FileError(f"{self.path.name} is a workbook, which is only read; save it as CSV to have rows added")
        lines = list(self.lines)
        newline = next((_end(lines[end - 1]) for end in reversed(self.ends) if _end(lines[end - 1])), "\n")
        missing = [name for name in names if name not in self.header]
        header = (*self.header, *missing)
        if missing:
            added = self.separator.join(self._typed(name) for name in missing)
            blank = self.separator * (len(missing) - 1)
            for place, (end, width) in enumerate(zip(self.ends, [len(self.header), *map(len, self.rows)], strict=True)):
                body, line_end = lines[end - 1].removesuffix(_end(lines[end - 1])), _end(lines[end - 1])
                padding = self.separator * max(len(self.header) - width, 0)
                lines[end - 1] = body + padding + self.separator + (blank if place else added) + line_end
        last = self.ends[-1]
        if not _end(lines[last - 1]):
            lines[last - 1] += newline
        new = [self.separator.join(self._typed(row.get(name, "")) for name in header) + newline for row in rows]
        lines[last:last] = new
        return self._encoded(lines)

    def retyped(self, changes: Mapping[tuple[int, int], str], *, without: Collection[int] = ()) -> bytes:
        """The file with some cells typed anew, by place of row and column, and without some rows, by place.

        Every other byte is as it was.
        """
        if self.lines is None:
            raise FileError(f"{self.path.name} is a workbook, which is only read; save it as CSV to edit it")
        lines: list[str] = list(self.lines)
        by_row: dict[int, dict[int, str]] = {}
        for (row, column), text in changes.items():
            by_row.setdefault(row, {})[column] = text
        for row, texts in by_row.items():
            first, last = self.numbers[row] - 1, self.ends[row + 1]
            record = "".join(lines[first:last])
            end = _end(record)
            pieces = _pieces(record.removesuffix(end), self.separator)
            pieces += [""] * (max(texts) + 1 - len(pieces))
            for column, text in texts.items():
                pieces[column] = self._typed(text)
            lines[first:last] = [self.separator.join(pieces) + end, *[""] * (last - first - 1)]
        for row in without:
            first, last = self.numbers[row] - 1, self.ends[row + 1]
            lines[first:last] = [""] * (last - first)
        return self._encoded(lines)

    def _encoded(self, lines: Sequence[str]) -> bytes:
        try:
            return "".join(lines).encode(self.encoding)
        except UnicodeEncodeError as error:
            raise FileError(
                f"{self.path.name} is in Windows-1252, which has no {error.object[error.start]!r}; save it as UTF-8"
            ) from None

    def _typed(self, text: str) -> str:
        """A cell of ours, quoted if it must be; never one that a spreadsheet would run."""
        if is_formula(text):
            raise FileError(f"a spreadsheet would run the cell {text!r} as a formula: it is not written")
        if any(mark in text for mark in (self.separator, '"', "\n", "\r")) or text != text.strip():
            return '"' + text.replace('"', '""') + '"'
        return text


def read_sheet(path: Path, names: Collection[str] = ()) -> Sheet:
    """The table in a file, .csv or .xlsx. Names of expected columns, where known, help to find the separator."""
    return load_sheet(path, storage.read_bytes(path), names)


def load_sheet(path: Path, content: bytes, names: Collection[str] = ()) -> Sheet:
    """The table in the content of a file."""
    if path.suffix.lower() in (".xlsx", ".xlsm"):
        return _read_workbook(path, content)
    return parse_sheet(path, content, names)


def parse_sheet(path: Path, content: bytes, names: Collection[str] = ()) -> Sheet:
    """The table in the content of a text file."""
    text, encoding = _decode(path, content)
    lines = _LINE.findall(text)
    if not re.search(r"[^\s,;]", text):
        raise FileError(f"{path} is empty; expected a header line with the names of the columns, then rows")
    first = next(place for place, line in enumerate(lines) if line.strip())
    declared = _DECLARED.fullmatch(lines[first])  # spreadsheets may write such a line before the header
    skipped = first + 1 if declared else 0
    separator = declared[1] if declared else _sniff(lines, names)
    numbers, ends, rows = _records(path, lines, separator, skipped)
    if not rows:
        raise FileError(f"{path} has no header line with the names of the columns")
    header = tuple(name.strip() for name in rows[0])
    notes = () if encoding != "cp1252" else ("not UTF-8: read as Windows-1252",)
    return Sheet(path, header, numbers[0], rows[1:], numbers[1:], notes, encoding, separator, lines, tuple(ends))


def is_formula(text: str) -> bool:
    """Whether a spreadsheet might run a cell: it starts with = + - @ and is no number."""
    if not _FORMULA.match(text):
        return False
    try:
        return not isinstance(cells.parse(text.replace(",", ".")), float)
    except ValueError:
        return True


def _decode(path: Path, content: bytes) -> tuple[str, str]:
    if content.startswith(b"PK\x03\x04"):
        raise FileError(f"{path} is a workbook or an archive; name a workbook .xlsx, or save it as CSV")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(f"{path} is in UTF-16; save it as CSV in UTF-8")
    encoding = "utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else "utf-8"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        encoding = "cp1252"
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            raise FileError(f"{path} is no text in UTF-8 or Windows-1252; is it the right file?") from None
    if match := _CONTROL.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise FileError(f"{path} is no text: line {line} has the character {match[0]!r}; is it the right file?")
    return text, encoding


def _sniff(lines: Sequence[str], names: Collection[str]) -> str:
    """The separator with which the header has most of the expected names, then most rows are as wide as it."""

    def score(separator: str) -> tuple[int, float]:
        try:
            records = [row for row in csv.reader(lines[:SNIFFED], delimiter=separator) if any(map(str.strip, row))]
        except csv.Error:
            return 0, 0.0
        if not records or len(records[0]) < 2:
            return 0, 0.0
        header = {name.strip() for name in records[0]}
        alike = sum(len(row) == len(records[0]) for row in records)
        return len(header.intersection(names)), alike / len(records)

    best = max(SEPARATORS, key=score)  # the first of equals: a tab or semicolon seldom stands in a name
    return best if score(best) > (0, 0.0) else ","


def _records(
    path: Path, lines: Sequence[str], separator: str, skipped: int
) -> tuple[list[int], list[int], list[list[str]]]:
    """Each record that is not blank: its first and its last line, from 1, and its cells."""
    numbers, ends, rows = [], [], []
    reader = csv.reader(lines[skipped:], delimiter=separator, strict=True)
    number = skipped + 1
    try:
        for row in reader:
            end = skipped + reader.line_num
            if any(map(str.strip, row)):
                numbers.append(number)
                ends.append(end)
                rows.append(row)
            number = end + 1
    except csv.Error as error:
        what = {
            "unexpected end of data": "a quote is opened and never closed",
            f"'{separator}' expected after '\"'": 'text follows a closing quote; write "" for a quote within quotes',
        }.get(str(error), str(error))
        raise FileError(f"{path}, row {number}: {what}") from None
    return numbers, ends, rows


def _read_workbook(path: Path, content: bytes) -> Sheet:
    """The first sheet of a workbook, through pandas."""
    try:
        import openpyxl  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise FileError(f"to read {path.name} install openpyxl: pip install 'bomi[xlsx]'; or save it as CSV") from None
    import pandas as pd

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > UNPACKED_LIMIT:
            raise FileError(f"{path} unpacks to {unpacked / 2**20:.0f} MB; is it the right file?")
        frame = pd.read_excel(io.BytesIO(content), header=None, dtype=object, na_filter=False, engine="openpyxl")
    except FileError:
        raise
    except Exception as error:  # a broken workbook may raise anything
        raise FileError(f"{path} cannot be read as a workbook: {error or type(error).__name__}") from None
    table = [[_workbook_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    kept = [(number, row) for number, row in enumerate(table, 1) if any(map(str.strip, row))]
    if not kept:
        raise FileError(f"{path} is empty; expected a header row with the names of the columns, then rows")
    (number, header), *rest = kept
    names = tuple(name.strip() for name in header)
    return Sheet(path, names, number, [row for _, row in rest], [n for n, _ in rest], separator="\t")


def _workbook_cell(value: object) -> str:
    if cells.is_unknown(value):
        return value if isinstance(value, str) else ""
    return cells.text(value) if isinstance(value, bool | int | float | str) else str(value)


def _end(line: str) -> str:
    """The line end of a line."""
    return line[len(line.rstrip("\r\n")) :]


def _pieces(record: str, separator: str) -> list[str]:
    """The cells of a record as they are typed, quotes included; joined by the separator they are the record again."""
    pieces, start, quoted = [], 0, False
    for place, mark in enumerate(record):
        if mark == '"' and record[start] == '"':  # a quote within an unquoted cell is only a quote
            quoted = not quoted  # a doubled one closes and opens again
        elif mark == separator and not quoted:
            pieces.append(record[start:place])
            start = place + 1
    return [*pieces, record[start:]]
