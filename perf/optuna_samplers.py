"""BomiSampler beside Optuna's TPE and GP samplers: plain, mixed, conditional and constrained problems, gaps or none.

    python perf/optuna_samplers.py --out r.jsonl                        # 10 seeds x 7 problems, 30 trials each
    python perf/optuna_samplers.py --out r.jsonl --repeats 2 --only mixed

With gaps, one input of every third trial is not what was asked, and nobody knows what it was; only bomi can be told so.
Printed: the mean over seeds of the regret of the best feasible setting asked for, with its standard error; that of the
setting that the study ends with, which is its best trial's, and for bomi that of `best()`; how many of these broke a
constraint, and are left out of that mean; and the processor time of a trial.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import optuna
import sweeps
from optuna.distributions import FloatDistribution
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from optuna.trial import Trial
from sweeps import Record

from bomi.errors import BomiError
from bomi.integrations.optuna import BomiSampler, record_actual

Setting = dict[str, float | str]
SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "bomi": lambda seed: BomiSampler(seed=seed),
    "tpe": lambda seed: TPESampler(seed=seed, multivariate=True, group=True),
    "gp": lambda seed: GPSampler(seed=seed),
}


@dataclass(frozen=True)
class Problem:
    """A function to maximize, with 0 as its best feasible value."""

    suggest: Callable[[Trial], Setting]
    value: Callable[[Setting], float]
    limits: Callable[[Setting], Sequence[float]] = lambda setting: ()  # each is kept at or below 0


def numbers(names: Sequence[str], categories: Sequence[str] = ()) -> Callable[[Trial], Setting]:
    """Suggests numbers from 0 to 1 and, if there are categories, one of them."""

    def suggest(trial: Trial) -> Setting:
        setting: Setting = {name: trial.suggest_float(name, 0, 1) for name in names}
        return {**setting, "kind": trial.suggest_categorical("kind", categories)} if categories else setting

    return suggest


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


def branches(trial: Trial) -> Setting:
    """A binary tree: each choice decides what else there is to choose."""
    side = trial.suggest_categorical("side", ("left", "right"))
    turn = trial.suggest_categorical(f"turn {side}", ("left", "right"))
    leaf, branch = f"x {side} {turn}", f"y {side}"
    numbers = {leaf: trial.suggest_float(leaf, -1, 1), branch: trial.suggest_float(branch, 0, 1)}
    return {"side": side, f"turn {side}": turn, **numbers}


def tree(x: Setting) -> float:
    """Jenatton et al. (2017): a parabola in each leaf, and a slope for each side; no leaf is far behind the best."""
    side = x["side"]
    turn = x[f"turn {side}"]
    behind = 0.2 * (side == "right") + 0.1 * (turn == "right")
    return -(float(x[f"x {side} {turn}"]) ** 2 + float(x[f"y {side}"]) + behind)


def bands(x: Setting) -> float:
    """Gardner et al. (2014): cos(2a) cos(b) + sin(a) on [0, 6]^2, where cos(a + b) <= -0.5."""
    a, b = 6 * float(x["x"]), 6 * float(x["y"])
    return -1.888751 - (math.cos(2 * a) * math.cos(b) + math.sin(a))


def bands_limits(x: Setting) -> tuple[float]:
    """cos(a + b) + 0.5: above 0 it is broken."""
    return (math.cos(6 * float(x["x"]) + 6 * float(x["y"])) + 0.5,)


def corner(x: Setting) -> float:
    """Gramacy et al. (2016): a straight slope."""
    return 0.599788 - float(x["x"]) - float(x["y"])


def corner_limits(x: Setting) -> tuple[float, float]:
    """A wavy border and a round one."""
    a, b = float(x["x"]), float(x["y"])
    return 1.5 - a - 2 * b - 0.5 * math.sin(2 * math.pi * (a * a - 2 * b)), a * a + b * b - 1.5


def hartmann3(x: Setting) -> float:
    """Hartmann's function of three numbers."""
    A = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    P = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
    point = np.array([float(x[name]) for name in ("x", "y", "z")])
    return float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-(A * (point - P) ** 2).sum(1))) - 3.86278


def hartmann6(x: Setting) -> float:
    """Hartmann's function of six numbers."""
    A = np.array(
        [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
    )
    P = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    point = np.array([float(x[name]) for name in "uvwxyz"])
    return float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-(A * (point - P) ** 2).sum(1))) - 3.32237


def ball_limits(x: Setting) -> tuple[float]:
    """Letham et al. (2019): not farther than 1 from the origin."""
    return (math.sqrt(sum(float(x[name]) ** 2 for name in "uvwxyz")) - 1,)


