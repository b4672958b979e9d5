"""What there is to choose from."""

import numpy as np
import pytest
import torch

import bomi
from bomi.errors import BomiError, SpaceError, TableError
from bomi.search.choices import Choices

MIXTURE = bomi.Space(
    {"resin": (0, 1), "filler": (0, 1), "hardener": (0, 1), "mould": ["steel", "glass"], "coats": bomi.Integer(1, 4)},
    constraints=[
        bomi.Linear({"resin": 1, "filler": 1, "hardener": 1}, equals=1),
        bomi.Linear({"filler": 1, "coats": 0.1}, max=0.6),
    ],
)


def told(space, method="mean", rows=12, seed=0, **options):
    """An optimizer that knows some rows of a bowl, every fourth with a gap."""
    optimizer = bomi.Optimizer(space, method=method, seed=seed, **options)
    for i, place in enumerate(optimizer.space.draw(rows, np.random.default_rng(seed))):
        outcome = -float(((place - 0.3) ** 2).sum())
        row = optimizer.space.setting(place)
        optimizer.tell({**row, optimizer.space.names[0]: None} if i % 4 == 0 else row, outcome)
    return optimizer


def test_points_and_places_are_the_same_settings():
    choices = Choices(MIXTURE, {"filler": 0.25, "mould": "glass"})
    points = choices.draw(20, np.random.default_rng(0))
    places = choices.places(points)
    assert places.shape == (20, MIXTURE.dim)
    assert MIXTURE.holds(places.numpy()).all()
    for point, place in zip(points, places, strict=True):
        setting = choices.setting(point)
        assert setting["filler"] == 0.25
        assert setting["mould"] == "glass"
        assert list(setting) == list(MIXTURE.names)
        assert setting == pytest.approx(MIXTURE.from_unit(place.numpy()), abs=1e-5)
    torch.testing.assert_close(choices.points(places), points)


def test_what_is_taken_elsewhere_is_free_here():
    choices = Choices(bomi.Space({"a": (0, 1), "b": (0, 1)}), {"b": 0.5})
    pending = torch.tensor([[0.1, 0.5], [0.2, 0.7]], dtype=torch.float64)
    assert choices.taken(pending).tolist() == [[0.1]]


@pytest.mark.parametrize("method", ["posterior", "bomi", "drop", "random"])
def test_what_is_given_is_asked_for_and_the_constraints_hold(method):
    optimizer = told(MIXTURE, method)
    given = {"filler": 0.25, "mould": "glass"}
    for suggestion in optimizer.ask(2, given=given):
        assert {name: suggestion[name] for name in given} == given
        assert suggestion["resin"] + suggestion["hardener"] == pytest.approx(0.75, abs=1e-9)
        assert suggestion["coats"] <= 3
    if method != "random":
        best = optimizer.best(given=given)
        assert {name: best.setting[name] for name in given} == given
        assert not MIXTURE.broken(best.setting)


def test_without_a_model_the_first_design_has_what_is_given():
    optimizer = bomi.Optimizer({"a": (0, 1), "b": ["x", "y"]}, seed=0)
    assert [one["b"] for one in optimizer.ask(4, given={"b": "y"})] == ["y"] * 4
    assert len({one.asked["a"] for one in optimizer.observations.rows}) == 4


def test_the_best_moves_with_what_is_given():
    """y = -(a - b)^2: the best a is the b of the day."""
    optimizer = bomi.Optimizer({"a": (0, 1), "b": (0, 1)}, seed=0)
    for a, b in np.random.default_rng(0).random((25, 2)):
        optimizer.tell({"a": a, "b": b}, -((a - b) ** 2))
    for b in (0.2, 0.8):
        assert optimizer.best(given={"b": b}).setting["a"] == pytest.approx(b, abs=0.07)
        assert optimizer.ask(given={"b": b})["b"] == b


def test_nothing_given_is_an_ordinary_question():
    space = {"a": (0, 1), "b": ["x", "y"]}
    assert told(space).ask(given={}) == told(space).ask()


def test_a_value_off_the_grid_can_be_given():
    optimizer = told({"a": bomi.Real(0, 100, step=5), "b": (0, 1)})
    assert optimizer.ask(given={"a": 42})["a"] == 42


def test_several_outcomes_and_a_target_take_what_is_given():
    optimizer = bomi.Optimizer({"a": (0, 1), "b": (0, 1)}, objective={"y": "maximize", "z": ("target", 0.5)}, seed=0)
    for a, b in np.random.default_rng(1).random((12, 2)):
        optimizer.tell({"a": a, "b": b}, {"y": a + b, "z": a * b})
    front = optimizer.best(given={"b": 0.4})
    assert {choice.setting["b"] for choice in front} == {0.4}
    assert optimizer.ask(given={"b": 0.4})["b"] == 0.4


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"filer": 0.2}, TableError, "did you mean 'filler'"),
        ({"filler": 2}, TableError, "`given`, parameter 'filler': 2 is out of bounds [0, 1]"),
        ({"filler": None}, TableError, "expected a plain value"),
        ({"filler": "0.2±0.1"}, TableError, "expected a plain value"),
        ({"mould": "wood"}, TableError, "expected one of steel, glass"),
        ([("filler", 0.2)], TableError, "must be a mapping"),
        ({"filler": 0.9, "coats": 4}, SpaceError, "filler = 0.9, coats = 4 breaks the constraint"),
        ({"filler": 0.6}, SpaceError, "with filler = 0.6, the constraint 0.1 coats <= 0 cannot be kept"),
        (
            dict.fromkeys(("resin", "filler", "hardener", "coats"), 1) | {"mould": "glass"},
            SpaceError,
            "nothing is left to choose",
        ),
    ],
)
def test_what_cannot_be_given_is_told_in_one_line_and_changes_nothing(given, error, said):
    optimizer = told(MIXTURE, rows=6)
    for question in (optimizer.ask, optimizer.best):
        with pytest.raises(error) as caught:
            question(given=given)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)
        assert isinstance(caught.value, BomiError)
    assert not optimizer.observations.pending
