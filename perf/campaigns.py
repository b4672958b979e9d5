"""Whole campaigns with missing inputs: `posterior`, naive filling with the same surrogate, and Optuna's TPE.

    PYTHONPATH=src python perf/campaigns.py --repeats 10 --out results/campaigns.jsonl

runs the problems with mixed parameters and with constraints and prints a table: the true value of the recommended
setting, as a share of the way from the best outcome of the history to the optimum, with its standard error, and the
average rank. Runs that are in the file are not made again. TPE and naive filling are told the requested values; gaps in
the history are filled with the column's mean or commonest value. TPE's suggestions are projected onto the constraints.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from quality import counted
from scipy.stats import rankdata

from bomi.benchmarks.missingness import Events, HistoryGaps
from bomi.benchmarks.mixed import MIXED
from bomi.benchmarks.results import Results
from bomi.benchmarks.sweeps import Case
from bomi.errors import BomiError


def cases(problems: list[str], budget: int, rows: int) -> list[Case]:
    """Each problem: half of the evaluations go wrong in up to two parameters, and most old rows have up to two gaps."""
    events, gaps = Events(0.5, 0.2, most=2), HistoryGaps(most=2)
    return [Case(problem=name, budget=budget, rows=rows, missing=events, gaps=gaps) for name in problems]


def closed(results: Results) -> dict[str, dict[str, list[float]]]:
    """case -> method -> for each repeat the share of the way to the optimum that the recommended setting closes.

    The way begins at the median over the repeats of the history's best outcome, the same for all methods of a case.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for case, settings in results.cases.items():
        runs = sorted((run for run in results.runs if run["case"] == case), key=lambda run: run["repeat"])
        start, optimum = float(np.median([run["best"][0] for run in runs])), settings["optimum"]
        methods: dict[str, list[float]] = {}
        for run in runs:
            value = run["recommended"][-1][1]
            share = (value - start) / (optimum - start) if value is not None else float("nan")
            methods.setdefault(run["method"], []).append(share)
        found[case] = methods
    return found


def table(shares: dict[str, dict[str, list[float]]]) -> str:
    """Mean and standard error by problem, and the average rank over problems and repeats."""
    methods = list(next(iter(shares.values())))
    lines = ["| problem | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    ranks = []
    for case, by_method in shares.items():
        count = min(len(values) for values in by_method.values())
        values = np.array([by_method[method][:count] for method in methods])  # (methods, repeats)
        error = values.std(-1, ddof=1) / np.sqrt(count) if count > 1 else 0 * values[:, 0]
        cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(values.mean(-1), error, strict=True)]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
        ranks.append(rankdata(-values, axis=0))
    average = np.concatenate(ranks, 1)
    spread = average.std(-1, ddof=1) / np.sqrt(average.shape[1])
    cells = [f"{m:.2f} ± {e:.2f}" for m, e in zip(average.mean(-1), spread, strict=True)]
    return "\n".join([*lines, "| average rank | " + " | ".join(cells) + " |"])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=",".join(MIXED))
    parser.add_argument("--methods", default="posterior,naive,tpe")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--budget", type=int, default=30)
    parser.add_argument("--rows", type=int, default=20, help="rows of the history")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, required=True, help="results file; runs that are in it are not made again")
    options = parser.parse_args()
    try:
        problems = [name.strip() for name in options.problems.split(",") if name.strip()]
        wanted = cases(problems, options.budget, options.rows)
        found = counted(wanted, options.methods, options.repeats, options.out, options.jobs)
    except BomiError as error:
        parser.exit(2, f"{error}\n")
    print(file=sys.stderr)
    print(table(closed(found)))


if __name__ == "__main__":
    main()
