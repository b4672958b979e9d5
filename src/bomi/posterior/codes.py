"""Columns of the unit cube as one number for each parameter: a number as it is, a category as its index."""

from __future__ import annotations

import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.model.execution import codes_of
from bomi.space import Categorical


def to_codes(table: Table, inputs: Tensor) -> Tensor:
    """Columns of the cube as codes: a number as it is, a category as its index.  (..., d) -> (..., p)"""
    return codes_of(table.space, inputs)


def from_codes(table: Table, codes: Tensor) -> Tensor:
    """Codes as columns of the cube.  (..., p) -> (..., d)"""
    parts = []
    for j, parameter in enumerate(table.space.parameters.values()):
        if isinstance(parameter, Categorical):
            parts.append(torch.nn.functional.one_hot(codes[..., j].long(), parameter.width).to(codes))
        else:
            parts.append(codes[..., j, None])
    return torch.cat(parts, -1)
