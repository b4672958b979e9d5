"""The sampler against an optimizer told by hand, through every way in which a trial can have gaps."""

import copy
import json
import math
import os
import pickle

import pytest

if os.environ.get("BOMI_REQUIRE_ALL") != "1":
    pytest.importorskip("optuna", reason="these tests need bomi[optuna]")
import numpy as np
import optuna
import pandas as pd
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import bomi
from bomi.errors import MethodError, StudyError
from bomi.integrations.optuna import (
    ACTUAL,
    GAVE_NOTHING,
    BomiSampler,
    actual_figure,
    actual_frame,
    record_actual,
)

DISTRIBUTIONS = {
    "temperature": FloatDistribution(20, 400),
    "time": FloatDistribution(60, 21600, log=True),
    "passes": IntDistribution(1, 8),
    "quench": CategoricalDistribution(["water", "oil", "air"]),
}
SPACE = {
    "temperature": (20.0, 400.0),
    "time": bomi.Real(60, 21600, log=True),
    "passes": bomi.Integer(1, 8),
    "quench": ["water", "oil", "air"],
}
HISTORY = [  # a parameter that a row does not name is a gap
    ({"temperature": 100.0, "time": 600.0, "passes": 2, "quench": "oil"}, 1.0),
    ({"time": 6000.0, "passes": 3, "quench": "air"}, 2.5),
    ({"temperature": 300.0, "passes": 4, "quench": "water"}, 3.0),
    ({"temperature": 200.0, "time": 3000.0, "quench": "water"}, 3.5),
    ({"temperature": 250.0, "time": 900.0, "passes": 5}, 2.0),
]


pytestmark = pytest.mark.usefixtures("quiet")


def study_of(history=(), sampler=None, **settings):
    study = optuna.create_study(direction="maximize", sampler=sampler or BomiSampler(seed=0), **settings)
    for params, value in history:
        study.add_trial(
            create_trial(params=params, distributions={name: DISTRIBUTIONS[name] for name in params}, value=value)
        )
    return study


def told(history):
    frame = pd.DataFrame([{**params, "value": value} for params, value in history]).astype(object)
    for name in SPACE:
        frame["asked." + name] = frame[name]
    return frame


def test_the_search_space_is_the_union_although_every_parameter_is_missing_somewhere():
    study = study_of(HISTORY[1:])
    trial = study.ask()
    assert set(optuna.search_space.intersection_search_space(study.trials)) == set()  # what others would be left with
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert space == DISTRIBUTIONS
    for name, distribution in DISTRIBUTIONS.items():
        trial._suggest(name, distribution)
    assert set(trial.params) == set(DISTRIBUTIONS)


def test_it_suggests_what_an_optimizer_told_the_same_rows_by_hand_does():
    study = study_of(HISTORY, sampler=BomiSampler(seed=3))
    trial = study.ask(DISTRIBUTIONS)
    seed = int(np.random.SeedSequence([3, trial.number]).generate_state(1)[0])
    optimizer = bomi.Optimizer(SPACE, objective="value", seed=seed)
    optimizer.tell(told(HISTORY))
    assert trial.params == dict(optimizer.ask())


