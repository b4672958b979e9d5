"""The packages for OptunaHub, loaded as OptunaHub loads them."""

import os
import re
from pathlib import Path

import pytest

if os.environ.get("BOMI_REQUIRE_ALL") != "1":
    pytest.importorskip("optunahub", reason="these tests need optunahub")
import optuna
import optunahub

from bomi.integrations.optuna import ACTUAL

HUB = Path(__file__).parent.parent.parent / "hub" / "package"
PACKAGES = {"samplers/bomi": "sampler", "benchmarks/gappy": "benchmark"}


def load(package):
    return optunahub.load_local_module(package, registry_root=str(HUB))


pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_what_the_template_has(package):
    folder = HUB / package
    assert {path.name for path in folder.iterdir()} >= {"LICENSE", "README.md", "__init__.py", "example.py"}
    front = re.match(r"---\n(.*?)---\n", (folder / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    keys = dict(line.split(": ", 1) for line in front.splitlines())
    assert set(keys) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert PACKAGES[package] in keys["tags"]
    headings = re.findall(r"^## (.*)$", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[:4] == ["Abstract", "APIs", "Installation", "Example"]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_examples_run(package, monkeypatch, capsys):
    monkeypatch.setattr(optunahub, "load_module", lambda package: load(package))
    (text,) = re.findall(r"```python\n(.*?)```", (HUB / package / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(text, package, "exec"), {})


def test_every_sampler_meets_the_same_events_and_they_are_recorded():
    module, events = load("benchmarks/gappy"), []
    for sampler in (optuna.samplers.RandomSampler(seed=0), load("samplers/bomi").BomiSampler(method="mean", seed=1)):
        problem = module.Problem("hartmann3", rho=0.5, seed=3)
        study = optuna.create_study(directions=problem.directions, sampler=sampler)
        study.optimize(problem, n_trials=8)
        events.append([trial.user_attrs[ACTUAL] for trial in study.trials])
        for trial in study.trials:
            as_asked = problem.evaluate(trial.params)
            assert (trial.value == pytest.approx(as_asked)) == (not trial.user_attrs[ACTUAL])
            assert problem.regret(trial.params) >= 0
    assert events[0] == events[1]
    assert 1 <= sum(bool(event) for event in events[0]) <= 7
