"""Offsets of groups and drift: against the normal distribution written out, scikit-learn, and a grid."""

import math

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Kernel

from bomi.model.additive import AdditiveMatern
from bomi.model.conditions import ConditionedProcess, UnderConditions, process_of
from bomi.model.fitting import Pairs, draw_hyper, log_evidence, negative_log_evidence
from bomi.model.kernels import SquaredExponential, cross
from bomi.space import Conditions, Space

RNG = np.random.default_rng(0)
CODES = np.array([[0, 0], [0, 1], [1, 1], [1, 2], [2, 0], [2, 3], [3, 1], [3, 4]], dtype=float)
TIMES = np.linspace(0, 1, 8)
X, Y = RNG.random((8, 2)), RNG.normal(size=8)
SCALE, LENGTH, RATIOS, DRIFT, SLOW, NOISE = 0.7, 0.4, (0.5, 0.2), 0.9, 0.6, 0.03
LOGS = [math.log(value) for value in (SCALE, LENGTH, *RATIOS, DRIFT, SLOW, NOISE)]


def tensor(values):
    return torch.as_tensor(np.asarray(values), dtype=torch.float64)


def rows():
    return np.column_stack([X, CODES, TIMES])


def process():
    kernel = UnderConditions(SquaredExponential(), 2, 2, True)
    return process_of(tensor(rows())[None], tensor(Y), tensor(LOGS)[None], kernel=kernel)


def rbf(a, b):
    return SCALE * np.exp(-0.5 * np.square(a[:, None] - b[None]).sum(-1) / LENGTH**2)


def matern(t, u):
    a = math.sqrt(5) * np.abs(t[:, None] - u[None]) / SLOW
    return SCALE * DRIFT * (1 + a + a**2 / 3) * np.exp(-a)


def joint(points, now):
    """Mean and covariance of (f at points, offsets of each column's five groups, drift now) given Y.

    y = f + Z b + h + noise with a design matrix Z and b ~ N(0, D): all is one normal vector, conditioned on y.
    """
    designs = [(CODES[:, [j]] == np.arange(5)).astype(float) for j in (0, 1)]
    m = len(points)
    prior = np.zeros((m + 11, m + 11))
    prior[:m, :m] = rbf(points, points)
    beside = np.zeros((m + 11, 8))
    beside[:m] = rbf(points, X)
    K = rbf(X, X) + matern(TIMES, TIMES) + NOISE * np.eye(8)
    for j, Z in enumerate(designs):
        own = slice(m + 5 * j, m + 5 * j + 5)
        prior[own, own] = SCALE * RATIOS[j] * np.eye(5)
        beside[own] = SCALE * RATIOS[j] * Z.T
        K += SCALE * RATIOS[j] * Z @ Z.T
    prior[-1, -1], beside[-1] = SCALE * DRIFT, matern(np.array([now]), TIMES)
    gain = np.linalg.solve(K, beside.T).T
    return gain @ Y, prior - gain @ beside.T


def test_a_prediction_is_that_of_a_design_matrix_of_offsets_for_a_group_and_for_a_new_one():
    points, now = RNG.random((3, 2)), 1.2
    mean, covariance = joint(points, now)
    for day, lot in ((1, 3), (-1, 3), (1, -1), (-1, -1)):
        pick = np.zeros((3, len(mean)))
        pick[:, :3], pick[:, -1] = np.eye(3), 1.0
        variance = np.zeros((3, 3))
        for j, code in enumerate((day, lot)):
            if code >= 0:
                pick[:, 3 + 5 * j + code] = 1.0
            else:
                variance += SCALE * RATIOS[j]  # a new group: nothing is known of it, and all points share it
        model = process().under(tensor([day, lot, now]))
        found, spread = model.moments(tensor(points))
        assert found[0].numpy() == pytest.approx(pick @ mean, abs=1e-9)
        expected = pick @ covariance @ pick.T + variance
        assert spread[0].numpy() == pytest.approx(np.diag(expected), abs=1e-9)
        both = model.posterior(tensor(points)).distribution.covariance_matrix[0]
        assert both.numpy() == pytest.approx(expected, abs=1e-8)


