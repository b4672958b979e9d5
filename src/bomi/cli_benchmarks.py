"""The commands `bomi bench` and `bomi reproduce`: thin, each calls the library once.

Nothing heavy is imported until a command runs, so that help is quick.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bomi.errors import BomiError

if TYPE_CHECKING:
    from bomi.benchmarks.runner import Case

Methods = Annotated[str, typer.Option(help='Methods, such as "bomi,mean,bomi:worlds=10,oracle".')]
Repeats = Annotated[int, typer.Option(min=1, help="Runs of each method; more than before adds to the results.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Folder for results and report.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes.", show_default="one for each core")]
Initial = Annotated[Path | None, typer.Option(help="Folder of initial data; without it, own seeded rows.")]
Brenda = Annotated[
    Path | None,
    typer.Option(envvar="BOMI_BRENDA_FILE", help="File of copper samples for the robot; without it, made-up ones."),
]

CORES = os.cpu_count() or 1
DEFAULT_METHODS = "bomi,suggest,mean,drop,random"


def register(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command()(bench)
    app.command()(reproduce)


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
) -> None:
    """Compare methods on problems whose inputs go missing. Stop it when you like: it goes on where it was."""
    with _mistakes():
        from bomi.benchmarks.contenders import split
        from bomi.benchmarks.experiments import with_copper
        from bomi.benchmarks.missingness import Events, HistoryGaps
        from bomi.benchmarks.runner import Case

        missing = Events(rho, eta, most=most, kind=events, offset=offset)
        gaps = HistoryGaps(share=gap_share, most=gap_most)
        cases = [
            Case(
                problem=with_copper(name, brenda), budget=budget, missing=missing, rows=rows, gaps=gaps, initial=initial
            )
            for name in problems
        ]
        folder = output or Path("results") / "bench"
        _run(cases, split(methods), repeats, folder, jobs, title="Comparison on " + ", ".join(c.label for c in cases))


def reproduce(
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="performance, stability, heat or robot")],
    repeats: Annotated[int | None, typer.Option(min=1, help="Runs of each method; 10, or 3 with --quick.")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods; by default all, and the yardsticks.")] = None,
    initial: Initial = None,
    brenda: Brenda = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of the same, in minutes.")] = False,
    output: Output = None,
    jobs: Jobs = CORES,
) -> None:
    """Make the figures of the paper. Stop it when you like: it goes on where it was."""
    with _mistakes():
        from bomi.benchmarks.contenders import split
        from bomi.benchmarks.experiments import experiment as find

        names = split(methods) if methods else None
        chosen = find(experiment, initial=initial, quick=quick, methods=names, brenda=brenda)
        folder = output or Path("results") / (chosen.name + ("-quick" if quick else ""))
        _run(chosen.cases, chosen.methods, repeats or chosen.repeats, folder, jobs, title=chosen.title)


def _run(cases: Sequence[Case], methods: Sequence[str], repeats: int, folder: Path, jobs: int, *, title: str) -> None:
    """Sweep, report, and print the final values."""
    from bomi.benchmarks.report import default_reference, write_report
    from bomi.benchmarks.runner import sweep
    from bomi.benchmarks.scores import markdown

    with _progress(title) as progress:
        found = sweep(cases, methods, repeats=repeats, path=folder / "results.jsonl", processes=jobs, progress=progress)
    page = write_report(found, folder, title=title)
    typer.echo(markdown(found, reference=default_reference(found)))
    typer.echo(f"report: {page}", err=True)


@contextmanager
def _progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error with the time left."""
    from rich import progress
    from rich.console import Console

    words = progress.TextColumn
    columns = (words("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn(), words("runs,"))
    times = (progress.TimeElapsedColumn(), words("gone,"), progress.TimeRemainingColumn(), words("left"))
    # Runs of slow and of quick methods come in turns: look back far for the time left.
    with progress.Progress(*columns, *times, console=Console(stderr=True), speed_estimate_period=3600) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _mistakes() -> Iterator[None]:
    """A user's mistake is one clear message and exit code 2; a warning is one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *rest, **more: typer.echo(f"warning: {message}", err=True)
        try:
            yield
        except BomiError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("stopped; what is finished is kept, the same command goes on", err=True)
            raise typer.Exit(130) from None
