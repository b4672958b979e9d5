"""The worlds as a BoTorch model: its moments against sampling and by hand, and BoTorch's acquisition functions."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qKnowledgeGradient,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.max_value_entropy_search import qLowerBoundMaxValueEntropy, qMaxValueEntropy
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.acquisition.predictive_entropy_search import qPredictiveEntropySearch
from botorch.acquisition.thompson_sampling import PathwiseThompsonSampling
from botorch.generation import MaxPosteriorSampling
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import IIDNormalSampler, SobolQMCNormalSampler
from botorch.sampling.pathwise import draw_kernel_feature_paths
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.means import ZeroMean
from torch import Size

import bomi
from bomi.errors import MethodError
from bomi.impute.completed import Completed
from bomi.integrations.botorch import WorldsModel
from bomi.model import fitting
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.kernels import SquaredExponential, cross
from bomi.model.mixture import Mixture, MixturePosterior

SPACE = {"x": (0, 10), "y": (-1, 1)}


def peak(x, y):
    return np.exp(-((x - 6) ** 2) / 4 - 4 * (y - 0.2) ** 2)


@pytest.fixture(scope="module")
def optimizer():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": 10 * rng.random(14), "y": 2 * rng.random(14) - 1})
    frame["f"] = peak(frame["x"], frame["y"])
    frame.loc[[3, 7], "x"] = None
    frame.loc[[5], "y"] = None
    made = bomi.Optimizer(SPACE, objective="f", seed=0)
    made.tell(frame)
    return made


@pytest.fixture(scope="module")
def model(optimizer):
    return WorldsModel(optimizer)


def points(*shape, seed=0):
    return torch.rand(*shape, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_mean_and_variance_follow_the_law_of_total_variance(model, optimizer):
    X = points(6, 1)
    posterior = model.posterior(X)
    means, variances = model.worlds.moments(X.squeeze(-2))  # (Q, 6), each world by itself
    assert len(means) > 1
    assert posterior.mean.shape == posterior.variance.shape == (6, 1, 1)
    torch.testing.assert_close(posterior.mean.flatten(), means.mean(0))
    torch.testing.assert_close(
        posterior.variance.flatten(), variances.mean(0) + means.var(0, correction=0), rtol=1e-6, atol=1e-9
    )
    assert (posterior.variance.flatten() > variances.mean(0)).all()  # more than the average of the members


@pytest.mark.parametrize("name", [name for name in bomi.METHODS if name != "random"])
def test_every_method_that_learns_is_a_model_that_predicts_as_its_optimizer_does(name, optimizer):
    told = bomi.Optimizer(SPACE, objective="f", method=name, seed=0)
    told.tell(optimizer.frame())
    model, X = WorldsModel(told), points(5)
    posterior = model.posterior(X)
    mean, sd = told.expected(X.numpy())
    middle, half = told.learned()[1].to_prediction(posterior.mean.flatten(), posterior.variance.flatten().sqrt())
    np.testing.assert_allclose(middle.detach().numpy(), mean, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(half.detach().numpy(), sd, rtol=1e-4, atol=1e-6)
    assert model.bounds.shape == (2, 2)
    assert model.baseline.shape[1] == 2
    acquisition = qLogExpectedImprovement(model, best_f=model.best_f, sampler=SobolQMCNormalSampler(Size([16]), seed=0))
    assert acquisition(points(3, 2)).isfinite().all()


@pytest.mark.parametrize("sampler", [SobolQMCNormalSampler, IIDNormalSampler])
def test_samples_have_the_moments_of_the_mixture_and_its_law(sampler):
    means = torch.tensor([[-3.0, 0.0], [1.0, 2.0], [2.0, -1.0]], dtype=torch.float64)
    covariances = torch.tensor([[[1.0, 0.5], [0.5, 2.0]]] * 2 + [[[0.1, 0.0], [0.0, 0.3]]], dtype=torch.float64)
    weights = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    posterior = MixturePosterior(means, covariances, weights)
    samples = sampler(Size([2**16]), seed=0)(posterior).squeeze(-1)  # (s, 2)
    mean = weights @ means
    apart = means - mean
    covariance = (weights[:, None, None] * (covariances + apart[:, :, None] * apart[:, None, :])).sum(0)
    torch.testing.assert_close(posterior.mean.squeeze(-1), mean)
    torch.testing.assert_close(posterior.variance.squeeze(-1), covariance.diagonal())
    torch.testing.assert_close(samples.mean(0), mean, atol=0.03, rtol=0)
    torch.testing.assert_close(samples.T.cov(), covariance, atol=0.06, rtol=0)
    for threshold in (-2.0, 0.0, 1.5):  # not a Gaussian's: P(f_1 < c) is that of the three
        by_hand = sum(
            w * 0.5 * math.erfc(-(threshold - m) / math.sqrt(2 * c))
            for w, m, c in zip(weights, means[:, 0], covariances[:, 0, 0], strict=True)
        )
        assert float((samples[:, 0] < threshold).double().mean()) == pytest.approx(float(by_hand), abs=0.01)


def test_direct_samples_of_the_optimizers_model_agree_with_its_moments(model):
    X = points(3, 2)
    torch.manual_seed(0)
    samples = model.posterior(X).rsample(Size([40000]))
    posterior = model.posterior(X)
    assert samples.shape == (40000, 3, 2, 1)
    error = posterior.variance.sqrt() / 200
    assert ((samples.mean(0) - posterior.mean).abs() < 5 * error).all()
    torch.testing.assert_close(samples.var(0), posterior.variance, rtol=0.06, atol=0)


def one_world():
    """A model of one world, and BoTorch's own process with the same parameters."""
    X = points(9)
    y = torch.sin(5 * X.sum(-1))
    worlds = fitting.fit(X[None], y, kernel=SquaredExponential())
    pair = torch.tensor([[[0.0, 0.0], [0.3, 0.0]]], dtype=torch.float64)
    K = cross(worlds.kernel, worlds.theta, pair, pair)[0]  # k(r) = s exp(-r^2 / 2 l^2)
    theirs = SingleTaskGP(
        X,
        y[:, None],
        worlds.noise.exp().expand(9, 1).clone(),
        mean_module=ZeroMean(),
        outcome_transform=None,
        covar_module=ScaleKernel(RBFKernel()).double(),
    )
    theirs.covar_module.outputscale = K[0, 0]
    theirs.covar_module.base_kernel.lengthscale = 0.3 / torch.sqrt(-2 * torch.log(K[0, 1] / K[0, 0]))
    return Mixture(worlds), theirs.eval()


