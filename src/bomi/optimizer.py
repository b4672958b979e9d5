"""`Optimizer`: tell it what was done, ask it what to do next. The only stateful class."""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar, overload

import numpy as np
import torch
from torch import Tensor

from bomi import propose, saving
from bomi.data import telling
from bomi.data.conditions import Coded
from bomi.data.objectives import Objective, check_names, read_objectives
from bomi.data.observations import Observations, Row
from bomi.data.reading import given_conditions, read_candidates, read_given, read_names, read_places, read_settings
from bomi.equipment import done_of, equipment_table, in_words
from bomi.errors import BomiError, MethodError, SpaceError, SuggestionError, TableError, shown
from bomi.explanation import chance_to_beat_the_best, explained
from bomi.impute.summary import gap_table
from bomi.impute.transform import Transform
from bomi.learning import Fit, conditions_of, draw_seed, learn, table_of
from bomi.methods import Method
from bomi.methods import method as find_method
from bomi.model.gaussian_process import GaussianProcess
from bomi.model.surrogates import DistributionGP
from bomi.names import DEFAULT
from bomi.offsets import drift_table, offsets_table, sentences
from bomi.predict import by_setting, predictions
from bomi.prospects import HORIZONS, prospects_of
from bomi.recommend import Risk, best_of_each_draw, luck, read_risk, recommended, rivals, shortlist_of, trade_offs
from bomi.results import (
    Best,
    Explanation,
    Front,
    GapDraws,
    Predicted,
    PredictedAsDone,
    Prediction,
    Prospects,
    Suggestion,
    Validation,
    by_name,
    html_table,
)
from bomi.saving import Saved
from bomi.search import acquisition as scores
from bomi.search.choices import Choices, Listed
from bomi.search.criteria import Acquisition, ExpectedImprovement, find_acquisition
from bomi.space import RESERVED, TAKEN, Array, Conditions, Space, cells
from bomi.space.cells import Known
from bomi.space.numbers import LARGEST, unwrapped, whole_number
from bomi.threads import single_threaded
from bomi.validation import validated

if TYPE_CHECKING:
    import pandas as pd
    from botorch.acquisition.acquisition import AcquisitionFunction

    from bomi.model.mixture import Mixture

MOST = 10_000  # suggestions at a time

logger = logging.getLogger(__name__)

