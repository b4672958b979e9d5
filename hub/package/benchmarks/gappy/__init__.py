"""Problems whose inputs go missing: the equipment now and then does something else, and nobody knows what."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.study import StudyDirection
from optunahub.benchmarks import BaseProblem

from bomi.benchmarks.missingness import Events
from bomi.benchmarks.problems import find_problem
from bomi.integrations.optuna import record_actual


class Problem(BaseProblem):
    """A function to be maximized, in trials that may go wrong.

    With probability `rho` one input of a trial is not what was asked: it differs by up to `eta` times its range. The
    trial then records it as unknown, as `bomi.actual` in its user attributes; samplers that do not know of this learn
    from what was asked. What goes wrong depends on `seed` and on the trial's number, never on what is asked, so that
    all samplers meet the same events. `evaluate` is the function itself: judge a sampler by `regret` of what it asked.
    """

    def __init__(self, name: str = "branin", rho: float = 0.3, eta: float = 0.3, seed: int = 0) -> None:
        self._problem = find_problem(name)
        self._events, self._seed = Events(rho, eta), seed

    @property
    def search_space(self) -> dict[str, BaseDistribution]:
        """Numbers within bounds."""
        return {name: FloatDistribution(low, high) for name, (low, high) in self._problem.bounds.items()}

    @property
    def directions(self) -> list[StudyDirection]:
        """The function is maximized."""
        return [StudyDirection.MAXIMIZE]

    def evaluate(self, params: dict[str, Any]) -> float:
        """The value at these inputs, exactly."""
        return float(self._problem(np.array([params[name] for name in self._problem.bounds], dtype=float)))

    def regret(self, params: dict[str, Any]) -> float:
        """By how much these inputs are worse than the best."""
        if self._problem.optimum is None:
            raise ValueError(f"the optimum of {self._problem.name} is not known")
        return self._problem.optimum - self.evaluate(params)

    def __call__(self, trial: optuna.Trial) -> float:
        """Run a trial: the value at what happened, with what is unknown recorded as such."""
        bounds = self._problem.bounds
        asked = {name: trial.suggest_float(name, low, high) for name, (low, high) in bounds.items()}
        event = self._events.draw(self._seed, trial.number, len(bounds))
        happened, _ = event.apply(np.array(list(asked.values())), bounds)
        record_actual(trial, {name: None for name, failed in zip(bounds, event.failed, strict=True) if failed})
        return float(self._problem(happened))


__all__ = ["Problem"]
