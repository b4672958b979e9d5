"""The gaps of a row given its other columns: a distribution of its own for each, and a Gaussian copula between them.

R rows, G gaps in them, p parameters, f features: a number is one, a category has one for each of its values
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bomi.posterior.regressions import Regressions
from bomi.posterior.spread import NODES, CategorySpread, NumberSpread, interpolate
from bomi.space import Categorical, Parameter


@dataclass(frozen=True)
class Gaps:
    """The distributions of the gaps of some rows, one row after the other."""

    gap: Tensor  # (R, p) bool: where they are
    nodes: Tensor  # (G, N)
    cdf: Tensor  # (G, N)
    stepped: Tensor  # (G,) bool: some values have a probability of their own
    correlation: Tensor  # (R, p, p) between the normal scores of each row's gaps; the identity elsewhere

    def means(self) -> Tensor:
        """What is expected of each gap.  (G,)"""
        between = self.cdf.diff() * (self.nodes[:, 1:] + self.nodes[:, :-1]) / 2
        ends = self.cdf[:, 0] * self.nodes[:, 0] + (1 - self.cdf[:, -1]) * self.nodes[:, -1]
        return ends + between.sum(-1)

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Draws of all gaps, those of a row jointly.  -> (count, G)"""
        e = torch.randn(count, *self.correlation.shape[:2], 1, generator=generator, dtype=torch.float64)
        z = (torch.linalg.cholesky(self.correlation) @ e).squeeze(-1)[:, self.gap]  # (count, G)
        return interpolate(self.cdf, self.nodes, torch.special.ndtr(z).T.contiguous()).T


@dataclass(frozen=True)
class Columns:
    """How the columns of a table are spread, and what they say of each other."""

    parameters: tuple[Parameter, ...]
    owner: Tensor  # (f,) whose a feature is
    regressions: Regressions
    spreads: tuple[NumberSpread | CategorySpread, ...]

    @classmethod
    def of(cls, codes: Tensor, parameters: Sequence[Parameter]) -> Columns:
        """What the known cells say.  codes: (n, p)"""
        features, owner = _features(codes, parameters)
        regressions = Regressions.of(features, owner)
        expected = regressions.of_known(features)
        spreads: list[NumberSpread | CategorySpread] = []
        for j, parameter in enumerate(parameters):
            known, its = ~codes[:, j].isnan(), owner == j
            x, expectation = codes[known, j], expected[known][:, its]
            if isinstance(parameter, Categorical):
                spreads.append(CategorySpread.of(x, expectation))
            else:  # the levels of a grid are kept by going to the nearest
                steps = parameter.levels is None or parameter.levels == 2
                spreads.append(NumberSpread.of(x, expectation[:, 0], float(regressions.noise[its]), steps=steps))
        return cls(tuple(parameters), owner, regressions, tuple(spreads))

    def expect(self, codes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Mean and variance of each parameter's first feature given the other cells of its row, in units of its center
        and scale, and these.  codes: (R, p) -> (R, p), (R, p), (p,), (p,)"""
        mean, variance, _ = self.regressions.expect(_features(codes, self.parameters)[0])
        first = torch.searchsorted(self.owner, torch.arange(len(self.parameters)))
        return mean[:, first], variance[:, first], self.regressions.center[first], self.regressions.scale[first]

    def expect_known(self, codes: Tensor) -> Tensor:
        """What the other cells of a row make one expect of each recorded number; its column's mean where these say
        nothing, or are not all known.  (n, p) -> (n, p)"""
        regressions, first = self.regressions, torch.searchsorted(self.owner, torch.arange(len(self.parameters)))
        expected = regressions.of_known(_features(codes, self.parameters)[0])[:, first].nan_to_num()
        return regressions.center[first] + regressions.scale[first] * expected

    def one(self, codes: Tensor, j: int) -> tuple[Tensor, Tensor]:
        """The distribution of one parameter of each row given its other cells.  (R, p) -> (R, NODES), (R, NODES)"""
        blanked, its = codes.clone(), self.owner == j
        blanked[:, j] = torch.nan
        mean, variance, _ = self.regressions.expect(_features(blanked, self.parameters)[0])
        return self.spreads[j].given(mean[:, its], variance[:, its].clamp(1e-8, 1))

    def gaps(self, codes: Tensor) -> Gaps:
        """The distributions of all gaps of some rows given their other cells.  codes: (R, p)"""
        mean, variance, covariance = self.regressions.expect(_features(codes, self.parameters)[0])
        row, parameter = codes.isnan().nonzero().unbind(-1)
        nodes = torch.empty(len(row), NODES, dtype=torch.float64)
        cdf, stepped = torch.empty_like(nodes), torch.zeros(len(row), dtype=torch.bool)
        for j, spread in enumerate(self.spreads):
            mine, its = parameter == j, self.owner == j
            if mine.any():
                at = row[mine]
                nodes[mine], cdf[mine] = spread.given(mean[at][:, its], variance[at][:, its].clamp(1e-8, 1))
                stepped[mine] = isinstance(spread, CategorySpread) or len(spread.common) > 0
        numbers = torch.tensor([not isinstance(one, Categorical) for one in self.parameters])
        first = torch.searchsorted(self.owner, torch.arange(len(self.parameters)))
        return Gaps(
            codes.isnan(),
            nodes,
            cdf,
            stepped,
            _correlation(covariance[:, first[:, None], first], codes.isnan() & numbers),
        )


def _features(codes: Tensor, parameters: Sequence[Parameter]) -> tuple[Tensor, Tensor]:
    """Numbers as they are, categories as indicators, and whose each is.  (n, p) -> (n, f), (f,)"""
    parts, owner = [], []
    for j, parameter in enumerate(parameters):
        column = codes[:, j, None]
        if isinstance(parameter, Categorical):
            column = torch.where(column.isnan(), torch.nan, (column == torch.arange(parameter.width)).double())
        parts.append(column)
        owner += [j] * column.shape[1]
    return torch.cat(parts, -1), torch.tensor(owner)


def _correlation(covariance: Tensor, among: Tensor) -> Tensor:
    """Correlations among some, the identity elsewhere.  (R, p, p), (R, p) bool -> (R, p, p)"""
    size = covariance.diagonal(dim1=-2, dim2=-1).clamp_min(1e-12).sqrt()
    both = among[:, :, None] & among[:, None, :]
    correlation = torch.where(both, covariance / size[:, :, None] / size[:, None, :], 0.0)
    correlation.diagonal(dim1=-2, dim2=-1).fill_(1.0)
    return correlation
