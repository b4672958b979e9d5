"""`Optimizer`: tell it what was done, ask it what to do next. The only stateful class."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

import numpy as np
import torch
from torch import Tensor

from bomi import propose
from bomi.data import telling
from bomi.data.objectives import Objective, check_names, read_objectives
from bomi.data.observations import Observations, Row
from bomi.data.reading import read_places, read_settings
from bomi.equipment import equipment_table
from bomi.errors import BomiError, MethodError, TableError, shown
from bomi.impute.summary import gap_table
from bomi.impute.transform import Transform
from bomi.learning import Fit, draw_seed, learn, table_of
from bomi.methods import Method
from bomi.methods import method as find_method
from bomi.model.gaussian_process import GaussianProcess
from bomi.names import DEFAULT
from bomi.recommend import Risk, best_of_each_draw, read_risk, recommended, shortlist_of, trade_offs
from bomi.results import (
    AsDone,
    Best,
    Front,
    GapDraws,
    Predicted,
    PredictedAsDone,
    Prediction,
    Suggestion,
    by_name,
    html_table,
)
from bomi.search import acquisition as scores
from bomi.search import candidates
from bomi.search.criteria import Acquisition, ExpectedImprovement, find_acquisition
from bomi.space import RESERVED, TAKEN, Array, Space
from bomi.space.cells import Known
from bomi.space.numbers import LARGEST, whole_number
from bomi.threads import single_threaded

if TYPE_CHECKING:
    import pandas as pd
    from botorch.acquisition.acquisition import AcquisitionFunction

    from bomi.model.mixture import Mixture

MOST = 10_000  # suggestions at a time

logger = logging.getLogger(__name__)

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

    Every mistake in a call is a `BomiError`, which says what is wrong and changes nothing. An optimizer can be copied
    and pickled.

    Args:
        space: The parameters: a `Space`, or a mapping of name to parameter, (low, high) or list of values.
        objective: The name of the outcome; several outcomes are a mapping of name to goal.
        goal: What is wanted of the only outcome: "maximize" (the default), "minimize" or ("target", 7.0).
        method: How gaps are dealt with: a name of `bomi.METHODS`, or a `Method`.
        seed: A whole number that makes suggestions repeatable; a random one if left out.
        worlds: How many completed tables the method draws, if it draws any.
        acquisition: Another acquisition than the method's own: "ei", "ucb-mi", an `Acquisition`, or what makes one of
            BoTorch's from a model: `lambda model: LogExpectedImprovement(model, best_f=model.best_f)`.
        device: Where the large matrices of long tables are computed: "cpu", or "cuda" for a GPU.

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
        check_names(self.objectives, (*self.space.names, *TAKEN), RESERVED)
        number = secrets.randbits(32) if seed is None else whole_number(seed)
        if number is None or not 0 <= number <= LARGEST:
            raise BomiError(f"seed must be a whole number from 0, but got {shown(seed)}")
        self.seed = number
        self.objective = objective if isinstance(objective, str) else ", ".join(self.outcomes)
        self.method = find_method(method, **({} if worlds is None else {"worlds": worlds}))
        several = len(self.objectives) > 1
        if acquisition is not None:
            self.method = replace(self.method, acquisition=find_acquisition(acquisition))
            if several and not isinstance(self.method.acquisition, ExpectedImprovement):
                raise MethodError(f"several outcomes are weighed by 'ei', not by {shown(acquisition)}")
        elif several and self.method.acquisition is not None:
            self.method = replace(self.method, acquisition=ExpectedImprovement())
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

    def __repr__(self) -> str:
        wish = " and ".join(one.wish for one in self.objectives)
        return f"<Optimizer: {wish} by {', '.join(self.space.names)}; method {self.method.name!r}; {self._counts()}>"

    def _repr_html_(self) -> str:
        rows = self._observations.rows
        shown_rows = [
            (name, p.kind, p.range_text, str(sum(not isinstance(row.recorded[name], Known) for row in rows)))
            for name, p in self.space.parameters.items()
        ]
        title = ", ".join(one.wish for one in self.objectives)
        constraints = [f"{one}; " for one in self.space.constraints]
        note = f"{''.join(constraints)}method {self.method.name!r}; {self._counts()}"
        return html_table(title[:1].upper() + title[1:], ("parameter", "kind", "range", "gaps"), shown_rows, note)

    def _counts(self) -> str:
        """How many experiments there are, of each kind."""
        rows = self._observations.rows
        kinds = {
            "with an outcome": len(self._observations.done),
            "failed": sum(row.failed for row in self._observations.tried),
            "pending": len(self._observations.pending),
            "excluded": sum(row.excluded for row in rows),
        }
        parts = [f"{count} {kind}" for kind, count in kinds.items() if count]
        total = f"{len(rows)} experiment{'' if len(rows) == 1 else 's'}"
        return f"{total}: {', '.join(parts)}" if parts else total

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

        Args:
            experiment: A suggestion; a mapping of parameter to value, which is an experiment of your own; or a table.
                Its columns are the parameters, the outcomes and, where there are some, `id`, `asked.<parameter>`,
                `<outcome>.sd` and `exclude`. A blank is a gap, a blank outcome is pending, `failed` is a failure.
            outcome: The number that came out; of several outcomes, a mapping of name to number. None: not known yet.
            actual: What differed from the experiment: a mapping of parameter to another value, to None where nobody
                knows, or to `Normal(300, 15)` or `Interval(290, 310)`.
            sd: The standard error of the outcome, where it is known; of several outcomes by name.
            failed: True, without an outcome, if the experiment was made and gave none.
            out_of_bounds: "keep" admits values outside the bounds; "error" refuses them.
        """
        self._observations = telling.told(
            self._observations,
            experiment,
            outcome,
            suggested=_suggested(experiment),
            actual=actual,
            sd=sd,
            failed=failed,
            out_of_bounds=out_of_bounds,
        )

    def tell_rows(self, rows: Iterable[Row]) -> None:
        """Take in rows that are checked already, such as those of a sheet. An error changes nothing."""
        self._observations = self._observations.add(rows)

    def correct(
        self,
        experiment: Suggestion | str | int | None = None,
        outcome: object = ...,
        *,
        row: int | None = None,
        actual: Mapping[str, object] | None = None,
        sd: object = ...,
        failed: bool | None = None,
        out_of_bounds: str = "error",
    ) -> None:
        """Change what was told wrongly of one experiment; what is not named stays as it was.

        Args:
            experiment: A suggestion, or the id of an experiment as `frame()` shows it.
            outcome: The right outcome, of several those that change by name. None: it is not known yet.
            row: Instead of `experiment`, the number of its row as `frame()` and `gaps()` show it, from 0.
            actual: The right inputs, as in `tell`; only those that change.
            sd: The right standard error; None: it is not known.
            failed: True if the experiment failed; False if it did not.
            out_of_bounds: "keep" admits values outside the bounds; "error" refuses them.
        """
        self._observations = telling.corrected(
            self._observations,
            self._place(experiment, row),
            outcome,
            actual=actual,
            sd=sd,
            failed=failed,
            out_of_bounds=out_of_bounds,
        )

    def withdraw(self, experiment: Suggestion | str | int | None = None, *, row: int | None = None) -> None:
        """Take back a suggestion that will not be run: its row goes, and later suggestions do not keep away from it.

        Args:
            experiment: The suggestion, or its id.
            row: Instead of it, the number of its row as `frame()` shows it, from 0.
        """
        self._observations = telling.withdrawn(self._observations, self._place(experiment, row))

    def exclude(self, experiment: Suggestion | str | int | None = None, *, row: int | None = None) -> None:
        """Learn nothing more from an experiment; it stays in the table, and `include` takes it in again.

        Args:
            experiment: A suggestion, or the id of an experiment as `frame()` shows it.
            row: Instead of it, the number of its row as `frame()` and `gaps()` show it, from 0.
        """
        self._observations = telling.excluded(self._observations, self._place(experiment, row), True)

    def include(self, experiment: Suggestion | str | int | None = None, *, row: int | None = None) -> None:
        """Learn again from an experiment that was excluded.

        Args:
            experiment: A suggestion, or the id of an experiment as `frame()` shows it.
            row: Instead of it, the number of its row as `frame()` shows it, from 0.
        """
        self._observations = telling.excluded(self._observations, self._place(experiment, row), False)

    def _place(self, experiment: object, row: object) -> int:
        return telling.locate(self._observations, experiment, row, _suggested(experiment))

    # --- asking ----------------------------------------------------------------------------------------------------

    @overload
    def ask(self) -> Suggestion: ...

    @overload
    def ask(self, count: int) -> list[Suggestion]: ...

    def ask(self, count: int | None = None) -> Suggestion | list[Suggestion]:
        """The next experiment; it is pending until told or withdrawn, and taken into account meanwhile.

        Args:
            count: How many experiments to run side by side; left out, it is one.

        Returns:
            A `Suggestion`; a list of them if `count` is given.
        """
        if count is None:
            return self._ask(1)[0]
        number = whole_number(count)
        if number is None or not 1 <= number <= MOST:
            raise BomiError(
                f"the number of suggestions must be a whole number from 1 to {MOST}, but got {shown(count)}"
            )
        return self._ask(number)

    @_single_threaded
    def _ask(self, count: int) -> list[Suggestion]:
        """The next experiments; nothing is pending before all of them are found."""
        places, note = self._next_places(count)
        settings: list[dict[str, Known]] = []
        for place in places:
            settings.append(self._unasked(self.space.setting(place.numpy()), settings))
        model = self._has_model()
        predicted = self.predict(settings) if model else [None] * count
        as_done = self.predict_asked(settings) if model and self._strays() else [None] * count
        observations, suggestions = self._observations, []
        for setting, expected, done in zip(settings, predicted, as_done, strict=True):
            suggestion = Suggestion(observations.fresh_id(), setting, expected, note, done)
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
            note = propose.too_few(fit, self.method)
            logger.info(note)
            return places, note
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
    def best(self, risk: str | tuple[str, float] = "expected") -> Best:
        """The setting to ask for, whose outcome is expected to be the best, beside the best outcome seen.

        Args:
            risk: What is to be best. "expected": the outcome on average, over what the equipment makes of the request;
                "nominal": the outcome if it is done exactly; ("worst", 0.1): the mean of the worst tenth of what may
                come out. Where equipment has always done what it was asked, the first two are the same.

        Returns:
            A `Best`; of several outcomes a `Front`, the list of the best trade-offs between them.
        """
        wanted = read_risk(risk)
        rows = self._observations.rows
        done = [place for place, row in enumerate(rows) if row.tried and len(row.outcomes) == len(self.outcomes)]
        if not done:
            what = "outcome" if len(self.outcomes) == 1 else "experiment with all of its outcomes"
            raise TableError(f"there is no best yet: no {what} has been told")
        merits = torch.tensor(
            [[one.merit(rows[place].outcomes[one.name]) for one in self.objectives] for place in done],
            dtype=torch.float64,
        )
        weights = trade_offs(len(self.objectives))
        if len(self.objectives) == 1:
            return self._recommend(done[int(merits[:, 0].argmax())], weights[0], wanted)
        return self._front(done, merits, weights, wanted)

    def _recommend(self, place: int, weights: Tensor, risk: Risk, shortlist: Tensor | None = None) -> Best:
        """The setting recommended for a trade-off, beside the row seen, which is called by its place."""
        seen = self._observations.rows[place]
        setting: dict[str, Known] | None = None
        predicted, as_done, note = None, None, ""
        if self._has_model():
            best = recommended(self._learn(), weights, risk, seed=self._seed_of_all_rows, shortlist=shortlist)
            setting = self.space.setting(best.numpy())
            predicted = self.predict([setting])[0]
            as_done = self.predict_asked([setting])[0] if self._strays() else None
        else:
            known = {name: cell for name, cell in seen.recorded.items() if isinstance(cell, Known)}
            setting = known if len(known) == len(self.space) and not self.space.broken(known) else None
            note = "no model: the best row seen" if setting else "no model, and the best row seen has gaps"
            if self.space.broken(known):
                note = "no model, and the best row seen breaks a constraint"
        outcomes = dict(seen.outcomes) if len(self.outcomes) > 1 else seen.outcomes[self.outcomes[0]]
        return Best(setting, predicted, outcomes, dict(seen.recorded), seen.complete, note, place, as_done)

    def _front(self, done: Sequence[int], merits: Tensor, weights: Tensor, risk: Risk) -> Front:
        """The best trade-offs, in the order of the first outcome; the equal one stands for all.

        merits: (r, J), weights: (w, J)
        """
        span = (merits.amax(0) - merits.amin(0)).clamp_min(1e-300)
        found, shortlist = [], None
        if self._has_model():
            shortlist = shortlist_of(self._learn(), weights, risk, seed=self._seed_of_all_rows)
        for each in weights:
            seen = done[int(scores.chebyshev((merits - merits.amax(0)) / span, each).argmax())]
            found.append(self._recommend(seen, each, risk, shortlist))
        usable = [best for best in found if best.setting is not None]
        if not usable:
            return Front(**vars(found[-1]))
        if self._has_model():
            places = np.array([self.space.to_unit(best.setting or {}) for best in usable])
            with torch.no_grad():
                expected = risk.outlook(self._learn()).merits(torch.from_numpy(places), risk.worst)
        else:
            seen_outcomes = [by_name(best.seen, self.outcomes) for best in usable]
            expected = torch.tensor([[one.merit(each[one.name]) for one in self.objectives] for each in seen_outcomes])
        kept = scores.undominated(expected).nonzero()[:, 0].tolist()
        kept.sort(key=lambda i: float(expected[i, 0]))
        middle = usable[kept[len(kept) // 2]]
        return Front(**vars(middle), choices=tuple(usable[i] for i in kept))

    @overload
    def predict(self, settings: Mapping[str, Known]) -> Predicted: ...

    @overload
    def predict(self, settings: Sequence[Mapping[str, Known]] | pd.DataFrame) -> list[Predicted]: ...

    def predict(
        self, settings: Mapping[str, Known] | Sequence[Mapping[str, Known]] | pd.DataFrame
    ) -> Predicted | list[Predicted]:
        """What the worlds expect at a setting, or at each of several, if it is done exactly.

        Args:
            settings: A mapping of every parameter to a plain value within its bounds, a list of them, or a table.

        Returns:
            A `Prediction`, or of several outcomes a mapping of name to `Prediction`; a list of these for several
            settings.
        """
        places = self._places(settings)
        each = {
            name: [Prediction(float(mean), float(sd)) for mean, sd in zip(*self.expected(places, name), strict=True)]
            for name in self.outcomes
        }
        found: list[Predicted] = _by_setting(each)
        return found[0] if isinstance(settings, Mapping) else found

    @overload
    def predict_asked(self, settings: Mapping[str, Known]) -> PredictedAsDone: ...

    @overload
    def predict_asked(self, settings: Sequence[Mapping[str, Known]] | pd.DataFrame) -> list[PredictedAsDone]: ...

    def predict_asked(
        self, settings: Mapping[str, Known] | Sequence[Mapping[str, Known]] | pd.DataFrame
    ) -> PredictedAsDone | list[PredictedAsDone]:
        """What the worlds expect of asking for a setting, or for each of several, as the equipment does it.

        Args:
            settings: As for `predict`.

        Returns:
            An `AsDone`: mean, standard deviation, and the part of it that comes from execution; otherwise as `predict`.
        """
        found: list[PredictedAsDone] = _by_setting(self._as_done(self._places(settings)))
        return found[0] if isinstance(settings, Mapping) else found

    @_single_threaded
    def _as_done(self, places: Array) -> dict[str, list[AsDone]]:
        """What is expected of asking for each place, of each outcome.  (m, d)"""
        fit = self._modelled()
        if not len(places):
            return {name: [] for name in self.outcomes}
        with torch.no_grad():
            expected = fit.careful_outlook.expected(torch.from_numpy(places))
        found = {}
        for objective, one, transform in zip(self.objectives, expected, fit.transforms, strict=True):
            mean, sd = transform.to_prediction(one.mean, one.variance.sqrt())
            part = sd * (one.execution / one.variance).sqrt()
            columns = (objective.sign * mean).tolist(), sd.tolist(), part.tolist()
            found[objective.name] = [AsDone(*each) for each in zip(*columns, strict=True)]
        return found

    def _strays(self) -> bool:
        """Whether the method plans for equipment that does not do what it is asked."""
        return self._modelled().execution is not None

    def _places(self, settings: object) -> Array:
        """The places of settings in the unit cube.  (m, d)"""
        found = [self.space.to_unit(setting) for setting in read_settings(self.space, settings)]
        return np.array(found).reshape(-1, self.space.dim)

    def _outcome(self, name: object) -> int:
        """Which outcome has a name, from 0; the first without one."""
        if name is not None and (not isinstance(name, str) or name not in self.outcomes):
            raise TableError(f"no outcome is called {shown(name)}; the outcomes are {', '.join(self.outcomes)}")
        return 0 if name is None else self.outcomes.index(name)

    @_single_threaded
    def expected(self, places: Array, outcome: str | None = None) -> tuple[Array, Array]:
        """Mean and standard deviation of an outcome at places of the unit cube.  (m, d) -> (m,), (m,)

        The worlds' mean, and their spread by the law of total variance. Without a name it is the first outcome.
        """
        places = read_places(self.space, places)
        model, transform = self.learned(outcome)
        if not len(places):
            return np.zeros(0), np.zeros(0)
        with torch.no_grad():
            means, variances = model.moments(torch.from_numpy(places))
        total = variances.mean(0) + means.var(0, correction=0)
        mean, sd = transform.to_prediction(means.mean(0), total.sqrt())
        sign = self.objectives[self._outcome(outcome)].sign
        return sign * mean.numpy(), sd.numpy()

    @_single_threaded
    def learned(self, outcome: str | None = None) -> tuple[GaussianProcess, Transform]:
        """The processes fitted to an outcome, one for each world, and the transform of what they were fitted to.

        Without a name it is the first outcome.
        """
        j = self._outcome(outcome)
        fit = self._modelled()
        return fit.models[j], fit.transforms[j]

    @overload
    def success(self, settings: Mapping[str, Known]) -> float: ...

    @overload
    def success(self, settings: Sequence[Mapping[str, Known]] | pd.DataFrame) -> list[float]: ...

    def success(
        self, settings: Mapping[str, Known] | Sequence[Mapping[str, Known]] | pd.DataFrame
    ) -> float | list[float]:
        """The chance of a setting not to fail, averaged over worlds; 1 while nothing has failed.

        Args:
            settings: As for `predict`.

        Returns:
            The chance from 0 to 1; a list of them for several settings.
        """
        chances = self._chances(self._places(settings))
        return chances[0] if isinstance(settings, Mapping) else chances

    @_single_threaded
    def _chances(self, places: Array) -> list[float]:
        """The chance of each place to succeed.  (m, d)"""
        success = self._modelled().outlook.success
        if success is None:
            return [1.0] * len(places)
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
        numbers = [i for i, row in enumerate(self._observations.rows) if row.tried]
        found = []
        for i, row in enumerate(tried):
            for (name, parameter), columns in zip(self.space.parameters.items(), self.space.columns, strict=True):
                if isinstance(row.recorded[name], Known):
                    continue
                values: tuple[Known, ...] = ()
                places = draws.inputs[:, world_row[i], columns].numpy() if i in world_row else np.zeros((0, 1))
                if not np.isnan(places).any():  # a gap stays open while an outcome is unknown everywhere
                    values = tuple(parameter.from_unit(place) for place in places)
                found.append(GapDraws(numbers[i], name, values, row.recorded[name], row.asked.get(name)))
        return found

    @_single_threaded
    def gaps(self) -> pd.DataFrame:
        """What is known of each value that is not known exactly, in the parameter's own unit.

        Returns:
            A table with a line for each gap, the one most worth knowing first. Of a category or an ordered level,
            `probabilities` maps each of its values to its probability. `worth` is how much the best outcome that can be
            predicted depends on the value, in the outcome's unit: its square is the part of the variance of the
            predicted best outcome that knowing the value would take away. Of several outcomes it is the largest, each
            as a share of the standard deviation of its own rows.
        """
        return gap_table(self.space, self.gap_draws(), self._best_outcomes())

    @_single_threaded
    def execution(self) -> pd.DataFrame:
        """What the equipment has made of requests, and what better control would be worth.

        Returns:
            A table with a line for each parameter, the one whose control is worth most first. `asked` counts the rows
            that say what was asked. Of these, `lost` is the share in which nobody knows exactly what was done, and
            `strayed` the share in which that differs by more than 1 % of the range, gaps by what the worlds say of
            them. Where it strayed, `above` is how often it was too high, `5 %` to `95 %` how far off it was, in the
            parameter's unit, and `instead` the categories that were swapped. `worth` is what the best expected outcome
            would gain, in its own unit, if the parameter were always done as asked; of several outcomes the largest,
            each as a share of the standard deviation of its own rows.
        """
        return equipment_table(self._learn(), self._observations.tried, seed=self._seed_of_all_rows)

    @_single_threaded
    def done_of(self, places: Array) -> tuple[Array, Array]:
        """What is done of requests, and how likely that is, over all worlds.  (m, d) -> (k, m), (k, m, d)"""
        points = torch.from_numpy(read_places(self.space, places))
        with torch.no_grad():
            likely, done = self._modelled().careful_outlook.branches(points)
        done = done.unflatten(1, likely.shape[1:])
        return (likely.flatten(0, 1) / len(likely)).numpy(), done.flatten(0, 1).numpy()

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
        """Everything told, pending suggestions included.

        Returns:
            A table that `tell` takes back.
        """
        return self._observations.frame()


def _by_setting(each: Mapping[str, list[T]]) -> list[Any]:
    """What is said of each outcome, by setting: of the only one itself, of several by name."""
    if len(each) == 1:
        (only,) = each.values()
        return list(only)
    return [dict(zip(each, together, strict=True)) for together in zip(*each.values(), strict=True)]


def _suggested(experiment: object) -> str | None:
    """The id of a suggestion."""
    return experiment.id if isinstance(experiment, Suggestion) else None


def _checked_device(device: str) -> str:
    """The device, if it is there to compute on."""
    try:
        torch.zeros(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0]
        raise BomiError(
            f'device must be "cpu", or "cuda" where torch finds a GPU, but got {shown(device)} ({reason})'
        ) from None
    return device
