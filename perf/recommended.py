"""Does the interval of the recommended setting hold its true value, where the data are as the model assumes?

    PYTHONPATH=src python perf/recommended.py --tables 40 --gaps 0.3

Every table has 30 rows of three parameters. Its function and noise are drawn from the model's own prior, with its
hyper-parameters, and a share of the rows lacks an input. The true value at the setting that `best()` recommends is
drawn given the true values at the rows. Printed: how often the 90 % interval holds it, with the part of luck and
without it; how far off it is, in stated standard deviations; and how often the true value lies below the interval.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import pandas as pd
import torch

from bomi import Optimizer
from bomi.answers.best import luck
from bomi.model.additive import AdditiveMatern
from bomi.model.kernels import cross

NAMES, ROWS, HALF_WIDTH = "abc", 30, 1.645


def hyper(rng: np.random.Generator, noise: float | None) -> tuple[torch.Tensor, float]:
    """The kernel's parameters and the noise variance, drawn from the prior of docs/method.md.  (2 + 2 p,)"""
    p = len(NAMES)
    lengths = []
    for middle in (0.3, 0.3 * math.sqrt(p)):
        apart = 0.4 * rng.standard_t(3, p)
        lengths.append(rng.normal(math.log(middle), 1) + apart - apart.mean())
    theta = np.concatenate([[rng.normal(0, 1), rng.normal(0, 2)], *lengths])
    variance = math.exp(max(rng.normal(-6, 1.5), math.log(1e-6))) if noise is None else noise**2 * math.exp(theta[0])
    return torch.from_numpy(theta)[None], variance


def made(seed: int, gaps: float, noise: float | None) -> dict[str, float]:
    """One table: what is stated of the recommended setting, and what is true."""
    rng = np.random.default_rng(seed)
    theta, variance = hyper(rng, noise)
    kernel = AdditiveMatern(tuple(range(len(NAMES))))
    X = torch.from_numpy(rng.random((1, ROWS, len(NAMES))))
    K = cross(kernel, theta, X, X)[0] + 1e-9 * torch.eye(ROWS, dtype=torch.float64)
    f = torch.linalg.cholesky(K) @ torch.from_numpy(rng.normal(size=ROWS))
    frame = pd.DataFrame(X[0].numpy(), columns=list(NAMES))
    frame["y"] = f.numpy() + math.sqrt(variance) * rng.normal(size=ROWS)
    for row in np.flatnonzero(rng.random(ROWS) < gaps):
        frame.loc[row, NAMES[rng.integers(len(NAMES))]] = np.nan
    optimizer = Optimizer(dict.fromkeys(NAMES, (0, 1)), seed=seed)
    optimizer.tell(frame)
    best = optimizer.best()
    assert best.setting is not None
    place = torch.from_numpy(optimizer.space.place(best.setting))
    at = place[None, None]
    k = cross(kernel, theta, X, at)[0, :, 0]
    weights = torch.linalg.solve(K, k)
    left = float(cross(kernel, theta, at, at)[0, 0, 0] - weights @ k)
    true = float(weights @ f) + math.sqrt(max(left, 0.0)) * rng.normal()
    plain = optimizer.predict(best.setting)
    part = luck(optimizer._known.fit, place, seed=0)
    return {"true": true, "mean": plain.mean, "sd": best.predicted.sd, "without": plain.sd, "luck": part}


def main() -> None:
    """Tables, and how often the intervals hold the truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--gaps", type=float, default=0.0, help="share of rows that lack an input")
    parser.add_argument("--noise", type=float, help="in standard deviations of the function; left out, from the prior")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.tables)
    found = pd.DataFrame([made(seed, options.gaps, options.noise) for seed in seeds])
    for name in ("without", "sd"):
        off = (found["mean"] - found["true"]) / found[name]
        says = "with luck" if name == "sd" else "without luck"
        print(f"{says}: holds it in {(off.abs() <= HALF_WIDTH).mean():.0%} of {len(found)}; ", end="")
        print(f"off by {np.sqrt((off**2).mean()):.2f} sd, below in {(off > HALF_WIDTH).mean():.0%}", flush=True)


if __name__ == "__main__":
    main()
