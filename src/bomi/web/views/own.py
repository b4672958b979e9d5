"""An experiment of one's own: what to expect of any setting that is typed in, before it is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nicegui import background_tasks, ui

from bomi.campaign import Campaign, append
from bomi.data.settings import read_settings
from bomi.errors import BomiError
from bomi.results import Suggestion
from bomi.space import Integer, Parameter, Real, cells
from bomi.space.cells import Known
from bomi.space.units import with_unit
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.typed import keep, keep_choice
from bomi.web.views.waiting import there

if TYPE_CHECKING:
    from bomi.workflow import Look


def value_field(
    session: Session, key: str, name: str, parameter: Parameter, entered: Callable[[], None]
) -> ui.input | ui.select:
    """Where a value of a parameter is typed, or chosen from a list; it is kept for all tabs under a key."""
    kept = str(session.desk.texts.get(key, ""))
    made: ui.input | ui.select
    if isinstance(parameter, Real | Integer):
        # The value is given here: to set it later would wipe what somebody types before the connection is there.
        made = ui.input(f"{name}, {parameter.range_text}", value=kept).style("min-width: 190px")
        keep(made, session, key, entered)
    else:
        label = with_unit(name, parameter.unit)
        known = [cells.text(value) for value in parameter.values]
        made = ui.select(known, label=label, clearable=True, value=kept if kept in known else None)
        made.style("min-width: 150px")
        keep_choice(made, session, key)
    made.on_value_change(lambda event: session.type(key, str(event.value or "")))
    return made.props("outlined dense")


class Own:
    """A field for each parameter, a button that predicts, and one that adds it to the table."""

    def __init__(self, session: Session, campaign: Campaign) -> None:
        self.session, self.campaign = session, campaign

    def build(self) -> None:
        """Draw it, folded unless something is typed."""
        typed = bool(self.session.desk.kept("own/"))
        with ui.expansion("What if I run my own?", icon="science", value=typed).classes("sheet own"):
            with theme.block("line"):
                self.fields = {name: self.field(name) for name in self.campaign.space.names}
            with theme.block("line"):
                theme.button("What to expect", self.look, icon="query_stats")
                theme.button("Add to the table", self.add, icon="playlist_add")
            self.place = ui.element("div").classes("stack").props("role=status")

    def field(self, name: str) -> ui.input | ui.select:
        """Where a value is typed, or chosen from a list."""
        return value_field(self.session, f"own/{name}", name, self.campaign.space.parameters[name], self.look)

    def setting(self) -> dict[str, Known]:
        """What is typed."""
        told = {name: field.value for name, field in self.fields.items() if field.value not in (None, "")}
        return read_settings(self.campaign.space, told)[0]

    def look(self) -> None:
        """Predict it."""

        async def run() -> None:
            try:
                items = tuple(self.setting().items())
                self.say("Computing …")
                found = await self.session.compute("look", items)
            except BomiError as error:
                if there(self.place):
                    self.say(theme.sentence(str(error)))
                return
            if there(self.place):
                self.show(found)

        background_tasks.create(run())

    def say(self, text: str) -> None:
        """One line where the answer goes."""
        self.place.clear()
        with self.place:
            ui.label(text).classes("soft")

    def show(self, found: list[Look]) -> None:
        """The prediction of each outcome, and what it rests on."""
        self.place.clear()
        with self.place:
            for one in found:
                for name, text in theme.expected(self.campaign, {one.outcome: one.predicted}):
                    ui.label(text).classes("big")
                    ui.label(f"expected {name}").classes("soft small")
                for reason in one.reasons:
                    ui.label(theme.sentence(reason)).classes("small")

    def add(self) -> None:
        """Add it as a row that awaits its outcome."""
        try:
            setting = self.setting()
            ids = append(self.session.snapshot.table, self.campaign, [Suggestion("", setting)])
        except BomiError as error:
            self.session.say(str(error), bad=True)
            return
        self.session.desk.refresh()
        self.session.say(f"Added as {', '.join(ids)}; run it, then enter what came out below.")
