"""Spaces of all kinds of parameters: ordered levels, categories, integers, with gaps in any of them."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch

import bomi
from bomi import BomiError, Categorical, Integer, Linear, Optimizer, Ordinal, Real, Space
from bomi.model.additive import AdditiveMatern
from bomi.model.kernels import SquaredExponential, cross
from bomi.search import candidates
from bomi.search.candidates import maximize

LEVELS = Ordinal([1, 2, 5, 10])
GRADES = Ordinal(["low", "medium", "high"])


# --- ordered levels ---


def test_ordered_levels_are_one_column_evenly_apart():
    assert [LEVELS.to_unit(value)[0] for value in LEVELS.values] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert [LEVELS.from_unit([u]) for u in (0.0, 0.1, 0.4, 0.9)] == [1, 1, 2, 10]
    assert Space({"dose": LEVELS, "grade": GRADES}).dim == 2
    np.testing.assert_allclose(LEVELS.snap(np.array([[0.3], [0.95]])), [[1 / 3], [1]])
    counts = np.unique(LEVELS.expand(np.linspace(0, 0.999, 400)), return_counts=True)[1]
    assert counts.tolist() == [100] * 4


def test_ordered_levels_read_what_people_type():
    assert LEVELS.read("5") == LEVELS.read(5.0) == LEVELS.read(np.int64(5)) == 5
    assert GRADES.read(" medium ") == "medium"
    assert GRADES.read("?") is None
    with pytest.raises(BomiError, match="expected one of low, medium, high, but got 'hihg'; did you mean 'high'"):
        GRADES.read("hihg")
    with pytest.raises(BomiError, match="two or more different values"):
        Ordinal([1])
    with pytest.raises(BomiError, match="must rise or fall"):
        Ordinal([1, 5, 2])
    assert Ordinal([10, 5, 1]).to_unit(10) == [0.0]


def test_many_ordered_levels_have_neighbors_at_growing_distances():
    many = Ordinal(list(range(0, 400, 4)))
    here = many.to_unit(200)
    ranks = sorted(round(place[0] * 99) - 50 for place in many.neighbors(np.array(here)))
    assert ranks == [-32, -16, -8, -4, -2, -1, 1, 2, 4, 8, 16, 32]


# --- kernels ---


@pytest.mark.parametrize("weight", [-6.0, 0.0, 6.0])
def test_the_kernel_of_categories_is_positive_definite_and_knows_no_order(weight):
    space = Space({"c": Categorical(list("uvwxy")), "q": ["a", "b", "c"]})
    every = itertools.product(*(parameter.every() for parameter in space.parameters.values()))
    points = torch.tensor([[u for part in point for u in part] for point in every], dtype=torch.float64)
    kernel = AdditiveMatern(tuple(space.groups.tolist()))
    theta = torch.tensor([[0.0, weight, -1.2, 0.3, -0.5, 0.8]], dtype=torch.float64)
    K = cross(kernel, theta, points[None], points[None])[0]
    assert torch.linalg.eigvalsh(K).min() > 1e-6
    assert len(K.reshape(5, 3, 5, 3)[0, 0, 1:, 0].unique()) == 1  # any other category is as far as any other
    # One category alone is (1 - r) I + r 1 1^T: compound symmetry, definite for -1/(k-1) < r < 1.
    alone = cross(AdditiveMatern((0,) * 5), theta[:, :4], torch.eye(5)[None].double(), torch.eye(5)[None].double())[0]
    r = alone[0, 1]
    torch.testing.assert_close(alone, (1 - r) * torch.eye(5).double() + r)
    assert 0 < r < 1


def test_the_papers_kernel_takes_categories_as_categories_too():
    # |e_i - e_j|^2 = 2 for any two different categories: again compound symmetry, r = exp(-1 / l^2).
    K = cross(
        SquaredExponential(),
        torch.tensor([[0.0, -0.4]]).double(),
        torch.eye(4)[None].double(),
        torch.eye(4)[None].double(),
    )
    expected = torch.full((4, 4), math.exp(-math.exp(0.8)), dtype=torch.float64).fill_diagonal_(1.0)
    torch.testing.assert_close(K[0], expected)


# --- acquisition ---


MIXED = Space(
    {
        "n": Integer(0, 9),
        "m": Integer(1, 6),
        "l": Ordinal([1, 2, 5, 10, 20]),
        "c": list("uvwx"),
        "s": Real(0, 1, step=0.25),
    }
)


@pytest.mark.parametrize("seed", range(6))
def test_alternating_local_search_finds_what_enumeration_finds(seed, monkeypatch):
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(MIXED.dim, MIXED.dim, generator=generator, dtype=torch.float64)
    at = torch.rand(MIXED.dim, generator=generator, dtype=torch.float64)

    def score(x):
        snapped = MIXED.snap(x.detach().numpy())
        np.testing.assert_allclose(x.detach().numpy(), snapped, atol=1e-9)  # only admissible points are asked for
        return -((x - at) @ A).square().sum(-1) + 0.3 * torch.sin(9 * x.sum(-1))

    best = float(score(maximize(score, MIXED, seed=seed)[None])[0])
    monkeypatch.setattr(candidates, "ENUMERABLE", 0)
    assert float(score(maximize(score, MIXED, seed=seed)[None])[0]) == pytest.approx(best)


CONSTRAINED = [
    Space(
        {"i": Integer(0, 9), "j": Integer(0, 9), "k": Integer(0, 9), "c": ["x", "y"]},
        constraints=[Linear({"i": 1, "j": 1, "k": 1}, equals=10)],
    ),
    Space(
        {"i": Integer(0, 12), "d": Real(0, 1, step=0.1), "l": Ordinal([1, 2, 5, 10])},
        constraints=[Linear({"i": 1, "d": 5, "l": 1}, max=12, min=6), Linear({"i": 1, "l": -1}, max=3)],
    ),
]


@pytest.mark.parametrize("space", CONSTRAINED, ids=["fixed sum", "limits"])
@pytest.mark.parametrize("seed", range(4))
def test_search_under_constraints_finds_what_enumeration_finds(space, seed, monkeypatch):
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(space.dim, space.dim, generator=generator, dtype=torch.float64)
    at = torch.rand(space.dim, generator=generator, dtype=torch.float64)

    def score(x):
        assert space.holds(x.detach().numpy()).all()
        return -((x - at) @ A).square().sum(-1) + 0.2 * torch.sin(9 * x.sum(-1))

    best = float(score(maximize(score, space, seed=seed)[None])[0])
    monkeypatch.setattr(candidates, "ENUMERABLE", 0)
    assert float(score(maximize(score, space, seed=seed)[None])[0]) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(3))
def test_continuous_search_under_constraints_equals_a_fine_grid(seed):
    space = Space(
        {"a": (0, 1), "b": (0, 2), "c": Real(1, 10, log=True), "q": ["x", "y"]},
        constraints=[Linear({"a": 1, "b": 0.5, "c": 0.1}, equals=1), Linear({"a": 1, "b": -1}, min=-1.5)],
    )
    rng = np.random.default_rng(seed)
    at, height = torch.from_numpy(rng.random(3)), torch.tensor([0.0, 0.1])

    def score(x):
        return torch.exp(-4 * (x[:, :3] - at).square().sum(-1)) + (x[:, 3:] * height).sum(-1)

    a, b = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, 301), np.linspace(0, 2, 301)))
    c = (1 - a - 0.5 * b) * 10
    inside = (c >= 1) & (c <= 10) & (a - b >= -1.5)
    grid = np.stack([a, b / 2, np.log10(np.maximum(c, 1e-9)), 0 * a, 0 * a + 1], -1)[inside]
    best = float(score(torch.from_numpy(grid)).max())
    place = maximize(score, space, seed=seed)
    value = float(score(place[None])[0])
    assert space.holds(place[None].numpy()).all()
    assert best - 1e-9 <= value <= best + 1e-3


# --- gaps ---


def campaign(method="posterior", **options):
    """The outcome is 3 for oil, and rises with the level: complete rows teach it, two rows lack one of them."""
    space = Space({"quench": ["water", "oil", "air"], "grade": GRADES, "dose": LEVELS, "x": (0, 1)})
    optimizer = Optimizer(space, method=method, seed=0, **options)
    rng = np.random.default_rng(0)
    for place in space.draw(24, rng):
        setting = space.setting(place)
        optimizer.tell(setting, outcome(setting))
    known = {"quench": "air", "grade": "low", "dose": 5, "x": 0.5}
    optimizer.tell({**known, "quench": None}, outcome({**known, "quench": "oil"}))
    optimizer.tell({**known, "grade": None}, outcome({**known, "grade": "high"}))
    optimizer.tell({**known, "dose": None}, outcome({**known, "dose": 10}))
    return optimizer


def outcome(setting):
    return 3.0 * (setting["quench"] == "oil") + GRADES.index(setting["grade"]) + 0.3 * LEVELS.index(setting["dose"])


def test_a_missing_category_has_a_probability_for_each_value():
    gaps = campaign().gaps().set_index("parameter")
    for name in ("quench", "grade", "dose"):
        assert sum(gaps.loc[name, "probabilities"].values()) == pytest.approx(1)
    assert list(gaps.loc["quench", "probabilities"]) == ["water", "oil", "air"]
    assert gaps.loc["quench", "probabilities"]["oil"] > 0.9
    assert gaps.loc["grade", "probabilities"]["high"] > 0.8
    assert gaps.loc["dose", "probabilities"][10] > 0.5
    assert math.isnan(gaps.loc["quench", "mean"])
    assert math.isnan(gaps.loc["grade", "mean"])
    assert 5 < gaps.loc["dose", "mean"] <= 10


@pytest.mark.parametrize("method", bomi.METHODS)
def test_every_method_takes_gaps_in_all_kinds(method):
    optimizer = campaign(method)
    first, second = optimizer.ask(2)
    for suggestion in (first, second):
        assert all(optimizer.space.parameters[name].contains(value) for name, value in suggestion.items())
    assert dict(first) != dict(second)
    gaps = optimizer.gaps()
    assert sorted(gaps["parameter"]) == ["dose", "grade", "quench"]
    again = Optimizer(optimizer.space, method=method, seed=0)
    again.tell(optimizer.frame())
    assert again.frame().equals(optimizer.frame())


# --- history of another plan ---


def history(**defaults):
    """Twelve old rows in which the pressure was not varied, twelve new ones with it."""
    space = Space({"temperature": (0, 100), "pressure": Real(1, 5, **defaults)})
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"temperature": rng.uniform(0, 100, 24), "pressure": rng.uniform(1, 5, 24)})
    frame.loc[:11, "pressure"] = 2.0
    frame["y"] = -(((frame["temperature"] - 60) / 50) ** 2) - (frame["pressure"] - 3) ** 2
    frame.loc[:11, "pressure"] = math.nan
    return space, frame


@pytest.mark.parametrize("method", bomi.METHODS)
def test_a_column_blank_in_all_old_rows_is_just_gaps(method):
    space, frame = history()
    optimizer = Optimizer(space, method=method, seed=0)
    optimizer.tell(frame)
    assert len(optimizer.gaps()) == 12
    assert optimizer.best().seen == frame["y"].max()
    assert set(optimizer.ask()) == {"temperature", "pressure"}


def test_old_rows_help_and_their_blank_column_is_found():
    space, frame = history()
    optimizer = Optimizer(space, seed=0)
    optimizer.tell(frame)
    drawn = optimizer.gaps()
    assert abs(drawn["mean"] - 2).mean() < abs(3 - 2)  # nearer than the middle of the range
    best = optimizer.best().setting
    assert best["temperature"] == pytest.approx(60, abs=8)
    assert best["pressure"] == pytest.approx(3, abs=0.4)


def test_a_default_says_what_a_blank_was():
    space, frame = history(default=2)
    optimizer = Optimizer(space, seed=0)
    optimizer.tell(frame)
    assert len(optimizer.gaps()) == 0
    assert optimizer.frame()["pressure"].tolist()[:12] == [2.0] * 12
    optimizer.tell(frame.iloc[:2].drop(columns="pressure"))  # a column that is not there at all
    optimizer.tell({"temperature": 50}, 1.0)
    assert optimizer.observations.rows[-1].recorded == {"temperature": 50, "pressure": 2}


def test_a_default_does_not_hide_what_nobody_knows():
    space = Space({"a": (0, 1), "b": Real(0, 1, default=0.5), "q": Categorical(["x", "y"], default="y")})
    optimizer = Optimizer(space, method="mean", seed=0)
    optimizer.tell(pd.DataFrame({"a": [0.1, 0.2, 0.3], "b": [None, "?", 0.4], "q": [None, "NA", "x"], "y": [1, 2, 3]}))
    optimizer.tell(pd.DataFrame({"a": [0.1], "b": [None], "q": ["x"], "asked.b": [0.9], "y": [4]}))  # it was asked
    optimizer.tell(optimizer.ask(), 5, actual={"b": None})
    optimizer.tell({"a": 0.5, "b": None, "q": "x"}, 6)
    recorded = [row.recorded for row in optimizer.observations.rows]
    assert [row["b"] for row in recorded] == [0.5, None, 0.4, None, None, None]
    assert [row["q"] for row in recorded[:3]] == ["y", None, "x"]
    again = Optimizer(space, method="mean", seed=0)
    again.tell(optimizer.frame())
    assert [row.recorded for row in again.observations.rows] == recorded


def test_a_default_that_cannot_be_is_refused():
    with pytest.raises(BomiError, match="`default`: expected one of x, y, but got 'z'"):
        Categorical(["x", "y"], default="z")
    with pytest.raises(BomiError, match="`default`: expected a number"):
        Real(0, 1, default="much")
    with pytest.raises(BomiError, match="`default`: expected a whole number"):
        Integer(0, 4, default=1.5)
    with pytest.raises(BomiError, match="`default`: a log scale needs a value above 0"):
        Real(1, 4, log=True, default=0)
    space = Space({"a": Real(1, 2, default=0), "b": (0, 1)})
    frame = pd.DataFrame({"b": [0.5], "y": [1.0]})
    with pytest.raises(BomiError, match="row 0, column 'a': the default 0 is out of bounds"):
        Optimizer(space).tell(frame)
    optimizer = Optimizer(space)
    optimizer.tell(frame, out_of_bounds="keep")
    assert optimizer.observations.rows[0].recorded["a"] == 0


# --- suggestions ---


def test_settings_that_round_to_a_pending_one_are_not_asked_again():
    space = Space({"x": (0, 1)})
    optimizer = Optimizer(space, method="mean", seed=0)
    for x in np.linspace(0, 1, 9):
        optimizer.tell({"x": float(x)}, -((float(x) - 0.4321) ** 2))
    asked = [dict(s) for s in optimizer.ask(6)]
    assert len({s["x"] for s in asked}) == 6


def test_without_a_model_no_setting_that_breaks_a_constraint_is_recommended():
    space = Space({"a": (0, 1), "b": (0, 1)}, constraints=[Linear({"a": 1, "b": 1}, max=1)])
    optimizer = Optimizer(space, method="random", seed=0)
    optimizer.tell({"a": 0.9, "b": 0.9}, 1.0)
    assert optimizer.best().setting is None
    assert "breaks a constraint" in optimizer.best().note
