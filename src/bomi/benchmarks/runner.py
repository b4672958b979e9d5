"""One optimization run.

Everything in a run depends on its seed: the initial data, its gaps, the events and the method's own draws. The first
three are the same for all methods.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bomi.benchmarks import missingness, results
from bomi.benchmarks.contenders import Contender, contender
from bomi.benchmarks.functions import FloatArray, Problem
from bomi.benchmarks.missingness import Events, Initial
from bomi.benchmarks.problems import find_problem
from bomi.benchmarks.results import described
from bomi.errors import BenchmarkError
from bomi.methods import Method
from bomi.optimizer import Optimizer
from bomi.results import Front

PAPER_EVENTS = Events(0.25, 0.05)
"""In one of four evaluations one parameter has an execution error of up to 5 % of its range (Luong et al. 2020)."""


@dataclass(frozen=True)
class GapScore:
    """How well gaps were filled: `count` of them, `filled` by the method.

    `error` is the root mean square of (mean of the worlds - truth) / range. `coverage` is the share of true values
    between the worlds' 5 % and 95 % quantiles. Both are None if the method gives none.
    """

    count: int
    filled: int
    error: float | None = None
    coverage: float | None = None


@dataclass(frozen=True)
class Result:
    """The result of one run; only plain numbers, lists and dicts, so that `asdict` is JSON."""

    problem: str
    method: str
    seed: int
    budget: int
    best: list[float]  # the best true outcome, or the hypervolume, at the start and after each evaluation
    kept: list[float]  # the same without the evaluations in which a parameter failed, for a method that drops them
    outcomes: list[Any]  # of each evaluation, as measured
    events: int  # evaluations in which a parameter failed
    recommended: list[tuple[int, float | None]]  # (evaluations made, true value of the setting recommended then)
    history_gaps: GapScore | None  # at the end; None for another program, and if pandas is not installed
    event_gaps: GapScore | None
    seconds: list[float]  # of each suggestion
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


def run(
    problem: Problem | str,
    method: str | Method | Contender,
    *,
    budget: int,
    seed: int,
    missing: Events | None = PAPER_EVENTS,
    initial: Initial | None = None,
    recommend_every: int | None = None,
) -> Result:
    """One optimization run of `budget` evaluations.

    `method` is a method, its name, a name with settings (`bomi:worlds=10`), or a yardstick (`oracle`, `naive`).
    `missing` says how evaluations go wrong; None means that they never do. `initial` is the initial data; None means 30
    seeded rows, 80 % of them with a gap. The recommended setting is evaluated after the last evaluation, and every
    `recommend_every` evaluations before.
    """
    problem = find_problem(problem) if isinstance(problem, str) else problem
    chosen = contender(method)
    check_whole("budget", budget, least=1)
    check_whole("seed", seed, least=0)
    data = missingness.initial(problem, seed=seed) if initial is None else _checked(initial, problem)

    told_as = _objectives(problem)
    optimizer = chosen.optimizer(problem, told_as, seed)
    told = list(chosen.view.history(data, problem))  # what the optimizer knows of each row, NaN for a gap
    truth = list(data.inputs)
    outcomes = data.outcomes.tolist()
    for row, outcome in zip(told, outcomes, strict=True):
        optimizer.tell(problem.cells(row), _named(told_as, outcome))

    values = list(problem(data.inputs)) if problem.noise else list(data.outcomes)  # the true ones
    whole = list(values)  # of the evaluations in which nothing failed
    best, seconds, recommended, events = [problem.reached(np.array(values))], [], [], 0
    kept = list(best)
    for t in range(1, budget + 1):
        start = time.perf_counter()
        suggestion = optimizer.ask()
        seconds.append(time.perf_counter() - start)
        asked = problem.inputs(suggestion)
        tried, failed = asked, np.zeros(problem.dim, dtype=bool)
        if missing is not None:
            event = missing.draw(seed, t, problem.dim)
            tried, failed = missingness.stray(event, asked, problem)[0], event.failed
            events += bool(failed.any())
        actual, value = problem.evaluate(tried)
        values.append(value)
        if not failed.any():
            whole.append(value)
        outcome = problem.measured(value, missingness.measuring(seed, t)).tolist()
        recorded = np.where(failed, np.nan, actual)
        known = chosen.view.evaluation(asked, actual, recorded)
        differs = {name: cell for name, cell in problem.cells(known).items() if cell != suggestion[name]}
        optimizer.tell(suggestion, _named(told_as, outcome), actual=differs)
        told.append(known)
        truth.append(actual)
        outcomes.append(outcome)
        best.append(problem.reached(np.array(values)))
        kept.append(problem.reached(np.array(whole)))
        if t == budget or (recommend_every and t % recommend_every == 0):
            recommended.append((t, _recommended(optimizer, problem, told, outcomes)))

    history_gaps, event_gaps = _gap_scores(optimizer, problem, np.array(truth), len(data.outcomes))
    return Result(
        problem=problem.name,
        method=chosen.label,
        seed=seed,
        budget=budget,
        best=best,
        kept=kept,
        outcomes=outcomes[len(data.outcomes) :],
        events=events,
        recommended=recommended,
        history_gaps=history_gaps,
        event_gaps=event_gaps,
        seconds=seconds,
        settings={"method": described(chosen.method), "missing": described(missing)},
        versions=results.versions(),
    )


def _objectives(problem: Problem) -> list[str]:
    """Names of the outcomes that differ from those of the parameters."""
    name = "outcome"
    while any(parameter.startswith(name) for parameter in problem.bounds):
        name += "_"
    return [name] if problem.reference is None else [f"{name}{j}" for j in range(1, len(problem.reference) + 1)]


def _named(names: Sequence[str], outcome: Any) -> Any:
    """An outcome as `tell` takes it: a number, or several by name."""
    return outcome if len(names) == 1 else dict(zip(names, outcome, strict=True))


def _recommended(
    optimizer: Optimizer, problem: Problem, told: Sequence[FloatArray], outcomes: Sequence[Any]
) -> float | None:
    """The true value of the recommended setting; for several outcomes, the hypervolume of the recommended front.

    A method without a model recommends the complete row with the best outcome; None if there is no complete row.
    """
    best = optimizer.best()
    choices = best.choices if isinstance(best, Front) else (best,)
    settings = [choice.setting for choice in choices if choice.setting is not None]
    if settings:
        return problem.reached(problem(np.array([problem.inputs(setting) for setting in settings])))
    complete = [i for i in range(len(outcomes)) if not np.isnan(told[i]).any()]
    if problem.reference is None:
        complete = sorted(complete, key=lambda i: (outcomes[i], i))[-1:]
    return problem.reached(problem(np.array([told[i] for i in complete]))) if complete else None


def _gap_scores(
    optimizer: Optimizer, problem: Problem, truth: FloatArray, history: int
) -> tuple[GapScore, GapScore] | tuple[None, None]:
    """How well the gaps of the history and those of the events are filled.  truth: (n, d)"""
    if not isinstance(optimizer, Optimizer):
        return None, None  # another program
    try:
        gaps = optimizer.gaps()
    except ImportError:  # a machine may have the numerical libraries alone, and this is a table of pandas
        return None, None
    names = list(problem.bounds)
    rows = gaps["row"].to_numpy(dtype=int)
    columns = np.array([names.index(name) for name in gaps["parameter"]], dtype=int)
    mean, sd, low, high = (gaps[name].to_numpy(dtype=float) for name in ("mean", "sd", "5 %", "95 %"))
    values = truth[rows, columns]
    spans = np.array([high - low for low, high in problem.bounds.values()])[columns]
    errors = (mean - values) / spans
    inside = (low <= values) & (values <= high)

    def score(chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> GapScore:
        filled = chosen & ~np.isnan(errors)
        spread = filled & (sd > 0)  # a single world has no quantiles
        return GapScore(
            count=int(chosen.sum()),
            filled=int(filled.sum()),
            error=float(np.sqrt(np.mean(errors[filled] ** 2))) if filled.any() else None,
            coverage=float(inside[spread].mean()) if spread.any() else None,
        )

    return score(rows < history), score(rows >= history)


def _checked(initial: Initial, problem: Problem) -> Initial:
    inputs, recorded, outcomes = (np.asarray(array, dtype=float) for array in initial)
    several = () if problem.reference is None else (len(problem.reference),)
    fits = inputs.shape == recorded.shape == (len(outcomes), problem.dim) and outcomes.shape[1:] == several
    if not fits or not len(outcomes):
        raise BenchmarkError(
            f"initial data of problem {problem.name!r} needs inputs and recorded inputs of {problem.dim} columns and "
            f"one outcome a row, but got the shapes {inputs.shape}, {recorded.shape} and {outcomes.shape}"
        )
    return Initial(inputs, recorded, outcomes)


def check_whole(name: str, value: object, *, least: int) -> None:
    """BenchmarkError, unless a number is whole and large enough."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise BenchmarkError(f"{name} must be a whole number from {least}, but got {value!r}")
