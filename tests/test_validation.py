import math

import numpy as np
import pandas as pd
import pytest
import torch

from bomi import Optimizer, Real, Validation
from bomi.answers.validation import leave_one_out, share_explained
from bomi.errors import BomiError
from bomi.model.additive import AdditiveMatern
from bomi.model.gaussian_process import with_hyper
from bomi.model.kernels import cross

KERNEL = AdditiveMatern((0, 1))


def rows(count, seed=0, worlds=1):
    rng = np.random.default_rng(seed)
    X = torch.from_numpy(rng.random((worlds, count, 2)))
    noise = torch.tensor([math.log(0.05)], dtype=torch.float64)
    hyper = torch.cat([KERNEL.starts()[3], noise]).repeat(worlds, 1)
    return X, torch.from_numpy(rng.normal(size=count)), hyper


def test_leaving_one_out_is_refitting_without_the_row():
    X, y, hyper = rows(12, worlds=3)
    errors = torch.linspace(0, 0.2, 12, dtype=torch.float64)
    whole = with_hyper(X, y, hyper, kernel=KERNEL, errors=errors)
    mean, variance = whole.leave_one_out(torch.arange(12))
    elsewhere = torch.rand(X.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    there, unsure = whole.without_row(torch.arange(12), elsewhere)
    for i in range(12):
        others = torch.arange(12) != i
        model = with_hyper(X[:, others], y[others], hyper, kernel=KERNEL, errors=errors[others])
        mu, v = model.moments(X[:, i : i + 1])
        assert mean[:, i] == pytest.approx(mu[:, 0], abs=1e-6)
        assert variance[:, i] == pytest.approx(v[:, 0] + 0.05 + errors[i], abs=1e-6)
        mu, v = model.moments(elsewhere[:, i : i + 1])
        assert there[:, i] == pytest.approx(mu[:, 0], abs=1e-6)
        assert unsure[:, i] == pytest.approx(v[:, 0] + 0.05 + errors[i], abs=1e-6)


def test_intervals_hold_nine_of_ten_where_the_model_is_the_data_s():
    inside = []
    for seed in range(20):
        X, _, hyper = rows(40, seed)
        K = cross(KERNEL, hyper[:, :-1], X, X)[0] + 0.05 * torch.eye(40, dtype=torch.float64)
        y = torch.linalg.cholesky(K) @ torch.from_numpy(np.random.default_rng(seed).normal(size=40))
        mean, variance = with_hyper(X, y, hyper, kernel=KERNEL).leave_one_out(torch.arange(40))
        inside += ((y - mean[0]).abs() < 1.645 * variance[0].sqrt()).tolist()
    assert 0.85 < np.mean(inside) < 0.95


def told(outcome, *, count=24, gaps=(), goal="maximize", method="posterior", seed=0):
    """Rows of three parameters; gaps are (row, name)."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.random((count, 3)), columns=list("abc"))
    frame["y"] = outcome(frame, rng)
    frame = frame.astype(object)
    for row, name in gaps:
        frame.loc[row, name] = None
    optimizer = Optimizer({"a": (0, 1), "b": (0, 1), "c": Real(0, 1)}, goal=goal, method=method, seed=0)
    optimizer.tell(frame)
    return optimizer


def slope(frame, rng):
    return 10 * frame["a"] + 4 * frame["b"] + rng.normal(0, 0.3, len(frame))


def test_validation_tells_rows_outcomes_and_intervals_in_the_outcome_s_unit():
    optimizer = told(slope, goal="minimize")
    optimizer.tell({"a": 0.5, "b": 0.5, "c": 0.5}, failed=True)
    optimizer.tell({"a": 0.5, "b": 0.5, "c": 0.5}, 7.0)
    found = optimizer.validation()
    assert found.rows == (*range(24), 25)
    assert found.measured[-1] == 7.0
    assert (found.low < found.mean).all()
    assert (found.mean < found.high).all()
    assert found.explained > 0.9
    assert found.error < 1
    assert found.sentence.startswith("the model explains 9")
    assert list(found.frame()["row"]) == list(found.rows)


def test_without_gaps_it_is_exact_given_the_hyper_parameters():
    optimizer = told(slope, method="mean")
    model, transform = optimizer.learned()
    mean, _ = model.leave_one_out(torch.arange(24))
    assert optimizer.validation().mean == pytest.approx(transform.to_outcomes(mean[0]).numpy())


def test_a_gap_that_was_drawn_to_fit_its_outcome_is_no_evidence():
    optimizer = told(slope, gaps=[(row, "a") for row in range(0, 24, 2)])
    fit = optimizer._known.fit
    _, targets, mean, _ = leave_one_out(fit, 0)
    careless = fit.models[0].leave_one_out(torch.arange(24))[0].mean(0)
    gappy = torch.arange(0, 24, 2)
    assert share_explained(targets, mean) < share_explained(targets, careless)
    # Without the outcome, next to nothing is known of a: its share of the variation stays unexplained.
    assert share_explained(targets[gappy], mean[gappy]) < 0.6


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_called_noise_and_signal_is_not(seed):
    gaps = [(row, "abc"[row // 3 % 3]) for row in range(0, 24, 3)]
    noise = told(lambda frame, rng: rng.normal(size=len(frame)), gaps=gaps, seed=seed).validation()
    assert not noise.trusted
    assert "cannot be told from noise" in noise.sentence
    assert told(slope, gaps=gaps, seed=seed).validation().trusted


def test_what_the_days_explain_is_no_merit_of_the_inputs():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((32, 2)), columns=["a", "b"]).assign(day=np.repeat(list("pqrs"), 8))
    days = frame["day"].map(dict(zip("pqrs", (0, 6, -5, 9), strict=True)))
    found = {}
    for name, by_inputs in (("noise", 0), ("signal", 4)):
        optimizer = Optimizer({"a": (0, 1), "b": (0, 1)}, objective="y", groups=["day"], seed=0)
        optimizer.tell(frame.assign(y=days + by_inputs * frame["a"] + rng.normal(0, 0.5, 32)))
        found[name] = optimizer.validation()
    assert found["noise"].explained > 0.9
    assert not found["noise"].trusted
    assert found["signal"].trusted


def test_few_rows_cannot_show_anything():
    found = told(slope, count=3).validation()
    assert not found.trusted
    assert found.sentence == "3 rows with y cannot show yet whether the model is right: about 8 are needed"


def test_too_narrow_intervals_are_told():
    y = np.arange(10.0)
    found = Validation("y", "MPa", tuple(range(10)), y, y + 0.5, y + 0.4, y + 0.6, 0.97)
    assert found.sentence == (
        "the model explains 97 % of what varies in y; errors of about 0.5 MPa; 0 of 10 within their 90 % interval; "
        "its intervals are too narrow"
    )


@pytest.mark.parametrize("method", ["mean", "drop", "ugp", "bomi"])
def test_every_method_with_a_model_can_be_judged(method):
    found = told(slope, gaps=[(0, "a"), (5, "c")], method=method).validation()
    assert len(found.rows) == (22 if method == "drop" else 24)
    assert 0 not in found.rows if method == "drop" else 0 in found.rows
    assert found.explained > 0.5


def test_without_a_model_there_is_nothing_to_judge():
    with pytest.raises(BomiError, match="has no model"):
        told(slope, method="random").validation()


def test_constant_outcomes_explain_nothing():
    assert told(lambda frame, rng: 3.0).validation().explained == 0.0


def test_the_mean_of_the_other_rows_explains_nothing():
    y = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    others = torch.tensor([3.0, 2.5, 1.5], dtype=torch.float64)
    assert share_explained(y, others) == pytest.approx(0.0)


@pytest.mark.parametrize("gaps", [True, False])
def test_complete_rows_show_how_well_others_are_predicted_where_gaps_may_explain_anything(gaps):
    """Complete rows scatter, and those with gaps could have been made where they seem to lie on a smooth curve."""
    rng = np.random.default_rng(2)
    X = rng.random((60, 2))
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.sin(5 * X[:, 0]) + X[:, 1]})
    table.loc[:19, "y"] += 0.5 * rng.standard_t(2, 20)
    if gaps:
        table.loc[20:, "a"], table.loc[30:, "b"] = np.nan, np.nan
    optimizer = Optimizer({"a": (0, 1), "b": (0, 1)}, objective="y", seed=0)
    optimizer.tell(table)
    (model, _), drawn = optimizer.learned(), optimizer._known.fit.completed.hyper
    scale = (model.hyper - drawn).exp()
    torch.testing.assert_close(scale[:, 1:-1], torch.ones_like(scale[:, 1:-1]))
    assert (scale[:, 0] > 1.1).all() if gaps else (scale[:, 0] == 1).all()
    torch.testing.assert_close(scale[:, 0], scale[:, -1])
