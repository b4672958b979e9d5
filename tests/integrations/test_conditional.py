"""Conditional spaces: what trials say of conditions, and that what does not apply changes nothing."""

import math
from datetime import timedelta

import optuna
import pytest
import torch
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from bomi import Categorical, Integer, Real, Space
from bomi.integrations.conditional import Applicable, Condition, applies, conditions, middle
from bomi.integrations.optuna import BomiSampler, actual_frame, record_actual
from bomi.search.criteria import ExpectedImprovement

pytestmark = pytest.mark.usefixtures("quiet")
SPACE = {
    "kind": CategoricalDistribution(["svm", "forest", "mean"]),
    "c": FloatDistribution(1e-3, 1e3, log=True),
    "depth": IntDistribution(2, 20),
    "layers": IntDistribution(1, 3),
    "second": FloatDistribution(0, 1),
    "third": FloatDistribution(0, 1),
    "split": CategoricalDistribution(["best", "random"]),
    "share": FloatDistribution(0, 1),
}


def done(**params):
    used = {name: SPACE[name] for name in params}
    trial = create_trial(params=params, distributions=used, value=0.0, state=TrialState.COMPLETE)
    trial.datetime_complete = trial.datetime_start + timedelta(seconds=1)
    return trial


def test_a_choice_decides():
    trials = [done(kind="svm", c=1.0), done(kind="forest", depth=3), done(kind="mean")]
    found = conditions(trials, {name: SPACE[name] for name in ("kind", "c", "depth")})
    assert found == {
        "c": Condition("c", "kind", without=frozenset({1, 2})),
        "depth": Condition("depth", "kind", without=frozenset({0, 2})),
    }


def test_a_number_decides_from_either_side():
    trials = [done(layers=1), done(layers=2, second=0.5), done(layers=3, second=0.2, third=0.1)]
    found = conditions(trials, {name: SPACE[name] for name in ("layers", "second", "third")})
    assert found == {"second": Condition("second", "layers", low=1.5), "third": Condition("third", "layers", low=2.5)}
    below = [done(share=0.1, depth=3), done(share=0.3, depth=3), done(share=0.6)]
    assert conditions(below, SPACE)["depth"] == Condition("depth", "share", high=pytest.approx(0.45))


def test_a_parent_may_have_a_condition_itself():
    trials = [
        done(kind="forest", split="random", share=0.5),
        done(kind="forest", split="best"),
        done(kind="svm", c=1.0),
        done(kind="mean"),
    ]
    found = conditions(trials, SPACE)
    assert list(found) == ["split", "c", "share"]  # parents first
    assert found["share"] == Condition("share", "split", without=frozenset({0}))
    assert applies("share", found, {"kind": "forest", "split": "random"}, SPACE)
    assert not applies("share", found, {"kind": "forest", "split": "best"}, SPACE)
    assert not applies("share", found, {"kind": "svm"}, SPACE)


@pytest.mark.parametrize(
    "trials",
    [
        [done(kind="svm", c=1.0), done(kind="svm")],  # with the same choice, once with it and once without
        [done(c=1.0, kind="svm"), done(kind="forest")],  # suggested before what would decide
        [done(kind="svm", c=1.0), done(kind="forest", c=2.0)],  # never lacking
        [done(layers=1, second=0.1), done(layers=2), done(layers=3, second=0.1)],  # on both sides
        [done(c=1.0), done(depth=3)],  # nothing that all of them have
    ],
)
def test_without_one_that_decides_there_is_no_condition(trials):
    assert conditions(trials, SPACE) == {}


def test_what_old_experiments_lack_says_nothing():
    old = create_trial(params={"kind": "forest"}, distributions={"kind": SPACE["kind"]}, value=0.0)
    assert conditions([done(kind="svm", c=1.0), old], SPACE) == {}


