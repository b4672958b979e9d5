"""The node in Ax's own client, with gaps, constraints, several objectives and what happened otherwise."""

import os
from dataclasses import replace

import pytest

if os.environ.get("BOMI_REQUIRE_ALL") != "1":
    pytest.importorskip("ax", reason="these tests need bomi[ax]")
import logging

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig, StorageConfig
from ax.storage.sqa_store.db import create_all_tables, get_engine, init_engine_and_session_factory

import bomi
from bomi.errors import MethodError, StudyError
from bomi.integrations.ax import BomiNode, generation_strategy, optimizer_of, record_actual
from bomi.methods import METHODS

logging.getLogger("ax").setLevel(logging.ERROR)
pytestmark = [  # Ax's client calls what Ax and pandas deprecate
    pytest.mark.filterwarnings("ignore:add_tracking_metric is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame:DeprecationWarning"),
]
FLOAT = {"parameter_type": "float"}
PARAMETERS = [
    RangeParameterConfig(name="temperature", bounds=(120.0, 240.0), **FLOAT),
    RangeParameterConfig(name="hours", bounds=(0.5, 100.0), scaling="log", **FLOAT),
    RangeParameterConfig(name="passes", bounds=(1, 5), parameter_type="int"),
    ChoiceParameterConfig(name="quench", values=["oil", "water", "air"], parameter_type="str", is_ordered=False),
]


def client_of(parameters=PARAMETERS, objective="hardness", method="mean", constraints=(), storage=None, **settings):
    client = Client(storage_config=storage)
    client.configure_experiment(name="heat", parameters=parameters, parameter_constraints=list(constraints))
    client.configure_optimization(objective=objective, **settings)
    client.set_generation_strategy(generation_strategy(method, seed=0))
    return client


def hardness(setting):
    return 150 - (setting["temperature"] - 170) ** 2 / 50 - setting["passes"] + 3 * (setting["quench"] == "oil")


def test_what_was_asked_and_what_happened_are_kept_apart():
    client = client_of()
    for _ in range(6):
        for index, asked in client.get_next_trials(max_trials=1).items():
            if index == 2:
                record_actual(client, index, {"temperature": None, "hours": bomi.Normal(3, 0.5)})
            client.complete_trial(index, {"hardness": (hardness(asked), 0.5)})
    optimizer = optimizer_of(client)
    rows = optimizer.observations.rows
    arms = [trial.arm for trial in client._experiment.trials.values()]
    assert [row.id for row in rows] == [arm.name for arm in arms]
    assert [row.asked for row in rows] == [arm.parameters for arm in arms]
    assert rows[2].recorded["temperature"] is None
    assert rows[2].recorded["hours"] == bomi.Normal(3, 0.5)
    assert rows[3].recorded == arms[3].parameters
    assert rows[3].errors == {"hardness": 0.5}
    assert set(optimizer.gaps()["parameter"]) == {"temperature", "hours"}


def test_it_suggests_what_an_optimizer_told_by_hand_suggests():
    client = client_of(method="posterior")
    told = bomi.Optimizer(
        {
            "temperature": (120, 240),
            "hours": bomi.Real(0.5, 100, log=True),
            "passes": bomi.Integer(1, 5),
            "quench": ["oil", "water", "air"],
        },
        objective="hardness",
        seed=0,
    )
    history = [(180.0, 2.0, 1, "oil", 131.0), (150.0, 12.0, 3, "air", 148.0), (230.0, 1.0, 5, "water", 102.0)]
    for number, (*setting, outcome) in enumerate(history):
        asked = dict(zip(told.space.names, setting, strict=True))
        index = client.attach_trial(asked)
        actual = {"temperature": None} if number == 1 else {}
        record_actual(client, index, actual)
        client.complete_trial(index, {"hardness": outcome})
    frame = optimizer_of(client).frame()
    told.tell(frame)
    assert client.get_next_trials(max_trials=1) == {3: dict(told.ask())}


def test_pending_trials_are_kept_away_from():
    client = client_of()
    asked = [*client.get_next_trials(max_trials=3).values(), *client.get_next_trials(max_trials=2).values()]
    assert len({tuple(one.values()) for one in asked}) == 5


def test_parameter_constraints_hold_for_every_candidate():
    client = client_of(constraints=["temperature + 20*passes <= 230"])
    for _ in range(6):
        for index, asked in client.get_next_trials(max_trials=1).items():
            assert asked["temperature"] + 20 * asked["passes"] <= 230 + 1e-9
            client.complete_trial(index, {"hardness": hardness(asked)})


