"""The experiments of Luong et al. 2020 ("Bayesian Optimization with Missing Inputs"), ready to be run.

performance   four functions, the paper's budgets: every method against the number of evaluations
stability     Schwefel's function in five dimensions with varied rho, eta and v (frequency, size and number of events)
heat          the heat treatment of an aluminium alloy, on this package's own simulator
robot         a robot that looks for copper, on this package's own scene

They follow the paper's text. The program that its authors published differs from it; `DIFFERENCES` names where, and
`performance` can be run with any of them: each is a setting of the methods or of how inputs go missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bomi.benchmarks.contenders import YARDSTICKS, Contender, contenders
from bomi.benchmarks.heat_treatment import TEMPERATURE_BOUNDS, TIME_BOUNDS
from bomi.benchmarks.missingness import Events, HistoryGaps
from bomi.benchmarks.sweeps import Case
from bomi.errors import BenchmarkError
from bomi.methods import METHODS, Method, method
from bomi.space.cells import Interval

PAPER_METHODS = ("bomi", "drop", "suggest", "mean", "mode", "knn", "bpmf", "ugp")
"""The eight methods that the paper compares."""

DIFFERENCES: dict[str, dict[str, dict[str, Any]]] = {
    "fit": {one: {"fit": "adam"} for one in PAPER_METHODS},
    "variance": {one: {"spread": "variance"} for one in PAPER_METHODS},
    "schedule": {one: {"correction": 0, "union": 1.0} for one in PAPER_METHODS},
    "points": {one: {"sampling": "uniform"} for one in PAPER_METHODS},
    "scatter": {one: {"scatter": "raw"} for one in ("bomi", "bpmf")},
    "draws": {"bomi": {"draws": "product"}, "bpmf": {"draws": "average"}},
    "fillers": {
        "mean": {"marker": -1.0},
        "mode": {"of": "values"},
        "knn": {"neighbors": 3, "near": "table"},
        "ugp": {"blanks": "drop", "over": "density"},
    },
    "events": {},
    "initial": {},
}
"""Where the authors' program differs from the paper's text: by name, the settings of each method that it changes.

fit        50 steps of Adam from a length scale of 0.69, instead of the largest likelihood
variance   UCB adds the variance instead of the standard deviation
schedule   beta_t without a factor 2, and the worlds' standard deviation with Q instead of Q - 1
points     UCB is maximized over 10,000 uniform random points instead of space-filling ones
scatter    the factorization takes the number of rows for that of the columns, and scatter about 0
draws      BOMI's tables go on from one chain and have no noise in a cell; BPMF's is an average in place of all cells
fillers    a gap is -1 in `mean`, `mode` takes the smallest value, `knn` 3 neighbours by inputs and outcome, `ugp`
           learns from the log density of the rows
events     each parameter in turn fails with probability rho, until one has; on Alpine until four have, by exactly eta
initial    all but 5 initial rows have a gap, 50 rows for Schubert, the same inputs in all repeats
"""

REPEATS = 10
QUICK_BUDGET, QUICK_REPEATS = 30, 3


@dataclass(frozen=True)
class Experiment:
    """Cases × methods × repeats, with a title."""

    name: str
    title: str
    cases: tuple[Case, ...]
    methods: tuple[str | Contender, ...]
    repeats: int


def experiment(
    name: str,
    *,
    initial: Path | None = None,
    quick: bool = False,
    methods: Sequence[str] | None = None,
    cases: Sequence[str] | None = None,
    brenda: Path | None = None,
    differences: Sequence[str] = (),
) -> Experiment:
    """The experiment of this name.

    `initial` is a folder of initial data that replaces our own seeded rows. `quick` gives a small version.
    `methods` replaces the methods, and `cases` are those to run, by label. `brenda` is a file of copper samples for
    the robot. `differences` are those of the authors' program to be turned on; all of `DIFFERENCES` make `performance`
    as published.
    """
    if name not in _CASES:
        raise BenchmarkError(f"unknown experiment {name!r}; the known ones are {', '.join(NAMES)}")
    for one in differences:
        if one not in DIFFERENCES:
            raise BenchmarkError(f"unknown difference {one!r}; the known ones are {', '.join(DIFFERENCES)}")
    if differences and name != "performance":
        raise BenchmarkError(f"the authors' program runs the experiment 'performance' only, but got {name!r}")
    title, of = _CASES[name]
    chosen = [replace(case, problem=with_copper(case.problem, brenda)) for case in of(initial)]
    if quick:
        chosen = [replace(case, budget=min(case.budget, QUICK_BUDGET)) for case in _thinned(chosen)]
    if cases is not None:
        known = {case.label: case for case in chosen}
        if unknown := [label for label in cases if label not in known]:
            raise BenchmarkError(
                f"experiment {name!r} has no case {', '.join(map(repr, unknown))}; it has {', '.join(known)}"
            )
        chosen = [known[label] for label in cases]
    if differences:
        chosen = [_as_published(case, differences) for case in chosen]
        title += " as published" if set(differences) == set(DIFFERENCES) else f" with {', '.join(differences)}"
    named = contenders(methods or all_methods())
    labels = tuple(_changed(one, differences) if differences else one.label for one in named)
    return Experiment(name, title, tuple(chosen), labels, QUICK_REPEATS if quick else REPEATS)


def _changed(one: Contender, differences: Sequence[str]) -> Contender:
    """A contender with the differences in its method; its label stays."""
    if not isinstance(one.method, Method) or one.label in YARDSTICKS:
        return one
    settings = {k: v for name in differences for k, v in DIFFERENCES[name].get(one.method.name, {}).items()}
    return replace(one, method=method(one.method, **settings))


def _as_published(case: Case, differences: Sequence[str]) -> Case:
    """A case with the differences in how its inputs go missing."""
    alpine = case.problem == "alpine"
    if "events" in differences:
        offset = "sign" if alpine else "uniform"
        events = Events(0.25, 0.05, most=4 if alpine else 1, kind="per-coordinate", offset=offset)
        case = replace(case, missing=events)
    if "initial" in differences and case.initial is None:
        rows = 50 if case.problem == "schubert" else 30
        case = replace(case, rows=rows, gaps=HistoryGaps(share=1 - 5 / rows), same_inputs=True)
    return case


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
