"""Trouble of the kind that laboratories have: is `posterior` ever behind leaving rows out, or believing what was asked?

    PYTHONPATH=src python perf/stress.py --kinds outliers,uneven --repeats 10 --out stress.jsonl --jobs 2

Each run begins with 30 rows and makes 30 evaluations, in the mild setting unless its kind says otherwise: four of five
rows lack a value, and in one evaluation of four a parameter is off by up to 5 % and not recorded.

    none       nothing else is wrong, and the outcomes have no noise
    outliers   one outcome of twenty is ten ranges of the function away
    uneven     noise that grows along the first parameter, from 0 to 0.6 standard deviations of the function
    sd         noise of 0.3 standard deviations, of which 0.01 are stated
    biased     in every second evaluation a parameter is off by 15 % of its range, always upwards
    many       40 % of the cells of the history are missing
    large      the larger a value of the history, the likelier it is missing: 40 % of the cells

The score is the true value of the recommended setting: its regret as a share of that of an average setting, 0 for the
optimum and 1 for a random guess. Runs that the results file holds are not made again.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
import torch
from noise import spread
from scipy.stats import wilcoxon
from sweeps import add_options, seeds, sweep

from bomi.benchmarks.contenders import contender
from bomi.benchmarks.functions import FloatArray, Problem, corners
from bomi.benchmarks.missingness import Event, Events, HistoryGaps, Initial, initial, stray
from bomi.benchmarks.problems import find_problem

KINDS = ("none", "outliers", "uneven", "sd", "biased", "many", "large")
PROBLEMS = "branin,hartmann6,styblinskitang"
ROWS, BUDGET = 30, 30
EVENTS = Events(0.25, 0.05)


class Run(NamedTuple):
    """What tells one run from the others."""

    problem: str
    kind: str
    method: str
    repeat: int


class Trouble:
    """What goes wrong in one run; the same for all methods."""

    def __init__(self, run: Run, problem: Problem) -> None:
        self.kind, self.seed, self.problem = run.kind, run.repeat, problem
        self.low, self.high = corners(problem.bounds)
        self.sd = spread(problem)
        self.range = float(np.ptp(problem(problem.draw(4096, np.random.default_rng(0)))))

    def stream(self, t: int) -> np.random.Generator:
        """Random numbers of the t-th evaluation, or of the history for t = 0."""
        return np.random.default_rng([self.seed, KINDS.index(self.kind), t])

    def history(self) -> Initial:
        """The rows to begin with."""
        data = initial(self.problem, rows=ROWS, gaps=HistoryGaps(), seed=self.seed)
        recorded, rng = data.recorded, self.stream(0)
        if self.kind in ("many", "large"):
            place = (data.inputs - self.low) / (self.high - self.low)
            chance = np.full_like(place, 0.4) if self.kind == "many" else 0.8 * place
            recorded = np.where(rng.random(place.shape) < chance, np.nan, data.inputs)
        outcomes = np.array([self.measured(x, float(y), rng) for x, y in zip(data.inputs, data.outcomes, strict=True)])
        return Initial(data.inputs, recorded, outcomes)

    def measured(self, x: FloatArray, value: float, rng: np.random.Generator) -> float:
        """What is recorded of an outcome."""
        normal, chance, side = rng.normal(), rng.random(), rng.choice([-1, 1])
        if self.kind == "outliers" and chance < 0.05:
            return value + side * 10 * self.range
        if self.kind == "uneven":
            return value + 0.6 * self.sd * normal * float(((x - self.low) / (self.high - self.low))[0])
        return value + 0.3 * self.sd * normal * (self.kind == "sd")

    def event(self, t: int) -> Event:
        """Which inputs of an evaluation are lost."""
        event = EVENTS.draw(self.seed, t, self.problem.dim)
        if self.kind != "biased":
            return event
        rng = self.stream(t)
        failed = (np.arange(self.problem.dim) == rng.integers(self.problem.dim)) & (rng.random() < 0.5)
        return Event(failed, np.where(failed, 0.15, 0.0))


def make(run: Run) -> dict[str, Any]:
    """One run."""
    torch.set_num_threads(1)
    problem = find_problem(run.problem)
    trouble = Trouble(run, problem)
    stated = {"sd": 0.01 * trouble.sd} if run.kind == "sd" else {}
    optimizer = contender(run.method).optimizer(problem, ["outcome"], run.repeat)
    data = trouble.history()
    for row, outcome in zip(data.recorded, data.outcomes, strict=True):
        optimizer.tell(problem.cells(row), float(outcome), **stated)
    start = time.perf_counter()
    for t in range(1, BUDGET + 1):
        suggestion = optimizer.ask()
        asked, event = problem.inputs(suggestion), trouble.event(t)
        actual, recorded = stray(event, asked, problem)
        outcome = trouble.measured(actual, float(problem(actual)), trouble.stream(t))
        known = problem.cells(recorded)
        optimizer.tell(suggestion, outcome, actual={k: c for k, c in known.items() if c != suggestion[k]}, **stated)
    best = optimizer.best()
    place = problem.inputs(best.setting) if best.setting else problem.draw(1, np.random.default_rng(0))[0]
    average = float(np.mean(problem(problem.draw(4096, np.random.default_rng(0)))))
    regret = ((problem.optimum or 0.0) - float(problem(place))) / ((problem.optimum or 0.0) - average)
    return {**run._asdict(), "regret": regret, "seconds": time.perf_counter() - start}


def table(records: list[dict[str, Any]]) -> str:
    """Regrets by kind and method, and whether `posterior` differs from each other method (Wilcoxon, paired)."""
    methods = sorted({r["method"] for r in records}, key=lambda name: (name != "posterior", name))
    lines = [
        "| kind | " + " | ".join(f"{one}, regret (median)" for one in methods) + " | p |",
        "|---" * (len(methods) + 2) + "|",
    ]
    for kind in (one for one in KINDS if any(r["kind"] == one for r in records)):
        found = {(r["problem"], r["repeat"], r["method"]): r["regret"] for r in records if r["kind"] == kind}
        keys = sorted({key[:2] for key in found if all((*key[:2], one) in found for one in methods)})
        values = np.array([[found[*key, one] for one in methods] for key in keys])
        cells = [f"{v.mean():.3f} ± {v.std(ddof=1) / np.sqrt(len(v)):.3f} ({np.median(v):.3f})" for v in values.T]
        p = [f"{one} {wilcoxon(values[:, 0], values[:, j]).pvalue:.2g}" for j, one in enumerate(methods) if j]
        lines.append(f"| {kind} ({len(keys)} runs) | " + " | ".join([*cells, ", ".join(p)]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="posterior,drop,suggest")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--problems", default=PROBLEMS)
    add_options(parser, repeats=10)
    options = parser.parse_args()
    runs = [
        Run(problem, kind, method, repeat)
        for repeat in seeds(options)
        for problem in options.problems.split(",")
        for kind in options.kinds.split(",")
        for method in options.methods.split(",")
    ]
    print(table(sweep(make, runs, options)))


if __name__ == "__main__":
    main()
