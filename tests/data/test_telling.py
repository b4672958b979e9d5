from decimal import Decimal

import pandas as pd
import pytest

from bomi import BomiError, Integer, Normal, Optimizer, Real

SPACE = {"temperature": Real(20, 400, default=280), "passes": Integer(1, 8)}


def lab(**options):
    """Four experiments: two told as a table without ids, one of one's own, one pending suggestion."""
    optimizer = Optimizer(SPACE, objective="strength", method="mean", seed=0, **options)
    table = {"temperature": [100, None], "passes": [2, None], "strength": [1.0, 2.0]}
    optimizer.tell(pd.DataFrame(table))
    optimizer.tell({"temperature": 300, "passes": 4}, 3.0, sd=0.1)
    return optimizer, optimizer.ask()


def strengths(optimizer):
    return [row.outcome for row in optimizer.observations.rows]


# --- what is misspelt is refused ---


def test_a_misspelt_parameter_is_refused_even_where_a_default_would_fill_in():
    optimizer, _ = lab()
    with pytest.raises(BomiError, match=r"names no parameter: 'temprature'; did you mean 'temperature'\?"):
        optimizer.tell({"temprature": 280, "passes": 1}, 1.0)
    with pytest.raises(BomiError, match="no column 'temperature' but 'temprature'; rename it"):
        optimizer.tell(pd.DataFrame({"temprature": [300], "passes": [1], "strength": [1.0]}))
    optimizer.tell(pd.DataFrame({"operator": ["Ann"], "passes": [1], "strength": [1.0]}))
    assert optimizer.observations.rows[-1].recorded == {"temperature": 280, "passes": 1}


# --- correcting ---


def test_an_outcome_is_corrected_by_id_by_row_and_by_suggestion():
    optimizer, suggestion = lab()
    optimizer.tell(suggestion, 4.0)
    optimizer.correct(suggestion, 40.0)
    optimizer.correct("3", 30.0)
    optimizer.correct(row=0, outcome=10.0)
    assert strengths(optimizer) == [10.0, 2.0, 30.0, 40.0]
    assert optimizer.observations.rows[2].errors == {"strength": 0.1}
    optimizer.correct(3, sd=None)  # an id, as a table would have it
    assert optimizer.observations.rows[2].errors == {}


def test_an_input_is_corrected_and_what_was_asked_stays():
    optimizer, suggestion = lab()
    optimizer.tell(suggestion, 4.0)
    optimizer.correct(suggestion, actual={"temperature": Normal(200, 5)})
    row = optimizer.observations.rows[3]
    assert row.recorded["temperature"] == Normal(200, 5)
    assert row.recorded["passes"] == suggestion["passes"]
    assert dict(row.asked) == dict(suggestion)
    assert row.outcome == 4.0


def test_failures_and_outcomes_turn_into_each_other():
    optimizer, _ = lab()
    optimizer.correct("3", failed=True)
    row = optimizer.observations.rows[2]
    assert (row.failed, row.outcomes, row.errors) == (True, {}, {})
    optimizer.correct("3", 5.0)
    assert (optimizer.observations.rows[2].failed, strengths(optimizer)[2]) == (False, 5.0)
    optimizer.correct("3", "failed")
    optimizer.correct("3", failed=False)
    assert optimizer.observations.rows[2].pending
    optimizer.correct("3", None)
    assert optimizer.observations.rows[2].pending


def test_one_of_several_outcomes_is_corrected():
    optimizer = Optimizer({"x": (0, 1)}, objective={"a": "maximize", "b": "minimize"}, method="mean", seed=0)
    optimizer.tell({"x": 0.5}, {"a": 1.0, "b": 2.0})
    optimizer.correct("1", {"b": 3.0})
    assert optimizer.observations.rows[0].outcomes == {"a": 1.0, "b": 3.0}
    optimizer.correct("1", {"a": None})
    assert optimizer.observations.rows[0].outcomes == {"b": 3.0}


