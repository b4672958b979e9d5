"""Three workers share a study in PostgreSQL, and one is killed: the example's own program."""

import itertools
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

if os.environ.get("BOMI_REQUIRE_ALL") != "1":
    pytest.importorskip("optuna", reason="these tests need bomi[optuna]")
    pytest.importorskip("psycopg", reason="these tests need psycopg")
import optuna
from optuna.trial import TrialState

from bomi.integrations.optuna import ACTUAL, actual_frame

EXAMPLE = Path(__file__).parents[2] / "examples" / "distributed_campaign.py"
TRIALS, HEARTBEAT = 30, 3
METHOD = "suggest"  # the quickest one that learns


def complete(study):
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def kill_one_in_a_trial(workers, study):
    """Kill one of the workers while its trial is running."""
    for worker in itertools.cycle(workers):
        assert worker.poll() is None, "a worker has given up"
        worker.send_signal(signal.SIGSTOP)
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        if any(trial.user_attrs.get("worker", "").endswith(f":{worker.pid}") for trial in running):
            worker.kill()
            return
        worker.send_signal(signal.SIGCONT)


def test_no_trial_is_lost_or_made_twice_when_one_of_three_workers_is_killed(postgresql):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    example = runpy.run_path(str(EXAMPLE))
    study = example["open_study"](postgresql, HEARTBEAT, METHOD)
    options = ["--trials", str(TRIALS), "--heartbeat", str(HEARTBEAT), "--method", METHOD]
    command = [sys.executable, EXAMPLE, postgresql, "--work", *options]
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    try:
        while len(complete(study)) < 8:
            assert all(worker.poll() is None for worker in workers), "a worker has given up"
            time.sleep(0.1)
        kill_one_in_a_trial(workers, study)
        said = [worker.communicate(timeout=400)[1].decode() for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    assert sorted(worker.returncode for worker in workers) == [-signal.SIGKILL, 0, 0], said

    # The study is taken up again here, until the killed worker's trial has been given up and repeated.
    while any(not trial.state.is_finished() for trial in study.get_trials(deepcopy=False)):
        time.sleep(1)
        study.optimize(example["experiment"], n_trials=1)

    trials = study.get_trials()
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert len(complete(study)) >= TRIALS
    lost = [trial for trial in trials if trial.state is not TrialState.COMPLETE]
    assert [trial.state for trial in lost] == [TrialState.FAIL]
    (again,) = [trial for trial in trials if trial.system_attrs.get("failed_trial") == lost[0].number]
    assert again.state is TrialState.COMPLETE
    assert lost[0].params.items() <= again.params.items()
    done = [tuple(trial.params.values()) for trial in complete(study)]
    assert len(set(done)) == len(done)

    # Each outcome is that of its own parameters, and each gap is recorded where the thermostat failed.
    for trial in complete(study):
        stages = list(trial.user_attrs.get(ACTUAL, {}))
        assert (trial.value == example["strength"](trial.params)) or stages
    gaps = actual_frame(study).filter(like="gap.").any(axis=1).mean()
    assert 0.1 < gaps < 0.5


def test_the_example_runs_with_the_default_method_and_goes_on(tmp_path):
    url = f"sqlite:///{tmp_path}/campaign.db"
    command = [sys.executable, EXAMPLE, url, "--workers", "1", "--trials", "3"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("3 trials")
    assert "MPa, in truth " in said
    example = runpy.run_path(str(EXAMPLE))
    example["work"](url, 4, 20, "posterior")
    assert len(complete(example["open_study"](url, 20))) == 4
