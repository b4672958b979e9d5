import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from bomi import Objective, Optimizer
from bomi.answers.prospects import Scale, expected_gains, gains_of_repeating, spread_of
from bomi.answers.recommend import trade_offs
from bomi.data.objectives import objective_of
from bomi.impute.summary import fitted_by
from bomi.impute.table import since_improvement
from bomi.impute.transform import within
from bomi.results import Prospects
from bomi.search.acquisition import log_excess

SPACE = {"a": (0, 1), "b": (0, 1)}


def told(outcome, *, rows=20, noise=0.0, goal="maximize", gaps=()):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((rows, 2)), columns=["a", "b"])
    frame["y"] = outcome(frame) + rng.normal(0, noise, rows)
    frame = frame.astype(object)
    for row, name in gaps:
        frame.loc[row, name] = None
    optimizer = Optimizer(SPACE, objective={"y": objective_of("y", goal)}, seed=0)
    optimizer.tell(frame)
    return optimizer


def scale_of(fit):
    return Scale(fit, (Objective("y"),))


def bowl(frame):
    return -((frame["a"] - 0.6) ** 2) - (frame["b"] - 0.3) ** 2


def test_the_gain_of_one_experiment_is_the_expected_improvement():
    fit = told(bowl)._known.fit
    place = torch.tensor([0.55, 0.45], dtype=torch.float64)
    (model,), (transform,) = fit.models, fit.transforms
    assert transform.warp == 0  # so that both are on one scale, up to its unit
    mean, variance = model.moments(place[None])
    gain = log_excess(mean, variance.sqrt(), fit.outlook.tried[..., 0].amax(-1)[:, None]).exp()[0, 0]
    ei = gain * transform.scale * transform.unit
    many = np.mean([expected_gains(scale_of(fit), [place], seed)[0] for seed in range(40)])
    assert many == pytest.approx(float(ei), rel=0.05)


def test_more_experiments_gain_more_and_nothing_is_gained_beyond_what_is_possible():
    optimizer = told(bowl)
    found = optimizer.prospects()
    assert 0 <= found.gains[1] <= found.gains[5] <= found.gains[10]
    fit = optimizer._known.fit
    places = [torch.rand(2, generator=torch.Generator().manual_seed(i), dtype=torch.float64) for i in range(4)]
    best = float(fit.table.outcomes.max())
    full = replace(fit, table=replace(fit.table, bounds=((-math.inf, best - 1),)))
    assert expected_gains(scale_of(full), places, 0).max() == 0


def test_a_search_that_has_found_its_maximum_is_told_to_stop():
    optimizer = told(bowl, rows=12)
    for _ in range(14):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, float(bowl(suggestion)))
    found = optimizer.prospects()
    assert found.trusted
    assert found.action == "stop"
    assert found.advice().startswith("stop: the next experiment is expected to gain 0")


