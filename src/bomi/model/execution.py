"""Execution error: what becomes of a request, given what was learned of the equipment.

Where nothing is known a request is carried out. Evidence against that comes in two ways:

    alike    Each parameter on its own: how often it strays at an asked value, and how far. Parameters stray together as
             they did in the rows.
    memory   The request as a whole: one like it has led to a place. How much that says, and in which parameters
             requests have to be alike for it, is what predicts the rows best, each from the others.

    done | asked  ~  (a alike + k memory) / (a + k),  k = sum_i k_i,  k_i = exp(-sum_j (asked_j - asked_ij)^2 / 2 l_j^2)

Numbers are shares of their range. n rows, Q worlds, p parameters, d columns of the unit cube, m points, B branches: a
request is carried out, strays like the rows, or ends where one like it did
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.space import Array, Categorical, Space

Flags: TypeAlias = NDArray[np.bool_]

EXACT = 0.01  # of the range: what is done this near to what was asked counts as asked
NODES = 17  # asked values at which the errors of a parameter are tabulated
RECALLED = 12  # places that requests like one have led to
NEGLIGIBLE = 1e-6  # a chance: a search would stop where a larger one is left out all at once
LATEST = 256  # rows that are learned from: equipment ages


@dataclass(frozen=True)
class AskedDone:
    """What was asked and done, one number for each parameter: a category as its index."""

    asked: Array  # (n, p) NaN where nothing is known of it
    done: Array  # (Q, n, p)
    strayed: Flags  # (Q, n, p)

    @property
    def errors(self) -> Array:
        """How far off it was, 0 where it was done as asked.  (Q, n, p)"""
        return np.where(self.strayed, self.done - np.nan_to_num(self.asked), 0.0)


def asked_and_done(table: Table, completed: Completed) -> AskedDone:
    """The latest rows of which something asked is known."""
    asked = table.asked[completed.table_rows]
    some = ~asked.isnan().all(-1) & ~completed.inputs.isnan().any(-1).any(0)
    some = some.nonzero()[-LATEST:, 0]
    asked_codes = codes_of(table.space, asked[some]).numpy()
    asked_codes[:, measured(table.space)] = np.nan  # nobody asks for these
    done = codes_of(table.space, completed.inputs[:, some]).numpy()
    tolerance = np.array([0.5 if isinstance(p, Categorical) else EXACT for p in table.space.parameters.values()])
    strayed = np.abs(done - np.nan_to_num(asked_codes)) > tolerance
    return AskedDone(asked_codes, done, strayed & ~np.isnan(asked_codes))


@dataclass(frozen=True)
class Execution:
    """What becomes of a request, as a few weighted branches in each world."""

    space: Space
    rates: tuple[Array, ...]  # of each parameter, how often: (NODES,), of a category by what was asked (C,)
    usual: Array  # (p,) how often on average
    together: Tensor  # (Q, K, p) bool, which parameters stray in each draw
    errors: tuple[Tensor, ...]  # of each parameter, how far: (NODES, Q, K); of a category what else: (C, Q, K)
    often: float  # how often anything strays
    pairs: AskedDone
    lengths: Array  # (p,)
    faith: float
    recalled: int = RECALLED

    def branches(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """What is done of each request, and how likely that is, in each world.  (m, d) -> (Q, B, m), (Q, B, m, d)

        What is unlikely for all of the requests is left out: most of the time nothing is recalled.
        """
        chance, places = self._alike(points)
        share, likely, recalled = self._recalled(points)
        chance = torch.cat([chance * (1 - share).unsqueeze(1), likely], 1)
        exact = (1 - chance.sum(1, keepdim=True)).clamp_min(0)
        here = points.expand(len(places), 1, *points.shape)
        chance, places = torch.cat([exact, chance], 1), torch.cat([here, places, recalled], 1)
        counts = chance.detach().amax((0, 2)) > NEGLIGIBLE if len(points) else slice(None)
        chance = chance[:, counts]
        return chance / chance.sum(1, keepdim=True), places[:, counts]

    def fewer(self, share: float) -> Execution:
        """With a share of the draws, at least one in each world, and of requests like one only the most alike."""
        kept = math.ceil(share * self.together.shape[1])
        errors = tuple(one[..., :kept] for one in self.errors)
        return replace(self, together=self.together[:, :kept], errors=errors, recalled=1)

    def exactly(self, name: str) -> Execution:
        """As if one parameter were always done as asked."""
        j = list(self.space.names).index(name)
        together, strayed = self.together.clone(), self.pairs.strayed.copy()
        together[..., j], strayed[..., j] = False, False
        return replace(self, together=together, pairs=replace(self.pairs, strayed=strayed))

    @cached_property
    def _numbers(self) -> tuple[list[int], Tensor, Tensor]:
        """The numbers that stray in some draw: their columns, and tables of how often and how far.

        s times j, (s,), (s, NODES, 1 + Q K)
        """
        kinds = enumerate(self.space.parameters.values())
        some = [j for j, kind in kinds if not isinstance(kind, Categorical) and bool(self.together[..., j].any())]
        tables = [torch.cat([torch.from_numpy(self.rates[j])[:, None], self.errors[j].flatten(1)], 1) for j in some]
        columns = torch.tensor([self.space.columns[j].start for j in some], dtype=torch.long)
        return some, columns, torch.stack(tables) if some else torch.zeros(0)

    def _alike(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Straying as the rows did.  (m, d) -> (Q, K, m), (Q, K, m, d)"""
        worlds, draws, _ = self.together.shape
        ratio = points.new_ones(worlds, draws, len(points))
        places = points.expand(worlds, draws, -1, -1)
        numbers, columns, tables = self._numbers
        if numbers:
            own, usual = points[:, columns], torch.from_numpy(self.usual[numbers])  # (m, s), (s,)
            found = _interpolate(tables, own)  # (m, s, 1 + Q K)
            rate = torch.where(own.isnan(), usual, found[..., 0]) / usual
            off = found[..., 1:].unflatten(-1, (worlds, draws)).permute(2, 3, 0, 1)  # (Q, K, m, s)
            strays = self.together[:, :, None, numbers]  # (Q, K, 1, s)
            ratio = torch.where(strays, rate, 1.0).prod(-1)
            places = places.index_copy(-1, columns, torch.where(strays, own + off, own))
        for j, parameter in enumerate(self.space.parameters.values()):
            if isinstance(parameter, Categorical) and bool(self.together[..., j].any()):
                own, strays = points[:, self.space.columns[j]], self.together[..., j, None]  # (m, c), (Q, K, 1)
                word = own.argmax(-1)
                ratio = ratio * torch.where(strays, torch.from_numpy(self.rates[j])[word] / self.usual[j], 1.0)
                other = torch.nn.functional.one_hot(self.errors[j][word].long(), parameter.width).to(own)
                done = torch.where(strays.unsqueeze(-1) & ~own.isnan(), other.permute(1, 2, 0, 3), own)
                at = torch.arange(self.space.columns[j].start, self.space.columns[j].stop)
                places = places.index_copy(-1, at, done)
        several = self.together.sum(-1, keepdim=True).clamp_min(1)  # that stray together: they say the same
        chance = self.often * ratio ** (1 / several) / draws
        return chance / chance.sum(1, keepdim=True).clamp_min(1), places

    def _recalled(self, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What memory says in all, and the likeliest places that it leads to.

        (m, d) -> (Q, m), (Q, R, m), (Q, R, m, d)
        """
        asked, done, strayed = (torch.from_numpy(part) for part in vars(self.pairs).values())
        codes = codes_of(self.space, points)
        alike = torch.exp(-0.5 * far_apart(self.space, codes[:, None], asked, self.lengths))  # (m, n)
        total = alike.sum(-1) + self.faith
        astray = torch.where(strayed.any(-1).unsqueeze(1), alike, 0.0)  # (Q, m, n)
        share = (alike.sum(-1) / total).expand(len(done), -1)
        elsewhere = astray.sum(-1) / total
        if not bool((elsewhere > NEGLIGIBLE).any()):  # nothing, most of the time
            return share, points.new_zeros(len(done), 0, len(points)), points.new_zeros(len(done), 0, *points.shape)
        top, row = astray.topk(min(self.recalled, len(asked)), -1)  # (Q, m, R)
        likely = elsewhere.unsqueeze(-1) * top / top.sum(-1, keepdim=True).clamp_min(1e-300)
        world = torch.arange(len(done))[:, None, None]
        parts = []
        each = zip(self.space.parameters.values(), self.space.columns, strict=True)
        for j, (parameter, columns) in enumerate(each):
            there = done[world, row, j]
            if isinstance(parameter, Categorical):
                value = torch.nn.functional.one_hot(there.long(), parameter.width).to(points)
            else:
                value = there.unsqueeze(-1)
            parts.append(torch.where(strayed[world, row, j].unsqueeze(-1), value, points[:, None, columns]))
        return share, likely.transpose(1, 2), torch.cat(parts, -1).transpose(1, 2)


def far_apart(space: Space, some: Tensor, others: Tensor, lengths: Array) -> Tensor:
    """Squared distances of requests, in lengths; of another category, a whole one.  (..., p), (n, p) -> (..., n)"""
    told = torch.from_numpy(np.isfinite(lengths))
    words = torch.tensor([isinstance(p, Categorical) for p in space.parameters.values()])[told]
    apart = some[..., told] - others[:, told]
    if words.any():
        apart = torch.where(words, (apart.abs() > 0.5).to(apart), apart)
    squares = apart.div_(torch.from_numpy(lengths)[told]).square_()
    return squares.nan_to_num_(nan=1e6).sum(-1)  # what is unknown is like nothing


def measured(space: Space) -> Flags:
    """Which parameters are only measured.  (p,)"""
    return np.array([parameter.measured for parameter in space.parameters.values()])


def _interpolate(tables: Tensor, at: Tensor) -> Tensor:
    """Tables over nodes from 0 to 1, linearly between them.  (s, G, k), (m, s) -> (m, s, k)"""
    last = tables.shape[1] - 1
    place = at.clamp(0, 1) * last
    low = place.detach().nan_to_num().floor().long().clamp(0, last - 1)
    part, each = (place - low).unsqueeze(-1), torch.arange(len(tables))
    return tables[each, low] * (1 - part) + tables[each, low + 1] * part


def codes_of(space: Space, inputs: Tensor) -> Tensor:
    """One number for each parameter: a category as its index, NaN where unknown.  (..., d) -> (..., p)"""
    parts = []
    for parameter, columns in zip(space.parameters.values(), space.columns, strict=True):
        part = inputs[..., columns]
        if isinstance(parameter, Categorical):
            parts.append(torch.where(part.isnan().any(-1), torch.nan, part.nan_to_num().argmax(-1).to(part)))
        else:
            parts.append(part[..., 0])
    return torch.stack(parts, -1)
