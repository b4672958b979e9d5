"""Gaps drawn from their posterior under the Gaussian process itself: given the outcome, what was asked, the columns.

    y_i = f(x_i) + noise, f ~ GP.  Gibbs sampling over the rows with gaps, Q chains side by side.

For row i, S candidates for its gaps are drawn so that they and the current values are exchangeable under the prior;
one of them is picked with probability proportional to the leave-one-out density N(y_i; mu_-i(x), s2_-i(x)): iterated
sampling importance resampling, an exact MCMC kernel (Andrieu, Lee, Vihola 2018) that jumps between modes. Candidates
lie around the current value by the reversible walk e' = sqrt(1 - s^2) e + s noise: near it for a small step s, and
fresh draws from the prior for s = 1.

    codes  (Q, n, p)   the worlds: numbers in [0, 1], categories as indices
    P      (Q, n, n)   K^-1; with q = P_i / P_ii, the inverse without row i is P - P_i q^T: its row i is zero
    k      (Q, S, n)   covariance of the candidates with all rows, with what their conditions add to it

After the move, u = P_-i k and v = u - e_i: P' = P_-i + v v^T / (k_ii + noise - k^T u). No Cholesky in the loop.

Of m outcomes each has a process of its own on the same worlds, and their densities are multiplied: hyper-parameters and
P are those of the first outcome in all worlds, then those of the second, m Q in all. A row that lacks an outcome is not
among the rows of its process.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.model.additive import AdditiveCandidates, AdditiveMatern
from bomi.model.conditions import UnderConditions, kernel_under
from bomi.model.gaussian_process import robust_cholesky
from bomi.model.kernels import Kernel, cross
from bomi.posterior.constrained import Constrained
from bomi.posterior.priors import GapPriors, gap_priors
from bomi.posterior.tied import draw_shared, follow
from bomi.space import Categorical, Space

CANDIDATES = 24
NEAR = (0.003, 0.7)  # steps of every second row in a sweep; the others take fresh draws


def prior_of(table: Table, known: Tensor, worlds: int) -> GapPriors:
    """The gaps' priors, those that follow from fixed sums on their own."""
    priors = gap_priors(table, known, worlds)
    return Constrained(table, priors).free_pivots(priors) if table.space.constraints else priors


def kernel_of(table: Table) -> Kernel:
    """The kernel over a table's space, and over the conditions of its rows."""
    return kernel_under(AdditiveMatern.over(table.space), table.space, table.conditions)


def by_world(values: Tensor, worlds: int) -> Tensor:
    """What is the same in all worlds, for each outcome and world.  (m, n) -> (m Q, n)"""
    return values.repeat_interleave(worlds, 0)


