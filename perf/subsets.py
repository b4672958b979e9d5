"""At most three of six: Hartmann's function in six dimensions, of whose inputs only three may be other than 0.

    PYTHONPATH=src python perf/subsets.py --seeds 10 --budget 60

Every subset of three has its own best value, found beforehand by L-BFGS from many starts; the best of the twenty is the
optimum. All ways begin with the same ten random settings that keep the limit. Printed: the best outcome found by each,
how often it has the right subset, and the values of the three best subsets.

    posterior   `bomi.Optimizer` with `NonZero`
    plain       BoTorch's SingleTaskGP, and LogEI at the best of 10,000 random settings that keep the limit
    random      such settings
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from scipy.optimize import minimize

import bomi
from bomi.benchmarks.problems import find_problem

NAMES = [f"x{k}" for k in range(1, 7)]
MOST, START = 3, 10
SPACE = bomi.Space(dict.fromkeys(NAMES, (0, 1)), constraints=[bomi.NonZero(NAMES, max=MOST)])
HARTMANN = find_problem("hartmann6")


def value(setting: dict[str, float]) -> float:
    """The outcome of a setting."""
    return float(HARTMANN(np.array([setting[name] for name in NAMES])))


def optima() -> dict[tuple[str, ...], float]:
    """The best value of each subset, the best subset first."""
    found, rng = {}, np.random.default_rng(0)
    for names in combinations(NAMES, MOST):

        def worse(x: np.ndarray, names: tuple[str, ...] = names) -> float:
            return -value(dict.fromkeys(NAMES, 0.0) | dict(zip(names, x.tolist(), strict=True)))

        runs = [minimize(worse, start, bounds=[(0, 1)] * MOST) for start in rng.random((20, MOST))]
        found[names] = -min(float(run.fun) for run in runs)
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def asked(seed: int) -> Iterator[dict[str, float]]:
    """Settings that are asked for after the first, each once the outcome of the one before is sent."""
    optimizer = bomi.Optimizer(SPACE, seed=seed)
    for setting in start(seed):
        optimizer.tell(setting, value(setting))
    while True:
        suggestion = optimizer.ask()
        yield dict(suggestion)
        optimizer.tell(suggestion, value(dict(suggestion)))


def plain(seed: int) -> Iterator[dict[str, float]]:
    """The same by a plain Gaussian process."""
    torch.manual_seed(seed)
    x = torch.from_numpy(SPACE.places(start(seed)))
    y = torch.tensor([[value(setting)] for setting in start(seed)], dtype=torch.float64)
    for number in itertools.count():
        model = SingleTaskGP(x, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        places = torch.from_numpy(SPACE.draw(10_000, np.random.default_rng([seed, number])))
        with torch.no_grad():
            best = places[LogExpectedImprovement(model, y.max())(places[:, None]).argmax()]
        setting = SPACE.setting(best.numpy())
        yield setting
        x, y = torch.cat([x, best[None]]), torch.cat([y, torch.tensor([[value(setting)]], dtype=torch.float64)])


def at_random(seed: int) -> Iterator[dict[str, float]]:
    """The same by chance."""
    rng = np.random.default_rng([seed, 1])
    while True:
        yield SPACE.setting(SPACE.draw(1, rng)[0])


def start(seed: int) -> list[dict[str, float]]:
    """The first settings."""
    return [SPACE.setting(place) for place in SPACE.draw(START, np.random.default_rng(seed))]


WAYS = {"posterior": asked, "plain": plain, "random": at_random}


def main() -> None:
    """All seeds, one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--ways", default=",".join(WAYS))
    options = parser.parse_args()
    best = optima()
    print("best subsets:", ", ".join(f"{'+'.join(names)} {y:.3f}" for names, y in list(best.items())[:3]))
    for way in options.ways.split(","):
        found, right = [], 0
        for seed in range(options.first, options.first + options.seeds):
            settings = [*start(seed), *itertools.islice(WAYS[way](seed), options.budget - START)]
            setting = max(settings, key=value)
            names = tuple(name for name in NAMES if setting[name])
            found.append(value(setting))
            right += names == next(iter(best))
            print(f"{way}, seed {seed}: {found[-1]:.3f} with {'+'.join(names)}", flush=True)
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
        print(f"{way}: {np.mean(found):.3f} ± {error:.3f}, the right subset in {right} of {len(found)}", flush=True)


if __name__ == "__main__":
    main()
