"""What luck has to do with the setting that looks best."""

import math

import numpy as np
import pytest

import bomi


def told(outcome, *, places, seed=0, **more):
    random = np.random.default_rng(seed)
    optimizer = bomi.Optimizer({"a": (0, 1), "b": (0, 1)}, seed=seed, **more)
    for a, b in places(random):
        optimizer.tell({"a": a, "b": b}, outcome(a, b, random))
    return optimizer


def scattered(random):
    return random.random((30, 2))


def on_a_hill(random):
    """As an optimizer leaves them: most near the top. Each is measured twice."""
    places = [random.random((15, 2)), 0.5 + 0.1 * random.normal(size=(25, 2))]
    return np.repeat(np.concatenate(places).clip(0, 1), 2, 0)


def noisy_hill(a, b, random):
    return -((6 * a - 3) ** 4) - (6 * b - 3) ** 4 + 8 * random.normal()


def widening(optimizer):
    best = optimizer.best()
    return best.predicted.sd / optimizer.predict(best.setting).sd


def test_without_noise_nothing_is_luck():
    assert widening(told(lambda a, b, random: math.sin(3 * a) + b * b, places=scattered)) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_what_looks_best_on_a_noisy_hill_is_partly_luck(seed):
    optimizer = told(noisy_hill, places=on_a_hill, seed=seed)
    assert 1.05 < widening(optimizer) < 3
    best = optimizer.best()
    true = -((6 * best.setting["a"] - 3) ** 4) - (6 * best.setting["b"] - 3) ** 4
    assert abs(best.predicted.mean - true) < 1.645 * best.predicted.sd


def test_several_outcomes_and_an_aim_are_as_predicted():
    aimed = told(noisy_hill, places=scattered, goal=("target", -5.0))
    assert aimed.best().predicted.sd == aimed.predict(aimed.best().setting).sd
    random = np.random.default_rng(0)
    two = bomi.Optimizer({"a": (0, 1)}, objective={"y": "maximize", "z": "minimize"}, seed=0)
    for a in random.random(12):
        two.tell({"a": a}, {"y": a + random.normal(), "z": a})
    best = two.best()
    assert best.predicted == two.predict(best.setting)
