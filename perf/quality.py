"""Compare methods on benchmark problems, and print a table: `PYTHONPATH=src python perf/quality.py --help`.

Settings of the missing inputs:

    authors   the data in the folder --initial, and the mechanism of the program published with the paper: each
              parameter in turn fails with probability 0.25 until one has failed, with an execution error of up to 5 %
              of its range (alpine: up to four fail, each by exactly 5 %)
    mild      our own seeded data; in one evaluation of four, one parameter has an execution error of up to 5 %
    hard      our own seeded data with up to three gaps a row; in every second evaluation, up to three parameters have
              an execution error of up to 30 %

It needs only NumPy, SciPy, torch, GPyTorch, BoTorch and scikit-learn.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from bomi.benchmarks import scores
from bomi.benchmarks.contenders import split
from bomi.benchmarks.missingness import Events, HistoryGaps
from bomi.benchmarks.problems import find_problem
from bomi.benchmarks.results import Results
from bomi.benchmarks.sweeps import Case, sweep
from bomi.errors import BomiError

BUDGETS = {"eggholder2d": 61, "schubert4d": 121, "alpine5d": 161, "schwefel5d": 161}  # the paper's
AUTHORS = Events(0.25, 0.05, kind="per-coordinate")
AUTHORS_ALPINE = Events(0.25, 0.05, most=4, kind="per-coordinate", offset="sign")


def authors(problem: str, budget: int, initial: Path | None) -> Case:
    """The data and the mechanism of the authors' program."""
    if initial is None:
        raise BomiError("the setting 'authors' needs a folder of initial data: --initial DIR")
    events = AUTHORS_ALPINE if problem.startswith("alpine") else AUTHORS
    return Case(problem=problem, budget=budget, missing=events, initial=initial)


def own(events: Events, most: int, problem: str, budget: int, initial: Path | None) -> Case:
    """Our own seeded data."""
    return Case(problem=problem, budget=budget, missing=events, gaps=HistoryGaps(most=most))


SETTINGS: dict[str, Callable[[str, int, Path | None], Case]] = {
    "authors": authors,
    "mild": partial(own, Events(0.25, 0.05), 1),
    "hard": partial(own, Events(0.5, 0.3, most=3), 3),
}


def counted(cases: Sequence[Case], methods: str, repeats: int | Iterable[int], out: Path, jobs: int) -> Results:
    """A sweep that prints its progress."""
    start = time.monotonic()

    def progress(done: int, total: int) -> None:
        print(f"\r{done}/{total} runs, {time.monotonic() - start:.0f} s", end="", file=sys.stderr, flush=True)

    return sweep(cases, split(methods), repeats=repeats, path=out, processes=jobs, progress=progress)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="bomi,oracle,naive", help='such as "bomi,bomi:worlds=10,oracle,naive"')
    parser.add_argument("--problems", default=",".join(BUDGETS))
    parser.add_argument("--setting", choices=SETTINGS, default="mild")
    parser.add_argument("--initial", type=Path, help="folder of initial data, for the setting 'authors'")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first repeat, which is its seed")
    parser.add_argument("--budget", type=int, help="evaluations; by default the paper's, 100 for other problems")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, required=True, help="results file; runs that are in it are not made again")
    parser.add_argument("--reference", default="bomi", help="the method of the paired tests")
    options = parser.parse_args()
    try:
        problems = [name.strip() for name in options.problems.split(",") if name.strip()]
        budgets = [options.budget or BUDGETS.get(find_problem(name).name, 100) for name in problems]
        setting = partial(SETTINGS[options.setting], initial=options.initial)
        cases = [setting(name, budget) for name, budget in zip(problems, budgets, strict=True)]
        repeats = range(options.first, options.first + options.repeats)
        found = counted(cases, options.methods, repeats, options.out, options.jobs)
    except BomiError as error:
        parser.exit(2, f"{error}\n")
    print(file=sys.stderr)
    print(scores.markdown(found, reference=options.reference))


if __name__ == "__main__":
    main()
