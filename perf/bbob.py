"""The 24 BBOB functions with nothing missing: methods of bomi beside other programs.

    pip install ioh
    PYTHONPATH=src python perf/bbob.py --methods posterior,botorch,turbo,optuna-gp,tpe --dims 2,5,10,20 --out bbob.jsonl

Every program is told the same Sobol points first, twice as many as there are parameters but at most 20. Regrets are
those of the best outcome seen, 1e-8 at least. Runs that the results file holds are not made again. Instances from 21 on
are for development; the others are kept for checking.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from peers import PEERS, Peer, Point
from scipy.stats import rankdata, sem
from sweeps import add_output, sweep
from torch.quasirandom import SobolEngine

from bomi.optimizer import Optimizer

FUNCTIONS = range(1, 25)
LEAST = 1e-8  # regret that is told from none


def budget(dim: int) -> int:
    """How many evaluations a run has, the first points included."""
    return 50 + 3 * dim


class Run(NamedTuple):
    """What tells one run from the others."""

    function: int
    instance: int
    dim: int
    method: str


class Bomi:
    """A method of bomi with the interface of the other programs."""

    def __init__(self, dim: int, seed: int, method: str) -> None:
        self.names = [f"x{j}" for j in range(dim)]
        self.optimizer = Optimizer(dict.fromkeys(self.names, (0.0, 1.0)), method=method, seed=seed)
        self.asked: Any = None

    def tell(self, point: Point, outcome: float) -> None:
        """What came out at the point that was asked for, or at another."""
        own = self.asked is not None and list(self.asked.values()) == point.tolist()
        self.optimizer.tell(self.asked if own else dict(zip(self.names, point.tolist(), strict=True)), outcome)
        self.asked = None

    def ask(self) -> Point:
        """The next suggestion's point."""
        self.asked = self.optimizer.ask()
        return np.array([self.asked[name] for name in self.names])


def make(run: Run) -> dict[str, Any]:
    """One run."""
    import ioh

    torch.set_num_threads(1)
    problem = ioh.get_problem(run.function, run.instance, run.dim, ioh.ProblemClass.BBOB)
    low, high = problem.bounds.lb, problem.bounds.ub
    program: Peer
    if run.method in PEERS:
        program = PEERS[run.method](run.dim, run.instance)
    else:
        program = Bomi(run.dim, run.instance, run.method)
    first = SobolEngine(run.dim, scramble=True, seed=run.instance).draw(min(2 * run.dim, 20), dtype=torch.float64)
    regrets, start = [], time.perf_counter()
    for t in range(budget(run.dim)):
        point = first[t].numpy() if t < len(first) else program.ask()
        value = float(problem(low + (high - low) * point))
        regrets.append(value - problem.optimum.y)
        program.tell(point, -value)
    return {**run._asdict(), "regret": max(min(regrets), LEAST), "seconds": time.perf_counter() - start}


def table(records: list[dict[str, Any]]) -> str:
    """Mean log10 regrets and ranks by the number of parameters, over the runs that all programs have made."""
    methods = list(dict.fromkeys(record["method"] for record in records))
    lines = ["| parameters | runs | " + " | ".join(f"{one}: log10 regret | rank | s" for one in methods) + " |"]
    lines += ["|---:|---:|" + "---:|" * 3 * len(methods)]
    for dim in sorted({record["dim"] for record in records}):
        part = {(r["function"], r["instance"], r["method"]): r for r in records if r["dim"] == dim}
        keys = sorted({key[:2] for key in part})
        whole = [key for key in keys if all((*key, one) in part for one in methods)]
        if not whole:
            continue
        regrets = np.log10([[part[*key, one]["regret"] for one in methods] for key in whole])
        ranks = rankdata(regrets, axis=1)
        seconds = np.mean([[part[*key, one]["seconds"] for one in methods] for key in whole], 0)
        own = regrets - regrets.mean(1, keepdims=True)  # of a run, so that errors are those of differences
        cells = [
            f"{regrets[:, j].mean():.2f} ± {sem(own[:, j]):.2f} | {ranks[:, j].mean():.2f} | {seconds[j]:.0f}"
            for j in range(len(methods))
        ]
        lines.append(f"| {dim} | {len(whole)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def numbers(text: str) -> list[int]:
    """The numbers that `2,5` or `21-23` names."""
    found: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


def runs_of(options: argparse.Namespace) -> Iterable[Run]:
    """The runs that the command line asks for, those of every function first."""
    for instance in numbers(options.instances):
        for dim in numbers(options.dims):
            for function in numbers(options.functions):
                for method in options.methods.split(","):
                    yield Run(function, instance, dim, method)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="posterior,botorch,turbo,optuna-gp,tpe")
    parser.add_argument("--functions", default="1-24")
    parser.add_argument("--instances", default="21")
    parser.add_argument("--dims", default="2,5,10,20")
    add_output(parser)
    options = parser.parse_args()
    print(table(sweep(make, list(runs_of(options)), options)))


if __name__ == "__main__":
    main()
