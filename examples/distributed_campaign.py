"""A campaign that has outgrown one machine: workers share one Optuna study in a database.

Each worker runs heat treatments of an aluminium alloy in four stages, eight parameters in all. Now and then the
thermostat of a stage fails: the strength is measured, but nobody knows how hot that stage was. The worker says so,
and `BomiSampler` goes on from there. A worker that dies loses nothing: its trial is run again by another.

    python distributed_campaign.py postgresql://me@host/campaign               # four workers, 80 trials
    python distributed_campaign.py postgresql://me@host/campaign --workers 1   # one more, on any other machine
    optuna-dashboard postgresql://me@host/campaign                             # look on

The same command later goes on where it was. Any database that Optuna knows will do; SQLite serves one machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import warnings

import numpy as np
import optuna
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.study import MaxTrialsCallback
from optuna.trial import Trial, TrialState

from bomi.benchmarks.heat_treatment import BOUNDS, HeatTreatment
from bomi.integrations.optuna import BomiSampler, actual_frame, record_actual

STUDY = "heat treatment"
FAILS = 0.3  # how often a thermostat does
STRAYS = 60.0  # deg C, the standard deviation of how far that stage is then from what was asked
ALLOY = HeatTreatment()


def experiment(trial: Trial) -> float:
    """Run one treatment; the strength in MPa. Its bad luck follows from its number, so that it can be repeated."""
    trial.set_user_attr("worker", f"{platform.node()}:{os.getpid()}")  # who ran it: the dashboard shows it
    asked = {
        name: trial.suggest_float(name, low, high, log=name.startswith("ti")) for name, (low, high) in BOUNDS.items()
    }
    happened = dict(asked)
    rng = np.random.default_rng(trial.number)
    if rng.random() < FAILS:
        stage = f"te_{rng.integers(1, 5)}"
        happened[stage] = float(np.clip(asked[stage] + rng.normal(0, STRAYS), *BOUNDS[stage]))
        record_actual(trial, {stage: None})
    return strength(happened)


def strength(setting: dict[str, float]) -> float:
    """What the alloy reaches, MPa."""
    values = np.array([setting[name] for name in BOUNDS])
    return float(ALLOY.strength(values[:4], values[4:]))


def open_study(url: str, heartbeat: int, method: str = "posterior") -> optuna.Study:
    """The shared study. A worker without a heartbeat for three intervals is given up, and its trial is run again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # heartbeats are called experimental
        storage = RDBStorage(
            url,
            heartbeat_interval=heartbeat,
            grace_period=3 * heartbeat,
            heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(),
        )
    return optuna.create_study(
        study_name=STUDY, storage=storage, direction="maximize", sampler=BomiSampler(method=method), load_if_exists=True
    )


def work(url: str, trials: int, heartbeat: int, method: str) -> None:
    """Run trials until the study holds enough complete ones."""
    study = open_study(url, heartbeat, method)
    enough = MaxTrialsCallback(trials, states=(TrialState.COMPLETE,))
    if len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))) < trials:
        study.optimize(experiment, callbacks=[enough])


def main() -> None:
    """Work, or start workers and tell what they found."""
    parser = argparse.ArgumentParser(description="A heat-treatment campaign with workers that share a database.")
    parser.add_argument("url", help="the database, such as postgresql://me@host/campaign")
    parser.add_argument("--workers", type=int, default=4, help="processes to start here")
    parser.add_argument("--trials", type=int, default=80, help="complete trials that the study shall hold")
    parser.add_argument("--heartbeat", type=int, default=20, help="seconds between signs of life of a worker")
    parser.add_argument("--method", default="posterior", help="how gaps are dealt with")
    parser.add_argument("--work", action="store_true", help="be a worker: what this program starts")
    chosen = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if chosen.work:
        work(chosen.url, chosen.trials, chosen.heartbeat, chosen.method)
        return
    study = open_study(chosen.url, chosen.heartbeat)
    workers = [subprocess.Popen([sys.executable, *sys.argv, "--work"]) for _ in range(chosen.workers)]
    for worker in workers:
        worker.wait()
    frame = actual_frame(study)
    print(f"{len(frame)} trials, {int(frame.filter(like='gap.').any(axis=1).sum())} with a gap")
    best = BomiSampler(seed=0).optimizer(study).best()
    if best.setting is not None and best.predicted is not None:
        shown = ", ".join(f"{name} {float(value):.4g}" for name, value in best.setting.items())
        print(f"recommended: {shown}")
        print(
            f"predicted {best.predicted.mean:.1f} ± {best.predicted.sd:.1f} MPa, in truth {strength(best.setting):.1f}"
        )


if __name__ == "__main__":
    main()
