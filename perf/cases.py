"""Case studies on tables that others measured: what `posterior` makes of their gaps, and what that is worth.

    PYTHONPATH=src python perf/cases.py missing --data FOLDER --out missing.jsonl
    PYTHONPATH=src python perf/cases.py cells --data FOLDER --repeats 5 --out cells.jsonl
    PYTHONPATH=src python perf/cases.py campaigns --data FOLDER --repeats 5 --out campaigns.jsonl
    PYTHONPATH=src python perf/cases.py page missing.jsonl cells.jsonl campaigns.jsonl

The tables, where they come from and under which licence: docs/cases.md. The folder holds them as their authors publish
them; one that is not there is left out. Both experiments use up to 150 rows of a table, drawn anew for each repeat.

missing    what the tables lack
cells      a tenth of the recorded numbers, at most one of a row, is hidden and filled again beside the table's own gaps
    posterior  the draws of `Optimizer.gaps()`: their mean, and whether 5 % to 95 % holds the value
    iterative  scikit-learn's IterativeImputer, 20 times with `sample_posterior`: the same of its draws
    knn, mean  scikit-learn's, 5 neighbours; the column's mean
           All of them see the outcomes too. An error is relative to the column's range in the table.
campaigns  rows are asked for one by one; the answer is the row as it was recorded, with its gaps
    posterior  `ask(candidates=..., replacement=False)`
    drop       the same optimizer, told complete rows only
    plain      BoTorch's SingleTaskGP and LogEI over the rows; gaps filled with the column's mean, or the commonest word
    random     any row
           Of a complete table a quarter of the rows lose half of their cells when they are made. Each starts from the
           same 8 rows and ends when one of the best 2 % has been made, or after 40 more.

page       docs/results/cases.json and the tables of docs/cases.md, from results files

Runs that the results file holds are not made again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from real import OUTCOME, Task, space_of
from real import TASKS as REAL
from sweeps import Record, add_options, seeds, sweep

from bomi import Categorical, Optimizer, Space
from bomi.benchmarks.results import versions
from bomi.benchmarks.scores import table as as_markdown
from bomi.space import UNKNOWN

ROWS, START, MOST = 150, 8, 40
HIDDEN = 0.1  # of the recorded numbers
BEST = (0.1, 0.02)  # shares of the rows that are worth finding
LOST_ROWS, LOST_CELLS = 0.25, 0.5  # of a complete table, in campaigns
DRAWS = 20
TABLES = ("yield", "mpea", "grain", "tensile", "tensile-dose", "agnp", "autoam", "barrel", "p3ht", "perovskite")
PAGE = Path(__file__).parent.parent / "docs" / "cases.md"
KEPT = PAGE.parent / "results" / "cases.json"
LEAST_IS_BEST = ("agnp", "perovskite")
METHODS = {"missing": "-", "cells": "posterior,iterative,knn,mean", "campaigns": "posterior,drop,plain,random"}


class Run(NamedTuple):
    """What tells one run from the others."""

    experiment: str
    table: str
    method: str
    repeat: int


def alloys_with_grain(folder: Path) -> Task:
    """The alloys with the grain size, of which most are blank, on a scale of powers of ten."""
    task = REAL["mpea"](folder, np.random.default_rng(0))
    sizes = pd.read_csv(folder / "mpea.csv")["PROPERTY: grain size ($\\mu$m)"]
    return task._replace(frame=task.frame.assign(grain=np.log10(sizes)), others=(*task.others, "grain"))


TASKS = {**REAL, "grain": lambda folder, _: alloys_with_grain(folder)}


def load(name: str, folder: Path) -> Task:
    """A table as it was published, rows with an outcome only; replicates of a complete table are averaged."""
    task = TASKS[name](folder, Untouched())
    frame = task.frame[task.frame[OUTCOME].notna()].reset_index(drop=True)
    if not frame.isna().any().any():
        inputs = [column for column in frame if column != OUTCOME]
        frame = frame.groupby(inputs, as_index=False, sort=False)[OUTCOME].mean()
    return task._replace(frame=frame[frame.drop(columns=OUTCOME).notna().any(axis=1)].reset_index(drop=True))


class Untouched(np.random.Generator):
    """A generator by which `real.lossy` loses nothing."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def random(self, size: Any = None, *_: Any) -> Any:
        """Ones."""
        return np.ones(size)


def drawn(task: Task, rng: np.random.Generator) -> pd.DataFrame:
    """Some rows of a table."""
    places = rng.permutation(len(task.frame))[:ROWS]
    return task.frame.iloc[places].reset_index(drop=True)


# --- held-out cells ---------------------------------------------------------------------------------------------------