def test_one_world_is_what_botorchs_own_process_with_the_same_parameters_says():
    model, theirs = one_world()
    new = points(5, seed=1)
    with torch.no_grad():
        ours, expected = model.posterior(new), theirs.posterior(new)
    torch.testing.assert_close(ours.mean, expected.mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(ours.variance, expected.variance, rtol=1e-4, atol=1e-7)


ACQUISITIONS = {
    "LogEI": lambda model: LogExpectedImprovement(model, best_f=model.best_f),
    "UCB": lambda model: UpperConfidenceBound(model, beta=2.0),
    "mean": lambda model: PosteriorMean(model),
    "qLogEI": lambda model: qLogExpectedImprovement(
        model, best_f=model.best_f, sampler=SobolQMCNormalSampler(Size([64]), seed=0)
    ),
    "qLogNEI": lambda model: qLogNoisyExpectedImprovement(
        model, model.baseline, sampler=SobolQMCNormalSampler(Size([64]), seed=0)
    ),
    "qUCB": lambda model: qUpperConfidenceBound(model, beta=2.0, sampler=SobolQMCNormalSampler(Size([64]), seed=0)),
}
LOOKAHEAD = {"qKG": lambda model: qKnowledgeGradient(model, num_fantasies=4)}


@pytest.mark.parametrize("name", [*ACQUISITIONS, *LOOKAHEAD])
def test_acquisitions_are_optimized_on_it(name, model, optimizer):
    torch.manual_seed(0)
    acquisition = {**ACQUISITIONS, **LOOKAHEAD}[name](model)
    q = 1 if name in ("LogEI", "UCB", "mean", "qKG") else 2
    place, value = optimize_acqf(acquisition, model.bounds, q=q, num_restarts=2, raw_samples=32)
    assert place.shape == (q, 2)
    assert ((place >= 0) & (place <= 1)).all()
    assert torch.isfinite(value).all()
    if name != "qKG":
        assert value >= acquisition(points(128, q)).max() - 0.05
    settings = [optimizer.space.setting(one.numpy()) for one in place]
    assert all(0 <= setting["x"] <= 10 for setting in settings)


def test_pending_points_lower_what_is_gained_beside_them(model):
    def gain(pending):
        sampler = SobolQMCNormalSampler(Size([64]), seed=0)
        return qLogExpectedImprovement(model, best_f=model.best_f, sampler=sampler, X_pending=pending)

    here = points(1, 1, seed=3)
    torch.testing.assert_close(gain(here[0])(here + 1e-3), gain(None)(here), atol=0.05, rtol=0)  # adds nothing


def test_the_best_mean_is_where_the_peak_is(model, optimizer):
    place, _ = optimize_acqf(PosteriorMean(model), model.bounds, q=1, num_restarts=3, raw_samples=64)
    setting = optimizer.space.setting(place[0].numpy())
    assert setting["x"] == pytest.approx(6, abs=1)
    assert setting["y"] == pytest.approx(0.2, abs=0.25)


@pytest.mark.parametrize("name", [*ACQUISITIONS, *LOOKAHEAD])
def test_gradients_are_those_of_finite_differences(name, model):
    acquisition = {**ACQUISITIONS, **LOOKAHEAD}[name](model)
    q = 1 if name in ("LogEI", "UCB", "mean") else 2 if name != "qKG" else 1 + 4
    X = (0.2 + 0.6 * points(1, q, seed=5)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: acquisition(x), (X,), eps=1e-6, atol=1e-4, rtol=1e-3)


def test_monte_carlo_and_analytic_improvement_agree_in_one_world():
    X = points(8)
    model = WorldsModel(Completed(X[None], torch.sin(6 * X.sum(-1))))
    sampler = SobolQMCNormalSampler(Size([4096]), seed=0)
    new = points(20, 1, seed=2)
    analytic = LogExpectedImprovement(model, best_f=0.5)(new)
    sampled = qLogExpectedImprovement(model, best_f=0.5, sampler=sampler)(new)
    far = analytic > -6  # below, too few samples improve
    torch.testing.assert_close(sampled[far], analytic[far], atol=0.1, rtol=0)


def test_monte_carlo_improvement_is_the_mean_over_worlds(model):
    """Sampling keeps the mixture: E max(f - best, 0) is the average of the worlds' own closed forms."""
    new = points(12, 1, seed=2)
    means, variances = model.worlds.moments(new.squeeze(-2))
    best = model.best_f
    normal = torch.distributions.Normal(0.0, 1.0)
    z = (means - best) / variances.sqrt()
    each = (means - best) * normal.cdf(z) + variances.sqrt() * normal.log_prob(z).exp()
    sampler = SobolQMCNormalSampler(Size([2**14]), seed=0)
    sampled = sampler(model.posterior(new)).squeeze((-1, -2)).sub(best).clamp_min(0).mean(0)
    torch.testing.assert_close(sampled, each.mean(0), atol=2e-3, rtol=0.05)


def test_conditioning_is_bayes_rule_for_processes_and_weights():
    X, y = points(6), torch.cos(4 * points(6).sum(-1))
    inputs = torch.stack([X, points(6, seed=7)])  # two worlds
    worlds = fitting.fit(inputs, y)
    new, seen, outcome = points(3, seed=8), points(2, seed=9), torch.tensor([[0.3], [-0.2]], dtype=torch.float64)
    found = (
        Mixture(worlds)
        .condition_on_observations(seen[:1], outcome[:1])
        .condition_on_observations(seen[1:], outcome[1:])
    )
    told = GaussianProcess(  # each world as if the rows had been in its table
        torch.cat([inputs, seen.expand(2, -1, -1)], 1),
        torch.cat([y, outcome[:, 0]]),
        worlds.theta,
        worlds.noise,
        kernel=worlds.kernel,
    )
    means, variances = told.moments(new)
    before = worlds.posterior(seen).distribution
    noisy = before.covariance_matrix + torch.diag_embed(worlds.noise.exp()[:, None].expand(2, 2))
    evidence = torch.distributions.MultivariateNormal(before.mean, noisy).log_prob(outcome[:, 0])
    weights = evidence.softmax(0)
    posterior = found.posterior(new)
    torch.testing.assert_close(posterior.mean.flatten(), weights @ means, rtol=1e-5, atol=1e-7)
    spread = weights @ (variances + (means - weights @ means) ** 2)
    torch.testing.assert_close(posterior.variance.flatten(), spread, rtol=1e-4, atol=1e-8)
    assert found.batch_shape == ()


def test_outcomes_convert_to_targets_and_back_for_either_goal():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(12)})
    frame["f"] = np.exp(8 * frame["x"])  # a heavy tail, which is warped
    up, down = (
        bomi.Optimizer({"x": (0, 1)}, objective="f", seed=0),
        bomi.Optimizer({"x": (0, 1)}, objective="f", goal="minimize", seed=0),
    )
    up.tell(frame)
    down.tell(frame)
    for optimizer, better in ((up, torch.gt), (down, torch.lt)):
        model = WorldsModel(optimizer)
        outcomes = torch.tensor(frame["f"].to_numpy())
        targets = model.to_targets(outcomes)
        torch.testing.assert_close(model.to_outcomes(targets), outcomes)
        torch.testing.assert_close(targets, model.worlds.targets[0])
        order = targets.argsort()
        assert better(outcomes[order][1:], outcomes[order][:-1]).all()  # a larger target is a better outcome


