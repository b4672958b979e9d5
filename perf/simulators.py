"""Milliseconds of one evaluation of each simulator, over random queries from a fixed seed.

python perf/speed.py --simulators
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from bomi.benchmarks.functions import FloatArray, corners
from bomi.benchmarks.problems import find_problem
from bomi.errors import BenchmarkError


def milliseconds(evaluate: Callable[[FloatArray], object], queries: FloatArray) -> FloatArray:
    """Processor time of each query, so that other programs do not count; a first query builds the scene."""
    evaluate(queries[0])
    times = []
    for query in queries:
        start = time.process_time()
        evaluate(query)
        times.append(1000 * (time.process_time() - start))
    return np.array(times)


def main(count: int = 60) -> None:
    """Measure and print."""
    print("| simulator | queries | median (ms) | 95 % (ms) | most (ms) |\n|---|---:|---:|---:|---:|")
    for name in ("heat", "robot"):
        try:
            problem = find_problem(name)
        except BenchmarkError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        queries = np.random.default_rng(0).uniform(*corners(problem.bounds), (count, problem.dim))
        times = milliseconds(problem.evaluate, queries)
        middle, high, most = np.quantile(times, [0.5, 0.95, 1])
        print(f"| {name} | {count} | {middle:.1f} | {high:.1f} | {most:.1f} |")


if __name__ == "__main__":
    main()
