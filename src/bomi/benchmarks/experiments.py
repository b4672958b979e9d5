"""The experiments of Luong et al. 2020 ("Bayesian Optimization with Missing Inputs"), ready to be run.

performance   four functions, the paper's budgets: every method against the number of evaluations
stability     Schwefel's function in five dimensions with varied rho, eta and v (frequency, size and number of events)
heat          the heat treatment of an aluminium alloy, on this package's own simulator
robot         a robot that looks for copper, on this package's own scene
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bomi.benchmarks.contenders import YARDSTICKS, contenders
from bomi.benchmarks.heat_treatment import TEMPERATURE_BOUNDS, TIME_BOUNDS
from bomi.benchmarks.missingness import Events, HistoryGaps
from bomi.benchmarks.runner import Case
from bomi.errors import BenchmarkError
from bomi.methods import METHODS
from bomi.space.cells import Interval

PAPER_METHODS = ("bomi", "drop", "suggest", "mean", "mode", "knn", "bpmf", "ugp")
"""The eight methods that the paper compares."""

REPEATS = 10
QUICK_BUDGET, QUICK_REPEATS = 30, 3


@dataclass(frozen=True)
class Experiment:
    """Cases × methods × repeats, with a title."""

    name: str
    title: str
    cases: tuple[Case, ...]
    methods: tuple[str, ...]
    repeats: int


def experiment(
    name: str,
    *,
    initial: Path | None = None,
    quick: bool = False,
    methods: Sequence[str] | None = None,
    brenda: Path | None = None,
) -> Experiment:
    """The experiment of this name.

    `initial` is a folder of initial data that replaces our own seeded rows. `quick` gives a small version.
    `methods` replaces the methods. `brenda` is a file of copper samples for the robot.
    """
    if name not in _CASES:
        raise BenchmarkError(f"unknown experiment {name!r}; the known ones are {', '.join(NAMES)}")
    title, cases = _CASES[name]
    chosen = [replace(case, problem=with_copper(case.problem, brenda)) for case in cases(initial)]
    if quick:
        chosen = [replace(case, budget=min(case.budget, QUICK_BUDGET)) for case in _thinned(chosen)]
    labels = tuple(one.label for one in contenders(methods or all_methods()))
    return Experiment(name, title, tuple(chosen), labels, QUICK_REPEATS if quick else REPEATS)


def all_methods() -> tuple[str, ...]:
    """The paper's eight, then what this package adds, then the yardsticks."""
    added = [name for name in METHODS if name not in PAPER_METHODS]
    return (*PAPER_METHODS, *added, *YARDSTICKS)


def _performance(initial: Path | None) -> list[Case]:
    budgets = {"eggholder": 60, "schubert": 120, "alpine": 160, "schwefel": 160}
    return [Case(problem=name, budget=budget, initial=initial) for name, budget in budgets.items()]


def _stability(initial: Path | None) -> list[Case]:
    varied = {f"rho={rho}": Events(rho, 0.05) for rho in (0.25, 0.35, 0.45, 0.55, 0.65)}
    varied |= {f"eta={tenths / 10}": Events(0.25, tenths / 10) for tenths in range(1, 10)}
    varied |= {f"v={most}": Events(0.5, 0.05, most=most) for most in range(1, 5)}
    return [
        Case(label=label, problem="schwefel", budget=160, missing=events, initial=initial)
        for label, events in varied.items()
    ]


def _heat(initial: Path | None) -> list[Case]:
    temperatures, times = len(TEMPERATURE_BOUNDS), len(TIME_BOUNDS)
    events = Events(
        rho=[0.35] * temperatures + [0.25] * times,
        eta=[0.8] * temperatures + [Interval(0.7, 0.9)] * times,
    )
    return [Case(problem="heat", budget=100, missing=events, gaps=HistoryGaps(share=0.8), initial=initial)]


def _robot(initial: Path | None) -> list[Case]:
    # One of X and Y is lost in half of the runs; the execution errors come from the simulation itself.
    events = Events(rho=[0.5, 0.5, 0.0, 0.0], eta=0.0)
    return [Case(problem="robot", label="robot", budget=100, missing=events, initial=initial)]


def with_copper(problem: str, file: Path | None) -> str:
    """The problem's name; for the robot, with its file of copper samples."""
    return f"{problem}@{file}" if file is not None and problem == "robot" else problem


def _thinned(cases: list[Case]) -> list[Case]:
    """The first and the last case of each varied setting, and every case that stands alone."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.label.partition("=")[0], []).append(case)
    return [case for group in groups.values() for case in dict.fromkeys((group[0], group[-1]))]


_CASES: dict[str, tuple[str, Callable[[Path | None], list[Case]]]] = {
    "performance": ("Performance on four functions", _performance),
    "stability": ("Stability on Schwefel's function in five dimensions", _stability),
    "heat": ("Heat treatment of an aluminium-scandium alloy", _heat),
    "robot": ("A robot that looks for copper", _robot),
}
NAMES = tuple(_CASES)
"""The experiments that `experiment` knows."""
