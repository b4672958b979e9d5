"""Mutated tables and campaigns end in success or a `BomiError`, and are never changed by reading.

FUZZ sets how many, 500 if it is not given.
"""

import os
import random
from contextlib import suppress

import numpy as np

from bomi.campaign import Campaign, append, guess, read_experiments, read_sheet
from bomi.errors import BomiError

from .conftest import TABLE, TOML

FUZZ = int(os.environ.get("FUZZ", "500"))
MARKS = [b"", b",", b";", b"\t", b'"', b"\n", b"\r", b"\r\n", b"=", b"-", b"@", b"?", b" ", b"#", b"'", b'"""', b"\\"]
BYTES = [b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", "±".encode()]
NUMBERS = [b"1e999", b"nan", b"inf", b"..", b"+-", b"1_000", b"0x1", b"-0", b"1e-320", b"9" * 400, b"0", b"step = 0"]
TOML_WORDS = [b"[", b"]", b"[[", b"{", b"true", b"1979-05-27", b"range", b"values", b"log", b"integer"]
WORDS = [b"id", b"asked.", b"asked.time", b"temperature", b"failed", b"sep=;\n"]
PIECES = [*MARKS, *BYTES, *NUMBERS, *TOML_WORDS, *WORDS]


def mutate(content: bytes, draw: random.Random) -> bytes:
    """A few random edits: a piece put in or over, a stretch cut, doubled or moved, a byte changed."""
    data = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 3, 8])):
        a, b = sorted(draw.choices(range(len(data) + 1), k=2))
        kind = draw.randrange(6)
        if kind == 0:
            data[a:a] = draw.choice(PIECES)
        elif kind == 1:
            data[a : a + draw.randrange(6)] = draw.choice(PIECES)
        elif kind == 2:
            del data[a : min(b, a + 40)]
        elif kind == 3:
            data[a:a] = data[a : min(b, a + 40)]
        elif kind == 4:
            data[b:b] = data[a : min(b, a + 40)]
        elif a < len(data):
            data[a] = draw.randrange(256)
    return bytes(data)


def test_mutated_files_end_in_success_or_a_clear_error(tmp_path):
    draw = random.Random(0)
    table, toml = tmp_path / "lab.csv", tmp_path / "campaign.toml"
    starts = [TABLE.encode(), TABLE.replace(",", ";").encode("utf-8-sig"), TABLE.replace("\n", "\r\n").encode("cp1252")]
    read, refused = 0, 0
    for _ in range(FUZZ):
        content, campaign_content = draw.choice(starts), TOML.encode()
        if draw.random() < 0.7:
            content = mutate(content, draw)
        if draw.random() < 0.5:
            campaign_content = mutate(campaign_content, draw)
        table.write_bytes(content)
        toml.write_bytes(campaign_content)
        try:
            campaign = Campaign.read(toml)
            found = read_experiments(table, campaign)
            read += 1
        except BomiError:
            refused += 1
            campaign = None
        with suppress(BomiError):
            guess(read_sheet(table)).text()
        assert table.read_bytes() == content
        assert toml.read_bytes() == campaign_content
        if campaign is not None:
            settings = [campaign.space.setting(campaign.space.expand(np.full(len(campaign.space), 0.5)))]
            append(table, campaign, settings)
            assert read_experiments(table, campaign).rows[:-1] == found.rows
    assert read > FUZZ / 20
    assert refused > FUZZ / 20
