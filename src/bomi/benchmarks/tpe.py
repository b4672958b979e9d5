"""Optuna's tree-structured Parzen estimator with the interface of our optimizers.

It knows no gaps and no linear constraints: it is told the requested values, and its suggestions are projected onto the
constraints.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from bomi.errors import MethodError
from bomi.results import Best, Front, Suggestion
from bomi.space import Categorical, Integer, Ordinal, Parameter, Real, Space
from bomi.space.cells import Known


class TreeParzen:
    """An Optuna study that maximizes, with `multivariate` sampling."""

    def __init__(self, space: Space | Mapping[str, Any], seed: int, outcomes: int = 1) -> None:
        try:
            import optuna
        except ImportError:
            raise MethodError("the contender 'tpe' needs Optuna: pip install 'bomi[optuna]'") from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.space = space if isinstance(space, Space) else Space(space)
        self.distributions = {name: _distribution(p) for name, p in self.space.parameters.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some versions call `multivariate` experimental
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
        self.study = optuna.create_study(directions=["maximize"] * outcomes, sampler=sampler)
        self.count = 0

    def tell(
        self, experiment: Mapping[str, object], outcome: Any, *, actual: Mapping[str, object] | None = None
    ) -> None:
        """Tell an experiment and its outcome, or several by name; the caller has filled the gaps."""
        from optuna.trial import create_trial

        setting: dict[str, Any] = {**experiment, **(actual or {})}
        if any(value is None for value in setting.values()):
            return  # a column without any value
        params = {name: self._ranked(name, value) for name, value in setting.items()}
        values = list(outcome.values()) if isinstance(outcome, Mapping) else [outcome]
        self.study.add_trial(create_trial(params=params, distributions=self.distributions, values=values))

    def ask(self) -> Suggestion:
        """The next suggestion."""
        from optuna.trial import TrialState

        trial = self.study.ask(self.distributions)
        wanted = {name: self._unranked(name, value) for name, value in trial.params.items()}
        self.study.tell(trial, state=TrialState.FAIL)  # `tell` adds it again with the actual values
        self.count += 1
        place = self.space.project(self.space.to_unit(wanted)[None])[0]
        return Suggestion(str(self.count), self.space.setting(place))

    def best(self) -> Front:
        """The best setting that was told, or the undominated ones."""
        trials = self.study.best_trials
        settings = [{name: self._unranked(name, value) for name, value in trial.params.items()} for trial in trials]
        each = tuple(Best(setting, None, {}, setting, True) for setting in settings)
        return Front(None, None, {}, {}, True, choices=each)

    def _ranked(self, name: str, value: Known) -> Known:
        parameter = self.space.parameters[name]
        return parameter.index(value) if isinstance(parameter, Ordinal) else value

    def _unranked(self, name: str, value: Known) -> Known:
        parameter = self.space.parameters[name]
        return parameter.values[int(value)] if isinstance(parameter, Ordinal) else value


def _distribution(parameter: Parameter) -> Any:
    from optuna import distributions

    if isinstance(parameter, Categorical):
        return distributions.CategoricalDistribution(tuple(parameter.values))
    if isinstance(parameter, Ordinal):
        return distributions.IntDistribution(0, parameter.levels - 1)
    if isinstance(parameter, Integer):
        log = parameter.log and parameter.step == 1
        step = 1 if log else int(parameter.step or 1)
        return distributions.IntDistribution(int(parameter.low), int(parameter.high), log=log, step=step)
    assert isinstance(parameter, Real)
    return distributions.FloatDistribution(
        parameter.low, parameter.high, log=parameter.log, step=None if parameter.log else parameter.step
    )
