"""What all other rows make one expect of the outcomes of a row, had some of its inputs been others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from bomi.learning import Fit
from bomi.model.additive import AdditiveMatern
from bomi.model.conditions import UnderConditions
from bomi.posterior.codes import from_codes
from bomi.posterior.moved import Moved

KEPT = 10_000_000  # numbers that are kept for all stories


class Others:
    """What all other rows make one expect of an outcome of each row, had some of its inputs been others."""

    def __init__(self, fit: Fit, filled: Tensor, j: int) -> None:
        self.y, self.model = torch.atleast_2d(fit.completed.targets)[j], fit.models[j]
        kernel = self.model.kernel
        self.additive = isinstance(kernel.base if isinstance(kernel, UnderConditions) else kernel, AdditiveMatern)
        if not self.additive:
            return
        self.has = (~self.y.isnan()).nonzero()[:, 0]
        self.places = fit.completed.table_rows[self.has]
        self.rows, self.moved, self.root = filled[:, self.has], Moved(self.model, fit.table), self.model.inverse_root()
        self.inverse = self.root.mT @ self.root
        few = self.rows[..., 0].numel() * len(self.has) <= KEPT
        self.whole = self.moved.whole(self.rows) if few else None

    def log_densities(self, which: Tensor, slots: Tensor, values: Tensor) -> Tensor:
        """Log densities of the outcome in some of the rows that have it, by the values of some inputs.

        (r,), (r, g), (Q, r, S, g) -> (Q, r, S)
        """
        found: Tensor = values.new_zeros(values.shape[:-1])
        for part in torch.arange(len(which)).split(self.moved.at_once(*values.shape[2:])):
            own = which[part]
            rows = self.rows[:, own]
            if self.whole is None:
                whole = self.moved.whole(rows)
            else:
                at = own.to(self.whole[0].device)
                whole = self.whole[0][:, at], self.whole[1][:, at]
            with torch.no_grad():
                k = self.moved.changed(self.places[own], rows, whole, slots[part], values[:, part])
                prior = self.moved.prior.unsqueeze(-1)
                mean, variance = self.model.without_row_by(own, k, prior, self.root, self.inverse)
            found[:, part] = _log_normal(self.y[self.has[own], None], mean, variance)
        return found


def elsewhere(
    fit: Fit,
    inputs: Tensor | None,
    *,
    rows: Tensor | None = None,
    without: int | None = None,
    targets: Tensor | None = None,
) -> Tensor:
    """Log densities of the outcomes of each row given the other rows, had it been made there; None: where it was.

    Of some rows, without one of the outcomes, or with other targets of the rows.  (Q, R, d), (n,) bool -> (Q, R)
    """
    told = torch.atleast_2d(fit.completed.targets)
    some = torch.ones(told.shape[1], dtype=torch.bool) if rows is None else rows
    total: Tensor = told.new_zeros(len(fit.completed.inputs), int(some.sum()))
    for j, (y, model) in enumerate(zip(told, fit.models, strict=True)):
        if j == without:
            continue
        has = ~y.isnan()
        at = some[has].nonzero()[:, 0]  # among the rows of this outcome
        mine = has[some]
        with torch.no_grad():
            mean, variance = model.leave_one_out(at) if inputs is None else model.without_row(at, inputs[:, mine])
        total[:, mine] += _log_normal((y if targets is None else targets[j])[has & some], mean, variance)
    return total


def changed(fit: Fit, others: Sequence[Others], filled: Tensor, values: dict[int, Tensor], some: Tensor) -> Tensor:
    """The same, had some rows had other values of some inputs.  (Q, n, p), (n,) each, (n,) bool -> (Q, R)"""
    if not all(one.additive for one in others):
        return elsewhere(fit, from_codes(fit.table, with_values(filled, values))[:, some], rows=some)
    total: Tensor = filled.new_zeros(len(filled), int(some.sum()))
    slots, tried = torch.tensor(list(values)), torch.stack(list(values.values()), -1)
    for one in others:
        which, mine = some[one.has].nonzero()[:, 0], ~one.y.isnan()[some]
        each = tried[one.has[which], None].expand(len(filled), -1, -1, -1)  # (Q, r, 1, g)
        total[:, mine] += one.log_densities(which, slots.expand(len(which), -1), each)[..., 0]
    return total


def instead_of(fit: Fit, others: Sequence[Others], filled: Tensor, tried: Tensor, recorded: Tensor) -> Iterator[Tensor]:
    """The same, had each recorded input been each of some values, the others as they are; 0 for gaps.

    (Q, n, p), (p, n, S), (p, n) -> p times (S, Q, n)
    """
    for j, values in enumerate(tried):
        if not all(one.additive for one in others):
            yield torch.stack(
                [elsewhere(fit, from_codes(fit.table, with_values(filled, {j: one}))) for one in values.T]
            )
            continue
        total: Tensor = values.new_zeros(values.shape[1], *filled.shape[:2])
        for one in others:
            which = recorded[j, one.has].nonzero()[:, 0]
            each = values[one.has[which], :, None].expand(len(filled), -1, -1, -1)  # (Q, r, S, 1)
            found = one.log_densities(which, torch.full((len(which), 1), j), each)
            total[..., one.has[which]] += found.permute(2, 0, 1)
        yield total


def ceiling(fit: Fit) -> Tensor:
    """What the log density of each row's outcomes could be at most: they are just as expected, but for noise.  (n,)"""
    told = torch.atleast_2d(fit.completed.targets)
    most: Tensor = told.new_zeros(told.shape[1])
    for y, model in zip(told, fit.models, strict=True):
        noise = model.variances.expand_as(model.targets).amin(0).cpu()
        most[~y.isnan()] -= 0.5 * (2 * math.pi * noise).log()
    return most


def with_values(codes: Tensor, values: dict[int, Tensor]) -> Tensor:
    """Worlds or rows with other values of some inputs.  (..., n, p), (n,) -> (..., n, p)"""
    changed = codes.clone()
    for j, value in values.items():
        changed[..., j] = value
    return changed


def _log_normal(y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    return -0.5 * ((y - mean).square() / variance + (2 * math.pi * variance).log())
