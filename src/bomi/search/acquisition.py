"""How promising a point is: pure functions of the worlds' posterior moments.

mean, sd   (Q, m)  posterior mean and standard deviation of m points in each of Q worlds
score      (m,)    one number a point, larger is better
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning
from botorch.utils.multi_objective.hypervolume import infer_reference_point
from botorch.utils.multi_objective.pareto import is_non_dominated
from botorch.utils.safe_math import log1mexp
from torch import Tensor
from torch.autograd.function import once_differentiable

FAR = 1e4  # a target that no outcome comes near
NEVER = -1e100  # the logarithm of nothing, as far as a search is concerned
ROUND = 0.01  # of the span of an outcome, over which the change from one outcome to another is made smooth
LIKELY = 0.7  # a point that succeeds with a smaller chance is the last resort


def beta(
    t: int, dim: int, *, delta: float = 0.1, a: float = 1.0, b: float = 1.0, r: float = 1.0, union: float = 2.0
) -> float:
    """The exploration schedule of GP-UCB on a box (Srinivas et al. 2010, theorem 2), t counted from 1.

    beta_t = 2 log(t^2 2 pi^2 / (3 delta)) + 2 d log(t^2 d b r sqrt(log(4 d a / delta)))

    `union` is the first factor 2 inside the logarithm, which the program published with the paper leaves out.
    """
    first = 2 * math.log(t**2 * union * math.pi**2 / (3 * delta))
    second = 2 * dim * math.log(t**2 * dim * b * r * math.sqrt(math.log(4 * dim * a / delta)))
    return max(first + second, 0.0)


def ucb(mean: Tensor, sd: Tensor, exploration: float) -> Tensor:
    """alpha_q(x) = mu_q(x) + exploration * sigma_q(x), in each world.  (Q, m)"""
    return mean + exploration * sd


def ucb_mi(mean: Tensor, sd: Tensor, exploration: float, disagreement: float, *, correction: int = 1) -> Tensor:
    """UCB-MI: alpha(x) = mean_q alpha_q(x) + disagreement * std_q alpha_q(x), std with Q - correction.  (m,)

    One world gives UCB exactly.
    """
    alpha = ucb(mean, sd, exploration)
    if len(alpha) == 1:
        return alpha[0]
    spread = alpha.var(0, correction=correction).clamp_min(1e-20).sqrt()  # the clamp keeps the gradient finite at 0
    return alpha.mean(0) + disagreement * spread


def merit(mean: Tensor, aim: float | None) -> Tensor:
    """How good an expected outcome is: itself, or the negative distance to where it should be."""
    return mean if aim is None else -(mean - aim).abs()


def expected_merit(mean: Tensor, sd: Tensor, aim: float | None) -> Tensor:
    """E[u] for u = y, or for u = -|y - aim| (a folded normal), with y ~ N(mean, sd^2)."""
    if aim is None:
        return mean
    z = (mean - aim) / sd
    return -sd * (math.sqrt(2 / math.pi) * torch.exp(-0.5 * z.square()) + z * torch.erf(z / math.sqrt(2)))


def log_h(z: Tensor) -> Tensor:
    """log h(z) with h(z) = phi(z) + z Phi(z), exact in its value and its gradient far into the left tail.

    Below -1, h(z) = phi(z) (1 - |z| m(z)) with m(z) = Phi(z) / phi(z) = sqrt(pi / 2) erfcx(|z| / sqrt(2)), Mills'
    ratio; and where 1 - |z| m(z) loses its digits it is 1 / z^2 (Ament et al. 2023).
    """
    near, far = z.clamp_min(-1.0), z.clamp_max(-1.0)
    above = (torch.exp(-0.5 * near.square()) / math.sqrt(2 * math.pi) + near * torch.special.ndtr(near)).log()
    middle = far.clamp_min(-1e4)
    product = -middle * math.sqrt(math.pi / 2) * torch.special.erfcx(-middle / math.sqrt(2))
    rest = torch.where(z > -1e4, torch.log1p(-product), -2 * far.neg().log())
    below = -0.5 * far.square() - 0.5 * math.log(2 * math.pi) + rest
    return torch.where(z > -1.0, above, below)


def log_excess(mean: Tensor, sd: Tensor, threshold: Tensor, aim: float | None = None) -> Tensor:
    """log E[(u - c)+] for u = y, or u = -|y - aim|, with y ~ N(mean, sd^2); in logs throughout (Ament et al. 2023).

    For u = y it is log sd + log h((mean - c) / sd), h(z) = phi(z) + z Phi(z). With an aim and d = -c the hat

        (d - |y - aim|)+ = (y - aim + d)+ - 2 (y - aim)+ + (y - aim - d)+

    gives three such terms, for an aim above the mean; and of a narrow hat all that counts is its area d^2.
    """
    if aim is None:
        return sd.log() + log_h((mean - threshold) / sd)
    width = (-threshold).clamp_min(1e-12) / sd
    away = (mean - aim).abs() / sd
    first, middle, last = (log_h(shift * width - away) for shift in (1, 0, -1))
    hat = 1 - 2 * torch.exp(middle - first) + torch.exp(last - first)
    wide = first + hat.clamp_min(1e-30).log()
    narrow = 2 * width.log() - 0.5 * away.square() - 0.5 * math.log(2 * math.pi)
    return sd.log() + torch.where((width > 1e-3) | (width * away > 1e-2), wide, narrow)


def log_rise(mean: Tensor, own: Tensor, leaders: Tensor, others: Tensor) -> Tensor:
    """log of what the best mean is expected to gain by an outcome at each point, over the best of today's rows.

    Per standard deviation z of the outcome, noise included, the mean at the point moves by `own` and that of each
    leading row by `others`, so that with lines a_i + b_i z of the rows and the point

        E[max_i (a_i + b_i z)] - max_rows a_i = (max_i a_i - max_rows a_i) + sum_i r_i h(-|z_i|),

    where at z_i another line becomes the highest and the slope rises by r_i (Frazier, Powell and Dayanik 2009; Scott,
    Frazier and Powell 2011). Without noise rows stay where they are, and it is the expected improvement. What is
    expected of the rows is taken as given: there is no gradient by `leaders`.

    mean, own: (Q, m), leaders: (Q, k), others: (Q, k, m) -> (Q, m)
    """
    found: Tensor = _LogRise.apply(mean, own, leaders, others)  # type: ignore[no-untyped-call]
    return found


class _LogRise(torch.autograd.Function):
    """`log_rise` with its gradient in closed form: a few steps instead of many.

    With lines i and j that meet at z_i = l / r, l = a_j - a_i and r = b_i - b_j, and D = d log h(-|z|) / dz, the term
    log r + log h(-|z_i|) has the derivatives D / r by l and (1 - z_i D) / r by r.
    """

    @staticmethod
    def forward(ctx: Any, mean: Tensor, own: Tensor, leaders: Tensor, others: Tensor) -> Tensor:
        """The logarithm of the sum."""
        heights = torch.cat([leaders.unsqueeze(-1).expand_as(others), mean.unsqueeze(-2)], -2)  # (Q, K, m)
        slopes = torch.cat([others, own.unsqueeze(-2)], -2)
        rise = slopes.unsqueeze(-2) - slopes.unsqueeze(-3)  # (Q, K, K, m), of line i over line j
        lead = heights.unsqueeze(-3) - heights.unsqueeze(-2)  # of line j over line i
        first = torch.ones(rise.shape[-3:-1], dtype=torch.bool).tril(-1).unsqueeze(-1)  # of lines that agree
        below = torch.where((lead > 0) | ((lead == 0) & first), torch.inf, -torch.inf).to(lead)  # of parallel ones
        meet = lead / rise
        begin, before = torch.where(rise > 0, meet, torch.where(rise == 0, below, -torch.inf)).max(-2)  # (Q, K, m)
        end = torch.where(rise < 0, meet, torch.inf).amin(-2)
        turns = (begin < end) & begin.isfinite()
        at = torch.where(turns, begin, 0.0)
        by = torch.where(turns, rise.gather(-2, before.unsqueeze(-2)).squeeze(-2), 1.0)
        log_each = log_h(-at.abs())
        excess = mean - leaders.amax(-1, keepdim=True)
        certain = torch.where(excess > 0, excess.clamp_min(1e-300).log(), NEVER)
        terms = torch.cat([torch.where(turns, by.log() + log_each, NEVER), certain.unsqueeze(-2)], -2)
        total = torch.logsumexp(terms, -2)
        ctx.save_for_backward(terms, total, turns, before, at, by, log_each, excess)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        """By the mean and the slope of the point, and by the slopes of the rows."""
        terms, total, turns, before, at, by, log_each, excess = ctx.saved_tensors
        shares = (terms - total.unsqueeze(-2)).exp() * weights.unsqueeze(-2)
        each = torch.where(turns, shares[..., :-1, :], 0.0) / by
        fall = -at.sign() * (torch.special.log_ndtr(-at.abs()) - log_each).exp()  # D
        by_lead, by_rise = each * fall, each * (1 - at * fall)
        heights = torch.zeros_like(by).scatter_add_(-2, before, by_lead) - by_lead
        slopes = by_rise - torch.zeros_like(by).scatter_add_(-2, before, by_rise)
        certain = torch.where(excess > 0, shares[..., -1, :] / excess.clamp_min(1e-300), 0.0)
        return heights[..., -1, :] + certain, slopes[..., -1, :], None, slopes[..., :-1, :]


def log_gain(moments: Sequence[tuple[Tensor, Tensor]], aims: Sequence[float | None], boxes: Tensor) -> Tensor:
    """log of the expected gain in hypervolume, in each world.  moments: J times (Q, m), boxes: (2, Q, K, J) -> (Q, m)

    What the outcomes found so far leave undominated is cut into boxes from l to u. In a box, a new point adds the
    product over outcomes of min(u_j, y_j) - l_j, where positive; outcomes are independent given a world, so that

        E[gain] = sum_boxes prod_j ( E[(y_j - l_j)+] - E[(y_j - u_j)+] )

    exactly (Yang et al. 2019). Of one outcome there is one box, from the incumbent to infinity: expected improvement.
    """
    total = None
    for j, ((mean, sd), aim) in enumerate(zip(moments, aims, strict=True)):
        low, high = boxes[..., j].unsqueeze(-1)  # (Q, K, 1)
        above = log_excess(mean.unsqueeze(1), sd.unsqueeze(1), low, aim)  # (Q, K, m)
        if bool((high < FAR).any()):
            beyond = log_excess(mean.unsqueeze(1), sd.unsqueeze(1), high, aim)
            above = above + log1mexp((beyond - above).clamp_max(-1e-12))
        total = above if total is None else total + above
    assert total is not None
    return total[:, 0] if total.shape[1] == 1 else torch.logsumexp(total, 1)


def free_boxes(merits: Tensor) -> Tensor:
    """What the rows' merits leave undominated, cut into boxes, in each world.  (Q, n, J) -> (2, Q, K, J)

    The reference point lies a tenth of the front's extent below its worst values.
    """
    if merits.shape[-1] == 1:
        incumbent = merits.amax(1, keepdim=True)
        return torch.stack([incumbent, torch.full_like(incumbent, FAR)])
    found = []
    for world in merits:
        front = world[undominated(world)]
        reference = infer_reference_point(front)
        bounds = FastNondominatedPartitioning(reference, front).get_hypercell_bounds()  # (2, K, J)
        found.append(bounds.clamp_max(FAR))
    most = max(bounds.shape[1] for bounds in found)
    padding = [bounds.new_full((2, most - bounds.shape[1], bounds.shape[2]), FAR) for bounds in found]
    return torch.stack([torch.cat(parts, 1) for parts in zip(found, padding, strict=True)], 1)


def chebyshev(merits: Tensor, weights: Tensor) -> Tensor:
    """The augmented Chebyshev score of a trade-off: min_j w_j u_j + sum_j w_j u_j / 20, with the minimum made smooth.

    (m, J), (J,) -> (m,)

    Merits are relative to the best of each outcome, at most about 0. Its maximum is undominated, and every undominated
    point is the maximum for some weights, be the front convex or concave.
    """
    weighted = merits * weights.clamp_min(0.02)
    return -ROUND * torch.logsumexp(-weighted / ROUND, -1) + 0.05 * weighted.sum(-1)


def undominated(merits: Tensor) -> Tensor:
    """Which points no other point beats, of equal ones the first.  (n, J) -> (n,) bool"""
    found: Tensor = is_non_dominated(merits)
    return found


def chance(mean: Tensor, sd: Tensor, incumbent: Tensor, aim: float | None = None) -> Tensor:
    """P(u > c) for u = y, or u = -|y - aim|, with y ~ N(mean, sd^2).  (Q, m), (Q,) -> (Q, m)"""
    c, inside = incumbent[:, None], torch.special.ndtr
    found: Tensor = inside((mean - c) / sd) if aim is None else inside((aim - c - mean) / sd)
    return found if aim is None else found - inside((aim + c - mean) / sd)


def infeasibility_penalty(chance: Tensor) -> Tensor:
    """0 for a point that is likely to succeed, below -1 for one that is not; it outweighs any other score.  (m,)

    Where nothing better is left among what is feasible, the expected improvement, however little of it remains, would
    send one experiment after the other across the border.
    """
    return 1000 * (chance - LIKELY).clamp_max(0)


def log_mean(logs: Tensor) -> Tensor:
    """log of the mean over worlds.  (Q, m) -> (m,)"""
    return torch.logsumexp(logs, 0) - math.log(len(logs))


def mean_of_worst(values: Tensor, weights: Tensor, share: float) -> Tensor:
    """The mean of the smallest values that together weigh the share; weights sum to 1.  (k, m), (k, m) -> (m,)"""
    values, order = values.sort(0)
    weights = weights.gather(0, order)
    before = weights.cumsum(0) - weights
    counted = torch.minimum(weights, (share - before).clamp_min(0))
    return (counted * values).sum(0) / counted.sum(0)
