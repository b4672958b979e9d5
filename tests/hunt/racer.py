"""Let many write to one file at once, and look whether every write is there and the file whole at every moment.

    PYTHONPATH=src python tests/hunt/racer.py --minutes 60      hunt
    PYTHONPATH=src python tests/hunt/racer.py --case 1234       replay one case

A case is two to six processes that write one to six times each: appends, what is typed on the page, or what programs
tell one campaign. Drafts and `Optimizer.save` take no turns: of these the last one stands, but the file must be whole
whenever somebody reads it.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.hunt.hunting import Tried, command_line
from tests.hunt.writers import Writer, begun, left_over

MOST_WRITERS, MOST_WRITES = 6, 6


def drawn(seed: int, folder: Path) -> tuple[Writer, list[int]]:
    """Who writes, and how often each of them."""
    writer, draw = begun(seed, folder)
    return writer, [draw.randrange(1, MOST_WRITES + 1) for _ in range(draw.randrange(2, MOST_WRITERS + 1))]


def attempt(seed: int) -> Tried:
    """One race."""
    with tempfile.TemporaryDirectory() as name:
        writer, turns = drawn(seed, Path(name))
        return Tried(race(writer, Path(name), turns), kinds=Counter([writer.name]))


def race(writer: Writer, folder: Path, turns: Sequence[int]) -> str:
    """What went wrong when so many wrote so often; "" if nothing did."""
    before = writer.count(folder)
    children = [_child(writer, folder, count, seed) for seed, count in enumerate(turns)]
    said = []
    while children:
        found, status = os.waitpid(-1, os.WNOHANG)
        if found in children:
            children.remove(found)
            if status:
                said.append(f"a writer ended with {os.waitstatus_to_exitcode(status)}")
        if isinstance(held := writer.held(folder), str):
            said.append(held)
    held, expected = writer.held(folder), before + sum(turns)
    if writer.adds and held != expected:
        said.append(f"{expected} writes, but {held}")
    if left := left_over(folder):
        said.append(f"left over: {left}")
    return "; ".join(said[:3])


def _child(writer: Writer, folder: Path, count: int, seed: int) -> int:
    child = os.fork()
    if child:
        return child
    draw = random.Random(seed)
    try:
        for _ in range(count):
            os.sched_yield() if draw.random() < 0.5 else None
            writer.write(folder)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def smallest(seed: int) -> str:
    """The fewest writers and writes that still go wrong, as far as luck has it."""
    with tempfile.TemporaryDirectory() as name:
        writer, turns = drawn(seed, Path(name))
    for fewer in ([1, 1], [2, 2], [3, 3], turns):
        for _ in range(5):
            with tempfile.TemporaryDirectory() as name:
                drawn(seed, Path(name))
                if wrong := race(writer, Path(name), fewer):
                    return f"{writer.name}: {len(fewer)} processes write {fewer} times\n# -> {wrong}"
    return f"{writer.name}: {len(turns)} processes write {turns} times\n# -> fine when it was tried again"


if __name__ == "__main__":
    command_line(__doc__, "races", attempt, smallest)
