"""Processor seconds of every call on tables as large as a laboratory has them, each from nothing.

    OMP_NUM_THREADS=1 python perf/times.py
    OMP_NUM_THREADS=1 python perf/times.py --tables wide gaps --calls ask best --profile

Each table has a process of its own, in which it is learned from once. Each call then has an optimizer of its own that
knows what was learned and nothing else: a time is that of learning and of the call together, without the imports.
Every call has to end within 15 s of one core on tables of up to 500 rows and 30 parameters.

    gaps     30 parameters, 300 rows, 40 % of the cells missing
    wide     30 parameters, 500 rows, 40 % of the cells missing, half of the rows with what was asked
    mixed    20 parameters of all kinds, three of which have a fixed sum, two outcomes, 300 rows, a tenth missing
    strays   10 parameters, 300 rows with what was asked, equipment that strays, some rows failed
    full     30 parameters, 500 rows, nothing missing
    plain    10 parameters, 300 rows, 30 % of the rows with a gap
    long     10 parameters, 5,000 rows, 30 % of the rows with a gap: beyond what is promised
"""

from __future__ import annotations

import argparse
import copy
import cProfile
import json
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import bomi
from bomi.analysis import insight, plots, sensitivity

Table = tuple[Callable[[], bomi.Optimizer], pd.DataFrame]