def test_offsets_and_drift_are_those_of_the_design_matrix():
    mean, covariance = joint(RNG.random((1, 2)), 0.4)
    model = process()
    assert isinstance(model, ConditionedProcess)
    for j in (0, 1):
        found, spread = model.offsets(j, torch.arange(5.0))
        assert found[0].numpy() == pytest.approx(mean[1 + 5 * j : 6 + 5 * j], abs=1e-9)
        own = slice(1 + 5 * j, 6 + 5 * j)
        assert spread[0].numpy() == pytest.approx(covariance[own, own], abs=1e-9)
    found, spread = model.drift(tensor([0.4, 0.9]))
    assert found[0, 0] == pytest.approx(mean[-1], abs=1e-9)
    assert spread[0, 0, 0] == pytest.approx(covariance[-1, -1], abs=1e-9)
    parts = model.offsets(0, tensor(CODES[:, 0]))[0] + model.offsets(1, tensor(CODES[:, 1]))[0]
    everything = model.moments(tensor(rows())[None])[0]
    alone = joint(X, 0.4)[0][:8]
    assert (alone + (parts + model.drift(tensor(TIMES))[0])[0].numpy()) == pytest.approx(
        everything[0].numpy(), abs=1e-9
    )


class SameGroup(Kernel):
    """scikit-learn's own way of adding a kernel."""

    def __init__(self):  # it looks for the parameters here
        super().__init__()

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        base = SCALE * RBF(LENGTH)(X[:, :2], Y[:, :2])
        same = sum(SCALE * r * (X[:, [2 + j]] == Y[:, 2 + j]) for j, r in enumerate(RATIOS))
        return base + same + matern(X[:, -1], Y[:, -1])

    def diag(self, X):
        return np.diag(self(X))

    def is_stationary(self):
        return False


def test_the_likelihood_and_the_predictions_are_scikit_learn_s():
    other = GaussianProcessRegressor(SameGroup(), alpha=NOISE, optimizer=None).fit(rows(), Y)
    at = np.column_stack([RNG.random((4, 2)), [0, 3, 7, 1], [1, 1, 9, 9], [0.1, 0.5, 1.0, 1.3]])
    mean, sd = other.predict(at, return_std=True)
    found, variance = process().moments(tensor(at))
    assert found[0].numpy() == pytest.approx(mean, abs=1e-8)
    assert variance.sqrt()[0].numpy() == pytest.approx(sd, abs=1e-8)
    kernel = UnderConditions(SquaredExponential(), 2, 2, True)
    pairs, hyper = Pairs(kernel, tensor(rows())[None]), tensor(LOGS)[None]
    value = log_evidence(hyper, pairs, tensor(Y), torch.zeros(1, dtype=torch.long)) - kernel.log_prior(hyper)[0]
    assert float(value) == pytest.approx(other.log_marginal_likelihood_value_, abs=1e-8)


@pytest.mark.parametrize(("groups", "drift"), [(2, True), (1, False), (0, True)])
def test_the_gradient_of_evidence_and_prior_is_the_slope(groups, drift):
    base = AdditiveMatern((0, 1))
    kernel = UnderConditions(base, 2, groups, drift)
    x = tensor(np.column_stack([X, CODES[:, :groups], *([TIMES] if drift else [])]))
    pairs, y = Pairs(kernel, x[None].expand(2, -1, -1)), tensor(Y)
    own = [-0.4, 0.3][:groups] + ([-0.2, 0.4] if drift else [])
    here = tensor([[0.2, 0.5, -1.0, -0.7, -0.3, 0.1, *own, -3.0], [-0.3, -0.5, -0.6, -1.2, 0.3, 0.2, *own, -2.0]])
    assert len(kernel.bounds()) == kernel.starts().shape[-1] == here.shape[-1] - 1
    _, gradient = negative_log_evidence(here, pairs, y)
    for k in range(here.shape[-1]):
        step = torch.zeros_like(here)
        step[:, k] = 1e-5
        above, below = (negative_log_evidence(here + side * step, pairs, y)[0] for side in (1, -1))
        assert gradient[:, k].numpy() == pytest.approx(((above - below) / 2e-5).numpy(), abs=1e-6)
    assert torch.allclose(kernel.between(here[:, :-1], x[None, :, None], x[None, None]), cross_of(kernel, here, x))


def cross_of(kernel, here, x):
    with torch.no_grad():
        points = x[None].expand(len(here), -1, -1)
        return cross(kernel, here[:, :-1], points, points.clone())


def test_the_prior_of_an_offset_s_spread_is_half_normal():
    """u = log v with v = s^2, s half-normal: p(u) = p(s) ds/du."""
    kernel = UnderConditions(SquaredExponential(), 2, 1, False)
    u = tensor([-4.0, -1.0, 0.0, 1.5])
    scale = 0.8
    hyper = torch.stack([torch.full_like(u, scale), torch.zeros_like(u), u - scale, torch.zeros_like(u)], -1)
    s = (u / 2).exp()
    expected = torch.distributions.HalfNormal(tensor(1.0)).log_prob(s) + (s / 2).log()
    found = kernel.log_prior(hyper)[0]
    assert (found - found[0]).numpy() == pytest.approx((expected - expected[0]).numpy())


