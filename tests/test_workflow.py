import pytest

from bomi import workflow
from bomi.campaign import Campaign, read_experiments

TOML = """
[objective]
name = "y"

[parameters.x]
range = [0, 10]

[parameters.kind]
values = ["a", "b"]

[method]
name = "mean"
"""
TABLE = "id,x,kind,y\n" + "".join(f"r{i},{i},{'ab'[i % 2]},{-((i - 4) ** 2)}\n" for i in range(9)) + "gap,,?,-1\n"


@pytest.fixture
def study(tmp_path):
    (tmp_path / "campaign.toml").write_text(TOML)
    (tmp_path / "lab.csv").write_text(TABLE)
    return workflow.load(tmp_path / "lab.csv")


def test_advice_leaves_the_study_as_it_is_and_is_that_of_a_fresh_one(study):
    rows = study.optimizer.observations.rows
    workflow.gap_list(study)
    told = []
    advices = workflow.advise(study, 2, told.append)
    assert told == [1, 2]
    assert study.optimizer.observations.rows == rows
    fresh = workflow.suggest(study.experiments.sheet.path, count=2)
    assert [dict(advice.suggestion) for advice in advices] == [dict(advice.suggestion) for advice in fresh]
    assert [advice.why for advice in advices] == [advice.why for advice in fresh]


def test_sentences_call_a_row_by_its_id_and_its_line(study):
    assert workflow.called(study)[4] == "r4 (row 6)"
    (advice,), (best,) = workflow.advise(study, 1), workflow.recommend(study)
    assert " r" in str(advice.why)
    assert f"(row {advice.nearest})" in str(advice.why)
    assert best.called == "r4 (row 6)"


def test_gaps_come_with_their_place_in_the_table_and_their_density(study):
    by_name = {gap.parameter: gap for gap in workflow.gap_list(study)}
    assert {(gap.number, gap.id) for gap in by_name.values()} == {(11, "gap")}
    assert len(by_name["x"].values) == len(by_name["x"].heights)
    assert by_name["x"].low <= by_name["x"].middle <= by_name["x"].high
    assert by_name["kind"].values == ("a", "b")
    assert sum(by_name["kind"].heights) == pytest.approx(1)
    assert by_name["kind"].middle is None


def test_the_overview_names_the_best_row_and_slices_through_the_recommended_setting(study):
    found = workflow.overview(study)
    assert [one.row for one in found.recommended] == [6]
    assert found.recommended[0].best.setting["x"] == pytest.approx(4, abs=0.7)
    assert [one.parameter for one in found.slices["y"]] == ["x", "kind"]
    assert found.importance["y"][0].parameter == "x"


def test_without_a_model_the_overview_says_so(tmp_path):
    (tmp_path / "campaign.toml").write_text(TOML.replace("mean", "random"))
    (tmp_path / "lab.csv").write_text(TABLE)
    campaign = Campaign.read(tmp_path / "campaign.toml")
    found = workflow.overview(workflow.study(read_experiments(tmp_path / "lab.csv", campaign)))
    assert (found.slices, found.importance) == ({}, {})
    assert "no model" in found.note


TWINS = "x,kind,y\n4,a,1\n?,?,7\n2,b,3\n?,?,7\n5,a,2\n"


def test_the_best_row_is_known_by_its_place_although_another_says_the_same(tmp_path):
    (tmp_path / "campaign.toml").write_text(TOML)
    (tmp_path / "lab.csv").write_text("\n" + TWINS.replace("?,?,7", "9,b,7", 1).replace("9,b,7\n", "\n9,b,7\n"))
    best = workflow.load(tmp_path / "lab.csv")
    (found,) = workflow.recommend(best)
    assert (found.row, found.best.seen_row) == (5, 1)
    assert best.experiments.rows[1].outcomes == best.experiments.rows[3].outcomes


def test_suggesting_reads_the_columns_once_and_makes_no_frame(tmp_path, monkeypatch):
    import pandas as pd

    from bomi.campaign import experiments

    (tmp_path / "campaign.toml").write_text(TOML)
    (tmp_path / "lab.csv").write_text(TABLE)
    read, read_columns = [], experiments.read_columns

    def counted(columns, *arguments, **options):
        read.append(columns)
        return read_columns(columns, *arguments, **options)

    monkeypatch.setattr(experiments, "read_columns", counted)
    monkeypatch.setattr(pd.DataFrame, "__init__", None)
    (advice,) = workflow.suggest(tmp_path / "lab.csv", append=True)
    assert len(read) == 1
    assert (tmp_path / "lab.csv").read_text().splitlines()[-1].startswith(f"{advice.suggestion.id},")


def test_a_row_saved_while_learning_is_kept_and_its_id_is_not_given_again(tmp_path):
    (tmp_path / "campaign.toml").write_text(TOML)
    table = tmp_path / "lab.csv"
    table.write_text(TABLE)

    def meanwhile(number):
        table.write_text(TABLE + "11,3,a,5\n")

    (advice,) = workflow.suggest(table, append=True, done=meanwhile)
    lines = table.read_text().splitlines()
    assert lines[-2].startswith("11,3,a,5")
    assert advice.suggestion.id == "12"
    assert lines[-1].startswith("12,")


def test_a_row_that_is_excluded_is_neither_best_nor_learned_from(tmp_path):
    (tmp_path / "campaign.toml").write_text(TOML)
    table = tmp_path / "lab.csv"
    table.write_text("x,kind,y,exclude\n4,a,1,\n9,b,7,\n2,b,3,\n")
    without = workflow.load(table)
    table.write_text("x,kind,y,exclude\n4,a,1,\n5,a,999,typing error\n9,b,7,\n2,b,3,\n")
    study = workflow.load(table)
    assert [one.row for one in workflow.recommend(study)] == [4]
    assert study.optimizer.observations.tried == without.optimizer.observations.tried
