"""What is given today: values that a suggestion has to keep, or that have been measured already."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from bomi.campaign import Campaign
from bomi.data.settings import read_given
from bomi.errors import BomiError
from bomi.space.cells import Known
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.own import value_field


class Given:
    """A field for each parameter that is picked, and for what is measured; folded where there is none."""

    def __init__(self, session: Session, campaign: Campaign | None) -> None:
        self.session, self.campaign = session, campaign
        self.fields: dict[str, Any] = {}
        self.refused: dict[str, object] = {}  # values with a message at their field

    def build(self) -> Given:
        """Draw it; unfolded where something is typed already, or is measured."""
        if self.campaign is None:
            return self
        space = self.campaign.space
        typed = {name: text for name, text in self.session.desk.kept("given/").items() if name in space.parameters}
        shown = list(dict.fromkeys((*space.measured, *typed)))
        with ui.expansion("Given today", icon="push_pin", value=bool(typed or space.measured)).classes("own"):
            ui.label(
                "Values that are not to be chosen, or have been measured already. The rest is chosen to go with them."
            ).classes("soft small")
            self.place = theme.block("line")
            for name in shown:
                self.add(name)
            left = [name for name in space.names if name not in shown]
            if left:
                pick = ui.select(left, label="Another parameter is given").props("outlined dense")
                pick.style("min-width: 220px").on_value_change(lambda event: self.pick(event.value, pick))
        if typed:
            self.read()  # a view that is drawn anew keeps its message
        return self

    def pick(self, name: object, pick: ui.select) -> None:
        """One more of many parameters."""
        if isinstance(name, str) and name not in self.fields:
            self.add(name)
            pick.set_options([one for one in pick.options if one != name], value=None)

    def add(self, name: str) -> None:
        """The field of one parameter."""
        assert self.campaign is not None
        parameter = self.campaign.space.parameters[name]
        with self.place:
            field = value_field(self.session, f"given/{name}", name, parameter, lambda: None)
        field.props["aria-label"] = f"{name}, given"
        field.on_value_change(lambda event: self.typed(name, field, event.value))
        self.fields[name] = field

    def typed(self, name: str, field: Any, value: object) -> None:
        """Another value: what was wrong with the one before is no longer said."""
        if value != self.refused.get(name):  # the browser may tell the same value once more
            field.error = None

    def read(self) -> tuple[tuple[str, Known], ...] | None:
        """What is given, by name; None, with a message at its field, where a value cannot be."""
        assert self.campaign is not None
        known: dict[str, Known] = {}
        for name, field in self.fields.items():
            if field.value in (None, ""):
                continue
            try:
                known |= read_given(self.campaign.space, {name: field.value})
            except BomiError as error:
                self.refused[name], field.error = field.value, theme.sentence(str(error))
                return None
        return tuple(known.items())
