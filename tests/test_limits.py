"""Outcomes that only have to stay at or below a value, from what is told to what is recommended."""

import json

import numpy as np
import pytest
import torch

import bomi
from bomi.analysis import insight, plots
from bomi.answers.prospects import Scale, expected_gains
from bomi.errors import SpaceError

DISC = {"y": "maximize", "c": ("limit", 1.0)}


def outcome(x, z):
    """Best on the border of the disc, at x = z = 0.707."""
    return {"y": x + z, "c": x * x + z * z}


def told(rows=18, seed=0, objective=None, more=(), **settings):
    random = np.random.default_rng(seed)
    optimizer = bomi.Optimizer({"x": (0, 1), "z": (0, 1)}, objective={**(objective or DISC)}, seed=seed, **settings)
    for k, (x, z) in enumerate([*random.random((rows, 2)), *more]):
        actual = {"x": None} if k % 6 == 5 else None
        optimizer.tell(
            {"x": x, "z": z}, {n: v for n, v in outcome(x, z).items() if n in optimizer.outcomes}, actual=actual
        )
    return optimizer


@pytest.fixture(scope="module")
def disc():
    return told()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_recommended_keeps_the_limit_and_lies_near_it(seed):
    optimizer = told(seed=seed)
    best = optimizer.best()
    assert 0.9 < outcome(**best.setting)["c"] <= 1
    assert not isinstance(best, bomi.Front)
    assert optimizer.success(best.setting) > 0.9


def test_the_best_row_seen_keeps_the_limit(disc):
    best = disc.best()
    kept = [row.outcomes["y"] for row in disc.observations.rows if row.outcomes["c"] <= 1]
    assert best.seen["y"] == max(kept) < max(row.outcomes["y"] for row in disc.observations.rows)
    assert best.seen["c"] <= 1
    assert best.note == ""


def test_a_suggestion_is_at_the_border(disc):
    suggestion = told(seed=1).ask()
    assert outcome(**suggestion)["c"] == pytest.approx(1, abs=0.1)
    why = str(insight.why(disc, suggestion, disc.best()))
    assert "to beat the best row" in why
    assert "probability of success" in why


def test_where_no_row_keeps_the_limit_that_is_said():
    optimizer = told(8, objective={"y": "maximize", "c": ("limit", -1.0)})
    assert optimizer.best().note == "no row keeps all limits"
    few = told(1, objective={"y": "maximize", "c": ("limit", -1.0)})
    assert few.best().setting is None
    assert few.best().note == "no model, and no row keeps all limits"


def test_a_chance_to_beat_the_best_row_is_one_to_keep_the_limit_too(disc):
    inside, outside = disc.chances([{"x": 0.7, "z": 0.7}, {"x": 0.95, "z": 0.95}])
    assert outside < 0.01 < inside
    assert disc.explain({"x": 0.95, "z": 0.95}).chance == pytest.approx(outside)
    assert disc.success([{"x": 0.5, "z": 0.5}, {"x": 0.95, "z": 0.95}]) == pytest.approx([1, 0], abs=0.01)


def test_nothing_is_gained_beyond_a_limit(disc):
    """Without it, experiments at (1, 1) would gain up to 0.6."""
    assert 0 < disc.prospects().gains[1] < 0.1
    assert disc.prospects().unit == ""
    assert disc.gaps()["worth"].max() < 0.1


def test_an_experiment_beyond_a_limit_gains_nothing(disc):
    scale, beyond = Scale(disc._known.modelled(), disc._known.wanted), torch.tensor([0.95, 0.95]).double()
    assert disc.predict({"x": 0.95, "z": 0.95})["y"].mean > disc.best().predicted["y"].mean + 0.3
    assert expected_gains(scale, [beyond], 0)[0] < 0.01


def test_a_front_is_one_of_outcomes_that_are_wanted():
    two = bomi.Optimizer({"x": (0, 1), "z": (0, 1)}, objective={**DISC, "height": "minimize"}, seed=0)
    for x, z in np.random.default_rng(0).random((10, 2)):
        two.tell({"x": x, "z": z}, {**outcome(x, z), "height": z})
    front = two.best()
    assert len(front) > 2
    assert all(outcome(**one.setting)["c"] <= 1 for one in front)
    assert len(plots.front(two).axes) == 1


def test_a_figure_shows_the_limit_and_the_best_row_that_keeps_it(disc):
    over_time, limit = plots.outcomes(disc).axes
    assert [axes.get_title(loc="left") for axes in (over_time, limit)] == [
        "y over time, to maximize",
        "c over time, limit 1",
    ]
    (best,) = (line for line in over_time.get_lines() if line.get_label() == "best so far")
    assert np.nanmax(best.get_ydata()) == disc.best().seen["y"]


def test_a_limit_is_saved(disc, tmp_path):
    disc.save(tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text())["objectives"]["c"] == {"goal": "limit", "target": 1.0}
    assert bomi.Optimizer.load(tmp_path / "x.json").objectives == disc.objectives


def test_limits_alone_are_refused():
    with pytest.raises(SpaceError, match="something must be wanted beside limits"):
        bomi.Optimizer({"x": (0, 1)}, objective={"c": ("limit", 1.0)})
    with pytest.raises(SpaceError, match="is a finite number"):
        bomi.Optimizer({"x": (0, 1)}, objective={"y": "maximize", "c": "limit"})
