"""A table on disk, cell by cell, with every byte kept.

Text is UTF-8, UTF-16 or else Windows-1252, with `,`, `;`, tabs or `|` between cells; workbooks are .xlsx, .xls, .ods.
A record is one row of a file; it may span several lines if a quoted cell does. Rows are called by the number of their
first line, as an editor or a spreadsheet shows it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from bomi.campaign import delimited, ods, storage, xlsx
from bomi.campaign.delimited import NAMES
from bomi.campaign.layout import Layout, lay_out
from bomi.campaign.marks import Numeral
from bomi.campaign.packing import added_cells, share
from bomi.campaign.workbook import READERS, Drawn, read_workbook
from bomi.errors import CellError, FileError
from bomi.space import typed

__all__ = ["NAMES", "Sheet", "is_formula", "load_sheet", "parse_sheet", "read_sheet"]

DITTO = frozenset({
    '"', '""', "''", "″", "〃", "„", "“", "”", "‟", "ʺ", "˝", "´´", "``", "’’", ",,",
    "ditto", "Ditto", "dito", "Dito", "dto.", "idem", "Idem", "ídem", "Ídem", "wie oben",
    "s. o.", "s.o.", "same as above", "as above", "dto", "wie vor", "siehe oben", "comme ci-dessus",
    "ídem anterior", "come sopra", "j.w.", "idem anterior", "同上", "상동",
})  # fmt: skip
_SHOWN_NUMBER = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?", re.IGNORECASE)
_FORMULA = re.compile(r"[=+\-@\t\r]")


class _Writer(Protocol):
    """What writes to workbooks of one kind."""

    def append(
        self, path: Path, content: bytes, sheet: str, cells: Mapping[int, Mapping[int, str]], above: int, /
    ) -> bytes: ...

    def retype(
        self, path: Path, content: bytes, sheet: str, cells: Mapping[int, Mapping[int, str]], rows: Collection[int], /
    ) -> bytes: ...


_WRITERS: Mapping[str, _Writer] = {".xlsx": xlsx, ".xlsm": xlsx, ".ods": ods}


@dataclass(frozen=True)
class Sheet:
    """A table of texts. `rows` are the experiments; `numbers` are the lines that they begin at, from 1."""

    path: Path
    header: tuple[str, ...]
    header_number: int
    rows: list[list[str]]
    numbers: list[int]
    notes: tuple[str, ...] = ()
    encoding: str = "utf-8"
    separator: str = ","
    lines: list[str] | None = None  # with their ends; None for a workbook
    ends: tuple[int, ...] = ()  # the last line of the names and of each row
    units: Mapping[str, str] = field(default_factory=dict)  # from a row of units below the names
    head_end: int = 0  # the last line of the names and units
    name: str = ""  # of the sheet in its workbook
    beside: tuple[str, ...] = ()  # the workbook's other sheets, where none was named
    book: bytes | None = None  # the workbook

    @cached_property
    def columns(self) -> dict[str, list[str]]:
        """The columns by name, the first of each. Short rows end in blanks; ditto marks are the cell above."""
        width = len(self.header)
        full = [row if len(row) >= width else row + [""] * (width - len(row)) for row in self.rows]
        by_place = list(zip(*full, strict=False)) if full else [()] * width
        found: dict[str, list[str]] = {}
        for name, column in zip(self.header, by_place, strict=False):
            if name:
                found.setdefault(name, list(column) if DITTO.isdisjoint(column) else _repeated(column))
        return found

    @property
    def doubled(self) -> list[str]:
        """The names that more than one column has."""
        return sorted({name for name in self.header if name and self.header.count(name) > 1})

    @property
    def editable(self) -> bool:
        """Whether cells can be typed anew: in text files, .xlsx and .ods."""
        return self.lines is not None or self.path.suffix.lower() in _WRITERS

    @property
    def written(self) -> str:
        """How the table is written, in words."""
        if self.lines is not None:
            return f"{NAMES[self.separator]}-separated"
        return f"sheet {self.name!r} of a workbook" if self.name else "a workbook"

    def nameless(self) -> list[int]:
        """The places of columns that hold something but have no name, from 1."""
        width = max([len(self.header), *map(len, self.rows)], default=0)
        blank = [j for j in range(len(self.header)) if not self.header[j] and j < width]
        return [j + 1 for j in blank if any(j < len(row) and row[j].strip() for row in self.rows)]

    def beyond(self) -> list[tuple[int, int]]:
        """Rows with something beyond the last column: their number and how many cells they have."""
        width = len(self.header)
        return [
            (number, len(row))
            for number, row in zip(self.numbers, self.rows, strict=True)
            if len(row) > width and any(cell.strip() for cell in row[width:])
        ]

    def _shown_in_percent(self, names: Collection[str], last: int) -> list[str]:
        """The columns of a workbook in which a new cell, which looks like that of the last row, is shown in percent.

        A column that shows units is refused unless its last row shows the one that it shows elsewhere.
        """
        found = []
        for name in self.header:
            if name not in names:
                continue
            shown = {
                number: _SHOWN_NUMBER.sub("", row[j]) if isinstance(row[j], Numeral) else ""
                for j in [self.header.index(name)]
                for number, row in zip(self.numbers, self.rows, strict=True)
                if j < len(row)
            }
            if shown.get(last) == "%":
                found.append(name)
            other = next((unit for unit in shown.values() if unit and unit != shown.get(last, "")), "")
            if other:
                unit = "percent" if other == "%" else other.strip()
                raise FileError(
                    f"column {name!r} of {self.path.name} is shown in {unit}, but not in its last row, {last}: "
                    f"write that cell in {unit} too, so that new rows are read as they are meant"
                )
        return found

    def append(self, names: Sequence[str], rows: Sequence[dict[str, str]]) -> bytes:
        """The file with columns `names`, where it lacks them, and with more rows; all else is as it was typed."""
        missing = [name for name in names if name not in self.header]
        if self.book is not None:
            last = max([self.head_end, *self.numbers])
            for text in (*missing, *(text for row in rows for text in row.values())):
                _check_formula(text)
            percent = self._shown_in_percent({name for row in rows for name in row}, last)
            cells = added_cells(self.header, self.header_number, last, missing, rows, percent)
            return self._writer("to have rows added").append(self.path, self.book, self.name, cells, last)
        lines = list(self._lines("to have rows added"))
        newline = next((_end(lines[end - 1]) for end in reversed(self.ends) if _end(lines[end - 1])), "\n")
        header = (*self.header, *missing)
        if missing:
            added = self.separator.join(self._typed(name) for name in missing)
            blank = self.separator * (len(missing) - 1)
            for place, (end, width) in enumerate(zip(self.ends, [len(self.header), *map(len, self.rows)], strict=True)):
                body, line_end = lines[end - 1].removesuffix(_end(lines[end - 1])), _end(lines[end - 1])
                padding = self.separator * max(len(self.header) - width, 0)
                lines[end - 1] = body + padding + self.separator + (blank if place else added) + line_end
        last = max(self.ends[-1], self.head_end)
        if not _end(lines[last - 1]):
            lines[last - 1] += newline
        new = [self.separator.join(self._typed(row.get(name, "")) for name in header) + newline for row in rows]
        lines[last:last] = new
        return delimited.encode(self.path, "".join(lines), self.encoding)

    def retyped(self, changes: Mapping[tuple[int, int], str], *, without: Collection[int] = ()) -> bytes:
        """The file with some cells typed anew, by place of row and column, and without some rows, by place.

        Every other byte is as it was. A row of a workbook is emptied: what stands below it stays where it is.
        """
        if self.book is not None:
            return self._retyped_book(self.book, changes, without)
        lines = list(self._lines("to edit it"))
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
        return delimited.encode(self.path, "".join(lines), self.encoding)

    def _retyped_book(self, book: bytes, changes: Mapping[tuple[int, int], str], without: Collection[int]) -> bytes:
        cells: dict[int, dict[int, str]] = {
            self.numbers[row]: {place: "" for place, text in enumerate(self.rows[row]) if text} for row in without
        }
        for (row, column), text in changes.items():
            _check_formula(text)
            before = self.rows[row][column] if column < len(self.rows[row]) else ""
            percent = isinstance(before, Numeral) and before.endswith("%")  # the cell shows a share in percent
            cells.setdefault(self.numbers[row], {})[column] = share(text.removesuffix("%")) if percent else text
        return self._writer("to edit it").retype(self.path, book, self.name, cells, self.numbers)

    def _writer(self, purpose: str) -> _Writer:
        """What writes to such a workbook."""
        writer = _WRITERS.get(self.path.suffix.lower())
        if writer is None:
            raise FileError(f"{self.path.name} is a workbook that is only read; save it as .xlsx or CSV {purpose}")
        return writer

    def _lines(self, purpose: str) -> list[str]:
        if self.lines is None:
            raise FileError(f"{self.path.name} is a workbook, which is only read; save it as CSV {purpose}")
        return self.lines

    def _typed(self, text: str) -> str:
        """A cell of ours, quoted if it must be; never one that a spreadsheet would run."""
        _check_formula(text)
        if any(mark in text for mark in (self.separator, '"', "\n", "\r")) or text != text.strip():
            return '"' + text.replace('"', '""') + '"'
        return text


def read_sheet(path: Path, names: Collection[str] = (), *, sheet: str | None = None) -> Sheet:
    """The table in a file. Names of expected columns, where known, help to find it; `sheet` is one of a workbook's."""
    return load_sheet(path, storage.read_bytes(path), names, sheet=sheet)


