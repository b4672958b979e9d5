"""The hyper-parameters of a batch of Gaussian processes: evidence, its gradient, and the search for its maximum.

The notation is that of `gaussian_process`. The gradient of the marginal likelihood goes through the kernel alone, since
dL/dK = (K^-1 - alpha alpha^T) / 2 is known in closed form.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from bomi.model.gaussian_process import GaussianProcess, misfit, robust_cholesky, with_hyper
from bomi.model.kernels import Kernel, SquaredExponential
from bomi.model.lbfgs import minimize

NOISE_BOUNDS = (1e-6, 1.0)
STARTING_NOISES = (1e-4, 1e-2, 0.2)  # shares of the kernel's scale
NOISE_LEVELS = 8  # between the bounds, at which a draw may begin
LEAPFROGS = 8  # steps of a move of Hamiltonian Monte Carlo
STEP_SIZES = (0.03, 0.3)  # of them, in log hyper-parameters
ADAM_STEPS, ADAM_RATE, ADAM_LEAST_NOISE = 50, 0.1, 1e-4
BEHIND = 30.0  # in log evidence: a start so far behind the best one is not tried


def fit(
    inputs: Tensor, targets: Tensor, *, kernel: Kernel | None = None, errors: Tensor | None = None
) -> GaussianProcess:
    """Hyper-parameters of every world by maximum likelihood (with the kernel's prior, where it has one).

    inputs: (Q, n, d), targets: (n,), errors: (n,)
    """
    kernel = kernel or SquaredExponential()
    hyper = search(kernel, inputs, targets, most=60, keep=4, errors=errors)
    return with_hyper(inputs, targets, hyper, kernel=kernel, errors=errors)


def fit_by_adam(
    inputs: Tensor, targets: Tensor, *, kernel: Kernel | None = None, errors: Tensor | None = None
) -> GaussianProcess:
    """Hyper-parameters after 50 steps of Adam on the mean evidence, as in the program published with the paper.

    A variance or a length scale is softplus(rho) = log(1 + e^rho), the noise variance softplus(rho) + 1e-4, and every
    rho starts at 0: a length scale of 0.69. There are no limits, and the steps end short of the maximum.
    """
    kernel = kernel or SquaredExponential()
    pairs = Pairs(kernel, inputs, errors)
    rho = torch.zeros(len(inputs), len(kernel.bounds()) + 1, dtype=torch.float64, requires_grad=True)
    least = torch.zeros(rho.shape[-1], dtype=torch.float64)
    least[-1] = ADAM_LEAST_NOISE
    optimizer = torch.optim.Adam([rho], lr=ADAM_RATE)
    for _ in range(ADAM_STEPS):
        hyper = (torch.nn.functional.softplus(rho) + least).log()
        with torch.no_grad():
            _, gradient = _on_cpu(negative_log_evidence(hyper, pairs, targets))
        optimizer.zero_grad()
        hyper.backward(gradient / len(targets))
        optimizer.step()
    found = (torch.nn.functional.softplus(rho.detach()) + least).log()
    return with_hyper(inputs, targets, found, kernel=kernel, errors=errors)


FITS = {"likelihood": fit, "adam": fit_by_adam}
"""Ways to find hyper-parameters, by name."""


def search(
    kernel: Kernel, inputs: Tensor, targets: Tensor, *, most: int, keep: int = 3, errors: Tensor | None = None
) -> Tensor:
    """Hyper-parameters from nothing: a coarse search, then L-BFGS from the few best in every world.  (Q, k + 1)"""
    pairs = Pairs(kernel, inputs, errors)
    starts, worlds = _starts(pairs, targets, keep=keep)
    return maximize_evidence(pairs, targets, starts, most=most, worlds=worlds)


def draw_hyper(pairs: Pairs, targets: Tensor, hyper: Tensor, generator: torch.Generator, *, count: int = 1) -> Tensor:
    """Hyper-parameters after `count` moves of Hamiltonian Monte Carlo in each world.  (Q, k + 1)

    A move is LEAPFROGS steps of one random size, and is accepted or refused as a whole; a hyper-parameter bounces back
    from the ends of its range (Neal 2011).
    """
    low, high = _box(pairs.kernel)
    here = hyper.cpu().clamp(low, high)
    value, slope = _on_cpu(negative_log_evidence(here, pairs, targets))
    smallest, largest = map(math.log, STEP_SIZES)
    for _ in range(count):
        place, chance = torch.rand(2, len(here), 1, generator=generator, dtype=torch.float64)
        size = torch.exp(smallest + place * (largest - smallest))
        start = torch.randn(here.shape, generator=generator, dtype=torch.float64)
        there, momentum, loss, steep = here, start, value, slope
        for _ in range(LEAPFROGS):
            momentum = momentum - size / 2 * steep
            there = there + size * momentum
            outside = (there < low) | (there > high)
            there = torch.where(outside, 2 * there.clamp(low, high) - there, there).clamp(low, high)
            momentum = torch.where(outside, -momentum, momentum)
            loss, steep = _on_cpu(negative_log_evidence(there, pairs, targets))
            momentum = momentum - size / 2 * steep
        energy = loss - value + 0.5 * (momentum.square() - start.square()).sum(-1)
        moved = chance[:, 0].log() < -energy  # not where it is NaN
        here, slope = torch.where(moved[:, None], there, here), torch.where(moved[:, None], steep, slope)
        value = torch.where(moved, loss, value)
    return here


def _on_cpu(parts: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return parts[0].cpu(), parts[1].cpu()


def draw_starts(pairs: Pairs, targets: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Hyper-parameters to begin with, from the posterior of the noise.  (count, k + 1)

    At each of several levels of the noise, L-BFGS finds the best other hyper-parameters; a draw picks a level by the
    posterior density there. So "noise" and "short lengths" begin side by side, each as often as it explains the
    outcomes.  pairs: of one world
    """
    starts = pairs.kernel.starts()
    least, most = map(math.log, NOISE_BOUNDS)
    levels = torch.linspace(least, most, NOISE_LEVELS, dtype=torch.float64)
    every = torch.cat([starts.repeat(NOISE_LEVELS, 1), levels.repeat_interleave(len(starts))[:, None]], -1)
    one = torch.zeros(len(starts), dtype=torch.long)
    half = pairs.kernel.evaluate(starts.to(targets.device), pairs.of(one))  # (r, T), the same at every level
    value = torch.stack([log_evidence(some, pairs, targets, one, half) for some in every.split(len(starts))])
    best = every.unflatten(0, value.shape)[torch.arange(NOISE_LEVELS), value.argmax(-1)]
    found, loss = maximize(pairs, targets, best, torch.zeros(NOISE_LEVELS, dtype=torch.long), most=15, hold_noise=True)
    return found[torch.multinomial((loss.min() - loss).exp(), count, replacement=True, generator=generator)]


class Pairs:
    """The pairs of rows of each world, i >= j: half of the matrix, prepared once for many hyper-parameters.

    errors: (n,) known variances of the targets.
    """

    def __init__(self, kernel: Kernel, inputs: Tensor, errors: Tensor | None = None) -> None:
        self.kernel = kernel
        self.errors = inputs.new_zeros(1) if errors is None else errors
        n = inputs.shape[-2]
        self.i, self.j = torch.tril_indices(n, n, device=inputs.device)
        columns = inputs.mT  # side by side, as distances are
        self.prepared = kernel.prepare(columns[..., self.i].mT, columns[..., self.j].mT)
        self.twice = 2.0 - (self.i == self.j).to(inputs)
        self.place = self.i.new_empty(n, n)  # of each element of the matrix among the pairs
        self.place[self.i, self.j] = self.place[self.j, self.i] = torch.arange(len(self.i), device=inputs.device)

    def __len__(self) -> int:
        return len(self.prepared[0])

    def of(self, worlds: Tensor) -> tuple[Tensor, ...]:
        """What was prepared, for some of the worlds."""
        if len(worlds) == len(self) and bool((worlds == torch.arange(len(self))).all()):
            return self.prepared
        return tuple(part[worlds] for part in self.prepared)

    def select(self, worlds: Tensor) -> Pairs:
        """Those of some of the worlds, each as often as it is named."""
        some = copy.copy(self)
        some.prepared = self.of(worlds)
        return some

    def matrix(self, half: Tensor) -> Tensor:
        """The whole symmetric matrix, from its lower half.  (Q, T) -> (Q, n, n)"""
        return half[:, self.place]


def _box(kernel: Kernel) -> tuple[Tensor, Tensor]:
    """The least and the largest log hyper-parameters, that of the noise last.  (k + 1,), (k + 1,)"""
    bounds = [*kernel.bounds(), tuple(map(math.log, NOISE_BOUNDS))]
    low, high = torch.tensor(bounds, dtype=torch.float64).unbind(-1)
    return low, high


def maximize_evidence(
    pairs: Pairs, targets: Tensor, starts: Tensor, *, most: int, worlds: Tensor | None = None
) -> Tensor:
    """The best hyper-parameters that L-BFGS reaches in each world.

    starts: (r, k + 1), worlds: (r,) of each start, by default one in each -> (Q, k + 1), by world
    """
    where = torch.arange(len(starts)) if worlds is None else worlds
    found, value = maximize(pairs, targets, starts, where, most=most)
    best = [torch.where(where == world, value, torch.inf).argmin() for world in where.unique()]
    return found[torch.stack(best)]


def maximize(
    pairs: Pairs, targets: Tensor, starts: Tensor, worlds: Tensor, *, most: int, hold_noise: bool = False
) -> tuple[Tensor, Tensor]:
    """What L-BFGS reaches from each start, and the negative log evidence there.  (r, k + 1), (r,)"""
    low, high = _box(pairs.kernel)
    own = pairs.select(worlds)

    def loss(some: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        value, gradient = negative_log_evidence(some, own, targets, which)
        if hold_noise:
            gradient[:, -1] = 0.0
        return value, gradient

    return minimize(loss, starts.cpu(), low, high, most=most, tolerance=1e-6)


def negative_log_evidence(
    parameters: Tensor, pairs: Pairs, targets: Tensor, worlds: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """-log p(y | theta) - log p(theta) and its gradient, in each world.  parameters: (Q, k + 1) -> (Q,), (Q, k + 1)

    targets: (n,), or of each world its own  (Q, n)

    -log p(y | theta) = y^T K^-1 y / 2 + log|K| / 2 + n log(2 pi) / 2
    """
    worlds = torch.arange(len(pairs)) if worlds is None else worlds
    parameters = parameters.to(targets.device)
    half, pullback = pairs.kernel.with_pullback(parameters[:, :-1], pairs.of(worlds))
    value, L, alpha = _factorized(half, parameters, pairs, targets if targets.ndim == 1 else targets[worlds])
    prior, by_prior = pairs.kernel.log_prior(parameters)
    weights = torch.baddbmm(torch.cholesky_inverse(L), alpha, alpha.mT, beta=0.5, alpha=-0.5)
    by_theta = pullback(weights[:, pairs.i, pairs.j] * pairs.twice)
    by_noise = parameters[:, -1].exp() * weights.diagonal(dim1=-2, dim2=-1).sum(-1)
    return value - prior, torch.cat([by_theta, by_noise[:, None]], -1) - by_prior


def log_evidence(
    parameters: Tensor, pairs: Pairs, targets: Tensor, worlds: Tensor, half: Tensor | None = None
) -> Tensor:
    """log p(y | theta) + log p(theta) alone, at a third of the cost; half of the covariances may be known already.

    (w, k + 1), (w,), (w, T) -> (w,)
    """
    parameters = parameters.to(targets.device)
    if half is None:
        half = pairs.kernel.evaluate(parameters[:, :-1], pairs.of(worlds))
    return (pairs.kernel.log_prior(parameters)[0] - _factorized(half, parameters, pairs, targets)[0]).cpu()


def _factorized(half: Tensor, parameters: Tensor, pairs: Pairs, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """-log p(y | theta), the Cholesky factor and K^-1 y, from half of the covariances.  (Q,), (Q, n, n), (Q, n, 1)"""
    K = pairs.matrix(half)
    n = K.shape[-1]
    K.diagonal(dim1=-2, dim2=-1).add_(parameters[:, -1:].exp() + pairs.errors)
    L = robust_cholesky(K)
    y = targets.expand(len(K), n).unsqueeze(-1)
    alpha = torch.cholesky_solve(y, L)
    return misfit(y.squeeze(-1), alpha.squeeze(-1), L), L, alpha


def _starts(pairs: Pairs, targets: Tensor, *, keep: int) -> tuple[Tensor, Tensor]:
    """Points of the grid to start from: at most `keep` in a world, and none that is hopelessly behind its best.

    The best ones of every noise level come first: what is called noise and what is explained are different modes, and
    L-BFGS takes the one further than the other.
    -> (r, k + 1), (r,) the world of each
    """
    value, points = (part.squeeze(2) for part in grid(pairs, targets[:, None]))  # (g, Q), (g, Q, k + 1)
    hopeful = value > value.amax(0) - BEHIND
    levels = value.unflatten(0, (-1, len(STARTING_NOISES)))
    rank = levels.argsort(0, descending=True).argsort(0).flatten(0, 1)  # within its noise level
    order = rank - torch.sigmoid(value - value.amax(0))
    first = torch.where(hopeful, order, torch.inf).argsort(0)[:keep]
    kept, place = hopeful.gather(0, first).nonzero().unbind(-1)
    return points[first[kept, place], place], place


def grid(
    pairs: Pairs, targets: Tensor, *, noises: Sequence[float] = STARTING_NOISES, starts: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """log p(y, theta) at the kernel's starting points, or others, crossed with noise levels, each at the scale that y
    likes best.

    For K = s^2 C that is s^2 = y^T C^-1 y / n; known errors are scaled along. The Cholesky factors serve several
    columns y.  targets: (n, c) -> (g, Q, c), (g, Q, c, k + 1)
    """
    n, count = len(targets), len(pairs)
    shares = targets.new_tensor(noises)[:, None]  # (N, 1)
    values, points = [], []
    for start in (pairs.kernel.starts() if starts is None else starts).to(targets.device):
        C = pairs.matrix(pairs.kernel.evaluate(start.expand(count, -1), pairs.prepared))
        L = robust_cholesky(C + torch.diag_embed((shares + pairs.errors).expand(-1, n))[:, None])  # (N, Q, n, n)
        white = torch.linalg.solve_triangular(L, targets.expand(*L.shape[:2], -1, -1), upper=False)
        scale = (white.square().sum(-2) / n).clamp_min(1e-10).log()  # (N, Q, c)
        rest = start[1:].expand(*scale.shape, -1)
        hyper = torch.cat([scale[..., None], rest, (scale + shares[:, None].log())[..., None]], -1)
        prior = pairs.kernel.log_prior(hyper.flatten(0, -2))[0].reshape(scale.shape)
        determinant = L.diagonal(dim1=-2, dim2=-1).log().sum(-1)[..., None]
        values.append(prior - determinant - 0.5 * n * (scale + 1 + math.log(2 * math.pi)))
        points.append(hyper)
    return torch.cat(values).cpu(), torch.cat(points).cpu()
