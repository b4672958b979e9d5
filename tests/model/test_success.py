import math

import numpy as np
import pytest
import torch

from bomi.model import success
from bomi.model.additive import AdditiveMatern
from bomi.model.kernels import cross
from bomi.model.success import learn_success


def grid_chance(K, k, own, y, m, nodes=81):
    """P(success) at a point by brute force: the latent values of two rows and the point on a grid."""
    joint = np.block([[K, k[:, None]], [k[None], np.array([[own]])]])
    precision = np.linalg.inv(joint)
    axis = np.linspace(-5, 5, nodes) * math.sqrt(own)
    f = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    log_prior = -0.5 * np.einsum("ij,jk,ik->i", f, precision, f)
    ndtr = torch.special.ndtr(torch.from_numpy(f + m)).numpy()
    likelihood = np.prod([ndtr[:, i] if y[i] > 0 else 1 - ndtr[:, i] for i in range(2)], 0)
    weight = np.exp(log_prior) * likelihood
    return float((weight * ndtr[:, 2]).sum() / weight.sum())


@pytest.mark.parametrize("at", [0.1, 0.5, 0.8])
def test_the_chance_is_that_of_the_posterior_on_a_grid(at):
    kernel = AdditiveMatern((0,))
    inputs = torch.tensor([[[0.2], [0.7]]], dtype=torch.float64)
    y = torch.tensor([1.0, -1.0], dtype=torch.float64)
    theta = success._theta(kernel, 0.4, 2.0, 1)
    _, made = success._laplace(kernel, theta, inputs, y, 0.6)
    point = torch.tensor([[at]], dtype=torch.float64)
    K = cross(kernel, theta, inputs, inputs)[0].numpy()
    k = cross(kernel, theta, inputs, point[None])[0, :, 0].numpy()
    exact = grid_chance(K + 1e-9 * np.eye(2), k, 2.0, y, made.mean)
    assert float(made.log_chance(point).exp()) == pytest.approx(exact, abs=0.03)  # Laplace's error


def test_far_from_everything_the_chance_is_the_share_of_successes():
    inputs = torch.zeros(1, 4, 1, dtype=torch.float64)
    kernel, y = AdditiveMatern((0,)), torch.tensor([1.0, 1.0, 1.0, -1.0], dtype=torch.float64)
    _, made = success._laplace(kernel, success._theta(kernel, 0.01, 3.0, 1), inputs, y, 0.75)
    assert float(made.log_chance(torch.ones(1, 1, dtype=torch.float64)).exp()) == pytest.approx(0.75, abs=1e-6)


def test_a_border_is_learned_in_every_world_and_has_a_gradient():
    generator = torch.Generator().manual_seed(0)
    inputs = torch.rand(3, 40, 2, generator=generator, dtype=torch.float64)
    inputs[1:] = inputs[:1]
    failed = inputs[0].sum(-1) > 1
    made = learn_success(inputs, failed, AdditiveMatern((0, 1)))
    points = torch.tensor([[0.1, 0.2], [0.9, 0.8], [0.5, 0.5]], dtype=torch.float64, requires_grad=True)
    chance = made.log_chance(points).exp()
    torch.testing.assert_close(chance[0], chance[2])
    assert chance[0, 0] > 0.9
    assert chance[0, 1] < 0.1
    assert 0.2 < chance[0, 2] < 0.8
    (slope,) = torch.autograd.grad(chance[0, 2], points)
    assert (slope[2] < 0).all()


def test_nothing_but_failures_says_stay_away_from_them():
    inputs = torch.tensor([[[0.2, 0.2], [0.3, 0.2]]], dtype=torch.float64)
    made = learn_success(inputs, torch.tensor([True, True]), AdditiveMatern((0, 1)))
    near, far = made.log_chance(torch.tensor([[0.25, 0.2], [0.9, 0.9]], dtype=torch.float64))[0]
    assert far > near
