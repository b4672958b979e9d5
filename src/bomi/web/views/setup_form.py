"""The set-up as a form has it: texts in fields, to and from the document of a campaign. No widget in here.

A form is a mapping that JSON can hold, so that it can be kept while it is not saved:

    outcomes     {key: {name, was, goal, target, unit, low, high}}
    parameters   {key: {name, was, kind, low, high, values, scale, step, unit}}
    constraints  {key: {what, kind, low, high, terms: {parameter's key or name: coefficient or power}, was}}
    groups       [column]
    drift        "" for none, ORDER for the order of the rows, or the column of the time
    method, outside
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from bomi.campaign import guess
from bomi.campaign.document import KINDS
from bomi.campaign.snapshot import Snapshot
from bomi.campaign.toml import read_document
from bomi.data.objectives import WITH_VALUE
from bomi.errors import BomiError, Place
from bomi.space import cells

Form = dict[str, Any]
LISTED = 50  # columns from which they are ticked in a list, and nothing is guessed
KNOWN = ("objective", "objectives", "parameters", "constraints", "groups", "drift", "method", "out_of_bounds")
ORDER = "\n"  # no column is called so
_OF_OUTCOME = {"name", "goal", "target", "unit", "range"}
_OURS = {"range", "type", "step", "scale", "values", "unit"}


@dataclass(frozen=True)
class Wrong:
    """What is wrong with a field: of which part of the form, and which field."""

    section: str
    key: str
    field: str
    message: str


class FormError(BomiError):
    """A form that says no campaign yet."""

    def __init__(self, *wrong: Wrong) -> None:
        super().__init__("\n".join(one.message for one in wrong))
        self.wrong = wrong


def read_setup(
    snapshot: Snapshot, answers: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Mapping[str, Any], str, BomiError | None]:
    """The document on disk, or a first guess given some answers; what to say of the guess; and why there is none."""
    try:
        if snapshot.toml is not None:
            return read_document(snapshot.campaign_path, snapshot.toml), "", None
        if snapshot.sheet is not None and len(snapshot.sheet.columns) < LISTED:
            said = "Guessed from the table. The ranges are those that were tried: say how far you may go, then save."
            text = guess(snapshot.sheet, **answers).text()
            return read_document(snapshot.campaign_path, text.encode()), said, None
    except BomiError as error:
        return {}, "", error
    if snapshot.sheet is not None:
        return {}, "The table is wide: name the outcome, tick the columns that you set, then save.", None
    example = {"objective": {"name": "outcome"}, "parameters": {"temperature": {"range": [20, 200]}}}
    return example, "An example to change: name what you vary and what you measure, then save.", None


def fresh(snapshot: Snapshot) -> dict[str, Any]:
    """The form and the text of the files as they are; `of` tells the version."""
    document, _, broken = read_setup(snapshot)
    text = (snapshot.toml or b"").decode("utf-8", "replace")
    return {
        "as_text": bool(broken) and snapshot.toml is not None,
        "text": text,
        "form": form_of(document),
        "of": version(snapshot),
    }


def without(document: Mapping[str, Any], places: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """A document less some of its keys, each by its place."""
    made = copy.deepcopy(dict(document))
    for *path, key in places:
        here: Any = made
        try:
            for step in path:
                here = here[step]
            del here[key]
        except (KeyError, IndexError, TypeError):  # another version of the file may lack it
            continue
    return made


def version(snapshot: Snapshot) -> str:
    """The campaign on disk, in short."""
    return hashlib.sha256(snapshot.toml or b"").hexdigest()[:16]


def form_of(document: Mapping[str, Any]) -> Form:
    """The form of a document, whatever state that is in."""
    single = _section(document, "objective")
    several = _section(document, "objectives") or {str(single.get("name", "")): single}
    parameters = _section(document, "parameters")
    keys = {name: f"p{place}" for place, name in enumerate(parameters)}
    listed = document.get("constraints")
    method = _section(document, "method").get("name", "")
    return {
        "outcomes": {
            f"o{place}": outcome(name, spec if isinstance(spec, Mapping) else {})
            for place, (name, spec) in enumerate(several.items())
        },
        "parameters": {
            keys[name]: parameter(name, spec if isinstance(spec, Mapping) else {}) for name, spec in parameters.items()
        },
        "constraints": {
            f"c{place}": constraint(spec if isinstance(spec, Mapping) else {}, keys, place)
            for place, spec in enumerate(listed if isinstance(listed, list) else [])
        },
        **conditions(document),
        "method": method if isinstance(method, str) else "",
        "outside": document.get("out_of_bounds", "error"),
    }


def conditions(document: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the groups, and that of the time."""
    columns = _section(document, "groups").get("columns", [])
    time = _section(document, "drift").get("column", ORDER) if "drift" in document else ""
    return {
        "groups": [str(name) for name in (columns if isinstance(columns, list) else [columns])],
        "drift": str(time),
    }


