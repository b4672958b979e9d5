import numpy as np
import pytest
import torch
from scipy.stats import kstest, norm, truncnorm, uniform

from bomi import Integer, Interval, Normal, Real, Space
from bomi.data.observations import Row
from bomi.impute.matrix_factorization import MatrixFactorization
from bomi.impute.stated import draw_stated, quantiles
from bomi.impute.table import Table

LEVELS = (np.arange(200) + 0.5) / 200


@pytest.mark.parametrize(
    ("parameter", "cell", "law"),
    [
        (Real(0, 1000), Normal(300, 15), norm(300, 15)),
        (Real(20, 400), Interval(290, 310), uniform(290, 20)),
        (Real(0, 10), Normal(1, 2), truncnorm(-0.5, 4.5, 1, 2)),  # cut to the bounds
        (Real(0, 10), Normal(20, 2), norm(20, 2)),  # admitted from outside: as it is
    ],
)
def test_quantiles_are_those_of_the_stated_law(parameter, cell, law):
    np.testing.assert_allclose(quantiles(cell, parameter, LEVELS), law.ppf(LEVELS), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("cell", "part"),
    [
        (Interval(2, 4), Interval(2, 4)),
        (Interval(-80, 2), Interval(1, 2)),
        (Interval(90, 999), Interval(90, 100)),
        (Interval(-80, 999), Interval(1, 100)),
        (Interval(200, 300), Interval(200, 300)),  # admitted from outside: as it is
        (Normal(1, 50), Normal(1, 50)),
    ],
)
def test_of_an_interval_the_part_inside_the_bounds_counts(cell, part):
    table = Table.of(Space({"a": Real(1, 100, log=True)}), [Row({"a": cell}, {"y": 0.0})], torch.zeros(1))
    assert [stated.cell for stated in table.stated] == [part]
    drawn = draw_stated(table, 100, torch.Generator().manual_seed(0))
    assert cell == Interval(200, 300) or ((drawn >= 0) & (drawn <= 1)).all()


def test_draws_follow_the_stated_law_and_nothing_else_is_drawn():
    space = Space({"a": (0, 1), "b": (0, 1)})
    rows = [Row({"a": 0.5, "b": Normal(0.5, 0.1)}, {"y": 0.0}), Row({"a": None, "b": Interval(0.2, 0.4)}, {"y": 0.0})]
    table = Table.of(space, rows, torch.zeros(2, dtype=torch.float64))
    drawn = draw_stated(table, 2000, torch.Generator().manual_seed(0))
    assert drawn[:, :, 0].isnan().all()
    assert kstest(drawn[:, 0, 1].numpy(), truncnorm(-5, 5, 0.5, 0.1).cdf).pvalue > 0.01
    assert kstest(drawn[:, 1, 1].numpy(), uniform(0.2, 0.2).cdf).pvalue > 0.01


def test_worlds_draw_stated_cells_from_what_was_stated():
    space = Space({"a": (0, 10), "n": Integer(1, 9)})
    rows = [Row({"a": i / 2, "n": 1 + i % 9}, {"y": 0.0}) for i in range(12)]
    rows += [Row({"a": Interval(4, 5), "n": 3}, {"y": 0.0}), Row({"a": 2.0, "n": Normal(5, 0.5)}, {"y": 0.0})]
    table = Table.of(space, rows, torch.zeros(14, dtype=torch.float64))
    worlds = MatrixFactorization(worlds=50)(table, torch.Generator().manual_seed(0)).inputs
    a = 10 * worlds[:, 12, 0]
    assert ((a >= 4) & (a <= 5)).all()
    assert a.std() > 0.2
    n = {space.from_unit(row.numpy())["n"] for row in worlds[:, 13]}
    assert 5 in n
    assert n <= {3, 4, 5, 6, 7}
    known = ~table.inputs.isnan()
    assert all(torch.equal(world[known], table.inputs[known]) for world in worlds)
