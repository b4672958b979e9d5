from pathlib import Path

import pytest

from bomi.campaign import Campaign, guess, read_experiments, write_guess
from bomi.campaign.digits import settable
from bomi.campaign.doubts import doubts
from bomi.campaign.lexicon import goal_of
from bomi.campaign.outcome import UnsureError
from bomi.campaign.sheet import parse_sheet, read_sheet
from bomi.campaign.template import new_table
from bomi.campaign.toml import parse_campaign
from bomi.campaign.words import likely_mistakes, plain_words
from bomi.errors import FileError, TableError
from bomi.space import Conditions

HERE = Path("lab.csv")


def guessed(text, **options):
    return guess(parse_sheet(HERE, text.encode()), **options)


def why(text, **options):
    found = guessed(text, **options)
    return {column.name: f"{column.role}: {found.why(column)}" for column in found.columns}


TABLE = """Run,Date,Operator,T (°C),passes,furnace,hold,c (mg/L),yield (%),purity (%)
H1,2024-01-05,JD,180,1,F2,30,1,41,98
H2,2024-01-06,JD,190,2,F2,30,20,44,97
H3,2024-01-08,AM,<150,1,F2,30,400,47,96
H4,2024-01-09,AM,200,3,F2,30,8000,40,98
H5,2024-01-10,JD,hot,2,F2,30,9,45,99
"""


DIFFERS = "differs in each row: if it is measured and not set, give it role = 'measured'"


def test_every_column_is_taken_for_something_with_why():
    assert why(TABLE, objective="yield (%)") == {
        "Run": "identifier: counts up",
        "Date": "date: date",
        "Operator": "unused: kept, not used: by its name it says who, where or from which lot",
        "T (°C)": f"parameter: number, 4 of 5 cells; row 6: 'hot', from 0 to 200 °C; {DIFFERS}",
        "passes": "parameter: whole number, from 1 to 3",
        "furnace": "constant: constant 'F2': not used",
        "hold": "constant: constant 30: not used",
        "c (mg/L)": f"parameter: number, from 1 to 8000 mg/L on a log scale; {DIFFERS}",
        "yield (%)": "objective: maximize, a guess by its name",
        "purity (%)": "measured: kept, not used: seems to be another outcome; --objective takes several",
    }


def test_what_is_only_a_guess_is_called_one():
    table = "T (°C),feed,drying,CD (nm)\n60,1,4.1,182\n70,2,4.7,171\n60,2,4.3,165\n70,1,4.9,179\n"
    said = why(table, objective="CD (nm)")
    assert said["CD (nm)"].startswith("objective: maximize, though its name does not tell: --minimize")
    assert said["drying"] == (
        "unused: kept, not used: perhaps nobody sets it: it differs in nearly each row, as if measured; "
        "--parameters names it"
    )
    assert "differs" not in said["feed"]


def test_what_is_unsure_is_asked_with_the_answers_it_would_take():
    with pytest.raises(UnsureError) as asked:
        guessed(TABLE)
    assert (asked.value.option, asked.value.answers) == ("--objective", ("purity (%)", "yield (%)"))
    with pytest.raises(UnsureError) as asked:
        guessed('speed,T,yield\n"1,250",60,41\n"1,500",70,44\n')
    assert (asked.value.option, asked.value.answers) == ("--decimal", (".", ","))


def test_named_parameters_are_taken_and_no_others():
    found = guessed(TABLE, objective="yield (%)", parameters=["passes", "c (mg/L)"])
    assert list(found.campaign.space.names) == ["passes", "c (mg/L)"]
    with pytest.raises(FileError, match="no column 'pases' to be a parameter; did you mean 'passes'"):
        guessed(TABLE, objective="yield (%)", parameters=["pases"])


def test_too_many_parameters_are_refused_with_advice():
    names = [f"x{i}" for i in range(60)]
    rows = "\n".join(",".join(str((i * 7 + j) % 11) for j in range(61)) for i in range(8))
    with pytest.raises(FileError, match=r"60 columns that could be parameters.*--parameters A,B,C"):
        guessed(",".join([*names, "y"]) + "\n" + rows)


