"""Set-up: what may vary and what is wanted, as a form or as the text of campaign.toml."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from bomi.campaign import CampaignError, guess
from bomi.campaign.edits import replace_file
from bomi.campaign.toml import from_document, parse_campaign, read_document
from bomi.errors import BomiError
from bomi.names import DEFAULT, METHOD_NAMES
from bomi.space import RESERVED
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views import View
from bomi.web.views.setup_fields import ConstraintPart, OutcomePart, ParameterPart, Part
from bomi.web.views.setup_form import (
    KNOWN,
    LISTED,
    Form,
    FormError,
    constraint,
    document_of,
    field_at,
    form_of,
    fresh,
    new_key,
    outcome,
    parameter,
    read_setup,
    version,
)

KEY = "setup"  # under which it is kept while it is not saved
OPEN = 30  # parameters up to which the fields of each are shown


class SetupView(View):
    """The campaign of a session. What is typed is kept until it is saved or discarded."""

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        super().__init__(session, go)
        self.state: dict[str, Any] = {}
        self.document: Mapping[str, Any] = {}
        self.parts: dict[tuple[str, str], Part] = {}
        self.fields: dict[str, Any] = {}

    # --- what it starts from ---------------------------------------------------------------------------------------

    def build(self) -> None:
        """Draw the view."""
        snapshot = self.session.snapshot
        self.before = snapshot.toml
        self.document, guessed, broken = read_setup(snapshot)
        kept = self.session.desk.texts.get(KEY)
        self.state = copy.deepcopy(dict(kept)) if isinstance(kept, Mapping) else fresh(snapshot)
        with theme.block("line between sticky"):
            with theme.block("stack tight title"):
                theme.heading("Set-up", 1)
                ui.label(f"What may vary, and what is wanted. Saved as {snapshot.campaign_path.name}.").classes("lead")
            with theme.block("line"):
                self.mode = ui.toggle(
                    {False: "Form", True: "Text"}, value=self.as_text, on_change=lambda e: self.switch(bool(e.value))
                ).props('no-caps unelevated aria-label="Form or text" role=group')
                self.unsaved = theme.block("dot").props('role=img aria-label="not saved yet"')
                self.discard_button = theme.button("Discard", self.discard)
                self.save_button = theme.button("Save", self.save, icon="save", primary=True)
        if guessed and not self.dirty:
            theme.note(guessed, icon="lightbulb_outline")
        if self.dirty and self.state.get("of") != version(snapshot):
            name = snapshot.campaign_path.name
            theme.note(f"{name} was changed outside since you typed this; saving is refused until you look at it.")
        self.message = ui.element("div").classes("stack")
        self.place = ui.element("div").classes("stack").style("gap: 16px")
        self.draw()
        self.mark()
        if not self.dirty:
            if snapshot.campaign_faults:
                self.refuse(CampaignError(snapshot.campaign_fault, snapshot.campaign_faults))
            else:
                self.tell(broken or snapshot.campaign_fault)

    @property
    def as_text(self) -> bool:
        """Whether the text is shown."""
        return bool(self.state["as_text"])

    @property
    def form(self) -> Form:
        """What stands in the fields."""
        form: Form = self.state["form"]
        return form

    @property
    def dirty(self) -> bool:
        """Whether something is not saved."""
        return KEY in self.session.desk.texts

    def update(self) -> None:
        """Something changed: show the file if it is another one, or what was typed in another tab."""
        kept = self.session.desk.texts.get(KEY)
        if self.session.snapshot.toml != self.before or ((kept or self.dirty_before) and kept != self.state):
            self.go("setup")

    dirty_before = False  # whether something was not saved when it was looked at last

    def mark(self) -> None:
        """Show whether something is not saved."""
        self.dirty_before = self.dirty
        self.unsaved.set_visibility(self.dirty)
        self.discard_button.set_visibility(self.dirty)

    def changed(self, key: str = "", text: Any = None) -> None:
        """Something was typed: keep it."""
        if key:
            self.session.received(key, text)
        self.session.desk.keep(KEY, copy.deepcopy(self.state))
        self.mark()
        self.session.desk.tell(but=self.session)
        if key.endswith(("/name", "/kind", "/values")) and not self.as_text:
            for (section, _), part in self.parts.items():
                if section == "constraints":
                    part.fit()

    def discard(self) -> None:
        """Forget what was typed, once that is said."""

        def forget() -> None:
            self.session.desk.keep(KEY, None)
            self.session.desk.tell(but=self.session)
            self.go("setup")

        name = self.session.snapshot.campaign_path.name
        theme.ask("Discard what you typed?", f"The form is as {name} again.", "Discard it", forget, no="Keep")

    def draw(self) -> None:
        """The form or the text."""
        self.place.clear()
        self.parts, self.fields = {}, {}
        with self.place:
            if self.as_text:
                self.text_editor()
            else:
                self.draw_form()

    def switch(self, as_text: bool) -> None:
        """Between form and text; what was typed goes along, if it makes sense."""
        if as_text == self.as_text:
            return
        path, was_dirty = self.session.snapshot.campaign_path, self.dirty
        try:
            if (as_text and was_dirty) or (as_text and self.before is None):
                self.state["text"] = from_document(path, document_of(self.form, self.document)).text()
            elif not as_text:
                content = str(self.state["text"]).encode()
                parse_campaign(path, content)
                self.document = read_document(path, content)
                self.state["form"] = form_of(self.document)
        except BomiError as error:
            self.refuse(error)
            self.mode.value = self.as_text
            return
        self.state["as_text"] = as_text
        if was_dirty:
            self.changed()
        self.tell("")
        self.draw()

    # --- text ------------------------------------------------------------------------------------------------------

    def text_editor(self) -> None:
        """campaign.toml as it is, comments included."""

        def put(text: str) -> None:
            if text != self.state["text"]:
                self.state["text"] = text
                self.changed("setup/text", text)

        editor = ui.codemirror(str(self.state["text"]), language="TOML", on_change=lambda event: put(event.value))
        editor.style("height: 60vh; border: 1px solid var(--line); border-radius: 10px; overflow: hidden; width: 100%")
        ui.run_javascript(
            "setTimeout(() => document.querySelector('.cm-content')?.setAttribute('aria-label', 'campaign.toml'), 300)"
        )

    # --- form ------------------------------------------------------------------------------------------------------

    def draw_form(self) -> None:
        """Fields for the outcomes, the parameters and the rest."""
        theme.heading("Outcomes" if len(self.form["outcomes"]) > 1 else "Outcome")
        with theme.sheet("fields"):
            for key in self.form["outcomes"]:
                self.draw_outcome(key)
        with theme.block("line"):
            theme.button("Add an outcome", self.add_outcome, icon="add")
        theme.heading("Parameters")
        self.checklist()
        with theme.sheet("fields"):
            few = len(self.form["parameters"]) <= OPEN
            for key in self.form["parameters"]:
                self.draw_parameter(key, few)
        with theme.block("line"):
            theme.button("Add a parameter", self.add_parameter, icon="add")
        theme.heading("Constraints")
        ui.label(
            "What every setting must keep: a sum of parameters, each in its own unit and times its coefficient. "
            "A parameter without a coefficient takes no part."
        ).classes("lead small")
        for place, key in enumerate(self.form["constraints"], 1):
            self.draw_constraint(place, key)
        with theme.block("line"):
            theme.button("Add a constraint", self.add_constraint, icon="add")
        self.draw_rest()

    def draw_outcome(self, key: str) -> None:
        """The line of one outcome."""
        part = OutcomePart(f"form/outcomes/{key}", self.form["outcomes"][key], self.changed, self.columns())
        self.parts["outcomes", key] = part.build(lambda: self.take_out("outcomes", key))

    def draw_parameter(self, key: str, open_: bool) -> None:
        """The line of one parameter: its fields, or of many just what they say, until somebody wants to change it."""
        texts = self.form["parameters"][key]
        part = ParameterPart(f"form/parameters/{key}", texts, self.changed, self.columns())
        if open_:
            self.parts["parameters", key] = part.build(lambda: self.take_out("parameters", key))
            return
        holder = ui.element("div")

        def edit() -> None:
            holder.clear()
            with holder:
                self.parts["parameters", key] = part.build(lambda: self.take_out("parameters", key))

        with holder, theme.block("line").style("flex-wrap: nowrap"):
            ui.label(texts["name"]).style("font-weight: 500; min-width: 160px")
            ends = f"{texts['low']} to {texts['high']} {texts['unit']}"
            ui.label(ends if texts["low"] else texts["values"]).classes("soft grow")
            button = theme.button("Change", edit).props("flat dense", remove="outline")
            button.props["aria-label"] = f"Change {texts['name']}"
            part.removable(texts["name"], lambda: self.take_out("parameters", key))

    def draw_constraint(self, place: int, key: str) -> None:
        """The card of one constraint."""
        part = ConstraintPart(f"form/constraints/{key}", self.form["constraints"][key], self.changed)
        self.parts["constraints", key] = part.build(place, self.form, lambda: self.take_out("constraints", key))

    def checklist(self) -> None:
        """Of a wide table, the columns to tick."""
        columns = self.columns()
        if len(columns) < LISTED:
            return
        chosen = {one["name"]: key for key, one in self.form["parameters"].items()}
        outcomes = {one["name"] for one in self.form["outcomes"].values()}
        names = [name for name in columns if not name.startswith(RESERVED) and name not in outcomes]
        title = f"Columns of the table: {len(chosen)} of {len(names)} may vary"
        with ui.expansion(title, icon="checklist", value=not chosen):
            with theme.block("columns"):
                for name in names:
                    box = ui.checkbox(name, value=name in chosen).props("dense")
                    box.on_value_change(lambda event, name=name: self.tick(name, bool(event.value)))
            theme.button("Show their fields", lambda: self.draw()).props("flat")

    def tick(self, name: str, wanted: bool) -> None:
        """A column may vary, or not."""
        parameters = self.form["parameters"]
        key = next((key for key, one in parameters.items() if one["name"] == name), None)
        if wanted and key is None:
            parameters[new_key(parameters, "p")] = parameter(name, self.guessed(name))
        elif not wanted and key is not None:
            del parameters[key]
        self.changed()

    def guessed(self, name: str) -> Mapping[str, Any]:
        """What a column of the table looks like."""
        sheet = self.session.snapshot.sheet
        try:
            text = guess(sheet, parameters=[name]).text() if sheet is not None else ""
            found = read_document(self.session.snapshot.campaign_path, text.encode())
        except BomiError:
            found = {}
        return dict(found.get("parameters", {}).get(name, {"range": ["", ""]}))

    def draw_rest(self) -> None:
        """The method, and what the form does not know."""
        with theme.sheet():
            theme.heading("Method")
            with theme.block("form").style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr))"):
                options = {"": f"{DEFAULT} (the default)", **{name: name for name in METHOD_NAMES if name != DEFAULT}}
                self.choice("method", "How gaps are dealt with", options)
                kept = {"error": "are an error", "keep": "are used; suggestions stay inside"}
                self.choice("outside", "Rows outside the ranges", kept)
        if others := [key for key in self.document if key not in KNOWN]:
            theme.note(f"Kept as it is: {', '.join(others)}. It can be changed as text.")
        if self.before and b"#" in self.before:
            ui.label(
                "Saving the form writes the file anew, without comments of your own; the version before is kept as "
                ".bak. To keep them, edit the text."
            ).classes("soft small")

    def choice(self, name: str, label: str, options: Mapping[str, str]) -> None:
        """One of several, for the whole campaign."""
        value = self.form[name]
        made = ui.select(dict(options), label=label, value=value if value in options else None)

        def put(text: str) -> None:
            self.form[name] = text
            self.changed()

        made.on_value_change(lambda event: put(str(event.value or "")))
        self.fields[name] = made.props("outlined dense options-dense").style("width: 100%")

    def columns(self) -> list[str]:
        """The columns of the table."""
        return list(self.session.snapshot.sheet.columns) if self.session.snapshot.sheet else []

    def add_parameter(self) -> None:
        """A new parameter."""
        key = new_key(self.form["parameters"], "p")
        self.form["parameters"][key] = parameter("", {"range": ["", ""]})
        self.redrawn()

    def add_outcome(self) -> None:
        """Another outcome."""
        self.form["outcomes"][new_key(self.form["outcomes"], "o")] = outcome("", {})
        self.redrawn()

    def add_constraint(self) -> None:
        """A new constraint."""
        self.form["constraints"][new_key(self.form["constraints"], "c")] = constraint({}, {})
        self.redrawn()

    def take_out(self, section: str, key: str) -> None:
        """A parameter, an outcome or a constraint less; coefficients keep the name of a parameter that is gone."""
        gone = self.form[section].pop(key, None)
        if section == "parameters" and gone is not None:
            for one in self.form["constraints"].values():
                if coefficient := one["terms"].pop(key, ""):
                    one["terms"][gone["name"]] = coefficient
        self.redrawn()

    def redrawn(self) -> None:
        """The form has other parts now."""
        self.changed()
        self.draw()

    # --- saving ----------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Check it, then write it."""
        path = self.session.snapshot.campaign_path
        try:
            if self.as_text:
                content = str(self.state["text"] or "").encode()
                parse_campaign(path, content)
            else:
                content = from_document(path, document_of(self.form, self.document)).text().encode()
            replace_file(path, content, expected=self.before)
        except BomiError as error:
            self.refuse(error)
            return
        self.session.desk.keep(KEY, None)
        self.session.say(f"Saved as {path.name}")
        self.session.refresh()
        self.session.desk.tell(but=self.session)
        self.go("setup")

    def tell(self, text: str) -> None:
        """What is wrong, or nothing."""
        self.message.clear()
        if text:
            with self.message:
                theme.note(text, bad=True)

    def refuse(self, error: BomiError) -> None:
        """What is wrong, at its fields as far as it has some."""
        for part in self.parts.values():
            part.clear()
        if self.as_text or not isinstance(error, CampaignError | FormError):
            faults = error.faults if isinstance(error, CampaignError) else ()
            self.tell("\n".join(map(str, faults)) or str(error))
            return
        left = []
        for message, shown, spots in self.spots(error):
            parts = [(self.parts[spot[:2]], spot[2]) for spot in spots if spot[:2] in self.parts]
            for part, field in parts:
                part.tell(message, field)
            left += [] if parts else [shown]
        self.tell("\n".join(left) or "Something is not right yet; see what is marked below.")

    def spots(self, error: CampaignError | FormError) -> list[tuple[str, str, list[tuple[str, str, str]]]]:
        """Each thing that is wrong: what to say at its field, what to say above, and where its fields are."""
        if isinstance(error, FormError):
            return [(one.message, one.message, [(one.section, one.key, one.field)]) for one in error.wrong]
        return [
            (fault.message, str(fault), [spot for place in fault.places if (spot := field_at(self.form, place))])
            for fault in error.faults
        ]
