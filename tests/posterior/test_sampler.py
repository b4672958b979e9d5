"""The sampler of gaps against exact answers: a grid, simulated tables with known truth, and the kernel itself."""

import dataclasses
import math

import numpy as np
import pytest
import torch

import bomi
from bomi import BomiError, Interval, Normal
from bomi.data.observations import Row
from bomi.impute.completed import Explained
from bomi.impute.table import Table
from bomi.model.additive import AdditiveCandidates, AdditiveMatern
from bomi.model.fitting import Pairs, log_evidence
from bomi.model.gaussian_process import with_hyper
from bomi.model.kernels import cross
from bomi.posterior import execution, sampler
from bomi.posterior.anchors import draw_given
from bomi.posterior.codes import from_codes, to_codes
from bomi.posterior.imputer import Posterior
from bomi.posterior.priors import gap_priors
from bomi.posterior.sampler import sweep
from bomi.posterior.starts import warm_start
from bomi.space import Categorical, Integer, Real, Space

MIXED = Space({"a": (0, 1), "n": Integer(0, 4), "q": ["x", "y", "z"], "b": (0, 1)})


def square(dim):
    return Space({f"x{j}": (0, 1) for j in range(dim)})


def hyper_of(space, *, noise=-5.0, length=0.3, weight=0.0, worlds=1):
    p = len(space)
    theta = [0.0, weight, *[math.log(length)] * p, *[math.log(length * math.sqrt(p))] * p, noise]
    return torch.tensor([theta], dtype=torch.float64).repeat(worlds, 1)


def table_of(space, inputs, targets, asked=None):
    asked = torch.full_like(inputs, torch.nan) if asked is None else asked
    return Table(space, inputs, asked, targets)


def drawn(table, generator, **settings):
    """The worlds of a table, from nothing."""
    imputer = Posterior(**settings)
    return imputer.completed(imputer.init(table, generator))


def uniform_priors(table, worlds):
    """Priors that are even over the range, whatever the columns look like."""
    priors = gap_priors(table, to_codes(table, table.inputs), worlds)
    eye = torch.eye(priors.used.shape[1], dtype=torch.float64).repeat(len(priors.rows), 1, 1)
    cdf = priors.nodes.expand(worlds, -1, -1, -1).contiguous()
    return dataclasses.replace(priors, cdf=cdf, root=eye)


def run_chain(table, priors, hyper, generator, sweeps, *, burn):
    """Draws of all gaps after `burn` sweeps, from a cold start.  (M, n, p)"""
    codes = to_codes(table, table.inputs).expand(len(hyper), -1, -1).clone()
    start = torch.rand(len(hyper), *priors.used.shape, generator=generator, dtype=torch.float64)
    sampler._put(codes, priors, start, table.space)
    complete = ~table.gaps.any(-1)
    P = sampler.inverse_of(table, hyper, from_codes(table, codes), only=complete)
    P, _ = sweep(codes, P, table, priors, hyper, generator, step=1.0)
    kept = []
    for turn in range(sweeps):
        P, _ = sweep(codes, P, table, priors, hyper, generator)
        if turn >= burn:
            kept.append(codes.clone())
    return torch.cat(kept)


# --- the sampler ------------------------------------------------------------------------------------------------------


def test_draws_of_one_gap_follow_the_exact_posterior_on_a_grid():
    """Two modes: the outcome fits on either side of a symmetric bump."""
    space = square(1)
    known = torch.linspace(0, 1, 9, dtype=torch.float64)[:, None]
    targets = torch.cos(2 * math.pi * known[:, 0])
    inputs = torch.cat([known, torch.tensor([[torch.nan]], dtype=torch.float64)])
    table = table_of(space, inputs, torch.cat([targets, torch.tensor([0.3], dtype=torch.float64)]))
    hyper = hyper_of(space, noise=-4.0)
    draws = run_chain(
        table, uniform_priors(table, 20), hyper.repeat(20, 1), torch.Generator().manual_seed(0), 300, burn=20
    )

    grid = torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None]
    kernel = AdditiveMatern((0,))
    model = with_hyper(known[None], targets, hyper, kernel=kernel)
    mean, variance = model.moments(grid)
    variance = variance + hyper[0, -1].exp()
    density = (torch.exp(-0.5 * (0.3 - mean).square() / variance) / variance.sqrt())[0]
    cdf = torch.cumsum(density, 0) / density.sum()

    drawn = draws[:, -1, 0]
    for level in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95):
        at = grid[torch.searchsorted(cdf, level)]
        share = (drawn <= at).double().mean()
        assert share == pytest.approx(level, abs=0.03)
    assert 0.4 < (drawn < 0.5).double().mean() < 0.6  # both modes are visited


