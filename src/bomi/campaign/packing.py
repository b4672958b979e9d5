"""What all workbooks that are written to share: an archive of which some parts are anew, texts and shares."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping

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


def share(text: str) -> str:
    """A number of percent as the share that a workbook stores."""
    return number_text(float(text) / 100) if STRICT.plain.fullmatch(text) else text
