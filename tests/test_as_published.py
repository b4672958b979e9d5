"""The settings that are the authors' program's, on the same numbers as a few lines of our own that do what it does."""

import math
from dataclasses import replace

import gpytorch
import numpy as np
import pytest
import torch
from sklearn.impute import KNNImputer
from sklearn.neighbors import KernelDensity

import bomi
from bomi import BomiError, method
from bomi.benchmarks.experiments import DIFFERENCES, PAPER_METHODS, experiment
from bomi.benchmarks.missingness import Events, HistoryGaps
from bomi.benchmarks.results import described
from bomi.benchmarks.runner import run
from bomi.benchmarks.scores import KEPT, SEEN, final
from bomi.errors import BenchmarkError
from bomi.impute import matrix_factorization as bpmf
from bomi.impute.distributions import Distributions
from bomi.impute.neighbors import Neighbors
from bomi.impute.simple import Mean, Mode
from bomi.impute.table import Table
from bomi.learning import draw_seed
from bomi.methods import settings_of
from bomi.model.fitting import fit_by_adam
from bomi.model.surrogates import DistributionGP
from bomi.model.uncertain_inputs import log_density
from bomi.search.criteria import UpperConfidenceBound
from bomi.search.outlook import Outlook

ALL = {name: {k: v for one in DIFFERENCES.values() for k, v in one.get(name, {}).items()} for name in PAPER_METHODS}