def hide(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, list[tuple[int, str]]]:
    """The table with some of its recorded numbers gone, at most one of a row, and which they are."""
    inputs = frame.drop(columns=OUTCOME)
    numeric = [name for name in inputs if inputs[name].dtype.kind in "fi"]
    recorded = [(i, name) for i in range(len(frame)) for name in numeric if pd.notna(frame.at[i, name])]
    wanted, chosen, rows = round(HIDDEN * len(recorded)), [], set()
    for k in rng.permutation(len(recorded)):
        i, name = recorded[k]
        if len(chosen) < wanted and i not in rows and inputs[name].notna().sum() > 2:
            chosen.append((i, name))
            rows.add(i)
    hidden = frame.copy()
    for i, name in chosen:
        hidden.at[i, name] = np.nan
    return hidden, chosen


def fill_by_posterior(hidden: pd.DataFrame, space: Space, seed: int) -> np.ndarray[Any, Any]:
    """Mean, 5 % and 95 % of every number, NaN where none was drawn.  (3, n, columns)"""
    optimizer = Optimizer(space, objective=OUTCOME, seed=seed)
    optimizer.tell(hidden)
    names = list(space.names)
    found = np.full((3, len(hidden), len(names)), np.nan)
    for gap in optimizer.gap_draws():
        if not isinstance(space.parameters[gap.parameter], Categorical) and gap.draws:
            draws = np.array(gap.draws, dtype=float)
            found[:, gap.row, names.index(gap.parameter)] = draws.mean(), *np.quantile(draws, (0.05, 0.95))
    return found


