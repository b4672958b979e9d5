import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomi import Categorical, Integer, Linear, Ordinal, Real, Space
from bomi.campaign import Campaign, CampaignError, append, blanks, campaign_path, guess, read_experiments, summarize
from bomi.campaign.sheet import parse_sheet
from bomi.campaign.toml import parse_campaign
from bomi.data.objectives import Objective
from bomi.errors import BomiError, FileError, TableError
from bomi.space import Conditions

from .conftest import TOML

HERE = Path("lab.csv")


def test_reads_every_kind_of_parameter(campaign):
    assert campaign == Campaign(
        Space(
            {
                "temperature": Real(20, 400, unit="°C"),
                "time": Real(60, 21600, log=True),
                "passes": Integer(1, 8),
                "quench": Categorical(["water", "oil", "air"]),
            }
        ),
        (Objective("strength"),),
    )


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Z"]), min_size=1, max_size=8).filter(
    lambda name: name[0] not in "=+-@" and name != "id" and name.strip() == name and not name.startswith("asked.")
)
bounds = st.tuples(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9)).map(lambda pair: (pair[0], pair[0] + pair[1]))
reals = st.builds(lambda pair, unit: Real(*pair, unit=unit), bounds.filter(lambda pair: pair[0] < pair[1]), names)
logs = st.builds(lambda low, by: Real(low, low * by, log=True), st.floats(1e-9, 1e9), st.floats(2, 1e9))
integers = st.builds(lambda low, by: Integer(low, low + by, step=1), st.integers(-999, 999), st.integers(1, 99))
categories = st.lists(names.filter(lambda name: name.lower() not in ("na", "nan", "n/a", "?")), min_size=2, unique=True)
parameters = st.one_of(reals, logs, integers, categories.map(Categorical))


