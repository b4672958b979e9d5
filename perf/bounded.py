"""Does it help to say between which values an outcome lies? Predictions with a range and without one.

    PYTHONPATH=src python perf/bounded.py --repeats 5

Every table has 40 rows, a third of which lack an input. Some outcomes come near an end of their range or stay on it;
two lie far from both ends, to see that nothing is lost there. 300 new outcomes are scored: by the mean log density,
where what lies beyond an end counts as that end, whether the model was told or not; by the same of the outcomes within
5 % of the range of an end; by the share within the 90 % interval; and by the root mean square error of the middle, in
standard deviations of the outcome.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import pandas as pd
import torch

from bomi import Optimizer
from bomi.data.objectives import Objective
from bomi.space import Array

ROWS, NEW, NEAR = 40, 300, 0.05
INF = math.inf


def conversion(x: Array) -> Array:
    """A reaction that comes to its end: most outcomes between 80 and 100 %."""
    return 100 * (1 - np.exp(-np.exp(-1 + 2 * x[:, 0] + 2 * x[:, 1])))


def purity(x: Array) -> Array:
    """Near 0 in one half of the space, near 100 in the other."""
    return 100 / (1 + np.exp(-(8 * x[:, 0] + 5 * np.sin(3 * x[:, 1]) - 3 * x[:, 2] - 5)))


def peak(x: Array) -> Array:
    """Nothing at all but in one region."""
    return 100 * np.clip(1.1 - 3.5 * ((x - 0.6) ** 2).sum(1), 0, 1)


def full(x: Array) -> Array:
    """A quarter of the settings reach all there is."""
    return np.clip(40 + 45 * np.sin(3 * x[:, 0]) + 40 * x[:, 1] - 20 * x[:, 2] ** 2, 0, 100)


def impurity(x: Array) -> Array:
    """A small part that falls off over three powers of ten; less is better."""
    return np.exp(1 - 5 * x[:, 0] - 2 * x[:, 1] + 3 * (x[:, 2] - 0.5) ** 2)


def middling(x: Array) -> Array:
    """Between 40 and 60 of 100."""
    return 50 + 8 * np.sin(3 * x[:, 0]) + 5 * x[:, 1] - 6 * (x[:, 2] - 0.4) ** 2


def strength(x: Array) -> Array:
    """Some hundreds, and cannot be negative."""
    return 400 + 120 * x[:, 0] - 300 * (x[:, 1] - 0.6) ** 2 + 60 * x[:, 0] * x[:, 2]


# The function, its noise as a share of the outcome's distance to the nearer end and in its own unit, range and goal.
PROBLEMS = {
    "conversion": (conversion, 0.05, 0.1, (0.0, 100.0), "maximize"),
    "purity": (purity, 0.1, 0.1, (0.0, 100.0), "maximize"),
    "peak": (peak, 0.0, 2.0, (0.0, 100.0), "maximize"),
    "full": (full, 0.0, 2.0, (0.0, 100.0), "maximize"),
    "impurity": (impurity, 0.1, 0.0, (0.0, INF), "minimize"),
    "middling": (middling, 0.0, 0.5, (0.0, 100.0), "maximize"),
    "strength": (strength, 0.0, 8.0, (0.0, INF), "maximize"),
}


def measured(name: str, x: Array, rng: np.random.Generator) -> Array:
    """Outcomes with noise, within their range."""
    function, relative, absolute, (low, high), _ = PROBLEMS[name]
    y = function(x)
    noise = relative * np.minimum(y - low, high - y) * rng.normal(size=len(y)) + absolute * rng.normal(size=len(y))
    found: Array = np.clip(y + noise, low, high)
    return found


def made(name: str, repeat: int, *, told: bool) -> dict[str, float]:
    """The scores of one table."""
    rng = np.random.default_rng([repeat, len(name)])
    x = rng.random((ROWS, 3))
    _, _, _, ends, goal = PROBLEMS[name]
    frame = pd.DataFrame(x, columns=list("abc")).assign(y=measured(name, x, rng))
    for row in rng.choice(ROWS, ROWS // 3, replace=False):
        frame.loc[row, "abc"[rng.integers(3)]] = np.nan
    objective = Objective("y", goal, range=ends if told else None)
    optimizer = Optimizer(dict.fromkeys("abc", (0, 1)), objective={"y": objective}, seed=repeat)
    optimizer.tell(frame)
    new = rng.random((NEW, 3))
    return scores(optimizer, new, measured(name, new, rng), objective, ends)


def scores(
    optimizer: Optimizer, places: Array, outcomes: Array, objective: Objective, ends: tuple[float, float]
) -> dict[str, float]:
    """How well new outcomes at places were predicted."""
    model, transform = optimizer.learned()
    low, high = sorted(objective.sign * end for end in ends)
    y = torch.from_numpy(objective.sign * outcomes)
    with torch.no_grad():
        mean, variance = model.moments(torch.from_numpy(places))  # (Q, m)
        sd = (variance + model.noise.exp().reshape(-1, 1)).sqrt()
    worlds = torch.distributions.Normal(mean, sd)
    edges = [transform.to_targets(torch.tensor(end, dtype=torch.float64)) for end in (low, high)]
    density = worlds.log_prob(transform.to_targets(y)).logsumexp(0) - math.log(len(mean)) + transform.slope(y).log()
    below, above = worlds.cdf(edges[0]).mean(0), 1 - worlds.cdf(edges[1]).mean(0)
    density = torch.where(y <= low, below.clamp_min(1e-12).log(), density)
    density = torch.where(y >= high, above.clamp_min(1e-12).log(), density)
    middle, spread = mean.mean(0), (sd.square().mean(0) + mean.var(0, correction=0)).sqrt()
    expected, least, most = (transform.to_outcomes(middle + z * spread).clamp(low, high) for z in (0, -1.645, 1.645))
    width = (high - low) if math.isfinite(high - low) else float(y.max() - y.min())
    near = ((y - low < NEAR * width) | (high - y < NEAR * width)).numpy()
    log = density.numpy()
    return {
        "log score": float(log.mean()),
        "near an end": float(log[near].mean()) if near.any() else math.nan,
        "inside": float(((least <= y + 1e-9) & (y <= most + 1e-9)).double().mean()),
        "error": float((expected - y).square().mean().sqrt() / y.std()),
    }


def main() -> None:
    """All problems, without a range and with one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    print("| outcome | range | log score | near an end | inside | error |")
    print("|---|---|---:|---:|---:|---:|")
    for name in options.problems.split(","):
        seeds = range(options.first, options.first + options.repeats)
        for told in (False, True):
            found = pd.DataFrame([made(name, seed, told=told) for seed in seeds]).mean()
            log = f"{found['log score']:.2f} | {found['near an end']:.2f}"
            cells = f"{log} | {found['inside']:.0%} | {found['error']:.2f}"
            print(f"| {name} | {'told' if told else 'not told'} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
