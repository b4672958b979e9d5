"""`Optimizer`: tell it what was done, ask it what to do next. The only stateful class.

The module is long because the class is the whole public door: a method for each question, whose docstring explains its
arguments, and whose body is one call of a room below.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

import numpy as np
import torch

from bomi import saving
from bomi.answers.best import best_of
from bomi.answers.equipment import done_of, equipment_table, in_words
from bomi.answers.explanation import chance_to_beat_the_best, explained
from bomi.answers.gaps import draws_of_gaps, table_of_gaps
from bomi.answers.offsets import drift_table, offsets_table, sentences
from bomi.answers.predict import chances_to_succeed, predicted, predicted_asked, predictions
from bomi.answers.propose import suggested, suggested_alike
from bomi.answers.prospects import prospects_of
from bomi.answers.recommend import read_risk
from bomi.answers.suspects import suspects_table
from bomi.answers.validation import validated
from bomi.data import telling
from bomi.data.objectives import Objective, check_objectives, read_objectives
from bomi.data.observations import Observations, Row
from bomi.data.settings import check_setting, given_conditions, read_names, read_places
from bomi.errors import BomiError, MethodError, TableError, shown
from bomi.impute.transform import Transform
from bomi.knowledge import Knowledge
from bomi.methods import Method
from bomi.methods import method as find_method
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.surrogates import DistributionGP
from bomi.names import DEFAULT
from bomi.results import (
    Best,
    Explanation,
    GapDraws,
    Predicted,
    PredictedAsDone,
    Prospects,
    Suggestion,
    Validation,
    capitalized,
    html_table,
)
from bomi.saving import Saved
from bomi.search.criteria import Acquisition, ExpectedImprovement, find_acquisition
from bomi.space import RESERVED, TAKEN, Array, Conditions, Space
from bomi.space.cells import Known
from bomi.space.numbers import LARGEST, whole_number
from bomi.threads import single_threaded

if TYPE_CHECKING:
    import pandas as pd
    from botorch.acquisition.acquisition import AcquisitionFunction

    from bomi.model.mixture import Mixture

MOST = 10_000  # suggestions at a time

Candidates: TypeAlias = "pd.DataFrame | Sequence[Mapping[str, object]]"
Compute = TypeVar("Compute", bound=Callable[..., Any])


def _single_threaded(compute: Compute) -> Compute:
    """A method that computes with one thread on a small table."""

    @wraps(compute)
    def method(self: Optimizer, /, *args: Any, **kwargs: Any) -> Any:
        with single_threaded(len(self.observations.rows)):
            return compute(self, *args, **kwargs)

    return cast("Compute", method)


class Optimizer:
    """Finds the best setting of an experiment some of whose inputs may be missing.

    Every mistake in a call is a `BomiError`, which says what is wrong and changes nothing. An optimizer can be copied
    and pickled.

    Args:
        space: The parameters: a `Space`, or a mapping of name to parameter, (low, high) or list of values.
        objective: The name of the outcome; several outcomes are a mapping of name to goal.
        goal: What is wanted of the only outcome: "maximize" (the default), "minimize" or ("target", 7.0). One of
            several may be ("limit", 5.0): it only has to stay at or below that value.
        method: How gaps are dealt with: a name of `bomi.METHODS`, or a `Method`.
        seed: A whole number that makes suggestions repeatable; a random one if left out.
        worlds: How many completed tables the method draws, if it draws any.
        acquisition: Another acquisition than the method's own: "ei", "ucb-mi", an `Acquisition`, or what makes one of
            BoTorch's from a model: `lambda model: LogExpectedImprovement(model, best_f=model.best_f)`.
        device: Where the large matrices of long tables are computed: "cpu", or "cuda" for a GPU.
        groups: Columns beside the parameters such as the day, the operator or the lot: each of their values has an
            offset of its own, which is learned.
        drift: The column of the time along which all outcomes change slowly, or True for the order of the rows: what is
            recommended is for now.

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
        groups: Sequence[str] = (),
        drift: str | bool = False,
    ) -> None:
        space = space if isinstance(space, Space) else Space(space)
        if conditions := Conditions(groups, drift):
            space = space.under(conditions)
        objectives = read_objectives(objective, goal)
        check_objectives(objectives, (*space.names, *space.conditions.columns, *TAKEN), RESERVED)
        number = secrets.randbits(32) if seed is None else whole_number(seed)
        if number is None or not 0 <= number <= LARGEST:
            raise BomiError(f"seed must be a whole number from 0, but got {shown(seed)}")
        chosen = find_method(method, **({} if worlds is None else {"worlds": worlds}))
        several = len(objectives) > 1
        if acquisition is not None:
            chosen = replace(chosen, acquisition=find_acquisition(acquisition))
            if several and not isinstance(chosen.acquisition, ExpectedImprovement):
                raise MethodError(f"several outcomes are weighed by 'ei', not by {shown(acquisition)}")
        elif several and chosen.acquisition is not None:
            chosen = replace(chosen, acquisition=ExpectedImprovement())
        if space.conditions and isinstance(chosen.surrogate, DistributionGP):
            raise MethodError(
                f"method {chosen.name!r} learns no offsets of groups and no drift; take another, such as {DEFAULT!r}"
            )
        observations = Observations(space, tuple(one.name for one in objectives))
        self._known = Knowledge(objectives, chosen, number, observations, _checked_device(device))

    @property
    def space(self) -> Space:
        """What is varied."""
        return self._known.space

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What is wanted of each outcome."""
        return self._known.objectives

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of the outcomes."""
        return self._known.outcomes

    @property
    def objective(self) -> str:
        """The name of the outcome; of several all of them, with commas between."""
        return ", ".join(self.outcomes)

    @property
    def goal(self) -> str:
        """What is wanted of the outcome, or of the first of several."""
        return self.objectives[0].goal

    @property
    def method(self) -> Method:
        """How gaps are dealt with, and what follows from them. Another one begins anew with the same table."""
        return self._known.method

    @method.setter
    def method(self, method: str | Method) -> None:
        self._known = replace(self._known, method=find_method(method), before=None)

    @property
    def seed(self) -> int:
        """What makes suggestions repeatable."""
        return self._known.seed

    @property
    def device(self) -> str:
        """Where the large matrices of long tables are computed."""
        return self._known.device

    @property
    def observations(self) -> Observations:
        """Everything told, row by row."""
        return self._known.observations

    def __repr__(self) -> str:
        wish = " and ".join(one.wish for one in self.objectives)
        return f"<Optimizer: {wish} by {', '.join(self.space.names)}; method {self.method.name!r}; {self._counts()}>"

    def _repr_html_(self) -> str:
        rows = self.observations.rows
        shown_rows = [
            (
                name,
                f"{p.kind}{', measured' if p.measured else ''}",
                p.range_text,
                str(sum(not isinstance(row.recorded[name], Known) for row in rows)),
            )
            for name, p in self.space.parameters.items()
        ]
        title = ", ".join(one.wish for one in self.objectives)
        constraints = [f"{one}; " for one in self.space.constraints]
        note = f"{''.join(constraints)}method {self.method.name!r}; {self._counts()}"
        return html_table(capitalized(title), ("parameter", "kind", "range", "gaps"), shown_rows, note)

    def _counts(self) -> str:
        """How many experiments there are, of each kind."""
        told = self.observations
        rows = told.rows
        kinds = {
            "with an outcome": len(told.done),
            "failed": sum(row.failed for row in told.tried),
            "pending": len(told.pending),
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
            outcome: The number that came out, or `Censored(high=5)` where only a limit is known; of several outcomes, a
                mapping of name to number. None: not known yet.
            actual: What differed from the experiment: a mapping of parameter to another value, to None where nobody
                knows, or to `Normal(300, 15)` or `Interval(290, 310)`.
            sd: The standard error of the outcome, where it is known; of several outcomes by name.
            failed: True, without an outcome, if the experiment was made and gave none.
            out_of_bounds: "keep" admits values outside the bounds; "error" refuses them.
        """
        self._take(
            telling.told(
                self.observations,
                experiment,
                outcome,
                suggested=_suggested(experiment),
                actual=actual,
                sd=sd,
                failed=failed,
                out_of_bounds=out_of_bounds,
            )
        )

    def tell_rows(self, rows: Iterable[Row]) -> None:
        """Take in rows that are checked already, such as those of a sheet. An error changes nothing.

        Args:
            rows: In their order.
        """
        self._take(self.observations.add(rows))

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
        self._take(
            telling.corrected(
                self.observations,
                self._place(experiment, row),
                outcome,
                actual=actual,
                sd=sd,
                failed=failed,
                out_of_bounds=out_of_bounds,
            )
        )

    def withdraw(self, experiment: Suggestion | str | int | None = None, *, row: int | None = None) -> None:
        """Take back a suggestion that will not be run: its row goes, and later suggestions do not keep away from it.

        Args:
            experiment: The suggestion, or its id.
            row: Instead of it, the number of its row as `frame()` shows it, from 0.
        """
        self._take(telling.withdrawn(self.observations, self._place(experiment, row)))

    def exclude(self, experiment: Suggestion | str | int | None = None, *, row: int | None = None) -> None:
        """Learn nothing more from an experiment; it stays in the table, and `include` takes it in again.

        Args:
            experiment: A suggestion, or the id of an experiment as `frame()` shows it.
            row: Instead of it, the number of its row as `frame()` and `gaps()` show it, from 0.
        """
        self._take(telling.excluded(self.observations, self._place(experiment, row), True))

    def include(self, experiment: Suggestion | str | int | None = None, *, row: int | None = None) -> None:
        """Learn again from an experiment that was excluded.

        Args:
            experiment: A suggestion, or the id of an experiment as `frame()` shows it.
            row: Instead of it, the number of its row as `frame()` shows it, from 0.
        """
        self._take(telling.excluded(self.observations, self._place(experiment, row), False))

    def _place(self, experiment: object, row: object) -> int:
        return telling.locate(self.observations, experiment, row, _suggested(experiment))

    def _take(self, observations: Observations) -> None:
        """Know these from now on: the one place where an optimizer changes."""
        self._known = self._known.after(observations)

    # --- asking ----------------------------------------------------------------------------------------------------

    @overload
    def ask(
        self, *, given: Mapping[str, object] | None = ..., candidates: Candidates | None = ..., replacement: bool = ...
    ) -> Suggestion: ...

    @overload
    def ask(
        self,
        count: int,
        *,
        given: Mapping[str, object] | None = ...,
        same: Sequence[str] = ...,
        candidates: Candidates | None = ...,
        replacement: bool = ...,
    ) -> list[Suggestion]: ...

    @_single_threaded
    def ask(
        self,
        count: int | None = None,
        *,
        given: Mapping[str, object] | None = None,
        same: Sequence[str] = (),
        candidates: Candidates | None = None,
        replacement: bool = True,
    ) -> Suggestion | list[Suggestion]:
        """The next experiment; it is pending until told or withdrawn, and taken into account meanwhile.

        Args:
            count: How many experiments to run side by side; left out, it is one.
            given: The values of parameters that are not to be chosen today, or are measured already, by name; and the
                groups that the experiment will belong to, such as `{"lot": "B"}`.
            same: The parameters that have one value in all of these experiments, such as the temperature of the oven
                that they share.
            candidates: A list to choose from: a table, or mappings of parameter to value. A blank is a gap. The
                suggestion's `candidate` is its place in the list, from 0.
            replacement: False leaves out the candidates that have been tried already.

        Returns:
            A `Suggestion`; a list of them if `count` is given.
        """
        choices, shared = self._known.choices(given, candidates, replacement), read_names(self.space, same)
        number = 1 if count is None else whole_number(count)
        if number is None or not 1 <= number <= MOST:
            raise BomiError(
                f"the number of suggestions must be a whole number from 1 to {MOST}, but got {shown(count)}"
            )
        conditions = given_conditions(self.space, given)
        known = self._known.under(conditions)
        if number == 1 or not shared:
            observations, found = suggested(known, number, choices, conditions)
        else:
            narrowed = partial(known.choices, candidates=candidates, replacement=replacement)
            observations, found = suggested_alike(known, number, choices, conditions, shared, narrowed)
        self._take(observations)
        return found[0] if count is None else found

    # --- looking ---------------------------------------------------------------------------------------------------

    @_single_threaded
    def best(
        self,
        risk: str | tuple[str, float] = "expected",
        *,
        given: Mapping[str, object] | None = None,
        candidates: Candidates | None = None,
    ) -> Best:
        """The setting to ask for, whose outcome is expected to be the best, beside the best outcome seen.

        Args:
            risk: What is to be best. "expected": the outcome on average, over what the equipment makes of the request;
                "nominal": the outcome if it is done exactly; ("worst", 0.1): the mean of the worst tenth of what may
                come out. Where equipment has always done what it was asked, the first two are the same.
            given: The values of parameters that are not to be chosen, by name; and the groups that it is for.
            candidates: A list to choose from, as for `ask`.

        Returns:
            A `Best`; of several outcomes that are wanted a `Front`, the list of the best trade-offs between them. A
            limit weighs by the chance to keep it.
        """
        choices, read = self._known.choices(given, candidates), read_risk(risk)
        return best_of(self._known.under(given_conditions(self.space, given)), choices, read)

    @overload
    def predict(self, settings: Mapping[str, Known], *, given: Mapping[str, object] | None = ...) -> Predicted: ...

    @overload
    def predict(
        self, settings: Sequence[Mapping[str, Known]] | pd.DataFrame, *, given: Mapping[str, object] | None = ...
    ) -> list[Predicted]: ...

    @_single_threaded
    def predict(
        self,
        settings: Mapping[str, Known] | Sequence[Mapping[str, Known]] | pd.DataFrame,
        *,
        given: Mapping[str, object] | None = None,
    ) -> Predicted | list[Predicted]:
        """What the worlds expect at a setting, or at each of several, if it is done exactly.

        Args:
            settings: A mapping of every parameter to a plain value within its bounds, a list of them, or a table. What
                is measured may be left out: the prediction is then over what it may be.
            given: The groups, such as `{"lot": "B"}`, and the time that it is for. Left out: a new group of each
                column, whatever its offset may be, and the latest time.

        Returns:
            A `Prediction`, or of several outcomes a mapping of name to `Prediction`; a list of these for several
            settings.
        """
        found = predicted(self._given(given), self._known.places(settings))
        return found[0] if isinstance(settings, Mapping) else found

    @overload
    def predict_asked(
        self, settings: Mapping[str, Known], *, given: Mapping[str, object] | None = ...
    ) -> PredictedAsDone: ...

    @overload
    def predict_asked(
        self, settings: Sequence[Mapping[str, Known]] | pd.DataFrame, *, given: Mapping[str, object] | None = ...
    ) -> list[PredictedAsDone]: ...

    @_single_threaded
    def predict_asked(
        self,
        settings: Mapping[str, Known] | Sequence[Mapping[str, Known]] | pd.DataFrame,
        *,
        given: Mapping[str, object] | None = None,
    ) -> PredictedAsDone | list[PredictedAsDone]:
        """What the worlds expect of asking for a setting, or for each of several, as the equipment does it.

        Args:
            settings: As for `predict`.
            given: As for `predict`.

        Returns:
            An `AsDone`: mean, standard deviation, and the part of it that comes from execution; otherwise as `predict`.
        """
        found = predicted_asked(self._given(given), self._known.places(settings))
        return found[0] if isinstance(settings, Mapping) else found

    def _given(self, given: object) -> Knowledge:
        """What is known, for an experiment under conditions that are given, and nothing else."""
        conditions = given_conditions(self.space, given)
        if given is not None and (not isinstance(given, Mapping) or conditions.keys() != given.keys()):
            known = ", ".join(self.space.conditions.columns) or "none here"
            raise TableError(f"`given` of a prediction names groups and the time ({known}), but got {shown(given)}")
        return self._known.under(conditions)

    @_single_threaded
    def expected(self, places: Array, outcome: str | None = None) -> tuple[Array, Array]:
        """Mean and standard deviation of an outcome at places of the unit cube.  (m, d) -> (m,), (m,)

        Args:
            places: As `Space.to_unit` gives them.
            outcome: The name of one of several outcomes; left out, it is the first.

        Returns:
            The worlds' mean, and their spread by the law of total variance.
        """
        name = self.outcomes[self._known.outcome(outcome)]
        found = predictions(self._known.modelled(), self.objectives, read_places(self.space, places))[name]
        return np.array([one.mean for one in found]), np.array([one.sd for one in found])

    @_single_threaded
    def learned(self, outcome: str | None = None) -> tuple[GaussianProcess, Transform]:
        """The processes fitted to an outcome, one for each world, and the transform of what they were fitted to.

        Args:
            outcome: The name of one of several outcomes; left out, it is the first.
        """
        j, fit = self._known.outcome(outcome), self._known.modelled()
        return fit.models[j], fit.transforms[j]

    @_single_threaded
    def chances(self, settings: Sequence[Mapping[str, Known]] | pd.DataFrame) -> list[float]:
        """The chance of each setting to be better than what is expected of the best row, and to keep limits.

        With several outcomes it is the chance to be a trade-off that no row is expected to beat.

        Args:
            settings: As for `predict`.
        """
        places = torch.from_numpy(self._known.typical(self._known.places(settings)))
        with torch.no_grad():
            found: list[float] = chance_to_beat_the_best(self._known.modelled(), places).tolist()
        return found

    @_single_threaded
    def explain(
        self,
        setting: Mapping[str, Known],
        outcome: str | None = None,
        *,
        given: Mapping[str, object] | None = None,
    ) -> Explanation:
        """What the prediction for a setting rests on: any setting, suggested or your own.

        Args:
            setting: A mapping of every parameter to a plain value within its bounds.
            outcome: The name of one of several outcomes; left out, it is the first.
            given: As for `predict`.

        Returns:
            An `Explanation`: the prediction, its chance to beat the best row, and which rows and gaps it rests on most.
        """
        return explained(self._given(given), self._known.outcome(outcome), setting)

    @_single_threaded
    def prospects(self) -> Prospects:
        """Whether to go on: what the next experiments, a value looked up and a repeated row are expected to gain.

        Returns:
            A `Prospects`; its `advice()` is one line. Gains are in the outcome's unit; of several outcomes they are the
            mean over trade-offs between these, in per cent of the spread of the outcomes.
        """
        return prospects_of(self._known)

    @_single_threaded
    def validation(self, outcome: str | None = None) -> Validation:
        """What is expected of each row from all other rows, beside what was measured: whether to trust the model.

        Args:
            outcome: The name of one of several outcomes; left out, it is the first.

        Returns:
            A `Validation`; its `sentence` sums it up.
        """
        return validated(self._known, self._known.outcome(outcome))

    @_single_threaded
    def suspects(self) -> pd.DataFrame:
        """Recorded inputs and outcomes that look wrong, given the other columns and all other rows; no cell is changed.

        Returns:
            A table with a line for each, the likeliest first: its `row` and `column`, what was `recorded`, what is
            more `likely`, and the `probability` that it is wrong.
        """
        return suspects_table(self._known)

    def completed(self, setting: Mapping[str, Known]) -> dict[str, Known]:
        """A setting with what is not known of it as in a typical row: of a measured parameter, its median.

        Args:
            setting: A mapping of parameter to a plain value within its bounds; any may be left out.
        """
        setting = check_setting(self.space, setting)
        likely = self.space.from_unit(self._known.typical(self.space.place(setting)))
        return {name: setting.get(name, value) for name, value in likely.items()}

    @overload
    def success(self, settings: Mapping[str, Known]) -> float: ...

    @overload
    def success(self, settings: Sequence[Mapping[str, Known]] | pd.DataFrame) -> list[float]: ...

    @_single_threaded
    def success(
        self, settings: Mapping[str, Known] | Sequence[Mapping[str, Known]] | pd.DataFrame
    ) -> float | list[float]:
        """The chance of a setting not to fail and to keep all limits, averaged over worlds.

        Args:
            settings: As for `predict`.

        Returns:
            The chance from 0 to 1, 1 without a failure and a limit; a list of them for several settings.
        """
        chances = chances_to_succeed(self._known.modelled(), self._known.places(settings))
        return chances[0] if isinstance(settings, Mapping) else chances

    @_single_threaded
    def gap_draws(self) -> list[GapDraws]:
        """Draws of each value that is not known exactly, in the parameter's own unit."""
        return draws_of_gaps(self._known)

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
        return table_of_gaps(self._known)

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
        return equipment_table(self._known)

    @_single_threaded
    def equipment(self) -> list[str]:
        """The same in words, a sentence for each parameter that strays."""
        return in_words(self._known)

    @_single_threaded
    def offsets(self, outcome: str | None = None) -> pd.DataFrame:
        """By how much each group, such as a day or a lot, moves an outcome, in its unit.

        Args:
            outcome: The name of one of several outcomes; left out, it is the first.

        Returns:
            A table with a line for each group: its `column`, its name, how many `rows` it has, its `offset` against the
            mean of its column's groups with a standard deviation, and last of each column what a new one may have.
        """
        return offsets_table(self._known, self._known.outcome(outcome))

    @_single_threaded
    def drift(self, outcome: str | None = None) -> pd.DataFrame:
        """By how much an outcome was higher at times before than it would be now, whatever was set, in its unit.

        Args:
            outcome: The name of one of several outcomes; left out, it is the first.

        Returns:
            A table of `time`, `change` and its standard deviation; empty where no drift is learned.
        """
        return drift_table(self._known, self._known.outcome(outcome))

    @_single_threaded
    def conditions(self, outcome: str | None = None) -> list[str]:
        """The same in words: a sentence for each column of groups, and one for drift; none without such columns.

        Args:
            outcome: The name of one of several outcomes; left out, it is the first.
        """
        return sentences(self._known, self._known.outcome(outcome)) if self.space.conditions else []

    @_single_threaded
    def done_of(self, places: Array) -> tuple[Array, Array]:
        """What is done of requests, and how likely that is, over all worlds.  (m, d) -> (k, m), (k, m, d)

        Args:
            places: Those of the requests, as `Space.to_unit` gives them.
        """
        return done_of(self._known.modelled(), read_places(self.space, places))

    def frame(self) -> pd.DataFrame:
        """Everything told, pending suggestions included.

        Returns:
            A table that `tell` takes back.
        """
        return self.observations.frame()

    # --- keeping ---------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything into a file of plain JSON, as docs/files.md describes it.

        From here on this optimizer suggests what one that is loaded from the file suggests: both learn from the table
        anew.

        Args:
            path: The file; it is replaced at one stroke.
        """
        saving.save(path, Saved(self.space, self.objectives, self.method, self.seed, self.observations))
        self._known = replace(self._known, before=None)

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> Optimizer:
        """The optimizer that was saved in a file.

        Args:
            path: The file.
            device: As for a new optimizer; it is not saved.
        """
        return cls.of(saving.load(path), device=device)

    @classmethod
    def of(cls, saved: Saved, *, device: str = "cpu") -> Optimizer:
        """The optimizer that `bomi.saving` has read.

        Args:
            saved: What a file says.
            device: As for a new optimizer; it is not saved.
        """
        objective = {one.name: one for one in saved.objectives}
        made = cls(saved.space, objective=objective, method=saved.method, seed=saved.seed, device=device)
        made._take(saved.observations)
        return made

    def catch_up(self, saved: Saved) -> bool:
        """Take in a later state of this campaign, as if it had been told here: what was learned is not lost.

        Args:
            saved: What a file says.

        Returns:
            False, with nothing changed, if it is another campaign: other parameters, outcomes, method or seed.
        """
        mine = (self.space, self.objectives, self.method, self.seed)
        if mine != (saved.space, saved.objectives, saved.method, saved.seed):
            return False
        self._take(saved.observations.after(self.observations))
        return True


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
