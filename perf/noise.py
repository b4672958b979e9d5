"""Noisy outcomes: is the recommended setting good, and is its interval honest?

    PYTHONPATH=src python perf/noise.py --methods posterior,botorch,tpe --noises 0.1,0.3 --out noise.jsonl --jobs 2

Each run begins with 30 rows and makes 40 evaluations. Outcomes have normal noise, whose standard deviation is a share
of the function's own over the space. The setting `complete` misses nothing; `hard` has up to three gaps a row and loses
up to three inputs, off by up to 30 %, in every second evaluation. At the end every contender recommends a setting; its
true value gives the regret, and where there is a prediction, whether its 90 % interval holds the true value.

    posterior, and any other method of bomi, is told what was recorded
    botorch    SingleTaskGP and qLogNoisyExpectedImprovement, told requested values and column means in the gaps; it
               recommends the largest posterior mean
    tpe        Optuna's, told the same; it recommends the best row it was told

Runs that the results file holds are not made again. The table at the end has, for each noise and setting, the mean rank
of the true values, the mean ratio of regrets to BoTorch's (geometric), and the coverage.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import peers
import torch
from scipy.stats import rankdata
from sweeps import add_options, seeds, sweep

from bomi.benchmarks.contenders import View, contender
from bomi.benchmarks.functions import FloatArray, Problem
from bomi.benchmarks.missingness import Events, HistoryGaps, initial, measuring, stray
from bomi.benchmarks.problems import find_problem
from bomi.optimizer import Optimizer

PROBLEMS = (
    "branin,hartmann3,hartmann6,levy,rosenbrock,styblinskitang,cosine,ackley,griewank,michalewicz,rastrigin,dixonprice"
)
ROWS, BUDGET = 30, 40
SETTINGS: dict[str, tuple[HistoryGaps, Events | None]] = {
    "complete": (HistoryGaps(share=0.0), None),
    "mild": (HistoryGaps(most=1), Events(0.25, 0.05)),
    "hard": (HistoryGaps(most=3), Events(0.5, 0.3, most=3)),
}
HALF_WIDTH = 1.645  # standard deviations, of a 90 % interval


class Run(NamedTuple):
    """What tells one run from the others."""

    problem: str
    noise: float
    setting: str
    method: str
    repeat: int


class Botorch:
    """BoTorch's campaign with the interface of our optimizers, as far as a run needs it."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.peer = problem, peers.Botorch(problem.dim, seed, noisy=True)
        self.low, self.high = np.array(list(problem.bounds.values())).T

    def tell(self, experiment: Mapping[str, Any], outcome: float, *, actual: Mapping[str, Any] | None = None) -> None:
        """Tell a complete row."""
        told = self.problem.inputs({**experiment, **(actual or {})})
        self.peer.tell((told - self.low) / (self.high - self.low), outcome)

    def ask(self) -> dict[str, Any]:
        """The next experiment."""
        place = self.low + (self.high - self.low) * self.peer.ask()
        return dict(zip(self.problem.bounds, place.tolist(), strict=True))

    def recommend(self) -> tuple[FloatArray, float, float]:
        """The place of the largest posterior mean, with mean and standard deviation there."""
        place, mean, sd = self.peer.recommend()
        return self.low + (self.high - self.low) * place, mean, sd


def recommendation(optimizer: Any, problem: Problem) -> tuple[FloatArray, float | None, float | None]:
    """The recommended inputs, with what is expected there."""
    if isinstance(optimizer, Botorch):
        return optimizer.recommend()
    best = optimizer.best()
    if not isinstance(optimizer, Optimizer):
        best = best.choices[0]
    predicted = best.predicted
    mean, sd = (None, None) if predicted is None else (predicted.mean, predicted.sd)
    return problem.inputs(best.setting), mean, sd


def spread(problem: Problem) -> float:
    """The standard deviation of a function over its space."""
    return float(np.std(problem(problem.draw(4096, np.random.default_rng(0)))))


