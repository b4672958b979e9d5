import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomi import BomiError, Interval, Normal
from bomi.space import Categorical, Integer, Real, Space

bounds = (
    st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
    .map(sorted)
    .filter(lambda p: p[1] - p[0] > max(1e-6 * abs(p[0]), 1e-90))
)
positive_bounds = st.tuples(st.floats(1e-9, 1e9), st.floats(1.01, 1e6)).map(lambda p: (p[0], p[0] * p[1]))
words = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=3, max_size=8)


@st.composite
def reals(draw):
    log = draw(st.booleans())
    low, high = draw(positive_bounds if log else bounds)
    step = draw(st.none() | st.integers(1, 50).map(lambda k: (high - low) / k))
    return Real(low, high, log=log, step=step)


@st.composite
def integers(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(10**6), 10**6))
    high = low + draw(st.integers(1, 10**6))
    return Integer(low, high, log=log, step=draw(st.integers(1, high - low)))


categoricals = st.lists(words.filter(lambda w: w != "nan"), min_size=2, max_size=6, unique=True).map(Categorical)
parameters = st.one_of(reals(), integers(), categoricals)


@given(parameters, st.floats(0, 1))
def test_a_round_trip_gives_back_the_same_value(parameter, place):
    value = parameter.from_unit(parameter.expand(np.array(place)))
    assert parameter.contains(value)
    assert parameter.from_unit(parameter.to_unit(value)) == value


@given(st.integers(-400, 400), st.integers(0, 3))
def test_numbers_as_people_type_them_come_back_exactly(number, decimals):
    value = number / 10**decimals
    assert Real(-400, 400).from_unit(Real(-400, 400).to_unit(value)) == value


@given(st.floats(20, 400))
def test_any_number_of_a_range_away_from_zero_comes_back_exactly(value):
    for parameter in (Real(20, 400), Real(20, 400, log=True)):
        back = parameter.from_unit(parameter.to_unit(value))
        assert back == pytest.approx(value, rel=1e-14)
        assert parameter.to_unit(back) == parameter.to_unit(value)


@given(parameters, st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=8))
def test_snapped_places_are_admissible_and_stay(parameter, places):
    columns = np.repeat(np.array(places)[:, None], parameter.width, axis=1)
    snapped = parameter.snap(columns)
    assert ((snapped >= 0) & (snapped <= 1)).all()
    np.testing.assert_allclose(parameter.snap(snapped), snapped, atol=1e-12)
    for place in snapped:
        np.testing.assert_allclose(parameter.to_unit(parameter.from_unit(place)), place, atol=1e-9)


def test_log_scale_puts_the_geometric_mean_in_the_middle():
    assert Real(1, 100, log=True).to_unit(10) == [0.5]
    assert Real(1, 100, log=True).from_unit([0.5]) == 10


def test_steps_are_clean_decimals_and_never_pass_the_end():
    parameter = Real(0, 1, step=0.1)
    assert [parameter.from_unit([k / 10]) for k in range(11)] == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
    assert Real(0, 1, step=0.3).from_unit([1.0]) == 0.9
    assert Real(0, 1, step=0.3).levels == 4


def test_each_integer_and_category_gets_an_equal_share_of_positions():
    places = (np.arange(9000) + 0.5) / 9000
    for parameter in (Categorical(["a", "b", "c"]), Integer(1, 3)):
        counts = np.unique(parameter.expand(places), axis=0, return_counts=True)[1]
        assert counts.tolist() == [3000, 3000, 3000]


def test_a_space_maps_settings_to_the_cube_and_back():
    space = Space({"t": (20, 400), "n": Integer(1, 5), "q": ["water", "oil"]})
    setting = {"t": 115.0, "n": 3, "q": "oil"}
    place = space.to_unit(setting)
    assert place.tolist() == [0.25, 0.5, 0.0, 1.0]
    assert space.from_unit(place) == setting
    assert space.groups.tolist() == [0, 1, 2, 2]
    assert space == Space({"t": (20, 400), "n": Integer(1, 5), "q": ["water", "oil"]})


@pytest.mark.parametrize(
    ("parameter", "value", "cell"),
    [
        (Real(0, 10), "3.5", 3.5),
        (Real(0, 10), np.float32(2), 2.0),
        (Real(0, 10), "?", None),
        (Real(0, 10), "3±1", Normal(3, 1)),
        (Real(0, 10), Interval(1, 2), Interval(1, 2)),
        (Integer(0, 10), 3.0, 3),
        (Integer(0, 10), "3", 3),
        (Categorical(["a", "b"]), " a ", "a"),
        (Categorical([1, 2, 5]), "2", 2),
        (Categorical([1, 2, 5]), 5.0, 5),
        (Categorical(["a", "b"]), None, None),
        (Categorical([True, False]), np.bool_(False), False),
    ],
)
def test_reading_a_cell(parameter, value, cell):
    read = parameter.read(value)
    assert read == cell
    assert type(read) is type(cell)


@pytest.mark.parametrize(
    ("parameter", "value", "said"),
    [
        (Real(0, 10), "hot", "hot"),
        (Real(0, 10), math.inf, "finite"),
        (Real(0, 10), True, "number"),
        (Real(0, 10), [1], "number"),
        (Integer(0, 10), 3.5, "whole"),
        (Categorical(["water", "oil"]), "watre", "did you mean 'water'"),
    ],
)
def test_what_cannot_be_read_is_told(parameter, value, said):
    with pytest.raises(BomiError, match=said):
        parameter.read(value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Real(3, 1), r"`low < high` must hold, but got \(low=3, high=1\)"),
        (lambda: Real(1, 1), "low < high"),
        (lambda: Real(0, math.inf), "finite"),
        (lambda: Real("a", 1), "finite number"),
        (lambda: Real(0, 1, log=True), "low > 0"),
        (lambda: Real(0, 1, step=2), "step"),
        (lambda: Real(0, 1, step=0), "step"),
        (lambda: Integer(0.5, 3), "whole"),
        (lambda: Categorical(["a"]), "two or more"),
        (lambda: Categorical(["a", "a"]), "two or more"),
        (lambda: Categorical(["a", "?"]), "unknown"),
        (lambda: Categorical("ab"), "list"),
        (lambda: Space({}), "mapping"),
        (lambda: Space({"a": 3}), "'a'"),
        (lambda: Space({"a": (2, 1)}), "'a'"),
        (lambda: Space({"": (0, 1)}), "name"),
        (lambda: Space({"asked.a": (0, 1)}), "name"),
    ],
)
def test_what_cannot_be_a_space_is_told(make, said):
    with pytest.raises(BomiError, match=said):
        make()


@given(u=st.floats(0, 1), low=st.floats(-1e6, 1e6), span=st.floats(1e-3, 1e6), log=st.booleans())
def test_drawn_values_are_those_of_their_places_to_the_last_digits(u, low, span, log):
    low = abs(low) + 1e-3 if log else low
    parameter = Real(low, low + span, log=log)
    value, exact = parameter.drawn([u]), parameter.from_unit([u])
    assert parameter.low <= value <= parameter.high
    assert value == pytest.approx(exact, rel=1e-12, abs=1e-12 * span)


def test_drawn_values_that_were_recorded_or_are_usual_are_these():
    for parameter in (Real(0, 100), Real(-40, 250), Real(0.001, 1000, log=True), Real(0, 1, step=0.1)):
        for value in (0.1, 0.3, 1.0):
            assert parameter.drawn(parameter.to_unit(value)) == value
