"""The nearest setting that keeps the constraints, by a mixed-integer linear programme: slow, but without dead ends."""

from __future__ import annotations

import numpy as np

from bomi.space.numbers import Array
from bomi.space.sums import Mask, Sums

COUNTABLE = 10**9  # values that an integer programme counts; finer steps are as good as none


def programme(sums: Sums, wanted: Array, free: Mask, *, seconds: float, scaled: bool = False) -> Array | None:
    """The setting nearest to the wanted one by the sum of the moves, as shares of the ranges; None if none keeps
    the constraints, or none is found in time.

    Sums are met to the solver's tolerances alone, which are absolute, and products are unknown to it. Scaled, numbers
    are shares of their ranges and sums shares of what they can vary by, which suits very large and very small ones.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    # z = base + Z v: an unknown v for each free value, or where levels are not evenly apart one for each of them.
    base = np.where(free, 0.0, wanted)
    unknowns: list[tuple[int, float, bool, float, float]] = []  # whose, unit, whole, least, most
    for j in np.flatnonzero(free).tolist():
        axis = sums.axes[j]
        if axis.levels:
            unknowns += [(j, level, True, 0.0, 1.0) for level in axis.levels]
            continue
        base[j] = axis.low
        if axis.step is not None and axis.count <= COUNTABLE:
            unknowns.append((j, axis.step, True, 0.0, axis.count - 1.0))
        else:
            span = axis.high - axis.low
            unknowns.append((j, span, False, 0.0, 1.0) if scaled else (j, 1.0, False, 0.0, span))
    if not unknowns:
        return wanted
    owner, unit, whole, low, high = (np.array(part) for part in zip(*unknowns, strict=True))
    n, moved = len(unknowns), np.flatnonzero(free)
    Z = np.zeros((len(sums.axes), n))
    Z[owner, np.arange(n)] = unit
    picked = [j for j in moved if sums.axes[j].levels]
    one_each = np.array([owner == j for j in picked], dtype=float).reshape(len(picked), n)
    along, away = Z[moved] / sums.span[moved, None], ((wanted - base) / sums.span)[moved]
    A, lower, upper = (part[~sums.log] for part in (sums.A, sums.lower, sums.upper))
    size = np.maximum(np.abs(A) @ sums.span, sums.slack[~sums.log]) if scaled else np.ones(len(A))
    left, right, ones = (lower - A @ base) / size, (upper - A @ base) / size, np.ones(len(picked))
    # Beside the unknowns: a move of each value, and for each that is counted whether it is other than 0.
    counted = np.array([j for j in moved if sums.counted[j]], dtype=int)
    eye, chosen = np.eye(len(moved)), np.eye(len(counted))
    no_move, no_count = np.zeros((1, len(moved))), np.zeros((1, len(counted)))

    def rows(unknown: Array, move: Array, count: Array) -> Array:
        length = max(len(unknown), len(move), len(count))
        return np.hstack([np.broadcast_to(part, (length, part.shape[1])) for part in (unknown, move, count)])

    totals = np.vstack([A @ Z / size[:, None], one_each])
    limits = [
        *(
            [LinearConstraint(rows(totals, no_move, no_count), np.append(left, ones), np.append(right, ones))]
            if len(totals)
            else []
        ),
        LinearConstraint(rows(along, -eye, no_count), -np.inf, away),  # z - wanted <= move
        LinearConstraint(rows(-along, -eye, no_count), -np.inf, -away),
    ]
    if len(counted):  # low y <= z <= high y, and a sum of y
        limits += [
            LinearConstraint(rows(Z[counted], no_move, -sums.high[counted] * chosen), -np.inf, -base[counted]),
            LinearConstraint(rows(Z[counted], no_move, -sums.low[counted] * chosen), -base[counted], np.inf),
        ]
        taken = sums.nonzero(wanted) & ~free
        limits += [
            LinearConstraint(
                rows(np.zeros((1, n)), no_move, mask[counted][None].astype(float)), 0, most - (taken & mask).sum()
            )
            for _, mask, most in sums.counts
        ]
    found = milp(
        np.repeat([0.0, 1.0, 0.0], [n, len(moved), len(counted)]),
        integrality=np.concatenate([whole, 0 * moved, np.ones(len(counted))]),
        bounds=Bounds(
            np.concatenate([low, 0 * moved, 0 * counted]),
            np.concatenate([high, np.full(len(moved), np.inf), np.ones(len(counted))]),
        ),
        constraints=limits,
        options={"time_limit": seconds, "mip_rel_gap": 0.1},
    )
    if found.x is None:
        return None
    z = base + Z @ np.where(whole, np.round(found.x[:n]), found.x[:n])
    for j in np.flatnonzero(free & sums.discrete).tolist():
        z[j] = sums.axes[j].value(np.round(sums.axes[j].index(z[j])))
    return z
