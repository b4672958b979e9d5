import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bomi
from bomi import saving
from bomi.errors import BomiError, FileError, MethodError
from bomi.model.surrogates import PlainGP

SPACE = bomi.Space(
    {
        "temperature": bomi.Real(120, 240, unit="°C"),
        "hours": bomi.Real(0.5, 100, log=True),
        "grade": bomi.Ordinal([1, 2, 5], default=2),
        "quench": ["water", "oil", True, 3],
        "passes": bomi.Integer(1, 9, step=2),
    },
    constraints=[bomi.Linear({"temperature": 1, "passes": 10}, max=300)],
)
ROWS = [
    {"temperature": 180, "hours": 2, "grade": 1, "quench": "oil", "passes": 3, "hardness": 131, "cost": 4},
    {"temperature": None, "hours": 12, "grade": "?", "quench": True, "passes": None, "hardness": 148, "cost": None},
    {"temperature": "150±8", "hours": "4..12", "grade": 5, "quench": None, "passes": 9, "hardness": 118, "cost": 3},
    {"temperature": 230, "hours": 1, "grade": 2, "quench": 3, "passes": 1, "hardness": "failed", "cost": None},
    {"temperature": 235, "hours": 1, "grade": 2, "quench": "oil", "passes": 1, "hardness": "<90", "cost": None},
    {"temperature": 250, "hours": 70, "grade": 2, "quench": "oil", "passes": 1, "hardness": 99, "cost": 2.5},
]


def campaign(**settings):
    """A campaign with every kind of cell, row and parameter."""
    goals = {"hardness": "maximize", "cost": ("target", 3.0)}
    optimizer = bomi.Optimizer(SPACE, objective=goals, seed=7, **settings)
    optimizer.tell(pd.DataFrame(ROWS), out_of_bounds="keep")
    optimizer.tell(optimizer.ask(), {"hardness": 140.0, "cost": 3.5}, actual={"temperature": None}, sd={"cost": 0.5})
    optimizer.exclude(row=5)
    optimizer.withdraw(optimizer.ask())
    return optimizer


def test_the_same_suggestion_after_loading(tmp_path):
    optimizer = campaign(worlds=3)
    pending = optimizer.ask()
    optimizer.save(tmp_path / "campaign.json")
    loaded = bomi.Optimizer.load(tmp_path / "campaign.json")
    assert loaded.observations.rows == optimizer.observations.rows
    assert (loaded.space, loaded.objectives, loaded.method) == (SPACE, optimizer.objectives, optimizer.method)
    for one in (optimizer, loaded):  # which went on with its warm chains, had it not been saved
        one.tell(pending, {"hardness": 141.0, "cost": 3.1})
    first, second = optimizer.ask(2), loaded.ask(2)
    assert first == second
    assert first[0].predicted is not None
    assert first[0].id == "10"  # 8 was withdrawn, 9 told after loading
    pd.testing.assert_frame_equal(optimizer.gaps(), loaded.gaps())


def test_what_is_saved_is_saved_alike_again(tmp_path):
    campaign(method="mean").save(tmp_path / "first.json")
    bomi.Optimizer.load(tmp_path / "first.json").save(tmp_path / "second.json")
    assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()


@pytest.mark.parametrize(
    ("settings", "spec"),
    [
        ({}, {"name": "posterior"}),
        ({"method": "bomi", "worlds": 7}, {"name": "bomi", "settings": {"worlds": 7}}),
        ({"method": "bomi", "acquisition": "ei"}, {"name": "bomi", "acquisition": "ei"}),
        ({"method": bomi.method("knn", length_bounds=(0.1, 2.0))}, None),
    ],
)
def test_a_method_is_saved_by_what_differs(tmp_path, settings, spec):
    optimizer = bomi.Optimizer({"x": (0, 1)}, seed=0, **settings)
    optimizer.save(tmp_path / "x.json")
    assert spec in (json.loads((tmp_path / "x.json").read_text())["method"], None)
    assert bomi.Optimizer.load(tmp_path / "x.json").method == optimizer.method


@pytest.mark.parametrize("part", [{"surrogate": PlainGP()}, {"name": "mine"}])
def test_a_method_with_parts_of_ones_own_is_refused(tmp_path, part):
    own = bomi.Optimizer({"x": (0, 1)}, method=replace(bomi.METHODS["posterior"], **part))
    with pytest.raises(MethodError, match="save frame"):
        own.save(tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()


def test_decimals_are_kept(tmp_path):
    optimizer = bomi.Optimizer({"x": bomi.Real(0, 1, decimals=1)}, method="random", seed=0)
    optimizer.save(tmp_path / "x.json")
    assert bomi.Optimizer.load(tmp_path / "x.json").ask() == optimizer.ask()


def test_a_column_beside_ours_is_saved_as_text(tmp_path):
    optimizer = bomi.Optimizer({"x": (0, 1)}, method="mean", seed=0)
    day = pd.Timestamp("2026-11-16")
    beside = {"day": [day, None], "of": [np.int64(3), np.nan], "note": [["a"], "b"]}
    optimizer.tell(pd.DataFrame({"x": [0.1, 0.2], "y": [1.0, 2.0], **beside}))
    optimizer.save(tmp_path / "x.json")
    rows = json.loads((tmp_path / "x.json").read_text())["rows"]
    assert rows[0] == {"x": 0.1, "y": 1.0, "day": "2026-11-16 00:00:00", "of": 3.0, "note": "['a']"}
    assert "day" not in rows[1]


LEAST = {"format": "bomi-campaign", "version": 1, "parameters": {"x": {"range": [0, 1]}}, "objectives": {"y": {}}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, '"format": "bomi-campaign"'),
        ({"version": 2}, "a later bomi wrote version 2"),
        ({"version": "1"}, "must be a whole number"),
        ({"row": []}, "unknown key 'row'"),
        ({"rows": {"x": 1}}, "a list of mappings"),
        ({"rows": [{"x": 3.0}, {"x": "warm", "y": 1}]}, r"row 1, column 'x': .*'warm'"),
        ({"rows": [{"id": "a", "x": 0.1}, {"id": "a", "x": 0.2}]}, "is the id of row 0 too"),
        ({"method": {"name": "posteriour"}}, "did you mean 'posterior'"),
        ({"method": {"name": "bomi", "settings": {"word": 3}}}, "no setting 'word'"),
        ({"method": "bomi"}, "must be a mapping"),
        ({"parameters": {"x": {"range": [1, 0]}}}, r"x\.json: \[parameters\.x\] `low < high`"),
        ({"parameters": {"x": {"range": [0, 1], "decimals": 0.5}}}, "decimals must be a whole number"),
        ({"withdrawn": [1]}, "a list of ids"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, change, message):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({**LEAST, **change}))
    with pytest.raises(BomiError, match=message):
        bomi.Optimizer.load(path)


