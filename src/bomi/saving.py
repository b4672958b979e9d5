"""An optimizer as plain JSON: the sections of campaign.toml, and beside them the method, the seed and the rows.

A row is a mapping of column to cell, as the table has them: `{"temperature": "150±8", "asked.temperature": 150}`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bomi.campaign import storage
from bomi.campaign.document import meaning
from bomi.campaign.faults import CampaignError
from bomi.campaign.writing import conditions_spec, constraint_spec, objective_spec, parameter_spec
from bomi.data.columns import read_columns
from bomi.data.objectives import Objective
from bomi.data.observations import Observations, Row
from bomi.errors import FileError, MethodError, TableError, shown
from bomi.methods import METHODS, Method, settings_of
from bomi.methods import method as find_method
from bomi.names import DEFAULT
from bomi.search.criteria import ACQUISITIONS, find_acquisition
from bomi.space import Space, cells
from bomi.space.cells import Censored, Interval, Known, Normal
from bomi.space.numbers import unwrapped, whole_number

FORMAT, VERSION = "bomi-campaign", 1
_CAMPAIGN = ("objective", "objectives", "parameters", "constraints", "groups", "drift")  # as in campaign.toml
_KEYS = ("format", "version", *_CAMPAIGN, "method", "seed", "rows", "withdrawn")


@dataclass(frozen=True)
class Saved:
    """What a file says of an optimizer."""

    space: Space
    objectives: tuple[Objective, ...]
    method: Method
    seed: int | None
    observations: Observations


def save(path: str | Path, saved: Saved) -> None:
    """Write the file at one stroke: whoever reads it sees all of the old or the new."""
    storage.replace_bytes(storage.as_path(path), text(saved).encode())


def load(path: str | Path) -> Saved:
    """What a file says; FileError, SpaceError or TableError with what is wrong with it."""
    path = storage.as_path(path)
    try:
        document = json.loads(storage.read_bytes(path).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path} is no valid JSON: {str(error) or 'nested too deeply'}") from None
    try:
        return from_document(document)
    except CampaignError as error:
        raise CampaignError.of(error.faults, path) from None
    except (FileError, MethodError, TableError) as error:
        raise type(error)(f"{path}: {error}") from None


def to_document(saved: Saved) -> dict[str, Any]:
    """The content of the file."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "objectives": {one.name: objective_spec(one) for one in saved.objectives},
        "parameters": {name: parameter_spec(one) for name, one in saved.space.parameters.items()},
        "constraints": [constraint_spec(one) for one in saved.space.constraints],
        **conditions_spec(saved.space.conditions),
        "method": _method_spec(saved.method),
        "seed": saved.seed,
        "rows": records(saved.observations),
        "withdrawn": sorted(saved.observations.withdrawn),
    }


def from_document(document: object) -> Saved:
    """What the content of a file says. Rows, method and seed may be left out."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise FileError(f'a saved campaign is a mapping with "format": "{FORMAT}", but got {shown(document)}')
    version = whole_number(document.get("version"))
    if version is None or version < 1:
        raise FileError(f'"version" must be a whole number from 1, but got {shown(document.get("version"))}')
    if version > VERSION:
        raise FileError(
            f"a later bomi wrote version {version} of this format, and this one reads {VERSION}; upgrade it"
        )
    strange = [key for key in document if key not in _KEYS]
    if strange:
        raise FileError(f"unknown key {shown(strange[0])}; the known ones are {', '.join(_KEYS)}")
    means = meaning({key: value for key, value in document.items() if key in _CAMPAIGN})
    observations = Observations(means.space, tuple(one.name for one in means.objectives))
    withdrawn = document.get("withdrawn", [])
    if not isinstance(withdrawn, list) or not all(isinstance(one, str) for one in withdrawn):
        raise FileError(f'"withdrawn" must be a list of ids, but got {shown(withdrawn)}')
    rows = read_records(observations, document.get("rows", []))
    observations = replace(observations.add(rows), withdrawn=frozenset(withdrawn))
    method = _method(document.get("method", {"name": DEFAULT}))
    return Saved(means.space, means.objectives, method, document.get("seed"), observations)


def text(saved: Saved) -> str:
    """The file, with a line for each row and each parameter."""
    document = to_document(saved)

    def short(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    parts = []
    for key, value in document.items():
        written = short(value)
        if isinstance(value, list) and value:
            written = "[\n  " + ",\n  ".join(map(short, value)) + "\n ]"
        elif isinstance(value, dict):
            written = "{\n  " + ",\n  ".join(f"{short(name)}: {short(one)}" for name, one in value.items()) + "\n }"
        parts.append(f" {short(key)}: {written}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def records(observations: Observations) -> list[dict[str, Any]]:
    """The rows as mappings of column to cell, without the blank ones."""
    columns = {name: [_plain(value) for value in values] for name, values in observations.columns().items()}
    rows = ({name: values[i] for name, values in columns.items()} for i in range(len(observations.rows)))
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def read_records(observations: Observations, rows: object) -> list[Row]:
    """The rows of mappings of column to cell; a parameter or an outcome that a mapping lacks is blank."""
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not all(isinstance(row, Mapping) for row in rows):
        raise TableError(f"rows are a list of mappings of column to cell, but got {shown(rows)}")
    names: Iterable[str] = dict.fromkeys(
        (
            *observations.space.names,
            *observations.objectives,
            *observations.space.conditions.columns,
            *(name for row in rows for name in row),
        )
    )
    columns = {name: [row.get(name) for row in rows] for name in names}
    return read_columns(columns, observations.space, observations.objectives, keep_outside=True)


def _plain(value: object) -> object:
    """A cell in JSON: a number, a text, true or false, or null; anything else, in a column beside ours, is a text."""
    if isinstance(value, Normal | Interval | Censored):
        return cells.text(value)
    value = unwrapped(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if value is None or isinstance(value, Known):
        return value
    try:
        return None if cells.is_unknown(value) else str(value)
    except Exception:  # a column beside ours may hold anything
        return shown(value)


def _method_spec(method: Method) -> dict[str, Any]:
    """A method by its name, and what differs from it: an acquisition by name, and settings."""
    for acquisition in (None, *ACQUISITIONS) if method.name in METHODS else ():
        base = _with_acquisition(METHODS[method.name], acquisition)
        usual, own = settings_of(base), settings_of(method)
        changed = {key: own[key] for key in usual if key in own and own[key] != usual[key] and not callable(own[key])}
        if find_method(base, **changed) == method:
            spec = {"name": method.name, "acquisition": acquisition, "settings": changed}
            return {key: value for key, value in spec.items() if value}
    raise MethodError(
        f"method {method.name!r} has parts of your own, which a file cannot hold: save frame() instead, "
        "and tell it to an optimizer that you make with the same method"
    )


def _method(spec: object) -> Method:
    kinds = {"name": str, "acquisition": str, "settings": Mapping}
    if (
        not isinstance(spec, Mapping)
        or "name" not in spec
        or not all(isinstance(value, kinds.get(key, ())) for key, value in spec.items())
    ):
        raise MethodError(
            '"method" must be a mapping with "name" and, where they differ, "acquisition" and "settings", '
            f"but got {shown(spec)}"
        )
    settings = {key: tuple(v) if isinstance(v, list) else v for key, v in spec.get("settings", {}).items()}
    return find_method(_with_acquisition(find_method(spec["name"]), spec.get("acquisition")), **settings)


def _with_acquisition(method: Method, name: str | None) -> Method:
    return method if name is None else replace(method, acquisition=find_acquisition(name))
