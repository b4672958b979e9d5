import pytest
import torch

from bomi import Interval, Normal, Real, Space
from bomi.data.observations import Row
from bomi.impute.distributions import Distributions
from bomi.impute.table import Table

SPACE = Space({"a": (0, 10), "c": ["x", "y", "z", "w"]})


def fill(rows, space=SPACE, sd=0.05):
    table = Table.of(space, rows, torch.zeros(len(rows), dtype=torch.float64))
    return Distributions(sd)(table, torch.Generator().manual_seed(0))


def test_what_was_recorded_is_certain():
    completed = fill([Row({"a": 2.0, "c": "y"}, {"y": 0.0})])
    assert completed.inputs.tolist() == [[[0.2, 0, 1, 0, 0]]]
    assert completed.variances.tolist() == [[[0, 0, 0, 0, 0]]]


def test_a_gap_of_which_nothing_is_known_is_uniform():
    completed = fill([Row({"a": None, "c": None}, {"y": 0.0})])
    assert completed.inputs.tolist() == [[[0.5, 0.25, 0.25, 0.25, 0.25]]]
    # the variance of U(0, 1), and of a column that is 1 with probability 1/4
    expected = torch.tensor([[[1 / 12, 3 / 16, 3 / 16, 3 / 16, 3 / 16]]], dtype=torch.float64)
    torch.testing.assert_close(completed.variances, expected)


def test_a_gap_of_an_asked_value_is_the_asked_value_with_the_execution_noise():
    completed = fill([Row({"a": None, "c": "x"}, {"y": 0.0}, asked={"a": 7.0, "c": "x"})], sd=0.1)
    assert completed.inputs[0, 0].tolist() == pytest.approx([0.7, 1, 0, 0, 0])
    assert completed.variances[0, 0].tolist() == pytest.approx([0.01, 0, 0, 0, 0])


def test_a_stated_uncertainty_has_its_own_moments():
    completed = fill(
        [Row({"a": Normal(5, 0.5), "c": "x"}, {"y": 0.0}), Row({"a": Interval(2, 4), "c": "x"}, {"y": 0.0})]
    )
    assert completed.inputs[0, :, 0].tolist() == pytest.approx([0.5, 0.3])
    assert completed.variances[0, :, 0].tolist() == pytest.approx([0.05**2, 0.2**2 / 12], rel=0.05)


def test_a_stated_uncertainty_stays_inside_the_bounds():
    rows = [Row({"a": Normal(0.1, 5), "c": "x"}, {"y": 0.0}), Row({"a": Interval(-90, 2), "c": "x"}, {"y": 0.0})]
    completed = fill(rows)
    assert 0 < completed.inputs[0, 0, 0] < 1
    assert completed.inputs[0, 1, 0].item() == pytest.approx(0.1)  # the middle of 0..2


def test_a_log_scale_counts_in_its_own_places():
    space = Space({"a": Real(1, 100, log=True)})
    completed = fill([Row({"a": Normal(10, 0.01)}, {"y": 0.0})], space)
    assert completed.inputs[0, 0, 0].item() == pytest.approx(0.5, abs=1e-4)


def test_a_planned_point_is_missed_as_often_as_those_before():
    asked = {"a": 7.0, "c": "x"}
    rows = [
        Row({"a": None, "c": "x"}, {"y": 0.0}, asked=asked),
        Row({"a": 7.0, "c": "x"}, {"y": 0.0}, asked=asked),
        Row({"a": 7.0, "c": "x"}, {"y": 0.0}, asked=asked),
        Row({"a": 7.0, "c": "x"}, {"y": 0.0}, asked=asked),
        Row({"a": None, "c": None}, {"y": 0.0}),  # nobody asked: no sign of how requests go
    ]
    assert fill(rows, sd=0.1).planning.tolist() == pytest.approx([0.01 / 4, 0, 0, 0, 0])
    assert fill(rows[-1:]).planning.tolist() == [0, 0, 0, 0, 0]
