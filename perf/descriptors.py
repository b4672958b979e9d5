"""Descriptors of categories on the direct arylation of Shields et al. (2021): 1,728 reactions, all of them measured.

    PYTHONPATH=src python perf/descriptors.py FOLDER --seeds 5 --budget 30 --out descriptors.jsonl

FOLDER holds the files of the folder `experiments/data/direct_arylation` of github.com/b-shields/edbo. Base, ligand and
solvent are categories with computed descriptors; concentration and temperature are ordered levels. The first five
experiments are random, the same for all ways. Printed: how many experiments were made until a yield of 95 % and until
one of 99 %, one more than all where none was, and the best yield found.

    descriptors   categories with their descriptors
    blanks        the same with 30 % of the descriptors blank
    names         categories by name alone
    random        random reactions
    baybe         BayBE (`pip install baybe`), with the same descriptors
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import bomi

WAYS = ("descriptors", "names", "random")
FILES = {"Base": "base_dft.csv", "Ligand": "ligand-random_dft.csv", "Solvent": "solvent_dft.csv"}
LEVELS = ("Concentration", "Temp_C")
START = 5


def read(folder: Path) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """The reactions, and the numbers of each category."""
    table = pd.read_csv(folder / "experiment_index.csv")
    described = {}
    for name, file in FILES.items():
        numbers = pd.read_csv(folder / file)
        key = next(column for column in numbers if column.lower() == f"{name}_smiles".lower())
        numbers = numbers.set_index(key).select_dtypes("number")
        described[name] = numbers.loc[:, numbers.round(9).nunique() > 1]
    return table.rename(columns={f"{name}_SMILES": name for name in FILES}), described


def space_of(table: pd.DataFrame, described: dict[str, pd.DataFrame], way: str, seed: int) -> bomi.Space:
    """The parameters, with or without descriptors."""
    made: dict[str, Any] = {}
    for name, numbers in described.items():
        lost = np.random.default_rng(seed).random(numbers.shape) < 0.3
        known = {"descriptors": numbers, "blanks": numbers.mask(lost)}.get(way)
        made[name] = bomi.Categorical(sorted(table[name].unique()), descriptors=known)
    return bomi.Space(made | {name: bomi.Ordinal(sorted(table[name].unique().tolist())) for name in LEVELS})


def baybe_next(table: pd.DataFrame, described: dict[str, pd.DataFrame], tried: list[int]) -> int:
    """The reaction that BayBE recommends."""
    from baybe.parameters import CustomDiscreteParameter, NumericalDiscreteParameter
    from baybe.recommenders import BotorchRecommender
    from baybe.searchspace import SearchSpace
    from baybe.targets import NumericalTarget

    parameters = [CustomDiscreteParameter(name, numbers) for name, numbers in described.items()]
    parameters += [NumericalDiscreteParameter(name, sorted(table[name].unique())) for name in LEVELS]
    inputs = table[[*FILES, *LEVELS]]
    left = inputs.drop(index=tried)
    space = SearchSpace.from_dataframe(left, parameters)
    measured = inputs.loc[tried].assign(**{"yield": table.loc[tried, "yield"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = BotorchRecommender().recommend(1, space, NumericalTarget("yield").to_objective(), measured)
    return int(left.index[(left == found.iloc[0][left.columns]).all(axis=1)][0])


def run(table: pd.DataFrame, described: dict[str, pd.DataFrame], way: str, budget: int, seed: int) -> list[float]:
    """The yields in the order of the experiments."""
    rng = np.random.default_rng(seed)
    tried = [int(place) for place in rng.permutation(len(table))[: budget if way == "random" else START]]
    inputs = table[[*FILES, *LEVELS]]
    optimizer = bomi.Optimizer(space_of(table, described, way, seed), seed=seed)
    for place in tried if way not in ("random", "baybe") else ():
        optimizer.tell(inputs.loc[place].to_dict(), table["yield"][place])
    while len(tried) < budget:
        if way == "baybe":
            torch.manual_seed(1000 * seed + len(tried))
            tried.append(baybe_next(table, described, tried))
            continue
        rest = inputs.drop(index=tried)
        suggestion = optimizer.ask(candidates=rest)
        place = int(rest.index[suggestion.candidate])
        optimizer.tell(suggestion, table["yield"][place])
        tried.append(place)
    return [float(one) for one in table["yield"][tried]]


def until(yields: list[float], wanted: float) -> int:
    """How many experiments were made until a yield; one more than all where none had it."""
    return next((k for k, one in enumerate(yields, 1) if one >= wanted), len(yields) + 1)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=(*WAYS, "blanks", "baybe"))
    parser.add_argument("--budget", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="A file of runs, which are not made again.")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table, described = read(options.folder)
    done = [json.loads(line) for line in options.out.open()] if options.out and options.out.exists() else []
    runs = {tuple(one["run"]): one["yields"] for one in done}
    print("| way | runs | until 95 % | until 99 % | best yield |\n|---|---:|---:|---:|---:|")
    for way in options.ways:
        found = []
        for seed in range(options.first, options.first + options.seeds):
            key = (way, options.budget, seed)
            if key not in runs:
                runs[key] = run(table, described, way, options.budget, seed)
                if options.out:
                    with options.out.open("a") as file:
                        file.write(json.dumps({"run": key, "yields": runs[key]}) + "\n")
            found.append(runs[key])
        each = [[until(one, 95) for one in found], [until(one, 99) for one in found], [max(one) for one in found]]
        told = [f"{np.mean(one):.1f} ± {np.std(one) / np.sqrt(len(one)):.1f}" for one in each]
        print(f"| {way} | {len(found)} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
