"""What days, lots and time change, whatever is set: `bomi groups`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bomi.cli.console import say, working
from bomi.cli.options import Config, Format, Seed, Shape, Table, figure_option
from bomi.cli.printing import records_of, save_figure, show
from bomi.errors import BomiError


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
    show(
        records or changes[:: max(len(changes) // 10, 1)] if shape is Format.table else records or changes,
        shape,
        document,
    )
    for sentence in said:
        say(sentence)
    if figure is not None:
        say(f"drew {figure}")
