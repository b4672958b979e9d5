import numpy as np
import pytest
import torch
from sklearn.impute import SimpleImputer

from bomi import Integer, Interval, Normal, Space
from bomi.data.observations import Row
from bomi.impute.simple import Drop, Mean, Mode, Suggest
from bomi.impute.table import Table

SPACE = Space({"a": (0, 10), "n": Integer(1, 5), "c": ["x", "y", "z"]})
FILLERS = [Drop(), Suggest(), Mean(), Mode()]


def table_of(space, rows, asked=None):
    """Rows of cells in the order of the space's parameters; the outcome is the row's number."""
    made = [
        Row(dict(zip(space.names, cells, strict=True)), {"y": float(i)}, asked=(asked or {}).get(i, {}))
        for i, cells in enumerate(rows)
    ]
    return Table.of(space, made, torch.arange(len(rows), dtype=torch.float64))


def settings_of(space, completed):
    return [space.from_unit(row.numpy()) for row in completed.inputs[0]]


def fill(filler, table):
    return filler(table, torch.Generator().manual_seed(0))


GAPPY = [(2.0, 1, "x"), (None, 3, "y"), (6.0, None, "y"), (7.0, 3, None), (None, None, None)]


def test_drop_keeps_the_complete_rows():
    completed = fill(Drop(), table_of(SPACE, [*GAPPY, (1.0, 2, "z")]))
    assert settings_of(SPACE, completed) == [{"a": 2, "n": 1, "c": "x"}, {"a": 1, "n": 2, "c": "z"}]
    assert completed.rows.tolist() == [0, 5]
    assert completed.targets.tolist() == [0, 5]


def test_suggest_fills_with_what_was_asked_and_drops_the_rest():
    asked = {1: {"a": 9.0, "n": 5, "c": "z"}, 3: {"a": 1.0}}
    completed = fill(Suggest(), table_of(SPACE, GAPPY, asked))
    assert settings_of(SPACE, completed) == [{"a": 2, "n": 1, "c": "x"}, {"a": 9, "n": 3, "c": "y"}]
    assert completed.rows.tolist() == [0, 1]


def test_mean_by_hand():
    filled = settings_of(SPACE, fill(Mean(), table_of(SPACE, GAPPY)))
    # a: (2 + 6 + 7) / 3 = 5; n: (1 + 3 + 3) / 3 = 2.33, as a whole number 2; c: the commonest
    assert [row["a"] for row in filled] == [2, pytest.approx(5), 6, 7, pytest.approx(5)]
    assert [row["n"] for row in filled] == [1, 3, 2, 3, 2]
    assert [row["c"] for row in filled] == ["x", "y", "y", "y", "y"]


def test_mean_equals_that_of_scikit_learn():
    generator = np.random.default_rng(0)
    X = generator.random((30, 4))
    X[generator.random(X.shape) < 0.2] = np.nan
    space = Space(dict.fromkeys("abcd", (0, 1)))
    table = table_of(space, [[None if np.isnan(v) else v for v in row] for row in X])
    np.testing.assert_allclose(fill(Mean(), table).inputs[0].numpy(), SimpleImputer().fit_transform(X), rtol=1e-12)


def test_mode_of_discrete_parameters_is_the_commonest_value():
    filled = settings_of(SPACE, fill(Mode(), table_of(SPACE, [*GAPPY, (9.0, 5, "z"), (9.5, 5, "z"), (1.0, 5, "z")])))
    assert filled[2]["n"] == 5
    assert filled[3]["c"] == "z"


def test_mode_of_a_bimodal_column_is_its_higher_peak():
    generator = np.random.default_rng(0)
    values = np.concatenate([generator.normal(2, 0.4, 40), generator.normal(7, 0.4, 80)])
    space = Space({"a": (0, 10)})
    completed = fill(Mode(), table_of(space, [[v] for v in values] + [[None]]))
    mode = settings_of(space, completed)[-1]["a"]
    assert mode == pytest.approx(7, abs=0.3)
    assert mode > values.min() + 3  # neither the smallest value nor the mean of 5.3


@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0], [3.0, 8.0, 8.0], [0.0, 1e-200, 2e-200], [5.0, 5.0, 5.0 + 1e-15]])
def test_mode_of_few_or_nearly_equal_values_is_one_of_them(values):
    space = Space({"a": (0, 10)})
    completed = fill(Mode(), table_of(space, [[v] for v in values] + [[None]]))
    mode = settings_of(space, completed)[-1]["a"]
    assert min(abs(mode - value) for value in values) < 1e-9
    assert values.count(mode) == max(map(values.count, values)) or max(values) - min(values) < 1e-9


@pytest.mark.parametrize("filler", [Mean(), Mode()])
def test_a_column_without_a_value_gets_the_middle_and_some_category(filler):
    table = table_of(SPACE, [(None, None, None), (None, None, None)])
    for row in settings_of(SPACE, fill(filler, table)):
        assert row["a"] == 5
        assert row["n"] == 3
        assert row["c"] in ("x", "y", "z")


@pytest.mark.parametrize("filler", FILLERS)
def test_observed_cells_survive_and_filled_ones_are_admissible(filler):
    generator = np.random.default_rng(1)
    asked = {i: {"a": 3.0, "n": 2, "c": "x"} for i in range(0, 40, 2)}
    rows = [
        [
            None if generator.random() < 0.3 else value
            for value in (generator.uniform(0, 10), int(generator.integers(1, 6)), str(generator.choice(list("xyz"))))
        ]
        for _ in range(40)
    ]
    table = table_of(SPACE, rows, asked)
    before = table.inputs.clone()
    completed = fill(filler, table)
    torch.testing.assert_close(table.inputs, before, equal_nan=True)  # the table itself keeps its gaps
    recorded = table.inputs if completed.rows is None else table.inputs[completed.rows]
    known = ~recorded.isnan()
    assert torch.equal(completed.inputs[0][known], recorded[known])
    assert ((completed.inputs >= 0) & (completed.inputs <= 1)).all()
    np.testing.assert_allclose(SPACE.snap(completed.inputs.numpy()), completed.inputs.numpy(), atol=1e-12)


@pytest.mark.parametrize("filler", FILLERS)
def test_a_stated_uncertainty_stands_for_its_center(filler):
    space = Space({"a": (0, 10), "b": (1, 9)})
    completed = fill(filler, table_of(space, [(Normal(4, 1), 3.0), (Interval(2, 4), 3.0), (Interval(-8, 2), 3.0)]))
    # of an interval only what lies inside the bounds counts
    assert [row["a"] for row in settings_of(space, completed)] == [4, 3, 1]