Candidates: TypeAlias = "pd.DataFrame | Sequence[Mapping[str, object]]"
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
        self.space = space if isinstance(space, Space) else Space(space)
        if conditions := Conditions(groups, drift):
            self.space = self.space.under(conditions)
        self.objectives: tuple[Objective, ...] = read_objectives(objective, goal)
        check_names(self.objectives, (*self.space.names, *self.space.conditions.columns, *TAKEN), RESERVED)
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
        if self.space.conditions and isinstance(self.method.surrogate, DistributionGP):
            raise MethodError(
                f"method {self.method.name!r} learns no offsets of groups and no drift; take another, "
                f"such as {DEFAULT!r}"
            )
        self.device = _checked_device(device)
        self._observations = Observations(self.space, self.outcomes)
        self._fit: Fit | None = None
        self._judged: dict[int, Validation] = {}  # by outcome, of the fit

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
            outcome: The number that came out, or `Censored(high=5)` where only a limit is known; of several outcomes, a
                mapping of name to number. None: not known yet.
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
        choices, shared = self._choices(given, candidates, replacement), read_names(self.space, same)
        number = 1 if count is None else whole_number(count)
        if number is None or not 1 <= number <= MOST:
            raise BomiError(
                f"the number of suggestions must be a whole number from 1 to {MOST}, but got {shown(count)}"
            )
        conditions = given_conditions(self.space, given)
        asked = self._under(conditions)
        if number == 1 or not shared:
            found = asked._ask(number, choices, conditions)
        else:
            narrowed = partial(self._choices, candidates=candidates, replacement=replacement)
            found = asked._ask_alike(number, choices, shared, narrowed, conditions)
        self._observations = asked._observations
        return found[0] if count is None else found

    def _under(self, conditions: Mapping[str, object]) -> Optimizer:
        """The same optimizer for an experiment under conditions that are given; itself without any."""
        if not conditions:
            return self
        now = self._coded.now(conditions)
        other = copy(self)
        other._fit, other._judged = self._learn().under(torch.from_numpy(now)), {}
        return other

    def _ask_alike(
        self,
        count: int,
        choices: Choices,
        same: Sequence[str],
        narrowed: Callable[[Mapping[str, object]], Choices],
        conditions: Mapping[str, object],
    ) -> list[Suggestion]:
        """Experiments that share the values of some parameters: those of the best, and the others to go with them."""
        beside = copy(self)  # nothing is pending here before all of them are found
        first = beside._ask(1, choices, conditions)[0]
        shared = {name: first[name] for name in same if name in first}
        try:
            others = beside._ask(count - 1, narrowed({**choices.given, **shared}), conditions)
        except (SpaceError, SuggestionError) as error:
            said = ", ".join(f"{name} = {cells.text(value)}" for name, value in shared.items())
            raise SuggestionError(f"with {said} for all {count}: {error}") from None
        self._observations, self._fit = beside._observations, beside._fit
        return [first, *others]

    def _choices(self, given: object, candidates: object = None, replacement: object = True) -> Choices:
        """What there is to choose from."""
        known = read_given(self.space, given)
        if not isinstance(unwrapped(replacement), bool):
            raise BomiError(f"replacement must be True or False, but got {shown(replacement)}")
        if candidates is None:
            if not replacement:
                raise BomiError("replacement goes with candidates, a list to choose from")
            return Choices(self.space, known)
        rows = [row for row in self._observations.rows if not (row.pending or replacement)]
        tried = [row.asked or _known(row) for row in rows if row.asked or row.complete]
        return Listed.of(self.space, read_candidates(self.space, candidates, known), known, tried)

    @_single_threaded
    def _ask(self, count: int, choices: Choices, conditions: Mapping[str, object]) -> list[Suggestion]:
        """The next experiments; nothing is pending before all of them are found."""
        points, note = self._next_points(count, choices)
        settings: list[dict[str, Known]] = []
        for point in points:
            settings.append(self._unasked(choices.setting(point), settings, choices))
        predicted, as_done = self._expectations(settings)
        observations, suggestions = self._observations, []
        for point, setting, expected, done in zip(points, settings, predicted, as_done, strict=True):
            suggestion = Suggestion(observations.fresh_id(), setting, expected, note, choices.candidate(point), done)
            recorded = {name: setting.get(name) for name in self.space.names}
            row = Row(recorded, asked=dict(setting), id=suggestion.id, extra=dict(conditions))
            observations = observations.add([row])
            suggestions.append(suggestion)
        self._observations = observations
        return suggestions

    def _unasked(
        self, setting: dict[str, Known], before: Sequence[dict[str, Known]], choices: Choices
    ) -> dict[str, Known]:
        """The setting, or where rounding has made it one that is pending or in the same batch, another one."""
        asked = [*(dict(row.asked) for row in self._observations.pending), *before]
        if setting not in asked or choices.listed is not None:
            return setting
        others = [choices.setting(point) for point in choices.spread(propose.SPARE, seed=self._seed_of_all_rows)]
        return next((other for other in others if other not in asked), setting)

    def _has_model(self) -> bool:
        """Whether the method learns, and has enough rows to."""
        return self.method.acquisition is not None and self._learn().enough

    def _next_points(self, count: int, choices: Choices) -> tuple[list[Tensor], str]:
        """Where to experiment next, and a note if the method could not say."""
        rows, acquisition, pending = len(self._observations.rows), self.method.acquisition, self._pending_places()
        if choices.listed is not None and (free := len(choices.listed) - len(choices.taken(pending))) < count:
            raise SuggestionError(
                f"only {free} of {len(choices.listed)} candidates are left to ask for, not {count}: the others are "
                "pending; ask for fewer, tell their outcomes, or withdraw those that will not be run"
            )
        if acquisition is None:
            return propose.uniform(choices, pending, count=count, first=rows, seed=self.seed), ""
        fit = self._learn()
        if not fit.enough:
            points = propose.space_filling(fit, pending, count=count, first=rows, seed=self.seed, choices=choices)
            note = propose.too_few(fit, self.method)
            logger.info(note)
            return points, note
        t = 1 + sum(bool(row.asked) for row in self._observations.rows)
        points = propose.promising(
            fit, acquisition, pending, count=count, t=t, first_seed=rows, seed=self.seed, choices=choices
        )
        return points, ""

    def _learn(self) -> Fit:
        """What the rows that were tried say; learned once for each state of the table."""
        keys = self._observations.tried_keys
        if self._fit is None or self._fit.table.keys != keys:
            table = table_of(self.space, self.objectives, self._observations, self.device)
            self._fit = learn(table, self.method, self.seed, before=self._fit)
            if self.space.conditions:
                self._fit = self._fit.under(torch.from_numpy(self._coded.now()))
            self._judged = {}
        return self._fit

    def _pending_places(self) -> Tensor:
        """The pending experiments whose inputs, or what was asked, are known; NaN in what is open of these.  (m, d)"""
        each = [({**row.asked, **_known(row)}, row.asked) for row in self._observations.pending]
        known = [
            here for here, asked in each if len(here) == len(self.space) or (asked and here.keys() == asked.keys())
        ]
        return torch.from_numpy(self.space.places(known))

    @property
    def _tried_numbers(self) -> list[int]:
        """The places of the rows of the table among all rows."""
        return [i for i, row in enumerate(self._observations.rows) if row.tried]

    @property
    def _seed_of_all_rows(self) -> int:
        return draw_seed(self.seed, len(self._observations.rows))

    # --- looking ---------------------------------------------------------------------------------------------------

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
            A `Best`; of several outcomes a `Front`, the list of the best trade-offs between them.
        """
        choices, read = self._choices(given, candidates), read_risk(risk)
        return self._under(given_conditions(self.space, given))._best(choices, read)

    @_single_threaded
    def _best(self, choices: Choices, risk: Risk) -> Best:
        rows = self._observations.rows
        done = [place for place, row in enumerate(rows) if row.tried and len(row.outcomes) == len(self.outcomes)]
        if not done:
            what = "outcome" if len(self.outcomes) == 1 else "experiment with all of its outcomes"
            raise TableError(f"there is no best yet: no {what} has been told")
        merits = torch.tensor(
            [[one.merit(rows[place].outcomes[one.name]) for one in self.objectives] for place in done],
            dtype=torch.float64,
        )
        if self._has_model():
            tried = [place for place, row in enumerate(rows) if row.tried]
            wrong = dict(zip(tried, self._learn().wrong.any(0).tolist(), strict=True))
            believed = torch.tensor([not wrong[place] for place in done])
            if believed.any():
                done, merits = [place for place in done if not wrong[place]], merits[believed]
        weights = trade_offs(len(self.objectives))
        if len(self.objectives) == 1:
            return self._recommend(choices, risk, done[int(merits[:, 0].argmax())], weights[0])
        return self._front(choices, risk, done, merits, weights)

    def _recommend(
        self, choices: Choices, risk: Risk, place: int, weights: Tensor, shortlist: Tensor | None = None
    ) -> Best:
        """The setting recommended for a trade-off, beside the row seen, which is called by its place."""
        seen = self._observations.rows[place]
        setting: dict[str, Known] | None = None
        predicted, as_done, note = None, None, ""
        others: list[tuple[int, float]] = []
        if self._has_model():
            seed = self._seed_of_all_rows
            best = recommended(self._learn(), weights, risk, seed=seed, shortlist=shortlist, choices=choices)
            setting = choices.setting(best)
            (predicted,), (as_done,) = self._expectations([setting])
            predicted, as_done = self._lucky(predicted, setting), self._lucky(as_done, setting)
            if choices.all:
                place_of = torch.from_numpy(self._typical(self.space.place(setting)))
                numbers = self._tried_numbers
                others = [(numbers[row], chance) for row, chance in rivals(self._learn(), place_of, seed=seed)]
        else:
            known = _known(seen)
            chosen = [name for name in self.space.names if name in choices.given or name not in self.space.measured]
            if known.keys() >= {*chosen} and not self.space.broken(known):
                setting = {name: known[name] for name in chosen}
            note = "no model: the best row seen" if setting else "no model, and the best row seen has gaps"
            if self.space.broken(known):
                note = "no model, and the best row seen breaks a constraint"
            if setting and (choices.given.items() - setting.items() or choices.listed is not None):
                setting, note = None, "no model, and the best row seen is not among what there is to choose from"
        outcomes = dict(seen.outcomes) if len(self.outcomes) > 1 else seen.outcomes[self.outcomes[0]]
        told = dict(seen.recorded), seen.complete, note, place, as_done, tuple(others)
        return Best(setting, predicted, outcomes, *told)

    def _lucky(self, predicted: Any, setting: Mapping[str, Known]) -> Any:
        """A prediction of what was chosen for looking best, with the part that luck may have in that."""
        if predicted is None or isinstance(predicted, Mapping):
            return predicted
        fit, (objective,) = self._learn(), self.objectives
        place = torch.from_numpy(self._typical(self.space.place(setting)))
        slope = fit.transforms[0].slope(torch.tensor(objective.sign * predicted.mean, dtype=torch.float64))
        return predicted._replace(
            sd=math.hypot(predicted.sd, luck(fit, place, seed=self._seed_of_all_rows) / float(slope))
        )

    def _front(self, choices: Choices, risk: Risk, done: Sequence[int], merits: Tensor, weights: Tensor) -> Front:
        """The best trade-offs, in the order of the first outcome; the equal one stands for all.

        merits: (r, J), weights: (w, J)
        """
        span = (merits.amax(0) - merits.amin(0)).clamp_min(1e-300)
        found, shortlist = [], None
        if self._has_model():
            shortlist = shortlist_of(self._learn(), weights, choices, risk, seed=self._seed_of_all_rows)
        for each in weights:
            seen = done[int(scores.chebyshev((merits - merits.amax(0)) / span, each).argmax())]
            found.append(self._recommend(choices, risk, seen, each, shortlist))
        usable = [best for best in found if best.setting is not None]
        if not usable:
            return Front(**vars(found[-1]))
        if self._has_model():
            places = torch.from_numpy(self.space.places([best.setting or {} for best in usable]))
            fit = self._learn()
            with torch.no_grad():
                expected = fit.outlook_at(places, risk.done(fit)).merits(places, risk.worst)
        else:
            seen_outcomes = [by_name(best.seen, self.outcomes) for best in usable]
            expected = torch.tensor([[one.merit(each[one.name]) for one in self.objectives] for each in seen_outcomes])
        kept = scores.undominated(expected).nonzero()[:, 0].tolist()
        kept.sort(key=lambda i: float(expected[i, 0]))
        middle = usable[kept[len(kept) // 2]]
        return Front(**vars(middle), choices=tuple(usable[i] for i in kept))

    @overload
    def predict(self, settings: Mapping[str, Known], *, given: Mapping[str, object] | None = ...) -> Predicted: ...

    @overload
    def predict(
        self, settings: Sequence[Mapping[str, Known]] | pd.DataFrame, *, given: Mapping[str, object] | None = ...
    ) -> list[Predicted]: ...

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
        found = self._given(given)._predict(self._places(settings))
        return found[0] if isinstance(settings, Mapping) else found

    @overload
    def predict_asked(
        self, settings: Mapping[str, Known], *, given: Mapping[str, object] | None = ...
    ) -> PredictedAsDone: ...

    @overload
    def predict_asked(
        self, settings: Sequence[Mapping[str, Known]] | pd.DataFrame, *, given: Mapping[str, object] | None = ...
    ) -> list[PredictedAsDone]: ...

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
        found = self._given(given)._predict_asked(self._places(settings))
        return found[0] if isinstance(settings, Mapping) else found

    def _given(self, given: object) -> Optimizer:
        """The same optimizer for an experiment under conditions that are given, and nothing else."""
        conditions = given_conditions(self.space, given)
        if given is not None and (not isinstance(given, Mapping) or conditions.keys() != given.keys()):
            known = ", ".join(self.space.conditions.columns) or "none here"
            raise TableError(f"`given` of a prediction names groups and the time ({known}), but got {shown(given)}")
        return self._under(conditions)

    @_single_threaded
    def _predict(self, places: Array) -> list[Predicted]:
        """What is expected at places of the unit cube.  (m, d), NaN for what is not known"""
        each = predictions(self._modelled(), self.objectives, places)
        return by_setting({name: [Prediction(one.mean, one.sd) for one in found] for name, found in each.items()})

    @_single_threaded
    def _predict_asked(self, places: Array) -> list[PredictedAsDone]:
        """What is expected of asking for places of the unit cube.  (m, d)"""
        fit = self._modelled()
        return by_setting(predictions(fit, self.objectives, places, fit.execution))

    def _expectations(
        self, settings: Sequence[Mapping[str, Known]]
    ) -> tuple[Sequence[Predicted | None], Sequence[PredictedAsDone | None]]:
        """What is expected if settings are done exactly, and as equipment does them; None without a model or errors."""
        none, model = [None] * len(settings), self._has_model()
        places = self.space.places(settings)
        strays = model and self._learn().execution is not None
        return self._predict(places) if model else none, self._predict_asked(places) if strays else none

    def _places(self, settings: object) -> Array:
        """The places of settings in the unit cube; a suggestion may have gaps.  (m, d)"""
        each = [settings] if isinstance(settings, Mapping) else settings
        own = isinstance(each, Sequence) and all(isinstance(one, Suggestion) for one in each)
        return self.space.places(read_settings(self.space, settings, whole=not own))

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
        j = self._outcome(outcome)
        found = predictions(self._modelled(), self.objectives, read_places(self.space, places))[self.outcomes[j]]
        return np.array([one.mean for one in found]), np.array([one.sd for one in found])

    @_single_threaded
    def learned(self, outcome: str | None = None) -> tuple[GaussianProcess, Transform]:
        """The processes fitted to an outcome, one for each world, and the transform of what they were fitted to.

        Without a name it is the first outcome.
        """
        j = self._outcome(outcome)
        fit = self._modelled()
        return fit.models[j], fit.transforms[j]

    @_single_threaded
    def chances(self, settings: Sequence[Mapping[str, Known]] | pd.DataFrame) -> list[float]:
        """The chance of each setting to be better than what is expected of the best row; of several outcomes, to be a
        trade-off that no row is expected to beat."""
        places = torch.from_numpy(self._typical(self._places(settings)))
        with torch.no_grad():
            found: list[float] = chance_to_beat_the_best(self._modelled(), places).tolist()
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
        j = self._outcome(outcome)
        predicted = by_name(self.predict(setting, given=given), self.outcomes)[self.outcomes[j]]
        return explained(
            self._given(given)._modelled(),
            j,
            torch.from_numpy(self._typical(self._places(setting))[0]),
            predicted,
            sign=self.objectives[j].sign,
            numbers=self._tried_numbers,
            gaps=self.gap_draws(),
        )

    @_single_threaded
    def prospects(self) -> Prospects:
        """Whether to go on: what the next experiments, a value looked up and a repeated row are expected to gain.

        Returns:
            A `Prospects`; its `advice()` is one line. Gains are in the outcome's unit; of several outcomes they are the
            mean over trade-offs between these, in per cent of the spread of the outcomes.
        """
        fit, choices = self._modelled(), Choices(self.space)
        weights = trade_offs(len(self.objectives))[-1]
        points, _ = self._next_points(max(HORIZONS), choices)
        best = recommended(fit, weights, seed=self._seed_of_all_rows)
        *places, last = self._typical_points(choices, torch.stack([*points, best]))
        return prospects_of(
            fit,
            self.objectives,
            places,
            last,
            gaps=self.gap_draws(),
            numbers=self._tried_numbers,
            trusted=all(self.validation(name).trusted for name in self.outcomes),
            seed=self._seed_of_all_rows,
        )

    @_single_threaded
    def validation(self, outcome: str | None = None) -> Validation:
        """What is expected of each row from all other rows, beside what was measured: whether to trust the model.

        Args:
            outcome: The name of one of several outcomes; left out, it is the first.

        Returns:
            A `Validation`; its `sentence` sums it up.
        """
        j, fit = self._outcome(outcome), self._modelled()
        if j not in self._judged:
            self._judged[j] = validated(fit, j, self.objectives[j], self._tried_numbers)
        return self._judged[j]

    @_single_threaded
    def suspects(self) -> pd.DataFrame:
        """Recorded inputs and outcomes that look wrong, given the other columns and all other rows; no cell is changed.

        Returns:
            A table with a line for each, the likeliest first: its `row` and `column`, what was `recorded`, what is
            more `likely`, and the `probability` that it is wrong.
        """
        import pandas as pd

        from bomi.suspects import doubts

        fit, names = self._modelled(), [*self.space.names, *self.outcomes]
        tried = [(i, row) for i, row in enumerate(self._observations.rows) if row.tried]
        found = []
        for doubt in doubts(fit):
            (number, row), name = tried[doubt.row], names[doubt.column]
            recorded: object = row.recorded.get(name)
            if doubt.column < len(self.space):
                parameter = self.space.parameters[name]
                width = parameter.width  # of a category, the code is its index
                place = np.eye(width)[round(doubt.likely)] if width > 1 else np.array([doubt.likely])
                likely: object = parameter.from_unit(place)
            else:
                j = doubt.column - len(self.space)
                told = fit.transforms[j].to_outcomes(torch.tensor(doubt.likely, dtype=torch.float64))
                told = told.clamp(*fit.table.ranges[j])
                recorded, likely = row.outcomes.get(name), self.objectives[j].sign * float(told)
            found.append((number, name, recorded, likely, doubt.probability))
        return pd.DataFrame(found, columns=["row", "column", "recorded", "likely", "probability"])

    def completed(self, setting: Mapping[str, Known]) -> dict[str, Known]:
        """A setting with what is not known of it as in a typical row: of a measured parameter, its median."""
        likely = self.space.from_unit(self._typical(self.space.place(setting)))
        return {name: setting.get(name, value) for name, value in likely.items()}

    def _typical(self, places: Array) -> Array:
        """Places with what is not known of them as in a typical row.  (..., d)"""
        if not np.isnan(places).any():
            return places
        typical = self._modelled().typical
        return np.where(np.isnan(places), typical[len(typical) // 2].numpy(), places)

    def _typical_points(self, choices: Choices, points: Tensor) -> Tensor:
        """Where points of what is to be chosen are in the cube.  (m, r) -> (m, d)"""
        return torch.from_numpy(self._typical(choices.places(points).numpy()))

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
        points = torch.from_numpy(places)
        outlook = self._modelled().outlook_at(points)
        if outlook.success is None:
            return [1.0] * len(places)
        with torch.no_grad():
            chances: list[float] = outlook.log_chance(outlook.places(points)).exp().mean(0).tolist()
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
        numbers = self._tried_numbers
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

    def equipment(self) -> list[str]:
        """The same in words, a sentence for each parameter that strays."""
        unit = self.objectives[0].unit if len(self.objectives) == 1 else "standard deviations of an outcome"
        lines = self.execution().to_dict("records")
        return [said for line in lines if (said := in_words(self._learn(), line, unit))]

    @_single_threaded
    def offsets(self, outcome: str | None = None) -> pd.DataFrame:
        """By how much each group, such as a day or a lot, moves an outcome, in its unit.

        Args:
            outcome: The name of one of several outcomes; left out, it is the first.

        Returns:
            A table with a line for each group: its `column`, its name, how many `rows` it has, its `offset` against the
            mean of its column's groups with a standard deviation, and last of each column what a new one may have.
        """
        j = self._outcome(outcome)
        return offsets_table(self._with_conditions(), self._coded, j, self.objectives[j].sign)

    @_single_threaded
    def drift(self, outcome: str | None = None) -> pd.DataFrame:
        """By how much an outcome was higher at times before than it would be now, whatever was set, in its unit.

        Args:
            outcome: The name of one of several outcomes; left out, it is the first.

        Returns:
            A table of `time`, `change` and its standard deviation; empty where no drift is learned.
        """
        j = self._outcome(outcome)
        return drift_table(self._with_conditions(), self._coded, j, self.objectives[j].sign)

    def conditions(self, outcome: str | None = None) -> list[str]:
        """The same in words: a sentence for each column of groups, and one for drift; none where none are told."""
        if not self.space.conditions:
            return []
        one = self.objectives[self._outcome(outcome)]
        offsets, drift = (frame.to_dict("records") for frame in (self.offsets(outcome), self.drift(outcome)))
        return sentences(offsets, drift, self._coded, one.name, one.unit)

    @property
    def _coded(self) -> Coded:
        return conditions_of(self.space, self._observations)

    def _with_conditions(self) -> Fit:
        """What was learned, if that is something of groups or drift."""
        if not self.space.conditions:
            raise MethodError('no groups and no drift are learned: say which columns, groups=["day"] or drift="date"')
        return self._modelled()

    @_single_threaded
    def done_of(self, places: Array) -> tuple[Array, Array]:
        """What is done of requests, and how likely that is, over all worlds.  (m, d) -> (k, m), (k, m, d)"""
        return done_of(self._modelled(), read_places(self.space, places))

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

    # --- keeping ---------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything into a file of plain JSON, as docs/files.md describes it.

        From here on this optimizer suggests what one that is loaded from the file suggests: both learn from the table
        anew.
        """
        saving.save(path, Saved(self.space, self.objectives, self.method, self.seed, self._observations))
        self._fit = None

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
        made._observations = saved.observations
        return made

    def goes_on(self, saved: Saved) -> bool:
        """Go on with a later state of this campaign, as if it had been told here: what was learned is not lost.

        Args:
            saved: What a file says.

        Returns:
            False, with nothing changed, if it is another campaign: other parameters, outcomes, method or seed.
        """
        mine = (self.space, self.objectives, self.method, self.seed)
        if mine != (saved.space, saved.objectives, saved.method, saved.seed):
            return False
        self._observations = saved.observations.after(self._observations)
        return True


def _known(row: Row) -> dict[str, Known]:
    """The inputs of a row that are known exactly."""
    return {name: cell for name, cell in row.recorded.items() if isinstance(cell, Known)}


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
