"""Cells that look wrong."""

import itertools

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
        ("hardness", lambda value: value + 90, 10.0),
        ("hours", lambda value: value + 6 if value < 8 else value - 6, 1.5),  # as its row does not have it
    ],
)
def test_a_wrong_cell_comes_first_with_what_it_may_have_been(column, change, near):
    frame, right = wrong(column, change)
    first = suspects(frame).iloc[0]
    assert (first["row"], first["column"], first["recorded"]) == (17, column, frame.loc[17, column])
    assert first["probability"] > 0.9
    assert first["likely"] == pytest.approx(right, abs=near)


def numbers(change):
    """Three inputs, one row changed, and which cells look wrong."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(20, 60, 50), "b": rng.uniform(40, 80, 50), "c": rng.uniform(100, 200, 50)})
    frame.loc[17, ["a", "b"]] = [25.0, 75.0]
    frame["y"] = np.sin(frame.a / 10) + (frame.b / 40) ** 2 + frame.c / 100 + 0.02 * rng.normal(size=50)
    right = frame.loc[17].copy()
    change(frame, right)
    optimizer = bomi.Optimizer({name: (frame[name].min(), frame[name].max()) for name in "abc"}, objective="y", seed=0)
    optimizer.tell(frame)
    found = optimizer.suspects()
    return right, found[found["probability"] >= 0.5].reset_index(drop=True)


def test_two_swapped_cells_are_named_together_with_what_they_were():
    def swap(frame, right):
        frame.loc[17, ["a", "b"]] = [right["b"], right["a"]]

    right, found = numbers(swap)
    likely = {(row, column): value for row, column, value in found[["row", "column", "likely"]].to_numpy()}
    assert likely == {(17, "a"): pytest.approx(right["a"]), (17, "b"): pytest.approx(right["b"])}


@pytest.mark.parametrize("column", ["b", "c", "y"])
def test_a_slipped_decimal_point_is_put_back(column):
    def slip(frame, right):
        frame.loc[17, column] = right[column] / 10

    right, found = numbers(slip)
    assert list(zip(found["row"], found["column"], strict=True)) == [(17, column)]
    assert found["likely"][0] == pytest.approx(right[column], rel=1e-6 if column != "y" else 0.05)


@pytest.mark.parametrize("design", ["factorial", "center", "one at a time", "zeros", "skewed"])
def test_designs_with_few_levels_and_skewed_columns_raise_no_alarm(design):
    rng = np.random.default_rng(0)
    levels = np.array(list(itertools.product([10.0, 20], [1.0, 3], [100.0, 300])))
    axial = np.array([50.0, 5, 20]) + np.array([[10.0, 1, 5]]) * np.array(
        [*itertools.product([-1, 1], repeat=3), *1.68 * np.eye(3), *-1.68 * np.eye(3), *np.zeros((6, 3))]
    )
    single = np.tile([50.0, 5, 20], (20, 1)) * np.where(np.arange(20)[:, None] % 3 == np.arange(3), 1.5, 1.0)
    zeros = np.where(rng.uniform(size=(50, 3)) < 0.6, 0.0, rng.uniform(0.5, 2, (50, 3)))
    tables = {"factorial": np.tile(levels, (4, 1)), "center": axial, "one at a time": single, "zeros": zeros,
              "skewed": np.exp(0.7 * rng.normal(size=(50, 3)))}  # fmt: skip
    frame = pd.DataFrame(tables[design], columns=list("abc"))
    scaled = (frame - frame.min()) / (frame.max() - frame.min())
    frame["y"] = np.sin(3 * scaled.a) + scaled.b**2 - scaled.c * scaled.a + 0.02 * rng.normal(size=len(frame))
    optimizer = bomi.Optimizer({name: (frame[name].min(), frame[name].max()) for name in "abc"}, objective="y", seed=0)
    optimizer.tell(frame)
    assert (optimizer.suspects()["probability"] < 0.5).all()


def test_a_wrong_category_is_told_by_the_outcome():
    frame, right = wrong("quench", lambda value: "oil" if value == "water" else "water")
    found = suspects(frame)
    mine = found[(found["row"] == 17) & (found["column"] == "quench")]
    assert len(mine) == 1
    assert mine["likely"].iloc[0] == right
    assert found["row"].iloc[0] == 17


def test_what_is_not_looked_at_could_not_matter(monkeypatch):
    def swap(frame, right):
        frame.loc[17, ["a", "b"]] = [right["b"], right["a"]]

    _, found = numbers(swap)
    monkeypatch.setattr("bomi.answers.suspects.NEGLIGIBLE", 1e-300)  # every story of every row
    pd.testing.assert_frame_equal(found, numbers(swap)[1], atol=1e-3)


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
