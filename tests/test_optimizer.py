import math
import subprocess
import sys
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

import bomi
from bomi import BomiError, Interval, Normal, Optimizer
from bomi.errors import SuggestionError, TableError
from bomi.search.candidates import space_filling

SPACE = bomi.Space(
    {
        "temperature": bomi.Real(20, 400, unit="°C"),
        "time": bomi.Real(60, 21600, log=True),
        "passes": bomi.Integer(1, 8),
        "quench": bomi.Categorical(["water", "oil", "air"]),
    }
)


def history():
    return pd.DataFrame(
        {
            "temperature": [100, "?", 300.0, Normal(300, 15), "290..310", 250],
            "time": [600, 900, None, 3600, 7200.0, math.nan],
            "passes": [1, 2, 3, None, 5, 6],
            "quench": ["water", "oil", None, "air", "water", "oil"],
            "strength": [120.0, 150.0, 170.0, 160.0, None, 140.0],
        }
    )


def make(**options):
    options = {"objective": "strength", "method": "mean", "seed": 0, **options}
    return Optimizer(SPACE, **options)


def told(**options):
    optimizer = make(**options)
    optimizer.tell(history())
    return optimizer


def one_d(count=0, **options):
    optimizer = Optimizer({"x": (0, 1)}, **{"method": "mean", "seed": 0, **options})
    for k in range(count):
        optimizer.tell({"x": k / count}, math.sin(7 * k / count))
    return optimizer


def same(frame, other):
    pd.testing.assert_frame_equal(frame, other)
    return True


# --- the example of the design ---


def test_the_example_of_the_design():
    space = bomi.Space(
        {
            "temperature": bomi.Real(20, 400, unit="°C"),
            "time": bomi.Real(60, 21600, log=True),
            "passes": bomi.Integer(1, 8),
            "quench": bomi.Categorical(["water", "oil", "air"]),
        }
    )
    opt = bomi.Optimizer(space, objective="strength", goal="maximize", seed=0)
    opt.tell(history())
    s = opt.ask()
    opt.tell(s, 182.5)
    s2, s3 = opt.ask(), opt.ask()
    opt.tell(s2, 170.1, actual={"temperature": None})
    opt.tell(s3, 150.9, actual={"temperature": 312.0, "time": bomi.Normal(900, 60)})
    batch = opt.ask(4)
    assert len(batch) == 4
    best = opt.best()
    assert best.seen == 182.5
    assert dict(best.seen_at) == dict(s)
    assert best.seen_known
    assert set(best.setting) == set(space.names)
    assert math.isfinite(best.predicted.mean)
    assert best.predicted.sd > 0
    columns = ["row", "parameter", "mean", "sd", "5 %", "50 %", "95 %", "worth", "probabilities"]
    assert list(opt.gaps().columns) == columns
    frame = opt.frame()
    assert frame["strength"].isna().sum() == 5  # four pending suggestions, one pending row of history
    again = bomi.Optimizer(space, objective="strength", seed=0)
    again.tell(frame)
    assert same(again.frame(), frame)


# --- telling ---


def last_row(optimizer):
    return optimizer.frame().iloc[-1]


def test_as_asked():
    optimizer = one_d(3)
    suggestion = optimizer.ask()
    assert math.isnan(last_row(optimizer)["y"])
    optimizer.tell(suggestion, 4.5)
    row = last_row(optimizer)
    assert (row["id"], row["x"], row["asked.x"], row["y"]) == (suggestion.id, suggestion["x"], suggestion["x"], 4.5)


@pytest.mark.parametrize(
    ("actual", "recorded"),
    [(0.25, 0.25), ("0.25", 0.25), (Normal(0.3, 0.1), Normal(0.3, 0.1)), ("0.2..0.4", Interval(0.2, 0.4))],
)
def test_what_happened_instead_is_recorded_beside_what_was_asked(actual, recorded):
    optimizer = one_d(3)
    suggestion = optimizer.ask()
    optimizer.tell(suggestion, 4.5, actual={"x": actual})
    assert optimizer.observations.rows[-1].recorded["x"] == recorded
    assert last_row(optimizer)["asked.x"] == suggestion["x"]


