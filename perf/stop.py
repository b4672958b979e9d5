"""Is the advice to stop good: what is lost by stopping, and how many experiments are saved?

    PYTHONPATH=src python perf/stop.py --repeats 5 --out stop.jsonl --jobs 2

Each run begins with 20 rows, a third of them with a gap, and makes 60 evaluations with a little noise, one in four of
which loses an input. After each, what the next experiment is expected to gain is written down beside the best true
value so far. The table at the end has, for thresholds of the gain and of how long nothing better came, where a run that
stops there ends: the share of evaluations saved, and what is lost against the full budget, as a share of the outcome's
spread (from 5 to 95 % of the rows). Runs that the results file holds are not made again.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch

from bomi.benchmarks.contenders import contender
from bomi.benchmarks.missingness import Events, HistoryGaps, initial, measuring, stray
from bomi.benchmarks.problems import find_problem
from bomi.optimizer import Optimizer
from bomi.prospects import AS_GOOD, expected_gains, spread_of

PROBLEMS = "branin,hartmann3,hartmann6,levy,rosenbrock,styblinskitang,cosine,ackley,griewank,michalewicz"
ROWS, BUDGET, NOISE = 20, 60, 0.02


def make(name: str, repeat: int, budget: int) -> dict[str, Any]:
    """One run: after each evaluation the expected gain of the next one, the spread, and the best true value so far."""
    torch.set_num_threads(1)
    plain = find_problem(name)
    sd = float(np.std(plain(plain.draw(4096, np.random.default_rng(0)))))
    problem = replace(plain, noise=NOISE * sd)
    data = initial(problem, rows=ROWS, gaps=HistoryGaps(share=0.33, most=1), seed=repeat)
    events = Events(0.25, 0.05)
    optimizer = contender("posterior").optimizer(problem, ["outcome"], repeat)
    assert isinstance(optimizer, Optimizer)
    for row, outcome in zip(data.recorded, data.outcomes, strict=True):
        optimizer.tell(problem.cells(row), float(outcome))
    outcomes, steps, start = [float(y) for y in data.outcomes], [], time.perf_counter()
    best = max(float(problem(row)) for row in data.inputs)
    for t in range(1, budget + 1):
        suggestion = optimizer.ask()
        place = torch.from_numpy(optimizer.space.to_unit(dict(suggestion)))
        gain = float(expected_gains(optimizer._learn(), [place], t)[0])
        steps.append({"gain": gain, "spread": spread_of(np.array(outcomes)), "best": best})
        asked = problem.inputs(suggestion)
        event = events.draw(repeat, t, problem.dim)
        actual, value = problem.evaluate(stray(event, asked, problem)[0])
        outcome = float(problem.measured(value, measuring(repeat, t)))
        outcomes.append(outcome)
        best = max(best, float(value))
        known = problem.cells(np.where(event.failed, np.nan, actual))
        optimizer.tell(suggestion, outcome, actual={k: c for k, c in known.items() if c != suggestion[k]})
    steps.append({"gain": 0.0, "spread": spread_of(np.array(outcomes)), "best": best})
    return {"problem": name, "repeat": repeat, "steps": steps, "seconds": time.perf_counter() - start}


def stop_at(steps: list[dict[str, float]], threshold: float, quiet: int) -> int:
    """After how many evaluations the gain is below the threshold, and nothing better has come for so long."""
    for t, step in enumerate(steps):
        still = t >= quiet and step["best"] - steps[t - quiet]["best"] <= AS_GOOD * step["spread"]
        if still and step["gain"] < threshold * step["spread"]:
            return t
    return len(steps) - 1


def table(records: list[dict[str, Any]]) -> str:
    """What is saved and lost, by the gain and by how long nothing better came."""
    lines = ["| gain below | nothing better for | saved | lost, mean | lost, worst | runs that lose more than 2 % |"]
    lines += ["|---:|---:|---:|---:|---:|---:|"]
    for quiet in (0, 4, 8, 12):
        for threshold in (0.001, 0.0015, 0.002, 0.005, 0.01):
            saved, lost = [], []
            for record in records:
                steps = record["steps"]
                t = stop_at(steps, threshold, quiet)
                saved.append(1 - t / (len(steps) - 1))
                lost.append((steps[-1]["best"] - steps[t]["best"]) / steps[-1]["spread"])
            ends = (
                f"{np.mean(saved):.0%} | {np.mean(lost):.1%} | {max(lost):.0%} | {np.mean(np.array(lost) > 0.02):.0%}"
            )
            lines.append(f"| {threshold:.2%} | {quiet} | {ends} |")
    return "\n".join(lines)


def main() -> None:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--out", type=Path, default=Path("stop.jsonl"))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    records = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(record["problem"], record["repeat"]) for record in records}
    wanted = [
        (name, r) for r in range(options.repeats) for name in options.problems.split(",") if (name, r) not in done
    ]
    made = joblib.Parallel(options.jobs, return_as="generator_unordered")(
        joblib.delayed(make)(*one, options.budget) for one in wanted
    )
    for record in made:
        records.append(record)
        with open(options.out, "a") as file:
            file.write(json.dumps(record) + "\n")
        print(record["problem"], record["repeat"], f"{record['seconds']:.0f} s", flush=True)
    print(table(records))


if __name__ == "__main__":
    main()
