"""Old rows made at one unknown value of a parameter: what is it worth to know that it was one value?

    PYTHONPATH=src python perf/tied.py --problems hartmann6,levy,rosenbrock --repeats 8 --out tied.jsonl --jobs 2

Each run begins with 20 old rows that share an unknown value of the first input, and 10 rows of which all is known. Then
it makes 15 evaluations. The regret of the best evaluation is shown after 5, 10 and 15 of them, and how often a 90 %
interval of the shared value holds it.

    tied      the old rows share one gap
    untied    each old row has a gap of its own
    known     the value is told
    middle, mean, zero    the value is taken for the middle of the range, the mean of the other rows, or the lower end

Runs that the results file holds are not made again.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
import torch
from sweeps import add_options, seeds, sweep

from bomi import Optimizer, Real
from bomi.benchmarks.problems import find_problem
from bomi.space import UNKNOWN

OLD, NEW, BUDGET, SHOWN = 20, 10, 15, (5, 10, 15)
METHODS = "tied,untied,known,middle,mean,zero"


class Run(NamedTuple):
    """What tells one run from the others."""

    problem: str
    method: str
    repeat: int


def make(run: Run) -> dict[str, Any]:
    """One run."""
    torch.set_num_threads(1)
    problem, rng = find_problem(run.problem), np.random.default_rng(run.repeat)
    rows = problem.draw(OLD + NEW, rng)
    shared = problem.draw(1, rng)[0, 0]
    rows[:OLD, 0] = shared
    outcomes = problem(rows)
    first, (low, high) = next(iter(problem.bounds.items()))
    filled = {"known": shared, "middle": (low + high) / 2, "mean": rows[OLD:, 0].mean(), "zero": low}
    within = "campaign" if run.method == "tied" else None
    space = {
        name: Real(*ends, blank=UNKNOWN, same_within=within if name == first else None)
        for name, ends in problem.bounds.items()
    }
    optimizer = Optimizer(space, objective="outcome", seed=run.repeat)
    for i, (row, outcome) in enumerate(zip(rows, outcomes, strict=True)):
        told: dict[str, Any] = problem.cells(row)
        if i < OLD:
            told[first] = filled.get(run.method)
            told |= {"campaign": "old"} if within else {}
        optimizer.tell(told, float(outcome))
    found, best, start = {}, float(outcomes.max()), time.perf_counter()
    inside = None
    if run.method in ("tied", "untied"):
        ends = np.quantile([gap.draws for gap in optimizer.gap_draws() if gap.parameter == first], [0.05, 0.95], axis=1)
        inside = float(np.mean((ends[0] <= shared) & (shared <= ends[1])))
    for t in range(1, BUDGET + 1):
        suggestion = optimizer.ask()
        value = float(problem(problem.inputs(suggestion)[None])[0])
        optimizer.tell(suggestion, value)
        best = max(best, value)
        if t in SHOWN:
            found[f"after {t}"] = (problem.optimum or 0.0) - best
    return {**run._asdict(), **found, "inside": inside, "seconds": time.perf_counter() - start}


def table(records: list[dict[str, Any]]) -> str:
    """Mean regrets with their standard errors, and coverage."""
    lines = ["| problem | method | runs | after 5 | after 10 | after 15 | 90 % interval covers | s |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|---:|"]
    for problem, method in dict.fromkeys((record["problem"], record["method"]) for record in records):
        own = [record for record in records if (record["problem"], record["method"]) == (problem, method)]
        cells = [problem, method, str(len(own))]
        for t in SHOWN:
            regrets = np.array([record[f"after {t}"] for record in own])
            error = regrets.std(ddof=1) / len(regrets) ** 0.5 if len(regrets) > 1 else np.nan
            cells.append(f"{regrets.mean():.3g} ± {error:.2g}")
        inside = [record["inside"] for record in own if record["inside"] is not None]
        cells += [f"{np.mean(inside):.0%}" if inside else "", f"{np.mean([r['seconds'] for r in own]):.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--problems", default="hartmann6,levy,rosenbrock")
    add_options(parser, repeats=8)
    options = parser.parse_args()
    runs = [
        Run(problem, method, repeat)
        for repeat in seeds(options)
        for problem in options.problems.split(",")
        for method in options.methods.split(",")
    ]
    print(table(sweep(make, runs, options)))


if __name__ == "__main__":
    main()
