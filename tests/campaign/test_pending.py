import pytest

from bomi.campaign import append, ledger, read_experiments, withdraw, write_guess
from bomi.errors import TableError

SETTING = {"temperature": 312.5, "time": 900, "passes": 3, "quench": "oil"}
OTHER = {"temperature": 100.25, "time": 60, "passes": 1, "quench": "air"}


def test_what_was_added_and_withdrawn_leaves_the_rest_byte_for_byte(lab, campaign):
    append(lab, campaign, [SETTING])
    before = lab.read_bytes()
    assert append(lab, campaign, [OTHER, OTHER]) == ["6", "7"]
    (gone,) = withdraw(lab, campaign, ["6"])
    assert dict(gone.asked) == OTHER
    assert [row.id for row in read_experiments(lab, campaign).rows] == ["1", "2", "3", "4", "5", "7"]
    between = lab.read_bytes()
    withdraw(lab, campaign, ["7", "7"])
    assert lab.read_bytes() == before
    assert (lab.parent / "lab.csv.bak").read_bytes() == between
    assert not list(lab.parent.glob(".*.lock"))


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["5", "1"], r"lab.csv, row 2: it has an outcome, so it is not withdrawn; correct it in the table"),
        (["3", "5"], r"row 4: it failed, so it is not withdrawn"),
        (["4"], r"row 5: it was not suggested by bomi"),
        (["99"], r"lab.csv: no row has the id '99'; the rows that await their outcome are 6 \(id '5'\)$"),
    ],
)
def test_any_other_row_is_refused_and_nothing_changes(lab, campaign, ids, said):
    append(lab, campaign, [SETTING])
    (lab.parent / "lab.csv.bak").unlink()
    before = lab.read_bytes()
    with pytest.raises(TableError, match=said):
        withdraw(lab, campaign, ids)
    assert lab.read_bytes() == before
    assert not (lab.parent / "lab.csv.bak").exists()


def test_every_refusal_is_told_at_once(lab, campaign):
    with pytest.raises(TableError) as caught:
        withdraw(lab, campaign, ["1", "99", "4"])
    assert [problem.row for problem in caught.value.problems] == [2, None, 5]
    assert "no row awaits its outcome" in str(caught.value)


def test_an_outcome_entered_meanwhile_is_not_lost(lab, campaign):
    append(lab, campaign, [SETTING])
    with ledger(lab, campaign) as held:
        lab.write_text(lab.read_text().replace("5,312.5,900,3,oil,,", "5,312.5,900,3,oil,201,"))
        with pytest.raises(TableError, match="row 6: it has an outcome"):
            held.withdraw(["5"])
    assert "201" in lab.read_text()


def test_without_ids_a_row_is_called_by_its_number(lab, campaign):
    before = "temperature,time,passes,quench,strength\n300,600,1,oil,2\n"
    lab.write_text(before)
    append(lab, campaign, [SETTING, OTHER])
    with pytest.raises(TableError, match="no row has the id '2'; the rows that await their outcome are 3, 4"):
        withdraw(lab, campaign, ["2"])
    with pytest.raises(TableError, match="no row has the number 5"):
        withdraw(lab, campaign, numbers=[3, 5])
    (gone,) = withdraw(lab, campaign, numbers=[4])
    assert dict(gone.asked) == OTHER
    assert len(read_experiments(lab, campaign).rows) == 2


def test_a_suggestion_that_is_excluded_is_not_withdrawn(lab, campaign):
    lab.write_text("id,temperature,time,passes,quench,strength,exclude\n1,300,600,1,water,180.5,\n")
    append(lab, campaign, [SETTING])
    lab.write_text(lab.read_text().replace("3,oil,,", "3,oil,,x"))
    with pytest.raises(TableError, match="row 3: it is excluded, so it is not withdrawn"):
        withdraw(lab, campaign, ["2"])


def test_a_suggestion_has_the_unit_that_people_type(tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text("run;Zeit;T (°C);y\n1;30 min;40;3\n2;1 h;50;4\n3;90 min;60;5,5\n4;45 min;40;6\n", encoding="utf-8")
    campaign = write_guess(table)[1].campaign
    append(table, campaign, [{"Zeit": 75.5, "T (°C)": 45.0}])
    assert table.read_text(encoding="utf-8").splitlines()[-1] == "5;75,5 min;45;;75,5 min;45"
    row = read_experiments(table, campaign).rows[-1]
    assert row.recorded == row.asked == {"Zeit": 75.5, "T (°C)": 45}
