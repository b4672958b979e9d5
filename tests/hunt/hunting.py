"""What all hunters share: the loop over cases, each drawn from one seed, and the command line."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

import bomi


@dataclass
class Tried:
    """What became of one case: what must not be, if anything; how many calls it made, and of which kinds."""

    wrong: str = ""
    count: int = 1
    kinds: Counter[str] = field(default_factory=Counter)


@dataclass
class Hunt:
    """What became of many: how many calls there were, of which kinds, and the smallest form of each that went wrong."""

    count: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def hunt(
    attempt: Callable[[int], Tried], smallest: Callable[[int], str], *, seconds: float, seed: int = 0, most: int = 10
) -> Hunt:
    """Cases for so long, at least one; of those that go wrong alike the first is told."""
    end, done, seen = time.monotonic() + seconds, Hunt(), set()
    while not done.count or (time.monotonic() < end and len(done.wrong) < most):
        tried = attempt(seed)
        done.count, done.kinds = done.count + tried.count, done.kinds + tried.kinds
        if tried.wrong and tried.wrong[:60] not in seen:
            seen.add(tried.wrong[:60])
            done.wrong.append(f"# case {seed}\n{smallest(seed)}")
        seed += 1
    return done


def command_line(about: str | None, what: str, attempt: Callable[[int], Tried], smallest: Callable[[int], str]) -> None:
    """Run what the command line asks for; the exit code is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="the first case")
    parser.add_argument("--case", type=int, help="replay this one")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.case is not None:
        tried = attempt(options.case)
        print(smallest(options.case) if tried.wrong else "# -> fine")
        sys.exit(bool(tried.wrong))
    start = time.monotonic()
    done = hunt(attempt, smallest, seconds=60 * options.minutes, seed=options.seed)
    print(*done.wrong, sep="\n\n")
    seconds = time.monotonic() - start
    print(f"\n{done.count} {what} in {seconds:.0f} s with bomi {bomi.__version__}: {len(done.wrong)} wrong")
    print(", ".join(f"{kind} {count}" for kind, count in done.kinds.most_common()))
    sys.exit(bool(done.wrong))