def test_a_zero_among_decades_says_what_to_do_about_it():
    found = guessed("dose,T (C),yield\n0,60,41\n0.001,70,44\n0.1,80,47\n10,60,40\n")
    assert "for a log scale write 0 as <0.001" in found.notes["dose"]


@pytest.mark.parametrize(
    ("texts", "values", "unknown"),
    [
        (["Li", "Na", "K"], ["Li", "Na", "K"], []),
        (["oil", "NA", "water"], ["oil", "water"], ["NA"]),
        (["+", "-"], ["+", "-"], []),
        (["A", "-", "B"], ["A", "B"], ["-"]),
    ],
)
def test_words_are_not_gaps_where_they_are_values(texts, values, unknown):
    assert plain_words(texts) == (values, unknown)


def test_a_letter_makes_a_mistake_but_not_in_chemistry():
    assert likely_mistakes({"water": 5, "wter": 1, "oil": 3}) == {"wter": "water"}
    assert likely_mistakes({"ethanol": 5, "methanol": 1, "nitrate": 4, "nitrite": 1}) == {}


def test_check_says_what_looks_like_a_mistake(tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text(
        "run,furnace,medium,T (°C),yield (%)\nH1,1,water,50,41\nH2,2,oil,60,55\nH3,1,water,50,101\nH4,2,water,70,45\n"
        "H5,1,oil,60,50\nH6,2,watr,70,48\n"
    )
    campaign = guess(parse_sheet(table, table.read_bytes())).campaign
    toml = campaign.text().replace('"oil"]', '"oil", "watr"]')
    (tmp_path / "campaign.toml").write_text(toml, encoding="utf-8")
    assert doubts(read_experiments(table, Campaign.read(tmp_path / "campaign.toml"))) == [
        '\'furnace\' looks like a category called by numbers; values = ["1", "2"] makes it one',
        "'medium': 'watr', in one cell, may be 'water' misspelt; a listed value may be suggested",
        "H3 (row 4): 'yield (%)' is 101 %; can it be?",
        "H1 (row 2) and H3 (row 4) have the same settings, and 'yield (%)' 41 and 101",
    ]


def test_two_spellings_of_one_category_are_merged_by_init_and_doubted_by_check(tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text("T,medium,y\n1,Öl,4\n2,Oel,5\n3,Wasser,6\n4,Öl,7\n", encoding="utf-8")
    campaign = guess(parse_sheet(table, table.read_bytes())).campaign
    assert campaign.space.parameters["medium"].values == ("Öl", "Wasser")
    assert [row.recorded["medium"] for row in read_experiments(table, campaign).rows] == ["Öl", "Öl", "Wasser", "Öl"]
    (tmp_path / "campaign.toml").write_text(campaign.text().replace('"Öl",', '"Öl", "Oel",'), encoding="utf-8")
    found = doubts(read_experiments(table, Campaign.read(tmp_path / "campaign.toml")))
    assert found == ["'medium': 'Oel' may be 'Öl'; values that are listed may be suggested"]


def test_suggestions_have_the_decimals_of_their_column(tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text("T,p,c,y\n150,1.5,0.001,4\n160,2.25,0.2,5\n170,1.75,3,6\n155,2.0,50,7\n")
    found = write_guess(table)[1]
    space = settable(read_experiments(table, found.campaign))
    setting = space.setting(space.to_unit({"T": 163.456789, "p": 1.98765, "c": 0.0123456}))
    assert setting == {"T": 163, "p": 1.99, "c": 0.012}


def test_one_cell_in_another_unit_adds_no_decimals_to_suggestions(tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text("T (°C),y\n60,4\n90,5\n353 K,6\n")
    found = write_guess(table)[1]
    assert settable(read_experiments(table, found.campaign)).parameters["T (°C)"].decimals == 0


def test_a_new_table_is_made_from_its_campaign(tmp_path):
    table, path = tmp_path / "lab.csv", tmp_path / "campaign.toml"
    with pytest.raises(FileError, match=r"no .*campaign.toml to make one from"):
        new_table(table)
    path.write_text(
        'id = "Run"\n[objective]\nname = "hardness"\nunit = "HV"\n[parameters.T]\nrange = [100, 200]\nunit = "°C"\n',
        encoding="utf-8",
    )
    new_table(table)
    assert table.read_text(encoding="utf-8") == "Run,T,hardness,note\n,[°C],[HV],\n"
    assert read_experiments(table, Campaign.read(path)).rows == ()
    with pytest.raises(FileError, match="there already"):
        new_table(table)


def test_a_default_whose_column_is_misspelt_in_the_table_is_told(tmp_path):
    (tmp_path / "campaign.toml").write_text(
        '[objective]\nname = "y"\n[parameters.x]\nrange = [0, 9]\n[parameters.Pressure]\nrange = [0, 9]\ndefault = 1\n'
    )
    table = tmp_path / "lab.csv"
    table.write_text("x,pressure,y\n1,5,3\n2,6,4\n")
    with pytest.raises(TableError, match=r"column 'Pressure': .*did you mean 'pressure'"):
        read_experiments(table, Campaign.read(tmp_path / "campaign.toml"))


def test_what_init_reads_check_reads_by_the_same_marks(tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text('speed,T,purity (%),yield (%)\n"1,250",60,98.5,41\n"1,500",70,97,44\n"2,000",60,96,47\n')
    found = write_guess(table, objective="yield (%)")[1]
    rows = read_experiments(table, found.campaign).rows
    assert [row.recorded["speed"] for row in rows] == [1250, 1500, 2000]


def test_an_excluded_row_says_nothing_of_its_columns():
    content = b"T,p,y,exclude\n10,1,3,\n20,2,4,\n??broken,9e9,zzz,sensor fell off\n30,1,5,no\n20,3,4.5,\n"
    found = guess(parse_sheet(Path("lab.csv"), content)).campaign
    assert found.outcomes == ("y",)
    assert [(p.low, p.high) for p in found.space.parameters.values()] == [(10, 30), (1, 3)]


@pytest.mark.parametrize(
    ("goal", "names"),
    [
        (
            "minimize",
            ["yield loss (%)", "loss of yield", "impurity yield", "Capacity fade", "Score (lower is better)", "Score ↓",
             "perte de rendement", "residual moisture", "Rs (ohm/sq)", "Gewichtsverlust", "wear rate"],
        ),
        (
            "maximize",
            ["Corrosion resistance (h)", "wear resistance", "Verschleißfestigkeit", "residual activity",
             "Pb removal (%)", "résistance à l'usure", "cost efficiency", "gloss", "e.e./%", "収率",
             "Opbrengst", "noise reduction (dB)", "cycles to crack", "trous avant usure"],
        ),
        (None, ["Temp (C)", "N (kg/ha)", "viscosity", "Resistance (ohm)", "T Härten (°C)"]),
    ],
)  # fmt: skip
def test_the_name_of_an_outcome_says_whether_more_of_it_is_better(goal, names):
    assert {name: goal_of(name) for name in names} == dict.fromkeys(names, goal)


def test_a_ticked_column_has_two_values_and_a_blank_is_one_of_them(tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text("run,sieves,T (°C),ee (%)\n1,x,25,71\n2,x,0,85\n3,,25,88\n4,,0,74\n")
    _, found = write_guess(table)
    assert found.why(found.columns[1]) == "ticked in 2 cells, and a blank is taken as 'no'"
    campaign = Campaign.read(tmp_path / "campaign.toml")
    assert [row.recorded["sieves"] for row in read_experiments(table, campaign).rows] == ["x", "x", "no", "no"]


def test_what_was_asked_beside_what_was_done_is_no_parameter_of_its_own():
    said = why("run,T set (°C),T actual (°C),HV\n1,500,503,210\n2,550,546,232\n3,600,611,251\n4,550,552,240\n")
    assert said["T set (°C)"] == (
        "unused: kept, not used: seems to be what was asked of 'T actual (°C)'; "
        "call it 'asked.T actual (°C)' to have it used"
    )
    assert said["T actual (°C)"].startswith("parameter: ")
    assert why("run,T set,time,HV\n1,500,30,210\n2,550,60,232\n3,600,30,251\n")["T set"].startswith("parameter: ")


@pytest.mark.parametrize("name", ["Excluded?", "Ausreißer"])
def test_rows_that_a_column_marks_are_named_while_they_count(name, tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text(f"run,T,HV,{name}\n1,50,2,\n2,50,3,no\n3,60,30,x\n4,60,4,\n")
    write_guess(table)
    experiments = read_experiments(table, Campaign.read(tmp_path / "campaign.toml"))
    assert f"3 (row 4): {name!r} says 'x'; yes in a column 'exclude' leaves the row out" in doubts(experiments)


def test_grades_are_no_litres():
    assert why("run,steel,T,HV\n1,304L,50,2\n2,316L,60,3\n3,304L,50,4\n4,316L,60,5\n")["steel"] == (
        "parameter: category: 304L, 316L"
    )
    assert "number, from 5 to 10 L" in why("run,vessel,T,HV\n1,5L,50,2\n2,10L,60,3\n3,5L,50,4\n4,10L,60,5\n")["vessel"]


def test_a_unit_in_one_cell_is_not_that_of_numbers_of_another_size():
    table = "run,bath,t (h),HV\n1,131,1,2\n2,140,2,3\n3,57 °C,1,4\n4,135,2,5\n"
    with pytest.raises(FileError, match="'57 °C' has a unit and 131 has none"):
        guessed(table, objective="HV")


def test_ratios_are_no_times_of_day():
    assert why("run,bath,T,HV\n1,1:10,50,2\n2,1:20,50,3\n3,1:10,60,3\n4,1:20,60,4\n")["bath"].startswith("parameter")
    assert why("run,bath,T,HV\n1,8:10,50,2\n2,9:20,50,3\n3,8:10,60,3\n4,9:20,60,4\n")["bath"] == "date: date"


def test_a_day_and_a_month_are_a_date_where_they_go_through_the_days():
    rows = "run,sown,T,HV\n1,02/02,50,2\n2,{},60,3\n3,{},50,3\n4,09/02,60,4\n"
    assert why(rows.format("02/02", "09/02"))["sown"] == "date: date"
    assert why(rows.format("09/02", "02/02"))["sown"].startswith("parameter: category")


def test_what_is_added_is_no_outcome():
    said = why("No.,光沢剤(mL/L),T (°C),硬度(HV)\n1,1,50,210\n2,3,50,232\n3,1,60,251\n4,3,60,260\n")
    assert said["光沢剤(mL/L)"].startswith("parameter")


def test_a_last_column_whose_numbers_cannot_be_read_is_not_passed_over():
    with pytest.raises(FileError, match=r"'change' may be the outcome, but '\(3\.1\)' is no number"):
        why("run,dose,T,change\n1,10,50,(3.1)\n2,20,50,(4.0)\n3,10,60,(1.2)\n4,20,60,(2.2)\n")


def test_a_column_that_marks_outliers_is_told():
    assert why("run,T,outlier,HV\n1,500,,210\n2,550,x,232\n3,600,,251\n")["outlier"] == (
        "note: seems to mark rows to leave out; call it 'exclude', and nothing is learned from them"
    )


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("1,-1,60,30,5\n2,1,80,30,6\n3,-1,60,50,7\n4,1,80,50,8\n",
         "'A' and 'B' move together in every row, so they cannot be told apart: is one the other?"),
        ("1,1,60,p,5\n2,1,80,q,6\n3,2,60,p,7\n4,3,80,q,8\n",
         "'B' and 'C' move together in every row, so they cannot be told apart: is one the other?"),
        ("1,2,60,x,5\n2,2,80,,6\n3,1,60,y,7\n4,1,80,,8\n5,3,70,,9\n6,3,75,,9.5\n",
         "'C' has blanks below each value: fill them in if they mean the same; they are unknown now"),
        ("1,1,60,p,5\n2,1,60,p,6\n3,2,80,q,7\n4,2,80,q,8\n5,1,80,r,9\n6,1,80,r,9.5\n",
         "'C' has one combination of the others for each value: leave it out if it only names that"),
    ],
)  # fmt: skip
def test_check_says_what_columns_say_twice_and_what_blanks_below_a_value_may_mean(rows, told, tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text("run,A,B,C,y\n" + rows)
    values = sorted({row.split(",")[3] for row in rows.splitlines()} - {""})
    listed = f"values = {values}" if not values[0].isdigit() else "range = [0, 100]"
    (tmp_path / "campaign.toml").write_text(
        'id = "run"\n[objective]\nname = "y"\n[parameters.A]\nrange = [-5, 5]\n[parameters.B]\nrange = [0, 100]\n'
        f"[parameters.C]\n{listed}\n".replace("'", '"')
    )
    assert told in doubts(read_experiments(table, Campaign.read(tmp_path / "campaign.toml")))


def test_letters_behind_numbers_are_marks_where_they_cannot_be_names(tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text("run,T,N (kg/ha),yield (t/ha)\n1,20,0,4.1 a\n2,24,60,5.6 ab\n3,20*,120,6.3b\n4,24,60,5.2 ab\n")
    campaign = guess(parse_sheet(table, table.read_bytes())).campaign
    found = read_experiments(table, campaign)
    assert [row.outcomes["yield (t/ha)"] for row in found.rows] == [4.1, 5.6, 6.3, 5.2]
    assert [row.recorded["T"] for row in found.rows] == [20, 24, 20, 24]
    assert "T: read `20*` as 20 in 1 cell" in map(str, found.echoes)
    table.write_text("y,sample,T\n4,1a,20\n5,1b,30\n6,2a,40\n7,2b,50\n")  # names, not numbers
    assert "sample" not in guess(parse_sheet(table, table.read_bytes()), objective="y").campaign.space.names


@pytest.mark.parametrize("label", ["Ort.", "x̅ (1-4)"])
def test_a_last_row_of_means_is_no_experiment_whatever_it_is_called(label):
    rows = "N1,60,8.2\nN2,60,12.9\nN3,80,10.1\nN4,80,14.6\n"
    sheet = parse_sheet(HERE, f"sample,T (°C),K/S\n{rows}{label},70,11.45\n".encode())
    assert sheet.notes == ("row 6 left out: a summary of the rows",)
    center = parse_sheet(HERE, f"sample,T (°C),K/S\n{rows}center,70,13.1\n".encode())  # has an outcome of its own
    assert len(center.rows) == 5


def test_what_names_a_failure_may_say_more(tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text("run,T,result\n1,20,5\n2,24,FAIL - leaked\n3,20,6\n4,24,failed (crack)\n5,22,7\n")
    rows = read_experiments(table, guess(parse_sheet(table, table.read_bytes())).campaign).rows
    assert [row.failed for row in rows] == [False, True, False, True, False]


def test_more_parameters_than_are_guessed_can_be_named(tmp_path):
    names = [f"x{k}" for k in range(60)]
    path = tmp_path / "wide.csv"
    lines = [",".join([*names, "y"]), *(",".join(str(k + row * row) for k in range(61)) for row in range(1, 9))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(FileError, match="--parameters"):
        guess(read_sheet(path), objective="y")
    assert guess(read_sheet(path), objective="y", parameters=names).campaign.space.names == tuple(names)


def test_days_and_lots_with_several_rows_each_are_offered_as_groups():
    rows = "".join(f"{i},{160 + i},2026-03-0{1 + i // 3},{'AB'[i % 2]}{i % 2},Bo,n{i},{i * i}\n" for i in range(9))
    found = guessed("run,temperature,date,lot,operator,sample,strength\n" + rows)
    assert found.conditions == Conditions(["date", "lot"], "date")  # one operator is no second to compare with
    assert "\n# [groups]  # to learn" in found.text()
    assert '\n# columns = ["date", "lot"]\n' in found.text()
    assert '\n# column = "date"\n' in found.text()
    assert not parse_campaign(Path("campaign.toml"), found.text().encode()).space.conditions  # offered, not taken


def test_days_with_one_row_each_are_no_groups():
    rows = "".join(f"{160 + i},2026-03-0{1 + i},{i * i}\n" for i in range(9))
    assert guessed("temperature,date,strength\n" + rows).conditions == Conditions((), "date")


def test_a_year_beyond_all_numbers_is_no_reason_to_stop():
    text = "Year,heat,hardness\n21e99923,180,131\n2021,200,140\n2022,190,137\n"
    assert "heat" in guess(parse_sheet(HERE, text.encode()), objective="hardness").campaign.space.names


def test_parameters_that_perhaps_nobody_sets_are_named_with_the_reason_and_the_flag(tmp_path):
    table = "temperature,Betreuerin,dopant,strength\n" + "".join(
        f"{160 + 5 * (i % 4)},{['Ada', 'Eva'][i % 2]},{['La', 'Ce', 'Nd'][i % 3]},{i * i}\n" for i in range(12)
    )
    found = guessed(table)
    assert found.doubtful == {"Betreuerin": "its values may be names of people or places"}
    assert found.doubt == (
        "perhaps nobody sets 'Betreuerin': its values may be names of people or places. "
        "Name what you set: --parameters 'temperature,dopant'"
    )
    assert "perhaps nobody sets it: its values may be names of people or places\n" in found.text()
    assert guessed(table, parameters=["temperature", "dopant"]).doubt == ""


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1.500", "1.500", "2.000", "2.000", "1.750"], "has `1.500`, read as 1.5: write 1500 if that is meant"),
        (["1.505", "1.505", "2.005", "2.005", "1.755"], ""),  # weighed to the last digit
        (["40/4", "40/8", "60/4", "60/8", "40/4"], "has several numbers in a cell, such as '40/4'"),
        (["80C 5min", "90C 5min", "80C 9min", "90C 9min", "80C 5min"], "has several numbers in a cell"),
        (["6:1", "9:1", "6:1", "9:1", "7.5:1"], "has ratios such as '6:1', taken as categories"),
        (["200°C/1h", "400°C/1h", "200°C/2h", "400°C/2h", "none"], "has several numbers in a cell"),
        (["50", "75", "50", "oo", "(75"], "is not used: 3 of 5 cells are numbers and 2 are words ('oo', '(75')"),
        (["10", "", "10", "", "10"], "is the same wherever it is filled, so not used: write 0 in its blanks"),
        (["10", "10", "10", "10", "10"], ""),
    ],
)
def test_what_can_be_read_in_two_ways_is_said(cells, said):
    rows = zip(cells, (20, 40, 40, 20, 30), (31.5, 40.2, 44.9, 36.6, 38.1), strict=True)
    table = "feed;T (°C);yield (%)\n" + "".join(f"{a};{b};{c}\n" for a, b, c in rows)
    remarks = " ".join(guessed(table).remarks)
    assert said in remarks if said else "read as" not in remarks and "write 0" not in remarks


def test_times_without_a_unit_are_no_categories():
    table = "Maischezeit;T (°C);Ausbeute (%)\n1:00;60;74,1\n1:30;65;76,0\n1:15;65;75,2\n1:30;60;73,8\n1:00;65;77,4\n"
    assert "'Maischezeit' has times such as 1:00: write them as numbers" in " ".join(guessed(table).remarks)
