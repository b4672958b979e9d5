"""Campaigns in a folder and in PostgreSQL, and what a worker remembers of them: without HTTP."""

import json
import os
import threading
from dataclasses import replace

import pytest

import bomi
from bomi import BomiError
from bomi.data.observations import Observations, Row
from bomi.web import service
from bomi.web.stores import Folder, MissingError, StoreError, open_store

CAMPAIGN = {
    "parameters": {"z": {"range": [0, 1]}, "a": {"values": ["oil", "water"]}},  # in an order of their own
    "objectives": {"y": {"goal": "maximize"}},
    "method": {"name": "mean"},
    "seed": 3,
}
ROWS = [{"z": 0.2, "a": "oil", "y": 1.0}, {"a": "water", "y": 2.0}, {"z": "0.7±0.1", "a": "oil", "y": 1.5}]


@pytest.fixture(params=["folder", "database"])
def store(request, tmp_path):
    if request.param == "folder":
        return open_store(str(tmp_path))
    pytest.importorskip("psycopg", reason="these tests need bomi[postgres]")
    store = open_store(request.getfixturevalue("postgresql"))
    with store._connected() as connection:
        connection.execute("DELETE FROM bomi_campaigns")
    return store


@pytest.fixture(autouse=True)
def _nothing_remembered():
    service._remembered.clear()


def test_a_campaign_comes_back_as_it_was(store):
    made = service.create(store, "alloy 1", {**CAMPAIGN, "rows": ROWS})
    assert service.read(store, "alloy 1") == made
    assert list(store.read("alloy 1").space.names) == ["z", "a"]
    assert store.names() == ["alloy 1"]
    assert "alloy 1" in store
    assert "alloy 2" not in store
    with pytest.raises(FileExistsError):
        service.create(store, "alloy 1", CAMPAIGN)


@pytest.mark.parametrize(
    "call", [service.read, lambda s, n: service.tell(s, n, ROWS), lambda s, n: service.ask(s, n, 1)]
)
def test_what_is_not_there_is_said_to_be_missing(store, call):
    with pytest.raises(MissingError, match="there is no campaign 'alloy'"):
        call(store, "alloy")
    assert store.names() == []


def test_names_that_could_lead_elsewhere_are_refused(store):
    for name in ("../other", ".hidden", "", "a/b"):
        with pytest.raises(BomiError, match="a campaign's name has"):
            service.create(store, name, CAMPAIGN)


def test_a_change_that_fails_changes_nothing(store):
    service.create(store, "alloy", {**CAMPAIGN, "rows": ROWS})
    before = service.read(store, "alloy")
    with pytest.raises(BomiError):
        service.tell(store, "alloy", [*ROWS, {"z": 7.0, "a": "lead", "y": 1}])
    with pytest.raises(BomiError):
        service.withdraw(store, "alloy", "99")
    assert service.read(store, "alloy") == before


def test_writers_at_once_lose_nothing(store):
    service.create(store, "alloy", CAMPAIGN)
    failures = []

    def work(number):
        try:
            for turn in range(5):
                service.tell(store, "alloy", [{**ROWS[0], "id": f"{number}-{turn}"}])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {row.id for row in store.read("alloy").observations.rows} == {f"{i}-{j}" for i in range(4) for j in range(5)}


def test_a_writer_that_is_killed_leaves_the_campaign_as_it_was_and_free(store):
    service.create(store, "alloy", {**CAMPAIGN, "rows": ROWS})
    before = service.read(store, "alloy")
    child = os.fork()
    if not child:
        store.change("alloy", lambda saved: os._exit(9))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert service.read(store, "alloy") == before
    assert service.tell(store, "alloy", ROWS)["rows"] == 6