def test_two_gaps_of_a_row_are_drawn_jointly():
    """With y near x0 + x1 the two lie along a line: negatively correlated, which separate draws would miss."""
    space = square(2)
    generator = torch.Generator().manual_seed(1)
    known = torch.rand(40, 2, generator=generator, dtype=torch.float64)
    targets = 2 * (known.sum(-1) - 1)
    inputs = torch.cat([known, torch.full((1, 2), torch.nan, dtype=torch.float64)])
    table = table_of(space, inputs, torch.cat([targets, torch.zeros(1, dtype=torch.float64)]))
    hyper = hyper_of(space, noise=-6.0, length=1.0, worlds=20)
    draws = run_chain(table, uniform_priors(table, 20), hyper, generator, 200, burn=20)[:, -1]
    assert torch.corrcoef(draws.T)[0, 1] < -0.9
    assert draws.sum(-1).mean() == pytest.approx(1.0, abs=0.05)
    assert draws[:, 0].std() > 0.2  # all along the line


def hidden_table(generator, *, rows=18, dim=2):
    """A table from the model itself, some of its cells hidden; all its inputs, and its hyper-parameters."""
    space = square(dim)
    X = torch.rand(rows, dim, generator=generator, dtype=torch.float64)
    hyper = hyper_of(space)
    K = cross(AdditiveMatern(tuple(range(dim))), hyper[:, :-1], X[None], X[None])[0]
    K = K + hyper[0, -1].exp() * torch.eye(rows, dtype=torch.float64)
    y = torch.linalg.cholesky(K) @ torch.randn(rows, generator=generator, dtype=torch.float64)
    inputs = X.clone()
    for i in range(0, rows, 2):
        inputs[i, int(torch.randint(dim, (1,), generator=generator))] = torch.nan
    inputs[0] = torch.nan  # one row of which nothing is known
    return table_of(space, inputs, y), X, hyper


def simulate(seed):
    """What is hidden in such a table and many draws of it, and log p(outcomes, inputs) of either, up to a constant."""
    generator = torch.Generator().manual_seed(seed)
    table, X, hyper = hidden_table(generator)
    draws = run_chain(table, uniform_priors(table, 8), hyper.repeat(8, 1), generator, 40, burn=10)
    worlds = torch.cat([X[None], draws])
    every = torch.arange(len(worlds))
    pairs = Pairs(AdditiveMatern((0, 1)), worlds)
    density = log_evidence(hyper.expand(len(worlds), -1), pairs, table.outcomes[0], every)
    return X[table.gaps], draws[:, table.gaps], (density[1:] < density[0]).double().mean()


def simulate_row_by_row(seed, *, worlds=17):
    """The same, drawn as in a campaign: after a complete row one row comes after the other."""
    generator = torch.Generator().manual_seed(seed)
    table, X, hyper = hidden_table(generator)
    order = torch.tensor([1, 0, *range(2, len(table))])
    before = table.inputs[order[:1]].expand(worlds, -1, -1)
    for count in range(2, len(table) + 1):
        part = table_of(table.space, table.inputs[order[:count]], table.targets[order[:count]])
        worlds_so_far = torch.nn.functional.pad(before, (0, 0, 0, 1), value=torch.nan)
        known, priors = to_codes(part, part.inputs), uniform_priors(part, worlds)
        codes, _ = warm_start(part, known, priors, generator, worlds_so_far, hyper.repeat(worlds, 1))
        before = from_codes(part, codes)
    hidden = table.gaps[order]
    return X[order][hidden], before[:, hidden]


def chi2(counts):
    """How far counts are from being even."""
    expected = counts.sum() / len(counts)
    return ((counts - expected).square() / expected).sum()


