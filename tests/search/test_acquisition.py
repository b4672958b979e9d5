import math

import mpmath
import numpy as np
import pytest
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from scipy.integrate import quad
from scipy.stats import norm

from bomi.model.gaussian_process import GaussianProcess
from bomi.model.kernels import SquaredExponential
from bomi.search import acquisition


@pytest.mark.parametrize(
    ("t", "dim", "delta", "by_hand"),
    [
        # 2 log(2 pi^2 / 0.3) + 2 log(sqrt(log 40)), and so on
        (1, 1, 0.1, 8.37316 + 1.30532),
        (1, 5, 0.1, 8.37316 + 10 * (1.60944 + 0.5 * 1.66739)),
        (10, 5, 0.1, 8.37316 + 4 * 2.302585 + 10 * (2 * 2.302585 + 1.60944 + 0.5 * 1.66739)),
        (3, 2, 0.5, 2 * math.log(9 * 2 * math.pi**2 / 1.5) + 4 * math.log(9 * 2 * math.sqrt(math.log(16)))),
    ],
)
def test_beta_equals_the_formula_by_hand(t, dim, delta, by_hand):
    assert acquisition.beta(t, dim, delta=delta) == pytest.approx(by_hand, abs=1e-4)


def test_beta_takes_the_constants_of_the_theorem():
    by_hand = 2 * math.log(4 * 2 * math.pi**2 / 0.6) + 6 * math.log(4 * 3 * 5 * 7 * math.sqrt(math.log(24 / 0.2)))
    assert acquisition.beta(2, 3, delta=0.2, a=2, b=5, r=7) == pytest.approx(by_hand)


def test_ucb_mi_by_hand():
    mean = torch.tensor([[1.0, 0.0], [2.0, 0.0], [6.0, 3.0]])
    sd = torch.tensor([[0.5, 1.0], [1.0, 1.0], [0.0, 1.0]])
    # worlds' UCB with exploration 2: (2, 4, 6) and (2, 2, 5)
    expected = torch.tensor([4 + 0.5 * 2, 3 + 0.5 * math.sqrt(3)])
    torch.testing.assert_close(acquisition.ucb_mi(mean, sd, 2.0, 0.5), expected)


