"""What is known of a gap before its outcome is looked at.

In order of knowledge: a stated uncertainty is that distribution; an asked value a, from which equipment strays,
is the mixture sum_k pi_k N(a + c_k, s_k^2) + pi_0 Uniform cut to the range, with pi learned from the draws: a smooth
histogram of how far and to which side this equipment strays; otherwise what the other columns say, by a Gaussian
copula whose correlations are shrunk; and where they say nothing, how the column is spread.

Every gap is reached from a standard normal number by a monotone map, so that one sampler serves all:

    e ~ N(0, I)     z = m + C e  (the copula; m = 0 and C = I for other gaps)     x = F^-1(Phi(z))

    R        rows with gaps; g the most gaps in one of them, a row with fewer has idle slots
    codes    (n, p)         numbers in [0, 1]; a category as its index 0, 1, 2, ...
    F        a gap's own distribution function, tabulated at N nodes
    pi       (Q, p, K)      weights of the straying components of each parameter, in each world
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor

from bomi.imputers.stated import quantiles
from bomi.space import Categorical, Parameter
from bomi.worlds import Table

_FAR = (0.0125, 0.02, 0.032, 0.05, 0.08, 0.125, 0.2, 0.32)  # how far equipment may stray, as shares of the range
CENTERS = (0.0, *_FAR, *(-far for far in _FAR))  # and to which side
WIDTHS = (0.0075, *(max(0.3 * far, 0.0075) for far in (*_FAR, *_FAR)))
COMPONENTS = len(CENTERS) + 1  # the last is anywhere
NODES = 256
OUTSIDE = 1e-3  # a component with less of its mass inside the range
EDGE = 1e-9  # levels are kept this far from 0 and 1
SMOOTHING = 10.0  # a column of so many known values is trusted as much as an even spread


@dataclass(frozen=True)
class GapPriors:
    """The priors of all gaps of a table, for Q worlds."""

    rows: Tensor  # (R,) the rows of the table that have gaps
    parameter: Tensor  # (R, g) which parameter a slot is, 0 where idle
    used: Tensor  # (R, g) bool
    discrete: Tensor  # (R, g) bool: takes separate values
    nodes: Tensor  # (R, g, N)
    cdf: Tensor  # (Q, R, g, N) F at the nodes
    mean: Tensor  # (R, g) m
    root: Tensor  # (R, g, g) C
    asked: Tensor  # (R, g) the asked value, NaN without one
    components: Tensor  # (R, g, K, N) distribution functions of the straying components
    strayed: Tensor  # (p, K) what recorded values that differ from the asked ones say of the components
    pi: Tensor  # (Q, p, K)

    def select(self, rows: Tensor) -> GapPriors:
        """Those of some rows of the table.  rows: (n,) bool"""
        mine = rows[self.rows]
        return replace(
            self,
            rows=self.rows[mine],
            cdf=self.cdf[:, mine],
            **{
                name: getattr(self, name)[mine]
                for name in ("parameter", "used", "discrete", "nodes", "mean", "root", "asked", "components")
            },
        )

    def draw(self, e: Tensor) -> Tensor:
        """The values reached from standard normal numbers.  (Q, S, R, g) -> (Q, S, R, g)"""
        z = self.mean + (self.root @ e.unsqueeze(-1)).squeeze(-1)
        level = torch.special.ndtr(z).clamp(EDGE, 1 - EDGE).permute(0, 2, 3, 1).contiguous()
        return _interpolate(self.cdf, self.nodes.expand(self.cdf.shape), level).permute(0, 3, 1, 2)

    def locate(self, x: Tensor) -> Tensor:
        """The standard normal numbers from which values are reached.  (Q, R, g) -> (Q, R, g)"""
        nodes = self.nodes.expand(self.cdf.shape).contiguous()
        level = _interpolate(nodes, self.cdf, x.unsqueeze(-1).contiguous()).squeeze(-1)
        z = torch.special.ndtri(level.clamp(EDGE, 1 - EDGE)) - self.mean
        e: Tensor = torch.linalg.solve_triangular(self.root, z.unsqueeze(-1), upper=False)
        return e.squeeze(-1)

    def learn_straying(self, x: Tensor, generator: torch.Generator, rows: Tensor | None = None) -> GapPriors:
        """With the weights of the straying components drawn given the current values, in each world.

        A label for each asked gap from P(k | x) ~ pi_k N(x; a + c_k, s_k^2), then pi_j ~ Dirichlet(1/K + counts_j
        + 2 share), where share is that of all parameters together: what the others do is a hint, what this one does is
        evidence.  x: (Q, R, g); rows: (n,) bool, those to learn from
        """
        known = ~self.asked.isnan() & (rows[self.rows, None] if rows is not None else True)
        if not known.any():
            return self
        parameter = self.parameter[known]  # (A,)
        weights = self.pi[:, parameter] * _density(x[:, known], self.asked[known])  # (Q, A, K)
        labels = torch.multinomial(weights.flatten(0, 1).clamp_min(1e-300), 1, generator=generator)
        cell = parameter * COMPONENTS + labels.reshape(len(x), -1)  # (Q, A)
        counts = self.strayed.flatten().repeat(len(x), 1).scatter_add(1, cell, torch.ones_like(cell, dtype=x.dtype))
        return self._with_pi(torch._standard_gamma(_dirichlet(counts.reshape(self.pi.shape)), generator=generator))

    def _with_pi(self, gamma: Tensor) -> GapPriors:
        """With other weights, given up to their sum."""
        pi = gamma / gamma.sum(-1, keepdim=True)
        known = ~self.asked.isnan()
        cdf = self.cdf.clone()
        cdf[:, known] = torch.einsum("qak,akn->qan", pi[:, self.parameter[known]], self.components[known])
        return replace(self, cdf=cdf, pi=pi)


def gap_priors(table: Table, codes: Tensor, worlds: int) -> GapPriors:
    """The priors of a table's gaps.  codes: (n, p) with NaN in the gaps"""
    space, gaps = table.space, codes.isnan()
    parameters = list(space.parameters.values())
    asked = to_codes(table, table.asked)
    rows = gaps.any(-1).nonzero()[:, 0]
    slots = int(gaps.sum(-1).max()) if len(rows) else 0
    shape = (len(rows), slots)
    parameter = torch.zeros(shape, dtype=torch.long)
    used, discrete = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
    nodes = torch.linspace(0, 1, NODES, dtype=torch.float64).repeat(*shape, 1)
    cdf, mean = nodes.clone(), torch.zeros(shape, dtype=torch.float64)
    root = torch.eye(slots, dtype=torch.float64).repeat(len(rows), 1, 1)
    asked_at = torch.full(shape, torch.nan, dtype=torch.float64)
    components = nodes.unsqueeze(-2).repeat(1, 1, COMPONENTS, 1)
    stated = {(s.row, s.parameter): s.cell for s in table.stated}
    columns = Columns.of(codes, parameters)

    r, j = gaps[rows].nonzero().unbind(-1)
    slot = gaps[rows].cumsum(-1)[r, j] - 1
    parameter[r, slot], used[r, slot] = j, True
    discrete[r, slot] = torch.tensor([one.levels is not None for one in parameters])[j]
    asked_at[r, slot], cdf[r, slot] = asked[rows[r], j], columns.cdf[j]
    free = used & asked_at.isnan()  # only the other columns speak of these
    for at, row, k in zip(zip(r.tolist(), slot.tolist(), strict=True), rows[r].tolist(), j.tolist(), strict=True):
        if isinstance(parameters[k], Categorical):
            nodes[at], cdf[at] = _category_table(columns.shares[k], float(asked[row, k]))
        elif (row, k) in stated:
            levels = ndtr(np.linspace(-5.5, 5.5, NODES))  # fine in the tails
            values = quantiles(stated[row, k], parameters[k], levels)
            places = np.array([parameters[k].to_unit(float(value))[0] for value in values])
            nodes[at], cdf[at] = torch.from_numpy(places), torch.from_numpy(levels)
        else:
            continue
        asked_at[at], free[at] = torch.nan, False
    for i in free.any(-1).nonzero()[:, 0].tolist():
        own = free[i].nonzero()[:, 0]
        mean[i, own], root[i, own[:, None], own] = columns.conditional(int(rows[i]), parameter[i, own])
    strays = ~asked_at.isnan()
    nodes[strays] = _nodes_around(asked_at[strays])
    components[strays] = _distribution(nodes[strays], asked_at[strays])

    priors = GapPriors(
        rows,
        parameter,
        used,
        discrete,
        nodes,
        cdf.expand(worlds, -1, -1, -1),
        mean,
        root,
        asked_at,
        components,
        strayed=_strayed(codes, asked),
        pi=torch.empty(0),
    )
    return priors._with_pi(_dirichlet(priors.strayed).expand(worlds, -1, -1))


