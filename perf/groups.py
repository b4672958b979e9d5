"""Good and bad days, and drift: the true value of what is recommended, with and without groups.

python perf/groups.py --repeats 10 --out groups.jsonl

A lab makes four experiments a day on a known function, with noise of a twentieth of its spread. Beside it, all outcomes
of a day are moved alike (`day0.5`, `day1`: by a normal number times half a spread, or one), or everything drifts by one
spread from the first day to the last (`drift1`). `plain` is not told of it; `told` gets `groups=["day"]`, of drift
`drift="day"`, and where there is nothing to learn both. The regret is that of the function itself, in spreads: what the
day or the drift adds is no part of it.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np
import pandas as pd
from sweeps import Record, add_options, seeds, sweep

import bomi
from bomi.benchmarks.functions import FloatArray, corners, problem

CASES = ("none", "day0.5", "day1", "drift1")
WAYS = ("plain", "told")
A_DAY, NOISE = 4, 0.05


class Run(NamedTuple):
    """What tells one run from the others."""

    problem: str
    case: str
    way: str
    blanks: float
    days: int
    seed: int


def make(run: Run) -> Record:
    """One campaign, and the regret of what it recommends at its end, in spreads of the function."""
    made = problem(run.problem)
    low, high = corners(made.bounds)
    names = [f"x{j}" for j in range(made.dim)]

    def true(x: FloatArray) -> FloatArray:
        return np.asarray(made(low + x * (high - low)))

    spread = float(true(np.random.default_rng(0).random((10_000, made.dim))).std())
    rng = np.random.default_rng([run.seed, 29])
    starts = rng.random((2 * A_DAY, made.dim))
    noise, lost = NOISE * rng.normal(size=(run.days, A_DAY)), rng.random((run.days, A_DAY, made.dim)) < run.blanks
    luck, sign = rng.normal(size=run.days), rng.choice([-1.0, 1.0])
    added = {
        "none": 0 * luck,
        "day0.5": 0.5 * luck,
        "day1": luck,
        "drift1": sign * np.linspace(0, 1, run.days),
    }[run.case]
    asked_for = {"none": {"groups": ["day"], "drift": "day"}, "drift1": {"drift": "day"}}.get(
        run.case, {"groups": ["day"]}
    )
    options: dict[str, object] = dict(asked_for) if run.way == "told" else {}
    optimizer = bomi.Optimizer(dict.fromkeys(names, (0, 1)), seed=run.seed, **options)  # type: ignore[arg-type]
    began = time.perf_counter()
    for day in range(run.days):
        given = {"day": day} if options else None
        if day * A_DAY < len(starts):
            asked = None
            settings = starts[day * A_DAY : (day + 1) * A_DAY]
        else:
            asked = optimizer.ask(A_DAY, given=given)
            settings = np.array([[float(one[name]) for name in names] for one in asked])
        outcomes = true(settings) / spread + added[day] + noise[day]
        blank = [[name for name, gone in zip(names, gaps, strict=True) if gone] for gaps in lost[day]]
        if asked is None:
            table = pd.DataFrame(settings, columns=names).assign(y=outcomes, day=day)
            for k, gone in enumerate(blank):
                table.loc[k, gone] = np.nan
            optimizer.tell(table)
            continue
        for suggestion, outcome, gone in zip(asked, outcomes, blank, strict=True):
            optimizer.tell(suggestion, float(outcome), actual=dict.fromkeys(gone))
    setting = optimizer.best().setting or {}
    value = float(true(np.array([[float(setting[name]) for name in names]]))[0])
    return {
        **run._asdict(),
        "regret": (made.optimum - value) / spread,
        "seconds": time.perf_counter() - began,
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["branin", "hartmann3", "ackley2"])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--blanks", nargs="+", type=float, default=[0.0], help="share of the inputs that are lost")
    parser.add_argument("--days", type=int, default=10)
    add_options(parser, repeats=10)
    options = parser.parse_args()
    runs = [
        Run(name, case, way, blanks, options.days, seed)
        for seed in seeds(options)
        for blanks in options.blanks
        for name in options.problems
        for case in options.cases
        for way in WAYS
    ]
    found = pd.DataFrame(sweep(make, runs, options))
    keys = ["problem", "blanks", "case", "way"]
    table = found.groupby(keys)["regret"].agg(["median", "mean", "sem", "count"])
    print(table.round(3).to_string())
    print(
        found.groupby(["blanks", "case", "way"])["regret"].agg(["median", "mean", "sem", "count"]).round(3).to_string()
    )


if __name__ == "__main__":
    main()