def test_a_file_need_not_have_rows(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(LEAST))
    assert set(bomi.Optimizer.load(path).ask()) == {"x"}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (None, "a file is named by a text or a path, but got None"),
        (b"x.json", "a file is named by a text or a path"),
        ("/no such folder/x.json", "there is no folder /no such folder"),
        ("x" * 300, "cannot be written|cannot be read"),
        ("x\0", "cannot be the name of a file"),
    ],
)
def test_a_name_that_is_none_is_refused(tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match=message):
        bomi.Optimizer({"x": (0, 1)}).save(path)
    with pytest.raises(FileError, match=message):
        bomi.Optimizer.load(path)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_json_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"format": ')
    with pytest.raises(FileError, match=r"x\.json is no valid JSON"):
        bomi.Optimizer.load(path)
    with pytest.raises(FileError, match="there is no file"):
        bomi.Optimizer.load(tmp_path / "y.json")


# --- the frame through other programs ---


def through_json(frame, folder):
    frame.to_json(folder / "x.json", orient="records", double_precision=15)
    return pd.read_json(folder / "x.json", orient="records", precise_float=True)


def through_csv(frame, folder):
    frame.to_csv(folder / "x.csv", index=False)
    return pd.read_csv(folder / "x.csv")


def through_parquet(frame, folder):
    pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    frame.to_parquet(folder / "x.parquet")
    return pd.read_parquet(folder / "x.parquet")


def through_polars(frame, folder):
    pytest.importorskip("pyarrow", reason="polars takes a table of pandas by pyarrow")
    return pytest.importorskip("polars", reason="polars is not installed").from_pandas(frame)


def through_polars_parquet(frame, folder):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    through_polars(frame, folder).write_parquet(folder / "x.parquet")
    return polars.read_parquet(folder / "x.parquet")


def through_pyarrow(frame, folder):
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed").Table.from_pandas(frame)


@pytest.mark.parametrize(
    "through",
    [through_json, through_csv, through_parquet, through_polars, through_polars_parquet, through_pyarrow],
    ids=lambda through: through.__name__.removeprefix("through_"),
)
def test_the_frame_comes_back_through_other_programs(tmp_path, through):
    optimizer = campaign(method="mean")
    optimizer.ask()
    again = bomi.Optimizer(SPACE, objective={one.name: one for one in optimizer.objectives}, method="mean", seed=7)
    again.tell(through(optimizer.frame(), tmp_path), out_of_bounds="keep")
    assert saving.records(again.observations) == saving.records(optimizer.observations)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_predict_takes_the_tables_of_other_programs(library):
    module = pytest.importorskip(library)
    optimizer = bomi.Optimizer({"x": (0, 1), "q": ["a", "b"]}, method="mean", seed=0)
    optimizer.tell(pd.DataFrame({"x": [0.1, 0.5, 0.9], "q": ["a", "b", "a"], "y": [1.0, 2.0, 1.5]}))
    settings = [{"x": 0.2, "q": "a"}, {"x": 0.7, "q": "b"}]
    columns = {"x": [0.2, 0.7], "q": ["a", "b"]}
    table = module.DataFrame(columns) if library == "polars" else module.table(columns)
    assert optimizer.predict(table) == optimizer.predict(settings)


def test_a_lazy_frame_is_no_table():
    polars = pytest.importorskip("polars")
    with pytest.warns(polars.exceptions.PerformanceWarning), pytest.raises(BomiError, match="a DataFrame of pandas"):
        bomi.Optimizer({"x": (0, 1)}).tell(polars.LazyFrame({"x": [0.5], "y": [1.0]}))


def test_descriptors_are_saved(tmp_path):
    table = {
        "water": {"polarity": 80},
        "ethanol": {"polarity": 24, "protic": 1},
        "hexane": {"polarity": 2, "protic": 0},
    }
    space = bomi.Space({"solvent": bomi.Categorical(list(table), descriptors=table), "x": (0, 1)})
    optimizer = bomi.Optimizer(space, seed=0)
    optimizer.save(tmp_path / "saved.json")
    assert bomi.Optimizer.load(tmp_path / "saved.json").space == space
