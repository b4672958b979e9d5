"""Bayesian probabilistic matrix factorization (BPMF): missing cells from what the rest of the table says.

R. Salakhutdinov and A. Mnih, "Bayesian probabilistic matrix factorization using Markov chain Monte
Carlo", ICML 2008, with the settings of Luong et al., "Bayesian Optimization with Missing Inputs",
ECML-PKDD 2020.

Notation. Every tensor may carry leading batch dimensions `...`: chains side by side, each on its own.

    R          (..., N, J)  the table, J = M+1: M inputs and the outcome, all scaled to [0, 1]
    observed   (..., N, J)  True where R_ij was seen; R may hold anything, NaN too, where it was not
    U          (..., N, K)  one factor U_i per row of the table
    V          (..., J, K)  one factor V_j per column
    Z          (..., n, K)  either of them: U with n = N, or V with n = J
    mu, Lambda (..., K), (..., K, K)  mean and precision from which the factors were drawn
    xi, alpha  noise variance and precision of a cell, alpha = 1/xi

Model:

    R_ij ~ N(U_i · V_j, xi)
    U_i  ~ N(mu_U, Lambda_U^-1),             V_j ~ N(mu_V, Lambda_V^-1)
    mu | Lambda ~ N(0, (beta_0 Lambda)^-1),  Lambda ~ Wishart(I, nu_0),  for U and for V
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor

from bomi.errors import MethodError, TableError, check_choice
from bomi.impute.completed import Completed
from bomi.impute.stated import draw_stated
from bomi.impute.table import Table

LEAST_NOISE = 1e-9  # of the variance: with less, precision matrices cannot be factorized


@dataclass(frozen=True, slots=True)
class Prior:
    """The fixed numbers of the model; W_0 = I and mu_0 = 0 are part of its formulas."""

    rank: int = 15
    beta_0: float = 2.0
    nu_0: float | None = None
    noise: float = 0.01
    scatter: str = "centred"

    def __post_init__(self) -> None:
        if not isinstance(self.rank, int) or self.rank < 1:
            raise MethodError(f"the rank of a factorization must be a whole number from 1, but got {self.rank}")
        if not (self.beta_0 > 0 and self.noise >= LEAST_NOISE):
            raise MethodError(
                f"beta_0 must be above 0 and the noise variance at least {LEAST_NOISE:g}, "
                f"but got {self.beta_0:g} and {self.noise:g}"
            )
        if self.freedom <= self.rank - 1:
            raise MethodError(f"nu_0 must be above rank - 1 = {self.rank - 1}, but got {self.freedom:g}")
        check_choice("scatter", self.scatter, ("centred", "raw"))

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the Wishart: nu_0, and the rank where none are given."""
        return self.rank if self.nu_0 is None else self.nu_0


@dataclass(frozen=True, slots=True)
class Hyper:
    """Mean and precision of a set of factors."""

    mu: Tensor  # (..., K)
    Lambda: Tensor  # (..., K, K)


@dataclass(frozen=True, slots=True)
class State:
    """One point of the Markov chain."""

    U: Tensor  # (..., N, K)
    V: Tensor  # (..., J, K)
    row_hyper: Hyper
    column_hyper: Hyper


@dataclass(frozen=True, slots=True)
class NormalWishart:
    """The law mu | Lambda ~ N(mean, (beta Lambda)^-1), Lambda ~ Wishart(W, nu)."""

    mean: Tensor  # (..., K)
    beta: float
    W_inverse: Tensor  # (..., K, K)
    nu: float

    def draw(self, generator: Generator) -> Hyper:
        """One draw, by the decomposition of Bartlett (1933).

        A is lower triangular, A_kk^2 ~ chi2(nu - k) for k = 0..K-1 and A_kl ~ N(0, 1) below. Then, with
        W^-1 = L L^T, Lambda = (L^-T A) (L^-T A)^T, whose inverse has the root L A^-T: no other
        factorization is needed for mu.
        """
        k = torch.arange(self.mean.shape[-1], dtype=torch.float64)
        # chi2(n) = 2 Gamma(n/2); torch.distributions draws it too, but from the global generator only.
        half = ((self.nu - k) / 2).expand(self.mean.shape).contiguous()
        diagonal = (2 * torch._standard_gamma(half, generator=generator)).sqrt()
        A = normal(self.W_inverse, generator).tril(-1) + diagonal.diag_embed()
        L = torch.linalg.cholesky(self.W_inverse)
        root = torch.linalg.solve_triangular(L.mT, A, upper=True)
        z = normal(self.mean, generator).unsqueeze(-1) / math.sqrt(self.beta)
        mu = self.mean + (L @ torch.linalg.solve_triangular(A.mT, z, upper=True)).squeeze(-1)
        return Hyper(mu, root @ root.mT)


