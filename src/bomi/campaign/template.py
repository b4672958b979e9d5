"""Something to start from: an empty table for a campaign, and a small example of both."""

from __future__ import annotations

import csv
import io

from bomi.campaign.toml import Campaign
from bomi.space import IDENTITY

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
    """The header of a campaign's table, without a row yet."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([IDENTITY, *campaign.space.names, *campaign.outcomes, "note"])
    return text.getvalue()
