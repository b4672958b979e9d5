"""Commands about what nobody sets: `equipment`, `groups` and `measured`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bomi.cli.console import say, working
from bomi.cli.options import Config, Format, Seed, Shape, Table, figure_option
from bomi.cli.printing import records_of, save_figure, show, with_shares, without_empty
from bomi.errors import BomiError


def equipment(
    table: Table,
    figure: Annotated[Path | None, figure_option("Where to save a figure of what was asked and done.")] = None,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """How often each parameter is lost or strays from what was asked, how far, and what better control is worth."""
    with working("learning from the table"):
        from bomi import workflow
        from bomi.analysis import equipment_plot

        loaded = workflow.load(table, campaign, seed=seed)
        frame = loaded.optimizer.execution()
        records = records_of(frame)
        if figure is not None:
            figure = save_figure(equipment_plot.equipment(loaded.optimizer), figure)
    shown = with_shares(records, "instead")
    if shape is Format.table:
        shown = without_empty(shown, ["above", "5 %", "50 %", "95 %", "instead"])
    show(shown, shape, records)
    if not any(record["asked"] for record in records):
        say(f"{table} does not say what was asked: columns such as asked.{records[0]['parameter']} do")
    elif not any(record["strayed"] > 0 for record in records):
        say("as far as is known, everything was done as asked")
    if figure is not None:
        say(f"drew {figure}")


def groups(
    table: Table,
    outcome: Annotated[str | None, typer.Option(help="One of several outcomes; the first if not given.")] = None,
    figure: Annotated[Path | None, figure_option("Where to save a figure of the offsets and the drift.")] = None,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """By how much each day, lot or operator moves the outcome, and how it drifts, whatever is set."""
    with working("learning from the table"):
        from bomi import workflow
        from bomi.analysis import conditions_plot

        loaded = workflow.load(table, campaign, seed=seed)
        if not loaded.campaign.space.conditions:
            raise BomiError(
                'the campaign names no groups and no drift; write [groups] with columns = ["day"], or [drift] with '
                'column = "date"'
            )
        offsets, drift = loaded.optimizer.offsets(outcome), loaded.optimizer.drift(outcome)
        said = loaded.optimizer.conditions(outcome)
        if figure is not None:
            figure = save_figure(conditions_plot.conditions(loaded.optimizer, outcome), figure)
    records, changes = records_of(offsets), records_of(drift)
    document = {"offsets": records, "drift": changes, "sentences": said}
    every = max(len(changes) // 10, 1) if shape is Format.table else 1
    show(records or changes[::every], shape, document)
    for sentence in said:
        say(sentence)
    if figure is not None:
        say(f"drew {figure}")


def measured(
    table: Table,
    parameter: Annotated[
        str | None, typer.Argument(metavar="PARAMETER", help="The measured parameter; needed if there are several.")
    ] = None,
    figure: Annotated[Path | None, figure_option("Where to save a figure of how the best setting moves.")] = None,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """How the best setting moves with what is measured and cannot be set, and what controlling that is worth."""
    with working("learning from the table"):
        from bomi import workflow
        from bomi.analysis import measured as analysis

        loaded = workflow.load(table, campaign, seed=seed)
        names = loaded.optimizer.space.measured
        if parameter is None and len(names) != 1:
            known = f"name one of {', '.join(names)}" if names else 'write role = "measured" in its section'
            raise BomiError(f"{len(names) or 'no'} parameters are measured; {known}")
        found = analysis.moved(loaded.optimizer, parameter or names[0])
        if figure is not None:
            figure = save_figure(analysis.figure(loaded.optimizer, found), figure)
    records = records_of(found.table)
    worth = {"always": found.always, "adapted": found.adapted, "controlled": found.controlled}
    gains = {"knowing": found.knowing, "controlling": found.controlling}
    show(records, shape, {"parameter": found.parameter, "values": records, **worth, **gains})
    say(found.sentence)
    if figure is not None:
        say(f"drew {figure}")
