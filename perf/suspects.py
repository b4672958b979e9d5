"""Cells that are wrong: are they at the head of the list, and are clean tables left alone?

    PYTHONPATH=src python perf/suspects.py --tables 10 --out suspects.jsonl

Ten tables of test functions, each of 60 rows with noise of 5 % and columns of which one follows another. Of every table
3 % of the cells are corrupted: a factor of 10 up or down, swapped with another column of the row, or taken from another
row. Ranges are those of the corrupted table, as `bomi init` would guess them. Precision is the share of wrong cells
among those named with a probability of at least one half, recall the share of the wrong cells that are named, and
`head` the share of wrong cells among the first as many as there are. The same tables without faults show the false
alarms.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from bomi import Optimizer, Real
from bomi.benchmarks.problems import find_problem

PROBLEMS = ("hartmann6", "levy", "rosenbrock", "styblinskitang", "ackley", "hartmann3", "branin", "cosine",
            "michalewicz", "griewank")  # fmt: skip
ROWS, SHARE, NOISE, NAMED = 60, 0.03, 0.05, 0.5
KINDS = ("times 10", "by 10", "swapped", "row")


def clean(name: str, rng: np.random.Generator) -> pd.DataFrame:
    """A table whose second input follows the first, in positive units."""
    problem = find_problem(name)
    low, high = np.array(list(problem.bounds.values())).T
    places = rng.uniform(0, 1, (ROWS, problem.dim))
    places[:, 1] = np.clip(places[:, 0] + 0.1 * rng.normal(size=ROWS), 0, 1)
    outcome = problem(low + (high - low) * places)
    outcome = outcome + NOISE * outcome.std() * rng.normal(size=ROWS)
    frame = pd.DataFrame({f"x{j}": 20 * (j + 1) + 80 * place for j, place in enumerate(places.T)})
    return frame.assign(outcome=outcome)


def corrupt(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, dict[tuple[int, str], str]]:
    """With some wrong cells, and which these are, of which kind."""
    frame, wrong = frame.copy(), dict[tuple[int, str], str]()
    names = list(frame.columns)
    count = max(round(SHARE * frame.size), 1)
    while len(wrong) < count:
        row, name = int(rng.integers(ROWS)), str(rng.choice(names))
        kind, before = str(rng.choice(KINDS)), frame.loc[row, name]
        if kind in ("times 10", "by 10"):
            frame.loc[row, name] *= 10.0 if kind == "times 10" else 0.1
        elif kind == "row":
            frame.loc[row, name] = frame.loc[int(rng.integers(ROWS)), name]
        elif name != "outcome":
            other = str(rng.choice([one for one in names if one not in (name, "outcome")]))
            frame.loc[row, [name, other]] = frame.loc[row, [other, name]].to_numpy()
            wrong[row, other] = kind
        if frame.loc[row, name] != before:
            wrong[row, name] = kind
    return frame, wrong


def named(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The suspects of a table."""
    space = {name: Real(frame[name].min(), frame[name].max()) for name in frame.columns[:-1]}
    optimizer = Optimizer(space, objective="outcome", seed=seed)
    optimizer.tell(frame)
    return optimizer.suspects()


def make(name: str, seed: int) -> dict[str, Any]:
    """One table, with and without faults."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    right = clean(name, rng)
    frame, wrong = corrupt(right, rng)
    found = named(frame, seed)
    order = list(zip(found["row"], found["column"], strict=True))
    likely = order[: int((found["probability"] >= NAMED).sum())]
    false = named(right, seed)
    return {
        "problem": name,
        "seed": seed,
        "wrong": len(wrong),
        "named": len(likely),
        "hits": len(wrong.keys() & set(likely)),
        "head": len(wrong.keys() & set(order[: len(wrong)])),
        "kinds": {
            kind: [sum(wrong[cell] == kind for cell in wrong.keys() & set(likely)), list(wrong.values()).count(kind)]
            for kind in KINDS
        },
        "false alarms": int((false["probability"] >= NAMED).sum()),
        "cells": int(right.size),
    }


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    made = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(record["problem"], record["seed"]) for record in made}
    for k in range(options.tables):
        name, seed = PROBLEMS[k % len(PROBLEMS)], options.first + k
        if (name, seed) in done:
            continue
        made.append(make(name, seed))
        with options.out.open("a") as file:
            file.write(json.dumps(made[-1]) + "\n")
        print(made[-1], flush=True)
    total = {
        key: sum(record[key] for record in made) for key in ("wrong", "named", "hits", "head", "false alarms", "cells")
    }
    precision, recall, head = (
        total[part] / max(total[whole], 1) for part, whole in (("hits", "named"), ("hits", "wrong"), ("head", "wrong"))
    )
    print(f"precision {precision:.2f}, recall {recall:.2f}, head {head:.2f}")
    for kind in KINDS:
        hits, count = np.sum([record["kinds"][kind] for record in made], axis=0)
        print(f"{kind}: {hits} of {count} named")
    print(f"{total['false alarms']} false alarms in {total['cells']} clean cells")


if __name__ == "__main__":
    main()
