"""`bomi equipment` and `bomi best --risk`, on a furnace that overshoots when hot."""

import json

import pytest

from bomi import workflow
from bomi.web import service
from bomi.web.stores import Folder

CAMPAIGN = """
[parameters.temperature]
range = [120, 260]
unit = "°C"

[objective]
name = "hardness"
goal = "maximize"
"""


@pytest.fixture
def furnace(tmp_path):
    """A table of twelve requests, every third of which overshoots; one value is lost."""
    (tmp_path / "campaign.toml").write_text(CAMPAIGN, encoding="utf-8")
    rows = []
    for k, asked in enumerate(range(125, 245, 10)):
        done = asked + (0.2 * (asked - 120) if k % 3 == 0 else 0)
        rows.append(f"{'' if k == 4 else done},{asked},{150 - 0.02 * (done - 200) ** 2 - 2 * max(done - 200, 0)}")
    table = tmp_path / "lab.csv"
    table.write_text("\n".join(["temperature,asked.temperature,hardness", *rows]) + "\n", encoding="utf-8")
    return table


def test_equipment_says_how_often_how_far_and_what_control_is_worth(bomi, furnace, tmp_path):
    code, out, err = bomi("equipment", furnace, "--format", "json", "-o", tmp_path / "asked.png")
    (line,) = json.loads(out)
    assert code == 0
    assert line["parameter"] == "temperature"
    assert line["asked"] == 12
    assert line["lost"] == pytest.approx(1 / 12)
    assert 0.2 < line["strayed"] < 0.4
    assert line["above"] > 0.9
    assert line["worth"] >= 0
    assert line["instead"] is None
    assert (tmp_path / "asked.png").stat().st_size > 1000
    assert "asked.png" in err
    assert "strayed" in bomi("equipment", furnace)[1]


def test_a_table_that_does_not_say_what_was_asked_is_told_how_to(bomi, furnace):
    text = furnace.read_text(encoding="utf-8").splitlines()
    furnace.write_text("\n".join(",".join(line.split(",")[::2]) for line in text) + "\n", encoding="utf-8")
    code, _, err = bomi("equipment", furnace)
    assert code == 0
    assert "columns such as asked.temperature do" in err


def test_the_best_as_done_and_for_each_risk(bomi, furnace):
    code, out, err = bomi("best", furnace)
    assert code == 0
    assert "if done exactly" in out
    assert "comes from what the equipment makes of the request" in err
    for risk in ("expected", "nominal", "worst:0.1"):
        found = json.loads(bomi("best", furnace, "--risk", risk, "--format", "json")[1])["recommended"]
        assert set(found["as_done"]) == {"mean", "sd", "execution"}
    code, _, err = bomi("best", furnace, "--risk", "worst:much")
    assert code == 2
    assert "worst:share" in err


def test_the_overview_and_the_report_say_it_in_words(bomi, furnace, tmp_path):
    (said,) = workflow.overview(workflow.load(furnace)).equipment
    assert said.startswith("temperature strays in ")
    assert " of 12 requests, by +" in said
    assert " °C; holding it exactly is worth " in said
    assert bomi("report", furnace, "-o", tmp_path / "report.html")[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert said[1:] in page
    assert "if it is done exactly" in page


def test_programs_ask_for_a_risk(furnace, tmp_path):
    optimizer = workflow.load(furnace).optimizer
    optimizer.save(tmp_path / "furnace.json")
    expected, nominal = (service.best(Folder(tmp_path), "furnace", risk)[0] for risk in ("expected", "nominal"))
    assert expected["as_done"]["mean"] >= nominal["as_done"]["mean"]
    assert set(service.ask(Folder(tmp_path), "furnace", 1)[0]) == {"id", "setting", "predicted", "as_done", "note"}
