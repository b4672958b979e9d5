"""A campaign as the text of campaign.toml, with comments for the person who edits it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bomi.space import IDENTITY, Categorical, Integer, Ordinal, Parameter, cells
from bomi.space.cells import Known
from bomi.space.linear import Linear

if TYPE_CHECKING:
    from bomi.campaign.toml import Campaign


def campaign_text(campaign: Campaign, notes: Mapping[str, str] | None = None, unused: Sequence[str] = ()) -> str:
    """The content of campaign.toml; `notes` go beside parameters, `unused` names columns that it leaves out."""
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
        lines += [f"goal = {toml_value(objective.goal)}  # maximize, minimize, or target with target = a number"]
        lines += [] if objective.target is None else [f"target = {toml_value(objective.target)}"]
        lines += [f"unit = {toml_value(objective.unit)}"] if objective.unit else []
    for name, parameter in campaign.space.parameters.items():
        lines += ["", f"[parameters.{toml_key(name)}]", *_parameter_lines(parameter)]
        if name in notes:
            lines[-1] += f"  # {notes[name]}"
    for constraint in campaign.space.constraints:
        lines += ["", "[[constraints]]", *_constraint_lines(constraint)]
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
    ]  # fmt: skip


def _parameter_lines(parameter: Parameter) -> list[str]:
    unit = [f"unit = {toml_value(parameter.unit)}"] if parameter.unit else []
    unit += [f"default = {toml_value(parameter.default)}"] if parameter.default is not None else []
    unit += ['role = "measured"'] if parameter.measured else []
    if isinstance(parameter, Categorical | Ordinal):
        kind = ['type = "ordinal"'] if isinstance(parameter, Ordinal) else []
        return [*kind, *unit, f"values = [{', '.join(map(toml_value, parameter.values))}]"]
    integer = isinstance(parameter, Integer)
    step = None if integer and parameter.step == 1 else parameter.step
    return [
        *(['type = "integer"'] if integer else []),
        *(['scale = "log"'] if parameter.log else []),
        *([f"step = {toml_value(step)}"] if step is not None else []),
        *unit,
        f"range = [{toml_value(parameter.low)}, {toml_value(parameter.high)}]",
    ]


def _constraint_lines(constraint: Linear) -> list[str]:
    terms = ", ".join(f"{toml_key(name)} = {toml_value(coefficient)}" for name, coefficient in constraint.terms.items())
    limits = {name: getattr(constraint, name) for name in ("min", "max", "equals")}
    return [f"terms = {{{terms}}}", *(f"{name} = {toml_value(v)}" for name, v in limits.items() if v is not None)]


def toml_value(value: Known) -> str:
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


def toml_key(name: str) -> str:
    """A name as a key in TOML: in quotes if it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)
