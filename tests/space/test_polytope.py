"""Linear constraints: which settings keep them, the nearest and the evenly spread ones, and why there are none."""

import itertools

import numpy as np
import pytest
import torch
from botorch.utils.sampling import HitAndRunPolytopeSampler
from scipy.optimize import minimize

from bomi import BomiError, Integer, Linear, Ordinal, Real, Space
from bomi.search.candidates import space_filling

MIXTURE = Space(dict.fromkeys("abc", (0, 1)), constraints=[Linear(dict.fromkeys("abc", 1), equals=1)])
KITCHEN = Space(
    {
        "water": Real(10, 300, log=True),
        "oil": (0, 200),
        "salt": Real(0, 5, step=0.5),
        "eggs": Integer(0, 6),
        "size": Ordinal([40, 60, 100]),
        "pan": ["small", "large"],
    },
    constraints=[
        Linear({"water": 1, "oil": 1, "eggs": 50}, min=100, max=350),
        Linear({"oil": 1, "salt": 20}, equals=100),
        Linear({"size": 1, "water": -0.2}, min=10),
    ],
)


def brute_force(space):
    """Every setting of a space of discrete values that keeps the constraints by hand."""
    every = itertools.product(*(parameter.every() for parameter in space.parameters.values()))
    settings = [space.from_unit(np.concatenate(place)) for place in every]
    return [
        s for s in settings if all(one.lower - 1e-9 <= one.total(s) <= one.upper + 1e-9 for one in space.constraints)
    ]


# --- saying them ---


def test_a_constraint_is_written_as_people_write_it():
    assert str(Linear({"a": 1, "b": -2.5}, max=3)) == "a - 2.5 b <= 3"
    assert str(Linear({"a": -1}, min=3)) == "- a >= 3"
    assert str(Linear({"a": 1, "b": 1}, min=0.5, max=1)) == "0.5 <= a + b <= 1"
    assert str(Linear({"a": 1, "b": 1}, equals=1)) == "a + b = 1"


@pytest.mark.parametrize(
    ("terms", "limits", "message"),
    [
        ({}, {"max": 1}, "mapping of parameter to coefficient"),
        ({"a": 0}, {"max": 1}, "other than 0"),
        ({"a": "1"}, {"max": 1}, "coefficient of 'a'"),
        ({"a": 1}, {}, "min or max or both, or equals alone, but got none of them"),
        ({"a": 1}, {"equals": 1, "max": 2}, "equals alone"),
        ({"a": 1}, {"min": 2, "max": 1}, "`min <= max`"),
        ({"a": 1}, {"max": float("nan")}, "finite number"),
    ],
)
def test_a_constraint_that_makes_no_sense_is_refused(terms, limits, message):
    with pytest.raises(BomiError, match=message):
        Linear(terms, **limits)


@pytest.mark.parametrize(
    ("parameters", "constraints", "message"),
    [
        ({"a": (0, 1)}, [Linear({"aa": 1}, max=1)], "no parameter; did you mean 'a'"),
        ({"a": ["x", "y"]}, [Linear({"a": 1}, max=1)], "no number but one of {x, y}"),
        ({"a": Ordinal(["x", "y"])}, [Linear({"a": 1}, max=1)], "no number but one of {x, y}"),
        ({"a": (0, 1)}, ["a < 1"], "must be a Linear"),
        ({"a": (0, 1), "b": (0, 1)}, [Linear({"a": 1, "b": 1}, min=3)], "a \\+ b is at most 2"),
        ({"a": (1, 2), "b": (1, 2)}, [Linear({"a": 1, "b": 1}, max=1)], "a \\+ b is at least 2"),
        (
            dict.fromkeys("abc", (0, 1)),
            [Linear({"c": 1}, max=0.9), Linear({"a": 1, "b": 1}, min=1.5), Linear(dict.fromkeys("abc", 1), max=1.2)],
            "together: a \\+ b >= 1.5; a \\+ b \\+ c <= 1.2$",
        ),
        (
            {"i": Integer(0, 5), "j": Integer(0, 5)},
            [Linear({"i": 2, "j": 2}, equals=5)],
            "2 i \\+ 2 j = 5 cannot be kept at the discrete values",
        ),
        (
            {"i": Ordinal([1, 2, 5]), "j": Real(0, 1, step=0.25)},
            [Linear({"i": 1, "j": 1}, min=3.1, max=4.9)],
            "discrete values",
        ),
    ],
)
def test_an_infeasible_space_is_told_with_a_reason(parameters, constraints, message):
    with pytest.raises(BomiError, match=message):
        Space(parameters, constraints=constraints)


