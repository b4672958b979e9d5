import numpy as np
import pandas as pd
import pytest
import torch

from bomi import Optimizer
from bomi.errors import BomiError, TableError
from bomi.model.additive import AdditiveMatern
from bomi.model.gaussian_process import with_hyper
from bomi.search.acquisition import chance

SPACE = {"a": (0, 1), "b": (0, 1)}


def told(gaps=(), goal="maximize"):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((16, 2)), columns=["a", "b"])
    frame["y"] = 10 * frame["a"] + frame["b"] + rng.normal(0, 0.1, 16)
    frame = frame.astype(object)
    for row, name in gaps:
        frame.loc[row, name] = None
    optimizer = Optimizer(SPACE, goal=goal, seed=0)
    optimizer.tell(frame)
    return optimizer


def test_a_row_s_influence_is_the_change_that_leaving_it_out_makes():
    rng = np.random.default_rng(0)
    kernel, X, y = AdditiveMatern((0, 1)), torch.from_numpy(rng.random((2, 8, 2))), torch.from_numpy(rng.random(8))
    point, noise = torch.tensor([0.3, 0.6], dtype=torch.float64), torch.tensor([-4.0], dtype=torch.float64)
    hyper = torch.cat([kernel.starts()[3], noise]).repeat(2, 1)
    whole = with_hyper(X, y, hyper, kernel=kernel)
    found = whole.influence(point)
    for i in range(8):
        others = torch.arange(8) != i
        without = with_hyper(X[:, others], y[others], hyper, kernel=kernel).moments(point[None])[0][:, 0]
        assert whole.moments(point[None])[0][:, 0] - without == pytest.approx(found[:, i], abs=1e-6)


@pytest.mark.parametrize("aim", [None, 1.5])
def test_the_chance_to_beat_the_best_is_that_of_draws(aim):
    mean, sd, best = (torch.tensor(x, dtype=torch.float64) for x in ([[1.0, 2.0]], [[0.5, 2.0]], [-0.4]))
    drawn = mean + sd * torch.randn(200_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    merit = drawn if aim is None else -(drawn - aim).abs()
    assert chance(mean, sd, best, aim)[0] == pytest.approx((merit > best).double().mean(0), abs=0.005)


def test_a_prediction_rests_on_the_rows_nearby_and_hangs_on_the_gaps_that_matter():
    optimizer = told(gaps=[(3, "a"), (5, "b")])
    near = {name: float(optimizer.observations.rows[7].recorded[name]) for name in "ab"}
    found = optimizer.explain(near)
    assert found.predicted == optimizer.predict(near)
    assert found.rows[0][0] == 7
    assert len(found.rows) == 16
    assert {row for row, _, _ in found.gaps} <= {3, 5}
    assert found.chance == optimizer.chances([near])[0]
    best, worst = {"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 0.0}
    assert optimizer.chances([worst])[0] < 0.01 < 0.5 < optimizer.chances([best])[0]
    least = told(goal="minimize").explain(best)
    assert least.chance < 0.01
    assert sum(move for _, move in least.rows) != 0


def test_any_setting_can_be_asked_about_but_not_any_mistake():
    with pytest.raises(BomiError, match="b"):
        told().explain({"a": 0.5})
    with pytest.raises(BomiError, match="no outcome is called 'z'"):
        told().explain({"a": 0.5, "b": 0.5}, "z")


@pytest.mark.parametrize("setting", [[], None, "x", [{"x": 0.5}]])
def test_one_setting_is_explained_or_completed(setting):
    optimizer = Optimizer({"x": (0, 1)}, objective="y", method="mean", seed=0)
    optimizer.tell(pd.DataFrame({"x": [0.1, 0.5, 0.9], "y": [1.0, 3.0, 2.0]}))
    for call in (optimizer.explain, optimizer.completed):
        with pytest.raises(TableError, match="the setting must be a mapping of parameter to value"):
            call(setting)


def test_where_a_table_is_too_large_to_say_what_hangs_on_its_gaps_these_are_not_drawn(monkeypatch):
    optimizer = told(gaps=[(3, "a"), (5, "b")])
    fit = optimizer._known.fit
    monkeypatch.setattr(type(fit.table), "large", True)
    assert optimizer.explain({"a": 0.5, "b": 0.5}).gaps == ()
    assert optimizer.prospects().look_up is None
    assert "draws" not in vars(fit)
