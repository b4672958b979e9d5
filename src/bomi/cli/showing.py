"""Commands that show the whole loop: `web` on a page, `demo` on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bomi.cli.console import console, say
from bomi.cli.options import Config, Format, Seed, Shape, figure_option
from bomi.cli.printing import flat, save_figure, show
from bomi.results import nested

Port = Annotated[int | None, typer.Option(min=1, max=65535, help="The port; a free one if not given.")]
Host = Annotated[str, typer.Option(help="Where to listen; elsewhere than on this machine, others can reach it.")]


def web(
    table: Annotated[
        Path,
        typer.Argument(metavar="TABLE", readable=False, help="Your table, or a folder with campaigns below it."),
    ],
    campaign: Config = None,
    port: Port = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    host: Host = "127.0.0.1",
) -> None:
    """The whole loop as a page in your browser, on this machine."""
    from bomi.web.server import serve

    serve(table, campaign, host=host, port=port, browser=browser, say=say)


def serve(
    where: Annotated[
        str, typer.Argument(metavar="WHERE", help="A folder, or the address of a database: postgresql://me@host/lab.")
    ],
    port: Port = None,
    host: Host = "127.0.0.1",
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that compute.")] = 2,
) -> None:
    """Campaigns for other programs: tell, ask, best and gaps as JSON over HTTP."""
    from bomi.web.server import serve_api

    serve_api(where, host=host, port=port, workers=workers, say=say)


def demo(
    figure: Annotated[Path, figure_option("Where to save the figure.")] = Path("bomi-demo.png"),
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """The whole job on built-in data: 30 old heat treatments with gaps, then ten suggested ones."""
    from rich.progress import MofNCompleteColumn, Progress

    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
    with Progress(*columns, console=console(stderr=True)) as progress:
        task = progress.add_task("loading", total=10)
        from bomi.benchmarks import demo as problem
        from bomi.benchmarks import heat_figures

        progress.update(task, description="experimenting")
        shown = problem.play(experiments=10, seed=seed, done=lambda step: progress.advance(task))
        trace = problem.trace(shown.setting)
        saved = save_figure(heat_figures.figure(trace), figure)
    records = [
        {
            "id": step.suggestion.id,
            **step.suggestion,
            **flat(step.suggestion.predicted),
            problem.OBJECTIVE: step.outcome,
            "failed": next(iter(step.actual), None),
        }
        for step in shown.steps
    ]
    recommended = {"recommended": dict(shown.setting), "predicted": nested(shown.best.predicted)}
    if shape is not Format.table:
        show(records, shape, {"experiments": records, **recommended})
    else:
        title = "Ten suggested heat treatments: °C × minutes; strengths in MPa"
        show([problem.summary(step) for step in shown.steps], shape, title=title)
        old = problem.history()[problem.OBJECTIVE].max()
        typer.echo(f"recommended: {problem.in_words(shown.setting)}")
        typer.echo(
            f"its true {problem.OBJECTIVE} is {trace.strength[-1]:.0f} {problem.UNIT}; the best of the 30 old rows "
            f"had {old:.0f}, and the best treatment known has {problem.TOP:.0f}"
        )
    say(f"figure of the recommended treatment: {saved}")
