"""How well methods predict from the same tables with gaps: `PYTHONPATH=src python perf/prediction.py`.

The result of a whole optimization depends on luck and needs many repeats. What a method has learned from a given table
does not. So each method is told the same tables here and predicts at points where the truth is known. A table has 30
rows of history and 30 evaluations: some anywhere, more of them around the best row so far, as an optimizer's would be.
Gaps and execution errors are those of perf/quality.py's mild and hard settings. Errors are root mean squares, given as
log(error / error when every input is known): 0 means that the gaps cost nothing, 0.1 means 10 % more; those of
`oracle`, which knows every input, as log(error / standard deviation of the function). Near: within 10 % of the best
row; anywhere: in the whole box. Coverage: how often the truth lies in the predicted 90 % interval, near and anywhere,
and how often a gap lies in the middle 90 % of its draws. Score: the mean log density of the truth near the best row
under the prediction, in units of the function's standard deviation and no better than 5; larger is better.

The setting `complete` misses nothing. `--noises` adds normal noise to the outcomes, as a share of the function's
standard deviation over the space. `--running` tells one evaluation after another and predicts after each, as in a
running process; otherwise all are told at once. `--jobs` makes several tables at a time.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass, replace
from functools import partial

import joblib
import numpy as np
import torch
from noise import SETTINGS, spread

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
    gaps, events = SETTINGS[setting]
    initial = missingness.initial(problem, seed=seed, gaps=gaps)
    rng = np.random.default_rng(1000 + seed)
    low, high = np.array(list(problem.bounds.values())).T
    inputs, outcomes = list(initial.inputs), list(initial.outcomes)
    asked, recorded = [], []

    def around(count: int, reach: float) -> FloatArray:
        best = inputs[int(np.argmax(outcomes))]
        return np.clip(best + rng.normal(0, reach, (count, problem.dim)) * (high - low), low, high)

    for t in range(1, EVALUATIONS + 1):
        x = rng.uniform(low, high) if rng.random() < 0.4 else around(1, 0.12)[0]
        tried, failed = x, np.zeros(problem.dim, dtype=bool)
        if events is not None:
            event = events.draw(seed, t, problem.dim)
            tried, failed = missingness.stray(event, x, problem)[0], event.failed
        actual, value = problem.evaluate(tried)
        asked.append(x)
        inputs.append(actual)
        recorded.append(np.where(failed, np.nan, actual))
        outcomes.append(float(problem.measured(value, missingness.measuring(seed, t))))
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
    """Error and coverage near and anywhere, coverage of the gaps, and the score."""
    optimizer, found = told(one, table, seed, running=running), []
    size = spread(table.problem)
    for points in table.points.values():
        truth = table.problem(points)
        predicted = optimizer.predict([dict(zip(table.problem.bounds, x.tolist(), strict=True)) for x in points])
        mean, sd = (np.array([getattr(p, name) for p in predicted]) for name in ("mean", "sd"))
        off = (truth - mean) / sd
        found += [float(np.sqrt(np.mean((mean - truth) ** 2))) / size, float(np.mean(np.abs(off) <= 1.645))]
        found.append(float(np.mean(np.minimum(-0.5 * off**2 - np.log(sd / size), 5.0))))
    return [*found, gap_coverage(optimizer, table)]


def gap_coverage(optimizer: Optimizer, table: Sheet) -> float:
    """How many of the gaps lie in the middle 90 % of their draws; NaN without gaps."""
    true = np.concatenate([table.initial.inputs, table.actual])
    places = {name: j for j, name in enumerate(table.problem.bounds)}
    inside = [
        np.quantile(gap.draws, 0.05) <= true[gap.row, places[gap.parameter]] <= np.quantile(gap.draws, 0.95)
        for gap in optimizer.gap_draws()
        if len(gap.draws) > 1
    ]
    return float(np.mean(inside)) if inside else math.nan


def one_table(
    problem: str, setting: str, noise: float, seed: int, *, methods: list[Contender], running: bool
) -> list[list[float]]:
    """What every method makes of a table."""
    torch.set_num_threads(1)
    plain = find_problem(problem)
    table = made(replace(plain, noise=noise * spread(plain)), setting, seed)
    return [scores(one, table, seed, running=running and one.label != "oracle") for one in methods]


def main() -> None:
    """Every method on every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="naive,posterior")
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--settings", default="mild,hard")
    parser.add_argument("--noises", default="0")
    parser.add_argument("--first", type=int, default=0, help="number of the first repeat, which is its seed")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--running", action="store_true")
    options = parser.parse_args()
    methods = [contender("oracle"), *map(contender, split(options.methods))]
    print(
        "| noise | setting | method | error near | error anywhere | coverage near | anywhere | of gaps | score near |"
    )
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for noise in options.noises.split(","):
        for setting in options.settings.split(","):
            make = partial(one_table, methods=methods, running=options.running)
            runs = [
                joblib.delayed(make)(name, setting, float(noise), seed)
                for name in options.problems.split(",")
                for seed in range(options.first, options.first + options.repeats)
            ]
            results = []
            for place, result in enumerate(joblib.Parallel(n_jobs=options.jobs, return_as="generator")(runs), 1):
                print(f"\rnoise {noise}, {setting}: table {place} of {len(runs)}", end="", file=sys.stderr, flush=True)
                results.append(result)
            print(file=sys.stderr)
            found = np.array(results)  # (tables, methods, 7)
            for i, one in enumerate(methods):
                ratios = np.log(found[:, i, [0, 3]] / (found[:, 0, [0, 3]] if i else 1.0))
                errors = ratios.std(0, ddof=1) / math.sqrt(len(ratios))
                cells = [f"{ratio:.3f} ± {error:.3f}" for ratio, error in zip(ratios.mean(0), errors, strict=True)]
                gaps = found[:, i, 6][~np.isnan(found[:, i, 6])]
                cells += [f"{found[:, i, j].mean():.2f}" for j in (1, 4)]
                cells += [f"{gaps.mean():.2f}" if len(gaps) else "", f"{found[:, i, 2].mean():.2f}"]
                print(f"| {noise} | {setting} | {one.label} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