def test_direction_minimize_looks_for_the_least():
    study = optuna.create_study(sampler=BomiSampler(seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", -5, 5) - 1) ** 2, n_trials=12)
    assert study.best_value < 0.01


def test_what_really_happened_is_what_the_optimizer_hears():
    study = study_of()
    trial = study.ask(DISTRIBUTIONS)
    record_actual(trial, {"temperature": None, "time": 912.0})
    record_actual(trial, {"passes": "2..4", "quench": "air"})  # adds to the first record
    study.tell(trial, 7.0)
    other = study.ask(DISTRIBUTIONS)
    record_actual(other, {"temperature": bomi.Normal(300, 15), "time": np.float64(30000)})  # beyond its bounds
    study.tell(other, 8.0)
    assert study.trials[0].user_attrs == {
        ACTUAL: {"temperature": None, "time": 912.0, "passes": "2..4", "quench": "air"}
    }
    frame = study.sampler.optimizer(study).frame().set_index("id")
    assert frame.loc["0", ["time", "passes", "quench", "value"]].tolist() == [912.0, "2..4", "air", 7.0]
    assert frame.loc["1", ["temperature", "time"]].tolist() == ["300±15", 30000.0]
    assert pd.isna(frame.loc["0", "temperature"])
    for name in DISTRIBUTIONS:
        assert frame.loc["0", "asked." + name] == trial.params[name]


@pytest.mark.parametrize("url", ["sqlite:///{}/study.db", "journal"])
def test_the_record_survives_any_storage(url, tmp_path):
    def storage():
        if url == "journal":
            backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal.log"))
            return optuna.storages.JournalStorage(backend)
        return url.format(tmp_path)

    study = study_of(storage=storage(), study_name="s")
    trial = study.ask(DISTRIBUTIONS)
    record_actual(trial, {"temperature": None, "time": "900±60"})
    study.tell(trial, 1.0)
    again = optuna.load_study(study_name="s", storage=storage())
    assert json.loads(json.dumps(again.trials[0].user_attrs[ACTUAL])) == {"temperature": None, "time": "900±60"}
    pd.testing.assert_frame_equal(actual_frame(again), actual_frame(study))


def test_a_trial_can_be_recorded_by_its_number_from_another_process(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    study_of(storage=url, study_name="s").ask(DISTRIBUTIONS)
    again = optuna.load_study(study_name="s", storage=url, sampler=BomiSampler(seed=0))
    record_actual(0, {"temperature": None}, study=again)
    again.tell(0, 5.0)
    assert actual_frame(again).loc[0, "gap.temperature"]
    with pytest.raises(StudyError, match=r"study 's' has no trial 7"):
        record_actual(7, {}, study=again)


def test_a_record_that_cannot_be_made_says_why():
    study = study_of()
    trial = study.ask(DISTRIBUTIONS)
    with pytest.raises(StudyError, match=r"trial 0 has no parameter 'heat'; it has temperature, time, passes"):
        record_actual(trial, {"heat": 1})
    with pytest.raises(StudyError, match=r"trial 0, parameter 'passes': expected a whole number, but got 2.5"):
        record_actual(trial, {"passes": 2.5})
    with pytest.raises(
        StudyError, match=r"trial 0, parameter 'quench': expected one of 'water', 'oil', 'air', but got 'brine'"
    ):
        record_actual(trial, {"quench": "brine"})
    with pytest.raises(StudyError, match=r"a mapping of parameter to value, but got 3"):
        record_actual(trial, 3)
    assert study.trials[0].user_attrs == {}
    study.tell(trial, 1.0)
    with pytest.raises(StudyError, match=r"trial 0 is finished.*call record_actual before study.tell"):
        record_actual(trial, {"temperature": None})
    with pytest.raises(StudyError, match=r"takes a running trial.*but got FrozenTrial"):
        record_actual(study.trials[0], {"temperature": None})  # Optuna would change this copy and say nothing


def test_old_experiments_may_be_known_roughly():
    study = study_of(HISTORY[:1])
    study.add_trial(
        create_trial(
            params={"passes": 3},
            distributions={"passes": DISTRIBUTIONS["passes"]},
            user_attrs={ACTUAL: {"temperature": "150±8", "quench": "oil"}},
            value=2.0,
        )
    )
    row = study.sampler.optimizer(study).observations.done[1]
    assert row.recorded == {"temperature": bomi.Normal(150, 8), "time": None, "passes": 3, "quench": "oil"}
    assert row.asked == {"passes": 3}


def test_a_trial_that_is_repeated_for_a_lost_worker_does_not_inherit_its_record():
    study = study_of(HISTORY)
    params = {name: HISTORY[0][0][name] for name in DISTRIBUTIONS}
    study.add_trial(
        create_trial(
            state=TrialState.WAITING,
            params=params,
            distributions=DISTRIBUTIONS,
            user_attrs={ACTUAL: {"temperature": None}, GAVE_NOTHING: True},
        )
    )
    assert actual_frame(study)["value"].tolist()[-1:] != ["failed"]  # it is yet to be made
    trial = study.ask()
    assert trial.params == params
    assert trial.user_attrs[ACTUAL] == study.trials[-1].user_attrs[ACTUAL] == {}
    assert study.sampler.optimizer(study).observations.pending[0].id == str(trial.number)


def test_trials_that_do_not_fit_the_search_space_say_which():
    for distribution, message in (
        (CategoricalDistribution(["brine", "air"]), "trial 0, parameter 'quench': expected one of 'brine', 'air', but"),
        (FloatDistribution(0, 1), "trial 0, parameter 'quench': expected a number, .* but got 'oil'"),
    ):
        study = study_of(HISTORY, sampler=BomiSampler({"quench": distribution}))
        with pytest.raises(StudyError, match=message):
            study.ask({"quench": distribution})


def test_a_sampler_that_cannot_be_made_says_why():
    with pytest.raises(MethodError, match="unknown method 'best'"):
        BomiSampler(method="best")
    with pytest.raises(StudyError, match="parameter 'x' needs one of Optuna's distributions, but got"):
        BomiSampler({"x": (0, 1)})
    study = study_of()
    with pytest.raises(StudyError, match="has no parameters to learn about yet"):
        study.sampler.optimizer(study)


def test_running_trials_are_pending_experiments():
    study = study_of(HISTORY)
    running = [study.ask(DISTRIBUTIONS) for _ in range(3)]
    optimizer = study.sampler.optimizer(study)
    assert [row.id for row in optimizer.observations.pending] == ["5", "6", "7"]
    assert [dict(row.asked) for row in optimizer.observations.pending] == [trial.params for trial in running]
    places = [optimizer.space.to_unit(trial.params) for trial in running]
    apart = [np.abs(a - b).max() for i, a in enumerate(places) for b in places[:i]]
    assert min(apart) > 0.01


def test_failed_and_pruned_trials_and_infinite_outcomes_teach_nothing():
    study = study_of(HISTORY)
    before = study.sampler.optimizer(study).frame()
    study.tell(study.ask(DISTRIBUTIONS), state=TrialState.FAIL)
    study.tell(study.ask(DISTRIBUTIONS), state=TrialState.PRUNED)
    study.tell(study.ask(DISTRIBUTIONS), math.inf)
    study.enqueue_trial({"temperature": 100.0})
    pd.testing.assert_frame_equal(study.sampler.optimizer(study).frame(), before)
    assert actual_frame(study)["state"].tolist() == ["COMPLETE"] * 5 + ["FAIL", "PRUNED", "COMPLETE", "WAITING"]


def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    y = trial.suggest_int("y", 1, 100, log=True)
    if trial.number % 3 == 1:
        record_actual(trial, {"x": None})
    return -((x - 0.3) ** 2) - math.log(y / 20) ** 2


def test_a_seed_repeats_a_study_also_after_a_restart_from_its_storage(tmp_path):
    whole = study_of(sampler=BomiSampler(seed=4))
    whole.optimize(objective, n_trials=5)
    for count in (3, 2):
        url = f"sqlite:///{tmp_path}/study.db"
        study = optuna.create_study(
            study_name="s", storage=url, direction="maximize", load_if_exists=count < 3, sampler=BomiSampler(seed=4)
        )
        study.optimize(objective, n_trials=count)
    assert [trial.params for trial in study.trials] == [trial.params for trial in whole.trials]
    other = study_of(sampler=BomiSampler(seed=5))
    other.optimize(objective, n_trials=1)
    assert other.trials[0].params != whole.trials[0].params


@pytest.mark.parametrize("again", [copy.deepcopy, lambda sampler: pickle.loads(pickle.dumps(sampler))])
def test_a_copy_of_the_sampler_is_as_good_and_small(again):
    study = study_of(HISTORY, sampler=BomiSampler(seed=1))
    sampler = again(study.sampler)
    assert len(pickle.dumps(study.sampler)) < 1000
    trial = study.ask(DISTRIBUTIONS)
    study.tell(trial, state=TrialState.FAIL)
    frozen = study.trials[-1]
    assert sampler.sample_relative(study, frozen, DISTRIBUTIONS) == trial.params


def test_threads_share_one_sampler():
    study = study_of(sampler=BomiSampler(method="suggest", seed=0))
    study.optimize(objective, n_trials=8, n_jobs=2)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 8
    assert len({tuple(trial.params.values()) for trial in study.trials}) > 4  # two at one moment may choose alike


def test_workers_with_one_seed_that_see_the_same_trials_ask_for_different_points():
    study = study_of(HISTORY)
    first, second = (
        study.sampler.sample_relative(study, study.trials[number], DISTRIBUTIONS)
        for number in (study._storage.create_new_trial(study._study_id) for _ in range(2))
    )
    assert first != second


def test_more_workers_than_settings_repeat_some():
    study = study_of()
    space = {"x": CategoricalDistribution(["a", "b", "c"])}
    asked = [study.ask(space).params["x"] for _ in range(6)]
    assert set(asked[:3]) == {"a", "b", "c"}  # each before any again
    assert set(asked[3:]) <= {"a", "b", "c"}


def test_what_the_search_space_does_not_hold_is_drawn_at_random():
    space = {"x": FloatDistribution(0, 1), "fixed": CategoricalDistribution(["only"])}
    study = optuna.create_study(sampler=BomiSampler(space, seed=0))
    for _ in range(3):
        trial = study.ask()
        trial.suggest_float("x", 0, 1)
        assert trial.suggest_categorical("fixed", ["only"]) == "only"
        assert 5 <= trial.suggest_int("new", 5, 9) <= 9
        study.tell(trial, 1.0)
    assert study.sampler.optimizer(study).space.names == ("x",)


def test_a_range_that_changes_takes_the_latest_and_keeps_old_values():
    study = study_of()
    for high in (10, 20):
        trial = study.ask()
        trial.suggest_float("x", 0, high)
        study.tell(trial, 1.0)
    study.add_trial(create_trial(params={"x": 25.0}, distributions={"x": FloatDistribution(0, 30)}, value=0.0))
    study.add_trial(create_trial(params={"x": 2.0}, distributions={"x": FloatDistribution(0, 5)}, value=0.0))
    optimizer = study.sampler.optimizer(study)
    assert optimizer.space == bomi.Space({"x": (0.0, 5.0)})
    assert optimizer.frame()["x"].tolist() == [trial.params["x"] for trial in study.trials]
    assert 0 <= optimizer.ask()["x"] <= 5


@pytest.mark.parametrize("choices", [(None, "a"), (1, "1", True), ("?", "NA", ""), (0.5, 2, False)])
def test_every_choice_that_optuna_takes_can_be_told_and_suggested(choices):
    study = study_of()
    distribution = CategoricalDistribution(choices)
    for choice in choices:
        study.add_trial(create_trial(params={"x": choice}, distributions={"x": distribution}, value=1.0))
    trial = study.ask({"x": distribution})
    assert any(trial.params["x"] is choice for choice in choices)
    assert [row.recorded["x"] is None for row in study.sampler.optimizer(study).observations.done] == [False] * len(
        choices
    )
    assert actual_frame(study)["gap.x"].sum() == 0


def two_outcomes(history=HISTORY, **settings):
    """The history with a second outcome beside the first."""
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=BomiSampler(seed=3), **settings)
    for params, value in history:
        distributions = {name: DISTRIBUTIONS[name] for name in params}
        study.add_trial(create_trial(params=params, distributions=distributions, values=[value, value**2]))
    return study


def test_several_objectives_are_several_outcomes_told_by_hand():
    study = two_outcomes()
    running = study.ask(DISTRIBUTIONS)
    trial = study.ask(DISTRIBUTIONS)
    seed = int(np.random.SeedSequence([3, trial.number]).generate_state(1)[0])
    optimizer = bomi.Optimizer(SPACE, objective={"value_0": "maximize", "value_1": "minimize"}, seed=seed)
    frame = told(HISTORY).rename(columns={"value": "value_0"}).assign(value_1=[value**2 for _, value in HISTORY])
    optimizer.tell(frame)
    optimizer.tell(pd.DataFrame([{**running.params, "value_0": None, "value_1": None}]))
    assert trial.params == dict(optimizer.ask())


def test_several_objectives_in_the_frame_the_optimizer_and_pending_trials():
    study = two_outcomes()
    trial = study.ask(DISTRIBUTIONS)
    record_actual(trial, {"temperature": None})
    study.tell(trial, (4.0, 0.5))
    study.ask(DISTRIBUTIONS)
    frame = actual_frame(study)
    assert frame.columns.tolist()[:5] == ["number", "state", "value_0", "value_1", "temperature"]
    assert frame.loc[5, ["value_0", "value_1", "gap.temperature"]].tolist() == [4.0, 0.5, True]
    assert frame.loc[6, ["value_0", "value_1"]].isna().all()
    optimizer = study.sampler.optimizer(study)
    assert [objective.wish for objective in optimizer.objectives] == ["maximize value_0", "minimize value_1"]
    assert [row.id for row in optimizer.observations.pending] == ["6"]
    assert dict(optimizer.observations.done[5].outcomes) == {"value_0": 4.0, "value_1": 0.5}
    again = bomi.Optimizer(SPACE, objective={"value_0": "maximize", "value_1": "minimize"}, seed=0)
    again.tell(frame[frame["state"] == "COMPLETE"])
    assert [row.outcomes for row in again.observations.done] == [row.outcomes for row in optimizer.observations.done]
    assert actual_figure(study).data


def test_trials_of_several_objectives_spread_along_the_trade_off():
    def objective(trial):
        x = trial.suggest_float("x", -2, 4)
        if trial.number % 4 == 3:
            record_actual(trial, {"x": None})
        return x**2, (x - 2) ** 2

    study = optuna.create_study(directions=["minimize", "minimize"], sampler=BomiSampler(seed=0))
    study.optimize(objective, n_trials=8)
    best = sorted(trial.params["x"] for trial in study.best_trials)  # what no other beats lies between 0 and 2
    assert len(best) >= 5  # of random ones a third
    assert max(np.diff([0.0, *best, 2.0])) < 0.6
    front = study.sampler.optimizer(study).best()
    assert len(front) > 1
    assert all(-0.2 < choice.setting["x"] < 2.2 for choice in front)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_outcomes_have_the_metric_names_of_the_study():
    study = two_outcomes()
    study.set_metric_names(["yield", "time"])  # a parameter is called time
    assert study.sampler.optimizer(study).outcomes == ("yield", "time_")
    assert actual_frame(study).columns.tolist()[2:4] == ["yield", "time_"]
    study.set_metric_names(["state", "id"])
    assert actual_frame(study).columns.tolist()[:4] == ["number", "state_", "state", "id_"]


def test_of_an_infinite_outcome_the_others_are_learned_from():
    study = two_outcomes()
    study.tell(study.ask(DISTRIBUTIONS), (math.inf, 2.0))
    study.tell(study.ask(DISTRIBUTIONS), (math.inf, -math.inf))
    rows = study.sampler.optimizer(study).observations.rows
    assert [dict(row.outcomes) for row in rows[5:]] == [{"value_1": 2.0}]


@pytest.mark.parametrize("make", [study_of, two_outcomes])
def test_a_trial_recorded_as_failed_teaches_as_a_failure_however_it_ends(make):
    study = make(HISTORY)
    outcomes = study.sampler.optimizer(study).outcomes
    for state in (TrialState.FAIL, TrialState.PRUNED):
        trial = study.ask(DISTRIBUTIONS)
        record_actual(trial, {"temperature": None}, failed=True)
        study.tell(trial, state=state)
    trial = study.ask(DISTRIBUTIONS)
    record_actual(trial.number, failed=True, study=study)
    study.tell(trial, [-1e9] * len(outcomes))  # a penalty is not an outcome
    study.tell(study.ask(DISTRIBUTIONS), state=TrialState.FAIL)  # of this one nobody has said why
    optimizer = study.sampler.optimizer(study)
    assert [row.id for row in optimizer.observations.rows if row.failed] == ["5", "6", "7"]
    assert [row.id for row in optimizer.observations.done] == ["0", "1", "2", "3", "4"]
    assert optimizer.observations.rows[5].recorded["temperature"] is None
    frame = actual_frame(study)
    for name in outcomes:
        assert frame[name].tolist()[5:8] == ["failed"] * 3
        assert pd.isna(frame.loc[8, name])
    again = bomi.Optimizer(SPACE, objective=dict.fromkeys(outcomes, "maximize"), seed=0)
    again.tell(frame[(frame["state"] == "COMPLETE") | (frame[outcomes[0]] == "failed")])
    assert sum(row.failed for row in again.observations.rows) == 3


def test_where_trials_are_recorded_as_failed_fewer_are_asked_for():
    def asked(say):
        def objective(trial):
            x = trial.suggest_float("x", 0, 1)
            if x > 0.5:  # the outcome would be best just where nothing can be measured
                if say:
                    record_actual(trial, failed=True)
                raise optuna.TrialPruned
            return x

        study = study_of(sampler=BomiSampler({"x": FloatDistribution(0, 1)}, seed=1))
        study.optimize(objective, n_trials=15)
        return sum(trial.params["x"] > 0.5 for trial in study.trials)

    assert asked(say=True) < 0.6 * asked(say=False)


def test_the_frame_has_asked_recorded_and_gap_columns_and_can_be_told():
    study = study_of(HISTORY)
    trial = study.ask(DISTRIBUTIONS)
    record_actual(trial, {"temperature": None, "time": 70.0})
    study.tell(trial, 4.0)
    frame = actual_frame(study)
    parts = [[name, "asked." + name, "gap." + name] for name in ("temperature", "time", "passes", "quench")]
    assert frame.columns.tolist() == ["number", "state", "value", *(name for part in parts for name in part)]
    assert frame["gap.temperature"].tolist() == [False, True, False, False, False, True]
    assert frame["gap.time"].tolist() == [False, False, True, False, False, False]
    assert frame.loc[5, ["time", "asked.time"]].tolist() == [70.0, trial.params["time"]]
    optimizer = bomi.Optimizer(SPACE, objective="value", seed=0)
    optimizer.tell(frame[frame["state"] == "COMPLETE"])
    assert len(optimizer.observations.done) == 6
    assert dict(optimizer.observations.done[5].asked) == trial.params


def test_parameters_may_have_the_names_of_the_columns():
    study = study_of()
    trial = study.ask({name: FloatDistribution(0, 1) for name in ("value", "state")})
    study.tell(trial, 3.0)
    assert actual_frame(study).columns.tolist()[:3] == ["number", "state_", "value_"]
    assert study.ask({name: FloatDistribution(0, 1) for name in ("value", "state")}).params.keys() == {"value", "state"}
    study = study_of()
    study.tell(study.ask({"value.sd": FloatDistribution(0, 1)}), 3.0)  # what our tables call an outcome's error
    assert study.sampler.optimizer(study).outcomes == ("value_",)


def test_the_figure_shows_every_value_once_and_its_bars_are_the_gaps():
    study = study_of(HISTORY)
    trial = study.ask(DISTRIBUTIONS)
    record_actual(trial, {"temperature": None, "time": 70.0, "quench": None})
    study.tell(trial, 4.0)
    figure = actual_figure(study)
    shown = {}
    for trace in figure.data:
        shown.setdefault(trace.name, []).extend(zip(trace.x, trace.y, strict=True))
    assert {name: len(points) for name, points in shown.items()} == {
        "as asked": 4 * 5 - 4 + 1,
        "otherwise": 1,
        "unknown": 4 + 2,
        "what was asked": 3,
    }
    assert shown["otherwise"] == [(5, 70.0)]
    gaps = BomiSampler(seed=0).optimizer(study).gaps()
    row = gaps[(gaps["row"] == 5) & (gaps["parameter"] == "temperature")].iloc[0]
    (bar,) = (t for t in figure.data if t.name == "unknown" and t.yaxis == "y")
    place = list(bar.x).index(5)
    assert bar.y[place] == pytest.approx(row["50 %"])
    assert bar.y[place] + bar.error_y.array[place] == pytest.approx(row["95 %"])
    assert bar.y[place] - bar.error_y.arrayminus[place] == pytest.approx(row["5 %"])
    assert [trace.name for trace in figure.data if trace.showlegend] == list(shown)


# --- fixed values ----------------------------------------------------------------------------------------------------

OVENS = {"temperature": FloatDistribution(120, 240), "oven": CategoricalDistribution(["large", "small"])}


def two_ovens(**more):
    """The small oven is best at 150, the large one at 220."""
    study = study_of(sampler=BomiSampler(seed=0, **more))
    for k, temperature in enumerate(np.linspace(125, 235, 16)):
        oven = ["large", "small"][k % 2]
        value = -(((temperature - (150 if oven == "small" else 220)) / 20) ** 2)
        params = {"temperature": float(temperature), "oven": oven}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=OVENS, value=value))
    return study


