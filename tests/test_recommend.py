"""What luck has to do with the setting that looks best."""

import math

import numpy as np
import pytest
import torch

import bomi
from bomi.answers.best import rivals


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


def on_two_hills(random):
    """Ten places on either side, and the two tops, at 0.2 and 0.8. Each is measured twice."""
    sides = random.random((20, 2)) * [0.4, 1] + np.repeat([[0, 0], [0.6, 0]], 10, 0)
    return np.repeat(np.concatenate([sides, [[0.2, 0.5], [0.8, 0.5]]]), 2, 0)


def two_hills(a, b, random, *, noise):
    return math.exp(-30 * (a - 0.2) ** 2) + math.exp(-30 * (a - 0.8) ** 2) - (b - 0.5) ** 2 + noise * random.normal()


def test_hills_of_one_height_cannot_be_told_apart_where_outcomes_are_noisy():
    found = told(lambda *at: two_hills(*at, noise=0.3), places=on_two_hills).best()
    rows = on_two_hills(np.random.default_rng(0))
    assert found.rivals
    for row, _ in found.rivals:
        assert (
            max(abs(rows[row][k] - found.setting[name]) for k, name in enumerate("ab")) >= 0.05
        )  # not the same setting
    assert all(0.2 <= chance < 0.6 for _, chance in found.rivals)
    said = found.apart([f"H{row}" for row in range(44)])
    assert said.startswith("the best few cannot be told apart: the chance to be better than what is recommended is ")
    assert f"for H{found.rivals[0][0]}" in said
    assert found.apart() in found._repr_html_()


def test_one_hill_without_noise_has_no_rival():
    found = told(lambda a, b, random: -((a - 0.6) ** 2) - (b - 0.3) ** 2, places=scattered).best()
    assert found.rivals == ()
    assert found.apart() == ""


def test_the_chance_of_a_rival_is_that_of_the_difference_of_two_outcomes():
    optimizer = told(lambda *at: two_hills(*at, noise=0.3), places=on_two_hills)
    fit, setting = optimizer._known.fit, optimizer.best().setting
    best = torch.from_numpy(optimizer.space.place(setting))
    ((row, chance), *_) = rivals(fit, best, seed=0)
    joint = fit.models[0].posterior(torch.stack([best, fit.table.inputs[row]])).distribution
    away = joint.mean[:, 1] - joint.mean[:, 0]
    C = joint.covariance_matrix
    sd = (C[:, 0, 0] + C[:, 1, 1] - 2 * C[:, 0, 1]).sqrt()
    assert chance == pytest.approx(float(torch.special.ndtr(away / sd).mean()), abs=0.02)
