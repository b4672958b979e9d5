import re

import pytest

from bomi.campaign import append, guess, ledger, read_experiments, summarize
from bomi.campaign.sheet import parse_sheet
from bomi.campaign.storage import LIMIT
from bomi.campaign.toml import parse_campaign
from bomi.errors import BomiError, FileError, TableError
from bomi.space.cells import Interval, Normal

from .conftest import TABLE

SETTING = {"temperature": 312.5, "time": 900.0, "passes": 3, "quench": "oil"}


def test_reads_gaps_uncertainties_failures_and_pending_rows(lab, campaign):
    found = read_experiments(lab, campaign)
    first, second, third, fourth = found.rows
    assert first.recorded == {"temperature": 300, "time": 600, "passes": 1, "quench": "water"}
    assert second.recorded["temperature"] is None
    assert third.recorded["temperature"] == Normal(300, 15)
    assert fourth.pending
    assert [row.failed for row in found.rows] == [False, False, True, False]
    assert fourth.recorded == {"temperature": Interval(290, 310), "time": 1200, "passes": None, "quench": None}
    assert [row.outcome for row in found.rows] == [180.5, 170, None, None]
    assert found.numbers == [2, 3, 4, 5]


def test_decimal_commas(lab, campaign):
    lab.write_text("temperature;time;passes;quench;strength\n300,5;1e3;2;oil;1,25\n20,5±1,5;60,5..70;2;oil;-1,5\n")
    one, two = read_experiments(lab, campaign).rows
    assert (one.recorded["temperature"], one.outcome) == (300.5, 1.25)
    assert (two.recorded["temperature"], two.recorded["time"], two.outcome) == (
        Normal(20.5, 1.5),
        Interval(60.5, 70),
        -1.5,
    )
    append(lab, campaign, [SETTING])
    assert lab.read_text().splitlines()[-1] == "312,5;900;3;oil;;312,5;900;3;oil"
    assert read_experiments(lab, campaign).rows[-1].asked == SETTING


def test_appending_keeps_what_was_typed_and_the_version_before(lab, campaign):
    assert append(lab, campaign, [SETTING, SETTING]) == ["5", "6"]
    lines = lab.read_text().splitlines()
    head = "asked.temperature,asked.time,asked.passes,asked.quench"
    assert lines[:5] == [line + ("," + head if place == 0 else ",,,,") for place, line in enumerate(TABLE.splitlines())]
    assert lines[5:] == ["5,312.5,900,3,oil,,,312.5,900,3,oil", "6,312.5,900,3,oil,,,312.5,900,3,oil"]
    assert (lab.parent / "lab.csv.bak").read_text() == TABLE
    before = lab.read_bytes()
    assert append(lab, campaign, [SETTING]) == ["7"]
    assert lab.read_bytes().startswith(before)
    assert (lab.parent / "lab.csv.bak").read_bytes() == before


def test_ids_are_ones_that_no_row_has(lab, campaign):
    lab.write_text("id,temperature,time,passes,quench,strength\n3,,,,,1\n2,,,,,2\n")
    assert append(lab, campaign, [SETTING, SETTING]) == ["4", "5"]


def test_a_table_without_ids_stays_so(lab, campaign):
    lab.write_text("temperature,time,passes,quench,strength\n300,600,1,oil,2\n")
    append(lab, campaign, [SETTING])
    assert lab.read_text().splitlines()[2] == "312.5,900,3,oil,,312.5,900,3,oil"


def test_a_table_saved_meanwhile_is_read_again(lab, campaign):
    with ledger(lab, campaign) as held:
        lab.write_text(TABLE + "9,100,600,1,air,5,typed meanwhile\n")
        assert held.append([SETTING]) == ["10"]
    lines = lab.read_text().splitlines()
    assert lines[5].startswith("9,100,600,1,air,5,typed meanwhile")
    assert lines[6].startswith("10,312.5")


