"""The API as an instrument meets it: over HTTP, with a token, several programs at once."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="these tests need bomi[web]")
import httpx

import bomi

ROOT = Path(__file__).parent.parent.parent
CAMPAIGN = {
    "objectives": {"hardness": {"goal": "maximize"}},
    "parameters": {"temperature": {"range": [120, 240], "unit": "°C"}, "quench": {"values": ["oil", "water"]}},
    "method": {"name": "mean"},
    "seed": 0,
}
ROWS = [
    {"temperature": 150, "quench": "oil", "hardness": 120},
    {"quench": "oil", "hardness": 140, "asked.temperature": 180},
    {"temperature": "200±5", "quench": "water", "hardness": 131, "hardness.sd": 2},
]


class Api(httpx.Client):
    """`bomi serve` of a folder, in a process of its own."""

    def __init__(self, folder):
        self.folder = folder
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_STATE_HOME": str(folder / ".state")}
        with socket.socket() as probe:  # tests run side by side
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        command = [sys.executable, "-m", "bomi", "serve", str(folder), "--workers", "1", "--port", port]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        where, token = (self.process.stderr.readline() for _ in range(2))
        self.root = re.search(r"http://[\d.:]+", where)[0]
        self.credentials = {"Authorization": "Bearer " + token.split()[-1]}
        super().__init__(base_url=self.root, headers=self.credentials, timeout=120)
        until = time.monotonic() + 60
        while True:
            try:
                self.get("/campaigns")
                return
            except httpx.ConnectError:
                assert time.monotonic() < until, "it does not answer"
                time.sleep(0.05)


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    client = Api(tmp_path_factory.mktemp("campaigns"))
    yield client
    client.close()
    client.process.terminate()
    client.process.communicate(timeout=30)


@pytest.fixture
def name(api, request):
    made = re.sub(r"\W", " ", request.node.name)[:80].strip()
    assert api.put(f"/campaigns/{made}", json=CAMPAIGN).status_code == 201
    return made


def test_a_campaign_from_its_start_to_what_is_best(api, name):
    there = f"/campaigns/{name}"
    assert name in api.get("/campaigns").json()
    assert api.post(f"{there}/tell", json={"rows": ROWS}).json() == {"rows": 3, "outcomes": 3, "pending": 0}
    first, second = api.post(f"{there}/ask?count=2").json()
    assert (first["id"], second["id"]) == ("4", "5")
    assert set(first["setting"]) == {"temperature", "quench"}
    assert first["predicted"]["sd"] > 0
    told = {"rows": [{"id": "4", "hardness": 150}, {"id": "5", "temperature": None, "hardness": 149}]}
    assert api.post(f"{there}/tell", json=told).json() == {"rows": 5, "outcomes": 5, "pending": 0}
    rows = bomi.Optimizer.load(api.folder / f"{name}.json").observations.rows
    assert rows[3].recorded == first["setting"]  # what is not named went as asked
    assert rows[4].recorded == {**second["setting"], "temperature": None}
    (best,) = api.get(f"{there}/best").json()
    assert best["seen"] == {"row": 3, "outcome": 150.0}
    assert [gap["row"] for gap in api.get(f"{there}/gaps").json() if gap["parameter"] == "temperature"] != []
    assert api.get(there).json() == json.loads((api.folder / f"{name}.json").read_text())


def test_it_suggests_what_the_library_suggests(api, name):
    api.post(f"/campaigns/{name}/tell", json={"rows": ROWS})
    expected = bomi.Optimizer.load(api.folder / f"{name}.json").ask()
    (found,) = api.post(f"/campaigns/{name}/ask").json()
    assert found["setting"] == dict(expected)
    assert found["predicted"] == expected.predicted._asdict()


def test_a_suggestion_can_be_withdrawn(api, name):
    (suggestion,) = api.post(f"/campaigns/{name}/ask").json()
    assert api.delete(f"/campaigns/{name}/rows/{suggestion['id']}").json()["pending"] == 0
    assert api.delete(f"/campaigns/{name}/rows/{suggestion['id']}").status_code == 422


def test_programs_that_ask_and_tell_at_once_lose_nothing(api, name):
    suggestions, failures = [], []

    def work(number):
        for _ in range(3):
            told = api.post(
                f"/campaigns/{name}/tell", json={"rows": [{**ROWS[0], "id": f"{number}-{len(suggestions)}-{_}"}]}
            )
            asked = api.post(f"/campaigns/{name}/ask")
            failures.extend(one.text for one in (told, asked) if one.status_code != 200)
            suggestions.extend(asked.json())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    rows = bomi.Optimizer.load(api.folder / f"{name}.json").observations
    assert len(rows.rows) == 24
    assert len({one["id"] for one in suggestions}) == 12
    assert len({json.dumps(one["setting"]) for one in suggestions}) == 12


def test_only_who_has_the_token_is_answered(api, name):
    assert httpx.get(f"{api.root}/campaigns/{name}").status_code == 401
    assert api.get(f"/campaigns/{name}", headers={"Authorization": "Bearer wrong"}).status_code == 401


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"rows": [{"temperature": "warm", "hardness": 3}]}, 422, "row 0, column 'temperature'"),
        ({"rows": [{"temprature": 150, "hardness": 3}]}, 422, "row 0 has no 'temperature' but 'temprature'"),
        ({"rows": [ROWS[0], {"temperature": 150, "Hardness": 3}]}, 422, "row 1 has no 'hardness' but 'Hardness'"),
        ({"rows": [{"temperature": 150, "result": 3}]}, 422, "row 0 says nothing of 'hardness'"),
        ({"rows": [{"temperature": 150, "hardness": None}]}, 200, ""),
        ({"rows": [{"operator": "Ann", "hardness": 3}]}, 200, ""),  # a column beside ours is kept
        ({"row": []}, 422, "rows"),
        ({"rows": [{"id": "1", "hardness": 3}, {"id": "1", "hardness": 4}]}, 422, "is the id of row 0 too"),
    ],
)
def test_mistakes_change_nothing_and_are_told(api, name, body, status, message):
    before = api.get(f"/campaigns/{name}").json()
    answer = api.post(f"/campaigns/{name}/tell", json=body)
    assert answer.status_code == status
    assert message in answer.text
    assert (api.get(f"/campaigns/{name}").json() == before) == (status != 200)


def test_names_that_lead_elsewhere_are_refused(api):
    assert api.get("/campaigns/..%2Fother").status_code == 404
    assert api.put("/campaigns/.hidden", json=CAMPAIGN).status_code == 400
    assert api.get("/campaigns/nothing/best").status_code == 404


def test_a_campaign_is_started_once_and_only_if_it_makes_sense(api, name):
    assert api.put(f"/campaigns/{name}", json=CAMPAIGN).status_code == 409
    wrong = {**CAMPAIGN, "parameters": {"temperature": {"range": [240, 120]}}}
    answer = api.put("/campaigns/wrong", json=wrong)
    assert answer.status_code in (400, 422)
    assert "`low < high` must hold" in answer.json()["detail"]
    clash = api.put("/campaigns/wrong", json={**CAMPAIGN, "objectives": {"quench": {}}})
    assert clash.status_code == 422
    assert "wrong" not in api.get("/campaigns").json()


def test_a_campaign_with_groups_and_drift_is_started_from_its_file(api, name):
    there = f"/campaigns/{name} by days"
    document = {**CAMPAIGN, "groups": {"columns": ["day"]}, "drift": {}, "rows": [{**ROWS[0], "day": "Monday"}]}
    assert api.put(there, json=document).status_code == 201
    assert api.post(f"{there}/tell", json={"rows": [{**ROWS[1], "day": "Tuesday"}]}).json()["outcomes"] == 2
    saved = api.get(there).json()
    assert (saved["groups"], saved["drift"]) == (document["groups"], document["drift"])
    assert api.put(f"{there} again", json=saved).json() == saved


def test_the_api_describes_itself(api):
    described = api.get("/openapi.json").json()
    assert set(described["paths"]) == {
        "/campaigns",
        "/campaigns/{name}",
        *(f"/campaigns/{{name}}/{what}" for what in ("tell", "ask", "best", "gaps", "rows/{identity}")),
    }
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"


def test_a_request_beyond_the_limit_is_refused(api, name):
    connection = http.client.HTTPConnection(api.root.removeprefix("http://"))
    connection.request(
        "POST",
        f"/campaigns/{name}/tell".replace(" ", "%20"),
        headers={**api.credentials, "Content-Length": "1000000000"},
    )
    assert connection.getresponse().status == 413
    connection.close()
