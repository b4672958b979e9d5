"""The kernel of our own methods: a part for each parameter alone, and a part for all of them together.

Its gradients are in closed form, by its hyper-parameters and by the points, and between candidates for a few cells and
all other rows only what the candidates change is computed. Notation as in `model/kernels`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bomi.model.kernels import GPU_STRIP, Prepared, Pullback, lift, logs, rows_at_once
from bomi.space import Space
from bomi.space.descriptors import Descriptors

LOG2E = math.log2(math.e)  # exp(x) = 2^(x log2 e), and torch computes exp2 in a third of the time
CACHED = 100_000  # numbers at a time, step after step: what a processor's cache holds
NOISE = (-4.5, 1.5)  # middle and spread of the log noise variance's prior
TAILS = 3.0  # degrees of freedom by which one length differs from the others


@dataclass(frozen=True)
class AdditiveMatern:
    """A part for each parameter alone and a part for all together, both Matern-5/2.

        k(x, x') = s^2 [ w mean_j M(|x_j - x'_j| / l_j) + (1 - w) M(sqrt(sum_j |x_j - x'_j|^2 / h_j^2)) ]
        M(r) = (1 + a + a^2 / 3) exp(-a),  a = sqrt(5) r

    A row that lacks one value still says something of its other parameters: that is the additive part. Two different
    categories are at distance 1, or at that of their descriptors. theta = (log s^2, logit w, log l_1..p, log h_1..p); a
    priori log s^2 ~ N(0, 1), logit w ~ N(0, 2^2), and parameters are alike until the data say otherwise: the mean of
    log l is N(log 0.3, 1), that of log h N(log(0.3 sqrt(p)), 1), and each differs from its mean by Student's t with 3
    degrees of freedom times 0.4, whose heavy tails let a parameter be quite unlike the others. The log noise variance
    of outcomes scaled to variance 1 is like N(-4.5, 1.5^2) above -4.5, flat below: "all of it is noise" is as unlikely
    as "all of it is rugged".

    groups: the parameter that each column of the cube belongs to; described: the categories that have descriptors, by
    parameter.
    """

    groups: tuple[int, ...]
    described: tuple[tuple[int, Descriptors], ...] = ()
    length: float = 0.3
    spread: float = 1.0
    apart: float = 0.4

    @classmethod
    def over(cls, space: Space) -> AdditiveMatern:
        """The kernel over a space."""
        return cls(tuple(space.groups.tolist()), space.described)

    @property
    def parameters(self) -> int:
        """How many parameters there are."""
        return self.groups[-1] + 1

    def bounds(self) -> list[tuple[float, float]]:
        """The box in which log hyper-parameters are sought."""
        return [(-7.0, 7.0), (-6.0, 6.0), *[logs((0.005, 100.0))] * (2 * self.parameters)]

    def starts(self) -> Tensor:
        """Wiggly and smooth, each almost additive and half so."""
        p, root = self.parameters, 0.5 * math.log(self.parameters)
        ladder = [(weight, math.log(length)) for weight in (3.0, 0.0) for length in (0.013, 0.04, 0.12, 0.4, 1.2)]
        return torch.tensor(
            [[0.0, weight, *[length] * p, *[length + root] * p] for weight, length in ladder], dtype=torch.float64
        )

    def log_prior(self, hyper: Tensor) -> tuple[Tensor, Tensor]:
        """Normals, that of the noise flat below its middle, and lengths like one another.  (Q,), (Q, k + 1)"""
        p, middle, tails = self.parameters, math.log(self.length), TAILS * self.apart**2
        sd = hyper.new_tensor([1.0, 2.0])
        center = hyper.new_tensor([[middle], [middle + 0.5 * math.log(p)]])
        z = hyper[:, :2] / sd
        noise = ((hyper[:, -1:] - NOISE[0]) / NOISE[1]).clamp_min(0)
        lengths = hyper[:, 2:-1].unflatten(-1, (2, p))  # of each alone, of all together
        mean = lengths.mean(-1, keepdim=True)
        off, apart = (mean - center) / self.spread, lengths - mean
        value = z.square().sum(-1) + noise[:, 0].square() + off.square().sum((-2, -1))
        value = value + (TAILS + 1) * torch.log1p(apart.square() / tails).sum((-2, -1))
        pull = (TAILS + 1) * apart / (tails + apart.square())
        by_length = pull.mean(-1, keepdim=True) - pull - off / (p * self.spread)
        return -0.5 * value, torch.cat([-z / sd, by_length.flatten(1), -noise / NOISE[1]], -1)

    def prepare(self, x1: Tensor, x2: Tensor) -> Prepared:
        """Distances in each parameter.  (Q, p, ...)"""
        return (self._distances(_differences(x1, x2).abs_()),)

    def _distances(self, apart: Tensor) -> Tensor:
        """Those of parameters from those of columns: of categories half their sum.  (Q, d, ...) -> (Q, p, ...)

        Of described ones, sqrt(a^T E a / 2) with the squared distances E: the columns a of two categories that differ
        are 1 for both of them.
        """
        if len(self.groups) == self.parameters:
            return apart
        index = torch.tensor(self.groups, device=apart.device)
        total = apart.new_zeros(len(apart), self.parameters, *apart.shape[2:]).index_add(1, index, apart)
        total = total * self._halves(total)
        for j, columns, E in self._squares(apart):
            a = apart[:, columns]
            total[:, j] = (torch.einsum("vw,qw...->qv...", E, a) * a).sum(1).clamp_min(0).div(2).sqrt()
        return total

    def _squares(self, like: Tensor) -> list[tuple[int, slice, Tensor]]:
        """The parameters with descriptors, their columns, and the squared distances between their categories."""
        found = []
        for j, one in self.described:
            start = self.groups.index(j)
            E = torch.from_numpy(one.distances).to(like).square()
            found.append((j, slice(start, start + len(E)), E))
        return found

    def _halves(self, like: Tensor) -> Tensor:
        """What a parameter's columns count for: half if there are several.  (1, p, 1, ...)"""
        columns = torch.bincount(torch.tensor(self.groups))
        return lift(torch.where(columns > 1, 0.5, 1.0).to(like)[None], like.ndim - 1)

    def _parts(self, theta: Tensor, ndim: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """s^2, w, sqrt(5) / l and sqrt(5) / h, shaped to go with distances of so many dimensions."""
        scale, weight = theta[:, 0].exp(), torch.sigmoid(theta[:, 1])
        alone, together = (math.sqrt(5) * torch.exp(-theta[:, 2:])).chunk(2, -1)
        shape = (-1, *[1] * (ndim - 2))
        return scale.reshape(shape), weight.reshape(shape), lift(alone, ndim - 1), lift(together, ndim - 1)

    def evaluate(self, theta: Tensor, prepared: Prepared) -> Tensor:
        """The covariance of each pair.  (Q, ...)"""
        (distances,) = prepared
        if distances.ndim == 3 and len(strips := _strips(distances)) > 1:
            return torch.cat([self.evaluate(theta, (strip,)) for strip in strips], -1)
        scale, weight, alone, together = self._parts(theta, distances.ndim)
        additive = matern(distances * alone).mean(1)
        joint = matern((distances * together).square_().sum(1).sqrt_())
        return scale * (weight * additive + (1 - weight) * joint)

    def with_pullback(self, theta: Tensor, prepared: Prepared) -> tuple[Tensor, Pullback]:
        """In closed form: dM/dlog l = a^2 (1 + a) exp(-a) / 3."""
        (distances,) = prepared  # (Q, p, T)
        scale, weight, alone, together = self._parts(theta, distances.ndim)
        strips = _strips(distances)
        kept = []
        for strip in strips:
            rise, square, additive = risen(strip * alone)
            rise_joint, _, joint = risen((strip * together).square_().sum(1).sqrt_())
            kept.append((rise.mul_(square), rise_joint, additive.mean(1), joint))
        rises, rises_joint, *found = zip(*kept, strict=True)
        additive, joint = (torch.cat(each, -1) for each in found)

        def pullback(weights: Tensor) -> Tensor:
            by_alone = by_together = theta.new_zeros(())
            parts = weights.split([strip.shape[-1] for strip in strips], -1)
            for strip, rise, rise_joint, part in zip(strips, rises, rises_joint, parts, strict=True):
                by_alone = by_alone + (rise * part.unsqueeze(1)).sum(-1)
                by_together = by_together + strip.square().mul_((part * rise_joint).unsqueeze(1)).sum(-1)
            by_together = by_together * together[..., 0].square()
            sum_additive, sum_joint = (weights * additive).sum(-1, True), (weights * joint).sum(-1, True)
            return torch.cat(
                [
                    scale * (weight * sum_additive + (1 - weight) * sum_joint),
                    scale * weight * (1 - weight) * (sum_additive - sum_joint),
                    scale * weight / self.parameters * by_alone,
                    scale * (1 - weight) / 3 * by_together,
                ],
                -1,
            )

        return scale * (weight * additive + (1 - weight) * joint), pullback

    def between(self, theta: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        """The covariance of each pair, with a gradient by the points.  (Q, ..., d) -> (Q, ...)"""
        found: Tensor = _Between.apply(self, theta, x1, x2)  # type: ignore[no-untyped-call]
        return found

    def with_slopes(self, theta: Tensor, differences: Tensor) -> tuple[Tensor, Pullback]:
        """The covariances, and the function that takes weights of them to the weighted gradients by the second point.

        With x - x' = D, dM/dx' = 5 D / l^2 (1 + a) exp(-a) / 3.  (Q, d, ...) -> (Q, ...), (Q, d, ...)
        """
        distances = self._distances(differences.abs())
        scale, weight, alone, together = self._parts(theta, distances.ndim)
        rise, _, additive = risen(distances * alone)
        rise_joint, _, joint = risen((distances * together).square_().sum(1).sqrt_())

        def pullback(weights: Tensor) -> Tensor:
            steep = rise * ((scale * weight).unsqueeze(1) * alone.square() / (3 * self.parameters))
            steep.addcmul_((scale * (1 - weight) / 3 * rise_joint).unsqueeze(1), together.square())
            steep.mul_(weights.unsqueeze(1))
            if len(self.groups) == self.parameters:
                return steep.mul_(differences)
            steep.mul_(distances)
            halved = (steep * self._halves(steep))[:, torch.tensor(self.groups)]
            for j, columns, E in self._squares(differences):  # by a column: (E a)_v / (2 distance)
                along = torch.einsum("vw,qw...->qv...", E, differences[:, columns].abs())
                halved[:, columns] = steep[:, j, None] * along / (2 * distances[:, j, None]).clamp_min(1e-12)
            return halved * differences.sgn()

        return scale * (weight * additive.mean(1) + (1 - weight) * joint), pullback

    def at_once(self, rows: Tensor) -> int:
        """Of how many points `changes` is computed at a time.  (Q, n, d)"""
        return max((GPU_STRIP if rows.is_cuda else CACHED) // max(rows[..., 0].numel(), 1), 1)

    def changes(self, theta: Tensor, rows: Tensor, weights: Tensor, points: Tensor, others: Tensor) -> Tensor:
        """By how much weighted sums of covariances with rows change where one or two parameters of points are as in
        others: on the diagonal one of them, else two.  (Q, n, d), (Q, n), (m, d), (m, d) -> (Q, p, p, m)

        The parts of each parameter alone add up. Of the part of all together only a few squares change.
        """
        apart = [self.prepare(each[None, :, None], rows.unsqueeze(1))[0] for each in (points, others)]  # (Q, p, m, n)
        scale, weight, alone, together = self._parts(theta, 4)
        squares, steps = ((each * together).square_() for each in apart)
        steps -= squares
        here, there = (matern(each.mul_(alone)) for each in apart)
        own = (weight * ((there - here) * weights[:, None, None]).sum(-1)) / self.parameters  # (Q, p, m)
        found = own.unsqueeze(2) + own.unsqueeze(1) * (1 - torch.eye(self.parameters).to(own)).unsqueeze(-1)
        whole = squares.sum(1)

        def joint(squares: Tensor) -> Tensor:
            return (matern(squares.clamp_min_(0).sqrt_()) * weights.unsqueeze(1)).sum(-1)

        before = joint(whole.clone())
        for j, step in enumerate(steps.unbind(1)):
            moved = whole + step
            for k, beside in enumerate(steps.unbind(1)[: j + 1]):
                change = (1 - weight[..., 0]) * (joint(moved.clone() if k == j else moved + beside) - before)
                found[:, j, k] += change
                if k < j:
                    found[:, k, j] += change
        return scale.unsqueeze(-1) * found

    def diagonal(self, theta: Tensor, x: Tensor) -> Tensor:
        """s^2 everywhere.  (Q, m)"""
        return theta[:, :1].exp().expand(len(theta), x.shape[-2])


class AdditiveCandidates:
    """The same kernel between candidates for some rows and others: only what the candidates change is computed.

    Points are given by codes, one number for each parameter: a category is its index.

    codes  (Q, n, p)      the others, in each world
    rows   (Q, B, p)      those that have candidates
    slots  (B, g)         the parameters for which they have them
    values (Q, B, S, g)   the candidates
    """

    def __init__(self, theta: Tensor, categories: Tensor, described: Sequence[tuple[int, Descriptors]] = ()) -> None:
        self.parameters, self.categories = len(categories), categories.to(theta.device)  # (p,) bool
        self.described = {j: torch.from_numpy(one.distances).to(theta) for j, one in described}  # (v, v)
        self.scale, self.weight = theta[:, 0].exp(), torch.sigmoid(theta[:, 1])
        self.alone, self.together = (math.sqrt(5) * torch.exp(-theta[:, 2:])).chunk(2, -1)  # (Q, p)
        self.any_category = bool(categories.any())

    def _distances(self, one: Tensor, other: Tensor, parameters: Tensor) -> Tensor:
        """Distances of codes.  (Q, B, ..., p, 1), (Q, B, ..., p, n); parameters: (B, p)"""
        differences = one - other
        if not self.any_category:
            return differences.abs_()
        words = self.categories[parameters].reshape(len(parameters), *[1] * (one.ndim - 4), -1, 1)
        found = torch.where(words, (differences != 0).double(), differences.abs())
        for row, each in enumerate(parameters.tolist()) if self.described else ():
            for place, j in enumerate(each):
                if j in self.described:
                    a, b = (codes[:, row, ..., place, :].long() for codes in (one, other))
                    found[:, row, ..., place, :] = self.described[j][a, b]
        return found

    def covariances(self, codes: Tensor, rows: Tensor, slots: Tensor, values: Tensor) -> Tensor:
        """The covariances of the rows, with candidates for the parameters `slots`, with all others.  -> (Q, B, S, n)"""
        rest = torch.ones(len(slots), self.parameters, dtype=torch.bool, device=slots.device)
        rest.scatter_(1, slots, False)
        others = rest.nonzero()[:, 1].reshape(len(slots), -1)
        columns = codes.mT  # (Q, p, n)
        same = rows.gather(-1, others.expand(len(rows), -1, -1)).unsqueeze(-1)
        known = self._distances(same, columns[:, others], others)  # (Q, B, p - g, n)
        joint = (known * self.together[:, others, None]).square_().sum(-2)  # (Q, B, n)
        additive = matern(known.mul_(self.alone[:, others, None])).sum(-2)
        return self._with(codes, joint, additive, slots, values)

    def whole(self, codes: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Squared distances of all parameters together, and the sum of the parts of each alone, of rows as they are.

        (Q, B, n), (Q, B, n)
        """
        every = torch.arange(self.parameters, device=codes.device).expand(rows.shape[1], -1)
        columns = codes.mT.unsqueeze(1).expand(-1, rows.shape[1], -1, -1)  # (Q, B, p, n)
        known = self._distances(rows.unsqueeze(-1), columns, every)
        joint = (known * self.together[:, None, :, None]).square_().sum(-2)
        return joint, matern(known.mul_(self.alone[:, None, :, None])).sum(-2)

    def changed(
        self, codes: Tensor, rows: Tensor, whole: tuple[Tensor, Tensor], slots: Tensor, values: Tensor
    ) -> Tensor:
        """The covariances again, from what rows have as they are: only the slots are computed.  -> (Q, B, S, n)"""
        columns = codes.mT[:, slots]  # (Q, B, g, n)
        before = self._distances(rows.gather(-1, slots.expand(len(rows), -1, -1)).unsqueeze(-1), columns, slots)
        together, alone = (each[:, slots].unsqueeze(-1) for each in (self.together, self.alone))  # (Q, B, g, 1)
        joint = (whole[0] - (before * together).square_().sum(-2)).clamp_min_(0)
        additive = whole[1] - matern(before.mul_(alone)).sum(-2)
        return self._with(codes, joint, additive, slots, values)

    def _with(self, codes: Tensor, joint: Tensor, additive: Tensor, slots: Tensor, values: Tensor) -> Tensor:
        """The covariances, from what the other parameters add.  (Q, B, n), (Q, B, n) -> (Q, B, S, n)"""
        moved = self._distances(values.unsqueeze(-1), codes.mT[:, slots].unsqueeze(2), slots)  # (Q, B, S, g, n)
        together, alone = (each[:, slots][:, :, None, :, None] for each in (self.together, self.alone))
        joint = _total((moved * together).square_()).add_(joint.unsqueeze(-2))
        additive = _total(matern(moved.mul_(alone))).add_(additive.unsqueeze(-2))
        weight = self.weight[:, None, None, None]
        additive.mul_(weight / self.parameters).add_(matern(joint.sqrt_()).mul_(1 - weight))
        return additive.mul_(self.scale[:, None, None, None])


def _total(values: Tensor) -> Tensor:
    """The sum over the last dimension but one, which most often has one element.  (..., g, n) -> (..., n)"""
    return values.squeeze(-2) if values.shape[-2] == 1 else values.sum(-2)


def _strips(distances: Tensor) -> tuple[Tensor, ...]:
    """Pairs in parts that fit into the cache.  (Q, p, T)"""
    whole = distances.shape[-1]
    strips: tuple[Tensor, ...] = distances.split(
        whole if distances.is_cuda else max(CACHED * whole // max(distances.numel(), 1), 1), -1
    )
    return strips


class _Between(torch.autograd.Function):
    """The additive kernel of a matrix of pairs, with its gradient by the points in closed form: a few steps instead of
    many, in strips of rows.

    x1 (Q, ..., n, 1, d), x2 (Q, ..., 1, m, d)
    """

    @staticmethod
    def forward(ctx: Any, kernel: AdditiveMatern, theta: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        """The covariances.  (Q, ..., n, m)"""
        rows = rows_at_once(x2)
        parts = [kernel.with_slopes(theta, _differences(part, x2)) for part in x1.split(rows, -3)]
        ctx.rows, ctx.pullbacks, ctx.shapes = rows, [pullback for _, pullback in parts], (x1.shape, x2.shape)
        return torch.cat([covariance for covariance, _ in parts], -2) if len(parts) > 1 else parts[0][0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        """By either point: the kernel knows only their difference."""
        one, other = ctx.shapes
        by_one, by_other = [], weights.new_zeros(other)
        for pullback, own in zip(ctx.pullbacks, weights.split(ctx.rows, -2), strict=True):
            slopes = pullback(own).movedim(1, -1)
            if ctx.needs_input_grad[2]:
                by_one.append(-slopes.sum_to_size((*one[:-3], own.shape[-2], *one[-2:])))
            by_other += slopes.sum_to_size(other)
        return None, None, torch.cat(by_one, -3) if by_one else None, by_other


def matern(a: Tensor) -> Tensor:
    """Matern-5/2 of a = sqrt(5) r, which it overwrites."""
    rise = torch.addcmul(a, a, a, value=1 / 3).add_(1)
    return rise.mul_(a.mul_(-LOG2E).exp2_())


def risen(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(1 + a) exp(-a), a^2 / 3 and Matern-5/2 of a = sqrt(5) r, which it overwrites."""
    decay = (-LOG2E * a).exp2_()
    rise = (a + 1).mul_(decay)
    square = a.square_().mul_(1 / 3)
    return rise, square, torch.addcmul(rise, square, decay)


def _differences(x1: Tensor, x2: Tensor) -> Tensor:
    """Differences of pairs of points, those of each column side by side.  (Q, ..., d) -> (Q, d, ...)"""
    return x1.movedim(-1, 1).contiguous() - x2.movedim(-1, 1).contiguous()
