"""Functions with a known maximum, to compare methods on.

Every problem is maximized: functions that the literature minimizes are negated. Four are those of Luong et al. 2020
("Bayesian Optimization with Missing Inputs"), written here; the others are BoTorch's test functions, wrapped.
Formulas and optima: Jamil and Yang 2013, "A literature survey of benchmark functions for global
optimization problems", and the docstrings of `botorch.test_functions`.

The module is long because it is a list: each function is a few lines.

    problem("alpine")           5-d, as in the paper
    problem("alpine", dim=3)    the same as problem("alpine3d")

Notation: d dimensions, m points, x in natural units.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bomi.errors import BenchmarkError
from bomi.space import Categorical, Integer, Ordinal, Parameter, Space
from bomi.space.cells import Known

FloatArray: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[[FloatArray], FloatArray]  # (m, d) -> (m,)
Bounds: TypeAlias = Mapping[str, tuple[float, float]]


def corners(bounds: Bounds) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest corner of a box, each (d,)."""
    low, high = np.array(list(bounds.values()), dtype=float).T
    return low, high


def number_within(name: str, value: object, low: float, high: float, unit: str = "") -> float:
    """A number between two ends, both included."""
    try:
        number = float(value)  # type: ignore[arg-type]  # anything but a number is refused below
    except (TypeError, ValueError):
        number = np.nan
    if not low <= number <= high:  # false for NaN too
        rule = f"{name} must be a number from {low:g} to {high:g} {unit}".rstrip()
        raise BenchmarkError(f"{rule}, but got {value!r}")
    return number