def test_what_is_learned_follows_the_correction():
    optimizer, _ = lab()
    before = optimizer.best()
    optimizer.correct(row=0, outcome=100.0)
    after = optimizer.best()
    assert (before.seen, after.seen) == (3.0, 100.0)
    assert after.predicted.mean > 10 * before.predicted.mean


def test_a_corrected_row_has_another_key():
    optimizer, _ = lab()
    before = optimizer.observations.keys
    optimizer.correct(row=1, actual={"temperature": 120})
    after = optimizer.observations.keys
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True, True]
    assert len({*before, *after}) == 5


# --- withdrawing ---


def test_a_withdrawn_suggestion_leaves_nothing_and_its_id_is_not_given_again():
    optimizer, suggestion = lab()
    optimizer.withdraw(suggestion)
    assert len(optimizer.observations.rows) == 3
    assert optimizer.ask().id != suggestion.id
    with pytest.raises(BomiError, match=r"'4' was withdrawn; .* tell\(dict\(suggestion\), outcome\)"):
        optimizer.tell(suggestion, 1.0)
    optimizer.tell(dict(suggestion), 1.0)


def test_withdrawing_makes_room_in_a_small_space():
    optimizer = Optimizer({"n": Integer(1, 3)}, method="random", seed=0)
    suggestions = optimizer.ask(3)
    with pytest.raises(BomiError, match="withdraw those that will not be"):
        optimizer.ask()
    optimizer.withdraw(suggestions[1].id)
    assert optimizer.ask()["n"] == suggestions[1]["n"]


def test_a_pending_row_of_a_table_is_withdrawn_by_its_number():
    optimizer, _ = lab()
    optimizer.tell(pd.DataFrame({"temperature": [50], "passes": [1], "strength": [None]}))
    optimizer.withdraw(row=4)
    assert len(optimizer.observations.rows) == 4


# --- excluding ---


def test_an_excluded_row_stays_in_the_table_and_nothing_is_learned_from_it():
    optimizer, suggestion = lab()
    optimizer.exclude("3")
    optimizer.exclude(suggestion)
    observations = optimizer.observations
    assert [row.outcome for row in observations.tried] == [1.0, 2.0]
    assert observations.done == observations.tried
    assert observations.pending == ()
    assert observations.tried_keys == observations.keys[:2]
    assert optimizer.best().seen == 2.0
    frame = optimizer.frame()
    assert frame["exclude"].tolist() == [None, None, True, True]
    again = Optimizer(SPACE, objective="strength", method="mean", seed=0)
    again.tell(frame)
    assert again.observations == observations
    optimizer.include("3")
    optimizer.include(suggestion)
    assert optimizer.best().seen == 3.0
    assert "exclude" not in optimizer.frame()


def test_gaps_are_counted_with_excluded_rows_but_not_shown_for_them():
    optimizer, _ = lab()
    optimizer.tell({"temperature": None, "passes": 1}, 5.0)
    assert sorted(optimizer.gaps()["row"]) == [1, 4]
    optimizer.exclude(row=1)
    assert optimizer.gaps()["row"].tolist() == [4]


@pytest.mark.parametrize(
    ("mark", "excluded"),
    [
        *((mark, False) for mark in (None, "", " ", "?", float("nan"), pd.NA, False, 0, "no", "No", "FALSE", "0")),
        *((mark, True) for mark in (True, 1, "x", "yes", "door was open", "TRUE")),
    ],
)
def test_what_is_in_the_column_exclude_excludes_unless_blank_or_no(mark, excluded):
    optimizer = Optimizer({"x": (0, 1)}, method="mean")
    optimizer.tell(pd.DataFrame({"x": [0.5], "y": [1.0], "exclude": pd.Series([mark], dtype=object)}))
    assert optimizer.observations.rows[0].excluded == excluded