@pytest.mark.parametrize("actual", [None, math.nan, "?", pd.NA])
def test_an_unknown_actual_is_a_gap(actual):
    optimizer = one_d(3)
    suggestion = optimizer.ask()
    optimizer.tell(suggestion, 4.5, actual={"x": actual})
    assert pd.isna(last_row(optimizer)["x"])
    assert last_row(optimizer)["asked.x"] == suggestion["x"]
    assert optimizer.gaps()[["row", "parameter"]].values.tolist() == [[3, "x"]]


def test_an_experiment_of_one_s_own():
    optimizer = one_d()
    optimizer.tell({"x": 0.5}, 1.0)
    optimizer.tell({"x": None}, 2.0)
    optimizer.tell({"x": 0.7}, "3")
    frame = optimizer.frame()
    assert frame["y"].tolist() == [1, 2, 3]
    assert frame["x"].isna().tolist() == [False, True, False]
    assert "asked.x" not in frame


def test_an_experiment_of_one_s_own_that_went_otherwise_keeps_what_was_asked():
    optimizer = Optimizer({"x": (0, 1), "z": (0, 1)}, method="suggest", seed=0)
    optimizer.tell({"x": 0.5, "z": None}, 1.0, actual={"x": None})
    row = last_row(optimizer)
    assert pd.isna(row["x"])
    assert pd.isna(row["z"])
    assert row["asked.x"] == 0.5
    assert "asked.z" not in row


@pytest.mark.parametrize("outcome", [None, math.nan, "", pd.NA])
def test_a_blank_outcome_is_pending_until_told(outcome):
    optimizer = one_d(3)
    suggestion = optimizer.ask()
    optimizer.tell(suggestion, outcome, actual={"x": 0.4})
    assert last_row(optimizer)["x"] == 0.4
    optimizer.tell(suggestion, 2.0)
    assert last_row(optimizer)["y"] == 2.0
    assert last_row(optimizer)["x"] == 0.4


def test_a_pending_suggestion_can_be_told_in_a_table_by_its_id():
    optimizer = one_d(3)
    suggestion = optimizer.ask()
    optimizer.tell(pd.DataFrame({"id": [suggestion.id], "x": [None], "y": [7.0]}))
    assert len(optimizer.frame()) == 4
    assert last_row(optimizer)["y"] == 7.0
    assert last_row(optimizer)["asked.x"] == suggestion["x"]


def test_a_suggestion_can_be_told_after_a_restart():
    optimizer = told()
    suggestion = optimizer.ask()
    restarted = make()
    restarted.tell(optimizer.frame())
    restarted.tell(suggestion, 150.0)
    assert last_row(restarted)["strength"] == 150.0


def test_out_of_bounds_history_can_be_admitted():
    optimizer = one_d(3)
    optimizer.tell(pd.DataFrame({"x": [1.5], "y": [9.0]}), out_of_bounds="keep")
    optimizer.tell({"x": -0.5}, 0.0, out_of_bounds="keep")
    suggestion = optimizer.ask()
    assert 0 <= suggestion["x"] <= 1
    optimizer.tell(suggestion, 1.0, actual={"x": 1.01}, out_of_bounds="keep")
    assert optimizer.frame()["x"].tolist()[3:] == [1.5, -0.5, 1.01]
    best = optimizer.best()
    assert (best.seen, dict(best.seen_at)) == (9.0, {"x": 1.5})
    assert 0 <= best.setting["x"] <= 1
    again = one_d()
    again.tell(optimizer.frame(), out_of_bounds="keep")
    assert same(again.frame(), optimizer.frame())


# --- bad input is told, and changes nothing ---


def frame_with(**columns):
    return history().assign(**{name.replace("_", "."): value for name, value in columns.items()})