@given(
    st.dictionaries(names, parameters, min_size=1, max_size=4),
    names,
    st.sampled_from(["maximize", "minimize", "target", "limit"]),
)
def test_any_campaign_written_reads_back(tmp_path_factory, parameters, objective, goal):
    if objective in parameters:
        return
    wanted = Objective(objective, goal, 7.5 if goal in ("target", "limit") else None, "MPa")
    beside = (Objective(objective + "!"),) if wanted.limited else ()
    campaign = Campaign(Space(parameters), (wanted, *beside), "drop", "keep")
    path = tmp_path_factory.getbasetemp() / "written.toml"
    path.write_text(campaign.text(), encoding="utf-8")
    assert Campaign.read(path) == campaign


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('name = "strength"', "nam = 3", r"\[objective\] unknown key 'nam'; did you mean 'name'\?"),
        ('name = "strength"', "", r"\[objective\] needs name"),
        ('name = "strength"', "name = 3", "name must be a text in quotes, but got 3"),
        ('name = "strength"', 'name = "time"', "a name of its own, that no parameter or column has, but got 'time'"),
        ('name = "strength"', 'name = "strength"\ngoal = "max"', '"minimize" or "target" or "limit", but got "max"'),
        (
            'name = "strength"',
            'name = "strength"\ngoal = "target"',
            'goal = "target" or "limit" and target = a number go together',
        ),
        ('name = "strength"', 'name = "strength"\ntarget = 7', "go together, but got goal = .maximize. and target = 7"),
        ('name = "strength"', 'name = "strength"\n[objectives.cost]\ngoal = "minimize"', r"both \[objective\] and"),
        ('[objective]\nname = "strength"', '[objectives.cost]\ngoal = "least"', r"\[objectives.cost\] goal must be"),
        ('[objective]\nname = "strength"', "[objectives]\ncost = 3", r"\[objectives.cost\] must be a section"),
        ('[objective]\nname = "strength"', "[objectives.cost]\nname = 3", "unknown key 'name'"),
        ('[objective]\nname = "strength"', "[objectives.time]\nunit = 's'", "that no parameter or column has"),
        ('name = "strength"', 'name = "strength"\n[method]\nnme = 1', "unknown key 'nme'; did you mean 'name'"),
        ("[objective]", "out_of_bounds = 3\n[objective]", 'out_of_bounds must be "error" or "keep", but got 3'),
        ("[objective]", "[objectiv]", "unknown key 'objectiv'; did you mean 'objective'"),
        ("[objective]", "objective = 3\n[x]", "objective must be a section"),
        ("range = [20, 400]", "range = [400, 20]", r"\[parameters.temperature\] `low < high` must hold"),
        ("range = [20, 400]", "range = [400]", r"needs range = \[low, high\], but got \[400\]"),
        ("range = [20, 400]", 'range = ["a", 400]', "`low` must be a finite number, but got 'a'"),
        ("range = [20, 400]", "range = [20, inf]", "`high` must be a finite number, but got inf"),
        ("range = [20, 400]", f"range = [20, {10**400}]", r"`high` must be a finite number of at most 1e\+100"),
        ("range = [20, 400]", f"range = [20, 1{'0' * 5000}]", "a number of thousands of digits"),
        (
            'name = "strength"',
            f'name = "strength"\ngoal = "target"\ntarget = {10**400}',
            "target = a number go together",
        ),
        ('name = "strength"', 'name = "strength"\nrange = [5, 5]', r"must be \[low, high\] with low < high, such as"),
        ('name = "strength"', 'name = "strength"\nrange = [-inf, inf]', r"must be \[low, high\] with low < high"),
        ('name = "strength"', 'name = "strength"\nrange = ["a", 5]', "an end of a range must be a finite number"),
        (
            'name = "strength"',
            'name = "strength"\ncost = -1',
            "the cost of an experiment must be 0 or more, but got -1",
        ),
        ('name = "strength"', 'name = "strength"\ntarget = "high"', "a target goes with the goal 'target'"),
        ("range = [20, 400]", "ranges = [20, 400]", "did you mean 'range'"),
        ("range = [20, 400]", "range = [20, 400]\nstep = 'a'", "step must be a number"),
        ("range = [60, 21600]", "range = [0, 21600]", "log scale needs `low > 0`"),
        ('scale = "log"', 'scale = "ln"', 'scale must be "linear" or "log", but got "ln"'),
        ('type = "integer"', 'type = "int"', "type must be"),
        ('["water", "oil", "air"]', '["water"]', "two or more different values"),
        ('["water", "oil", "air"]', '["water", "=1+1"]', "run '=1\\+1' as a formula"),
        ('["water", "oil", "air"]', '["water", [1]]', "texts or numbers"),
        ("[parameters.quench]", "[parameters.quench", r"no valid TOML.*line 17"),
        ("[parameters.quench]", "[parameters.'asked.x']", "does not start with 'asked.'"),
        ("[parameters.quench]", "[parameters.time]", "no valid TOML"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, before, after, said):
    path = tmp_path / "campaign.toml"
    path.write_text(TOML.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(FileError, match=said) as caught:
        Campaign.read(path)
    assert str(caught.value).startswith(str(path))


def test_several_objectives_written_read_back(tmp_path):
    wanted = (
        Objective("yield", unit="%", range=(0, 100), cost=0.5),
        Objective("impurity (ppm)", "minimize", range=(0, float("inf"))),
        Objective("pH", "target", 7.0),
    )
    campaign = Campaign(Space({"x": (0, 1)}), wanted)
    path = tmp_path / "campaign.toml"
    path.write_text(campaign.text(), encoding="utf-8")
    assert Campaign.read(path) == campaign
    assert campaign.wish == "maximize yield, minimize impurity (ppm), pH near 7"


def test_all_problems_at_once(tmp_path):
    path = tmp_path / "campaign.toml"
    path.write_text('[objectve]\n[parameters.a]\nrange = [2, 1]\n[parameters.b]\nvalues = "x"\n')
    with pytest.raises(FileError) as caught:
        Campaign.read(path)
    assert len(str(caught.value).splitlines()) == 4


def test_a_table_without_a_campaign_is_told_what_to_do(tmp_path):
    table = tmp_path / "lab.csv"
    with pytest.raises(FileError, match=r"there is no file .*lab\.csv"):
        campaign_path(table)
    table.write_text("a,b\n")
    with pytest.raises(FileError, match="bomi init"):
        campaign_path(table)
    assert campaign_path(table, tmp_path / "other.toml") == tmp_path / "other.toml"


SHEET = """id;temperature (°C);time;passes;quench;operator;strength
1;300,5;60;1;water;ann;10,2
2;;100;2;oil;bob;11,5
3;300±15;9000;3;oil;ann;failed
4;290..310;80;2;water;;
5;411;80;2;water;bob;3
"""


def test_a_guess(tmp_path):
    found = guess(parse_sheet(HERE, SHEET.encode()))
    assert found.campaign == Campaign(
        Space(
            {
                "temperature (°C)": Real(290, 420, unit="°C"),
                "time": Real(60, 9000, log=True),
                "passes": Integer(1, 3),
                "quench": Categorical(["water", "oil"]),
            }
        ),
        (Objective("strength"),),
    )
    assert found.unused == ("operator",)
    path = tmp_path / "campaign.toml"
    path.write_text(found.text(), encoding="utf-8")
    assert Campaign.read(path) == found.campaign
    assert guess(parse_sheet(HERE, SHEET.encode()), objective="passes").campaign.objective == "passes"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\nx,y\n", "no column of numbers"),
        ("a,b\n1,2\n1,3\n", "no column that could be a parameter"),
        ("a,a\n1,2\n", "more than one column is called 'a'"),
    ],
)
def test_what_cannot_be_guessed_is_told(text, said):
    with pytest.raises(FileError, match=said):
        guess(parse_sheet(HERE, text.encode()))
    with pytest.raises(FileError, match="did you mean 'strength'"):
        guess(parse_sheet(HERE, SHEET.encode()), objective="strengh")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, unique=True))
