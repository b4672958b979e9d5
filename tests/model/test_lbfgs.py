import numpy as np
import pytest
import torch
from scipy import optimize

from bomi.model.lbfgs import minimize

LOW, HIGH = torch.tensor([-2.0, -1.0]).double(), torch.tensor([0.8, 3.0]).double()  # the valley's end is outside
STARTS = torch.tensor([[-1.5, 2.5], [0.0, 0.0], [0.7, -0.5], [-9.0, 9.0]]).double()  # the last is, too
HEIGHTS = torch.tensor([0.0, 1.0, 2.0, 3.0]).double()  # of each start's own valley


def valley(points, which):
    """Rosenbrock's function, and how it rises."""
    x, y = points.unbind(-1)
    value = (1 - x) ** 2 + 100 * (y - x**2) ** 2 + HEIGHTS[which]
    return value, torch.stack([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)], -1)


def test_every_start_ends_where_that_of_scipy_does():
    found, values = minimize(valley, STARTS, LOW, HIGH, most=200, tolerance=1e-12)
    for i, start in enumerate(STARTS):

        def alone(x, which=i):
            value, slope = valley(torch.from_numpy(x)[None], torch.tensor([which]))
            return float(value), slope[0].numpy()

        bounds = optimize.Bounds(LOW.numpy(), HIGH.numpy())
        expected = optimize.minimize(
            alone, start.clamp(LOW, HIGH).numpy(), jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-12}
        )
        np.testing.assert_allclose(found[i], expected.x, atol=1e-5)
        assert float(values[i]) == pytest.approx(expected.fun, abs=1e-8)
    np.testing.assert_allclose(found[:, 0], 0.8, atol=1e-5)  # as far along the valley as the bounds allow


def test_it_ends_after_so_many_steps():
    _, none = minimize(valley, STARTS, LOW, HIGH, most=1, tolerance=1e-12)
    _, some = minimize(valley, STARTS, LOW, HIGH, most=5, tolerance=1e-12)
    assert (some < none - 0.1).any()
    assert (some <= none).all()
