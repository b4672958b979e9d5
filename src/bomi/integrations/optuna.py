"""Optuna: a sampler that learns from trials with gaps, and a record of what really happened in a trial.

The sampler stores only its seed. It reads the study before each trial, so the study's storage holds the whole state:
any number of workers can share it, a study can be resumed, and a copy or a pickle of the sampler is as good as the
original. A parameter that a trial lacks is a gap, unless another one decides that it does not apply. Running trials are
pending experiments. A study of several objectives is an optimizer of several outcomes.

The module is long because it is one translation, from what Optuna says to what bomi says and back.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
import pandas as pd
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, PartialFixedSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from bomi.data.objectives import LIMIT, MAXIMIZE, MINIMIZE
from bomi.data.observations import FAILED
from bomi.data.reading import read_cell
from bomi.errors import CellError, SpaceError, StudyError, SuggestionError
from bomi.integrations import conditional
from bomi.integrations.naming import column_names, free_name
from bomi.methods import Method
from bomi.names import DEFAULT
from bomi.optimizer import Optimizer
from bomi.space import IDENTITY, RESERVED, TAKEN, Categorical, Integer, Parameter, Real, Space, cells
from bomi.space.cells import Cell, Known

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ACTUAL = "bomi.actual"  # the user attribute that holds what really happened
GAVE_NOTHING = "bomi.failed"  # the user attribute of an experiment that was made and failed
LOST = 10  # times the longest trial so far, after which a running one is no longer awaited
LOST_AT_LEAST = timedelta(minutes=10)
GAP = "gap."  # the prefix of the columns of `actual_frame` that mark gaps


class BomiSampler(BaseSampler):
    """Suggests parameters as `bomi.Optimizer` does, from trials that may have gaps.

    Without a search space it takes the union of the parameters seen in the study's trials, each with its latest
    distribution. A parameter that is not in this union is drawn at random. `method` is as for `bomi.Optimizer`. A
    study that runs one trial after another is reproducible with the same seed, even when it is resumed.

    The values of constraints (`trial.set_constraint`) are learned as outcomes are, and suggestions are weighed by the
    chance to be feasible. `constraints_func` is that of Optuna's own samplers.
    """

    def __init__(
        self,
        search_space: Mapping[str, BaseDistribution] | None = None,
        method: str | Method = DEFAULT,
        seed: int | None = None,
        *,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
    ) -> None:
        for name, distribution in (search_space or {}).items():
            if not isinstance(distribution, BaseDistribution) or not distribution.single():
                _parameter(name, distribution)
        self._search_space = None if search_space is None else dict(search_space)
        self._method = method
        self._constraints_func = constraints_func
        self._seed = secrets.randbits(32) if seed is None else seed
        Optimizer({"x": (0, 1)}, method=method, seed=self._seed)  # wrong ones are an error now, not in a trial

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Clear the record of a new trial: if a worker is lost, Optuna copies its trial's record to the repetition."""
        blank: dict[str, Any] = {ACTUAL: {}, GAVE_NOTHING: False}
        for name in blank:
            if trial.user_attrs.get(name):
                study._storage.set_trial_user_attr(trial._trial_id, name, blank[name])
                trial.user_attrs[name] = blank[name]

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Store what `constraints_func` says, as Optuna's own samplers do."""
        if self._constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            for place, value in enumerate(self._constraints_func(trial)):
                study._storage.set_trial_system_attr(trial._trial_id, f"constraints:{place}", float(value))

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The given search space, or the union over the trials; without parameters that have a single value."""
        space = self._search_space
        if space is None:
            space = {name: d for one in study.get_trials(deepcopy=False) for name, d in one.distributions.items()}
        return {name: distribution for name, distribution in space.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The optimizer's suggestion, given all other trials and the values that this one has fixed."""
        if not search_space:
            return {}
        whole = {**self.infer_relative_search_space(study, trial), **search_space}
        fixed = _fixed(study, trial, whole)
        if fixed.keys() >= search_space.keys():
            return {}
        known = {**search_space, **{name: whole[name] for name in fixed}}
        columns, optimizer = column_names(known), self._optimizer(study, known, trial.number)
        try:
            suggestion = optimizer.ask(given={columns[name]: value for name, value in fixed.items()})
        except SuggestionError:  # every setting of a small space is running: repeat one at random
            return {}
        return {name: _from_known(kind, suggestion[columns[name]]) for name, kind in search_space.items()}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A random value, for a parameter that is not in the search space."""
        seed = np.random.SeedSequence([self._seed, trial.number, *param_name.encode()]).generate_state(1)[0]
        return RandomSampler(int(seed)).sample_independent(study, trial, param_name, param_distribution)

    def optimizer(self, study: Study) -> Optimizer:
        """An optimizer that has been told the study's trials: for `best`, `gaps`, `predict` and `bomi.analysis.plots`.

        Categories are named by their text. The ids of its rows are the trials' numbers. The names of its outcomes are
        the study's metric names; without these, one outcome is `value`, and several are `value_0`, `value_1` and so on.
        A parameter called `id`, `exclude` or `asked.x` gets an underscore.
        """
        search_space = self.infer_relative_search_space(study, _NO_TRIAL)
        if not search_space:
            raise StudyError(
                f"study {study.study_name!r} has no parameters to learn about yet; "
                "run a trial, or give the sampler its search_space"
            )
        return self._optimizer(study, search_space)

    def _optimizer(
        self, study: Study, search_space: Mapping[str, BaseDistribution], number: int | None = None
    ) -> Optimizer:
        """An optimizer that knows all trials except the one of this number, which is also part of its seed.

        No two trials have the same number, so workers with the same seed ask for different points.
        """
        columns = column_names(search_space)
        space = Space({columns[name]: _parameter(name, distribution) for name, distribution in search_space.items()})
        seed = self._seed if number is None else int(np.random.SeedSequence([self._seed, number]).generate_state(1)[0])
        trials = study.get_trials(deepcopy=False)
        objectives = _objectives(study, space.names)
        limits = _limits(trials, (*space.names, *objectives))
        wanted = {**objectives, **dict.fromkeys(limits.values(), (LIMIT, 0.0))}
        optimizer = Optimizer(space, objective=wanted, method=self._method, seed=seed)
        found = conditional.conditions(trials, search_space)
        if found and optimizer.method.acquisition is not None:
            named = (replace(one, name=columns[one.name], parent=columns[one.parent]) for one in found.values())
            by_column = {one.name: one for one in named}
            scored = conditional.Applicable(optimizer.method.acquisition, space, by_column)
            optimizer.method = replace(optimizer.method, acquisition=scored)
        pending, blank = _pending(trials), dict.fromkeys(optimizer.outcomes)
        rows = [
            {IDENTITY: str(trial.number), **blank, **told, **_cells(trial, search_space, found)}
            for trial in trials
            if trial.number != number and ((told := _outcomes(trial, objectives, limits)) or trial.number in pending)
        ]
        if rows:
            index = [f"of trial {row[IDENTITY]}" for row in rows]
            optimizer.tell(pd.DataFrame(rows, index=index, dtype=object), out_of_bounds="keep")
        return optimizer


_NO_TRIAL = optuna.trial.create_trial(state=TrialState.WAITING)


def record_actual(
    trial: Trial | int,
    actual: Mapping[str, object] = MappingProxyType({}),
    *,
    failed: bool = False,
    study: Study | None = None,
) -> None:
    """Record what really happened in a trial, before its outcome is told: `{"temperature": None, "time": 912.0}`.

    None is unknown; `bomi.Normal(300, 15)`, "300±15" or "290..310" are known roughly. Parameters that went as requested
    need not be named. `failed=True` says that the experiment was made and failed: the model learns from it where
    experiments succeed, however the trial ends. The record is kept in the trial's user attributes. A trial can be given
    by its number, with its study.
    """
    if isinstance(trial, int) and study is not None:
        known: Trial | FrozenTrial = _numbered(study, trial)
    elif isinstance(trial, Trial):
        known, study = trial, trial.study
    else:
        raise StudyError(
            "record_actual takes a running trial, as study.ask() or the objective gets it, "
            f"or a number with study=..., but got {type(trial).__name__} {trial!r}"
        )
    if not isinstance(actual, Mapping):
        raise StudyError(f"what really happened is a mapping of parameter to value, but got {actual!r}")
    number, asked = known.number, known.distributions
    strange = [name for name in actual if name not in asked]
    if strange:
        raise StudyError(
            f"trial {number} has no parameter {', '.join(map(repr, strange))}; "
            f"it has {', '.join(asked) or 'no parameters yet'}"
        )
    record = {name: _to_json(number, name, asked[name], value) for name, value in actual.items()}
    attributes: dict[str, Any] = {ACTUAL: {**known.user_attrs.get(ACTUAL, {}), **record}}
    if failed:
        attributes[GAVE_NOTHING] = True
    try:
        for name, value in attributes.items():
            if isinstance(known, Trial):
                known.set_user_attr(name, value)
            else:
                study._storage.set_trial_user_attr(known._trial_id, name, value)
    except optuna.exceptions.UpdateFinishedTrialError:
        raise StudyError(
            f"trial {number} is finished, and Optuna does not change finished trials: "
            "call record_actual before study.tell, or before the objective returns"
        ) from None


def actual_frame(study: Study) -> pd.DataFrame:
    """The trials as a table: for each parameter the recorded value, the requested value, and whether there is a gap.

    Columns are `number`, `state`, `value` (or the outcomes as `BomiSampler.optimizer` names them), and for each
    parameter `x`, `asked.x` and `gap.x`. A gap is a value not known exactly, of a parameter that applies. A trial that
    was recorded as failed or breaks a constraint has `failed` as its outcomes. `Optimizer.tell` accepts the rows of
    complete and failed trials.
    """
    trials = study.get_trials(deepcopy=False)
    distributions = {name: d for trial in trials for name, d in trial.distributions.items()}
    columns, found = column_names(distributions), conditional.conditions(trials, distributions)
    objectives = _objectives(study, columns.values())
    number, state = (free_name(name, (*columns.values(), *objectives)) for name in ("number", "state"))
    table: dict[str, list[Any]] = {
        number: [trial.number for trial in trials],
        state: [trial.state.name for trial in trials],
    }
    for i, name in enumerate(objectives):
        failed = [FAILED in _outcomes(trial, objectives).values() for trial in trials]
        values = [trial.values[i] if trial.values else None for trial in trials]
        table[name] = [FAILED if fail else value for fail, value in zip(failed, values, strict=True)]
    for name, distribution in distributions.items():
        each, column = [_cell(trial, name, distribution) for trial in trials], columns[name]
        table[column] = [_from_known(distribution, c) if isinstance(c, Known) else c for c in each]
        table[RESERVED + column] = [trial.params.get(name) for trial in trials]
        table[GAP + column] = [
            not isinstance(cell, Known) and conditional.applies(name, found, trial.params, distributions)
            for cell, trial in zip(each, trials, strict=True)
        ]
    return pd.DataFrame(table)


def actual_figure(study: Study, sampler: BomiSampler | None = None) -> Figure:
    """What was requested and what happened, trial by trial, with one panel for each parameter; a plotly figure.

    "unknown" is a value not known exactly. Its bar goes from its 5 % to its 95 % quantile, around its median; for a
    category it is the most probable value. `sampler` infers the gaps; by default it is one with seed 0.
    """
    from plotly.subplots import make_subplots

    optimizer = (sampler or BomiSampler(seed=0)).optimizer(study)
    points = _points(optimizer)
    names, shown = optimizer.space.names, set()
    columns = 1 if len(names) <= 4 else 2
    rows = -(-len(names) // columns)
    figure = make_subplots(rows, columns, shared_xaxes="all", vertical_spacing=0.06 / rows, horizontal_spacing=0.12)
    for place, name in enumerate(names):
        panel: dict[str, Any] = {"row": place // columns + 1, "col": place % columns + 1}
        for kind, (color, symbol) in _KINDS.items():
            some = points[(points["parameter"] == name) & (points["kind"] == kind)]
            if some.empty:
                continue
            reach = {"array": list(some["above"]), "arrayminus": list(some["below"]), "width": 0, "thickness": 3}
            figure.add_scatter(
                x=list(some["trial"]),
                y=list(some["value"]),
                error_y=reach if some["above"].any() or some["below"].any() else None,
                mode="markers",
                marker={"color": color, "symbol": symbol, "size": 6, "line": {"color": color, "width": 2}},
                name=kind,
                legendgroup=kind,
                showlegend=kind not in shown,
                **panel,
            )
            shown.add(kind)
        parameter = optimizer.space.parameters[name]
        if isinstance(parameter, Categorical):
            order = {"type": "category", "categoryorder": "array", "categoryarray": list(parameter.values)}
            figure.update_yaxes(title=name, **order, **panel)
        elif isinstance(parameter, Real | Integer) and parameter.log:
            figure.update_yaxes(title=name, type="log", dtick=1, **panel)
        else:
            figure.update_yaxes(title=name, **panel)
    figure.update_xaxes(title="trial", row=rows)
    figure.update_layout(
        template="plotly_white",
        title=_best_title(study, optimizer),
        margin={"t": 70, "b": 40, "l": 60, "r": 20},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "left", "x": 0.0},
    )
    return figure


def _best_title(study: Study, optimizer: Optimizer) -> str:
    """Which trial is best, and which of its inputs nobody knows exactly: its `params` are what was requested."""
    rows = {row.id: row for row in optimizer.observations.rows}
    best = [rows[str(trial.number)] for trial in study.best_trials if str(trial.number) in rows]
    if len(best) != 1:
        return ""
    unknown = [name for name, cell in best[0].recorded.items() if not isinstance(cell, Known)]
    return f"Best is trial {best[0].id}" + (f", with {', '.join(unknown)} unknown" if unknown else ", all inputs known")


_KINDS = {  # colours that colour-blind people can distinguish (P. Tol), and plotly's symbols
    "what was asked": ("#bbbbbb", "circle-open"),
    "as asked": ("#4477aa", "circle"),
    "otherwise": ("#228833", "diamond"),
    "unknown": ("#ee6677", "line-ew"),
}


def _points(optimizer: Optimizer) -> pd.DataFrame:
    """The points of `actual_figure`: trial, parameter, kind, value, and how far the bar reaches above and below."""
    instead, went, recorded, unknown = _KINDS
    draws = {(gap.row, gap.parameter): gap.draws for gap in optimizer.gap_draws()}
    found = []
    for i, row in enumerate(optimizer.observations.rows):
        for name, cell in row.recorded.items():
            asked, gap = row.asked.get(name), draws.get((i, name), ())
            below = above = 0.0
            if isinstance(cell, Known):
                kind, value = (went if asked in (None, cell) else recorded), cell
            elif gap and all(isinstance(draw, int | float) for draw in gap):
                low, middle, high = np.quantile(np.array(gap, dtype=float), [0.05, 0.5, 0.95])
                kind, value, below, above = unknown, float(middle), float(middle - low), float(high - middle)
            elif gap:
                kind, value = unknown, max(set(gap), key=gap.count)
            else:
                continue  # still running, or left out by the method
            found.append((int(row.id or 0), name, kind, value, below, above))
            if asked is not None and kind != went:
                found.append((int(row.id or 0), name, instead, asked, 0.0, 0.0))
    return pd.DataFrame(found, columns=["trial", "parameter", "kind", "value", "below", "above"])


# --- between Optuna's terms and ours ----------------------------------------------------------------------------------


def _objectives(study: Study, parameters: Collection[str]) -> dict[str, str]:
    """The names of the study's objectives, each with its goal."""
    count = len(study.directions)
    names = study.metric_names or (["value"] if count == 1 else [f"value_{i}" for i in range(count)])
    found: dict[str, str] = {}
    for name, direction in zip(names, study.directions, strict=True):
        goal = MAXIMIZE if direction is StudyDirection.MAXIMIZE else MINIMIZE
        found[free_name(name, (*parameters, *TAKEN, *found))] = goal
    return found


