"""The form of the set-up as a whole: its outcomes, its parameters, its constraints, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from nicegui import ui

from bomi.campaign import CampaignError, Guess, guess
from bomi.campaign.toml import read_document
from bomi.errors import BomiError
from bomi.names import DEFAULT, METHOD_NAMES
from bomi.space import RESERVED, cells
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.setup_fields import ConstraintPart, OutcomePart, ParameterPart, Part
from bomi.web.views.setup_form import (
    KNOWN,
    LISTED,
    ORDER,
    Form,
    FormError,
    constraint,
    field_at,
    new_key,
    number,
    outcome,
    parameter,
)
from bomi.web.views.typed import keep_choice

_TWO = "grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr))"
EMPTY: Mapping[str, Any] = {"range": ["", ""]}  # a parameter of which nothing is known yet
OPEN = 30  # parameters up to which the fields of each are shown


class FormBody:
    """The fields of a form. `changed` is told what was typed, `redraw` draws all of it anew."""

    def __init__(
        self,
        session: Session,
        document: Mapping[str, Any],
        form: Form,
        answers: Mapping[str, str],
        changed: Callable[[str, Any], None],
        redraw: Callable[[], None],
    ) -> None:
        self.session = session
        self.snapshot = session.snapshot
        self.document = document
        self.form = form
        self.answers = answers  # to what a first guess cannot tell
        self.changed = changed
        self.redraw = redraw
        self.parts: dict[tuple[str, str], Part] = {}

    def build(self) -> None:
        """Fields for the outcomes, the parameters and the rest."""
        theme.heading("Outcomes" if len(self.form["outcomes"]) > 1 else "Outcome")
        with theme.sheet("fields"):
            for key in self.form["outcomes"]:
                self.draw_outcome(key)
        with theme.block("line"):
            theme.button("Add an outcome", lambda: self.add("outcomes", outcome("", {})), icon="add")
        theme.heading("Parameters")
        self.checklist()
        with theme.sheet("fields"):
            few = len(self.form["parameters"]) <= OPEN
            for key in self.form["parameters"]:
                self.draw_parameter(key, few)
        with theme.block("line"):
            theme.button("Add a parameter", lambda: self.add("parameters", parameter("", EMPTY)), icon="add")
        self.others()
        theme.heading("Constraints")
        ui.label(
            "What every setting must keep: a sum of parameters, each in its own unit and times its coefficient. "
            "A parameter without a coefficient takes no part."
        ).classes("lead small")
        for place, key in enumerate(self.form["constraints"], 1):
            self.draw_constraint(place, key)
        with theme.block("line"):
            theme.button("Add a constraint", lambda: self.add("constraints", constraint({}, {})), icon="add")
        self.draw_conditions()
        self.draw_rest()

    def draw_outcome(self, key: str) -> None:
        """The line of one outcome."""
        part = OutcomePart(
            self.session, f"form/outcomes/{key}", self.form["outcomes"][key], self.changed, self.columns()
        )
        self.parts["outcomes", key] = part.build(lambda: self.take_out("outcomes", key))

    def draw_parameter(self, key: str, open_: bool) -> None:
        """The line of one parameter: its fields, or of many just what they say, until somebody wants to change it."""
        texts = self.form["parameters"][key]
        part = ParameterPart(self.session, f"form/parameters/{key}", texts, self.changed, self.columns())
        if open_:
            self.parts["parameters", key] = part.build(lambda: self.take_out("parameters", key))
            self.doubt(key, texts)
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

    def doubt(self, key: str, texts: Mapping[str, str]) -> None:
        """Of a parameter that was guessed: that perhaps nobody sets it, and why."""
        why = self.first_guess.doubtful.get(texts["was"]) if self.first_guess and self.snapshot.toml is None else None
        if why:
            with theme.note(f"Perhaps nobody sets {texts['name']}: {why}.", icon="help_outline"):
                theme.button(f"Nobody sets {texts['name']}", lambda: self.take_out("parameters", key))

    def draw_constraint(self, place: int, key: str) -> None:
        """The card of one constraint."""
        part = ConstraintPart(self.session, f"form/constraints/{key}", self.form["constraints"][key], self.changed)
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
            theme.button("Show their fields", self.redraw).props("flat")

    def others(self) -> None:
        """The columns that are neither varied nor wanted, and why; each can be made a parameter."""
        taken = {one["name"] for part in ("outcomes", "parameters") for one in self.form[part].values()}
        names = [name for name in self.columns() if name and name not in taken and not name.startswith(RESERVED)]
        if not names or self.snapshot.sheet is None or len(self.columns()) >= LISTED:
            return
        why = {one.name: one.why or one.told for one in self.first_guess.columns} if self.first_guess else {}
        title = f"{theme.count(len(names), 'other column')} of the table"
        with ui.expansion(title, icon="view_column", value=self.snapshot.toml is None):
            for name in names:
                with theme.block("line between").style("flex-wrap: nowrap; padding: 4px 0"):
                    with theme.block("stack tight").style("gap: 0"):
                        ui.label(name).style("font-weight: 500")
                        ui.label(why.get(name, "")).classes("soft small")
                    button = theme.button("It may vary", partial(self.vary, name)).props("flat dense", remove="outline")
                    button.props["aria-label"] = f"{name} may vary"

    @cached_property
    def first_guess(self) -> Guess | None:
        """What each column of the table looks like, if that can be told."""
        sheet = self.snapshot.sheet
        if sheet is None or len(self.columns()) >= LISTED:
            return None
        try:
            return guess(sheet, **self.answers)
        except BomiError:
            return None

    def vary(self, name: str) -> None:
        """A column that may vary."""
        self.add("parameters", parameter(name, self.guessed(name)))

    def tick(self, name: str, wanted: bool) -> None:
        """A column may vary, or not."""
        parameters = self.form["parameters"]
        key = next((key for key, one in parameters.items() if one["name"] == name), None)
        if wanted and key is None:
            parameters[new_key(parameters, "p")] = parameter(name, self.guessed(name))
        elif not wanted and key is not None:
            del parameters[key]
        self.changed("", None)

    def guessed(self, name: str) -> Mapping[str, Any]:
        """What a column of the table looks like."""
        sheet = self.snapshot.sheet
        try:
            text = guess(sheet, parameters=[name]).text() if sheet is not None else ""
            found = read_document(self.snapshot.campaign_path, text.encode())
        except BomiError:  # by its name it is none; who asks for it knows better
            texts = [text.strip() for text in (sheet.columns[name] if sheet else ()) if not cells.is_unknown(text)]
            words = list(dict.fromkeys(text for text in texts if isinstance(number(text), str)))
            return {"values": words} if 0 < len(words) <= OPEN else EMPTY
        return dict(found.get("parameters", {}).get(name, EMPTY))

    def draw_conditions(self) -> None:
        """The columns of groups, and the time."""
        self.form.setdefault("groups", [])  # what was kept by an older version lacks them
        self.form.setdefault("drift", "")
        taken = {one["name"] for part in ("outcomes", "parameters") for one in self.form[part].values()}
        groups, drift = self.form["groups"], self.form["drift"]
        free = [name for name in self.columns() if name not in taken and not name.startswith(RESERVED)]
        theme.heading("Groups and drift")
        ui.label(
            "What nobody sets, and what moves the outcomes of many rows alike: each day, lot or operator has an offset "
            "that is learned, and outcomes may change slowly with the time."
        ).classes("lead small")
        with theme.sheet(), theme.block("form").style(_TWO):
            options = list(dict.fromkeys([*free, *groups]))
            made = ui.select(options, label="Columns of groups", value=list(groups), multiple=True)
            made.props("use-chips outlined dense options-dense").style("width: 100%")
            made.on_value_change(lambda event: self.put("groups", [str(name) for name in event.value or []]))
            times = {name: f"along {name}" for name in (*free, drift) if name}
            self.choice("drift", "Slow drift", {"": "none", **times, ORDER: "along the order of the rows"})

    def draw_rest(self) -> None:
        """The method, and what the form does not know."""
        with theme.sheet():
            theme.heading("Method")
            with theme.block("form").style(_TWO):
                options = {"": f"{DEFAULT} (the default)", **{name: name for name in METHOD_NAMES if name != DEFAULT}}
                self.choice("method", "How gaps are dealt with", options)
                kept = {"error": "are an error", "keep": "are used; suggestions stay inside"}
                self.choice("outside", "Rows outside the ranges", kept)
        if others := [key for key in self.document if key not in KNOWN]:
            name = self.snapshot.campaign_path.name
            theme.note(f"Also in {name}, and kept as it is: {', '.join(others)}. To change it, press Text.")
        if b"#" in (self.snapshot.toml or b""):
            ui.label(
                "Saving the form writes the file anew, without comments of your own; the version before is kept as "
                ".bak. To keep them, edit the text."
            ).classes("soft small")

    def choice(self, name: str, label: str, options: Mapping[str, str]) -> None:
        """One of several, for the whole campaign."""
        value = self.form[name]
        made = ui.select(dict(options), label=label, value=value if value in options else None)
        made.on_value_change(lambda event: self.put(name, str(event.value or "")))
        keep_choice(made, self.session, f"setup/form/{name}")
        made.props("outlined dense options-dense").style("width: 100%")

    def put(self, name: str, value: Any) -> None:
        """Another choice for the whole campaign."""
        self.form[name] = value
        self.changed(f"setup/form/{name}", value)

    def columns(self) -> list[str]:
        """The columns of the table."""
        return list(self.snapshot.sheet.columns) if self.snapshot.sheet else []

    def add(self, section: str, part: Mapping[str, Any]) -> None:
        """An outcome, a parameter or a constraint more."""
        self.form[section][new_key(self.form[section], section[0])] = part
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
        self.changed("", None)
        self.redraw()

    # --- what is wrong ---------------------------------------------------------------------------------------------

    def fit(self) -> None:
        """A parameter has another name or type: constraints speak of it."""
        for (section, _), part in self.parts.items():
            if section == "constraints":
                part.fit()

    def refuse(self, error: CampaignError | FormError) -> list[str]:
        """Tell what is wrong at its fields; returns what has none."""
        for part in self.parts.values():
            part.clear()
        left = []
        for message, shown, spots in self.spots(error):
            parts = [(self.parts[spot[:2]], spot[2]) for spot in spots if spot[:2] in self.parts]
            for part, field in parts:
                part.tell(message, field)
            left += [] if parts else [shown]
        return left

    def spots(self, error: CampaignError | FormError) -> list[tuple[str, str, list[tuple[str, str, str]]]]:
        """Each thing that is wrong: what to say at its field, what to say above, and where its fields are."""
        if isinstance(error, FormError):
            return [(one.message, one.message, [(one.section, one.key, one.field)]) for one in error.wrong]
        return [
            (fault.message, str(fault), [spot for place in fault.places if (spot := field_at(self.form, place))])
            for fault in error.faults
        ]
