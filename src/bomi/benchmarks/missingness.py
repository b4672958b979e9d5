"""How inputs go missing: blanks in the initial data, and equipment that does not do what was requested.

Everything depends on a seed and, during a run, on the iteration; never on what a method asks for. So all methods of
one repeat get the same initial data, gaps and events. Settings share the draws of a seed too: an event at rho = 0.25
is also an event at rho = 0.35.

The mechanisms are those of Luong et al. 2020 ("Bayesian Optimization with Missing Inputs"), in its text and in its
program.

Notation: n rows, d parameters, t iteration, r_i the range (high - low) of parameter i.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bomi.benchmarks.functions import Bounds, FloatArray, Problem, corners
from bomi.errors import BenchmarkError
from bomi.space import Categorical
from bomi.space.cells import Interval, is_unknown

BoolArray: TypeAlias = NDArray[np.bool_]
Size: TypeAlias = float | Interval

# Each use of a seed has its own stream, so more rows or other gaps do not change the events.
_INPUTS, _GAPS, _EVENTS, _NOISE = range(4)


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


# --- history ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class HistoryGaps:
    """Blanks in past data: `share` of the rows, rounded to whole rows, lack 1 to `most` values each.

    The rows, the number of blanks in each (uniform in 1..min(most, d)) and their columns are drawn at random.
    """

    share: float = 0.8
    most: int = 1

    def __post_init__(self) -> None:
        _check_share("share", self.share)
        _check_most(self.most)

    def mask(self, n: int, d: int, rng: np.random.Generator) -> BoolArray:  # (n, d)
        """Where the blanks are."""
        gappy = rng.permutation(n) < round(self.share * n)
        count = np.where(gappy, _count(self.most, d, rng.random(n)), 0)
        place = rng.permuted(np.tile(np.arange(d), (n, 1)), axis=1)
        return place < count[:, None]


class Initial(NamedTuple):
    """The initial data of a run."""

    inputs: FloatArray  # (n, d), the true ones
    recorded: FloatArray  # (n, d), NaN where nobody knows
    outcomes: FloatArray  # (n,), or (n, J) of several


def initial(
    problem: Problem, *, rows: int = 30, gaps: HistoryGaps | None = None, seed: int, inputs_seed: int | None = None
) -> Initial:
    """Experiments requested uniformly in the problem's space, their outcomes, and what is recorded of them.

    Without `gaps` the paper's gaps are used: 80 % of the rows lack one value. With an `inputs_seed` the inputs depend
    on that one, and only the gaps on the seed.
    """
    if rows < 1:
        raise BenchmarkError(f"initial data needs at least 1 row, but got rows={rows}")
    inputs = problem.draw(rows, _stream(seed if inputs_seed is None else inputs_seed, _INPUTS))
    mask = (gaps or HistoryGaps()).mask(rows, problem.dim, _stream(seed, _GAPS))
    inputs, values = problem.evaluate(inputs)
    return Initial(inputs, np.where(mask, np.nan, inputs), problem.measured(values, measuring(seed, 0)))


def measuring(seed: int, t: int) -> np.random.Generator:
    """The noise of the t-th evaluation, or of the initial data for t = 0; the same for all methods."""
    return _stream(seed, _NOISE, t)


# --- events -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Event:
    """What happens to one evaluation: which parameters fail, and the execution error of each."""

    failed: BoolArray  # (d,)
    offset: FloatArray  # (d,), in units of the parameter's range; 0 where nothing failed

    def apply(self, x: FloatArray, bounds: Bounds) -> tuple[FloatArray, FloatArray]:  # (d,) -> (d,), (d,)
        """The actual inputs of the evaluation, and the recorded ones (NaN where a parameter failed).

        x'_i = x_i + offset_i r_i, clipped to the box, where i failed; x'_i = x_i elsewhere.
        """
        x = np.asarray(x, dtype=float)
        low, high = corners(bounds)
        if not x.shape == low.shape == self.failed.shape:
            raise BenchmarkError(
                f"an event of {self.failed.size} parameters needs as many inputs and bounds, "
                f"but got inputs of shape {x.shape} and {low.size} bounds"
            )
        actual = np.where(self.failed, np.clip(x + self.offset * (high - low), low, high), x)
        return actual, np.where(self.failed, np.nan, x)


def stray(event: Event, x: FloatArray, problem: Problem) -> tuple[FloatArray, FloatArray]:  # (d,) -> (d,), (d,)
    """The actual and the recorded inputs after an event, for any problem.

    Like `Event.apply`, but for a space of any kind: a category that fails becomes any of its values, integers and
    levels stay at possible values, and the actual inputs satisfy the constraints, as shares of a whole always do.
    """
    actual, recorded = event.apply(x, problem.bounds)
    if problem.space is None:
        return actual, recorded
    for j, parameter in enumerate(problem.space.parameters.values()):
        if event.failed[j] and isinstance(parameter, Categorical):
            actual[j] = int(abs(event.offset[j]) * 1e9) % parameter.levels  # from the event alone
    return problem.admissible(actual, event.failed), recorded


@dataclass(frozen=True)
class Events:
    """Failures during a run: how often (`rho`), how far (`eta`, in units of the range), how many (`most`).

    `kind`, with v = `most`, never more than d:

    - "per-run" (the paper's text): an evaluation exposes a random subset of the parameters with rho > 0; its size is
      uniform in 1..v. With probability rho all of them fail, else none. If each parameter has its own rho, one u,
      uniform in [0, 1], is drawn for the evaluation, and the exposed parameter i fails if u < rho_i. So with v = 1 and
      k parameters that can fail, parameter i fails with probability rho_i / k, and the probability of an event is the
      mean of those k.
    - "per-coordinate" (the authors' program): each parameter in turn fails with probability rho_i, independently,
      until v have failed. With one rho an event has probability 1 - (1 - rho)^d.

    `offset`: the execution error of parameter i is u eta_i, with u "uniform" in [-1, 1], or its "sign", u = -1 or 1.

    `rho` and `eta` are one number for all parameters or a sequence with one for each. If an eta is an `Interval`, it
    is drawn uniformly from it for each parameter of each event.
    """

    rho: float | Sequence[float]
    eta: Size | Sequence[Size]
    _: KW_ONLY
    most: int = 1
    kind: str = "per-run"
    offset: str = "uniform"

    def __post_init__(self) -> None:
        # Lists become tuples, so that the value is frozen.
        for name in ("rho", "eta"):
            if not isinstance(getattr(self, name), float | int | Interval):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        for rho in _each(self.rho):
            _check_share("rho", rho)
        for eta in _each(self.eta):
            if not 0 <= _ends(eta)[0] < math.inf:
                raise BenchmarkError(f"`0 <= eta` must hold, finite, but got eta={eta}")
        _check_most(self.most)
        _check_choice("kind", self.kind, _FAILURES)
        _check_choice("offset", self.offset, _DIRECTIONS)

    def draw(self, seed: int, t: int, d: int) -> Event:
        """The event at iteration t of the repeat with this seed, whatever is requested there."""
        rng = _stream(seed, _EVENTS, t)
        rho = np.array(_for_each("rho", self.rho, d))
        low, high = np.array([_ends(eta) for eta in _for_each("eta", self.eta, d)]).T
        failed = _FAILURES[self.kind](rho, self.most, rng)
        size = low + (high - low) * rng.random(d)
        direction = _DIRECTIONS[self.offset](rng.uniform(-1, 1, d))
        return Event(failed, np.where(failed, direction * size, 0.0))


def _per_run(rho: FloatArray, most: int, rng: np.random.Generator) -> BoolArray:  # (d,)
    place = rng.permutation(rho.size)
    u, v = rng.random(2)
    can_fail = rho > 0
    rank = np.argsort(np.argsort(np.where(can_fail, place, rho.size)))  # among those that can fail
    failed: BoolArray = (rank < _count(most, max(int(can_fail.sum()), 1), v)) & (u < rho)
    return failed


def _per_coordinate(rho: FloatArray, most: int, rng: np.random.Generator) -> BoolArray:  # (d,)
    fails = rng.random(rho.size) < rho
    failed: BoolArray = fails & (np.cumsum(fails) <= most)
    return failed


def _sign(u: FloatArray) -> FloatArray:
    return np.where(u < 0, -1.0, 1.0)


def _as_drawn(u: FloatArray) -> FloatArray:
    return u


_FAILURES: dict[str, Callable[[FloatArray, int, np.random.Generator], BoolArray]] = {
    "per-run": _per_run,
    "per-coordinate": _per_coordinate,
}
_DIRECTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {"uniform": _as_drawn, "sign": _sign}


def _count(most: int, d: int, u: float | FloatArray) -> NDArray[np.int64]:
    """A number uniform in 1..min(most, d), from u uniform in [0, 1).

    `rng.integers` would not do: how much it draws from its stream depends on `most`.
    """
    return 1 + np.asarray(u * min(most, d)).astype(np.int64)


def _ends(eta: Size) -> tuple[float, float]:
    return (eta.low, eta.high) if isinstance(eta, Interval) else (eta, eta)


def _each(value: Size | Sequence[Size]) -> Sequence[Size]:
    return (value,) if isinstance(value, float | int | Interval) else value


def _for_each(name: str, value: Size | Sequence[Size], d: int) -> Sequence[Size]:
    """The values for d parameters: one value repeated, or one for each."""
    if isinstance(value, float | int | Interval):
        return [value] * d
    if len(value) != d:
        raise BenchmarkError(
            f"{name} needs one value, or one for each of {d} parameters, but got {len(value)}; "
            f"a range is an Interval(low, high)"
        )
    return value


def _check_share(name: str, value: object) -> None:
    if not (isinstance(value, float | int) and 0 <= value <= 1):
        raise BenchmarkError(f"`0 <= {name} <= 1` must hold, but got {name}={value}")


def _check_most(most: int) -> None:
    if most < 1:
        raise BenchmarkError(f"`most >= 1` must hold, but got most={most}; for no gaps give the share or rho 0")


def _check_choice(name: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise BenchmarkError(f"{name} must be {' or '.join(map(repr, known))}, but got {value!r}")


# --- data of others ---------------------------------------------------------------------------------------


def read_initial(folder: Path | str, problem: Problem, repeat: int) -> Initial:
    """Initial data in the layout of the paper's authors.

    For `alpine5d` and repeat 3 the folder `Alpine5d` holds one file each that ends in `X.csv` (the true inputs),
    `Y.csv` (the outcomes) and `X_3.csv` (the inputs with blanks). Each file begins with a header.
    """
    place = Path(folder) / problem.name.capitalize()
    if not place.is_dir():
        raise BenchmarkError(
            f"the initial data of problem {problem.name!r} must be in the folder {place}, which does not exist"
        )
    inputs = _read(_only(place, "X.csv"), problem.dim)
    outcomes = _read(_only(place, "Y.csv"), 1)
    recorded_file = _only(place, f"X_{repeat}.csv")
    recorded = _read(recorded_file, problem.dim, blanks=True)
    if not len(inputs) == len(outcomes) == len(recorded):
        raise BenchmarkError(
            f"the files in {place} must have the same number of rows, but have {len(inputs)} inputs, "
            f"{len(outcomes)} outcomes and {len(recorded)} inputs with blanks"
        )
    other = np.argwhere(~np.isnan(recorded) & (recorded != inputs))
    if other.size:
        row, column = other[0] + 1
        raise BenchmarkError(
            f"{recorded_file}: recorded inputs must equal the true ones, but differ at row {row}, column {column}"
        )
    return Initial(inputs, recorded, outcomes[:, 0])


def _only(folder: Path, ending: str) -> Path:
    found = sorted(folder.glob(f"*{ending}"))
    if len(found) != 1:
        names = ", ".join(path.name for path in found or sorted(folder.iterdir())) or "nothing"
        raise BenchmarkError(f"one file *{ending} must be in {folder}, but there is {names}")
    return found[0]


def _read(path: Path, columns: int, *, blanks: bool = False) -> FloatArray:  # (n, columns)
    """The numbers under the header; NaN for a blank."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        names, *rows = list(csv.reader(file)) or [[]]
    if len(names) != columns:
        raise BenchmarkError(f"{path}: the number of columns must be {columns}, but is {len(names)}")
    table = np.empty((len(rows), columns))
    for i, row in enumerate(rows):
        if len(row) != columns:
            raise BenchmarkError(f"{path}: line {i + 2} needs {columns} cells, but has {len(row)}")
        for j, cell in enumerate(row):
            try:
                table[i, j] = np.nan if blanks and is_unknown(cell) else _finite(cell)
            except ValueError:
                wanted = "a number or a blank" if blanks else "a number"
                raise BenchmarkError(
                    f"{path}: line {i + 2}, column {names[j]}: expected {wanted}, but got {cell!r}"
                ) from None
    return table


def _finite(cell: str) -> float:
    number = float(cell)
    if not math.isfinite(number):
        raise ValueError(cell)
    return number
