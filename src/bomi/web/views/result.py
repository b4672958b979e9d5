"""The result of an experiment: what came out, and what was different from what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from bomi.campaign import Campaign
from bomi.campaign.draft import enter
from bomi.campaign.lexicon import DATE_NAME, LABEL_NAME, NOTE_NAME
from bomi.campaign.sheet import Sheet
from bomi.data.objectives import ERROR
from bomi.data.observations import FAILED, Row
from bomi.errors import BomiError, TableError
from bomi.space import RESERVED, Integer, Real, cells
from bomi.space.units import with_unit
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.outside import offer, refused
from bomi.web.views.typed import keep, keep_choice

AS_ASKED, OTHER, UNKNOWN = "as asked", "other value", "don't know"


class ResultDialog:
    """The result of one row: the outcome, and for each parameter as asked, another value, or nobody knows.

    What is typed is kept until it is saved or thrown away; a click beside the dialog closes nothing.
    """

    def __init__(self, session: Session, campaign: Campaign, place: int, row: Row) -> None:
        self.session, self.campaign, self.place, self.row = session, campaign, place, row
        self.snapshot = session.snapshot
        number = self.snapshot.sheet.numbers[place] if self.snapshot.sheet else 0
        self.key = f"result/{row.id or number}/"
        self.kept = dict(session.desk.kept(self.key))
        self.start: dict[str, str] = {}
        self.choices: dict[str, ui.toggle] = {}
        self.others: dict[str, Any] = {}
        self.outcomes: dict[str, ui.input] = {}
        self.beside: dict[str, ui.input] = {}
        title = f"Result of experiment {row.id}" if row.id else f"Result of row {number}"
        with session.stage:  # a view that is drawn anew does not take it along
            box = ui.dialog(value=True).props("persistent no-shake")
        with box as self.dialog, ui.card().style("width: 740px; max-width: 95vw; gap: 14px") as card:
            theme.name_dialog(self.dialog, title)
            theme.heading(title)
            with theme.block("line"):
                for place_, one in enumerate(campaign.objectives):
                    self.outcome(one.name, with_unit(one.name, one.unit), first=not place_)
                    if self.column(one.name + ERROR) is not None:
                        self.outcome(one.name + ERROR, "its standard error, if known")
                self.failed = ui.checkbox("It failed: there is no outcome", value=self.kept.get("failed") == "yes")
                self.failed.on_value_change(lambda: self.keep("failed", "yes" if self.failed.value else ""))
                keep_choice(self.failed, session, self.key + "failed")
            ui.label("What were the settings in fact?").classes("soft")
            with theme.block("stack").style("width: 100%"):
                for name in campaign.space.names:
                    self.parameter(name)
            with theme.block("line").style("width: 100%"):
                for name in beside(self.snapshot.sheet, campaign):
                    self.beside[name] = self.field(name, name, self.column(name) or "")
            self.message = ui.element("div").style("width: 100%")
            with theme.block("line").style("justify-content: flex-end; width: 100%"):
                theme.button("Cancel", self.leave)
                theme.button("Save result", self.save, icon="save", primary=True)
        card.on("keyup.esc", self.leave, [])  # on its way down it would close the question that it brings up
        self.changed()

    def column(self, name: str) -> str | None:
        """What the row holds in a column, if there is one."""
        columns = self.snapshot.sheet.columns if self.snapshot.sheet else {}
        return columns[name][self.place] if name in columns else None

    def field(self, name: str, label: str, value: str) -> ui.input:
        """A field that keeps what is typed into it."""
        self.start[name] = value
        made = ui.input(label, value=str(self.kept.get(name, value))).props("outlined dense")
        keep(made, self.session, self.key + name, self.save)
        made.on_value_change(lambda event: self.keep(name, str(event.value or "")))
        return made

    def keep(self, name: str, text: str) -> None:
        """Something was typed or chosen."""
        self.session.type(self.key + name, text, before=self.start.get(name, ""))
        self.changed()

    def outcome(self, name: str, label: str, *, first: bool = False) -> None:
        """A field for what was measured."""
        field = self.field(name, label, self.column(name) or "").props("inputmode=decimal").style("width: 220px")
        self.outcomes[name] = field
        if first:
            field.props("autofocus")

    def parameter(self, name: str) -> None:
        """One parameter's choice."""
        parameter = self.campaign.space.parameters[name]
        asked = self.row.asked.get(name, self.row.recorded[name])
        label = AS_ASKED if name in self.row.asked else "as in the table"
        typed, recorded = self.column(name) or "", self.row.recorded[name]
        now = label if recorded == asked else UNKNOWN if recorded is None else OTHER
        self.start[f"choice.{name}"] = now
        chosen = str(self.kept.get(f"choice.{name}", now))
        with theme.block("line").style("width: 100%; border-top: 1px solid var(--line); padding-top: 8px"):
            with theme.block("stack tight").style("width: 150px; gap: 0"):
                ui.label(name).style("font-weight: 500")
                ui.label(theme.shown(asked, parameter)).classes("soft small")
            options = [label, OTHER, UNKNOWN]
            choice = ui.toggle(options, value=chosen if chosen in options else now)
            choice.on_value_change(lambda event: self.keep(f"choice.{name}", str(event.value)))
            keep_choice(choice, self.session, f"{self.key}choice.{name}")
            choice.props('no-caps unelevated dense padding="4px 10px"').props["aria-label"] = name
            choice.props["role"] = "group"
            self.choices[name] = choice
            value = typed.strip() if now == OTHER else ""
            if not isinstance(parameter, Real | Integer):
                known = [cells.text(one) for one in parameter.values]
                kept = str(self.kept.get(f"other.{name}", value))
                self.start[f"other.{name}"] = value
                other: Any = ui.select(known, label=name, value=kept if kept in known else None)
                other.on_value_change(lambda event: self.keep(f"other.{name}", str(event.value or "")))
                keep_choice(other, self.session, f"{self.key}other.{name}")
            else:
                label = with_unit(name, parameter.unit)
                other = self.field(f"other.{name}", label, value).props('placeholder="165 or 165±5"')
            self.others[name] = other.props("outlined dense").style("width: 190px")

    def changed(self) -> None:
        """Show the fields that are needed."""
        for name, choice in self.choices.items():
            self.others[name].set_visibility(choice.value == OTHER)
        for field in self.outcomes.values():
            field.set_enabled(not self.failed.value)

    def leave(self) -> None:
        """Close it; what was typed is thrown away only if that is said."""
        if not self.session.desk.kept(self.key):
            self.dialog.close()
            return

        def forget() -> None:
            ask.close()
            self.session.desk.forget(self.key)
            self.dialog.close()
            self.session.desk.tell()

        def later() -> None:
            ask.close()
            self.dialog.close()
            self.session.desk.tell()

        with ui.dialog(value=True) as ask, ui.card().style("width: 440px; max-width: 94vw; gap: 12px"):
            theme.name_dialog(ask, "Keep what you typed?")
            theme.heading("Keep what you typed?")
            ui.label("It is here again when you open this result the next time.")
            with theme.block("line").style("justify-content: flex-end; width: 100%"):
                theme.button("Throw it away", forget)
                theme.button("Keep it for later", later, primary=True).props("autofocus")

    def texts(self) -> dict[str, str]:
        """The cells to write."""
        found = {name: str(field.value or "").strip() for name, field in self.beside.items()}
        sheet = self.snapshot.sheet
        for name, choice in self.choices.items():
            if choice.value == UNKNOWN:
                found[name] = "?"
            elif choice.value == OTHER:
                found[name] = str(self.others[name].value or "").strip()
                if not found[name]:
                    raise BomiError(f"{name}: type the other value, or choose “{UNKNOWN}”")
            elif choice.value == AS_ASKED and sheet is not None:
                found[name] = sheet.columns[RESERVED + name][self.place]
        if self.failed.value:
            return {**found, **dict.fromkeys(self.campaign.outcomes, FAILED)}
        told = {name: str(field.value or "").strip() for name, field in self.outcomes.items()}
        if all(cells.is_unknown(told[name]) for name in self.campaign.outcomes):
            raise BomiError(f"{self.campaign.objective}: type what came out, or mark it as failed")
        return {**found, **told}

    def save(self) -> None:
        """Write it down."""
        self.message.clear()
        texts: dict[str, str] = {}
        try:
            texts = self.texts()
            enter(self.snapshot, self.place, texts)
        except TableError as error:
            wrong, beyond = refused(self.snapshot, self.place, texts)
            self.wrong("\n".join(f"{name}: {message}" for name, message in wrong) or str(error), beyond=beyond)
            return
        except BomiError as error:
            self.wrong(str(error))
            return
        said = compared(self.session, self.campaign, self.row, texts)
        self.session.desk.forget(self.key)
        self.dialog.close()
        self.session.refresh()
        self.session.say(f"Saved. {said}Suggestions, gaps and progress take it into account from now on.")

    def wrong(self, text: str, *, beyond: bool = False) -> None:
        """What cannot be written, and why."""

        def again() -> None:
            self.snapshot = self.session.snapshot
            self.save()

        with self.message, theme.note(text, bad=True):
            if beyond:
                offer(self.session, again)


def beside(sheet: Sheet | None, campaign: Campaign) -> list[str]:
    """The columns that people keep beside the settings: the date, who did it, on which lot, notes."""
    taken = {*campaign.space.names, *campaign.outcomes, campaign.id_column}
    names = [name for name in (sheet.columns if sheet is not None else ()) if name not in taken]
    kinds = (DATE_NAME, LABEL_NAME, NOTE_NAME)
    return list(dict.fromkeys(name for kind in kinds for name in names if kind.fullmatch(name.strip())))


def compared(session: Session, campaign: Campaign, row: Row, texts: Mapping[str, str]) -> str:
    """What had been expected of an experiment, beside what came out."""
    asked = session.desk.texts.get(f"asked/{row.id}") if row.id else None
    expected = asked.get("expected", {}) if isinstance(asked, Mapping) else {}
    told = [(name, expected[name], texts.get(name, "")) for name in campaign.outcomes if name in expected]
    return "".join(
        f"{name}: expected {mean}, got {got}. "
        for name, mean, got in told
        if got != FAILED and not cells.is_unknown(got)
    )
