"""Do two versions make the same suggestions, bit for bit?

    PYTHONPATH=OLD/src python perf/same.py record before.json
    PYTHONPATH=src     python perf/same.py compare before.json

Every method makes suggestions on small tables of all kinds and in whole runs of functions whose inputs go missing,
through the public API alone. `compare` prints what differs and by how much, and exits with status 1 if anything does.
Both print the processor time of each run's suggestions. mild: in one evaluation of four, one parameter is lost and has
an execution error of up to 5 %; hard: in every second, up to three are lost, with errors of up to 30 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import bomi
from bomi.benchmarks.missingness import Events, HistoryGaps, initial, stray
from bomi.benchmarks.problems import find_problem

CUBE = bomi.Space({"a": (0, 1), "b": (-5, 5), "c": (100, 200)})
MIXED = bomi.Space(
    {
        "temperature": bomi.Real(20, 400),
        "time": bomi.Real(60, 21600, log=True),
        "dose": bomi.Real(0, 1, step=0.1),
        "passes": bomi.Integer(1, 8),
        "quench": ["water", "oil", "air"],
        "oven": bomi.Ordinal(["cool", "warm", "hot"]),
    }
)
MIXTURE = bomi.Space(
    {"flour": (0, 1), "water": (0, 1), "oil": (0, 1), "eggs": bomi.Integer(0, 4)},
    constraints=[
        bomi.Linear({"flour": 1, "water": 1, "oil": 1}, equals=1),
        bomi.Linear({"water": 1, "eggs": 0.1}, max=0.7),
    ],
)
SETTINGS = {"mild": (Events(0.25, 0.05), 1), "hard": (Events(0.5, 0.3, most=3), 3)}  # and gaps in a row of the history
RUNS = "tables,eggholder2d:mild,schwefel5d:hard"
STEPS = 30


def table(space: bomi.Space, rows: int, *, gaps: float, asked: bool = False, failed: float = 0.0, seed: int = 0) -> Any:
    """Random rows with some blank and a few uncertain cells."""
    generator = np.random.default_rng(seed)
    places = space.draw(rows, generator)
    settings = [space.setting(place) for place in places]
    frame = pd.DataFrame(settings, columns=list(space.names), dtype=object)
    frame["y"] = pd.Series(np.sin(5 * places).sum(-1) + 0.1 * generator.normal(size=rows), dtype=object)
    frame.loc[generator.random(rows) < failed, "y"] = "failed"
    blank = generator.random((rows, len(space.names))) < gaps
    if asked:
        for name in space.names:
            frame[f"asked.{name}"] = frame[name]
    for i, j in zip(*blank.nonzero(), strict=True):
        frame.loc[i, space.names[j]] = None
    if rows > 3 and isinstance(space.parameters[space.names[0]], bomi.Real):
        frame.loc[3, space.names[0]] = f"{places[3, 0]:.3f}±0.05" if space is not MIXED else "200±30"
    return frame


TABLES = {
    "one row": (CUBE, table(CUBE, 1, gaps=0.0)),
    "complete": (CUBE, table(CUBE, 12, gaps=0.0)),
    "gaps": (CUBE, table(CUBE, 12, gaps=0.3)),
    "asked": (CUBE, table(CUBE, 12, gaps=0.3, asked=True)),
    "failed": (CUBE, table(CUBE, 14, gaps=0.2, failed=0.3)),
    "mixed": (MIXED, table(MIXED, 16, gaps=0.2)),
    "constrained": (MIXTURE, table(MIXTURE, 14, gaps=0.2)),
}


def on_tables(method: str) -> dict[str, list[Any]]:
    """Two suggestions in a row, a batch of two, the recommended setting and a prediction for every table."""
    found: dict[str, list[Any]] = {}
    for name, (space, frame) in TABLES.items():
        optimizer = bomi.Optimizer(space, method=method, seed=1)
        optimizer.tell(frame)
        asked = [optimizer.ask()]
        optimizer.tell(asked[0], 0.3, actual={space.names[0]: None})
        asked += [optimizer.ask(), *optimizer.ask(2)]
        predicted = [list(one.predicted) if one.predicted else None for one in asked]
        found[name] = [*(list(dict(one).values()) for one in asked), *predicted, _setting(optimizer)]
    space, frame = TABLES["gaps"]
    optimizer = bomi.Optimizer(space, objective={"y": "maximize", "z": "minimize"}, method=method, seed=2)
    optimizer.tell(frame.assign(z=np.arange(len(frame)) % 5))
    found["two outcomes"] = [list(dict(one).values()) for one in optimizer.ask(2)]
    return found


def _setting(optimizer: bomi.Optimizer) -> list[Any] | None:
    setting = optimizer.best().setting
    return None if setting is None else list(setting.values())


def on_function(method: str, name: str, setting: str, steps: int, seed: int) -> list[Any]:
    """The suggestions of a whole run, and the setting that is recommended after it."""
    events, most = SETTINGS[setting]
    problem = find_problem(name)
    data = initial(problem, rows=30, gaps=HistoryGaps(most=most), seed=seed)
    optimizer = bomi.Optimizer({key: tuple(ends) for key, ends in problem.bounds.items()}, method=method, seed=seed)
    for row, outcome in zip(data.recorded, data.outcomes, strict=True):
        optimizer.tell(problem.cells(row), float(outcome))
    asked, seconds = [], 0.0
    for t in range(1, steps + 1):
        start = time.process_time()
        suggestion = optimizer.ask()
        seconds += time.process_time() - start
        x = problem.inputs(suggestion)
        event = events.draw(seed, t, problem.dim)
        actual, value = problem.evaluate(stray(event, x, problem)[0])
        known = problem.cells(np.where(event.failed, np.nan, actual))
        differs = {key: cell for key, cell in known.items() if cell != suggestion[key]}
        optimizer.tell(suggestion, float(value), actual=differs)
        asked.append(list(dict(suggestion).values()))
    print(f"{method} {name} {setting}: {seconds:.2f} s of one core for {steps}", file=sys.stderr, flush=True)
    return [*asked, _setting(optimizer)]


def record(methods: list[str], runs: list[str], steps: int, seed: int) -> dict[str, Any]:
    """What every method suggests."""
    torch.set_num_threads(1)
    found: dict[str, dict[str, Any]] = {method: {} for method in methods}
    for run in runs:
        name, _, setting = run.partition(":")
        for method, its in found.items():
            its.update({run: on_function(method, name, setting, steps, seed)} if setting else on_tables(method))
    return json.loads(json.dumps(found))


def differences(before: Any, after: Any, where: str = "") -> list[str]:
    """Each place where two records differ."""
    if isinstance(before, dict):
        return [line for key in before for line in differences(before[key], after.get(key), f"{where} {key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [line for i, (one, other) in pairs for line in differences(one, other, f"{where} {i}")]
    if before == after:
        return []
    numbers = all(isinstance(one, int | float) for one in (before, after))
    return [f"{where}: {before!r} -> {after!r}" + (f" ({after - before:+.1e})" if numbers else "")]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--methods", default="bomi,drop,suggest,mean,mode,knn,bpmf,ugp,random,posterior")
    parser.add_argument("--runs", default=RUNS, help=f"such as {RUNS}")
    parser.add_argument("--steps", type=int, default=STEPS, help="evaluations of the whole runs")
    parser.add_argument("--seed", type=int, default=3, help="of the whole runs")
    options = parser.parse_args()
    found = record(options.methods.split(","), options.runs.split(","), options.steps, options.seed)
    if options.action == "record":
        options.file.write_text(json.dumps(found))
        return
    before = json.loads(options.file.read_text())
    lines = differences({name: before[name] for name in found}, found)
    print("\n".join(lines[:40]) or f"{len(found)} methods: the same suggestions, bit for bit")
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
