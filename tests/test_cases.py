"""The case studies' code, on a made-up folder of the same shape as the tables that others published."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

PERF = Path(__file__).parent.parent / "perf"
TEMPERATURE = "PROPERTY: Test temperature ($^\\circ$C)"


@pytest.fixture(scope="module")
def cases():
    sys.path.insert(0, str(PERF))
    try:
        import cases
    finally:
        sys.path.remove(str(PERF))
    return cases


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    n = 30
    shares = rng.dirichlet(np.ones(4), n)
    temperature = rng.uniform(20, 1000, n)
    frame = pd.DataFrame(
        {
            "FORMULA": [f"Al{a:.2f} Co{b:.2f} Fe{c:.2f} Ni{d:.2f}" for a, b, c, d in shares],
            "PROPERTY: Processing method": np.where(rng.random(n) < 0.3, None, rng.choice(["CAST", "WROUGHT"], n)),
            "PROPERTY: grain size ($\\mu$m)": np.where(rng.random(n) < 0.8, np.nan, 10 ** rng.uniform(0, 2, n)),
            "PROPERTY: Type of test": rng.choice(["T", "C"], n),
            TEMPERATURE: np.where(rng.random(n) < 0.3, np.nan, temperature),
            "PROPERTY: YS (MPa)": 900 * shares[:, 0] + 500 - 0.3 * temperature,
        }
    )
    frame.to_csv(tmp_path / "mpea.csv", index=False)
    x = rng.random((n, 4))
    made = pd.DataFrame(x, columns=["Prime Delay", "Print Speed", "X Offset Correction", "Y Offset Correction"])
    made = made.assign(Score=1 - ((x - 0.4) ** 2).sum(1))
    pd.concat([made, made.head(3)]).to_csv(tmp_path / "pvlab-autoam.csv", index=False)
    return tmp_path


def test_tables_are_read_as_published(cases, folder, capsys):
    assert cases.present(["mpea", "autoam", "p3ht"], folder) == ["mpea", "autoam"]
    assert "p3ht is left out" in capsys.readouterr().err
    alloys, printing = cases.load("mpea", folder), cases.load("autoam", folder)
    assert len(printing.frame) == 30  # replicates are averaged, and nothing is lost beforehand
    assert not printing.frame.isna().any().any()
    missing = cases.what_is_missing(alloys)
    assert (missing["rows"], missing["columns"]) == (30, 7)
    assert 0 < missing["blank cells"] < 0.2
    grain = cases.load("grain", folder)
    assert cases.what_is_missing(grain)["columns"] == 8
    assert cases.what_is_missing(grain)["most"].startswith("grain, ")
    assert grain.frame["grain"].max() <= 2


def test_hidden_cells_are_recorded_numbers_at_most_one_of_a_row(cases, folder):
    frame = cases.load("mpea", folder).frame
    hidden, chosen = cases.hide(frame, np.random.default_rng(1))
    assert len({i for i, _ in chosen}) == len(chosen) > 5
    assert all(name != "processing" for _, name in chosen)
    assert all(pd.notna(frame.at[i, name]) and pd.isna(hidden.at[i, name]) for i, name in chosen)
    assert hidden.isna().sum().sum() == frame.isna().sum().sum() + len(chosen)


def test_the_mean_of_a_hidden_cell_is_that_of_its_column(cases, folder):
    task = cases.load("autoam", folder)
    record = cases.cells(task, cases.Run("cells", "autoam", "mean", 0))
    rng = np.random.default_rng(0)
    frame = cases.drawn(task, rng)
    hidden, chosen = cases.hide(frame, rng)
    errors = [(hidden[name].mean() - frame.at[i, name]) / np.ptp(frame[name]) for i, name in chosen]
    assert record["error"] == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    assert record["covers"] is None


@pytest.mark.parametrize(
    ("table", "method"), [("mpea", "posterior"), ("mpea", "knn"), ("autoam", "posterior"), ("autoam", "iterative")]
)
def test_posterior_and_scikit_learn_fill_hidden_cells(cases, folder, table, method, monkeypatch):
    monkeypatch.setattr(cases, "DRAWS", 4)
    record = cases.cells(cases.load(table, folder), cases.Run("cells", table, method, 0))
    assert 0 < record["error"] < 0.6
    assert method == "knn" or 0.3 <= record["covers"] <= 1


@pytest.mark.parametrize("method", ["posterior", "drop", "plain", "random"])
@pytest.mark.parametrize("table", ["mpea", "autoam"])
def test_a_campaign_ends_when_one_of_the_best_rows_is_made(cases, folder, table, method, monkeypatch):
    monkeypatch.setattr(cases, "MOST", 4)
    task = cases.load(table, folder)
    record = cases.campaign(task, cases.Run("campaigns", table, method, 2))
    frame = cases.drawn(task, np.random.default_rng(2))
    assert 8 <= record["tried"] <= 12
    if record["best 2%"] is not None:
        assert record["best"] == frame[cases.OUTCOME].max()
        assert record["tried"] == record["best 2%"]
    assert record["best 10%"] is None or record["best 10%"] <= record["tried"]


def test_the_tables_of_records(cases):
    records = [
        {"table": "a", "method": name, "repeat": k, "cells": 10, "error": error + k, "covers": covers}
        for name, error, covers in (("posterior", 1.0, 0.9), ("iterative", 2.0, 0.8), ("mean", 3.0, None))
        for k in (0, 1)
    ]
    assert cases.cells_table(records)[1] == ["a", "10", "1.50 ± 0.50", "2.50 ± 0.50", "3.50 ± 0.50", "90%", "80%"]
    made = [
        {"table": "a", "method": "random", "repeat": k, "best 10%": 9, "best 2%": None if k else 11, "tried": 48}
        for k in (0, 1)
    ]
    assert cases.campaigns_table(made)[1] == ["a", "2", "9.00 ± 0.00", "30.00 ± 19.00 (1 never)"]


def test_the_page_is_what_its_results_file_says(cases):
    if not cases.KEPT.exists():
        pytest.skip("the case studies have no results file yet")
    kept = json.loads(cases.KEPT.read_text(encoding="utf-8"))
    text = cases.PAGE.read_text(encoding="utf-8")
    assert {record["experiment"] for record in kept["records"]} == set(cases.MADE)
    assert cases.filled(text, kept["records"]) == text, "run: python perf/cases.py page FILES"
    assert kept["versions"]["torch"]


def test_a_page_is_made_of_records(cases, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "PAGE", tmp_path / "cases.md")
    monkeypatch.setattr(cases, "KEPT", tmp_path / "cases.json")
    cases.PAGE.write_text("a\n<!-- missing -->\nold\n<!-- end -->\nz\n", encoding="utf-8")
    run = cases.Run("missing", "mpea", "-", 0)
    record = {**run._asdict(), **cases.what_is_missing(cases.load("mpea", folder), run)}
    (tmp_path / "missing.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    cases.write_page([str(tmp_path / "missing.jsonl")])
    text = cases.PAGE.read_text(encoding="utf-8")
    assert "| mpea | 30 | 7 |" in text
    assert "old" not in text
    assert text.endswith("<!-- end -->\nz\n")
