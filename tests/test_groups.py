"""Good and bad days, other lots, slow drift: through the public API."""

import numpy as np
import pandas as pd
import pytest
import torch

import bomi
from bomi.data.conditions import Coded
from bomi.data.observations import Row
from bomi.space import Conditions

SPACE = {"x": (0, 1), "z": (0, 1)}
OFFSETS = np.array([1.5, -1.0, 0.3, -1.8, 2.0, -0.6])


def true(frame):
    return -4 * (frame["x"] - 0.3) ** 2 - (frame["z"] - 0.6) ** 2


def table(rows=30, added=OFFSETS, seed=0):
    """Five rows a day, all of a day's outcomes moved alike."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.random((rows, 2)), columns=["x", "z"])
    frame["day"] = [f"day {i // 5}" for i in range(rows)]
    frame["y"] = true(frame) + np.repeat(added, 5)[:rows] + 0.02 * rng.normal(size=rows)
    return frame


@pytest.fixture(scope="module")
def told():
    optimizer = bomi.Optimizer(SPACE, groups=["day"], seed=0)
    optimizer.tell(table())
    return optimizer


def test_offsets_do_not_spoil_what_is_recommended(told):
    setting = told.best().setting
    assert true(setting) > -0.02
    plain = bomi.Optimizer(SPACE, seed=0)
    plain.tell(table())
    assert true(plain.best().setting) < true(setting)


def test_a_prediction_is_for_a_new_day_or_for_a_known_one(told):
    at = {"x": 0.5, "z": 0.5}
    new = told.predict(at)
    assert new.mean == pytest.approx(true(at) + OFFSETS.mean(), abs=1.0)
    assert 0.7 < new.sd < 2.5  # the days' own spread is 1.4
    for day in (0, 4):
        known = told.predict(at, given={"day": f"day {day}"})
        assert known.mean == pytest.approx(true(at) + OFFSETS[day], abs=0.15)
        assert known.sd < 0.3
    assert told.predict([at], given={"day": "another"}) == [new]
    assert told.predict_asked(at, given={"day": "day 0"}).mean == told.predict(at, given={"day": "day 0"}).mean
    assert told.best(given={"day": "day 4"}).predicted.mean > told.best(given={"day": "day 3"}).predicted.mean + 3


def test_an_improvement_is_one_under_the_same_conditions(told):
    """A new day may be a good one, but that is no reason to try one place rather than another."""
    fit = told._known.fit
    rows = fit.measured[0]
    with torch.no_grad():
        new_day, compared = fit.models[0].moments(rows)[1].sqrt(), fit.contest.models[0].moments(rows)[1].sqrt()
    assert float(new_day.median()) > 5 * float(compared.median())
    assert torch.allclose(fit.outlook.tried[..., 0], fit.models[0].moments(rows)[0])
    best = fit.outlook.tried[..., 0].mean(0).argmax()
    assert true(dict(zip("xz", rows[best].tolist(), strict=True))) > -0.15
    chances = told.chances([{"x": 0.32, "z": 0.58}, {"x": 0.95, "z": 0.05}])
    assert chances[1] < 0.05


def test_the_search_goes_where_it_goes_without_bad_days(told):
    suggestion = bomi.Optimizer(SPACE, groups=["day"], seed=0)
    suggestion.tell(table())
    asked = suggestion.ask(2, given={"day": "day 6"})
    assert max(true(dict(one)) for one in asked) > -0.3
    assert suggestion.frame()["day"].tolist()[-2:] == ["day 6", "day 6"]
    suggestion.tell(asked[0], -0.1)
    suggestion.tell(asked[1], -0.2, actual={"day": "day 7", "x": None})
    assert suggestion.frame()["day"].tolist()[-2:] == ["day 6", "day 7"]
    suggestion.correct(row=31, actual={"day": "day 6"})
    assert suggestion.frame()["day"].tolist()[-1] == "day 6"


def test_drift_is_for_now():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.random((36, 2)), columns=["x", "z"])
    change = np.linspace(3, 0, 36)
    frame["y"] = true(frame) + change + 0.02 * rng.normal(size=36)
    frame["date"] = pd.date_range("2026-01-05", periods=36, freq="D").astype(str)
    at = {"x": 0.3, "z": 0.6}
    for drift in (True, "date"):
        optimizer = bomi.Optimizer(SPACE, drift=drift, seed=0)
        optimizer.tell(frame)
        assert true(optimizer.best().setting) > -0.03
        assert optimizer.predict(at).mean == pytest.approx(0, abs=0.35)
    assert optimizer.predict(at, given={"date": "2026-01-05"}).mean == pytest.approx(3, abs=0.35)
    assert optimizer.predict(at, given={"date": "2026-05-01"}).sd > 2 * optimizer.predict(at).sd
    with pytest.raises(bomi.BomiError, match="expected a date such as"):
        optimizer.predict(at, given={"date": "soon"})


def test_blanks_in_groups_and_dates():
    days = ["a", None, "a ", "?", 2.0, 2]
    dates = ["2026-01-01", None, "2026-01-03", "", "2026-01-09", None]
    rows = [Row({}, extra={"day": day, "date": date}) for day, date in zip(days, dates, strict=True)]
    coded = Coded.of(Conditions(["day"], "date"), rows)
    assert coded.labels == (("a", "2"),)
    assert coded.table[:, 0].tolist() == [0, 3, 0, 5, 1, 1]  # a blank is a group of its own
    assert (coded.table[:, 1] * 8).tolist() == pytest.approx([0, 1, 2, 5, 8, 8])  # or between its neighbours
    assert coded.now().tolist() == [-1, 1]
    assert coded.now({"day": " a"}).tolist() == [0, 1]
    assert coded.now({"date": "2026-01-17", "day": 2}).tolist() == [1, 2]
    order = Coded.of(Conditions([], True), rows, [0, 1, 2, 5, 6, 8])
    assert order.table[:, 0].tolist() == pytest.approx([0, 1 / 8, 2 / 8, 5 / 8, 6 / 8, 1])
    assert order.now().tolist() == pytest.approx([9 / 8])
    assert Coded.of(Conditions(["day"], "date"), []).now().tolist() == [-1, 0]
    undated = Coded.of(Conditions([], "date"), [Row({}), Row({})])
    assert undated.table[:, 0].tolist() == [0, 1]


def test_groups_with_blanks_gaps_and_pending_rows_are_learned_from():
    frame = table(20)
    frame.loc[[3, 11], "x"] = None
    frame.loc[[5, 6], "day"] = None
    frame.loc[19, "y"] = None
    optimizer = bomi.Optimizer(SPACE, groups=["day"], drift=True, seed=0)
    optimizer.tell(frame)
    assert len(optimizer.gaps()) == 2
    assert set(optimizer.ask()) == {"x", "z"}
    assert optimizer.best().setting
    assert optimizer.validation().explained > 0.5
    assert len(optimizer.suspects()) < 3


def test_several_outcomes_have_offsets_of_their_own():
    frame = table(25)
    frame["cost"] = frame["x"] + 5 * np.repeat(-OFFSETS[:5], 5)
    optimizer = bomi.Optimizer(SPACE, objective={"y": "maximize", "cost": "minimize"}, groups=["day"], seed=0)
    optimizer.tell(frame)
    front = optimizer.best()
    assert all(-0.1 <= choice.setting["x"] <= 0.45 for choice in front.choices)
    predicted = optimizer.predict({"x": 0.3, "z": 0.6}, given={"day": "day 0"})
    assert predicted["cost"].mean == pytest.approx(0.3 - 7.5, abs=0.3)
    assert optimizer.ask(given={"day": "day 0"})


@pytest.mark.parametrize("method", ["bomi", "drop", "mean", "knn"])
def test_the_paper_s_methods_learn_offsets_too(method):
    optimizer = bomi.Optimizer(SPACE, groups=["day"], method=method, seed=0)
    optimizer.tell(table())
    assert true(optimizer.best().setting) > -0.05
    assert optimizer.ask()


def test_a_saved_optimizer_suggests_the_same(told, tmp_path):
    told.save(tmp_path / "campaign.json")
    other = bomi.Optimizer.load(tmp_path / "campaign.json")
    assert other.space == told.space
    assert other.space.conditions == Conditions(["day"])
    assert other.best().setting == told.best().setting
    pd.testing.assert_frame_equal(other.frame(), told.frame())
    drifting = bomi.Optimizer(SPACE, drift=True, seed=0)
    drifting.save(tmp_path / "drift.json")
    assert bomi.Optimizer.load(tmp_path / "drift.json").space.conditions == Conditions((), True)


def test_frame_has_the_columns_and_tell_takes_them_back():
    optimizer = bomi.Optimizer(SPACE, groups=["day"], drift="date", seed=0)
    optimizer.tell({"x": 0.1, "z": 0.2, "day": 3, "date": "2026-01-01"}, 1.0)
    optimizer.tell({"x": 0.2, "z": 0.2}, 2.0)
    frame = optimizer.frame()
    assert frame["day"].tolist()[0] == 3
    assert frame["date"].isna().tolist() == [False, True]
    again = bomi.Optimizer(SPACE, groups=["day"], drift="date", seed=0)
    again.tell(frame)
    rows = [one.observations.tried for one in (optimizer, again)]
    coded = [Coded.of(again.space.conditions, each).table.tolist() for each in rows]
    assert coded[0] == coded[1]
    pd.testing.assert_frame_equal(again.frame(), frame)


def test_mistakes_are_told_and_change_nothing():
    optimizer = bomi.Optimizer(SPACE, groups=["day"], drift="date", seed=0)
    frame = table(5).assign(date=["2026-01-01", "soon", "2026-02-30", None, 3])
    with pytest.raises(bomi.BomiError) as error:
        optimizer.tell(frame)
    assert [(one.row, one.column) for one in error.value.problems] == [(1, "date"), (2, "date")]
    with pytest.raises(bomi.BomiError, match="lacks 'date'"):
        optimizer.tell(table(5))
    with pytest.raises(bomi.BomiError, match="expected a date"):
        optimizer.tell({"x": 0.1, "z": 0.1, "date": "never"}, 1.0)
    with pytest.raises(bomi.BomiError, match="did you mean 'date'"):
        optimizer.ask(given={"dat": 3})
    with pytest.raises(bomi.BomiError, match="names groups and the time"):
        optimizer.predict({"x": 0.1, "z": 0.1}, given={"x": 3})
    assert len(optimizer.frame()) == 0
    with pytest.raises(bomi.BomiError, match="learns no offsets"):
        bomi.Optimizer(SPACE, groups=["day"], method="ugp")
    for wrong in ({"groups": ["x"]}, {"groups": [3]}, {"groups": ["id"]}, {"drift": 3.0}, {"drift": ""}, {"groups": 5},
                  {"groups": ["day", "day"]}, {"groups": ["y"]}, {"drift": "asked.x"}):  # fmt: skip
        with pytest.raises(bomi.BomiError):
            bomi.Optimizer(SPACE, **wrong)


def test_what_is_not_used_changes_no_number():
    frame = table(12)
    plain, empty = bomi.Optimizer(SPACE, seed=0), bomi.Optimizer(SPACE, seed=0, groups=[], drift=False)
    for optimizer in (plain, empty):
        optimizer.tell(frame)
    assert plain.ask() == empty.ask()
    assert plain._known.fit.now is None
    assert plain._known.fit.contest is plain._known.fit.outlook


def test_offsets_are_told_against_the_mean_of_the_groups(told):
    frame = told.offsets()
    assert frame["group"].tolist() == [*(f"day {k}" for k in range(6)), "(a new one)"]
    assert frame["rows"].tolist() == [5] * 6 + [0]
    known = frame.iloc[:-1]
    assert known["offset"].sum() == pytest.approx(0, abs=1e-6)
    assert np.abs((known["offset"] - (OFFSETS - OFFSETS.mean())) / known["sd"]).max() < 3.5
    assert 0.7 < frame["sd"].iloc[-1] < 2.5
    assert len(told.drift()) == 0
    (said,) = told.conditions()
    assert said.startswith("day: y differs by about")
    assert "(day 3) to" in said
    with pytest.raises(bomi.BomiError, match="no groups and no drift"):
        bomi.Optimizer(SPACE).offsets()


def test_an_offset_has_the_outcome_s_sign_where_less_is_better():
    frame = table(20).assign(y=lambda rows: -rows["y"])
    optimizer = bomi.Optimizer(SPACE, goal="minimize", groups=["day"], drift=True, seed=0)
    optimizer.tell(frame)
    known = optimizer.offsets().set_index("group")["offset"]
    assert known["day 3"] > known["day 2"] > known["day 0"]
    drift = optimizer.drift()
    assert drift["time"].iloc[[0, -1]].tolist() == [0.0, 19.0]
    assert drift["sd"].iloc[0] > drift["sd"].iloc[-1]


def test_intervals_of_offsets_hold_what_they_say():
    """Of tables drawn from the model, nine in ten 90 % intervals of the differences hold the truth."""
    inside = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        added = rng.normal(size=8) * rng.choice([0.2, 1.0])
        frame = table(40, added, seed)
        optimizer = bomi.Optimizer(SPACE, groups=["day"], seed=0)
        optimizer.tell(frame)
        known = optimizer.offsets().iloc[:-1]
        inside += (np.abs(known["offset"] - (added - added.mean())) < 1.645 * known["sd"]).tolist()
    assert 0.75 <= np.mean(inside) <= 1.0