FRAMES = {
    "a column is missing": (
        history().rename(columns={"time": "tiem"}),
        r"the table lacks 'time'; unexpected columns: 'tiem'",
    ),
    "the objective is missing": (history().drop(columns="strength"), "lacks 'strength'"),
    "two columns of one name": (
        pd.concat([history(), history()[["time"]]], axis=1),
        "more than one column 'time'",
    ),
    "out of bounds": (
        frame_with(temperature=[100, 500, 300, 300, 300, 300]),
        r"row 1, column 'temperature': 500 is out of bounds \[20, 400\] °C.*out_of_bounds=\"keep\"",
    ),
    "text for a number": (frame_with(time=["soon", 900, 900, 900, 900, 900]), "row 0, column 'time': .*'soon'"),
    "a fraction for a whole number": (frame_with(passes=[1, 2, 3, 4, 5, 2.5]), "row 5, column 'passes': .*whole"),
    "an unknown category": (
        frame_with(quench=["water", "oli", "oil", "air", "oil", "oil"]),
        "row 1, column 'quench': .*water, oil, air, but got 'oli'; did you mean 'oil'",
    ),
    "infinite input": (frame_with(time=[math.inf] + [900.0] * 5), "row 0, column 'time': .*finite"),
    "infinite outcome": (frame_with(strength=[1, 2, 3, 4, 5, -math.inf]), "row 5, column 'strength': .*finite"),
    "text for an outcome": (frame_with(strength=[1, 2, "good", 4, 5, 6]), "row 2, column 'strength': .*'good'"),
    "an id twice": (frame_with(id=["a", "b", "c", "d", "e", "a"]), "row 5, column 'id': 'a'"),
    "an id that was told": (frame_with(id=["known", *"bcdef"]), "'known' has been told already"),
}


@pytest.mark.parametrize("case", FRAMES)
def test_a_bad_table_is_told_and_changes_nothing(case):
    frame, said = FRAMES[case]
    optimizer = make()
    optimizer.tell(frame_with(id=["known", *"uvwxy"]))
    optimizer.ask()
    before, best = optimizer.frame(), optimizer.best()
    with pytest.raises(TableError, match=said):
        optimizer.tell(frame)
    assert same(optimizer.frame(), before)
    assert optimizer.best() == best


def own(**changes):
    return {"temperature": 100, "time": 600, "passes": 1, "quench": "oil", **changes}


BAD_TELLS = {
    "own: a parameter is missing": (lambda o, s: o.tell({"temperature": 100}, 1.0), "lacks 'time', 'passes', 'quench'"),
    "own: a name is wrong": (
        lambda o, s: o.tell({"temperature": 1, "tiem": 2}, 1.0),
        "the experiment names no parameter: 'tiem'; did you mean 'time'?",
    ),
    "own: a name beside": (
        lambda o, s: o.tell({**own(), "operator": "Ann"}, 1.0),
        "names no parameter: 'operator'; the parameters are temperature, time, passes, quench",
    ),
    "own: out of bounds": (lambda o, s: o.tell(own(time=1), 1.0), r"'time': 1 is out of bounds \[60, 21600\]"),
    "own: text": (lambda o, s: o.tell(own(passes="many"), 1.0), "'passes': .*'many'"),
    "own: no outcome": (lambda o, s: o.tell(own()), "with its outcome"),
    "infinite outcome": (lambda o, s: o.tell(s, math.inf), "'strength': .*finite"),
    "text outcome": (lambda o, s: o.tell(s, "good"), "'strength': .*'good'"),
    "boolean outcome": (lambda o, s: o.tell(s, True), "'strength': .*True"),
    "array outcome": (lambda o, s: o.tell(s, np.array([1.0, 2.0])), "'strength': .*array"),
    "actual names no parameter": (
        lambda o, s: o.tell(s, 1.0, actual={"temprature": None}),
        "`actual` names no parameter: 'temprature'; did you mean 'temperature'?",
    ),
    "actual is no mapping": (lambda o, s: o.tell(s, 1.0, actual=["temperature"]), "`actual` .*mapping"),
    "actual out of bounds": (lambda o, s: o.tell(s, 1.0, actual={"temperature": 900}), "900 is out of bounds"),
    "actual is text": (lambda o, s: o.tell(s, 1.0, actual={"temperature": "hot"}), "'temperature': .*'hot'"),
    "a suggestion of another optimizer": (lambda o, s: o.tell(make().ask(), 1.0), "not made by this optimizer"),
    "the id of one and the setting of another": (
        lambda o, s: o.tell(bomi.Suggestion(s.id, own()), 1.0),
        "not made by this optimizer",
    ),
    "neither table nor experiment": (lambda o, s: o.tell(3.0, 1.0), "tell takes a table"),
    "a list": (lambda o, s: o.tell([own()], 1.0), "tell takes a table"),
    "a table with an outcome": (lambda o, s: o.tell(history(), 1.0), "brings its own outcomes"),
    "out_of_bounds misspelt": (lambda o, s: o.tell(s, 1.0, out_of_bounds="ignore"), "'error' or 'keep'"),
    "no suggestions": (lambda o, s: o.ask(0), "from 1"),
    "half a suggestion": (lambda o, s: o.ask(1.5), "from 1"),
}


