"""Something to start from: an empty table for a campaign, and a small example of both."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from bomi.campaign import storage
from bomi.campaign.toml import NAME, Campaign
from bomi.campaign.workbook import READERS
from bomi.errors import FileError
from bomi.space.units import find, in_header

EXAMPLE_TABLE = """\
id,temperature,time,quench,strength,note
1,150,2,oil,341.2,
2,,8,water,402.7,thermostat log lost
3,180±8,4,oil,418.9,read off the old dial
4,200,1,air,366.0,
5,170,,oil,421.5,time not written down
6,220,2,water,337.4,
7,160..175,12,oil,431.8,between two readings
8,140,16,air,388.3,
9,190,0.5,water,failed,cracked in the quench
10,210,6,?,359.6,
"""

EXAMPLE_CAMPAIGN = """\
# What bomi may vary, and what it should reach.

[objective]
name = "strength"
goal = "maximize"  # maximize or minimize
unit = "MPa"

[parameters.temperature]
unit = "°C"
step = 5
range = [120, 240]

[parameters.time]
scale = "log"
unit = "h"
range = [0.5, 100]

[parameters.quench]
values = ["oil", "water", "air"]
"""


def empty_table(campaign: Campaign) -> str:
    """The header of a campaign's table, with a row of units where the names have none, and no experiment yet."""
    units = {name: p.unit for name, p in campaign.space.parameters.items()}
    units |= {objective.name: objective.unit for objective in campaign.objectives}
    names = [campaign.id_column, *units, "note"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    shown = {name: unit for name, unit in units.items() if unit and not in_header(name) and find(unit)}
    if len(shown) > 1:
        writer.writerow([f"[{shown[name]}]" if name in shown else "" for name in names])
    return text.getvalue()


def new_table(table: Path, campaign: Path | None = None) -> None:
    """Write an empty table for the campaign beside it, or for the one given; a table that is there is left alone."""
    path = table.parent / NAME if campaign is None else campaign
    if table.exists():
        raise FileError(f"{table} is there already and was left as it is")
    if table.suffix.lower() in READERS:
        raise FileError(f"a new table is a text file; call it {table.stem}.csv")
    if not path.exists():
        raise FileError(f"there is no file {table}, and no {path} to make one from")
    storage.replace_bytes(table, empty_table(Campaign.read(path)).encode())
