"""From what is told in Python to new observations: a table, the outcome of one experiment, what was told wrongly.

Each function returns new observations and leaves the old ones as they are, so an error changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from bomi.data.columns import read_columns, table_columns
from bomi.data.conditions import check_condition
from bomi.data.observations import Observations, Row
from bomi.data.reading import is_failed, read_cell, read_error, read_id, read_outcome
from bomi.data.settings import check_parameters
from bomi.errors import BomiError, CellError, SuggestionError, TableError, shown
from bomi.space import Space
from bomi.space.cells import Cell, Censored, Known
from bomi.space.numbers import unwrapped, whole_number

T = TypeVar("T")


def told(
    observations: Observations,
    experiment: object,
    outcome: object = ...,
    *,
    suggested: str | None = None,
    actual: object = None,
    sd: object = None,
    failed: object = False,
    out_of_bounds: object = "error",
) -> Observations:
    """With a table of experiments, or with what became of one; `suggested` is its id if it is a suggestion."""
    keep, failed = _keeps_outside(out_of_bounds), _read_failed(failed)
    if hasattr(experiment, "columns"):
        if outcome is not ... or actual is not None or sd is not None or failed:
            raise TableError("a table brings its own outcomes: tell it alone")
        columns = table_columns(experiment)
        labels = list(experiment.index) if hasattr(experiment, "iloc") and hasattr(experiment, "index") else None
        space, outcomes = observations.space, observations.objectives
        return observations.add(read_columns(columns, space, outcomes, keep_outside=keep, labels=labels))
    if not isinstance(experiment, Mapping):
        raise TableError(
            f"tell takes a table, or a suggestion or mapping with its outcome, but got {shown(experiment)}"
        )
    if failed and outcome is not ...:
        raise TableError("a failed experiment has no outcome: tell(experiment, failed=True)")
    if outcome is ... and not failed:
        raise TableError("an experiment is told with its outcome: tell(experiment, outcome), or failed=True")
    changed, beside = _read_actual(observations.space, actual, keep)
    failed = failed or is_failed(outcome)
    found = {} if failed else _numbers(observations, outcome, _read_outcome, "outcome")
    row = Row(
        {},
        {name: one for name, one in found.items() if isinstance(one, float)},
        errors=_known(_numbers(observations, sd, read_error, "sd")),
        failed=failed,
        censored={name: one for name, one in found.items() if isinstance(one, Censored)},
        extra=beside,
    )
    if suggested is None:
        return observations.add([_own(observations, experiment, row, changed, keep)])
    return observations.add([_answer(observations, experiment, suggested, row, changed)])


def corrected(
    observations: Observations,
    place: int,
    outcome: object = ...,
    *,
    actual: object = None,
    sd: object = ...,
    failed: object = None,
    out_of_bounds: object = "error",
) -> Observations:
    """With another outcome, other inputs or another standard error of a row; what is not named stays as it was."""
    keep, old = _keeps_outside(out_of_bounds), observations.rows[place]
    changed, beside = _read_actual(observations.space, actual, keep)
    if outcome is ... and not changed and not beside and sd is ... and failed is None:
        raise TableError("there is nothing to correct: name the outcome, sd, failed or the actual inputs")
    failed = old.failed if failed is None else _read_failed(failed)
    if outcome is not ... and is_failed(outcome):
        outcome, failed = ..., True
    elif outcome is not ... and failed and not old.failed:
        raise TableError("a failed experiment has no outcome: correct it with failed=True alone")
    outcomes, errors, censored = dict(old.outcomes), dict(old.errors), dict(old.censored)
    if outcome is not ...:
        failed = False
        found = _numbers(observations, outcome, _read_outcome, "outcome")
        _update(outcomes, {name: one if isinstance(one, float) else None for name, one in found.items()})
        _update(censored, {name: one if isinstance(one, Censored) else None for name, one in found.items()})
    if sd is not ...:
        _update(errors, _numbers(observations, sd, read_error, "sd"))
    if failed:
        outcomes, errors, censored = {}, {}, {}
    recorded, extra = {**old.recorded, **changed}, {**old.extra, **beside}
    row = replace(
        old, recorded=recorded, outcomes=outcomes, errors=errors, failed=failed, censored=censored, extra=extra
    )
    return observations.put(place, row)


def withdrawn(observations: Observations, place: int) -> Observations:
    """Without a row that awaits its outcome and will have none."""
    row = observations.rows[place]
    if row.outcomes or row.censored or row.failed:
        raise SuggestionError(
            f"{_called(observations, place)} has been told already; correct it, or exclude it to learn nothing from it"
        )
    return observations.without(place)


def excluded(observations: Observations, place: int, exclude: bool) -> Observations:
    """With a row that nothing more is learned from, or something again."""
    row = observations.rows[place]
    if row.excluded == exclude:
        raise TableError(f"{_called(observations, place)} is {'excluded already' if exclude else 'not excluded'}")
    return observations.put(place, replace(row, excluded=exclude))


def locate(observations: Observations, experiment: object, row: object, suggested: str | None = None) -> int:
    """The place of the row that a suggestion, an id or a number of a row names."""
    if (experiment is None) == (row is None):
        raise TableError("name one experiment: a suggestion or an id, or row=, its number in frame()")
    if row is not None:
        number, count = whole_number(row), len(observations.rows)
        if number is None or not 0 <= number < count:
            rows = f"a whole number from 0 to {count - 1}" if count else "a row, but nothing has been told"
            raise TableError(f"row must be {rows}, but got {shown(row)}")
        return number
    if isinstance(experiment, Mapping):
        if suggested is None:
            raise TableError(f"name an experiment by its suggestion, its id or row=, not by {shown(experiment)}")
        return _suggestion(observations, experiment, suggested)
    try:
        identity = read_id(experiment)
    except CellError:
        identity = None
    place = None if identity is None else observations.find(identity)
    if place is None:
        remedy = f"; for the row number {shown(experiment)} say row=" if isinstance(experiment, int) else ""
        raise TableError(f"no experiment has the id {shown(experiment)}{remedy}")
    return place


def _called(observations: Observations, place: int) -> str:
    identity = observations.rows[place].id
    return f"row {place}" if identity is None else f"experiment {identity!r}"


def _keeps_outside(out_of_bounds: object) -> bool:
    if not isinstance(out_of_bounds, str) or out_of_bounds not in ("error", "keep"):
        raise BomiError(f"out_of_bounds must be 'error' or 'keep', but got {shown(out_of_bounds)}")
    return out_of_bounds == "keep"


def _read_failed(value: object) -> bool:
    held = unwrapped(value)
    if not isinstance(held, bool):
        raise BomiError(f"failed must be True or False, but got {shown(value)}")
    return held


def _read_actual(space: Space, actual: object, keep: bool) -> tuple[dict[str, Cell], dict[str, object]]:
    """What differed from what was asked, and the conditions beside it: the day, the lot."""
    if actual is None:
        return {}, {}
    if not isinstance(actual, Mapping):
        raise SuggestionError(f"`actual` must be a mapping of parameter to value, but got {shown(actual)}")
    beside = {
        name: check_condition(space.conditions, name, actual[name])
        for name in space.conditions.columns
        if name in actual
    }
    actual = {name: cell for name, cell in actual.items() if name not in beside}
    check_parameters(space, actual, "`actual`")
    return {name: _cell(space, name, cell, keep) for name, cell in actual.items()}, beside


def _read_outcome(value: object) -> float | Censored | None:
    """A number, a limit, or None for pending."""
    return value if isinstance(value, Censored) else read_outcome(value)


def _numbers(
    observations: Observations, value: object, read: Callable[[object], T | None], what: str
) -> dict[str, T | None]:
    """What is told of each outcome, None where it is not known: of a number for the only one, or of a mapping."""
    outcomes = observations.objectives
    if not isinstance(value, Mapping):
        if len(outcomes) > 1 and value is not None:
            shape = ", ".join(f"{name!r}: ..." for name in outcomes)
            raise TableError(f"several outcomes are told by name, {what} {{{shape}}}, but got {shown(value)}")
        value = dict.fromkeys(outcomes, value)
    found = {}
    for name, number in value.items():
        if not isinstance(name, str) or name not in outcomes:
            raise TableError(f"{what} {shown(name)} is not known; the outcomes are {', '.join(outcomes)}")
        try:
            found[name] = read(number)
        except CellError as error:
            raise TableError(f"{what} {name!r}: {error}") from None
    return found


def _known(numbers: Mapping[str, T | None]) -> dict[str, T]:
    return {name: number for name, number in numbers.items() if number is not None}


def _update(numbers: dict[str, T], changes: Mapping[str, T | None]) -> None:
    """Other numbers where there are some, none where they are not known any more."""
    for name, number in changes.items():
        numbers.pop(name, None)
        if number is not None:
            numbers[name] = number


def _own(
    observations: Observations, experiment: Mapping[str, object], row: Row, changed: Mapping[str, Cell], keep: bool
) -> Row:
    """The row of an experiment that nobody suggested."""
    space = observations.space
    beside = {
        name: check_condition(space.conditions, name, experiment[name]) for name in space.beside if name in experiment
    }
    experiment = {name: value for name, value in experiment.items() if name not in beside}
    check_parameters(space, experiment, "the experiment")
    known = {name: p.filling for name, p in space.parameters.items() if p.filling is not None}
    experiment = {**dict.fromkeys(space.measured), **known, **experiment}  # what was not measured or varied then
    missing = [name for name in space.names if name not in experiment]
    if missing:
        raise TableError(f"the experiment lacks {', '.join(map(repr, missing))}")
    recorded = {name: _cell(space, name, experiment[name], keep) for name in space.names}
    asked = {name: cell for name, cell in recorded.items() if changed and isinstance(cell, Known)}
    extra = {**beside, **row.extra}
    return replace(row, recorded={**recorded, **changed}, asked=asked, id=observations.fresh_id(), extra=extra)


def _answer(
    observations: Observations, experiment: Mapping[str, object], identity: str, row: Row, changed: Mapping[str, Cell]
) -> Row:
    """The row of a suggestion that was carried out."""
    old = observations.rows[_suggestion(observations, experiment, identity)]
    before, now = {**old.outcomes, **old.censored}, {**row.outcomes, **row.censored}
    if old.failed or (before and not now) or before.keys() & now.keys():
        raise SuggestionError(
            f"suggestion {identity!r} has been told already; what was told wrongly, correct() changes"
        )
    return replace(row, recorded={**old.recorded, **changed}, id=old.id)


def _suggestion(observations: Observations, experiment: Mapping[str, object], identity: str) -> int:
    """The place of the row of a suggestion."""
    place = observations.find(identity)
    if place is None and identity in observations.withdrawn:
        raise SuggestionError(
            f"suggestion {identity!r} was withdrawn; if it was run after all, tell it as an experiment of your own: "
            "tell(dict(suggestion), outcome)"
        )
    if place is None or dict(observations.rows[place].asked) != dict(experiment):
        raise SuggestionError(f"suggestion {identity!r} was not made by this optimizer")
    return place


def _cell(space: Space, name: str, value: object, keep: bool) -> Cell:
    try:
        return read_cell(space.parameters[name], value, keep_outside=keep)
    except CellError as error:
        raise TableError(f"parameter {name!r}: {error}") from None