def test_an_optimizer_without_a_model_or_something_else_is_refused():
    with pytest.raises(MethodError, match="has no model of these rows"):
        WorldsModel(bomi.Optimizer({"x": (0, 1)}))
    with pytest.raises(MethodError, match="takes an Optimizer or Completed worlds, but got dict"):
        WorldsModel({})


@pytest.mark.parametrize("name", list(ACQUISITIONS))
def test_an_optimizer_takes_a_botorch_acquisition(name, optimizer):
    chosen = bomi.Optimizer(SPACE, objective="f", seed=0, acquisition=ACQUISITIONS[name])
    chosen.tell(optimizer.frame())
    suggestion = chosen.ask()
    # By exhaustion: no point of a fine grid scores better in the same model.
    score = ACQUISITIONS[name](Mixture(chosen.learned()[0]))
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 21, dtype=torch.float64)] * 2)
    place = torch.from_numpy(chosen.space.to_unit(suggestion))
    with torch.no_grad():
        assert score(place[None, None]) >= score(grid[:, None]).max() - 0.02
    again = bomi.Optimizer(SPACE, objective="f", seed=0, acquisition=ACQUISITIONS[name])
    again.tell(optimizer.frame())
    assert dict(again.ask()) == dict(suggestion)


def test_a_batch_with_a_botorch_acquisition_stays_away_from_what_is_pending(optimizer):
    chosen = bomi.Optimizer(SPACE, objective="f", seed=0, acquisition=ACQUISITIONS["LogEI"])
    chosen.tell(optimizer.frame())
    first, second = (chosen.space.to_unit(suggestion) for suggestion in chosen.ask(2))
    assert np.abs(first - second).max() > 1e-3


