"""Ax: a generation node that learns from trials with gaps, and a record of what really happened in a trial.

The experiment holds the whole state: what was asked in its arms, what happened in its trials' run metadata, what came
out in its data. The node reads it before each generation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from ax.api.client import Client
from ax.core.base_trial import BaseTrial
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.core.optimization_config import OptimizationConfig
from ax.core.parameter import ChoiceParameter, FixedParameter, ParameterType, RangeParameter
from ax.core.parameter import Parameter as AxParameter
from ax.core.search_space import SearchSpace
from ax.core.types import ComparisonOp, TParameterization
from ax.generation_strategy.external_generation_node import ExternalGenerationNode
from ax.generation_strategy.generation_strategy import GenerationStrategy
from ax.generation_strategy.transition_criterion import TransitionCriterion
from ax.storage.json_store.registry import CORE_DECODER_REGISTRY, CORE_ENCODER_REGISTRY

from bomi.data.objectives import ERROR, LIMIT, MAXIMIZE, MINIMIZE
from bomi.data.observations import FAILED
from bomi.data.reading import read_cell
from bomi.errors import CellError, MethodError, SpaceError, StudyError
from bomi.integrations.naming import column_names, free_name
from bomi.methods import METHODS, Method
from bomi.methods import method as find_method
from bomi.names import DEFAULT
from bomi.optimizer import Optimizer
from bomi.space import IDENTITY, RESERVED, TAKEN, Categorical, Integer, Ordinal, Parameter, Real, Space, cells
from bomi.space.cells import Known
from bomi.space.linear import Linear

ACTUAL = "bomi.actual"  # of a trial's run metadata: what really happened, by arm
GAVE_NOTHING = "bomi.failed"  # of a trial's run metadata: it was made and failed


class BomiNode(ExternalGenerationNode):  # type: ignore[misc]
    """Generates candidates as `bomi.Optimizer` suggests experiments, from trials that may have gaps.

    `method` and `seed` are as for `bomi.Optimizer`. Parameter constraints hold for every candidate; outcome constraints
    weigh the expected improvement by the chance to keep them.
    """

    def __init__(
        self,
        method: str | Method = DEFAULT,
        seed: int | None = None,
        *,
        name: str = "bomi",
        transition_criteria: Sequence[TransitionCriterion] | None = None,
    ) -> None:
        super().__init__(name=name, transition_criteria=transition_criteria)
        self.seed = Optimizer({"x": (0, 1)}, method=method, seed=seed).seed  # a wrong one is an error now
        self.method = method
        self._optimizer: Optimizer | None = None
        self._pending: list[TParameterization] = []

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Read the experiment anew."""
        self._optimizer, self._space = _told(experiment, data, self.method, self.seed), experiment.search_space
        self._pending = []

    def get_next_candidate(self, pending_parameters: list[TParameterization]) -> TParameterization:
        """The optimizer's suggestion, given what is pending."""
        optimizer, columns = self._optimizer, column_names(_varied(self._space))
        assert optimizer is not None  # Ax updates the state first
        for parameters in pending_parameters:
            if parameters not in self._pending:
                asked = {columns[name]: parameters.get(name) for name in columns}
                optimizer.tell(asked, None, out_of_bounds="keep")
                self._pending.append(parameters)
        suggestion = optimizer.ask()
        fixed = {name: p.value for name, p in self._space.parameters.items() if isinstance(p, FixedParameter)}
        varied = {name: self._space.parameters[name].cast(suggestion[columns[name]]) for name in columns}
        found = {**fixed, **varied}
        self._pending.append(found)
        return {name: found[name] for name in self._space.parameters}


def _node_to_dict(node: BomiNode) -> dict[str, Any]:
    """What Ax writes of a node into its files and databases: what it was made of."""
    method = find_method(node.method)
    if METHODS.get(method.name) != method:
        raise MethodError(
            f"method {method.name!r} has parts of your own, which Ax cannot save: give the node one of "
            f"{', '.join(METHODS)}, or save the client before you set its generation strategy"
        )
    parts = {"name": node.name, "transition_criteria": node.transition_criteria}
    return {"__type": BomiNode.__name__, "method": method.name, "seed": node.seed, **parts}


CORE_ENCODER_REGISTRY[BomiNode] = _node_to_dict  # Ax has no other place for nodes in a client's own files
CORE_DECODER_REGISTRY[BomiNode.__name__] = BomiNode


