"""What equipment makes of requests, learned from every row that says both what was asked and what was done.

How often a parameter strays at an asked value, and how far, is tabulated at some nodes: a row says more of a node the
nearer its asked value is, and a line through the errors, fitted by the same weights, tells a shift (asked + 20) from
saturation (always 260). Widths, and in which parameters requests have to be alike, are what predicts the rows best,
each from the others. Notation as in `model/execution`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.model.execution import (
    EXACT,
    NODES,
    RECALLED,
    AskedDone,
    Execution,
    Flags,
    asked_and_done,
    far_apart,
    measured,
)
from bomi.space import Array, Categorical, Space

DRAWS = 48  # of how parameters stray, in all worlds together; fewer where that is rare
WIDTHS = (0.1, 0.25, 1.0)  # within which asked values are alike, as shares of the range
EVERYWHERE = 0.05  # what a row says of any asked value
BELIEF = 1.0  # rows that the belief in equipment is worth
UNLIKE = 0.3  # of an error: how far the next is off at least, where only one is known
SLOPE = 0.1  # asked values that differ by less say little of a slope
LENGTHS = (0.03, 0.1, 0.3, math.inf)  # within which requests have to be alike
FAITH = (1.0, 0.3, 3.0, 30.0, 300.0)  # requests that what is known of each parameter is worth, beside memory
CLOSE = 0.01  # requests as close as this are alike, where no length is better
GAIN = 0.9  # the share of the squared error that memory has to leave at most


def learn_execution(table: Table, completed: Completed, *, seed: int = 0) -> Execution | None:
    """What the rows say of the equipment; None where none of them is as likely as not to have strayed."""
    pairs = asked_and_done(table, completed)
    if not (pairs.strayed.any(-1).mean(0) >= 0.5).any():
        return None
    rng = np.random.default_rng(seed)
    worlds, n, p = pairs.done.shape
    often = float(pairs.strayed.any(-1).sum(1).mean() / (n + BELIEF))
    each = math.ceil(DRAWS * often / worlds)  # draws in a world; what is rare counts little
    world, row = np.nonzero(pairs.strayed.any(-1))
    chosen = rng.permutation(len(world))[np.arange(worlds * each) % len(world)]
    together = pairs.strayed[world[chosen], row[chosen]]  # (Q K, p)
    off = pairs.errors[world[chosen], row[chosen]]
    rates, errors = [], []
    for j, parameter in enumerate(table.space.parameters.values()):
        known = ~np.isnan(pairs.asked[:, j])
        asked, strayed = pairs.asked[known, j], pairs.strayed[:, known, j]
        done = pairs.done[:, known, j]
        levels = _levels(off[:, j], together[:, j], rng)
        if isinstance(parameter, Categorical):
            rate, table_of_errors = _swapped(asked.astype(int), done.astype(int), parameter.width, levels)
        else:
            rate, table_of_errors = _margin(asked, done - asked, strayed, levels)
        rates.append(rate)
        errors.append(torch.from_numpy(table_of_errors).reshape(-1, worlds, each))
    asked_rows = (~np.isnan(pairs.asked)).sum(0)
    lengths, faith = _memory(table.space, pairs)
    return Execution(
        table.space,
        tuple(rates),
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
    effective = of_rows.sum(-1) ** 2 / (of_rows**2).sum(-1)  # (G,) how many rows tell of a node
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
    below = torch.special.ndtr(torch.from_numpy((grid[:, None] - values) / smooth)).numpy() @ shares
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


def _memory(space: Space, pairs: AskedDone) -> tuple[Array, float]:
    """In which parameters requests have to be alike, and how much that says: what predicts the rows best.  (p,)"""
    free = ~measured(space)
    whole, close = ~np.isnan(pairs.asked[:, free]).any(-1), np.where(free, CLOSE, math.inf)
    if not whole.any():
        return close, FAITH[0]
    asked, errors = torch.from_numpy(pairs.asked[whole]).nan_to_num(), pairs.errors[:, whole].mean(0)
    strayed = pairs.strayed[:, whole].mean(0)
    places = errors + strayed * asked.numpy()  # that are remembered, as often as they differ from what was asked
    p = len(space)
    apart = torch.stack(
        [far_apart(space, asked[:, None], asked, np.where(np.arange(p) == j, 1.0, np.inf)) for j in range(p)]
    )
    far = apart.numpy()  # (p, n, n)
    columns = zip(asked.numpy().T, errors.T, strict=True)
    alike_says = np.stack([_from_others(a, e, _width(a, e)) for a, e in columns], -1)  # (n, p)

    def squares(lengths: Array) -> Array:
        """How far apart requests are, in lengths."""
        return np.tensordot(lengths**-2.0, far, 1)

    def likeness(squares: Array) -> Array:
        alike: Array = np.exp(-0.5 * squares)
        np.fill_diagonal(alike, 0.0)
        return alike

    def missed_by_row(squares: Array, faith: float) -> Array:
        alike = likeness(squares)
        recalled = alike @ places - (alike @ strayed) * asked.numpy()  # how far they are from what is asked now
        expected = (recalled + faith * alike_says) / (alike.sum(-1, keepdims=True) + faith)
        missed: Array = ((expected - errors) ** 2).sum(-1)
        return missed

    def missed(squares: Array, faith: float) -> float:
        return float(missed_by_row(squares, faith).sum())

    alike_in = [np.where(free, one, math.inf) for one in LENGTHS]
    lengths, faith = min(alike_in, key=lambda one: missed(squares(one), FAITH[0])).copy(), FAITH[0]
    for _ in range(2):
        for j in np.flatnonzero(free):
            lengths[j] = math.inf
            rest, own = squares(lengths), far[j]
            lengths[j] = min(LENGTHS, key=lambda one: missed(rest + own / one**2, faith))
        whole_squares = squares(lengths)
        faith = min(FAITH, key=lambda one: missed(whole_squares, one))
    least = min(GAIN, math.exp(-4 * (p + 1) / max(len(errors), 1)))  # each choice costs twice what it does by Akaike
    if missed(squares(lengths), faith) < least * ((alike_says - errors) ** 2).sum():
        return lengths, faith
    nearest = squares(alike_in[0])
    again = likeness(nearest).sum(-1) > 0.5  # only requests that were made more than once tell
    if not again.any():
        return close, FAITH[0]
    return close, _largest(FAITH, [missed_by_row(nearest, one)[again] for one in FAITH])


def _smoothed(space: Space, pairs: AskedDone, lengths: Array, rng: np.random.Generator) -> Array:
    """The places to be remembered, each moved a little at random: a few places do not span all that may be done.

    How far depends on how much the places differ to which the most similar requests have led: a tree is always in the
    same place.  (Q, n, p)
    """
    asked = torch.from_numpy(pairs.asked)
    far = far_apart(space, asked[:, None], asked, lengths).numpy() + np.diag(np.full(len(asked), math.inf))
    moved = pairs.done.copy()
    for j, parameter in enumerate(space.parameters.values()):
        rows = np.flatnonzero(pairs.strayed[..., j].mean(0) > 0.5)
        if isinstance(parameter, Categorical) or len(rows) < 3:
            continue
        done = pairs.done[:, rows, j].mean(0)
        nearest = far[np.ix_(rows, rows)].argmin(-1)
        spread = 1.48 / math.sqrt(2) * np.median(np.abs(done - done[nearest]))
        moved[..., j] += 0.9 * spread * min(len(rows), RECALLED) ** -0.2 * rng.standard_normal(len(asked))
    return moved
