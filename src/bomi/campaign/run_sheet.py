"""A run sheet: the experiments that await their outcome, with boxes for what was done and what came out."""

from __future__ import annotations

from bomi.campaign.experiments import Experiments
from bomi.campaign.printed import heading, page, paragraph, table
from bomi.errors import BomiError
from bomi.space import cells


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
    for number, row in waiting:
        asked = {**row.recorded, **row.asked}
        inputs = [
            (f"{name} ({one.unit})" if one.unit else name, cells.text(asked[name]) if asked[name] is not None else "?")
            for name, one in parameters.items()
        ]
        outcomes = [f"{one.name} ({one.unit})" if one.unit else one.name for one in campaign.objectives]
        called = f"{row.id}, row {number}" if row.id else f"row {number}"
        lines = [*((name, value, None) for name, value in inputs), *((name, "", None) for name in outcomes)]
        parts.append(table(("", "asked", "done"), lines, called))
        parts.append(table(("date", "operator", "note"), [(None, None, None)]))
    return page(title, parts)