def generation_strategy(method: str | Method = DEFAULT, seed: int | None = None) -> GenerationStrategy:
    """A strategy of one `BomiNode`, for `client.set_generation_strategy`."""
    return GenerationStrategy(name="bomi", nodes=[BomiNode(method, seed)])


def record_actual(
    client: Client | Experiment,
    trial_index: int,
    actual: Mapping[str, object] = MappingProxyType({}),
    *,
    failed: bool = False,
    arm: str | None = None,
) -> None:
    """Record what really happened in a trial: `{"temperature": None, "hours": 2.5}`.

    None is unknown; `bomi.Normal(300, 15)`, "300±15" or "290..310" are known roughly. Parameters that went as requested
    need not be named. `failed=True` says that the experiment was made and failed. Of a trial with several arms, name
    the arm. The record is kept in the trial's run metadata, and can be made or changed at any time.
    """
    experiment = _experiment(client)
    trial = experiment.trials.get(trial_index)
    if trial is None:
        raise StudyError(
            f"the experiment has no trial {trial_index!r}; it has {', '.join(map(str, experiment.trials))}"
        )
    names = [one.name for one in trial.arms]
    if arm is None and len(names) == 1:
        (arm,) = names
    if arm not in names:
        raise StudyError(f"trial {trial_index} has the arms {', '.join(names)}; name one of them, but got {arm!r}")
    varied = _varied(experiment.search_space)
    strange = [name for name in actual if name not in varied]
    if strange:
        raise StudyError(
            f"trial {trial_index} has no parameter {', '.join(map(repr, strange))}; it has {', '.join(varied)}"
        )
    record = {name: _to_json(trial_index, name, varied[name], value) for name, value in actual.items()}
    before = trial.run_metadata.get(ACTUAL, {})
    trial.update_run_metadata({ACTUAL: {**before, arm: {**before.get(arm, {}), **record}}})
    if failed:
        trial.update_run_metadata({GAVE_NOTHING: [*trial.run_metadata.get(GAVE_NOTHING, []), arm]})


def optimizer_of(client: Client | Experiment, method: str | Method = DEFAULT, seed: int | None = 0) -> Optimizer:
    """An optimizer that has been told the experiment: for `best`, `gaps`, `predict` and `frame`.

    The ids of its rows are the arms' names. Outcome constraints are outcomes that must stay at or below 0.
    """
    experiment = _experiment(client)
    return _told(experiment, experiment.lookup_data(), method, seed)


def _experiment(client: Client | Experiment) -> Experiment:
    return client if isinstance(client, Experiment) else client._experiment


def _told(experiment: Experiment, data: Data, method: str | Method, seed: int | None) -> Optimizer:
    """An optimizer told every trial with data, and every failure; outcome constraints are outcomes with a limit."""
    varied = _varied(experiment.search_space)
    columns = column_names(varied)
    space = Space(
        {columns[name]: _parameter(one) for name, one in varied.items()}, constraints=_constraints(experiment, columns)
    )
    if experiment.optimization_config is None:
        raise StudyError("the experiment has no objective yet: call client.configure_optimization first")
    goals = _goals(experiment.optimization_config, (*space.names, *TAKEN))
    limits = _limits(experiment.optimization_config, (*space.names, *TAKEN, *goals))
    wanted = {name: goal for name, (goal, _) in goals.items()}
    optimizer = Optimizer(space, objective={**wanted, **dict.fromkeys(limits, (LIMIT, 0.0))}, method=method, seed=seed)
    measured = {
        (int(trial), str(arm)): dict(zip(some["metric_name"], zip(some["mean"], some["sem"], strict=True), strict=True))
        for (trial, arm), some in data.df.groupby(["trial_index", "arm_name"])
    }
    rows = []
    for index, trial in experiment.trials.items():
        for arm in trial.arms:
            outcomes = _outcomes(trial, arm.name, measured.get((index, arm.name), {}), goals, limits)
            if outcomes:
                recorded = _cells(trial, arm, varied, columns)
                rows.append({IDENTITY: arm.name, **dict.fromkeys(optimizer.outcomes), **outcomes, **recorded})
    if rows:
        index = [f"of arm {row[IDENTITY]}" for row in rows]
        optimizer.tell(pd.DataFrame(rows, index=index, dtype=object), out_of_bounds="keep")
    return optimizer


# --- between Ax's terms and ours --------------------------------------------------------------------------------------

Weights = Sequence[tuple[str, float]]


def _varied(space: SearchSpace) -> dict[str, AxParameter]:
    return {name: one for name, one in space.parameters.items() if not isinstance(one, FixedParameter)}