def _fixed(study: Study, trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]) -> dict[str, Known]:
    """The values that an enqueued trial or a `PartialFixedSampler` has fixed, as far as they are inside the space."""
    values: dict[str, Any] = {}
    sampler = study.sampler
    while isinstance(sampler, PartialFixedSampler):  # it tells its base sampler the names, and not the values
        values = {**sampler._fixed_params, **values}
        sampler = sampler._base_sampler
    values |= trial.system_attrs.get("fixed_params", {})
    inside = {
        name: value for name, value in values.items() if name in search_space and _inside(search_space[name], value)
    }
    return {name: _to_known(trial, name, search_space[name], value) for name, value in inside.items()}


def _inside(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a value is one of a distribution's; Optuna itself warns of those that are not."""
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))
    except (TypeError, ValueError):
        return False


def _numbered(study: Study, number: int) -> FrozenTrial:
    for trial in study.get_trials(deepcopy=False):
        if trial.number == number:
            return trial
    raise StudyError(f"study {study.study_name!r} has no trial {number}")


def _parameter(name: str, distribution: BaseDistribution) -> Parameter:
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(_labels(distribution))
    if isinstance(distribution, IntDistribution):
        return Integer(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    if isinstance(distribution, FloatDistribution):
        return Real(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    raise StudyError(f"parameter {name!r} needs one of Optuna's distributions, but got {distribution!r}")


def _labels(distribution: CategoricalDistribution) -> list[str]:
    """The choices as text; numbered if two are the same, or if one reads as unknown."""
    labels = [cells.text(c) if isinstance(c, Known) else str(c) for c in distribution.choices]
    try:
        Categorical(labels)
    except SpaceError:
        return [f"{i}: {label}" for i, label in enumerate(labels)]
    return labels


def _to_known(trial: FrozenTrial, name: str, distribution: BaseDistribution, value: Any) -> Known:
    """Optuna's value as ours; a category becomes its label."""
    if not isinstance(distribution, CategoricalDistribution):
        return value  # type: ignore[no-any-return]
    try:
        return _labels(distribution)[int(distribution.to_internal_repr(value))]  # which finds a NaN among the choices
    except ValueError:
        raise StudyError(
            f"trial {trial.number}, parameter {name!r}: expected one of {', '.join(map(repr, distribution.choices))}, "
            f"but got {value!r}"
        ) from None


def _from_known(distribution: BaseDistribution, value: Known) -> Any:
    """Our value as Optuna's."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[_labels(distribution).index(str(value))]
    return float(value) if isinstance(distribution, FloatDistribution) else value


def _to_json(number: int, name: str, distribution: BaseDistribution, value: Any) -> object:
    """A checked record of one value: None, a number, a category, or a text such as 300±15."""
    choices = distribution.choices if isinstance(distribution, CategoricalDistribution) else ()
    chosen = any(value is c or value == c or (value != value and c != c) for c in choices)  # a NaN is a choice too
    if cells.is_unknown(value) and (value is None or not chosen):
        return None
    try:
        if not choices:
            cell = read_cell(_parameter(name, distribution), value, keep_outside=True)
            return cell if isinstance(cell, Known) else cells.text(cell)
        if not chosen:
            raise CellError(f"expected one of {', '.join(map(repr, choices))}, but got {value!r}")
        return value
    except CellError as error:
        raise StudyError(f"trial {number}, parameter {name!r}: {error}") from None


def _cell(trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Cell:
    """What is known of a parameter: the recorded value, else the requested one, else nothing."""
    record = trial.user_attrs.get(ACTUAL, {})
    value = record[name] if name in record else trial.params.get(name, ...)
    if value is ... or (value is None and name in record):
        return None
    if isinstance(distribution, CategoricalDistribution):
        return _to_known(trial, name, distribution, value)
    try:
        return read_cell(_parameter(name, distribution), value, keep_outside=True)
    except CellError as error:
        raise StudyError(f"trial {trial.number}, parameter {name!r}: {error}") from None


def _cells(
    trial: FrozenTrial, search_space: Mapping[str, BaseDistribution], found: Mapping[str, conditional.Condition]
) -> dict[str, Cell]:
    """What is known of each parameter, and the requested values, by column; what does not apply is at its middle."""
    columns = column_names(search_space)
    recorded = {columns[name]: _cell(trial, name, distribution) for name, distribution in search_space.items()}
    for name, distribution in search_space.items():
        known = name in trial.params or recorded[columns[name]] is not None
        if not known and not conditional.applies(name, found, trial.params, search_space):
            recorded[columns[name]] = conditional.middle(_parameter(name, distribution))
    asked = {
        RESERVED + columns[name]: _to_known(trial, name, distribution, trial.params[name])
        for name, distribution in search_space.items()
        if name in trial.params
    }
    return {**recorded, **asked}


def _recorded_failure(trial: FrozenTrial) -> bool:
    """Whether it was recorded as failed; a trial that waits for its repetition has not been made yet."""
    return bool(trial.user_attrs.get(GAVE_NOTHING)) and trial.state is not TrialState.WAITING


def _pending(trials: Sequence[FrozenTrial]) -> set[int]:
    """The running trials, without those that run so long that their workers must be dead.

    Not every storage has heartbeats to tell.
    """
    known = [trial.duration for trial in trials if trial.state is TrialState.COMPLETE]
    longest = max((duration for duration in known if duration is not None), default=None)
    running = {trial.number: trial.datetime_start for trial in trials if trial.state is TrialState.RUNNING}
    if longest is None:
        return set(running)
    given_up = datetime.now() - max(LOST * longest, LOST_AT_LEAST)
    return {number for number, start in running.items() if start is None or start > given_up}


def _limits(trials: Sequence[FrozenTrial], taken: Collection[str]) -> dict[str, str]:
    """The constraints that some trial has a value for, each with the name of its outcome."""
    found: dict[str, str] = {}
    for key in dict.fromkeys(key for trial in trials for key in trial.constraints):
        found[key] = free_name(f"constraint {key}", (*taken, *found.values()))
    return found


def _outcomes(
    trial: FrozenTrial, objectives: Collection[str], limits: Mapping[str, str] = MappingProxyType({})
) -> dict[str, object]:
    """The outcomes of a trial, with those of its constraints: failures, or the finite values of a complete trial.

    A complete trial is a failure if it breaks a constraint that is not in `limits`, or breaks any by infinity.
    """
    broken = [value for key, value in trial.constraints.items() if value > 0 and key not in limits]
    endless = any(value == math.inf for value in trial.constraints.values())
    if _recorded_failure(trial) or (trial.state is TrialState.COMPLETE and (broken or endless)):
        return dict.fromkeys((*objectives, *limits.values()), FAILED)
    values = trial.values if trial.state is TrialState.COMPLETE else ()
    told = dict(zip(objectives, values, strict=False))
    if trial.state is TrialState.COMPLETE:
        told |= {limits[key]: value for key, value in trial.constraints.items() if key in limits}
    return {name: value for name, value in told.items() if np.isfinite(value)}
