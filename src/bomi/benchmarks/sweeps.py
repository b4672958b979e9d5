"""Sweeps over case x contender x repeat: on all cores, and resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from bomi.benchmarks import missingness, results
from bomi.benchmarks.contenders import Contender, contender, contenders
from bomi.benchmarks.functions import Problem
from bomi.benchmarks.missingness import Events, HistoryGaps, Initial
from bomi.benchmarks.problems import find_problem
from bomi.benchmarks.results import Key, Results, Run, described
from bomi.benchmarks.runner import PAPER_EVENTS, check_whole, run
from bomi.errors import BenchmarkError
from bomi.methods import Method
from bomi.threads import single_threaded


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
        check_whole("budget", self.budget, least=1)
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
        check_whole("repeats", repeats, least=1)
        repeats = range(repeats)
    repeats = list(repeats)
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
    # Repeat by repeat: a sweep that is stopped has whole ones.
    jobs = [Job(case, one, repeat, recommend_every) for repeat in repeats for case in cases for one in chosen]
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
    with single_threaded():
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
