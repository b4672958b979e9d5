"""Draws of cells whose uncertainty was stated: 300±15, 290..310."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import ndtr, ndtri
from torch import Tensor

from bomi.impute.table import Table
from bomi.space import Array, Integer, Parameter, Real
from bomi.space.cells import Interval, Uncertain


def quantiles(cell: Uncertain, parameter: Parameter, levels: Array) -> Array:
    """The stated distribution's quantiles, cut to the parameter's bounds if its center lies inside them.

    levels: (m,) in (0, 1) -> (m,) in the parameter's own unit
    """
    assert isinstance(parameter, Real | Integer), "only numbers are read with an uncertainty"
    inside = parameter.contains(cell.center)
    lowest = parameter.low if inside else (parameter.low * 1e-9 if parameter.log else -np.inf)
    highest = parameter.high if inside else np.inf
    if isinstance(cell, Interval):
        low, high = max(cell.low, lowest), min(cell.high, highest)
        return low + levels * (high - low)
    low, high = ndtr((lowest - cell.mean) / cell.sd), ndtr((highest - cell.mean) / cell.sd)
    drawn = cell.mean + cell.sd * ndtri(low + levels * (high - low))
    return np.asarray(np.clip(drawn, lowest, highest))


def draw_stated(table: Table, worlds: int, generator: torch.Generator) -> Tensor:
    """Each stated cell drawn from its own distribution in every world; NaN elsewhere.  (Q, n, d)"""
    drawn = torch.full((worlds, *table.inputs.shape), torch.nan, dtype=torch.float64)
    parameters = list(table.space.parameters.values())
    for stated in table.stated:
        parameter = parameters[stated.parameter]
        levels = torch.rand(worlds, generator=generator, dtype=torch.float64).numpy()
        values = quantiles(stated.cell, parameter, levels)
        columns = np.array([parameter.to_unit(float(value)) for value in values])
        drawn[:, stated.row, table.space.columns[stated.parameter]] = torch.from_numpy(columns)
    return drawn