def hyper_posterior(Z: Tensor, prior: Prior, rows: int) -> NormalWishart:
    """What n factors Z (..., n, K), of mean zbar and covariance S, say of the mean and precision behind them.

    W*^-1 = I + n S + n beta_0/(n + beta_0) zbar zbar^T,  nu* = nu_0 + n,
    beta* = beta_0 + n,  mu* = n zbar/(beta_0 + n).  n is N for U and J = M+1 for V.

    With a raw scatter, as in the program published with the paper, n is the number of rows of the table for both, zbar
    is sum_i Z_i / n, and n S is sum_i Z_i Z_i^T, about 0.
    """
    raw = prior.scatter == "raw"
    n, beta_0 = rows if raw else Z.shape[-2], prior.beta_0
    zbar = Z.sum(-2, keepdim=True) / n
    nS = Z.mT @ Z if raw else (Z - zbar).mT @ (Z - zbar)
    W_inverse = torch.eye(prior.rank, dtype=Z.dtype) + nS + n * beta_0 / (n + beta_0) * (zbar.mT @ zbar)
    return NormalWishart(n / (beta_0 + n) * zbar.squeeze(-2), beta_0 + n, W_inverse, prior.freedom + n)


def draw_factors(
    other: Tensor, hyper: Hyper, R: Tensor, observed: Tensor, prior: Prior, generator: Generator | None
) -> Tensor:
    """One factor for each row of R, given those of the columns: (..., J, K) -> (..., N, K). Without chance, its mean.

    U_i ~ N(m_i, P_i^-1),  P_i = Lambda + alpha sum_{j observed} V_j V_j^T,
    m_i = P_i^-1 (Lambda mu + alpha sum_{j observed} V_j R_ij).  Transpose R and observed to draw V given U.
    """
    alpha = 1 / prior.noise
    # All the sums over j at once: a row's mask times the flattened outer products of the columns. They make
    # the largest tensor here, so Lambda is added in place.
    outer = (other.unsqueeze(-1) * other.unsqueeze(-2)).flatten(-2)  # (..., J, K*K)
    seen = alpha * observed.to(other.dtype) @ outer  # (..., N, K*K)
    P = seen.view(*seen.shape[:-1], prior.rank, prior.rank).add_(hyper.Lambda.unsqueeze(-3))
    pull = alpha * R.where(observed, 0.0) @ other + (hyper.Lambda @ hyper.mu.unsqueeze(-1)).mT  # (..., N, K)
    # With P = L L^T: L^-T (L^-1 pull + z) has the mean P^-1 pull and the covariance P^-1.
    L = torch.linalg.cholesky(P)
    centre: Tensor = torch.linalg.solve_triangular(L, pull.unsqueeze(-1), upper=False)
    if generator is not None:
        centre = centre + normal(centre, generator)
    draw: Tensor = torch.linalg.solve_triangular(L.mT, centre, upper=True)
    return draw.squeeze(-1)


def init(R: Tensor, observed: Tensor, prior: Prior, generator: Generator) -> State:
    """A place to start: factors of the scale the prior expects, E[Lambda] = nu_0 I."""
    *batch, N, J = observed.shape
    K = prior.rank
    scale = 1 / math.sqrt(prior.freedom)
    U, V = (scale * normal(R.new_empty(*batch, n, K), generator) for n in (N, J))
    hyper = Hyper(R.new_zeros(*batch, K), (prior.freedom * torch.eye(K, dtype=R.dtype)).expand(*batch, K, K))
    return State(U, V, hyper, hyper)


def step(state: State, R: Tensor, observed: Tensor, prior: Prior, generator: Generator) -> State:
    """One Gibbs sweep: each block of the state from its law given all the others and the table."""
    rows = R.shape[-2]
    row_hyper = hyper_posterior(state.U, prior, rows).draw(generator)
    column_hyper = hyper_posterior(state.V, prior, rows).draw(generator)
    return redraw(State(state.U, state.V, row_hyper, column_hyper), R, observed, prior, generator)


def redraw(state: State, R: Tensor, observed: Tensor, prior: Prior, generator: Generator) -> State:
    """The factors of the rows and then of the columns, each from their law given the others, with the same hyper."""
    U = draw_factors(state.V, state.row_hyper, R, observed, prior, generator)
    V = draw_factors(U, state.column_hyper, R.mT, observed.mT, prior, generator)
    return State(U, V, state.row_hyper, state.column_hyper)


def draw_tables(R: Tensor, *, tables: int, prior: Prior, sweeps: int, generator: Generator) -> Tensor:
    """Completed copies (tables, N, J) of a table R (N, J) with NaN for gaps, each from a chain of its own.

    A missing cell is drawn from N(U_i · V_j, xi) and clipped to [0, 1]; an observed one keeps its value.

    >>> R = torch.tensor([[0.1, 0.2], [0.5, float("nan")]])
    >>> draw_tables(R, tables=5, prior=Prior(rank=15), sweeps=40, generator=Generator().manual_seed(0)).shape
    torch.Size([5, 2, 2])
    """
    state = run_chains(R, chains=tables, prior=prior, sweeps=sweeps, generator=generator)
    mean = state.U @ state.V.mT
    guess = mean + math.sqrt(prior.noise) * normal(mean, generator)
    R = R.to(torch.float64).expand(tables, *R.shape)
    return R.where(~R.isnan(), guess.clamp(0, 1))


