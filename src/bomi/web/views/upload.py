"""Uploading a table or a set-up: it is checked, it says what it would replace, and then it does."""

from __future__ import annotations

import csv
import io
from pathlib import Path, PurePath

from nicegui import events, ui

from bomi.campaign.edits import UPLOAD_LIMIT, replace_file
from bomi.campaign.sheet import Sheet, is_formula, load_sheet, parse_sheet
from bomi.campaign.toml import parse_campaign
from bomi.errors import BomiError, FileError
from bomi.web import theme
from bomi.web.desk import Session

WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
_REFUSED = {
    "accept": "Only a table as .csv, .tsv, .txt, .xlsx or .ods, or a .toml, can be uploaded.",
    "size": f"That file is too large: up to {UPLOAD_LIMIT // 2**20} MB can be uploaded.",
}


class Upload:
    """The dialog that takes a file."""

    def __init__(self, session: Session) -> None:
        self.session = session
        with session.stage:
            box = ui.dialog(value=True)
        with box as self.dialog, ui.card().style("width: 480px; max-width: 94vw; gap: 12px"):
            theme.name_dialog(self.dialog, "Upload a table or a set-up")
            theme.heading("Upload a table or a set-up")
            ui.label(
                f"A table as CSV (comma, semicolon or tab), .xlsx or .ods, or a campaign.toml; up to "
                f"{UPLOAD_LIMIT // 2**20} MB. It is checked first, and nothing is replaced before you say so."
            ).classes("soft small")
            self.message = ui.element("div").style("width: 100%")
            self.uploader()
            with theme.block("line").style("justify-content: flex-end; width: 100%"):
                theme.button("Close", self.dialog.close)

    def uploader(self) -> None:
        """Where a file is dropped or chosen."""
        made = ui.upload(on_upload=self.take, max_file_size=UPLOAD_LIMIT, auto_upload=True)
        made.props('flat accept=".csv,.tsv,.txt,.toml,.xlsx,.xlsm,.xls,.ods,text/csv" aria-label="File to upload"')
        made.classes("drop")
        with made.add_slot("header"), theme.block("line").style("justify-content: center"):
            with ui.button("Choose a file", icon="upload").props("unelevated color=primary"):
                ui.element("q-uploader-add-trigger")  # Quasar's own: it opens the browser's dialog
            ui.label("or drop it here").classes("soft")
        made.on("uploaded", made.reset, [])
        made.on("failed", self.refuse, [])
        made.on("rejected", self.refuse, js_handler="found => emit(found.map(one => one.failedPropValidation))")

    async def take(self, event: events.UploadEventArguments) -> None:
        """A file came: check it."""
        self.message.clear()
        try:
            path, content, about = checked(self.session, event.file.name, await event.file.read())
        except BomiError as error:
            with self.message:
                theme.note(str(error), bad=True)
            return
        with self.message:
            self.confirm(path, content, about)

    def refuse(self, event: events.GenericEventArguments) -> None:
        """The browser did not send it."""
        self.message.clear()
        reasons = event.args if isinstance(event.args, list) else []
        with self.message:
            theme.note(_REFUSED["accept" if "accept" in reasons else "size"], bad=True)

    def confirm(self, path: Path, content: bytes, about: list[str]) -> None:
        """Say what would be replaced, and do it when told to."""
        snapshot = self.session.snapshot
        before = snapshot.toml if path == snapshot.campaign_path else snapshot.content

        def write() -> None:
            try:
                replace_file(path, content, expected=before)
            except BomiError as error:
                self.session.say(str(error), bad=True)
                return
            self.dialog.close()
            self.session.refresh()
            self.session.say(f"{path.name} is the uploaded file now" + (f"; before: {path.name}.bak" if before else ""))

        if before is not None:
            about = [*about, f"It replaces {path.name}, which is kept as {path.name}.bak."]
        with theme.note("\n".join(about)):
            theme.button("Replace" if before is not None else "Use it", write, primary=True)


def checked(session: Session, name: str, content: bytes) -> tuple[Path, bytes, list[str]]:
    """Where an uploaded file goes, its content there, and what it is in words; an error if it makes no sense."""
    short = PurePath(name.replace("\\", "/")).name[:80] or "the file"
    snapshot = session.snapshot
    if len(content) > UPLOAD_LIMIT:
        raise FileError(f"{short} is too large: up to {UPLOAD_LIMIT // 2**20} MB can be uploaded")
    shape = Path(short)
    if short.lower().endswith(".toml"):
        campaign = parse_campaign(shape, content)
        said = f"{short}: a set-up with {theme.count(len(campaign.space), 'parameter')}, {campaign.wish}."
        return snapshot.campaign_path, content, [said]
    same = shape.suffix.lower() == snapshot.table.suffix.lower()
    if snapshot.table.suffix.lower() in WORKBOOKS and not same:
        raise FileError(
            f"{snapshot.table.name} is a workbook; upload one as {snapshot.table.suffix}, or start with a CSV"
        )
    workbook = shape.suffix.lower() in WORKBOOKS
    sheet = load_sheet(shape, content) if workbook else parse_sheet(shape, content)
    size = f"{theme.count(len(sheet.rows), 'row')} and {theme.count(len(sheet.header), 'column')}"
    about = [f"{short}: a table with {size}.", *_formulas(sheet)]
    return snapshot.table, content if same or not workbook else as_csv(sheet), about


def _formulas(sheet: Sheet) -> list[str]:
    """What a spreadsheet program would run, if it opened the table."""
    found = [
        f"row {number}, column {name!r}: {text[:40]}"
        for name, column in sheet.columns.items()
        for number, text in zip(sheet.numbers, column, strict=True)
        if is_formula(text)
    ]
    if not found:
        return []
    more = [f"and {len(found) - 5} more"] if len(found) > 5 else []
    return ["Beware: a spreadsheet program would run these cells as formulas:", *found[:5], *more]


def as_csv(sheet: Sheet) -> bytes:
    """A table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([sheet.header, *sheet.rows])
    return text.getvalue().encode()
