"""The sampler against the exact joint posterior of two rows with a gap each, and its candidates against the prior."""

import dataclasses
import math

import pytest
import torch

from bomi.impute.table import Table
from bomi.model.additive import AdditiveMatern
from bomi.model.kernels import cross
from bomi.posterior import sampler
from bomi.posterior.codes import to_codes
from bomi.posterior.hyper import temper
from bomi.posterior.priors import gap_priors
from bomi.space import Integer, Space

KNOWN = (0.05, 0.35)  # so few that the variance of an outcome is ten times as large in one place as in another
FULL = torch.linspace(0, 1, 81, dtype=torch.float64)
NAN = math.nan


def uniform_priors(table, worlds):
    """Priors that are even over the range, whatever the columns look like."""
    priors = gap_priors(table, to_codes(table, table.inputs), worlds)
    nodes = torch.linspace(0, 1, priors.nodes.shape[-1], dtype=torch.float64).expand_as(priors.nodes)
    levels = torch.tensor([parameter.levels is not None for parameter in table.space.parameters.values()])
    discrete = levels[priors.parameter] & priors.used
    cdf = nodes.expand(worlds, -1, -1, -1).contiguous()
    return dataclasses.replace(priors, nodes=nodes, cdf=cdf, discrete=discrete)


def hyper_of(noises, worlds):
    """Of one parameter: each outcome's process in all worlds.  (m Q, 5)"""
    rows = [[0.0, 0.0, math.log(0.25), math.log(0.3), noise] for noise in noises]
    return torch.tensor(rows, dtype=torch.float64).repeat_interleave(worlds, 0)


OUTCOMES = {
    "one outcome": ([[0.6, -0.4, 0.3, 0.5]], None, (-4.0,)),
    "known errors": ([[0.6, -0.4, 0.3, 0.5]], [[0.0, 0.1, 0.3, 0.0]], (-4.0,)),
    "two outcomes": ([[0.6, -0.4, 0.3, 0.5], [-0.5, 0.2, 0.9, -0.9]], None, (-4.0, -3.0)),
    "a lacking outcome": ([[0.6, -0.4, 0.3, 0.5], [-0.5, NAN, 0.9, NAN]], None, (-4.0, -3.0)),
}


def table_of(case):
    outcomes, errors, noises = OUTCOMES[case]
    inputs = torch.tensor([*KNOWN, NAN, NAN], dtype=torch.float64)[:, None]
    table = Table(
        Space({"x": (0, 1)}),
        inputs,
        torch.full_like(inputs, torch.nan),
        torch.tensor(outcomes, dtype=torch.float64),
        errors=None if errors is None else torch.tensor(errors, dtype=torch.float64),
        aims=(None,) * len(outcomes),
    )
    return table, noises


def log_density(table, noises, gaps):
    """log p(outcomes | inputs), by the dense normal density of every outcome.  gaps: (M, 2) -> (M,)"""
    inputs = table.inputs.expand(len(gaps), -1, -1).clone()
    inputs[:, 2:, 0] = gaps
    total = torch.zeros(len(gaps), dtype=torch.float64)
    for j, (y, noise) in enumerate(zip(table.outcomes, noises, strict=True)):
        has = ~y.isnan()
        x = inputs[:, has]
        theta = hyper_of([noise], 1)[:, :-1].expand(len(gaps), -1)
        K = cross(AdditiveMatern((0,)), theta, x, x) + math.exp(noise) * torch.eye(int(has.sum()), dtype=torch.float64)
        if table.errors is not None:
            K = K + torch.diag(table.errors[j, has])
        total += torch.distributions.MultivariateNormal(torch.zeros_like(x[..., 0]), K).log_prob(y[has])
    return total


@pytest.mark.parametrize("case", OUTCOMES)
def test_two_gaps_follow_their_joint_posterior(case):
    """Marginals, and the joint log density itself, which sees a term that the marginals may miss."""
    table, noises = table_of(case)
    worlds, generator = 300, torch.Generator().manual_seed(0)
    priors, hyper = uniform_priors(table, worlds), hyper_of(noises, worlds)
    codes = table.inputs.expand(worlds, -1, -1).clone()
    codes[:, 2:] = torch.rand(worlds, 2, 1, generator=generator, dtype=torch.float64)
    P = sampler.inverse_of(table, hyper, codes)
    kept = []
    for turn in range(45):
        P, _ = sampler.sweep(codes, P, table, priors, hyper, generator)
        if turn >= 5:
            kept.append(codes[:, 2:, 0].clone())
    draws = torch.cat(kept)

    middle = (FULL[1:] + FULL[:-1]) / 2
    grid = torch.cartesian_prod(middle, middle)
    exact = log_density(table, noises, grid)
    weights = exact.softmax(0)
    found = log_density(table, noises, draws)
    assert found.mean() == pytest.approx(float(weights @ exact), abs=0.06)
    order = exact.argsort()
    for level in (0.1, 0.3, 0.5, 0.7, 0.9):
        below = exact[order][torch.searchsorted(weights[order].cumsum(0), level)]
        assert (found <= below).double().mean() == pytest.approx(level, abs=0.04)
    for gap in (0, 1):
        for at in (0.2, 0.35, 0.5, 0.65, 0.8):
            expected = float(weights[grid[:, gap] <= at].sum())
            assert (draws[:, gap] <= at).double().mean() == pytest.approx(expected, abs=0.04)