def load_sheet(path: Path, content: bytes, names: Collection[str] = (), *, sheet: str | None = None) -> Sheet:
    """The table in the content of a file."""
    if path.suffix.lower() in READERS:
        return _load_workbook(path, content, names, sheet)
    return parse_sheet(path, content, names)


def parse_sheet(path: Path, content: bytes, names: Collection[str] = ()) -> Sheet:
    """The table in the content of a text file."""
    text, encoding, notes = delimited.decode(path, content)
    if not re.search(r"[^\s,;|]", text):
        raise FileError(f"{path} is empty; expected a header line with the names of the columns, then rows")
    lines = delimited.split_lines(text)
    separator, numbers, ends, records = delimited.separate(path, lines, names)
    if not records:
        raise FileError(f"{path} has no header line with the names of the columns")
    found = _laid_out(path, records, numbers, names)
    named = found.last - bool(found.units) if found.last > found.first else found.last
    return Sheet(
        path,
        found.names,
        numbers[found.first],
        [records[place] for place in found.body],
        [numbers[place] for place in found.body],
        (*notes, *_left_out(found, numbers, records)),
        encoding,
        separator,
        lines,
        (ends[named], *(ends[place] for place in found.body)),
        found.units,
        ends[found.last],
    )


def is_formula(text: str) -> bool:
    """Whether a spreadsheet might run a cell: it starts with = + - @ and is no number."""
    if not _FORMULA.match(text) or text in ("+", "-"):  # a sign alone is a text
        return False
    try:
        return not isinstance(typed.parse(text.replace(",", ".")), float)
    except CellError:
        return True


