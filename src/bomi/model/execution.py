"""Execution error: what equipment makes of a request, learned from every row that says both what was asked and done.

Where nothing is known a request is carried out. Evidence against that comes in two ways:

    alike    Each parameter on its own: how often it strays at an asked value, and how far. A row says more of an asked
             value the nearer its own is; a line through the errors, fitted by the same weights, tells a shift
             (asked + 20) from saturation (always 260). Parameters stray together as they did in the rows.
    memory   The request as a whole: one like it has led to a place. How much that says, and in which parameters
             requests have to be alike for it, is what predicts the rows best, each from the others.

    done | asked  ~  (a alike + k memory) / (a + k),  k = sum_i k_i,  k_i = exp(-sum_j (asked_j - asked_ij)^2 / 2 l_j^2)

Numbers are shares of their range. n rows, Q worlds, p parameters, d columns of the unit cube, m points, B branches: a
request is carried out, strays like the rows, or ends where one like it did
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtr
from torch import Tensor

from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.space import Array, Categorical, Space

Flags: TypeAlias = NDArray[np.bool_]

EXACT = 0.01  # of the range: what is done this near to what was asked counts as asked
DRAWS = 48  # of how parameters stray, in all worlds together; fewer where that is rare
NODES = 17  # asked values at which the errors of a parameter are tabulated
WIDTHS = (0.1, 0.25, 1.0)  # within which asked values are alike, as shares of the range
EVERYWHERE = 0.05  # what a row says of any asked value
BELIEF = 1.0  # rows that the belief in equipment is worth
UNLIKE = 0.3  # of an error: how far the next is off at least, where only one is known
SLOPE = 0.1  # asked values that differ by less say little of a slope
LENGTHS = (0.03, 0.1, 0.3, math.inf)  # within which requests have to be alike
FAITH = (1.0, 0.3, 3.0, 30.0, 300.0)  # requests that what is known of each parameter is worth, beside memory
CLOSE = 0.01  # requests as close as this are alike, where no length is better
GAIN = 0.9  # the share of the squared error that memory has to leave at most
RECALLED = 12  # places that requests like one have led to
NEGLIGIBLE = 1e-3  # a chance
LATEST = 256  # rows that are learned from: equipment ages


@dataclass(frozen=True)
class Pairs:
    """What was asked and done, one number for each parameter: a category as its index."""

    asked: Array  # (n, p) NaN where nothing is known of it
    done: Array  # (Q, n, p)
    strayed: Flags  # (Q, n, p)

    @property
    def errors(self) -> Array:
        """How far off it was, 0 where it was done as asked.  (Q, n, p)"""
        return np.where(self.strayed, self.done - np.nan_to_num(self.asked), 0.0)


def pairs_of(table: Table, completed: Completed) -> Pairs:
    """The latest rows of which something asked is known."""
    asked = table.asked if completed.rows is None else table.asked[completed.rows]
    some = ~asked.isnan().all(-1) & ~completed.inputs.isnan().any(-1).any(0)
    some = some.nonzero()[-LATEST:, 0]
    asked_codes = _codes(table.space, asked[some]).numpy()
    asked_codes[:, _measured(table.space)] = np.nan  # nobody asks for these
    done = _codes(table.space, completed.inputs[:, some]).numpy()
    tolerance = np.array([0.5 if isinstance(p, Categorical) else EXACT for p in table.space.parameters.values()])
    strayed = np.abs(done - np.nan_to_num(asked_codes)) > tolerance
    return Pairs(asked_codes, done, strayed & ~np.isnan(asked_codes))


@dataclass(frozen=True)
class Execution:
    """What becomes of a request, as a few weighted branches in each world."""

    space: Space
    straying: tuple[Array, ...]  # of each parameter, how often: (NODES,), of a category by what was asked (C,)
    usual: Array  # (p,) how often on average
    together: Tensor  # (Q, K, p) bool, which parameters stray in each draw
    errors: tuple[Tensor, ...]  # of each parameter, how far: (NODES, Q, K); of a category what else: (C, Q, K)
    often: float  # how often anything strays
    pairs: Pairs
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
        tables = [torch.cat([torch.from_numpy(self.straying[j])[:, None], self.errors[j].flatten(1)], 1) for j in some]
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
                ratio = ratio * torch.where(strays, torch.from_numpy(self.straying[j])[word] / self.usual[j], 1.0)
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
        codes = _codes(self.space, points)
        alike = torch.exp(-0.5 * _far(self.space, codes[:, None], asked, self.lengths))  # (m, n)
        total = alike.sum(-1) + self.faith
        astray = torch.where(strayed.any(-1).unsqueeze(1), alike, 0.0)  # (Q, m, n)
        share = (alike.sum(-1) / total).expand(len(done), -1)
        if not bool((astray > NEGLIGIBLE * self.faith).any()):  # nothing, most of the time
            return share, points.new_zeros(len(done), 0, len(points)), points.new_zeros(len(done), 0, *points.shape)
        top, row = astray.topk(min(self.recalled, len(asked)), -1)  # (Q, m, R)
        likely = astray.sum(-1, keepdim=True) / total[:, None] * top / top.sum(-1, keepdim=True).clamp_min(1e-300)
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


def learn_execution(table: Table, completed: Completed, *, draws: int = DRAWS, seed: int = 0) -> Execution | None:
    """What the rows say of the equipment; None where none of them is as likely as not to have strayed."""
    pairs = pairs_of(table, completed)
    if not (pairs.strayed.any(-1).mean(0) >= 0.5).any():
        return None
    rng = np.random.default_rng(seed)
    worlds, n, p = pairs.done.shape
    often = float(pairs.strayed.any(-1).sum(1).mean() / (n + BELIEF))
    each = math.ceil(draws * often / worlds)  # draws in a world; what is rare counts little
    world, row = np.nonzero(pairs.strayed.any(-1))
    chosen = rng.permutation(len(world))[np.arange(worlds * each) % len(world)]
    together = pairs.strayed[world[chosen], row[chosen]]  # (Q K, p)
    off = pairs.errors[world[chosen], row[chosen]]
    straying, errors = [], []
    for j, parameter in enumerate(table.space.parameters.values()):
        known = ~np.isnan(pairs.asked[:, j])
        asked, strayed = pairs.asked[known, j], pairs.strayed[:, known, j]
        done = pairs.done[:, known, j]
        levels = _levels(off[:, j], together[:, j], rng)
        if isinstance(parameter, Categorical):
            rate, table_of_errors = _swapped(asked.astype(int), done.astype(int), parameter.width, levels)
        else:
            rate, table_of_errors = _margin(asked, done - asked, strayed, levels)
        straying.append(rate)
        errors.append(torch.from_numpy(table_of_errors).reshape(-1, worlds, each))
    asked_rows = (~np.isnan(pairs.asked)).sum(0)
    lengths, faith = _memory(table.space, pairs)
    return Execution(
        table.space,
        tuple(straying),
        pairs.strayed.sum(1).mean(0) / (asked_rows + BELIEF),
        torch.from_numpy(together).reshape(worlds, each, p),
        tuple(errors),
        often,
        replace(pairs, done=_smoothed(table.space, pairs, lengths, rng)),
        lengths,
        faith,
    )


def _margin(asked: Array, errors: Array, strayed: Flags, levels: Array) -> tuple[Array, Array]:
    """How often a number strays at each node, and its errors there at some levels.

    (n,), (Q, n), (Q, n), (L,) -> (G,), (G, L)
    """
    nodes = np.linspace(0, 1, NODES)
    if not strayed.any():
        return np.zeros(NODES), np.zeros((NODES, len(levels)))
    near = _near(nodes[:, None], asked, _width(asked, np.where(strayed, errors, 0.0).mean(0)))  # (G, n)
    rate = near @ strayed.mean(0) / (near.sum(-1) + BELIEF)
    found = np.empty((NODES, len(levels)))
    a, e = np.broadcast_to(asked, errors.shape)[strayed], errors[strayed]
    shares = np.broadcast_to(near[:, None], (NODES, *errors.shape))[:, strayed]
    shares = shares / shares.sum(-1, keepdims=True)  # (G, s)
    of_rows = near * strayed.mean(0)  # (G, n)
    effective = of_rows.sum(-1) ** 2 / (of_rows**2).sum(-1)  # (G,) how many rows speak of a node
    for g, (node, share, rows) in enumerate(zip(nodes, shares, effective, strict=True)):
        middle, center = share @ a, share @ e
        slope = share @ ((a - middle) * (e - center)) / (share @ (a - middle) ** 2 + SLOPE**2 / rows)
        moved = e + slope * (node - a)
        spread = math.sqrt(share @ (moved - share @ moved) ** 2 * rows / max(rows - 1.5, 0.5))  # a line takes up some
        smooth = max(0.9 * spread * rows**-0.2, UNLIKE * math.sqrt(share @ moved**2) / rows, 1e-4)
        found[g] = _quantiles(moved, share, smooth, levels)
    return rate, found


def _near(nodes: Array, asked: Array, width: float) -> Array:
    """What a row says of a node, by how near its asked value is."""
    weights: Array = np.exp(-0.5 * ((nodes - asked) / width) ** 2) + EVERYWHERE
    return weights


def _from_others(asked: Array, errors: Array, width: float) -> Array:
    """What is expected of the errors at each row from all others, by a line through them.  (n,), (n,) -> (n,)"""
    near = _near(asked[:, None], asked, width)
    np.fill_diagonal(near, 0.0)
    total = near.sum(-1).clip(1e-12)
    shares = near / total[:, None]
    middle, center, rows = shares @ asked, shares @ errors, 1 / (shares**2).sum(-1).clip(1e-12)
    slope = (shares @ (asked * errors) - middle * center) / (shares @ asked**2 - middle**2 + SLOPE**2 / rows)
    expected: Array = (center + slope * (asked - middle)) * total / (total + BELIEF)
    return expected


def _width(asked: Array, errors: Array) -> float:
    """Within which asked values are alike: what predicts each error best from the others, by its Laplace density.

    Where few errors are known, chance makes them look small: a smaller width has to be clearly better.
    """
    return _largest(WIDTHS, [_surprise(asked, errors, width) for width in WIDTHS])


def _largest(options: Sequence[float], missed: Sequence[Array]) -> float:
    """The largest that is not worse than the best by more than a standard error (Breiman et al. 1984).  k times (n,)"""
    worse = np.stack(missed) - min(missed, key=np.sum)  # (k, n)
    close = worse.sum(-1) <= worse.std(-1) * math.sqrt(worse.shape[-1])
    return max(one for one, kept in zip(options, close, strict=True) if kept)


def _surprise(asked: Array, errors: Array, width: float) -> Array:
    """log s + |e - m| / s of each error, its middle m and size s known from the others.  (n,), (n,) -> (n,)"""
    away = np.abs(errors - _from_others(asked, errors, width))
    near = _near(asked[:, None], asked, width)
    np.fill_diagonal(near, 0.0)
    size = near @ away / near.sum(-1).clip(1e-12) + EXACT
    surprise: Array = np.log(size) + away / size
    return surprise


def _quantiles(values: Array, shares: Array, smooth: float, levels: Array) -> Array:
    """Quantiles of a sum of bells around values.  (s,), (s,) -> (L,)"""
    grid = np.linspace(values.min() - 3 * smooth, values.max() + 3 * smooth, 65)
    below = ndtr((grid[:, None] - values) / smooth) @ shares
    found: Array = np.interp(levels, below, grid)
    return found


def _swapped(asked: Flags, done: Flags, width: int, levels: Array) -> tuple[Array, Array]:
    """How often a category is swapped, and for which at some levels.  (n,), (Q, n), (L,) -> (C,), (C, L)"""
    counts = np.zeros((width, width))
    np.add.at(counts, (np.broadcast_to(asked, done.shape), done), 1 / len(done))
    swaps = counts * (1 - np.eye(width))
    rate = (swaps.sum(1) + EVERYWHERE * swaps.sum()) / (counts.sum(1) + EVERYWHERE * counts.sum() + BELIEF)
    # What is done instead of a category that was never swapped: what is done instead of others.
    instead = swaps + EVERYWHERE * swaps.sum(0) + 1e-9
    instead *= 1 - np.eye(width)
    below = np.cumsum(instead / instead.sum(1, keepdims=True), 1)
    return rate, np.stack([np.searchsorted(row, levels).clip(0, width - 1) for row in below]).astype(float)


def _levels(errors: Array, strayed: Flags, rng: np.random.Generator) -> Array:
    """Even levels in the order of the errors, so that parameters go together as they did in the rows.  (L,) -> (L,)"""
    levels = rng.random(len(errors))
    order = np.lexsort((levels[strayed], errors[strayed])).argsort()
    levels[strayed] = (order + 0.5) / max(len(order), 1)
    return levels


def _memory(space: Space, pairs: Pairs) -> tuple[Array, float]:
    """In which parameters requests have to be alike, and how much that says: what predicts the rows best.  (p,)"""
    free = ~_measured(space)
    whole, close = ~np.isnan(pairs.asked[:, free]).any(-1), np.where(free, CLOSE, math.inf)
    if not whole.any():
        return close, FAITH[0]
    asked, errors = torch.from_numpy(pairs.asked[whole]).nan_to_num(), pairs.errors[:, whole].mean(0)
    strayed = pairs.strayed[:, whole].mean(0)
    places = errors + strayed * asked.numpy()  # that are remembered, as often as they differ from what was asked
    p = len(space)
    apart = torch.stack(
        [_far(space, asked[:, None], asked, np.where(np.arange(p) == j, 1.0, np.inf)) for j in range(p)]
    )
    far = apart.numpy()  # (p, n, n)
    columns = zip(asked.numpy().T, errors.T, strict=True)
    alike_says = np.stack([_from_others(a, e, _width(a, e)) for a, e in columns], -1)  # (n, p)

    def likeness(lengths: Array) -> Array:
        alike: Array = np.exp(-0.5 * np.tensordot(lengths**-2.0, far, 1))
        np.fill_diagonal(alike, 0.0)
        return alike

    def missed_by_row(lengths: Array, faith: float) -> Array:
        alike = likeness(lengths)
        recalled = alike @ places - (alike @ strayed) * asked.numpy()  # how far they are from what is asked now
        expected = (recalled + faith * alike_says) / (alike.sum(-1, keepdims=True) + faith)
        squares: Array = ((expected - errors) ** 2).sum(-1)
        return squares

    def missed(lengths: Array, faith: float) -> float:
        return float(missed_by_row(lengths, faith).sum())

    alike_in = [np.where(free, one, math.inf) for one in LENGTHS]
    lengths, faith = min(alike_in, key=lambda one: missed(one, FAITH[0])), FAITH[0]
    for _ in range(2):
        for j in np.flatnonzero(free):
            tried = [np.where(np.arange(p) == j, one, lengths) for one in LENGTHS]
            lengths = min(tried, key=lambda one: missed(one, faith))
        faith = min(FAITH, key=lambda one: missed(lengths, one))
    least = min(GAIN, math.exp(-4 * (p + 1) / max(len(errors), 1)))  # each choice costs twice what it does by Akaike
    if missed(lengths, faith) < least * ((alike_says - errors) ** 2).sum():
        return lengths, faith
    again = likeness(alike_in[0]).sum(-1) > 0.5  # only requests that were made more than once tell
    if not again.any():
        return close, FAITH[0]
    return close, _largest(FAITH, [missed_by_row(alike_in[0], one)[again] for one in FAITH])


def _smoothed(space: Space, pairs: Pairs, lengths: Array, rng: np.random.Generator) -> Array:
    """The places to be remembered, each moved a little at random: a few places do not span all that may be done.

    How far depends on how much the places differ that the likest requests have led to: a tree is always in the same
    place.  (Q, n, p)
    """
    asked = torch.from_numpy(pairs.asked)
    far = _far(space, asked[:, None], asked, lengths).numpy() + np.diag(np.full(len(asked), math.inf))
    moved = pairs.done.copy()
    for j, parameter in enumerate(space.parameters.values()):
        rows = np.flatnonzero(pairs.strayed[..., j].mean(0) > 0.5)
        if isinstance(parameter, Categorical) or len(rows) < 3:
            continue
        done = pairs.done[:, rows, j].mean(0)
        likest = far[np.ix_(rows, rows)].argmin(-1)
        spread = 1.48 / math.sqrt(2) * np.median(np.abs(done - done[likest]))
        moved[..., j] += 0.9 * spread * min(len(rows), RECALLED) ** -0.2 * rng.standard_normal(len(asked))
    return moved


def _far(space: Space, some: Tensor, others: Tensor, lengths: Array) -> Tensor:
    """Squared distances of requests, in lengths; of another category, a whole one.  (..., p), (n, p) -> (..., n)"""
    words = torch.tensor([isinstance(p, Categorical) for p in space.parameters.values()])
    apart = some - others
    apart = torch.where(words, (apart.abs() > 0.5).to(apart), apart)
    squares = (apart / torch.from_numpy(lengths)).square().nan_to_num(nan=1e6)  # what is unknown is like nothing
    return torch.where(torch.from_numpy(np.isfinite(lengths)), squares, 0.0).sum(-1)


def _measured(space: Space) -> Flags:
    """Which parameters are only measured.  (p,)"""
    return np.array([parameter.measured for parameter in space.parameters.values()])


def _interpolate(tables: Tensor, at: Tensor) -> Tensor:
    """Tables over nodes from 0 to 1, linearly between them.  (s, G, k), (m, s) -> (m, s, k)"""
    last = tables.shape[1] - 1
    place = at.clamp(0, 1) * last
    low = place.detach().nan_to_num().floor().long().clamp(0, last - 1)
    part, each = (place - low).unsqueeze(-1), torch.arange(len(tables))
    return tables[each, low] * (1 - part) + tables[each, low + 1] * part


def _codes(space: Space, inputs: Tensor) -> Tensor:
    """One number for each parameter: a category as its index, NaN where unknown.  (..., d) -> (..., p)"""
    parts = []
    for parameter, columns in zip(space.parameters.values(), space.columns, strict=True):
        part = inputs[..., columns]
        if isinstance(parameter, Categorical):
            parts.append(torch.where(part.isnan().any(-1), torch.nan, part.nan_to_num().argmax(-1).to(part)))
        else:
            parts.append(part[..., 0])
    return torch.stack(parts, -1)