def test_spaces_with_other_constraints_are_other_spaces():
    same = Space(dict.fromkeys("abc", (0, 1)), constraints=[Linear(dict.fromkeys("abc", 1), equals=1)])
    assert same == MIXTURE
    assert hash(same) == hash(MIXTURE)
    assert Space(dict.fromkeys("abc", (0, 1))) != MIXTURE


# --- settings that keep them ---


def test_random_settings_of_a_mixture_are_spread_evenly():
    x = MIXTURE.draw(4000, np.random.default_rng(0))  # evenly on a simplex: Dirichlet(1, 1, 1)
    np.testing.assert_allclose(x.sum(-1), 1, atol=1e-12)
    np.testing.assert_allclose(x.mean(0), 1 / 3, atol=0.02)
    np.testing.assert_allclose(np.cov(x.T), (np.eye(3) / 3 - 1 / 9) / 4, atol=0.004)


def test_random_settings_are_spread_as_botorch_spreads_them():
    space = Space(
        {"a": (0, 1), "b": (0, 1), "c": (0, 1)},
        constraints=[Linear({"a": 1, "b": 2}, max=1), Linear({"b": 1, "c": 1}, min=0.8)],
    )
    A = torch.tensor([[1.0, 2.0, 0.0], [0.0, -1.0, -1.0]], dtype=torch.float64)
    b = torch.tensor([[1.0], [-0.8]], dtype=torch.float64)
    bounds = torch.tensor([[0.0] * 3, [1.0] * 3], dtype=torch.float64)
    theirs = HitAndRunPolytopeSampler((A, b), bounds=bounds, n_burnin=100, n_thinning=4, seed=0).draw(2000).numpy()
    ours = space.draw(4000, np.random.default_rng(0))
    assert space.holds(ours).all()
    np.testing.assert_allclose(ours.mean(0), theirs.mean(0), atol=0.03)
    np.testing.assert_allclose(ours.std(0), theirs.std(0), atol=0.02)


def test_a_log_scale_is_filled_evenly_by_ratios():
    space = Space({"t": Real(1, 100, log=True), "u": (0, 1)}, constraints=[Linear({"t": 1, "u": 1}, max=101)])
    places = space.draw(4000, np.random.default_rng(0))[:, 0]  # the constraint is always kept
    assert np.abs(np.histogram(places, bins=8, range=(0, 1))[0] - 500).max() < 100


def test_all_kinds_of_numbers_keep_several_constraints():
    places = KITCHEN.draw(400, np.random.default_rng(0))
    assert KITCHEN.holds(places).all()
    np.testing.assert_allclose(KITCHEN.snap(places), places, atol=1e-9)
    for place in places[:100]:
        setting = KITCHEN.setting(place)
        assert KITCHEN.broken(setting) == []
        assert all(KITCHEN.parameters[name].contains(value) for name, value in setting.items())
        water, oil, eggs = setting["water"], setting["oil"], setting["eggs"]
        assert 100 - 1e-6 <= water + oil + 50 * eggs <= 350 + 1e-6
        assert oil + 20 * setting["salt"] == pytest.approx(100, abs=1e-9)


def test_whole_numbers_with_a_fixed_sum_reach_every_setting():
    space = Space({name: Integer(0, 6) for name in "ijk"}, constraints=[Linear(dict.fromkeys("ijk", 1), equals=6)])
    drawn = {tuple(space.setting(place).values()) for place in space.draw(2000, np.random.default_rng(0))}
    assert drawn == {tuple(setting.values()) for setting in brute_force(space)}


