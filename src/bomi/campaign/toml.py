"""campaign.toml: what is varied, what is measured, what is wanted; and a first guess of it from a table."""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bomi.campaign import storage
from bomi.campaign.sheet import is_formula
from bomi.data.objectives import GOALS, MAXIMIZE, TARGET, Objective, check_names
from bomi.errors import BomiError, FileError, MethodError, SpaceError
from bomi.names import check_method
from bomi.space import IDENTITY, RESERVED, Categorical, Integer, Ordinal, Parameter, Real, Space, cells
from bomi.space.cells import Known
from bomi.space.linear import Linear

NAME = "campaign.toml"
LIMIT = 2**20  # bytes
TYPES = ("real", "integer", "categorical", "ordinal")
SCALES = ("linear", "log")
OUT_OF_BOUNDS = ("error", "keep")
_KEYS = {
    "": ("objective", "objectives", "parameters", "constraints", "method", "out_of_bounds"),
    "objective": ("name", "goal", "target", "unit"),
    "one of objectives": ("goal", "target", "unit"),
    "method": ("name",),
    "number": ("range", "type", "scale", "step", "unit", "default"),
    "category": ("values", "type", "unit", "default"),
    "constraint": ("terms", "min", "max", "equals"),
}


@dataclass(frozen=True)
class Campaign:
    """The space of settings, the outcomes and what is wanted of them. Without a method: the library's default."""

    space: Space
    objectives: tuple[Objective, ...]
    method: str | None = None
    out_of_bounds: str = "error"

    def __post_init__(self) -> None:
        _check_choice("out_of_bounds", self.out_of_bounds, OUT_OF_BOUNDS)
        try:
            check_names(self.objectives, (*self.space.names, IDENTITY), RESERVED)
        except SpaceError as error:
            raise FileError(str(error)) from None
        choices = (p for p in self.space.parameters.values() if isinstance(p, Categorical | Ordinal))
        categories = [value for parameter in choices for value in parameter.values]
        for text in (*self.outcomes, *self.space.names, *map(cells.text, categories)):
            if is_formula(text):
                raise FileError(
                    f"a spreadsheet would run {text!r} as a formula, since it starts with {text[0]!r}; "
                    "give it another name, here and in the table"
                )
            if text != text.strip() or any(ord(mark) < 32 for mark in text):
                raise FileError(f"a name has no spaces around it and no line ends or tabs in it, but got {text!r}")

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The columns of the outcomes."""
        return tuple(objective.name for objective in self.objectives)

    @property
    def objective(self) -> str:
        """The column of the outcome, or of the first of several."""
        return self.objectives[0].name

    @property
    def goal(self) -> str:
        """What is wanted of the outcome, or of the first of several."""
        return self.objectives[0].goal

    @property
    def unit(self) -> str:
        """The unit of the outcome, or of the first of several."""
        return self.objectives[0].unit

    @property
    def wish(self) -> str:
        """What is wanted, in words."""
        return ", ".join(objective.wish for objective in self.objectives)

    @classmethod
    def read(cls, path: Path) -> Campaign:
        """The campaign in a file; every problem is told at once."""
        return parse_campaign(path, storage.read_bytes(path, limit=LIMIT))

    def text(self, notes: Mapping[str, str] | None = None, unused: Sequence[str] = ()) -> str:
        """The content of campaign.toml, with comments for the person who edits it."""
        notes = notes or {}
        lines = [
            "# What bomi may vary, and what it should reach. Edit it, then: bomi check TABLE",
            '# out_of_bounds = "keep"  # to admit rows outside the ranges below; suggestions stay inside',
            *([f'out_of_bounds = "{self.out_of_bounds}"'] if self.out_of_bounds != "error" else []),
        ]
        for objective in self.objectives:
            single = len(self.objectives) == 1
            lines += ["", "[objective]" if single else f"[objectives.{_toml_key(objective.name)}]"]
            lines += [f"name = {_toml(objective.name)}"] if single else []
            lines += [f"goal = {_toml(objective.goal)}  # maximize, minimize, or target with target = a number"]
            lines += [] if objective.target is None else [f"target = {_toml(objective.target)}"]
            lines += [f"unit = {_toml(objective.unit)}"] if objective.unit else []
        for name, parameter in self.space.parameters.items():
            lines += ["", f"[parameters.{_toml_key(name)}]", *_parameter_lines(parameter)]
            if name in notes:
                lines[-1] += f"  # {notes[name]}"
        for constraint in self.space.constraints:
            lines += ["", "[[constraints]]", *_constraint_lines(constraint)]
        lines += ["", "[method]", f"name = {_toml(self.method)}"] if self.method else [
            "",
            "# [method]",
            '# name = "..."  # another than the default; a wrong name lists the right ones',
        ]  # fmt: skip
        if unused:
            lines += ["", f"# Columns that are kept but not used: {', '.join(map(_toml, unused))}"]
        return "\n".join(lines) + "\n"


def campaign_path(table: Path, given: Path | None = None) -> Path:
    """The campaign.toml of a table: the one given, or the one beside it, which must be there."""
    if given is not None:
        return given
    beside = table.parent / NAME
    storage.read_bytes(table)  # a table that cannot be read is the first thing to say
    if not beside.exists():
        raise FileError(f"there is no {NAME} beside {table}; `bomi init {table}` writes one for you to edit")
    return beside


# --- reading -------------------------------------------------------------------------------------------------------


def parse_campaign(path: Path, content: bytes) -> Campaign:
    """The campaign in the content of a file; every problem is told at once."""
    return from_document(path, read_document(path, content))


def read_document(path: Path, content: bytes) -> dict[str, Any]:
    """The sections and keys of a campaign, not checked yet."""
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise FileError(f"{path} is no text in UTF-8; save it as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FileError(f"{path} is no valid TOML: {str(error) or 'nested too deeply'}") from None


def from_document(path: Path, document: Mapping[str, Any]) -> Campaign:
    """The campaign of sections and keys; every problem is told at once, with the path."""
    problems: list[str] = []

    def section(name: str) -> Mapping[str, Any]:
        found = document.get(name, {})
        if not isinstance(found, Mapping):
            problems.append(f"{name} must be a section [{name}], but got {found!r}")
            return {}
        return found

    def word(where: str, table: Mapping[str, Any], key: str, default: str | None, known: Sequence[str] = ()) -> str:
        value = table.get(key, default)
        if value is None:
            problems.append(f"[{where}] needs {key} = ...")
        elif not isinstance(value, str):
            problems.append(f"[{where}] {key} must be a text in quotes, but got {_shown(value)}")
        elif known and value not in known:
            problems.append(f"[{where}] {key} must be {' or '.join(map(_toml, known))}, but got {_toml(value)}")
        else:
            return value
        return default or ""

    problems += _unknown("", document, "")
    method, parameters = section("method"), section("parameters")
    problems += _unknown("method", method, "method")

    def wanted(where: str, spec: object, kind: str, name: str | None = None) -> Objective | None:
        if not isinstance(spec, Mapping):
            problems.append(f"[{where}] must be a section with goal = ..., but got {_shown(spec)}")
            return None
        before = len(problems)
        problems.extend(_unknown(where, spec, kind))
        name = word(where, spec, "name", None) if name is None else name
        goal, unit = word(where, spec, "goal", MAXIMIZE, GOALS), word(where, spec, "unit", "")
        target = spec.get("target")
        if (goal == TARGET) != _is_number(target):
            problems.append(
                f'[{where}] goal = "target" and target = a number go together, '
                f"but got goal = {_toml(goal)} and target = {_shown(target)}"
            )
        if len(problems) > before:
            return None
        return Objective(name, goal, None if target is None else float(target), unit)

    several = section("objectives")
    if several:
        made_objectives = [wanted(f"objectives.{_toml_key(name)}", several[name], "one of objectives", name)
                           for name in several]  # fmt: skip
        if "objective" in document:
            problems.append("there are both [objective] and [objectives.NAME]; use the second form, for all outcomes")
    else:
        made_objectives = [wanted("objective", section("objective"), "objective")]
    objectives = tuple(objective for objective in made_objectives if objective is not None)
    chosen = word("method", method, "name", "") if "method" in document else ""
    if chosen:
        try:
            check_method(chosen)
        except MethodError as error:
            problems.append(f"[method] {error}")
    outside = document.get("out_of_bounds", "error")
    if outside not in OUT_OF_BOUNDS:
        problems.append(f'out_of_bounds must be "error" or "keep", but got {_shown(outside)}')
    made: dict[str, Parameter] = {}
    for parameter, spec in parameters.items():
        where = f"parameters.{_toml_key(parameter)}"
        try:
            made[parameter] = _parameter(where, spec, problems)
        except SpaceError as error:
            problems.append(f"[{where}] {error}")
    constraints = []
    listed = document.get("constraints", [])
    if not isinstance(listed, list):
        problems.append(f"constraints must be sections [[constraints]], in double brackets, but got {_shown(listed)}")
        listed = []
    for number, spec in enumerate(listed, 1):
        try:
            constraints.append(_constraint(f"constraints {number}", spec, parameters, problems))
        except SpaceError as error:
            problems.append(f"[constraints {number}] {error}")
    if not parameters:
        problems.append("there is no parameter; each needs a section such as [parameters.temperature]")
    if not problems:
        try:
            return Campaign(Space(made, constraints=constraints), objectives, chosen or None, outside)
        except BomiError as error:
            problems.append(str(error))
    raise FileError("\n".join(f"{path}: {problem}" for problem in problems))


def _parameter(where: str, spec: object, problems: list[str]) -> Parameter:
    """A parameter of a section; what is wrong with its keys goes to the problems, with its values is raised."""
    if not isinstance(spec, Mapping):
        raise SpaceError(f"must be a section with range = [low, high] or values = [...], but got {_shown(spec)}")
    kind = spec.get("type", "categorical" if "values" in spec else "real")
    if kind not in TYPES:
        raise SpaceError(f"type must be {' or '.join(map(_toml, TYPES))}, but got {_shown(kind)}")
    category = kind in ("categorical", "ordinal")
    problems += _unknown(where, spec, "category" if category else "number")
    unit = spec.get("unit", "")
    if not isinstance(unit, str):
        raise SpaceError(f"unit must be a text in quotes, but got {_shown(unit)}")
    if category:
        values = spec.get("values")
        if not isinstance(values, list) or not all(isinstance(value, str | int | float) for value in values):
            raise SpaceError(f"needs values = [...] with texts or numbers, but got {_shown(values)}")
        return (Ordinal if kind == "ordinal" else Categorical)(values, unit=unit, default=spec.get("default"))
    bounds, scale, step = spec.get("range"), spec.get("scale", "linear"), spec.get("step")
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise SpaceError(f"needs range = [low, high], but got {_shown(bounds)}")
    if scale not in SCALES:
        raise SpaceError(f"scale must be {' or '.join(map(_toml, SCALES))}, but got {_shown(scale)}")
    if step is not None and (isinstance(step, bool) or not isinstance(step, int | float)):
        raise SpaceError(f"step must be a number, but got {_shown(step)}")
    default = spec.get("default")
    if kind == "integer":
        return Integer(*bounds, log=scale == "log", step=1 if step is None else step, unit=unit, default=default)
    return Real(*bounds, log=scale == "log", step=step, unit=unit, default=default)


def _constraint(where: str, spec: object, parameters: Mapping[str, Any], problems: list[str]) -> Linear:
    """A constraint of a section; what is wrong with its keys goes to the problems, with its values is raised."""
    if not isinstance(spec, Mapping):
        raise SpaceError(f"must be a section with terms = {{a = 1, b = 2}} and max = ..., but got {_shown(spec)}")
    problems += _unknown(where, spec, "constraint")
    terms = spec.get("terms")
    if not isinstance(terms, Mapping) or not terms:
        raise SpaceError(f"needs terms = {{a = 1, b = 2}}, the coefficient of each parameter, but got {_shown(terms)}")
    for name in terms:
        if name not in parameters:
            near = difflib.get_close_matches(name, parameters, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the parameters are {', '.join(parameters)}"
            raise SpaceError(f"terms speak of {name!r}, which is no parameter; {hint}")
    return Linear(terms, min=spec.get("min"), max=spec.get("max"), equals=spec.get("equals"))


def _unknown(where: str, table: Mapping[str, Any], kind: str) -> list[str]:
    """Keys that mean nothing, each with the nearest that does."""
    known, found = _KEYS[kind], []
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the known ones are {', '.join(known)}"
            found.append(f"{f'[{where}] ' if where else ''}unknown key {key!r}; {hint}")
    return found


def _check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise FileError(f"{name} must be {' or '.join(map(repr, known))}, but got {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shown(value: object) -> str:
    """A value in a message, not at full length."""
    text = "nothing" if value is None else _toml(value) if isinstance(value, Known) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


# --- writing -------------------------------------------------------------------------------------------------------


def _parameter_lines(parameter: Parameter) -> list[str]:
    unit = [f"unit = {_toml(parameter.unit)}"] if parameter.unit else []
    unit += [f"default = {_toml(parameter.default)}"] if parameter.default is not None else []
    if isinstance(parameter, Categorical | Ordinal):
        kind = ['type = "ordinal"'] if isinstance(parameter, Ordinal) else []
        return [*kind, *unit, f"values = [{', '.join(map(_toml, parameter.values))}]"]
    integer = isinstance(parameter, Integer)
    return [
        *(['type = "integer"'] if integer else []),
        *(['scale = "log"'] if parameter.log else []),
        *([f"step = {_toml(parameter.step)}"] if parameter.step is not None and (not integer or parameter.step != 1)
          else []),
        *unit,
        f"range = [{_toml(parameter.low)}, {_toml(parameter.high)}]",
    ]  # fmt: skip


def _constraint_lines(constraint: Linear) -> list[str]:
    terms = ", ".join(f"{_toml_key(name)} = {_toml(coefficient)}" for name, coefficient in constraint.terms.items())
    limits = {name: getattr(constraint, name) for name in ("min", "max", "equals")}
    return [f"terms = {{{terms}}}", *(f"{name} = {_toml(v)}" for name, v in limits.items() if v is not None)]


def _toml(value: Known) -> str:
    """A text, a number or a truth value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    text = cells.number_text(value)
    if "e" in text and "." not in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}.0e{exponent}"
    return text


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)
