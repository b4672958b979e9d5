import numpy as np
import pytest

from bomi.benchmarks import run
from bomi.benchmarks.outcomes import OUTCOMES, hypervolume
from bomi.benchmarks.problems import find_problem


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_problem_is_found_and_has_the_outcomes_it_says(name):
    problem = find_problem(name)
    x = np.random.default_rng(0).random((4, problem.dim))
    low, high = np.array(list(problem.bounds.values())).T
    values = problem(low + x * (high - low))
    assert values.shape == ((4,) if problem.reference is None else (4, len(problem.reference)))
    assert problem.noise > 0 or problem.reference is not None
    assert problem.reached(values) <= problem.optimum


def test_the_hypervolume_is_the_area_of_the_steps():
    outcomes = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [0.5, 0.5], [9.0, -1.0]])
    assert hypervolume(outcomes, (0.0, 0.0)) == pytest.approx(3 + 2 + 1)


def test_the_front_of_zdt1_reaches_the_optimum():
    """Its front is f2 = 1 - sqrt(f1), where all inputs but the first are 0."""
    problem = find_problem("zdt1")
    x = np.zeros((2000, problem.dim))
    x[:, 0] = np.linspace(0, 1, 2000)
    assert problem.reached(problem(x)) == pytest.approx(problem.optimum, rel=1e-3)


def test_noise_is_the_same_for_all_methods_and_not_in_what_is_reached():
    first, second = (run("noisybranin", method, budget=3, seed=1) for method in ("random", "suggest"))
    assert first.best[0] == second.best[0]
    assert first.best == sorted(first.best)
    problem = find_problem("noisybranin")
    rng = np.random.default_rng(0)
    assert np.std(problem.measured(np.zeros(4000), rng)) == pytest.approx(problem.noise, rel=0.05)


@pytest.mark.parametrize("method", ["mean", "random", "naive", "tpe"])
def test_a_run_with_two_outcomes_is_scored_by_hypervolume(method):
    result = run("branincurrin", method, budget=3, seed=0)
    assert len(result.best) == 4
    assert result.best == sorted(result.best)
    assert all(len(outcome) == 2 for outcome in result.outcomes)
    assert 0 <= result.recommended[-1][1] <= find_problem("branincurrin").optimum
