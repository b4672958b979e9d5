"""`bomi groups`, `--given` of a group, and what `bomi check` says of groups and dates."""

import json

import numpy as np
import pytest

CAMPAIGN = """
[objective]
name = "strength"
unit = "MPa"

[parameters.temperature]
range = [120, 240]

[groups]
columns = ["lot"]

[drift]
column = "date"
"""
LOTS = {"A": 12.0, "B": -9.0, "C": 3.0}


@pytest.fixture
def lab(tmp_path):
    """Three lots of six rows each, and a lone one; two blank dates."""
    (tmp_path / "campaign.toml").write_text(CAMPAIGN, encoding="utf-8")
    rng = np.random.default_rng(0)
    lines = ["temperature,strength,lot,date"]
    for k in range(19):
        lot = "lone" if k == 18 else "ABC"[k % 3]
        temperature = round(float(rng.uniform(120, 240)))
        strength = 140 - 0.012 * (temperature - 185) ** 2 + LOTS.get(lot, 0.0) + rng.normal()
        date = "" if k in (4, 9) else f"{k + 1}/3/2026" if k < 12 else f"{k - 11}/4/2026"
        lines.append(f"{temperature},{strength:.2f},{lot},{date}")
    table = tmp_path / "lab.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return table


def test_groups_tells_the_offsets_and_the_drift_and_draws_them(bomi, lab, tmp_path):
    code, out, err = bomi("groups", lab, "--format", "json", "-o", tmp_path / "groups.png")
    assert code == 0, err
    found = json.loads(out)
    offsets = {line["group"]: line for line in found["offsets"]}
    assert list(offsets) == ["A", "B", "C", "lone", "(a new one)"]
    assert offsets["A"]["offset"] - offsets["B"]["offset"] == pytest.approx(21, abs=2)
    assert offsets["A"]["rows"] == 6
    assert offsets["A"]["sd"] < 6 < offsets["(a new one)"]["sd"]
    assert found["drift"][0]["time"] == "2026-03-01"
    assert abs(found["drift"][0]["change"]) < 3 * found["drift"][0]["sd"] + 2
    assert len(found["sentences"]) == 2
    assert "strength differs by about" in found["sentences"][0]
    assert "since 2026-03-01 strength has" in found["sentences"][1]
    assert (tmp_path / "groups.png").stat().st_size > 1000
    code, out, err = bomi("groups", lab)
    assert "offset" in out
    assert "drift: since" in err


def test_a_lot_is_given_to_predictions_and_written_beside_suggestions(bomi, lab):
    means = {}
    for lot in "AB":
        code, out, _ = bomi("predict", lab, "temperature=185", "--given", f"lot={lot}", "--format", "json")
        assert code == 0
        means[lot] = json.loads(out)["predicted"]["mean"]
    assert means["A"] - means["B"] == pytest.approx(21, abs=2)
    assert bomi("suggest", lab, "--append", "--given", "lot=B")[0] == 0
    header, *_, last = (line.split(",") for line in lab.read_text(encoding="utf-8").splitlines())
    assert last[header.index("lot")] == "B"
    assert last[header.index("strength")] == ""
    assert bomi("best", lab, "--given", "lot=B", "--format", "json")[0] == 0
    code, _, err = bomi("predict", lab, "temperature=185", "--given", "temperature=3")
    assert code == 2
    assert "names groups and the time" in err


def test_check_tells_of_groups_and_dates(bomi, lab):
    code, _, err = bomi("check", lab)
    assert code == 0
    said = " ".join(err.split())
    assert "'lot': 'lone' has one row" in said
    assert "'date' is blank in 2 rows" in said
    assert "is read with the day first" in said
    text = lab.read_text(encoding="utf-8").replace(",B,", ",a,").replace(",C,", ",,")
    lab.write_text(text, encoding="utf-8")
    said = " ".join(bomi("check", lab)[2].split())
    assert "'A' and 'a' are two groups" in said
    assert "'lot' is blank in 6 rows: each of them is taken for a group of its own" in said


def test_a_date_that_is_none_is_an_error_with_its_row(bomi, lab):
    text = lab.read_text(encoding="utf-8").replace("7/3/2026", "soon")
    lab.write_text(text, encoding="utf-8")
    code, _, err = bomi("check", lab)
    said = " ".join(err.split())
    assert code == 2
    assert "row 8, column 'date': expected a date such as 2026-11-18, a number or a blank, but got 'soon'" in said


def test_a_campaign_without_groups_is_told_how_to_name_them(bomi, lab):
    path = lab.parent / "campaign.toml"
    path.write_text(CAMPAIGN.partition("[groups]")[0], encoding="utf-8")
    code, _, err = bomi("groups", lab)
    assert code == 2
    assert "[groups] with columns" in " ".join(err.split())