def test_links_stay_links(lab, campaign):
    link = lab.parent / "link.csv"
    link.symlink_to(lab)
    append(link, campaign, [SETTING])
    assert link.is_symlink()
    assert len(lab.read_text().splitlines()) == 6


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("temperature", "temprature", "row 1, column 'temperature': .* did you mean 'temprature'"),
        ("temperature", "Temperature", "did you mean 'Temperature'"),
        ("note", "time", "row 1, column 'time': more than one column has this name"),
        ("300,600", "hot,600", "row 2, column 'temperature': expected a number.*'hot'"),
        ("300,600", "500,600", r"row 2, column 'temperature': 500 is out of bounds \[20, 400\] °C"),
        ("290..310", "310..290", "row 5, column 'temperature': .*low < high, but got '310..290'"),
        ("300±15", "300±-15", "row 4, column 'temperature': .*standard deviation above 0"),
        ("water", "watr", "row 2, column 'quench': .*did you mean 'water'"),
        ("\n2,", "\n1,", "row 3, column 'id': '1' is the id of row 2 too"),
        ("180.5", "many", "row 2, column 'strength': expected a finite number, .*a blank .* 'failed', but got 'many'"),
        ("180.5", "1e999", "row 2, column 'strength'"),
        ("180.5", "180,5", "row 2: 8 cells, but the header has 7 columns; a decimal comma needs"),
        (",1,water", ",1.5,water", "row 2, column 'passes': expected a whole number, but got 1.5"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_file_row_and_column(lab, campaign, before, after, said):
    content = TABLE.replace(before, after, 1)
    lab.write_text(content)
    for attempt in (read_experiments, lambda *args: append(*args, [SETTING])):
        with pytest.raises(TableError, match=said) as caught:
            attempt(lab, campaign)
        assert str(caught.value).startswith(str(lab))
    assert lab.read_text() == content
    assert not (lab.parent / "lab.csv.bak").exists()


def test_decimal_marks_may_differ_between_columns_but_not_within_one(lab, campaign):
    lab.write_text("temperature;time;passes;quench;strength\n300,5;600.5;2;oil;1\n")
    assert read_experiments(lab, campaign).rows[0].recorded["time"] == 600.5
    lab.write_text("temperature;time;passes;quench;strength\n300,5;600;2;oil;1\n300.5;600;2;oil;1\n")
    with pytest.raises(TableError, match=r"'300,5' has a decimal comma and '300\.5' a decimal point"):
        read_experiments(lab, campaign)


def test_twenty_problems_then_a_count(lab, campaign):
    lab.write_text(TABLE + "".join(f"{i},hot,600,1,air,5,\n" for i in range(10, 45)))
    with pytest.raises(TableError) as caught:
        read_experiments(lab, campaign)
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1].endswith("and 15 more problems")
    assert len(caught.value.problems) == 35


def test_out_of_bounds_can_be_kept(lab, campaign):
    from dataclasses import replace

    lab.write_text(TABLE.replace("300,600", "500,600"))
    assert read_experiments(lab, replace(campaign, out_of_bounds="keep")).rows[0].recorded["temperature"] == 500


def test_what_is_no_file_is_told(lab, campaign, monkeypatch):
    with pytest.raises(FileError, match="is a folder"):
        read_experiments(lab.parent, campaign)
    with pytest.raises(FileError, match="there is no file"):
        append(lab.parent / "none.csv", campaign, [SETTING])
    with pytest.raises(FileError, match="cannot be the name of a file"):
        read_experiments(lab.parent / "a\0b", campaign)
    huge = lab.parent / "huge.csv"
    with open(huge, "wb") as file:
        file.truncate(200 * 2**20)
    with pytest.raises(FileError, match=f"200 MB, and files up to {LIMIT // 2**20} MB are read"):
        read_experiments(huge, campaign)
    monkeypatch.setattr("os.open", _refuse)
    with pytest.raises(FileError, match="no permission"):
        read_experiments(lab, campaign)
    assert not list(lab.parent.glob(".none*"))


def _refuse(path, *_):
    raise PermissionError(13, "Permission denied", str(path))


def test_a_disk_that_is_full_changes_nothing(lab, campaign, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError, match="No space left"):
        append(lab, campaign, [SETTING])
    assert lab.read_text() == TABLE


