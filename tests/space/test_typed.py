import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomi.errors import CellError
from bomi.space.cells import Censored, Interval, Normal
from bomi.space.typed import COMMA, POINT, parse, read
from bomi.space.units import in_header, scale


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<5", Censored(high=5)),
        ("≥ 200", Censored(low=200)),
        ("at least 3", Censored(low=3)),
        ("1000+", Censored(low=1000)),
        ("0.08 max.", Censored(high=0.08)),
        ("–150", -150.0),
        ("10^-4", 1e-4),
        ("-10⁵", -1e5),
        ("k. A.", None),
        ("nvt", None),
        ("－", None),
        ("abt 150", Normal(150, 7.5)),
        ("150-160", Interval(150, 160)),
        ("-10--5", Interval(-10, -5)),
        ("150 – 160", Interval(150, 160)),
        ("between 5 and 7", Interval(5, 7)),
        ("~150", Normal(150, 7.5)),
        ("ca. 150", Normal(150, 7.5)),
        ("150?", Normal(150, 7.5)),
        ("150(5)", Normal(150, 5)),
        ("1.234(5)", Normal(1.234, 0.005)),
        ("1,037.50", 1037.5),
        ("1 250", 1250.0),
        ("1'250.5", 1250.5),
        ("1.2×10⁻³", 0.0012),
        ("1.2 x 10^-3", 0.0012),
        ("１５０", 150.0),
        ("'150", 150.0),
        ("k.A.", None),
        ("#DIV/0!", None),
        ("#WERT!", None),
        ("41*", 41.0),
        ("12.5 †", 12.5),
        ("40 (est.)", Normal(40, 2)),
        ("325 (±12)", Normal(325, 12)),
        ("не измерено", None),
        ("não analisado", None),
        ("not sampled", None),
    ],
)
def test_what_labs_type(text, value):
    found = parse(text, POINT)
    assert found == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("180 °C", "°C", 180),
        ("453.15 K", "°C", 180),
        ("356 °F", "°C", 180),
        ("2 h", "min", 120),
        ("1 h 30 min", "min", 90),
        ("2h30", "h", 2.5),
        ("12°30'", "°", 12.5),
        ("-0°30'36\"", "°", -0.51),
        ("1:30 h", "min", 90),
        ("1:30", "h", 1.5),
        ("3:30", "min", 3.5),
        ("0:45:00", "min", 45),
        ("500 mg", "g", 0.5),
        ("0.3 L/h", "mL/min", 5),
        ("45 %", "%", 45),
        ("300 min-1", "rpm", 300),
        ("500 uM", "mM", 0.5),
        ("4.85 Pa·s", "cP", 4850),
        ("1 1/2", "in", 1.5),
        ("¾ cup", "tbsp", 12),
        ("800 k", "Mio", 0.8),
        ("3.45 €", "€/kg", 3.45),
        ("30 мин", "h", 0.5),
        ("C/5", "C-rate", 0.2),
        ("2C", "C-rate", 2),
    ],
)
def test_units_are_converted_to_that_of_the_column(text, unit, value):
    assert parse(text, POINT, unit) == pytest.approx(value)


def test_spreads_and_ends_are_converted_too():
    assert parse("453.15 ± 5 K", POINT, "°C") == Normal(180, 5)
    assert parse("30 min to 2 h", POINT, "h") == Interval(0.5, 2)
    assert parse("RT", POINT, "K") == Interval(291.15, 298.15)
    assert parse("overnight", POINT, "min") == parse("über Nacht", POINT, "min") == Interval(720, 1080)
    assert parse("T.A.", POINT, "°C") == Interval(18, 25)
    assert parse("200 ± 5 %", POINT, "°C") == Normal(200, 10)


@pytest.mark.parametrize(
    "text",
    [
        "5-3",
        "~0",
        "1,5",
        "12.03.2024",
        "2-Apr",
        "<LOD",
        "150 foo",
        "1:30",
        "1/2",
        "4/3",
        "10-12-13",
        "45 ± 2 %",
        "5 kg 3",
    ],
)
def test_what_may_mean_two_things_or_nothing_is_refused(text):
    with pytest.raises(CellError, match="but got"):
        parse(text, POINT)


def test_a_unit_of_another_kind_is_refused():
    with pytest.raises(CellError, match=r"expected °C, which kg cannot be converted to, but got '5 kg'"):
        parse("5 kg", POINT, "°C")
    with pytest.raises(CellError, match="has a unit, but its column has none"):
        parse("5 kg", POINT)


@given(st.floats(-1e9, 1e9), st.sampled_from([POINT, COMMA]))
def test_a_number_reads_back_in_either_marks(number, marks):
    text = repr(number).replace(".", marks.decimal)
    assert read(text, marks).value == number


@given(st.integers(0, 10**12), st.integers(0, 999))
def test_thousands_are_read_in_their_own_marks_only(whole, part):
    assert parse(f"{whole:,}.{part:03d}", POINT) == float(f"{whole}.{part:03d}")
    swapped = f"{whole:,}.{part:03d}".translate(str.maketrans(",.", ".,"))
    assert parse(swapped, COMMA) == float(f"{whole}.{part:03d}")


@pytest.mark.parametrize(("unit", "to"), [("h", "min"), ("K", "°C"), ("°F", "K"), ("mg/L", "g/L"), ("K/min", "°C/min")])
def test_conversion_there_and_back_is_none(unit, to):
    (a, b), (c, d) = scale(unit, to), scale(to, unit)
    assert math.isclose(a * c, 1.0)
    assert math.isclose(c * b + d, 0.0, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("Temp. (°C)", "°C"),
        ("Zeit in Std.", "Std."),
        ("T / K", "K"),
        ("time_min", "min"),
        ("temp_min", ""),
        ("site_A", ""),
        ("yield %", "%"),
        ("resa q/ha", "q/ha"),
        ("turns/day", ""),
        ("Zeit/h", "h"),
        ("catalyst (Pd/C)", ""),
        ("T/K", "K"),
        ("Tg/K", "K"),
        ("U/V", "V"),
        ("W/C", ""),
        ("C-rate", "C-rate"),
        ("O/W", ""),
        ("Pd/C", ""),
        ("Rs (ohm/sq)", "ohm/sq"),
        ("Время, мин", "мин"),
        ("yield (isolated)", ""),
    ],
)
def test_units_in_the_names_of_columns(name, unit):
    assert in_header(name) == unit


@pytest.mark.parametrize(("text", "unit"), [("R$ 12.40", "R$"), ("12.40 zł", "zł"), ("kr 120", "kr"), ("€ 2.40", "€")])
def test_money_is_read_with_its_currency(text, unit):
    assert read(text).unit == unit


@pytest.mark.parametrize("text", ["CHF3", "kr5", "M5"])
def test_formulas_are_no_money(text):
    with pytest.raises(CellError):
        read(text)
