"""From what a caller names to checked values: settings, places of the cube, what is given, a list of candidates."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from bomi.data.columns import table_columns, table_error
from bomi.data.observations import default_of
from bomi.data.reading import is_blank, read_cell
from bomi.errors import CellError, CellProblem, TableError, shown
from bomi.space import Array, Real, Space, cells
from bomi.space.cells import Cell, Interval, Known, Normal
from bomi.space.numbers import LARGEST


def read_settings(space: Space, settings: object, *, whole: bool = True) -> list[dict[str, Known]]:
    """Settings of a space, each value inside its bounds: of one mapping, a list of them, or a table."""
    if isinstance(settings, Mapping):
        return [_read_setting(space, settings, "the setting", whole)]
    if hasattr(settings, "columns"):
        columns = table_columns(settings)
        names, rows = list(columns), zip(*columns.values(), strict=True)
        settings = [dict(zip(names, row, strict=True)) for row in rows]
    if not isinstance(settings, Sequence) or isinstance(settings, str | bytes):
        raise TableError(f"expected a setting, a list of settings or a table, but got {shown(settings)}")
    return [_read_setting(space, one, f"setting {i}", whole) for i, one in enumerate(settings)]


def read_places(space: Space, places: object) -> Array:
    """Places of the unit cube, or somewhat beyond; NaN for what is measured and not known.  (m, d)"""
    try:
        found = np.array(places.numpy() if hasattr(places, "numpy") else places, dtype=float)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # a tensor of a GPU, or one with a gradient
        found = np.array(math.nan)
    measured = np.array([name in space.measured for name in space.names])[space.groups]
    shaped = found.ndim == 2 and found.shape[1] == space.dim
    if not shaped or not ((np.abs(found) <= LARGEST) | (np.isnan(found) & measured)).all():
        raise TableError(f"expected finite numbers of the shape (m, {space.dim}), but got {shown(places)}")
    return found


def check_setting(space: Space, setting: object, what: str = "the setting") -> Mapping[str, Any]:
    """A mapping that names parameters of a space and nothing else."""
    if not isinstance(setting, Mapping):
        raise TableError(f"{what} must be a mapping of parameter to value, but got {shown(setting)}")
    check_parameters(space, setting, what)
    return setting


def _read_setting(space: Space, setting: object, what: str, whole: bool) -> dict[str, Known]:
    setting = check_setting(space, setting, what)
    missing = [name for name in space.names if name not in setting and name not in space.measured]
    if missing and whole:
        raise TableError(f"{what} lacks {', '.join(map(repr, missing))}")
    return _read_values(space, setting, what)


def read_given(space: Space, given: object) -> dict[str, Known]:
    """The values that some parameters are given, each inside its bounds; none without any."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TableError(f"`given` must be a mapping of parameter to value, but got {shown(given)}")
    given = {name: value for name, value in given.items() if name not in space.conditions.columns}
    check_parameters(space, given, "`given`")
    return _read_values(space, given, "`given`")


def given_conditions(space: Space, given: object) -> dict[str, object]:
    """The conditions among what is given: the lot, the day."""
    named = given if isinstance(given, Mapping) else {}
    return {name: named[name] for name in space.conditions.columns if name in named}