def test_randomness_without_a_seed_is_reproducible_and_leaves_torchs_global_state_alone(optimizer):
    def unseeded(model):
        return qUpperConfidenceBound(model, beta=2.0)

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    asked = []
    for _ in range(2):
        chosen = bomi.Optimizer(SPACE, objective="f", seed=0, acquisition=unseeded)
        chosen.tell(optimizer.frame())
        asked.append(dict(chosen.ask()))
    assert asked[0] == asked[1]
    assert torch.equal(torch.rand(3), expected)


def test_something_that_is_not_an_acquisition_function_is_refused(optimizer):
    with pytest.raises(MethodError, match=r"must be one of ei, ucb-mi, an Acquisition, or a function .* but got 3"):
        bomi.Optimizer(SPACE, objective="f", acquisition=3)
    for factory, message in (
        (lambda model: None, "must make one of BoTorch's acquisition functions, but it made None"),
        (LOOKAHEAD["qKG"], "qKnowledgeGradient looks for several points at once; optimize it by .* optimize_acqf"),
    ):
        chosen = bomi.Optimizer(SPACE, objective="f", seed=0, acquisition=factory)
        chosen.tell(optimizer.frame())
        with pytest.raises(MethodError, match=message):
            chosen.ask()


# --- the rest of BoTorch ---


def test_a_quantile_is_where_the_mixtures_distribution_function_reaches_it():
    means = torch.tensor([[-3.0, 0.0], [1.0, 2.0], [2.0, -1.0]], dtype=torch.float64)
    sds = torch.tensor([[1.0, 0.3], [0.5, 2.0], [0.1, 0.3]], dtype=torch.float64)
    weights = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    posterior = MixturePosterior(means, torch.diag_embed(sds.square()), weights)
    levels = torch.tensor([0.01, 0.2, 0.5, 0.95], dtype=torch.float64)
    found = posterior.quantile(levels)
    assert found.shape == (4, 2, 1)
    reached = (weights[:, None] * torch.special.ndtr((found.squeeze(-1)[:, None] - means) / sds)).sum(1)
    torch.testing.assert_close(reached, levels[:, None].expand(4, 2))
    places = torch.linspace(-12, 12, 4001, dtype=torch.float64)
    density = posterior.density(places).squeeze(-1)
    torch.testing.assert_close(torch.trapezoid(density, places, dim=0), torch.ones(2, dtype=torch.float64))
    torch.testing.assert_close(
        torch.trapezoid(density * places[:, None], places, dim=0), weights @ means, rtol=1e-5, atol=1e-6
    )


