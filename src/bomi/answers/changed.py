"""What all other rows make one expect of the outcomes of a row, had some of its inputs been others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from bomi.learning import Fit
from bomi.model.additive import AdditiveMatern
from bomi.model.conditions import UnderConditions
from bomi.posterior.codes import from_codes
from bomi.posterior.moved import Moved
from bomi.search.acquisition import log_mean

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

    def log_densities(self, which: Tensor, slots: Tensor, values: Tensor, least: Tensor | None = None) -> Tensor:
        """Log densities of the outcome in some of the rows that have it, by the values of some inputs; minus infinity
        in rows whose mean over worlds cannot be as large as the least that counts.

        (r,), (r, g), (Q, r, S, g), (r,) -> (Q, r, S)
        """
        found: Tensor = values.new_full(values.shape[:-1], -torch.inf)
        prior = self.moved.prior.unsqueeze(-1)
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
                if least is not None:
                    left = (log_mean(self._most(own, k)) > least[part, None]).any(-1)
                    part, own, k = part[left], own[left], k[:, left.to(k.device)]
                mean, variance = self.model.without_row_by(own, k, prior, self.root, self.inverse)
            found[:, part] = _log_normal(self.y[self.has[own], None], mean, variance)
        return found

    def _most(self, own: Tensor, k: Tensor) -> Tensor:
        """What log densities could be at most, by the mean alone, which takes no quadratic form: of all variances
        between that of the noise and that without any rows, by the best one.  (r,), (Q, r, S, n) -> (Q, r, S)"""
        least = self.model.variances.expand_as(self.model.targets)[:, own.to(k.device), None].cpu()
        apart = self.y[self.has[own], None] - self.model.mean_without_row(own, k, self.inverse)
        most = least + self.moved.prior.unsqueeze(-1).cpu()
        return _log_normal(apart, 0.0, apart.square().clamp(least, most))


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


def changed(
    fit: Fit, others: Sequence[Others], filled: Tensor, values: dict[int, Tensor], some: Tensor, least: Tensor
) -> Tensor:
    """The same, had some rows had other values of some inputs; minus infinity where less than the least that counts can
    come of it.  (Q, n, p), (n,) each, (n,) bool, (n,) -> (Q, R)"""
    if not all(one.additive for one in others):
        return elsewhere(fit, from_codes(fit.table, with_values(filled, values))[:, some], rows=some)
    total: Tensor = filled.new_zeros(len(filled), int(some.sum()))
    slots, tried = torch.tensor(list(values)), torch.stack(list(values.values()), -1)
    for one in others:
        which, mine = some[one.has].nonzero()[:, 0], ~one.y.isnan()[some]
        each = tried[one.has[which], None].expand(len(filled), -1, -1, -1)  # (Q, r, 1, g)
        enough = least[one.has[which]] if len(others) == 1 else None
        total[:, mine] += one.log_densities(which, slots.expand(len(which), -1), each, enough)[..., 0]
    return total


def instead_of(fit: Fit, others: Sequence[Others], filled: Tensor, j: int, tried: Tensor, some: Tensor) -> Tensor:
    """The same, had an input of some rows been each of some values, the others as they are; 0 elsewhere.

    (Q, n, p), (n, S), (n,) bool -> (S, Q, n)
    """
    total: Tensor = tried.new_zeros(tried.shape[1], *filled.shape[:2])
    if not all(one.additive for one in others):
        for found, values in zip(total, tried.T, strict=True):
            found[:, some] = elsewhere(fit, from_codes(fit.table, with_values(filled, {j: values}))[:, some], rows=some)
        return total
    for one in others:
        which = some[one.has].nonzero()[:, 0]
        each = tried[one.has[which], :, None].expand(len(filled), -1, -1, -1)  # (Q, r, S, 1)
        found = one.log_densities(which, torch.full((len(which), 1), j), each)
        total[..., one.has[which]] += found.permute(2, 0, 1)
    return total


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


def _log_normal(y: Tensor, mean: Tensor | float, variance: Tensor) -> Tensor:
    return -0.5 * ((y - mean).square() / variance + (2 * math.pi * variance).log())
