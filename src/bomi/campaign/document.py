"""From the sections and keys of campaign.toml to what they mean; every fault is reported with its place."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bomi.campaign.faults import CampaignError, Fault
from bomi.campaign.writing import toml_value
from bomi.data.objectives import GOALS, MAXIMIZE, WITH_VALUE, Objective
from bomi.data.settings import read_names
from bomi.errors import MethodError, Place, SpaceError, TableError
from bomi.names import check_method
from bomi.space import (
    IDENTITY,
    Categorical,
    Conditions,
    Constraint,
    Integer,
    Linear,
    NonZero,
    Ordinal,
    Parameter,
    Product,
    Real,
    Space,
    cells,
)
from bomi.space.cells import Known
from bomi.space.numbers import LARGEST

TYPES = ("real", "integer", "categorical", "ordinal")
SCALES = ("linear", "log")
ROLES = ("set", "measured")
OUT_OF_BOUNDS = ("error", "keep")
DECIMALS = (".", ",")
KINDS = ("terms", "product", "nonzero")  # what a constraint limits
DIGITS = 100  # decimals that a suggestion may have
_KEYS = {
    "campaign": (
        *("objective", "objectives", "parameters", "constraints", "groups", "drift", "method"),
        *("out_of_bounds", "decimal", "unknown", "id", "sheet", "candidates", "replacement"),
        "same_in_batch",
    ),
    "objective": ("name", "goal", "target", "unit", "range", "cost"),
    "one of objectives": ("goal", "target", "unit", "range", "cost"),
    "method": ("name",),
    "number": ("range", "type", "scale", "step", "decimals", "unit", "default", "blank", "same_within", "role"),
    "category": ("values", "type", "unit", "default", "blank", "same_within", "role", "descriptors"),
    "constraint": ("terms", "product", "nonzero", "min", "max", "equals"),
    "groups": ("columns",),
    "drift": ("column",),
}
_IN_THE_FILE: dict[str | int, Place] = {"low": ("range", 0), "high": ("range", 1), "log": ("scale",)}


@dataclass(frozen=True)
class Meaning:
    """What a document says of a campaign."""

    space: Space
    objectives: tuple[Objective, ...]
    method: str | None
    out_of_bounds: str
    decimal: str | None
    unknown: tuple[str, ...]
    id_column: str
    sheet: str | None
    candidates: str | None
    replacement: bool
    same_in_batch: tuple[str, ...]


def meaning(document: Mapping[str, Any]) -> Meaning:
    """What sections and keys mean; CampaignError with everything that is wrong with them."""
    faults: list[Fault] = []
    whole = _Section((), document, faults)
    whole.check_keys("campaign")
    objectives, method, outside = _objectives(whole), _method(whole), _out_of_bounds(whole)
    decimal = whole.text("decimal", "", ("", *DECIMALS))
    unknown, identity, sheet = _unknown(whole), whole.text("id", IDENTITY), whole.text("sheet", "")
    candidates, replacement = whole.text("candidates", ""), _replacement(whole)
    specs = whole.section("parameters")
    parameters, constraints = _parameters(specs), _constraints(whole, list(specs.keys))
    conditions = _conditions(whole)
    if not specs.keys:
        whole.fault("there is no parameter; each needs a section such as [parameters.temperature]")
    if not faults:
        try:
            space = Space(parameters, constraints=constraints, conditions=conditions)
            return Meaning(
                space, objectives, method, outside, decimal or None, unknown, identity, sheet or None,
                candidates or None, replacement, _same(whole, space),
            )  # fmt: skip
        except SpaceError as error:
            whole.refuse(error)
    raise CampaignError.of(faults)


@dataclass(frozen=True)
class _Section:
    """A section at its place in the document, which notes what is wrong with it."""

    place: Place
    keys: Mapping[str, Any]
    faults: list[Fault]

    def fault(self, message: str, *key: str | int) -> None:
        """Something is wrong with it, or with one of its keys."""
        self.faults.append(Fault(message, ((*self.place, *key),)))

    def refuse(self, error: SpaceError) -> None:
        """What it says cannot be."""
        places = [(*_IN_THE_FILE.get(place[0], place[:1]), *place[1:]) if place else () for place in error.within()]
        self.faults.append(Fault(str(error), tuple((*self.place, *place) for place in places)))

    def check_keys(self, kind: str) -> None:
        """Keys that mean nothing, each with the nearest that does."""
        known = _KEYS[kind]
        for key in self.keys:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"the known ones are {', '.join(known)}"
                self.faults.append(Fault(f"unknown key {key!r}; {hint}", ((*self.place, key),), unknown=True))

    def section(self, key: str) -> _Section:
        """The section under a key; an empty one if there is none."""
        found = self.keys.get(key, {})
        if not isinstance(found, Mapping):
            self.fault(f"{key} must be a section [{key}], but got {found!r}")
            found = {}
        return _Section((*self.place, key), found, self.faults)

    def inner(self, key: str | int, found: object, needs: str) -> _Section | None:
        """One of the sections that it consists of; None if that is no section."""
        if isinstance(found, Mapping):
            return _Section((*self.place, key), found, self.faults)
        self.fault(f"must be a section with {needs}, but got {_shown(found)}", key)
        return None

    def text(self, key: str, default: str | None = None, known: Sequence[str] = ()) -> str:
        """The text under a key."""
        value = self.keys.get(key, default)
        if value is None:
            self.fault(f"needs {key} = ...", key)
        elif not isinstance(value, str):
            self.fault(f"{key} must be a text in quotes, but got {_shown(value)}", key)
        elif known and value not in known:
            self.fault(f"{key} must be {_either(known)}, but got {toml_value(value)}", key)
        else:
            return value
        return default or ""


def _objectives(whole: _Section) -> tuple[Objective, ...]:
    several = whole.section("objectives")
    if not several.keys:
        return tuple(_objective(whole.section("objective"), "objective"))
    if "objective" in whole.keys:
        whole.fault("there are both [objective] and [objectives.NAME]; use the second form, for all outcomes")
    inner = [(name, several.inner(name, spec, "goal = ...")) for name, spec in several.keys.items()]
    return tuple(one for name, spec in inner if spec for one in _objective(spec, "one of objectives", name))


def _objective(section: _Section, kind: str, name: str | None = None) -> Iterator[Objective]:
    """The outcome of a section, unless something is wrong with it."""
    before = len(section.faults)
    section.check_keys(kind)
    name = section.text("name") if name is None else name
    goal, unit = section.text("goal", MAXIMIZE, GOALS), section.text("unit", "")
    target = section.keys.get("target")
    if (goal in WITH_VALUE) != _is_number(target):
        section.fault(
            'goal = "target" or "limit" and target = a number go together, '
            f"but got goal = {toml_value(goal)} and target = {_shown(target)}",
            "target",
        )
    if len(section.faults) == before:
        try:
            yield Objective(name, goal, target, unit, section.keys.get("range"), section.keys.get("cost"))
        except SpaceError as error:
            section.refuse(error)


def _method(whole: _Section) -> str | None:
    section = whole.section("method")
    section.check_keys("method")
    chosen = section.text("name", "") if "method" in whole.keys else ""
    if chosen:
        try:
            check_method(chosen)
        except MethodError as error:
            section.fault(str(error), "name")
    return chosen or None


def _out_of_bounds(whole: _Section) -> str:
    value = whole.keys.get("out_of_bounds", "error")
    if value not in OUT_OF_BOUNDS:
        whole.fault(f"out_of_bounds must be {_either(OUT_OF_BOUNDS)}, but got {_shown(value)}", "out_of_bounds")
    return str(value)


def _replacement(whole: _Section) -> bool:
    value = whole.keys.get("replacement", True)
    if not isinstance(value, bool):
        whole.fault(f"replacement must be true or false, but got {_shown(value)}", "replacement")
    elif "replacement" in whole.keys and "candidates" not in whole.keys:
        whole.fault('replacement goes with candidates = "FILE", a list to choose from', "replacement")
    return bool(value)


def _same(whole: _Section, space: Space) -> tuple[str, ...]:
    names = whole.keys.get("same_in_batch", [])
    try:
        return read_names(space, names, "same_in_batch")
    except TableError as error:
        raise SpaceError(str(error), ("same_in_batch",)) from None


def _unknown(whole: _Section) -> tuple[str, ...]:
    words = whole.keys.get("unknown", [])
    if isinstance(words, list) and all(isinstance(word, str | int | float) for word in words):
        return tuple(cells.text(word) for word in words)
    whole.fault(f'unknown must be a list of words, such as ["lost", "-999"], but got {_shown(words)}', "unknown")
    return ()


def _parameters(specs: _Section) -> dict[str, Parameter]:
    made: dict[str, Parameter] = {}
    for name, spec in specs.keys.items():
        section = specs.inner(name, spec, "range = [low, high] or values = [...]")
        if section:
            try:
                made[name] = _parameter(section)
            except SpaceError as error:
                section.refuse(error)
    return made


def _parameter(section: _Section) -> Parameter:
    """A parameter; keys that mean nothing are noted, values that cannot be are raised."""
    spec = section.keys
    kind = spec.get("type", "categorical" if "values" in spec or "descriptors" in spec else "real")
    if kind not in TYPES:
        raise SpaceError(f"type must be {_either(TYPES)}, but got {_shown(kind)}", ("type",))
    category = kind in ("categorical", "ordinal")
    section.check_keys("category" if category else "number")
    unit, default = spec.get("unit", ""), spec.get("default")
    if not isinstance(unit, str):
        raise SpaceError(f"unit must be a text in quotes, but got {_shown(unit)}", ("unit",))
    role = spec.get("role", "set")
    if role not in ROLES:
        raise SpaceError(f"role must be {_either(ROLES)}, but got {_shown(role)}", ("role",))
    more: dict[str, Any] = {
        "unit": unit,
        "default": default,
        "blank": spec.get("blank"),
        "same_within": spec.get("same_within"),
        "measured": role == "measured",
    }
    if category:
        values = spec.get("values")
        if not isinstance(values, list) or not all(isinstance(value, str | int | float) for value in values):
            raise SpaceError(f"needs values = [...] with texts or numbers, but got {_shown(values)}", ("values",))
        if kind == "ordinal":
            if "descriptors" in spec:
                raise SpaceError(
                    "ordered levels have no descriptors: their order says which are alike", ("descriptors",)
                )
            return Ordinal(values, **more)
        return Categorical(values, **more, descriptors=spec.get("descriptors"))
    bounds, scale, step = spec.get("range"), spec.get("scale", "linear"), spec.get("step")
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise SpaceError(f"needs range = [low, high], but got {_shown(bounds)}", ("range",))
    if scale not in SCALES:
        raise SpaceError(f"scale must be {_either(SCALES)}, but got {_shown(scale)}", ("scale",))
    if step is not None and (isinstance(step, bool) or not isinstance(step, int | float)):
        raise SpaceError(f"step must be a number, but got {_shown(step)}", ("step",))
    decimals = spec.get("decimals")
    if decimals is not None and (isinstance(decimals, bool) or not isinstance(decimals, int) or abs(decimals) > DIGITS):
        raise SpaceError(
            f"decimals must be a whole number up to {DIGITS} in size, but got {_shown(decimals)}", ("decimals",)
        )
    more |= {"log": scale == "log", "decimals": decimals}
    if kind == "integer":
        return Integer(*bounds, step=1 if step is None else step, **more)
    return Real(*bounds, step=step, **more)


def _conditions(whole: _Section) -> Conditions:
    """The columns that tell of conditions; a section [drift] without a column is for the order of the rows."""
    groups, drift = whole.section("groups"), whole.section("drift")
    groups.check_keys("groups")
    drift.check_keys("drift")
    if "groups" in whole.keys and not groups.keys.get("columns"):
        groups.fault('needs columns = ["day", ...], the columns of the groups', "columns")
    columns = groups.keys.get("columns", [])
    try:
        return Conditions(
            columns if isinstance(columns, list) else [columns], drift.keys.get("column", "drift" in whole.keys)
        )
    except SpaceError as error:
        whole.refuse(error)
        return Conditions()


def _constraints(whole: _Section, parameters: Sequence[str]) -> list[Constraint]:
    listed = whole.keys.get("constraints", [])
    if not isinstance(listed, list):
        whole.fault(f"constraints must be sections [[constraints]], in double brackets, but got {_shown(listed)}")
        listed = []
    place = _Section(("constraints",), {}, whole.faults)
    made = []
    for number, spec in enumerate(listed):
        section = place.inner(number, spec, "terms = {a = 1, b = 2} and max = ...")
        if section:
            try:
                made.append(_constraint(section, parameters))
            except SpaceError as error:
                section.refuse(error)
    return made


def constraint_of(spec: Mapping[str, Any], parameters: Sequence[str]) -> Constraint:
    """The constraint of a section alone; SpaceError if it is no valid one."""
    return _constraint(_Section((), spec, []), parameters)


def _constraint(section: _Section, parameters: Sequence[str]) -> Constraint:
    """A constraint; keys that mean nothing are noted, values that cannot be are raised."""
    section.check_keys("constraint")
    told = [key for key in KINDS if key in section.keys]
    if len(told) > 1:
        raise SpaceError(f"a constraint has one of {', '.join(KINDS)}, but got {' and '.join(told)}", (told[1],))
    key = told[0] if told else "terms"
    named, limits = section.keys.get(key), {name: section.keys.get(name) for name in ("min", "max", "equals")}
    for name in named if isinstance(named, Mapping | list) else ():
        if isinstance(name, str) and name not in parameters:
            near = difflib.get_close_matches(name, parameters, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the parameters are {', '.join(parameters)}"
            raise SpaceError(f"{key} speak of {name!r}, which is no parameter; {hint}", (key, name))
    if key == "nonzero":
        extra = next((name for name in ("min", "equals") if limits[name] is not None), None)
        if extra:
            raise SpaceError("how many are not 0 has a max alone", (extra,))
        return NonZero(named, max=limits["max"])  # type: ignore[arg-type]  # it checks them
    if not isinstance(named, Mapping) or not named:
        what = "power" if key == "product" else "coefficient"
        raise SpaceError(
            f"needs {key} = {{a = 1, b = 2}}, the {what} of each parameter, but got {_shown(named)}", (key,)
        )
    return Product(named, **limits) if key == "product" else Linear(named, **limits)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _either(known: Sequence[str]) -> str:
    return " or ".join(map(toml_value, known))


def _shown(value: object) -> str:
    """A value in a message, not at full length."""
    text = "nothing" if value is None else toml_value(value) if isinstance(value, Known) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
