"""Covariances of a process's rows with rows of which some parameters have other values: only these are computed."""

from __future__ import annotations

import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.model.additive import AdditiveCandidates
from bomi.model.conditions import UnderConditions
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.kernels import GPU_STRIP, STRIP
from bomi.posterior.codes import to_codes
from bomi.space import Categorical


class Moved:
    """The covariances of moved rows, by a process with the additive kernel over a table's space."""

    def __init__(self, model: GaussianProcess, table: Table) -> None:
        theta, self.terms = model.theta, None
        if isinstance(model.kernel, UnderConditions) and table.conditions is not None:
            conditions, others = table.conditions.to(theta), model.inputs[0, :, model.kernel.width :]
            self.terms = model.kernel.between_conditions(theta, conditions, others)  # (Q, N, n)
            theta = model.kernel.of_inputs(theta)
        categories = torch.tensor([isinstance(p, Categorical) for p in table.space.parameters.values()])
        self.metric = AdditiveCandidates(theta, categories, table.space.described)
        self.codes = to_codes(table, model.inputs[..., : table.space.dim])  # (Q, n, p)
        self.prior = model.kernel.diagonal(model.theta, model.inputs[:, :1])  # (Q, 1), the same everywhere

    def at_once(self, candidates: int, slots: int) -> int:
        """How many rows with so many candidates for so many parameters fit into the cache, at least one."""
        each = candidates * slots * self.codes[..., 0].numel()
        return max((GPU_STRIP if self.codes.is_cuda else STRIP) // max(each, 1), 1)

    def covariances(self, places: Tensor, rows: Tensor, slots: Tensor, values: Tensor) -> Tensor:
        """Covariances of rows at some places of the table.  (B,), (Q, B, p), (B, g), (Q, B, S, g) -> (Q, B, S, n)"""
        k = self.metric.covariances(self.codes, *(one.to(self.codes.device) for one in (rows, slots, values)))
        return k if self.terms is None else k.add_(self.terms[:, places, None])

    def whole(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """What rows have in common with others as they are, for `changed`.  (Q, B, p) -> (Q, B, n), (Q, B, n)"""
        parts = rows.to(self.codes.device).split(self.at_once(1, rows.shape[-1]), 1)
        joint, additive = zip(*(self.metric.whole(self.codes, part) for part in parts), strict=True)
        return torch.cat(joint, 1), torch.cat(additive, 1)

    def changed(
        self, places: Tensor, rows: Tensor, whole: tuple[Tensor, Tensor], slots: Tensor, values: Tensor
    ) -> Tensor:
        """The covariances from what rows have in common as they are: only what changes is computed."""
        rows, slots, values = (one.to(self.codes.device) for one in (rows, slots, values))
        k = self.metric.changed(self.codes, rows, whole, slots, values)
        return k if self.terms is None else k.add_(self.terms[:, places, None])