class Fixed(SquaredExponential):
    """A kernel without a free length, so that a grid can hold all hyper-parameters."""

    def bounds(self):
        return super().bounds()[:1]

    def evaluate(self, theta, prepared):
        return torch.exp(theta[:, :1] - 0.5 * prepared[0] / 0.4**2)

    def with_pullback(self, theta, prepared):
        covariance = self.evaluate(theta, prepared)
        return covariance, lambda weights: (weights * covariance).sum(-1, keepdim=True)

    def log_prior(self, hyper):
        z = torch.stack([hyper[:, 0], hyper[:, 1] + 3], -1)
        return -0.5 * z.square().sum(-1), -z


def test_the_spread_of_offsets_is_drawn_from_its_posterior():
    """Chains of Hamiltonian Monte Carlo against the same density on a grid: scale, ratio, noise."""
    kernel = UnderConditions(Fixed(), 2, 1, False)
    y = tensor(Y * 0.3 + 0.8 * RNG.normal(size=4)[CODES[:, 0].astype(int)])
    x = tensor(np.column_stack([X, CODES[:, 0]]))[None]
    chains, generator = 200, torch.Generator().manual_seed(0)
    pairs = Pairs(kernel, x).select(torch.zeros(chains, dtype=torch.long))
    hyper, kept = torch.randn(chains, 3, generator=generator, dtype=torch.float64) - tensor([0.0, 1.0, 2.0]), []
    for turn in range(60):
        hyper = draw_hyper(pairs, y, hyper, generator)
        if turn >= 20:
            kept.append(hyper)
    draws = torch.cat(kept)
    axes = [torch.linspace(*ends, 41, dtype=torch.float64) for ends in ((-4.0, 4.0), (-9.0, 5.0), (-8.0, 0.0))]
    grid = torch.cartesian_prod(*axes)
    every = Pairs(kernel, x)
    value = torch.cat([log_evidence(part, every, y, torch.zeros(len(part)).long()) for part in grid.split(5000)])
    weights = value.softmax(0)
    for k in range(3):
        mean = float(weights @ grid[:, k])
        sd = float(weights @ (grid[:, k] - mean).square()) ** 0.5
        assert float(draws[:, k].mean()) == pytest.approx(mean, abs=0.15 * sd)
        assert float(draws[:, k].std()) == pytest.approx(sd, rel=0.15)
    spread = 0.5 * (grid[:, 0] + grid[:, 1])
    expected = float(weights @ spread.exp())
    assert float((0.5 * (draws[:, 0] + draws[:, 1])).exp().mean()) == pytest.approx(expected, rel=0.1)


def test_a_row_left_out_keeps_its_own_conditions():
    model = process().under(tensor([-1, -1, 1.0]))
    rows_of = torch.tensor([1, 4])
    mean, variance = model.leave_one_out(rows_of)
    found = model.without_row(rows_of, tensor(X[[1, 4]])[None])
    assert torch.allclose(found[0], mean)
    assert torch.allclose(found[1], variance)
    for at, i in enumerate(rows_of.tolist()):
        keep = np.arange(8) != i
        other = GaussianProcessRegressor(SameGroup(), alpha=NOISE, optimizer=None).fit(rows()[keep], Y[keep])
        expected, sd = other.predict(rows()[[i]], return_std=True)
        assert float(mean[0, at]) == pytest.approx(expected[0], abs=1e-8)
        assert float(variance[0, at]) == pytest.approx(sd[0] ** 2 + NOISE, abs=1e-8)


def test_what_all_places_share_is_no_part_of_a_comparison():
    """Given the level at one place, the others are known as well as their difference from it is."""
    points = tensor(RNG.random((3, 2)))
    model = process().under(tensor([-1, -1, 1.0]))
    known = model.condition_on(points[:1], noise=0.0)
    mean, variance = known.moments(points)
    assert torch.allclose(mean, model.moments(points)[0])
    assert variance[0, 0] < 1e-6
    joint_variance = model.posterior(points).distribution.covariance_matrix[0]
    expected = joint_variance.diagonal() - joint_variance[0].square() / joint_variance[0, 0]
    assert variance[0, 1:].numpy() == pytest.approx(expected[1:].numpy(), abs=1e-7)


def test_fitted_now_is_the_mean_at_the_rows_under_today_s_conditions():
    model = process().under(tensor([0, -1, 0.7]))
    assert torch.allclose(model.fitted_now(), model.moments(tensor(X))[0])
    assert torch.allclose(model.fitted(), model.moments(tensor(rows())[None])[0])
    assert model.places.shape == (1, 8, 2)


def test_the_columns_of_conditions_are_checked():
    space = Space({"x": (0, 1)}, conditions=Conditions(["day"], "date"))
    assert space.beside == ("day", "date")
    assert space != Space({"x": (0, 1)})
