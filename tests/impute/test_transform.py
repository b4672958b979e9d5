import math

import pytest
import torch

from bomi.impute.transform import RANGE, Transform, min_max


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


def test_large_outcomes_that_differ_a_little_are_told_apart():
    outcomes = 1e14 + torch.tensor([0.0, 1.0, 4.0], dtype=torch.float64)
    assert min_max(outcomes).unit == 4.0
    assert min_max(outcomes[:1].repeat(3) * torch.tensor([1, 1 + 1e-15, 1])).unit > 1e13  # the same, but for rounding


def test_min_max_goes_from_zero_to_one():
    outcomes = torch.tensor([3.0, 5.0, 4.0], dtype=torch.float64)
    assert min_max(outcomes).to_targets(outcomes).tolist() == [0.0, 1.0, 0.5]
    assert not math.isnan(min_max(outcomes[:0]).scale)


def test_the_spread_of_a_prediction_is_half_of_what_lies_between_its_ends():
    transform = Transform(warp=2.0)
    _, sd = transform.to_prediction(torch.tensor([1.0]).double(), torch.tensor([0.5]).double())
    assert float(sd) == pytest.approx((math.sinh(3) - math.sinh(1)) / 4)  # (sinh(2 * 1.5) - sinh(2 * 0.5)) / 2 / 2


BETWEEN = Transform(0.2, 1.5, center=50.0, unit=7.0, warp=3.0, half=50 / 7, origin=RANGE)  # 0 and 100


def test_a_warp_from_both_ends_of_a_range_is_undone():
    outcomes = torch.tensor([-3.0, 0.0, 0.01, 20.0, 50.0, 99.0, 100.0, 101.0], dtype=torch.float64)
    torch.testing.assert_close(BETWEEN.to_outcomes(BETWEEN.to_targets(outcomes)), outcomes, rtol=1e-12, atol=1e-12)
    extreme = torch.tensor([-1e9, 1e9], dtype=torch.float64)
    assert BETWEEN.to_outcomes(extreme).isfinite().all()


def test_between_the_ends_it_is_a_logit():
    """Where the distance to both is large against unit / warp, up to what is linear in neither."""
    strong = Transform(center=50.0, unit=1.0, warp=1e6, half=50.0)
    outcomes = torch.tensor([1.0, 30.0, 50.0, 97.0, 99.0], dtype=torch.float64)
    torch.testing.assert_close(strong.to_targets(outcomes), torch.logit(outcomes / 100) / 2e6, rtol=1e-9, atol=0)


@pytest.mark.parametrize("half", [0.0, 4.0])
def test_the_slope_is_the_derivative(half):
    transform = Transform(0.2, 1.5, 50.0, 7.0, 3.0, half)
    outcomes = torch.tensor([10.0, 23.0, 50.0, 78.5], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(transform.to_targets(outcomes).sum(), outcomes)
    torch.testing.assert_close(transform.slope(outcomes.detach()), slope)


@pytest.mark.parametrize("transform", [Transform(center=50.0, unit=20.0), BETWEEN])
def test_a_prediction_stays_within_the_ends(transform):
    means, sds = (
        one.flatten() for one in torch.meshgrid(*[torch.tensor([-9.0, -1, 0, 1, 9]).double()] * 2, indexing="ij")
    )
    mean, sd = transform.to_prediction(means, sds.abs() + 0.1, (0.0, 100.0))
    assert ((mean >= 0) & (mean <= 100) & (sd >= 0) & (sd <= 50)).all()


@pytest.mark.parametrize("mean", [-0.5, 0.5, 1.5])
def test_beyond_an_end_a_prediction_is_not_certain(mean):
    """The spread is that of many draws moved into the range; none of it would say 100 ± 0."""
    transform = Transform(center=60, unit=20, warp=1.0, half=2.0, scale=1.0)
    end = float(transform.to_targets(torch.tensor(100.0).double()))
    there = torch.tensor([end + 0.4 * mean]).double()
    middle, sd = transform.to_prediction(there, torch.tensor([0.4]).double(), (20, 100))
    drawn = there + 0.4 * torch.randn(100_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    outcomes = transform.to_outcomes(drawn).clamp(20, 100)
    assert float(middle) == pytest.approx(float(outcomes.mean()), abs=0.1)
    assert float(sd) == pytest.approx(float(outcomes.std()), rel=0.1)
    assert float(sd) > 0.5