def test_draws_are_calibrated_where_the_model_is_the_data_s():
    """Simulation-based calibration: the rank of the truth among the draws is even, intervals cover as they say.

    So is the rank of the joint log density, which depends on all gaps at once and on every term of the likelihood.
    """
    ranks, covered, joint = [], [], []
    for seed in range(50):
        truth, draws, density = simulate(seed)
        joint.append(density)
        ranks.append((draws < truth).double().mean(0))
        low, high = draws.quantile(0.05, 0), draws.quantile(0.95, 0)
        covered.append(((truth >= low) & (truth <= high)).double())
    rank, cover = torch.cat(ranks), torch.cat(covered).mean()
    assert len(rank) == 500
    assert 0.85 <= cover <= 0.95
    assert chi2(torch.histc(rank, 6, 0, 1)) < 20.5  # the 0.999 quantile with 5 degrees of freedom
    assert chi2(torch.histc(torch.stack(joint), 6, 0, 1)) < 20.5
    assert torch.stack(joint).mean() == pytest.approx(0.5, abs=3 / math.sqrt(12 * 50))


def test_draws_stay_calibrated_when_rows_come_one_by_one():
    """A sweep a row keeps the worlds as spread out as they should be."""
    ranks, covered = [], []
    for truth, draws in map(simulate_row_by_row, range(40)):
        ranks.append((draws < truth).sum(0))  # 0 to 17
        covered.append(((truth >= draws.amin(0)) & (truth <= draws.amax(0))).double())
    assert chi2((torch.cat(ranks) // 3).bincount(minlength=6)) < 20.5
    assert torch.cat(covered).mean() == pytest.approx(16 / 18, abs=0.05)  # of 18 alike, neither the least nor the most


def test_a_likelihood_of_wrong_outcomes_would_be_seen(monkeypatch):
    """The calibration above has power: outcomes of the gappy rows that are off by half spoil it."""
    original = sampler.sweep

    def wrong(codes, P, table, *rest, **options):
        off = table.targets + 0.5 * table.gaps.any(-1)
        return original(codes, P, dataclasses.replace(table, targets=off), *rest, **options)

    monkeypatch.setitem(globals(), "sweep", wrong)
    ranks = torch.cat([(draws < truth).double().mean(0) for truth, draws, _ in map(simulate, range(25))])
    assert chi2(torch.histc(ranks, 6, 0, 1)) > 20.5


def test_the_inverse_stays_the_inverse():
    generator = torch.Generator().manual_seed(3)
    space = square(3)
    inputs = torch.rand(25, 3, generator=generator, dtype=torch.float64)
    inputs[::3, 1] = torch.nan
    inputs[4] = torch.nan
    table = table_of(space, inputs, torch.randn(25, generator=generator, dtype=torch.float64))
    priors, hyper = uniform_priors(table, 3), hyper_of(space, worlds=3)
    codes = to_codes(table, inputs).expand(3, -1, -1).clone()
    sampler._put(codes, priors, torch.rand(3, *priors.used.shape, generator=generator, dtype=torch.float64), space)
    P = sampler.inverse_of(table, hyper, codes, only=~table.gaps.any(-1))
    for step in (1.0, 0.1, None):
        P, _ = sweep(codes, P, table, priors, hyper, generator, step=step)
    torch.testing.assert_close(P, sampler.inverse_of(table, hyper, codes), atol=1e-6, rtol=1e-6)


def test_candidates_are_measured_by_the_kernel_itself():
    generator = torch.Generator().manual_seed(4)
    codes = torch.rand(2, 12, 4, generator=generator, dtype=torch.float64)
    codes[..., 1] = (codes[..., 1] * 4).round() / 4
    codes[..., 2] = (codes[..., 2] * 2).round()
    table = table_of(MIXED, torch.full((12, MIXED.dim), torch.nan, dtype=torch.float64), torch.zeros(12))
    hyper = hyper_of(MIXED, weight=0.7, worlds=2) + 0.1 * torch.randn(2, 11, generator=generator, dtype=torch.float64)
    rows, slots = [3, 7], torch.tensor([[0, 2], [1, 2]])
    values = torch.rand(2, 2, 5, 2, generator=generator, dtype=torch.float64)
    values[..., 1] = torch.randint(3, (2, 2, 5), generator=generator)
    categories = torch.tensor([isinstance(p, Categorical) for p in MIXED.parameters.values()])
    k = AdditiveCandidates(hyper[:, :-1], categories).covariances(codes, codes[:, rows], slots, values)
    kernel = AdditiveMatern(tuple(MIXED.groups.tolist()))
    for b, i in enumerate(rows):
        moved = codes[:, None, i].repeat(1, 5, 1)
        moved[..., slots[b]] = values[:, b]
        expected = cross(kernel, hyper[:, :-1], from_codes(table, moved), from_codes(table, codes))
        torch.testing.assert_close(k[:, b], expected)


# --- the priors -------------------------------------------------------------------------------------------------------


def rows_table(space, rows):
    return Table.of(space, rows, torch.linspace(-1, 1, len(rows), dtype=torch.float64))


def test_standard_normal_numbers_and_values_map_to_each_other():
    space = square(3)
    generator = torch.Generator().manual_seed(5)
    rows = [
        Row(dict(zip(space.names, map(float, x), strict=True)), {"y": 0.0})
        for x in torch.rand(20, 3, generator=generator)
    ]
    rows[3] = Row({"x0": None, "x1": Normal(0.5, 0.1), "x2": 0.4}, {"y": 0.0}, {"x0": 0.3})
    rows[7] = Row({"x0": None, "x1": None, "x2": None}, {"y": 0.0})
    table = rows_table(space, rows)
    priors = gap_priors(table, to_codes(table, table.inputs), 2)
    e = 1.5 * torch.randn(2, 1, *priors.used.shape, generator=generator, dtype=torch.float64).clamp(-2, 2)
    x = priors.draw(e)[:, 0]
    located = priors.locate(x, generator)
    torch.testing.assert_close(located[:, priors.used], e[:, 0][:, priors.used], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("cell", "mean", "sd"),
    [(Normal(300, 15), 300, 15), (Interval(290, 310), 300, 20 / math.sqrt(12)), (Normal(300, 0.01), 300, 0.01)],
)
def test_a_stated_uncertainty_is_that_distribution(cell, mean, sd):
    space = Space({"t": Real(200, 400)})
    table = rows_table(space, [Row({"t": cell}, {"y": 1.0}), Row({"t": 250.0}, {"y": 2.0})])
    priors = gap_priors(table, to_codes(table, table.inputs), 1)
    e = torch.randn(1, 20000, 1, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = 200 + 200 * priors.draw(e).flatten()
    assert drawn.mean() == pytest.approx(mean, abs=4 * sd / math.sqrt(20000) + 1e-6)
    assert drawn.std() == pytest.approx(sd, rel=0.03)


def strayed_table(far, count, *, side=None):
    """Asked values of which `count` were missed by exactly `far`; the outcome tells where they really were."""
    space = square(1)
    rng = np.random.default_rng(0)
    asked = rng.uniform(0.3, 0.7, count)
    actual = asked + far * (rng.choice([-1, 1], count) if side is None else side)
    history = np.linspace(0, 1, 30)
    inputs = torch.tensor([*history, *[math.nan] * count], dtype=torch.float64)[:, None]
    asks = torch.tensor([*[math.nan] * 30, *asked], dtype=torch.float64)[:, None]
    targets = torch.tensor([*(4 * history - 2), *(4 * actual - 2)], dtype=torch.float64)
    return table_of(space, inputs, targets, asks), torch.tensor(actual)


@pytest.mark.parametrize("far", [0.02, 0.05, 0.2])
def test_how_far_equipment_strays_is_learned(far):
    table, actual = strayed_table(far, 40)
    completed = drawn(table, torch.Generator().manual_seed(0), worlds=4)
    error = (completed.inputs[:, 30:, 0] - actual).abs().mean()
    assert error < 0.3 * far + 0.003  # asked values are off by `far`
    priors = gap_priors(table, to_codes(table, table.inputs), 4)
    priors = priors.learn_execution(
        completed.inputs[:, priors.rows].reshape(4, -1, 1), torch.Generator().manual_seed(1)
    )
    centers = torch.tensor([*execution.CENTERS], dtype=torch.float64).abs()
    typical = (priors.pi[:, 0, :-1] * centers).sum(-1) / priors.pi[:, 0, :-1].sum(-1)
    assert typical.mean() == pytest.approx(far, rel=0.35)


def test_the_side_to_which_equipment_strays_is_learned_too():
    table, _ = strayed_table(0.1, 40, side=1)
    priors = gap_priors(table, to_codes(table, table.inputs), 4)
    completed = drawn(table, torch.Generator().manual_seed(0), worlds=4)
    priors = priors.learn_execution(
        completed.inputs[:, priors.rows].reshape(4, -1, 1), torch.Generator().manual_seed(1)
    )
    up = torch.tensor([center > 0 for center in execution.CENTERS])
    assert priors.pi[:, 0, :-1][:, up].sum(-1).mean() > 0.8


def test_recorded_values_that_differ_from_the_asked_ones_are_evidence():
    space = square(1)
    asked = torch.linspace(0.2, 0.8, 30, dtype=torch.float64)[:, None]
    table = table_of(space, asked + 0.05, asked[:, 0], asked)
    inputs = table.inputs.clone()
    inputs[0] = torch.nan
    table = dataclasses.replace(table, inputs=inputs)
    priors = gap_priors(table, to_codes(table, inputs), 1)
    drawn = priors.draw(torch.randn(1, 4000, 1, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    assert drawn.median() == pytest.approx(0.25, abs=0.01)


def correlated(rows=60, *, noise=0.05, seed=0):
    """Column 1 is column 0 up to noise; the outcome says nothing."""
    rng = np.random.default_rng(seed)
    first = rng.uniform(0.1, 0.9, rows)
    X = np.stack([first, np.clip(first + noise * rng.normal(size=rows), 0, 1)], 1)
    return X, rng.normal(size=rows)


def test_a_correlated_sheet_is_filled_within_the_noise():
    X, y = correlated()
    inputs = torch.tensor(X)
    inputs[::4, 1] = torch.nan
    table = table_of(square(2), inputs, torch.tensor(y))
    completed = drawn(table, torch.Generator().manual_seed(0), worlds=8)
    error = completed.inputs[:, ::4, 1] - torch.tensor(X[::4, 1])
    assert error.square().mean().sqrt() < 2 * 0.05  # a draw errs by sqrt(2) times the noise
    assert error.mean(0).square().mean().sqrt() < 1.5 * 0.05


def test_a_missing_category_is_drawn_with_its_probability():
    """The outcome of the row fits one category only."""
    space = Space({"q": ["x", "y"]})
    rows = [Row({"q": "x" if i % 2 else "y"}, {"y": 0.0}) for i in range(10)] + [Row({"q": None}, {"y": 0.0})]
    table = Table.of(space, rows, torch.tensor([1.0 if i % 2 else -1.0 for i in range(10)] + [1.0]).double())
    completed = drawn(table, torch.Generator().manual_seed(0), worlds=20)
    assert completed.inputs[:, -1, 0].mean() > 0.95


# --- the filler -------------------------------------------------------------------------------------------------------


def wavy(rows, space, generator, gaps=0.4):
    X = torch.rand(rows, len(space), generator=generator, dtype=torch.float64)
    y = torch.sin(5 * X).sum(-1)
    inputs = X.clone()
    for i in range(int(gaps * rows)):
        inputs[i, i % len(space)] = torch.nan
    return X, table_of(space, inputs, (y - y.mean()) / y.std())


def test_recorded_cells_stay_and_a_table_without_gaps_is_the_same_in_every_world():
    generator = torch.Generator().manual_seed(0)
    X, table = wavy(20, square(2), generator)
    completed = drawn(table, generator, worlds=5)
    assert completed.inputs.shape == (5, 20, 2)
    recorded = ~table.inputs.isnan()
    assert (completed.inputs[:, recorded] == table.inputs[recorded]).all()
    whole = drawn(dataclasses.replace(table, inputs=X), generator, worlds=5)
    assert torch.equal(whole.inputs, X.expand(5, -1, -1))


def test_draws_given_the_outcome_are_closer_than_the_prior():
    generator = torch.Generator().manual_seed(2)
    X, table = wavy(60, square(2), generator)
    completed = drawn(table, generator)
    gap = table.inputs.isnan()
    error = (completed.inputs[:, gap] - X[gap]).abs().median()
    assert error < 0.1  # the median of |u - v| of even draws is 0.29


def test_a_large_table_is_drawn_by_anchors(monkeypatch):
    monkeypatch.setattr("bomi.impute.table.LARGE", 60)
    generator = torch.Generator().manual_seed(3)
    X, table = wavy(150, square(2), generator)
    completed = drawn(table, generator, worlds=5)
    recorded = ~table.inputs.isnan()
    assert completed.inputs.shape == (5, 150, 2)
    assert (completed.inputs[:, recorded] == table.inputs[recorded]).all()
    assert (completed.inputs[:, ~recorded] - X[~recorded]).abs().median() < 0.1


def test_rows_drawn_given_anchors_follow_the_exact_posterior():
    generator = torch.Generator().manual_seed(4)
    space = square(1)
    known = torch.linspace(0, 1, 9, dtype=torch.float64)[:, None]
    targets = torch.cos(2 * math.pi * known[:, 0])
    hyper = hyper_of(space, noise=-4.0, worlds=2000)
    inputs = torch.cat([known, torch.tensor([[torch.nan]], dtype=torch.float64)])
    table = table_of(space, inputs, torch.cat([targets, torch.tensor([0.3], dtype=torch.float64)]))
    rows = torch.tensor([False] * 9 + [True])
    anchors = Explained(known.expand(2000, -1, -1), targets, hyper=hyper)
    gaps = draw_given(anchors, table, rows, generator).flatten()
    away = (torch.cos(2 * math.pi * gaps) - 0.3).abs()
    assert away.median() < 0.15
    assert 0.4 < (gaps < 0.5).double().mean() < 0.6


@pytest.mark.parametrize(("rows", "worlds"), [(10, 20), (100, 10), (250, 5)])
def test_a_smaller_table_gets_more_worlds(rows, worlds):
    generator = torch.Generator().manual_seed(5)
    _, table = wavy(rows, square(2), generator)
    assert len(drawn(table, generator).inputs) == worlds


def test_settings_are_checked():
    for worlds in (0, 2.5, "many"):
        with pytest.raises(BomiError, match="worlds"):
            Posterior(worlds=worlds)


def test_categories_and_numbers_go_to_codes_and_back():
    rows = [
        Row({"a": 0.25, "n": 3, "q": "z", "b": 1.0}, {"y": 0.0}),
        Row({"a": None, "n": None, "q": None, "b": 0.0}, {"y": 0.0}),
    ]
    table = rows_table(MIXED, rows)
    codes = to_codes(table, table.inputs)
    assert codes[0].tolist() == [0.25, 0.75, 2.0, 1.0]
    assert codes[1].isnan().tolist() == [True, True, True, False]
    torch.testing.assert_close(from_codes(table, codes[:1]), table.inputs[:1])
    assert isinstance(MIXED.parameters["q"], Categorical)


def test_integer_and_category_gaps_take_their_own_values():
    rng = np.random.default_rng(0)
    rows = []
    for i in range(24):
        cells = {"a": rng.random(), "n": int(rng.integers(5)), "q": str(rng.choice(["x", "y", "z"])), "b": rng.random()}
        outcome = cells["a"] + cells["n"] / 4 + (cells["q"] == "z")
        if i % 2:
            cells[["n", "q"][i % 4 // 2]] = None
        rows.append(Row(cells, {"y": outcome}))
    table = Table.of(MIXED, rows, torch.tensor([row.outcome for row in rows], dtype=torch.float64))
    completed = drawn(table, torch.Generator().manual_seed(0))
    snapped = torch.from_numpy(MIXED.snap(completed.inputs.numpy()))
    torch.testing.assert_close(completed.inputs, snapped)


def test_a_warm_optimizer_goes_on_from_its_worlds():
    space = {"a": (0, 1), "b": (0, 1)}
    rng = np.random.default_rng(0)

    def outcome(x):
        return -((x["a"] - 0.3) ** 2) - (x["b"] - 0.6) ** 2

    warm = bomi.Optimizer(space, seed=0)
    for i in range(10):
        x = {"a": rng.random(), "b": rng.random()}
        warm.tell({**x, "a": None if i % 2 else x["a"]}, outcome(x))
    for i in range(6):
        suggestion = warm.ask()
        warm.tell(suggestion, outcome(suggestion), actual={"a": None} if i % 2 else None)
    assert outcome(warm.best().setting) > -0.02
    cold = bomi.Optimizer(space, seed=0)
    cold.tell(warm.frame())
    assert outcome(cold.best().setting) > -0.02


def test_many_gaps_of_many_rows_have_fewer_draws(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    _, table = wavy(30, square(2), generator)
    imputer = Posterior(worlds=5)
    state = imputer.init(table, generator)
    assert len(imputer.draws(state, 200, generator).inputs) == 200
    monkeypatch.setattr("bomi.posterior.imputer.SWEPT", 8 * 30 * int(table.gaps.sum()))
    assert len(imputer.draws(state, 200, generator).inputs) == 40
    monkeypatch.setattr("bomi.posterior.imputer.SWEPT", 0)
    assert len(imputer.draws(state, 200, generator).inputs) == 20
