"""BomiSampler beside Optuna's own TPE and GP samplers: plain, mixed and constrained problems, with gaps and without.

    python perf/optuna_samplers.py                        # 10 seeds x 4 problems, 30 trials each
    python perf/optuna_samplers.py --seeds 2 --only mixed

With gaps, one input of every third trial is not what was asked, and nobody knows what it was; only bomi can be told so.
Printed: the mean over seeds of the regret of the best feasible setting asked for, its standard error, and the processor
time of a trial.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from optuna.trial import Trial

from bomi.integrations.optuna import BomiSampler, record_actual

Setting = dict[str, float | str]
SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "bomi": lambda seed: BomiSampler(seed=seed),
    "tpe": lambda seed: TPESampler(seed=seed, multivariate=True),
    "gp": lambda seed: GPSampler(seed=seed),
}


@dataclass(frozen=True)
class Problem:
    """A function to maximize, with 0 as its best feasible value."""

    names: tuple[str, ...]  # of the numbers, from 0 to 1
    value: Callable[[Setting], float]
    categories: tuple[str, ...] = ()
    violation: Callable[[Setting], float] | None = None


def branin(x: Setting) -> float:
    """Branin's function, with three best places."""
    a, b = 15 * float(x["x"]) - 5, 15 * float(x["y"])
    return 0.397887 - (
        (b - 5.1 / (4 * math.pi**2) * a * a + 5 / math.pi * a - 6) ** 2
        + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a)
        + 10
    )


def second_best(x: Setting) -> float:
    """One category has the best, narrow peak; another a wide one that is nearly as good."""
    height, width, at = {"a": (0.0, 0.12, 0.2), "b": (-0.2, 0.4, 0.7), "c": (-0.9, 0.3, 0.5)}[str(x["kind"])]
    far = sum((float(x[name]) - at) ** 2 for name in ("x", "y"))
    return height - 1 + math.exp(-far / (2 * width * width))


def bands(x: Setting) -> float:
    """Gardner et al. (2014): cos(2a) cos(b) + sin(a) on [0, 6]^2, where cos(a + b) <= -0.5."""
    a, b = 6 * float(x["x"]), 6 * float(x["y"])
    return -2.0 - (math.cos(2 * a) * math.cos(b) + math.sin(a))


def bands_violation(x: Setting) -> float:
    """cos(a + b) + 0.5: above 0 it is broken."""
    return math.cos(6 * float(x["x"]) + 6 * float(x["y"])) + 0.5


def hartmann3(x: Setting) -> float:
    """Hartmann's function of three numbers."""
    A = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    P = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
    point = np.array([float(x[name]) for name in ("x", "y", "z")])
    return float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-(A * (point - P) ** 2).sum(1))) - 3.86278


PROBLEMS = {
    "branin": Problem(("x", "y"), branin),
    "hartmann": Problem(("x", "y", "z"), hartmann3),
    "mixed": Problem(("x", "y"), second_best, categories=("a", "b", "c")),
    "constrained": Problem(("x", "y"), bands, violation=bands_violation),
}


def run(problem: Problem, sampler: BaseSampler, seed: int, trials: int, gaps: bool) -> tuple[float, float]:
    """The regret of the best feasible setting asked for, and the seconds of processor time of a trial."""
    rng = np.random.default_rng(seed)
    merits = []

    def objective(trial: Trial) -> float:
        setting: Setting = {name: trial.suggest_float(name, 0, 1) for name in problem.names}
        if problem.categories:
            setting["kind"] = trial.suggest_categorical("kind", problem.categories)
        feasible = problem.violation is None or problem.violation(setting) <= 0
        merits.append(problem.value(setting) if feasible else -math.inf)
        if gaps and trial.number % 3 == 2:
            name = str(rng.choice(problem.names))
            setting[name] = float(rng.random())
            if isinstance(sampler, BomiSampler):
                record_actual(trial, {name: None})
        if problem.violation is not None:
            trial.set_constraint("c", problem.violation(setting))
        return problem.value(setting)

    study = optuna.create_study(direction="maximize", sampler=sampler)
    start = time.process_time()
    study.optimize(objective, n_trials=trials)
    return -max(merits), (time.process_time() - start) / trials


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--only", choices=PROBLEMS, action="append")
    parser.add_argument("--samplers", choices=SAMPLERS, action="append")
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    print("| problem | gaps | sampler | regret | s a trial |\n|---|---|---|---|---|")
    for name in given.only or PROBLEMS:
        for gaps in (False, True):
            for sampler in given.samplers or SAMPLERS:
                found = [
                    run(PROBLEMS[name], SAMPLERS[sampler](seed), seed, given.trials, gaps)
                    for seed in range(given.seeds)
                ]
                regrets, seconds = np.array(found).T
                error = regrets.std(ddof=1) / math.sqrt(len(regrets)) if len(regrets) > 1 else math.nan
                share = "every third" if gaps else "none"
                row = f"{regrets.mean():.3f} ± {error:.3f} | {seconds.mean():.2f}"
                print(f"| {name} | {share} | {sampler} | {row} |", flush=True)


if __name__ == "__main__":
    main()
