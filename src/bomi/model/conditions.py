"""Offsets of groups and slow drift: terms of the kernel beside that of the inputs.

An experiment is made under conditions: the groups that it belongs to, such as its day and its lot, and its time.

    y_i = f(x_i) + sum_j b_j[c_ij] + h(t_i) + noise,    b_j ~ N(0, v_j),    h ~ GP

    k = k(x, x') + s^2 [ sum_j r_j [c_j = c'_j] + r M(sqrt(5) |t - t'| / l) ]

With v_j = s^2 r_j, s^2 the scale of the kernel of the inputs. A priori the standard deviations sqrt(s^2 r) are
half-normal with spread 1, that of the outcomes: an offset of nothing is as good a guess as any. M is Matern-5/2, and
log l ~ N(0, 0.5^2) in units of the time from the first row to the last: drift is slow.

theta  (Q, k + g + 2)    that of the inputs' kernel, then log r_1..g, and where there is drift log r and log l
x      (Q, ..., d + e)   inputs, then the conditions: codes of the groups, and the time

A prediction of a group without rows has the offset 0 with variance v_j: it is over all that the group may turn out to
be. That of a group with rows has what these say of it.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bomi.model.additive import matern, risen
from bomi.model.gaussian_process import GaussianProcess, with_hyper
from bomi.model.kernels import Kernel, Prepared, Pullback
from bomi.space import Space

RATIOS = (-9.0, 5.0)  # of log r
LENGTHS = (-2.5, 2.5)  # of log l
LENGTH_SPREAD = 0.5
STARTS = (-6.0, -1.0)  # of log r: hardly any, and some


@dataclass(frozen=True)
class UnderConditions:
    """A kernel with offsets of groups, and drift if there is any.

    width: the columns of the inputs; groups: those of the groups after them
    """

    base: Kernel
    width: int
    groups: int
    drift: bool

    @property
    def _own(self) -> int:
        """How many hyper-parameters the terms have."""
        return self.groups + 2 * self.drift

    def bounds(self) -> list[tuple[float, float]]:
        """The box in which log hyper-parameters are sought."""
        return [*self.base.bounds(), *[RATIOS] * (self.groups + self.drift), *[LENGTHS] * self.drift]

    def starts(self) -> Tensor:
        """Those of the inputs' kernel, with hardly any offsets and with some."""
        starts = self.base.starts()
        own = torch.tensor(
            [[ratio] * (self.groups + self.drift) + [0.0] * self.drift for ratio in STARTS], dtype=starts.dtype
        )
        return torch.cat([starts.repeat(len(own), 1), own.repeat_interleave(len(starts), 0)], -1)

    def log_prior(self, hyper: Tensor) -> tuple[Tensor, Tensor]:
        """That of the inputs' kernel, and of u = log s^2 + log r the half-normal's u / 2 - exp(u) / 2; log l normal."""
        k = hyper.shape[-1] - 1 - self._own
        value, slope = self.base.log_prior(torch.cat([hyper[:, :k], hyper[:, -1:]], -1))
        ratios = hyper[:, k : k + self.groups + self.drift]
        u = ratios + hyper[:, :1]
        value = value + 0.5 * (u - u.exp()).sum(-1)
        by_u = 0.5 * (1 - u.exp())
        by_base = torch.cat([slope[:, :1] + by_u.sum(-1, keepdim=True), slope[:, 1:-1]], -1)
        z = hyper[:, k + ratios.shape[-1] : -1] / LENGTH_SPREAD
        value = value - 0.5 * z.square().sum(-1)
        return value, torch.cat([by_base, by_u, -z / LENGTH_SPREAD, slope[:, -1:]], -1)

    def prepare(self, x1: Tensor, x2: Tensor) -> Prepared:
        """What the inputs' kernel prepares; which groups are the same (Q, g, ...), how far apart times (Q, 1, ...)."""
        inputs = self.base.prepare(x1[..., : self.width], x2[..., : self.width])
        return (*inputs, *self._compared(x1, x2))

    def _compared(self, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
        (a, t1), (b, t2) = (x[..., self.width :].split([self.groups, int(self.drift)], -1) for x in (x1, x2))
        return (a == b).to(x1).movedim(-1, 1), (t1 - t2).abs().movedim(-1, 1)

    def _parts(self, theta: Tensor, ndim: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """s^2 (Q, ...); r of the groups, r of the drift and sqrt(5) / l, (Q, terms, ...)."""
        own = theta[:, theta.shape[-1] - self._own :].reshape(len(theta), -1, *[1] * (ndim - 2))
        ratios, drift, length = own.split([self.groups, int(self.drift), int(self.drift)], 1)
        scale = theta[:, 0].exp().reshape(-1, *[1] * (ndim - 2))
        return scale, ratios.exp(), drift.exp(), math.sqrt(5) * torch.exp(-length)

    def terms(self, theta: Tensor, compared: tuple[Tensor, Tensor]) -> Tensor:
        """What the conditions add to the covariance of each pair.  (Q, ...)"""
        same, apart = compared
        scale, ratios, drift, rate = self._parts(theta, same.ndim)
        return scale * ((ratios * same).sum(1) + (drift * matern(apart * rate)).sum(1))

    def between_conditions(self, theta: Tensor, conditions: Tensor, others: Tensor) -> Tensor:
        """What the conditions of rows add to their covariances with others.  (m, e), (n, e) -> (Q, m, n)"""
        x, y = (torch.cat([one.new_zeros(len(one), self.width), one], -1) for one in (conditions, others))
        return self.terms(theta, self._compared(x[None, :, None], y[None, None]))

    def evaluate(self, theta: Tensor, prepared: Prepared) -> Tensor:
        """The covariance of each pair.  (Q, ...)"""
        *inputs, same, apart = prepared
        return self.base.evaluate(self.of_inputs(theta), tuple(inputs)) + self.terms(theta, (same, apart))

    def of_inputs(self, theta: Tensor) -> Tensor:
        """The hyper-parameters of the inputs' kernel."""
        return theta[:, : theta.shape[-1] - self._own]

    def with_pullback(self, theta: Tensor, prepared: Prepared) -> tuple[Tensor, Pullback]:
        """In closed form: the terms are proportional to s^2 and to their r, and dM/dlog l = a^2 (1 + a) exp(-a) / 3."""
        *inputs, same, apart = prepared
        covariance, base_pullback = self.base.with_pullback(self.of_inputs(theta), tuple(inputs))
        scale, ratios, drift, rate = self._parts(theta, same.ndim)
        rise, square, smooth = risen(apart * rate)
        scaled = scale.unsqueeze(1)
        offsets, change, by_length = scaled * ratios * same, scaled * drift * smooth, scaled * drift * rise * square

        def pullback(weights: Tensor) -> Tensor:
            by_base, total = base_pullback(weights), weights.unsqueeze(1)
            by_ratios = (total * torch.cat([offsets, change], 1)).flatten(2).sum(-1)
            by_scale = by_base[:, :1] + by_ratios.sum(-1, keepdim=True)
            return torch.cat([by_scale, by_base[:, 1:], by_ratios, (total * by_length).flatten(2).sum(-1)], -1)

        return covariance + offsets.sum(1) + change.sum(1), pullback

    def between(self, theta: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        """The covariance of each pair, with a gradient by the inputs.  (Q, ..., d + e) -> (Q, ...)"""
        inputs = self.base.between(self.of_inputs(theta), x1[..., : self.width], x2[..., : self.width])
        with torch.no_grad():
            terms = self.terms(theta, self._compared(x1, x2))
        return inputs + terms

    def diagonal(self, theta: Tensor, x: Tensor) -> Tensor:
        """The variance of f and of all terms.  (Q, m, d + e) -> (Q, m)"""
        scale, ratios, drift, _ = self._parts(theta, 2)
        return self.base.diagonal(self.of_inputs(theta), x[..., : self.width]) + (
            scale * (ratios.sum(1) + drift.sum(1))
        ).unsqueeze(-1)


def kernel_under(base: Kernel, space: Space, conditions: Tensor | None) -> Kernel:
    """The kernel with the terms that the conditions of the rows need; itself without any.  (n, e)"""
    if conditions is None:
        return base
    return UnderConditions(base, space.dim, len(space.conditions.groups), bool(space.conditions.drift))


def process_of(
    inputs: Tensor, targets: Tensor, hyper: Tensor, *, kernel: Kernel, errors: Tensor | None = None
) -> GaussianProcess:
    """The processes with hyper-parameters given as one tensor, the noise last.  hyper: (Q, k + 1)"""
    if not isinstance(kernel, UnderConditions):
        return with_hyper(inputs, targets, hyper, kernel=kernel, errors=errors)
    hyper = hyper.to(inputs.device)
    return ConditionedProcess(inputs, targets, hyper[:, :-1], hyper[:, -1], kernel=kernel, errors=errors)


class ConditionedProcess(GaussianProcess):
    """Processes of rows made under conditions; a place is asked about under those of an experiment to come.

    Points of d + e columns bring conditions of their own.  inputs: (Q, n, d + e)
    """

    kernel: UnderConditions

    def __init__(self, *args: Any, kernel: UnderConditions, **kwargs: Any) -> None:
        super().__init__(*args, kernel=kernel, **kwargs)
        self.now = self.inputs.new_full((self.inputs.shape[-1] - kernel.width,), -1.0)

    def under(self, now: Tensor) -> ConditionedProcess:
        """The same, asked about places under other conditions.  (e,)"""
        other = copy.copy(self)
        other.now = now.to(self.inputs)
        return other

    @property
    def places(self) -> Tensor:
        """Where the rows are, as points are asked about.  (Q, n, d)"""
        return self.inputs[..., : self.kernel.width]

    def fitted_now(self) -> Tensor:
        """The posterior mean at each world's own rows, were they made now.  (Q, n)"""
        with torch.no_grad():
            return self.means(self.places).cpu()

    def offsets(self, column: int, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and covariance of the offsets of some groups of a column.  (G,) -> (Q, G), (Q, G, G)"""
        rows = self.inputs[0, :, self.kernel.width + column]
        same = (rows[:, None] == codes.to(rows)).to(rows)  # (n, G)
        scale, ratios, _, _ = self.kernel._parts(self.theta, 2)
        variance = (scale * ratios[:, column])[:, None, None]
        return self._term(variance * same, variance * torch.eye(len(codes), dtype=rows.dtype, device=rows.device))

    def spreads(self, column: int) -> Tensor:
        """The standard deviation of a column's offsets in each world.  (Q,)"""
        scale, ratios, _, _ = self.kernel._parts(self.theta, 2)
        return (scale * ratios[:, column]).sqrt().cpu()

    def drift(self, times: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and covariance of the drift at some times.  (T,) -> (Q, T), (Q, T, T)"""
        rows, times = self.inputs[0, :, -1], times.to(self.inputs)
        scale, _, drift, rate = self.kernel._parts(self.theta, 4)

        def covariance(one: Tensor, other: Tensor) -> Tensor:
            return scale * drift[:, 0] * matern((one[:, None] - other).abs() * rate[:, 0])

        return self._term(covariance(rows, times), covariance(times, times))

    def _term(self, beside: Tensor, prior: Tensor) -> tuple[Tensor, Tensor]:
        """A term's mean and covariance given the targets.  beside: with the rows (Q, n, m); prior: (Q, m, m)"""
        mean = (beside * self.alpha.unsqueeze(-1)).sum(-2)
        half = torch.linalg.solve_triangular(self.L, beside, upper=False)
        return mean.cpu(), (prior - half.mT @ half).cpu()

    def _place(self, points: Tensor) -> Tensor:
        x = super()._place(points)
        if x.shape[-1] == self.inputs.shape[-1]:
            return x
        return torch.cat([x, self.now.expand(*x.shape[:-1], -1)], -1)

    def _place_rows(self, points: Tensor, rows: Tensor) -> Tensor:
        own = self.inputs[:, rows, self.kernel.width :]
        return torch.cat([GaussianProcess._place(self, points).expand(len(own), -1, -1), own], -1)