def test_a_repeat_tells_more_where_outcomes_are_noisy():
    quiet, noisy = (told(bowl, noise=noise, rows=30)._known.fit for noise in (0.0, 0.2))
    points = torch.rand(6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gains = [gains_of_repeating(scale_of(fit), points, 0).max() for fit in (quiet, noisy)]
    assert gains[0] < 1e-3 < gains[1]


def test_what_is_expected_given_a_value_is_its_regression():
    z = np.random.default_rng(0).normal(size=400)
    outcomes = np.stack([2 * z, np.zeros(400), np.random.default_rng(1).normal(size=400)], 1)
    found = fitted_by(z.tolist(), outcomes, words=False)
    assert found[:, 0] == pytest.approx(2 * z, abs=1e-6)
    assert np.abs(found[:, 1]).max() < 1e-9
    assert found[:, 2].std() < 0.15
    kinds = ["x" if value > 0 else "y" for value in z]
    by_kind = fitted_by(kinds, outcomes[:, :1], words=True)
    assert len(np.unique(by_kind.round(9))) == 2


def two_outcomes(*, rows=24, gaps=(), goals=None):
    """One grows with a, the other with 1 - a; b is best at 0.3 for both."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((rows, 2)), columns=["a", "b"])
    frame["y"] = 100 * frame["a"] - 50 * (frame["b"] - 0.3) ** 2
    frame["z"] = frame["a"] + (frame["b"] - 0.3) ** 2
    for row, name in gaps:
        frame.loc[row, name] = np.nan
    optimizer = Optimizer(SPACE, objective=goals or {"y": "maximize", "z": "minimize"}, seed=0)
    optimizer.tell(frame)
    return optimizer


def test_gains_of_several_outcomes_are_those_of_the_worst_over_trade_offs():
    """By hand: draws of both outcomes at one place, and the best row for each weighing."""
    optimizer = two_outcomes()
    fit, place = optimizer._known.fit, torch.tensor([0.5, 0.3], dtype=torch.float64)
    rng = np.random.default_rng(0)
    weights = trade_offs(2).numpy()
    weights = np.maximum(weights / weights.max(1, keepdims=True), 1e-3)
    table = fit.table.outcomes.numpy()  # (2, n), larger is better
    spread, top = np.array([spread_of(one) for one in table]), table.max(1)
    moments = [[part.numpy() for part in model.moments(place[None])] for model in fit.models]
    rows = [model.moments(fit.measured)[0] for model in fit.models]
    gains = []
    for q in range(len(fit.completed.inputs)):
        good = np.stack([t.to_outcomes(row[q]).numpy() for t, row in zip(fit.transforms, rows, strict=True)], -1)
        drawn = np.stack(
            [
                t.to_outcomes(torch.from_numpy(m[q] + np.sqrt(v[q]) * rng.normal(size=20_000))).numpy()
                for t, (m, v) in zip(fit.transforms, moments, strict=True)
            ],
            -1,
        )
        for w in weights:
            found, best = ((100 * (each - top) / spread * w).min(1) for each in (drawn, good))
            gains.append(np.maximum(found - best.max(), 0).mean())
    scale = Scale(fit, optimizer.objectives)
    assert expected_gains(scale, [place], 0)[0] == pytest.approx(np.mean(gains), rel=0.1)


def test_several_outcomes_targets_and_failures_have_prospects():
    several = two_outcomes(gaps=[(3, "b"), (5, "a")])
    found = several.prospects()
    assert 0 <= found.gains[1] <= found.gains[5] <= found.gains[10]
    assert (found.outcome, found.unit, found.spread) == ("y, z", "% of the spread", 100)
    assert found.look_up is not None
    assert found.advice().split(":")[0] in ("go on", "stop", "look up b of row 3", "look up a of row 5", "repeat row 0")
    near = two_outcomes(goals={"y": ("target", 50.0), "z": Objective("z", "minimize", cost=0.01)})
    near.tell({"a": 0.5, "b": 0.99}, failed=True)
    priced = near.prospects()
    assert priced.cost == pytest.approx(100 * 0.01 / spread_of(near._known.fit.table.outcomes[1, :24].numpy()))
    assert np.isfinite(list(priced.gains.values())).all()


def test_a_front_that_is_known_is_not_worth_another_experiment():
    """Nothing is to be gained by b, and the front is the whole range of a: rows along it leave little to find."""
    optimizer = two_outcomes(rows=12)
    before = optimizer.prospects().gains[1]
    optimizer.tell(pd.DataFrame({"a": (a := np.linspace(0, 1, 16)), "b": 0.3, "y": 100 * a, "z": a}))
    found = optimizer.prospects()
    assert found.gains[1] < 0.2 * before
    assert found.since < 16


def test_what_no_row_beats_is_likely_on_the_front_and_not_below_it():
    optimizer = two_outcomes()
    on, below = optimizer.chances([{"a": 0.5, "b": 0.3}, {"a": 0.5, "b": 0.99}])
    assert below < 0.05 < 0.5 < on
    assert optimizer.explain({"a": 0.5, "b": 0.3}).chance == pytest.approx(on, abs=0.05)


def prospects(gain=1.0, *, look_up=None, repeat=None, since=10, cost=None, trusted=True):
    return Prospects("y", "MPa", {1: gain, 5: 3 * gain, 10: 4 * gain}, look_up, repeat, 100.0, since, cost, trusted)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (prospects(), "go on: the next experiment is expected to gain 1 MPa, and ten are expected to gain 4 MPa"),
        (prospects(0.1), "stop: the next experiment is expected to gain 0.1 MPa, and ten are expected to gain 0.4 MPa"),
        (prospects(0.1, cost=0.01), "go on"),
        (prospects(5, cost=5), "stop: the next experiment is expected to gain 5 MPa, and ten are expected to gain"),
        (prospects(0.1, trusted=False), "go on: the next experiment is expected to gain 0.1 MPa"),
        (prospects(look_up=(3, "a", 2.0)), "look up a of H4: knowing it is expected to gain 2 MPa"),
        (prospects(0.1, look_up=(3, "a", 0.12)), "stop"),
        (prospects(0.1, since=3), "go on"),
        (prospects(repeat=(2, 1.5)), "repeat H3: a second outcome is expected to gain 1.5 MPa"),
    ],
)
def test_the_advice_is_one_line(found, said):
    assert found.advice([f"H{row + 1}" for row in range(5)]).startswith(said)
    assert said.startswith(found.action)


@pytest.mark.parametrize(("low", "high"), [(0, 100), (0, math.inf), (-math.inf, 100), (95, 96)])
@pytest.mark.parametrize("mean", [-20.0, 50.0, 98.0, 137.0])
def test_what_is_possible_cuts_a_prediction_as_it_cuts_draws(mean, low, high):
    drawn = np.clip(np.random.default_rng(0).normal(mean, 20, 400_000), low, high)
    found = within(torch.tensor([mean], dtype=torch.float64), torch.tensor([20.0], dtype=torch.float64), low, high)
    assert float(found[0]) == pytest.approx(drawn.mean(), abs=0.1)
    assert float(found[1]) == pytest.approx(drawn.std(), abs=0.1)


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_predictions_and_intervals_stay_within_the_range_of_the_outcome(goal):
    def steep(frame):
        return (60 + 80 * frame["a"]).clip(0, 100)

    optimizer = told(steep, goal=Objective("y", goal, unit="%", range=(0, 100)))
    points = np.random.default_rng(0).random((200, 2))
    mean, sd = optimizer.expected(points)
    assert mean.min() >= 0
    assert mean.max() <= 100
    assert (told(steep, goal=goal).expected(points)[0]).max() > 100
    found = optimizer.validation()
    for numbers in (found.mean, found.low, found.high):
        assert 0 <= numbers.min() <= numbers.max() <= 100
    assert np.isfinite(sd).all()


def test_the_spread_leaves_outliers_out():
    assert spread_of(np.array([*np.linspace(0, 1, 100), 50.0])) == pytest.approx(0.91, abs=0.01)
    assert spread_of(np.full(3, 2.0)) == 1.0


def test_what_is_as_good_as_the_best_is_no_improvement():
    assert since_improvement(torch.tensor([1.0, 5.0, 2.0, 5.01, 3.0]), 0.05) == 3
    assert since_improvement(torch.tensor([1.0, 5.0, 2.0, 5.1, 3.0]), 0.05) == 1


def test_a_model_that_is_told_the_range_predicts_better_near_its_ends():
    """A purity between 0 and 100 %, near one of them in most of the space."""

    def purity(frame):
        return 100 / (1 + np.exp(-12 * (frame["a"] - 0.5) - 4 * (frame["b"] - 0.4)))

    new = np.random.default_rng(1).random((200, 2))
    truth = purity(pd.DataFrame(new, columns=["a", "b"]))
    errors = [
        np.abs(told(purity, goal=Objective("y", range=ends)).expected(new)[0] - truth).mean()
        for ends in (None, (0, 100))
    ]
    assert errors[1] < 0.5 * errors[0]
