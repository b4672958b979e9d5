import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch

from bomi import BomiError, Categorical, Integer, Interval, Linear, Normal, Optimizer, Ordinal, Real, Space
from bomi.space.numbers import plain_number


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        (0.5, 0.5),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.array(2.0), 2.0),
        (torch.tensor(2.0), 2.0),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25),
        (2**60 + 1, 2**60 + 1),
        (-1e100, -1e100),
    ],
)
def test_every_kind_of_number_becomes_a_plain_one(value, number):
    found = plain_number(value)
    assert found == number
    assert type(found) in (int, float)


BAD = {
    "nan": math.nan,
    "infinite": math.inf,
    "too large": 1e101,
    "beyond all floats": 10**400,
    "cannot be shown": 10**5000,
    "fraction": Fraction(10**400),
    "signalling nan": Decimal("sNaN"),
    "decimal": Decimal("1e999"),
    "bool": True,
    "numpy bool": np.True_,
    "complex": 1j,
    "array": np.array([1.0]),
    "list": [1.0],
    "time": np.timedelta64(1, "s"),
    "bytes": b"1",
    "object": object(),
}
DOORS = {
    "low": lambda bad: Real(bad, 1e90),
    "high": lambda bad: Real(-1e90, bad),
    "step": lambda bad: Real(0, 1, step=bad),
    "integer": lambda bad: Integer(0, bad),
    "default": lambda bad: Real(0, 1, default=bad),
    "level": lambda bad: Ordinal([0, bad]),
    "coefficient": lambda bad: Linear({"x": bad}, max=1),
    "limit": lambda bad: Linear({"x": 1}, max=bad),
    "mean": lambda bad: Normal(bad, 1),
    "sd": lambda bad: Normal(0, bad),
    "interval": lambda bad: Interval(-1e99, bad),
    "target": lambda bad: Optimizer({"x": (0, 1)}, goal=("target", bad)),
    "outcome": lambda bad: Optimizer({"x": (0, 1)}).tell({"x": 0.5}, bad),
    "outcome sd": lambda bad: Optimizer({"x": (0, 1)}).tell({"x": 0.5}, 1.0, sd=bad),
    "input": lambda bad: Optimizer({"x": (0, 1)}).tell({"x": bad}, 1.0, out_of_bounds="keep"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_number_comes_in_by_no_door(door, bad):
    blank = bad in ("nan", "signalling nan") and door in ("outcome", "outcome sd", "input")  # nobody knows: fine
    text = bad in ("bool", "numpy bool") and door == "level"  # True is a level like a word
    if not (blank or text):
        with pytest.raises(BomiError) as caught:
            DOORS[door](BAD[bad])
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Real(0, 1e101), r"`high` must be a finite number of at most 1e\+100 in size, but got 1e\+101"),
        (lambda: Real(1e-200, 1, log=True), "a log scale needs `low >= 1e-100`"),
        (lambda: Real(1, 1 + 1e-15), "too narrow"),
        (lambda: Real(0, 1e-101), "too narrow"),
        (lambda: Real(0, 1, step=1e-20), "more values in .* than can be told apart"),
        (lambda: Real(0, 1, step="0.1"), "`step` must be a finite number, but got '0.1'"),
        (lambda: Real(0, 1, log="yes"), "`log` must be True or False"),
        (lambda: Real(0, 1, unit=5), "`unit` must be a text"),
        (lambda: Categorical({"b", "a"}), "must be a list"),
        (lambda: Categorical(5), "must be a list"),
        (lambda: Categorical([("a",), "b"]), "text or a number"),
        (lambda: Space({"x": (0, 1)}, constraints=Linear({"x": 1}, max=1)), "must be a list of Linear"),
        (lambda: Space({"exclude": (0, 1)}), "other than 'id' and 'exclude'"),
        (lambda: Space({"x": (0, 1e60)}, constraints=[Linear({"x": 1e60}, max=1)]), r"may be 1e\+120"),
    ],
)
def test_what_cannot_be_computed_with_is_told(make, said):
    with pytest.raises(BomiError, match=said):
        make()


@pytest.mark.parametrize("level", [2, 2.0, "2", "2.0", " 2 ", np.int64(2), np.float32(2), Decimal(2), "2e0"])
def test_a_level_is_the_same_in_every_spelling(level):
    for parameter in (Ordinal([1, 2, 5]), Categorical([1, 2.0, 5]), Categorical(["1", "2"])):
        assert parameter.read(level) in (2, "2")


def test_levels_are_plain_numbers():
    parameter = Ordinal([Decimal("0.5"), Fraction(3, 2), np.int64(2)])
    assert parameter.values == (0.5, 1.5, 2)
    assert {type(value) for value in parameter.values} == {float, int}


def test_a_level_is_first_what_was_typed():
    parameter = Categorical(["2.0", 2])
    assert [parameter.read("2.0"), parameter.read("2")] == ["2.0", 2]


def test_bounds_are_plain_numbers():
    parameter = Real(np.float32(0.5), np.int64(3), step=Decimal("0.5"))
    assert repr(parameter) == "Real(low=0.5, high=3, log=False, step=0.5, unit='', default=None)"


LARGE = 2**53 + 1


@pytest.mark.parametrize("value", [LARGE, str(LARGE), np.int64(LARGE)])
def test_whole_numbers_beyond_floats_stay_exact(value):
    parameter = Integer(2**53, 2**53 + 100)
    assert parameter.read(value) == LARGE
    assert parameter.to_unit(LARGE) == [0.01]


def test_a_fixed_sum_of_huge_numbers_is_asked_for():
    doping = Real(1e15, 1e20, log=True)
    space = Space({"n": doping, "p": doping}, constraints=[Linear({"n": 1, "p": 1}, equals=1e18)])
    optimizer = Optimizer(space, method="mean", seed=0)
    for outcome in range(3):
        suggestion = optimizer.ask()
        assert suggestion["n"] + suggestion["p"] == pytest.approx(1e18, rel=1e-9)
        optimizer.tell(suggestion, outcome)
    assert optimizer.best().setting is not None


@pytest.mark.parametrize("size", [1e-40, 1e25, 1e90])
def test_limits_of_sums_of_any_size_are_kept(size):
    wide = Real(size, 2 * size)
    space = Space({"a": wide, "b": wide}, constraints=[Linear({"a": 1, "b": 1}, max=3 * size)])
    for suggestion in Optimizer(space, method="random", seed=0).ask(20):
        assert suggestion["a"] + suggestion["b"] <= 3 * size * (1 + 1e-9)
