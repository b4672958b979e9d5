import math

import pytest
import torch

from bomi.model.gaussian_process import GaussianProcess
from bomi.model.kernels import ExpectedSquaredExponential, SquaredExponential, cross
from bomi.model.uncertain_inputs import DistributionProcess, fit_uncertain

EXPECTED, PLAIN = ExpectedSquaredExponential(), SquaredExponential()


def rand(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def theta_of(scale, length):
    return torch.tensor([[scale, length]], dtype=torch.float64).log()


def gram(theta, means, variances):
    x = torch.cat([means, variances], -1)[None]
    return cross(EXPECTED, theta, x, x)[0]


@pytest.mark.parametrize("seed", range(6))
def test_the_expected_kernel_is_the_average_of_the_plain_one(seed):
    # Three pairs in each case: 18 comparisons, all within 3 standard errors with these seeds.
    d, draws = 1 + seed % 4, 200_000
    theta = theta_of(0.5 + seed, 0.15 + 0.2 * seed)
    means, variances = rand(4, d, seed=seed), 0.1 * rand(4, d, seed=100 + seed)
    variances[3] = 0  # one of the points is known exactly
    exact = gram(theta, means, variances)
    generator = torch.Generator().manual_seed(1000 + seed)
    for i, j in [(0, 1), (0, 3), (2, 1)]:
        a, b = (
            means[k] + variances[k].sqrt() * torch.randn(draws, d, generator=generator, dtype=torch.float64)
            for k in (i, j)
        )
        values = PLAIN.evaluate(theta, ((a - b).square().sum(-1)[None],)).flatten()
        standard_error = values.std() / math.sqrt(draws)
        assert abs(values.mean() - exact[i, j]) < 3 * standard_error


@pytest.mark.parametrize("seed", range(6))
def test_the_variance_of_an_uncertain_point_is_the_average_over_two_draws_of_it(seed):
    d, draws = 1 + seed % 3, 200_000
    theta = theta_of(2.0, 0.3)
    mean, variance = rand(1, d, seed=seed), 0.05 * rand(1, d, seed=50 + seed)
    generator = torch.Generator().manual_seed(seed)
    a, b = mean + variance.sqrt() * torch.randn(2, draws, d, generator=generator, dtype=torch.float64)
    values = PLAIN.evaluate(theta, ((a - b).square().sum(-1)[None],)).flatten()
    diagonal = EXPECTED.diagonal(theta, torch.cat([mean, variance], -1)[None]).item()
    assert abs(values.mean() - diagonal) < 3 * values.std() / math.sqrt(draws)
    assert gram(theta, mean, variance).item() == pytest.approx(diagonal, rel=1e-12)
    assert diagonal < 2.0


@pytest.mark.parametrize("seed", range(10))
def test_gram_matrices_are_positive_definite(seed):
    n, d = 12, 1 + seed % 4
    theta = theta_of(1.0, (0.1, 0.3, 1.0)[seed % 3])
    means, variances = rand(n, d, seed=seed), 0.1 * rand(n, d, seed=seed + 30)
    variances[::3] = 0
    # Off the diagonal the average is over two independent points. On it too: so the matrix stays an average of
    # inner products of feature means, which is positive.
    assert torch.linalg.eigvalsh(gram(theta, means, variances)).min() >= -1e-10


def test_distinct_points_give_a_strictly_positive_matrix():
    means = torch.linspace(0, 1, 6, dtype=torch.float64)[:, None]
    variances = torch.tensor([0, 0.01, 0.02, 0, 0.01, 0.05], dtype=torch.float64)[:, None]
    assert torch.linalg.eigvalsh(gram(theta_of(1.0, 0.2), means, variances)).min() > 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_without_variances_it_is_the_plain_kernel(seed):
    theta = theta_of(1.3, 0.4)
    means = rand(8, 3, seed=seed)
    plain = cross(PLAIN, theta, means[None], means[None])[0]
    torch.testing.assert_close(gram(theta, means, torch.zeros_like(means)), plain, rtol=1e-14, atol=0)
    x = torch.cat([means, torch.zeros_like(means)], -1)[None]
    torch.testing.assert_close(EXPECTED.diagonal(theta, x), PLAIN.diagonal(theta, means[None]), rtol=1e-14, atol=0)


def test_the_diagonal_is_below_the_scale_only_where_a_point_is_uncertain():
    means, variances = rand(3, 2), torch.tensor([[0, 0], [0.01, 0], [0.1, 0.1]], dtype=torch.float64)
    known, unsure, unsurer = gram(theta_of(2.0, 0.3), means, variances).diagonal()
    assert known == pytest.approx(2.0, rel=1e-12)
    assert unsurer < unsure < known


def test_the_model_without_any_variance_is_the_plain_one():
    X, y = rand(1, 15, 2), rand(15, seed=1)
    nothing = torch.zeros(2, dtype=torch.float64)
    model = fit_uncertain(X, torch.zeros_like(X), y, nothing)
    plain = GaussianProcess(X, y, model.theta, model.noise, kernel=PLAIN)
    for ours, theirs in zip(model.moments(rand(9, 2, seed=2)), plain.moments(rand(9, 2, seed=2)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-10)


def test_it_plans_with_the_variance_of_a_point_asked_for():
    X, y, points = rand(1, 10, 2), rand(10, seed=1), rand(5, 2, seed=2)
    inputs = torch.cat([X, 0.02 * rand(1, 10, 2, seed=3)], -1)
    theta, noise = theta_of(1.0, 0.4), torch.tensor([-5.0], dtype=torch.float64)
    planning = torch.tensor([0.03, 0.0], dtype=torch.float64)
    model = DistributionProcess(inputs, y, theta, noise, kernel=EXPECTED, planning=planning)
    mean, variance = model.moments(points)
    # by hand, with every point a distribution N(point, planning)
    spread = torch.cat([points, planning.expand(5, 2)], -1)[None]
    K = cross(EXPECTED, theta, inputs, inputs)[0] + math.exp(-5) * torch.eye(10).double()
    k = cross(EXPECTED, theta, inputs, spread)[0]
    torch.testing.assert_close(mean[0], k.mT @ torch.linalg.solve(K, y), rtol=1e-8, atol=1e-10)
    prior = 1.0 / math.sqrt(1 + 2 * 0.03 / 0.4**2)
    by_hand = prior - (k * torch.linalg.solve(K, k)).sum(0)
    torch.testing.assert_close(variance[0], by_hand, rtol=1e-8, atol=1e-10)
    exact = DistributionProcess(inputs, y, theta, noise, kernel=EXPECTED, planning=torch.zeros(2).double())
    assert (exact.moments(points)[0] - mean).abs().max() > 1e-4


def test_conditioned_keeps_the_mean_and_the_planning():
    X, y, points = rand(1, 10, 2), rand(10, seed=1), rand(5, 2, seed=2)
    model = fit_uncertain(X, 0.01 * rand(1, 10, 2, seed=3), y, torch.tensor([0.01, 0.02]).double())
    conditioned = model.condition_on(points)
    assert isinstance(conditioned, DistributionProcess)
    torch.testing.assert_close(conditioned.moments(points)[0], model.moments(points)[0], rtol=0, atol=1e-6)
    assert (conditioned.moments(points)[1] <= model.moments(points)[1]).all()
