"""One optimization run, and sweeps over case x contender x repeat: on all cores, and resumable.

Everything in a run depends on its seed: the initial data, its gaps, the events and the method's own draws. The first
three are the same for all methods.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from bomi.benchmarks import missingness, results
from bomi.benchmarks.contenders import Contender, contender, contenders
from bomi.benchmarks.functions import FloatArray, Problem
from bomi.benchmarks.missingness import Events, HistoryGaps, Initial
from bomi.benchmarks.problems import find_problem
from bomi.benchmarks.results import Key, Results, Run, described
from bomi.errors import BenchmarkError
from bomi.methods import Method
from bomi.optimizer import Optimizer
from bomi.results import Front

PAPER_EVENTS = Events(0.25, 0.05)
"""In one of four evaluations one parameter has an execution error of up to 5 % of its range (Luong et al. 2020)."""

Clock: TypeAlias = Callable[[], float]


# --- one run ----------------------------------------------------------------------------------------------------------


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
    kept: list[
        float
    ]  # the same without the evaluations in which a parameter failed, as a method that drops them has it
    outcomes: list[Any]  # of each evaluation, as measured
    events: int  # evaluations in which a parameter failed
    recommended: list[tuple[int, float | None]]  # (evaluations made, true value of the setting recommended then)
    history_gaps: GapScore | None  # at the end; None if pandas is not installed
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
    _check_whole("budget", budget, least=1)
    _check_whole("seed", seed, least=0)
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
    except ImportError:  # it is a pandas table
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


def _check_whole(name: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise BenchmarkError(f"{name} must be a whole number from {least}, but got {value!r}")


# --- many runs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem with its budget and the way in which its inputs go missing; one panel of a figure.

    `initial` is a folder of initial data (see `missingness.read_initial`); None means `rows` seeded rows with `gaps`.
    """

    problem: str
    budget: int
    missing: Events | None = PAPER_EVENTS
    rows: int = 30
    gaps: HistoryGaps = HistoryGaps()  # noqa: RUF009  # frozen, so one instance serves all
    same_inputs: bool = False  # whether all repeats have the inputs of the first, and only other gaps
    initial: Path | None = None
    label: str = ""

    def __post_init__(self) -> None:
        _check_whole("budget", self.budget, least=1)
        if not self.label:
            object.__setattr__(self, "label", find_problem(self.problem).name)

    def data(self, problem: Problem, repeat: int) -> Initial:
        """The initial data of a repeat."""
        if self.initial is not None:
            return missingness.read_initial(self.initial, problem, repeat)
        inputs_seed = 0 if self.same_inputs else None
        return missingness.initial(problem, rows=self.rows, gaps=self.gaps, seed=repeat, inputs_seed=inputs_seed)

    def settings(self) -> dict[str, Any]:
        """The settings that determine the results; data from a folder are identified by content, not by path."""
        problem = find_problem(self.problem)
        if self.initial is None:
            initial = {"rows": self.rows, "gaps": described(self.gaps)}
            if self.same_inputs:
                initial["same_inputs"] = True
        else:
            initial = {"read": results.digest(*self.data(problem, 0))}
        return {
            "problem": problem.name,
            "bounds": {name: list(ends) for name, ends in problem.bounds.items()},
            **({} if problem.space is None else {"space": repr(problem.space)}),
            "optimum": problem.optimum,
            "budget": self.budget,
            "missing": described(self.missing),
            "initial": initial,
        }


class Engine(Protocol):
    """Maps jobs over workers and yields each run as it is finished, in any order."""

    def __call__(self, work: Callable[[Job], Run], jobs: Sequence[Job]) -> Iterator[Run]:
        """The finished runs."""


@dataclass(frozen=True)
class Job:
    """One run to make; small enough to send to another process."""

    case: Case
    contender: str | Contender
    repeat: int
    recommend_every: int | None = None

    @property
    def key(self) -> Key:
        """Case, method and repeat, which identify the run."""
        return self.case.label, contender(self.contender).label, self.repeat


def local(processes: int) -> Engine:
    """The processes of this machine."""

    def engine(work: Callable[[Job], Run], jobs: Sequence[Job]) -> Iterator[Run]:
        if processes == 1 or len(jobs) == 1:
            return map(work, jobs)
        import joblib

        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            pool = joblib.Parallel(n_jobs=processes, return_as="generator_unordered", batch_size=1)
            made: Iterator[Run] = pool(joblib.delayed(work)(job) for job in jobs)
        return made

    return engine


def sweep(
    cases: Iterable[Case],
    methods: Iterable[str | Method | Contender],
    *,
    repeats: int | Iterable[int],
    path: Path | str,
    processes: int = 1,
    engine: Engine | None = None,
    recommend_every: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Results:
    """Run every case with every method, `repeats` times (or those repeats); append each finished run to `path`.

    Runs that are in the file are not made again. So a stopped sweep continues where it was, and more repeats, methods
    or cases can be added. A file of another version, or of other settings under the same names, is refused.
    `progress(done, total)` is called at the start and after each run.
    """
    cases, chosen = list(cases), contenders(methods)
    if isinstance(repeats, int):
        _check_whole("repeats", repeats, least=1)
        repeats = range(repeats)
    repeats = list(repeats)
    # Repeat by repeat: a sweep that is stopped has whole ones.
    wanted = [(case, one, repeat) for repeat in repeats for case in cases for one in chosen]
    for case in cases:
        if case.initial is not None:  # raises an error now rather than in the middle of the sweep
            problem = find_problem(case.problem)
            for repeat in repeats:
                case.data(problem, repeat)
    labels = [case.label for case in cases]
    doubled = sorted({label for label in labels if labels.count(label) > 1})
    if doubled:
        raise BenchmarkError(f"each case needs a label of its own, but {', '.join(doubled)} is used twice")

    file = results.open_file(
        Path(path),
        cases={case.label: case.settings() for case in cases},
        methods={one.label: described(one) for one in chosen},
    )
    jobs = [Job(case, one, repeat, recommend_every) for case, one, repeat in wanted]
    waiting = [job for job in jobs if job.key not in file.keys]
    done = len(jobs) - len(waiting)
    progress(done, len(jobs))
    for made in (engine or local(processes))(_work, waiting) if waiting else ():
        file.append(made)
        done += 1
        progress(done, len(jobs))
    return file.settle()


def _work(job: Job) -> Run:
    """Make one run, single-threaded so that its numbers do not depend on how many cores are free."""
    problem = find_problem(job.case.problem)
    with _one_thread():
        result = run(
            problem,
            job.contender,
            budget=job.case.budget,
            seed=job.repeat,
            missing=job.case.missing,
            initial=job.case.data(problem, job.repeat),
            recommend_every=job.recommend_every,
        )
    found = asdict(result)
    for known in ("problem", "method", "seed", "budget", "settings", "versions"):  # they are in the header and the key
        del found[known]
    case, label, repeat = job.key
    return {"case": case, "method": label, "repeat": repeat, **found}


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    try:
        with threadpool_limits(1):
            torch.set_num_threads(1)
            yield
    finally:
        torch.set_num_threads(before)