def test_a_guessed_range_holds_every_number(numbers):
    text = "a,y\n" + "".join(f"{number!r},{i % 3}\n" for i, number in enumerate(numbers))
    try:
        campaign = guess(parse_sheet(HERE, text.encode())).campaign
    except BomiError:
        largest, span = max(abs(n) for n in numbers), max(numbers) - min(numbers)
        assert largest > 1e99 or span < 1e-99 or span < 16 * math.ulp(largest) or 0 < min(numbers) < 1e-99
    else:
        codes = set(map(float, campaign.unknown))  # 1e30 far from all others says unknown
        assert all(campaign.space.parameters["a"].contains(number) for number in numbers if number not in codes)


# --- ordered levels, defaults, constraints ---

MIXED = """
[objective]
name = "y"

[parameters.a]
range = [0, 1]
default = 0.25

[parameters.b]
range = [0, 1]

[parameters.dose]
type = "ordinal"
values = [1, 2, 5, 10]

[[constraints]]
terms = {a = 1, b = 2}
max = 1.5

[[constraints]]
terms = {a = 1, dose = 0.1}
min = 0.2
max = 1.25
"""


def test_ordered_levels_defaults_and_constraints_come_back_as_written(tmp_path):
    path = tmp_path / "campaign.toml"
    path.write_text(MIXED, encoding="utf-8")
    campaign = Campaign.read(path)
    assert campaign.space == Space(
        {"a": Real(0, 1, default=0.25), "b": (0, 1), "dose": Ordinal([1, 2, 5, 10])},
        constraints=[Linear({"a": 1, "b": 2}, max=1.5), Linear({"a": 1, "dose": 0.1}, min=0.2, max=1.25)],
    )
    path.write_text(campaign.text(), encoding="utf-8")
    assert Campaign.read(path) == campaign


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max = 1.5", "maxx = 1.5", "[constraints 1] unknown key 'maxx'; did you mean 'max'?"),
        ("max = 1.5", "", "[constraints 1] a constraint needs min or max or both, or equals alone"),
        ("terms = {a = 1, b = 2}", "", "[constraints 1] needs terms = {a = 1, b = 2}"),
        (
            "dose = 0.1}",
            "doze = 0.1}",
            "[constraints 2] terms speak of 'doze', which is no parameter; did you mean",
        ),
        ("dose = 0.1}", 'dose = "x"}', "[constraints 2] the coefficient of 'dose' must be a number"),
        ("max = 1.5", "min = 4", "a + 2 b >= 4 cannot be kept: within the ranges a + 2 b is at most 3"),
        ("[[constraints]]\nterms = {a = 1, b", "[constraints]\nterms = {a = 1, b", "valid TOML"),
        ("default = 0.25", 'default = "?"', "[parameters.a] `default`: it must be a plain value"),
        ("values = [1, 2, 5, 10]", "values = [1, 5, 2]", "[parameters.dose] ordered levels that are numbers must rise"),
    ],
)
def test_what_is_wrong_with_a_constraint_is_told_with_its_place(tmp_path, old, new, message):
    path = tmp_path / "campaign.toml"
    path.write_text(MIXED.replace(old, new), encoding="utf-8")
    with pytest.raises(BomiError) as error:
        Campaign.read(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_a_table_may_lack_a_column_with_a_default_and_rows_may_break_a_constraint(tmp_path):
    (tmp_path / "campaign.toml").write_text(MIXED, encoding="utf-8")
    table = tmp_path / "lab.csv"
    table.write_text("b,dose,y\n0.5,1,3\n0.9,10,4\n?,5,\n", encoding="utf-8")
    campaign = Campaign.read(tmp_path / "campaign.toml")
    experiments = read_experiments(table, campaign)
    assert [row.recorded["a"] for row in experiments.rows] == [0.25] * 3
    assert summarize(experiments).broken == ("row 3 breaks the constraint a + 2 b <= 1.5: it has 2.05",)
    append(table, campaign, [{"a": 0.5, "b": 0.25, "dose": 2}])
    rows = read_experiments(table, campaign).rows
    assert dict(rows[-1].asked) == {"a": 0.5, "b": 0.25, "dose": 2}
    assert [row.recorded["a"] for row in rows] == [0.25, 0.25, 0.25, 0.5]


@pytest.mark.parametrize(
    ("blank", "default", "filled"),
    [('"zero"', 0.0, 0.0), ("0.5", 0.5, 0.5), ('"maybe"', None, None), ('"maybe"\ndefault = 0.5', 0.5, None)],
)
def test_what_a_blank_means_is_read_and_written(tmp_path, blank, default, filled):
    path, table = tmp_path / "campaign.toml", tmp_path / "lab.csv"
    path.write_text(MIXED.replace("default = 0.25", f"blank = {blank}"), encoding="utf-8")
    campaign = Campaign.read(path)
    table.write_text("a,b,dose,y\n,0.5,1,3\n?,0.5,10,4\n", encoding="utf-8")
    assert campaign.space.parameters["a"].default == default
    assert [row.recorded["a"] for row in read_experiments(table, campaign).rows] == [filled, None]
    path.write_text(campaign.text(), encoding="utf-8")
    assert Campaign.read(path) == campaign


@pytest.mark.parametrize(
    ("blank", "message"),
    [
        ('"zreo"', "[parameters.a] `blank` (or 'maybe', 'unknown', 'zero'): expected a number"),
        ('"zero"\ndefault = 1', "[parameters.a] `blank` says that a blank is 0, and `default` that it is 1"),
    ],
)
def test_a_meaning_of_blanks_that_cannot_be_is_told_with_its_place(tmp_path, blank, message):
    path = tmp_path / "campaign.toml"
    path.write_text(MIXED.replace("default = 0.25", f"blank = {blank}"), encoding="utf-8")
    with pytest.raises(BomiError) as error:
        Campaign.read(path)
    assert message in str(error.value)


def test_a_default_outside_the_range_is_told_once(tmp_path):
    path, table = tmp_path / "campaign.toml", tmp_path / "lab.csv"
    path.write_text(MIXED.replace("default = 0.25", "blank = 3"), encoding="utf-8")
    table.write_text("a,b,dose,y\n,0.5,1,3\n,0.5,10,4\n", encoding="utf-8")
    with pytest.raises(TableError) as error:
        read_experiments(table, Campaign.read(path))
    (problem,) = error.value.problems
    assert problem.message.startswith("the default 3 is out of bounds [0, 1]")
    assert problem.message.endswith("(and for 1 more blanks)")


def test_columns_whose_blanks_may_mean_none_are_noted(tmp_path):
    path, table = tmp_path / "campaign.toml", tmp_path / "lab.csv"
    path.write_text(MIXED.replace("default = 0.25", "").replace("range = [0, 1]", "range = [0.1, 1]", 1))
    table.write_text("a,b,dose,y\n" + ",,1,3\n0.5,0.5,1,3\n" * 20, encoding="utf-8")
    assert blanks.notes(read_experiments(table, Campaign.read(path))) == [
        "'a' has 20 blanks; if they mean that there was none of it, begin its range at 0",
        "'b' has 20 blanks, which may mean 0: bomi gaps tells how likely; if you know it, write blank = \"zero\" or "
        'blank = "unknown" under [parameters.b]',
    ]


TIED = MIXED.replace("default = 0.25", 'same_within = "lot"')


def test_a_group_whose_values_differ_and_rows_without_a_group_are_named(tmp_path):
    path, table = tmp_path / "campaign.toml", tmp_path / "lab.csv"
    path.write_text(TIED, encoding="utf-8")
    table.write_text("a,b,dose,lot,y\n,0.5,1,A,3\n0.5,0.5,1,A,3\n0.25,0.5,2,A,3\n,0.5,1,B,3\n0.1,0.5,1,,3\n")
    campaign = Campaign.read(path)
    experiments = read_experiments(table, campaign)
    assert [row.extra["lot"] for row in experiments.rows] == ["A", "A", "A", "B", ""]
    assert blanks.notes(experiments) == [
        "'a' should be the same within lot 'A', but it is 0.5, 0.25",
        "'lot' is blank in 1 rows: 'a' is a value of its own in each of them",
    ]
    path.write_text(campaign.text(), encoding="utf-8")
    assert Campaign.read(path) == campaign


def test_a_table_without_the_column_of_groups_is_refused(tmp_path):
    path, table = tmp_path / "campaign.toml", tmp_path / "lab.csv"
    path.write_text(TIED, encoding="utf-8")
    table.write_text("a,b,dose,Lot,y\n,0.5,1,A,3\n")
    with pytest.raises(TableError, match=r"the campaign names it, but the table .* lacks it; did you mean 'Lot'"):
        read_experiments(table, Campaign.read(path))


@pytest.mark.parametrize(
    ("lots", "advice"),
    [
        (["old"] * 6 + ["new"] * 4, 'write same_within = "lot"'),
        (["old"] * 5 + ["new"] * 5, 'write same_within = "campaign", and name these rows in a column campaign'),
    ],
)
def test_a_block_of_blanks_is_noted(tmp_path, lots, advice):
    path, table = tmp_path / "campaign.toml", tmp_path / "lab.csv"
    path.write_text(MIXED.replace("default = 0.25", ""), encoding="utf-8")
    cells = ["" if i < 6 else "0.5" for i in range(10)]
    table.write_text("a,b,dose,lot,y\n" + "".join(f"{a},0.5,1,{lot},3\n" for a, lot in zip(cells, lots, strict=True)))
    (note,) = blanks.notes(read_experiments(table, Campaign.read(path)))
    assert note == f"'a' is blank in rows 2 to 7 and in no others; if it was one value there, {advice}"


@pytest.mark.parametrize("form", ["{} = 1", "[{}]", "x = {{{} = 1}}"])
@pytest.mark.parametrize("dot", [".", " . "])
def test_a_key_of_very_many_parts_is_refused_at_once(form, dot):
    text = "[objective]\nname = 'y'\n# ....\n" + form.format(dot.join(["a"] * 100_000)) + "\n"
    with pytest.raises(FileError, match="line 4: a key of more than 50 parts"):
        parse_campaign(Path("campaign.toml"), text.encode())


# --- descriptors -----------------------------------------------------------------------------------------------------

DESCRIBED = """
[objective]
name = "yield"

[parameters.temperature]
range = [20, 120]

[parameters.solvent]
descriptors = "solvents.csv"
"""


def test_descriptors_are_read_from_a_file_beside_the_campaign(tmp_path):
    (tmp_path / "solvents.csv").write_text(
        "name;solvent;polarity;boiling point\n1;water;80,1;100\n2;ethanol;24,5;\n3;hexane;1,9;68,7\n", encoding="utf-8"
    )
    path = tmp_path / "campaign.toml"
    path.write_text(DESCRIBED, encoding="utf-8")
    solvent = Campaign.read(path).space.parameters["solvent"]
    assert solvent.values == ("water", "ethanol", "hexane")
    assert solvent.descriptors.names == ("name", "polarity", "boiling point")
    assert solvent.descriptors.rows[1] == (2.0, 24.5, None)
    text = Campaign.read(path).text()
    assert 'descriptors = "solvents.csv"' in text
    assert 'values = ["water", "ethanol", "hexane"]' in text
    path.write_text(text, encoding="utf-8")
    assert Campaign.read(path).space.parameters["solvent"] == solvent
    path.write_text(DESCRIBED + 'values = ["water", "hexane"]\n', encoding="utf-8")
    assert Campaign.read(path).space.parameters["solvent"].descriptors.rows == ((1.0, 80.1, 100.0), (3.0, 1.9, 68.7))


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        (None, "", "solvents.csv"),
        ("solvent,polarity\nwater,80\n", 'values = ["water", "oil"]', "there are no descriptors of 'oil'"),
        ("solvent,polarity\nwater,80\nwater,81\n", "", "two lines for 'water'"),
        ("solvent\nwater\noil\n", "", "one column"),
        ("solvent,polarity\nwater,80\noil,high\n", "", "'polarity' of 'oil' must be a number or blank, but got 'high'"),
        ("solvent,polarity\nwater,80\noil,2\n", 'type = "ordinal"', "ordered levels have no descriptors"),
    ],
)
def test_a_file_of_descriptors_that_cannot_be_used_is_one_line(tmp_path, content, more, message):
    if content is not None:
        (tmp_path / "solvents.csv").write_text(content, encoding="utf-8")
    path = tmp_path / "campaign.toml"
    path.write_text(DESCRIBED + more + "\n", encoding="utf-8")
    with pytest.raises(CampaignError) as caught:
        Campaign.read(path)
    (fault,) = caught.value.faults
    assert message in fault.message
    assert "\n" not in fault.message
    assert fault.places[0][:2] == ("parameters", "solvent")


