"""The command line. Each command calls one function of the library and prints what it returns.

Results go to standard output, progress and messages to standard error. What loads torch is imported within the
commands that need it, so that help and completion answer at once.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import bomi
from bomi import cli_benchmarks
from bomi.errors import BomiError
from bomi.space import cells

if TYPE_CHECKING:
    from bomi.results import Prediction

SHOWN_NOTES = 20

app = typer.Typer(
    name="bomi",
    help="Finds the best settings of an experiment some of whose inputs are missing, from the table you already keep.",
    epilog="Start with: bomi init lab.csv, then bomi suggest lab.csv. To see it work: bomi demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"
    csv = "csv"


Table = Annotated[Path, typer.Argument(metavar="TABLE", readable=False, help="Your table: .csv, .tsv, .txt or .xlsx.")]
Config = Annotated[
    Path | None,
    typer.Option(
        "--campaign", "-c", readable=False, help="The campaign file; campaign.toml beside the table if not given."
    ),
]
Shape = Annotated[Format, typer.Option("--format", help="How to print the result.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed and table give the same answer.")]


def main() -> None:
    """Run the command line; a mistake of the user ends in a clear line or several and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ± is no reason to stop
    try:
        app()
    except BomiError as error:
        for line in str(error).splitlines():
            _say(line)
        sys.exit(2)
    except KeyboardInterrupt:
        _say("stopped")
        sys.exit(130)
    except BrokenPipeError:  # whoever read the output has seen enough
        sys.stderr.close()
        sys.exit(0)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bomi {bomi.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Options of bomi itself."""


@app.command(epilog="Example: bomi init lab.csv --objective strength")
def init(
    table: Table,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            help="The outcome's column; the last one of numbers if not given. Once for each of several outcomes; "
            "NAME=minimize and NAME=7.5 say that less, or that value, is wanted."
        ),
    ] = None,
    minimize: Annotated[bool, typer.Option("--minimize", help="Less of the outcome is better.")] = False,
    campaign: Config = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a campaign file that is there.")] = False,
    shape: Shape = Format.table,
) -> None:  # fmt: skip
    """Write a campaign.toml guessed from your table, for you to edit."""
    from bomi.campaign import write_guess

    goal = "minimize" if minimize else "maximize"
    wanted = dict(_wanted(text, goal) for text in objective) if objective else None
    with _working("reading the table"):
        path, guess = write_guess(table, campaign, objective=wanted, goal=goal, force=force)
    made = guess.campaign
    records = [
        {
            "parameter": name,
            "type": parameter.kind + (", log scale" if getattr(parameter, "log", False) else ""),
            "from": getattr(parameter, "low", None),
            "to": getattr(parameter, "high", None),
            "values": ", ".join(map(cells.text, getattr(parameter, "values", ()))),
        }
        for name, parameter in made.space.parameters.items()
    ]
    document: dict[str, object] = {
        "file": str(path), "objective": made.objective, "goal": made.goal, "parameters": records,
        "unused": list(guess.unused),
    }  # fmt: skip
    if len(made.objectives) > 1:
        document["objectives"] = [vars(one) for one in made.objectives]
    _print(records, shape, document, title=made.wish)
    _say(f"wrote {path}: look at the ranges, above all; then bomi check {table}")
    if guess.unused:
        _say(f"columns kept but not used: {', '.join(guess.unused)}")


def _wanted(text: str, goal: str) -> tuple[str, str | tuple[str, float]]:
    """An outcome and its goal: `yield`, `impurity=minimize` or `pH=7.0`."""
    name, equals, wish = (part.strip() for part in text.rpartition("="))
    if equals and wish in ("maximize", "minimize"):
        return name, wish
    try:
        return (name, ("target", float(wish))) if equals else (text, goal)
    except ValueError:
        return text, goal  # an equals sign in the name of a column


@app.command(epilog="Example: bomi check lab.csv")
def check(table: Table, campaign: Config = None, shape: Shape = Format.table) -> None:
    """Say what is wrong with a table, by row and column, or how much of it is known."""
    from bomi.campaign import Campaign, campaign_path, read_experiments, summarize
    from bomi.campaign.sheet import NAMES

    with _working("reading the table"):
        path = campaign_path(table, campaign)
        known = Campaign.read(path)
        experiments = read_experiments(table, known)
        summary, sheet = summarize(experiments), experiments.sheet
    records = [vars(column) for column in summary.columns]
    counts = {name: value for name, value in vars(summary).items() if name != "columns"}
    notes = [*sheet.notes, *counts.pop("broken")]
    document = {"file": str(table), **counts, "columns": records, "notes": notes}
    _print(records, shape, document)
    written = f"{NAMES[sheet.separator]}-separated" if sheet.lines is not None else "a workbook"
    _say(
        f"{table} is fine ({written}): {summary.rows} rows, {summary.outcomes} with an outcome, {summary.pending} "
        f"pending, {summary.failed} failed; {summary.complete} with every input known"
    )
    for note in notes[:SHOWN_NOTES]:
        _say(f"{table}: {note}")
    if len(notes) > SHOWN_NOTES:
        _say(f"{table}: and {len(notes) - SHOWN_NOTES} more such notes; --format json has them all")


@app.command(epilog="Example: bomi suggest lab.csv -n 2 --append")
def suggest(
    table: Table,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=1000, help="How many experiments.")] = 1,
    append: Annotated[
        bool, typer.Option("--append", help="Add them to the table as rows that await their outcome.")
    ] = False,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """The next experiments to run, what to expect of each, and why."""
    with _working("learning from the table") as update:
        from bomi import workflow

        advices = workflow.suggest(
            table, campaign, count=count, append=append, seed=seed, done=lambda n: update(f"suggested {n} of {count}")
        )
    records = [
        {"id": advice.suggestion.id, **advice.suggestion, **_flat(advice.suggestion.predicted), "why": advice.why}
        for advice in advices
    ]
    document = [
        {
            "id": advice.suggestion.id,
            "setting": dict(advice.suggestion),
            "predicted": _nested(advice.suggestion.predicted),
            "why": advice.why,
        }
        for advice in advices
    ]
    if shape is not Format.table:
        _print(records, shape, document)
    else:
        _print(
            [
                {"id": advice.suggestion.id, **advice.suggestion, **_pairs(advice.suggestion.predicted)}
                for advice in advices
            ],
            shape,
        )
        for advice in advices:
            typer.echo(f"{advice.suggestion.id}: {advice.why}")
    if append:
        _say(
            f"added to {table}, the version before is {table.name}.bak; once done, enter the outcome, "
            "and where an input differed overwrite it, or blank it if nobody knows"
        )


@app.command(epilog="Example: bomi gaps lab.csv")
def gaps(table: Table, campaign: Config = None, seed: Seed = 0, shape: Shape = Format.table) -> None:
    """What each missing value may have been, the one most worth looking up first."""
    with _working("learning from the table"):
        from bomi import workflow

        frame = workflow.gaps(workflow.load(table, campaign, seed=seed))
    records = [{str(name): value for name, value in record.items()} for record in frame.to_dict("records")]
    judged = any(not _missing(record["worth"]) for record in records)
    if shape is Format.table and not judged:
        records = [{name: value for name, value in record.items() if name != "worth"} for record in records]
    shown = [_with_shares(record) for record in records]
    if shape is Format.table and not any(record["probabilities"] for record in shown):
        shown = [{name: value for name, value in record.items() if name != "probabilities"} for record in shown]
    _print(shown, shape, records)
    if not records:
        _say(f"{table} has no gap: every input is known")
    elif not judged:
        _say("the most uncertain first: this method does not say what a gap is worth")


@app.command(epilog="Example: bomi best lab.csv --format json")
def best(table: Table, campaign: Config = None, seed: Seed = 0, shape: Shape = Format.table) -> None:
    """The recommended setting with what to expect of it, beside the best row so far."""
    with _working("learning from the table"):
        from bomi import workflow

        study = workflow.load(table, campaign, seed=seed)
        found = workflow.recommend(study)
    outcomes = study.campaign.outcomes
    several = len(outcomes) > 1
    records: list[dict[str, object]] = []
    documents = []
    for place, one in enumerate(found, 1):
        setting, predicted = one.best.setting, one.best.predicted
        recorded = {name: cells.text(cell) for name, cell in one.recorded.items()}
        if setting is not None:
            what = f"recommended {place}" if several else "recommended"
            records.append({"what": what, **setting, **_expected(predicted, outcomes)})
        documents.append(
            {
                "recommended": None if setting is None else {"setting": dict(setting), "predicted": _nested(predicted)},
                "seen": {"row": one.row, "recorded": recorded, "outcome": one.best.seen},
                "note": one.best.note,
            }
        )
    for one in {one.row: one for one in found}.values():
        recorded = {name: cells.text(cell) for name, cell in one.recorded.items()}
        seen = one.best.seen if several else {outcomes[0]: one.best.seen}
        what = f"{'seen' if several else 'best so far'}, row {one.row}"
        records.append({"what": what, **recorded, **_expected(None, outcomes), **seen})
    _print(records, shape, documents if several else documents[0])
    for note in {one.best.note for one in found if one.best.note}:
        _say(note)


def _expected(predicted: Any, outcomes: Sequence[str]) -> dict[str, float | None]:
    """Each outcome with its standard deviation beside it."""
    each = predicted if isinstance(predicted, Mapping) else {outcomes[0]: predicted}
    found: dict[str, float | None] = {}
    for name in outcomes:
        one = each.get(name)
        found |= {name: one and one.mean, "sd" if len(outcomes) == 1 else f"{name} sd": one and one.sd}
    return found


@app.command(epilog="Example: bomi plot lab.csv -o figures")
def plot(
    table: Table,
    folder: Annotated[Path, typer.Option("--output", "-o", help="The folder for the figures.")] = Path("figures"),
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """Figures as PNG and SVG: outcomes over time, gaps, slices through the recommended setting, importance."""
    with _working("learning from the table") as update:
        from bomi import workflow as workflow
        from bomi.analysis import plots

        study = workflow.load(table, campaign, seed=seed)
        files, left_out = plots.save_all(
            study.optimizer,
            folder,
            labels=study.experiments.numbers,
            done=lambda name: update(f"drew {name}"),
        )
    if not files:
        raise BomiError("\n".join(left_out))
    records = [{"file": str(file)} for file in files]
    _print(records, shape, records)
    for reason in left_out:
        _say(reason)


@app.command(epilog="Example: bomi web lab.csv")
def web(
    table: Table,
    campaign: Config = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="The port; a free one if not given.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    host: Annotated[
        str, typer.Option(help="Where to listen; elsewhere than on this machine, a token is needed.")
    ] = "127.0.0.1",
) -> None:
    """The whole loop as a page in your browser, on this machine."""
    from bomi.web.server import serve

    serve(table, campaign, host=host, port=port, browser=browser, say=_say)


@app.command(epilog="Example: bomi demo -o demo.png")
def demo(
    figure: Annotated[Path, typer.Option("--output", "-o", help="Where to save the figure.")] = Path("bomi-demo.png"),
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """The whole job on built-in data: 30 old heat treatments with gaps, then ten suggested ones."""
    from rich.progress import MofNCompleteColumn, Progress

    kind = _kind(figure)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
    with Progress(*columns, console=_console(stderr=True)) as progress:
        task = progress.add_task("loading", total=10)
        from bomi.analysis import plots
        from bomi.benchmarks import demo as problem
        from bomi.benchmarks import heat_figures

        progress.update(task, description="experimenting")
        shown = problem.play(experiments=10, seed=seed, done=lambda step: progress.advance(task))
        trace = problem.trace(shown.setting)
        saved = plots.save(heat_figures.figure(trace), figure.with_suffix(""), [kind])
    records = [
        {
            "id": step.suggestion.id,
            **step.suggestion,
            **_flat(step.suggestion.predicted),
            problem.OBJECTIVE: step.outcome,
            "failed": next(iter(step.actual), None),
        }
        for step in shown.steps
    ]
    recommended = {"recommended": dict(shown.setting), "predicted": _nested(shown.best.predicted)}
    if shape is not Format.table:
        _print(records, shape, {"experiments": records, **recommended})
    else:
        title = "Ten suggested heat treatments: °C × minutes; strengths in MPa"
        _print([problem.summary(step) for step in shown.steps], shape, title=title)
        old = problem.history()[problem.OBJECTIVE].max()
        typer.echo(f"recommended: {problem.in_words(shown.setting)}")
        typer.echo(
            f"its true {problem.OBJECTIVE} is {trace.strength[-1]:.0f} {problem.UNIT}; the best of the 30 old rows "
            f"had {old:.0f}, and the best treatment known has {problem.TOP:.0f}"
        )
    _say(f"figure of the recommended treatment: {saved[0]}")


cli_benchmarks.register(app)

# --- printing ------------------------------------------------------------------------------------------------------


def _print(
    records: Sequence[Mapping[str, Any]], shape: Format, document: object = None, *, title: str | None = None
) -> None:
    """Print records as a table or as CSV, or the document as JSON."""
    if shape is Format.json:
        typer.echo(json.dumps(_plain(document), ensure_ascii=False, indent=2, allow_nan=False))
    elif shape is Format.csv:
        _print_csv(records)
    elif records:
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(title=title, title_justify="left", title_style="bold", header_style="bold")
        for name in records[0]:
            numeric = all(isinstance(record[name], int | float) or record[name] is None for record in records)
            table.add_column(Text(name), justify="right" if numeric else "left")
        for record in records:
            table.add_row(*(Text(_text(value)) for value in record.values()))
        _console().print(table)


def _print_csv(records: Sequence[Mapping[str, Any]]) -> None:
    from bomi.campaign.sheet import is_formula

    def cell(value: object) -> str:
        text = "" if _missing(value) else cells.text(value)  # type: ignore[arg-type]
        return f"'{text}" if is_formula(text) else text  # so that a spreadsheet shows it and does not run it

    writer = csv.writer(sys.stdout, lineterminator="\n")
    if records:
        writer.writerow([cell(name) for name in records[0]])
    writer.writerows([cell(value) for value in record.values()] for record in records)


def _with_shares(record: Mapping[str, Any]) -> dict[str, Any]:
    """A gap with its probabilities as one text, the likeliest value first."""
    shares = record["probabilities"] if isinstance(record["probabilities"], Mapping) else {}
    likely = sorted((item for item in shares.items() if item[1] > 0), key=lambda item: -item[1])
    return {**record, "probabilities": ", ".join(f"{cells.text(value)} {share:.0%}" for value, share in likely) or None}


def _text(value: object) -> str:
    """A value in a table that people read: numbers to four digits."""
    if _missing(value):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) and value != int(value) else cells.text(value)  # type: ignore[arg-type]


def _plain(value: object) -> object:
    """What JSON can hold: NaN becomes null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if _missing(value):
        return None
    return value.item() if hasattr(value, "item") else value


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _flat(predicted: Any) -> dict[str, float | None]:
    """The prediction of the outcome, or of each of several, by columns."""
    if isinstance(predicted, Mapping):
        return {
            f"predicted.{name}.{part}": value
            for name, one in predicted.items()
            for part, value in one._asdict().items()
        }
    return {
        "predicted.mean": predicted.mean if predicted else None,
        "predicted.sd": predicted.sd if predicted else None,
    }


def _pairs(predicted: Any) -> dict[str, str | None]:
    """The same for people."""
    if isinstance(predicted, Mapping):
        return {f"predicted {name}": _pair(one) for name, one in predicted.items()}
    return {"predicted": _pair(predicted)}


def _pair(predicted: Prediction | None) -> str | None:
    return f"{predicted.mean:.4g} ± {float(f'{predicted.sd:.2g}'):g}" if predicted else None


def _nested(predicted: Any) -> Any:
    if isinstance(predicted, Mapping):
        return {name: _nested(one) for name, one in predicted.items()}
    return predicted._asdict() if predicted else None


def _kind(figure: Path) -> str:
    kind = figure.suffix.lstrip(".").lower() or "png"
    if kind not in ("png", "svg"):
        raise BomiError(f"a figure is saved as .png or .svg, but got {figure.name!r}")
    return kind


def _say(message: str) -> None:
    """A message to standard error."""
    typer.echo(f"bomi: {message}", err=True)


def _console(*, stderr: bool = False) -> Any:
    """Colour and the terminal's width on a terminal; plain and wide elsewhere."""
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=200)


@contextmanager
def _working(what: str) -> Iterator[Any]:
    """A spinner on standard error, on a terminal; yields a function that changes its text."""
    console = _console(stderr=True)
    with console.status(what) as status:
        yield status.update


if __name__ == "__main__":
    main()
