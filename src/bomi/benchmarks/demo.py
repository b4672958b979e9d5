"""The demonstration: a gappy history of heat treatments, and a furnace whose thermostats sometimes fail.

The alloy is the aluminium-scandium of `heat_treatment`: four stages, each a temperature and a time. Its strength comes
from precipitates of a few nanometres, which too cool a furnace never makes and too hot a one coarsens or dissolves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bomi.benchmarks.heat_treatment import HeatTreatment, Trace
from bomi.benchmarks.missingness import HistoryGaps
from bomi.optimizer import Optimizer
from bomi.results import Best, Suggestion
from bomi.space import Real, Space
from bomi.space.cells import Cell, Known

STAGES = range(1, 5)
TEMPERATURES, TIMES = [f"te_{k}" for k in STAGES], [f"ti_{k}" for k in STAGES]
SPACE = Space(
    {name: Real(1, 100 if name == "te_1" else 600, step=1, unit="°C") for name in TEMPERATURES}
    | {name: Real(1, 360, step=1, unit="min") for name in TIMES}
)
OBJECTIVE, UNIT = "strength", "MPa"
TOP = 163.0  # MPa: the best treatment that is known
NOISE = 1.0  # MPa, of a measurement
FAILS, STRAYS = 0.35, 60.0  # how often a thermostat does, and then by how many °C
HISTORY_ROWS, CAUTION = 30, 0.5  # the history's rows, and the part of each range that they cover

ALLOY = HeatTreatment()


def trace(setting: Mapping[str, Known]) -> Trace:
    """The alloy along a treatment."""
    return ALLOY.trace([float(setting[name]) for name in TEMPERATURES], [60 * float(setting[name]) for name in TIMES])


def strength(setting: Mapping[str, Known]) -> float:
    """The true strength after a treatment, MPa."""
    return float(trace(setting).strength[-1])


def history() -> pd.DataFrame:
    """Past treatments, cautious ones: none above 300 °C, no stage of more than three hours. Most rows lack a value."""
    rng = np.random.default_rng([0, 0])
    settings = [SPACE.setting(place) for place in SPACE.expand(CAUTION * rng.random((HISTORY_ROWS, len(SPACE))))]
    outcomes = [round(strength(setting) + rng.normal(0, NOISE), 1) for setting in settings]
    gaps = HistoryGaps(share=0.8).mask(HISTORY_ROWS, len(SPACE), rng)
    return pd.DataFrame(settings).astype(object).mask(gaps, None).assign(**{OBJECTIVE: outcomes})


@dataclass(frozen=True)
class Step:
    """One suggested experiment: what became known of its inputs where that is not what was asked, and its outcome."""

    suggestion: Suggestion
    actual: Mapping[str, Cell]
    outcome: float


def experiment(suggestion: Suggestion, rng: np.random.Generator) -> Step:
    """Run it. If a stage's thermostat fails the furnace drifts, and nobody reads how hot it was."""
    happened = dict(suggestion)
    actual: dict[str, Cell] = {}
    if rng.random() < FAILS:
        name = str(rng.choice(TEMPERATURES[1:]))  # the first stage is as good as cold
        low, high = SPACE.parameters[name].low, SPACE.parameters[name].high  # type: ignore[union-attr]
        happened[name] = float(np.clip(float(suggestion[name]) + rng.normal(0, STRAYS), low, high))
        actual[name] = None
    return Step(suggestion, actual, round(strength(happened) + rng.normal(0, NOISE), 1))


def summary(step: Step) -> dict[str, object]:
    """A row that fits on any terminal: each stage as °C × minutes, and the stage whose thermostat failed."""
    setting, predicted = step.suggestion, step.suggestion.predicted
    return {
        "id": setting.id,
        **{f"stage {k}": f"{setting[f'te_{k}']:.0f}×{setting[f'ti_{k}']:.0f}" for k in STAGES},
        "expected": f"{predicted.mean:.0f} ± {predicted.sd:.0f}" if predicted else None,
        OBJECTIVE: step.outcome,
        "failed": next((name.replace("te_", "stage ") for name in step.actual), None),
    }


def in_words(setting: Mapping[str, Known]) -> str:
    """A treatment as a person would say it."""
    return ", ".join(f"{setting[f'te_{k}']:.0f} °C for {setting[f'ti_{k}']:.0f} min" for k in STAGES)


@dataclass(frozen=True)
class Demonstration:
    """The optimizer after all experiments, each of them, and what it recommends."""

    optimizer: Optimizer
    steps: tuple[Step, ...]
    best: Best

    @property
    def setting(self) -> Mapping[str, Known]:
        """The treatment that it recommends."""
        return self.best.setting or self.steps[-1].suggestion


def play(*, experiments: int = 10, seed: int = 0, done: Callable[[Step], None] = lambda step: None) -> Demonstration:
    """Learn from the history, then suggest and run experiments one by one."""
    optimizer = Optimizer(SPACE, objective=OBJECTIVE, seed=seed)
    optimizer.tell(history())
    rng = np.random.default_rng([seed, 1])
    steps = []
    for _ in range(experiments):
        step = experiment(optimizer.ask(), rng)
        optimizer.tell(step.suggestion, step.outcome, actual=step.actual)
        steps.append(step)
        done(step)
    return Demonstration(optimizer, tuple(steps), optimizer.best())
