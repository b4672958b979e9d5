import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomi import BomiError, Integer, Interval, Normal, Real, Space
from bomi.data.columns import SHOWN_PROBLEMS, read_columns
from bomi.data.observations import Observations, Row
from bomi.data.reading import read_cell, read_outcome
from bomi.errors import TableError
from bomi.space import cells

SPACE = Space(
    {
        "temperature": Real(20, 400, unit="°C"),
        "time": Real(60, 21600, log=True),
        "dose": Real(0, 1, step=0.1),
        "passes": Integer(1, 8),
        "quench": ["water", "oil", "air"],
        "size": [1, 2, 5],
        "stirred": [True, False],
    }
)
NUMBERS = ("temperature", "time")

words = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=4, max_size=8)


def values_of(name):
    parameter = SPACE.parameters[name]
    if parameter.kind == "categorical":
        return st.sampled_from(parameter.values)
    if parameter.step is not None:
        return st.sampled_from([parameter.from_unit(place) for place in parameter.every()])
    return st.floats(parameter.low, parameter.high)


def cells_of(name):
    known = values_of(name)
    if name not in NUMBERS:
        return st.none() | known
    intervals = st.tuples(known, known).filter(lambda p: p[0] != p[1]).map(lambda p: Interval(min(p), max(p)))
    return st.one_of(st.none(), known, st.builds(Normal, known, st.floats(1e-3, 1e3)), intervals)


numbers = st.floats(-1e100, 1e100)
told = st.one_of(
    st.just({}),
    st.just({"failed": True}),
    st.builds(lambda y: {"outcomes": {"strength": y}}, numbers),
    st.builds(lambda y, sd: {"outcomes": {"strength": y}, "errors": {"strength": abs(sd)}}, numbers, numbers),
)


@st.composite
def tables(draw, min_size=0):
    """Rows as they come from a lab: gaps, uncertainties, some with an id, some asked for, some pending."""
    count = draw(st.integers(min_size, 8))
    names = draw(st.lists(words, min_size=count, max_size=count, unique=True))
    return tuple(
        Row(
            recorded={name: draw(cells_of(name)) for name in SPACE.names},
            **draw(told),
            asked={name: draw(values_of(name)) for name in SPACE.names if draw(st.booleans())},
            id=draw(st.sampled_from([None, names[i]])),
            extra={"note": draw(words)},
            excluded=draw(st.sampled_from([False, False, True])),
        )
        for i in range(count)
    )


def columns_of(frame):
    return {name: frame[name].tolist() for name in frame.columns}


# --- what is written is what is read ---


@given(tables())
def test_a_table_by_columns_reads_back_the_same(rows):
    columns = Observations(SPACE, ("strength",), rows).columns()
    assert tuple(read_columns(columns, SPACE, "strength")) == rows


@given(tables())
def test_a_data_frame_reads_back_the_same(rows):
    frame = Observations(SPACE, ("strength",), rows).frame()
    assert tuple(read_columns(columns_of(frame), SPACE, "strength")) == rows


@given(tables())
def test_a_table_of_typed_text_reads_back_the_same(rows):
    columns = Observations(SPACE, ("strength",), rows).columns()
    typed = {
        name: list(values) if name in ("id", "note") else [cells.text(value) for value in values]
        for name, values in columns.items()
    }
    assert tuple(read_columns(typed, SPACE, "strength")) == rows


@given(tables())
def test_done_and_pending_part_the_rows_that_are_not_excluded(rows):
    observations = Observations(SPACE, ("strength",), rows)
    kept = [row for row in rows if not row.excluded]
    assert [row.outcome for row in observations.done] == [row.outcome for row in kept if row.outcome is not None]
    assert len(observations.tried) + len(observations.pending) == len(kept)
    assert len(observations.tried) - len(observations.done) == sum(row.failed for row in kept)
    assert all(row.outcome is None for row in observations.pending)


def test_a_row_is_complete_when_every_input_is_known_exactly():
    assert Row({"a": 1.0, "b": "x"}, {"y": 1.0}).complete
    assert not Row({"a": None, "b": "x"}, {"y": 1.0}).complete
    assert not Row({"a": Normal(1, 1), "b": "x"}, {"y": 1.0}).complete


@pytest.mark.parametrize("identity", [None, math.nan, np.nan, pd.NA, "", "  "])
def test_a_blank_id_is_no_id(identity):
    (row,) = read_columns({"id": [identity], "x": [0.5], "y": [1.0]}, Space({"x": (0, 1)}), "y")
    assert row.id is None