def wavy(count: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Inputs of the unit cube, a wavy function of the first few with a slope along all, and a generator."""
    generator = np.random.default_rng(seed)
    X = generator.random((count, p))
    y = np.sin(5 * X[:, :5]).sum(1) + X @ np.linspace(-1, 1, p) + 0.05 * generator.normal(size=count)
    return X, y, generator


def numbers(count: int, p: int, *, cells: float = 0.0, rows: float = 0.0, asked: float = 0.0, stray: float = 0.0,
            failed: float = 0.0) -> Table:  # fmt: skip
    """Real parameters; shares of the cells and rows that have gaps, of rows that were asked for, strayed, failed."""
    X, y, generator = wavy(count, p, count + p)
    request = X.copy()
    off = generator.random(X.shape) < stray
    request[off] = np.clip(request[off] + 0.1 * generator.normal(size=off.sum()), 0, 1)
    X[generator.random(X.shape) < cells] = np.nan
    gappy = np.flatnonzero(generator.random(count) < rows)
    X[gappy, generator.integers(0, p, len(gappy))] = np.nan
    names = [f"x{j}" for j in range(p)]
    table = pd.DataFrame(X, columns=names)
    if asked:
        request[generator.random(count) >= asked] = np.nan
        table = table.join(pd.DataFrame(request, columns=[f"asked.{name}" for name in names]))
    table["y"] = y
    if failed:
        table["failed"] = generator.random(count) < failed
        table.loc[table["failed"], "y"] = np.nan
    return (lambda: bomi.Optimizer(dict.fromkeys(names, (0, 1)), seed=0)), table


def mixed(count: int) -> Table:
    """Eight numbers, of which three add to one, four whole numbers, four ordered levels and four categories."""
    X, _, generator = wavy(count, 20, count)
    parameters: dict[str, Any] = {f"x{j}": (0, 1) for j in range(8)}
    parameters |= {f"n{j}": bomi.Integer(1, 9) for j in range(4)}
    parameters |= {f"level{j}": bomi.Ordinal([1, 2, 5, 10]) for j in range(4)}
    parameters |= {f"kind{j}": bomi.Categorical(["a", "b", "c", "d"]) for j in range(4)}
    columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(8)}
    three = generator.dirichlet(np.ones(3), count)
    columns |= {f"x{j}": three[:, j] for j in range(2)} | {"x2": 1 - three[:, 0] - three[:, 1]}
    columns |= {f"n{j}": generator.integers(1, 10, count) for j in range(4)}
    columns |= {f"level{j}": generator.choice([1, 2, 5, 10], count) for j in range(4)}
    columns |= {f"kind{j}": generator.choice(["a", "b", "c", "d"], count) for j in range(4)}
    frame = pd.DataFrame(columns)
    first = np.sin(5 * frame["x0"]) + frame["x3"] * frame["n0"] / 9 + (frame["kind0"] == "b")
    second = frame["x1"] - (frame["x4"] - 0.3) ** 2 + frame["level0"] / 10 * (frame["kind1"] == "c")
    cells = frame.astype(object)
    cells = cells.mask(generator.random(cells.shape) < 0.1, None)
    noise = 0.05 * generator.normal(size=(2, count))
    cells["yield"], cells["purity"] = first + noise[0], second + noise[1]
    space = bomi.Space(parameters, constraints=[bomi.Linear({"x0": 1, "x1": 1, "x2": 1}, equals=1)])
    wanted = {"yield": "maximize", "purity": "maximize"}
    return (lambda: bomi.Optimizer(space, objective=wanted, seed=0)), cells


TABLES: dict[str, Callable[[], Table]] = {
    "gaps": lambda: numbers(300, 30, cells=0.4),
    "wide": lambda: numbers(500, 30, cells=0.4, asked=0.5),
    "mixed": lambda: mixed(300),
    "strays": lambda: numbers(300, 10, rows=0.3, asked=1.0, stray=0.3, failed=0.1),
    "full": lambda: numbers(500, 30),
    "plain": lambda: numbers(300, 10, rows=0.3),
    "long": lambda: numbers(5000, 10, rows=0.3),
}


def setting(optimizer: bomi.Optimizer) -> dict[str, Any]:
    """The middle of the space, near enough to keep its constraints."""
    space = optimizer.space
    return space.from_unit(space.expand(np.full((1, len(space)), 0.34))[0])


def figures(optimizer: bomi.Optimizer) -> None:
    """Every figure of `bomi plot`, in both formats."""
    with tempfile.TemporaryDirectory() as folder:
        plots.save_all(optimizer, Path(folder))


CALLS: dict[str, Callable[[bomi.Optimizer], object]] = {
    "ask": lambda one: one.ask(),
    "ask 8": lambda one: one.ask(8),
    "best": lambda one: one.best(),
    "gaps": lambda one: insight.ranked_gaps(one),
    "predict": lambda one: one.predict(setting(one)),
    "explain": lambda one: one.explain(setting(one)),
    "validation": lambda one: one.validation(),
    "suspects": lambda one: one.suspects(),
    "prospects": lambda one: one.prospects(),
    "equipment": lambda one: one.execution(),
    "importance": lambda one: sensitivity.importance(one),
    "plot": figures,
}


def measure(table: str, calls: list[str], profile: bool) -> dict[str, float]:
    """Processor seconds of each call on one table, and the largest memory in MB."""
    make, rows = TABLES[table]()
    optimizer = make()
    optimizer.tell(rows)
    learning = seconds(lambda: optimizer._known.fit, profile)
    found = {"learning": learning}
    for call in calls:
        found[call] = learning + seconds(partial(CALLS[call], as_learned(optimizer)), profile)
        print(f"{table}: {call} {found[call]:.1f} s", file=sys.stderr, flush=True)
    return found | {"MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def as_learned(optimizer: bomi.Optimizer) -> bomi.Optimizer:
    """A copy that has learned, and has answered nothing yet."""
    one = copy.copy(optimizer)
    one._known = replace(optimizer._known)
    vars(one._known)["fit"] = replace(optimizer._known.fit)
    return one


def seconds(call: Callable[[], object], profile: bool) -> float:
    """Processor seconds of a call."""
    watch = cProfile.Profile()
    start = time.process_time()
    if not profile:
        call()
        return time.process_time() - start
    watch.runcall(call)
    taken = time.process_time() - start
    pstats.Stats(watch, stream=sys.stderr).sort_stats("tottime").print_stats(25).sort_stats("cumtime").print_stats(45)
    return taken


def main() -> None:
    """Measure each table in its own process, and print one table of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--calls", nargs="+", choices=list(CALLS), default=list(CALLS))
    parser.add_argument("--profile", action="store_true", help="where the time goes, on standard error")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        torch.set_num_threads(1)
        print(json.dumps(measure(options.tables[0], options.calls, options.profile)))
        return
    found = {}
    for table in options.tables:
        command = [sys.executable, __file__, "--one", "--tables", table, "--calls", *options.calls]
        command += ["--profile"] if options.profile else []
        found[table] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    print("| | " + " | ".join(options.tables) + " |\n|---|" + "---:|" * len(options.tables))
    for call in ["learning", *options.calls, "MB"]:
        decimals = 0 if call == "MB" else 1
        print(f"| {call} | " + " | ".join(f"{found[table][call]:,.{decimals}f}" for table in options.tables) + " |")


if __name__ == "__main__":
    main()