def test_what_we_would_write_is_never_a_formula(lab, campaign):
    for value in ("=1+1", "@x", "-x"):
        with pytest.raises(BomiError, match=re.escape(value)):
            append(lab, campaign, [{**SETTING, "quench": value}])
    assert lab.read_text() == TABLE


def test_a_table_that_another_process_holds_is_told_after_a_while(lab, campaign, monkeypatch):
    monkeypatch.setattr("bomi.campaign.locks.PATIENCE", 0.1)
    with ledger(lab, campaign), pytest.raises(FileError, match="another bomi has been writing"):
        append(lab, campaign, [SETTING])
    append(lab, campaign, [SETTING])
    assert sorted(file.name for file in lab.parent.iterdir()) == ["campaign.toml", "lab.csv", "lab.csv.bak"]


def test_a_lock_that_a_killed_process_left_does_not_hinder(lab, campaign):
    (lab.parent / ".lab.csv.lock").touch()
    (lab.parent / ".lab.csv.new").write_text("half of")
    assert append(lab, campaign, [SETTING]) == ["5"]


# --- rows that are excluded ---

MARKED = """id,temperature,time,passes,quench,strength,exclude
1,300,600,1,water,180.5,
2,999,soon,2,fire,many,the wrong alloy
3,310,700,2,oil,175,no
4,290,800,3,air,,x
"""


def test_a_row_that_is_excluded_is_not_checked_and_keeps_its_id(lab, campaign):
    lab.write_text(MARKED)
    rows = read_experiments(lab, campaign).rows
    assert [row.excluded for row in rows] == [False, True, False, True]
    assert [row.tried for row in rows] == [True, False, True, False]
    assert not any(row.pending for row in rows)
    assert [row.id for row in rows] == ["1", "2", "3", "4"]
    assert append(lab, campaign, [SETTING]) == ["5"]
    assert lab.read_text().startswith(MARKED.partition("\n")[0])
    assert "2,999,soon,2,fire,many,the wrong alloy" in lab.read_text()


def test_without_its_mark_it_is_checked_again(lab, campaign):
    lab.write_text(MARKED.replace("the wrong alloy", ""))
    with pytest.raises(TableError) as caught:
        read_experiments(lab, campaign)
    assert {(problem.row, problem.column) for problem in caught.value.problems} == {
        (3, "temperature"), (3, "time"), (3, "quench"), (3, "strength"),
    }  # fmt: skip


def test_excluded_rows_are_counted_and_count_for_nothing_else(lab, campaign):
    lab.write_text(MARKED)
    summary = summarize(read_experiments(lab, campaign))
    assert (summary.rows, summary.outcomes, summary.pending, summary.excluded) == (4, 2, 0, 2)
    assert {column.known for column in summary.columns} == {2}
    assert {column.unknown for column in summary.columns} == {0}


def test_a_column_of_marks_is_no_parameter(lab):
    text = "temperature,exclude,strength\n" + "".join(f"{i},{'yes' if i % 2 else 'no'},{i}\n" for i in range(8))
    found = guess(parse_sheet(lab, text.encode()))
    assert list(found.campaign.space.names) == ["temperature"]
    assert "exclude" in found.unused


def test_the_best_row_keeps_all_limits_and_is_not_excluded(lab):
    path = lab.parent / "campaign.toml"
    text = '[objectives.y]\n[objectives.c]\ngoal = "limit"\ntarget = 6\n[parameters.x]\nrange = [0, 9]\n'
    campaign = parse_campaign(path, text.encode())
    lab.write_text("x,y,c,exclude\n1,5,6,\n2,9,7,\n3,8,1,yes\n4,5,2,\n5,7,,\n6,,1,\n")
    found = read_experiments(lab, campaign)
    assert found.best(campaign.objectives[0]) == 4  # whose limit is not known to be broken
    lab.write_text("x,y,c\n1,5,6\n2,9,7\n4,5,2\n")
    assert read_experiments(lab, campaign).best(campaign.objectives[0]) == 0  # of equal ones the first
    lab.write_text("x,y,c\n2,9,7\n")
    assert read_experiments(lab, campaign).best(campaign.objectives[0]) is None