# --- products, ratios and counts -------------------------------------------------------------------------------------

LIMITED = """
[objective]
name = "strength"

[parameters]
resin = {range = [0, 1]}
chalk = {range = [0, 1]}
glass = {range = [0, 1]}
flow = {range = [1, 20]}
hours = {range = [1, 20]}

[[constraints]]
terms = {resin = 1, chalk = 1, glass = 1}
equals = 1

[[constraints]]
nonzero = ["chalk", "glass"]
max = 1

[[constraints]]
product = {flow = 1, hours = 1}
max = 100

[[constraints]]
product = {resin = 1, chalk = -1}
min = 2
"""


def test_constraints_of_all_kinds_are_read_checked_and_written(tmp_path):
    path = tmp_path / "campaign.toml"
    path.write_text(LIMITED, encoding="utf-8")
    campaign = Campaign.read(path)
    assert [str(one) for one in campaign.space.constraints] == [
        "resin + chalk + glass = 1",
        "at most 1 of chalk, glass are not 0",
        "flow * hours <= 100",
        "resin / chalk >= 2",
    ]
    path.write_text(campaign.text(), encoding="utf-8")
    assert Campaign.read(path) == campaign
    table = tmp_path / "lab.csv"
    rows = ["0.6,0.4,0,10,12,3", "0.8,0.1,0.1,5,5,4", "0.9,0.1,0,5,,5", "0.5,0,0.5,20,5,6", "0.7,0.1,0.2,,,7"]
    table.write_text("\n".join(["resin,chalk,glass,flow,hours,strength", *rows]) + "\n", encoding="utf-8")
    assert summarize(read_experiments(table, campaign)).broken == (
        "row 2 breaks the constraint flow * hours <= 100: it has 120",
        "row 2 breaks the constraint resin / chalk >= 2: it has 1.5",
        "row 3 breaks the constraint at most 1 of chalk, glass are not 0: it has 2",
        "row 6 breaks the constraint at most 1 of chalk, glass are not 0: it has 2",
    )


