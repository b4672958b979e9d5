"""The demonstration: a gappy history of heat treatments, and a furnace whose thermostat sometimes fails.

The strength of an age-hardened alloy, made up but of the right shape: too short or too cool an ageing leaves it soft,
too long or too hot overages it, and a poor quench loses some of what could harden.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bomi.benchmarks.missingness import HistoryGaps
from bomi.cells import Cell, Known
from bomi.optimizer import Best, Optimizer, Suggestion
from bomi.space import Categorical, Real, Space

SPACE = Space(
    {
        "temperature": Real(120, 240, step=1, unit="°C"),
        "time": Real(0.5, 100, log=True, unit="h"),
        "cooling": Real(1, 200, log=True, unit="K/s"),
        "quench": Categorical(["water", "oil", "air"]),
    }
)
OBJECTIVE, UNIT = "strength", "MPa"
TOP = 480.0  # MPa, at the best setting
NOISE = 3.0  # MPa
FAILS = 0.3  # how often the thermostat does
HISTORY_ROWS = 30
CAUTION = (0.5, 0.5, 0.6, 1.0)  # the part of each parameter that the history covers


def strength(setting: Mapping[str, Known]) -> float:
    """The true strength in MPa; at most 480."""
    temperature, time, cooling = (float(setting[name]) for name in ("temperature", "time", "cooling"))
    ageing = math.log10(time / 8) + (temperature - 180) / 60  # the same hardening in less time where it is hotter
    hardening = math.exp(-((ageing / 1.4) ** 2)) * (1 - 0.5 * ((temperature - 170) / 70) ** 2)
    solute = {"water": 1.0, "oil": 0.93, "air": 0.8}[str(setting["quench"])]
    return 200 + 280 * hardening * solute * (1 - 0.1 * math.log10(cooling / 40) ** 2)


def history(seed: int, rows: int = HISTORY_ROWS) -> pd.DataFrame:
    """Past treatments, cautious ones: short, cool and slowly cooled. Four of five rows lack a value."""
    rng = np.random.default_rng([seed, 0])
    places = rng.random((rows, len(SPACE))) * CAUTION
    settings = [SPACE.setting(place) for place in SPACE.expand(places)]
    outcomes = [round(strength(setting) + rng.normal(0, NOISE), 1) for setting in settings]
    frame = pd.DataFrame(settings).astype(object)
    gaps = HistoryGaps(share=0.8).mask(rows, len(SPACE), rng)
    return frame.mask(gaps, None).assign(**{OBJECTIVE: outcomes})


@dataclass(frozen=True)
class Step:
    """One suggested experiment: what became known of its inputs where that is not what was asked, and its outcome."""

    suggestion: Suggestion
    actual: Mapping[str, Cell]
    outcome: float


def experiment(suggestion: Suggestion, rng: np.random.Generator) -> Step:
    """Run it. If the thermostat fails the furnace drifts, and nobody reads how hot it was."""
    happened = dict(suggestion)
    actual: dict[str, Cell] = {}
    if rng.random() < FAILS:
        low, high = SPACE.parameters["temperature"].low, SPACE.parameters["temperature"].high  # type: ignore[union-attr]
        happened["temperature"] = float(np.clip(float(suggestion["temperature"]) + rng.normal(0, 15), low, high))
        actual["temperature"] = None
    return Step(suggestion, actual, round(strength(happened) + rng.normal(0, NOISE), 1))


@dataclass(frozen=True)
class Demonstration:
    """The optimizer after all experiments, each of them, and what it recommends."""

    optimizer: Optimizer
    steps: tuple[Step, ...]
    best: Best

    @property
    def true_strength(self) -> float:
        """What the recommended setting really reaches."""
        return strength(self.best.setting or self.steps[-1].suggestion)


def play(*, experiments: int = 10, seed: int = 0, done: Callable[[Step], None] = lambda step: None) -> Demonstration:
    """Learn from the history, then suggest and run experiments one by one."""
    optimizer = Optimizer(SPACE, objective=OBJECTIVE, seed=seed)
    optimizer.tell(history(seed))
    rng = np.random.default_rng([seed, 1])
    steps = []
    for _ in range(experiments):
        step = experiment(optimizer.ask(), rng)
        optimizer.tell(step.suggestion, step.outcome, actual=step.actual)
        steps.append(step)
        done(step)
    return Demonstration(optimizer, tuple(steps), optimizer.best())
