"""The sampler at the edges of Optuna: constraints, odd names and choices, workers that die."""

import math
import os
from datetime import datetime, timedelta

import pytest

if os.environ.get("BOMI_REQUIRE_ALL") != "1":
    pytest.importorskip("optuna", reason="these tests need bomi[optuna]")
import optuna
from optuna.distributions import FloatDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from bomi.errors import StudyError
from bomi.integrations.optuna import BomiSampler, actual_figure, actual_frame, record_actual

QUICK = {"method": "mean", "seed": 0}


pytestmark = pytest.mark.usefixtures("quiet")


# --- constraints ---


def half_plane(trial):
    """Best at (1, 1), but feasible only where x + y <= 0.8."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.set_constraint("sum", x + y - 0.8)
    return x + y


def test_constraints_are_learned_from():
    study = optuna.create_study(direction="maximize", sampler=BomiSampler(seed=0))
    study.optimize(half_plane, n_trials=20)
    feasible = [trial.constraints["sum"] <= 0 for trial in study.trials]
    assert study.best_value > 0.79
    assert all(abs(trial.constraints["sum"]) < 0.2 for trial in study.trials[10:])  # without them it would be 1.2
    assert (actual_frame(study)["value"] == "failed").tolist() == [not fine for fine in feasible]
    best = study.sampler.optimizer(study).best()
    assert 0.79 < best.setting["x"] + best.setting["y"] <= 0.8
    assert best.seen_row == study.best_trial.number
    assert best.predicted["constraint sum"].mean == pytest.approx(sum(best.setting.values()) - 0.8, abs=0.005)


def test_a_small_feasible_corner_is_found():
    def corner(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_constraint("corner", math.hypot(x - 0.97, y - 0.03) - 0.06)
        return y

    study = optuna.create_study(direction="maximize", sampler=BomiSampler(seed=0))
    study.optimize(corner, n_trials=20)
    feasible = [trial.number for trial in study.trials if trial.constraints["corner"] <= 0]
    assert len(feasible) >= 3  # of 0.5 % of the space


def test_the_function_of_optunas_own_samplers_is_taken():
    sampler = BomiSampler(**QUICK, constraints_func=lambda trial: (trial.params["x"] - 0.5, -1.0))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=6)
    assert [trial.constraints for trial in study.trials] == [
        {"0": trial.params["x"] - 0.5, "1": -1.0} for trial in study.trials
    ]
    assert study.best_value <= 0.5


def test_constraints_and_several_objectives_go_together():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("small", x - 0.5)
        record_actual(trial, {"x": None} if trial.number == 3 else {})
        return x, (x - 1) ** 2

    study = optuna.create_study(directions=["maximize", "minimize"], sampler=BomiSampler(**QUICK))
    study.optimize(objective, n_trials=8)
    assert max(trial.params["x"] for trial in study.best_trials) > 0.48
    assert sum(trial.params["x"] > 0.6 for trial in study.trials) <= 2


def test_a_method_that_never_learns_knows_no_constraints():
    study = optuna.create_study(sampler=BomiSampler(method="random", seed=0))
    study.optimize(half_plane, n_trials=4)
    plain = optuna.create_study(sampler=BomiSampler(method="random", seed=0))
    plain.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1), n_trials=4)
    assert [trial.params for trial in study.trials] == [trial.params for trial in plain.trials]


# --- names and choices ---


def test_parameters_may_have_any_name():
    names = ["id", "id_", "asked.x", "exclude", "x", " "]
    study = optuna.create_study(sampler=BomiSampler(**QUICK))
    study.optimize(lambda trial: sum(trial.suggest_float(name, 0, 1) for name in names), n_trials=6)
    assert all(set(trial.params) == set(names) for trial in study.trials)
    columns = ["id__", "id_", "_asked.x", "exclude_", "x", "_ "]
    optimizer = study.sampler.optimizer(study)
    assert list(optimizer.space.names) == columns
    assert optimizer.observations.rows[3].recorded == dict(
        zip(columns, (study.trials[3].params[name] for name in names), strict=True)
    )
    assert set(columns) <= set(actual_frame(study).columns)


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution:UserWarning")
@pytest.mark.parametrize("storage", [None, "sqlite:///{}/study.db"])
def test_a_choice_may_be_nan(tmp_path, storage):
    def objective(trial):
        chosen = trial.suggest_categorical("depth", [math.nan, 3.0, "deep"])
        record_actual(trial, {"depth": chosen if trial.number else None})
        return 1.0 if chosen != chosen else 0.0

    storage = storage and storage.format(tmp_path)
    study = optuna.create_study(direction="maximize", sampler=BomiSampler(**QUICK), storage=storage)
    study.optimize(objective, n_trials=8)
    assert sum(trial.value for trial in study.trials) >= 3
    recorded = [row.recorded["depth"] for row in study.sampler.optimizer(study).observations.rows]
    assert recorded[0] is None
    assert recorded[1:] == [
        "nan" if trial.value else str(trial.params["depth"]).removesuffix(".0") for trial in study.trials[1:]
    ]
    with pytest.raises(StudyError, match=r"expected one of nan, 3\.0, 'deep'"):
        record_actual(study.ask({"depth": study.trials[0].distributions["depth"]}), {"depth": "low"})


# --- workers that die ---


def running_since(number, start):
    kind = {"x": FloatDistribution(0, 1)}
    return FrozenTrial(number, TrialState.RUNNING, None, start, None, {"x": 0.5}, kind, {}, {}, {}, number)


def test_a_dead_workers_trial_does_not_stay_pending_for_ever(tmp_path):
    storage = JournalStorage(JournalFileBackend(str(tmp_path / "journal")))  # which has no heartbeats
    study = optuna.create_study(storage=storage, sampler=BomiSampler(**QUICK))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    for ago in (timedelta(minutes=1), timedelta(hours=1)):
        study.add_trial(running_since(len(study.trials), datetime.now() - ago))
    pending = [row.id for row in study.sampler.optimizer(study).observations.pending]
    assert pending == ["3"]


def test_trials_are_awaited_as_long_as_nobody_knows_how_long_they_take():
    study = optuna.create_study(sampler=BomiSampler(**QUICK))
    study.add_trial(running_since(0, datetime.now() - timedelta(days=30)))
    assert len(study.sampler.optimizer(study).observations.pending) == 1


# --- the dashboard ---


def test_the_figure_says_which_inputs_of_the_best_trial_are_unknown():
    def objective(trial):
        total = trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1)
        if trial.number == 2:
            record_actual(trial, {"y": None})
        return 5.0 if trial.number == 2 else total

    study = optuna.create_study(direction="maximize", sampler=BomiSampler(**QUICK))
    study.optimize(objective, n_trials=4)
    assert actual_figure(study).layout.title.text == "Best is trial 2, with y unknown"
    study.optimize(lambda trial: 9 + trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1), n_trials=1)
    assert actual_figure(study).layout.title.text == "Best is trial 4, all inputs known"
