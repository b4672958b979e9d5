"""How the optimum moves with a measured input, where that is known by a formula."""

import json
import sys

import numpy as np
import pytest

import bomi
from bomi import cli
from bomi.analysis import drawing, measured
from bomi.errors import BomiError


def quality(temperature, humidity):
    """The best temperature is 140 + humidity; the drier the better: 90 - humidity / 10 at the best."""
    return 90 - humidity / 10 - ((temperature - 140 - humidity) / 15) ** 2


@pytest.fixture(scope="module")
def dryer():
    optimizer = bomi.Optimizer(
        {"temperature": (120, 240), "humidity": bomi.Measured(20, 80)}, objective="quality", seed=0
    )
    for temperature, humidity in np.random.default_rng(0).uniform([120, 20], [240, 80], (28, 2)):
        optimizer.tell({"temperature": temperature, "humidity": humidity}, quality(temperature, humidity))
    return optimizer


def test_the_optimum_follows_the_formula(dryer):
    found = measured.moved(dryer, "humidity")
    humidity = found.table["humidity"].to_numpy()
    assert np.abs(found.table["temperature"] - 140 - humidity).max() < 6
    assert np.abs(found.table["expected"] - (90 - humidity / 10)).max() < 1
    seen = dryer.frame()["humidity"]
    fixed = dryer.best().setting["temperature"]
    always = quality(fixed, seen).mean()
    assert found.always == pytest.approx(always, abs=0.6)
    assert found.adapted == pytest.approx((90 - seen / 10).mean(), abs=0.6)
    assert found.controlled == pytest.approx(90 - seen.min() / 10, abs=0.8)
    assert found.best_value < 30
    assert found.knowing == pytest.approx(found.adapted - found.always)
    assert found.controlling > found.knowing > 0
    assert f"worth {found.knowing:.2g} of quality" in found.sentence


def test_the_figure_has_a_panel_for_the_outcome_and_for_each_setting(dryer, tmp_path):
    drawn = measured.figure(dryer, measured.moved(dryer, "humidity"))
    assert [axes.get_ylabel() for axes in drawn.axes if axes.get_visible()] == ["quality", "best temperature"]
    (path,) = drawing.save(drawn, tmp_path / "moved", ["png"])
    assert path.stat().st_size > 10_000


def test_of_categories_each_that_was_seen_has_a_line():
    optimizer = bomi.Optimizer({"x": (0, 1), "lot": bomi.Measured(["A", "B", "C"])}, goal="minimize", seed=0)
    for k, x in enumerate(np.linspace(0, 1, 12)):
        lot = "AB"[k % 2]
        optimizer.tell({"x": x, "lot": lot}, (x - {"A": 0.2, "B": 0.8}[lot]) ** 2 + (lot == "B"))
    found = measured.moved(optimizer, "lot")
    assert list(found.table["lot"]) == ["A", "B"]
    assert found.table["x"].tolist() == pytest.approx([0.2, 0.8], abs=0.15)
    assert found.best_value == "A"
    assert found.controlling > 0.3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: measured.moved(o, "temperature"), "'temperature' is no measured parameter; measured are humidity"),
        (lambda o: measured.moved(bomi.Optimizer({"x": (0, 1)}), "x"), "no parameter is measured"),
        (
            lambda o: measured.moved(
                bomi.Optimizer({"x": (0, 1), "h": bomi.Measured(0, 1)}, objective={"a": "maximize", "b": "minimize"}),
                "h",
            ),
            "a single outcome",
        ),
    ],
)
def test_what_cannot_be_told_is_one_line(dryer, change, message):
    with pytest.raises(BomiError, match=message):
        change(dryer)


def test_the_command_prints_the_table_and_what_it_is_worth(dryer, tmp_path, monkeypatch, capsys):
    dryer.frame()[["temperature", "humidity", "quality"]].to_csv(tmp_path / "lab.csv", index=False)
    sections = "[parameters.temperature]\nrange = [120, 240]\n[parameters.humidity]\nrange = [20, 80]\n"
    text = f'[objective]\nname = "quality"\n{sections}role = "measured"\n'
    (tmp_path / "campaign.toml").write_text(text, encoding="utf-8")
    command = ["bomi", "measured", str(tmp_path / "lab.csv"), "-o", str(tmp_path / "moved.png"), "--format", "json"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as left:
        cli.main()
    output = capsys.readouterr()
    assert not left.value.code
    told = json.loads(output.out)
    assert told["controlling"] > told["knowing"] > 0
    assert len(told["values"]) == measured.VALUES
    assert "knowing humidity before choosing is worth" in output.err
    assert (tmp_path / "moved.png").stat().st_size > 10_000
