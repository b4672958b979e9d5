"""Problems with mixed parameters and with constraints."""

import os

import numpy as np
import pytest
from scipy.optimize import minimize

from bomi.benchmarks import run
from bomi.benchmarks.contenders import contender
from bomi.benchmarks.functions import Problem
from bomi.benchmarks.missingness import Events, HistoryGaps, initial, stray
from bomi.benchmarks.mixed import MIXED
from bomi.benchmarks.problems import find_problem
from bomi.errors import BenchmarkError, MethodError
from bomi.space import Categorical

every_problem = pytest.mark.parametrize("name", MIXED)


def dense_search(problem: Problem, points: int, starts: int, seed: int = 0):
    """The best of many random points, after SLSQP in the continuous inputs from the best of them."""
    space = problem.space
    x = problem.draw(points, np.random.default_rng(seed))
    tops = x[np.argsort(-problem(x))[:starts]]
    moving = np.array([parameter.levels is None for parameter in space.parameters.values()])
    names = list(problem.bounds)
    return max((local_maximum(problem, space, names, moving, top) for top in tops), key=lambda pair: pair[0])


def local_maximum(problem, space, names, moving, top):
    def whole(v):
        x = top.copy()
        x[moving] = v
        return x

    def sums(one):
        return lambda v: sum(c * whole(v)[names.index(name)] for name, c in one.terms.items())

    conditions = []
    for one in space.constraints:
        if one.equals is not None:
            conditions.append({"type": "eq", "fun": lambda v, one=one: sums(one)(v) - one.equals})
        else:
            if one.max is not None:
                conditions.append({"type": "ineq", "fun": lambda v, one=one: one.max - sums(one)(v)})
            if one.min is not None:
                conditions.append({"type": "ineq", "fun": lambda v, one=one: sums(one)(v) - one.min})
    bounds = [ends for ends, free in zip(problem.bounds.values(), moving, strict=True) if free]
    conditions = [c for c in conditions if np.ptp([c["fun"](top[moving] + e) for e in 0.01 * np.eye(moving.sum())]) > 0]
    found = minimize(
        lambda v: -float(problem(whole(v))), top[moving], method="SLSQP", bounds=bounds, constraints=conditions,
        options={"ftol": 1e-13, "maxiter": 300},
    )  # fmt: skip
    end = whole(np.clip(found.x, *np.array(bounds).T))
    kept = space.holds(space.to_unit(problem.cells(end))[None])[0] or not space.constraints
    return (float(problem(end)), end) if kept else (float(problem(top)), top)


@every_problem
def test_the_best_setting_is_one_and_no_search_finds_a_better(name):
    problem = find_problem(name)
    best = np.array(problem.maximizer)
    assert problem.space.broken(problem.cells(best)) == []
    np.testing.assert_allclose(problem.inputs(problem.cells(best)), best)
    assert float(problem(best)) == pytest.approx(problem.optimum)
    value, _ = dense_search(problem, 3000, 8)
    assert value <= problem.optimum + 1e-6 * abs(problem.optimum) + 1e-9
    moving = np.array([parameter.levels is None for parameter in problem.space.parameters.values()])
    value, _ = local_maximum(problem, problem.space, list(problem.bounds), moving, best)
    assert value <= problem.optimum + 1e-6 * abs(problem.optimum) + 1e-9


def test_known_values():
    assert find_problem("func2c").optimum == pytest.approx(2 * 0.1031628453)
    assert find_problem("ackleymixed").optimum == pytest.approx(0, abs=1e-12)
    hartmann = find_problem("hartmann6")
    assert float(find_problem("budget6")(np.array(hartmann.maximizer))) == pytest.approx(hartmann.optimum)
    # One tank, no second reaction to speak of: b = k t / (1 + k t).
    rate = 0.02
    bare = float(find_problem("reactor")(np.array([0, 0.5, 80, 50, 1])))
    b = rate * 50 / (1 + rate * 50) / (1 + 0.002 * 50)
    assert bare == pytest.approx(100 * b - 1.2 * 0.5 - 0.15 * 50 - 1.5)


@every_problem
def test_execution_errors_stay_in_the_space_and_satisfy_the_constraints(name):
    problem = find_problem(name)
    events = Events(1.0, 0.3, most=3)
    changed = 0
    for t, x in enumerate(problem.draw(40, np.random.default_rng(0))):
        event = events.draw(0, t, problem.dim)
        actual, recorded = stray(event, x, problem)
        assert problem.space.broken(problem.cells(actual)) == []
        assert all(problem.space.parameters[n].contains(v) for n, v in problem.cells(actual).items())
        np.testing.assert_array_equal(actual[~event.failed], x[~event.failed])
        assert (np.isnan(recorded) == event.failed).all()
        changed += bool((actual != x).any())
    assert changed > 15


@pytest.mark.parametrize("name", ["reactor", "recipe"])
@pytest.mark.parametrize("method", ["posterior", "mean", "naive", "random", "oracle", "tpe"])
def test_every_kind_of_contender_runs(name, method):
    if method == "tpe" and os.environ.get("BOMI_REQUIRE_ALL") != "1":
        pytest.importorskip("optuna", reason="Optuna is not installed")
    problem = find_problem(name)
    data = initial(problem, rows=8, gaps=HistoryGaps(most=2), seed=0)
    result = run(problem, method, budget=2, seed=0, missing=Events(0.5, 0.2, most=2), initial=data)
    assert len(result.best) == 3
    assert result.best[-1] <= problem.optimum + 1e-6


def test_naive_is_told_feasible_values():
    problem = find_problem("reactor")
    data = initial(problem, rows=12, gaps=HistoryGaps(share=1.0), seed=0)
    told = contender("naive").view.history(data, problem)
    assert not np.isnan(told).any()
    for j, parameter in enumerate(problem.space.parameters.values()):
        filled = told[np.isnan(data.recorded[:, j]), j]
        if isinstance(parameter, Categorical):
            column = data.recorded[~np.isnan(data.recorded[:, j]), j].astype(int)
            assert (filled == np.bincount(column).argmax()).all()
        if parameter.levels is not None:
            assert (filled == filled.round(1)).all()


def test_another_program_takes_no_settings():
    with pytest.raises(MethodError, match="'tpe' takes no settings"):
        contender("tpe:worlds=3")
    with pytest.raises(BenchmarkError, match="reactor"):
        find_problem("reactr")
