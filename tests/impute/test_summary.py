"""What a gap is worth: the standard deviation of the best outcome that knowing the value would take away."""

import math

import numpy as np
import pytest

from bomi.impute.summary import gap_table, probabilities, summary, worth
from bomi.results import GapDraws
from bomi.space import Categorical, Real, Space


def test_a_gap_on_which_the_best_outcome_depends_is_worth_its_standard_deviation():
    x = np.random.default_rng(0).normal(size=400)
    assert worth(list(x), 3 * x, words=False) == pytest.approx(3 * x.std(), rel=1e-6)
    assert worth(list(x), 1e200 * x, words=False) == pytest.approx(1e200 * x.std(), rel=1e-6)


def test_of_a_noisy_best_outcome_only_what_the_value_explains_counts():
    rng = np.random.default_rng(1)
    x = rng.normal(size=4000)
    assert worth(list(x), x**3 + rng.normal(size=4000), words=False) == pytest.approx((x**3).std(), rel=0.05)


@pytest.mark.parametrize("words", [False, True])
def test_what_chance_alone_explains_is_taken_off(words):
    """Of an outcome that has nothing to do with the value the square is 0 on average: without the correction it is
    the number of coefficients over that of draws, here 3 in 40."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(300):
        draws = list(rng.choice(["a", "b", "c", "d"], 40)) if words else list(rng.normal(size=40))
        found.append(worth(draws, rng.normal(size=40), words=words) ** 2)
    assert np.mean(np.array(found) == 0) > 0.5
    assert np.mean(found) < 0.045


def test_a_category_is_worth_the_spread_of_its_means():
    draws = ["x", "x", "y", "y"] * 100
    best = np.array([1.0, 1.0, 3.0, 3.0] * 100)
    assert worth(draws, best, words=True) == pytest.approx(1.0)


def test_constant_draws_and_too_few_are_worth_nothing_and_not_known():
    assert worth([0.5] * 50, np.random.default_rng(0).normal(size=50), words=False) == 0
    assert math.isnan(worth([0.5] * 5, np.zeros(50), words=False))


def test_draws_in_numbers():
    found = summary([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found == pytest.approx({"mean": 3.0, "sd": math.sqrt(2.5), "5 %": 1.2, "50 %": 3.0, "95 %": 4.8})
    assert summary([2.0, 2.0])["sd"] == 0
    assert all(math.isnan(value) for value in summary([]).values())
    assert probabilities(Categorical(["x", "y"]), ["x", "y", "x", "x"]) == {"x": 0.75, "y": 0.25}
    assert probabilities(Real(0, 1), [0.5]) is None


def test_the_gap_most_worth_knowing_comes_first_by_the_outcome_that_depends_on_it_most():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 200))
    gaps = [GapDraws(0, "a", tuple(a), None, None), GapDraws(1, "b", tuple(b), None, None)]
    found = gap_table(Space({"a": (-9, 9), "b": (-9, 9)}), gaps, [a + 0.1 * b, 5 * b])
    assert found["parameter"].tolist() == ["b", "a"]
    assert found["worth"].tolist() == pytest.approx([5 * b.std(), a.std()], rel=0.05)