def test_ids_that_pandas_turned_into_floats_are_still_the_same_ids():
    columns = {"id": [7.0, math.nan], "x": [0.5, 0.6], "y": [1.0, 2.0]}
    assert [row.id for row in read_columns(columns, Space({"x": (0, 1)}), "y")] == ["7", None]


# --- what is wrong is named ---

BAD = {"temperature": 500.0, "time": "soon", "passes": 2.5, "quench": "beer", "strength": math.inf}


@given(tables(min_size=1), st.data())
def test_every_problem_is_named_at_once_with_its_row_and_column(rows, data):
    columns = Observations(SPACE, ("strength",), rows).columns()
    places = st.tuples(st.integers(0, len(rows) - 1), st.sampled_from(sorted(BAD)))
    wrong = data.draw(st.sets(places, min_size=1, max_size=SHOWN_PROBLEMS))
    for i, name in wrong:
        columns[name] = [*columns[name][:i], BAD[name], *columns[name][i + 1 :]]
    labels = [f"r{i}" for i in range(len(rows))]
    with pytest.raises(TableError) as caught:
        read_columns(columns, SPACE, "strength", labels=labels)
    assert {(problem.row, problem.column) for problem in caught.value.problems} == {(f"r{i}", n) for i, n in wrong}
    for i, name in wrong:
        assert f"row r{i}, column {name!r}: " in str(caught.value)


def test_a_value_out_of_bounds_is_told_with_row_column_value_bounds_and_remedy():
    columns = {"t": [30.0, 500.0], "y": [1.0, 2.0]}
    with pytest.raises(TableError) as caught:
        read_columns(columns, Space({"t": Real(20, 400, unit="°C")}), "y", labels=["mon", "tue"])
    assert str(caught.value) == (
        "row tue, column 't': 500 is out of bounds [20, 400] °C; "
        'widen the bounds, or admit it with out_of_bounds="keep"'
    )


@pytest.mark.parametrize(("count", "last"), [(20, "row 19, column 'x'"), (21, "and 1 more"), (50, "and 30 more")])
def test_the_first_twenty_problems_then_a_count(count, last):
    columns = {"x": [7.0] * count, "y": [1.0] * count}
    with pytest.raises(TableError) as caught:
        read_columns(columns, Space({"x": (0, 1)}), "y")
    lines = str(caught.value).splitlines()
    assert len(lines) == min(count, 21)
    assert lines[-1].startswith(last)
    assert len(caught.value.problems) == count


def test_a_missing_column_is_named_beside_the_unexpected_ones():
    columns = {"temprature": [30], "quench": ["oil"], "y": [1.0]}
    with pytest.raises(TableError, match="lacks 'temperature'; unexpected columns: 'temprature'"):
        read_columns(columns, Space({"temperature": (20, 400), "quench": ["oil", "air"]}), "y")
    with pytest.raises(TableError, match=r"lacks 'y'$"):
        read_columns({"x": [0.5]}, Space({"x": (0, 1)}), "y")


def test_extra_columns_alone_are_kept_as_they_are():
    columns = {"x": [0.5, 0.7], "y": [1.0, None], "operator": ["Ann", None], "asked.other": [3, 4]}
    rows = read_columns(columns, Space({"x": (0, 1)}), "y")
    assert [row.extra for row in rows] == [
        {"operator": "Ann", "asked.other": 3},
        {"operator": None, "asked.other": 4},
    ]
    assert Observations(Space({"x": (0, 1)}), ("y",), tuple(rows)).columns()["operator"] == ["Ann", None]


def test_two_rows_with_one_id_are_told():
    columns = {"id": ["a", "b", "a"], "x": [0.1, 0.2, 0.3], "y": [1.0, 2.0, 3.0]}
    with pytest.raises(TableError, match="row 2, column 'id': 'a' is the id of row 0 too"):
        read_columns(columns, Space({"x": (0, 1)}), "y")


@pytest.mark.parametrize(
    ("cell", "inside"),
    [
        (0.0, True),
        (10.0, True),
        (10.1, False),
        (Normal(5, 100), True),
        (Normal(11, 3), False),
        (Interval(-5, 1), True),
        (Interval(9, 50), True),
        (Interval(-5, 50), True),
        (Interval(11, 12), False),
    ],
)
def test_bounds_of_numbers_and_of_uncertain_ones(cell, inside):
    parameter = Real(0, 10)
    assert read_cell(parameter, cell, keep_outside=True) == cell
    if inside:
        assert read_cell(parameter, cell) == cell
    else:
        with pytest.raises(BomiError, match=r"out of bounds \[0, 10\]"):
            read_cell(parameter, cell)


