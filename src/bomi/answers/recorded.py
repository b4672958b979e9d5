"""How the recorded values of a column lie: their density, their bulk, and the scale on which they are spread evenly.

Densities are made by the bulk of the other rows, with the tails of a t distribution of 4 degrees of freedom: wrong
values do not speak for each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from bomi.posterior.copula import Columns
from bomi.space import Categorical, Parameter, Real

TAILS = 4.0  # degrees of freedom of a recorded value around what is expected
LOG_T = math.lgamma((TAILS + 1) / 2) - math.lgamma(TAILS / 2) - math.log(math.pi * TAILS) / 2  # at its middle
HEAVY = 0.1  # share of a density that is in its tails
BULK = 3.5  # widths: values further off speak for no other
LOPSIDED = 0.35  # a column whose upper tail is longer by this much is looked at on a log scale
FINEST = 0.02  # of the range, at least, that recorded values lie apart from what is expected


@dataclass(frozen=True)
class Density:
    """How the numbers of a column lie around what is expected of each, made by their bulk."""

    apart: Tensor  # (n,), NaN where one is missing
    middle: float
    width: float

    @classmethod
    def of(cls, apart: Tensor) -> Density:
        """The density of numbers, less what is expected of them.  (n,)"""
        middle = float(apart.nanquantile(0.5)) if not apart.isnan().all() else 0.0
        return cls(apart, middle, float(_width((apart - middle).abs().unsqueeze(-1))))

    @cached_property
    def _others(self) -> tuple[Tensor, Tensor]:
        """x_l of the other rows that each row takes for the bulk, infinity for the rest; and m.  (n, n), (n,)"""
        bulk = (self.apart - self.middle).abs() <= BULK * self.width  # NaN is none of it
        others = bulk.expand(len(bulk), -1) & ~torch.eye(len(bulk), dtype=torch.bool)
        return torch.where(others, self.apart, torch.inf), others.sum(-1).clamp_min(1)

    def log_at(self, places: Tensor, rows: Tensor) -> Tensor:
        """The log density at a place for each of some rows, made by all other rows.  (r,), (n,) bool -> (r,)

        (1 - HEAVY) / m sum over the other m of N(x; x_l, h^2) + HEAVY t_4(x),  h = 1.06 width m^(-1/5)
        """
        others, count = (one[rows] for one in self._others)
        h = 1.06 * self.width * count.double() ** -0.2
        near = (places[:, None] - others).div_(h[:, None]).square_().mul_(-0.5).logsumexp(-1)
        near = near - (count * h * math.sqrt(2 * math.pi)).log()
        z = (places - self.middle) / self.width
        tails = LOG_T - math.log(self.width) - (TAILS + 1) / 2 * torch.log1p(z.square() / TAILS)
        found: Tensor = torch.logaddexp(near + math.log(1 - HEAVY), tails + math.log(HEAVY))
        return found


def even_scale(parameter: Parameter, codes: Tensor) -> Parameter:
    """A parameter on the scale on which its column is more even: a log scale where its upper tail is the longer one."""
    if not isinstance(parameter, Real) or parameter.log or codes.isnan().all():
        return parameter
    values = parameter.low + (parameter.high - parameter.low) * codes[~codes.isnan()]
    least = float(values.min())
    if least <= 0 or not _lopsided(values) > max(LOPSIDED, abs(_lopsided(values.log()))):
        return parameter
    return Real(least, parameter.high, log=True)


def _lopsided(values: Tensor) -> float:
    """How much longer the upper tail is than the lower one, from -1 to 1: (q90 + q10 - 2 q50) / (q90 - q10)."""
    low, middle, high = values.quantile(torch.tensor([0.1, 0.5, 0.9], dtype=values.dtype)).tolist()
    return (high + low - 2 * middle) / (high - low) if high > low else 0.0


def in_bulk(codes: Tensor, parameters: Sequence[Parameter]) -> Tensor:
    """Codes without the numbers that lie far from the bulk of their column: these teach nothing.  (n, p) -> (n, p)"""
    numbers = torch.tensor([not isinstance(parameter, Categorical) for parameter in parameters])
    apart = (codes - codes.nanquantile(0.5, 0)).abs()
    return torch.where(numbers & (apart > BULK * _width(apart)), torch.nan, codes)


def _width(apart: Tensor) -> Tensor:
    """The standard deviation that half of the distances, and nine tenths of them, say: what is larger.  (n, p) -> (p,)

    Of a design most distances may be 0, or all the same; a few wrong values have no say.
    """
    half, most = apart.nanquantile(torch.tensor([0.5, 0.9], dtype=apart.dtype), 0)
    return torch.maximum(half / 0.6745, most / 1.6449).nan_to_num().clamp_min(FINEST)


def expected_of(columns: Columns, codes: Tensor, rows: Tensor) -> Tensor:
    """What the other cells of some rows, those far from the bulk aside, make one expect of numbers.

    (n, p), (n,) bool -> (r, p)
    """
    bulk = in_bulk(codes, columns.parameters)[rows]
    expected, far = columns.expect_known(bulk), bulk.isnan() & ~codes[rows].isnan()
    for j in far.any(0).nonzero()[:, 0].tolist():  # what is far tells nothing of itself
        alone = bulk.clone()
        alone[:, j] = columns.regressions.center[torch.searchsorted(columns.owner, torch.tensor(j))]
        expected[:, j] = columns.expect_known(alone)[:, j]
    return expected


def times(parameter: Parameter, codes: Tensor, factor: float) -> tuple[Tensor, float]:
    """The codes of values a factor larger, and the slope of that.  (n,) -> (n,)"""
    assert isinstance(parameter, Real)
    if parameter.log:
        return codes + math.log(factor) / math.log(parameter.high / parameter.low), 1.0
    span = parameter.high - parameter.low
    return (factor * (parameter.low + span * codes) - parameter.low) / span, factor


def on_scale_of(parameter: Parameter, to: Parameter, codes: Tensor) -> Tensor:
    """The codes that the values of one parameter would have if they were values of another.  (n,) -> (n,)"""
    if parameter is to or not isinstance(parameter, Real) or not isinstance(to, Real):
        return codes
    if parameter.log:
        values = parameter.low * (parameter.high / parameter.low) ** codes
    else:
        values = parameter.low + (parameter.high - parameter.low) * codes
    if to.log:
        return (values / to.low).clamp_min(1e-300).log() / math.log(to.high / to.low)
    return (values - to.low) / (to.high - to.low)
