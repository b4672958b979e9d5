import math
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomi import BomiError
from bomi.errors import CellError
from bomi.space.cells import Censored, Interval, Normal, is_unknown, text
from bomi.space.typed import parse

numbers = st.floats(-1e100, 1e100)
positive = st.floats(1e-100, 1e100)
normals = st.builds(Normal, numbers, positive)
intervals = (
    st.tuples(numbers, numbers).filter(lambda p: abs(p[0] - p[1]) >= 1e-100).map(lambda p: Interval(min(p), max(p)))
)
cells = st.one_of(numbers, normals, intervals, st.none())


@given(cells)
def test_text_reads_back_as_the_same_cell(cell):
    assert parse(text(cell)) == cell


@given(numbers, positive)
def test_every_spelling_of_an_uncertainty_means_the_same(mean, sd):
    for sign in ("±", " ± ", "+-", " +/- "):
        assert parse(f"{mean!r}{sign}{sd!r}") == Normal(mean, sd)


@pytest.mark.parametrize("word", ["", "  ", "?", "NA", "n/a", "nan", "NaN", " ? "])
def test_unknown_words(word):
    assert parse(word) is None


@pytest.mark.parametrize("value", [None, math.nan, np.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_unknown_values(value):
    assert is_unknown(value)


@pytest.mark.parametrize("value", [0, 0.0, False, "none", "x", Normal(0, 1), np.float64(1), np.int64(3)])
def test_known_values(value):
    assert not is_unknown(value)


@pytest.mark.parametrize(
    ("typed", "cell"),
    [
        ("1.5e3", 1500.0),
        ("−20", -20.0),
        ("+.5", 0.5),
        ("-5..-1", Interval(-5, -1)),
        ("1..2", Interval(1, 2)),
        ("300 ± 15", Normal(300, 15)),
        ("-3+-1", Normal(-3, 1)),
    ],
)
def test_typed_cells(typed, cell):
    assert parse(typed) == cell


@pytest.mark.parametrize(
    "typed",
    ["hot", "1,5", "1..", "..2", "310..290", "5..5", "3±-1", "3±0", "1e400", "1e400±1", "0x10", "inf", "1 2"],
)
def test_what_is_no_cell_is_told_with_the_text(typed):
    with pytest.raises(BomiError):
        parse(typed)


@given(st.text())
def test_any_text_is_a_cell_or_a_clear_error(typed):
    with suppress(BomiError):
        cell = parse(typed)
        assert parse(text(cell)) == cell


@pytest.mark.parametrize("ends", [("x", 2), (1, None), (math.nan, 2), (2, 1), (-math.inf, math.inf), (10**5000, 2)])
def test_a_limit_has_a_number(ends):
    with pytest.raises(CellError, match="a limit needs a finite number, and low < high, but got"):
        Censored(*ends)
    assert Censored(np.float32(0.5), math.inf).low == 0.5
