"""Inputs that nobody can set: regret against the best for the given value, and against the best on average.

    PYTHONPATH=src python perf/measured.py --problems hartmann6:5 --seeds 3 --budget 40 --out measured.jsonl

One input of a known function is drawn at random for every experiment and measured afterwards, or, for a share of the
rows, never. Each way gets the same days:

    known      told the value when it asks, where it is measured
    later      told the value with the outcome
    never      knows that there is such an input, and never sees a value
    settable   pretends that the value can be set, and is told what it was
    ignored    leaves the column out
    random     random experiments, judged by the same model
    nubo       NUBO (`pip install nubopy`): told the value when it asks, as `known`; it needs complete rows

A run that is in the file `--out` is not made again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize

import bomi
from bomi.benchmarks.functions import FloatArray, Problem, corners, problem

WAYS = ("known", "later", "never", "settable", "ignored", "random")
DAYS = 7  # values at which the recommended setting is judged
START = 8  # random experiments before the first suggestion


class Bench:
    """A function one of whose inputs cannot be set; inputs as shares of their ranges."""

    def __init__(self, made: Problem, uncontrolled: int) -> None:
        self.problem, self.uncontrolled = made, uncontrolled
        self.low, self.high = corners(made.bounds)
        self.names = [f"x{j}" for j in range(made.dim)]
        self.days = (np.arange(DAYS) + 0.5) / DAYS

    def __call__(self, x: FloatArray) -> FloatArray:
        """The outcome at shares of the ranges.  (m, d) -> (m,)"""
        return np.asarray(self.problem(self.low + x * (self.high - self.low)))

    def on(self, x: FloatArray, days: FloatArray) -> FloatArray:
        """The outcome of a setting on each day.  (d,), (k,) -> (k,)"""
        every = np.tile(x, (len(days), 1))
        every[:, self.uncontrolled] = days
        return self(every)

    def best(self, days: FloatArray) -> float:
        """The best mean outcome over some days that one setting has."""
        rng = np.random.default_rng(0)
        points = rng.random((8000, len(self.names)))
        values = np.mean([self(self._with(points, day)) for day in days], 0)
        found = [
            minimize(
                lambda x: -self.on(np.clip(x, 0, 1), days).mean(), points[i], method="Powell",
                bounds=[(0, 1)] * len(self.names),
            ).fun
            for i in values.argsort()[-12:]
        ]  # fmt: skip
        return float(-min(found))

    def _with(self, points: FloatArray, day: float) -> FloatArray:
        moved = points.copy()
        moved[:, self.uncontrolled] = day
        return moved


def run(bench: Bench, way: str, *, blanks: float, budget: int, seed: int) -> tuple[list[FloatArray], FloatArray]:
    """One campaign: the settings recommended for each of the days, and the one for all of them."""
    rng = np.random.default_rng(seed)
    weather, lost, starts = rng.random(budget), rng.random(budget) < blanks, rng.random((START, len(bench.names)))
    if way == "nubo":
        return run_nubo(bench, weather, lost, starts, seed)
    lost |= way == "never"
    open_name = bench.names[bench.uncontrolled]
    space: dict[str, object] = dict.fromkeys(bench.names, (0, 1))
    if way == "ignored":
        del space[open_name]
    elif way != "settable":
        space[open_name] = bomi.Measured(0, 1)
    optimizer = bomi.Optimizer(space, seed=seed, method="random" if way == "random" else "posterior")
    for k in range(budget):
        given = {open_name: weather[k]} if way == "known" and not lost[k] else None
        suggestion = None if k < START else optimizer.ask(given=given)
        setting = dict(zip(bench.names, starts[k].tolist(), strict=True)) if suggestion is None else dict(suggestion)
        x = np.array([setting.get(name, 0.5) for name in bench.names])
        outcome = float(bench.on(x, weather[k : k + 1])[0])
        measured = {} if way == "ignored" else {open_name: None if lost[k] else weather[k]}
        if suggestion is None:
            optimizer.tell({name: {**setting, **measured}[name] for name in optimizer.space.names}, outcome)
        else:
            optimizer.tell(suggestion, outcome, actual=measured)
    if way == "random":
        optimizer = told_again(optimizer, seed)
    days = [recommended(bench, optimizer, {open_name: day} if way != "ignored" else None) for day in bench.days]
    return days, recommended(bench, optimizer, None)


def run_nubo(
    bench: Bench, weather: FloatArray, lost: FloatArray, starts: FloatArray, seed: int
) -> tuple[list[FloatArray], FloatArray]:
    """The same by NUBO: a Gaussian process of the complete rows, UCB with the value of the day as a constraint."""
    from gpytorch.likelihoods import GaussianLikelihood
    from nubo.acquisition import UpperConfidenceBound
    from nubo.models import GaussianProcess, fit_gp
    from nubo.optimisation import single

    torch.manual_seed(seed)
    j, points, outcomes = bench.uncontrolled, list[FloatArray](), list[float]()
    bounds = torch.tensor([[0.0] * len(bench.names), [1.0] * len(bench.names)], dtype=torch.float64)

    def model() -> object:
        x, y = torch.tensor(np.array(points)), torch.tensor(outcomes, dtype=torch.float64)
        y = (y - y.mean()) / y.std().clamp_min(1e-9)
        likelihood = GaussianLikelihood().double()
        process = GaussianProcess(x, y, likelihood=likelihood).double()
        fit_gp(x, y, gp=process, likelihood=likelihood, lr=0.1, steps=200)
        return process

    def largest(process: object, day: float | None, beta: float) -> FloatArray:
        acquisition = UpperConfidenceBound(gp=process, beta=beta)
        today = [] if day is None else [{"type": "eq", "fun": lambda x: x[j] - day}]
        found, _ = single(func=acquisition, method="SLSQP", bounds=bounds, constraints=today, num_starts=5)
        return np.asarray(found.detach().numpy().reshape(-1))

    for k, day in enumerate(weather):
        if k < START or len(points) < 3:
            x = starts[k % START].copy()
        else:
            x = largest(model(), float(np.mean([p[j] for p in points]) if lost[k] else day), 1.96**2)
        x[j] = day
        if not lost[k]:
            points.append(x)
            outcomes.append(float(bench(x[None])[0]))
    process = model()
    return [largest(process, float(day), 0.0) for day in bench.days], largest(process, None, 0.0)


def told_again(optimizer: bomi.Optimizer, seed: int) -> bomi.Optimizer:
    """The default method with the rows of another."""
    other = bomi.Optimizer(optimizer.space, seed=seed)
    other.tell(optimizer.frame())
    return other


def recommended(bench: Bench, optimizer: bomi.Optimizer, given: dict[str, float] | None) -> FloatArray:
    """The recommended setting."""
    setting = optimizer.best(given=given).setting or {}
    return np.array([float(setting.get(name, 0.5)) for name in bench.names])


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["hartmann6:5", "branin:1", "levy4:0"], metavar="NAME:INPUT")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=(*WAYS, "nubo"))
    parser.add_argument("--blanks", nargs="+", type=float, default=[0.0, 0.3])
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="The first seed.")
    parser.add_argument("--out", type=Path, help="A file of runs, which are not made again.")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done = [json.loads(line) for line in options.out.open()] if options.out and options.out.exists() else []
    regrets = {tuple(one["run"]): one["regrets"] for one in done}
    print("| problem | blank | way | regret for the day | regret on average |\n|---|---:|---|---:|---:|")
    for name in options.problems:
        function, _, place = name.partition(":")
        bench = Bench(problem(function), int(place or -1) % problem(function).dim)
        best, best_of_all = [bench.best(bench.days[i : i + 1]) for i in range(DAYS)], bench.best(bench.days)
        for blanks in options.blanks:
            for way in options.ways:
                if way == "never" and blanks:
                    continue  # no value is seen either way
                found = []
                for seed in range(options.first, options.first + options.seeds):
                    key = (name, blanks, way, options.budget, seed)
                    if key not in regrets:
                        days, always = run(bench, way, blanks=blanks, budget=options.budget, seed=seed)
                        reached = [float(bench.on(x, bench.days[i : i + 1])[0]) for i, x in enumerate(days)]
                        for_day = float(np.mean(np.array(best) - reached))
                        regrets[key] = [for_day, float(best_of_all - bench.on(always, bench.days).mean())]
                        if options.out:
                            with options.out.open("a") as file:
                                file.write(json.dumps({"run": key, "regrets": regrets[key]}) + "\n")
                    found.append(regrets[key])
                told = [f"{np.mean(v):.3g} ± {np.std(v) / np.sqrt(len(v)):.2g}" for v in np.transpose(found)]
                print(f"| {name} | {blanks:.0%} | {way} | {told[0]} | {told[1]} |", flush=True)


if __name__ == "__main__":
    main()