def outcome(name: str, spec: Mapping[str, Any]) -> dict[str, str]:
    """The fields of one outcome."""
    bounds = spec.get("range")
    ends = [*(bounds if isinstance(bounds, list) else []), "", ""]
    return {
        "name": name,
        "goal": str(spec.get("goal", "maximize")),
        "target": _text(spec.get("target", "")),
        "unit": str(spec.get("unit", "")),
        "low": _finite(ends[0]),
        "high": _finite(ends[1]),
        "was": name,
    }


def parameter(name: str, spec: Mapping[str, Any]) -> dict[str, str]:
    """The fields of one parameter."""
    bounds, values = spec.get("range"), spec.get("values")
    ends = [*(bounds if isinstance(bounds, list) else []), "", ""]
    return {
        "name": name,
        "was": name,
        "kind": str(spec.get("type", "categorical" if "values" in spec or "descriptors" in spec else "real")),
        "low": _text(ends[0]),
        "high": _text(ends[1]),
        "values": ", ".join(map(cells.text, values)) if isinstance(values, list) else "",
        "scale": str(spec.get("scale", "linear")),
        "step": _text(spec.get("step", "")),
        "unit": str(spec.get("unit", "")),
    }


def constraint(spec: Mapping[str, Any], keys: Mapping[str, str], was: int | None = None) -> dict[str, Any]:
    """The fields of one constraint; its terms go by the keys of the parameters, so that these can change their name."""
    given = [key for key in ("min", "max", "equals") if key in spec]
    what = next((key for key in KINDS if key in spec), KINDS[0])
    terms = spec.get(what)
    terms = dict.fromkeys(map(str, terms), 1) if isinstance(terms, list) else terms
    return {
        "what": what,
        "kind": given[0] if len(given) == 1 else "both" if given else "max",
        "low": _text(spec.get("equals", spec.get("min", spec.get("max", "")))),
        "high": _text(spec.get("max", "")),
        "terms": {keys.get(n, n): _text(v) for n, v in terms.items()} if isinstance(terms, Mapping) else {},
        "was": "" if was is None else str(was),
    }


def new_key(section: Mapping[str, Any], letter: str) -> str:
    """A key that no part of a section has."""
    used = [int(key[1:]) for key in section if key[1:].isdigit()]
    return f"{letter}{max(used, default=-1) + 1}"


# --- back to a document ----------------------------------------------------------------------------------------------


