"""Choosing from a list: experiments until one of the best tenth, and of the best fiftieth, of a measured table.

    PYTHONPATH=src python perf/candidates.py TABLE.csv [TABLE.csv ...] --blanks 0 0.3 --seeds 5 --out candidates.jsonl

`gp` is BoTorch's SingleTaskGP with LogEI over the list, `baybe` is BayBE (`pip install baybe`); both get the means of
the columns for blanks. The last column of a table is the outcome; equal settings are averaged. The first experiments
are random, the same for all ways. A share of the cells of the list is blank; an experiment is told with what the list
knows. A run that is in the file `--out` is not made again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import bomi

START = 5  # random experiments before the first suggestion
WAYS = ("posterior", "gp", "mean", "drop", "random")


def read(path: Path, minimize: bool, most: int) -> tuple[pd.DataFrame, pd.Series]:
    """The settings and their outcomes, larger is better; the median stands for repeated settings."""
    table = pd.read_csv(path, encoding="utf-8-sig")
    names, outcome = list(table.columns[:-1]), table.columns[-1]
    table = table.groupby(names, as_index=False, sort=False)[outcome].median()
    table = table.sample(min(most, len(table)), random_state=0).reset_index(drop=True)
    return table[names].astype(float), (-1 if minimize else 1) * table[outcome]


def run(settings: pd.DataFrame, outcomes: pd.Series, way: str, *, blanks: float, budget: int, seed: int) -> np.ndarray:
    """The ranks of the outcomes in the order they were found, as shares of the list; 0 is the best."""
    rng = np.random.default_rng(seed)
    library = settings.mask(rng.random(settings.shape) < blanks)
    if way in ("gp", "baybe"):
        return run_other(library.fillna(library.mean()), outcomes, way, budget=budget, seed=seed, rng=rng)
    space = {name: (settings[name].min(), settings[name].max()) for name in settings}
    optimizer = bomi.Optimizer(space, method=way, seed=seed)
    ranks = outcomes.rank(ascending=False, method="min").to_numpy() - 1
    tried = []
    for place in rng.permutation(len(library))[:START]:
        row = library.iloc[place]
        optimizer.tell({name: None if pd.isna(row[name]) else row[name] for name in library}, outcomes[place])
        tried.append(int(place))
    while len(tried) < budget:
        rest = library.drop(index=tried)
        suggestion = optimizer.ask(candidates=rest)
        place = int(rest.index[suggestion.candidate])
        optimizer.tell(suggestion, outcomes[place])
        tried.append(place)
    return ranks[tried] / len(ranks)


def run_other(
    library: pd.DataFrame, outcomes: pd.Series, way: str, *, budget: int, seed: int, rng: np.random.Generator
) -> np.ndarray:
    """The same by another program, which needs complete rows."""
    ranks = outcomes.rank(ascending=False, method="min").to_numpy() - 1
    tried = [int(place) for place in rng.permutation(len(library))[:START]]
    while len(tried) < budget:
        torch.manual_seed(1000 * seed + len(tried))
        rest = library.drop(index=tried)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tried.append((next_gp if way == "gp" else next_baybe)(library, outcomes, tried, rest))
    return ranks[tried] / len(ranks)


def next_gp(library: pd.DataFrame, outcomes: pd.Series, tried: list[int], rest: pd.DataFrame) -> int:
    """The candidate with the largest LogEI."""
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    unit = torch.tensor(((library - library.min()) / (library.max() - library.min()).replace(0, 1)).to_numpy())
    y = torch.tensor(outcomes[tried].to_numpy())[:, None].double()
    y = (y - y.mean()) / y.std().clamp_min(1e-9)
    model = SingleTaskGP(unit[tried], y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        score = LogExpectedImprovement(model, best_f=y.max())(unit[rest.index.to_numpy()][:, None])
    return int(rest.index[int(score.argmax())])


def next_baybe(library: pd.DataFrame, outcomes: pd.Series, tried: list[int], rest: pd.DataFrame) -> int:
    """The candidate that BayBE recommends."""
    from baybe.parameters import NumericalDiscreteParameter
    from baybe.recommenders import BotorchRecommender
    from baybe.searchspace import SearchSpace
    from baybe.targets import NumericalTarget

    some = library.loc[[*tried, *rest.index]]
    parameters = [NumericalDiscreteParameter(name, sorted(some[name].unique())) for name in library]
    space = SearchSpace.from_dataframe(rest, parameters)
    measured = library.loc[tried].assign(outcome=outcomes[tried])
    found = BotorchRecommender().recommend(1, space, NumericalTarget("outcome").to_objective(), measured)
    return int(rest.index[(rest == found.iloc[0][rest.columns]).all(axis=1)][0])


def until(ranks: np.ndarray, share: float) -> int:
    """How many experiments were made until one of the best; one more than all where none was."""
    found = np.flatnonzero(ranks < share)
    return int(found[0]) + 1 if len(found) else len(ranks) + 1


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--minimize", nargs="*", default=["agnp", "perovskite"], help="Parts of names: less is better.")
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    parser.add_argument("--blanks", nargs="+", type=float, default=[0.0, 0.3])
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--most", type=int, default=2000, help="Candidates of a list, at most.")
    parser.add_argument("--first", type=int, default=0, help="The first seed.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="A file of runs, which are not made again.")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done = [json.loads(line) for line in options.out.open()] if options.out and options.out.exists() else []
    runs = {tuple(one["run"]): one["ranks"] for one in done}
    print(
        "| table | candidates | blank | way | to the best tenth | to the best fiftieth |\n|---|---:|---:|---|---:|---:|"
    )
    for path in options.tables:
        settings, outcomes = read(path, any(part in path.stem for part in options.minimize), options.most)
        for blanks in options.blanks:
            for way in options.ways:
                each = []
                for seed in range(options.first, options.first + options.seeds):
                    key = (path.stem, blanks, way, options.budget, options.most, seed)
                    if key not in runs:
                        budget = min(options.budget, len(settings))
                        runs[key] = run(settings, outcomes, way, blanks=blanks, budget=budget, seed=seed).tolist()
                        if options.out:
                            with options.out.open("a") as file:
                                file.write(json.dumps({"run": key, "ranks": runs[key]}) + "\n")
                    each.append(np.array(runs[key]))
                told = [f"{np.mean([until(ranks, share) for ranks in each]):.1f}" for share in (0.1, 0.02)]
                print(f"| {path.stem} | {len(settings)} | {blanks:.0%} | {way} | {told[0]} | {told[1]} |", flush=True)


if __name__ == "__main__":
    main()