def fill_by_scikit_learn(hidden: pd.DataFrame, space: Space, method: str, seed: int) -> np.ndarray[Any, Any]:
    """The same by an imputer of scikit-learn, over numbers between 0 and 1 and one column for each word."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401  # it makes the next one importable
    from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

    names, firsts = list(space.names), [columns.start for columns in space.columns]
    table = np.full((len(hidden), space.dim + 1), np.nan)
    for i, row in enumerate(hidden.to_dict("records")):
        for (name, parameter), columns in zip(space.parameters.items(), space.columns, strict=True):
            if pd.notna(row[name]):
                table[i, columns] = parameter.to_unit(row[name])
    outcomes = hidden[OUTCOME].to_numpy()
    table[:, -1] = (outcomes - outcomes.min()) / np.ptp(outcomes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged
        if method == "iterative":
            made = [
                IterativeImputer(sample_posterior=True, random_state=seed * DRAWS + k, keep_empty_features=True,
                                 min_value=0, max_value=1).fit_transform(table)
                for k in range(DRAWS)
            ]  # fmt: skip
        elif method == "knn":
            made = [KNNImputer(n_neighbors=5, keep_empty_features=True).fit_transform(table)]
        else:
            made = [SimpleImputer(keep_empty_features=True).fit_transform(table)]
    low, high = (np.array([getattr(one, end, np.nan) for one in space.parameters.values()]) for end in ("low", "high"))
    draws = low + np.array(made)[:, :, firsts] * (high - low)
    assert len(names) == len(firsts)
    return np.stack([draws.mean(0), *np.quantile(draws, (0.05, 0.95), axis=0)])


def cells(task: Task, run: Run) -> Record:
    """Errors and coverage of hidden cells."""
    rng = np.random.default_rng(run.repeat)
    frame = drawn(task, rng)
    hidden, chosen = hide(frame, rng)
    space = space_of(task._replace(frame=frame), UNKNOWN)
    start = time.perf_counter()
    if run.method == "posterior":
        mean, low, high = fill_by_posterior(hidden, space, run.repeat)
    else:
        mean, low, high = fill_by_scikit_learn(hidden, space, run.method, run.repeat)
    seconds = time.perf_counter() - start
    names = list(space.names)
    at = tuple(np.array([(i, names.index(name)) for i, name in chosen]).T)
    truth = np.array([frame.at[i, name] for i, name in chosen], dtype=float)
    spans = np.array([np.ptp(frame[name].dropna()) or 1.0 for _, name in chosen])
    drawn_some = run.method in ("posterior", "iterative")
    return {
        "cells": len(chosen),
        "error": float(np.sqrt(np.mean(((mean[at] - truth) / spans) ** 2))),
        "covers": float(np.mean((low[at] <= truth) & (truth <= high[at]))) if drawn_some else None,
        "width": float(np.mean((high[at] - low[at]) / spans)) if drawn_some else None,
        "seconds": seconds,
    }


# --- campaigns --------------------------------------------------------------------------------------------------------


def as_made(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """What will be recorded of each row: its own gaps, or of a complete table some made at random."""
    if frame.isna().any().any():
        return frame
    lost = (rng.random(frame.shape) < LOST_CELLS) & (rng.random(len(frame)) < LOST_ROWS)[:, None]
    lost[:, list(frame.columns).index(OUTCOME)] = False
    return frame.mask(lost)


def campaign(task: Task, run: Run) -> Record:
    """How many rows have to be made until one of the best has been."""
    rng = np.random.default_rng(run.repeat)
    frame = drawn(task, rng)
    made = as_made(frame, rng)
    sign = -1.0 if run.table in LEAST_IS_BEST else 1.0
    merits = sign * frame[OUTCOME].to_numpy()
    levels = {share: np.sort(merits)[-max(round(share * len(frame)), 1)] for share in BEST}
    tried = list(range(START))  # the rows are in random order already
    space = space_of(task._replace(frame=frame), UNKNOWN)
    choose = {"posterior": _by_bomi, "drop": _by_bomi, "plain": _by_botorch, "random": _by_chance}[run.method]
    start = time.perf_counter()
    reached: dict[float, int] = {}
    while True:
        for share, level in levels.items():
            if share not in reached and merits[tried].max() >= level:
                reached[share] = len(tried)
        if len(reached) == len(BEST) or len(tried) >= min(START + MOST, len(frame)):
            break
        left = [i for i in range(len(frame)) if i not in set(tried)]
        told = made.iloc[tried].dropna() if run.method == "drop" else made.iloc[tried]
        tried.append(choose(frame, told, left, space, sign, rng))
    return {
        **{f"best {share:.0%}": reached.get(share) for share in BEST},
        "tried": len(tried),
        "best": float(sign * merits[tried].max()),
        "seconds": time.perf_counter() - start,
    }


def _by_bomi(frame: pd.DataFrame, told: pd.DataFrame, left: list[int], space: Space, sign: float, rng: Any) -> int:
    """bomi's next row; what it asks for is a row's recorded values, which may have gaps."""
    seed = int(rng.integers(2**31))
    objective = {OUTCOME: "maximize" if sign > 0 else "minimize"}
    optimizer = Optimizer(space, objective=objective, seed=seed)
    if len(told):
        optimizer.tell(told)
    pool = frame.iloc[left].drop(columns=OUTCOME).reset_index(drop=True)
    asked = optimizer.ask(candidates=pool)
    assert asked.candidate is not None
    return left[asked.candidate]


def _by_botorch(frame: pd.DataFrame, told: pd.DataFrame, left: list[int], space: Space, sign: float, rng: Any) -> int:
    """A plain process: gaps filled with the column's mean or commonest word, LogEI over the rows that are left."""
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    inputs = told.drop(columns=OUTCOME)
    usual = {}
    for name in inputs:
        known = inputs[name].dropna()
        column = frame[name].dropna()
        known = known if len(known) else column
        usual[name] = known.mean() if column.dtype.kind in "fi" else known.mode()[0]
    X, pool = (
        torch.from_numpy(np.array([space.to_unit(row) for row in part.fillna(usual).to_dict("records")]))
        for part in (inputs, frame.iloc[left].drop(columns=OUTCOME))
    )
    y = torch.from_numpy(sign * told[OUTCOME].to_numpy())[:, None]
    y = (y - y.mean()) / y.std().clamp_min(1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the fit
        model = SingleTaskGP(X, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        with torch.no_grad():
            return left[int(LogExpectedImprovement(model, best_f=y.max())(pool[:, None]).argmax())]


def _by_chance(frame: pd.DataFrame, told: pd.DataFrame, left: list[int], space: Space, sign: float, rng: Any) -> int:
    return left[int(rng.integers(len(left)))]


# --- tables -----------------------------------------------------------------------------------------------------------


def what_is_missing(task: Task, run: Run | None = None) -> Record:
    """Rows, columns and blanks of a table."""
    inputs = task.frame.drop(columns=OUTCOME)
    blanks = inputs.isna()
    most = blanks.mean().nlargest(1)
    return {
        "rows": len(inputs),
        "columns": inputs.shape[1],
        "blank cells": float(blanks.to_numpy().mean()),
        "complete rows": int((~blanks.any(axis=1)).sum()),
        "most": f"{most.index[0]}, {most.iloc[0]:.0%}" if most.iloc[0] else "-",
    }


def missing_table(records: list[Record]) -> list[list[str]]:
    """What the tables lack."""
    rows = [["table", "rows", "inputs", "blank cells", "complete rows", "blank most often"]]
    for record in records:
        count = [str(record[name]) for name in ("rows", "columns")]
        rows.append(
            [record["table"], *count, f"{record['blank cells']:.1%}", str(record["complete rows"]), record["most"]]
        )
    return rows


def spread(values: list[float]) -> str:
    """A mean with its standard error."""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return f"{np.mean(values):.2f} ± {error:.2f}"


def cells_table(records: list[Record]) -> list[list[str]]:
    """Errors relative to the mean's, and coverage, by table."""
    methods = list(dict.fromkeys(record["method"] for record in records))
    rows = [
        ["table", "hidden cells", *(f"error, {name}" for name in methods), "covers, posterior", "covers, iterative"]
    ]
    for table in dict.fromkeys(record["table"] for record in records):
        part = {name: [r for r in records if (r["table"], r["method"]) == (table, name)] for name in methods}
        cells = [spread([r["error"] for r in own]) if own else "-" for own in part.values()]
        covered = [
            f"{np.mean([r['covers'] for r in part[name]]):.0%}" if part.get(name) else "-"
            for name in ("posterior", "iterative")
        ]
        count = next(iter(part.values()))
        rows.append([table, f"{np.mean([r['cells'] for r in count]):.0f}", *cells, *covered])
    return rows


def campaigns_table(records: list[Record]) -> list[list[str]]:
    """Rows made until one of the best was, by table; those that never found one count as one more than the most."""
    methods = list(dict.fromkeys(record["method"] for record in records))
    titles = [
        f"{name}, {'best tenth' if share == BEST[0] else f'best {share:.0%}'}" for share in BEST for name in methods
    ]
    rows = [["table", "runs", *titles]]
    for table in dict.fromkeys(record["table"] for record in records):
        cells, count = [], 0
        for share in BEST:
            for name in methods:
                own = [r for r in records if (r["table"], r["method"]) == (table, name)]
                count = max(count, len(own))
                made = [r[f"best {share:.0%}"] or r["tried"] + 1 for r in own]
                never = sum(r[f"best {share:.0%}"] is None for r in own)
                cells.append((spread(made) if made else "-") + (f" ({never} never)" if never else ""))
        rows.append([table, str(count), *cells])
    return rows


EXPERIMENTS: dict[str, Callable[[Task, Run], Record]] = {
    "missing": what_is_missing, "cells": cells, "campaigns": campaign,
}  # fmt: skip
MADE = {"missing": missing_table, "cells": cells_table, "campaigns": campaigns_table}


def write_page(files: list[str]) -> None:
    """Keep the records in the repository, and make the page's tables of them."""
    records = [json.loads(line) for file in files for line in Path(file).read_text().splitlines()]
    order = {table: i for i, table in enumerate(TABLES)}
    records.sort(key=lambda record: (list(MADE).index(record["experiment"]), order[record["table"]], record["repeat"]))
    kept = [{name: rounded(value) for name, value in record.items()} for record in records]
    lines = ",\n".join(json.dumps(record) for record in kept)
    KEPT.write_text(f'{{"versions": {json.dumps(versions())}, "records": [\n{lines}\n]}}\n', encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")


def rounded(value: Any) -> Any:
    """Five digits of a number."""
    return float(f"{value:.5g}") if isinstance(value, float) else value


def filled(text: str, records: list[Record]) -> str:
    """The page with every table as the records have it."""

    def content(found: re.Match[str]) -> str:
        own = [record for record in records if record["experiment"] == found[1]]
        return f"<!-- {found[1]} -->\n{as_markdown(MADE[found[1]](own))}\n<!-- end -->" if own else found[0]

    return re.sub(rf"<!-- ({'|'.join(MADE)}) -->\n.*?<!-- end -->", content, text, flags=re.DOTALL)


def make(folder: Path) -> Callable[[Run], Record]:
    """What makes one run."""

    def made(run: Run) -> Record:
        torch.set_num_threads(1)
        return {**run._asdict(), **EXPERIMENTS[run.experiment](load(run.table, folder), run)}

    return made


def present(names: list[str], folder: Path) -> list[str]:
    """The tables that can be read."""
    there = []
    for name in names:
        try:
            load(name, folder)
            there.append(name)
        except (FileNotFoundError, ImportError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return there


def main() -> None:
    """Run what the command line asks for."""
    if sys.argv[1:2] == ["page"]:
        write_page(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--data", type=Path, default=Path(), help="the folder of the tables")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--methods")
    add_options(parser, repeats=5)
    options = parser.parse_args()
    methods = (options.methods or METHODS[options.experiment]).split(",")
    tables = present(options.tables.split(","), options.data)
    runs = [
        Run(options.experiment, name, method, repeat)
        for repeat in (seeds(options) if options.experiment != "missing" else [0])
        for name in tables
        for method in methods
    ]
    records = sweep(make(options.data), runs, options)
    print(as_markdown(MADE[options.experiment](records)))


if __name__ == "__main__":
    main()