PROBLEMS = {
    "branin": Problem(numbers("xy"), branin),
    "hartmann": Problem(numbers("xyz"), hartmann3),
    "mixed": Problem(numbers("xy", ("a", "b", "c")), second_best),
    "conditional": Problem(branches, tree),
    "constrained": Problem(numbers("xy"), bands, bands_limits),
    "constrained twice": Problem(numbers("xy"), corner, corner_limits),
    "constrained, 6": Problem(numbers("uvwxyz"), hartmann6, ball_limits),
}


class Run(NamedTuple):
    """One study."""

    problem: str
    gaps: bool
    sampler: str
    seed: int
    trials: int


def study(run: Run) -> Record:
    """The best feasible value asked for so far after each trial, and the seconds of processor time of a trial."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    problem, sampler, rng = PROBLEMS[run.problem], SAMPLERS[run.sampler](run.seed), np.random.default_rng(run.seed)
    merits, kinds = [], []

    def objective(trial: Trial) -> float:
        setting = problem.suggest(trial)
        feasible = all(limit <= 0 for limit in problem.limits(setting))
        merits.append(problem.value(setting) if feasible else -math.inf)
        kinds.append(", ".join(value for value in setting.values() if isinstance(value, str)))
        if run.gaps and trial.number % 3 == 2:
            name = str(rng.choice([name for name, value in setting.items() if not isinstance(value, str)]))
            kind = trial.distributions[name]
            assert isinstance(kind, FloatDistribution)
            setting[name] = float(rng.uniform(kind.low, kind.high))
            if isinstance(sampler, BomiSampler):
                record_actual(trial, {name: None})
        for place, limit in enumerate(problem.limits(setting)):
            trial.set_constraint(str(place), limit)
        return problem.value(setting)

    made = optuna.create_study(direction="maximize", sampler=sampler)
    start = time.process_time()
    made.optimize(objective, n_trials=run.trials)
    seconds = (time.process_time() - start) / run.trials
    regrets = [-float(value) for value in np.maximum.accumulate(merits)]
    final = recommended(made)
    feasible = final is not None and all(limit <= 0 for limit in problem.limits(final))
    ended = -problem.value(final) if final is not None and feasible else None
    kind = kinds[int(np.argmax(merits))]
    return {**run._asdict(), "regrets": regrets, "recommended": ended, "kind": kind, "seconds": seconds}


def recommended(study: optuna.Study) -> Setting | None:
    """What a user takes from a study: the parameters of its best trial, or what bomi recommends; None: nothing."""
    try:
        if isinstance(study.sampler, BomiSampler):
            setting = study.sampler.optimizer(study).best().setting
            return None if setting is None else {**setting}
        return dict(study.best_trial.params)
    except (ValueError, BomiError):  # no trial was feasible
        return None


def mean_and_error(values: Sequence[float]) -> str:
    """The mean, with its standard error."""
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{np.mean(values):.3f} ± {error:.3f}" if values else "none"


def main() -> None:
    """Make the runs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--only", choices=PROBLEMS, action="append")
    parser.add_argument("--samplers", choices=SAMPLERS, action="append")
    parser.add_argument("--gaps", choices=("none", "every third"), action="append")
    sweeps.add_options(parser, repeats=10)
    given = parser.parse_args()
    runs = [
        Run(problem, share == "every third", sampler, seed, given.trials)
        for seed in sweeps.seeds(given)
        for problem in given.only or PROBLEMS
        for share in given.gaps or ("none", "every third")
        for sampler in given.samplers or SAMPLERS
    ]
    records = sweeps.sweep(study, runs, given)
    print("| problem | gaps | sampler | seeds | regret | of what is recommended | infeasible | s a trial |")
    print("|---|---|---|---:|---:|---:|---:|---:|")
    for name, gaps, sampler in dict.fromkeys(run[:3] for run in sorted(runs)):
        found = [r for r in records if (r["problem"], r["gaps"], r["sampler"]) == (name, gaps, sampler)]
        last = [record["regrets"][-1] for record in found]
        ended = [record["recommended"] for record in found if record["recommended"] is not None]
        seconds = np.mean([record["seconds"] for record in found])
        share = "every third" if gaps else "none"
        broken = len(found) - len(ended)
        said = f"{len(found)} | {mean_and_error(last)} | {mean_and_error(ended)} | {broken} | {seconds:.2f}"
        print(f"| {name} | {share} | {sampler} | {said} |")
        kinds = Counter(record["kind"] for record in found if record["kind"])
        if kinds:
            print("  ended in " + ", ".join(f"{kind}: {count}" for kind, count in kinds.most_common()), file=sys.stderr)


if __name__ == "__main__":
    main()
