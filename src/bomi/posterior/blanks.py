"""What a blank means: perhaps that the value was the default of its column, with a probability that is learned.

    x_ij = a_j with probability w_j r_ij, otherwise F^-1(Phi(z_ij))      w_j ~ Beta(19, 1) or Beta(1, 99)

An element that nobody reported was not in the alloy; a dose that is blank was not given. Whether it is so is one thing
for the whole column, so blanks mean the default either mostly or hardly ever; the outcomes tell. Where the other
columns leave no room for the default, r is below 1: it is N(a; m, v) / N(a; 0, 1), at most 1, with what the regression
expects in units of the column's mean and standard deviation.

Given the gaps' values, u_ij says whether the blank was meant as the default, which r may have undone:
P(u = 1) = w (1 - r) / (1 - w r) for a gap elsewhere. Given all u of a column, one of the two priors is drawn by the
beta-binomial probability of their number, and then w_j.

    a   (R, g)      code of the default in each slot, NaN where a blank means none
    w   (Q, p)      in each world
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from bomi.posterior.copula import Columns
from bomi.posterior.spread import interpolate
from bomi.space import MAYBE, Categorical, Parameter

UNASKED = math.log(1 / 9)  # that nobody has said that blanks may mean the default
MOSTLY, HARDLY = (19.0, 1.0), (1.0, 99.0)  # of the prior of w: blanks mean the default mostly, or hardly ever


@dataclass(frozen=True)
class Blanks:
    """An atom in the priors of some gaps."""

    parameter: Tensor  # (R, g)
    at: Tensor  # (R, g) a
    own: Tensor  # (R, g) the probability that F gives this very value
    room: Tensor  # (R, g) r
    odds: Tensor  # (p,) log of how likely `mostly` is beforehand, against `hardly`
    weight: Tensor  # (Q, p) w

    @property
    def mostly(self) -> Tensor:
        """Whether blanks of a column mean the default more often than not, in each world.  (Q, p) bool"""
        return self.weight > 0.5

    def select(self, rows: Tensor) -> Blanks:
        """Those of some of the rows with gaps.  rows: (R,) bool"""
        return replace(self, parameter=self.parameter[rows], at=self.at[rows], own=self.own[rows], room=self.room[rows])

    def without(self, row: int, slot: int) -> Blanks:
        """With one slot in which a blank means no default."""
        at = self.at.clone()
        at[row, slot] = torch.nan
        return replace(self, at=at)

    def labels(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Which values are there as the default of their column.  (Q, R, g) -> (Q, R, g) bool

        Where F gives the default too, with P = w r / (w r + (1 - w r) F's own probability).
        """
        w = self._share()
        luck = torch.rand(x.shape, generator=generator, dtype=torch.float64)
        return (x == self.at) & (luck * (w + (1 - w) * self.own) < w)

    def _share(self) -> Tensor:
        """w r.  (Q, R, g)"""
        return self.weight[:, self.parameter] * self.room

    def free(self, z: Tensor, labels: Tensor, root: Tensor, generator: torch.Generator) -> Tensor:
        """Normal numbers behind all slots: those of the defaults, which say nothing, drawn given the others.

        With z* a draw of all and u the others, z = z* + S_u S_uu^-1 (z_u - z*_u), where S = C C^T.  (Q, R, g)
        """
        S = root @ root.transpose(-1, -2)
        drawn = (root @ torch.randn(*z.shape, 1, generator=generator, dtype=torch.float64)).squeeze(-1)
        others = ~labels
        inner = torch.where(others[..., :, None] & others[..., None, :], S, 0.0) + torch.diag_embed(labels.double())
        apart = torch.where(others, z - drawn, 0.0).unsqueeze(-1)
        return torch.where(others, z, drawn + (S @ torch.linalg.solve(inner, apart)).squeeze(-1))

    def put(self, drawn: Tensor, generator: torch.Generator) -> Tensor:
        """Draws from F, some replaced by the default with its probability.  (Q, S, R, g)"""
        luck = torch.rand(drawn.shape, generator=generator, dtype=torch.float64)
        return torch.where((luck < self._share()[:, None]) & ~self.at.isnan(), self.at, drawn)

    def learn(self, x: Tensor, rows: Tensor, generator: torch.Generator) -> Blanks:
        """With weights drawn given the gaps' values in some of the rows with gaps.  (Q, R, g), (R,) bool"""
        used = ~self.at.isnan() & rows[:, None]
        w, luck = self.weight[:, self.parameter], torch.rand(x.shape, generator=generator, dtype=torch.float64)
        meant = self.labels(x, generator) | (luck * (1 - self._share()) < w * (1 - self.room))
        there = meant[:, used].double()  # (Q, G)
        columns = self.parameter[used].expand(there.shape)
        yes, no = (torch.zeros_like(self.weight).scatter_add(1, columns, part) for part in (there, 1 - there))
        odds = self.odds + _log_shares(MOSTLY, yes, no) - _log_shares(HARDLY, yes, no)
        mostly = torch.rand(odds.shape, generator=generator, dtype=torch.float64) < odds.sigmoid()
        counts = [torch.where(mostly, a, b) + part for a, b, part in zip(MOSTLY, HARDLY, (yes, no), strict=True)]
        yes, no = torch._standard_gamma(torch.stack(counts), generator=generator).clamp_min(1e-300)
        return replace(self, weight=yes / (yes + no))


