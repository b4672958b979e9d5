"""One process for a long time: memory and handles stay flat, and a turn takes as long as its table makes it.

    PYTHONPATH=src python tests/hunt/soak.py --turns 1000

In the first part the table stays as large as it is: each turn a row is corrected, everything is learned anew, an
experiment is asked for and taken back. What grows is a leak. In the second part the table grows: each turn a row is
told and an experiment is asked for. At the end, a turn may take 1.5 times what it takes an optimizer that has just
begun with the same rows.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import bomi

ROWS = 12  # of the table that stays
MOST_GROWTH = 12.0  # MB, over the later half of the turns
SLOWER = 1.5


def memory() -> float:
    """What this process holds, in MB, without the freed memory that the C library keeps for later."""
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def handles() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


def table(rows: int, seed: int = 0) -> pd.DataFrame:
    """A few parameters, and a third of the rows with a gap."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 3))
    y = np.sin(5 * X).sum(1) + 0.05 * rng.normal(size=rows)
    X[::3, 0] = np.nan
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)


def made(rows: int, method: str) -> bomi.Optimizer:
    """An optimizer that has been told a table."""
    optimizer = bomi.Optimizer(dict.fromkeys("abc", (0, 1)), method=method, seed=0)
    optimizer.tell(table(rows))
    return optimizer


def steady(turns: int, method: str = "posterior") -> tuple[list[float], list[int]]:
    """Memory and handles after each turn with a table that stays as large."""
    optimizer, held, opened = made(ROWS, method), [], []
    for turn in range(turns):
        optimizer.correct(row=turn % ROWS, outcome=float(np.sin(turn)))
        optimizer.withdraw(optimizer.ask())
        optimizer.best(), optimizer.gaps(), optimizer.frame()
        held.append(memory())
        opened.append(handles())
    return held, opened


def growing(turns: int, method: str = "posterior", last: int = 9) -> tuple[float, float]:
    """The median time of the last turns of many, and of the same turns of an optimizer that begins with these rows."""

    def turn(optimizer: bomi.Optimizer, rows: pd.DataFrame, i: int) -> float:
        start = time.process_time()
        optimizer.tell(rows.iloc[[i]])
        optimizer.withdraw(optimizer.ask())
        return time.process_time() - start

    rows = table(turns + ROWS)
    long = made(ROWS, method)
    seconds = [turn(long, rows, i) for i in range(ROWS, len(rows))][-last:]
    fresh = bomi.Optimizer(long.space, method=method, seed=0)
    fresh.tell(rows.iloc[: len(rows) - last])
    fresh.withdraw(fresh.ask())  # it has begun
    again = [turn(fresh, rows, i) for i in range(len(rows) - last, len(rows))]
    return statistics.median(seconds), statistics.median(again)


def wrong(held: list[float], opened: list[int]) -> str:
    """What has grown that should not; "" if nothing has."""
    half = len(held) // 2
    if opened[-1] > opened[half]:
        return f"{opened[half]} handles after {half} turns and {opened[-1]} after {len(opened)}"
    later = held[half:]
    growth = statistics.median(later[-len(later) // 4 :]) - statistics.median(later[: len(later) // 4 + 1])
    return f"{growth:.0f} MB more over the last {len(later)} turns" if growth > MOST_GROWTH else ""


def main() -> None:
    """Soak, and say what has grown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1000, help="with a table that stays as large")
    parser.add_argument("--growing", type=int, default=200, help="with a table that grows")
    parser.add_argument("--method", default="posterior")
    options = parser.parse_args()
    torch.set_num_threads(1)
    held, opened = steady(options.turns, options.method)
    for share in (0.1, 0.25, 0.5, 0.75, 1.0):
        at = max(int(share * len(held)) - 1, 0)
        print(f"turn {at + 1}: {held[at]:.0f} MB, {opened[at]} handles")
    said = wrong(held, opened)
    seconds, again = growing(options.growing, options.method)
    print(f"turn {options.growing}: {seconds:.3f} s of processor time, and {again:.3f} s from the same rows")
    if seconds > SLOWER * again:
        said += f"\na turn takes {seconds / again:.1f} times what its table explains"
    print(said or "fine")
    sys.exit(bool(said))


if __name__ == "__main__":
    main()
