"""Data: the table, editable, with its gaps and its problems marked at the cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import events, ui

from bomi.campaign import summarize
from bomi.campaign.draft import cell_problems, marks, other_problems
from bomi.campaign.edits import UPLOAD_LIMIT, continued, replace_file
from bomi.campaign.sheet import Sheet, parse_sheet
from bomi.campaign.snapshot import Snapshot
from bomi.campaign.template import EXAMPLE_CAMPAIGN, EXAMPLE_TABLE, empty_table
from bomi.campaign.toml import parse_campaign
from bomi.errors import BomiError, FileError
from bomi.space import RESERVED
from bomi.web import theme
from bomi.web.desk import Session

# A name that starts with a colon would be run by the browser; so columns go by their place, and every key is ours.
_RULE = "params => (params.data.kinds[params.colDef.field] || '').split(' ').includes('{}')"
_RULES = {f":{kind}": _RULE.format(kind) for kind in ("gap", "uncertain", "pending", "failed", "problem", "changed")}
_BY_NUMBER = "(a, b) => { const x = parseFloat(a), y = parseFloat(b); return isNaN(x) || isNaN(y) ? (isNaN(y) - isNaN(x)) || String(a).localeCompare(String(b)) : x - y }"  # noqa: E501
_TOOLTIP = "params => params.data.told[params.colDef.field]"
# Columns as wide as their content; if that leaves room at the right, the last one takes it.
_FILL = """params => setTimeout(() => {
  if (params.api.isDestroyed()) return;
  const columns = params.api.getAllDisplayedColumns(), last = columns[columns.length - 1];
  const used = columns.reduce((sum, column) => sum + column.getActualWidth(), 0);
  const room = params.api.getHorizontalPixelRange().right - params.api.getHorizontalPixelRange().left;
  const pinned = columns.filter(c => c.getPinned()).reduce((sum, c) => sum + c.getActualWidth(), 0);
  const spare = room + pinned - used;
  if (spare > 0) params.api.setColumnWidths([{ key: last, newWidth: last.getActualWidth() + spare }]);
}, 50)"""
_SELECTED = "() => emit(getElement({}).api.getSelectedNodes().map(node => node.id))"
_LEGEND = {
    "gap": "missing",
    "uncertain": "uncertain",
    "pending": "awaits its outcome",
    "failed": "failed",
    "problem": "has a problem",
}
_REFUSED = {
    "accept": "Only a table as .csv, .tsv or .txt, or a .toml, can be uploaded; save a workbook as CSV first.",
    "size": f"That file is too large: up to {UPLOAD_LIMIT // 2**20} MB can be uploaded.",
}
_MEANING = {
    "gap": "nobody knows this value",
    "uncertain": "known up to an error or a range",
    "pending": "the outcome is awaited",
    "failed": "the experiment failed",
}


class DataView:
    """The table of a session."""

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        self.session = session
        self.go = go
        self.grid: ui.aggrid | None = None
        self._rows: dict[str, dict[str, Any]] = {}  # as the grid has them, by a key that a row keeps
        self._sheet: Sheet | None = None  # that they were made from
        self._made = 0  # how many keys there are already
        self._shown: Snapshot | None = None
        self._selected: list[str] = []

    def build(self) -> None:
        """Draw the view."""
        snapshot = self.session.snapshot
        with theme.block("line between"):
            with theme.block("stack tight title"):
                theme.heading("Data", 1)
                self.summary = ui.label().classes("lead").props("role=status")
            with theme.block("line"):
                if snapshot.sheet is not None:
                    self.saving()
                theme.button("Upload", self.upload, icon="upload")
                if snapshot.content is not None:
                    theme.button("Download", self.download, icon="download")
        self.banner = ui.element("div").classes("stack")
        if snapshot.sheet is None:
            self.nothing_yet(snapshot)
            return
        with theme.block("line").style("min-height: 32px"):
            for kind, text in _LEGEND.items():
                theme.key(kind, text)
            self.remove_button = theme.button("Remove", self.ask_removal, icon="delete_outline")
            self.remove_button.props("dense").style("padding: 0 10px; margin-left: auto").set_visibility(False)
            self.remove_button.tooltip("Ctrl+Delete in the table")
        self.table(snapshot)
        self.tell()

    def saving(self) -> None:
        """The buttons that change the table."""
        self.save_button = theme.button("Save", self.save, icon="save", primary=True)
        self.discard_button = theme.button("Discard", self.session.discard, icon="undo")
        self.add_button = theme.button("Add row", self.add_row, icon="add")
        if not self.session.snapshot.editable:
            self.add_button.set_visibility(False)

    # --- the grid --------------------------------------------------------------------------------------------------

    def table(self, snapshot: Snapshot) -> None:
        """The grid: one column for each of the table, called by its place."""
        sheet = self.session.draft.sheet
        self._shown, self._sheet, self._rows = snapshot, None, {}
        self._rows, self._sheet = self.rows(), sheet
        options: dict[str, Any] = {
            "columnDefs": [
                self.number_column(),
                *(self.column(place, name) for place, name in enumerate(sheet.header)),
            ],
            "rowData": list(self._rows.values()),
            "defaultColDef": {
                "sortable": True,
                "resizable": True,
                "minWidth": 76,
                "suppressMovable": True,
                ":suppressKeyboardEvent": "params => params.event.ctrlKey && params.event.key === 'Delete'",
            },
            ":getRowId": "params => params.data.key",
            "stopEditingWhenCellsLoseFocus": True,
            "enterNavigatesVertically": True,
            "enterNavigatesVerticallyAfterEdit": True,
            "tooltipShowDelay": 300,
            "suppressFieldDotNotation": True,
            "enableCellTextSelection": False,
            "autoSizeStrategy": {"type": "fitCellContents"},
            ":onFirstDataRendered": _FILL,
        }
        if snapshot.editable:
            options["rowSelection"] = {"mode": "multiRow", "headerCheckbox": False, "enableClickSelection": False}
            options["selectionColumnDef"] = {"pinned": "left", "width": 40, "minWidth": 40, "maxWidth": 40}
        self.grid = ui.aggrid(options, auto_size_columns=False).classes("grid")
        self.grid.props('aria-label="The table of experiments"')
        self.grid.on("cellValueChanged", self.typed, ["rowId", "colId", "oldValue", "newValue"])
        self.grid.on("keydown.ctrl.s.prevent", self.save_typed, [])
        self.grid.on("selectionChanged", self.selected, js_handler=_SELECTED.format(self.grid.id))
        self.grid.on("keydown.ctrl.delete.prevent", self.ask_removal, [])

    def number_column(self) -> dict[str, Any]:
        """The line of each row, as a spreadsheet shows it."""
        return {
            "field": "line", "headerName": "row", "pinned": "left", "cellClass": "rownumber", "width": 64,
            "minWidth": 56, "headerClass": "aside",
        }  # fmt: skip

    def column(self, place: int, name: str) -> dict[str, Any]:
        """A column of the table; one whose name is not its own cannot be edited."""
        snapshot = self.session.snapshot
        campaign, sheet = snapshot.campaign, self.session.draft.sheet
        parameter = campaign.space.parameters.get(name) if campaign else None
        objective = next((one for one in campaign.objectives if one.name == name), None) if campaign else None
        means = parameter is not None or objective is not None
        about = ""
        if parameter is not None:
            about = f"may vary in {parameter.range_text}"
        elif objective is not None:
            about = objective.wish + (f", in {objective.unit}" if objective.unit else "")
        elif name.startswith(RESERVED):
            about = f"what was asked for {name.removeprefix(RESERVED)}"
        return {
            "field": f"c{place}",
            "headerName": name,
            "headerTooltip": about,
            "headerClass": "objective" if objective else "" if means else "aside",
            "cellClass": "" if means else "aside",
            "editable": snapshot.editable and bool(name) and name not in sheet.doubled,
            "cellDataType": "text",
            "cellClassRules": _RULES,
            ":tooltipValueGetter": _TOOLTIP,
            ":comparator": _BY_NUMBER,
            **({} if place == len(sheet.header) - 1 else {"maxWidth": 260}),
        }

    def keys(self) -> list[str]:
        """A name for each row, which it keeps where others come and go, so that what is typed reaches its row."""
        sheet, shown = self.session.draft.sheet, list(self._rows)
        found = []
        for place in continued(self._sheet, sheet) if self._sheet else [None] * len(sheet.rows):
            if place is None:
                self._made += 1
            found.append(f"r{self._made}" if place is None else shown[place])
        return found

    def rows(self) -> dict[str, dict[str, Any]]:
        """The rows as the grid takes them, with what is special of each cell and why."""
        draft = self.session.draft
        result, sheet = draft.result, draft.sheet
        kinds, wrong = marks(result), cell_problems(result)
        base = draft.base.sheet
        changed = {(edit.number, edit.column) for edit in draft.edits}
        old = len(draft.origins)
        found = {}
        for place, (key, number, cells_) in enumerate(zip(self.keys(), sheet.numbers, sheet.rows, strict=True)):
            row: dict[str, Any] = {"key": key, "line": number if place < old else "new"}
            of_kind: dict[str, str] = {}
            told: dict[str, str] = {}
            first = base.numbers[draft.origins[place]] if base and place < old else None
            for j, name in enumerate(sheet.header):
                field = f"c{j}"
                row[field] = cells_[j] if j < len(cells_) else ""
                kind = kinds.get((place, name), "")
                problem = wrong.get((place, name)) or (wrong.get((place, "")) if j == 0 else None)
                marked = [kind, "problem" if problem else "", "changed" if (first, name) in changed else ""]
                if any(marked):
                    of_kind[field] = " ".join(filter(None, marked))
                if problem or kind:
                    told[field] = problem or _MEANING[kind]
            row["kinds"], row["told"] = of_kind, told
            found[key] = row
        return found

    def update(self) -> None:
        """Show what changed. Only rows that differ are sent."""
        snapshot = self.session.snapshot
        if self.grid is None or self._shown is None or snapshot.sheet is None or self.header(snapshot) != self.header(
            self._shown
        ):  # fmt: skip
            self.go("data")
            return
        if self._shown is not snapshot:
            self.deselect()  # somebody else was at it: what is to be removed is looked at again
        self._shown = snapshot
        before, now = self._rows, self.rows()
        changed = [row for key, row in now.items() if key in before and before[key] != row]
        added = [key for key in now if key not in before]
        if list(now) == [*(key for key in before if key in now), *added]:
            gone = [{"key": key} for key in before if key not in now]
            transaction = {"update": changed, "add": [now[key] for key in added], "remove": gone}
            self.grid.run_grid_method("applyTransaction", transaction)
        else:  # a row came in between, or they stand in another order
            self.grid.run_grid_method("setGridOption", "rowData", list(now.values()))
        if changed:
            self.grid.run_grid_method("refreshCells", {"force": True})
        self._rows, self._sheet = now, self.session.draft.sheet
        with self.grid.props.suspend_updates():  # for a grid that is drawn anew; this one has them already
            self.grid.options["rowData"] = list(now.values())
        self.tell()

    def header(self, snapshot: Snapshot) -> Any:
        """What the columns depend on."""
        return snapshot.sheet.header if snapshot.sheet else None, snapshot.campaign, snapshot.editable

    def typed(self, event: events.GenericEventArguments) -> None:
        """A cell was typed anew. Somebody else may have changed it, or removed its row, a moment before."""
        arguments: Mapping[str, Any] = event.args if isinstance(event.args, Mapping) else {}
        draft = self.session.draft
        try:
            key, column = str(arguments["rowId"]), int(str(arguments["colId"]).removeprefix("c"))
            text, before = (str(arguments[name] or "") for name in ("newValue", "oldValue"))
            name = draft.sheet.header[column]
            if key not in self._rows:
                raise FileError(f"{text!r} was not kept: its row is gone")
            if (now := self._rows[key][f"c{column}"]) != before:
                raise FileError(f"{text!r} was not kept: the cell in column {name!r} says {now!r} now")
            self.session.draft = draft.typed(self.place(key), name, text)
        except (KeyError, ValueError, IndexError, TypeError) as error:
            self.session.say(str(error) if isinstance(error, BomiError) else "that cell cannot be changed", bad=True)
            self._rows = {}  # the grid shows what was refused: draw it anew
            self.go("data")
            return
        self.update()

    def place(self, key: str) -> int:
        """Where a row stands in the table as it is shown."""
        return list(self._rows).index(key)

    # --- what is going on ------------------------------------------------------------------------------------------

    def tell(self) -> None:
        """The summary, the problems, and the buttons that fit."""
        session = self.session
        result = session.draft.result
        self.summary.text = _summary(result, session.draft.sheet)
        count = session.draft.count
        self.save_button.text = f"Save {theme.count(count, 'change')}"
        self.save_button.set_visibility(bool(count))
        self.discard_button.set_visibility(bool(count))
        ui.run_javascript(f"window.onbeforeunload = {'e => e.preventDefault()' if count else 'null'}")
        self.banner.clear()
        with self.banner:
            if session.conflicts:
                self.show_conflicts()
            if session.snapshot.campaign is None:
                fault = session.snapshot.campaign_fault
                text = f"The set-up cannot be read:\n{fault}" if fault else (
                    "There is no set-up yet. Say which columns may vary and which one is the outcome: "
                    "a first guess is made from the table."
                )  # fmt: skip
                with theme.note(text, bad=bool(fault)):
                    theme.button("Set it up", lambda: self.go("setup"), primary=not fault)
            if not session.snapshot.editable:
                theme.note(
                    f"{session.snapshot.table.name} is a workbook, which is only read; save it as CSV to edit it."
                )
            for text in result.sheet.notes if result.sheet else ():
                theme.note(f"{session.snapshot.table.name}: {text}")
            if result.experiments is not None and (broken := summarize(result.experiments).broken):
                more = [f"and {len(broken) - 5} more rows"] if len(broken) > 5 else []
                theme.note("\n".join([*broken[:5], *more]))
            if result.problems:
                self.show_problems(result)

    def show_problems(self, result: Snapshot) -> None:
        """Every problem, each leading to its cell."""
        count = len(result.problems)
        with ui.element("section").classes("note bad").style("display: block"):
            with theme.block("line"):
                ui.icon("error_outline", size="22px").props("aria-hidden=true")
                theme.heading(f"{theme.count(count, 'problem')} to mend before anything can be suggested")
            with theme.block("problems"):
                for problem in other_problems(result):
                    ui.label(f"{problem.column or 'the header'}: {problem.message}").style("padding: 3px 8px")
                keys = list(self._rows)
                for (place, column), message in list(cell_problems(result).items())[:200]:
                    number = self.session.draft.sheet.numbers[place]
                    where = f"Row {number}, {column}: " if column else f"Row {number}: "
                    link = ui.element("button").on("click", lambda _, k=keys[place], c=column: self.find(k, c))
                    with link:
                        ui.label(where + message)

    def find(self, key: str, column: str) -> None:
        """Bring a cell into view."""
        header = self.session.draft.sheet.header
        field = f"c{header.index(column)}" if column in header else "line"
        if self.grid is not None:
            self.grid.run_grid_method("ensureColumnVisible", field)
            ui.run_javascript(
                f"const api = getElement({self.grid.id}).api; const node = api.getRowNode('{key}');"
                f"if (node) {{ api.ensureNodeVisible(node, 'middle'); api.setFocusedCell(node.rowIndex, '{field}'); }}"
            )

    def show_conflicts(self) -> None:
        """Changes of this tab that met a newer version of the file."""
        session = self.session
        lines = "\n".join(str(conflict) for conflict in session.conflicts)

        def seen() -> None:
            session.conflicts = []
            self.tell()

        with theme.note(
            f"The table was changed outside of this tab, and these changes of yours were not saved:\n{lines}", bad=True
        ):
            theme.button("I have seen it", seen)

    # --- doing -----------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write the changes to the file."""
        count = self.session.draft.count
        try:
            self.session.save()
        except BomiError as error:
            self.session.say(str(error), bad=True)
            return
        kept = count - len(self.session.conflicts)
        if kept > 0:
            self.session.say(f"Saved; the version before is {self.session.snapshot.table.name}.bak")

    def save_typed(self) -> None:
        """Save what is there, and the cell that is being typed."""
        if self.grid is not None:
            self.grid.run_grid_method("stopEditing")
            ui.timer(0.3, lambda: self.save() if self.session.draft.count else None, once=True)

    def add_row(self) -> None:
        """A new row at the end, to be typed in."""
        self.session.draft = self.session.draft.with_row()
        self.update()
        if self.grid is not None:
            last = list(self._rows)[-1]
            ui.run_javascript(
                f"setTimeout(() => {{ const api = getElement({self.grid.id}).api;"
                f"const node = api.getRowNode('{last}');"
                "if (node) { api.ensureNodeVisible(node); api.setFocusedCell(node.rowIndex, 'c0'); } }, 100)"
            )

    def selected(self, event: events.GenericEventArguments) -> None:
        """Rows were selected."""
        found = set(event.args) if isinstance(event.args, list) else set()
        self._selected = [key for key in self._rows if key in found]
        self.remove_button.text = f"Remove {theme.count(len(self._selected), 'row')}"
        self.remove_button.set_visibility(bool(self._selected))

    def deselect(self) -> None:
        """No row is selected any more."""
        self._selected = []
        self.remove_button.set_visibility(False)
        if self.grid is not None:
            self.grid.run_grid_method("deselectAll")

    def ask_removal(self) -> None:
        """Say what would be removed, and do it when told to."""
        draft, places = self.session.draft, [self.place(key) for key in self._selected if key in self._rows]
        if not places:
            self.session.say("Select the rows to remove first: a click on their boxes, or Space.")
            return

        def remove() -> None:
            dialog.close()
            if self.session.draft is not draft:
                self.session.say("The table was changed meanwhile; look at it, then select the rows again.", bad=True)
                return
            self.session.draft = draft.without(places)
            self.deselect()
            self.update()

        rows = theme.count(len(places), "row")
        with ui.dialog(value=True) as dialog, ui.card().style("width: 480px; max-width: 94vw; gap: 12px"):
            theme.heading(f"Remove {rows}?")
            ui.label("\n".join(self.told(place) for place in places[:8])).style(
                "white-space: pre-line; overflow-wrap: anywhere"
            )
            if len(places) > 8:
                ui.label(f"and {len(places) - 8} more")
            ui.label("The file stays as it is until you save; the version before is then kept as .bak.").classes(
                "soft small"
            )
            with theme.block("line").style("justify-content: flex-end; width: 100%"):
                theme.button("Keep", dialog.close).props("autofocus")
                theme.button(f"Remove {rows}", remove, primary=True)

    def told(self, place: int) -> str:
        """A row in short: its line, and what it begins with."""
        row = list(self._rows.values())[place]
        texts = [str(row[f"c{j}"]) for j in range(len(self.session.draft.sheet.header))]
        short = ", ".join(text for text in texts if text.strip())
        number = "A new row" if row["line"] == "new" else f"Row {row['line']}"
        return f"{number}: {short[:77]}..." if len(short) > 80 else f"{number}: {short}"

    def download(self) -> None:
        """The table as it is on disk."""
        snapshot = self.session.snapshot
        if snapshot.content is not None:
            ui.download.content(snapshot.content, snapshot.table.name)

    def upload(self) -> None:
        """Ask for a file."""
        with ui.dialog(value=True) as dialog, ui.card().style("width: 480px; max-width: 94vw; gap: 12px"):
            theme.heading("Upload a table or a set-up")
            ui.label(
                f"A table as CSV (comma, semicolon or tab), or a campaign.toml; up to {UPLOAD_LIMIT // 2**20} MB. "
                "It is checked first, and nothing is replaced before you say so."
            ).classes("soft small")
            message = ui.element("div").style("width: 100%")

            async def take(event: events.UploadEventArguments) -> None:
                message.clear()
                try:
                    content = await event.file.read()
                    ready = self.check_upload(event.file.name, content)
                except BomiError as error:
                    with message:
                        theme.note(str(error), bad=True)
                    return
                with message:
                    self.confirm(*ready, dialog)

            def refuse(event: events.GenericEventArguments) -> None:
                message.clear()
                reasons = event.args if isinstance(event.args, list) else []
                with message:
                    theme.note(_REFUSED["accept" if "accept" in reasons else "size"], bad=True)

            uploader = (
                ui.upload(
                    on_upload=take,
                    max_file_size=UPLOAD_LIMIT,
                    auto_upload=True,
                )
                .props('flat accept=".csv,.tsv,.txt,.toml,text/csv" aria-label="File to upload"')
                .classes("drop")
            )
            with uploader.add_slot("header"), theme.block("line").style("justify-content: center"):
                with ui.button("Choose a file", icon="upload").props("unelevated color=primary"):
                    ui.element("q-uploader-add-trigger")  # Quasar's own: it opens the browser's dialog
                ui.label("or drop it here").classes("soft")
            uploader.on("uploaded", uploader.reset, [])
            uploader.on("failed", refuse, [])
            uploader.on("rejected", refuse, js_handler="found => emit(found.map(one => one.failedPropValidation))")
            with theme.block("line").style("justify-content: flex-end; width: 100%"):
                theme.button("Close", dialog.close)

    def check_upload(self, name: str, content: bytes) -> tuple[bool, bytes, str]:
        """Whether it is a campaign, its content, and what it is in words; an error if it makes no sense."""
        from pathlib import PurePath

        short = PurePath(name.replace("\\", "/")).name[:80] or "the file"
        snapshot = self.session.snapshot
        if len(content) > UPLOAD_LIMIT:
            raise FileError(f"{short} is too large: up to {UPLOAD_LIMIT // 2**20} MB can be uploaded")
        shape = type(snapshot.table)(short)
        if short.lower().endswith(".toml"):
            campaign = parse_campaign(shape, content)
            return (
                True,
                content,
                f"{short}: a set-up with {len(campaign.space)} parameters, {campaign.wish}",
            )
        if snapshot.table.suffix.lower() in (".xlsx", ".xlsm"):
            raise FileError(f"{snapshot.table.name} is a workbook, which is only read; start with a CSV instead")
        sheet = parse_sheet(shape, content)
        size = f"{theme.count(len(sheet.rows), 'row')} and {theme.count(len(sheet.header), 'column')}"
        return False, content, f"{short}: a table with {size}"

    def confirm(self, is_campaign: bool, content: bytes, about: str, dialog: ui.dialog) -> None:
        """Say what would be replaced, and do it when told to."""
        snapshot = self.session.snapshot
        path = snapshot.campaign_path if is_campaign else snapshot.table
        before = snapshot.toml if is_campaign else snapshot.content

        def write() -> None:
            try:
                replace_file(path, content, expected=before)
            except BomiError as error:
                self.session.say(str(error), bad=True)
                return
            dialog.close()
            self.session.refresh()
            self.session.say(f"{path.name} is the uploaded file now" + (f"; before: {path.name}.bak" if before else ""))

        text = f"{about}." + (
            f" It replaces {path.name}, which is kept as {path.name}.bak." if before is not None else ""
        )
        with theme.note(text):
            theme.button("Replace" if before is not None else "Use it", write, primary=True)

    def nothing_yet(self, snapshot: Snapshot) -> None:
        """No table that can be read: say why, and how to begin."""
        self.summary.text = f"{snapshot.table.name}"
        if snapshot.table_fault:
            with self.banner:
                theme.note(f"The table cannot be read:\n{snapshot.table_fault}", bad=True)
            if snapshot.content is not None:
                return
        with theme.empty(
            "table_view",
            "There is no table yet",
            f"Upload the table you already keep, or start {snapshot.table.name} from a template. "
            "A blank or ? is a value that nobody knows; 160±8 and 140..160 are uncertain ones.",
        ), theme.block("line"):  # fmt: skip
            theme.button("Upload a CSV", self.upload, icon="upload", primary=True)
            if snapshot.campaign is not None:
                theme.button("Empty table for the set-up", lambda: self.start(empty=True), icon="grid_on")
            theme.button("Start from the example", lambda: self.start(empty=False), icon="science")

    def start(self, *, empty: bool) -> None:
        """Write a template where there is no table."""
        snapshot = self.session.snapshot
        try:
            if empty and snapshot.campaign is not None:
                replace_file(snapshot.table, empty_table(snapshot.campaign).encode(), expected=None)
            else:
                replace_file(snapshot.table, EXAMPLE_TABLE.encode(), expected=None)
                if snapshot.toml is None and not snapshot.campaign_fault:
                    replace_file(snapshot.campaign_path, EXAMPLE_CAMPAIGN.encode(), expected=None)
        except BomiError as error:
            self.session.say(str(error), bad=True)
            return
        self.session.refresh()


def _summary(result: Snapshot, sheet: Sheet) -> str:
    if result.experiments is None:
        return f"{theme.count(len(sheet.rows), 'row')}, {theme.count(len(sheet.header), 'column')}"
    found = summarize(result.experiments)
    inputs = [column for column in found.columns if column.column in result.experiments.campaign.space.names]
    missing, unsure = sum(column.unknown for column in inputs), sum(column.uncertain for column in inputs)
    parts = [theme.count(found.rows, "row"), f"{found.outcomes} with an outcome"]
    parts += [f"{found.pending} pending"] if found.pending else []
    parts += [f"{found.failed} failed"] if found.failed else []
    gaps = f"{theme.count(missing, 'value')} missing, {unsure} uncertain"
    return f"{', '.join(parts)}. {gaps}; complete: {theme.count(found.complete, 'row')}."