def test_outcome_constraints_weigh_what_is_suggested():
    line = [RangeParameterConfig(name="x", bounds=(0.0, 1.0), **FLOAT)]
    client = client_of(line, "y", method="posterior", outcome_constraints=["cost <= 3", "x2 >= -1"])
    for _ in range(8):
        for index, asked in client.get_next_trials(max_trials=1).items():
            x = asked["x"]
            client.complete_trial(index, {"y": x, "cost": 6 * x, "x2": x})
    assert client.get_best_parameterization(use_model_predictions=False)[0]["x"] > 0.45
    tried = [trial.arm.parameters["x"] for trial in client._experiment.trials.values()]
    assert sum(x > 0.51 for x in tried[-4:]) <= 1  # once the border is known to four digits, it looks elsewhere
    optimizer = optimizer_of(client)
    assert [row.outcomes["constraint cost"] for row in optimizer.observations.rows] == [6 * x - 3 for x in tried]
    assert 0.45 < optimizer.best().setting["x"] <= 0.5


@pytest.mark.parametrize(
    ("objective", "outcomes"),
    [("a, -b", {"a": "maximize", "b": "minimize"}), ("-b", {"b": "minimize"}), ("a - 2*b", {"objective": "maximize"})],
)
def test_objectives_are_those_of_ax(objective, outcomes):
    line = [RangeParameterConfig(name="id", bounds=(0.0, 1.0), **FLOAT)]
    client = client_of(line, objective)
    for index, asked in client.get_next_trials(max_trials=3).items():
        client.complete_trial(index, {"a": 1.0, "b": 3.0 + asked["id"]})
    optimizer = optimizer_of(client)
    assert {one.name: one.goal for one in optimizer.objectives} == outcomes
    assert optimizer.space.names == ("id_",)
    if "objective" in outcomes:
        first = client._experiment.trials[0].arm.parameters["id"]
        assert optimizer.observations.rows[0].outcomes["objective"] == pytest.approx(1 - 2 * (3 + first))
    assert set(client.get_next_trials(max_trials=1)[3]) == {"id"}


def test_a_failure_is_learned_from_if_it_is_recorded():
    client = client_of()
    for index, asked in client.get_next_trials(max_trials=4).items():
        if index == 1:
            record_actual(client, index, failed=True)
            client.mark_trial_failed(index)
        elif index == 2:
            client.mark_trial_failed(index)
        else:
            client.complete_trial(index, {"hardness": hardness(asked)})
    assert [row.failed for row in optimizer_of(client).observations.rows] == [False, True, False]


def told(storage=None):
    client = client_of(storage=storage)
    (index,) = client.get_next_trials(max_trials=1)
    record_actual(client, index, {"quench": None, "temperature": "150..160"})
    client.complete_trial(index, {"hardness": 131.0})
    return client


def test_ax_own_file_holds_records_and_the_node(tmp_path):
    client = told()
    client.save_to_json_file(str(tmp_path / "ax.json"))
    again = Client.load_from_json_file(str(tmp_path / "ax.json"))
    assert optimizer_of(again).frame().equals(optimizer_of(client).frame())
    assert again.get_next_trials(max_trials=1) == client.get_next_trials(max_trials=1)


@pytest.mark.filterwarnings("default")  # what reads its tables calls much of what Ax deprecates
def test_ax_own_database_holds_them_too(tmp_path):
    storage = StorageConfig(url=f"sqlite:///{tmp_path}/ax.db")
    init_engine_and_session_factory(url=storage.url)
    create_all_tables(get_engine())
    client = told(storage)
    again = Client.load_from_database(client._experiment.name, storage)
    assert optimizer_of(again).frame().equals(optimizer_of(client).frame())
    assert again.get_next_trials(max_trials=1) == client.get_next_trials(max_trials=1)


def test_a_method_of_your_own_is_not_saved(tmp_path):
    client = client_of()
    client.set_generation_strategy(generation_strategy(replace(METHODS["posterior"], name="mine")))
    with pytest.raises(MethodError, match="'mine' has parts of your own"):
        client.save_to_json_file(str(tmp_path / "ax.json"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda client: record_actual(client, 7, {}), "no trial 7; it has 0"),
        (
            lambda client: record_actual(client, 0, {"temprature": None}),
            "no parameter 'temprature'; it has temperature",
        ),
        (
            lambda client: record_actual(client, 0, {"quench": "sand"}),
            "trial 0, parameter 'quench': expected one of oil",
        ),
        (lambda client: record_actual(client, 0, {}, arm="5_0"), "has the arms 0_0; name one of them"),
        (lambda client: BomiNode(method="posteriour"), "did you mean 'posterior'"),
    ],
)
def test_mistakes_are_told(call, message):
    client = client_of()
    client.get_next_trials(max_trials=1)
    with pytest.raises(bomi.BomiError, match=message):
        call(client)


def test_without_an_objective_nothing_can_be_learned():
    client = Client()
    client.configure_experiment(name="heat", parameters=PARAMETERS)
    with pytest.raises(StudyError, match="configure_optimization"):
        optimizer_of(client)
