"""Gaps that keep the constraints."""

import numpy as np
import pytest
import torch

import bomi
from bomi import Integer, Linear, Optimizer, Real, Space
from bomi.data.observations import Row
from bomi.impute.table import Table, deduce
from bomi.posterior.codes import to_codes
from bomi.posterior.constrained import Constrained
from bomi.posterior.priors import gap_priors

MIXTURE = Space(dict.fromkeys("abc", (0, 1)), constraints=[Linear(dict.fromkeys("abc", 1), equals=1)])
LIMITED = Space(dict.fromkeys("abc", (0, 1)), constraints=[Linear(dict.fromkeys("abc", 1), max=1)])


def told(space, method, *, gaps=2, rows=16, seed=0):
    """An optimizer that knows half of the rows completely, and of the others all but some values."""
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(space, method=method, seed=1)
    for i, place in enumerate(space.draw(rows, rng)):
        setting = space.setting(place)
        missing = rng.choice(space.names, gaps, replace=False) if i % 2 else []
        outcome = setting["a"] + 0.3 * setting["b"]
        optimizer.tell({name: None if name in missing else value for name, value in setting.items()}, outcome)
    return optimizer


# --- one gap of a fixed sum ---


def test_the_only_gap_of_a_fixed_sum_follows():
    assert deduce(MIXTURE, {"a": 0.2, "b": None, "c": 0.3})["b"] == pytest.approx(0.5)
    assert deduce(MIXTURE, {"a": 0.2, "b": None, "c": None}) == {"a": 0.2, "b": None, "c": None}
    assert deduce(MIXTURE, {"a": 0.9, "b": None, "c": 0.3})["b"] is None  # less than nothing: the row is a mistake
    assert deduce(MIXTURE, {"a": 0.6667, "b": None, "c": 0.3334})["b"] == 0  # recorded in round numbers


def test_one_fixed_sum_may_give_what_another_needs():
    space = Space(
        {"a": (0, 1), "b": (0, 1), "c": (0, 1), "n": Integer(0, 4)},
        constraints=[Linear({"b": 1, "c": 1, "n": 0.25}, equals=1), Linear({"a": 1, "b": 1}, equals=0.5)],
    )
    found = deduce(space, {"a": 0.25, "b": None, "c": 0.25, "n": None})
    assert found["b"] == 0.25
    assert found["n"] == 2


@pytest.mark.parametrize("method", bomi.METHODS)
def test_every_method_knows_what_follows(method):
    optimizer = told(MIXTURE, method, gaps=1)
    gaps = optimizer.gaps().set_index(["row", "parameter"])
    assert len(gaps) == 8
    for (row, name), gap in gaps.iterrows():
        recorded = optimizer.observations.rows[row].recorded
        rest = 1 - sum(value for other, value in recorded.items() if other != name)
        assert gap["mean"] == pytest.approx(rest, abs=1e-9)
        assert gap["sd"] == 0


# --- several gaps ---


@pytest.mark.parametrize("space", [MIXTURE, LIMITED], ids=["fixed sum", "limit"])
@pytest.mark.parametrize("method", bomi.METHODS)
def test_worlds_keep_the_constraints(method, space):
    optimizer = told(space, method)
    for world in optimizer._known.fit.completed.inputs:
        assert space.holds(world.numpy()).all()


def test_draws_of_two_gaps_are_those_of_the_prior_cut_to_the_constraint():
    # Nothing but the row itself is known, and its outcome says nothing: two gaps of a fixed sum of 0.6 are even along
    # the line that is left, those below a limit of 0.6 even in a triangle.
    rows = [Row({"a": 0.4, "b": None, "c": None}, 0.0, id="1")]
    for space, mean, variance in ((MIXTURE, 0.3, 0.6**2 / 12), (LIMITED, 0.2, 0.6**2 / 18)):
        table = Table.of(space, rows, torch.zeros(1, dtype=torch.float64))
        priors = gap_priors(table, to_codes(table, table.inputs), 1)
        constrained = Constrained(table, priors)
        priors = constrained.free_pivots(priors)
        e = torch.randn(1, 40_000, 1, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        values, weight = constrained.follow(priors.draw(e), priors)
        drawn = values[0, weight[0, :, 0] > -torch.inf, 0].numpy()
        total = drawn.sum(-1)
        assert (total <= 0.6 + 1e-9).all()
        assert space is LIMITED or np.abs(total - 0.6).max() < 1e-9
        np.testing.assert_allclose(drawn.mean(0), mean, atol=0.01)
        np.testing.assert_allclose(drawn.var(0), variance, atol=0.004)


def test_the_outcome_tells_two_gaps_of_a_mixture_apart():
    # Complete rows teach that the outcome is 2 b. So an outcome of 0.8 leaves b = 0.4, and the sum c = 0.8 - b.
    space = MIXTURE
    rng = np.random.default_rng(3)
    optimizer = Optimizer(space, seed=0)
    for place in space.draw(24, rng):
        setting = space.setting(place)
        optimizer.tell(setting, 2 * setting["b"])
    optimizer.tell({"a": 0.2, "b": None, "c": None}, 0.8)  # so b is 0.4, and c too
    gaps = optimizer.gaps().set_index("parameter")
    assert gaps.loc["b", "mean"] == pytest.approx(0.4, abs=0.05)
    assert gaps.loc["c", "mean"] == pytest.approx(0.4, abs=0.05)
    assert gaps.loc["b", "sd"] < 0.1
    (b, c) = optimizer.gap_draws()
    np.testing.assert_allclose(np.array(b.draws) + np.array(c.draws), 0.8, atol=1e-6)


def test_rows_that_break_a_constraint_are_taken_as_they_are():
    optimizer = Optimizer(MIXTURE, seed=0)
    optimizer.tell({"a": 0.9, "b": 0.9, "c": None}, 1.0)
    optimizer.tell({"a": 0.5, "b": None, "c": None}, 0.5)
    optimizer.tell({"a": 0.1, "b": 0.5, "c": 0.4}, 0.2)
    suggestion = optimizer.ask()
    assert sum(suggestion.values()) == pytest.approx(1, abs=1e-9)
    assert (optimizer._known.fit.completed.inputs[:, 0, :2] == 0.9).all()


def test_separate_values_in_a_fixed_sum():
    space = Space(
        {"a": Real(0, 1, step=0.1), "b": Real(0, 1, step=0.1), "c": Real(0, 1, step=0.1)},
        constraints=[Linear(dict.fromkeys("abc", 1), equals=1)],
    )
    optimizer = told(space, "posterior", rows=12)
    for world in optimizer._known.fit.completed.inputs:
        assert space.holds(world.numpy()).all()
        np.testing.assert_allclose(space.snap(world.numpy()), world.numpy(), atol=1e-9)