def _repeated(column: Sequence[str]) -> list[str]:
    """A column in which ditto marks are what stands above them."""
    found: list[str] = []
    for text in column:
        found.append(found[-1] if found and text.strip() in DITTO else text)
    return found


def _check_formula(text: str) -> None:
    if is_formula(text):
        raise FileError(f"a spreadsheet would run the cell {text!r} as a formula: it is not written")


def _laid_out(path: Path, records: Sequence[Sequence[str]], numbers: Sequence[int], names: Collection[str]) -> Layout:
    try:
        return lay_out(records, numbers, names)
    except FileError as error:
        raise FileError(f"{path}: {error}") from None


def _left_out(found: Layout, numbers: Sequence[int], records: Sequence[Sequence[str]]) -> list[str]:
    """What is not read as it stands, in words: titles above the header, rows that are no experiments, ditto marks."""
    notes = []
    if found.first:
        start = " ".join(" ".join(records[0]).split())
        notes.append(f"the header is row {numbers[found.first]}; above it: {start[:60]!r}")
    reasons: dict[str, list[int]] = {}
    for place, why in found.left_out:
        reasons.setdefault(why, []).append(numbers[place])
    for why, rows in reasons.items():
        some = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        notes.append(f"row{'s' if len(rows) > 1 else ''} {some} left out: {why}")
    repeated = sum(1 for place in found.body if not DITTO.isdisjoint(records[place]))
    if repeated:
        notes.append(f"ditto marks in {repeated} row{'s' if repeated > 1 else ''} read as what stands above them")
    return notes


