"""CPU time of a batch against a single suggestion: one row is told, then 1 or 8 experiments are asked for.

python perf/batch.py --rows 100 --parameters 6 --count 8 --repeats 5
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch

import bomi


def optimizer_of(rows: int, parameters: int, seed: int) -> bomi.Optimizer:
    """A wavy function; 30 % of the rows have one gap."""
    generator = np.random.default_rng(seed)
    made = bomi.Optimizer({f"x{j}": (0, 1) for j in range(parameters)}, seed=seed)
    for _ in range(rows):
        tell_one(made, generator)
    return made


def tell_one(optimizer: bomi.Optimizer, generator: np.random.Generator) -> None:
    """Tell one more row."""
    x = generator.random(len(optimizer.space))
    y = np.sin(5 * x).sum() + 0.05 * generator.normal()
    setting = dict(zip(optimizer.space.names, x.tolist(), strict=True))
    if generator.random() < 0.3:
        setting[f"x{generator.integers(len(x))}"] = None
    optimizer.tell(setting, y)


def seconds(optimizer: bomi.Optimizer, count: int) -> float:
    """CPU seconds of `ask`, including learning."""
    start = time.process_time()
    optimizer.ask(count)
    return time.process_time() - start


def main() -> None:
    """Measure and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--parameters", type=int, default=6)
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    times: dict[int, list[float]] = {1: [], options.count: []}
    for seed in range(options.repeats):
        for count, taken in times.items():
            optimizer = optimizer_of(options.rows - 1, options.parameters, seed)
            optimizer.predict([optimizer.space.setting(np.full(options.parameters, 0.5))])  # for a warm start
            tell_one(optimizer, np.random.default_rng(1000 + seed))
            taken.append(seconds(optimizer, count))
    single, batch = (statistics.median(taken) for taken in times.values())
    print(
        f"n = {options.rows}, d = {options.parameters}: one {single:.3f} s, {options.count} {batch:.3f} s of CPU time;"
    )
    print(f"ratio {batch / single:.2f} (medians of {options.repeats})")


if __name__ == "__main__":
    main()
