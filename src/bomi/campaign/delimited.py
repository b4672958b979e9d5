"""Text tables as spreadsheets and instruments write them: from bytes to lines, and from lines to records of cells."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from bomi.errors import FileError

SEPARATORS = ("\t", ";", ",", "|", "，")
NAMES = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar", "，": "full-width comma"}
SNIFFED = 200  # lines that the separator is guessed from
MIXED = "mixed"  # the encoding of a file whose lines have different ones: it is only read

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_WINDOWS = {
    "cp1252": "Windows-1252", "cp1250": "Windows-1250", "cp1251": "Windows-1251", "cp932": "Shift-JIS", "gbk": "GBK",
}  # fmt: skip
_JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]{2}")
_CHINESE = re.compile(rb"(?:[\xb0-\xd7][\xa1-\xfe]){2}")
_CYRILLIC = re.compile(rb"(?<![A-Za-z\xc0-\xff])[\xc0-\xff]{3,}(?![A-Za-z\xc0-\xff])")
_MISREAD = re.compile(r"œæ|[a-zß-ÿ][¹³¿£¥¯¼¾Ÿ]+[a-zß-ÿ]|[šžŠŽ](?s:.*)[èøìùò]|[èøìùò](?s:.*)[šžŠŽ]|ø(?s:.*)ì|ì(?s:.*)ø")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_DECLARED = re.compile(r"sep=([\t;,|])[ \r\n]*", re.IGNORECASE)
_BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be", codecs.BOM_UTF8: "utf-8-sig"}


def split_lines(text: str) -> list[str]:
    """The lines of a text, with their ends."""
    return _LINE.findall(text)


def decode(path: Path, content: bytes) -> tuple[str, str, list[str]]:
    """The text of a file, its encoding, and what to tell of it."""
    if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise FileError(f"{path} is a workbook or an archive; name a workbook .xlsx, .xls or .ods, or save it as CSV")
    encoding = next((name for mark, name in _BOMS.items() if content.startswith(mark)), "utf-8")
    notes: list[str] = []
    try:
        text = content[2:].decode(encoding) if encoding.startswith("utf-16") else content.decode(encoding)
    except UnicodeDecodeError:
        if encoding.startswith("utf-16"):
            raise FileError(f"{path} is no text in UTF-16, though it begins as one; save it as CSV in UTF-8") from None
        text, encoding, notes = _decode_lines(path, content)
    if match := _CONTROL.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise FileError(f"{path} is no text: line {line} has the character {match[0]!r}; is it the right file?")
    return text, encoding, notes


def _decode_lines(path: Path, content: bytes) -> tuple[str, str, list[str]]:
    """The text of a file of which some bytes are no UTF-8."""
    texts: list[str] = []
    other, wide = [], 0
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            texts.append(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            wide += not line.isascii()
        except UnicodeDecodeError:
            other.append(number)
            texts.append(line.decode("cp1252", "replace"))
    if not wide and (encoding := _codepage(content)) != "cp1252":
        return content.decode(encoding), encoding, [f"not UTF-8: read as {_WINDOWS[encoding]}"]
    if any("\ufffd" in texts[number - 1] for number in other):
        raise FileError(f"{path} is no text in UTF-8 or Windows-1252; is it the right file?")
    if not wide:
        return content.decode("cp1252"), "cp1252", ["not UTF-8: read as Windows-1252"]
    lines = f"line {other[0]} is" if len(other) == 1 else f"lines {', '.join(map(str, other[:5]))} are"
    return "\n".join(texts), MIXED, [f"{lines} not UTF-8 as the others are: read as Windows-1252"]


def _codepage(content: bytes) -> str:
    """Which encoding of spreadsheets a text is in that is no UTF-8: western, or which other one.

    Two Japanese or Chinese letters side by side are none of the others. Words of nothing but accented letters are
    Cyrillic, mostly small letters, which are the last of the code page. A sign such as ¹ or ¿ within a word, and ø or ì
    beside š, are letters of the Central European one.
    """
    words = b"".join(_CYRILLIC.findall(content))
    small = sum(byte >= 0xE0 for byte in words) * 2 > len(words)
    signs = {
        "cp932": _JAPANESE.search(content.decode("cp932", "replace")) and re.search(b"[\x81-\x9f]", content),
        "cp1251": words and small,
        "gbk": _CHINESE.search(content),
        "cp1250": _MISREAD.search(content.decode("cp1252", "replace")),
    }
    for encoding, sign in signs.items():
        with suppress(UnicodeError):
            if sign and content.decode(encoding).encode(encoding) == content:
                return encoding
    return "cp1252"


def encode(path: Path, text: str, encoding: str) -> bytes:
    """The bytes of a text in the encoding that its file had."""
    if encoding == MIXED:
        raise FileError(f"{path.name} has lines in different encodings, so it is only read; save it as UTF-8")
    try:
        mark = {name: mark for mark, name in _BOMS.items()}[encoding] if encoding.startswith("utf-16") else b""
        return mark + text.encode(encoding)
    except UnicodeEncodeError as error:
        raise FileError(
            f"{path.name} is in {_WINDOWS.get(encoding, encoding)}, which has no {error.object[error.start]!r}; "
            "save it as UTF-8"
        ) from None


def separate(
    path: Path, lines: Sequence[str], names: Collection[str] = ()
) -> tuple[str, list[int], list[int], list[list[str]]]:
    """The separator, and of each record that is not blank its first and its last line, from 1, and its cells.

    Names of expected columns, where known, help to find the separator.
    """
    first = next(place for place, line in enumerate(lines) if line.strip())
    declared = _DECLARED.fullmatch(lines[first])  # spreadsheets may write such a line before the header
    separator = declared[1] if declared else _sniff(path, lines, names)
    return separator, *_records(path, lines, separator, first + 1 if declared else 0)


def _sniff(path: Path, lines: Sequence[str], names: Collection[str]) -> str:
    """The separator with which a record has most of the expected names, then most records are of the same width."""

    def score(separator: str) -> tuple[int, float]:
        try:
            records = [row for row in csv.reader(lines[:SNIFFED], delimiter=separator) if any(map(str.strip, row))]
        except csv.Error:
            return 0, 0.0
        widths = Counter(len(row) for row in records if len(row) > 1)
        if not widths:
            return 0, 0.0
        hits = max(len({cell.strip() for cell in row}.intersection(names)) for row in records)
        return hits, widths.most_common(1)[0][1] / len(records)

    best = max(SEPARATORS, key=score)  # the first of equals: a tab or semicolon seldom stands in a name
    if score(best) > (0, 0.0):
        return best
    held = [line.split() for line in lines[:SNIFFED] if line.strip()]
    if len(held) > 1 and len(held[0]) > 1 and len({len(row) for row in held}) == 1:
        raise FileError(f"{path}: its cells seem to be separated by spaces; separate them by commas or tabs")
    return ","


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
    except csv.Error:
        record = "".join(lines[number - 1 : skipped + reader.line_num])
        what = 'text follows a closing quote; write "" for a quote within quotes'
        if record.count('"') % 2:
            what = "a quote is opened and never closed"
        elif len(record) > csv.field_size_limit():
            what = f"a cell has more than {csv.field_size_limit():,} characters; is it the right file?"
        raise FileError(f"{path}, row {number}: {what}") from None
    return numbers, ends, rows