def test_trials_that_are_not_complete_say_nothing():
    unfinished = create_trial(params={"kind": "svm"}, distributions={"kind": SPACE["kind"]}, state=TrialState.RUNNING)
    assert conditions([done(kind="svm", c=1.0), unfinished], SPACE) == {}


def test_what_does_not_apply_is_moved_to_its_middle():
    space = Space({"kind": ["a", "b"], "n": Integer(1, 3), "c": Real(0, 10), "d": Categorical(["u", "v", "w"])})
    found = {"c": Condition("c", "kind", without=frozenset({1})), "d": Condition("d", "n", low=1.5)}
    points = torch.tensor([[1, 0, 0, 0.9, 0, 0, 1], [0, 1, 0.5, 0.9, 0, 0, 1]], dtype=torch.float64)
    moved = Applicable(ExpectedImprovement(), space, found).without_idle(points)
    assert moved.tolist() == [[1, 0, 0, 0.9, 1, 0, 0], [0, 1, 0.5, 0.5, 0, 0, 1]]
    assert [middle(one) for one in space.parameters.values()] == ["a", 2, 5.0, "u"]


def classifier(trial):
    if trial.suggest_categorical("kind", ["svm", "forest"]) == "svm":
        return 0.9 - 0.02 * (math.log10(trial.suggest_float("c", 1e-3, 1e3, log=True)) - 1) ** 2
    return 0.85 - 0.002 * (trial.suggest_int("depth", 2, 20) - 11) ** 2


def test_what_does_not_apply_is_no_gap_and_changes_no_score():
    study = optuna.create_study(direction="maximize", sampler=BomiSampler(seed=0))
    study.optimize(classifier, n_trials=8)
    optimizer = study.sampler.optimizer(study)
    assert optimizer.gaps().empty
    rows = optimizer.observations.rows
    assert {row.recorded["c"] for row in rows if row.recorded["kind"] == "forest"} == {1.0}
    assert {row.recorded["depth"] for row in rows if row.recorded["kind"] == "svm"} == {11}
    acquisition, fit = optimizer.method.acquisition, optimizer._known.fit
    score = acquisition.score(fit.outlook, t=9, parameters=3)
    settings = [{"kind": "forest", "c": c, "depth": 9} for c in (0.001, 1.0, 1000.0)]
    places = torch.from_numpy(optimizer.space.places(settings)).requires_grad_()
    values = score(places)
    assert values[0] == values[1] == values[2]
    (gradient,) = torch.autograd.grad(values.sum(), places)
    assert gradient[:, optimizer.space.columns[optimizer.space.names.index("c")]].abs().max() == 0


def test_a_gap_beside_a_condition_is_still_a_gap():
    from bomi.integrations.optuna import record_actual

    def experiment(trial):
        value = classifier(trial)
        if trial.number == 3:
            record_actual(trial, dict.fromkeys(set(trial.params) - {"kind"}))
        return value

    study = optuna.create_study(direction="maximize", sampler=BomiSampler(seed=0, method="mean"))
    study.optimize(experiment, n_trials=6)
    assert study.sampler.optimizer(study).gaps()["row"].tolist() == [3]


def test_several_objectives_have_conditions_too():
    def two(trial):
        value = classifier(trial)
        return value, -value

    study = optuna.create_study(directions=["maximize", "minimize"], sampler=BomiSampler(seed=0))
    study.optimize(two, n_trials=5)
    assert study.sampler.optimizer(study).gaps().empty


def test_the_frame_has_no_gap_where_a_parameter_does_not_apply():
    def objective(trial):
        if trial.suggest_categorical("kind", ["furnace", "laser"]) == "laser":
            return float(trial.suggest_int("power", 1, 10))
        hours = trial.suggest_float("hours", 1, 10)
        record_actual(trial, {"hours": None})
        return hours

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=8)
    frame = actual_frame(study)
    assert set(frame["kind"]) == {"furnace", "laser"}
    assert frame["gap.hours"].tolist() == [kind == "furnace" for kind in frame["kind"]]
    assert not frame["gap.power"].any()
