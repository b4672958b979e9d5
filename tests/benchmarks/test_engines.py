"""A Dask cluster of real processes makes the runs that this machine makes, also when a worker is killed."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
import warnings

import pytest
from typer.testing import CliRunner

if os.environ.get("BOMI_REQUIRE_ALL") != "1":
    pytest.importorskip("distributed", reason="these tests need bomi[dask]")
import distributed

from bomi.benchmarks import engines, results
from bomi.benchmarks.engines import find_engine
from bomi.benchmarks.sweeps import Case, Job, sweep
from bomi.cli import app
from bomi.errors import BenchmarkError

CASES = [Case(problem="branin", budget=4, rows=8), Case(problem="hartmann3", budget=4, rows=8)]
METHODS = ["mean", "bomi:worlds=2", "random"]
REPEATS = 3


def without_times(found):
    return [{name: value for name, value in run.items() if name != "seconds"} for run in found.runs]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers, each a process: the address and the workers."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    environment = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(folder), "DASK_LOGGING__DISTRIBUTED": "error"}
    scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    worker = ["distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard"]
    commands = [scheduler, worker, worker]
    running = [
        subprocess.Popen([sys.executable, "-m", *command, "--scheduler-file", file], env=environment)
        for command in commands
    ]
    try:
        until = time.monotonic() + 60
        while not file.exists() or not file.read_text().rstrip().endswith("}"):
            assert time.monotonic() < until, "the scheduler does not start"
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"].replace("tcp://", "dask://"), running[1:]
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.mark.filterwarnings("ignore:the Dask scheduler .* has no workers")  # yet
def test_a_cluster_gives_the_runs_of_this_machine_although_a_worker_is_killed(cluster, tmp_path):
    address, workers = cluster
    killed = []

    def progress(done, total):
        assert total == 18
        if done == 4 and not killed:
            workers[0].send_signal(signal.SIGKILL)
            killed.append(done)

    path, engine = tmp_path / "dask.jsonl", find_engine(address, 1)
    found = sweep(CASES, METHODS, repeats=REPEATS, path=path, engine=engine, progress=progress)
    assert killed == [4]
    assert workers[0].wait() == -signal.SIGKILL
    assert workers[1].poll() is None
    expected = sweep(CASES, METHODS, repeats=REPEATS, path=tmp_path / "local.jsonl")
    assert without_times(found) == without_times(expected)
    # The client has written each run once, as it came, and a sweep that is complete asks for nothing more.
    assert len(path.read_text().splitlines()) == 1 + 18
    sweep(CASES, METHODS, repeats=REPEATS, path=path, engine=find_engine("dask://127.0.0.1:1", 1))


@pytest.mark.filterwarnings("ignore:the Dask scheduler .* has no workers")
def test_a_client_that_stops_and_starts_again_asks_only_for_the_rest(cluster, tmp_path):
    address, path, seen = cluster[0], tmp_path / "restart.jsonl", []

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    def run(progress):
        return sweep(CASES, ["random"], repeats=REPEATS, path=path, engine=find_engine(address, 1), progress=progress)

    with pytest.raises(KeyboardInterrupt):
        run(stop)
    assert len(path.read_text().splitlines()) == 1 + 2  # each run is on disk before the next is looked at
    found = run(lambda done, total: seen.append((done, total)))
    assert seen == [(done, 6) for done in range(2, 7)]
    assert len(found.runs) == 6


def test_a_scheduler_without_workers_says_that_it_waits(monkeypatch):
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    with distributed.LocalCluster(**options) as cluster, warnings.catch_warnings():
        address, said = cluster.scheduler_address, []

        def show(message, *rest, **more):
            said.append(str(message))
            cluster.scale(1)  # and so somebody starts a worker

        warnings.simplefilter("always", UserWarning)
        monkeypatch.setattr(warnings, "showwarning", show)
        assert list(engines.dask(address)(_key, [Job(CASES[0], "mean", 0)])) == ["branin"]
    expected = f"the Dask scheduler at {address} has no workers: waiting for one; start it by: dask worker {address}"
    assert said == [expected]


def _key(job):
    return job.case.problem


def test_a_mistake_in_a_run_is_told_here(cluster):
    engine = find_engine(cluster[0], 1)
    job = Job(CASES[0], "mean", 0)
    with pytest.raises(BenchmarkError, match="this run cannot be"):
        list(engine(_fails, [job]))


def _fails(job):
    raise BenchmarkError("this run cannot be")


def test_the_command_line_has_a_cluster_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = "bench branin --methods mean,random --budget 2 --rows 6 --jobs 1 --repeats 2 -o"
    for engine in ("dask", "local"):
        done = CliRunner().invoke(app, [*line.split(), engine, "--engine", engine])
        assert done.exit_code == 0, done.output
    first, second = (results.read(tmp_path / engine / "results.jsonl") for engine in ("dask", "local"))
    assert without_times(first) == without_times(second)
    done = CliRunner().invoke(app, [*line.split(), "other", "--engine", "ray"])
    assert done.exit_code == 2
    assert "bomi: unknown engine 'ray'; the known ones are local, dask and dask://HOST:PORT" in done.stderr


def test_workers_of_other_versions_are_refused():
    other = {**results.versions(), "torch": "0.1"}
    with pytest.raises(BenchmarkError, match=r"a worker of the Dask cluster has torch .* instead of 0\.1; results of"):
        engines._work(_fails, other, Job(CASES[0], "mean", 0))


def test_a_scheduler_that_does_not_answer_is_said_so(monkeypatch):
    monkeypatch.setattr(engines, "PATIENCE", 1)
    with pytest.raises(BenchmarkError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1: "):
        list(find_engine("dask://127.0.0.1:1", 1)(_fails, [Job(CASES[0], "mean", 0)]))


def test_a_cluster_of_this_machine_that_takes_too_long_is_said_so(monkeypatch):
    def slow(**settings):
        raise TimeoutError

    monkeypatch.setattr("distributed.LocalCluster", slow)
    with pytest.raises(BenchmarkError, match=r"the Dask cluster \(this machine\) does not answer: it took too long"):
        list(find_engine("dask", 1)(_fails, [Job(CASES[0], "mean", 0)]))
