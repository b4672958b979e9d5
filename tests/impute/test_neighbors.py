import numpy as np
import pytest
import torch
from sklearn.impute import KNNImputer

from bomi import Space
from bomi.data.observations import Row
from bomi.impute.neighbors import Neighbors
from bomi.impute.table import Table


def table_of(space, rows):
    made = [Row(dict(zip(space.names, cells, strict=True)), {"y": 0.0}) for cells in rows]
    return Table.of(space, made, torch.zeros(len(rows), dtype=torch.float64))


def fill(filler, space, rows):
    completed = filler(table_of(space, rows), torch.Generator().manual_seed(0))
    return [space.from_unit(row.numpy()) for row in completed.inputs[0]]


def test_the_mean_of_the_nearest_rows_by_hand():
    space = Space({"a": (0, 10), "b": (0, 10)})
    rows = [(1.0, 1.0), (1.2, 3.0), (9.0, 9.0), (1.1, None)]
    assert fill(Neighbors(2), space, rows)[3]["b"] == pytest.approx(2)
    assert fill(Neighbors(1), space, [*rows[:3], (8.5, None)])[3]["b"] == pytest.approx(9)


def test_the_nearest_rows_vote_on_a_category():
    space = Space({"a": (0, 10), "c": ["x", "y"]})
    rows = [(1.0, "x"), (1.1, "y"), (1.2, "y"), (9.0, "x"), (9.1, "x"), (1.0, None)]
    assert fill(Neighbors(3), space, rows)[5]["c"] == "y"


def test_equals_scikit_learn():
    generator = np.random.default_rng(0)
    X = generator.random((30, 4))
    X[generator.random(X.shape) < 0.2] = np.nan
    space = Space(dict.fromkeys("abcd", (0, 1)))
    table = table_of(space, [[None if np.isnan(v) else v for v in row] for row in X])
    completed = Neighbors()(table, torch.Generator())
    np.testing.assert_allclose(completed.inputs[0].numpy(), KNNImputer(n_neighbors=5).fit_transform(X), rtol=1e-12)
    known = ~np.isnan(X)
    assert (completed.inputs[0].numpy()[known] == X[known]).all()


@pytest.mark.parametrize("rows", [[(None, None)], [(None, 3.0), (None, None)], [(1.0, None), (None, 2.0)]])
def test_few_rows_and_empty_columns_are_filled_inside_the_bounds(rows):
    space = Space({"a": (0, 10), "b": (0, 10)})
    for row in fill(Neighbors(), space, rows):
        assert all(space.parameters[name].contains(value) for name, value in row.items())
