"""Choosing from a list."""

import numpy as np
import pandas as pd
import pytest

import bomi
from bomi.errors import BomiError

SPACE = {"a": (0, 1), "b": (0, 1), "c": ["x", "y"]}


def library(count=60, seed=0, blanks=0.0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.random((count, 2)).round(3), columns=["a", "b"])
    frame["c"] = rng.choice(["x", "y"], count)
    frame["name"] = [f"sample {i}" for i in range(count)]
    return frame.mask(rng.random(frame.shape) < blanks)


def outcome(setting):
    return -((setting["a"] - 0.7) ** 2) - (setting["b"] - 0.2) ** 2 + 0.1 * (setting["c"] == "y")


def told(rows=12, method="mean", **options):
    optimizer = bomi.Optimizer(SPACE, method=method, seed=0, **options)
    for record in library(rows, seed=5).drop(columns="name").to_dict("records"):
        optimizer.tell(record, outcome(record))
    return optimizer


def row(frame, suggestion):
    """What the list says of a suggestion."""
    return frame.iloc[suggestion.candidate][["a", "b", "c"]].dropna().to_dict()


@pytest.mark.parametrize("method", ["posterior", "bomi", "mean", "random"])
def test_suggestions_are_candidates_and_each_is_asked_for_once(method):
    frame, optimizer = library(), told(method=method)
    batch = [*optimizer.ask(3, candidates=frame), optimizer.ask(candidates=frame)]
    assert len({one.candidate for one in batch}) == 4
    for one in batch:
        assert dict(one) == row(frame, one)


def test_the_best_of_the_list_is_found_and_recommended():
    frame, optimizer = library(200), told(rows=40, method="drop")
    true = frame.apply(outcome, axis=1)
    best = optimizer.best(candidates=frame)
    assert outcome(best.setting) >= true.nlargest(3).min()
    assert optimizer.ask(candidates=frame).predicted.mean > true.quantile(0.8)


def test_a_list_of_mappings_does_as_well_as_a_table():
    frame = library(30)
    records = frame.drop(columns="name").to_dict("records")
    assert told().ask(candidates=frame) == told().ask(candidates=records)


def test_a_first_design_is_spread_over_the_list():
    frame = pd.DataFrame({"a": [0.0] * 50 + [1.0], "b": [0.0] * 50 + [1.0], "c": "x"})
    optimizer = bomi.Optimizer(SPACE, seed=0)
    assert {one["a"] for one in optimizer.ask(2, candidates=frame)} == {0.0, 1.0}  # equal candidates are one


@pytest.mark.parametrize("method", ["posterior", "bomi", "mean", "random"])
def test_what_nobody_knows_of_a_candidate_is_a_gap_of_its_row(method):
    frame, optimizer = library(blanks=0.4), told(method=method)
    batch = optimizer.ask(6, candidates=frame)
    assert [dict(one) for one in batch] == [row(frame, one) for one in batch]
    assert any(len(one) < 3 for one in batch)
    again = optimizer.ask(4, candidates=frame)
    assert not {one.candidate for one in batch} & {one.candidate for one in again}
    for one in batch:
        optimizer.tell(one, 0.0)
    last = optimizer.frame().set_index("id").loc[[one.id for one in batch], ["a", "b", "c"]]
    assert last.notna().sum(axis=1).tolist() == [len(one) for one in batch]
    fresh = bomi.Optimizer(SPACE, method=method, seed=0)
    fresh.tell(optimizer.frame())
    assert fresh.observations.rows == optimizer.observations.rows


