"""A run sheet: the experiments that await their outcome, with boxes for what was done and what came out."""

from __future__ import annotations

from bomi.campaign.experiments import Experiments
from bomi.campaign.printed import heading, page, paragraph, side_by_side, table
from bomi.errors import BomiError
from bomi.space import cells
from bomi.space.units import with_unit


def run_sheet(experiments: Experiments) -> str:
    """The page to print, take to the bench and fill in."""
    campaign = experiments.campaign
    waiting = [(number, row) for number, row in zip(experiments.numbers, experiments.rows, strict=True) if row.pending]
    if not waiting:
        raise BomiError("no row awaits its outcome; `bomi suggest TABLE --append` adds some, then print the run sheet")
    parameters = campaign.space.parameters
    title = f"Run sheet: {campaign.wish}"
    parts = [
        heading(title, 1),
        paragraph(f"{experiments.sheet.path.name}, {len(waiting)} to run. Where something differed from what is asked, "
                  "write what it was, or ? if nobody knows."),
    ]  # fmt: skip
    each = []
    for number, row in waiting:
        asked = {**row.recorded, **row.asked}
        inputs = [
            (with_unit(name, one.unit), cells.text(asked[name]) if asked[name] is not None else "?")
            for name, one in parameters.items()
        ]
        outcomes = [with_unit(one.name, one.unit) for one in campaign.objectives]
        called = f"{row.id} (row {number})" if row.id else f"row {number}"
        lines = [*((name, value, None) for name, value in inputs), *((name, "", None) for name in outcomes)]
        notes = table(("date", "operator"), [(None, None)]), table(("note",), [(None,)])
        each.append([table(("", "asked", "done"), lines, called), *notes])
    return page(title, [*parts, side_by_side(each)])
