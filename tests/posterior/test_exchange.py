"""Jumps between explanations: against the exact posterior of the noise, integrated over the gaps by brute force."""

import dataclasses
import math

import pytest
import torch

from bomi.impute.table import Table
from bomi.model.additive import AdditiveMatern
from bomi.model.kernels import cross
from bomi.posterior import exchange, sampler
from bomi.posterior.codes import to_codes
from bomi.posterior.priors import gap_priors
from bomi.space import Space

NAN = math.nan
KNOWN = (0.05, 0.3, 0.55, 0.9)
LOW, HIGH = -7.0, -1.0  # two explanations that differ in their log noise
EVEN = torch.linspace(0, 1, 161, dtype=torch.float64)


def hyper_of(noises):
    """Of one parameter, worlds of these log noises.  (Q, 5)"""
    noise = torch.as_tensor(noises, dtype=torch.float64)
    rest = torch.tensor([0.0, 0.0, math.log(0.25), math.log(0.3)], dtype=torch.float64)
    return torch.cat([rest.expand(len(noise), -1), noise[:, None]], -1)


def table_of(outcomes, gaps=2):
    inputs = torch.tensor([*KNOWN, *[NAN] * gaps], dtype=torch.float64)[:, None]
    return Table(
        Space({"x": (0, 1)}),
        inputs,
        torch.full_like(inputs, NAN),
        torch.tensor(outcomes, dtype=torch.float64),
        aims=(None,) * len(outcomes),
        keys=tuple(range(len(inputs))),
    )


def even_priors(table, known, worlds):
    """Priors that are even over the range, whatever the column looks like."""
    priors = gap_priors(table, known, worlds)
    nodes = torch.linspace(0, 1, priors.nodes.shape[-1], dtype=torch.float64).expand_as(priors.nodes)
    return dataclasses.replace(
        priors, nodes=nodes, cdf=nodes.expand(worlds, -1, -1, -1).contiguous(), discrete=torch.zeros_like(priors.used)
    )


def log_density(y, inputs, noise):
    """log p(outcomes | inputs) of one process, by the dense normal density.  (n,), (M, n) -> (M,)"""
    x = inputs.unsqueeze(-1)
    K = cross(AdditiveMatern((0,)), hyper_of([noise])[:, :-1].expand(len(x), -1), x, x)
    K = K + math.exp(noise) * torch.eye(len(y), dtype=torch.float64)
    return torch.distributions.MultivariateNormal(torch.zeros_like(inputs), K).log_prob(y)


def chances(table):
    """How likely the high noise is, one of two that were as likely beforehand: by all rows, by the complete ones."""
    middle = (EVEN[1:] + EVEN[:-1]) / 2
    gaps = torch.cartesian_prod(middle, middle)
    inputs = torch.cat([torch.tensor(KNOWN, dtype=torch.float64).expand(len(gaps), -1), gaps], -1)
    of_all, alone = [], []
    for noise in (LOW, HIGH):
        each = [log_density(y, inputs, noise) for y in table.outcomes]
        of_all.append(torch.stack(each).sum(0).logsumexp(0) - math.log(len(gaps)))
        alone.append(sum(log_density(y[:4], inputs[:1, :4], noise)[0] for y in table.outcomes))
    return float((of_all[1] - of_all[0]).sigmoid()), float((alone[1] - alone[0]).sigmoid())


CASES = {
    "gaps speak for little noise": [[0.5, -0.2, -0.4, 0.3, 0.1, 0.2]],
    "gaps speak for noise": [[0.1, 0.15, 0.2, 0.1, 0.6, -0.5]],
    "two outcomes": [[-0.2, 0.1, -0.7, 0.3, -0.9, -0.4], [0.1, -0.1, 0.3, 0.0, 0.8, 0.9]],
}


@pytest.mark.parametrize("case", CASES)
def test_the_noise_follows_its_posterior_with_the_gaps_integrated_out(case, monkeypatch):
    """Hyper-parameters change by exchanges alone, between two levels of the noise; the gaps by these and by sweeps."""
    monkeypatch.setattr(exchange, "prior_of", even_priors)
    table, worlds, rng = table_of(CASES[case]), 400, torch.Generator().manual_seed(0)
    m = len(table.outcomes)
    wanted, alone = chances(table)
    assert abs(wanted - alone) > 0.1  # or else there is nothing to show

    def drawn():
        high = torch.rand(worlds, generator=rng, dtype=torch.float64) < alone
        return hyper_of(torch.where(high, HIGH, LOW)).repeat(m, 1)

    priors = even_priors(table, to_codes(table, table.inputs), worlds)
    inputs = table.inputs.expand(worlds, -1, -1).clone()
    inputs[:, 4:] = torch.rand(worlds, 2, 1, generator=rng, dtype=torch.float64)
    hyper, shares = drawn(), []
    for turn in range(50):
        inputs, hyper, _ = exchange.exchange(table, inputs, hyper, drawn(), rng)
        P = sampler.inverse_of(table, hyper, inputs)
        sampler.sweep(inputs, P, table, priors, hyper, rng)
        if turn >= 10:
            shares.append((hyper[:worlds, -1] == HIGH).double().mean())
    assert torch.stack(shares).mean() == pytest.approx(wanted, abs=0.02)
    assert torch.equal(hyper, hyper[:worlds].repeat(m, 1))  # of all outcomes, or of none


def test_what_is_exchanged_is_neither_lost_nor_made():
    table, rng = table_of(CASES["gaps speak for noise"]), torch.Generator().manual_seed(0)
    inputs = table.inputs.nan_to_num(nan=0.5).expand(20, -1, -1)
    hyper, alone = hyper_of(torch.full((20,), LOW)), hyper_of(torch.full((20,), HIGH))
    after, own, other = exchange.exchange(table, inputs, hyper, alone, rng)
    moved = own[:, -1] == HIGH
    assert int(moved.sum()) > 0
    torch.testing.assert_close(other[:, -1], torch.where(moved, LOW, HIGH).double())
    assert (after[moved, 4:] != 0.5).all()
    assert torch.equal(after[~moved], inputs[~moved])
    assert torch.equal(after[:, :4], inputs[:, :4])


def test_a_world_whose_evidence_is_wanted_as_it_is_stays_and_the_others_take_fresh_draws():
    table, rng = table_of(CASES["gaps speak for noise"]), torch.Generator().manual_seed(0)
    codes = table.inputs.nan_to_num(nan=0.5).repeat(40, 1, 1)
    hyper, kept = hyper_of(torch.full((40,), HIGH)), torch.arange(40) < 20
    P = sampler.inverse_of(table, hyper, codes, only=~table.gaps.any(-1))
    priors, evidence = even_priors(table, table.inputs, 40), torch.zeros(40, dtype=torch.float64)
    sampler.sweep(codes, P, table, priors, hyper, rng, step=1.0, evidence=evidence, kept=kept)
    assert (codes[kept, 4:] == 0.5).all()
    assert (codes[~kept, 4:] != 0.5).all()
    assert (evidence != 0).all()
