"""`Optimizer`: tell it what was done, ask it what to do next. The only stateful class."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, wraps
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np
import torch
from threadpoolctl import ThreadpoolController
from torch import Tensor

from bomi import candidates
from bomi.cells import Cell, Known
from bomi.errors import BomiError, CellError, MethodError, SpaceError, SuggestionError, TableError
from bomi.methods import Acquisition, Method, find_acquisition
from bomi.methods import method as find_method
from bomi.names import DEFAULT
from bomi.observations import Observations, Row, read_cell, read_columns, read_outcome
from bomi.space import RESERVED, Array, Categorical, Ordinal, Parameter, Space
from bomi.surrogates.gaussian_process import GaussianProcess
from bomi.worlds import Completed, Scaling, Table

if TYPE_CHECKING:
    import pandas as pd

SIGNS = {"maximize": 1.0, "minimize": -1.0}
SMALL = 1000  # rows up to which a second thread costs more than it brings

P = ParamSpec("P")
T = TypeVar("T")


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def _calm(compute: Callable[Concatenate[Optimizer, P], T]) -> Callable[Concatenate[Optimizer, P], T]:
    """Compute with one thread on a small table: many small matrices gain nothing from more, and lose a lot when other
    programs want the cores too."""

    @wraps(compute)
    def calmly(self: Optimizer, /, *args: P.args, **kwargs: P.kwargs) -> T:
        before = torch.get_num_threads()
        if len(self.observations.rows) > SMALL:
            return compute(self, *args, **kwargs)
        torch.set_num_threads(1)
        try:
            with _thread_pools().limit(limits=1):  # SciPy's own
                return compute(self, *args, **kwargs)
        finally:
            torch.set_num_threads(before)

    return calmly


_SPARE = 64  # points drawn where one is wanted, as small spaces give the same one again


class Prediction(NamedTuple):
    """What the worlds expect of an outcome, and how unsure they are."""

    mean: float
    sd: float


@dataclass(frozen=True)
class GapDraws:
    """What the worlds say of one value that is not known exactly; no draws if the method leaves its row out."""

    row: int  # counted from 0, in the order told
    parameter: str
    draws: tuple[Known, ...]
    recorded: Cell
    asked: Known | None


@dataclass(frozen=True, eq=False)
class Suggestion(Mapping[str, Known]):
    """An experiment to run next: a mapping of parameter to value."""

    id: str
    values_by_name: Mapping[str, Known]
    predicted: Prediction | None = None
    note: str = ""

    def __getitem__(self, name: str) -> Known:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __repr__(self) -> str:
        expected = f", predicted={self.predicted.mean:.4g}±{self.predicted.sd:.2g}" if self.predicted else ""
        note = f", note={self.note!r}" if self.note else ""
        return f"Suggestion({dict(self)}, id={self.id!r}{expected}{note})"


@dataclass(frozen=True)
class Best:
    """The recommended setting, and beside it the best outcome seen with what is known of its inputs."""

    setting: Mapping[str, Known] | None
    predicted: Prediction | None
    seen: float
    seen_at: Mapping[str, Cell]
    seen_known: bool
    note: str = ""


@dataclass
class _Fit:
    """What was learned from one state of the table."""

    rows: tuple[Row, ...]
    scaling: Scaling
    table: Table
    completed: Completed

    method: Method
    many: tuple[Tensor, Tensor] | None = None  # more worlds, once someone has asked for them

    @property
    def enough(self) -> bool:
        return self.completed.inputs.shape[1] >= self.method.rows

    @property
    def warm_enough(self) -> bool:
        return self.method.goes_on and self.enough

    @cached_property
    def model(self) -> GaussianProcess:
        return self.method.surrogate(self.completed, self.table.space)

    def warm(self, rows: tuple[Row, ...]) -> Completed:
        """These worlds for another state of the table: NaN in the rows that are new."""
        completed, place = self.completed, {id(row): i for i, row in enumerate(self.rows)}
        inputs = torch.full(
            (len(completed.inputs), len(rows), completed.inputs.shape[-1]), torch.nan, dtype=torch.float64
        )
        for i, row in enumerate(rows):
            if id(row) in place:
                inputs[:, i] = completed.inputs[:, place[id(row)]]
        return replace(completed, inputs=inputs, hyper=self.model.hyper)


class Optimizer:
    """Finds the best setting of an experiment some of whose inputs may be missing.

    `method` is a name of `bomi.METHODS` or a `Method`; `worlds` is how many completed tables it draws, if it draws any;
    `acquisition` is "ei", "ucb-mi" or an `Acquisition`, where another than the method's own is wished.

    >>> optimizer = Optimizer({"x": (0, 1)}, objective="y", method="mean", seed=0)
    >>> suggestion = optimizer.ask()
    >>> optimizer.tell(suggestion, 0.5, actual={"x": None})
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any],
        *,
        objective: str = "y",
        goal: str = "maximize",
        method: str | Method = DEFAULT,
        seed: int | None = None,
        worlds: int | None = None,
        acquisition: str | Acquisition | None = None,
    ) -> None:
        self.space = space if isinstance(space, Space) else Space(space)
        if goal not in SIGNS:
            raise BomiError(f"goal must be 'maximize' or 'minimize', but got {goal!r}")
        taken = (*self.space.names, "id")
        if not isinstance(objective, str) or not objective or objective in taken or objective.startswith(RESERVED):
            raise SpaceError(f"the objective needs a name of its own, that no parameter has, but got {objective!r}")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
            raise BomiError(f"seed must be a whole number from 0, but got {seed!r}")
        self.objective = objective
        self.goal = goal
        self.method = find_method(method, **({} if worlds is None else {"worlds": worlds}))
        if acquisition is not None:
            self.method = replace(self.method, acquisition=find_acquisition(acquisition))
        self.seed = secrets.randbits(32) if seed is None else int(seed)
        self._observations = Observations(self.space, objective)
        self._fit: _Fit | None = None

    # --- telling ---------------------------------------------------------------------------------------------------

    def tell(
        self,
        experiment: pd.DataFrame | Mapping[str, object],
        outcome: object = ...,
        *,
        actual: Mapping[str, object] | None = None,
        out_of_bounds: str = "error",
    ) -> None:
        """Take in a table of experiments, or the outcome of one.

        `tell(frame)`: columns are the parameters, the objective and, where known, `asked.<parameter>`; a blank is a
        gap, a blank outcome is pending. `tell(suggestion, 182.5)`: it went as asked. `actual={"temperature": None}`
        says what differed: another value, None for unknown, `Normal(300, 15)`. A plain mapping instead of a suggestion
        is an experiment of your own. `out_of_bounds="keep"` admits values outside the bounds. An error changes nothing.
        """
        if out_of_bounds not in ("error", "keep"):
            raise BomiError(f"out_of_bounds must be 'error' or 'keep', but got {out_of_bounds!r}")
        keep = out_of_bounds == "keep"
        if hasattr(experiment, "columns"):
            if outcome is not ... or actual is not None:
                raise TableError("a table brings its own outcomes: tell it alone")
            self._observations = self._observations.add(self._read_frame(experiment, keep))
            return
        if not isinstance(experiment, Mapping):
            raise TableError(f"tell takes a table, or a suggestion or mapping with its outcome, but got {experiment!r}")
        if outcome is ...:
            raise TableError("an experiment is told with its outcome: tell(experiment, outcome)")
        if actual is not None and not isinstance(actual, Mapping):
            raise SuggestionError(f"`actual` must be a mapping of parameter to value, but got {actual!r}")
        self._observations = self._with_one(experiment, outcome, actual or {}, keep)

    def _read_frame(self, frame: Any, keep: bool) -> list[Row]:
        names = [str(name) for name in frame.columns]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise TableError(f"the table has more than one column {', '.join(map(repr, doubled))}")
        columns = {name: frame.iloc[:, i].tolist() for i, name in enumerate(names)}
        labels = frame.index.tolist()
        return read_columns(columns, self.space, self.objective, keep_outside=keep, labels=labels)

    def _with_one(
        self, experiment: Mapping[str, object], outcome: object, actual: Mapping[str, object], keep: bool
    ) -> Observations:
        observations = self._observations
        unknown = [name for name in actual if name not in self.space.names]
        if unknown:
            raise SuggestionError(
                f"`actual` names no parameter: {', '.join(map(repr, unknown))}; "
                f"the parameters are {', '.join(self.space.names)}"
            )
        try:
            value = read_outcome(outcome)
        except CellError as error:
            raise TableError(f"outcome {self.objective!r}: {error}") from None
        changed = {name: self._cell(name, cell, keep) for name, cell in actual.items()}
        if not isinstance(experiment, Suggestion):
            known = {name: p.default for name, p in self.space.parameters.items() if p.default is not None}
            experiment = {**known, **experiment}  # what was not varied then
            missing = [name for name in self.space.names if name not in experiment]
            beside = [name for name in experiment if name not in self.space.names]
            if missing:
                also = f"; unexpected: {', '.join(map(repr, beside))}" if beside else ""
                raise TableError(f"the experiment lacks {', '.join(map(repr, missing))}{also}")
            recorded = {name: self._cell(name, experiment[name], keep) for name in self.space.names}
            asked = {name: cell for name, cell in recorded.items() if changed and isinstance(cell, Known)}
            return observations.add([Row({**recorded, **changed}, value, asked=asked, id=observations.fresh_id())])
        place = observations.find(experiment.id)
        if place is None or dict(observations.rows[place].asked) != dict(experiment):
            raise SuggestionError(f"suggestion {experiment.id!r} was not made by this optimizer")
        row = observations.rows[place]
        if not row.pending:
            raise SuggestionError(f"suggestion {experiment.id!r} has been told already")
        return observations.add([replace(row, recorded={**row.recorded, **changed}, outcome=value)])

    def _cell(self, name: str, value: object, keep: bool) -> Cell:
        try:
            return read_cell(self.space.parameters[name], value, keep_outside=keep)
        except CellError as error:
            raise TableError(f"parameter {name!r}: {error}") from None

    # --- asking ----------------------------------------------------------------------------------------------------

    @overload
    def ask(self) -> Suggestion: ...

    @overload
    def ask(self, count: int) -> list[Suggestion]: ...

    def ask(self, count: int | None = None) -> Suggestion | list[Suggestion]:
        """The next experiment, or a list of `count`; each is pending until told, and taken into account meanwhile."""
        if count is None:
            return self._ask_one()
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise BomiError(f"the number of suggestions must be a whole number from 1, but got {count!r}")
        return [self._ask_one() for _ in range(count)]

    @_calm
    def _ask_one(self) -> Suggestion:
        observations = self._observations
        place, note = self._next_place()
        setting = self._unasked(self.space.setting(place.numpy()))
        predicted = self.predict([setting])[0] if self._has_model() else None
        suggestion = Suggestion(observations.fresh_id(), setting, predicted, note)
        row = Row(recorded=dict(setting), outcome=None, asked=dict(setting), id=suggestion.id)
        self._observations = observations.add([row])
        return suggestion

    def _unasked(self, setting: dict[str, Known]) -> dict[str, Known]:
        """The setting, or where rounding has made it one that is pending, another one."""
        asked = [dict(row.asked) for row in self._observations.pending]
        if setting not in asked:
            return setting
        spare = candidates.space_filling(self.space, _SPARE, seed=self._draw_seed(len(self._observations.rows)))
        others = [self.space.setting(place) for place in spare.numpy()]
        return next((other for other in others if other not in asked), setting)

    def _has_model(self) -> bool:
        """Whether the method learns, and has enough rows to."""
        return self.method.acquisition is not None and self._learn().enough

    def _next_place(self) -> tuple[Tensor, str]:
        """Where to experiment next, and a note if the method could not say."""
        rows = len(self._observations.rows)
        seed = self._draw_seed(rows)
        pending = self._pending_places()
        acquisition = self.method.acquisition
        if acquisition is None:
            return _first_free(torch.from_numpy(self.space.draw(_SPARE, np.random.default_rng(seed))), pending), ""
        fit = self._learn()
        if not fit.enough:
            note = (
                f"space-filling: method {self.method.name!r} can use {fit.completed.inputs.shape[1]} rows "
                f"and needs {self.method.rows}"
            )
            points = candidates.space_filling(self.space, _SPARE, seed=self._draw_seed(0), skip=rows)
            return _first_free(points, pending), note
        model = fit.model.believe(pending) if len(pending) else fit.model
        t = 1 + sum(bool(row.asked) for row in self._observations.rows)
        parameters = len(self.space)
        place, _ = candidates.maximize(
            acquisition.score(model, t=t, parameters=parameters),
            self.space,
            seed=seed,
            starts=_best_rows(fit.model, fit.completed),
            taken=pending,
            within=self._region(fit, t),
            scouts=[acquisition.score(each, t=t, parameters=parameters) for each in model.worlds()],
            points=self.method.points,
        )
        return place, ""

    def _region(self, fit: _Fit, t: int) -> candidates.Region | None:
        """While nothing better has come for 2p rows, every second suggestion looks closely around the best row.

        On a smooth outcome that is where the acquisition looks anyway; on a rugged one it is where better peaks are.
        The row is taken from one world after another, since it may have gaps.
        """
        targets, radius = fit.completed.targets, self.method.radius
        best = int(targets.argmax())
        stalled = len(targets) - 1 - best >= 2 * len(self.space) and bool(targets.max() > targets.min())
        if radius is None or t % 2 or not stalled:
            return None
        return candidates.Region(fit.completed.inputs[t // 2 % len(fit.completed.inputs), best].clamp(0, 1), radius)

    def _learn(self) -> _Fit:
        """What the rows with an outcome say; learned once for each state of the table."""
        rows = self._observations.done
        if self._fit is None or self._fit.rows != rows:
            outcomes = SIGNS[self.goal] * torch.tensor([row.outcome for row in rows], dtype=torch.float64)
            scaling = self.method.scaling(outcomes)
            table = Table.of(self.space, rows, scaling.to_targets(outcomes))
            generator = torch.Generator().manual_seed(self._draw_seed(len(rows)))
            if len(rows):
                before = self._fit
                warm = before.warm(rows) if before is not None and before.warm_enough else None
                completed = self.method.filler(table, generator, warm)
            else:
                completed = Completed(table.inputs[None], table.targets)
            self._fit = _Fit(rows, scaling, table, completed, self.method)
        return self._fit

    def _pending_places(self) -> Tensor:
        """The pending experiments whose inputs, or what was asked, are known.  (m, d)"""
        places = []
        for row in self._observations.pending:
            known = {**row.asked, **{name: cell for name, cell in row.recorded.items() if isinstance(cell, Known)}}
            if len(known) == len(self.space):
                places.append(self.space.to_unit(known))
        return torch.from_numpy(np.array(places).reshape(-1, self.space.dim))

    def _draw_seed(self, count: int) -> int:
        """A seed that depends on nothing but the optimizer's and how much it has been told: restarts repeat."""
        return int(np.random.SeedSequence([self.seed, count]).generate_state(1)[0])

    # --- looking ---------------------------------------------------------------------------------------------------

    @_calm
    def best(self) -> Best:
        """The setting with the best posterior mean over all worlds, beside the best outcome seen."""
        done = self._observations.done
        if not done:
            raise TableError("there is no best yet: no outcome has been told")
        seen = max(done, key=lambda row: SIGNS[self.goal] * (row.outcome or 0.0))
        setting, predicted, note = self._recommend(seen)
        return Best(setting, predicted, seen.outcome or 0.0, dict(seen.recorded), seen.complete, note)

    def _recommend(self, seen: Row) -> tuple[dict[str, Known] | None, Prediction | None, str]:
        if not self._has_model():
            known = {name: cell for name, cell in seen.recorded.items() if isinstance(cell, Known)}
            if self.space.broken(known):
                return None, None, "no model, and the best row seen breaks a constraint"
            if len(known) == len(self.space):
                return known, None, "no model: the best row seen"
            return None, None, "no model, and the best row seen has gaps"
        setting = self.space.setting(self._recommended().numpy())
        return setting, self.predict([setting])[0], ""

    def _recommended(self) -> Tensor:
        """The place with the best posterior mean over all worlds.  (d,)"""
        fit = self._learn()

        def score(points: Tensor) -> Tensor:
            return fit.model.moments(points)[0].mean(0)

        seed = self._draw_seed(len(self._observations.rows))
        return candidates.maximize(score, self.space, seed=seed, starts=_best_rows(fit.model, fit.completed))[0]

    def predict(self, settings: Sequence[Mapping[str, Known]]) -> list[Prediction]:
        """What the worlds expect of the outcome at each setting."""
        places = [self.space.to_unit(setting) for setting in settings]
        means, sds = self.expected(np.array(places).reshape(-1, self.space.dim))
        return [Prediction(float(mean), float(sd)) for mean, sd in zip(means, sds, strict=True)]

    @_calm
    def expected(self, places: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the outcome at places of the unit cube.  (m, d) -> (m,), (m,)

        The worlds' mean, and their spread by the law of total variance.
        """
        fit = self._learn()
        if not self._has_model():
            raise MethodError(
                f"method {self.method.name!r} has no model of these rows: it can use {fit.completed.inputs.shape[1]} "
                f"of them and needs {self.method.rows}; tell more outcomes, or take another method"
            )
        with torch.no_grad():
            means, variances = fit.model.moments(torch.from_numpy(places))
        total = variances.mean(0) + means.var(0, correction=0)
        mean, sd = fit.scaling.to_outcome(means.mean(0), total.sqrt())
        return SIGNS[self.goal] * mean.numpy(), sd.numpy()

    @_calm
    def gap_draws(self) -> list[GapDraws]:
        """Draws of each value that is not known exactly, in the parameter's own unit."""
        fit = self._learn()
        many, _ = self._many_worlds()
        rows = fit.completed.rows if fit.completed.rows is not None else torch.arange(len(fit.table))
        world_row = {int(row): i for i, row in enumerate(rows)}
        numbers = [i for i, row in enumerate(self._observations.rows) if not row.pending]
        found = []
        every = [(i, j) for i in range(len(fit.rows)) for j in range(len(self.space))]
        for i, j in every:
            name, row = self.space.names[j], fit.rows[i]
            if isinstance(row.recorded[name], Known):
                continue
            draws: tuple[Known, ...] = ()
            if i in world_row:
                columns = many[:, world_row[i], self.space.columns[j]].numpy()
                draws = tuple(self.space.parameters[name].from_unit(place) for place in columns)
            found.append(GapDraws(numbers[i], name, draws, row.recorded[name], row.asked.get(name)))
        return found

    @_calm
    def _many_worlds(self) -> tuple[Tensor, Tensor | None]:
        """More worlds than a suggestion needs, and what each expects of the best outcome.  (M, n, d), (M,)"""
        fit = self._learn()
        sample = getattr(self.method.filler, "sample", None)
        if sample is None or not fit.enough or not fit.table.gaps.any():
            return fit.completed.inputs, None
        if fit.many is None:
            model = fit.model
            generator = torch.Generator().manual_seed(self._draw_seed(len(fit.rows) + 1))
            points = torch.cat([_best_rows(model, fit.completed), self._recommended()[None]])
            fit.many = sample(fit.table, replace(fit.completed, hyper=model.hyper), points, generator)
        return fit.many

    def gaps(self) -> pd.DataFrame:
        """What is known of each value that is not known exactly, in the parameter's own unit, the worthiest first.

        Of a category or an ordered level, `probabilities` maps each of its values to its probability.

        `worth` is how much the best outcome that can be predicted depends on the value, in the outcome's unit: its
        square is the part of the variance of the predicted best outcome that knowing the value would take away.
        """
        import pandas as pd

        _, best = self._many_worlds()
        outcomes = (
            self._learn().scaling.to_outcome(best, torch.zeros_like(best))[0].numpy() if best is not None else None
        )
        found = []
        for gap in self.gap_draws():
            parameter = self.space.parameters[gap.parameter]
            words = isinstance(parameter, Categorical) or not all(isinstance(draw, int | float) for draw in gap.draws)
            found.append(
                {
                    "row": gap.row,
                    "parameter": gap.parameter,
                    **_summary(() if words else gap.draws),
                    "probabilities": _probabilities(parameter, gap.draws),
                    "worth": _worth(gap.draws, outcomes, words=words),
                }
            )
        columns = ["row", "parameter", "mean", "sd", "5 %", "50 %", "95 %", "worth", "probabilities"]
        return pd.DataFrame(found, columns=columns).sort_values(
            "worth", ascending=False, kind="stable", ignore_index=True
        )

    @property
    def observations(self) -> Observations:
        """Everything told, row by row."""
        return self._observations

    def frame(self) -> pd.DataFrame:
        """Everything told, pending suggestions included, as a table that `tell` takes back."""
        return self._observations.frame()


def _first_free(points: Tensor, pending: Tensor) -> Tensor:
    """The first of the points that is not pending, or else the first.  (m, d) -> (d,)"""
    pending_already = ((points[:, None] - pending).abs() < candidates.SAME).all(-1).any(-1)
    return points[int((~pending_already).int().argmax())]


def _best_rows(model: GaussianProcess, completed: Completed, count: int = 3) -> Tensor:
    """Where each world's best rows are.  (Q * count, d)"""
    top = model.fitted().topk(min(count, completed.inputs.shape[1]), -1).indices  # (Q, count)
    worlds = torch.arange(len(top))[:, None]
    return completed.inputs[worlds, top].flatten(0, 1).clamp(0, 1)


def _probabilities(parameter: Parameter, draws: Sequence[Known]) -> dict[Known, float] | None:
    """How often each value of a list was drawn; None for numbers of a range and for rows that the method leaves out."""
    if not draws or not isinstance(parameter, Categorical | Ordinal):
        return None
    return {value: draws.count(value) / len(draws) for value in parameter.values}


def _summary(draws: Sequence[Known]) -> dict[str, float]:
    """Mean, sd and quantiles of drawn numbers; NaN without any."""
    if not draws:
        return {name: float("nan") for name in ("mean", "sd", "5 %", "50 %", "95 %")}
    values = np.array(draws, dtype=float)
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    sd = values.std(ddof=1) if np.ptp(values) > 0 else 0.0
    return {"mean": values.mean(), "sd": sd, "5 %": low, "50 %": middle, "95 %": high}


def _worth(draws: Sequence[Known], best: Array | None, *, words: bool) -> float:
    """The standard deviation of E[best | value], by a cubic regression (for categories, the groups' means)."""
    if best is None or len(draws) < len(best):
        return float("nan")
    if not words:
        values = np.array(draws, dtype=float)
        z = (values - values.mean()) / (values.std() or 1.0)
        design = np.stack([z**power for power in range(4)], 1)
    else:
        names = sorted({str(draw) for draw in draws})
        design = np.array([[float(str(draw) == name) for name in names] for draw in draws])
    size = np.abs(best).max() or 1.0  # to order one, so that no square overflows
    best = best / size
    coefficients, *_ = np.linalg.lstsq(design, best, rcond=None)
    rest = best - design @ coefficients
    freedom = max(len(best) - design.shape[1], 1)
    explained = best.var() - rest.var() * (len(best) - 1) / freedom  # less what chance alone would explain
    return float(np.sqrt(max(explained, 0.0)) * size)