def to_codes(table: Table, inputs: Tensor) -> Tensor:
    """Columns of the cube as codes: a number as it is, a category as its index.  (..., d) -> (..., p)"""
    codes = []
    for parameter, columns in zip(table.space.parameters.values(), table.space.columns, strict=True):
        part = inputs[..., columns]
        if isinstance(parameter, Categorical):
            codes.append(torch.where(part.isnan().any(-1), torch.nan, part.nan_to_num().argmax(-1).double()))
        else:
            codes.append(part[..., 0])
    return torch.stack(codes, -1)


def from_codes(table: Table, codes: Tensor) -> Tensor:
    """Codes as columns of the cube.  (..., p) -> (..., d)"""
    parts = []
    for j, parameter in enumerate(table.space.parameters.values()):
        if isinstance(parameter, Categorical):
            parts.append(torch.nn.functional.one_hot(codes[..., j].long(), parameter.width).to(codes))
        else:
            parts.append(codes[..., j, None])
    return torch.cat(parts, -1)


@dataclass(frozen=True)
class Columns:
    """How the columns of a table are spread, and how they move together."""

    nodes: Tensor  # (N,)
    cdf: Tensor  # (p, N) of each column, smoothed and mixed with an even spread
    scores: Tensor  # (n, p) normal scores, NaN in gaps and categories
    correlation: Tensor  # (p, p) of the normal scores, shrunk; categories take no part
    shares: tuple[Tensor, ...]  # of each column's categories

    @classmethod
    def of(cls, codes: Tensor, parameters: list[Parameter]) -> Columns:
        """What the known cells say.  codes: (n, p)"""
        nodes = torch.linspace(0, 1, NODES, dtype=torch.float64)
        cdf, shares = [], []
        for j, parameter in enumerate(parameters):
            known = codes[~codes[:, j].isnan(), j]
            if isinstance(parameter, Categorical):
                counts = torch.bincount(known.long(), minlength=parameter.width).double() + 1
                cdf.append(nodes)
                shares.append(counts / counts.sum())
            else:
                cdf.append(_smooth_cdf(nodes, known.clamp(0, 1)))
                shares.append(torch.empty(0))
        numeric = torch.tensor([not isinstance(parameter, Categorical) for parameter in parameters])
        table = torch.stack(cdf)
        scores = _normal_scores(nodes, table, torch.where(numeric, codes, torch.nan))
        return cls(nodes, table, scores, _shrunk_correlation(scores), tuple(shares))

    def at(self, codes: Tensor) -> Columns:
        """The same columns, for other rows of numbers.  codes: (m, p)"""
        return replace(self, scores=_normal_scores(self.nodes, self.cdf, codes))

    def conditional(self, row: int, gaps: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and root of the covariance of some normal scores of a row given its known ones."""
        scores = self.scores[row]
        linked = (self.correlation[gaps].abs().sum(0) > 0) & ~scores.isnan()
        known = linked.nonzero()[:, 0]
        covariance = self.correlation[gaps][:, gaps]
        if len(known) == 0:
            return torch.zeros(len(gaps), dtype=torch.float64), torch.linalg.cholesky(covariance)
        weights = torch.linalg.solve(self.correlation[known][:, known], self.correlation[known][:, gaps]).T
        rest = covariance - weights @ self.correlation[known][:, gaps]
        return weights @ scores[known], torch.linalg.cholesky(rest + 1e-9 * torch.eye(len(gaps), dtype=torch.float64))


def _smooth_cdf(nodes: Tensor, known: Tensor) -> Tensor:
    """A kernel estimate of a column's distribution, reflected at the ends, mixed with an even spread."""
    if len(known) == 0:
        return nodes
    width = max(1.06 * float(known.std(correction=0)) * len(known) ** -0.2, 0.01)
    mirrored = torch.cat([known, -known, 2 - known])
    cdf: Tensor = torch.special.ndtr((nodes[:, None] - mirrored) / width).sum(-1)
    cdf = (cdf - cdf[0]) / (cdf[-1] - cdf[0])
    trust = len(known) / (len(known) + SMOOTHING)
    return trust * cdf + (1 - trust) * nodes


def _normal_scores(nodes: Tensor, cdf: Tensor, codes: Tensor) -> Tensor:
    """Phi^-1(F_j(x_j)), NaN where x is.  codes: (n, p) -> (n, p)"""
    x = codes.clamp(0, 1).T.contiguous()
    level = _interpolate(nodes.expand(cdf.shape).contiguous(), cdf, x.nan_to_num(0.5))
    scores: Tensor = torch.special.ndtri(level.clamp(1e-4, 1 - 1e-4)).T.contiguous()
    scores[codes.isnan()] = torch.nan
    return scores


def _shrunk_correlation(scores: Tensor) -> Tensor:
    """Correlations over the rows that know both, each shrunk by its own sampling error: r (1 - 4 var(r) / r^2)+."""
    known = (~scores.isnan()).double()
    z = scores.nan_to_num(0.0)
    pairs = known.T @ known
    center = (z.T @ known) / pairs.clamp_min(1)  # (p, p): the mean of column i over the rows that know j too
    covariance = (z.T @ z) / pairs.clamp_min(1) - center * center.T
    square = (z.square().T @ known) / pairs.clamp_min(1) - center.square()
    r = covariance / (square * square.T).clamp_min(1e-12).sqrt()
    error = (1 - r.square()).square() / (pairs - 1).clamp_min(1)
    r = torch.where(pairs > 4, r * (1 - 4 * error / r.square().clamp_min(1e-12)).clamp_min(0), 0.0)
    r = r.clamp(-0.999, 0.999).fill_diagonal_(1.0)
    values, vectors = torch.linalg.eigh((r + r.T) / 2)
    fixed = vectors @ torch.diag(values.clamp_min(1e-3)) @ vectors.T
    size = fixed.diagonal().sqrt()
    return fixed / size[:, None] / size if bool((values < 1e-3).any()) else r


def _category_table(shares: Tensor, asked: float) -> tuple[Tensor, Tensor]:
    """A step function over the indices; of an asked category, nine tenths of the weight."""
    weights = shares if math.isnan(asked) else 0.1 * shares
    if not math.isnan(asked):
        weights = weights.index_add(0, torch.tensor([int(asked)]), torch.tensor([0.9], dtype=weights.dtype))
    ends = torch.cumsum(weights, 0)
    index = torch.arange(len(weights), dtype=torch.float64)
    nodes = torch.cat([index.repeat_interleave(2), index[-1:].repeat(NODES - 2 * len(index))])
    cdf = torch.cat([torch.stack([ends - weights, ends], -1).flatten(), ends[-1:].repeat(NODES - 2 * len(index))])
    return nodes, cdf


def _nodes_around(asked: Tensor) -> Tensor:
    """Nodes over the range, dense where an asked value may have strayed little.  (A,) -> (A, N)"""
    fine = torch.linspace(-1, 1, NODES // 4, dtype=torch.float64)
    near = asked[:, None] + torch.cat([0.04 * fine, 0.15 * fine])
    even = torch.linspace(0, 1, NODES // 2, dtype=torch.float64).expand(len(asked), -1)
    return torch.cat([even, near], -1).clamp(0, 1).sort().values


def _components(asked: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, width and mass inside the range of the straying components.  (A,) -> (A, K - 1) each"""
    center = asked[..., None] + torch.tensor(CENTERS, dtype=torch.float64)
    width = torch.tensor(WIDTHS, dtype=torch.float64).expand_as(center)
    mass = torch.special.ndtr((1 - center) / width) - torch.special.ndtr(-center / width)
    return center, width, mass


def _distribution(nodes: Tensor, asked: Tensor) -> Tensor:
    """Distribution functions of the straying components, cut to the range.  (A, N), (A,) -> (A, K, N)

    A component that lies outside the range has nothing to say there: it is even.
    """
    center, width, mass = (part.unsqueeze(-1) for part in _components(asked))
    nodes = nodes.unsqueeze(-2)
    cut = torch.special.ndtr((nodes - center) / width) - torch.special.ndtr(-center / width)
    return torch.cat([torch.where(mass > OUTSIDE, cut / mass, nodes), nodes], -2)


def _density(x: Tensor, asked: Tensor) -> Tensor:
    """Densities of the straying components.  (..., A), (A,) -> (..., A, K)"""
    center, width, mass = _components(asked)
    z = (x.unsqueeze(-1) - center) / width
    bells = torch.exp(-0.5 * z.square()) / (width * math.sqrt(2 * math.pi) * mass)
    bells = torch.where(mass > OUTSIDE, bells, 1.0)
    return torch.cat([bells, torch.ones_like(bells[..., :1])], -1)


def _strayed(codes: Tensor, asked: Tensor) -> Tensor:
    """How often recorded values that differ from the asked ones fell to each component.  (p, K)"""
    counts = torch.zeros(codes.shape[-1], COMPONENTS, dtype=torch.float64)
    for j in range(codes.shape[-1]):
        differ = (codes[:, j] - asked[:, j]).abs() > 1e-6
        density = _density(codes[differ, j], asked[differ, j].clamp(0, 1))
        counts[j] = (density / density.sum(-1, keepdim=True)).sum(0)
    return counts


def _dirichlet(counts: Tensor) -> Tensor:
    """The Dirichlet parameters of the straying weights.  (..., p, K)"""
    pooled = counts.sum(-2, keepdim=True) + 1 / COMPONENTS
    return counts + 1 / COMPONENTS + 2 * pooled / pooled.sum(-1, keepdim=True)


def _interpolate(at: Tensor, values: Tensor, x: Tensor) -> Tensor:
    """Piecewise linear functions through (at, values), at x.  (..., N), (..., N), (..., S) -> (..., S)"""
    after = torch.searchsorted(at, x, right=True).clamp(1, at.shape[-1] - 1)
    left, right = at.gather(-1, after - 1), at.gather(-1, after)
    share = ((x - left) / (right - left).clamp_min(1e-300)).clamp(0, 1)
    low, high = values.gather(-1, after - 1), values.gather(-1, after)
    return low + share * (high - low)