def document_of(form: Form, before: Mapping[str, Any]) -> dict[str, Any]:
    """The document that the fields say; what the form does not know stays as it was before."""
    _check_names(form)
    made = {key: copy.deepcopy(value) for key, value in before.items() if key not in KNOWN}
    before_by_name = {**_section(before, "objectives")}
    if isinstance(single := before.get("objective"), Mapping):
        before_by_name[str(single.get("name", ""))] = single
    wanted = {_name(one): _outcome(one, before_by_name) for one in form["outcomes"].values()}
    if len(wanted) > 1:
        made["objectives"] = wanted
    else:
        made["objective"] = next({"name": name, **section} for name, section in wanted.items())
    old = _section(before, "parameters")
    made["parameters"] = {_name(one): parameter_document(one, old) for one in form["parameters"].values()}
    listed = before.get("constraints", [])
    if isinstance(listed, list):
        made["constraints"] = [constraint_document(one, form, listed) for one in form["constraints"].values()]
    else:  # the library says what it should be
        made["constraints"] = listed
    if groups := form.get("groups"):  # what was kept by an older version lacks them
        made["groups"] = {"columns": list(groups)}
    if drift := form.get("drift"):
        made["drift"] = {} if drift == ORDER else {"column": drift}
    if form["method"]:
        made["method"] = {"name": form["method"]}
    made["out_of_bounds"] = form["outside"] or "error"
    return made


def _check_names(form: Form) -> None:
    wrong = []
    if not form["outcomes"]:
        wrong.append(Wrong("", "", "", "there is no outcome; add one, called like its column in the table"))
    for section, noun in (("outcomes", "outcome"), ("parameters", "parameter")):
        seen: set[str] = set()
        for key, one in form[section].items():
            name = _name(one)
            if not name:
                text = f"this {noun} has no name; type one, the same as its column in the table, or remove it"
                wrong.append(Wrong(section, key, "name", text))
            elif name in seen:
                text = f"two {noun}s are called {name!r}; give each its own name"
                wrong.append(Wrong(section, key, "name", text))
            seen.add(name)
    if wrong:
        raise FormError(*wrong)


def _outcome(one: Mapping[str, str], before: Mapping[str, Any]) -> dict[str, Any]:
    """The section of one outcome; what the form does not know of it stays."""
    spec = before.get(one.get("was", ""))
    kept = {key: value for key, value in spec.items() if key not in _OF_OUTCOME} if isinstance(spec, Mapping) else {}
    made: dict[str, Any] = {"goal": one["goal"], **kept}
    if one["goal"] in WITH_VALUE:
        made["target"] = number(one["target"])
    low, high = (one.get(key, "").strip() for key in ("low", "high"))
    if low or high:
        made["range"] = [number(low) if low else -math.inf, number(high) if high else math.inf]
    return made | _given("unit", one["unit"].strip())


def parameter_document(one: Mapping[str, str], before: Mapping[str, Any]) -> dict[str, Any]:
    """The section of one parameter; what the form does not know of it stays."""
    spec = before.get(one["was"])
    spec = spec if isinstance(spec, Mapping) else {}
    made: dict[str, Any] = {key: value for key, value in spec.items() if key not in _OURS}
    if is_range(one):
        made["range"] = [number(one["low"]), number(one["high"])]
        made |= {"type": "integer"} if one["kind"] == "integer" else {}
        made |= _given("step", number(one["step"]))
        made |= {"scale": "log"} if one["scale"] == "log" else {}
    else:
        values = spec.get("values")
        known = {cells.text(value): value for value in values} if isinstance(values, list) else {}
        texts = [text.strip() for text in one["values"].split(",") if text.strip()]
        numeric = bool(known) and not any(isinstance(value, str) for value in known.values())
        if texts or "descriptors" not in spec:  # without any, those of the file of descriptors
            made["values"] = [known.get(text, number(text) if numeric else text) for text in texts]
        made |= {"type": one["kind"]} if one["kind"] != "categorical" else {}
    return made | _given("unit", one["unit"].strip())


def constraint_document(one: Mapping[str, Any], form: Form, before: Sequence[Any]) -> dict[str, Any]:
    """The section of one constraint."""
    spec = before[int(one["was"])] if one["was"] and int(one["was"]) < len(before) else {}
    ours = (*KINDS, "min", "max", "equals")
    kept = {k: v for k, v in spec.items() if k not in ours} if isinstance(spec, Mapping) else {}
    named = {term_name(key, form): number(text) for key, text in one["terms"].items()}
    terms = {name: value for name, value in named.items() if value not in ("", 0)}
    low, high = number(one["low"]), number(one["high"])
    limits = {"min": low, "max": high} if one["kind"] == "both" else {str(one["kind"]): low}
    what = one.get("what", KINDS[0])
    return {**kept, what: list(terms) if what == "nonzero" else terms, **limits}


