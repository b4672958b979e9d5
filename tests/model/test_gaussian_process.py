import math

import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from bomi.model import gaussian_process
from bomi.model.additive import AdditiveMatern
from bomi.model.fitting import (
    NOISE_BOUNDS,
    NOISE_LEVELS,
    Pairs,
    draw_hyper,
    draw_starts,
    fit,
    grid,
    log_evidence,
    maximize_evidence,
    negative_log_evidence,
    search,
)
from bomi.model.gaussian_process import GaussianProcess, robust_cholesky
from bomi.model.kernels import SquaredExponential, cross

KERNEL = SquaredExponential()
ADDITIVE = AdditiveMatern((0, 1, 2, 3))
WORLD = torch.tensor([0])


def random_table(seed):
    """Inputs (1, n, d) and targets in [0, 1]: smooth, wiggly or noisy in turn."""
    generator = torch.Generator().manual_seed(seed)
    n, d = 6 + 3 * (seed % 10), 1 + seed % 5
    X = torch.rand(n, d, generator=generator, dtype=torch.float64)
    weights = torch.randn(d, generator=generator, dtype=torch.float64)
    y = torch.sin((2 + 4 * (seed % 3)) * X @ weights) + (0, 0.02, 0.3)[seed % 3] * torch.randn(
        n, generator=generator, dtype=torch.float64
    )
    return X[None], (y - y.min()) / (y.max() - y.min())


def given_parameters(X, y, *, scale, length, noise):
    worlds = len(X)
    theta = torch.tensor([[math.log(scale), math.log(length)]], dtype=torch.float64).expand(worlds, -1)
    return GaussianProcess(X, y, theta, torch.full((worlds,), math.log(noise), dtype=torch.float64), kernel=KERNEL)


def evidence(X, y, theta, noise):
    parameters = torch.cat([theta, noise[:, None]], 1)
    return -negative_log_evidence(parameters, Pairs(KERNEL, X), y)[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("scale", "length", "noise"), [(1.0, 0.3, 1e-2), (4.0, 0.1, 1e-5), (0.3, 2.0, 0.5)])
