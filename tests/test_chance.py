import math

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal

from bomi import Space
from bomi.answers.chance import NOISES, SHUFFLES, log_evidence, no_better_than_mean, shuffled_as_good
from bomi.impute.table import Table


def table(count, seed, *, gaps=0.2, parameters=3):
    rng = np.random.default_rng(seed)
    inputs = torch.from_numpy(rng.random((count, parameters)))
    inputs[torch.from_numpy(rng.random((count, parameters)) < gaps)] = torch.nan
    space = Space(dict.fromkeys("abcdef"[:parameters], (0, 1)))
    targets = torch.from_numpy(np.exp(rng.normal(size=count)))  # noise that is not normal
    return Table(space, inputs, torch.full_like(inputs, torch.nan), targets, keys=tuple(range(count)))


def test_the_evidence_is_that_of_a_normal_distribution_at_the_best_scale():
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.random((9, 1)))
    C = torch.exp(-torch.cdist(X, X))
    Y = torch.from_numpy(rng.normal(size=(9, 3)))
    Y -= Y.mean(0)
    H = torch.eye(9, dtype=torch.float64) - 1 / 9
    scales = torch.linspace(-4, 4, 4001, dtype=torch.float64).exp()

    def slowly(y):
        best = []
        for noise in NOISES:
            K = H @ C @ H + noise * torch.eye(9, dtype=torch.float64)
            best.append(MultivariateNormal(y.new_zeros(9), scales[:, None, None] * K).log_prob(y).max())
        return torch.stack(best).logsumexp(0)

    difference = log_evidence(C, Y) - torch.stack([slowly(y) for y in Y.T])
    assert difference[1:] == pytest.approx(float(difference[0]), abs=1e-4)


def test_noise_of_any_shape_looks_explained_as_often_as_is_said():
    found = np.array([shuffled_as_good(one := table(20, seed), one.targets, seed) for seed in range(100)])
    for level in (0.05, 0.2, 0.5):
        assert (found <= level).mean() == pytest.approx(level, abs=3.5 * math.sqrt(level * (1 - level) / 100))


def test_a_slope_that_gaps_hide_is_found_in_no_other_order():
    one = table(24, 0)
    slope = one.inputs[:, 0].nan_to_num(0.5) + torch.from_numpy(np.random.default_rng(1).normal(0, 0.05, 24))
    assert shuffled_as_good(one, slope, 0) == 1 / (SHUFFLES + 1)


def test_what_two_parameters_do_only_together_is_found():
    one = table(40, 0, gaps=0.1, parameters=2)
    a, b = one.inputs.nan_to_num(0.5).T
    assert shuffled_as_good(one, (a - 0.5) * (b - 0.5), 0) < 0.01


def test_constant_outcomes_are_alike_in_every_order():
    assert shuffled_as_good(table(12, 0), torch.ones(12, dtype=torch.float64), 0) == 1.0


def test_the_mean_of_the_others_saves_nothing():
    y = torch.tensor([1.0, 2.0, 4.0, 3.0], dtype=torch.float64)
    others = (y.sum() - y) / 3
    assert no_better_than_mean(y, others) == 1.0
    # Errors saved by predicting y / 2 instead: their mean over its standard error, by hand.
    saved = (y - others).square() - (y / 2).square()
    z = float(saved.mean() / (saved.std() / 2))
    assert no_better_than_mean(y, y / 2) == pytest.approx(0.5 * math.erfc(z / math.sqrt(2)))
