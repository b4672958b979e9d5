"""What is set is told from what is not by its values and how they stand, whatever the columns are called."""

from pathlib import Path

import pytest

from bomi.campaign import guess
from bomi.campaign.sheet import parse_sheet

TEMPERATURES = [200, 220, 240, 200, 220, 240, 200, 240]
TIMES = [30, 30, 60, 60, 90, 90, 30, 60]


def found(column, *, name="q", outcome=(41.2, 44.8, 47.1, 40.3, 45.5, 49.9, 41.7, 48.2)):
    """What `init` makes of a column called q in a table of heat treatments: sure, doubtful or left out, and why."""
    rows = zip(range(1, 9), column, TEMPERATURES, TIMES, outcome, strict=True)
    text = f"run,{name},T (°C),t (min),hardness (HV)\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    made = guess(parse_sheet(Path("lab.csv"), text.encode()))
    if name in made.doubtful:
        return f"doubtful: {made.doubtful[name]}"
    if name in made.campaign.space.names:
        return "sure"
    return "out: " + next(one.why for one in made.columns if one.name == name)


@pytest.mark.parametrize(
    "column",
    [
        [10, 20, 30, 20, 10, 30, 20, 10],
        [0.5, 0.5, 1, 1, 1.5, 1.5, 0.5, 1],
        [19, 20, 21, 19, 20, 21, 19, 20],
        [1, 10, 100, 1, 10, 100, 1, 10],
        [-1, -1, -1, -1, 1, 1, 1, 1],
        ["oil", "water", "oil", "air", "water", "oil", "air", "oil"],
        ["yes", "no", "no", "yes", "no", "yes", "no", "yes"],
        ["K2CO3", "NaOH", "NaOH", "K2CO3", "Et3N", "NaOH", "Et3N", "K2CO3"],
        ["80 °C/1 h", "90 °C/2 h", "90 °C/2 h", "80 °C/1 h", "80 °C/1 h", "90 °C/2 h", "80 °C/1 h", "90 °C/2 h"],
    ],
)
def test_levels_of_a_design_are_set_whatever_they_are_called(column):
    assert found(column) == "sure"


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (["MK", "MK", "TH", "TH", "MK", "TH", "MK", "TH"], "its values look like initials"),
        (["Ada", "Bo", "Ada", "Bo", "Ada", "Bo", "Bo", "Ada"], "its values may be names of people or places"),
        (["K. Noe", "K. Noe", "J. Ahl", "J. Ahl", "K. Noe", "J. Ahl", "K. Noe", "J. Ahl"], "look like people"),
        (["R-22", "R-22", "R-23", "R-23", "R-23", "R-24", "R-24", "R-24"], "differ in their numbers alone"),
        (["r1c1", "r1c2", "r2c1", "r2c2", "r1c1", "r1c2", "r2c1", "r2c2"], "differ in their numbers alone"),
        (["SC03", "SC03", "SC05", "SC05", "SC03", "SC05", "SC03", "SC05"], "differ in their numbers alone"),
        (["P1", "P2", "P1", "P2", "P2", "P1", "P1", "P2"], "differ in their numbers alone"),
        ([22, 25, 27, 24, 26, 23, 25, 28], "differs in nearly each row"),
        ([20, 25, 30, 24, 20, 25, 35, 28], "differs more than all others"),
        ([20, 25, 15, 45, 35, 30, 40, 50], "differs in nearly each row"),
        (["I", "I", "I", "I", "II", "II", "II", "II"], "numbered, as blocks are"),
        (["I", "II", "I+II", "I", "II", "I+II", "I", "II"], "numbered, as blocks are"),
        (["early", "late", "early", "late", "night", "night", "early", "late"], "times of the day"),
        ([1, 1, 2, 2, 3, 3, 4, 4], "counts from 1"),
        ([4471, 4471, 4471, 4472, 4472, 4475, 4475, 4475], "those of lots or plots"),
        ([61, 61, 61, 57, 57, 57, 64, 64], "come in blocks of rows"),
        ([3.41, 3.44, 3.47, 3.39, 3.42, 3.46, 3.45, 3.4], "differs in nearly each row"),
        ([30, 30, 30, 7, 30, 30, 30, 30], "differs in one row alone"),
    ],
)
def test_people_lots_blocks_and_measurements_are_told_or_left_out(column, why):
    said = found(column)
    assert said != "sure"
    assert why in said


