"""The contenders of a comparison: every method, and two yardsticks.

    oracle   is told every true input, as if nothing were missing
    naive    is told that everything went as requested; gaps of the history are filled with the column's mean

Both use `posterior`'s surrogate, so the difference between them is the cost of the gaps alone. One other program takes
part: `tpe`, Optuna's, which is told the same as naive. Settings may follow a method's name: `bomi:worlds=10,rank=5`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bomi.benchmarks.functions import FloatArray, Problem
from bomi.benchmarks.missingness import Initial
from bomi.errors import MethodError
from bomi.methods import METHODS, Method, method
from bomi.names import DEFAULT
from bomi.optimizer import Optimizer
from bomi.space import Categorical


class View(NamedTuple):
    """Which part of the truth an optimizer is told; NaN for unknown."""

    history: Callable[[Initial, Problem], FloatArray]  # -> (n, d)
    evaluation: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # asked, actual, recorded -> (d,)


def _recorded(initial: Initial, problem: Problem) -> FloatArray:  # (n, d)
    return initial.recorded


def _true(initial: Initial, problem: Problem) -> FloatArray:  # (n, d)
    return initial.inputs


def _column_means(initial: Initial, problem: Problem) -> FloatArray:  # (n, d)
    """Gaps filled with the column's mean, rounded to possible values; for words, with the commonest one."""
    known = ~np.isnan(initial.recorded)
    # A column without any value keeps its gaps: it has no mean.
    total = np.where(known, initial.recorded, 0.0).sum(0)
    means = np.divide(total, known.sum(0), out=np.full(total.shape, np.nan), where=known.any(0))
    if problem.space is not None:
        for j, parameter in enumerate(problem.space.parameters.values()):
            column = initial.recorded[known[:, j], j]
            if len(column) and isinstance(parameter, Categorical):
                means[j] = np.bincount(column.astype(int)).argmax()
            elif len(column) and parameter.levels is not None:
                means[j] = problem.inputs(problem.space.from_unit(problem.space.snap(_place(problem, means))))[j]
    return np.where(known, initial.recorded, means)


def _place(problem: Problem, x: FloatArray) -> FloatArray:  # (d,)
    """Inputs in the unit cube, the middle of the range where nothing is known."""
    assert problem.space is not None
    middle = problem.space.from_unit(np.full(problem.space.dim, 0.5))
    known = {name: cell for name, cell in problem.cells(x).items() if cell is not None}
    return problem.space.to_unit({**middle, **known})


def _as_recorded(asked: FloatArray, actual: FloatArray, recorded: FloatArray) -> FloatArray:  # (d,)
    return recorded


def _as_it_was(asked: FloatArray, actual: FloatArray, recorded: FloatArray) -> FloatArray:  # (d,)
    return actual


def _as_asked(asked: FloatArray, actual: FloatArray, recorded: FloatArray) -> FloatArray:  # (d,)
    return asked


RECORDED = View(_recorded, _as_recorded)
_YARDSTICKS = {"oracle": View(_true, _as_it_was), "naive": View(_column_means, _as_asked)}
YARDSTICKS = tuple(_YARDSTICKS)
"""The contenders that are not methods."""
PROGRAMS = ("tpe",)
"""Other programs."""


@dataclass(frozen=True)
class Contender:
    """A method or another program, its name in tables, and what it is told."""

    label: str
    method: Method | str
    view: View = RECORDED

    def optimizer(self, problem: Problem, outcomes: Sequence[str], seed: int) -> Optimizer:
        """The optimizer of a run; every outcome is maximized."""
        space: Any = problem.space or problem.bounds
        if isinstance(self.method, Method):
            objective = dict.fromkeys(outcomes, "maximize")
            return Optimizer(space, objective=objective, method=self.method, seed=seed)
        from bomi.benchmarks.tpe import TreeParzen  # Optuna may not be installed

        return TreeParzen(space, seed, len(outcomes))  # type: ignore[return-value]  # it has only what a run uses


def contender(spec: str | Method | Contender) -> Contender:
    """The contender that a text such as `bomi`, `bomi:worlds=10` or `oracle` names.

    >>> contender("bomi: worlds=10").label
    'bomi:worlds=10'
    """
    if isinstance(spec, Contender):
        return spec
    if isinstance(spec, Method):
        return Contender(spec.name, spec)
    name, _, text = (part.strip() for part in spec.partition(":"))
    settings = _settings(text, spec)
    label = name + (":" + ",".join(f"{key}={value}" for key, value in settings.items()) if settings else "")
    if name in PROGRAMS:
        if settings:
            raise MethodError(f"{name!r} takes no settings, but got {spec!r}")
        return Contender(label, name, _YARDSTICKS["naive"])
    if name in _YARDSTICKS:
        return Contender(label, method(DEFAULT, **settings), _YARDSTICKS[name])
    try:
        return Contender(label, method(name, **settings))
    except MethodError as error:
        beside = "" if name in METHODS else f"; also {', '.join((*YARDSTICKS, *PROGRAMS))}"
        raise MethodError(f"{error}{beside}") from None


def split(text: str) -> list[str]:
    """Split a list such as `bomi,posterior:worlds=10,sweeps=5,mean`: a setting belongs to the name before it.

    >>> split("bomi, posterior:worlds=10,sweeps=5, mean")
    ['bomi', 'posterior:worlds=10,sweeps=5', 'mean']
    """
    found: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        if found and re.match(r"\w+\s*=", part):
            found[-1] += ("," if ":" in found[-1] else ":") + part
        elif part:
            found.append(part)
    return found


def contenders(specs: Iterable[str | Method | Contender]) -> list[Contender]:
    """The contenders that the texts name, without duplicates."""
    found = {made.label: made for made in map(contender, specs)}
    return list(found.values())


def _settings(text: str, spec: str) -> dict[str, Any]:
    settings = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise MethodError(f"a setting is written name=value, but got {part!r} in {spec!r}")
        try:
            settings[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            settings[key] = value  # a word
    return settings
