"""What both formats of workbooks that are written to share: an archive of which some parts are anew, added cells."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from bomi.errors import FileError
from bomi.space.cells import number_text
from bomi.space.typed import STRICT

_UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML


def packed(content: bytes, parts: Mapping[str, bytes]) -> bytes:
    """A workbook with some of its parts anew."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info, parts.get(info.filename) or old.read(info.filename))
    return made.getvalue()


def added_cells(
    header: Sequence[str],
    header_number: int,
    last: int,
    missing: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    percent: Collection[str],
) -> dict[int, dict[int, str]]:
    """The cells of more columns, named in the header's row, and of rows below the `last`, by row and by place in it.

    Columns shown in percent are written as shares.
    """
    places = {name: place for place, name in enumerate((*header, *missing)) if name}
    cells = {header_number: {places[name]: name for name in missing}} if missing else {}
    for number, row in enumerate(rows, last + 1):
        texts = {name: share(text) if name in percent else text for name, text in row.items() if name in places}
        cells[number] = {places[name]: text for name, text in texts.items() if text}
    return cells


def check_text(text: str) -> None:
    """FileError for a text that XML cannot hold."""
    if wrong := _UNWRITABLE.search(text):
        raise FileError(f"a workbook cannot hold the character {wrong[0]!r} of the cell {text!r}")


def check_formulas(path: Path, rows: Collection[int], formulas: Sequence[str], changed: Collection[int]) -> None:
    """FileError where a formula in some rows may use changed ones: its result would be read as it was before."""
    uses = [n for n in changed if n in rows or any(re.search(rf":|[A-Z]\$?{n}(?!\d)", one) for one in formulas)]
    if formulas and uses:
        raise FileError(
            f"{path.name}: row {min(rows)} has a formula that may use row {uses[0]}; only a spreadsheet program can "
            "compute it anew, so change it there"
        )


def not_empty(path: Path, number: int) -> FileError:
    """The error where something stands in the way of a new row."""
    return FileError(
        f"{path.name}: row {number} is not empty, so no experiment can be added below the last one; "
        "leave blank rows between the table and what stands under it"
    )


def share(text: str) -> str:
    """A number of percent as the share that a workbook stores."""
    return number_text(float(text) / 100) if STRICT.plain.fullmatch(text) else text