def test_a_repeat_of_the_outcome_is_known_by_following_it():
    column = [41, 45, 47, 40, 45, 50, 42, 48]
    assert "it is nearly the outcome" in found(column)


def test_a_name_that_says_that_it_is_set_outweighs_the_values():
    assert found([180, 195, 205, 210, 225, 230, 245, 250], name="speed (rpm)") == "sure"
    assert found([180.2, 181.1, 179.4, 180.7, 178.8, 182.3, 179.9, 181.6], name="speed (rpm)").startswith("doubtful")
    assert found(["A", "B", "A", "B", "A", "B", "A", "B"], name="solvent") == "sure"


def test_limits_are_no_repeats_and_a_unit_alone_does_not_make_a_setting():
    rows = ["180,30,2.8", "200,60,<1", "180,60,2.1", "200,30,<1", "220,30,1.9", "220,60,<1", "180,30,2.4"]
    text = "\n".join(["T (°C),t (min),shine (W)", *rows])
    assert guess(parse_sheet(Path("lab.csv"), text.encode())).campaign.objective == "shine (W)"


def test_three_capitals_are_no_formula_and_a_unit_in_brackets_does_not_make_a_setting():
    assert found([480, 560, 390, 450, 430, 505, 410, 470], name="CSF (ml)").startswith("doubtful")


def test_what_changes_with_the_date_is_told():
    days = ["5 Feb 2024"] * 2 + ["12 Feb 2024"] * 2 + ["19 Feb 2024"] * 2
    rows = zip(days, [12, 12, 14, 14, 16, 16], [37, 34, 37, 34, 34, 37], [31, 26, 25, 33, 28, 29], strict=True)
    text = "date,passage,T (°C),yield (%)\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    made = guess(parse_sheet(Path("lab.csv"), text.encode()))
    assert made.doubtful == {"passage": "it changes with the date or the lot"}


def test_a_property_of_the_lot_is_told():
    lots = ["S-31", "S-31", "S-31", "S-32", "S-32", "S-32"]
    rows = zip(lots, [8, 8, 8, 7, 7, 7], [37, 34, 37, 34, 34, 37], [31, 26, 25, 33, 28, 29], strict=True)
    text = "lot,gluten (%),T (°C),yield (%)\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    assert guess(parse_sheet(Path("lab.csv"), text.encode())).doubtful == {
        "gluten (%)": "it changes with the date or the lot"
    }


def test_the_last_word_of_a_name_tells_which():
    column = [2, 3, 2, 3, 3, 2, 2, 3]
    assert found(column, name="press pos").startswith("doubtful")
    assert found(column, name="press gap") == "sure"


def test_words_that_say_what_was_seen_are_told():
    words = ["dull", "shiny", "dull", "shiny", "dull", "dull", "shiny", "dull"]
    assert found(words) == "sure"
    assert "what was seen" in found(words, name="appearance")
    assert "its name" not in found(words, name="brush")


def test_words_that_stand_last_are_told():
    rows = ["180,dull,4.1", "200,shiny,5.2", "180,shiny,4.9", "200,dull,4.4", "200,shiny,5.5", "180,dull,4.0"]
    made = guess(parse_sheet(Path("lab.csv"), "\n".join(["T (°C),top,hardness", *rows]).encode()))
    assert made.doubtful == {"top": "it stands last, as what was seen does"}


def test_what_a_program_computed_is_no_parameter():
    rows = ["60,1,41.2,40.9,0.3", "80,1,52.6,53.0,-0.4", "60,2,47.7,48.1,-0.4", "80,2,59.9,59.4,0.5"]
    made = guess(
        parse_sheet(Path("lab.csv"), "\n".join(["T (°C),dose (g),Yield (%),Predicted Yield,Residual", *rows]).encode())
    )
    assert made.campaign.space.names == ("T (°C)", "dose (g)")
    assert made.campaign.objective == "Yield (%)"


def test_in_a_random_design_nothing_repeats_and_only_names_tell():
    rows = [
        "1387,73.1,4.12,14.2",
        "1512,128.4,7.9,15.9",
        "1433,34.9,2.31,13.9",
        "1551,95.7,9.43,16.4",
        "1471,61.2,5.66,13.5",
    ]
    made = guess(parse_sheet(Path("lab.csv"), "\n".join(["T (°C),time (min),wobble,hardness", *rows]).encode()))
    assert made.doubtful == {"wobble": "no column repeats, so that values cannot tell what is set"}
