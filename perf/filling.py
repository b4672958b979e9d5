"""How well gaps are filled from the other columns alone: `PYTHONPATH=src python perf/filling.py`.

A table's last column is linear in the others, up to noise, and has blanks. Its error is shown beside that of a linear
regression over the complete rows and that of the column's mean; coverage is how often a 90 % interval has the truth.

`--tables` blanks cells of scikit-learn's tables instead, and of the CSV files of a folder (the outcome in the last
column), and compares `PosteriorImputer` with scikit-learn's imputers. All of them are given the outcome.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.stats import qmc
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (without it there is none)
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression

from bomi.impute.table import Table
from bomi.integrations.sklearn import PosteriorImputer
from bomi.posterior.codes import to_codes
from bomi.posterior.priors import gap_priors
from bomi.space import Array, Integer, Ordinal, Parameter, Real, Space

DRAWS = 400
Rng = np.random.Generator


# --- designs ----------------------------------------------------------------------------------------------------------


def factorial(k: int, times: int) -> Array:
    """All corners of a cube."""
    return np.repeat(np.array(list(itertools.product([-1.0, 1.0], repeat=k))), times, 0)


def fractional(rng: Rng) -> Array:
    """Half of the corners in five dimensions: the last factor is the product of the others."""
    corners = factorial(4, 1)
    return np.column_stack([corners, corners.prod(1)])


def composite(rng: Rng) -> Array:
    """A central composite design of three factors: corners, stars and six center points."""
    star = 1.682 * np.concatenate([np.eye(3), -np.eye(3)])
    return np.concatenate([factorial(3, 1), star, np.zeros((6, 3))])


def one_at_a_time(rng: Rng) -> Array:
    """Five factors, each at four other levels while the others stay."""
    steps = [step * np.eye(5)[j] for j in range(5) for step in (-1.0, -0.5, 0.5, 1.0)]
    return np.array([np.zeros(5), np.zeros(5), *steps])


def hypercube(rows: int, k: int) -> Callable[[Rng], Array]:
    """A Latin hypercube."""
    return lambda rng: 2 * qmc.LatinHypercube(k, rng=rng).random(rows) - 1


def few(rows: int, k: int, levels: int) -> Callable[[Rng], Array]:
    """Levels at random."""
    return lambda rng: 2 * rng.integers(levels, size=(rows, k)) / (levels - 1) - 1


DESIGNS: dict[str, Callable[[Rng], Array]] = {
    "two levels, 40 rows": lambda rng: np.repeat([[-1.0], [1.0]], 20, 0),
    "full factorial 2^4": lambda rng: factorial(4, 1),
    "full factorial 2^3, twice": lambda rng: factorial(3, 2),
    "fractional factorial 2^(5-1)": fractional,
    "central composite": composite,
    "one factor at a time": one_at_a_time,
    "Latin hypercube, 20 rows": hypercube(20, 3),
    "Latin hypercube, 60 rows": hypercube(60, 5),
    "duplicated rows": lambda rng: np.repeat(hypercube(20, 3)(rng), 2, 0),
    "three levels": few(36, 4, 3),
}


def linear(X: Array, rng: Rng, noise: float) -> Array:
    """A sum of the columns with random weights, of variance 1, and noise."""
    weights = rng.normal(size=X.shape[1])
    signal = X @ weights
    return np.asarray((signal - signal.mean()) / max(signal.std(), 1e-9) + noise * rng.normal(size=len(X)))


def measured(column: Array) -> tuple[Array, Parameter]:
    """As it is, in a range somewhat wider than what was seen."""
    margin = 0.2 * float(np.ptp(column))
    return column, Real(float(column.min()) - margin, float(column.max()) + margin)


def whole(column: Array) -> tuple[Array, Parameter]:
    """Rounded to whole numbers."""
    rounded = np.round(2 * column)
    return rounded, Integer(int(rounded.min()), int(rounded.max()))


def ordered(column: Array) -> tuple[Array, Parameter]:
    """One of five ordered levels."""
    level = np.clip(np.round(column + 2), 0, 4)
    return level, Ordinal(["1", "2", "3", "4", "5"])


def one_sided(column: Array) -> tuple[Array, Parameter]:
    """No less than 0, and so often 0."""
    cut = np.clip(column + 0.3, 0, None)
    return cut, Real(0, float(cut.max()))


KINDS = {"number": measured, "whole number": whole, "ordered level": ordered, "one-sided": one_sided}


def unit(column: Array, parameter: Parameter) -> Array:
    """Its places in [0, 1]."""
    if isinstance(parameter, Ordinal):
        return column / 4
    assert isinstance(parameter, Real | Integer)
    return (column - parameter.low) / (parameter.high - parameter.low)


def draws_of(space: Space, inputs: Array, count: int = DRAWS) -> Array:
    """Draws of all gaps given the other columns.  (n, d) -> (M, n, p) as codes"""
    cells = torch.from_numpy(inputs)
    table = Table(space, cells, torch.full_like(cells, torch.nan), torch.zeros(len(cells), dtype=torch.float64))
    priors = gap_priors(table, codes := to_codes(table, cells), 1)
    generator = torch.Generator().manual_seed(0)
    drawn = priors.draw(torch.randn(1, count, *priors.used.shape, generator=generator, dtype=torch.float64))[0]
    filled = codes.expand(count, -1, -1).clone()
    row, slot = priors.used.nonzero().unbind(-1)
    filled[:, priors.rows[row], priors.parameter[row, slot]] = drawn[:, row, slot]
    return filled.numpy()


def covers(draws: Array, truth: Array) -> Array:
    """How likely a 90 % interval has the truth, whose place among equal draws is random.  (M, g), (g,) -> (g,)"""
    below, equal = (draws < truth - 1e-9).mean(0), (np.abs(draws - truth) <= 1e-9).mean(0)
    inside = np.minimum(below + equal, 0.95) - np.maximum(below, 0.05)
    return np.where(equal > 0, inside.clip(0) / equal.clip(1e-9), (below >= 0.05) & (below <= 0.95))


def ratio(ours: Array, others: Array) -> str:
    """The ratio of two root mean squares over tables, with its standard error.  (S,), (S,)"""
    square = ours.mean() / others.mean()
    error = np.std(ours - square * others, ddof=1) / others.mean() / len(ours) ** 0.5
    return f"{square**0.5:.2f} ± {error / square**0.5 / 2:.2f}"


def percent(shares: Array) -> str:
    """A mean share over tables, with its standard error.  (S,)"""
    return f"{100 * shares.mean():.0f} ± {100 * np.std(shares, ddof=1) / len(shares) ** 0.5:.1f} %"


def in_designs(seeds: int, noise: float) -> None:
    """A line for each design and kind of column."""
    print("| design | column | error / regression | error / mean | 90 % covers |\n|---|---|---:|---:|---:|")
    for (name, design), (kind, made) in itertools.product(DESIGNS.items(), KINDS.items()):
        found = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            X = design(rng)
            column, parameter = made(linear(X, rng, noise))
            space = Space(
                {**{f"x{j}": Real(float(x.min()), float(x.max())) for j, x in enumerate(X.T)}, "y": parameter}
            )
            low, high = X.min(0), X.max(0)
            y = unit(column, parameter)
            inputs = np.column_stack([(X - low) / (high - low), y])
            gaps = rng.choice(len(X), max(len(X) // 5, 3), replace=False)
            known = np.setdiff1d(np.arange(len(X)), gaps)
            inputs[gaps, -1] = np.nan
            drawn = parameter.snap(draws_of(space, inputs)[:, gaps, -1][..., None])[..., 0]
            fitted = LinearRegression().fit(X[known], y[known]).predict(X[gaps])
            errors = [drawn.mean(0) - y[gaps], fitted - y[gaps], y[known].mean() - y[gaps]]
            found.append([*(np.mean(error**2) for error in errors), covers(drawn, y[gaps]).mean()])
        ours, regression, mean, cover = np.transpose(found)
        print(f"| {name} | {kind} | {ratio(ours, regression)} | {ratio(ours, mean)} | {percent(cover)} |", flush=True)


def unrelated(seeds: int) -> None:
    """A line for each size: columns that say nothing of each other."""
    print("\n| unrelated columns | rows | error / mean | 90 % covers |\n|---|---:|---:|---:|")
    for k, rows in itertools.product((3, 6, 12), (15, 30, 60, 200)):
        found = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            X = rng.random((rows, k))
            inputs = X.copy()
            inputs[np.arange(rows) % 2 == 0, rng.integers(k)] = np.nan
            gap = np.isnan(inputs)
            drawn = draws_of(Space({f"x{j}": (0, 1) for j in range(k)}), inputs)[:, gap]
            mean = np.nanmean(inputs, 0)[gap.nonzero()[1]]
            found.append(
                [np.mean((drawn.mean(0) - X[gap]) ** 2), np.mean((mean - X[gap]) ** 2), covers(drawn, X[gap]).mean()]
            )
        ours, mean, cover = np.transpose(found)
        print(f"| {k} | {rows} | {ratio(ours, mean)} | {percent(cover)} |", flush=True)


def real_tables(folder: Path | None) -> Iterator[tuple[str, Array, Array]]:
    """Names, inputs and outcomes, of at most 400 rows."""
    loaded = {"iris": load_iris, "wine": load_wine, "diabetes": load_diabetes, "breast cancer": load_breast_cancer}
    found = [(name, *load(return_X_y=True)) for name, load in loaded.items()]
    for path in sorted(folder.glob("*.csv")) if folder else ():
        numbers = pd.read_csv(path).to_numpy(float)
        found.append((path.stem, numbers[:, :-1], numbers[:, -1]))
    for name, X, y in found:
        kept = np.random.default_rng(0).permutation(len(X))[:400]
        yield name, X[kept].astype(float), y[kept].astype(float)


def in_tables(seeds: int, folder: Path | None) -> None:
    """A line for each table: errors in standard deviations of the column, over the blanks."""
    trees = ExtraTreesRegressor(n_estimators=50, random_state=0)
    imputers = {
        "mean": SimpleImputer(),
        "KNN": KNNImputer(),
        "iterative, ridge": IterativeImputer(random_state=0),
        "iterative, trees": IterativeImputer(trees, max_iter=5, random_state=0),
    }
    print(f"| table | rows x columns | {' | '.join(imputers)} | PosteriorImputer | 90 % covers | seconds |")
    print("|---|---:|" + "---:|" * (len(imputers) + 3))
    for name, X, y in real_tables(folder):
        found = []
        for seed in range(seeds):
            gaps = np.random.default_rng(seed).random(X.shape) < 0.15
            gaps[gaps.all(1)] = False
            blanked, sd = np.where(gaps, np.nan, X), X.std(0)
            start = time.process_time()
            ours = PosteriorImputer(random_state=0)
            filled = ours.fit_transform(blanked, y)
            seconds = time.process_time() - start
            others = [imputer.fit_transform(np.column_stack([blanked, y]))[:, :-1] for imputer in imputers.values()]
            errors = [np.mean(((one - X) / sd)[gaps] ** 2) for one in (*others, filled)]
            found.append([*errors, covers(ours.worlds_[:, gaps], X[gaps]).mean(), seconds])
        *errors, cover, seconds = np.mean(found, 0)
        cells = [f"{error**0.5:.2f}" for error in errors]
        print(f"| {name} | {len(X)} x {X.shape[1]} | {' | '.join(cells)} | {100 * cover:.0f} % | {seconds:.1f} |")


def main() -> None:
    """The tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--noise", type=float, default=0.4, help="as a share of what the other columns explain")
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.tables:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            in_tables(options.seeds, options.folder)
        return
    in_designs(options.seeds, options.noise)
    unrelated(options.seeds)


if __name__ == "__main__":
    main()
