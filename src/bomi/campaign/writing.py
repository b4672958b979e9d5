"""A campaign as the text of campaign.toml, with comments for the person who edits it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bomi.data.objectives import Objective
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
    Real,
    cells,
)

if TYPE_CHECKING:
    from bomi.campaign.toml import Campaign

OFFERS = {
    "groups": "to learn an offset for each of these: a good day, a bad lot",
    "drift": "to learn a slow change of all outcomes over time",
}


def campaign_text(
    campaign: Campaign,
    notes: Mapping[str, str] | None = None,
    unused: Sequence[str] = (),
    offered: Conditions | None = None,
) -> str:
    """The content of campaign.toml; `notes` go beside parameters, `unused` names columns that it leaves out.

    What is `offered`, groups and drift that might be learned, is written as a comment.
    """
    notes = notes or {}
    lines = [
        "# What bomi may vary, and what it should reach. Edit it, then: bomi check TABLE",
        '# out_of_bounds = "keep"  # to admit rows outside the ranges below; suggestions stay inside',
        *([f'out_of_bounds = "{campaign.out_of_bounds}"'] if campaign.out_of_bounds != "error" else []),
        *_table_lines(campaign),
    ]
    for objective in campaign.objectives:
        single = len(campaign.objectives) == 1
        lines += ["", "[objective]" if single else f"[objectives.{toml_key(objective.name)}]"]
        lines += [f"name = {toml_value(objective.name)}"] if single else []
        goal, *others = _lines(objective_spec(objective))
        lines += [f"{goal}  # maximize, minimize, or target with target = a number", *others]
    for name, parameter in campaign.space.parameters.items():
        lines += ["", f"[parameters.{toml_key(name)}]", *_lines(parameter_spec(parameter, files=True))]
        if name in notes:
            lines[-1] += f"  # {notes[name]}"
    for constraint in campaign.space.constraints:
        lines += ["", "[[constraints]]", *_lines(constraint_spec(constraint))]
    for section, spec in conditions_spec(campaign.space.conditions).items():
        lines += ["", f"[{section}]" + ("" if spec else "  # by the order of the rows"), *_lines(spec)]
    for section, spec in conditions_spec(offered or Conditions()).items():
        lines += ["", f"# [{section}]  # {OFFERS[section]}", *(f"# {line}" for line in _lines(spec))]
    lines += ["", "[method]", f"name = {toml_value(campaign.method)}"] if campaign.method else [
        "",
        "# [method]",
        '# name = "..."  # another than the default; a wrong name lists the right ones',
    ]  # fmt: skip
    if unused:
        lines += ["", f"# Columns that are kept but not used: {', '.join(map(toml_value, unused))}"]
    return "\n".join(lines) + "\n"


def _table_lines(campaign: Campaign) -> list[str]:
    """How the table is to be read, where it does not say so itself; and a list to choose from."""
    mark, words = campaign.decimal, ", ".join(map(toml_value, campaign.unknown))
    return [
        *([f"decimal = {toml_value(mark)}  # 1{mark}250 is one and a quarter"] if mark else []),
        *([f"unknown = [{words}]  # cells that say that nobody knows"] if words else []),
        *([f"id = {toml_value(campaign.id_column)}  # the column that names the experiments"]
          if campaign.id_column != IDENTITY else []),
        *([f"sheet = {toml_value(campaign.sheet)}"] if campaign.sheet else []),
        *([f"candidates = {toml_value(campaign.candidates)}  # a list to choose from"] if campaign.candidates else []),
        *(["replacement = false  # each candidate only once"] if not campaign.replacement else []),
        *([f"same_in_batch = {toml_value(list(campaign.same_in_batch))}  # one value for all suggestions of a batch"]
          if campaign.same_in_batch else []),
    ]  # fmt: skip


def parameter_spec(parameter: Parameter, *, files: bool = False) -> dict[str, Any]:
    """The keys of a parameter's section, without those that would say what is so anyway; with `files`, descriptors that
    came from one by its name."""
    spec: dict[str, Any] = {}
    if isinstance(parameter, Ordinal | Integer):
        spec["type"] = parameter.kind
    if isinstance(parameter, Real | Integer):
        if parameter.log:
            spec["scale"] = "log"
        if parameter.step is not None and not (isinstance(parameter, Integer) and parameter.step == 1):
            spec["step"] = parameter.step
        if parameter.decimals is not None:
            spec["decimals"] = parameter.decimals
    if parameter.unit:
        spec["unit"] = parameter.unit
    if parameter.default is not None:
        spec["default"] = parameter.default
    if parameter.blank is not None:
        spec["blank"] = parameter.blank
    if parameter.same_within is not None:
        spec["same_within"] = parameter.same_within
    if parameter.measured:
        spec["role"] = "measured"
    if isinstance(parameter, Categorical) and parameter.descriptors is not None:
        known = parameter.descriptors
        spec["descriptors"] = known.file if files and known.file else known.as_mapping(parameter.values)
    if isinstance(parameter, Categorical | Ordinal):
        return {**spec, "values": list(parameter.values)}
    return {**spec, "range": [parameter.low, parameter.high]}


def objective_spec(objective: Objective) -> dict[str, Any]:
    """The keys of an outcome's section."""
    rest = {
        "target": objective.target,
        "unit": objective.unit or None,
        "range": list(objective.range) if objective.range else None,
        "cost": objective.cost,
    }
    return {"goal": objective.goal, **{key: value for key, value in rest.items() if value is not None}}


def constraint_spec(constraint: Constraint) -> dict[str, Any]:
    """The keys of a constraint's section."""
    if isinstance(constraint, NonZero):
        return {"nonzero": list(constraint.names), "max": constraint.max}
    weights = constraint.terms if isinstance(constraint, Linear) else constraint.powers
    limits = {name: getattr(constraint, name) for name in ("min", "max", "equals")}
    return {constraint.key: dict(weights), **{name: limit for name, limit in limits.items() if limit is not None}}


def conditions_spec(conditions: Conditions) -> dict[str, dict[str, Any]]:
    """The sections of the conditions, those that there are."""
    spec: dict[str, dict[str, Any]] = {}
    if conditions.groups:
        spec["groups"] = {"columns": list(conditions.groups)}
    if conditions.drift:
        spec["drift"] = {"column": conditions.time} if conditions.time else {}
    return spec


def _lines(spec: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {toml_value(value)}" for key, value in spec.items()]


def toml_value(value: Any) -> str:
    """A text, a number, a truth value, a list or a table of them in TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    text = cells.number_text(value)
    if "e" in text and "." not in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}.0e{exponent}"
    return text


def toml_key(name: str) -> str:
    """A name as a key in TOML: in quotes if it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)
