"""Parameters that add up to the same in every row."""

from pathlib import Path

import numpy as np
import pytest

from bomi.campaign import Campaign, guess
from bomi.campaign.doubts import doubts
from bomi.campaign.experiments import check
from bomi.campaign.mixtures import mixtures_of
from bomi.campaign.sheet import load_sheet
from bomi.data.observations import Row
from bomi.space import Linear, Real


def found(text: str) -> tuple[Linear, ...]:
    sheet = load_sheet(Path("lab.csv"), text.encode())
    return guess(sheet, goal="maximize").campaign.space.constraints


def sums(*rows: tuple[float, ...]) -> list[tuple[tuple[str, ...], float]]:
    """The parts and totals that are found in rows of numbers, of parameters a, b, c..."""
    names = "abcdef"[: len(rows[0])]
    told = [Row(dict(zip(names, row, strict=True))) for row in rows]
    return [(one.parts, one.total) for one in mixtures_of({name: Real(-100, 100) for name in names}, told)]


def test_the_parts_of_a_mixture_keep_their_sum() -> None:
    text = "sand,lime,heat,soda,gloss\n70,10,900,20,1\n65,15,950,20,2\n60,10,900,30,4\n50,25,950,25,3\n55,5,925,40,2\n"
    by_side = (
        "sand,lime,soda,heat,gloss\n70,10,20,900,1\n65,15,20,950,2\n60,10,30,900,4\n50,25,25,950,3\n55,5,40,925,2\n"
    )
    assert found(by_side) == (Linear({"sand": 1, "lime": 1, "soda": 1}, equals=100),)
    with_units = text.replace("sand,lime,heat,soda", "sand %,lime %,heat °C,soda %")
    assert found(with_units) == (Linear({"sand %": 1, "lime %": 1, "soda %": 1}, equals=100),)


def test_a_sum_may_be_rounded() -> None:
    thirds = "a,b,c,y\n33.3,33.3,33.3,1\n50,25,25,2\n20,40,40,4\n66.7,33.3,0,3\n0,50,50,2\n33,33,33,2\n10,80,10,3\n"
    assert found(thirds) == (Linear({"a": 1, "b": 1, "c": 1}, equals=100),)


def test_a_part_of_which_there_is_little_counts() -> None:
    rows = [(60, 39, 1), (70, 30, 0), (50, 48, 2), (65, 35, 0), (55, 45, 0), (52, 47, 1)]
    assert sums(*rows) == [(("a", "b", "c"), 100)]


def test_two_mixtures_are_two_sums() -> None:
    rows = [(60, 40, 0.2, 0.8), (70, 30, 0.5, 0.5), (50, 50, 0.9, 0.1), (65, 35, 0.3, 0.7), (20, 80, 0.4, 0.6)]
    assert sums(*rows) == [(("a", "b"), 100), (("c", "d"), 1)]


def test_a_blank_means_none_where_the_others_make_up_the_whole() -> None:
    text = "PVA,PEG,PLA,y\n60,40,,1\n,30,70,2\n50,,50,4\n20,,80,3\n,90,10,2\n30,30,40,3\n"
    sheet = load_sheet(Path("lab.csv"), text.encode())
    campaign = guess(sheet).campaign
    assert campaign.space.constraints == (Linear({"PVA": 1, "PEG": 1, "PLA": 1}, equals=100),)
    rows = check(sheet, campaign).rows
    assert [row.recorded["PLA"] for row in rows] == [0, 70, 50, 80, 10, 40]
    lost = text.replace("60,40,,1", "60,20,,1")  # what is lost made up the rest: a gap, whose value follows
    assert guess(load_sheet(Path("lab.csv"), lost.encode())).campaign.space.constraints == ()


def test_a_mixture_of_random_parts_is_set_and_doubted() -> None:
    """Numbers that differ in each row look measured, but a fixed sum says that somebody made it."""
    rng = np.random.default_rng(0)
    rows = [(a, b, round(100 - a - b, 1)) for a, b in rng.uniform(5, 45, (12, 2)).round(1)]
    text = "PVA,PEG,PLA,heat,strength\n"
    text += "".join(f"{a},{b},{c},{25 + 5 * (i % 3)},{10 + i}\n" for i, (a, b, c) in enumerate(rows))
    told = guess(load_sheet(Path("lab.csv"), text.encode()))
    assert told.campaign.space.names == ("PVA", "PEG", "PLA", "heat")
    assert told.campaign.space.constraints == (Linear({"PVA": 1, "PEG": 1, "PLA": 1}, equals=100),)
    assert set(told.doubtful) == {"PVA", "PEG", "PLA"}


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 1), (1, 0), (0, 1), (1, 0)],  # two levels: a factor and its alias
        [(20, 80), (21, 80), (20, 79), (19, 81), (21, 79), (22, 80)],  # temperatures that hardly vary
        [(1, 5), (2, 3), (3, 4), (4, 1), (5, 2), (2, 2)],
        [(-1, 1), (-2, 2), (-3, 3), (-4, 4), (-5, 5)],
    ],
)
def test_other_parameters_have_no_fixed_sum(rows: list[tuple[int, int]]) -> None:
    assert sums(*rows) == []


def test_random_columns_have_no_fixed_sum() -> None:
    rng = np.random.default_rng(0)
    for n in (5, 8, 20) * 20:
        assert sums(*map(tuple, rng.integers(0, 4, (n, 6)) * 5.0)) == []


def test_check_names_a_sum_that_the_campaign_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text(
        '[objective]\nname = "y"\ngoal = "maximize"\n'
        "[parameters.a]\nrange = [0, 100]\n[parameters.b]\nrange = [0, 100]\n[parameters.c]\nrange = [0, 100]\n"
    )
    sheet = load_sheet(tmp_path / "lab.csv", b"a,b,c,y\n60,30,10,1\n20,70,10,2\n50,0,50,4\n20,35,45,3\n10,90,0,2\n")
    campaign = Campaign.read(tmp_path / "campaign.toml")
    assert doubts(check(sheet, campaign)) == [
        "'a', 'b' and 'c' add up to 100; if they have to, write a constraint: "
        "terms = {a = 1, b = 1, c = 1}, equals = 100"
    ]
