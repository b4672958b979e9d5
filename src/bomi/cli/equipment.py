"""What the equipment does: `bomi equipment`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from bomi.cli.console import say, working
from bomi.cli.options import Config, Format, Seed, Shape, Table, figure_option
from bomi.cli.printing import records_of, save_figure, show
from bomi.results import missing


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
    shown = [{**record, "instead": _swaps(record["instead"])} for record in records]
    if shape is Format.table:
        empty = {
            name for name in ("above", "5 %", "50 %", "95 %", "instead") if all(missing(one[name]) for one in shown)
        }
        shown = [{name: value for name, value in record.items() if name not in empty} for record in shown]
    show(shown, shape, [{**record, "instead": _document(record["instead"])} for record in records])
    if not any(record["asked"] for record in records):
        say(f"{table} does not say what was asked: columns such as asked.{records[0]['parameter']} do")
    elif not any(record["strayed"] > 0 for record in records):
        say("as far as is known, everything was done as asked")
    if figure is not None:
        say(f"drew {figure}")


def _document(swaps: object) -> Mapping[str, float] | None:
    return swaps if isinstance(swaps, Mapping) else None


def _swaps(swaps: object) -> str | None:
    """Swapped categories as one text, the commonest first."""
    each = _document(swaps) or {}
    return ", ".join(f"{name} {share:.0%}" for name, share in each.items()) or None
