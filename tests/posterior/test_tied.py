"""Gaps of several rows that share one value."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

import bomi
from bomi.data.observations import Row
from bomi.impute.table import Table
from bomi.model.additive import AdditiveMatern
from bomi.model.kernels import cross
from bomi.posterior import sampler
from bomi.posterior.codes import to_codes
from bomi.posterior.priors import gap_priors
from bomi.posterior.tied import led
from bomi.space import Real, Space

NAN = math.nan
NOISE = -3.0
OUTCOMES = {
    "one outcome": [[1.5, -1.2, 1.3, 1.0, 1.1]],
    "a lacking outcome": [[1.5, -1.2, 1.3, 1.0, 1.1], [-0.5, 0.2, 0.4, NAN, -0.6]],
}
SECOND = (0.1, 0.9, 0.2, 0.6, 0.8)  # the known column


def table_of(outcomes):
    """Two known rows, and three that share their first input."""
    space = Space({"x": Real(0, 1, same_within="lot"), "z": (0, 1)})
    first = [0.2, 0.7, None, None, None]
    rows = [
        Row({"x": x, "z": z}, {"y": 0.0}, extra={"lot": lot})
        for x, z, lot in zip(first, SECOND, ["", None, "A", " A", "A"], strict=True)
    ]
    targets = torch.tensor(outcomes, dtype=torch.float64)
    return replace(Table.of(space, rows, targets), aims=(None,) * len(outcomes))


def hyper_of(count, worlds):
    lengths = [math.log(0.4)] * 2 + [math.log(0.5)] * 2
    return torch.tensor([[0.0, 0.0, *lengths, NOISE]], dtype=torch.float64).repeat(count * worlds, 1)


def log_density(table, values):
    """log p(outcomes | the shared value), by the dense normal density.  (M,) -> (M,)"""
    inputs = table.inputs.expand(len(values), -1, -1).clone()
    inputs[:, 2:, 0] = values[:, None]
    total = torch.zeros(len(values), dtype=torch.float64)
    for y in table.outcomes:
        x = inputs[:, ~y.isnan()]
        K = cross(AdditiveMatern((0, 1)), hyper_of(1, 1)[:, :-1].expand(len(values), -1), x, x)
        K = K + math.exp(NOISE) * torch.eye(x.shape[1]).double()
        total += torch.distributions.MultivariateNormal(torch.zeros_like(x[..., 0]), K).log_prob(y[~y.isnan()])
    return total


@pytest.mark.parametrize("case", OUTCOMES)
def test_a_shared_value_follows_its_posterior_given_all_rows(case):
    table, worlds = table_of(OUTCOMES[case]), 300
    assert table.leaders[:, 0].tolist() == [0, 1, 2, 2, 2]
    generator, hyper = torch.Generator().manual_seed(0), hyper_of(len(table.outcomes), worlds)
    priors = gap_priors(table, to_codes(table, table.inputs), worlds)
    assert priors.rows.tolist() == [2]
    levels = torch.special.ndtri((torch.arange(400).double() + 0.5) / 400)
    grid = priors.draw(levels.expand(worlds, -1)[:, :, None, None])[0, :, 0, 0]
    weights = log_density(table, grid).softmax(0)
    codes = sampler.guess(to_codes(table, table.inputs).expand(worlds, -1, -1), priors, table, generator)
    P, kept = sampler.inverse_of(table, hyper, codes), []
    for turn in range(40):
        P, _ = sampler.sweep(codes, P, table, priors, hyper, generator)
        assert (codes[:, 2:, 0] == codes[:, 2:3, 0]).all()
        if turn >= 5:
            kept.append(codes[:, 2, 0].clone())
    assert torch.allclose(P, sampler.inverse_of(table, hyper, codes), atol=1e-6)
    draws = torch.cat(kept)
    for at in (0.2, 0.35, 0.5, 0.65, 0.8):
        expected = float(weights[grid <= at].sum())
        assert float((draws <= at).double().mean()) == pytest.approx(expected, abs=0.03)
    alone = (log_density(table, grid) * 0).softmax(0)
    assert float((weights - alone).abs().sum()) > 0.3, "the outcomes must say something"


def test_rows_that_join_one_by_one_end_with_the_same_inverse():
    table, worlds = table_of(OUTCOMES["one outcome"]), 4
    generator, hyper = torch.Generator().manual_seed(0), hyper_of(1, worlds)
    priors = gap_priors(table, to_codes(table, table.inputs), worlds)
    codes = sampler.guess(to_codes(table, table.inputs).expand(worlds, -1, -1), priors, table)
    P = sampler.inverse_of(table, hyper, codes, only=torch.arange(5) < 2)
    P, _ = sampler.sweep(codes, P, table, priors, hyper, generator)
    assert torch.allclose(P, sampler.inverse_of(table, hyper, codes), atol=1e-8)
    assert led(table, 2).tolist() == [2, 3, 4]


def furnace(rows=40, seed=0):
    """Half of the rows are of two old campaigns, each at one unknown temperature."""
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(0, 1, rows), rng.uniform(0, 1, rows)
    campaign = np.where(np.arange(rows) < 10, "old", np.where(np.arange(rows) < 20, "older", ""))
    x[campaign == "old"], x[campaign == "older"] = 0.25, 0.8
    y = 3 * x + np.sin(4 * z) + 0.1 * rng.normal(size=rows)
    return pd.DataFrame({"x": np.where(campaign == "", x, np.nan), "z": z, "campaign": campaign, "y": y})


def made(frame, **options):
    optimizer = bomi.Optimizer(
        {"x": bomi.Real(0, 1, same_within="campaign"), "z": (0, 1)}, objective="y", seed=0, **options
    )
    optimizer.tell(frame)
    return optimizer


def test_one_value_is_drawn_for_a_group_and_found():
    optimizer = made(furnace())
    draws = {gap.row: gap.draws for gap in optimizer.gap_draws()}
    assert len(draws) == 20
    assert all(draws[row] == draws[0] for row in range(10))
    assert all(draws[row] == draws[10] for row in range(10, 20))
    assert np.mean(draws[0]) == pytest.approx(0.25, abs=0.05)
    assert np.mean(draws[10]) == pytest.approx(0.8, abs=0.05)
    optimizer.tell({"x": None, "z": 0.5, "campaign": "older"}, 3 * 0.8 + math.sin(2))
    draws = {gap.row: gap.draws for gap in optimizer.gap_draws()}
    assert draws[40] == draws[10]


def test_a_large_table_shares_values_too(monkeypatch):
    monkeypatch.setattr("bomi.impute.table.LARGE", 30)
    draws = {gap.row: gap.draws for gap in made(furnace(rows=80)).gap_draws()}
    assert all(draws[row] == draws[0] for row in range(10))
    assert np.mean(draws[10]) == pytest.approx(0.8, abs=0.1)


def test_a_value_that_one_row_of_a_group_knows_is_that_of_all():
    frame = furnace()
    frame.loc[3, "x"] = 0.25
    optimizer = made(frame)
    inputs = optimizer._known.fit.table.inputs
    assert (inputs[:10, 0] == 0.25).all()
    assert inputs[10:20, 0].isnan().all()


def test_different_values_in_a_group_leave_its_gaps_together():
    frame = furnace()
    frame.loc[3, "x"], frame.loc[4, "x"] = 0.25, 0.5
    table = made(frame)._known.fit.table
    assert table.inputs[:10, 0].isnan().sum() == 8
    assert table.leaders[:10, 0].tolist() == [0, 0, 0, 3, 4, 0, 0, 0, 0, 0]


def test_groups_are_saved(tmp_path):
    optimizer = made(furnace())
    optimizer.save(tmp_path / "campaign.json")
    loaded = bomi.Optimizer.load(tmp_path / "campaign.json")
    assert loaded.space == optimizer.space
    assert loaded._known.fit.table.leaders.tolist() == optimizer._known.fit.table.leaders.tolist()
