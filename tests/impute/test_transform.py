import math

import pytest
import torch

from bomi.impute.transform import Transform, min_max


@pytest.mark.parametrize("outcomes", [[], [3.0], [2.0, 2.0, 2.0], [1e-12, 2e-12], [1e300, -1e300, 0.0]])
def test_targets_are_finite_and_of_order_one(outcomes):
    values = torch.tensor(outcomes, dtype=torch.float64)
    targets = min_max(values).to_targets(values)
    assert targets.isfinite().all()
    assert (targets.abs() < 10).all()


@pytest.mark.parametrize("warp", [0.0, 0.3, 10.0])
def test_a_prediction_is_transformed_back(warp):
    scaling = Transform(shift=0.2, scale=1.5, center=40.0, unit=7.0, warp=warp)
    outcomes = torch.tensor([-100.0, 40.0, 45.0, 300.0], dtype=torch.float64)
    targets = scaling.to_targets(outcomes)
    mean, sd = scaling.to_prediction(targets, torch.full_like(targets, 1e-6))
    torch.testing.assert_close(mean, outcomes)
    slope = 1e-6 * 7.0 * 1.5 * torch.hypot(torch.ones(4).double(), warp * (outcomes - 40) / 7)
    torch.testing.assert_close(sd, slope, rtol=1e-4, atol=0)


def test_min_max_goes_from_zero_to_one():
    outcomes = torch.tensor([3.0, 5.0, 4.0], dtype=torch.float64)
    assert min_max(outcomes).to_targets(outcomes).tolist() == [0.0, 1.0, 0.5]
    assert not math.isnan(min_max(outcomes[:0]).scale)


def test_the_spread_of_a_prediction_is_half_of_what_lies_between_its_ends():
    transform = Transform(warp=2.0)
    _, sd = transform.to_prediction(torch.tensor([1.0]).double(), torch.tensor([0.5]).double())
    assert float(sd) == pytest.approx((math.sinh(3) - math.sinh(1)) / 4)  # (sinh(2 * 1.5) - sinh(2 * 0.5)) / 2 / 2
