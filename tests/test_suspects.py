"""Cells that look wrong."""

import numpy as np
import pandas as pd
import pytest

import bomi
from bomi import workflow


def table(rows=40, seed=0):
    """A second input that follows the first, a category that matters, and a smooth outcome."""
    rng = np.random.default_rng(seed)
    heat, kind = rng.uniform(120, 240, rows), rng.choice(["oil", "water"], rows)
    hours = 2 + (240 - heat) / 12 + 0.3 * rng.normal(size=rows)
    outcome = 100 + 30 * np.sin(heat / 40) + 15 * (kind == "oil") + 0.5 * rng.normal(size=rows)
    return pd.DataFrame({"heat": heat.round(1), "hours": hours.round(2), "quench": kind, "hardness": outcome.round(1)})


def suspects(frame):
    space = {"heat": (100, 2400), "hours": (0, 15), "quench": bomi.Categorical(["oil", "water"])}
    optimizer = bomi.Optimizer(space, objective="hardness", seed=0)
    optimizer.tell(frame)
    before = optimizer.frame()
    found = optimizer.suspects()
    pd.testing.assert_frame_equal(optimizer.frame(), before)  # no cell is changed
    return found


def test_a_clean_table_has_no_likely_suspect():
    assert (suspects(table())["probability"] < 0.5).all()


def wrong(column, change, row=17):
    frame = table()
    right = frame.loc[row, column]
    frame.loc[row, column] = change(right)
    return frame, right


@pytest.mark.parametrize(
    ("column", "change", "near"),
    [
        ("heat", lambda value: 10 * value, 30.0),
        ("hardness", lambda value: 10 * value, 10.0),
        ("hours", lambda value: value + 6 if value < 8 else value - 6, 1.5),  # as its row does not have it
    ],
)
def test_a_wrong_cell_comes_first_with_what_it_may_have_been(column, change, near):
    frame, right = wrong(column, change)
    first = suspects(frame).iloc[0]
    assert (first["row"], first["column"], first["recorded"]) == (17, column, frame.loc[17, column])
    assert first["probability"] > 0.9
    assert first["likely"] == pytest.approx(right, abs=near)


def test_a_wrong_category_is_told_by_the_outcome():
    frame, right = wrong("quench", lambda value: "oil" if value == "water" else "water")
    found = suspects(frame)
    mine = found[(found["row"] == 17) & (found["column"] == "quench")]
    assert len(mine) == 1
    assert mine["likely"].iloc[0] == right
    assert found["row"].iloc[0] == 17


def test_a_gap_is_no_suspect():
    frame, _ = wrong("heat", lambda value: None)
    assert not ((suspects(frame)["row"] == 17) & (suspects(frame)["column"] == "heat")).any()


def test_check_names_the_suspects(tmp_path):
    frame, _ = wrong("heat", lambda value: 10 * value)
    frame.to_csv(tmp_path / "lab.csv", index=False)
    (tmp_path / "campaign.toml").write_text(
        '[objective]\nname = "hardness"\n[parameters.heat]\nrange = [100, 2400]\nunit = "°C"\n'
        '[parameters.hours]\nrange = [0, 15]\n[parameters.quench]\nvalues = ["oil", "water"]\n',
        encoding="utf-8",
    )
    first = workflow.suspects(workflow.load(tmp_path / "lab.csv"))[0]
    assert first["row"] == 19  # the line in the file
    assert first["said"].startswith(f"row 19: heat {frame.loc[17, 'heat']:g} °C, more likely about 1")
    assert first["said"].endswith(f": probability {first['probability']:.2f}")
