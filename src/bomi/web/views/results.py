"""The results of several experiments at once, as a small table."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from bomi.campaign import Campaign
from bomi.campaign.draft import Draft
from bomi.data.observations import Row
from bomi.errors import BomiError
from bomi.space.units import with_unit
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.result import beside, compared
from bomi.web.views.typed import keep


class ResultsDialog:
    """A line for each row that waits: its outcomes, and who measured them when; settings went as asked."""

    def __init__(self, session: Session, campaign: Campaign, rows: Sequence[tuple[int, int, Row]]) -> None:
        self.session, self.campaign, self.rows = session, campaign, rows
        self.snapshot = session.snapshot
        self.fields: dict[tuple[int, str], ui.input] = {}
        self.keys: dict[int, str] = {place: f"result/{row.id or number}/" for place, number, row in rows}
        columns = self.snapshot.sheet.columns if self.snapshot.sheet else {}
        self.names = [*campaign.outcomes, *beside(self.snapshot.sheet, campaign)]
        with session.stage:
            box = ui.dialog(value=True).props("persistent no-shake")
        with box as self.dialog, ui.card().style("width: 900px; max-width: 96vw; gap: 14px") as card:
            theme.name_dialog(box, "Results")
            theme.heading("Results")
            ui.label(
                "What came out of those that went as asked. Leave blank what is not known yet; for a failure, type "
                "failed."
            ).classes("soft small")
            with theme.block("scroll").style("width: 100%"), ui.element("table").classes("compact"):
                with ui.element("thead"), ui.element("tr"):
                    units = {one.name: one.unit for one in campaign.objectives}
                    for name in ("experiment", *(with_unit(name, units.get(name, "")) for name in self.names)):
                        theme.text_as("th", name).props("scope=col")
                with ui.element("tbody"):
                    for place, number, row in rows:
                        self.line(place, row.id or f"row {number}", columns)
            self.message = ui.element("div").style("width: 100%")
            with theme.block("line").style("justify-content: flex-end; width: 100%"):
                theme.button("Close", self.close)
                theme.button("Save results", self.save, icon="save", primary=True)
        card.on("keyup.esc", self.close, [])

    def line(self, place: int, called: str, columns: dict[str, list[str]]) -> None:
        """The fields of one row."""
        with ui.element("tr"):
            theme.text_as("th", called).props("scope=row")
            for name in self.names:
                with ui.element("td"):
                    key = self.keys[place] + name
                    now = columns[name][place]
                    made = ui.input(value=str(self.session.desk.texts.get(key, now))).props("outlined dense")
                    made.props["aria-label"] = f"{name} of {called}"
                    keep(made, self.session, key)
                    made.on_value_change(
                        lambda event, key=key, now=now: self.session.type(key, str(event.value or ""), before=now)
                    )
                    self.fields[place, name] = made

    def close(self) -> None:
        """Later: what was typed is kept."""
        self.dialog.close()
        self.session.desk.tell()

    def save(self) -> None:
        """Write all of them, or none if something makes no sense."""
        self.message.clear()
        columns = self.snapshot.sheet.columns if self.snapshot.sheet else {}
        typed = {spot: str(field.value or "").strip() for spot, field in self.fields.items()}
        changed = {(place, name): text for (place, name), text in typed.items() if text != columns[name][place].strip()}
        try:
            draft = Draft(self.snapshot).pasted(changed)
            lines = {draft.sheet.numbers[place] for place, _ in changed}
            wrong = [one for one in draft.result.problems if one.row in lines and one.column in self.names]
            if wrong:
                raise BomiError("\n".join(str(problem) for problem in wrong))
            if changed:
                draft.save(whole=True)
        except BomiError as error:
            with self.message:
                theme.note(str(error), bad=True)
            return
        said = [
            f"{row.id}: {told}" if (told := compared(self.session, self.campaign, row, texts)) else ""
            for place, _, row in self.rows
            if (texts := {name: text for (at, name), text in changed.items() if at == place})
        ]
        for key in self.keys.values():
            self.session.desk.forget(key)
        self.dialog.close()
        self.session.refresh()
        rows = len({place for place, name in changed if name in self.campaign.outcomes})
        self.session.say(" ".join([f"Saved {theme.count(rows, 'result')}.", *said]).strip())
        self.session.desk.tell()