def test_the_joint_log_density_of_the_truth_ranks_evenly_among_that_of_the_draws():
    """Simulation-based calibration of small tables, by each gap and by log p(outcomes, inputs), which sees every term
    of the likelihood: of tables drawn from the model, the truth is as often the first as the last of 20 alike."""
    generator, worlds, noises = torch.Generator().manual_seed(0), 19, (-4.0,)
    hyper, ranks = hyper_of(noises, worlds), []
    for _ in range(240):
        truth = torch.rand(1, 4, 1, generator=generator, dtype=torch.float64)
        K = cross(AdditiveMatern((0,)), hyper[:1, :-1], truth, truth)[0] + math.exp(-4) * torch.eye(4).double()
        y = torch.linalg.cholesky(K) @ torch.randn(4, generator=generator, dtype=torch.float64)
        inputs = torch.cat([truth[0, :2], torch.full((2, 1), torch.nan, dtype=torch.float64)])
        table = Table(Space({"x": (0, 1)}), inputs, torch.full_like(inputs, torch.nan), y)
        codes = inputs.expand(worlds, -1, -1).clone()
        codes[:, 2:] = torch.rand(worlds, 2, 1, generator=generator, dtype=torch.float64)
        P, priors = sampler.inverse_of(table, hyper, codes), uniform_priors(table, worlds)
        for _ in range(8):
            P, _ = sampler.sweep(codes, P, table, priors, hyper, generator)
        gaps = torch.cat([truth[:, 2:, 0], codes[:, 2:, 0]])
        density = log_density(table, noises, gaps)
        ranks.append(torch.cat([(gaps[1:] < gaps[0]).sum(0), (density[1:] < density[0]).sum()[None]]))
    for each in torch.stack(ranks).T:
        counts = (each // 4).bincount(minlength=5).double()
        assert ((counts - 48).square() / 48).sum() < 18.5  # the 0.999 quantile with 4 degrees of freedom


@pytest.mark.parametrize("case", OUTCOMES)
def test_the_inverse_is_that_of_each_outcome_s_rows(case):
    table, noises = table_of(case)
    hyper = hyper_of(noises, 2)
    inputs = torch.rand(2, 4, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    only = torch.tensor([True, True, True, False])
    for rows, found in (
        (None, sampler.inverse_of(table, hyper, inputs)),
        (only, sampler.inverse_of(table, hyper, inputs, only=only)),
    ):
        for k, inverse in enumerate(found):
            outcome, world = divmod(k, 2)
            has = ~table.outcomes[outcome].isnan() & (torch.ones(4, dtype=torch.bool) if rows is None else rows)
            x = inputs[world : world + 1, has]
            K = cross(AdditiveMatern((0,)), hyper[k : k + 1, :-1], x, x)[0]
            K = K + hyper[k, -1].exp() * torch.eye(len(K), dtype=torch.float64)
            if table.errors is not None:
                K = K + torch.diag(table.errors[outcome, has])
            torch.testing.assert_close(inverse[has][:, has], torch.linalg.inv(K))
            assert (inverse[~has] == 0).all()
            assert (inverse[:, ~has] == 0).all()


# --- the candidates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.1, 0.6, 1.0])
def test_candidates_are_exchangeable_with_the_current_value_under_the_prior(step):
    """From z ~ N(0, 1) each candidate is N(0, 1) again, and any two of them, and z, correlate by 1 - step^2."""
    table, _ = table_of("one outcome")
    worlds, generator = 20_000, torch.Generator().manual_seed(0)
    priors = uniform_priors(table, worlds)
    values = torch.rand(worlds, 2, 1, generator=generator, dtype=torch.float64)
    steps = torch.full((2,), step, dtype=torch.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampler, "CANDIDATES", 3)
        drawn = sampler._candidates(values, priors, generator, steps, table.space)
    assert torch.equal(drawn[:, 0], values)
    z = torch.special.ndtri(drawn[:, :, 0, 0].clamp(1e-6, 1 - 1e-6))
    assert z.std(0).tolist() == pytest.approx([1.0] * 3, abs=0.03)
    assert z.mean(0).tolist() == pytest.approx([0.0] * 3, abs=0.03)
    correlation = torch.corrcoef(z.T)
    off_diagonal = correlation[~torch.eye(3, dtype=torch.bool)]
    assert off_diagonal.tolist() == pytest.approx([1 - step**2] * 6, abs=0.03)


def test_half_of_the_rows_take_small_steps_of_any_size_and_discrete_values_none():
    space = Space({"x": (0, 1), "n": Integer(0, 4)})
    inputs = torch.tensor([[NAN, 0.5]] * 2000 + [[0.5, NAN]] * 50, dtype=torch.float64)
    table = Table(space, inputs, torch.full_like(inputs, torch.nan), torch.zeros(2050, dtype=torch.float64))
    priors = uniform_priors(table, 1)
    steps = sampler._steps(priors, torch.Generator().manual_seed(0))
    assert (steps[2000:] == 1).all()
    small = steps[:2000][steps[:2000] < 1]
    assert len(small) == pytest.approx(1000, abs=100)
    low, high = sampler.NEAR
    assert low <= small.min() < 1.2 * low
    assert 0.8 * high < small.max() <= high
    assert small.log().median() == pytest.approx(math.log(low * high) / 2, abs=0.25)


def test_a_sharp_posterior_is_explored_by_small_steps():
    """A candidate from the prior hits an interval of 1 in 300 too seldom; every world moves within 12 sweeps."""
    space = Space({"x": (0, 1)})
    known = torch.linspace(0, 1, 21, dtype=torch.float64)
    inputs = torch.cat([known, torch.tensor([NAN], dtype=torch.float64)])[:, None]
    targets = torch.cat([known, torch.tensor([0.52], dtype=torch.float64)]) - 0.5
    table = Table(space, inputs, torch.full_like(inputs, torch.nan), targets)
    worlds, generator = 50, torch.Generator().manual_seed(0)
    hyper = torch.tensor([[1.0, 0.0, 1.0, 1.0, math.log(1e-6)]], dtype=torch.float64).repeat(worlds, 1)
    codes = inputs.expand(worlds, -1, -1).clone()
    codes[:, -1] = 0.52
    P = sampler.inverse_of(table, hyper, codes)
    priors, moved = uniform_priors(table, worlds), 0.0
    for _ in range(12):
        before = codes[:, -1].clone()
        P, _ = sampler.sweep(codes, P, table, priors, hyper, generator)
        moved += float((codes[:, -1] != before).double().mean()) / 12
    assert (codes[:, -1] - 0.52).abs().max() < 0.02
    assert moved > 0.15


def test_a_sweep_of_some_rows_leaves_the_others():
    table, noises = table_of("one outcome")
    generator = torch.Generator().manual_seed(0)
    codes = table.inputs.expand(30, -1, -1).clone()
    codes[:, 2:] = 0.5
    hyper, only = hyper_of(noises, 30), torch.tensor([False, False, True, False])
    P = sampler.inverse_of(table, hyper, codes)
    sampler.sweep(codes, P, table, uniform_priors(table, 30), hyper, generator, step=1.0, only=only)
    assert (codes[:, 3] == 0.5).all()
    assert (codes[:, 2] != 0.5).any()
    torch.testing.assert_close(P, sampler.inverse_of(table, hyper, codes))


def test_a_sweep_learns_the_execution_error():
    inputs = torch.tensor([0.1, 0.9, *[NAN] * 8], dtype=torch.float64)[:, None]
    asked = torch.tensor([NAN, NAN, *[0.5] * 8], dtype=torch.float64)[:, None]
    table = Table(Space({"x": (0, 1)}), inputs, asked, torch.zeros(10, dtype=torch.float64))
    priors = gap_priors(table, to_codes(table, inputs), 6)
    codes, hyper = inputs.nan_to_num(nan=0.5).expand(6, -1, -1).clone(), hyper_of([-4.0], 6)
    P = sampler.inverse_of(table, hyper, codes)
    _, after = sampler.sweep(codes, P, table, priors, hyper, torch.Generator().manual_seed(0))
    assert (after.pi != priors.pi).any()
    torch.testing.assert_close(after.pi.sum(-1), torch.ones(6, 1, dtype=torch.float64))
    assert (after.pi.std(0) > 0).any()  # each world has its own


def test_a_gap_without_a_value_begins_in_the_middle_of_its_prior():
    table, _ = table_of("one outcome")
    priors = uniform_priors(table, 2)
    codes = table.inputs.expand(2, -1, -1).clone()
    codes[0, 2] = 0.9
    filled = sampler.guess(codes, priors, table)
    assert filled[0, :, 0].tolist() == pytest.approx([*KNOWN, 0.9, 0.5])
    assert filled[1, :, 0].tolist() == pytest.approx([*KNOWN, 0.5, 0.5])


def test_noise_is_raised_while_chains_begin_and_never_below_what_an_inverse_can_hold():
    hyper = torch.tensor(
        [[2.0, 7.0, math.log(1e-4)], [2.0, 7.0, -30.0], [0.0, 7.0, math.log(0.5)]], dtype=torch.float64
    )
    assert temper(hyper)[:, -1].tolist() == pytest.approx([math.log(1e-4), 2 + math.log(1e-5), math.log(0.5)])
    assert temper(hyper, 1.0)[:, -1].tolist() == pytest.approx([math.log(0.1), math.log(0.1), math.log(0.5)])
    half = (math.log(1e-4) + math.log(0.1)) / 2
    assert temper(hyper, 0.5)[0].tolist() == pytest.approx([2.0, 7.0, half])