@dataclass(frozen=True)
class Problem:
    """A function on a box, to be maximized.

    `function` takes (m, d) and returns (m,). `optimum` is the known maximum and `maximizer` one point where it is
    attained; both are None if unknown. If the actual inputs may differ from the requested ones, `experiment` takes the
    requested inputs (m, d) and returns the actual ones (m, d) and the values (m,). `noise` is the standard deviation of
    measured outcomes. With several outcomes, `function` returns (m, J), and the optimum is the hypervolume above the
    `reference` point.
    """

    name: str
    bounds: dict[str, tuple[float, float]]
    function: Function
    optimum: float | None = None
    maximizer: tuple[float, ...] | None = None
    experiment: Callable[[FloatArray], tuple[FloatArray, FloatArray]] | None = None
    noise: float = 0.0
    reference: tuple[float, ...] | None = None
    space: Space | None = None  # if it is not a box of numbers: see `mixed_problem`

    def __post_init__(self) -> None:
        if not self.bounds:
            raise BenchmarkError(f"problem {self.name!r} needs at least one parameter")
        for parameter, (low, high) in self.bounds.items():
            if not -np.inf < low < high < np.inf:
                raise BenchmarkError(
                    f"`low < high` must hold for parameter {parameter!r} of problem {self.name!r}, "
                    f"both finite, but got ({low:g}, {high:g})"
                )
        if self.maximizer is not None and len(self.maximizer) != self.dim:
            raise BenchmarkError(
                f"the maximizer of problem {self.name!r} needs {self.dim} values, one for each parameter, "
                f"but got {len(self.maximizer)}"
            )

    @property
    def dim(self) -> int:
        """The number of parameters."""
        return len(self.bounds)

    def __call__(self, x: FloatArray) -> FloatArray:  # (..., d) -> (...) or (..., J)
        """The value at one point (d,) or at many (m, d); `float()` turns a single one into a number."""
        x = self._inputs(x)
        several = () if self.reference is None else (len(self.reference),)
        return np.asarray(self.function(x.reshape(-1, self.dim)), dtype=float).reshape((*x.shape[:-1], *several))

    def evaluate(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:  # (..., d) -> (..., d), (...)
        """The actual inputs if x is requested, and the value there."""
        x = self._inputs(x)
        if self.experiment is None:
            return x, self(x)
        actual, values = self.experiment(x.reshape(-1, self.dim))
        return np.asarray(actual, dtype=float).reshape(x.shape), np.asarray(values, dtype=float).reshape(x.shape[:-1])

    def _inputs(self, x: FloatArray) -> FloatArray:
        x = np.asarray(x, dtype=float)
        if x.ndim == 0 or x.shape[-1] != self.dim:
            raise BenchmarkError(
                f"problem {self.name!r} takes {self.dim} inputs in the last axis, but got the shape {x.shape}"
            )
        return x

    def measured(self, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        """True values with measurement noise."""
        return values + self.noise * rng.standard_normal(np.shape(values)) if self.noise else values

    def reached(self, values: FloatArray) -> float:
        """The largest true value, or the hypervolume of several outcomes.  (m,) or (m, J)"""
        if self.reference is None:
            return float(np.max(values))
        from bomi.benchmarks.outcomes import hypervolume

        return hypervolume(values, self.reference)

    def cells(self, x: FloatArray) -> dict[str, Known | None]:  # (d,)
        """Inputs as cells for an optimizer: NaN becomes None, a category its name."""
        return {
            name: None if np.isnan(value) else _cell(self.space, name, float(value))
            for name, value in zip(self.bounds, x, strict=True)
        }

    def inputs(self, setting: Mapping[str, Known]) -> FloatArray:  # (d,)
        """A setting as inputs."""
        return np.array([_number(self.space, name, setting[name]) for name in self.bounds], dtype=float)

    def admissible(self, x: FloatArray, free: NDArray[np.bool_] | None = None) -> FloatArray:  # (d,) -> (d,)
        """Inputs projected onto the space and its constraints; only those that are `free` move."""
        if self.space is None:
            return x
        place = self.space.snap(self.space.to_unit({n: c for n, c in self.cells(x).items() if c is not None}))
        right = self.space.project(place[None], None if free is None else free[None])[0]
        near = self.inputs(self.space.from_unit(right))
        return near if free is None else np.where(free, near, x)

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:  # (count, d)
        """Random inputs, uniform over the feasible space."""
        if self.space is None:
            low, high = corners(self.bounds)
            return rng.uniform(low, high, (count, self.dim))
        return np.array([self.inputs(self.space.from_unit(place)) for place in self.space.draw(count, rng)])


def _has_words(parameter: Parameter) -> TypeGuard[Categorical | Ordinal]:
    """Whether its values are words."""
    return isinstance(parameter, Categorical) or (isinstance(parameter, Ordinal) and not parameter.numeric)


def _cell(space: Space | None, name: str, value: float) -> Known:
    if space is None:
        return value
    parameter = space.parameters[name]
    if _has_words(parameter):
        return parameter.values[round(value)]
    if isinstance(parameter, Ordinal):
        return min(parameter.values, key=lambda level: abs(float(level) - value))
    return round(value) if isinstance(parameter, Integer) else value


def _number(space: Space | None, name: str, value: Known) -> float:
    if space is not None and _has_words(parameter := space.parameters[name]):
        return float(parameter.index(value))
    return float(value)


def mixed_problem(name: str, space: Space, function: Function, best: FloatArray) -> Problem:
    """A problem on a space of any kind. Inputs are numbers; a category or an ordered word is its index from 0."""
    bounds = {}
    for parameter_name, parameter in space.parameters.items():
        if _has_words(parameter):
            bounds[parameter_name] = (0.0, parameter.levels - 1.0)
        else:
            axis = parameter.axis(parameter_name)  # type: ignore[union-attr]
            bounds[parameter_name] = (axis.low, axis.high)
    return replace(_with_optimum(name, bounds, function, best), space=space)


def problem(name: str, *, dim: int | None = None) -> Problem:
    """The problem of this name, in its usual dimension unless `dim` or the name (`alpine3d`) gives another.

    >>> problem("Alpine-3d").name, problem("schubert").dim
    ('alpine3d', 4)
    """
    word, stated = _split(name)
    family = _FAMILIES.get(word)
    if family is None:
        close = difflib.get_close_matches(word, NAMES)
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        raise BenchmarkError(
            f"unknown problem {name!r}; {hint}Known: {', '.join(NAMES)}; "
            f"a dimension may follow the name, as in alpine3d"
        )
    if dim is not None and stated is not None and dim != stated:
        raise BenchmarkError(f"problem {name!r} has {stated} dimensions by its name, but got dim={dim}")
    size = next((size for size in (dim, stated) if size is not None), family.usual)
    if size not in family.defined:
        raise BenchmarkError(f"problem {word!r} is defined in {_listed(family.defined)} dimensions, but got {size}")
    return family.build(f"{word}{size}d", size)


def _split(name: str) -> tuple[str, int | None]:
    """Name and dimension of `Hartmann-6d`, `hartmann6`, `hartmann`: punctuation and case do not matter."""
    plain = re.sub(r"[\W_]+", "", name).lower()
    match = re.fullmatch(r"(\D+)(\d+)d?", plain)
    word, size = (match[1], int(match[2])) if match else (plain, None)
    return _SPELLINGS.get(word, word), size


def _listed(sizes: range | tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes[:3])) + (", ..." if len(sizes) > 3 else "")


def _cube(name: str, dim: int, side: tuple[float, float], function: Function, best: FloatArray) -> Problem:
    """A problem on side^d, whose optimum is its value at the known maximizer."""
    bounds = {f"x{i}": side for i in range(1, dim + 1)}
    return _with_optimum(name, bounds, function, best)


def _with_optimum(name: str, bounds: dict[str, tuple[float, float]], function: Function, best: FloatArray) -> Problem:
    optimum = float(function(best[None])[0]) + 0.0  # the sum turns -0 into 0
    return Problem(name, bounds, function, optimum, tuple(best.tolist()))


# --- the paper's four -------------------------------------------------------------------------------------


def _eggholder(name: str, dim: int) -> Problem:
    return _cube(name, dim, (-512.0, 512.0), eggholder, np.array([512.0, 404.2318051201336]))


def eggholder(x: FloatArray) -> FloatArray:  # (m, 2) -> (m,)
    """f(x) = (x2 + 47) sin sqrt|x2 + x1/2 + 47| + x1 sin sqrt|x1 - x2 - 47|; at most 959.6407."""
    x1, x2 = x[:, 0], x[:, 1] + 47
    value: FloatArray = x2 * np.sin(np.sqrt(np.abs(x2 + x1 / 2))) + x1 * np.sin(np.sqrt(np.abs(x1 - x2)))
    return value


def _schubert(name: str, dim: int) -> Problem:
    # One factor at its least, -12.8709, makes the product negative; the others at their greatest, 14.5080.
    best = np.array([-7.708313746019706] + [-7.083506403182753] * (dim - 1))
    return _cube(name, dim, (-10.0, 10.0), schubert, best)


def schubert(x: FloatArray) -> FloatArray:  # (m, d) -> (m,)
    """f(x) = -prod_j sum_{i=1..5} i cos((i+1) x_j + i); at most 12.8709 * 14.5080^(d-1).

    The literature (where it is called Shubert) minimizes the product.
    """
    i = np.arange(1, 6)
    factors = np.sum(i * np.cos((i + 1) * x[..., None] + i), axis=-1)  # (m, d)
    value: FloatArray = -np.prod(factors, axis=-1)
    return value


def _alpine(name: str, dim: int) -> Problem:
    return _cube(name, dim, (-10.0, 10.0), alpine, np.zeros(dim))


def alpine(x: FloatArray) -> FloatArray:  # (m, d) -> (m,)
    """f(x) = -sum_j |x_j sin x_j + 0.1 x_j|; at most 0."""
    value: FloatArray = -np.sum(np.abs(x * np.sin(x) + 0.1 * x), axis=-1)
    return value


def _schwefel(name: str, dim: int) -> Problem:
    return _cube(name, dim, (-500.0, 500.0), schwefel, np.full(dim, 420.96874634727817))


def schwefel(x: FloatArray) -> FloatArray:  # (m, d) -> (m,)
    """f(x) = sum_j x_j sin sqrt|x_j| - 418.98289 d; at most 0.

    The constant is the exact maximum of a summand. Rounded to 418.9829, as often printed, it would leave the
    maximum at -1.3e-5 d.
    """
    value: FloatArray = np.sum(x * np.sin(np.sqrt(np.abs(x))) - 418.9828872724337, axis=-1)
    return value


# --- BoTorch's --------------------------------------------------------------------------------------------


def _from_botorch(test_function: str, name: str, dim: int, *, sized: bool, sign: float) -> Problem:
    """A test function of BoTorch as a problem; torch is loaded only here."""
    from botorch import test_functions

    made = getattr(test_functions, test_function)(**({"dim": dim} if sized else {}))
    function = partial(evaluate, made, sign)
    find_start = _STARTS.get(test_function, _published)
    best = _polished(function, find_start(made, function), *made.bounds.numpy())
    return _with_optimum(name, box(made), function, best)


def box(test_function: Any) -> dict[str, tuple[float, float]]:
    """The bounds of a test function of BoTorch, by the names of its inputs."""
    low, high = test_function.bounds.tolist()
    return {f"x{i}": ends for i, ends in enumerate(zip(low, high, strict=True), 1)}


def evaluate(test_function: Any, sign: float, x: FloatArray) -> FloatArray:  # (m, d) -> (m,) or (m, J)
    """The values of a test function of BoTorch, times the sign."""
    import torch

    with torch.no_grad():
        values: FloatArray = test_function(torch.tensor(x, dtype=torch.float64)).numpy()
    return sign * values


def _published(test_function: Any, function: Function) -> FloatArray:  # (d,)
    best: FloatArray = test_function.optimizers[0].numpy().astype(float)
    return best


def _best_on_each_axis(test_function: Any, function: Function) -> FloatArray:  # (d,)
    """The maximizer, on a fine grid, of a sum with one term for each coordinate that is 0 at x_j = 0.

    Michalewicz's function is such a sum. BoTorch gives its maximizer in two dimensions only.
    """
    low, high = test_function.bounds.numpy()
    best = np.empty(low.size)
    for j in range(low.size):
        grid = np.linspace(low[j], high[j], 20_001)
        points = np.zeros((grid.size, low.size))
        points[:, j] = grid
        best[j] = grid[np.argmax(function(points))]
    return best


_STARTS: dict[str, Callable[[Any, Function], FloatArray]] = {"Michalewicz": _best_on_each_axis}


def _polished(function: Function, start: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The local maximum near `start`: published maximizers are rounded, and regret must not be negative."""
    from scipy.optimize import minimize

    def loss(x: FloatArray) -> float:
        return -float(function(x[None])[0])

    found = minimize(
        loss,
        start,
        method="L-BFGS-B",
        bounds=list(zip(low.tolist(), high.tolist(), strict=True)),
        tol=1e-15,
    )
    # If the published maximizer is exact (often it is a kink), the search does not improve it.
    best: FloatArray = found.x if found.fun < loss(start) else start
    return best


# --- the table --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Family:
    """One formula: how to build a problem from its name and dimension, and which dimensions it has."""

    build: Callable[[str, int], Problem]
    usual: int
    defined: range | tuple[int, ...] = range(1, sys.maxsize)


def _fixed(test_function: str, dim: int, *, sign: float = -1.0) -> _Family:
    """A test function of BoTorch with a fixed dimension."""
    return _Family(partial(_from_botorch, test_function, sized=False, sign=sign), dim, (dim,))


def _sized(test_function: str, usual: int, defined: range | tuple[int, ...] = range(1, sys.maxsize)) -> _Family:
    """A test function of BoTorch with any dimension."""
    return _Family(partial(_from_botorch, test_function, sized=True, sign=-1.0), usual, defined)


_FAMILIES = {
    "eggholder": _Family(_eggholder, 2, (2,)),
    "schubert": _Family(_schubert, 4),
    "alpine": _Family(_alpine, 5),
    "schwefel": _Family(_schwefel, 5),
    "ackley": _sized("Ackley", 5),
    "beale": _fixed("Beale", 2),
    "branin": _fixed("Branin", 2),
    "bukin": _fixed("Bukin", 2),
    "cosine": _fixed("Cosine8", 8, sign=1.0),  # the literature maximizes it too
    "dixonprice": _sized("DixonPrice", 5, range(2, sys.maxsize)),
    "dropwave": _fixed("DropWave", 2),
    "griewank": _sized("Griewank", 5),
    "hartmann": _sized("Hartmann", 6, (3, 6)),
    "holdertable": _fixed("HolderTable", 2),
    "levy": _sized("Levy", 5),
    "michalewicz": _sized("Michalewicz", 5),
    "powell": _sized("Powell", 4, range(4, sys.maxsize, 4)),
    "rastrigin": _sized("Rastrigin", 5),
    "rosenbrock": _sized("Rosenbrock", 5, range(2, sys.maxsize)),
    "shekel": _fixed("Shekel", 4),
    "sixhumpcamel": _fixed("SixHumpCamel", 2),
    "styblinskitang": _sized("StyblinskiTang", 5),
    "threehumpcamel": _fixed("ThreeHumpCamel", 2),
}

_SPELLINGS = {"shubert": "schubert"}

NAMES = tuple(_FAMILIES)
"""The names that `problem` knows."""
