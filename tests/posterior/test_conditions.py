"""Gaps of rows made under conditions: the sampler against the exact joint posterior on a grid."""

import dataclasses
import math

import pytest
import torch

from bomi.impute.table import Table
from bomi.posterior import anchors, sampler, tied
from bomi.posterior.codes import to_codes
from bomi.posterior.hyper import explained
from bomi.posterior.priors import gap_priors
from bomi.space import Conditions, Space

NAN = math.nan
HYPER = [0.0, 0.0, math.log(0.25), math.log(0.3), math.log(0.9), math.log(0.6), math.log(0.5), -4.0]
CODES = [0.0, 0.0, 1.0, 1.0]  # the second row of each group has the gap
TIMES = [0.0, 0.3, 0.6, 1.0]


def table_of(**more):
    inputs = torch.tensor([0.05, NAN, 0.35, NAN], dtype=torch.float64)[:, None]
    return Table(
        Space({"x": (0, 1)}, conditions=Conditions(["day"], True)),
        inputs,
        torch.full_like(inputs, NAN),
        torch.tensor([[0.6, -0.4, -1.1, -0.5]], dtype=torch.float64),
        conditions=torch.tensor([CODES, TIMES], dtype=torch.float64).T,
        **more,
    )


def covariance(x):
    """Written out: half additive and half joint Matern-5/2 of one input, offsets, drift.  (M, 4) -> (M, 4, 4)"""

    def matern(a):
        return (1 + a + a**2 / 3) * torch.exp(-a)

    apart = math.sqrt(5) * (x[:, :, None] - x[:, None]).abs()
    codes, times = torch.tensor(CODES), torch.tensor(TIMES, dtype=torch.float64)
    same = (codes[:, None] == codes).double()
    late = matern(math.sqrt(5) * (times[:, None] - times).abs() / 0.5)
    return 0.5 * matern(apart / 0.25) + 0.5 * matern(apart / 0.3) + 0.9 * same + 0.6 * late


def log_density(table, gaps):
    """log p(outcomes | inputs).  (M, 2) -> (M,)"""
    x = table.inputs[:, 0].expand(len(gaps), -1).clone()
    x[:, 1::2] = gaps
    K = covariance(x) + math.exp(-4) * torch.eye(4, dtype=torch.float64)
    return torch.distributions.MultivariateNormal(torch.zeros(4, dtype=torch.float64), K).log_prob(table.outcomes[0])


def uniform(table, worlds):
    priors = gap_priors(table, to_codes(table, table.inputs), worlds)
    nodes = torch.linspace(0, 1, priors.nodes.shape[-1], dtype=torch.float64).expand_as(priors.nodes)
    return dataclasses.replace(priors, nodes=nodes, cdf=nodes.expand(worlds, -1, -1, -1).contiguous())


def test_gaps_follow_their_posterior_given_offsets_and_drift():
    table, worlds, generator = table_of(), 300, torch.Generator().manual_seed(0)
    hyper = torch.tensor(HYPER, dtype=torch.float64).expand(worlds, -1)
    codes = table.inputs.expand(worlds, -1, -1).clone()
    codes[:, 1::2] = torch.rand(worlds, 2, 1, generator=generator, dtype=torch.float64)
    P, priors = sampler.inverse_of(table, hyper, codes), uniform(table, worlds)
    kept = []
    for turn in range(45):
        P, _ = sampler.sweep(codes, P, table, priors, hyper, generator)
        if turn >= 5:
            kept.append(codes[:, 1::2, 0].clone())
    draws = torch.cat(kept)
    assert torch.allclose(P, sampler.inverse_of(table, hyper, codes), atol=1e-6)
    exact_inverse = torch.linalg.inv(covariance(codes[..., 0]) + math.exp(-4) * torch.eye(4).double())
    assert torch.allclose(P, exact_inverse, atol=1e-6)
    middle = torch.linspace(1 / 160, 1 - 1 / 160, 80, dtype=torch.float64)
    grid = torch.cartesian_prod(middle, middle)
    exact = log_density(table, grid)
    weights = exact.softmax(0)
    assert log_density(table, draws).mean() == pytest.approx(float(weights @ exact), abs=0.06)
    for gap in (0, 1):
        for at in (0.2, 0.35, 0.5, 0.65, 0.8):
            expected = float(weights[grid[:, gap] <= at].sum())
            assert (draws[:, gap] <= at).double().mean() == pytest.approx(expected, abs=0.04)


def test_a_gap_that_two_days_share_follows_its_posterior():
    shared = torch.tensor([[-1], [0], [-1], [0]])
    table, worlds, generator = table_of(groups=shared), 2000, torch.Generator().manual_seed(0)
    hyper = torch.tensor(HYPER, dtype=torch.float64).expand(worlds, -1)
    codes = tied.follow(torch.where(table.inputs.isnan(), 0.5, table.inputs).expand(worlds, -1, -1).clone(), table)
    P = sampler.inverse_of(table, hyper, codes)
    tried = torch.rand(worlds, 24, 1, generator=generator, dtype=torch.float64)
    noise = hyper[:, -1:].exp().expand(-1, 4)
    y = table.targets_of(worlds)
    luck = sampler.gumbel((worlds, 24), generator)
    weight = tied.draw_shared(codes, P, y, noise, table, hyper, 1, torch.tensor([0]), tried, luck)
    expected = torch.stack([log_density(table, part.expand(-1, 2)) for part in tried.unbind(1)], -1)
    apart = weight - expected
    assert torch.allclose(apart, apart[:, :1].expand_as(apart), atol=1e-8)
    assert torch.allclose(P, sampler.inverse_of(table, hyper, codes), atol=1e-6)


def test_rows_of_a_large_table_are_drawn_under_their_own_conditions():
    table, worlds = table_of(), 3000
    complete = ~table.gaps.any(-1)
    part = table.select(complete)
    hyper = torch.tensor(HYPER, dtype=torch.float64).expand(worlds, -1)
    known = explained(part, part.inputs.expand(worlds, -1, -1), hyper)
    rows = torch.tensor([False, True, False, False])
    priors = uniform(table, worlds).select(rows)
    codes = table.inputs.expand(worlds, -1, -1)
    drawn = anchors._drawn(known, table, codes, rows, priors, torch.Generator().manual_seed(0))[:, 0, 0]
    middle = torch.linspace(1 / 400, 1 - 1 / 400, 200, dtype=torch.float64)
    keep = [0, 1, 2]
    x = table.inputs[:, 0].expand(200, -1).clone()
    x[:, 1], x[:, 3] = middle, 0.5
    K = (covariance(x) + math.exp(-4) * torch.eye(4).double())[:, keep][:, :, keep]
    mean = torch.zeros(3, dtype=torch.float64)
    density = torch.distributions.MultivariateNormal(mean, K).log_prob(table.outcomes[0, keep]).softmax(0)
    for at in (0.2, 0.4, 0.6, 0.8):
        assert (drawn <= at).double().mean() == pytest.approx(float(density[middle <= at].sum()), abs=0.05)