@pytest.mark.parametrize("case", BAD_TELLS)
def test_a_bad_call_is_told_and_changes_nothing(case):
    call, said = BAD_TELLS[case]
    optimizer = told()
    suggestion = optimizer.ask()
    before = optimizer.frame()
    with pytest.raises(BomiError, match=said):
        call(optimizer, suggestion)
    assert same(optimizer.frame(), before)
    optimizer.tell(suggestion, 150.0)  # and it can still be told


def test_a_suggestion_is_told_once():
    optimizer = told()
    suggestion = optimizer.ask()
    optimizer.tell(suggestion, 150.0)
    before = optimizer.frame()
    with pytest.raises(SuggestionError, match=f"suggestion '{suggestion.id}' has been told already"):
        optimizer.tell(suggestion, 151.0)
    assert same(optimizer.frame(), before)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "bomii"}, "the known ones are posterior, bomi, drop"),
        ({"goal": "best"}, r"must be 'maximize', 'minimize', \('target', value\)"),
        ({"goal": "target"}, "as in"),
        ({"goal": ("target", "high")}, "finite number"),
        ({"goal": ("target", math.nan)}, "finite number"),
        ({"objective": {"a": "maximize"}, "goal": "minimize"}, "its own goal"),
        ({"objective": {}}, "at least one"),
        ({"objective": {"a": "maximize", "time": "minimize"}}, "no parameter or column has"),
        ({"objective": {"a": "maximize", "a.sd": "minimize"}}, "no parameter or column has"),
        ({"objective": {"a": "maximize", "b": "minimize"}, "acquisition": "ucb-mi"}, "'ei'"),
        ({"objective": "time"}, "no parameter or column has"),
        ({"objective": ""}, "name"),
        ({"objective": "id"}, "name"),
        ({"objective": "asked.time"}, "name"),
        ({"seed": -1}, "from 0"),
        ({"seed": 1.5}, "from 0"),
        ({"seed": True}, "from 0"),
    ],
)
def test_what_cannot_be_an_optimizer_is_told(options, said):
    with pytest.raises(BomiError, match=said):
        make(**options)


def test_a_bad_space_is_told():
    with pytest.raises(BomiError, match=r"`low < high` must hold, but got \(low=3, high=1\)"):
        Optimizer({"x": (3, 1)})


def test_nothing_told_has_no_best():
    with pytest.raises(BomiError, match="no outcome"):
        make().best()
    assert len(make().gaps()) == 0
    assert len(make().frame()) == 0


# --- asking ---


def test_a_suggestion_is_a_mapping_with_an_id_and_a_prediction():
    suggestion = told().ask()
    assert isinstance(suggestion, Mapping)
    assert list(suggestion) == list(SPACE.names)
    assert len(suggestion) == 4
    assert dict(suggestion) == {**suggestion}
    assert suggestion == dict(suggestion)
    assert suggestion["quench"] in ("water", "oil", "air")
    assert isinstance(suggestion["passes"], int)
    assert isinstance(suggestion.id, str)
    assert math.isfinite(suggestion.predicted.mean)
    assert suggestion.predicted.sd > 0
    assert suggestion.note == ""
    assert f"id={suggestion.id!r}" in repr(suggestion)


def test_with_too_few_rows_it_fills_the_space_and_says_so():
    optimizer = told(method="drop")  # one of whose rows has an outcome and all its inputs
    suggestion = optimizer.ask()
    assert suggestion.note == "space-filling: method 'drop' needs 2 rows that it can use and has 1"
    assert suggestion.predicted is None
    optimizer.tell(suggestion, 150.0)
    assert optimizer.ask().note == ""


def test_space_filling_points_are_distinct_and_even():
    optimizer = one_d(method="bomi")
    places = sorted(s["x"] for s in optimizer.ask(8))
    assert [math.floor(8 * x) for x in places] == list(range(8))


@pytest.mark.parametrize("method", ["mean", "bomi", "ugp", "random"])
@pytest.mark.parametrize("count", [0, 6])
def test_a_batch_has_distinct_points(method, count):
    batch = one_d(count, method=method).ask(6)
    assert len({s["x"] for s in batch}) == 6
    assert len({s.id for s in batch}) == 6


