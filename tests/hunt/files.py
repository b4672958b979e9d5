"""Hunt for files that end in anything but a reading or a BomiError: mutated tables, campaigns and workbooks.

    PYTHONPATH=src python tests/hunt/files.py --minutes 60     hunt
    PYTHONPATH=src python tests/hunt/files.py --case 1234      replay one case, and print its smallest form

A case is one of the corpus of messy tables, with a few random edits drawn from one seed. `init` and `check` must read
it or refuse it with a message, without any other exception or warning, and in bounded time.
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bomi.campaign import guess
from bomi.campaign.experiments import check, column_names
from bomi.campaign.sheet import load_sheet
from bomi.campaign.toml import parse_campaign
from bomi.errors import BomiError, shown
from tests.campaign.corpus import Case, cases
from tests.campaign.test_fuzz import mutate
from tests.hunt.hunting import Tried, command_line

CASES = cases()
SECONDS = 20.0  # of one case: longer is a hang


def made(seed: int) -> tuple[Case, bytes]:
    """One of the corpus, with a few random edits."""
    draw = random.Random(seed)
    case = draw.choice(CASES)
    return case, mutate(case.bytes(), draw)


def wrong(case: Case, content: bytes) -> str:
    """What must not be; "" if nothing is wrong."""
    path = Path(case.file)
    start = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sheet = load_sheet(path, content)
            found = guess(sheet, decimal=case.options.get("decimal"))
            campaign = parse_campaign(Path("campaign.toml"), found.text().encode())
            check(load_sheet(path, content, column_names(campaign), sheet=campaign.sheet), campaign)
    except BomiError as error:
        return "" if str(error).strip() else "an error without a message"
    except Exception as error:
        return f"{type(error).__name__}: {shown(str(error))}"
    return "" if time.monotonic() - start < SECONDS else f"{time.monotonic() - start:.0f} s"


def least(case: Case, content: bytes) -> bytes:
    """The content with as many lines left out as still go wrong in the same way."""
    if case.options.get("form", ".csv") in (".xlsx", ".xls", ".ods"):
        return content
    said, lines = wrong(case, content)[:40], content.splitlines(keepends=True)
    for i in reversed(range(len(lines))):
        fewer = lines[:i] + lines[i + 1 :]
        if wrong(case, b"".join(fewer))[:40] == said:
            lines = fewer
    return b"".join(lines)


def attempt(seed: int) -> Tried:
    """One case."""
    case, content = made(seed)
    return Tried(wrong(case, content), kinds=Counter([case.options.get("form", ".csv")]))


def smallest(seed: int) -> str:
    """The file with the fewest lines that still goes wrong."""
    case, content = made(seed)
    return f"{case.file}: {least(case, content)!r}\n# -> {wrong(case, content)}"


if __name__ == "__main__":
    command_line(__doc__, "files", attempt, smallest)
