"""Six problems whose equipment strays, each in its own way: what comes of asking for the recommended setting.

    python perf/execution.py [REPEATS] [BUDGET]

Every campaign starts with 8 space-filling requests. What is done is recorded in three of four experiments and lost in
the fourth. `planned` is the method as it is, `nominal` the same as if everything were done as asked, in planning and in
what it recommends; the seed and the luck of the equipment are the same. Printed is the true expected outcome of asking
for the recommended setting, over 4,000 draws of the equipment: mean and standard error over the repeats, the most that
any request can give, and how likely it is that such a difference comes by chance (a paired t test). Problems of this
kind: Bertsimas, Nohadani and Teo 2010; Bogunovic et al. 2018; Le and Branke 2020.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc, ttest_rel

import bomi
from bomi.data.observations import Row
from bomi.space.cells import Cell, Known

Array = NDArray[np.float64]
Generator = np.random.Generator


@dataclass(frozen=True)
class Problem:
    """An outcome, and equipment; both take many settings at a time, a category as its index."""

    space: dict[str, object]
    outcome: Callable[[Array], Array]  # (m, p) -> (m,)
    equipment: Callable[[Array, Generator], Array]  # asked (m, p) -> done (m, p)

    def inputs(self, setting: Mapping[str, Known]) -> Array:
        """(p,)"""
        return np.array(
            [
                ends.index(setting[name]) if isinstance(ends, list) else setting[name]
                for name, ends in self.space.items()
            ],
            dtype=float,
        )

    def setting(self, inputs: Array) -> dict[str, Known]:
        """The other way round."""
        each = zip(self.space.items(), inputs, strict=True)
        return {name: ends[round(x)] if isinstance(ends, list) else float(x) for (name, ends), x in each}

    def expected(self, asked: Array, seed: int = 0) -> float:
        """The true expected outcome of a request."""
        return float(self.outcome(self.equipment(np.tile(asked, (4000, 1)), np.random.default_rng(seed))).mean())

    def most(self) -> float:
        """The best that any of many requests gives."""
        points = np.array([self.inputs(self.setting(x)) for x in self.spread(1024, 1)])
        rough = [self.outcome(self.equipment(np.tile(x, (200, 1)), np.random.default_rng(0))).mean() for x in points]
        return max(self.expected(points[i]) for i in np.argsort(rough)[-20:])

    def spread(self, count: int, seed: int) -> Array:
        """Space-filling settings.  (count, p)"""
        unit = qmc.Sobol(len(self.space), seed=seed).random(count)
        columns = [
            np.floor(u * len(ends)) if isinstance(ends, list) else ends[0] + u * (ends[1] - ends[0])
            for u, ends in zip(unit.T, self.space.values(), strict=True)
        ]
        return np.stack(columns, -1)


def bell(x: Array, center: float, width: float) -> Array:
    """A bell of height 1."""
    return np.exp(-0.5 * ((x - center) / width) ** 2)


def ridge(x: Array) -> Array:
    """A ridge of 1.4 that is narrow in the first parameter, beside a broad hill of 1."""
    hill = bell(x[:, 0], 0.3, 0.18) * bell(x[:, 1], 0.4, 0.3)
    return 1.4 * bell(x[:, 0], 0.75, 0.05) * bell(x[:, 1], 0.6, 0.3) + hill


def bowl(x: Array) -> Array:
    """A bowl with a bump at its rim that is higher than its middle."""
    away = np.hypot(x[:, 0] - 0.5, x[:, 1] - 0.5)
    return 1 - 2.5 * away**2 + 0.9 * bell(x[:, 0], 0.8, 0.08) * bell(x[:, 1], 0.7, 0.15)


def hot(x: Array) -> Array:
    """The hotter the better, up to a cliff."""
    return x[:, 0] * (1 / (1 + np.exp((x[:, 0] - 0.85) / 0.015))) * (0.5 + 0.5 * bell(x[:, 1], 0.5, 0.3))


def saturating(asked: Array, rng: Generator) -> Array:
    """The first parameter stops at 0.6, give or take a little."""
    done = asked.copy()
    done[:, 0] = np.where(asked[:, 0] > 0.6, 0.6 + rng.normal(0, 0.02, len(asked)), asked[:, 0])
    return done


def peak_at(first: float) -> Callable[[Array], Array]:
    """A peak that cannot be reached by the second parameter alone."""
    return lambda x: bell(x[:, 0], first, 0.12) * (0.4 + 0.6 * bell(x[:, 1], 0.2 + 0.6 * x[:, 0], 0.1))


def detour(asked: Array, rng: Generator) -> Array:
    """Requests for a region end at its lower left corner."""
    inside = (np.abs(asked - 0.7) < 0.15).all(-1)
    return np.where(inside[:, None], rng.normal(0.5, 0.01, asked.shape), asked)


def off(size: Callable[[Array], Array] | float, sided: bool = False) -> Callable[[Array, Generator], Array]:
    """Errors of the first parameter, of a size that may depend on what was asked."""

    def equipment(asked: Array, rng: Generator) -> Array:
        done = asked.copy()
        sizes = size(asked[:, 0]) if callable(size) else size
        error = (
            rng.exponential(1, len(asked)) * (rng.random(len(asked)) < 0.5) if sided else rng.normal(size=len(asked))
        )
        done[:, 0] = np.clip(asked[:, 0] + sizes * error, 0, 1)
        return done

    return equipment


def swapped(asked: Array, rng: Generator) -> Array:
    """Who asks for oil gets water in two of five experiments."""
    done = asked.copy()
    done[:, 1] = np.where((asked[:, 1] == 0) & (rng.random(len(asked)) < 0.4), 1, asked[:, 1])
    return done


def baths(x: Array) -> Array:
    """Oil is the best, water is the worst, air is nearly as good as oil."""
    return np.array([1.0, 0.1, 0.85])[x[:, 1].astype(int)] * bell(x[:, 0], 0.6, 0.2)


PLANE: dict[str, object] = {"u": (0.0, 1.0), "v": (0.0, 1.0)}
PROBLEMS = {
    "constant spread, ridge and hill": Problem(PLANE, ridge, off(0.1)),
    "spread grows, bumped bowl": Problem(PLANE, bowl, off(lambda a: 0.25 * a)),
    "saturates below the peak": Problem(PLANE, peak_at(0.75), saturating),
    "one-sided, near a cliff": Problem(PLANE, hot, off(0.08, sided=True)),
    "a forbidden region": Problem(
        PLANE, lambda x: bell(x[:, 0], 0.7, 0.15) * bell(x[:, 1], 0.7, 0.15) + 0.3 * x[:, 0], detour
    ),
    "a swapped category": Problem({"u": (0.0, 1.0), "bath": ["oil", "water", "air"]}, baths, swapped),
    "nothing strays": Problem(PLANE, ridge, lambda asked, rng: asked),
}


def campaign(problem: Problem, planned: bool, budget: int, seed: int) -> tuple[float, float]:
    """The true expected outcome of what is recommended in the end, and seconds for each suggestion."""
    method = replace(bomi.METHODS["posterior"], execution=planned)
    optimizer = bomi.Optimizer(problem.space, method=method, seed=seed)
    first = problem.spread(8, seed)
    spent = 0.0
    for t in range(budget):
        rng = np.random.default_rng([seed, t])
        if t < len(first):
            asked = problem.setting(first[t])
        else:
            start = time.process_time()
            suggestion = optimizer.ask()
            spent += time.process_time() - start
            asked = dict(suggestion)
        done = problem.equipment(problem.inputs(asked)[None], rng)
        outcome = float(problem.outcome(done)[0] + rng.normal(0, 0.01))
        recorded: dict[str, Cell] = dict(problem.setting(done[0]))
        if rng.random() < 0.25:
            recorded[rng.choice(list(problem.space))] = None
        if t < len(first):
            optimizer.tell_rows([Row(recorded, {"y": outcome}, asked)])
        else:
            optimizer.tell(suggestion, outcome, actual=recorded)
    best = optimizer.best("expected" if planned else "nominal").setting
    assert best is not None
    return problem.expected(problem.inputs(best)), spent / max(budget - len(first), 1)


def main(repeats: int = 10, budget: int = 40) -> None:
    """Print the table."""
    print(f"{repeats} repeats of {budget} experiments\n")
    print("| problem | nominal | planned | most | p | seconds a suggestion, nominal | planned |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, problem in PROBLEMS.items():
        runs = np.array([[campaign(problem, on, budget, seed) for on in (False, True)] for seed in range(repeats)])
        values, seconds = runs[..., 0], runs[..., 1].mean(0)  # (repeats, 2), (2,)
        error = values.std(0, ddof=1) / np.sqrt(repeats) if repeats > 1 else np.zeros(2)
        same = np.ptp(values[:, 1] - values[:, 0]) == 0
        p = 1.0 if same else ttest_rel(values[:, 1], values[:, 0]).pvalue
        shown = [f"{mean:.3f} ± {sd:.3f}" for mean, sd in zip(values.mean(0), error, strict=True)]
        print(
            f"| {name} | {' | '.join(shown)} | {problem.most():.3f} | {p:.2g} | {seconds[0]:.2f} | {seconds[1]:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
