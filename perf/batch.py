"""CPU time of a batch against a single suggestion: one row is told, then 1 or 8 experiments are asked for.

    python perf/batch.py --rows 100 --parameters 6 --count 8 --repeats 5
    python perf/batch.py --joint --rows 40 --count 4

With `--joint`, the joint expected improvement of a batch, which is chosen point by point, beside that of the best batch
which L-BFGS finds when it moves all points together (BoTorch's qLogEI on the same worlds), begun from the same points
and from four random batches; both by other draws than those that it was found by.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

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


def joint_improvements(optimizer: bomi.Optimizer, count: int, seed: int) -> tuple[float, float]:
    """The joint expected improvement of a batch, and of the best one found by moving all of its points together."""
    from botorch.acquisition import qExpectedImprovement, qLogExpectedImprovement
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler

    from bomi.integrations.botorch import WorldsModel

    asked = torch.from_numpy(np.stack([optimizer.space.to_unit(one) for one in optimizer.ask(count)]))
    model = WorldsModel(optimizer)
    rows = torch.from_numpy(np.stack([optimizer.space.to_unit(one) for one in known(optimizer)]))
    with torch.no_grad():
        best = model.posterior(rows).mean.max()
    draws = [SobolQMCNormalSampler(torch.Size([size]), seed=seed + size) for size in (256, 8192)]
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64).repeat(1, len(optimizer.space))
    torch.manual_seed(seed)
    starts = torch.cat([asked[None], torch.rand(4, *asked.shape, dtype=torch.float64)])
    search = qLogExpectedImprovement(model, best, sampler=draws[0])
    moved, _ = optimize_acqf(search, bounds, q=count, num_restarts=5, batch_initial_conditions=starts)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # it is only evaluated, not optimized
        judge = qExpectedImprovement(model, best, sampler=draws[1])
        return float(judge(asked)), float(judge(moved))


def known(optimizer: bomi.Optimizer) -> list[dict[str, float]]:
    """The settings of the complete rows."""
    table = optimizer.frame()[list(optimizer.space.names)]
    return [dict(row) for row in table.dropna().astype(float).to_dict("records")]


def main() -> None:
    """Measure and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--parameters", type=int, default=6)
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--joint", action="store_true", help="joint expected improvements instead of times")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.joint:
        for seed in range(options.repeats):
            optimizer = optimizer_of(options.rows, options.parameters, seed)
            ours, moved = joint_improvements(optimizer, options.count, seed)
            print(
                f"seed {seed}: point by point {ours:.4f}, all together {moved:.4f}, ratio {ours / moved:.3f}",
                flush=True,
            )
        return
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