def test_one_world_gives_ucb_exactly():
    mean, sd = torch.randn(2, 1, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sd = sd.abs()
    assert torch.equal(acquisition.ucb_mi(mean, sd, 1.7, 9.0), (mean + 1.7 * sd)[0])
    assert torch.equal(acquisition.ucb_mi(mean, sd, 1.7, 9.0), acquisition.ucb(mean, sd, 1.7)[0])


def test_worlds_that_agree_have_a_finite_gradient():
    mean = torch.ones(3, 4, dtype=torch.float64, requires_grad=True)
    score = acquisition.ucb_mi(mean, torch.ones(3, 4).double(), 1.0, 1.0)
    torch.testing.assert_close(score, torch.full((4,), 2.0).double())
    (gradient,) = torch.autograd.grad(score.sum(), mean)
    assert gradient.isfinite().all()


def expected_improvement(mean, sd, incumbent):
    return quad(lambda f: (f - incumbent) * norm.pdf(f, mean, sd), incumbent, max(mean, incumbent) + 12 * sd)[0]


@pytest.mark.parametrize("incumbents", [[0.0, 0.0], [0.3, -0.2]])
def test_the_mean_of_log_excess_is_the_log_of_the_average_integral(incumbents):
    mean = [[0.5, -1.0, 0.0], [-0.4, 0.2, 2.0]]
    sd = [[0.3, 1.0, 2.0], [0.7, 0.1, 0.5]]
    means, sds, thresholds = (torch.tensor(values, dtype=torch.float64) for values in (mean, sd, incumbents))
    scores = acquisition.log_mean(acquisition.log_excess(means, sds, thresholds[:, None]))
    for j, score in enumerate(scores.tolist()):
        average = sum(expected_improvement(mean[q][j], sd[q][j], incumbents[q]) for q in range(2)) / 2
        assert score == pytest.approx(math.log(average), abs=1e-8)


def test_log_excess_over_the_incumbent_is_the_log_ei_of_botorch():
    X = torch.rand(12, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.sin(5 * X.sum(-1))
    theta, noise = torch.tensor([[0.0, math.log(0.4)]], dtype=torch.float64), torch.tensor([-4.0], dtype=torch.float64)
    reference = SingleTaskGP(
        X,
        y[:, None],
        covar_module=RBFKernel(),
        mean_module=ZeroMean(),
        likelihood=GaussianLikelihood(),
        outcome_transform=None,
    )
    reference.initialize(**{"covar_module.lengthscale": 0.4, "likelihood.noise": math.exp(-4)})
    points = torch.rand(30, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    mean, variance = GaussianProcess(X[None], y, theta, noise, kernel=SquaredExponential()).moments(points)
    ours = acquisition.log_excess(mean, variance.sqrt(), torch.tensor(0.4, dtype=torch.float64))[0]
    torch.testing.assert_close(
        ours, LogExpectedImprovement(reference, best_f=0.4)(points[:, None]), rtol=1e-5, atol=1e-5
    )


def test_log_excess_is_finite_and_has_a_gradient_far_in_the_tail():
    mean = torch.tensor([[-10.0, -100.0, -1e4, 0.0]], dtype=torch.float64, requires_grad=True)
    sd = torch.tensor([[1.0, 1.0, 1.0, 1e-5]], dtype=torch.float64, requires_grad=True)
    scores = acquisition.log_excess(mean, sd, torch.tensor(1.0).double())
    assert scores.isfinite().all()
    gradient_mean, gradient_sd = torch.autograd.grad(scores.sum(), [mean, sd])
    assert gradient_mean.isfinite().all()
    assert (gradient_mean > 0).all()
    assert gradient_sd.isfinite().all()
    # far out, log EI ~ -z^2/2 - log(sqrt(2 pi) z^2)
    assert scores[0, 1].item() == pytest.approx(-(101**2) / 2 - math.log(math.sqrt(2 * math.pi) * 101**2), abs=1e-3)


# --- targets and several outcomes ---


@pytest.mark.parametrize("mean", [-3.0, 0.2, 0.7, 4.0])
@pytest.mark.parametrize("sd", [0.05, 1.0])
@pytest.mark.parametrize("distance", [1e-4, 0.3, 2.0])
def test_the_improvement_toward_a_target_is_that_of_a_quadrature(mean, sd, distance):
    aim = 0.5
    y = np.linspace(aim - distance, aim + distance, 20001)
    density = np.exp(-0.5 * ((y - mean) / sd) ** 2) / (sd * math.sqrt(2 * math.pi))
    exact = np.trapezoid((distance - np.abs(y - aim)) * density, y)
    moments = (torch.tensor([value], dtype=torch.float64) for value in (mean, sd))
    found = acquisition.log_excess(*moments, torch.tensor([-distance], dtype=torch.float64), aim)
    if exact > 1e-300:
        assert float(found) == pytest.approx(math.log(exact), rel=1e-5, abs=1e-5)


def test_the_improvement_toward_a_target_has_a_finite_gradient_everywhere():
    mean = torch.linspace(-50, 50, 101, dtype=torch.float64, requires_grad=True)
    for distance in (1e-9, 1e-3, 1.0):
        value = acquisition.log_excess(mean, torch.tensor(0.1), torch.tensor(-distance, dtype=torch.float64), 0.0)
        (slope,) = torch.autograd.grad(value.sum(), mean)
        assert value.isfinite().all()
        assert slope.isfinite().all()


def test_the_expected_distance_to_a_target_is_that_of_draws():
    mean, sd = torch.tensor([0.3, -2.0]), torch.tensor([0.5, 0.1])
    draws = mean + sd * torch.randn(400_000, 2, generator=torch.Generator().manual_seed(0))
    found = acquisition.expected_merit(mean, sd, 0.4)
    torch.testing.assert_close(found, -(draws - 0.4).abs().mean(0), atol=3e-3, rtol=0)


@pytest.mark.parametrize("outcomes", [2, 3])
def test_the_gain_in_hypervolume_is_botorch_s(outcomes):
    from botorch.utils.multi_objective.hypervolume import Hypervolume, infer_reference_point

    generator = torch.Generator().manual_seed(outcomes)
    merits = torch.randn(1, 9, outcomes, generator=generator, dtype=torch.float64)
    boxes = acquisition.free_boxes(merits)
    mean = torch.randn(outcomes, 4, generator=generator, dtype=torch.float64)
    sd = 0.2 + torch.rand(outcomes, 4, generator=generator, dtype=torch.float64)
    moments = [(mean[j][None], sd[j][None]) for j in range(outcomes)]
    found = acquisition.log_gain(moments, [None] * outcomes, boxes)[0].exp()
    front = merits[0][acquisition.undominated(merits[0])]
    volume = Hypervolume(infer_reference_point(front))
    before = volume.compute(front)
    for i in range(4):
        draws = mean[:, i] + sd[:, i] * torch.randn(1500, outcomes, generator=generator, dtype=torch.float64)
        gains = torch.tensor([volume.compute(torch.cat([front, draw[None]])) - before for draw in draws])
        error = float(gains.std() / math.sqrt(len(gains)))
        assert float(found[i]) == pytest.approx(float(gains.mean()), abs=4 * error + 1e-4)


def test_of_one_outcome_the_gain_is_the_expected_improvement():
    merits = torch.tensor([[[0.1], [0.4]], [[0.2], [0.3]]], dtype=torch.float64)
    mean, sd = torch.rand(2, 2, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = acquisition.log_gain([(mean, sd)], [None], acquisition.free_boxes(merits))
    torch.testing.assert_close(found, acquisition.log_excess(mean, sd, merits.amax(1)))


def test_weights_choose_among_what_is_undominated():
    merits = torch.tensor([[0.0, -1.0], [-1.0, 0.0], [-0.4, -0.4], [-0.9, -0.9]], dtype=torch.float64)
    chosen = [
        int(acquisition.chebyshev(merits, torch.tensor(weights, dtype=torch.float64)).argmax())
        for weights in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5))
    ]
    assert chosen == [0, 1, 2]


@pytest.mark.parametrize("z", [-1e6, -2e4, -9e3, -37.0, -5.0, -1.001, -0.999, 0.0, 2.0, 30.0])
def test_the_logarithm_of_the_expected_improvement_is_exact_far_into_the_tail(z):
    """Against fifty digits: its value, and its gradient Phi(z) / h(z)."""
    with mpmath.workdps(50):
        density, below = mpmath.npdf(z), mpmath.erfc(-mpmath.mpf(z) / mpmath.sqrt(2)) / 2
        h = density + z * below
        value, slope = float(mpmath.log(h)), float(below / h)
    at = torch.tensor(z, dtype=torch.float64, requires_grad=True)
    found = acquisition.log_h(at)
    (gradient,) = torch.autograd.grad(found, at)
    assert found.item() == pytest.approx(value, rel=1e-12)
    assert gradient.item() == pytest.approx(slope, rel=1e-6)


def test_the_gain_over_a_front_of_three_is_that_of_draws():
    """Strip by strip: what lies above the front (0, 2), (1, 1), (2, 0) and the reference (-0.2, -0.2)."""
    front = torch.tensor([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0], [0.5, 0.5]], dtype=torch.float64)
    mean, sd = torch.tensor([1.2, 0.8], dtype=torch.float64), torch.tensor([0.6, 0.4], dtype=torch.float64)
    moments = [(mean[j].reshape(1, 1), sd[j].reshape(1, 1)) for j in (0, 1)]
    found = acquisition.log_gain(moments, [None, None], acquisition.free_boxes(front[None])).exp()
    x, y = (mean + sd * torch.randn(400_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)).T
    strips = [(-0.2, 0.0, 2.0), (0.0, 1.0, 1.0), (1.0, 2.0, 0.0), (2.0, 1e9, -0.2)]
    gain = sum((x.clamp_max(high) - low).clamp_min(0) * (y - level).clamp_min(0) for low, high, level in strips)
    assert float(found) == pytest.approx(float(gain.mean()), rel=0.01)


def lines(seed, k=5, m=40):
    """Leading rows and points of two worlds, with what an outcome would teach of them; some lines are parallel."""
    generator = torch.Generator().manual_seed(seed)
    leaders, own, mean, others = (
        torch.randn(*size, generator=generator, dtype=torch.float64) for size in ((2, k), (2, m), (2, m), (2, k, m))
    )
    others[:, 1] = others[:, 0]
    others[:, :, 0] = own[:, None, 0]
    leaders[:, 3] = leaders[:, 2]
    return mean, own, leaders, others


@pytest.mark.parametrize("seed", range(5))
def test_the_rise_of_the_best_of_many_lines_is_its_mean_over_the_normal(seed):
    mean, own, leaders, others = lines(seed)
    z = torch.special.ndtri((torch.arange(100_000, dtype=torch.float64) + 0.5) / 100_000)
    rows = (leaders[:, :, None, None] + others[..., None] * z).amax(1)
    best = torch.maximum(rows, mean[..., None] + own[..., None] * z).mean(-1)
    found = acquisition.log_rise(mean, own, leaders, others).exp()
    torch.testing.assert_close(found, best - leaders.amax(-1, keepdim=True), atol=1e-5, rtol=1e-5)


def test_the_rise_over_a_row_that_stays_where_it_is_is_expected_improvement_far_into_the_tail():
    mean = torch.linspace(-300, 3, 50, dtype=torch.float64)[None]
    own = torch.full_like(mean, 0.7)
    leaders = torch.tensor([[0.2, -1.0]], dtype=torch.float64)
    found = acquisition.log_rise(mean, own, leaders, torch.zeros(1, 2, 50, dtype=torch.float64))
    torch.testing.assert_close(found, acquisition.log_excess(mean, own, leaders[:, :1]))


def test_what_teaches_nothing_is_worth_nothing_and_has_a_finite_gradient():
    mean, own, leaders, others = lines(0)
    mean = (mean - 10).requires_grad_()
    found = acquisition.log_rise(mean, own, leaders, own[:, None].expand_as(others))
    assert (found < -1e90).all()
    (gradient,) = torch.autograd.grad(found.sum(), mean)
    assert gradient.isfinite().all()


def test_the_rise_has_the_gradient_of_its_differences():
    mean, own, leaders, others = lines(1, m=6)
    others[:, 1] += 0.1  # parallel lines have no derivative where they meet
    others[:, :, 0] += torch.randn(2, 5, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    given = tuple(one.clone().requires_grad_() for one in (mean, own, others))
    assert torch.autograd.gradcheck(lambda mean, own, others: acquisition.log_rise(mean, own, leaders, others), given)
