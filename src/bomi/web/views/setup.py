"""Set-up: what may vary and what is wanted, as a form or as the text of campaign.toml."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from bomi.campaign import CampaignError, Fault, guess
from bomi.campaign.document import TYPES
from bomi.campaign.edits import replace_file
from bomi.campaign.toml import from_document, parse_campaign, read_document
from bomi.errors import BomiError, FileError, Place
from bomi.names import DEFAULT, METHOD_NAMES
from bomi.space import cells
from bomi.space.linear import Linear
from bomi.web import theme
from bomi.web.desk import Session

KINDS = {"real": "number", "integer": "whole number", "categorical": "category", "ordinal": "ordered values"}
GOALS = {"maximize": "maximize", "minimize": "minimize", "target": "reach a value"}
LIMITS = {"max": "is at most", "min": "is at least", "equals": "is exactly", "both": "is between"}
NEW = "a new parameter"


class SetupView:
    """The campaign of a session."""

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        self.session = session
        self.go = go
        self.dirty = False
        self.as_text = False

    def build(self) -> None:
        """Draw the view."""
        snapshot = self.session.snapshot
        self.before = snapshot.toml
        guessed = ""
        try:
            if snapshot.toml is not None:
                self.document = read_document(snapshot.campaign_path, snapshot.toml)
            elif snapshot.sheet is not None:
                found = guess(snapshot.sheet)
                text = found.text().encode()
                self.document = read_document(snapshot.campaign_path, text)
                guessed = (
                    "Guessed from the table. The ranges are those that were tried: say how far you may go, then save."
                )
            else:
                self.document = {"objective": {"name": "outcome"}, "parameters": {"temperature": {"range": [20, 200]}}}
                guessed = "An example to change: name what you vary and what you measure, then save."
            fault, faults = snapshot.campaign_fault, snapshot.campaign_faults
        except BomiError as error:
            self.document, fault, faults = {}, str(error), ()
            self.as_text = snapshot.toml is not None
        with theme.block("line between"):
            with theme.block("stack tight title"):
                theme.heading("Set-up", 1)
                ui.label(f"What may vary, and what is wanted. Saved as {snapshot.campaign_path.name}.").classes("lead")
            with theme.block("line"):
                self.mode = ui.toggle(
                    {False: "Form", True: "Text"}, value=self.as_text, on_change=lambda e: self.switch(bool(e.value))
                ).props('no-caps unelevated aria-label="Form or text"')
                self.save_button = theme.button("Save", self.save, icon="save", primary=True)
        if guessed:
            theme.note(guessed, icon="lightbulb_outline")
        self.message = ui.element("div").classes("stack")
        self.place = ui.element("div").classes("stack").style("gap: 16px")
        self.draw()
        self.tell(self.at_fields(faults) if faults else fault)

    def update(self) -> None:
        """The files changed: show them, unless something here is not saved."""
        if self.session.snapshot.toml == self.before:
            return
        if not self.dirty:
            self.go("setup")
        else:
            self.tell(
                f"{self.session.snapshot.campaign_path.name} was changed outside; your changes here are not saved."
            )

    def draw(self) -> None:
        """The form or the text."""
        self.place.clear()
        with self.place:
            if self.as_text:
                self.text_editor()
            else:
                self.form()

    def switch(self, as_text: bool) -> None:
        """Between form and text; what was typed goes along, if it makes sense."""
        if as_text == self.as_text:
            return
        try:
            if as_text:
                self.typed_text = from_document(self.session.snapshot.campaign_path, self.collected()).text()
            else:
                content = self.editor.value.encode()
                parse_campaign(self.session.snapshot.campaign_path, content)
                self.document = read_document(self.session.snapshot.campaign_path, content)
        except BomiError as error:
            if as_text and not self.dirty:
                self.typed_text = ""
            else:
                self.refuse(error)
                self.mode.value = self.as_text
                return
        self.as_text = as_text
        self.tell("")
        self.draw()

    def tell(self, text: str) -> None:
        """What is wrong, or nothing."""
        self.message.clear()
        if text:
            with self.message:
                theme.note(text, bad=True)

    def refuse(self, error: BomiError) -> None:
        """What is wrong, at its fields as far as it has some."""
        for card in () if self.as_text else self.cards():
            card.clear()
        self.tell(self.at_fields(error.faults) if isinstance(error, CampaignError) else str(error))

    def changed(self) -> None:
        """Something is not saved."""
        self.dirty = True

    # --- text ------------------------------------------------------------------------------------------------------

    def text_editor(self) -> None:
        """campaign.toml as it is, comments included."""
        text = getattr(self, "typed_text", "") if self.dirty else ""
        if not text:
            text = (self.before or b"").decode("utf-8", "replace") or getattr(self, "typed_text", "")
        self.editor = ui.codemirror(text, language="TOML", on_change=self.changed).style(
            "height: 60vh; border: 1px solid var(--line); border-radius: 10px; overflow: hidden; width: 100%"
        )
        self.editor.props["aria-label"] = "campaign.toml"

    # --- form ------------------------------------------------------------------------------------------------------

    def form(self) -> None:
        """Fields for the objective, the parameters and the rest."""
        self.fields: dict[str, Any] = {}
        self.parameters: list[ParameterForm] = []
        method = _section(self.document, "method")
        theme.heading("Outcomes" if len(_section(self.document, "objectives")) > 1 else "Outcome")
        self.outcomes: list[OutcomeForm] = []
        self.outcome_list = ui.element("div").classes("stack")
        single = _section(self.document, "objective")
        several = _section(self.document, "objectives") or {str(single.get("name", "")): single}
        with self.outcome_list:
            for name, spec in several.items():
                self.outcomes.append(OutcomeForm(self, name, spec if isinstance(spec, Mapping) else {}))
        with theme.block("line"):
            theme.button("Add an outcome", self.add_outcome, icon="add")
        theme.heading("Parameters")
        self.list = ui.element("div").classes("stack")
        with self.list:
            for name, spec in _section(self.document, "parameters").items():
                self.parameters.append(ParameterForm(self, name, spec if isinstance(spec, Mapping) else {}))
        with theme.block("line"):
            theme.button("Add a parameter", self.add, icon="add")
        theme.heading("Constraints")
        ui.label(
            "What every setting must keep: a sum of parameters, each in its own unit and times its coefficient. "
            "A parameter without a coefficient takes no part."
        ).classes("lead small")
        self.constraints: list[ConstraintForm] = []
        self.constraint_list = ui.element("div").classes("stack")
        with self.constraint_list:
            for spec in _list(self.document.get("constraints")):
                self.constraints.append(ConstraintForm(self, spec if isinstance(spec, Mapping) else {}))
        with theme.block("line"):
            theme.button("Add a constraint", self.add_constraint, icon="add")
        with theme.sheet():
            theme.heading("Method")
            with theme.block("form").style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr))"):
                options = {"": f"{DEFAULT} (the default)", **{name: name for name in METHOD_NAMES if name != DEFAULT}}
                chosen = method.get("name", "")
                self.fields["method"] = self.select(
                    "How gaps are dealt with", options, chosen if chosen in options else ""
                )
                self.fields["outside"] = self.select(
                    "Rows outside the ranges",
                    {"error": "are an error", "keep": "are kept; suggestions stay inside"},
                    self.document.get("out_of_bounds", "error"),
                )
        known = {"objective", "objectives", "parameters", "constraints", "method", "out_of_bounds"}
        if others := [key for key in self.document if key not in known]:
            theme.note(f"Kept as it is: {', '.join(others)}. It can be changed as text.")
        if self.before and b"#" in self.before:
            ui.label(
                "Saving the form writes the file anew, without comments of your own; the version before is kept as "
                ".bak. To keep them, edit the text."
            ).classes("soft small")

    def input(self, label: str, value: object, options: list[str] | None = None, hint: str = "") -> ui.input:
        """A field for a text or a number."""
        field = ui.input(label, value=str(value), placeholder=hint, autocomplete=options, on_change=self.changed)
        return field.props("outlined dense hide-bottom-space").style("width: 100%")

    def select(self, label: str, options: Mapping[str, str], value: str) -> ui.select:
        """A field for one of several."""
        field = ui.select(dict(options), label=label, value=value if value in options else None)
        return field.on_value_change(self.changed).props("outlined dense options-dense").style("width: 100%")

    def add(self) -> None:
        """A new parameter."""
        self.changed()
        with self.list:
            self.parameters.append(ParameterForm(self, "", {"range": ["", ""]}))
        self.fit()

    def add_outcome(self) -> None:
        """Another outcome."""
        self.changed()
        with self.outcome_list:
            self.outcomes.append(OutcomeForm(self, "", {}))

    def add_constraint(self) -> None:
        """A new constraint."""
        self.changed()
        with self.constraint_list:
            self.constraints.append(ConstraintForm(self, {}))

    def remove(self, one: Card) -> None:
        """A parameter, an outcome or a constraint less."""
        self.changed()
        lists: tuple[list[Any], ...] = (self.outcomes, self.parameters, self.constraints)
        for forms in lists:
            if one in forms:
                forms.remove(one)
        one.box.delete()
        self.fit()

    def fit(self) -> None:
        """The parameters changed: so does what the constraints can speak of."""
        for one in self.constraints:
            one.fit()

    def collected(self) -> dict[str, Any]:
        """The document that the fields say; what the form does not know stays as it was."""
        made = copy.deepcopy(self.document)
        for key in ("objective", "objectives"):
            made.pop(key, None)
        if not self.outcomes:
            raise FileError("there is no outcome; add one, called like its column in the table")
        wanted = {str(one.name.value or "").strip(): one.collected() for one in self.outcomes}
        if "" in wanted or len(wanted) < len(self.outcomes):
            raise FileError("each outcome needs a name of its own, the same as its column in the table")
        if len(wanted) > 1:
            made["objectives"] = wanted
        else:
            made["objective"] = next({"name": name, **section} for name, section in wanted.items())
        parameters: dict[str, Any] = {}
        for one in self.parameters:
            name = str(one.name.value or "").strip()
            if not name:
                raise FileError("a parameter has no name; type one, the same as its column in the table, or remove it")
            if name in parameters:
                raise FileError(f"two parameters are called {name!r}; give each its own name")
            parameters[name] = one.collected()
        made["parameters"] = parameters
        if isinstance(made.get("constraints", []), list):  # else the library says what it should be
            made["constraints"] = [one.collected() for one in self.constraints]
        made.pop("method", None)
        if self.fields["method"].value:
            made["method"] = {"name": self.fields["method"].value}
        made["out_of_bounds"] = self.fields["outside"].value or "error"
        return made

    def save(self) -> None:
        """Check it, then write it."""
        path = self.session.snapshot.campaign_path
        try:
            if self.as_text:
                content = str(self.editor.value or "").encode()
                parse_campaign(path, content)
            else:
                content = from_document(path, self.collected()).text().encode()
            replace_file(path, content, expected=self.before)
        except BomiError as error:
            self.refuse(error)
            return
        self.dirty = False
        self.before = content
        self.session.say(f"Saved as {path.name}")
        self.session.refresh()
        self.go("setup")

    def at_fields(self, faults: Sequence[Fault]) -> str:
        """Put each fault at the cards it is about, and where that can be told at the field; the rest is told above."""
        if self.as_text:
            return "\n".join(map(str, faults))
        left = []
        for fault in faults:
            meant = [(card, inner) for card in self.cards() if (inner := card.inner(fault.places))]
            for card, inner in meant:
                card.tell(fault.message, inner[0])
            left += [] if meant else [str(fault)]
        return "\n".join(left) or "Something is not right yet; see what is marked below."

    def cards(self) -> list[Card]:
        """All that is in the form, in its order."""
        return [*self.outcomes, *self.parameters, *self.constraints]


class Card(ABC):
    """The fields of one thing, with a place for what is wrong with it."""

    box: ui.element
    message: ui.element

    def fields(self) -> dict[Place, Any]:
        """The fields that a fault can be about, by their place in the section."""
        return {}

    @abstractmethod
    def places(self) -> tuple[Place, ...]:
        """Its section of the document; an outcome has either of two."""

    def inner(self, places: Sequence[Place]) -> list[Place]:
        """Those of some places that are in its section, as seen from there."""
        return [place[len(own) :] for place in places for own in self.places() if place[: len(own)] == own]

    def tell(self, text: str, place: Place) -> None:
        """What is wrong, at its field if it has one."""
        field = self.fields().get(place)
        if field is not None and field.visible:
            field.error = text[:1].upper() + text[1:]
            return
        with self.message:
            theme.note(text[:1].upper() + text[1:], bad=True)

    def clear(self) -> None:
        """Nothing is wrong, as far as is known."""
        self.message.clear()
        for field in self.fields().values():
            field.error = None

    def removable(self, view: SetupView, name: str) -> None:
        """A button that removes it."""
        remove = ui.button(icon="delete_outline", on_click=lambda: view.remove(self)).props("flat dense round")
        remove.tooltip("Remove").props["aria-label"] = f"Remove {name}"


class OutcomeForm(Card):
    """The fields of one outcome."""

    def __init__(self, view: SetupView, name: str, spec: Mapping[str, Any]) -> None:
        columns = list(view.session.snapshot.sheet.columns) if view.session.snapshot.sheet else []
        with theme.sheet() as self.box:
            self.box.props["aria-label"] = name or "a new outcome"
            with theme.block("parameter") as line, theme.block("form"):
                self.name = view.input("Column of the outcome", name, columns).classes("name")
                self.goal = view.select("Goal", GOALS, spec.get("goal", "maximize"))
                self.target = view.input("Value wanted", _number_text(spec.get("target", "")))
                self.unit = view.input("Unit", spec.get("unit", ""))
            with line:
                self.removable(view, name or "a new outcome")
            self.message = ui.element("div")
        self.goal.on_value_change(self.fit)
        self.fit()

    def places(self) -> tuple[Place, ...]:
        """The section of the only outcome has no name."""
        return ("objective",), ("objectives", str(self.name.value or "").strip())

    def fields(self) -> dict[Place, Any]:
        """What is wrong with a target is told at its value."""
        return {("target",): self.target}

    def fit(self) -> None:
        """A value is asked for only where one is wanted."""
        self.target.set_visibility(self.goal.value == "target")

    def collected(self) -> dict[str, Any]:
        """The section of the document."""
        made: dict[str, Any] = {"goal": self.goal.value}
        if self.goal.value == "target":
            made["target"] = _number(self.target.value)
        _put(made, "unit", str(self.unit.value or "").strip())
        return made


class ParameterForm(Card):
    """The fields of one parameter."""

    def __init__(self, view: SetupView, name: str, spec: Mapping[str, Any]) -> None:
        self.view = view
        self.spec = dict(spec)
        kind = spec.get("type", "categorical" if "values" in spec else "real")
        bounds, values = ([*_list(spec.get("range")), "", ""], _list(spec.get("values")))
        kinds = {one: KINDS.get(one, one) for one in TYPES}
        columns = list(view.session.snapshot.sheet.columns) if view.session.snapshot.sheet else []
        with theme.sheet() as self.box:
            self.box.props["aria-label"] = name or NEW
            with theme.block("parameter") as line, theme.block("form"):
                self.name = view.input("Name, as in the table", name, columns)
                self.kind = view.select("Type", kinds, kind)
                self.low = view.input("From", _number_text(bounds[0]))
                self.high = view.input("To", _number_text(bounds[1]))
                self.values = view.input("Values, with commas between", ", ".join(map(cells.text, values)))
                self.scale = view.select("Scale", {"linear": "linear", "log": "log"}, spec.get("scale", "linear"))
                self.step = view.input("Step", _number_text(spec.get("step", "")), hint="any value")
                self.unit = view.input("Unit", spec.get("unit", ""))
            with line:
                self.removable(view, name or NEW)
            self.name.classes("name")
            self.values.classes("wide")
            self.message = ui.element("div")
        self.kind.on_value_change(self.fit)
        self.fit()
        for field in (self.name, self.kind, self.values):
            field.on_value_change(view.fit)

    def places(self) -> tuple[Place, ...]:
        """The section with its name."""
        return (("parameters", _name(self)),)

    @property
    def numeric(self) -> bool:
        """Whether a constraint can speak of it."""
        if self.kind.value in ("real", "integer"):
            return True
        values = self.collected()["values"] if self.kind.value == "ordinal" else []
        return bool(values) and not any(isinstance(value, str | bool) for value in values)

    def fit(self) -> None:
        """Show the fields that this type has."""
        number = self.kind.value in ("real", "integer")
        for field in (self.low, self.high, self.scale, self.step):
            field.set_visibility(number)
        self.values.set_visibility(not number)

    def collected(self) -> dict[str, Any]:
        """The section of the document."""
        kept = {key: value for key, value in self.spec.items() if key not in _OURS}
        unit = str(self.unit.value or "").strip()
        if self.kind.value in ("real", "integer"):
            made: dict[str, Any] = {**kept, "range": [_number(self.low.value), _number(self.high.value)]}
            if self.kind.value == "integer":
                made["type"] = "integer"
            _put(made, "step", _number(self.step.value))
            if self.scale.value == "log":
                made["scale"] = "log"
        else:
            known = {cells.text(value): value for value in self.spec.get("values") or []}
            texts = [text.strip() for text in str(self.values.value or "").split(",") if text.strip()]
            numeric = bool(known) and not any(isinstance(value, str) for value in known.values())
            made = {**kept, "values": [known.get(text, _number(text) if numeric else text) for text in texts]}
            if self.kind.value != "categorical":
                made["type"] = self.kind.value
        _put(made, "unit", unit)
        return made


class ConstraintForm(Card):
    """The fields of one constraint: a coefficient for each number, and what their sum must be."""

    def __init__(self, view: SetupView, spec: Mapping[str, Any]) -> None:
        self.view = view
        self.kept = {key: value for key, value in spec.items() if key not in ("terms", "min", "max", "equals")}
        terms = spec.get("terms")
        self.start = dict(terms) if isinstance(terms, Mapping) else {}
        self.terms: dict[ParameterForm | str, ui.input] = {}  # a name alone where no parameter has it
        given = [key for key in ("min", "max", "equals") if key in spec]
        number = len(view.constraints) + 1
        with theme.sheet() as self.box:
            self.box.props["aria-label"] = f"Constraint {number}"
            with theme.block("parameter") as line, theme.block("form"):
                self.place = ui.element("div").style("display: contents")
                self.kind = view.select(
                    "Their sum", LIMITS, given[0] if len(given) == 1 else "both" if given else "max"
                )
                self.low = view.input("Value", _number_text(spec.get("equals", spec.get("min", spec.get("max", "")))))
                self.high = view.input("and", _number_text(spec.get("max", "")))
            with line:
                self.removable(view, f"constraint {number}")
            self.text = ui.label().classes("soft small")
            self.message = ui.element("div")
        for field in (self.kind, self.low, self.high):
            field.on_value_change(self.show)
        self.fit()

    def fit(self) -> None:
        """A field for each parameter that is a number, and for each that has a coefficient though it is none."""
        names = {_name(one) for one in self.view.parameters}
        for one in (*self.view.parameters, *(name for name in self.start if name not in names)):
            if one in self.terms:
                continue
            name = _name(one)
            with self.place:
                field = self.view.input(name, _number_text(self.start.pop(name, "")), hint="0")
            self.terms[one] = field.on_value_change(self.show)
        self.start = {}
        for one, field in self.terms.items():
            field.label = _name(one) or NEW
            number = isinstance(one, ParameterForm) and one in self.view.parameters and one.numeric
            field.set_visibility(bool(field.value) or number)
        self.show()

    def show(self) -> None:
        """Show the fields that this kind has, and the whole as the library writes it."""
        self.high.set_visibility(self.kind.value == "both")
        for field in self.fields().values():
            field.error = None
        try:
            self.text.text = str(self.made())
        except BomiError:
            self.text.text = ""

    def made(self) -> Linear:
        """The constraint; an error if it makes no sense yet."""
        spec = self.collected()
        return Linear(spec["terms"], min=spec.get("min"), max=spec.get("max"), equals=spec.get("equals"))

    def collected(self) -> dict[str, Any]:
        """The section of the document."""
        coefficients = {_name(one): _number(field.value) for one, field in self.terms.items()}
        terms = {name: value for name, value in coefficients.items() if value not in ("", 0)}
        kind, low, high = self.kind.value, _number(self.low.value), _number(self.high.value)
        limits = {"min": low, "max": high} if kind == "both" else {str(kind): low}
        return {**self.kept, "terms": terms, **limits}

    def fields(self) -> dict[Place, Any]:
        """The coefficients and the limits."""
        both = self.kind.value == "both"
        limits: dict[Place, Any] = {
            ("min",): self.low,
            ("max",): self.high if both else self.low,
            ("equals",): self.low,
        }
        return {**{("terms", _name(one)): field for one, field in self.terms.items()}, **limits}

    def places(self) -> tuple[Place, ...]:
        """The section with its number."""
        return (("constraints", self.view.constraints.index(self)),)

    def tell(self, text: str, place: Place) -> None:
        """What is wrong, in the words of the form."""
        super().tell("give at least one parameter a coefficient" if place == ("terms",) else text, place)


_OURS = {"range", "type", "step", "scale", "values", "unit"}


def _name(one: ParameterForm | str) -> str:
    return one if isinstance(one, str) else str(one.name.value or "").strip()


def _section(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name, {})
    return dict(found) if isinstance(found, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _put(section: dict[str, Any], key: str, value: Any) -> None:
    if value == "":
        section.pop(key, None)
    else:
        section[key] = value


def _number(text: object) -> Any:
    """A number if it is one; else the text, for the library to complain about."""
    typed = str(text if text is not None else "").strip().replace("\N{MINUS SIGN}", "-")
    try:
        number = float(typed.replace(",", "."))
    except ValueError:
        return typed
    return int(number) if number.is_integer() and "." not in typed and "e" not in typed.lower() else number


def _number_text(value: object) -> str:
    return cells.number_text(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
