"""Is the advice to stop good: what is lost by stopping, and how many experiments are saved?

    PYTHONPATH=src python perf/stop.py --repeats 5 --out stop.jsonl --jobs 2

Each run begins with 20 rows, a third of them with a gap, and makes 60 evaluations with a little noise, one in four of
which loses an input. Before each, what the next experiment is expected to gain is written down beside the best true
value so far. The first table at the end has what the advice as it is would have done: where `Prospects.stop` first says
stop, the share of evaluations saved, and what is lost against the full budget, as a share of the outcome's spread (from
5 to 95 % of the rows), in the best true value seen and in that of the recommended setting. The second has the same for
other thresholds of the gain and of how long nothing better came. Runs that the results file holds are not made again.
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

from bomi.answers.prospects import AS_GOOD, Scale, expected_gains, spread_of
from bomi.benchmarks.contenders import contender
from bomi.benchmarks.functions import Problem
from bomi.benchmarks.missingness import Events, HistoryGaps, initial, measuring, stray
from bomi.benchmarks.problems import find_problem
from bomi.impute.table import since_improvement
from bomi.optimizer import Optimizer
from bomi.results import QUIET, STOP

PROBLEMS = "branin,hartmann3,hartmann6,levy,rosenbrock,styblinskitang,cosine,ackley,griewank,michalewicz"
ROWS, BUDGET, NOISE = 20, 60, 0.02


def make(name: str, repeat: int, budget: int, noise: float) -> dict[str, Any]:
    """One run: after each evaluation the expected gain of the next one, the spread, and the best true value so far."""
    torch.set_num_threads(1)
    plain = find_problem(name)
    sd = float(np.std(plain(plain.draw(4096, np.random.default_rng(0)))))
    problem = replace(plain, noise=noise * sd)
    data = initial(problem, rows=ROWS, gaps=HistoryGaps(share=0.33, most=1), seed=repeat)
    events = Events(0.25, 0.05)
    optimizer = contender("posterior").optimizer(problem, ["outcome"], repeat)
    assert isinstance(optimizer, Optimizer)
    for row, outcome in zip(data.recorded, data.outcomes, strict=True):
        optimizer.tell(problem.cells(row), float(outcome))
    outcomes, steps, start = [float(y) for y in data.outcomes], [], time.perf_counter()
    best = max(float(problem(row)) for row in data.inputs)
    stopped: dict[str, float] | None = None
    for t in range(1, budget + 1):
        suggestion = optimizer.ask()
        place = torch.from_numpy(optimizer.space.to_unit(dict(suggestion)))
        gain = float(expected_gains(Scale(optimizer._known.fit, optimizer.objectives), [place], t)[0])
        spread = spread_of(np.array(outcomes))
        since = since_improvement(torch.tensor(outcomes), AS_GOOD * spread)
        steps.append({"gain": gain, "spread": spread, "best": best, "since": since})
        if stopped is None and gain < STOP * spread and since >= QUIET and optimizer.validation().trusted:
            stopped = {"after": t - 1, "recommended": recommended(optimizer, problem)}
        asked = problem.inputs(suggestion)
        event = events.draw(repeat, t, problem.dim)
        actual, value = problem.evaluate(stray(event, asked, problem)[0])
        outcome = float(problem.measured(value, measuring(repeat, t)))
        outcomes.append(outcome)
        best = max(best, float(value))
        known = problem.cells(np.where(event.failed, np.nan, actual))
        optimizer.tell(suggestion, outcome, actual={k: c for k, c in known.items() if c != suggestion[k]})
    steps.append({"gain": 0.0, "spread": spread_of(np.array(outcomes)), "best": best, "since": 0})
    ended = {"after": budget, "recommended": recommended(optimizer, problem)}
    seconds = time.perf_counter() - start
    run = {"problem": name, "repeat": repeat, "noise": noise, "steps": steps, "seconds": seconds}
    return {**run, "stopped": stopped or ended, "ended": ended}


def recommended(optimizer: Optimizer, problem: Problem) -> float:
    """The true value of the recommended setting."""
    setting = optimizer.best().setting
    assert setting is not None
    return float(problem(problem.inputs(setting)))


def stop_at(steps: list[dict[str, float]], threshold: float, quiet: int) -> int:
    """After how many evaluations the gain is below the threshold, and nothing better has come for so long."""
    for t, step in enumerate(steps):
        if step["since"] >= quiet and step["gain"] < threshold * step["spread"]:
            return t
    return len(steps) - 1


def advice(records: list[dict[str, Any]]) -> str:
    """What the advice as it is saves and loses."""
    lines = ["| problem | saved | lost, best seen | lost, recommended | worst |", "|---|---:|---:|---:|---:|"]
    for name in [*dict.fromkeys(record["problem"] for record in records), ""]:
        found = []
        for record in records:
            if name in ("", record["problem"]):
                steps, spread = record["steps"], record["steps"][-1]["spread"]
                t, better = record["stopped"]["after"], record["ended"]["recommended"]
                seen = (steps[-1]["best"] - steps[t]["best"]) / spread
                found.append((1 - t / (len(steps) - 1), seen, (better - record["stopped"]["recommended"]) / spread))
        saved, seen, told = np.array(found).T
        worst = max(seen.max(), told.max())
        lines.append(f"| {name or 'all'} | {saved.mean():.0%} | {seen.mean():.1%} | {told.mean():.1%} | {worst:.0%} |")
    return "\n".join(lines)


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
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--noise", type=float, default=NOISE, help="in standard deviations of the function")
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--out", type=Path, default=Path("stop.jsonl"))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    records = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(record["problem"], record["repeat"]) for record in records}
    wanted = [
        (name, r)
        for r in range(options.first, options.first + options.repeats)
        for name in options.problems.split(",")
        if (name, r) not in done
    ]
    made = joblib.Parallel(options.jobs, return_as="generator_unordered")(
        joblib.delayed(make)(*one, options.budget, options.noise) for one in wanted
    )
    for record in made:
        records.append(record)
        with open(options.out, "a") as file:
            file.write(json.dumps(record) + "\n")
        print(record["problem"], record["repeat"], f"{record['seconds']:.0f} s", flush=True)
    print(advice(records), table(records), sep="\n\n")


if __name__ == "__main__":
    main()