def term_name(key: str, form: Form) -> str:
    """The name of the parameter that a coefficient belongs to."""
    found = form["parameters"].get(key)
    return _name(found) if found is not None else key


def is_range(one: Mapping[str, str]) -> bool:
    """Whether a parameter is a number between two ends."""
    return one["kind"] in ("real", "integer")


def is_numeric(one: Mapping[str, str]) -> bool:
    """Whether a constraint can speak of a parameter."""
    if is_range(one):
        return True
    values = [number(text) for text in one["values"].split(",") if text.strip()] if one["kind"] == "ordinal" else []
    return bool(values) and not any(isinstance(value, str) for value in values)


FIELDS: Mapping[str, Mapping[Place, str]] = {
    "outcomes": {
        ("name",): "name", ("goal",): "goal", ("target",): "target", ("unit",): "unit", ("range",): "low",
    },
    "parameters": {
        ("range", 0): "low", ("range", 1): "high", ("range",): "low", ("scale",): "scale", ("step",): "step",
        ("values",): "values", ("unit",): "unit", ("type",): "kind",
    },
}  # fmt: skip


def field_at(form: Form, place: Place) -> tuple[str, str, str] | None:
    """The part of the form, its key there and its field that a place of the document stands in, if there is one."""
    if not place:
        return None
    section, rest = place[0], place[1:]
    if section == "objective":
        key = next(iter(form["outcomes"]), "")
        return ("outcomes", key, FIELDS["outcomes"].get(rest, "")) if key else None
    part = {"objectives": "outcomes", "parameters": "parameters"}.get(str(section))
    if part is not None and rest:
        key = next((key for key, one in form[part].items() if _name(one) == rest[0]), "")
        return (part, key, FIELDS[part].get(rest[1:], "")) if key else None
    if section == "constraints" and rest:
        keys = list(form["constraints"])
        key = keys[int(rest[0])] if int(rest[0]) < len(keys) else ""
        return ("constraints", key, _of_constraint(form, key, rest[1:])) if key else None
    return {"method": ("method", "", ""), "out_of_bounds": ("outside", "", "")}.get(str(section))


def _of_constraint(form: Form, key: str, rest: Place) -> str:
    one = form["constraints"][key]
    if rest[:1] == (one.get("what", KINDS[0]),) and len(rest) == 2:
        return next((f"terms.{term}" for term in one["terms"] if term_name(term, form) == rest[1]), "")
    both = one["kind"] == "both"
    limits: Mapping[Place, str] = {("min",): "low", ("equals",): "low", ("max",): "high" if both else "low"}
    return limits.get(rest, "terms" if rest == (one.get("what", KINDS[0]),) else "")


def _name(one: Mapping[str, Any]) -> str:
    return str(one["name"] or "").strip()


def _section(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name, {})
    return dict(found) if isinstance(found, Mapping) else {}


def _given(key: str, value: Any) -> dict[str, Any]:
    return {} if value == "" else {key: value}


def number(text: object) -> Any:
    """A number if it is one; else the text, for the library to complain about."""
    typed = str(text if text is not None else "").strip().replace("\N{MINUS SIGN}", "-")
    try:
        found = float(typed.replace(",", "."))
    except ValueError:
        return typed
    return int(found) if found.is_integer() and "." not in typed and "e" not in typed.lower() else found


def _finite(value: object) -> str:
    """An end of a range; nothing where there is none."""
    return "" if value in (-math.inf, math.inf) else _text(value)


def _text(value: object) -> str:
    return cells.number_text(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
