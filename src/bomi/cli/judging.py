"""Commands that judge what was learned, and show it to others: `trust`, `prospects`, `plot` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bomi.cli.console import say, working
from bomi.cli.options import Config, Format, Seed, Shape, Table, figure_option
from bomi.cli.printing import save_figure, show
from bomi.errors import BomiError
from bomi.results import capitalized


def prospects(
    table: Table,
    figure: Annotated[Path | None, figure_option("A PNG or SVG of the gains as the table grew.")] = None,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """Whether to go on: what the next 1, 5 and 10 experiments, a look-up and a repeat are expected to gain."""
    with working("learning from the table") as update:
        from bomi import workflow

        loaded = workflow.load(table, campaign, seed=seed)
        found, advice = workflow.prospects(loaded)
        if figure is not None:
            from bomi.analysis import model_plots

            update("looking back")
            figure = save_figure(model_plots.prospects(loaded.optimizer, labels=workflow.labels(loaded)), figure)
    named = workflow.called(loaded)
    records: list[dict[str, Any]] = [
        {"what": f"the next {count} experiments" if count > 1 else "the next experiment", "expected gain": gain}
        for count, gain in found.gains.items()
    ]
    if found.look_up is not None:
        row, parameter, gain = found.look_up
        records.append({"what": f"look up {parameter} of {named[row]}", "expected gain": gain})
    if found.repeat is not None:
        records.append({"what": f"repeat {named[found.repeat[0]]}", "expected gain": found.repeat[1]})
    document = {"action": found.action, "advice": advice, "gains": records, "spread": found.spread, "cost": found.cost}
    if shape is Format.table:
        shown = [{**record, "expected gain": found.told(record["expected gain"])} for record in records]
        show(shown, shape)
        typer.echo(capitalized(advice) + ".")
    else:
        show(records, shape, document)
    if figure is not None:
        say(f"drew {figure}")


SHOWN = 10  # rows that are shown on a screen


def trust(table: Table, campaign: Config = None, seed: Seed = 0, shape: Shape = Format.table) -> None:
    """Whether to trust the model: every row predicted from all others, beside what was measured."""
    with working("learning from the table"):
        from bomi import workflow

        loaded = workflow.load(table, campaign, seed=seed)
        found = workflow.validations(loaded)
    if not found:
        raise BomiError(f"there is no model to judge yet: the method needs more rows with an outcome in {table}")
    ids = dict(zip(loaded.experiments.numbers, (row.id or "" for row in loaded.experiments.rows), strict=True))
    records: list[dict[str, Any]] = []
    documents: list[dict[str, Any]] = []
    surprises: list[dict[str, Any]] = []
    for one in found:
        named = {"outcome": one.outcome} if len(found) > 1 else {}
        lines: list[dict[str, Any]] = [
            {**named, "row": row["row"], "id": ids[int(row["row"])], **row} for row in one.records
        ]
        records += lines
        surprises += [line for line in lines if not line["5 %"] <= line["measured"] <= line["95 %"]]
        share = {"explained": one.explained, "error": one.error, "inside": one.inside, "trusted": one.trusted}
        rest = {"chance": one.chance, "wrong": list(one.wrong)}
        documents.append({"outcome": one.outcome, "sentence": one.sentence, **share, **rest, "rows": lines})
    if shape is not Format.table:
        show(records, shape, documents if len(documents) > 1 else documents[0])
        return
    for said in (said for one in found for said in (one.sentence, one.disbelief) if said):
        typer.echo(capitalized(said) + ".")
    if surprises and any(one.trusted for one in found):
        surprises.sort(key=lambda line: -abs(line["measured"] - line["expected"]) / (line["95 %"] - line["5 %"]))
        show(surprises[:SHOWN], shape, title="Outside their intervals, the most surprising first")
        more = f", and {len(surprises) - SHOWN} more; --format csv has them all" if len(surprises) > SHOWN else ""
        say(f"about one in ten lies outside by chance; the others deserve a second look{more}")


def plot(
    table: Table,
    folder: Annotated[Path, typer.Option("--output", "-o", help="The folder for the figures.")] = Path("figures"),
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """Figures as PNG and SVG: outcomes over time, gaps, slices and a map, what matters, whether to trust it."""
    with working("learning from the table") as update:
        from bomi import workflow
        from bomi.analysis import plots

        loaded = workflow.load(table, campaign, seed=seed)
        files, left_out = plots.save_all(
            loaded.optimizer,
            folder,
            labels=workflow.labels(loaded),
            done=lambda name: update(f"drew {name}"),
        )
    if not files:
        raise BomiError("\n".join(left_out))
    records = [{"file": str(file)} for file in files]
    show(records, shape, records)
    for reason in left_out:
        say(reason)


def report(
    table: Table,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="An .html file, or a .pdf where Chromium or Chrome is installed.")
    ] = Path("report.html"),
    count: Annotated[int, typer.Option("--count", "-n", min=0, max=50, help="How many experiments to suggest.")] = 3,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """One page for the group meeting: the question, the data, what is believed and how far, and what to do next."""
    with working("learning from the table") as update:
        from bomi import workflow
        from bomi.campaign.printed import write_page
        from bomi.report import report as make

        loaded = workflow.load(table, campaign, seed=seed)
        write_page(output, make(loaded, suggestions=count, done=update))
    show([{"file": str(output)}], shape, {"file": str(output)})