@pytest.mark.parametrize(("oven", "best"), [("small", 150), ("large", 220)])
@pytest.mark.parametrize("space", [None, OVENS])
def test_an_enqueued_value_is_kept_and_the_rest_goes_with_it(oven, best, space):
    study = two_ovens(search_space=space)
    study.enqueue_trial({"oven": oven})
    trial = study.ask(OVENS)
    assert trial.params["oven"] == oven
    assert abs(trial.params["temperature"] - best) < 20


@pytest.mark.parametrize(("oven", "best"), [("small", 150), ("large", 220)])
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_partial_fixed_sampler_fixes_what_the_model_knows_of(oven, best):
    study = two_ovens()
    study.sampler = optuna.samplers.PartialFixedSampler({"oven": oven}, study.sampler)
    trial = study.ask(OVENS)
    assert trial.params["oven"] == oven
    assert abs(trial.params["temperature"] - best) < 20


def test_a_trial_that_is_fixed_altogether_is_left_as_it_is():
    study = two_ovens()
    study.enqueue_trial({"oven": "small", "temperature": 200.0})
    assert study.ask(OVENS).params == {"oven": "small", "temperature": 200.0}


@pytest.mark.filterwarnings("ignore:Fixed parameter temperature")
def test_a_fixed_value_outside_the_space_is_no_obstacle():
    study = two_ovens()
    study.enqueue_trial({"temperature": 500.0})
    assert study.ask(OVENS).params["oven"] in ("large", "small")
