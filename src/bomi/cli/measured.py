"""What is measured and cannot be set: `bomi measured`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bomi.cli.console import say, working
from bomi.cli.options import Config, Format, Seed, Shape, Table, figure_option
from bomi.cli.printing import records_of, save_figure, show
from bomi.errors import BomiError


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
