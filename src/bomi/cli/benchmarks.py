"""Commands that compare methods: `bench` and `reproduce`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bomi.cli.console import console, say

if TYPE_CHECKING:
    from bomi.benchmarks.contenders import Contender
    from bomi.benchmarks.sweeps import Case

Methods = Annotated[str, typer.Option(help='Methods, such as "bomi,mean,bomi:worlds=10,oracle".')]
Repeats = Annotated[int, typer.Option(min=1, help="Runs of each method; more than before adds to the results.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Folder for results and report.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes.", show_default="one for each core")]
Engine = Annotated[str, typer.Option(help="Where runs are made: local, dask (--jobs processes) or dask://HOST:PORT.")]
Initial = Annotated[Path | None, typer.Option(help="Folder of initial data; without it, own seeded rows.")]
Brenda = Annotated[
    Path | None,
    typer.Option(envvar="BOMI_BRENDA_FILE", help="File of copper samples for the robot; without it, made-up ones."),
]

CORES = os.cpu_count() or 1
DEFAULT_METHODS = "bomi,suggest,mean,drop,random"


def bench(
    problems: Annotated[
        list[str],
        typer.Argument(metavar="PROBLEM...", help="alpine, hartmann6, heat, robot, reactor, blend, my_module:f"),
    ],
    methods: Methods = DEFAULT_METHODS,
    repeats: Repeats = 10,
    budget: Annotated[int, typer.Option(min=1, help="Evaluations of each run.")] = 60,
    rows: Annotated[int, typer.Option(min=1, help="Rows of initial data.")] = 30,
    gap_share: Annotated[float, typer.Option(help="Share of the initial rows with gaps.")] = 0.8,
    gap_most: Annotated[int, typer.Option(help="Most gaps in an initial row.")] = 1,
    rho: Annotated[float, typer.Option(help="Chance that an evaluation goes wrong.")] = 0.25,
    eta: Annotated[float, typer.Option(help="How far a failed parameter strays, in units of its range.")] = 0.05,
    most: Annotated[int, typer.Option(help="Most parameters that fail at once.")] = 1,
    events: Annotated[str, typer.Option(help="per-run or per-coordinate.")] = "per-run",
    offset: Annotated[str, typer.Option(help="uniform or sign.")] = "uniform",
    initial: Initial = None,
    brenda: Brenda = None,
    output: Output = None,
    jobs: Jobs = CORES,
    engine: Engine = "local",
) -> None:
    """Compare methods on problems whose inputs go missing. Stop it when you like; the same command goes on."""
    from bomi.benchmarks.contenders import split
    from bomi.benchmarks.experiments import with_copper
    from bomi.benchmarks.missingness import Events, HistoryGaps
    from bomi.benchmarks.sweeps import Case

    missing = Events(rho, eta, most=most, kind=events, offset=offset)
    gaps = HistoryGaps(share=gap_share, most=gap_most)
    cases = [
        Case(problem=with_copper(name, brenda), budget=budget, missing=missing, rows=rows, gaps=gaps, initial=initial)
        for name in problems
    ]
    folder = output or Path("results") / "bench"
    title = "Comparison on " + ", ".join(case.label for case in cases)
    _run(cases, split(methods), repeats, folder, jobs, engine, title=title)


def reproduce(
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="performance, stability, heat or robot")],
    repeats: Annotated[int | None, typer.Option(min=1, help="Runs of each method; 10, or 3 with --quick.")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods; by default all, and the yardsticks.")] = None,
    cases: Annotated[str | None, typer.Option(help="Cases, such as eggholder2d,schwefel5d; by default all.")] = None,
    initial: Initial = None,
    brenda: Brenda = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="performance as the authors' program runs it, where the text differs."),
    ] = False,
    differences: Annotated[
        str | None,
        typer.Option(help="Only some of what the authors' program does differently, such as fit,variance,events."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of the same, in minutes.")] = False,
    output: Output = None,
    jobs: Jobs = CORES,
    engine: Engine = "local",
) -> None:
    """Make the figures of the paper. Stop it when you like; the same command goes on."""
    from bomi.benchmarks.contenders import split
    from bomi.benchmarks.experiments import DIFFERENCES
    from bomi.benchmarks.experiments import experiment as find

    names = split(methods) if methods else None
    some = [name.strip() for name in differences.split(",")] if differences else []
    chosen = find(
        experiment,
        initial=initial,
        quick=quick,
        methods=names,
        cases=[name.strip() for name in cases.split(",")] if cases else None,
        brenda=brenda,
        differences=list(DIFFERENCES) if as_published else some,
    )
    variant = "-as-published" if as_published else "".join(f"-{name}" for name in some)
    folder = output or Path("results") / (chosen.name + variant + ("-quick" if quick else ""))
    _run(chosen.cases, chosen.methods, repeats or chosen.repeats, folder, jobs, engine, title=chosen.title)


def _run(
    cases: Sequence[Case],
    methods: Sequence[str | Contender],
    repeats: int,
    folder: Path,
    jobs: int,
    engine: str,
    *,
    title: str,
) -> None:
    """Sweep, report, and print the final values."""
    from bomi.benchmarks.engines import find_engine
    from bomi.benchmarks.report import default_reference, write_report
    from bomi.benchmarks.scores import markdown
    from bomi.benchmarks.sweeps import sweep

    with _warnings():
        try:
            with _progress(title) as progress:
                made = find_engine(engine, jobs)
                path = folder / "results.jsonl"
                found = sweep(cases, methods, repeats=repeats, path=path, engine=made, progress=progress)
        except KeyboardInterrupt:
            say("what is finished is kept, and the same command goes on from there")
            raise
        page = write_report(found, folder, title=title)
    typer.echo(markdown(found, reference=default_reference(found)))
    say(f"report: {page}")


@contextmanager
def _warnings() -> Iterator[None]:
    """A warning is one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *rest, **more: say(f"warning: {message}")
        yield


@contextmanager
def _progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error with the time left."""
    from rich import progress

    words = progress.TextColumn
    columns = (words("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn(), words("runs,"))
    times = (progress.TimeElapsedColumn(), words("gone,"), progress.TimeRemainingColumn(), words("left"))
    # Runs of slow and of quick methods come in turns: look back far for the time left.
    with progress.Progress(*columns, *times, console=console(stderr=True), speed_estimate_period=3600) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
