"""Optuna: a sampler that learns from trials with gaps, and a record of what really happened in a trial.

The sampler stores only its seed. It reads the study before each trial, so the study's storage holds the whole state:
any number of workers can share it, a study can be resumed, and a copy or a pickle of the sampler is as good as the
original. A parameter that a trial lacks is a gap. Running trials are pending experiments. A study of several objectives
is an optimizer of several outcomes.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
import pandas as pd
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from bomi.data.objectives import ERROR, MAXIMIZE, MINIMIZE
from bomi.data.observations import FAILED
from bomi.data.reading import read_cell
from bomi.errors import CellError, SpaceError, StudyError, SuggestionError
from bomi.methods import Method
from bomi.names import DEFAULT
from bomi.optimizer import Optimizer
from bomi.space import IDENTITY, RESERVED, TAKEN, Categorical, Integer, Parameter, Real, Space, cells
from bomi.space.cells import Cell, Known

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ACTUAL = "bomi.actual"  # the user attribute that holds what really happened
GAVE_NOTHING = "bomi.failed"  # the user attribute of an experiment that was made and failed
GAP = "gap."  # the prefix of the columns of `actual_frame` that mark gaps


class BomiSampler(BaseSampler):
    """Suggests parameters as `bomi.Optimizer` does, from trials that may have gaps.

    Without a search space it takes the union of the parameters seen in the study's trials, each with its latest
    distribution. A parameter that is not in this union is drawn at random. `method` is as for `bomi.Optimizer`. A
    study that runs one trial after another is reproducible with the same seed, even when it is resumed.
    """

    def __init__(
        self,
        search_space: Mapping[str, BaseDistribution] | None = None,
        method: str | Method = DEFAULT,
        seed: int | None = None,
    ) -> None:
        for name, distribution in (search_space or {}).items():
            if not isinstance(distribution, BaseDistribution) or not distribution.single():
                _parameter(name, distribution)
        self._search_space = None if search_space is None else dict(search_space)
        self._method = method
        self._seed = secrets.randbits(32) if seed is None else seed
        Optimizer({"x": (0, 1)}, method=method, seed=self._seed)  # a wrong name or seed is an error now, not in a trial

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Clear the record of a new trial: Optuna copies that of a lost worker's trial to its repetition."""
        blank: dict[str, Any] = {ACTUAL: {}, GAVE_NOTHING: False}
        for name in blank:
            if trial.user_attrs.get(name):
                study._storage.set_trial_user_attr(trial._trial_id, name, blank[name])
                trial.user_attrs[name] = blank[name]

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The given search space, or the union over the trials; without parameters that have a single value."""
        space = self._search_space
        if space is None:
            space = {name: d for one in study.get_trials(deepcopy=False) for name, d in one.distributions.items()}
        return {name: distribution for name, distribution in space.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The optimizer's suggestion, given all other trials."""
        if not search_space:
            return {}
        optimizer = self._optimizer(study, search_space, trial.number)
        try:
            suggestion = optimizer.ask()
        except SuggestionError:  # every setting of a small space is running: repeat one at random
            return {}
        return {name: _from_known(search_space[name], value) for name, value in suggestion.items()}

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
        """
        search_space = self.infer_relative_search_space(study, _NO_TRIAL)
        if not search_space:
            raise StudyError(f"study {study.study_name!r} has no parameters to learn about yet")
        return self._optimizer(study, search_space)

    def _optimizer(
        self, study: Study, search_space: Mapping[str, BaseDistribution], number: int | None = None
    ) -> Optimizer:
        """An optimizer that knows all trials except the one of this number, which is also part of its seed.

        No two trials have the same number, so workers with the same seed ask for different points.
        """
        space = Space({name: _parameter(name, distribution) for name, distribution in search_space.items()})
        seed = self._seed if number is None else int(np.random.SeedSequence([self._seed, number]).generate_state(1)[0])
        objectives = _objectives(study, space.names)
        optimizer = Optimizer(space, objective=objectives, method=self._method, seed=seed)
        rows = [
            {IDENTITY: str(trial.number), **dict.fromkeys(objectives), **outcomes, **_cells(trial, search_space)}
            for trial in study.get_trials(deepcopy=False)
            if trial.number != number
            and ((outcomes := _outcomes(trial, objectives)) or trial.state is TrialState.RUNNING)
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
    parameter `x`, `asked.x` and `gap.x`. A gap is a value not known exactly. A trial recorded as failed has `failed` as
    its outcomes. `Optimizer.tell` accepts the rows of complete and of failed trials.
    """
    trials = study.get_trials(deepcopy=False)
    distributions = {name: d for trial in trials for name, d in trial.distributions.items()}
    objectives = _objectives(study, distributions)
    number, state = (_free(name, (*distributions, *objectives)) for name in ("number", "state"))
    table: dict[str, list[Any]] = {
        number: [trial.number for trial in trials],
        state: [trial.state.name for trial in trials],
    }
    for i, name in enumerate(objectives):
        table[name] = [FAILED if _failed(trial) else trial.values[i] if trial.values else None for trial in trials]
    for name, distribution in distributions.items():
        each = [_cell(trial, name, distribution) for trial in trials]
        table[name] = [_from_known(distribution, c) if isinstance(c, Known) else c for c in each]
        table[RESERVED + name] = [trial.params.get(name) for trial in trials]
        table[GAP + name] = [not isinstance(c, Known) for c in each]
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
        margin={"t": 40, "b": 40, "l": 60, "r": 20},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "left", "x": 0.0},
    )
    return figure


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
        found[_free(name, (*parameters, *TAKEN, *found))] = goal
    return found


