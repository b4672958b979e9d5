"""Is the sentence about trust right? Sheets of pure noise and sheets of signal, with gaps; and are intervals honest?

    PYTHONPATH=src python perf/trust.py --sheets 20

A sheet has 15 to 60 rows, 2 to 6 parameters, one of them often categorical, and 5 to 30 % of its cells missing. Noise
is normal or lognormal. Signal is a slope, a bowl, a peak or an interaction of two parameters, with normal noise of 0.2
to 0.6 of its standard deviation. The sentence is right if it says of noise that it cannot be told from noise, and of
signal how much is explained. `python perf/trust.py --model` draws outcomes from the model itself and counts the rows
within their 90 % intervals.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
import torch

from bomi import Optimizer, Space
from bomi.model.additive import AdditiveMatern
from bomi.model.kernels import cross
from bomi.space import Array

SIGNALS = ("slope", "bowl", "peak", "interaction")


def signal(kind: str, U: Array, rng: np.random.Generator) -> Array:
    """Outcomes of rows in the unit cube, of standard deviation 1.  (n, p) -> (n,)"""
    two = U[:, :2]
    y: Array = {
        "slope": two @ rng.choice([-1.0, 1.0], 2),
        "bowl": -((two - rng.random(2)) ** 2).sum(1),
        "peak": np.exp(-((two - 0.6) ** 2).sum(1) / 0.18),
        "interaction": np.sin(4 * two[:, 0]) + 0.7 * two.prod(1),
    }[kind]
    return (y - y.mean()) / y.std()


def sheet(seed: int, *, noise: bool) -> Optimizer:
    """An optimizer that has been told a sheet."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(15, 61)), int(rng.integers(2, 7))
    words = p > 2 and rng.random() < 0.4
    space = Space({f"x{j}": ["a", "b", "c"] if words and j == p - 1 else (0, 1) for j in range(p)})
    U = rng.random((n, p))
    frame = pd.DataFrame([space.setting(place) for place in space.expand(U)]).astype(object)
    if noise:
        y = rng.normal(size=n) if seed % 2 else np.exp(0.7 * rng.normal(size=n))
    else:
        y = signal(SIGNALS[seed % 4], U, rng) + rng.normal(0, rng.uniform(0.2, 0.6), n)
    share = rng.uniform(0.05, 0.3)
    for name in space.names:
        frame.loc[rng.random(n) < share, name] = None
    optimizer = Optimizer(space, objective="y", seed=0)
    optimizer.tell(frame.assign(y=100 + 10 * y))
    return optimizer


def of_the_model(seed: int, rows: int = 40) -> Optimizer:
    """Outcomes drawn from the process that the model assumes, at random points of three parameters, with noise."""
    rng = np.random.default_rng(seed)
    space = Space(dict.fromkeys("abc", (0, 1)))
    X = torch.from_numpy(rng.random((1, rows, 3)))
    kernel = AdditiveMatern((0, 1, 2))
    K = cross(kernel, kernel.starts()[3:4], X, X)[0] + 0.05 * torch.eye(rows, dtype=torch.float64)
    y = (torch.linalg.cholesky(K) @ torch.from_numpy(rng.normal(size=rows))).numpy()
    optimizer = Optimizer(space, objective="y", seed=0)
    optimizer.tell(pd.DataFrame(X[0].numpy(), columns=list("abc")).assign(y=y))
    return optimizer


def main() -> None:
    """Sheets, and how often the sentence was right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sheets", type=int, default=20, help="of noise, and as many of signal")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--model", action="store_true", help="outcomes drawn from the model")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.sheets)
    if options.model:
        found = [of_the_model(seed).validation() for seed in seeds]
        inside, rows = sum(one.inside for one in found), sum(len(one.rows) for one in found)
        print(f"{inside} of {rows} rows within their 90 % interval: {inside / rows:.1%}")
        return
    right = 0
    for seed in seeds:
        for noise in (True, False):
            found_one = sheet(seed, noise=noise).validation()
            right += found_one.trusted != noise
            print("noise " if noise else "signal", seed, "" if found_one.trusted != noise else "WRONG", end=" ")
            print(f"{found_one.explained:.2f}: {found_one.sentence}", flush=True)
    print(f"right in {right} of {2 * options.sheets}")


if __name__ == "__main__":
    main()