@pytest.mark.parametrize("method", ["mean", "random"])
@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize("seed", range(5))
def test_a_batch_from_a_small_space_tries_every_point_once(method, rows, seed):
    optimizer = Optimizer({"n": bomi.Integer(1, 3), "c": ["x", "y"]}, method=method, seed=seed)
    for n in range(rows):
        optimizer.tell({"n": n + 1, "c": "x"}, float(n))
    batch = optimizer.ask(6)
    assert len({tuple(s.values()) for s in batch}) == 6
    before = optimizer.frame()
    for count in (None, 1, 2):
        with pytest.raises(SuggestionError, match="no setting of the space is left: 6 are pending"):
            optimizer.ask(count)
    optimizer.tell(batch[0], 1.0)
    with pytest.raises(SuggestionError, match="ask for fewer"):
        optimizer.ask(2)
    assert len(optimizer.frame()) == len(before)
    assert dict(optimizer.ask()) == dict(batch[0])  # the only one that is not pending


def test_a_batch_at_a_corner_optimum_has_distinct_points():
    optimizer = Optimizer({"a": (0, 1), "b": (0, 1)}, method="mean", seed=0)
    for a in np.linspace(0, 1, 5):
        for b in np.linspace(0, 1, 5):
            optimizer.tell({"a": a, "b": b}, a + b)
    batch = optimizer.ask(5)
    assert len({(s["a"], s["b"]) for s in batch}) == 5
    assert batch[0]["a"] > 0.9
    assert batch[0]["b"] > 0.9


def test_pending_points_are_avoided_after_a_restart_too():
    optimizer = one_d(5)
    first = optimizer.ask()
    restarted = one_d()
    restarted.tell(optimizer.frame())
    assert abs(restarted.ask()["x"] - first["x"]) > 1e-3


def test_the_clock_counts_what_was_asked(monkeypatch):
    seen = []
    beta = bomi.search.criteria.acquisition.beta

    def spy(t, dim, **options):
        seen.append((t, dim))
        return beta(t, dim, **options)

    monkeypatch.setattr(bomi.search.criteria.acquisition, "beta", spy)
    optimizer = told()
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.ask(2)
    restarted = make()
    restarted.tell(optimizer.frame())
    restarted.ask()
    assert list(dict.fromkeys(seen)) == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_it_finds_the_top_of_a_simple_function():
    optimizer = Optimizer({"a": (0, 1), "n": bomi.Integer(0, 10)}, method="mean", seed=1)
    for _ in range(25):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, -((suggestion["a"] - 0.3) ** 2) - (suggestion["n"] - 7) ** 2 / 50)
    best = optimizer.best()
    assert best.setting["n"] == 7
    assert best.setting["a"] == pytest.approx(0.3, abs=0.05)
    assert best.predicted.mean == pytest.approx(0, abs=0.01)


def test_any_seed_will_do():
    for seed in (0, 2**32, 2**63, 2**100, np.int64(3)):
        assert 0 <= one_d(seed=seed).ask()["x"] <= 1
    assert one_d(seed=None).seed != one_d(seed=None).seed


def test_other_seeds_give_other_points():
    assert one_d(seed=1).ask() != one_d(seed=2).ask()
    points = space_filling(bomi.Space({"x": (0, 1)}), 2, seed=1)
    assert points[0] != points[1]


# --- looking ---


def test_gaps_are_told_in_the_parameter_s_own_unit():
    optimizer = told(method="bomi")
    gaps = optimizer.gaps()
    places = [(1, "temperature"), (2, "time"), (2, "quench"), (3, "temperature"), (3, "passes"), (5, "time")]
    assert sorted(zip(gaps["row"], gaps["parameter"], strict=True)) == sorted(places)
    for _, gap in gaps[gaps["parameter"] != "quench"].iterrows():
        parameter = SPACE.parameters[gap["parameter"]]
        assert parameter.low <= gap["5 %"] <= gap["50 %"] <= gap["95 %"] <= parameter.high
        assert gap["sd"] >= 0
    stated = gaps[(gaps["row"] == 3) & (gaps["parameter"] == "temperature")].iloc[0]
    assert stated["mean"] == pytest.approx(300, abs=45)  # told as 300±15


def test_gaps_of_rows_left_out_have_no_numbers():
    gaps = told(method="drop").gaps()
    assert gaps[gaps["row"] == 1]["mean"].isna().all()


