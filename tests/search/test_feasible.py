"""Points that keep the constraints, by hand."""

import numpy as np
import pytest
import torch

from bomi import Linear, Space
from bomi.search import feasible

MIXTURE = Space(dict.fromkeys("abc", (0, 1)), constraints=[Linear(dict.fromkeys("abc", 1), equals=1)])
LIMITED = Space({"a": (0, 1), "b": (0, 1), "z": (0, 1)}, constraints=[Linear({"a": 1, "b": 1}, max=1)])


def apart(points):
    """The distance of each point to its nearest."""
    distances = torch.cdist(points, points) + 9 * torch.eye(len(points), dtype=torch.float64)
    return distances.amin(-1)


@pytest.mark.parametrize("space", [MIXTURE, LIMITED])
def test_space_filling_points_keep_the_constraints_and_continue_one_sequence(space):
    points = feasible.spread(space, 40, seed=3)
    assert space.holds(points.numpy()).all()
    torch.testing.assert_close(feasible.spread(space, 10, seed=3, skip=30), points[30:])
    random = torch.from_numpy(space.draw(40, np.random.default_rng(0)))
    assert apart(points).min() > 2 * apart(random).min()
    assert apart(points).mean() > 1.3 * apart(random).mean()


def test_points_are_projected_and_a_named_parameter_stays():
    points = torch.tensor([[0.9, 0.5, 0.3], [0.2, 0.3, 0.3]], dtype=torch.float64)
    found = feasible.around(LIMITED, points)
    torch.testing.assert_close(found, torch.tensor([[0.7, 0.3, 0.3], [0.2, 0.3, 0.3]], dtype=torch.float64))
    found = feasible.around(LIMITED, points, 0)
    torch.testing.assert_close(found, torch.tensor([[0.9, 0.1, 0.3], [0.2, 0.3, 0.3]], dtype=torch.float64))


def test_a_change_that_breaks_a_sum_is_taken_up_by_one_other_parameter():
    moves = torch.tensor([[0.5, 0.3, 0.3], [0.2, 0.5, 0.3]], dtype=torch.float64)
    found, origin = feasible.exchange(MIXTURE, moves, torch.tensor([0, 1]))
    pairs = sorted(zip(origin.tolist(), [[round(u, 6) for u in point] for point in found.tolist()], strict=True))
    assert pairs == [(0, [0.5, 0.2, 0.3]), (0, [0.5, 0.3, 0.2]), (1, [0.2, 0.5, 0.3])]


def test_the_best_point_of_a_constrained_space_is_on_its_border():
    """(a - 1)^2 + (b - 1)^2 over a + b <= 1 is least in the middle of the border; what does not move stays."""

    def score(x):
        return -(x[:, :2] - 1).square().sum(-1) - (x[:, 2] - 0.4).square()

    start = torch.tensor([[0.1, 0.3, 0.9]], dtype=torch.float64)
    low, high = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    every = torch.tensor([True, True, True])
    found = feasible.slsqp(score, LIMITED, start, every, low, high)
    torch.testing.assert_close(found, torch.tensor([[0.5, 0.5, 0.4]], dtype=torch.float64), atol=1e-4, rtol=0)
    found = feasible.slsqp(score, LIMITED, start, torch.tensor([True, False, True]), low, high)
    torch.testing.assert_close(found, torch.tensor([[0.7, 0.3, 0.4]], dtype=torch.float64), atol=1e-4, rtol=0)
    found = feasible.slsqp(score, LIMITED, start, every, low, torch.tensor([0.2, 1.0, 0.3]).double())
    torch.testing.assert_close(found, torch.tensor([[0.2, 0.8, 0.3]], dtype=torch.float64), atol=1e-4, rtol=0)