def sweep(
    codes: Tensor,
    P: Tensor,
    table: Table,
    priors: GapPriors,
    hyper: Tensor,
    generator: torch.Generator,
    *,
    step: float | None = None,
    only: Tensor | None = None,
    evidence: Tensor | None = None,
    kept: Tensor | None = None,
) -> tuple[Tensor, GapPriors]:
    """One pass over the rows with gaps, changing `codes` and P in place; then the execution error and the meaning of
    blanks are drawn anew.

    step: how far the candidates go, the same for all rows; by default a step of its own for each row.
    evidence: (Q,) to which the log densities of the rows' outcomes are added, each summed over its fresh candidates
    kept: (Q,) bool, for evidence that is exact on average: worlds that stay as they are, the current values of their
    gaps in place of one of the fresh candidates; the others take a fresh one. Rows with the fewest gaps come first.
    """
    Q, outcomes = len(codes), table.outcomes
    several = len(outcomes) > 1
    has = (~outcomes.isnan()).T.tolist()  # by row and outcome
    y = table.targets_of(Q).nan_to_num()  # (m Q, n)
    values = take(codes, priors)
    steps = _steps(priors, generator) if step is None else torch.full(priors.rows.shape, step, dtype=torch.float64)
    candidates = _candidates(values, priors, generator, steps, table.space)  # (Q, S, R, g)
    luck = gumbel(candidates.shape[:3], generator)
    odds = torch.zeros(len(candidates), CANDIDATES, 1, dtype=torch.float64)  # log, of being a candidate at all
    if kept is not None:
        odds[:, 0] = torch.where(kept, 0.0, -torch.inf)[:, None]
        odds[:, -1] = torch.where(kept, -torch.inf, 0.0)[:, None]
        luck[kept, 0] = torch.inf
    if table.space.constraints:
        candidates, weights = Constrained(table, priors).follow(candidates, priors)
        candidates[:, 0], weights[:, 0] = values, weights[:, 0].clamp_min(-1e9)  # the current ones are always there
        odds = odds + weights
    odds = odds.expand(luck.shape)
    luck = luck + odds
    categories = torch.tensor([isinstance(p, Categorical) for p in table.space.parameters.values()])
    kernel, theta, terms = kernel_of(table), hyper[:, :-1], None
    if isinstance(kernel, UnderConditions) and table.conditions is not None:  # these are the same whatever is drawn
        terms = kernel.between_conditions(theta, table.conditions, table.conditions)  # (m Q, n, n)
        theta = kernel.of_inputs(theta)
    metric = AdditiveCandidates(theta, categories, table.space.described)
    noise = hyper[:, -1:].exp().expand(-1, len(table))  # (m Q, n)
    if table.errors is not None:
        noise = noise + by_world(torch.atleast_2d(table.errors), Q)
    every = torch.arange(Q)
    worlds = codes.repeat(len(outcomes), 1, 1) if several else codes  # (m Q, n, p), those of each outcome's process
    order = torch.randperm(len(priors.rows), generator=generator).tolist()
    rows, widths = priors.rows.tolist(), priors.used.sum(-1).tolist()
    if kept is not None:
        order.sort(key=widths.__getitem__)
    wanted = only.tolist() if only is not None else None
    leading = _leading(table)
    for r in order:
        i, g = rows[r], widths[r]
        if wanted is not None and not wanted[i]:
            continue
        slots = priors.parameter[r, :g]
        tried = candidates[:, :, r, :g]
        if i in leading:
            weight = draw_shared(codes, P, y, noise, table, hyper, i, slots, tried, luck[:, :, r])
            worlds = codes.repeat(len(outcomes), 1, 1) if several else codes
            if evidence is not None:
                evidence += _total(weight, None if kept is None else odds[:, :, r])
            continue
        each = tried.repeat(len(outcomes), 1, 1) if several else tried
        k = metric.covariances(worlds, worlds[:, i, None], slots[None], each.unsqueeze(1)).squeeze(1)  # (m Q, S, n)
        prior = metric.scale
        if terms is not None:
            k, prior = k.add_(terms[:, i, None]), prior + terms[:, i, i]
        column = P[:, :, i]
        own = column[:, i]
        inverse = torch.where(own > 0, 1 / own, 0.0)  # a row not yet among them has nothing to take out
        kP = k @ P
        along = kP[:, :, i]  # (m Q, S)
        mean = (kP @ y.unsqueeze(-1)).squeeze(-1) - along * (inverse * (column * y).sum(-1))[:, None]
        explained = k.mul_(kP).sum(-1) - along.square() * inverse[:, None]
        own_noise = noise[:, i, None]
        variance = (prior[:, None] + own_noise - explained).clamp_min(0.1 * own_noise)
        weight = -0.5 * ((y[:, i, None] - mean).square() / variance + variance.log())
        if several or not all(has[i]):
            known = torch.tensor(has[i])
            weight = (weight.unflatten(0, (len(outcomes), Q)) * known[:, None, None]).sum(0)  # (Q, S)
        if evidence is not None:
            evidence += _total(weight, None if kept is None else odds[:, :, r])
        chosen = (weight + luck[:, :, r]).argmax(-1)
        codes[:, i, slots] = candidates[every, chosen, r, :g]
        if several:
            worlds[:, i, slots] = codes[:, i, slots].repeat(len(outcomes), 1)
            chosen = chosen.repeat(len(outcomes))
        all_worlds = torch.arange(len(P))
        v = kP[all_worlds, chosen] - column * (inverse * along[all_worlds, chosen])[:, None]
        v[:, i] = -1.0
        gain = 1 / variance[all_worlds, chosen]
        if not all(has[i]):  # a row without this outcome stays outside
            gain = torch.where(torch.tensor(has[i]).repeat_interleave(Q), gain, 0.0)
        left = torch.stack([-inverse[:, None] * column, gain[:, None] * v], -1)
        P.baddbmm_(left, torch.stack([column.clone(), v], 1))
    return P, priors.learn(take(codes, priors), generator)


def _total(weight: Tensor, odds: Tensor | None) -> Tensor:
    """The log of the densities' sum over the fresh candidates, or over those that may be one.  (Q, S) -> (Q,)"""
    total: Tensor = (weight[:, 1:] if odds is None else weight + odds).logsumexp(-1)
    return total


def _leading(table: Table) -> set[int]:
    """The rows with a gap whose value gaps of other rows share."""
    if table.leaders is None:
        return set()
    others = table.leaders != torch.arange(len(table))[:, None]
    return set(table.leaders[others].tolist())


def _steps(priors: GapPriors, generator: torch.Generator) -> Tensor:
    """For each row at random a fresh draw or a small step of any size; discrete values know no small steps."""
    low, high = map(math.log, NEAR)
    fresh, size = torch.rand(2, len(priors.rows), generator=generator, dtype=torch.float64)
    discrete = (priors.discrete & priors.used).any(-1)
    return torch.where((fresh < 0.5) | discrete, 1.0, torch.exp(low + size * (high - low)))


