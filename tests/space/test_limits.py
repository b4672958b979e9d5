"""Products, ratios and counts: settings that keep them, against rejection sampling, grids and formulas by hand."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch

import bomi
from bomi import Integer, Linear, NonZero, Ordinal, Product, Real, Space
from bomi.errors import SpaceError
from bomi.impute.table import deduce
from bomi.search import candidates, feasible

MIXTURE = Space(
    {**dict.fromkeys("abcde", (0, 1)), "time": (1, 9)},
    constraints=[Linear(dict.fromkeys("abcde", 1), equals=1), NonZero(["a", "b", "c", "d", "e"], max=2)],
)
AREA = Space({"x": (0, 1), "y": (0, 1)}, constraints=[Product({"x": 1, "y": 1}, max=0.2)])
RATIO = Space({"acid": (0, 1), "base": (0, 1)}, constraints=[Product({"acid": 1, "base": -1}, min=0.5, max=2)])


def numbers(space, count=2000):
    """Random settings, by name."""
    places = space.draw(count, np.random.default_rng(0))
    assert space.holds(places).all()
    return {name: np.array([space.from_unit(place)[name] for place in places]) for name in space.names}


def test_a_limited_product_is_drawn_as_by_rejection():
    found = numbers(AREA)
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 400_000))
    kept = x * y <= 0.2
    error = 0.025  # four standard errors of a mean of 2,000
    for ours, theirs in ((found["x"], x), (found["y"], y)):
        assert abs(ours.mean() - theirs[kept].mean()) < error
        assert abs((ours < 0.3).mean() - (theirs[kept] < 0.3).mean()) < error
    assert abs((found["x"] * found["y"]).mean() - (x * y)[kept].mean()) < error


def test_a_ratio_is_drawn_as_by_rejection_and_may_have_a_denominator_of_zero():
    found = numbers(RATIO)
    acid, base = np.random.default_rng(1).random((2, 400_000))
    kept = (acid <= 2 * base) & (acid >= 0.5 * base)
    assert abs(found["acid"].mean() - acid[kept].mean()) < 0.03
    assert abs((found["acid"] * found["base"]).mean() - (acid * base)[kept].mean()) < 0.03
    assert not RATIO.broken({"acid": 0, "base": 0})
    assert RATIO.broken({"acid": 0.1, "base": 0})
    assert str(RATIO.constraints[0]) == "0.5 <= acid / base <= 2"


def test_powers_and_discrete_values():
    space = Space(
        {"n": Integer(1, 12), "d": Real(0.1, 10, log=True), "p": Ordinal([1, 2, 5, 10])},
        constraints=[Product({"n": 1, "d": 2, "p": -1}, min=0.5, max=4)],
    )
    found = numbers(space, 500)
    value = found["n"] * found["d"] ** 2 / found["p"]
    assert 0.5 - 1e-8 <= value.min() < 1
    assert 3 < value.max() <= 4 + 1e-8
    assert str(space.constraints[0]) == "0.5 <= n * d^2 / p <= 4"


def test_a_fixed_product_is_kept_and_gives_what_is_missing():
    space = Space({"flow": (1, 20), "time": (1, 20)}, constraints=[Product({"flow": 1, "time": 1}, equals=40)])
    found = numbers(space, 200)
    np.testing.assert_allclose(found["flow"] * found["time"], 40, rtol=1e-8)
    assert np.ptp(found["flow"]) > 10
    assert deduce(space, {"flow": 8.0, "time": None})["time"] == pytest.approx(5)
    point = space.setting(space.place({"flow": 3.3333333, "time": 40 / 3.3333333}))
    assert point["flow"] * point["time"] == pytest.approx(40, rel=1e-9)


def test_projection_is_near_the_nearest_that_keeps_a_product():
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 401)] * 2, indexing="ij"), -1).reshape(-1, 2)
    kept = grid[grid.prod(-1) <= 0.2]
    for wanted in ([0.9, 0.9], [0.5, 0.8], [0.3, 0.95], [0.1, 0.4]):
        (found,) = AREA.project(np.array([wanted]))
        best = np.linalg.norm(kept - wanted, axis=-1).min()
        assert AREA.holds(found[None]).all()
        assert np.linalg.norm(found - wanted) <= 1.3 * best + 0.01


def test_every_choice_of_what_is_not_zero_is_drawn():
    found = numbers(MIXTURE, 1000)
    support = Counter(tuple(name for name in "abcde" if found[name][i] > 0) for i in range(1000))
    assert set(support) == set(itertools.combinations("abcde", 2))
    assert max(support.values()) < 200  # 100 expected of each
    share = np.array([max(found[name][i] for name in "abcde") for i in range(1000)])
    assert abs(share.mean() - 0.75) < 0.03  # the larger of two shares that are even


def test_projection_keeps_the_largest():
    places = np.array([[0.5, 0.3, 0.1, 0.1, 0.0, 0.5], [0.1, 0.2, 0.2, 0.3, 0.0, 0.1]])
    found = MIXTURE.project(places)
    np.testing.assert_allclose(found[0], [0.6, 0.4, 0, 0, 0, 0.5], atol=1e-9)
    assert (found[1] > 0).sum() == 3
    assert found[1, 3] > 0
    free = np.ones((1, 6), dtype=bool)
    free[0, 2] = False  # what is given is one of the two
    (kept,) = MIXTURE.project(places[:1], free, thorough=False)
    np.testing.assert_allclose(kept, [0.9, 0, 0.1, 0, 0, 0.5], atol=1e-9)


def test_no_more_than_so_many_leave_zero_for_the_rest():
    row = {"a": 0.3, "b": 0.7, "c": None, "d": None, "e": None, "time": None}
    assert deduce(MIXTURE, row) == {**row, "c": 0, "d": 0, "e": 0}
    assert deduce(MIXTURE, {**row, "b": None})["c"] is None


def test_the_best_point_under_a_product_is_on_its_border():
    """The nearest to (0.7, 0.7) is on the diagonal; along the border x + 2 y is largest at its ends, 1.4 and 2.2."""

    def score(x):
        return -(x[:, 0] - 0.7).square() - (x[:, 1] - 0.7).square()

    found = candidates.maximize(score, AREA, seed=0)
    root = math.sqrt(0.2)
    assert float(score(found[None])) == pytest.approx(-2 * (0.7 - root) ** 2, abs=1e-3)
    low, high = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    start = torch.tensor([[0.9, 0.1]], dtype=torch.float64)
    (moved,) = feasible.slsqp(lambda x: x[:, 0] + 2 * x[:, 1], AREA, start, torch.tensor([True, True]), low, high)
    assert AREA.holds(moved[None].numpy()).all()
    assert float(moved[0] + 2 * moved[1]) > 1.39


@pytest.mark.parametrize("seed", range(3))
def test_the_best_recipe_of_two_is_the_best_of_all_pairs(seed):
    """Each pair's best is found by a grid; the search has to find the pair and its shares."""
    rng = np.random.default_rng(seed)
    worth, both = torch.from_numpy(rng.random(5)), torch.from_numpy(rng.random((5, 5)))
    together = both + both.T

    def score(x):
        return x[:, :5] @ worth + ((x[:, :5] @ together) * x[:, :5]).sum(-1) - (x[:, 5] - 0.3).square()

    best = -math.inf
    for i, j in itertools.combinations(range(5), 2):
        x = torch.zeros(1001, 6, dtype=torch.float64)
        x[:, i], x[:, 5] = torch.linspace(0, 1, 1001).double(), 0.3
        x[:, j] = 1 - x[:, i]
        best = max(best, float(score(x).max()))
    found = candidates.maximize(score, MIXTURE, seed=seed)
    assert MIXTURE.holds(found[None].numpy()).all()
    assert float(score(found[None])) == pytest.approx(best, abs=1e-4)


