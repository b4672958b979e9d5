"""Hunt for files that end in anything but a reading or a BomiError: mutated tables, campaigns and workbooks.

    PYTHONPATH=src python tests/hunt/files.py --minutes 60     hunt
    PYTHONPATH=src python tests/hunt/files.py --case 1234      replay one case, and print its smallest form

A case is one of the corpus of messy tables, with a few random edits drawn from one seed. `init` and `check` must read
it or refuse it with a message, without any other exception or warning, and in bounded time.
"""

from __future__ import annotations

import argparse
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


def smallest(case: Case, content: bytes) -> bytes:
    """The content with as many lines left out as still go wrong in the same way."""
    if case.options.get("form", ".csv") in (".xlsx", ".xls", ".ods"):
        return content
    said, lines = wrong(case, content)[:40], content.splitlines(keepends=True)
    for i in reversed(range(len(lines))):
        fewer = lines[:i] + lines[i + 1 :]
        if wrong(case, b"".join(fewer))[:40] == said:
            lines = fewer
    return b"".join(lines)


def hunt(seconds: float, seed: int = 0, most: int = 10) -> tuple[int, Counter[str], list[str]]:
    """Cases for so long: how many, what became of them, and what was wrong."""
    end, count, kinds, found = time.monotonic() + seconds, 0, Counter[str](), []
    while time.monotonic() < end and len(found) < most:
        case, content = made(seed)
        said = wrong(case, content)
        count += 1
        kinds["wrong" if said else "read or refused"] += 1
        if said:
            found.append(f"# case {seed} of {case.file}\n{smallest(case, content)!r}\n# -> {said}")
        seed += 1
    return count, kinds, found


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="the first case")
    parser.add_argument("--case", type=int, help="replay this one")
    options = parser.parse_args()
    if options.case is not None:
        case, content = made(options.case)
        print(case.file, smallest(case, content), f"# -> {wrong(case, content) or 'fine'}", sep="\n")
        sys.exit(bool(wrong(case, content)))
    count, _, found = hunt(60 * options.minutes, options.seed)
    print(*found, sep="\n\n")
    print(f"{count} files: {len(found)} wrong")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