def test_posterior_equals_that_of_scikit_learn(seed, scale, length, noise):
    X, y = random_table(seed)
    points = torch.rand(50, X.shape[-1], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    reference = GaussianProcessRegressor(ConstantKernel(scale) * RBF(length), alpha=noise, optimizer=None)
    reference_mean, reference_sd = reference.fit(X[0].numpy(), y.numpy()).predict(points.numpy(), return_std=True)
    mean, variance = given_parameters(X, y, scale=scale, length=length, noise=noise).moments(points)
    torch.testing.assert_close(mean[0], torch.from_numpy(reference_mean), atol=1e-6, rtol=0)
    torch.testing.assert_close(variance[0], torch.from_numpy(reference_sd).square(), atol=1e-6, rtol=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a value at its bound, as it may be
@pytest.mark.parametrize("seed", range(20))
def test_the_fit_is_no_worse_than_the_best_of_five_restarts_of_scikit_learn(seed):
    X, y = random_table(seed)
    kernel = ConstantKernel(1.0, KERNEL.scale_bounds) * RBF(1.0, KERNEL.length_bounds) + WhiteKernel(0.01, NOISE_BOUNDS)
    reference = GaussianProcessRegressor(kernel, alpha=1e-12, n_restarts_optimizer=5, random_state=seed)
    reference.fit(X[0].numpy(), y.numpy())
    model = fit(X, y, kernel=KERNEL)
    assert evidence(X, y, model.theta, model.noise) >= reference.log_marginal_likelihood_value_ - 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_is_that_of_scikit_learn(seed):
    X, y = random_table(seed)
    kernel = ConstantKernel(0.7) * RBF(0.4) + WhiteKernel(0.02)
    reference = GaussianProcessRegressor(kernel, alpha=1e-15, optimizer=None).fit(X[0].numpy(), y.numpy())
    ours = evidence(X, y, *(torch.tensor(p, dtype=torch.float64).log() for p in ([[0.7, 0.4]], [0.02])))
    assert ours.item() == pytest.approx(reference.log_marginal_likelihood_value_, abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_of_the_evidence_is_that_of_finite_differences(seed):
    X, y = random_table(seed)
    X = torch.cat([X, 0.9 * X])
    pairs = Pairs(KERNEL, X)
    at = torch.tensor([[0.8, 0.3, 0.05], [1.5, 0.6, 0.01]], dtype=torch.float64).log()
    _, gradient = negative_log_evidence(at, pairs, y)
    step = 1e-5
    for j in range(3):
        shift = step * torch.eye(3, dtype=torch.float64)[j]
        above = negative_log_evidence(at + shift, pairs, y)[0]
        below = negative_log_evidence(at - shift, pairs, y)[0]
        torch.testing.assert_close(gradient[:, j], (above - below) / (2 * step), rtol=1e-5, atol=1e-5)


def test_a_batch_of_worlds_equals_each_alone():
    worlds = torch.cat([random_table(7)[0] * shrink for shrink in (1.0, 0.5, 0.2)])
    y = random_table(7)[1]
    together = fit(worlds, y)
    points = torch.rand(20, worlds.shape[-1], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for q, world in enumerate(worlds):
        alone = fit(world[None], y)
        assert evidence(world[None], y, together.theta[q : q + 1], together.noise[q : q + 1]).item() == pytest.approx(
            evidence(world[None], y, alone.theta, alone.noise).item(), abs=1e-4
        )
        same = GaussianProcess(world[None], y, together.theta[q : q + 1], together.noise[q : q + 1], kernel=KERNEL)
        for ours, theirs in zip(together.moments(points), same.moments(points), strict=True):
            torch.testing.assert_close(ours[q], theirs[0], rtol=1e-9, atol=1e-12)


# --- what other code relies on ---


def test_fitted_is_the_mean_at_the_rows():
    X, y = random_table(5)
    X = torch.cat([X, X.flip(-1)])
    model = given_parameters(X, y, scale=1.0, length=0.3, noise=0.05)
    for q in range(2):
        torch.testing.assert_close(model.fitted()[q], model.moments(X[q])[0][q], rtol=0, atol=1e-10)


def test_means_alone_are_those_of_the_moments(monkeypatch):
    X, y = random_table(5)
    model = given_parameters(X, y, scale=1.0, length=0.3, noise=0.05)
    points = torch.rand(30, X.shape[-1], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.equal(model.means(points), model.moments(points)[0])
    monkeypatch.setattr(gaussian_process, "CHUNK", 1)  # a few at a time
    torch.testing.assert_close(model.means(points), model.moments(points)[0], rtol=0, atol=0)
    torch.testing.assert_close(model.means(points), torch.cat([model.means(one[None]) for one in points], -1))


def test_the_botorch_posterior_has_the_same_moments():
    X, y = random_table(5)
    model = given_parameters(torch.cat([X, X.flip(-1)]), y, scale=2.0, length=0.3, noise=0.05)
    points = torch.rand(7, X.shape[-1], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mean, variance = model.moments(points)
    posterior = model.posterior(points)
    torch.testing.assert_close(posterior.mean.squeeze(-1), mean)
    torch.testing.assert_close(posterior.variance.squeeze(-1), variance, rtol=1e-6, atol=1e-8)
    one_by_one = model.posterior(points[:, None])  # seven batches of one point
    assert one_by_one.mean.shape == (7, 2, 1, 1)
    torch.testing.assert_close(one_by_one.mean[:, :, 0, 0].mT, mean)


def test_joint_draws_have_the_moments_of_the_posterior():
    X, y = random_table(5)
    model = given_parameters(torch.cat([X, X.flip(-1)]), y, scale=2.0, length=0.3, noise=0.05)
    points = torch.rand(3, X.shape[-1], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = model.draws(points, 20_000, torch.Generator().manual_seed(1))  # (S, Q, m)
    joint = model.posterior(points).distribution
    error = (joint.variance / len(drawn)).sqrt()
    assert ((drawn.mean(0) - joint.mean).abs() < 5 * error).all()
    for world, covariance in enumerate(joint.covariance_matrix):
        torch.testing.assert_close(drawn[:, world].T.cov(), covariance, rtol=0.1, atol=0.03 * float(covariance.max()))


def test_conditioned_leaves_the_mean_and_shrinks_the_variance():
    X, y = random_table(4)
    model = given_parameters(torch.cat([X, X.flip(-1)]), y, scale=1.0, length=0.3, noise=1e-3)
    generator = torch.Generator().manual_seed(0)
    pending, points = torch.rand(2, 10, X.shape[-1], generator=generator, dtype=torch.float64)
    conditioned = model.condition_on(pending)
    mean, variance = model.moments(points)
    new_mean, new_variance = conditioned.moments(points)
    torch.testing.assert_close(new_mean, mean, rtol=0, atol=1e-6)
    assert (new_variance <= variance + 1e-9).all()
    assert (conditioned.moments(pending)[1] < 2e-3).all()
    assert (model.moments(pending)[1] > 2e-3).any()


def test_the_variance_is_never_below_zero_at_repeated_rows():
    X = torch.full((1, 30, 3), 0.5, dtype=torch.float64)
    model = given_parameters(X, torch.zeros(30).double(), scale=1.0, length=5.0, noise=1e-6)
    assert (model.moments(X[0])[1] > 0).all()


@pytest.mark.parametrize("y", [torch.zeros(10), torch.ones(10), 1e-12 * torch.arange(10), 1e12 * torch.arange(10)])
def test_any_targets_and_duplicate_rows_are_fitted(y):
    X = torch.rand(2, 5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).repeat(1, 2, 1)
    mean, variance = fit(X, y.double()).moments(X[0])
    assert mean.isfinite().all()
    assert (variance > 0).all()


# --- the Cholesky factor that never fails ---


def psd(eigenvalues, seed=0):
    n = len(eigenvalues)
    Q, _ = torch.linalg.qr(torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))
    return Q @ torch.diag(torch.tensor(eigenvalues, dtype=torch.float64)) @ Q.mT


def test_a_positive_definite_matrix_gets_no_jitter():
    K = psd([3.0, 1.0, 1e-3])
    assert torch.equal(robust_cholesky(K), torch.linalg.cholesky(K))


@pytest.mark.parametrize(
    ("K", "allowed"),
    [
        (torch.ones(6, 6).double(), 1e-8),  # singular
        (psd([1.0, 1.0, 0.0]), 1e-8),
        (cross(KERNEL, torch.zeros(1, 2).double(), *[torch.zeros(1, 9, 2).double()] * 2)[0], 1e-8),
        (1e-9 * torch.ones(4, 4).double(), 1e-17),
        (psd([1.0, 1.0, -1e-4]), 1e-2),  # slightly indefinite
        (torch.tensor([[1.0, 2.0], [2.0, 1.0]]).double(), 100),  # grossly
        (torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double(), 100),
        (-torch.eye(3).double(), 100),
    ],
)
def test_a_bad_matrix_gets_about_as_much_jitter_as_it_needs(K, allowed):
    L = robust_cholesky(K)
    assert L.isfinite().all()
    added = L @ L.mT - K
    off_diagonal = added - added.diagonal().diag()
    assert off_diagonal.abs().max() < 1e-12 * max(1, K.abs().max())
    assert 0 < added.diagonal().max() <= allowed
    assert (added.diagonal() - added.diagonal().mean()).abs().max() < 1e-12 * max(1, K.abs().max())


def test_each_matrix_of_a_batch_gets_its_own_jitter():
    batch = torch.stack([psd([2.0, 1.0, 0.5]), torch.ones(3, 3).double(), psd([1.0, 1.0, -1e-4])])
    added = (robust_cholesky(batch) @ robust_cholesky(batch).mT - batch).diagonal(dim1=-2, dim2=-1).mean(-1)
    assert added[0].abs() < 1e-14
    assert 1e-14 < added[1] < 1e-8
    assert 1e-4 < added[2] < 1e-2


# --- known errors, and belief without factorizing anew ---


def with_errors(X, y, errors):
    theta = torch.tensor([[math.log(1.3), math.log(0.3)]], dtype=torch.float64).expand(len(X), -1)
    noise = torch.full((len(X),), math.log(0.01), dtype=torch.float64)
    return GaussianProcess(X, y, theta, noise, kernel=KERNEL, errors=errors)


def test_known_errors_are_those_of_scikit_learn():
    X, y = random_table(4)
    errors = torch.linspace(0, 0.5, len(y), dtype=torch.float64)
    points = torch.rand(20, X.shape[-1], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    reference = GaussianProcessRegressor(ConstantKernel(1.3) * RBF(0.3), alpha=(0.01 + errors).numpy(), optimizer=None)
    reference.fit(X[0].numpy(), y.numpy())
    mean, sd = reference.predict(points.numpy(), return_std=True)
    model = with_errors(X, y, errors)
    found, variance = model.moments(points)
    torch.testing.assert_close(found[0], torch.from_numpy(mean), atol=1e-6, rtol=0)
    torch.testing.assert_close(variance[0], torch.from_numpy(sd).square(), atol=1e-6, rtol=0)
    torch.testing.assert_close(model.fitted(), model.moments(X)[0], atol=1e-8, rtol=0)
    parameters = torch.cat([model.theta, model.noise[:, None]], -1)
    evidence = -negative_log_evidence(parameters, Pairs(KERNEL, X, errors), y)[0]
    assert float(evidence) == pytest.approx(reference.log_marginal_likelihood(reference.kernel_.theta), abs=1e-6)


@pytest.mark.parametrize("known", [False, True])
def test_belief_is_the_process_given_its_own_means(known):
    X, y = random_table(8)
    X = torch.cat([X, X.flip(-1)])
    errors = torch.linspace(0, 0.5, len(y), dtype=torch.float64) if known else None
    model = with_errors(X, y, errors)
    pending = torch.rand(3, X.shape[-1], generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    points = torch.rand(9, X.shape[-1], generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    inputs = torch.cat([X, pending.expand(2, -1, -1)], 1)
    targets = torch.cat([y.expand(2, -1), model.moments(pending)[0]], 1)
    more = None if errors is None else torch.cat([errors, torch.zeros(3, dtype=torch.float64)])
    again = with_errors(inputs, targets, more)
    for conditioned in (model.condition_on(pending), model.condition_on(pending[:1]).condition_on(pending[1:])):
        for found, expected in zip(conditioned.moments(points), again.moments(points), strict=True):
            torch.testing.assert_close(found, expected, atol=1e-8, rtol=0)
        torch.testing.assert_close(conditioned.fitted(), again.fitted(), atol=1e-8, rtol=0)
    assert model.inputs.shape[1] == len(y)  # it stays as it was


@pytest.mark.parametrize("groups", [(0, 1, 2), (0, 1, 1, 1, 2)])
def test_the_additive_kernel_has_the_right_gradient_by_either_point(groups):
    kernel, generator = AdditiveMatern(groups), torch.Generator().manual_seed(0)
    theta = 0.5 * torch.randn(2, 8, generator=generator, dtype=torch.float64)
    x1, x2 = (torch.rand(2, count, len(groups), generator=generator, dtype=torch.float64) for count in (4, 3))
    x1.requires_grad_()
    x2.requires_grad_()
    with torch.no_grad():
        plain = cross(kernel, theta, x1, x2)
    assert torch.allclose(cross(kernel, theta, x1, x2), plain, rtol=1e-12)
    assert torch.autograd.gradcheck(lambda a, b: cross(kernel, theta, a, b), (x1, x2), eps=1e-6, atol=1e-7)
    assert torch.autograd.gradcheck(lambda a: cross(kernel, theta, a, a), (x2,), eps=1e-6, atol=1e-7)
    same = cross(kernel, theta, x1.detach(), x1[:, :1])  # flat where a point meets itself
    (slope,) = torch.autograd.grad(same[:, 0, 0].sum(), x1)
    assert torch.equal(slope, torch.zeros_like(slope))


def test_each_world_alone_predicts_what_it_does_among_the_others():
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(3, 12, 2, generator=generator, dtype=torch.float64)
    model = fit(X, torch.sin(6 * X[0, :, 0]))
    points = torch.rand(7, 2, generator=generator, dtype=torch.float64)
    together = model.moments(points)
    for q, world in enumerate(model.worlds()):
        for alone, among in zip(world.moments(points), together, strict=True):
            assert torch.allclose(alone[0], among[q])


def test_the_prior_holds_lengths_together_but_lets_one_go():
    kernel = AdditiveMatern((0, 1, 2, 3))
    generator = torch.Generator().manual_seed(0)
    hyper = torch.randn(20, 11, generator=generator, dtype=torch.float64).requires_grad_()
    value, gradient = kernel.log_prior(hyper)
    assert torch.allclose(torch.autograd.grad(value.sum(), hyper)[0], gradient)

    def cost(*apart):
        """How much less probable lengths are that differ so from one another, their mean the same."""
        lengths = torch.tensor(apart, dtype=torch.float64) - sum(apart) / 4
        moved = torch.zeros(1, 11, dtype=torch.float64).index_copy(1, torch.arange(2, 6), lengths[None])
        return float(kernel.log_prior(torch.zeros_like(moved))[0] - kernel.log_prior(moved)[0])

    assert 0 < cost(0.2, 0, 0, 0) < 0.3  # nearly alike: all but free
    assert cost(1, -1, 1, -1) > 7  # all different: dear
    assert cost(3, 0, 0, 0) < 12  # a parameter that does nothing: some ten rows tell
    assert cost(6, 0, 0, 0) < 2 * cost(3, 0, 0, 0)  # of a normal distribution it would be four times


def two_readings(noise, seed):
    """Nine outcomes, a wave or mere noise, and the hyper-parameters of both readings.  (1, 9, 1), (9,), (2, 3)"""
    generator = torch.Generator().manual_seed(seed)
    x = torch.linspace(0, 1, 9, dtype=torch.float64)
    y = torch.sin(9 * x) + 0.6 * x + noise * torch.randn(9, generator=generator, dtype=torch.float64)
    X, y = x[None, :, None], (y - y.mean()) / y.std()
    starts = torch.tensor([[1.0, 0.08, 1e-3], [1e-6, 0.8, 0.5]], dtype=torch.float64).log()
    return X, y, maximize_evidence(Pairs(KERNEL, X.expand(2, -1, -1)), y, starts, most=100)


def posterior_on_a_grid(X, y):
    """Points of a fine grid over log s^2, log l and the log noise, with their posterior probabilities."""
    low, high = torch.tensor([*KERNEL.bounds(), tuple(map(math.log, NOISE_BOUNDS))], dtype=torch.float64).unbind(-1)
    axes = [torch.linspace(float(a), float(b), 31, dtype=torch.float64) for a, b in zip(low, high, strict=True)]
    points = torch.cartesian_prod(*axes)
    value = log_evidence(points, Pairs(KERNEL, X), y, torch.zeros(len(points), dtype=torch.long))
    return points, value.softmax(0)


@pytest.mark.parametrize("noise", [0.2, 1.0])
def test_hyper_parameters_are_drawn_from_their_posterior(noise):
    """Of many chains, against a grid: mean, spread and the joint log density."""
    X, y, _ = two_readings(noise, 1)
    points, weights = posterior_on_a_grid(X, y)
    worlds = 400
    pairs, generator = Pairs(KERNEL, X.expand(worlds, -1, -1)), torch.Generator().manual_seed(0)
    begin = points[torch.multinomial(weights, worlds, replacement=True, generator=generator)]
    hyper = draw_hyper(pairs, y, begin, generator, count=25)
    assert float((hyper != begin).any(-1).double().mean()) > 0.9
    mean = weights @ points
    sd = (weights @ (points - mean).square()).sqrt()
    assert ((hyper.mean(0) - mean).abs() < 4 * sd / math.sqrt(worlds) + 0.1).all()
    assert ((hyper.std(0) / sd - 1).abs() < 0.2).all()
    density = log_evidence(points, Pairs(KERNEL, X), y, torch.zeros(len(points), dtype=torch.long))
    found = log_evidence(hyper, pairs, y, torch.arange(worlds))
    assert float(found.mean()) == pytest.approx(float(weights @ density), abs=0.35)


def test_draws_know_nothing_but_where_they_are():
    """Two moves at once are the same as one after the other, also where the first is refused."""
    X, y, _ = two_readings(0.2, 1)
    pairs, begin = Pairs(KERNEL, X.expand(60, -1, -1)), torch.zeros(60, 3, dtype=torch.float64)
    at_once = draw_hyper(pairs, y, begin, torch.Generator().manual_seed(0), count=2)
    generator = torch.Generator().manual_seed(0)
    first = draw_hyper(pairs, y, begin, generator)
    refused = (first == begin).all(-1)
    assert refused.any()
    assert not refused.all()
    torch.testing.assert_close(at_once, draw_hyper(pairs, y, first, generator))


def test_drawn_hyper_parameters_stay_in_their_ranges():
    X, y, modes = two_readings(0.0, 0)
    low, high = torch.tensor([*KERNEL.bounds(), tuple(map(math.log, NOISE_BOUNDS))], dtype=torch.float64).unbind(-1)
    begin = torch.stack([modes[0], low, high, 2 * high - low])
    hyper = draw_hyper(Pairs(KERNEL, X.expand(4, -1, -1)), y, begin, torch.Generator().manual_seed(0), count=20)
    assert (hyper >= low).all()
    assert (hyper <= high).all()


@pytest.mark.parametrize("seed", [0, 4, 8])
def test_a_wave_and_noise_begin_side_by_side_as_often_as_they_explain_the_outcomes(seed):
    """Against draws from the prior, each with its likelihood as weight."""
    X, y, _ = two_readings(0.5, seed)
    kernel, generator, count = AdditiveMatern((0,)), torch.Generator().manual_seed(0), 40_000
    low, high = map(math.log, NOISE_BOUNDS)
    drawn = torch.randn(count, 5, generator=generator, dtype=torch.float64)
    drawn = drawn * torch.tensor([1, 2, 1, 1, 0]) + torch.tensor([0, 0, math.log(0.3), math.log(0.3), 0])
    drawn[:, -1] = low + (high - low) * torch.rand(count, generator=generator, dtype=torch.float64)
    pairs, one = Pairs(kernel, X), torch.zeros(count, dtype=torch.long)
    middle = torch.tensor([0, 0, math.log(0.3), math.log(0.3), 0], dtype=torch.float64)
    of_the_noise = kernel.log_prior(torch.cat([middle[:-1].expand(count, -1), drawn[:, -1:]], -1))[0]
    weights = (log_evidence(drawn, pairs, y, one) - kernel.log_prior(drawn)[0] + of_the_noise).softmax(0)
    expected = float(weights[drawn[:, -1] > math.log(0.05)].sum())
    hyper = draw_starts(pairs, y, 400, generator)
    levels = torch.linspace(low, high, NOISE_LEVELS, dtype=torch.float64)
    assert torch.isin(hyper[:, -1], levels).all()
    assert len(hyper[:, -1].unique()) > 3
    assert float((hyper[:, -1] > math.log(0.05)).double().mean()) == pytest.approx(expected, abs=0.2)


def test_no_draw_begins_where_it_is_hopeless():
    X, y, _ = two_readings(0.0, 0)
    hyper = draw_starts(Pairs(KERNEL, X), y, 100, torch.Generator().manual_seed(0))
    assert (hyper[:, -1] < math.log(0.05)).all()


@pytest.mark.parametrize("kernel", [KERNEL, AdditiveMatern((0, 1, 2))])
@pytest.mark.parametrize("errors", [None, 0.3 * torch.rand(20, dtype=torch.float64)])
def test_the_grid_has_the_evidence_of_its_points(kernel, errors):
    """With known errors at the scale 1, since they are scaled along."""
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(2, 20, 3, generator=generator, dtype=torch.float64)
    columns = torch.randn(20, 4, generator=generator, dtype=torch.float64)
    value, points = grid(Pairs(kernel, X, errors), columns)
    assert value.shape == (3 * len(kernel.starts()), 2, 4)
    for world in range(2):
        for c, y in enumerate(columns.T):
            for found, point in list(zip(value[:, world, c], points[:, world, c], strict=True))[::5]:
                scaled = None if errors is None else errors * point[0].exp()
                pairs = Pairs(kernel, X[world : world + 1], scaled)
                alone, _ = negative_log_evidence(point[None], pairs, y)
                assert float(found) == pytest.approx(-float(alone), abs=1e-6)
                assert float(found) == pytest.approx(float(log_evidence(point[None], pairs, y, WORLD)), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_rugged_outcome_is_not_noise_in_all_worlds(seed):
    """Narrow peaks all over, and rows that crowd around one of them, as an optimizer leaves them.

    Nothing in 100 rows of 4 parameters refutes either explanation, so both live side by side.
    """
    generator = torch.Generator().manual_seed(seed)
    crowd = 0.4 + 0.03 * torch.randn(60, 4, generator=generator, dtype=torch.float64)
    X = torch.cat([torch.rand(40, 4, generator=generator, dtype=torch.float64), crowd])
    y = torch.asinh(20 * torch.cos(2 * math.pi * X / 0.05).prod(-1))
    targets, pairs = (y - y.mean()) / y.std(), Pairs(ADDITIVE, X[None])
    drawn = draw_starts(pairs, targets, 200, generator)
    assert 0.05 < float((drawn[:, -1].exp() < 0.02).double().mean()) < 0.95


def test_an_outcome_that_does_not_repeat_is_called_noise():
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(30, 4, generator=generator, dtype=torch.float64).repeat(2, 1)
    y = torch.randn(60, generator=generator, dtype=torch.float64)
    hyper = search(ADDITIVE, X[None], (y - y.mean()) / y.std(), most=60)
    assert hyper[0, -1].exp() > 0.5


def test_variances_are_those_by_which_rows_are_predicted_from_all_others():
    """By refitting without each of some rows, of outcomes that lie further off than the process expects."""
    X, y = random_table(8)
    X, y = X.repeat(2, 1, 1), 3 * y - 1
    model = given_parameters(X, y, scale=0.1, length=0.3, noise=1e-3)
    rows, points = torch.tensor([0, 3, 4, 9]), X[0, :5] + 0.05
    others = [torch.arange(len(y)) != i for i in rows]
    without = [given_parameters(X[:, kept], y[kept], scale=0.1, length=0.3, noise=1e-3) for kept in others]
    moments = [model.moments(X[0, [i]]) for model, i in zip(without, rows, strict=True)]
    off = [
        (y[i] - mean[0, 0]) ** 2 / (variance[0, 0] + 1e-3) for (mean, variance), i in zip(moments, rows, strict=True)
    ]
    c = float(sum(off) + gaussian_process.SCALED_BY) / (4 + gaussian_process.SCALED_BY)
    assert c > 1.5
    scaled = model.rescaled(rows)
    mean, variance = model.moments(points)
    torch.testing.assert_close(scaled.moments(points), (mean, c * variance))
    torch.testing.assert_close(scaled.leave_one_out(rows)[1], c * model.leave_one_out(rows)[1])
    anew = given_parameters(X, y, scale=0.1 * c, length=0.3, noise=1e-3 * c)
    torch.testing.assert_close(scaled.hyper, anew.hyper)
    torch.testing.assert_close(scaled.fitted(), anew.fitted())
    beyond = points + 0.1
    torch.testing.assert_close(scaled.condition_on(points).moments(beyond), anew.condition_on(points).moments(beyond))


def test_variances_are_never_made_smaller():
    X, y = random_table(8)
    model = given_parameters(X, y, scale=100.0, length=0.3, noise=1.0)
    torch.testing.assert_close(model.rescaled(torch.arange(len(y))).hyper, model.hyper)
    torch.testing.assert_close(model.rescaled(torch.arange(0)).hyper, model.hyper)
