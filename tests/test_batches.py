"""Batches that share the value of a parameter, in Python, from a campaign and on the command line."""

import json
import sys

import pandas as pd
import pytest

import bomi
from bomi import cli, workflow
from bomi.campaign import Campaign, CampaignError
from bomi.errors import SuggestionError, TableError

SPACE = {"oven": (100, 200), "hours": (1, 10), "tray": ["top", "middle", "bottom"]}
ROWS = [(110, 2, "top"), (130, 5, "middle"), (150, 8, None), (170, 3, "bottom"), (190, 9, "top"), (160, 6, "middle")]


def told(**more):
    optimizer = bomi.Optimizer(SPACE, seed=0, **more)
    for oven, hours, tray in ROWS:
        optimizer.tell({"oven": oven, "hours": hours, "tray": tray}, -((oven - 155) ** 2) / 100 - (hours - 5) ** 2)
    return optimizer


@pytest.mark.parametrize("rows", [0, 6])
def test_a_batch_has_one_value_and_four_experiments(rows):
    optimizer = told() if rows else bomi.Optimizer(SPACE, seed=0)
    batch = optimizer.ask(4, same=["oven"])
    assert len({one["oven"] for one in batch}) == 1
    assert len({tuple(one.items()) for one in batch}) == 4
    assert len(optimizer.observations.pending) == 4
    assert batch[0] == told().ask() or not rows  # the first is the best there is
    assert len({one.id for one in batch}) == 4


def test_what_is_given_and_what_is_the_same_go_together():
    batch = told().ask(3, same=["oven"], given={"tray": "top"})
    assert {(one["tray"], one["oven"]) for one in batch} == {("top", batch[0]["oven"])}
    assert len({one["hours"] for one in batch}) == 3


def test_candidates_of_one_batch_share_the_value():
    library = pd.DataFrame(
        {"oven": [120, 120, 120, 150, 150, 150], "hours": [1, 4, 7, 2, 5, 8], "tray": ["top"] * 6}
    )  # fmt: skip
    batch = told().ask(3, same=["oven"], candidates=library)
    assert len({one["oven"] for one in batch}) == 1
    assert len({one.candidate for one in batch}) == 3
    with pytest.raises(SuggestionError, match=r"with oven = 1.0 for all 4: only 2 of 3 candidates are left"):
        told().ask(4, same=["oven"], candidates=library)


def test_nothing_is_asked_where_a_batch_cannot_be():
    optimizer = told()
    with pytest.raises(SuggestionError, match="for all 2: every parameter that can be set is given"):
        optimizer.ask(2, same=list(SPACE))
    assert not optimizer.observations.pending


@pytest.mark.parametrize(
    ("same", "message"),
    [(["ovem"], "'ovem'"), ([3], "must be a list of parameters"), (5, "must be a list of parameters")],
)
def test_names_that_are_none(same, message):
    with pytest.raises(TableError, match=message):
        told().ask(2, same=same)


def test_what_is_measured_cannot_be_kept():
    with pytest.raises(TableError, match="'damp' is measured"):
        bomi.Optimizer({"x": (0, 1), "damp": bomi.Measured(0, 1)}).ask(2, same=["damp"])


TOML = """
same_in_batch = ["oven"]

[objective]
name = "y"

[parameters.oven]
range = [100, 200]

[parameters.hours]
range = [1, 10]
"""


def test_a_campaign_says_what_its_batches_share(tmp_path, monkeypatch, capsys):
    (tmp_path / "campaign.toml").write_text(TOML, encoding="utf-8")
    table = tmp_path / "lab.csv"
    table.write_text("oven,hours,y\n110,2,5\n130,5,9\n150,,11\n170,3,8\n190,9,2\n", encoding="utf-8")
    found = workflow.suggest(table, count=3)
    assert len({one.suggestion["oven"] for one in found}) == 1
    text = Campaign.read(tmp_path / "campaign.toml").text()
    assert 'same_in_batch = ["oven"]' in text
    command = ["bomi", "suggest", str(table), "-n", "3", "--same", "hours", "--format", "json"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as left:
        cli.main()
    shown = json.loads(capsys.readouterr().out)
    assert not left.value.code
    assert len({one["setting"]["hours"] for one in shown}) == 1 < len({one["setting"]["oven"] for one in shown})
    (tmp_path / "campaign.toml").write_text(TOML.replace('["oven"]', '["ofen"]'), encoding="utf-8")
    with pytest.raises(CampaignError, match=r"same_in_batch .*'ofen'") as caught:
        Campaign.read(tmp_path / "campaign.toml")
    assert caught.value.faults[0].places == (("same_in_batch",),)
