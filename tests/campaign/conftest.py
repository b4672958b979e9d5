from pathlib import Path

import pytest

from bomi.campaign import Campaign

TOML = """
[objective]
name = "strength"

[parameters.temperature]
range = [20, 400]
unit = "°C"

[parameters.time]
range = [60, 21600]
scale = "log"

[parameters.passes]
range = [1, 8]
type = "integer"

[parameters.quench]
values = ["water", "oil", "air"]
"""

TABLE = """id,temperature,time,passes,quench,strength,note
1,300,600,1,water,180.5,first
2,,900,2,oil,170,"no thermometer, sorry"
3,300±15,,3,air,failed,
4,290..310,1200,?,NA,,pending
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with a campaign and its table, whose path it is."""
    (tmp_path / "campaign.toml").write_text(TOML, encoding="utf-8")
    table = tmp_path / "lab.csv"
    table.write_bytes(TABLE.encode())
    return table


@pytest.fixture
def campaign(lab: Path) -> Campaign:
    return Campaign.read(lab.parent / "campaign.toml")