def read_names(space: Space, names: object, what: str = "`same`") -> tuple[str, ...]:
    """The parameters that a batch has one value of; `what` names the list in errors."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise TableError(f"{what} must be a list of parameters, but got {shown(names)}")
    check_parameters(space, dict.fromkeys(listed), what)
    for name in listed:
        if name in space.measured:
            raise TableError(f"{name!r} is measured, so nobody can keep it the same")
    return tuple(dict.fromkeys(listed))


def read_candidates(space: Space, candidates: object, given: Collection[str] = ()) -> dict[str, list[Known | None]]:
    """What is known of each candidate, by columns: of a table, or of a list of mappings. A blank is not known."""
    if isinstance(candidates, Sequence) and not isinstance(candidates, str | bytes):
        for one in candidates:
            if not isinstance(one, Mapping):
                raise TableError(
                    f"candidates must be a table or a list of mappings of parameter to value, but one is {shown(one)}"
                )
        names = dict.fromkeys(str(name) for one in candidates for name in one)
        columns: dict[str, list[object]] = {name: [one.get(name) for one in candidates] for name in names}
        return candidate_columns(space, columns, range(len(candidates)), given)
    if not hasattr(candidates, "columns"):
        raise TableError(f"candidates must be a table or a list of mappings, but got {shown(candidates)}")
    return candidate_columns(space, table_columns(candidates), list(getattr(candidates, "index", ())), given)


def candidate_columns(
    space: Space,
    columns: Mapping[str, Sequence[object]],
    labels: Sequence[object],
    given: Collection[str] = (),
    readers: Mapping[str, Callable[[str], object]] | None = None,
) -> dict[str, list[Known | None]]:
    """The columns of a list of candidates, checked; TableError names every problem with its row and column."""
    if not labels:
        raise TableError("the list of candidates is empty: give one at least, or none to choose from the whole space")
    there = (*columns, *given, *space.measured)
    missing = [name for name in space.names if name not in there and default_of(space, name) is None]
    if missing:
        found = ", ".join(map(repr, columns))
        raise TableError(f"the list of candidates lacks {', '.join(map(repr, missing))}; it has {found}")
    problems: list[CellProblem] = []
    made = {}
    for name, parameter in space.parameters.items():
        reader = (readers or {}).get(name)
        low, high = (parameter.low, parameter.high) if isinstance(parameter, Real) else (0.0, -1.0)
        made[name] = values = list[Known | None]()
        for label, value in zip(labels, columns.get(name, [None] * len(labels)), strict=True):
            if value.__class__ is float and low <= value <= high:
                values.append(value)  # nearly every cell of a long list
                continue
            cell: Cell = None
            try:
                cell = parameter.read(reader(value) if reader and isinstance(value, str) else value)
                cell = parameter.filling if cell is None and is_blank(value) else cell
                if isinstance(cell, Normal | Interval):
                    raise CellError(f"expected a plain value or a blank, but got {cell}")
                if cell is not None and not parameter.contains(cell):
                    said = f"{cells.text(cell)} is out of bounds {parameter.range_text}"
                    raise CellError(f"{said}; widen them, or leave the candidate out")
            except CellError as error:
                problems.append(CellProblem(label, name, str(error)))
            values.append(cell if isinstance(cell, Known) else None)
    if problems:
        raise table_error(problems)
    return made


def _read_values(space: Space, setting: Mapping[str, object], what: str) -> dict[str, Known]:
    """Plain values of parameters inside their bounds."""
    found: dict[str, Known] = {}
    for name, parameter in space.parameters.items():
        if name not in setting:
            continue
        try:
            cell = read_cell(parameter, setting[name], keep_outside=True)
        except CellError as error:
            raise TableError(f"{what}, parameter {name!r}: {error}") from None
        if cell is None or isinstance(cell, Normal | Interval):
            raise TableError(f"{what}, parameter {name!r}: expected a plain value, but got {cells.text(cell)}")
        if not parameter.contains(cell):
            raise TableError(f"{what}, parameter {name!r}: {cells.text(cell)} is out of bounds {parameter.range_text}")
        found[name] = cell
    return found


def check_parameters(space: Space, named: Mapping[Any, object], what: str) -> None:
    """Refuse names that no parameter has."""
    unknown = [name for name in named if not isinstance(name, str) or name not in space.parameters]
    if unknown:
        absent = [name for name in (*space.names, *space.conditions.columns) if name not in named]
        near = difflib.get_close_matches(unknown[0], absent, n=1) if isinstance(unknown[0], str) else []
        hint = f"did you mean {near[0]!r}?" if near else f"the parameters are {', '.join(space.names)}"
        raise TableError(f"{what} names no parameter: {', '.join(map(shown, unknown))}; {hint}")
