"""Outcomes of which only a limit is known: drawn from the normal's tail, and learned from."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import truncnorm

import bomi
from bomi.impute.table import Table
from bomi.posterior.censored import draw_censored
from bomi.space import Space

WORLDS = 4000


def table_of(targets, limits):
    """Rows without gaps; limits: (n, 2)"""
    n = len(targets)
    inputs = torch.linspace(0, 1, n, dtype=torch.float64)[:, None]
    ends = torch.tensor(limits, dtype=torch.float64).T[:, None]
    y, nothing = torch.tensor([targets], dtype=torch.float64), torch.full_like(inputs, math.nan)
    return Table(Space({"x": (0, 1)}), inputs, nothing, y, limits=ends)


def covariance(n):
    x = np.linspace(0, 1, n)
    return np.exp(-8 * (x[:, None] - x) ** 2) + 0.1 * np.eye(n)


def inverses(K):
    return torch.linalg.inv(torch.from_numpy(K)).expand(WORLDS, -1, -1).contiguous()


FREE = (-math.inf, math.inf)


@pytest.mark.parametrize("limit", [(-math.inf, -0.2), (0.7, math.inf), (6.0, math.inf), (-0.1, 0.3)])
def test_one_censored_outcome_is_a_cut_normal_given_the_others(limit):
    """Against SciPy's, far into the tail too."""
    K, y = covariance(4), np.array([0.3, 0.0, -0.4, 0.1])
    start = limit[0] if math.isfinite(limit[0]) else limit[1]
    table = table_of([0.3, start, -0.4, 0.1], [FREE, limit, FREE, FREE])
    drawn = draw_censored(table, inverses(K), torch.Generator().manual_seed(0))
    others = [0, 2, 3]
    gain = K[1, others] @ np.linalg.inv(K[np.ix_(others, others)])
    mean, sd = gain @ y[others], math.sqrt(K[1, 1] - gain @ K[others, 1])
    expected = truncnorm((limit[0] - mean) / sd, (limit[1] - mean) / sd, mean, sd)
    found = drawn[:, 1].numpy()
    assert ((limit[0] <= found) & (found <= limit[1])).all()
    assert found.mean() == pytest.approx(expected.mean(), abs=5 * expected.std() / math.sqrt(WORLDS))
    assert found.std() == pytest.approx(expected.std(), rel=0.1)
    assert (drawn[:, others].numpy() == y[others]).all()


@pytest.mark.parametrize("limits", [[(-math.inf, -0.1), (0.2, math.inf)], [(-math.inf, -0.2)] * 4])
def test_censored_outcomes_follow_their_joint_distribution(limits):
    """Between two that are known, against draws of the normal that keep the limits, after some rounds."""
    n = len(limits) + 2
    K, known, censored = covariance(n), [0, n - 1], np.arange(1, n - 1)
    starts = [low if math.isfinite(low) else high for low, high in limits]
    table = table_of([0.3, *starts, -0.5], [FREE, *limits, FREE])
    rng = torch.Generator().manual_seed(1)
    for _ in range(30):
        table = Table(**{**vars(table), "drawn": draw_censored(table, inverses(K), rng)})
    gain = K[np.ix_(censored, known)] @ np.linalg.inv(K[np.ix_(known, known)])
    mean, rest = gain @ [0.3, -0.5], K[np.ix_(censored, censored)] - gain @ K[np.ix_(known, censored)]
    draws = np.random.default_rng(0).multivariate_normal(mean, rest, 1_000_000)
    low, high = np.array(limits).T
    kept = draws[((low < draws) & (draws < high)).all(1)]
    assert len(kept) > 2000
    found = table.drawn[:, censored].numpy()
    np.testing.assert_allclose(found.mean(0), kept.mean(0), atol=0.02)
    np.testing.assert_allclose(np.cov(found.T), np.cov(kept.T), atol=0.03)


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_a_limit_says_more_than_its_number(goal):
    """Below the limit of detection on one side: the model expects it to go on falling there."""
    sign = 1 if goal == "maximize" else -1
    rng = np.random.default_rng(0)
    told, taken = (bomi.Optimizer({"x": (0, 1), "z": (0, 1)}, goal=goal, seed=0) for _ in range(2))
    for x, z in rng.random((24, 2)):
        y = sign * (4 * x - 1 + 0.2 * z)
        beyond = bomi.Censored(high=0.0) if goal == "maximize" else bomi.Censored(low=0.0)
        censored = sign * y < 0
        told.tell({"x": x, "z": z}, beyond if censored else y)
        taken.tell({"x": x, "z": z}, 0.0 if censored else y)
    place = {"x": 0.02, "z": 0.5}
    truth = sign * (4 * 0.02 - 1 + 0.1)
    errors = [abs(one.predict(place).mean - truth) for one in (told, taken)]
    assert errors[0] < 0.7 * errors[1]
    assert sign * told.predict(place).mean < 0
    assert told.best().seen_row is not None  # the best seen is one that was measured


def test_a_campaign_goes_on_with_censored_outcomes_and_gaps():
    optimizer = bomi.Optimizer({"x": (0, 1), "z": (0, 1)}, seed=0)
    rng = np.random.default_rng(0)
    for i, (x, z) in enumerate(rng.random((12, 2))):
        y = 3 * x - 1
        optimizer.tell({"x": x, "z": None if i % 3 == 0 else z}, bomi.Censored(high=0.0) if y < 0 else y)
    for _ in range(3):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, 3 * suggestion["x"] - 1, actual={"z": None})
    fit = optimizer._known.fit
    drawn, limits = fit.completed.drawn, fit.state.table.limits
    assert drawn.shape == (len(fit.completed.inputs), 15)
    assert (drawn <= limits[1, 0]).all()
    assert (drawn >= limits[0, 0]).all()
    assert len(optimizer.gaps()) == 4 + 3
    assert optimizer.best().setting["x"] > 0.7


def test_simple_methods_take_the_limit_itself():
    optimizer = bomi.Optimizer({"x": (0, 1)}, method="mean", seed=0)
    optimizer.tell({"x": 0.1}, bomi.Censored(high=2.0))
    optimizer.tell({"x": 0.9}, 3.0)
    optimizer.tell({"x": 0.5}, bomi.Censored(1.0, 2.0))
    assert optimizer._known.fit.table.outcomes.tolist() == [[2.0, 3.0, 1.5]]
