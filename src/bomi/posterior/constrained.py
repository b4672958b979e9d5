"""Draws of gaps that keep the constraints of the space, for the sampler of the posterior.

A row's prior is cut to what keeps the sums and products. A limit gives a candidate that breaks it the weight 0. Of a
fixed sum one gap, the pivot, follows from the others: these are drawn as ever, and a candidate's weight is the pivot's
own prior density at the value that follows. So the candidates stay exchangeable under the prior, and the sampler exact.
How many may be other than 0 says nothing here, but where it leaves no choice (`deduce`).

    values   (..., R, g)   of the gaps' slots, as codes        numbers  (..., k)   of the constrained parameters
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.posterior.priors import GapPriors
from bomi.space import Array
from bomi.space.sums import Mask


@dataclass(frozen=True)
class _Row:
    """A row with gaps in constrained parameters."""

    row: int  # of the priors
    slots: list[int]  # those gaps
    places: list[int]  # and which of the k constrained parameters they are
    pivots: list[tuple[int, int]]  # (constraint, position in slots) of gaps that follow from a fixed sum
    known: Array  # (k,) numbers, NaN in the gaps
    kept: Mask  # (c,) constraints that what is known leaves possible


class Constrained:
    """What the constraints say of the gaps of a table."""

    def __init__(self, table: Table, priors: GapPriors) -> None:
        self.table, self.space = table, table.space
        polytope = self.space.polytope
        assert polytope is not None
        self.polytope = polytope
        spoken = {int(j): i for i, j in enumerate(self.space.constrained)}
        self.rows: list[_Row] = []
        for r, row in enumerate(priors.rows.tolist()):
            slots = [
                s for s in range(priors.used.shape[1]) if priors.used[r, s] and int(priors.parameter[r, s]) in spoken
            ]
            if slots:
                places = [spoken[int(priors.parameter[r, s])] for s in slots]
                known = self.space.numbers(table.inputs[row].numpy())
                known[places] = np.nan
                self.rows.append(self._row(r, slots, places, known, priors))

    def _row(self, r: int, slots: list[int], places: list[int], known: Array, priors: GapPriors) -> _Row:
        polytope = self.polytope
        gap = np.isnan(known)
        ends, told = polytope.terms(np.stack([polytope.low, polytope.high])), polytope.terms(np.nan_to_num(known))
        least = np.where(gap, ends.min(0), told).sum(-1)
        most = np.where(gap, ends.max(0), told).sum(-1)
        kept = (least <= polytope.upper + polytope.slack) & (most >= polytope.lower - polytope.slack)
        pivots: list[tuple[int, int]] = []
        for c in np.flatnonzero(polytope.fixed & kept):
            # The gap of which least is known otherwise: neither asked nor discrete, and not a pivot already.
            mine = [s for s, j in enumerate(places) if polytope.A[c, j] and s not in {p for _, p in pivots}]
            known_by = {s: (bool(polytope.discrete[places[s]]), not priors.asked[r, slots[s]].isnan()) for s in mine}
            if mine:
                pivots.append((int(c), min(mine, key=known_by.__getitem__)))
        return _Row(r, slots, places, pivots, known, kept)

    def free_pivots(self, priors: GapPriors) -> GapPriors:
        """The priors with each pivot independent of the other gaps of its row."""
        root, blanks = priors.root.clone(), priors.blanks
        for one in self.rows:
            for _, s in one.pivots:
                slot = one.slots[s]
                blanks = blanks and blanks.without(one.row, slot)
                covariance = root[one.row] @ root[one.row].T
                covariance[slot], covariance[:, slot] = 0.0, 0.0
                covariance[slot, slot] = 1.0
                root[one.row] = torch.linalg.cholesky(covariance)
        return replace(priors, root=root, blanks=blanks)

    def follow(self, values: Tensor, priors: GapPriors) -> tuple[Tensor, Tensor]:
        """Candidates with what follows from fixed sums, and the log weights that cut the prior to the constraints.

        values: (Q, S, R, g) -> (Q, S, R, g), (Q, S, R)
        """
        values, weight = values.clone(), torch.zeros(values.shape[:3], dtype=torch.float64)
        parameters = list(self.space.parameters.values())
        for one in self.rows:
            codes = values[:, :, one.row, one.slots].numpy()  # (Q, S, s)
            numbers = np.broadcast_to(one.known, (*codes.shape[:2], len(one.known))).copy()
            owners = [parameters[self.space.constrained[j]] for j in one.places]
            for s, j in enumerate(one.places):
                numbers[..., j] = owners[s].numbers(codes[..., s, None])
            fine = np.ones(codes.shape[:2], dtype=bool)
            for _ in one.pivots:  # as often as there are, since one may speak of another
                for c, s in one.pivots:
                    j = one.places[s]
                    each = self.polytope.terms(numbers)[..., c, :]
                    rest = each.sum(-1) - each[..., j]
                    numbers[..., j] = self.polytope.number(c, (self.polytope.lower[c] - rest) / self.polytope.A[c, j])
            for _, s in one.pivots:
                j = one.places[s]
                axis = self.polytope.axes[j]
                inside = np.clip(numbers[..., j], axis.low, axis.high)
                if axis.discrete:
                    inside = axis.value(np.round(axis.index(inside)))
                fine &= np.abs(inside - numbers[..., j]) <= 1e-6 * (axis.high - axis.low)
                numbers[..., j] = inside
                place = torch.from_numpy(owners[s].places(inside)[..., 0])
                values[:, :, one.row, one.slots[s]] = place
                weight[:, :, one.row] += _log_density(priors, one.row, one.slots[s], place)
            sums = self.polytope.totals(numbers)
            slack = 1e-6 * self.polytope.size
            kept = (sums >= self.polytope.lower - slack) & (sums <= self.polytope.upper + slack)
            fine &= (kept | ~one.kept).all(-1)
            weight[:, :, one.row].masked_fill_(torch.from_numpy(~fine), -torch.inf)
        return values, weight

    def project(self, values: Tensor) -> Tensor:
        """Values of all slots moved as little as the constraints ask.  (..., R, g) -> (..., R, g)"""
        values = values.clone()
        parameters = list(self.space.parameters.values())
        for one in self.rows:
            owners = [parameters[self.space.constrained[j]] for j in one.places]
            codes = values[..., one.row, one.slots].numpy().reshape(-1, len(one.slots))
            numbers = np.tile(one.known, (len(codes), 1))
            for s, j in enumerate(one.places):
                numbers[:, j] = owners[s].numbers(codes[:, s, None])
            free = np.tile(np.isnan(one.known), (len(codes), 1))
            right = self.polytope.project(numbers, free)
            right = np.where(np.isnan(right), numbers, right)
            for s, j in enumerate(one.places):
                place = torch.from_numpy(owners[s].places(right[:, j])[..., 0])
                values[..., one.row, one.slots[s]] = place.reshape(values.shape[:-2])
        return values


def _log_density(priors: GapPriors, row: int, slot: int, x: Tensor) -> Tensor:
    """The log of a gap's own prior density at codes.  (Q, S) -> (Q, S)"""
    nodes, cdf = priors.nodes[row, slot], priors.cdf[:, row, slot].expand(len(x), -1)  # (N,), (Q, N)
    after = torch.searchsorted(nodes.contiguous(), x.contiguous(), right=True).clamp(1, len(nodes) - 1)
    rise = cdf.gather(-1, after) - cdf.gather(-1, after - 1)
    return (rise / (nodes[after] - nodes[after - 1]).clamp_min(1e-9)).clamp_min(1e-12).log()
