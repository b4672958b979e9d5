"""Outcomes that are wrong: found, not believed, and named."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import bomi
from bomi.data.bulk import far_from_bulk
from bomi.impute.table import Table
from bomi.impute.transform import Transform
from bomi.posterior import imputer, outliers, policy
from bomi.posterior.imputer import Posterior
from bomi.posterior.outliers import draw_outliers, suspect_the_farthest
from bomi.space import Space

WORLDS = 4000
NAN = math.nan


def table_of(targets, **more):
    inputs = torch.linspace(0, 1, len(targets), dtype=torch.float64)[:, None]
    y = torch.tensor([targets], dtype=torch.float64)
    return Table(Space({"x": (0, 1)}), inputs, torch.full_like(inputs, NAN), y, **more)


def covariance(n):
    x = np.linspace(0, 1, n)
    return np.exp(-8 * (x[:, None] - x) ** 2) + 0.1 * np.eye(n)


def inverses(K):
    return torch.linalg.inv(torch.from_numpy(K)).expand(WORLDS, -1, -1).contiguous()


def rng():
    return torch.Generator().manual_seed(0)


def log_normal(y, K):
    return -0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(2 * math.pi * K)[1])


def test_what_is_wrong_is_drawn_from_its_posterior(monkeypatch):
    """Against all sets of wrong outcomes, one by one: how often each, and what the true ones are then."""
    monkeypatch.setattr(outliers, "WRONG", 0.2)
    monkeypatch.setattr(outliers, "SPREAD", 2.0)
    monkeypatch.setattr(outliers, "NEGLIGIBLE", 1e-300)
    r, K = np.array([0.3, 2.0, -0.4, -1.5]), covariance(4)
    table = table_of(r.tolist())
    generator = rng()
    for _ in range(30):
        table = Table(**{**vars(table), "drawn": draw_outliers(table, inverses(K), generator)})
    found = table.drawn.numpy()
    logs, means, squares = [], [], []
    sets = list(itertools.product([False, True], repeat=4))
    for one in sets:
        wrong = np.array(one)
        right = ~wrong
        any_number = -0.5 * (r[wrong] / 2) ** 2 - math.log(2 * math.sqrt(2 * math.pi))
        known = K[np.ix_(right, right)]
        logs.append(wrong.sum() * math.log(0.2) + right.sum() * math.log(0.8) + any_number.sum())
        logs[-1] += log_normal(r[right], known) if right.any() else 0.0
        gain = np.linalg.solve(known, K[right]).T if right.any() else np.zeros((4, 0))
        means.append(np.where(wrong, gain @ r[right], r))
        squares.append(means[-1] ** 2 + np.where(wrong, np.diag(K - gain @ K[right]), 0.0))
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    often = np.array([((found != r) == np.array(one)).all(1).mean() for one in sets])
    np.testing.assert_allclose(often, weights, atol=4 * math.sqrt(0.25 / WORLDS))
    assert weights.max() < 0.6  # the posterior has something to say
    np.testing.assert_allclose(found.mean(0), weights @ np.array(means), atol=0.08)
    np.testing.assert_allclose((found**2).mean(0), weights @ np.array(squares), atol=0.12)


def test_outcomes_that_agree_are_all_right():
    table = table_of([0.1, 0.4, 0.6, 0.7])
    assert draw_outliers(table, inverses(covariance(4))[:9], rng()) is None


def test_a_censored_or_a_missing_outcome_is_not_called_wrong():
    limits = torch.tensor([[[-math.inf, 9.0, -math.inf]], [[math.inf, math.inf, math.inf]]], dtype=torch.float64)
    table = table_of([0.1, 9.0, NAN], limits=limits)
    P = torch.zeros(WORLDS, 3, 3, dtype=torch.float64)
    P[:, :2, :2] = inverses(covariance(2))
    drawn = draw_outliers(table, P, rng())
    assert drawn[:, 2].isnan().all()
    assert (drawn[:, 1] == 9).all()
    assert not Table(**{**vars(table), "drawn": drawn}).wrong.any()


@pytest.mark.parametrize(
    ("numbers", "far"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 1000], [9]),
        ([-500, 2, 3, 4, 5, 6, 7, 8, 9, NAN], [0]),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 25], []),
        ([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], []),
        ([1, 2, 1000], []),  # too few to tell
    ],
)
def test_numbers_far_from_the_bulk(numbers, far):
    assert np.flatnonzero(far_from_bulk(np.array(numbers, dtype=float))).tolist() == far


def test_a_chain_begins_by_suspecting_what_lies_far_from_all_others():
    plain = table_of([1.0, 2, 3, 4, 5, 6, 7, 8, 9])
    assert suspect_the_farthest(plain) is plain
    table = suspect_the_farthest(table_of([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 1000]))
    assert table.wrong[0].tolist() == [False] * 9 + [True]
    assert table.as_recorded.tolist() == [True] * 9 + [False]
    scaled = table.transformed([Transform(shift=1.0, scale=3.0, warp=0.3)])
    assert scaled.wrong.equal(table.wrong)


def test_the_log_tells_of_a_restart_where_too_many_outcomes_are_called_wrong(monkeypatch, caplog):
    caplog.set_level("INFO", logger="bomi")
    tables = [Table.transformed(table_of([1.0, 2, 4, 3, 5, 6, 9, 8, 7][:n]), [Transform()]) for n in (8, 9)]
    table, longer = (replace(one, keys=tuple(range(len(one)))) for one in tables)
    state = Posterior().init(table, rng())
    assert not caplog.records
    monkeypatch.setattr(imputer, "too_many", lambda _: True)
    restarted = Posterior().step(state, longer, rng())
    assert [record.message for record in caplog.records] == [
        "restart after 9 rows: too many outcomes were called wrong",
        "9 rows: too many outcomes would be called wrong; all of them count as right",
    ]
    assert not restarted.table.wrong.any()


def test_a_wrong_outcome_has_no_say_in_the_transform():
    suspected = suspect_the_farthest(table_of([1.0, 2, 4, 3, 5, 6, 9, 8, 7, 1000]))
    without = suspected.select(torch.arange(10) < 9)
    assert policy.choose_transforms(suspected) == policy.choose_transforms(without)
    (like,) = policy.choose_transforms(without)
    assert policy.same_transforms(suspected, [like]) == (like,)


def told(rows, *, seed, wrong=(), gaps=False, noise=0.05):
    """Rows of a smooth outcome with a little noise, some with a slipped decimal point."""
    random = np.random.default_rng(seed)
    optimizer = bomi.Optimizer({"a": (0, 1), "b": (0, 1)}, seed=seed)
    for i, (a, b) in enumerate(random.random((rows, 2))):
        y = 4 + np.sin(4 * a) + b + noise * random.normal()
        missing = gaps and i % 4 == 1
        optimizer.tell({"a": a, "b": None if missing else b}, y * 10 if i in wrong else y)
    return optimizer


@pytest.mark.parametrize("gaps", [False, True])
def test_a_slipped_decimal_point_is_named_and_has_no_say(gaps):
    optimizer = told(30, seed=1, wrong=(4, 17), gaps=gaps)
    found = optimizer.validation()
    assert found.wrong == (4, 17)
    assert found.trusted
    assert "in row 4" in found.doubt
    assert "cannot be believed" in found.doubt
    best = optimizer.best()
    assert best.seen_row not in (4, 17)
    assert best.predicted.mean == pytest.approx(6, abs=0.3)
    assert optimizer.predict({"a": 0.4, "b": 0.9}).mean == pytest.approx(4 + math.sin(1.6) + 0.9, abs=0.2)
    optimizer.tell(optimizer.ask(), 5.9)  # the chains go on in the same belief
    assert optimizer.validation().wrong == (4, 17)


def test_a_wrong_outcome_of_two_is_one_of_its_own():
    random = np.random.default_rng(0)
    optimizer = bomi.Optimizer({"a": (0, 1), "b": (0, 1)}, objective={"y": "maximize", "z": "minimize"}, seed=0)
    for i, (a, b) in enumerate(random.random((24, 2))):
        optimizer.tell({"a": a, "b": b}, {"y": np.sin(4 * a) + b, "z": 100.0 if i == 5 else a - b})
    assert optimizer.validation("y").wrong == ()
    assert optimizer.validation("z").wrong == (5,)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_called_wrong_where_nothing_is(seed):
    assert told(30, seed=seed, noise=0.3).validation().wrong == ()


def test_the_best_of_a_lucky_row_is_believed_once_it_is_repeated():
    """One outcome far above all others is suspected; three that agree are not."""
    optimizer = told(24, seed=2)
    place = {"a": 0.5, "b": 0.5}
    optimizer.tell(place, 60.0)
    assert optimizer.validation().wrong == (24,)
    for _ in range(2):
        optimizer.tell(place, 60.0 + 0.1 * _)
    assert optimizer.validation().wrong == ()
    assert optimizer.best().seen > 59