def _parameter(one: AxParameter) -> Parameter:
    if isinstance(one, RangeParameter) and one.parameter_type is ParameterType.INT:
        return Integer(one.lower, one.upper, log=one.log_scale)
    if isinstance(one, RangeParameter):
        return Real(one.lower, one.upper, log=one.log_scale, decimals=one.digits)
    if isinstance(one, ChoiceParameter) and one.is_ordered:
        try:
            return Ordinal(one.values)
        except SpaceError:  # numbers that neither rise nor fall
            return Categorical(one.values)
    if isinstance(one, ChoiceParameter):
        return Categorical(one.values)
    raise StudyError(f"parameter {one.name!r}: expected a range, a choice or a fixed value, but got {one!r}")


def _constraints(experiment: Experiment, columns: Mapping[str, str]) -> list[Linear]:
    return [
        Linear({columns[name]: weight for name, weight in one.constraint_dict.items() if weight}, max=one.bound)
        for one in experiment.search_space.parameter_constraints
    ]


def _goals(config: OptimizationConfig, taken: Sequence[str]) -> dict[str, tuple[str, Weights]]:
    """The outcomes, each with its goal and the metrics that it is the weighted sum of."""
    weights = list(config.objective.metric_weights)
    found: dict[str, tuple[str, Weights]] = {}
    if config.objective.is_scalarized_objective:
        return {free_name("objective", taken): (MAXIMIZE, weights)}
    for metric, weight in weights:
        found[free_name(metric, (*taken, *found))] = (MAXIMIZE if weight > 0 else MINIMIZE, [(metric, 1.0)])
    return found


def _limits(config: OptimizationConfig, taken: Sequence[str]) -> dict[str, tuple[float, Weights]]:
    """The outcome constraints, each as a weighted sum of metrics that must not exceed a bound."""
    found: dict[str, tuple[float, Weights]] = {}
    for one in config.outcome_constraints:
        if one.relative:
            raise StudyError(f"{one} is relative to a status quo, which bomi does not know; give the bound as a number")
        sign = 1.0 if one.op is ComparisonOp.LEQ else -1.0
        name = free_name("constraint " + " ".join(one.metric_names), (*taken, *found))
        found[name] = (sign * one.bound, [(metric, sign * weight) for metric, weight in one.metric_weights])
    return found


def _outcomes(
    trial: BaseTrial,
    arm: str,
    measured: Mapping[str, tuple[float, float]],
    goals: Mapping[str, tuple[str, Weights]],
    limits: Mapping[str, tuple[float, Weights]],
) -> dict[str, object]:
    """What came out of an arm, with standard errors where they are known; a failure if it was recorded as one."""

    def total(weights: Weights) -> tuple[float, float]:
        means, errors = zip(*(measured.get(metric, (np.nan, np.nan)) for metric, _ in weights), strict=True)
        scale = np.array([weight for _, weight in weights])
        return float(scale @ np.array(means)), float(np.sqrt(((scale * np.array(errors)) ** 2).sum()))

    if arm in trial.run_metadata.get(GAVE_NOTHING, []):
        return dict.fromkeys((*goals, *limits), FAILED)
    found: dict[str, object] = {}
    for name, (_, weights) in goals.items():
        mean, error = total(weights)
        if np.isfinite(mean):
            found |= {name: mean, **({name + ERROR: error} if np.isfinite(error) else {})}
    over = {name: total(weights)[0] - bound for name, (bound, weights) in limits.items()}
    return {**found, **{name: value for name, value in over.items() if np.isfinite(value)}}


def _cells(
    trial: BaseTrial, arm: Any, varied: Mapping[str, AxParameter], columns: Mapping[str, str]
) -> dict[str, object]:
    """What is known of each parameter of an arm, and the requested values."""
    record = trial.run_metadata.get(ACTUAL, {}).get(arm.name, {})
    known = {columns[name]: record[name] if name in record else arm.parameters.get(name) for name in varied}
    return {**known, **{RESERVED + columns[name]: arm.parameters[name] for name in varied if name in arm.parameters}}


def _to_json(trial: int, name: str, one: AxParameter, value: object) -> object:
    """A checked record of one value: None, a number, a category, or a text such as 300±15."""
    try:
        cell = read_cell(_parameter(one), value, keep_outside=True)
    except CellError as error:
        raise StudyError(f"trial {trial}, parameter {name!r}: {error}") from None
    return cell if cell is None or isinstance(cell, Known) else cells.text(cell)