def test_a_suggestion_that_others_took_meanwhile_is_asked_for_again(store, monkeypatch):
    service.create(store, "alloy", {**CAMPAIGN, "rows": ROWS})
    other = bomi.Optimizer.of(store.read("alloy"))
    (first,) = service.ask(store, "alloy", 1)
    answers = [other]
    monkeypatch.setattr(
        service,
        "_optimizer",
        lambda store, name: answers.pop() if answers else bomi.Optimizer.of(store.read(name)),
    )
    (second,) = service.ask(store, "alloy", 1)
    assert second["setting"] != first["setting"]
    assert [row.id for row in store.read("alloy").observations.pending] == [first["id"], second["id"]]


def test_a_database_that_is_not_there_is_named_without_its_password():
    pytest.importorskip("psycopg", reason="these tests need bomi[postgres]")
    with pytest.raises(StoreError, match="the database says") as caught:
        open_store("postgresql://me:secret@localhost:1/lab")
    assert "secret" not in str(caught.value)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BomiError, match="there is no folder"):
        open_store(str(tmp_path / "none"))


# --- what a worker remembers ------------------------------------------------------------------------------------------


def posterior(folder):
    store = Folder(folder)
    rows = [{"z": i / 8, "a": "oil", "y": -((i / 8 - 0.4) ** 2)} for i in range(8)]  # from nine to ten nothing restarts
    service.create(
        store, "alloy", {**CAMPAIGN, "method": {"name": "posterior"}, "rows": [*rows, {"a": "oil", "y": -0.1}]}
    )
    return store


def test_a_worker_goes_on_from_what_it_has_learned(tmp_path, monkeypatch):
    store = posterior(tmp_path)
    calls = []
    kind = type(bomi.METHODS["posterior"].imputer)
    for name in ("init", "step"):
        real = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda *args, real=real, name=name: [calls.append(name), real(*args)][1])
    (one,) = service.ask(store, "alloy", 1)
    service.best(store, "alloy")
    service.gaps(store, "alloy")
    assert calls == ["init"]  # once for one state of the table
    service.tell(store, "alloy", [{"id": one["id"], "z": None, "y": -0.02}])
    service.ask(store, "alloy", 1)
    assert calls == ["init", "step"]


def test_it_answers_as_an_optimizer_that_was_told_the_same(tmp_path):
    store = posterior(tmp_path)
    optimizer = bomi.Optimizer.of(store.read("alloy"))
    for outcome in (-0.02, -0.3):
        (one,) = service.ask(store, "alloy", 1)
        suggestion = optimizer.ask()
        assert one["setting"] == dict(suggestion)
        service.tell(store, "alloy", [{"id": one["id"], "z": None, "y": outcome}])
        optimizer.tell(suggestion, outcome, actual={"z": None})


def test_what_was_corrected_or_replaced_behind_its_back_is_noticed(tmp_path):
    store = posterior(tmp_path)
    service.best(store, "alloy")
    path = tmp_path / "alloy.json"
    document = json.loads(path.read_text())
    document["rows"][3]["y"] = 0.01
    path.write_text(json.dumps(document))
    (best,) = service.best(store, "alloy")
    assert best["seen"] == {"row": 3, "outcome": 0.01}
    document["parameters"]["z"]["range"] = [0, 2]
    path.write_text(json.dumps(document))
    assert service._optimizer(store, "alloy").space.parameters["z"].high == 2


def test_a_worker_forgets_the_campaigns_that_it_had_longest_ago(tmp_path, monkeypatch):
    monkeypatch.setattr(service, "REMEMBERED", 20)  # squared rows: two campaigns of three rows
    store = Folder(tmp_path)
    for name in "abc":
        service.create(store, name, {**CAMPAIGN, "rows": ROWS})
        service.best(store, name)
        service.best(store, "a")
    assert [name for _, name in service._remembered] == ["c", "a"]


def test_equal_rows_keep_their_keys_and_others_get_new_ones():
    one, other = Row({"x": 0.1}, {"y": 1.0}), Row({"x": 0.5}, {"y": 2.0})
    before = Observations(bomi.Space({"x": (0, 1)}), ("y",), rows=(one, one, other))
    after = replace(before, rows=(other, one, replace(one, outcomes={"y": 3.0}), one), keys=()).after(before)
    assert after.keys == (2, 0, 3, 1)
    assert after.next_key == 4