def random(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# --- the fit: GPyTorch's own process and torch's Adam, from GPyTorch's own start ---


class Process(gpytorch.models.ExactGP):
    def __init__(self, X, y, likelihood):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def gpytorch_fit(X, y):
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Process(X, y, likelihood).double()
    assert model.covar_module.base_kernel.lengthscale.item() == pytest.approx(math.log(2))
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    model.train()
    likelihood.train()
    adam = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(50):
        adam.zero_grad()
        (-evidence(model(X), y)).backward()
        adam.step()
    model.eval()
    likelihood.eval()
    return model


def gpytorch_moments(model, points):
    with torch.no_grad(), gpytorch.settings.fast_pred_var(False):
        found = model(points)
        return found.mean, found.variance


def test_fifty_steps_of_adam_are_gpytorchs():
    worlds, y, points = random(3, 25, 4), random(25, seed=1), random(40, 4, seed=2)
    ours = fit_by_adam(worlds, y)
    means, variances = ours.moments(points)
    for q, X in enumerate(worlds):
        theirs = gpytorch_fit(X, y)
        kernel = theirs.covar_module
        found = [kernel.outputscale.item(), kernel.base_kernel.lengthscale.item(), theirs.likelihood.noise.item()]
        np.testing.assert_allclose(ours.hyper[q].exp(), found, rtol=1e-5)
        mean, variance = gpytorch_moments(theirs, points)
        torch.testing.assert_close(means[q], mean, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(variances[q], variance, rtol=1e-4, atol=1e-6)


# --- the score ---


def exploration(t, d, delta=0.1):
    first = 2 * np.log(t**2 * np.pi**2 / (3 * delta))
    return 0.2 * np.sqrt(first + 2 * d * np.log(t**2 * d * np.sqrt(np.log(4 * d / delta))))


def test_ucb_mi_adds_the_variance_and_the_deviation_of_a_population():
    model, points = fit_by_adam(random(5, 12, 3), random(12, seed=1)), random(30, 3, seed=2)
    mean, variance = (part.numpy() for part in model.moments(points))
    B = exploration(7, 3)
    each = mean + B * variance
    expected = np.mean(each, axis=0) + B * np.std(each, axis=0)
    criterion = UpperConfidenceBound(spread="variance", correction=0, union=1.0)
    score = criterion.score(Outlook.of([model], [None], model.inputs, None), t=7, parameters=3)
    np.testing.assert_allclose(score(points), expected, rtol=1e-9)


# --- the factorization, from the same random numbers ---


def normal_wishart(mean, beta, W_inverse, nu, generator):
    """Lambda ~ Wishart(W, nu) by Bartlett's A, mu ~ N(mean, (beta Lambda)^-1)."""
    K = len(mean)
    half = torch.tensor([(nu - k) / 2 for k in range(K)], dtype=torch.float64)
    chi = (2 * torch._standard_gamma(half, generator=generator)).sqrt().numpy()
    below = torch.randn(K, K, generator=generator, dtype=torch.float64).numpy()
    A = np.tril(below, -1) + np.diag(chi)
    inverse_root = np.linalg.inv(np.linalg.cholesky(W_inverse)).T  # its square is W
    Lambda = inverse_root @ A @ A.T @ inverse_root.T
    z = torch.randn(K, generator=generator, dtype=torch.float64).numpy()
    mu = mean + np.linalg.inv(inverse_root @ A).T @ z / np.sqrt(beta)
    return mu, Lambda


def hyper_of_program(Z, rows, generator, beta_0=2):
    """Its slips: divided by the number of rows for rows and columns alike, and scatter about 0."""
    K = Z.shape[1]
    average, scatter = Z.sum(0) / rows, Z.T @ Z / rows
    W_inverse = np.eye(K) + rows * scatter + beta_0 * rows / (beta_0 + rows) * np.outer(average, average)
    return normal_wishart(rows * average / (beta_0 + rows), beta_0 + rows, W_inverse, K + rows, generator)


def factors_of_program(other, mu, Lambda, R, observed, alpha, generator):
    n, K = len(R), len(mu)
    z = torch.randn(1, n, K, 1, generator=generator, dtype=torch.float64).numpy()[0, :, :, 0]
    found = np.empty((n, K))
    for i in range(n):
        seen = other[observed[i]]
        precision = Lambda + alpha * seen.T @ seen
        mean = np.linalg.solve(precision, alpha * seen.T @ R[i, observed[i]] + Lambda @ mu)
        found[i] = mean + np.linalg.inv(np.linalg.cholesky(precision)).T @ z[i]
    return found


def test_a_sweep_of_the_factorization_is_the_programs():
    R = random(9, 4).numpy()
    observed = random(9, 4, seed=1).numpy() > 0.2
    prior = bpmf.Prior(rank=3, scatter="raw")
    start = bpmf.State(random(1, 9, 3, seed=2), random(1, 4, 3, seed=3), None, None)
    ours = bpmf.step(
        start, torch.from_numpy(R)[None], torch.from_numpy(observed)[None], prior, torch.Generator().manual_seed(4)
    )
    generator = torch.Generator().manual_seed(4)
    mu_U, Lambda_U = hyper_of_program(start.U[0].numpy(), 9, generator)
    mu_V, Lambda_V = hyper_of_program(start.V[0].numpy(), 9, generator)
    U = factors_of_program(start.V[0].numpy(), mu_U, Lambda_U, R, observed, 100, generator)
    V = factors_of_program(U, mu_V, Lambda_V, R.T, observed.T, 100, generator)
    np.testing.assert_allclose(ours.row_hyper.Lambda[0], Lambda_U, rtol=1e-8)
    np.testing.assert_allclose(ours.column_hyper.mu[0], mu_V, rtol=1e-8)
    np.testing.assert_allclose(ours.U[0], U, rtol=1e-7)
    np.testing.assert_allclose(ours.V[0], V, rtol=1e-7)


def gappy(n=8, d=3, seed=0):
    X = random(n, d, seed=seed)
    X[torch.arange(0, n, 2), torch.arange(0, n, 2) % d] = math.nan
    space = bomi.Space({f"x{j}": (0, 1) for j in range(d)})
    return Table(space, X, torch.full_like(X, math.nan), random(n, seed=seed + 1))


def test_the_tables_of_the_program_go_on_from_one_chain_without_noise():
    table, prior = gappy(), bpmf.Prior(rank=15, scatter="raw")
    R = torch.cat([table.inputs, table.targets[:, None]], -1)
    found = method("bomi", worlds=3, scatter="raw", draws="product").filler(table, torch.Generator().manual_seed(5))
    generator = torch.Generator().manual_seed(5)
    last = bpmf.run_chains(R, chains=1, prior=prior, sweeps=40, generator=generator)
    known, alpha = ~R.isnan().numpy(), 100
    hyper = [part[0].numpy() for part in (last.row_hyper.mu, last.row_hyper.Lambda)]
    columns = [part[0].numpy() for part in (last.column_hyper.mu, last.column_hyper.Lambda)]
    z_U, z_V = (torch.randn(3, n, 15, 1, generator=generator, dtype=torch.float64) for n in (len(R), R.shape[1]))
    numbers = np.nan_to_num(R.numpy())
    for q in range(3):
        U = given(last.V[0].numpy(), *hyper, numbers, known, alpha, z_U[q, :, :, 0].numpy())
        V = given(U, *columns, numbers.T, known.T, alpha, z_V[q, :, :, 0].numpy())
        expected = np.where(known, numbers, np.clip(U @ V.T, 0, 1))[:, :3]
        np.testing.assert_allclose(found.inputs[q], expected, rtol=1e-6, atol=1e-9)


def given(other, mu, Lambda, R, observed, alpha, z):
    found = np.empty((len(R), len(mu)))
    for i, seen in enumerate(observed):
        precision = Lambda + alpha * other[seen].T @ other[seen]
        mean = np.linalg.solve(precision, alpha * other[seen].T @ R[i, seen] + Lambda @ mu)
        found[i] = mean + np.linalg.solve(np.linalg.cholesky(precision).T, z[i])
    return found


def test_the_one_table_of_imputation_bpmf_is_an_average_in_place_of_all_cells():
    table, prior = gappy(), bpmf.Prior(rank=15, scatter="raw")
    R = torch.cat([table.inputs, table.targets[:, None]], -1)[None]
    found = method("bpmf", scatter="raw", draws="average").filler(table, torch.Generator().manual_seed(6))
    generator = torch.Generator().manual_seed(6)
    state = bpmf.init(R, ~R.isnan(), prior, generator)
    products = []
    for _ in range(40):
        state = bpmf.step(state, R, ~R.isnan(), prior, generator)
        products.append((state.U @ state.V.mT).clamp(0, 1))
    expected = torch.stack(products[1:]).mean(0)[0]
    torch.testing.assert_close(found.inputs[0], expected[:, :3])
    torch.testing.assert_close(found.targets, expected[:, 3])
    assert not torch.equal(found.inputs[0][1], table.inputs[1])  # a complete row


# --- how the baselines fill ---


def test_mean_counts_a_gap_as_minus_one():
    table = gappy()
    marked = np.nan_to_num(table.inputs.numpy(), nan=-1.0)
    found = Mean(marker=-1.0)(table, torch.Generator()).inputs[0].numpy()
    gaps = table.inputs.isnan().numpy()
    np.testing.assert_allclose(found[gaps], np.broadcast_to(marked.mean(0).clip(0, 1), gaps.shape)[gaps])
    np.testing.assert_array_equal(found[~gaps], table.inputs.numpy()[~gaps])


def test_mode_of_values_is_the_smallest_where_all_are_different():
    table = gappy()
    found, gaps = Mode(of="values")(table, torch.Generator()).inputs[0].numpy(), table.inputs.isnan().numpy()
    least = np.nanmin(table.inputs.numpy(), axis=0)
    np.testing.assert_array_equal(found[gaps], np.broadcast_to(least, gaps.shape)[gaps])


def test_neighbours_in_the_table_are_those_with_the_outcome():
    table = gappy(n=20)
    R = torch.cat([table.inputs, table.targets[:, None]], -1).numpy()
    expected = KNNImputer(n_neighbors=3).fit_transform(R)[:, :3]
    found = Neighbors(3, near="table")(table, torch.Generator()).inputs[0].numpy()
    np.testing.assert_allclose(found, expected)
    assert not np.allclose(Neighbors(3)(table, torch.Generator()).inputs[0].numpy(), expected)


def test_the_density_is_scikit_learns():
    rows, points = random(12, 3), random(7, 3, seed=1)
    expected = KernelDensity(bandwidth=1.0).fit(rows).score_samples(points)
    np.testing.assert_allclose(log_density(points, rows)[:, 0], expected)


def test_ugp_learns_from_the_density_of_the_rows_it_keeps():
    table = gappy()
    asked = table.asked.clone()
    asked[0] = 0.5  # so the gap of the first row was asked for
    completed = Distributions(blanks="drop")(replace(table, asked=asked), torch.Generator())
    assert completed.rows.tolist() == [0, 1, 3, 5, 7]
    model = DistributionGP(fit="adam", over="density")(completed, table.space)
    rows = completed.inputs[0]
    assert rows[0, 0] == 0.5
    points = random(9, 3, seed=3)
    assert torch.equal(model.means(points), model.moments(points)[0])
    density = KernelDensity(bandwidth=1.0).fit(rows)
    X, x = (torch.from_numpy(density.score_samples(part))[:, None] for part in (rows, points))
    mean, variance = gpytorch_moments(gpytorch_fit(X, completed.targets), x)
    found = model.moments(points)
    torch.testing.assert_close(found[0][0], mean, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(found[1][0], variance, rtol=1e-3, atol=1e-6)


# --- all of it ---


def test_a_suggestion_is_the_best_of_ten_thousand_random_points():
    """The whole way: scaled to [0, 1], fitted, scored, and the best point taken."""
    rng = np.random.default_rng(0)
    optimizer = bomi.Optimizer({"a": (0, 10), "b": (-1, 1)}, method=method("suggest", **ALL["suggest"]), seed=3)
    X, y = rng.uniform(size=(12, 2)), rng.normal(size=12)
    for row, outcome in zip(X, y, strict=True):
        optimizer.tell({"a": 10 * row[0], "b": 2 * row[1] - 1}, outcome)
    model = gpytorch_fit(torch.from_numpy(X), torch.from_numpy((y - y.min()) / (y.max() - y.min())))
    points = np.random.default_rng(draw_seed(3, 12)).uniform(size=(10_000, 2))
    mean, variance = (part.numpy() for part in gpytorch_moments(model, torch.from_numpy(points)))
    best = points[np.argmax(mean + exploration(1, 2) * variance)]
    found = optimizer.ask()
    assert [found["a"], found["b"]] == pytest.approx([10 * best[0], 2 * best[1] - 1], rel=1e-3)


@pytest.mark.parametrize("name", PAPER_METHODS)
def test_every_method_runs_as_published(name):
    found = run("eggholder", method(name, **ALL[name]), budget=2, seed=0)
    assert len(found.best) == 3


def test_as_published_is_all_differences_and_each_can_be_turned_on_alone():
    text, published = experiment("performance"), experiment("performance", differences=tuple(DIFFERENCES))
    by_label = {one.label: one.method for one in published.methods}
    for name in PAPER_METHODS:
        assert by_label[name] == method(name, **ALL[name])
        assert by_label[name] != method(name)
    assert by_label["posterior"] == method("posterior")
    assert described(by_label["oracle"]) == described(method("posterior"))
    alone = experiment("performance", differences=("fit",))
    assert {one.label: one.method for one in alone.methods}["bomi"] == method("bomi", fit="adam")
    assert alone.cases == text.cases
    assert "as published" in published.title
    assert "fit" in alone.title


def test_the_program_s_events_and_initial_data():
    cases = {case.label: case for case in experiment("performance", differences=("events", "initial")).cases}
    assert cases["eggholder2d"].missing == Events(0.25, 0.05, kind="per-coordinate")
    assert cases["alpine5d"].missing == Events(0.25, 0.05, most=4, kind="per-coordinate", offset="sign")
    assert [cases[name].rows for name in ("eggholder2d", "schubert4d")] == [30, 50]
    case = cases["schubert4d"]
    assert case.gaps == HistoryGaps(share=0.9)
    from bomi.benchmarks.problems import find_problem

    first, second = (case.data(find_problem("schubert"), repeat) for repeat in (0, 1))
    np.testing.assert_array_equal(first.inputs, second.inputs)
    assert not np.array_equal(np.isnan(first.recorded), np.isnan(second.recorded))
    assert np.isnan(first.recorded).any(1).sum() == 45
    assert case.settings()["initial"]["same_inputs"]


def test_what_drop_drops_does_not_count_in_the_program():
    found = run("eggholder", "drop", budget=12, seed=1, missing=Events(0.9, 0.05, kind="per-coordinate"))
    made = {"method": "drop", "best": found.best, "kept": found.kept, "recommended": [[12, None]]}
    assert found.events > 6
    assert found.kept[0] == found.best[0]
    assert final(made, SEEN) == found.best[-1] == max(found.best[0], *found.outcomes)
    assert final(made, KEPT) == found.kept[-1] <= found.best[-1]
    assert len(set(found.kept)) <= 13 - found.events
    assert final({**made, "method": "mean"}, KEPT) == found.best[-1]


def test_unknown_words_and_differences_are_told():
    for name, settings in {
        "mean": {"fit": "sgd"}, "bomi": {"draws": "some"}, "bpmf": {"scatter": 1}, "drop": {"spread": "range"},
        "mode": {"of": "x"}, "knn": {"near": "y"}, "ugp": {"over": "z"}, "suggest": {"sampling": "grid"},
    }.items():  # fmt: skip
        (setting,) = settings
        with pytest.raises(BomiError, match=rf"`{setting}` must be '.*' or '.*', but got"):
            method(name, **settings)
    with pytest.raises(BomiError, match="`correction` must be 0 or 1"):
        method("bomi", correction=2)
    with pytest.raises(BenchmarkError, match=r"unknown difference 'fits'; the known ones are fit, variance"):
        experiment("performance", differences=("fits",))
    with pytest.raises(BenchmarkError, match="'performance' only, but got 'heat'"):
        experiment("heat", differences=("fit",))


def test_every_difference_changes_a_setting_from_its_default():
    for changed in DIFFERENCES.values():
        for name, settings in changed.items():
            usual = settings_of(method(name))
            assert all(usual[setting] != value for setting, value in settings.items())