def test_a_gap_of_a_candidate_is_averaged_over():
    """Of two candidates that are known alike, one is surely poor in what nobody knows of the other."""
    optimizer = bomi.Optimizer({"a": (0, 1), "b": (0, 1)}, method="drop", seed=0)
    for a, b in np.random.default_rng(0).random((25, 2)):
        optimizer.tell({"a": a, "b": b}, -((b - 0.5) ** 2))
    blank, poor, good = {"a": 0.5}, {"a": 0.5, "b": 0.0}, {"a": 0.5, "b": 0.5}
    assert dict(optimizer.best(candidates=[blank, poor]).setting) == blank
    assert dict(optimizer.best(candidates=[blank, poor, good]).setting) == good
    expected = optimizer.best(candidates=[blank, poor]).predicted
    assert expected.mean == pytest.approx(-1 / 12, abs=0.03)  # the mean of -(b - 0.5)^2
    assert expected.sd > 5 * optimizer.best(candidates=[good]).predicted.sd


def test_without_replacement_what_was_tried_is_left_out():
    frame, optimizer = library(5, blanks=0.3), told()
    for _ in range(5):
        optimizer.tell(optimizer.ask(candidates=frame, replacement=False), 0.0)
    with pytest.raises(BomiError, match="none of the 5 candidates can be chosen: 5 were tried already"):
        optimizer.ask(candidates=frame, replacement=False)
    assert optimizer.ask(candidates=frame).candidate in range(5)


def test_what_is_given_holds_for_the_list_and_fills_its_gaps():
    optimizer = told()
    frame = library(40)
    assert optimizer.ask(candidates=frame, given={"c": "y"})["c"] == "y"
    one = optimizer.ask(candidates=frame[["a", "b"]], given={"c": "x"})
    assert dict(one) == {**frame[["a", "b"]].iloc[one.candidate].to_dict(), "c": "x"}


def test_candidates_keep_the_constraints():
    space = bomi.Space({"a": (0, 1), "b": (0, 1)}, constraints=[bomi.Linear({"a": 1, "b": 1}, max=1)])
    optimizer = bomi.Optimizer(space, seed=0)
    assert dict(optimizer.ask(candidates=[{"a": 0.9, "b": 0.9}, {"a": 0.5, "b": 0.25}])) == {"a": 0.5, "b": 0.25}
    with pytest.raises(BomiError, match="none of the 1 candidates can be chosen: 1 break a constraint"):
        optimizer.ask(candidates=[{"a": 0.9, "b": 0.9}])


def test_a_long_list_is_looked_at_by_each_world_in_part():
    optimizer = told(rows=20, method="posterior")
    frame = library(10_000, seed=3, blanks=0.2)
    one = optimizer.ask(candidates=frame)
    assert dict(one) == row(frame, one)
    everywhere = optimizer.predict(library(500).drop(columns="name"))
    assert one.predicted.mean > np.quantile([p.mean for p in everywhere], 0.8)


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        ([], "the list of candidates is empty"),
        (pd.DataFrame(columns=["a", "b", "c"]), "the list of candidates is empty"),
        ([{"a": 0.5, "b": 0.5}], "the list of candidates lacks 'c'; it has 'a', 'b'"),
        ([{"a": 7, "b": 0.5, "c": "x"}], "row 0, column 'a': 7 is out of bounds [0, 1]; widen them, or leave"),
        ([{"a": "0.5±0.1", "b": 0.5, "c": "x"}], "row 0, column 'a': expected a plain value or a blank"),
        ([{"a": 0.5, "b": 0.5, "c": "z"}], "column 'c': expected one of x, y"),
        ([(0.5, 0.5, "x")], "candidates must be a table or a list of mappings"),
        ([None], "but one is None"),
        ("library.csv", "candidates must be a table or a list of mappings"),
        (7, "candidates must be a table or a list of mappings"),
    ],
)
def test_a_list_that_makes_no_sense_is_told_in_one_line_and_changes_nothing(candidates, said):
    optimizer = told()
    for question in (optimizer.ask, optimizer.best):
        with pytest.raises(BomiError) as caught:
            question(candidates=candidates)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not optimizer.observations.pending


def test_more_than_the_list_has_is_told():
    with pytest.raises(BomiError, match="only 2 of 2 candidates are left to ask for, not 3"):
        told().ask(3, candidates=library(2))