def test_an_excluded_suggestion_that_is_told_stays_excluded():
    optimizer, suggestion = lab()
    optimizer.exclude(suggestion)
    optimizer.tell(suggestion, 9.0)
    assert optimizer.best().seen == 3.0
    optimizer.include(suggestion)
    assert optimizer.best().seen == 9.0


# --- mistakes change nothing ---

WRONG = {
    "nothing to correct": (lambda o, s: o.correct("3"), "nothing to correct"),
    "nothing named": (lambda o, s: o.correct(outcome=1.0), "name one experiment"),
    "named twice": (lambda o, s: o.withdraw(s, row=3), "name one experiment"),
    "no such id": (lambda o, s: o.correct("99", 1.0), "no experiment has the id '99'"),
    "a row number as id": (lambda o, s: o.correct(0, 1.0), "no experiment has the id 0; for the row number 0 say row="),
    "no such row": (lambda o, s: o.exclude(row=4), "row must be a whole number from 0 to 3, but got 4"),
    "negative row": (lambda o, s: o.exclude(row=-1), "row must be"),
    "row is a bool": (lambda o, s: o.exclude(row=True), "row must be"),
    "row is a text": (lambda o, s: o.exclude(row="1"), "row must be"),
    "a plain mapping": (lambda o, s: o.withdraw(dict(s)), "by its suggestion, its id or row="),
    "a table": (lambda o, s: o.withdraw(o.frame()), "no experiment has the id"),
    "another's suggestion": (lambda o, s: o.withdraw(lab()[0].ask()), "not made by this optimizer"),
    "outcome is a text": (lambda o, s: o.correct("3", "good"), "'strength': expected a finite number"),
    "unknown outcome": (lambda o, s: o.correct("3", {"hardness": 1.0}), "'hardness' is not known"),
    "failed with an outcome": (lambda o, s: o.correct("3", 1.0, failed=True), "a failed experiment has no outcome"),
    "failed is no bool": (lambda o, s: o.correct("3", failed="yes"), "failed must be True or False"),
    "negative sd": (lambda o, s: o.correct("3", sd=-1), "standard error"),
    "unknown input": (lambda o, s: o.correct("3", actual={"temprature": 1}), "did you mean 'temperature'?"),
    "out of bounds": (lambda o, s: o.correct("3", actual={"temperature": 500}), "out of bounds"),
    "withdrawn with an outcome": (lambda o, s: o.withdraw("3"), "has been told already; correct it, or exclude it"),
    "included though in": (lambda o, s: o.include("3"), "not excluded"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_told_and_changes_nothing(case):
    call, said = WRONG[case]
    optimizer, suggestion = lab()
    before, keys = optimizer.observations, optimizer.observations.keys
    with pytest.raises(BomiError, match=said.replace("(", r"\(").replace("?", r"\?")):
        call(optimizer, suggestion)
    assert optimizer.observations == before
    assert optimizer.observations.keys == keys


# --- whole numbers of any size, and anything beside ---


def test_a_column_beside_ours_may_hold_anything():
    optimizer = Optimizer({"x": (0, 1)}, method="mean")
    odd = pd.Series([Decimal("sNaN"), ValueError("x")], dtype=object)
    optimizer.tell(pd.DataFrame({"x": [0.1, 0.2], "y": [1.0, 2.0], "note": odd}))
    assert optimizer.frame()["note"].map(repr).tolist() == odd.map(repr).tolist()


def test_integers_beyond_floats_survive_the_frame():
    space, large = {"n": Integer(0, 10**18)}, 2**53 + 1
    optimizer = Optimizer(space, method="mean", seed=0)
    optimizer.tell({"n": large}, 1.0)
    optimizer.tell({"n": None}, 2.0, actual={"n": None})
    again = Optimizer(space, method="mean", seed=0)
    again.tell(optimizer.frame())
    assert again.observations == optimizer.observations
    assert again.observations.rows[0].recorded["n"] == large
