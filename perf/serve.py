"""`bomi serve` under load: many campaigns at once, each with an instrument that asks, experiments and tells.

    python perf/serve.py                     # 1, 10 and 50 campaigns, three rounds each, two workers
    python perf/serve.py --campaigns 50 --rounds 5 --where postgresql://me@host/lab

Every campaign has 12 old rows, a third of them with a gap. Printed for each number of campaigns: requests answered and
lost, requests a second, and the latency of telling and of asking, median and 95th percentile. At the end every file is
loaded, and its rows are counted.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np

from bomi.web.stores import open_store

OLD = 12


def campaign(seed: int, method: str) -> dict[str, object]:
    """A new campaign with old rows."""
    rng = np.random.default_rng(seed)
    rows = []
    for number, (x, y) in enumerate(rng.random((OLD, 2)).round(3).tolist()):
        rows.append({"x": x, **({} if number % 3 == 2 else {"y": y}), "z": outcome(x, y)})
    return {
        "parameters": {"x": {"range": [0, 1]}, "y": {"range": [0, 1]}},
        "objectives": {"z": {"goal": "maximize"}},
        "method": {"name": method},
        "seed": seed,
        "rows": rows,
    }


def outcome(x: float, y: float) -> float:
    """What an experiment gives."""
    return -((x - 0.3) ** 2) - (y - 0.6) ** 2


def instrument(client: httpx.Client, name: str, rounds: int) -> list[tuple[str, float, bool]]:
    """Ask, experiment and tell; the kind, the seconds and the success of each request."""
    seen = []

    def call(kind: str, body: object = None) -> httpx.Response:
        start = time.perf_counter()
        answer = client.post(f"/campaigns/{name}/{kind}", json=body)
        seen.append((kind, time.perf_counter() - start, answer.status_code == 200))
        return answer

    for _ in range(rounds):
        (suggestion,) = call("ask").json()
        setting = suggestion["setting"]
        call("tell", {"rows": [{"id": suggestion["id"], "y": None, "z": outcome(setting["x"], setting["y"])}]})
    return seen


def measure(count: int, rounds: int, workers: int, method: str, where: str | None) -> str:
    """A line of the table."""
    names = [f"load {os.getpid()} {count} {number}" for number in range(count)]
    with tempfile.TemporaryDirectory() as place:
        where = where or place
        environment = {**os.environ, "XDG_STATE_HOME": place, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "bomi", "serve", where, "--workers", str(workers)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
            assert server.stderr is not None
            address, token = (server.stderr.readline() for _ in range(2))
            found = re.search(r"http://[\d.:]+", address)
            assert found is not None, address
            headers = {"Authorization": f"Bearer {token.split()[-1]}"}
            limits = httpx.Limits(max_connections=count)
            try:
                retry = httpx.HTTPTransport(retries=20, limits=limits)
                with httpx.Client(base_url=found[0], headers=headers, timeout=600, transport=retry) as client:
                    for number, name in enumerate(names):
                        client.put(f"/campaigns/{name}", json=campaign(number, method)).raise_for_status()
                    for name in names[:workers]:  # the workers have loaded what computes
                        client.get(f"/campaigns/{name}/best").raise_for_status()
                    start = time.perf_counter()
                    with ThreadPoolExecutor(count) as pool:
                        jobs = [pool.submit(instrument, client, name, rounds) for name in names]
                        seen = [one for job in jobs for one in job.result()]
                    seconds = time.perf_counter() - start
            finally:
                server.terminate()
        lost = sum(not fine for _, _, fine in seen)
        store = open_store(where)
        kept = [store.read(name).observations for name in names]
        assert all(len(rows.done) == OLD + rounds and not rows.pending for rows in kept)
    cells = [f"{count}", f"{len(seen)}", f"{lost}", f"{len(seen) / seconds:.1f}"]
    for kind in ("tell", "ask"):
        times = [spent for what, spent, _ in seen if what == kind]
        cells.append(f"{np.median(times):.2f}, {np.quantile(times, 0.95):.2f}")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--method", default="posterior")
    parser.add_argument("--where", help="a database instead of a temporary folder")
    given = parser.parse_args()
    print("| campaigns | answered | lost | requests a second | tell, s | ask, s |\n|---|---|---|---|---|---|")
    for count in given.campaigns or (1, 10, 50):
        print(measure(count, given.rounds, given.workers, given.method, given.where), flush=True)


if __name__ == "__main__":
    main()
