"""`Optimizer`: tell it what was done, ask it what to do next. The only stateful class."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

import numpy as np
import torch
from torch import Tensor

from bomi import propose
from bomi.data.objectives import Objective, check_names, read_objectives
from bomi.data.observations import Observations, Row
from bomi.data.reading import is_failed, read_cell, read_columns, read_error, read_outcome
from bomi.errors import BomiError, CellError, MethodError, SuggestionError, TableError
from bomi.impute.summary import gap_table
from bomi.impute.transform import Transform
from bomi.learning import Fit, draw_seed, learn, table_of
from bomi.methods import Method
from bomi.methods import method as find_method
from bomi.model.gaussian_process import GaussianProcess
from bomi.names import DEFAULT
from bomi.recommend import best_of_each_draw, recommended, shortlist_of, trade_offs
from bomi.results import Best, Front, GapDraws, Prediction, Suggestion
from bomi.search import acquisition as scores
from bomi.search import candidates
from bomi.search.criteria import Acquisition, ExpectedImprovement, find_acquisition
from bomi.space import IDENTITY, RESERVED, Array, Space
from bomi.space.cells import Cell, Known
from bomi.threads import single_threaded

if TYPE_CHECKING:
    import pandas as pd
    from botorch.acquisition.acquisition import AcquisitionFunction

    from bomi.model.mixture import Mixture

P = ParamSpec("P")
T = TypeVar("T")


def _single_threaded(compute: Callable[Concatenate[Optimizer, P], T]) -> Callable[Concatenate[Optimizer, P], T]:
    """A method that computes with one thread on a small table."""

    @wraps(compute)
    def method(self: Optimizer, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with single_threaded(len(self.observations.rows)):
            return compute(self, *args, **kwargs)

    return method


class Optimizer:
    """Finds the best setting of an experiment some of whose inputs may be missing.

    `objective` is the name of the outcome and `goal` what is wanted of it: "maximize", "minimize" or ("target", 7.0);
    several outcomes are a mapping of name to goal. `method` is a name of `bomi.METHODS` or a `Method`; `worlds` is how
    many completed tables it draws, if it draws any; `acquisition`, where another than the method's own is wished, is
    "ei", "ucb-mi", an `Acquisition`, or what makes one of BoTorch's from a model:
    `lambda model: LogExpectedImprovement(model, best_f=model.best_f)`. `device` is where the large matrices of long
    tables are computed: "cuda" for a GPU.

    >>> optimizer = Optimizer({"x": (0, 1)}, objective="y", method="mean", seed=0)
    >>> suggestion = optimizer.ask()
    >>> optimizer.tell(suggestion, 0.5, actual={"x": None})
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any],
        *,
        objective: str | Mapping[str, Any] = "y",
        goal: str | tuple[str, float] | None = None,
        method: str | Method = DEFAULT,
        seed: int | None = None,
        worlds: int | None = None,
        acquisition: str | Acquisition | Callable[[Mixture], AcquisitionFunction] | None = None,
        device: str = "cpu",
    ) -> None:
        self.space = space if isinstance(space, Space) else Space(space)
        self.objectives: tuple[Objective, ...] = read_objectives(objective, goal)
        check_names(self.objectives, (*self.space.names, IDENTITY), RESERVED)
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
            raise BomiError(f"seed must be a whole number from 0, but got {seed!r}")
        self.objective = objective if isinstance(objective, str) else ", ".join(self.outcomes)
        self.method = find_method(method, **({} if worlds is None else {"worlds": worlds}))
        several = len(self.objectives) > 1
        if acquisition is not None:
            self.method = replace(self.method, acquisition=find_acquisition(acquisition))
            if several and not isinstance(self.method.acquisition, ExpectedImprovement):
                raise MethodError(f"several outcomes are weighed by 'ei', not by {acquisition!r}")
        elif several and self.method.acquisition is not None:
            self.method = replace(self.method, acquisition=ExpectedImprovement())
        self.seed = secrets.randbits(32) if seed is None else int(seed)
        self.device = _checked_device(device)
        self._observations = Observations(self.space, self.outcomes)
        self._fit: Fit | None = None

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of the outcomes."""
        return tuple(objective.name for objective in self.objectives)

    @property
    def goal(self) -> str:
        """What is wanted of the outcome, or of the first of several."""
        return self.objectives[0].goal

    # --- telling ---------------------------------------------------------------------------------------------------

    def tell(
        self,
        experiment: pd.DataFrame | Mapping[str, object],
        outcome: object = ...,
        *,
        actual: Mapping[str, object] | None = None,
        sd: object = None,
        failed: bool = False,
        out_of_bounds: str = "error",
    ) -> None:
        """Take in a table of experiments, or the outcome of one.

        `tell(frame)`: columns are the parameters, the objective and, where known, `asked.<parameter>` and
        `<objective>.sd`; a blank is a gap, a blank outcome is pending, `failed` is a failure.
        `tell(suggestion, 182.5)`: it went as asked; several outcomes are a mapping of name to value.
        `actual={"temperature": None}` says what differed: another value, None for unknown, `Normal(300, 15)`.
        `sd` is the outcome's standard error, where it is known; `failed=True`, without an outcome, says that there
        will be none. A plain mapping instead of a suggestion is an experiment of your own. `out_of_bounds="keep"`
        admits values outside the bounds. An error changes nothing.
        """
        if out_of_bounds not in ("error", "keep"):
            raise BomiError(f"out_of_bounds must be 'error' or 'keep', but got {out_of_bounds!r}")
        keep = out_of_bounds == "keep"
        if hasattr(experiment, "columns"):
            if outcome is not ... or actual is not None or sd is not None or failed:
                raise TableError("a table brings its own outcomes: tell it alone")
            self._observations = self._observations.add(self._read_frame(experiment, keep))
            return
        if not isinstance(experiment, Mapping):
            raise TableError(f"tell takes a table, or a suggestion or mapping with its outcome, but got {experiment!r}")
        if failed and outcome is not ...:
            raise TableError("a failed experiment has no outcome: tell(experiment, failed=True)")
        if outcome is ... and not failed:
            raise TableError("an experiment is told with its outcome: tell(experiment, outcome), or failed=True")
        if actual is not None and not isinstance(actual, Mapping):
            raise SuggestionError(f"`actual` must be a mapping of parameter to value, but got {actual!r}")
        failed = failed or is_failed(outcome)
        row = Row(
            {},
            {} if failed else self._numbers(outcome, read_outcome, "outcome"),
            errors=self._numbers(sd, read_error, "sd"),
            failed=failed,
        )
        self._observations = self._with_one(experiment, row, actual or {}, keep)

    def tell_rows(self, rows: Iterable[Row]) -> None:
        """Take in rows that are checked already, such as those of a sheet. An error changes nothing."""
        self._observations = self._observations.add(rows)

    def _numbers(self, value: object, read: Callable[[object], float | None], what: str) -> dict[str, float]:
        """What is told of each outcome, where it is known: a number for the only one, or a mapping of several."""
        if not isinstance(value, Mapping):
            if len(self.outcomes) > 1 and value is not None:
                shape = ", ".join(f"{name!r}: ..." for name in self.outcomes)
                raise TableError(f"several outcomes are told by name, {what} {{{shape}}}, but got {value!r}")
            value = {self.outcomes[0]: value}
        found = {}
        for name, number in value.items():
            if name not in self.outcomes:
                raise TableError(f"{what} {name!r} is not known; the outcomes are {', '.join(self.outcomes)}")
            try:
                told = read(number)
            except CellError as error:
                raise TableError(f"{what} {name!r}: {error}") from None
            if told is not None:
                found[name] = told
        return found

    def _read_frame(self, frame: Any, keep: bool) -> list[Row]:
        names = [str(name) for name in frame.columns]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise TableError(f"the table has more than one column {', '.join(map(repr, doubled))}")
        columns = {name: frame.iloc[:, i].tolist() for i, name in enumerate(names)}
        labels = frame.index.tolist()
        return read_columns(columns, self.space, self.outcomes, keep_outside=keep, labels=labels)

    def _with_one(
        self, experiment: Mapping[str, object], told: Row, actual: Mapping[str, object], keep: bool
    ) -> Observations:
        """With what was told of an experiment's outcomes."""
        observations = self._observations
        unknown = [name for name in actual if name not in self.space.names]
        if unknown:
            raise SuggestionError(
                f"`actual` names no parameter: {', '.join(map(repr, unknown))}; "
                f"the parameters are {', '.join(self.space.names)}"
            )
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
            identity = observations.fresh_id()
            return observations.add([replace(told, recorded={**recorded, **changed}, asked=asked, id=identity)])
        place = observations.find(experiment.id)
        if place is None or dict(observations.rows[place].asked) != dict(experiment):
            raise SuggestionError(f"suggestion {experiment.id!r} was not made by this optimizer")
        row = observations.rows[place]
        if row.failed or (row.outcomes and not told.outcomes) or row.outcomes.keys() & told.outcomes.keys():
            raise SuggestionError(f"suggestion {experiment.id!r} has been told already")
        return observations.add([replace(told, recorded={**row.recorded, **changed}, id=row.id)])

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
            return self._ask(1)[0]
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise BomiError(f"the number of suggestions must be a whole number from 1, but got {count!r}")
        return self._ask(int(count))

    @_single_threaded
    def _ask(self, count: int) -> list[Suggestion]:
        """The next experiments; nothing is pending before all of them are found."""
        places, note = self._next_places(count)
        settings: list[dict[str, Known]] = []
        for place in places:
            settings.append(self._unasked(self.space.setting(place.numpy()), settings))
        predicted = self.predict(settings) if self._has_model() else [None] * count
        observations, suggestions = self._observations, []
        for setting, expected in zip(settings, predicted, strict=True):
            suggestion = Suggestion(observations.fresh_id(), setting, expected, note)
            observations = observations.add([Row(dict(setting), asked=dict(setting), id=suggestion.id)])
            suggestions.append(suggestion)
        self._observations = observations
        return suggestions

    def _unasked(self, setting: dict[str, Known], before: Sequence[dict[str, Known]]) -> dict[str, Known]:
        """The setting, or where rounding has made it one that is pending or in the same batch, another one."""
        asked = [*(dict(row.asked) for row in self._observations.pending), *before]
        if setting not in asked:
            return setting
        spare = candidates.space_filling(self.space, propose.SPARE, seed=self._seed_of_all_rows)
        others = [self.space.setting(place) for place in spare.numpy()]
        return next((other for other in others if other not in asked), setting)

    def _has_model(self) -> bool:
        """Whether the method learns, and has enough rows to."""
        return self.method.acquisition is not None and self._learn().enough

    def _next_places(self, count: int) -> tuple[list[Tensor], str]:
        """Where to experiment next, and a note if the method could not say."""
        rows, acquisition, pending = len(self._observations.rows), self.method.acquisition, self._pending_places()
        if acquisition is None:
            return propose.uniform(self.space, pending, count=count, first=rows, seed=self.seed), ""
        fit = self._learn()
        if not fit.enough:
            places = propose.space_filling(fit, pending, count=count, first=rows, seed=self.seed)
            return places, propose.too_few(fit, self.method)
        t = 1 + sum(bool(row.asked) for row in self._observations.rows)
        return propose.promising(fit, acquisition, pending, count=count, t=t, first_seed=rows, seed=self.seed), ""

    def _learn(self) -> Fit:
        """What the rows that were tried say; learned once for each state of the table."""
        keys = self._observations.tried_keys
        if self._fit is None or self._fit.table.keys != keys:
            table = table_of(self.space, self.objectives, self._observations, self.device)
            self._fit = learn(table, self.method, self.seed, before=self._fit)
        return self._fit

    def _pending_places(self) -> Tensor:
        """The pending experiments whose inputs, or what was asked, are known.  (m, d)"""
        places = []
        for row in self._observations.pending:
            known = {**row.asked, **{name: cell for name, cell in row.recorded.items() if isinstance(cell, Known)}}
            if len(known) == len(self.space):
                places.append(self.space.to_unit(known))
        return torch.from_numpy(np.array(places).reshape(-1, self.space.dim))

    @property
    def _seed_of_all_rows(self) -> int:
        return draw_seed(self.seed, len(self._observations.rows))

    # --- looking ---------------------------------------------------------------------------------------------------

    @_single_threaded
    def best(self) -> Best:
        """The setting with the best posterior mean over all worlds, beside the best outcome seen.

        Of several outcomes: a `Front`, the list of the best trade-offs between them.
        """
        rows = self._observations.rows
        done = [place for place, row in enumerate(rows) if len(row.outcomes) == len(self.outcomes)]
        if not done:
            what = "outcome" if len(self.outcomes) == 1 else "experiment with all of its outcomes"
            raise TableError(f"there is no best yet: no {what} has been told")
        merits = torch.tensor(
            [[one.merit(rows[place].outcomes[one.name]) for one in self.objectives] for place in done],
            dtype=torch.float64,
        )
        weights = trade_offs(len(self.objectives))
        if len(self.objectives) == 1:
            return self._recommend(done[int(merits[:, 0].argmax())], weights[0])
        return self._front(done, merits, weights)

    def _recommend(self, place: int, weights: Tensor, shortlist: Tensor | None = None) -> Best:
        """The setting recommended for a trade-off, beside the row seen, which is called by its place."""
        seen = self._observations.rows[place]
        setting: dict[str, Known] | None = None
        predicted, note = None, ""
        if self._has_model():
            best = recommended(self._learn(), weights, seed=self._seed_of_all_rows, shortlist=shortlist)
            setting = self.space.setting(best.numpy())
            predicted = self.predict([setting])[0]
        else:
            known = {name: cell for name, cell in seen.recorded.items() if isinstance(cell, Known)}
            setting = known if len(known) == len(self.space) and not self.space.broken(known) else None
            note = "no model: the best row seen" if setting else "no model, and the best row seen has gaps"
            if self.space.broken(known):
                note = "no model, and the best row seen breaks a constraint"
        outcomes = dict(seen.outcomes) if len(self.outcomes) > 1 else seen.outcome
        return Best(setting, predicted, outcomes, dict(seen.recorded), seen.complete, note, place)

    def _front(self, done: Sequence[int], merits: Tensor, weights: Tensor) -> Front:
        """The best trade-offs, in the order of the first outcome; the equal one stands for all.

        merits: (r, J), weights: (w, J)
        """
        span = (merits.amax(0) - merits.amin(0)).clamp_min(1e-300)
        found, shortlist = [], None
        if self._has_model():
            shortlist = shortlist_of(self._learn(), weights, seed=self._seed_of_all_rows)
        for each in weights:
            seen = done[int(scores.chebyshev((merits - merits.amax(0)) / span, each).argmax())]
            found.append(self._recommend(seen, each, shortlist))
        usable = [best for best in found if best.setting is not None]
        if not usable:
            return Front(**vars(found[-1]))
        if self._has_model():
            places = np.array([self.space.to_unit(best.setting or {}) for best in usable])
            with torch.no_grad():
                expected = self._learn().outlook.merits(torch.from_numpy(places))
        else:
            expected = torch.tensor([[one.merit(best.seen[one.name]) for one in self.objectives] for best in usable])
        kept = scores.undominated(expected).nonzero()[:, 0].tolist()
        kept.sort(key=lambda i: float(expected[i, 0]))
        middle = usable[kept[len(kept) // 2]]
        return Front(**vars(middle), choices=tuple(usable[i] for i in kept))

    def predict(self, settings: Sequence[Mapping[str, Known]]) -> list[Any]:
        """What the worlds expect at each setting: a `Prediction`, or one for each of several outcomes by name."""
        places = np.array([self.space.to_unit(setting) for setting in settings]).reshape(-1, self.space.dim)
        each = {
            name: [Prediction(float(mean), float(sd)) for mean, sd in zip(*self.expected(places, name), strict=True)]
            for name in self.outcomes
        }
        if len(each) == 1:
            return each[self.outcomes[0]]
        return [dict(zip(each, together, strict=True)) for together in zip(*each.values(), strict=True)]

    @_single_threaded
    def expected(self, places: Array, outcome: str | None = None) -> tuple[Array, Array]:
        """Mean and standard deviation of an outcome at places of the unit cube.  (m, d) -> (m,), (m,)

        The worlds' mean, and their spread by the law of total variance. Without a name it is the first outcome.
        """
        model, transform = self.learned(outcome)
        with torch.no_grad():
            means, variances = model.moments(torch.from_numpy(places))
        total = variances.mean(0) + means.var(0, correction=0)
        mean, sd = transform.to_prediction(means.mean(0), total.sqrt())
        sign = self.objectives[0 if outcome is None else self.outcomes.index(outcome)].sign
        return sign * mean.numpy(), sd.numpy()

    @_single_threaded
    def learned(self, outcome: str | None = None) -> tuple[GaussianProcess, Transform]:
        """The processes fitted to an outcome, one for each world, and the transform of what they were fitted to.

        Without a name it is the first outcome.
        """
        j = 0 if outcome is None else self.outcomes.index(outcome)
        fit = self._modelled()
        return fit.models[j], fit.transforms[j]

    @_single_threaded
    def success(self, settings: Sequence[Mapping[str, Known]]) -> list[float]:
        """The chance of each setting not to fail, averaged over worlds; 1 while nothing has failed."""
        success = self._modelled().outlook.success
        if success is None:
            return [1.0] * len(settings)
        places = np.array([self.space.to_unit(setting) for setting in settings]).reshape(-1, self.space.dim)
        with torch.no_grad():
            chances: list[float] = success.log_chance(torch.from_numpy(places)).exp().mean(0).tolist()
        return chances

    def _modelled(self) -> Fit:
        """What was learned, if it is enough for a model."""
        fit = self._learn()
        if not self._has_model():
            raise MethodError(
                f"method {self.method.name!r} has no model of these rows: it can use {fit.usable} "
                f"of them and needs {self.method.rows}; tell more outcomes, or take another method"
            )
        return fit

    @_single_threaded
    def gap_draws(self) -> list[GapDraws]:
        """Draws of each value that is not known exactly, in the parameter's own unit."""
        draws, tried = self._learn().draws, self._observations.tried
        rows = range(len(tried)) if draws.rows is None else draws.rows.tolist()
        world_row = {row: i for i, row in enumerate(rows)}
        numbers = [i for i, row in enumerate(self._observations.rows) if not row.pending]
        found = []
        for i, row in enumerate(tried):
            for (name, parameter), columns in zip(self.space.parameters.items(), self.space.columns, strict=True):
                if isinstance(row.recorded[name], Known):
                    continue
                values: tuple[Known, ...] = ()
                if i in world_row:
                    values = tuple(
                        parameter.from_unit(place) for place in draws.inputs[:, world_row[i], columns].numpy()
                    )
                found.append(GapDraws(numbers[i], name, values, row.recorded[name], row.asked.get(name)))
        return found

    @_single_threaded
    def gaps(self) -> pd.DataFrame:
        """What is known of each value that is not known exactly, in the parameter's own unit, the worthiest first.

        Of a category or an ordered level, `probabilities` maps each of its values to its probability.

        `worth` is how much the best outcome that can be predicted depends on the value, in the outcome's unit: its
        square is the part of the variance of the predicted best outcome that knowing the value would take away. Of
        several outcomes it is the largest, each as a share of the standard deviation of its own rows.
        """
        return gap_table(self.space, self.gap_draws(), self._best_outcomes())

    def _best_outcomes(self) -> list[Array]:
        """What each of many worlds expects of the best of each outcome; of several, in units of its own rows' spread.

        J times (M,), or none where there are too few worlds to say
        """
        fit = self._learn()
        if not self._has_model() or not fit.table.gaps.any():
            return []
        best = best_of_each_draw(fit, seed=self._seed_of_all_rows)
        if best is None or len(best) == 1:
            return [one.numpy() for one in best or ()]
        spreads = [float(one[~one.isnan()].std(correction=0)) or 1.0 for one in fit.table.outcomes]
        return [one.numpy() / spread for one, spread in zip(best, spreads, strict=True)]

    @property
    def observations(self) -> Observations:
        """Everything told, row by row."""
        return self._observations

    def frame(self) -> pd.DataFrame:
        """Everything told, pending suggestions included, as a table that `tell` takes back."""
        return self._observations.frame()


def _checked_device(device: str) -> str:
    """The device, if it is there to compute on."""
    try:
        torch.zeros(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0]
        raise BomiError(
            f'device must be "cpu", or "cuda" where torch finds a GPU, but got {device!r} ({reason})'
        ) from None
    return device
