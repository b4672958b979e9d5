"""The demonstration: a history of heat treatments with gaps, and a furnace whose thermostats sometimes fail.

The alloy is the aluminium-scandium of `heat_treatment`: four stages, each with a temperature and a time. Its strength
comes from precipitates of a few nanometres. In a furnace that is too cool they never form; in one that is too hot they
coarsen or dissolve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bomi.benchmarks.heat_treatment import HeatTreatment, Trace
from bomi.benchmarks.missingness import HistoryGaps
from bomi.optimizer import Optimizer
from bomi.results import Best, Prediction, Suggestion
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
FAILS, EXECUTION_SD = 0.35, 60.0  # how often a thermostat fails, and the sd of the execution error then, °C
HISTORY_ROWS, CAUTION = 30, 0.5  # rows of the history, and the part of each range that they cover

ALLOY = HeatTreatment()


def trace(setting: Mapping[str, Known]) -> Trace:
    """The alloy along a treatment."""
    return ALLOY.trace([float(setting[name]) for name in TEMPERATURES], [60 * float(setting[name]) for name in TIMES])


def strength(setting: Mapping[str, Known]) -> float:
    """The true strength after a treatment, MPa."""
    return float(trace(setting).strength[-1])


def history() -> pd.DataFrame:
    """Cautious past treatments: none above 300 °C, no stage of more than three hours. Most rows lack a value."""
    rng = np.random.default_rng([0, 0])
    settings = [SPACE.setting(place) for place in SPACE.expand(CAUTION * rng.random((HISTORY_ROWS, len(SPACE))))]
    outcomes = [round(strength(setting) + rng.normal(0, NOISE), 1) for setting in settings]
    gaps = HistoryGaps(share=0.8).mask(HISTORY_ROWS, len(SPACE), rng)
    return pd.DataFrame(settings).astype(object).mask(gaps, None).assign(**{OBJECTIVE: outcomes})


@dataclass(frozen=True)
class Step:
    """One suggested experiment: what is known of the inputs that differ from the request, and the outcome."""

    suggestion: Suggestion
    actual: Mapping[str, Cell]
    outcome: float


def experiment(suggestion: Suggestion, rng: np.random.Generator) -> Step:
    """Run the experiment. If the thermostat of a stage fails, nobody knows how hot the furnace was."""
    happened = dict(suggestion)
    actual: dict[str, Cell] = {}
    if rng.random() < FAILS:
        name = str(rng.choice(TEMPERATURES[1:]))  # the first stage is nearly cold
        low, high = SPACE.parameters[name].low, SPACE.parameters[name].high  # type: ignore[union-attr]
        happened[name] = float(np.clip(float(suggestion[name]) + rng.normal(0, EXECUTION_SD), low, high))
        actual[name] = None
    return Step(suggestion, actual, round(strength(happened) + rng.normal(0, NOISE), 1))


def summary(step: Step) -> dict[str, object]:
    """A row that fits on any terminal: each stage as °C × minutes, and the stage whose thermostat failed."""
    setting, predicted = step.suggestion, step.suggestion.predicted
    return {
        "id": setting.id,
        **{f"stage {k}": f"{setting[f'te_{k}']:.0f}×{setting[f'ti_{k}']:.0f}" for k in STAGES},
        "expected": f"{predicted.mean:.0f} ± {predicted.sd:.0f}" if isinstance(predicted, Prediction) else None,
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
        """The recommended treatment."""
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