def _told_drawn(found: Layout, numbers: Sequence[int], drawn: Drawn) -> list[str]:
    """Which experiments and columns a spreadsheet program hides or shows struck: they are read all the same."""
    rows = sorted({numbers[place] for place in found.body}.intersection(drawn.rows))
    columns = [repr(found.names[j - 1]) for j in drawn.columns if j <= len(found.names) and found.names[j - 1]]
    told: dict[str, Sequence[object]] = {
        "hidden in the workbook, but read: row": rows,
        "hidden in the workbook, but read: column": columns,
        "struck through in the workbook, but read: cell": drawn.struck,
    }
    return [
        f"{what}{'s' if len(places) > 1 else ''} {', '.join(map(str, places[:5]))}{', ...' if len(places) > 5 else ''}"
        for what, places in told.items()
        if places
    ]


def _load_workbook(path: Path, content: bytes, names: Collection[str], wanted: str | None) -> Sheet:
    """The table in a workbook: in the sheet that is named, else in the first with the expected names."""
    sheets = read_workbook(path, content)
    if wanted is not None and wanted not in sheets:
        raise FileError(f"{path} has no sheet {wanted!r}; it has {', '.join(map(repr, sheets))}")
    found: dict[str, Sheet] = {}
    fault: FileError | None = None
    for name, (rows, drawn) in sheets.items() if wanted is None else [(wanted, sheets[wanted])]:
        try:
            found[name] = _sheet(path, content, name, rows, drawn, names)
        except FileError as error:
            fault = fault or error
    if not found:
        raise fault or FileError(f"{path} is empty; expected a header row with the names of the columns, then rows")
    expected = set(names)
    best = max(found, key=lambda name: (len(expected.intersection(found[name].header)), _is_table(found[name])))
    if len(sheets) > 1 and wanted is None:
        others = tuple(name for name in sheets if name != best)
        note = f"read from sheet {best!r}; not read: {', '.join(map(repr, others))}"
        return replace(found[best], notes=(note, *found[best].notes), beside=others)
    return found[best]


def _is_table(sheet: Sheet) -> bool:
    """Whether a sheet has rows of numbers, and not only a text."""
    numbers = sum(cell.__class__ is Numeral for row in sheet.rows[:50] for cell in row)
    return len([name for name in sheet.header if name]) > 1 and numbers > 1


def _sheet(
    path: Path, content: bytes, name: str, rows: Sequence[list[str]], drawn: Drawn, names: Collection[str]
) -> Sheet:
    kept = [(number, row) for number, row in enumerate(rows, 1) if any(map(str.strip, row))]
    if not kept:
        raise FileError(f"{path} is empty; expected a header row with the names of the columns, then rows")
    numbers, records = [number for number, _ in kept], [row for _, row in kept]
    found = _laid_out(path, records, numbers, names)
    named = found.last - bool(found.units) if found.last > found.first else found.last
    return Sheet(
        path,
        found.names,
        numbers[named],
        [records[place] for place in found.body],
        [numbers[place] for place in found.body],
        (*_left_out(found, numbers, records), *_told_drawn(found, numbers, drawn)),
        separator="\t",
        units=found.units,
        head_end=numbers[found.last],
        name=name,
        book=content,
    )


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