@pytest.mark.parametrize("cell", [0.0, -3.0, Normal(-3, 1), Interval(-3, -1)])
def test_a_log_scale_has_no_place_for_zero_and_below_even_when_kept(cell):
    with pytest.raises(BomiError, match="log scale"):
        read_cell(Real(1, 100, log=True), cell, keep_outside=True)


def test_what_was_asked_is_a_plain_value_inside_the_bounds():
    def read(asked, **options):
        columns = {"x": [None], "y": [1.0], "asked.x": [asked]}
        return read_columns(columns, Space({"x": Real(1, 100, log=True)}), "y", **options)[0].asked

    assert read(30) == {"x": 30}
    assert read(None) == {}
    assert read(300, keep_outside=True) == {"x": 300}
    for asked, said in [("30±5", "plain value"), (300, "out of bounds"), (0, "out of bounds")]:
        with pytest.raises(TableError, match=f"column 'asked.x': .*{said}"):
            read(asked)


@pytest.mark.parametrize("value", [None, math.nan, "", "?", pd.NA])
def test_a_blank_outcome_is_pending(value):
    assert read_outcome(value) is None


@pytest.mark.parametrize(("value", "outcome"), [(3, 3.0), ("1e3", 1000.0), (np.float32(2), 2.0), (" -4.5 ", -4.5)])
def test_outcomes_are_numbers(value, outcome):
    assert read_outcome(value) == outcome


@pytest.mark.parametrize(
    "value",
    [
        math.inf,
        -math.inf,
        "inf",
        "good",
        "1_000",
        True,
        np.True_,
        [1.0],
        np.array([1.0, 2.0]),
        10**400,
        Normal(1, 1),
        "1±1",
        1j,
        {},
    ],
)
def test_what_is_no_outcome_is_told(value):
    with pytest.raises(BomiError, match="number"):
        read_outcome(value)


@pytest.mark.parametrize("value", [10**400, np.array([1.0, 2.0]), pd.Series([1.0]), {}, 1j])
def test_what_is_no_number_is_told(value):
    with pytest.raises(BomiError, match="number"):
        read_cell(Real(0, 1), value)


# --- adding ---


def x_row(x, outcome, **rest):
    return Row({"x": x}, {} if outcome is None else {"y": outcome}, **rest)


def test_adding_appends_and_leaves_the_old_value_as_it_was():
    empty = Observations(Space({"x": (0, 1)}), ("y",))
    one = empty.add([x_row(0.1, 1.0)])
    two = one.add([x_row(0.2, 2.0), x_row(0.2, 2.0)])
    assert (len(empty.rows), len(one.rows), len(two.rows)) == (0, 1, 3)


def test_a_row_with_the_id_of_a_pending_one_takes_its_place_and_keeps_what_was_asked():
    pending = x_row(0.1, None, asked={"x": 0.1}, id="1", extra={"note": "rush"})
    table = Observations(Space({"x": (0, 1)}), ("y",), (pending, x_row(0.5, 0.0)))
    told = table.add([x_row(None, 3.0, id="1", extra={"operator": "Ann"})])
    expected = x_row(None, 3.0, asked={"x": 0.1}, id="1", extra={"note": "rush", "operator": "Ann"})
    assert told.rows == (expected, x_row(0.5, 0.0))


def test_the_same_experiment_is_not_told_twice():
    table = Observations(Space({"x": (0, 1)}), ("y",), (x_row(0.1, 1.0, id="1"),))
    with pytest.raises(TableError, match="'1' has been told already"):
        table.add([x_row(0.1, 2.0, id="1")])
    with pytest.raises(TableError, match="'new' has been told already"):
        table.add([x_row(0.1, 2.0, id="new"), x_row(0.1, 2.0, id="new")])


@given(tables(), st.sets(st.integers(1, 12).map(str)))
def test_a_fresh_id_is_one_that_no_row_has(rows, taken):
    numbered = tuple(Row({}, id=identity) for identity in taken)
    observations = Observations(SPACE, ("strength",), (*rows, *numbered))
    assert observations.find(observations.fresh_id()) is None


def test_a_row_has_a_key_of_its_own_and_another_once_it_changes():
    space = Space({"x": (0, 1)})
    one, two = Row({"x": 0.1}, id="a"), Row({"x": 0.2}, {"y": 1.0}, id="b")
    before = Observations(space, ("y",)).add([one, two])
    after = before.add([Row({"x": 0.1}, {"y": 2.0}, id="a"), Row({"x": 0.3}, {"y": 3.0})])
    assert len(set(after.keys)) == 3
    assert after.keys[1] == before.keys[1]
    assert after.keys[0] not in before.keys
    assert after.tried_keys == after.keys
    assert before.tried_keys == before.keys[1:]
