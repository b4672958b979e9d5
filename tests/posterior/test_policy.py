"""How long nothing better has come, and what the worlds of a campaign that is stuck know."""

import numpy as np

from bomi import Optimizer, learning
from bomi.impute.table import MINIMUM_IMPROVEMENT


def tell(optimizer, asked, outcome, lost=()):
    """An experiment that was asked for, some of whose values are lost."""
    actual = dict.fromkeys(lost) or {optimizer.space.names[0]: asked[0]}
    optimizer.tell(dict(zip(optimizer.space.names, asked, strict=True)), outcome, actual=actual)


def table_of(optimizer):
    return learning.table_of(optimizer.space, optimizer.objectives, optimizer.observations)


def since_improvement(optimizer):
    return table_of(optimizer).evaluations_since_improvement


def test_evaluations_are_counted_from_one_that_is_nearly_the_best():
    optimizer = Optimizer({"x": (0, 1)}, seed=0)
    outcomes = np.arange(10.0)  # 2.5 in the middle from their median
    for i, outcome in enumerate(outcomes):
        optimizer.tell({"x": i / 10}, outcome)
    assert since_improvement(optimizer) == 0  # nothing was asked for
    tell(optimizer, [0.5], 3.0)
    assert since_improvement(optimizer) == 0  # patience lasts
    tell(optimizer, [0.6], 4.0)
    assert since_improvement(optimizer) == 2
    tell(optimizer, [0.91], 9 + MINIMUM_IMPROVEMENT)
    assert since_improvement(optimizer) == 3  # hardly better
    tell(optimizer, [0.92], 9.5)
    assert since_improvement(optimizer) == 0  # much better
    optimizer.tell({"x": 0.3}, 2.0)
    assert since_improvement(optimizer) == 0  # one's own experiments do not count


def test_a_target_s_nearest_is_its_best():
    optimizer = Optimizer({"x": (0, 1)}, goal=("target", 5.0), seed=0)
    for i in range(11):
        optimizer.tell({"x": i / 10}, float(i))
    for outcome in (9.0, 1.0):
        tell(optimizer, [0.5], outcome)
    assert since_improvement(optimizer) == 13 - 1 - 5


def crowded(seed, parameters=4):
    """A sum over parameters whose rows crowd around its second-best peak, as those of a stuck campaign do."""
    rng = np.random.default_rng(seed)
    optimizer = Optimizer({f"x{j}": (0.0, 1.0) for j in range(parameters)}, seed=seed)

    def outcome(x):
        z = 10 * np.asarray(x) - 5
        return -(z**4 - 16 * z**2 + 5 * z).sum() / 2

    names = optimizer.space.names
    for _ in range(30):
        x = rng.random(parameters)
        gaps = rng.permutation(parameters)[: rng.integers(0, 4)]
        optimizer.tell({name: None if j in gaps else x[j] for j, name in enumerate(names)}, outcome(x))
    peak = np.array([0.7747] * 2 + [0.2096] * (parameters - 2))
    for k in range(40):
        asked = np.clip(peak + 0.03 * (k > 0) * rng.normal(size=parameters), 0, 1)
        lost = rng.permutation(parameters)[: rng.integers(1, 4)] if k % 2 else []
        actual = asked.copy()
        actual[lost] = np.clip(asked[lost] + rng.uniform(-0.3, 0.3, len(lost)), 0, 1)
        tell(optimizer, asked.tolist(), outcome(actual), [names[j] for j in lost])
    return optimizer, outcome


def test_worlds_of_a_crowded_campaign_see_the_other_peaks():
    """Three peaks are better than the one the rows crowd around; a row that lacks a value still tells of the others."""
    optimizer, outcome = crowded(2)
    places = [[0.2096, 0.2096], [0.7747, 0.2096], [0.2096, 0.7747]]  # of the first two
    settings = [dict(zip(optimizer.space.names, [*place, 0.2096, 0.2096], strict=True)) for place in places]
    truth = np.array([outcome(list(setting.values())) for setting in settings])
    predicted = optimizer.predict(settings)
    off = (truth - [one.mean for one in predicted]) / [one.sd for one in predicted]
    assert np.abs(off).max() < 2.5
