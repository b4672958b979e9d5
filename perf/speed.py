"""Seconds per suggestion of each method, against a plain BoTorch suggestion in the same run.

A running process: one new row is told, then the next experiment is asked for. BoTorch: SingleTaskGP by maximum
likelihood, LogExpectedImprovement, optimize_acqf with 8 restarts and 256 raw samples, on the same rows with gaps filled
with the column's mean. Times are medians over rounds; in each round every contender makes one suggestion.

    python perf/speed.py --sizes 50 190 500 --repeats 5 --threads 1
    python perf/speed.py --fresh          the first suggestion of a new process, imports not counted
    python perf/speed.py --simulators     an evaluation of the heat treatment and of the robot
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pandas as pd
import simulators
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

import bomi

DIM = 5
GAPPY = 0.3  # share of rows with one gap
BOTORCH = "BoTorch"
Contender: TypeAlias = Callable[[int], None]  # one suggestion, after the k-th new row


def rows(count: int, seed: int) -> pd.DataFrame:
    """A wavy function of five inputs; 30 % of the rows have one gap, and the later half has requested values."""
    generator = np.random.default_rng(seed)
    X = generator.random((count, DIM))
    y = np.sin(5 * X).sum(1) + X @ np.linspace(-1, 1, DIM) + 0.05 * generator.normal(size=count)
    asked = np.clip(X + 0.02 * generator.normal(size=X.shape), 0, 1)
    asked[: count // 2] = np.nan
    gappy = np.flatnonzero(generator.random(count) < GAPPY)
    X[gappy, generator.integers(0, DIM, len(gappy))] = np.nan
    names = [f"x{j}" for j in range(DIM)]
    table = dict(zip(names, X.T, strict=True)) | {"y": y}
    return pd.DataFrame(table | {f"asked.{name}": asked[:, j] for j, name in enumerate(names)})


def with_bomi(method: str, table: pd.DataFrame, new: pd.DataFrame) -> Contender:
    """Tell the outcome of the last suggestion (the same row for every contender) and ask for the next."""
    optimizer = bomi.Optimizer({f"x{j}": (0, 1) for j in range(DIM)}, method=method, seed=0)
    optimizer.tell(table)
    pending: list[str] = []

    def suggest(k: int) -> None:
        optimizer.tell(new.iloc[[k]].assign(id=pending.pop() if pending else "first"))
        suggestion = optimizer.ask()
        pending.append(suggestion.id)
        if suggestion.note:
            raise RuntimeError(f"{method} did not use its model: {suggestion.note}")

    return suggest


def with_botorch(table: pd.DataFrame, new: pd.DataFrame) -> Contender:
    """Fit and optimize afresh, as its documentation does."""

    def suggest(k: int) -> None:
        told = pd.concat([table, new.iloc[: k + 1]])
        X = told[[f"x{j}" for j in range(DIM)]]
        X = torch.tensor(X.fillna(X.mean()).to_numpy())
        y = torch.tensor(told["y"].to_numpy())[:, None]
        model = SingleTaskGP(X, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        bounds = torch.tensor([[0.0] * DIM, [1.0] * DIM], dtype=torch.float64)
        optimize_acqf(
            LogExpectedImprovement(model, best_f=y.max()), bounds=bounds, q=1, num_restarts=8, raw_samples=256
        )

    return suggest


def contender(name: str, table: pd.DataFrame, new: pd.DataFrame) -> Contender:
    """BoTorch or one of the methods."""
    return with_botorch(table, new) if name == BOTORCH else with_bomi(name, table, new)


def seconds(suggest: Contender, k: int) -> float:
    """Seconds of one suggestion."""
    start = time.perf_counter()
    suggest(k)
    return time.perf_counter() - start


def warm(names: list[str], size: int, repeats: int) -> dict[str, float]:
    """The median over rounds in one process, after a first round that does not count."""
    table, new = rows(size - 1, seed=size), rows(repeats + 1, seed=size + 1)
    contenders = {name: contender(name, table, new) for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    for k in range(repeats + 1):
        for name, suggest in contenders.items():
            took = seconds(suggest, k)
            if k:
                times[name].append(took)
        print(f"n = {size}: round {k} of {repeats}", file=sys.stderr)
    return {name: statistics.median(values) for name, values in times.items()}


def cold(names: list[str], size: int, repeats: int, threads: int) -> dict[str, float]:
    """The median over new processes, each making its first suggestion."""
    times: dict[str, list[float]] = {name: [] for name in names}
    for k in range(repeats):
        for name in names:
            command = [sys.executable, __file__, "--one", name, "--sizes", str(size), "--threads", str(threads)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            times[name].append(json.loads(printed))
        print(f"n = {size}: round {k + 1} of {repeats}", file=sys.stderr)
    return {name: statistics.median(values) for name, values in times.items()}


def report(results: dict[int, dict[str, float]]) -> str:
    """A markdown table: seconds, and the ratio to BoTorch."""
    sizes = list(results)
    lines = ["| | " + " | ".join(f"n = {size} (s) | ratio" for size in sizes) + " |"]
    lines.append("|---|" + "---:|---:|" * len(sizes))
    for name in results[sizes[0]]:
        cells = [f"{results[size][name]:.3f} | {results[size][name] / results[size][BOTORCH]:.2f}" for size in sizes]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 190, 500])
    parser.add_argument("--methods", nargs="+", choices=list(bomi.METHODS), default=list(bomi.METHODS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="the first suggestion of a new process")
    parser.add_argument("--simulators", action="store_true", help="an evaluation of each simulated experiment instead")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # used by --fresh
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warnings.simplefilter("ignore")  # BoTorch's optimizers warn; that is not measured here

    if options.simulators:
        simulators.main()
        return
    if options.one:
        size = options.sizes[0]
        print(seconds(contender(options.one, rows(size - 1, seed=size), rows(1, seed=size + 1)), 0))
        return
    names = [BOTORCH, *options.methods]
    results = {}
    for size in options.sizes:
        if options.fresh:
            results[size] = cold(names, size, options.repeats, options.threads)
        else:
            results[size] = warm(names, size, options.repeats)
    how = "first suggestion of a new process" if options.fresh else "one row told, one experiment asked for"
    print(f"{how}; d = {DIM}, {options.threads} thread(s), median of {options.repeats}, {platform.machine()}\n")
    print(report(results))


if __name__ == "__main__":
    main()
