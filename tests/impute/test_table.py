"""The table as the methods see it."""

import torch

from bomi.impute.table import LARGE, Table
from bomi.space import Space


def empty(rows, parameters, outcomes=1):
    """A table without a value."""
    inputs = torch.full((rows, parameters), torch.nan, dtype=torch.float64)
    space = Space({f"x{j}": (0, 1) for j in range(parameters)})
    return Table(space, inputs, inputs, torch.zeros(outcomes, rows, dtype=torch.float64))


def test_a_table_of_many_columns_is_large_from_fewer_rows_on():
    assert not empty(LARGE, 12).large
    assert empty(LARGE + 1, 3).large
    wide = empty(10, 30, 2)
    assert wide.swept**2 * 60 <= LARGE**2 * 12 < (wide.swept + 1) ** 2 * 60  # sweeps take as long
