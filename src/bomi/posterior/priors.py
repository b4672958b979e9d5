"""What is known of a gap before its outcome is looked at.

In order of knowledge: a stated uncertainty is that distribution; an asked value a, from which equipment strays,
is the mixture sum_k pi_k N(a + c_k, s_k^2) + pi_0 Uniform cut to the range, with pi learned from the draws: a smooth
histogram of how far and to which side this equipment strays; otherwise what the other columns say, by a regression;
and where they say nothing, how the column is spread.

Every gap is reached from a standard normal number by a monotone map, so that one sampler serves all:

    e ~ N(0, I)     z = C e  (a copula between a row's gaps of the third kind; C = I for others)     x = F^-1(Phi(z))

    R        rows with gaps; g the most gaps in one of them, a row with fewer has idle slots
    codes    (n, p)         numbers in [0, 1]; a category as its index 0, 1, 2, ...
    F        a gap's own distribution function, tabulated at N nodes
    pi       (Q, p, K)      weights of the components of the execution error of each parameter, in each world
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor

from bomi.impute.stated import quantiles
from bomi.impute.table import Table
from bomi.posterior.blanks import Blanks, blanks_of
from bomi.posterior.codes import to_codes
from bomi.posterior.copula import Columns
from bomi.posterior.execution import COMPONENTS, density, dirichlet, distribution, nodes_around, recorded_counts
from bomi.posterior.spread import NODES, interpolate
from bomi.space import Categorical

EDGE = 1e-9  # levels are kept this far from 0 and 1


@dataclass(frozen=True)
class GapPriors:
    """The priors of all gaps of a table, for Q worlds."""

    rows: Tensor  # (R,) the rows of the table that have gaps
    parameter: Tensor  # (R, g) which parameter a slot is, 0 where idle
    used: Tensor  # (R, g) bool
    discrete: Tensor  # (R, g) bool: takes discrete values
    nodes: Tensor  # (R, g, N)
    cdf: Tensor  # (Q, R, g, N) F at the nodes; (1, R, g, N) where it is the same in all worlds
    root: Tensor  # (R, g, g) C
    asked: Tensor  # (R, g) the asked value, NaN without one
    components: Tensor  # (A, K, N) distribution functions of the components of the execution error of each asked gap
    recorded: Tensor  # (p, K) what recorded values that differ from the asked ones say of the components
    pi: Tensor  # (Q, p, K)
    blanks: Blanks | None = None  # what a blank may mean

    def select(self, rows: Tensor) -> GapPriors:
        """Those of some rows of the table.  rows: (n,) bool"""
        mine = rows[self.rows]
        return replace(
            self,
            rows=self.rows[mine],
            cdf=self.cdf[:, mine],
            components=self.components[mine[(~self.asked.isnan()).nonzero()[:, 0]]],
            blanks=None if self.blanks is None else self.blanks.select(mine),
            **{name: getattr(self, name)[mine] for name in ("parameter", "used", "discrete", "nodes", "root", "asked")},
        )

    def of_worlds(self, worlds: Tensor) -> GapPriors:
        """Those of some of the worlds, each as often as it is named."""
        blanks = None if self.blanks is None else replace(self.blanks, weight=self.blanks.weight[worlds])
        cdf = self.cdf if len(self.cdf) == 1 else self.cdf[worlds]
        return replace(self, cdf=cdf, pi=self.pi[worlds], blanks=blanks)

    def draw(self, e: Tensor) -> Tensor:
        """The values reached from standard normal numbers; 0 in idle slots.  (Q, S, R, g) -> (Q, S, R, g)"""
        z = (self.root @ e.flatten(0, 1).permute(1, 2, 0))[self.used]  # (G, Q S)
        level = self._by_world(torch.special.ndtr(z).clamp(EDGE, 1 - EDGE))
        x = e.new_zeros(*self.used.shape, e.shape[0] * e.shape[1])
        x[self.used] = interpolate(*self._tables(), level).transpose(0, 1).flatten(1)
        values: Tensor = x.unflatten(-1, e.shape[:2]).permute(2, 3, 0, 1)
        return values

    def _tables(self) -> tuple[Tensor, Tensor]:
        """F at the nodes, and the nodes, of all gaps.  (Q or 1, G, N), (Q or 1, G, N)"""
        cdf = self.cdf[:, self.used]
        return cdf, self.nodes[self.used].expand(cdf.shape)

    def _by_world(self, values: Tensor) -> Tensor:
        """Of each gap in all worlds, as the tables are.  (G, Q S) -> (Q, G, S) or (1, G, Q S)"""
        apart: Tensor = values.unflatten(-1, (len(self.cdf), -1))
        return apart.transpose(0, 1).contiguous()

    def locate(self, x: Tensor, generator: torch.Generator, labels: Tensor | None = None) -> Tensor:
        """The standard normal numbers from which values are reached, at random among many; those behind a default, as
        labels tell, given the others of the row.  (Q, R, g), (Q, R, g) bool -> (Q, R, g)"""
        (cdf, nodes), at = self._tables(), self._by_world(x[:, self.used].T)
        nodes = nodes.contiguous()
        low, high = (interpolate(nodes, cdf, at, above=above) for above in (False, True))
        low, high = low.where(at > nodes[..., :1], 0.0), high.where(at < nodes[..., -1:], 1.0)
        uncertain = bool((low < high).any())
        drawn = torch.rand(x.shape, generator=generator, dtype=torch.float64) if uncertain else torch.zeros_like(x)
        luck = self._by_world(drawn[:, self.used].T)
        level = torch.full_like(x, 0.5)
        level[:, self.used] = (low + luck * (high - low)).transpose(0, 1).flatten(1).T
        z = torch.special.ndtri(level.clamp(EDGE, 1 - EDGE))
        if self.blanks is not None and labels is not None:
            z = self.blanks.free(z, labels, self.root, generator)
        e: Tensor = torch.linalg.solve_triangular(self.root, z.unsqueeze(-1), upper=False)
        return e.squeeze(-1)

    def learn(self, x: Tensor, generator: torch.Generator, rows: Tensor | None = None) -> GapPriors:
        """With execution errors, and what blanks mean, drawn given the current values.

        x: (Q, R, g); rows: (n,) bool, those to learn from
        """
        learned = self.learn_execution(x, generator, rows)
        if self.blanks is None:
            return learned
        mine = torch.ones_like(self.rows, dtype=torch.bool) if rows is None else rows[self.rows]
        return replace(learned, blanks=self.blanks.learn(x, mine, generator))

    def learn_execution(self, x: Tensor, generator: torch.Generator, rows: Tensor | None = None) -> GapPriors:
        """With the weights of the components of the execution error drawn given the current values, in each world.

        A label for each asked gap from P(k | x) ~ pi_k N(x; a + c_k, s_k^2), then pi_j ~ Dirichlet(1/K + counts_j
        + 2 share), where share is that of all parameters together: what the others do is a hint, what this one does is
        evidence.  x: (Q, R, g); rows: (n,) bool, those to learn from
        """
        known = ~self.asked.isnan() & (rows[self.rows, None] if rows is not None else True)
        if not known.any():
            return self
        parameter = self.parameter[known]  # (A,)
        weights = self.pi[:, parameter] * density(x[:, known], self.asked[known])  # (Q, A, K)
        labels = torch.multinomial(weights.flatten(0, 1).clamp_min(1e-300), 1, generator=generator)
        cell = parameter * COMPONENTS + labels.reshape(len(x), -1)  # (Q, A)
        counts = self.recorded.flatten().repeat(len(x), 1).scatter_add(1, cell, torch.ones_like(cell, dtype=x.dtype))
        return self._with_pi(torch._standard_gamma(dirichlet(counts.reshape(self.pi.shape)), generator=generator))

    def _with_pi(self, gamma: Tensor) -> GapPriors:
        """With other weights, given up to their sum."""
        pi = gamma / gamma.sum(-1, keepdim=True)
        known = ~self.asked.isnan()
        if not known.any():
            return replace(self, pi=pi)
        cdf = self.cdf.expand(len(pi), -1, -1, -1).clone()
        cdf[:, known] = torch.einsum("qak,akn->qan", pi[:, self.parameter[known]], self.components)
        return replace(self, cdf=cdf, pi=pi)


def gap_priors(table: Table, codes: Tensor, worlds: int) -> GapPriors:
    """The priors of a table's gaps.  codes: (n, p) with NaN in the gaps"""
    space, gaps = table.space, codes.isnan()
    if table.leaders is not None:  # of those that share a value, the first
        gaps = gaps & (table.leaders == torch.arange(len(table))[:, None])
    parameters = list(space.parameters.values())
    asked = to_codes(table, table.asked)
    rows = gaps.any(-1).nonzero()[:, 0]
    slots = int(gaps.sum(-1).max()) if len(rows) else 0
    shape = (len(rows), slots)
    parameter = torch.zeros(shape, dtype=torch.long)
    used, discrete = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
    nodes = torch.linspace(0, 1, NODES, dtype=torch.float64).repeat(*shape, 1)
    cdf = nodes.clone()
    asked_at = torch.full(shape, torch.nan, dtype=torch.float64)
    stated = {(s.row, s.parameter): s.cell for s in table.stated}
    columns = Columns.of(codes, parameters)
    given = columns.gaps(codes[rows])

    r, j = gaps[rows].nonzero().unbind(-1)
    slot = gaps[rows].cumsum(-1)[r, j] - 1
    parameter[r, slot], used[r, slot] = j, True
    own = gaps[rows][given.gap]
    nodes[r, slot], cdf[r, slot] = given.nodes[own], given.cdf[own]
    asked_at[r, slot] = asked[rows[r], j]
    free = used & asked_at.isnan()  # only the other columns speak of these
    leveled = torch.tensor([one.levels is not None for one in parameters])
    discrete[r, slot] = leveled[j] | given.stepped[own] & free[r, slot]
    for at, row, k in zip(zip(r.tolist(), slot.tolist(), strict=True), rows[r].tolist(), j.tolist(), strict=True):
        if isinstance(parameters[k], Categorical):
            if not asked[row, k].isnan():
                cdf[at] = 0.1 * cdf[at] + 0.9 * (torch.arange(NODES) > 2 * asked[row, k])  # two nodes each
        elif (row, k) in stated:
            levels = ndtr(np.linspace(-5.5, 5.5, NODES))  # fine in the tails
            values = quantiles(stated[row, k], parameters[k], levels)
            places = np.array([parameters[k].to_unit(float(value))[0] for value in values])
            nodes[at], cdf[at] = torch.from_numpy(places), torch.from_numpy(levels)
            discrete[at] = parameters[k].levels is not None
        else:
            continue
        asked_at[at], free[at] = torch.nan, False
    pairs = torch.arange(len(rows))[:, None, None], parameter[:, :, None], parameter[:, None, :]
    joint = (free[:, :, None] & free[:, None, :]) & ~torch.eye(slots, dtype=torch.bool)
    root = torch.linalg.cholesky(
        torch.where(joint, given.correlation[pairs], 0.0) + torch.eye(slots, dtype=torch.float64)
    )
    strays = ~asked_at.isnan()
    nodes[strays] = nodes_around(asked_at[strays])
    priors = GapPriors(
        rows,
        parameter,
        used,
        discrete,
        nodes,
        cdf[None],
        root,
        asked_at,
        distribution(nodes[strays], asked_at[strays]),
        recorded=recorded_counts(codes, asked),
        pi=torch.empty(0),
        blanks=blanks_of(parameters, codes, columns, rows, parameter, free, nodes, cdf, worlds),
    )
    return priors._with_pi(dirichlet(priors.recorded).expand(worlds, -1, -1))
