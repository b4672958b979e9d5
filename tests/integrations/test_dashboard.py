"""optuna-dashboard shows a study of ours and its figure.

`python tests/integrations/test_dashboard.py` takes the picture of docs/integrations/optuna.md anew.
"""

import math
import os
import shutil
import sys
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

if os.environ.get("BOMI_REQUIRE_ALL") != "1":
    for name in ("optuna", "optuna_dashboard", "playwright"):
        pytest.importorskip(name, reason=f"these tests need {name}")
import numpy as np
import optuna
from optuna_dashboard import save_plotly_graph_object, wsgi
from playwright.sync_api import expect, sync_playwright

import bomi
from bomi.integrations.optuna import BomiSampler, actual_figure, record_actual

PICTURE = Path(__file__).parents[2] / "docs" / "integrations" / "dashboard.png"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def strength(setting):
    """Of an alloy after ageing, MPa: too little and too much of it both leave it soft."""
    ageing = math.log10(setting["time"] / 8) + (setting["temperature"] - 180) / 60
    hardening = math.exp(-((ageing / 1.4) ** 2)) * (1 - 0.5 * ((setting["temperature"] - 170) / 70) ** 2)
    solute = {"water": 1.0, "oil": 0.93, "air": 0.8}[setting["quench"]]
    return 200 + 280 * hardening * solute * (1 - 0.1 * math.log10(setting["cooling"] / 40) ** 2)


def experiment(trial):
    """One ageing treatment: now and then the thermostat fails, or the timer is late."""
    setting = {
        "temperature": trial.suggest_int("temperature", 120, 240),
        "time": trial.suggest_float("time", 0.5, 100, log=True),
        "cooling": trial.suggest_float("cooling", 1, 200, log=True),
        "quench": trial.suggest_categorical("quench", ["water", "oil", "air"]),
    }
    rng = np.random.default_rng(trial.number)
    luck = rng.random()
    if luck < 0.3:
        setting["temperature"] = float(np.clip(setting["temperature"] + rng.normal(0, 15), 120, 240))
        record_actual(trial, {"temperature": None if luck < 0.15 else bomi.Normal(setting["temperature"], 4)})
    elif luck < 0.4:
        setting["time"] = min(1.5 * setting["time"], 100.0)
        record_actual(trial, {"time": setting["time"]})
    return strength(setting)


class Quiet(WSGIRequestHandler):
    def log_message(self, *args):
        pass


@contextmanager
def dashboard(study):
    """The study's page, in a browser."""
    with make_server("127.0.0.1", 0, wsgi(study._storage), handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with sync_playwright() as play:
                browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1200, "height": 1700})
                page.goto(f"http://127.0.0.1:{server.server_port}/dashboard/studies/{study._study_id}", timeout=120_000)
                yield page
                browser.close()
        finally:
            server.shutdown()
            thread.join()


def run(trials, method="posterior"):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = BomiSampler(method=method, seed=0)
    study = optuna.create_study(study_name="ageing of an alloy", direction="maximize", sampler=sampler)
    study.optimize(experiment, n_trials=trials)
    save_plotly_graph_object(study, actual_figure(study), graph_object_id="actual")
    return study


def looked_at(page):
    """Wait until the study and the figure are there."""
    expect(page.get_by_text("ageing of an alloy").first).to_be_visible(timeout=120_000)
    for text in ("what was asked", "as asked", "unknown"):  # of the figure's legend
        expect(page.locator("svg .legendtext", has_text=text).first).to_be_visible(timeout=120_000)


def test_the_dashboard_shows_the_study_and_what_happened():
    if CHROMIUM is None:
        message = "no Chromium is installed (Debian's package chromium)"
        pytest.fail(message) if os.environ.get("BOMI_REQUIRE_ALL") == "1" else pytest.skip(message)
    with dashboard(run(8, method="suggest")) as page:
        looked_at(page)


if __name__ == "__main__":
    from PIL import Image

    warnings.simplefilter("ignore")
    with dashboard(run(40)) as page:
        looked_at(page)
        page.wait_for_timeout(5000)
        page.screenshot(path=PICTURE, clip={"x": 60, "y": 0, "width": 1140, "height": 1690})
    with Image.open(PICTURE) as taken:
        small = taken.convert("RGB").resize((760, 1127), Image.Resampling.LANCZOS)
    small.quantize(256, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
    sys.stdout.write(f"{PICTURE}\n")