def test_the_frame_is_taken_back_exactly():
    optimizer = told()
    optimizer.tell(optimizer.ask(), 1.0, actual={"time": None, "temperature": "290..310"})
    optimizer.ask()
    restarted = make()
    restarted.tell(optimizer.frame())
    assert same(restarted.frame(), optimizer.frame())


def test_the_frame_survives_a_csv(tmp_path):
    optimizer = told()
    optimizer.tell(optimizer.ask(), 1.0, actual={"time": None, "temperature": "290..310"})
    optimizer.ask()
    optimizer.frame().to_csv(tmp_path / "experiments.csv", index=False)
    restarted = make()
    restarted.tell(pd.read_csv(tmp_path / "experiments.csv"))
    assert restarted.observations.rows == optimizer.observations.rows
    assert restarted.ask() == restarted_from(optimizer).ask()


def restarted_from(optimizer):
    restarted = make()
    restarted.tell(optimizer.frame())
    return restarted


def test_best_is_the_worlds_best_beside_the_best_seen():
    optimizer = one_d(12)
    optimizer.tell({"x": None}, 3.0)
    best = optimizer.best()
    assert best.seen == 3.0
    assert not best.seen_known
    assert dict(best.seen_at) == {"x": None}
    assert 0 <= best.setting["x"] <= 1


def test_best_without_a_model_is_the_best_row():
    optimizer = one_d(method="random")
    optimizer.tell({"x": 0.2}, 1.0)
    best = optimizer.best()
    assert (dict(best.setting), best.predicted, best.note) == ({"x": 0.2}, None, "no model: the best row seen")
    optimizer.tell({"x": None}, 2.0)
    assert optimizer.best().setting is None


# --- loading ---


@pytest.mark.parametrize(
    "code", ["import bomi", "import bomi; bomi.Space; bomi.Normal(1, 1)", "import bomi.data.reading, bomi.results"]
)
def test_the_spreadsheet_side_does_not_load_torch(code):
    check = "import sys; assert not {'torch', 'botorch', 'gpytorch', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", f"{code}; {check}"], check=True)


def test_what_the_package_offers_is_there():
    for name in bomi.__all__:
        assert getattr(bomi, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = bomi.nothing


# --- where nothing better comes ---


def drawn_in(best, *, asked=10, outcomes=1):
    """Whether the upper tail of 40 rows' outcome is drawn in; row `best` is the best, the last ones were asked for."""
    table = pd.DataFrame(np.random.default_rng(0).random((40, 2)), columns=["a", "b"])
    values = np.exp(8 * (1 - abs(table.a - 0.5) - abs(table.b - 0.5)))
    values[best] = 2 * values.max()
    later = table.index >= len(table) - asked
    table["asked.a"], table["asked.b"] = table.a.where(later), table.b.where(later)
    names = [f"y{j}" for j in range(outcomes)]
    table = table.assign(**dict.fromkeys(names, values))
    optimizer = Optimizer({"a": (0, 1), "b": (0, 1)}, objective=dict.fromkeys(names, "maximize"), seed=0)
    optimizer.tell(table)
    transform = optimizer.learned("y0")[1]
    return transform.warp > 0 and transform.origin != "best"


def test_spikes_are_drawn_in_until_nothing_better_comes():
    assert drawn_in(best=39)
    assert drawn_in(best=36)
    assert not drawn_in(best=35)  # none of the 2p rows since was better
    assert drawn_in(best=35, asked=3)  # older rows are no search that got stuck
    assert drawn_in(best=35, outcomes=2)


def test_the_log_tells_a_careful_user_of_fallbacks_and_transforms(caplog):
    caplog.set_level("INFO", logger="bomi")
    optimizer = Optimizer({"x": (0, 1)}, seed=0)
    optimizer.ask()
    assert [record.message for record in caplog.records] == [
        "space-filling: method 'posterior' needs 2 rows that it can use and has 0"
    ]
    caplog.clear()
    for x in np.linspace(0, 1, 9):
        optimizer.tell({"x": x}, x)
    optimizer.best()
    for x in (0.15, 0.35, 0.55):
        optimizer.tell({"x": x}, -(10.0 ** (20 * x)))
    optimizer.best()
    assert any(record.message.startswith("after 12 rows outcomes are warped by") for record in caplog.records)