@pytest.mark.parametrize(
    ("constraint", "message", "place"),
    [
        ("product = {flow = 1, our = 1}\nmax = 1", "product speak of 'our', which is no parameter", "our"),
        ("product = 3\nmax = 1", "needs product = {a = 1, b = 2}, the power of each parameter", "product"),
        ('nonzero = ["chalk", "glas"]\nmax = 1', "did you mean 'glass'", "glas"),
        ('nonzero = ["chalk", "glass"]\nmin = 1', "a max alone", "min"),
        ('nonzero = ["chalk", "glass"]', "`max` must be a whole number", "max"),
        ('nonzero = ["flow", "glass"]\nmax = 1', "'flow', which cannot be 0", "flow"),
        ('nonzero = ["chalk", "glass"]\nterms = {chalk = 1}\nmax = 1', "has one of terms, product, nonzero", "nonzero"),
        ("product = {flow = 1, hours = 1}\nmax = 0.5", "flow * hours is at least 1", 4),
    ],
)
def test_constraints_that_cannot_be_are_told_at_their_place(tmp_path, constraint, message, place):
    path = tmp_path / "campaign.toml"
    path.write_text(f"{LIMITED}\n[[constraints]]\n{constraint}\n", encoding="utf-8")
    with pytest.raises(CampaignError) as caught:
        Campaign.read(path)
    (fault,) = caught.value.faults
    assert message in fault.message
    assert place in fault.places[0]


