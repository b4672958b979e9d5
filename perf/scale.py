"""Time and memory of a `posterior` suggestion against the number of rows, each size in its own process.

    python perf/scale.py --sizes 200 500 1000 2000 --threads 2 --figure docs/figures/scale.png
    python perf/scale.py --sizes 2000 5000 --device cuda

Ten parameters, 30 % of the rows with a gap. It prints a table and the slope of log time against log rows, and draws
both times.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import bomi

DIM = 10
GAPPY = 0.3


def rows(count: int, seed: int) -> pd.DataFrame:
    """A wavy function of ten inputs."""
    generator = np.random.default_rng(seed)
    X = generator.random((count, DIM))
    y = np.sin(5 * X).sum(1) + X @ np.linspace(-1, 1, DIM) + 0.05 * generator.normal(size=count)
    gappy = np.flatnonzero(generator.random(count) < GAPPY)
    X[gappy, generator.integers(0, DIM, len(gappy))] = np.nan
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(DIM)]).assign(y=y)


def one(size: int, device: str | None) -> dict[str, float]:
    """The first suggestion of a process, the next one after one more row, and the peak memory."""
    table = rows(size + 1, seed=size)
    chosen = {} if device is None else {"device": device}
    optimizer = bomi.Optimizer({f"x{j}": (0, 1) for j in range(DIM)}, seed=0, **chosen)
    optimizer.tell(table.iloc[:-1])
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        suggestion = optimizer.ask()
        seconds.append(time.perf_counter() - start)
        optimizer.tell(suggestion, float(table["y"].iloc[-1]))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": size, "first": seconds[0], "next": seconds[1], "memory": memory}


def slope(sizes: list[float], seconds: list[float]) -> float:
    """The slope of log seconds against log rows."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def draw(found: list[dict[str, float]], path: Path) -> None:
    """Both times against the number of rows, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.subplots()
    sizes = [each["rows"] for each in found]
    for name, colour in (("first", "#d95f02"), ("next", "#1b7fa5")):
        seconds = [each[name] for each in found]
        axes.loglog(sizes, seconds, "o-", color=colour, label=f"{name} suggestion, slope {slope(sizes, seconds):.2f}")
    axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
    low, high = axes.get_ylim()
    ticks = [one * 10.0**power for power in range(-3, 4) for one in (1, 2, 5) if low <= one * 10.0**power <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("rows")
    axes.set_ylabel("seconds")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 500, 1000, 2000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", help="such as cuda")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        torch.set_num_threads(options.threads)
        print(json.dumps(one(options.sizes[0], options.device)))
        return
    found = []
    print("| rows | first suggestion, s | next one, s | peak memory, MB |\n|---:|---:|---:|---:|")
    for size in options.sizes:
        command = [sys.executable, __file__, "--one", "--sizes", str(size), "--threads", str(options.threads)]
        command += ["--device", options.device] if options.device else []
        each = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        print(f"| {size:,} | {each['first']:.1f} | {each['next']:.1f} | {each['memory']:.0f} |", flush=True)
        found.append(each)
    if len(found) > 1:
        sizes = [each["rows"] for each in found]
        print(*(f"slope, {name}: {slope(sizes, [each[name] for each in found]):.2f}" for name in ("first", "next")))
    if options.figure:
        draw(found, options.figure)


if __name__ == "__main__":
    main()
