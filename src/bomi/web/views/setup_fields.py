"""The fields of the set-up's form: a line for each outcome and each parameter, a card for each constraint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from bomi.campaign.document import TYPES, constraint_of
from bomi.data.objectives import WITH_VALUE
from bomi.errors import BomiError
from bomi.results import capitalized
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.setup_form import Form, constraint_document, is_numeric, is_range, term_name
from bomi.web.views.typed import keep, keep_choice

KINDS = {"real": "number", "integer": "whole number", "categorical": "category", "ordinal": "ordered values"}
GOALS = {
    "maximize": "maximize", "minimize": "minimize", "target": "reach a value", "limit": "stay at or below",
}  # fmt: skip
WHAT = {"terms": "a weighted sum", "product": "a product of powers", "nonzero": "how many are not 0"}
TOTALS = {"terms": "Their sum", "product": "Their product", "nonzero": "Their number"}
LIMITS = {"max": "is at most", "min": "is at least", "equals": "is exactly", "both": "is between"}
NEW = "a new parameter"
MANY = 12  # parameters from which a constraint asks which of them take part


class Part:
    """The fields of one part of the form, each bound to its text, with a place for what is wrong with it."""

    def __init__(
        self,
        session: Session,
        path: str,
        texts: dict[str, Any],
        changed: Callable[[str, Any], None],
        columns: Sequence[str] = (),
    ) -> None:
        self.session = session
        self.path = path  # of its texts in the form
        self.texts = texts
        self.changed = changed
        self.columns = list(columns)
        self.fields: dict[str, Any] = {}
        self.box: ui.element
        self.message: ui.element

    def input(self, name: str, label: str, *, hint: str = "", suggest: bool = False) -> ui.input:
        """A field for a text or a number."""
        known = self.columns if suggest else None
        made = ui.input(label, value=str(self.texts[name]), placeholder=hint, autocomplete=known)
        made.props("outlined dense hide-bottom-space")
        keep(made, self.session, f"setup/{self.path}/{name}")
        self.fields[name] = made.on_value_change(lambda event: self.put(name, str(event.value or "")))
        return made.style("width: 100%")

    def select(self, name: str, label: str, options: Mapping[str, str]) -> ui.select:
        """A field for one of several."""
        value = self.texts[name]
        made = ui.select(dict(options), label=label, value=value if value in options else None)
        made.props("outlined dense options-dense hide-bottom-space")
        keep_choice(made, self.session, f"setup/{self.path}/{name}")
        self.fields[name] = made.on_value_change(lambda event: self.put(name, str(event.value or "")))
        return made.style("width: 100%")

    def put(self, name: str, text: str) -> None:
        """Another text."""
        self.texts[name] = text
        if (field := self.fields.get(name)) is not None:
            field.error = None
        self.changed(f"setup/{self.path}/{name}", text)
        self.fit()

    def fit(self) -> None:
        """Show the fields that fit what is chosen."""

    def tell(self, text: str, field: str) -> None:
        """What is wrong, at its field if it has one that is seen."""
        told = capitalized(text)
        found = self.fields.get(field)
        if found is not None and found.visible:
            found.error = told
            return
        with self.message:
            theme.note(told, bad=True)

    def clear(self) -> None:
        """Nothing is wrong, as far as is known."""
        self.message.clear()
        for field in self.fields.values():
            field.error = None

    def removable(self, name: str, remove: Callable[[], None]) -> None:
        """A button that removes it."""
        made = ui.button(icon="delete_outline", on_click=remove).props("flat dense round color=primary")
        made.tooltip("Remove").props["aria-label"] = f"Remove {name}"

    def line(self, name: str) -> ui.element:
        """The box around its fields, known by its name."""
        self.box = ui.element("section").classes("line-of-fields")
        self.box.props["aria-label"] = name
        return self.box


class OutcomePart(Part):
    """The fields of one outcome."""

    def build(self, remove: Callable[[], None]) -> OutcomePart:
        """Draw it."""
        for key in ("low", "high", "was"):  # what was kept by an older version lacks them
            self.texts.setdefault(key, "")
        name = self.texts["name"] or "a new outcome"
        with self.line(name):
            self.input("name", "Column of the outcome", suggest=True).classes("name")
            self.select("goal", "Goal", GOALS)
            self.input("target", "Value")
            self.input("unit", "Unit")
            self.input("low", "Never below")
            self.input("high", "Never above")
            self.removable(name, remove)
            self.message = ui.element("div").classes("whole")
        self.fit()
        return self

    def fit(self) -> None:
        """A value is asked for only where one is wanted, or is the limit."""
        self.fields["target"].set_visibility(self.texts["goal"] in WITH_VALUE)


class ParameterPart(Part):
    """The fields of one parameter."""

    def build(self, remove: Callable[[], None]) -> ParameterPart:
        """Draw it."""
        name = self.texts["name"] or NEW
        with self.line(name):
            self.input("name", "Name, as in the table", suggest=True).classes("name")
            self.select("kind", "Type", {one: KINDS.get(one, one) for one in TYPES})
            self.input("low", "From")
            self.input("high", "To")
            self.input("values", "Values, with commas between").classes("wide")
            self.select("scale", "Scale", {"linear": "linear", "log": "log"})
            self.input("step", "Step", hint="any value")
            self.input("unit", "Unit")
            self.removable(name, remove)
            self.message = ui.element("div").classes("whole")
        self.fit()
        return self

    def fit(self) -> None:
        """Show the fields that this type has."""
        number = is_range(self.texts)
        for field in ("low", "high", "scale", "step"):
            self.fields[field].set_visibility(number)
        self.fields["values"].set_visibility(not number)


class ConstraintPart(Part):
    """The fields of one constraint: a coefficient for each number, and what their sum must be."""

    def build(self, number: int, form: Form, remove: Callable[[], None]) -> ConstraintPart:
        """Draw it."""
        self.form = form
        with theme.sheet() as self.box:
            self.box.props["aria-label"] = f"Constraint {number}"
            with theme.block("parameter") as line, theme.block("form"):
                self.place = ui.element("div").style("display: contents")
                self.texts.setdefault("what", "terms")  # what was kept by an older version lacks it
                self.select("what", "What is limited", WHAT)
                self.select("kind", TOTALS["terms"], LIMITS)
                self.input("low", "Value")
                self.input("high", "and")
            with line:
                self.removable(f"constraint {number}", remove)
            self.more = ui.select([], label="Another parameter takes part").props("outlined dense")
            self.more.on_value_change(lambda event: self.take(event.value)).style("max-width: 320px")
            self.text = ui.label().classes("soft small").props("role=status")
            self.message = ui.element("div")
        self.fit()
        return self

    def fit(self) -> None:
        """A field for each parameter that is a number, or that has a coefficient though it is none."""
        terms: dict[str, str] = self.texts["terms"]
        numeric = [key for key, one in self.form["parameters"].items() if is_numeric(one)]
        shown = [*(numeric if len(numeric) <= MANY else ()), *terms]
        for key in dict.fromkeys(shown):
            if f"terms.{key}" not in self.fields:
                self.coefficient(key)
            field = self.fields[f"terms.{key}"]
            field.label = term_name(key, self.form) or NEW
            field.set_visibility(key in numeric or bool(terms.get(key)))
        for name, field in self.fields.items():
            key = name.removeprefix("terms.")
            if name.startswith("terms.") and key not in self.form["parameters"] and not terms.get(key):
                field.set_visibility(False)
        what = self.texts["what"]
        if what == "nonzero" and self.texts["kind"] != "max":
            self.fields["kind"].value = "max"
        self.fields["kind"].props["label"] = TOTALS.get(what, "It")
        self.fields["kind"].update()
        self.fields["high"].set_visibility(self.texts["kind"] == "both")
        left = {key: term_name(key, self.form) for key in numeric if key not in dict.fromkeys(shown)}
        self.more.set_options(left)
        self.more.set_visibility(bool(left))
        self.preview()

    def coefficient(self, key: str) -> None:
        """A field for the coefficient of one parameter."""
        terms = self.texts["terms"]
        with self.place:
            made = ui.input(term_name(key, self.form), value=terms.get(key, ""), placeholder="0")
        made.props("outlined dense hide-bottom-space").style("width: 100%")
        keep(made, self.session, f"setup/{self.path}/terms/{key}")

        def put(text: str) -> None:
            terms[key] = text
            made.error = None
            self.changed(f"setup/{self.path}/terms/{key}", text)
            self.preview()

        self.fields[f"terms.{key}"] = made.on_value_change(lambda event: put(str(event.value or "")))

    def take(self, key: object) -> None:
        """One more parameter takes part."""
        if key:
            self.texts["terms"].setdefault(str(key), "1")
            self.changed(f"setup/{self.path}/terms/{key}", self.texts["terms"][str(key)])
            self.more.value = None
            self.fit()

    def preview(self) -> None:
        """The whole as a sentence, as far as it makes sense yet."""
        try:
            spec = constraint_document(self.texts, self.form, [])
            made = constraint_of(spec, [term_name(key, self.form) for key in self.form["parameters"]])
            self.text.text = f"Every setting keeps {made}."
        except BomiError:
            self.text.text = ""

    def tell(self, text: str, field: str) -> None:
        """What is wrong, in the words of the form."""
        none = field == "terms" and not any(map(str.strip, self.texts["terms"].values()))
        super().tell("give at least one parameter a coefficient" if none else text, field)
