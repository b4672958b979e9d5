"""Commands that only read and write files: `init`, `check`, `new`, `withdraw` and `runsheet`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bomi.cli.console import after, say, working
from bomi.cli.options import Config, Format, Shape, Table
from bomi.cli.printing import show
from bomi.errors import BomiError
from bomi.space import cells

if TYPE_CHECKING:
    from bomi.campaign import Summary

SHOWN_NOTES = 20


def init(
    table: Table,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            help="The outcome's column, if it is not plain. Once for each of several outcomes; "
            "NAME=minimize and NAME=7.5 say that less, or that value, is wanted."
        ),
    ] = None,
    minimize: Annotated[bool, typer.Option("--minimize", help="Less of the outcome is better.")] = False,
    parameters: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="The columns that are set, and no others.")
    ] = None,
    decimal: Annotated[str | None, typer.Option(metavar="MARK", help="The decimal mark of the table, . or ,")] = None,
    sheet: Annotated[str | None, typer.Option(help="The sheet of a workbook; the first with a table.")] = None,
    campaign: Config = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a campaign file that is there.")] = False,
    shape: Shape = Format.table,
) -> None:  # fmt: skip
    """Write a campaign.toml guessed from your table, for you to edit."""
    from bomi.campaign import guess as guess_from
    from bomi.campaign import place_for_guess, read_sheet, save_guess
    from bomi.campaign.storage import uncollected

    goal = "minimize" if minimize else None
    asked: dict[str, Any] = {
        "objective": dict(_wanted(text, goal) for text in objective) if objective else None,
        "decimal": _mark(decimal),
    }
    names = [name.strip() for name in parameters.split(",")] if parameters else None
    place_for_guess(table, campaign, force=force)  # before anything is asked
    with working("reading the table"), uncollected():
        read = read_sheet(table, sheet=sheet)
    guess = _asking(lambda said: guess_from(read, goal=goal, parameters=names, **said), asked)
    if (guess.doubtful or guess.unsaid) and _on_terminal():
        said = asked["objective"] or dict.fromkeys(guess.campaign.outcomes)
        wanted = {**said, **{name: _wish(name) for name in guess.unsaid}}
        asked = {"objective": wanted, "decimal": guess.campaign.decimal}
        if guess.doubtful:
            names = _without_those_not_set(guess.doubt, list(guess.campaign.space.names))
        guess = guess_from(read, goal=goal, parameters=names, **asked)
    path = save_guess(guess, table, campaign, force=force)  # once all is answered
    made = guess.campaign
    records: list[dict[str, Any]] = [
        {
            "parameter": name,
            "type": parameter.kind + (", log scale" if getattr(parameter, "log", False) else ""),
            "from": getattr(parameter, "low", None),
            "to": getattr(parameter, "high", None),
            "values": list(getattr(parameter, "values", ())),
        }
        for name, parameter in made.space.parameters.items()
    ]
    columns = [{"column": column.name, "taken for": column.role, "why": guess.why(column)} for column in guess.columns]
    notes = [*guess.sheet_notes, *guess.remarks]
    document: dict[str, object] = {
        "file": str(path), "objective": made.objective, "goal": made.goal, "parameters": records,
        "unused": list(guess.unused),
        "doubtful": [{"parameter": name, "why": why} for name, why in guess.doubtful.items()],
        "columns": columns, "notes": notes,
    }  # fmt: skip
    if len(made.objectives) > 1:
        document["objectives"] = [vars(one) for one in made.objectives]
    if shape is Format.table:
        show(columns, shape, title=made.wish)
    else:
        texts = [{**record, "values": ", ".join(map(cells.text, record["values"]))} for record in records]
        show(texts, shape, document)
    for note in notes:
        say(note)
    say(f"wrote {path}: look at the goal and the ranges, above all; then bomi check {table}")


def _on_terminal() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _wish(name: str) -> str | tuple[str, float]:
    """What a person wants of an outcome."""
    while True:
        answer = typer.prompt(f"is more or less of {name!r} better, or which value is best?", "more", err=True).strip()
        if answer in ("more", "less"):
            return "maximize" if answer == "more" else "minimize"
        try:
            return "target", float(answer)
        except ValueError:
            say(f"expected more, less or a number, but got {answer!r}")


def _without_those_not_set(doubt: str, names: list[str]) -> list[str]:
    """The parameters without those that a person says are not set."""
    say(doubt)
    while True:
        answer = typer.prompt(
            "which of them do you not set? names, or Enter if you set them all", "", show_default=False, err=True
        )
        out = [name.strip() for name in answer.split(",") if name.strip()]
        wrong = [name for name in out if name not in names]
        if not wrong and len(out) < len(names):
            return [name for name in names if name not in out]
        say(f"no parameter is called {wrong[0]!r}" if wrong else "one parameter at least is set")


def _asking(make: Callable[[dict[str, Any]], Any], said: dict[str, Any]) -> Any:
    """Make something; what it is unsure of is asked on a terminal, with the likeliest answer, and told elsewhere."""
    from bomi.campaign.outcome import UnsureError
    from bomi.campaign.storage import uncollected

    while True:
        try:
            with working("reading the table"), uncollected():
                return make(said)
        except UnsureError as unsure:
            key = unsure.option.removeprefix("--")
            if not _on_terminal() or said.get(key) is not None:
                raise
            say(str(unsure))
            said = {**said, key: typer.prompt(key, default=unsure.answers[0], err=True)}


def _mark(decimal: str | None) -> str | None:
    if decimal not in (None, ".", ","):
        raise BomiError(f"--decimal must be . or , but got {decimal!r}")
    return decimal


def _wanted(text: str, goal: str | None) -> tuple[str, str | tuple[str, float] | None]:
    """An outcome and its goal: `yield`, `impurity=minimize` or `pH=7.0`."""
    name, equals, wish = (part.strip() for part in text.rpartition("="))
    if equals and wish in ("maximize", "minimize"):
        return name, wish
    try:
        return (name, ("target", float(wish))) if equals else (text, goal)
    except ValueError:
        return text, goal  # an equals sign in the name of a column


def check(
    table: Table,
    campaign: Config = None,
    suspects: Annotated[
        bool, typer.Option("--suspects", help="Learn from the table, and name the cells that look wrong.")
    ] = False,
    shape: Shape = Format.table,
) -> None:
    """Say what is wrong with a table, by row and column, or how much of it is known."""
    from bomi.campaign import campaign_path
    from bomi.campaign.storage import uncollected

    with working("reading the table"), uncollected():
        summary, written, notes, found = _checked(table, campaign_path(table, campaign))
    records = [vars(column) for column in summary.columns]
    counts = {name: value for name, value in vars(summary).items() if name not in ("columns", "broken")}
    notes += summary.broken
    document = {"file": str(table), **counts, "columns": records, "notes": notes, "doubts": found}
    wrong = _suspects(table, campaign) if suspects else []
    if suspects:
        document["suspects"] = [{name: value for name, value in one.items() if name != "said"} for one in wrong]
    show(records, shape, document)
    beside = ", but look at what follows" if found else ""
    say(f"{table} is fine{beside} ({written}): {summary.said}")
    for doubt in found[:SHOWN_NOTES]:
        say(f"but {doubt}")
    for note in notes[:SHOWN_NOTES]:
        say(f"{table}: {note}")
    if len(notes) > SHOWN_NOTES:
        say(f"{table}: and {len(notes) - SHOWN_NOTES} more such notes; --format json has them all")
    for one in wrong[:SHOWN_NOTES]:
        say(one["said"])
    if suspects and not wrong:
        say("no cell looks wrong")


def _suspects(table: Path, campaign: Path | None) -> list[dict[str, Any]]:
    """The cells that look wrong, by a model of the table."""
    with working("learning from the table, to look at each of its cells"):
        from bomi import workflow

        return workflow.suspects(workflow.load(table, campaign))


def _checked(table: Path, path: Path) -> tuple[Summary, str, list[str], list[str]]:
    """What a table holds, how it is written, its notes and its doubts; the table itself is freed."""
    from bomi.campaign import Campaign, blanks, conditions, read_experiments, summarize
    from bomi.campaign.doubts import doubts
    from bomi.campaign.storage import company

    experiments = read_experiments(table, Campaign.read(path))
    sheet = experiments.sheet
    found = [*company(table), *doubts(experiments)]
    told = [*sheet.notes, *map(str, experiments.echoes), *blanks.notes(experiments), *conditions.notes(experiments)]
    return summarize(experiments), sheet.written, told, found


def new(table: Table, campaign: Config = None, shape: Shape = Format.table) -> None:
    """Write an empty table for a campaign.toml that is there: header, units, and room for the first experiments."""
    from bomi.campaign.template import new_table

    new_table(table, campaign)
    show([{"file": str(table)}], shape, {"file": str(table)})
    say(f"wrote {table}; then bomi suggest {table} --append")


def withdraw(
    table: Table,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="The ids of the suggestions.")] = None,
    row: Annotated[
        list[int] | None, typer.Option(help="The number of a row instead of an id, as `bomi check` has it.")
    ] = None,
    campaign: Config = None,
    shape: Shape = Format.table,
) -> None:
    """Take back suggestions that will not be run: their rows leave the table, and nothing is learned from them."""
    from bomi.campaign import Campaign, campaign_path
    from bomi.campaign import withdraw as take_back

    if not ids and not row:
        raise BomiError("say which suggestions: by their ids, or each by --row and its number in the table")
    with working("reading the table"):
        gone = take_back(table, Campaign.read(campaign_path(table, campaign)), ids or (), row or ())
    with after(f"removed from {table}"):
        document = [{"id": row.id, "setting": row.asked} for row in gone]
        show([{"id": row.id, **row.asked} for row in gone], shape, document)
    say(f"removed from {table}, the version before is {table.name}.bak")


def runsheet(
    table: Table,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="An .html file, or a .pdf where Chromium or Chrome is installed.")
    ] = Path("runsheet.html"),
    campaign: Config = None,
    shape: Shape = Format.table,
) -> None:
    """A page to print: the experiments that await their outcome, with boxes for what was done and what came out."""
    from bomi.campaign import Campaign, campaign_path, read_experiments
    from bomi.campaign.printed import write_page
    from bomi.campaign.run_sheet import run_sheet

    with working("reading the table"):
        write_page(output, run_sheet(read_experiments(table, Campaign.read(campaign_path(table, campaign)))))
    show([{"file": str(output)}], shape, {"file": str(output)})