def test_the_noise_of_further_observations_counts():
    ours, theirs = one_world()
    X, Y, at = points(3, seed=1), torch.tensor([[0.3], [0.9], [-0.5]], dtype=torch.float64), points(4, seed=2)
    theirs.posterior(at)  # BoTorch conditions only what has been looked at
    before = ours.posterior(at).variance
    for noise in (1e-4, 0.5):
        variance = torch.full_like(Y, noise)
        mine = ours.condition_on_observations(X, Y, noise=variance).posterior(at)
        known = theirs.condition_on_observations(X, Y, noise=variance).posterior(at)
        torch.testing.assert_close(mine.mean, known.mean, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(mine.variance, known.variance, rtol=1e-4, atol=1e-5)
    large = ours.condition_on_observations(X, Y, noise=torch.full_like(Y, 1e6))
    torch.testing.assert_close(large.posterior(at).variance, before, rtol=1e-4, atol=1e-6)
    twice = large.condition_on_observations(X, Y, noise=torch.full_like(Y, 0.5))
    torch.testing.assert_close(twice.posterior(at).mean, mine.mean, rtol=1e-3, atol=1e-4)


def test_fantasies_have_the_noise_that_they_are_given():
    ours, _ = one_world()
    X, sampler = points(2, 1, seed=3), SobolQMCNormalSampler(Size([512]), seed=0)
    quiet, loud = (
        ours.fantasize(X, sampler, observation_noise=torch.full((2, 1, 1), noise, dtype=torch.float64))
        for noise in (1e-6, 4.0)
    )
    own = ours.fantasize(X, sampler)
    spread = ours.posterior(X).variance
    for fantasy, noise in ((quiet, 1e-6), (loud, 4.0), (own, float(ours.worlds.noise.exp()))):
        torch.testing.assert_close(fantasy.Y.var(0), spread + noise, rtol=0.05, atol=1e-3)
    assert (loud.posterior(X).variance > 10 * quiet.posterior(X).variance).all()


def test_an_affine_transform_of_the_posterior_is_one_of_every_world(model):
    X = points(3, 2)
    plain = model.posterior(X)
    moved = model.posterior(X, posterior_transform=ScalarizedPosteriorTransform(torch.tensor([-2.0]).double(), 5.0))
    torch.testing.assert_close(moved.mean, 5 - 2 * plain.mean)
    torch.testing.assert_close(moved.variance, 4 * plain.variance)
    lower = LogExpectedImprovement(
        model, best_f=0.0, posterior_transform=ScalarizedPosteriorTransform(torch.tensor([-1.0]).double())
    )
    torch.testing.assert_close(
        lower(X[:, :1]), LogExpectedImprovement(model, best_f=0.0, maximize=False)(X[:, :1]), rtol=1e-6, atol=1e-8
    )


def test_a_subset_of_one_outcome_is_the_model(model):
    assert model.subset_output([0]) is model
    with pytest.raises(MethodError, match="one outcome, of index 0"):
        model.subset_output([1])


def test_the_lower_bound_of_entropy_search_works(model):
    acquisition = qLowerBoundMaxValueEntropy(model, points(64), num_mv_samples=8)
    assert acquisition(points(3, 1)).isfinite().all()


@pytest.mark.parametrize(
    ("use", "instead"),
    [
        (lambda model: qMaxValueEntropy(model, points(64))(points(3, 1)), "qLowerBoundMaxValueEntropy"),
        (lambda model: qPredictiveEntropySearch(model, points(4)), "qLowerBoundMaxValueEntropy"),
        (lambda model: PathwiseThompsonSampling(model)(points(3, 1)), "MaxPosteriorSampling"),
        (lambda model: draw_kernel_feature_paths(model, torch.Size([2])), "MaxPosteriorSampling"),
        (lambda model: model.posterior(points(3, 2)).mvn, "mean and variance or samples"),
    ],
    ids=["qMES", "qPES", "pathwise", "prior paths", "mvn"],
)
def test_what_a_mixture_cannot_do_says_what_can(model, use, instead):
    with pytest.raises(MethodError, match=instead):
        use(model)


def test_thompson_samples_are_drawn_among_points(model):
    chosen = MaxPosteriorSampling(model)(points(64), num_samples=3)
    assert chosen.shape == (3, 2)