def make(run: Run) -> dict[str, Any]:
    """One run."""
    torch.set_num_threads(1)
    plain = find_problem(run.problem)
    problem = replace(plain, noise=run.noise * spread(plain))
    gaps, events = SETTINGS[run.setting]
    data = initial(problem, rows=ROWS, gaps=gaps, seed=run.repeat)
    chosen = contender("naive" if run.method == "botorch" else run.method)
    view: View = chosen.view
    optimizer: Any = chosen.optimizer(problem, ["outcome"], run.repeat)
    if run.method == "botorch":
        optimizer = Botorch(problem, run.repeat)
    for row, outcome in zip(view.history(data, problem), data.outcomes, strict=True):
        optimizer.tell(problem.cells(row), float(outcome))
    start = time.perf_counter()
    for t in range(1, BUDGET + 1):
        suggestion = optimizer.ask()
        asked = problem.inputs(suggestion)
        tried, failed = asked, np.zeros(problem.dim, dtype=bool)
        if events is not None:
            event = events.draw(run.repeat, t, problem.dim)
            tried, failed = stray(event, asked, problem)[0], event.failed
        actual, value = problem.evaluate(tried)
        outcome = float(problem.measured(value, measuring(run.repeat, t)))
        known = problem.cells(view.evaluation(asked, actual, np.where(failed, np.nan, actual)))
        optimizer.tell(suggestion, outcome, actual={k: c for k, c in known.items() if c != suggestion[k]})
    place, mean, sd = recommendation(optimizer, problem)
    true = float(problem(place))
    return {
        **run._asdict(),
        "true": true,
        "regret": (problem.optimum or 0.0) - true,
        "off": None if mean is None or sd is None else (true - mean) / sd,
        "seconds": time.perf_counter() - start,
    }


def table(records: list[dict[str, Any]], reference: str = "botorch") -> str:
    """Ranks, regrets against a reference, and coverage, by noise and setting."""
    lines = ["| noise | setting | method | runs | rank | regret / reference | 90 % interval covers | off, sd | s/run |"]
    lines += ["|---|---|---|---:|---:|---:|---:|---:|---:|"]
    for noise, setting in sorted({(r["noise"], r["setting"]) for r in records}):
        part = [r for r in records if (r["noise"], r["setting"]) == (noise, setting)]
        methods = sorted({r["method"] for r in part})
        true = {(r["problem"], r["repeat"], r["method"]): r for r in part}
        keys = sorted({(r["problem"], r["repeat"]) for r in part})
        whole = [key for key in keys if all((*key, method) in true for method in methods)]
        ranks = np.array([rankdata([-true[*key, method]["true"] for method in methods]) for key in whole])
        for j, method in enumerate(methods):
            own = [true[*key, method] for key in keys if (*key, method) in true]
            off = np.array([r["off"] for r in own if r["off"] is not None])
            covers = f"{np.mean(np.abs(off) <= HALF_WIDTH):.0%}" if len(off) else ""
            far = f"{np.sqrt(np.mean(off**2)):.2f}" if len(off) else ""
            pairs = [
                (true[*key, method]["regret"], true[*key, reference]["regret"])
                for key in keys
                if (*key, method) in true and (*key, reference) in true
            ]
            ratio = np.exp(np.mean([np.log(max(a, 1e-12) / max(b, 1e-12)) for a, b in pairs])) if pairs else np.nan
            rank = f"{ranks[:, j].mean():.2f}" if len(ranks) else ""
            seconds = np.mean([r["seconds"] for r in own])
            cells = [noise, setting, method, len(own), rank, f"{ratio:.2f}", covers, far, f"{seconds:.1f}"]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="posterior,botorch,tpe")
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--noises", default="0.1,0.3")
    parser.add_argument("--settings", default="complete,hard")
    add_options(parser, repeats=8)
    options = parser.parse_args()
    runs = [
        Run(problem, float(noise), setting, method, repeat)
        for repeat in seeds(options)
        for problem in options.problems.split(",")
        for noise in options.noises.split(",")
        for setting in options.settings.split(",")
        for method in options.methods.split(",")
    ]
    print(table(sweep(make, runs, options)))


if __name__ == "__main__":
    main()
