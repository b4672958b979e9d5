"""How well methods predict from the same tables with gaps: `PYTHONPATH=src python perf/prediction.py`.

The result of a whole optimization depends on luck and needs many repeats. What a method has learned from a given table
does not. So each method is told the same tables here and predicts at points where the truth is known. A table has 30
rows of history and 30 evaluations: some anywhere, more of them around the best row so far, as an optimizer's would be.
Gaps and execution errors are those of perf/quality.py's mild and hard settings. Errors are root mean squares, given as
log(error / error when every input is known): 0 means that the gaps cost nothing, 0.1 means 10 % more. Near: within 10 %
of the best row; anywhere: in the whole box. Coverage: how often the truth lies in the predicted 90 % interval.

`--running` tells one evaluation after another and predicts after each, as in a running process; otherwise all are told
at once.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass

import numpy as np
import torch
from quality import SETTINGS

from bomi import Optimizer
from bomi.benchmarks import missingness
from bomi.benchmarks.contenders import Contender, contender, split
from bomi.benchmarks.functions import FloatArray, Problem
from bomi.benchmarks.missingness import Initial
from bomi.benchmarks.problems import find_problem

PROBLEMS = "hartmann6,rosenbrock,cosine8,levy,ackley,styblinskitang,schwefel,alpine,eggholder"
EVALUATIONS, POINTS = 30, 300


@dataclass(frozen=True)
class Sheet:
    """One table: its history, then evaluations; and points to predict at."""

    problem: Problem
    initial: Initial
    asked: FloatArray  # (t, d)
    actual: FloatArray
    recorded: FloatArray
    outcomes: FloatArray  # (t,)
    points: dict[str, FloatArray]


def made(problem: Problem, setting: str, seed: int) -> Sheet:
    """A table that depends on the seed alone."""
    case = SETTINGS[setting](problem.name, EVALUATIONS, None)
    events = case.missing
    assert events is not None
    initial = missingness.initial(problem, seed=seed, gaps=case.gaps)
    rng = np.random.default_rng(1000 + seed)
    low, high = np.array(list(problem.bounds.values())).T
    inputs, outcomes = list(initial.inputs), list(initial.outcomes)
    asked, recorded = [], []

    def around(count: int, reach: float) -> FloatArray:
        best = inputs[int(np.argmax(outcomes))]
        return np.clip(best + rng.normal(0, reach, (count, problem.dim)) * (high - low), low, high)

    for t in range(1, EVALUATIONS + 1):
        x = rng.uniform(low, high) if rng.random() < 0.4 else around(1, 0.12)[0]
        event = events.draw(seed, t, problem.dim)
        actual, value = problem.evaluate(missingness.stray(event, x, problem)[0])
        asked.append(x)
        inputs.append(actual)
        recorded.append(np.where(event.failed, np.nan, actual))
        outcomes.append(float(value))
    points = {"near": around(POINTS, 0.1), "anywhere": rng.uniform(low, high, (POINTS, problem.dim))}
    new = slice(len(initial.outcomes), None)
    return Sheet(
        problem, initial, np.array(asked), np.array(inputs[new]), np.array(recorded), np.array(outcomes[new]), points
    )


def told(one: Contender, table: Sheet, seed: int, *, running: bool) -> Optimizer:
    """An optimizer that was told the table."""
    problem = table.problem
    optimizer = one.optimizer(problem, ["outcome"], seed)
    for row, outcome in zip(one.view.history(table.initial, problem), table.initial.outcomes, strict=True):
        optimizer.tell(problem.cells(row), float(outcome))
    rows = zip(table.asked, table.actual, table.recorded, table.outcomes, strict=True)
    for asked, actual, recorded, outcome in rows:
        setting = dict(zip(problem.bounds, asked.tolist(), strict=True))
        known = problem.cells(one.view.evaluation(asked, actual, recorded))
        differs = {name: cell for name, cell in known.items() if cell != setting[name]}
        optimizer.tell(setting, float(outcome), actual=differs)
        if running:
            optimizer.predict([setting])
    return optimizer


def scores(one: Contender, table: Sheet, seed: int, *, running: bool) -> list[float]:
    """Error and coverage, near and anywhere."""
    optimizer, found = told(one, table, seed, running=running), []
    for points in table.points.values():
        truth = table.problem(points)
        predicted = optimizer.predict([dict(zip(table.problem.bounds, x.tolist(), strict=True)) for x in points])
        mean, sd = (np.array([getattr(p, name) for p in predicted]) for name in ("mean", "sd"))
        found += [float(np.sqrt(np.mean((mean - truth) ** 2))), float(np.mean(np.abs(mean - truth) <= 1.645 * sd))]
    return found


def main() -> None:
    """Every method on every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="naive,posterior")
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--running", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    methods = [contender("oracle"), *map(contender, split(options.methods))]
    print("| setting | method | error near | error anywhere | coverage near | coverage anywhere |")
    print("|---|---|---:|---:|---:|---:|")
    for setting in ("mild", "hard"):
        tables = [
            (made(find_problem(name), setting, seed), seed)
            for name in options.problems.split(",")
            for seed in range(options.repeats)
        ]
        results = []
        for place, (table, seed) in enumerate(tables, 1):
            print(f"\r{setting}: table {place} of {len(tables)}", end="", file=sys.stderr, flush=True)
            running = [options.running and one.label != "oracle" for one in methods]
            results.append([scores(one, table, seed, running=each) for one, each in zip(methods, running, strict=True)])
        print(file=sys.stderr)
        found = np.array(results)  # (tables, methods, 4)
        for i, one in enumerate(methods):
            cells = []
            for j in (0, 2):
                ratio = np.log(found[:, i, j] / found[:, 0, j])
                cells.append(f"{ratio.mean():.3f} ± {ratio.std(ddof=1) / math.sqrt(len(ratio)):.3f}")
            cells += [f"{found[:, i, j].mean():.2f}" for j in (1, 3)]
            print(f"| {setting} | {one.label} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