def _numbered(study: Study, number: int) -> FrozenTrial:
    for trial in study.get_trials(deepcopy=False):
        if trial.number == number:
            return trial
    raise StudyError(f"study {study.study_name!r} has no trial {number}")


def _free(name: str, taken: Collection[str]) -> str:
    """The name, with underscores appended until neither it nor the column of its standard errors is taken."""
    while name in taken or name + ERROR in taken:
        name += "_"
    return name


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
    if value not in distribution.choices:
        raise StudyError(
            f"trial {trial.number}, parameter {name!r}: expected one of {', '.join(map(repr, distribution.choices))}, "
            f"but got {value!r}"
        )
    return _labels(distribution)[int(distribution.to_internal_repr(value))]


def _from_known(distribution: BaseDistribution, value: Known) -> Any:
    """Our value as Optuna's."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[_labels(distribution).index(str(value))]
    return float(value) if isinstance(distribution, FloatDistribution) else value


def _to_json(number: int, name: str, distribution: BaseDistribution, value: Any) -> object:
    """A checked record of one value: None, a number, a category, or a text such as 300±15."""
    choices = distribution.choices if isinstance(distribution, CategoricalDistribution) else ()
    if cells.is_unknown(value) and (value is None or value not in choices):
        return None
    try:
        if not choices:
            cell = read_cell(_parameter(name, distribution), value, keep_outside=True)
            return cell if isinstance(cell, Known) else cells.text(cell)
        if value not in choices:
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


def _cells(trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]) -> dict[str, Cell]:
    """What is known of each parameter, and the requested values."""
    recorded = {name: _cell(trial, name, distribution) for name, distribution in search_space.items()}
    asked = {
        RESERVED + name: _to_known(trial, name, distribution, trial.params[name])
        for name, distribution in search_space.items()
        if name in trial.params
    }
    return {**recorded, **asked}


def _failed(trial: FrozenTrial) -> bool:
    """Whether it was recorded as failed; a trial that waits for its repetition has not been made yet."""
    return bool(trial.user_attrs.get(GAVE_NOTHING)) and trial.state is not TrialState.WAITING


def _outcomes(trial: FrozenTrial, objectives: Collection[str]) -> dict[str, object]:
    """The outcome of each objective: a failure, or the finite values of a complete trial."""
    if _failed(trial):
        return dict.fromkeys(objectives, FAILED)
    values = trial.values if trial.state is TrialState.COMPLETE else ()
    return {name: value for name, value in zip(objectives, values, strict=False) if np.isfinite(value)}
