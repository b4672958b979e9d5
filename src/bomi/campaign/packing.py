"""What both formats of workbooks that are written to share: an archive of which some parts are anew, added cells."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence

from bomi.space.cells import number_text
from bomi.space.typed import STRICT

UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML


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
    """The cells of columns and rows that are added, by row and by place in the row: see `append` of either format."""
    places = {name: place for place, name in enumerate((*header, *missing)) if name}
    cells = {header_number: {places[name]: name for name in missing}} if missing else {}
    for number, row in enumerate(rows, last + 1):
        texts = {name: share(text) if name in percent else text for name, text in row.items() if name in places}
        cells[number] = {places[name]: text for name, text in texts.items() if text}
    return cells


def share(text: str) -> str:
    """A number of percent as the share that a workbook stores."""
    return number_text(float(text) / 100) if STRICT.plain.fullmatch(text) else text