def _log_shares(prior: tuple[float, float], yes: Tensor, no: Tensor) -> Tensor:
    """log of E[w^yes (1 - w)^no] with w ~ Beta."""
    a, b = prior
    constant = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return torch.lgamma(a + yes) + torch.lgamma(b + no) - torch.lgamma(a + b + yes + no) - constant


def blanks_of(
    parameters: Sequence[Parameter],
    codes: Tensor,
    columns: Columns,
    rows: Tensor,
    parameter: Tensor,
    free: Tensor,
    nodes: Tensor,
    cdf: Tensor,
    worlds: int,
) -> Blanks | None:
    """The atoms of a table's gaps, None where no blank may mean a default.

    codes: (n, p); rows: (R,) those with gaps; parameter, free: (R, g), free where nothing else is known of the slot;
    nodes, cdf: (R, g, N) of F
    """
    at = torch.full(parameter.shape, torch.nan, dtype=torch.float64)
    half = torch.zeros(len(parameters), dtype=torch.float64)  # how far the values lie that become the default
    for j, one in enumerate(parameters):
        mine = free & (parameter == j)
        if not one.may_mean(int(mine.sum())) or (place := default_place(one, codes[:, j])) is None:
            continue
        at[mine] = place
        if one.levels is not None:
            half[j] = 0.5 if isinstance(one, Categorical) else 0.5 * float(one.every()[1][0] - one.every()[0][0])
    if at.isnan().all():
        return None
    ends = torch.stack([at - half[parameter] - 1e-9, at + half[parameter] + 1e-9], -1)
    below, above = interpolate(nodes, cdf, ends.nan_to_num()).unbind(-1)
    odds = torch.tensor([0.0 if one.blank == MAYBE else UNASKED for one in parameters], dtype=torch.float64)
    weight = torch.full((worlds, len(parameters)), 0.5, dtype=torch.float64)
    return Blanks(parameter, at, above - below, _room(parameters, columns, codes[rows], parameter, at), odds, weight)


def _room(parameters: Sequence[Parameter], columns: Columns, codes: Tensor, parameter: Tensor, at: Tensor) -> Tensor:
    """r of each slot; 1 for categories.  codes: (R, p) -> (R, g)"""
    mean, variance, center, scale = columns.expect(codes)
    slot = torch.arange(len(codes))[:, None], parameter
    z, m, v = (at - center[parameter]) / scale[parameter], mean[slot], variance[slot].clamp(1e-8, 1)
    ratio = 0.5 * (z.square() - (z - m).square() / v - v.log())
    numbers = torch.tensor([not isinstance(one, Categorical) for one in parameters])[parameter]
    return torch.where(numbers & (v < 1), ratio.clamp_max(0).exp(), 1.0).nan_to_num(1.0)


def default_place(parameter: Parameter, known: Tensor) -> float | None:
    """The code of the value that blanks of a column may mean, if that can be told.  known: (n,)"""
    value, known = parameter.usual, known[~known.isnan()]
    if value is None:
        return float(known.mode().values) if len(known) else None
    if isinstance(parameter, Categorical):
        return float(parameter.index(value))
    place = np.array(parameter.to_unit(value))
    return float(place[0] if parameter.levels is None else parameter.snap(place)[0])