def draw_products(R: Tensor, *, tables: int, prior: Prior, sweeps: int, generator: Generator) -> Tensor:
    """Like `draw_tables` in the program published with the paper: all tables go on from one chain, without noise.

    After the last sweep the factors are drawn anew for each table, given those of that sweep; a missing cell is
    U_i · V_j itself, clipped to [0, 1].
    """
    last = run_chains(R, chains=1, prior=prior, sweeps=sweeps, generator=generator)
    R = R.to(torch.float64).expand(tables, *R.shape)
    U, V = (factors.expand(tables, -1, -1) for factors in (last.U, last.V))
    state = redraw(State(U, V, last.row_hyper, last.column_hyper), R, ~R.isnan(), prior, generator)
    return R.where(~R.isnan(), (state.U @ state.V.mT).clamp(0, 1))


def average_product(R: Tensor, *, prior: Prior, sweeps: int, generator: Generator) -> Tensor:
    """The mean of U V, clipped to [0, 1], over all sweeps but the first; recorded cells are replaced too.  (1, N, J)

    The program published with the paper does this for what the paper calls Imputation-BPMF.
    """
    table = R.to(torch.float64)[None]
    observed = ~table.isnan()
    state, total = init(table, observed, prior, generator), torch.zeros_like(table)
    for sweep in range(sweeps):
        state = step(state, table, observed, prior, generator)
        if sweep or sweeps == 1:
            total = total + (state.U @ state.V.mT).clamp(0, 1)
    return total / max(sweeps - 1, 1)


def run_chains(R: Tensor, *, chains: int, prior: Prior, sweeps: int, generator: Generator) -> State:
    """Where chains are after so many sweeps over a table R (N, J) with NaN for gaps."""
    if R.ndim != 2 or 0 in R.shape:
        raise TableError(f"a table needs at least one row and one column, but got the shape {tuple(R.shape)}")
    R = R.to(torch.float64).expand(chains, *R.shape)
    observed = ~R.isnan()
    state = init(R, observed, prior, generator)
    for _ in range(sweeps):
        state = step(state, R, observed, prior, generator)
    return state


@dataclass(frozen=True)
class MatrixFactorization:
    """Q worlds whose gaps are drawn by BPMF from the inputs and the outcomes scaled to [0, 1] (BOMI).

    A cell with a stated uncertainty is drawn from what was stated instead.

    Two settings are those in which the program published with the paper differs from its text. `scatter="raw"`: see
    `hyper_posterior`. `draws`: each world is a "table" from a chain of its own, or a "product" U V of the last factors
    of one chain without a cell's noise, as that program's BOMI draws them, or there is one world of the "average"
    product in the place of all cells, recorded ones and outcomes included, as in its Imputation-BPMF.
    """

    worlds: int = 5
    rank: int = 15
    noise: float = 0.01
    sweeps: int = 40
    scatter: str = "centred"
    draws: str = "table"

    def __post_init__(self) -> None:
        for name, count in (("worlds", self.worlds), ("sweeps", self.sweeps)):
            if not isinstance(count, int) or count < 1:
                raise MethodError(f"`{name}` must be a whole number from 1, but got {count!r}")
        check_choice("draws", self.draws, ("table", "product", "average"))
        self._prior()  # checks the others

    def _prior(self) -> Prior:
        return Prior(rank=self.rank, noise=self.noise, scatter=self.scatter)

    yields: ClassVar[type[Completed]] = Completed

    def __call__(self, table: Table, rng: Generator) -> Completed:
        """Q draws; a table without gaps is one world as it stands."""
        if not table.gaps.any():
            return Completed(table.inputs[None], table.targets, errors=table.errors)
        R, d = torch.cat([table.inputs, table.outcomes.mT], -1), table.inputs.shape[-1]
        how: dict[str, Any] = {"prior": self._prior(), "sweeps": self.sweeps, "generator": rng}
        if self.draws == "average":
            inputs, targets = average_product(R, **how).split([d, R.shape[-1] - d], -1)
            return Completed(inputs, targets[0].mT.reshape(table.targets.shape), errors=table.errors)
        make = draw_products if self.draws == "product" else draw_tables
        draws = make(R, tables=self.worlds, **how)[..., :d]
        stated = draw_stated(table, self.worlds, rng)
        return Completed(table.fill(torch.where(stated.isnan(), draws, stated)), table.targets, errors=table.errors)


def normal(like: Tensor, generator: Generator) -> Tensor:
    """Standard normal numbers in the shape of another tensor."""
    return torch.randn(like.shape, dtype=like.dtype, generator=generator)
