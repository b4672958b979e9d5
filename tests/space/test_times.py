"""Dates and times as people write them."""

import datetime

import numpy as np
import pandas as pd
import pytest

from bomi.errors import CellError
from bomi.space.times import ambiguous, day_first, read_time

DAY = (datetime.date(2026, 11, 18) - datetime.date(1970, 1, 1)).days


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-18",
        " 2026/11/18 ",
        "18.11.2026",
        "18.11.26",
        "18/11/2026",
        "18-11-2026 00:00",
        "18 Nov 2026",
        "18. November 2026",
        "Nov 18, 2026",
        "2026-11-18T00:00:00",
        "2026-11-18T00:00:00+00:00",
        datetime.date(2026, 11, 18),
        datetime.datetime(2026, 11, 18),
        pd.Timestamp("2026-11-18"),
        np.datetime64("2026-11-18", "ns"),
    ],
)
def test_one_day_in_many_spellings(value):
    assert read_time(value) == DAY


def test_clocks_numbers_and_blanks():
    assert read_time("2026-11-18 06:00") == DAY + 0.25
    assert read_time("18.11.2026, 12:00:00") == DAY + 0.5
    assert read_time(7) == read_time("7") == read_time("7,0") == read_time(np.float64(7)) == 7.0
    assert read_time(None) is read_time("") is read_time("?") is read_time(float("nan")) is read_time(pd.NaT) is None
    assert read_time(np.datetime64("NaT")) is None


@pytest.mark.parametrize("value", ["soon", "2026-13-01", "31.02.2026", True, "12:00", [1], "1e999", object()])
def test_what_is_no_date_is_refused(value):
    with pytest.raises(CellError, match="expected a date such as 2026-11-18"):
        read_time(value)


def test_the_column_tells_the_day_from_the_month():
    assert day_first(["3/4/2026", "25/4/2026"])
    assert not day_first(["3/4/2026", "4/25/2026"])
    assert read_time("4/25/2026", day_first=False) == read_time("2026-04-25")
    assert ambiguous(["3/4/2026", "5/6/2026"])
    assert not ambiguous(["3/4/2026", "25/4/2026"])
    assert not ambiguous(["2026-03-04", "3.4.2026", None, 7])