def test_space_filling_points_keep_the_constraints_and_are_apart():
    points = space_filling(MIXTURE, 16, seed=0)
    assert MIXTURE.holds(points.numpy()).all()
    uniform = torch.from_numpy(MIXTURE.draw(16, np.random.default_rng(0)))
    assert torch.pdist(points).min() > 2 * torch.pdist(uniform).min()


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_setting_is_that_of_a_quadratic_programme(seed):
    rng = np.random.default_rng(seed)
    space = Space(
        dict.fromkeys("abcd", (0, 1)),
        constraints=[Linear({"a": 1, "b": 1, "c": 1}, equals=1), Linear({"c": 1, "d": 2}, max=0.9)],
    )
    wanted = rng.random(4)
    found = space.project(wanted[None])[0]
    conditions = [
        {"type": "eq", "fun": lambda x: x[:3].sum() - 1},
        {"type": "ineq", "fun": lambda x: 0.9 - x[2] - 2 * x[3]},
    ]
    start = space.draw(1, rng)[0]
    best = minimize(
        lambda x: np.square(x - wanted).sum(),
        start,
        method="SLSQP",
        bounds=[(0, 1)] * 4,
        constraints=conditions,
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(found, best.x, atol=2e-4)


def test_what_is_given_stays_and_only_the_rest_moves():
    wanted = np.array([[0.9, 0.5, 0.5], [0.2, 0.1, 0.1]])
    free = np.array([[False, True, True], [True, True, False]])
    np.testing.assert_allclose(MIXTURE.project(wanted, free), [[0.9, 0.05, 0.05], [0.5, 0.4, 0.1]], atol=1e-9)
    impossible = np.array([[0.9, 0.5, 0.5]])
    np.testing.assert_array_equal(MIXTURE.project(impossible, np.array([[False, False, True]])), impossible)


def test_where_one_value_after_another_fails_an_integer_programme_finds_one():
    space = Space(
        {"i": Integer(0, 30), "j": Integer(0, 30), "k": Integer(0, 30)},
        constraints=[Linear({"i": 7, "j": 11, "k": -13}, equals=29), Linear({"i": 3, "j": -5, "k": 2}, equals=19)],
    )
    expected = {tuple(setting.values()) for setting in brute_force(space)}
    place = space.project(np.array([[0.5, 0.5, 0.5]]))[0]
    assert tuple(space.setting(place).values()) in expected


def test_settings_are_round_numbers_and_keep_limits_to_the_last_digit():
    space = Space({"a": (0, 1), "b": (0, 1), "c": (0, 1)}, constraints=[Linear(dict.fromkeys("abc", 1), max=1)])
    rng = np.random.default_rng(0)
    for _ in range(200):
        place = rng.dirichlet([1, 1, 1])
        setting = space.setting(place)
        assert sum(setting.values()) <= 1
        assert all(value == round(value, 7) for value in setting.values())
        assert sum(MIXTURE.setting(place).values()) == pytest.approx(1, abs=1e-12)


ANY_SIZE = {
    "fine steps beside wide ranges": (
        {"a": (-0.141, 1.281), "b": (-0.003613, 0.001058), "c": Real(0, 0.01, step=1e-9)},
        [Linear({"a": 1, "b": 0.5, "c": -2}, max=0.7208141645), Linear({"a": 0.5, "b": 1, "c": 1}, min=0.375290224)],
    ),
    "counts": (
        {"dose": Real(0.1, 0.15), "cells": Integer(1, 10**22)},
        [Linear({"dose": 1, "cells": -2}, equals=-7.506454171307238e21), Linear({"dose": 1}, max=0.1012871)],
    ),
    "next to nothing": (
        {"n": Integer(0, 41), "m": Ordinal([1, 2.5, 10]), "trace": Real(-2.69e-44, 2.469e-43)},
        [Linear({"n": 1, "m": 1, "trace": 1}, equals=30)],
    ),
    "all together": (
        {"a": Real(1e-65, 1e-63, log=True), "b": Real(1e3, 1e5, log=True), "c": Integer(1, 1000)},
        [Linear({"a": 0.5, "b": -2, "c": 1}, equals=-53472.84), Linear({"a": 1, "b": 1, "c": 0.5}, min=27617.42)],
    ),
}


@pytest.mark.parametrize("case", ANY_SIZE)
def test_constraints_that_can_be_kept_are_not_refused_whatever_their_size(case):
    parameters, constraints = ANY_SIZE[case]
    space = Space(parameters, constraints=constraints)
    assert not space.broken(space.setting(space.draw(1, np.random.default_rng(0))[0]))