def _candidates(values: Tensor, priors: GapPriors, generator: torch.Generator, steps: Tensor, space: Space) -> Tensor:
    """The current values and others exchangeable with them under the prior.  (Q, R, g), (R,) -> (Q, S, R, g)

    A common center one step from the current value, and the others one step from the center.
    """
    step = steps[:, None]
    keep = (1 - step.square()).sqrt()
    blanks = priors.blanks
    labels = None if blanks is None else blanks.labels(values, generator)
    center = keep * priors.locate(values, generator, labels) + step * torch.randn(
        values.shape, generator=generator, dtype=torch.float64
    )
    size = (len(values), CANDIDATES, *values.shape[1:])
    drawn = priors.draw(keep * center[:, None] + step * torch.randn(size, generator=generator, dtype=torch.float64))
    if priors.discrete.any():
        drawn = snap(drawn, priors, space)
    if blanks is not None and labels is not None:  # small steps leave the defaults where they are
        kept = torch.where(labels[:, None], blanks.at, drawn)
        drawn = torch.where(step == 1, blanks.put(drawn, generator), kept)
    drawn[:, 0] = values
    return drawn


def snap(values: Tensor, priors: GapPriors, space: Space) -> Tensor:
    """Slots' values at the nearest admissible ones.  (..., R, g)"""
    snapped = values.clone()
    for j, parameter in enumerate(space.parameters.values()):
        mine = priors.used & (priors.parameter == j)
        if parameter.levels is not None and mine.any():
            part = values[..., mine].numpy()
            fixed = np.round(part) if isinstance(parameter, Categorical) else parameter.snap(part[..., None])[..., 0]
            snapped[..., mine] = torch.from_numpy(np.ascontiguousarray(fixed))
    return snapped


def take(codes: Tensor, priors: GapPriors) -> Tensor:
    """The gaps' values, slot by slot.  (Q, n, p) -> (Q, R, g)"""
    return codes[:, priors.rows[:, None], priors.parameter]


def _put(codes: Tensor, priors: GapPriors, values: Tensor, space: Space) -> None:
    """Write slots' values into the worlds."""
    values = snap(values, priors, space)
    row, slot = priors.used.nonzero().unbind(-1)
    codes[:, priors.rows[row], priors.parameter[row, slot]] = values[:, row, slot]


def guess(codes: Tensor, priors: GapPriors, table: Table, generator: torch.Generator | None = None) -> Tensor:
    """With the middle of its prior where a gap has no value yet, or with a draw from it."""
    filled = codes.clone()
    e = torch.zeros(len(codes), 1, *priors.used.shape, dtype=torch.float64)
    if generator is not None:
        e.normal_(generator=generator)
    values = priors.draw(e)
    if priors.blanks is not None and generator is not None:
        values = priors.blanks.put(values, generator)
    values = values[:, 0]
    if table.space.constraints:
        values = Constrained(table, priors).project(snap(values, priors, table.space))
    _put(filled, priors, values, table.space)
    return follow(torch.where(codes.isnan(), filled, codes), table)


def gumbel(shape: Iterable[int], generator: torch.Generator) -> Tensor:
    """Gumbel numbers: the largest of log weights plus these is a draw with those weights."""
    return -torch.empty(tuple(shape), dtype=torch.float64).exponential_(generator=generator).log()


def inverse_of(table: Table, hyper: Tensor, inputs: Tensor, *, only: Tensor | None = None) -> Tensor:
    """K^-1 over some of the rows, for each outcome those that have it; zero elsewhere.  (m Q, n, n)"""
    kernel, n = kernel_of(table), inputs.shape[1]
    errors = None if table.errors is None else torch.atleast_2d(table.errors)
    found = []
    for j, (own, has) in enumerate(zip(hyper.chunk(len(table.outcomes)), ~table.outcomes.isnan(), strict=True)):
        rows = has if only is None else has & only
        whole = bool(rows.all())
        part = table.located(inputs) if whole else table.located(inputs[:, rows], rows)
        with torch.no_grad():
            K = cross(kernel, own[:, :-1], part, part)
        K.diagonal(dim1=-2, dim2=-1).add_(own[:, -1:].exp() if errors is None else own[:, -1:].exp() + errors[j, rows])
        inverse = torch.cholesky_inverse(robust_cholesky(K))
        if not whole:
            index = rows.nonzero()[:, 0]
            inverse, part = inputs.new_zeros(len(inputs), n, n), inverse
            inverse[:, index[:, None], index] = part
        found.append(inverse)
    return torch.cat(found) if len(found) > 1 else found[0]