def test_a_swap_moves_a_share_to_another():
    point = torch.from_numpy(MIXTURE.place({"a": 0.3, "b": 0.7, "c": 0, "d": 0, "e": 0, "time": 5}))
    found = feasible.swaps(MIXTURE, point)
    assert len(found) == 6
    assert MIXTURE.holds(found.numpy()).all()
    assert sorted(tuple(np.round(x[:5].numpy(), 6)) for x in found)[0] == (0, 0.7, 0, 0, 0.3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Product({"x": 1}, max=0), "`max` of a product must be above 0"),
        (lambda: Product({"x": 0}, max=1), "the power of 'x' must be a number other than 0"),
        (lambda: Product({}, max=1), "a mapping of parameter to power"),
        (lambda: Product({"x": 1, "y": 1}), "min or max or both, or equals alone"),
        (lambda: NonZero(["x", "x"], max=1), "a list of different parameters"),
        (lambda: NonZero("xy", max=1), "a list of different parameters"),
        (lambda: NonZero(["x", "y"], max=2), "below that of the parameters, 2, but got 2"),
        (lambda: NonZero(["x", "y"], max=0.5), "a whole number from 0"),
        (
            lambda: Space({"x": (-1, 1), "y": (0, 1)}, constraints=[Product({"x": 1, "y": 1}, max=1)]),
            "below 0, but 'x'",
        ),
        (lambda: Space({"x": (1, 2), "y": (0, 1)}, constraints=[NonZero(["x", "y"], max=1)]), "'x', which cannot be 0"),
        (lambda: Space({"x": (1, 2), "y": (3, 4)}, constraints=[Product({"x": 1, "y": 1}, max=2)]), "at least 3"),
        (
            lambda: Space({"x": (1, 2), "y": (3, 4)}, constraints=[Product({"x": 1, "y": -1}, min=0.9)]),
            "at most 0.666667",
        ),
        (lambda: Space({"x": (0, 1), "y": (0, 1)}, constraints=[NonZero(["x", "z"], max=1)]), "'z', which is no param"),
        (
            lambda: Space(
                dict.fromkeys("xyz", (0, 1)),
                constraints=[Linear(dict.fromkeys("xyz", 1), min=2.5), NonZero(list("xyz"), max=2)],
            ),
            "no setting keeps these constraints together: x .* at most 2 of x, y, z are not 0",
        ),
        (lambda: Space({"x": (0, 1)}, constraints=["x < 1"]), "a Linear, a Product or a NonZero"),
    ],
)
def test_what_cannot_be_is_told(make, message):
    with pytest.raises(SpaceError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_values_that_are_given_leave_the_rest_of_a_constraint():
    space = Space(
        {**dict.fromkeys("abc", (0, 1)), "x": (1, 9), "y": (1, 9), "z": (1, 9)},
        constraints=[
            NonZero(list("abc"), max=1),
            Product({"x": 1, "y": 1, "z": 1}, max=100),
            Product({"x": 1, "y": -1}, max=2),
        ],
    )
    left = space.rest({"a": 0.5, "y": 4.0})
    assert [str(one) for one in left.constraints] == ["at most 0 of b, c are not 0", "x * z <= 25", "x <= 8"]
    assert numbers(left, 50)["b"].max() == 0
    with pytest.raises(SpaceError, match="breaks the constraint at most 1"):
        space.rest({"a": 0.5, "b": 0.1})
    with pytest.raises(SpaceError, match=r"with x = 9, y = 1, .*|breaks the constraint x / y <= 2"):
        space.rest({"x": 9.0, "y": 1.0})


def blend(setting):
    """An outcome that wants a and d in a mixture."""
    return 10 * setting["a"] * setting["d"] + setting["b"] - 0.02 * (setting["time"] - 4) ** 2


def test_a_campaign_keeps_them_in_batches_recommendations_and_lists(tmp_path):
    space = Space(
        dict(MIXTURE.parameters),
        constraints=[*MIXTURE.constraints, Product({"a": 1, "time": 1}, max=3)],
    )
    optimizer = bomi.Optimizer(space, objective="y", seed=0)
    for suggestion in optimizer.ask(6):
        assert not space.broken(suggestion)
        optimizer.tell(suggestion, blend(suggestion), actual={"b": None} if suggestion["b"] == 0 else None)
    for suggestion in optimizer.ask(3):
        assert not space.broken(suggestion)
        assert sum(suggestion[name] != 0 for name in "abcde") <= 2
        optimizer.tell(suggestion, blend(suggestion))
    assert not space.broken(optimizer.best().setting)
    given = optimizer.ask(given={"c": 0.5})
    assert given["c"] == 0.5
    assert not space.broken(given)
    listed = [dict(zip("abcde", row, strict=True)) for row in ((0.5, 0, 0, 0.5, 0), (0.4, 0.2, 0.2, 0.2, 0))]
    assert optimizer.ask(candidates=[{**one, "time": 4} for one in listed]).candidate == 0
    optimizer.save(tmp_path / "saved.json")
    assert bomi.Optimizer.load(tmp_path / "saved.json").space == space


def test_slopes_are_those_of_the_sums():
    space = Space(
        {"x": (1, 9), "y": (1, 9), "z": (1, 9)},
        constraints=[Product({"x": 2, "y": 1, "z": -1}, max=9), Product({"x": 1, "y": -1}, max=2)],
    )
    z, step = np.array([2.0, 3.0, 4.0]), 1e-6
    assert space.polytope is not None
    moved = [
        (space.polytope.totals(z + step * e) - space.polytope.totals(z - step * e)) / (2 * step) for e in np.eye(3)
    ]
    np.testing.assert_allclose(space.polytope.slopes(z), np.array(moved).T, rtol=1e-6)