# --- conditions ------------------------------------------------------------------------------------------------------

CONDITIONS = """
[objective]
name = "strength"

[parameters.x]
range = [0, 1]
"""


@pytest.mark.parametrize(
    ("sections", "means"),
    [
        ('[groups]\ncolumns = ["day", "lot"]\n[drift]\ncolumn = "date"', Conditions(["day", "lot"], "date")),
        ("[drift]", Conditions((), True)),
        ('[groups]\ncolumns = "day"', Conditions(["day"])),
        ("", Conditions()),
    ],
)
def test_groups_and_drift_are_read_and_written(tmp_path, sections, means):
    path = tmp_path / "campaign.toml"
    path.write_text(CONDITIONS + sections, encoding="utf-8")
    campaign = Campaign.read(path)
    assert campaign.space.conditions == means
    path.write_text(campaign.text(), encoding="utf-8")
    assert Campaign.read(path) == campaign


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ('[groups]\ncolumn = ["day"]', "did you mean 'columns'"),
        ("[groups]", "needs columns"),
        ("[groups]\ncolumns = [3]", "groups must be a list of columns"),
        ('[groups]\ncolumns = ["x"]', "it is a parameter"),
        ('[groups]\ncolumns = ["strength"]', "strength"),
        ("[drift]\ncolumn = 3", "drift must be the name of a column"),
        ('drift = "date"', "must be a section"),
    ],
)
def test_what_is_wrong_with_groups_and_drift_is_told(tmp_path, sections, said):
    path = tmp_path / "campaign.toml"
    top, bottom = (sections, "") if sections.startswith("drift") else ("", sections)
    path.write_text(top + CONDITIONS + bottom, encoding="utf-8")
    with pytest.raises(FileError, match=said):
        Campaign.read(path)
