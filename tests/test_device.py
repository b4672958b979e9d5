"""Where the large matrices are computed. Tests that need a GPU are skipped without one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

import bomi
from bomi import BomiError, Optimizer
from bomi.impute.completed import Completed
from bomi.impute.table import LARGE
from bomi.model.gaussian_process import GaussianProcess

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
SPACE = {"a": (0, 1), "b": (0, 1), "c": (0, 1)}


def table(count, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.random((count, 3))
    y = np.sin(5 * X).sum(1) + 0.05 * generator.normal(size=count)
    X[generator.random(count) < 0.3, 1] = np.nan
    return pd.DataFrame(X, columns=list(SPACE)).assign(y=y)


def told(count, **settings):
    optimizer = Optimizer(SPACE, seed=0, **settings)
    optimizer.tell(table(count))
    return optimizer


@pytest.mark.parametrize("device", ["nowhere", "meta", "cuda:99", 3.5])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(BomiError, match=r'device must be "cpu", or "cuda" where torch finds a GPU'):
        Optimizer(SPACE, device=device)


def test_the_processor_is_the_default():
    assert Optimizer(SPACE).device == "cpu"
    assert told(20).ask() == told(20, device="cpu").ask()


def test_only_long_tables_leave_for_the_device(monkeypatch):
    """The size of the table decides where its processes are computed; here the transfer is recorded, not made."""
    seen = []
    whole = Completed.to
    monkeypatch.setattr(Completed, "to", lambda self, device: seen.append(device) or whole(self, "cpu"))
    optimizer = told(LARGE)
    optimizer._known = replace(optimizer._known, device="cuda")
    optimizer.ask()
    assert set(seen) == {"cpu"}
    seen.clear()
    optimizer.tell(table(1, seed=1))
    optimizer.ask()
    assert set(seen) == {"cuda"}


@gpu
@pytest.mark.parametrize("method", ["posterior", "bomi", "ugp"])
def test_a_gpu_predicts_the_same(method):
    here, there = told(LARGE + 20, method=method), told(LARGE + 20, method=method, device="cuda")
    assert there.learned()[0].inputs.is_cuda
    settings = [dict(zip(SPACE, values, strict=True)) for values in np.random.default_rng(1).random((50, 3)).tolist()]
    expected, found = (np.array(optimizer.predict(settings)) for optimizer in (here, there))
    assert np.allclose(found, expected, atol=0.05 * np.ptp(expected[:, 0]))


@gpu
def test_a_gpu_suggests_with_a_warm_start_and_explains():
    optimizer = told(LARGE + 20, device="cuda")
    for suggestion in optimizer.ask(3):
        optimizer.tell(suggestion, float(np.sin(5 * np.array(list(suggestion.values()))).sum()), actual={"b": None})
    best = optimizer.best()
    assert best.predicted.mean > 2
    assert len(optimizer.gaps()) == len(optimizer.gap_draws()) > 50


@gpu
def test_points_come_and_go_with_their_gradients():
    X = torch.rand(2, 30, 3, dtype=torch.float64)
    y, theta, noise = X[0, :, 0], torch.zeros(2, 2, dtype=torch.float64), torch.full((2,), -5.0, dtype=torch.float64)
    kernel = bomi.model.kernels.SquaredExponential()
    here = GaussianProcess(X, y, theta, noise, kernel=kernel)
    there = GaussianProcess(X.cuda(), y.cuda(), theta.cuda(), noise.cuda(), kernel=kernel)
    points = torch.rand(5, 3, dtype=torch.float64)
    for one, other in zip(here.moments(points), there.moments(points), strict=True):
        assert not other.is_cuda
        torch.testing.assert_close(one, other)
    gradients = []
    for model in (here, there):
        moving = points.clone().requires_grad_()
        gradients.append(torch.autograd.grad(sum(part.sum() for part in model.moments(moving)), moving)[0])
    torch.testing.assert_close(*gradients)
    torch.testing.assert_close(here.posterior(points).mean, there.posterior(points).mean)
