"""The grid of the table: its columns, its rows with what is special of each cell, and what is typed into it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from nicegui import events, ui

from bomi.campaign.draft import Draft, marks
from bomi.campaign.edits import continued
from bomi.campaign.sheet import Sheet
from bomi.campaign.snapshot import Snapshot
from bomi.data.reading import read_exclude
from bomi.errors import FileError
from bomi.space import EXCLUDE, RESERVED, Integer, Parameter, Real
from bomi.space.units import with_unit
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.outside import plain_problems

# A name that starts with a colon would be run by the browser; so columns go by their place, and every key is ours.
_RULE = "params => (params.data.kinds[params.colDef.field] || '').split(' ').includes('{}')"
_KINDS = ("gap", "uncertain", "pending", "failed", "problem", "changed")
_RULES = {f":{kind}": _RULE.format(kind) for kind in _KINDS} | {":marked": "params => bomiGrid.marked(params)"}
_MEANING = {
    "gap": "nobody knows this value",
    "uncertain": "known up to an error or a range",
    "pending": "the outcome is awaited",
    "failed": "the experiment failed",
}
_NUMBER = re.compile(r"[<>~]?\s*[-+−]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?\s*%?")
_SELECTED = "() => emit(getElement({}).api.getSelectedNodes().map(node => node.id))"


class Grid:
    """The table of a session, as a grid that can be typed into like a spreadsheet."""

    def __init__(self, session: Session, selected: Callable[[list[str]], None], folded: bool = True) -> None:
        self.session = session
        self.selected = selected
        self.folded = folded  # what was asked is shown only when wanted
        self.rows: dict[str, dict[str, Any]] = {}  # as the grid has them, by a key that a row keeps
        self._sheet: Sheet | None = None  # that they were made from
        self._shape: Any = None  # which rows there are, whatever they hold
        self._made = 0  # how many keys there are already
        self._drawn = self.header()
        self._adopt()
        self.element = self._draw()

    def header(self) -> Any:
        """What the columns depend on."""
        draft = self.session.draft
        return draft.sheet.header, draft.base.campaign

    # --- drawing ---------------------------------------------------------------------------------------------------

    def _draw(self) -> ui.aggrid:
        options: dict[str, Any] = {
            "columnDefs": self._columns(),
            "rowData": list(self.rows.values()),
            "defaultColDef": {
                "sortable": True,
                "resizable": True,
                "minWidth": 76,
                "suppressMovable": True,
                "filter": "agTextColumnFilter",
                "cellDataType": "text",
                "cellClassRules": _RULES,
                ":tooltipValueGetter": "params => params.data.told[params.colDef.field]",
                ":comparator": "(a, b) => bomiGrid.byNumber(a, b)",
                ":suppressKeyboardEvent": "params => bomiGrid.ours(params)",
            },
            ":getRowId": "params => params.data.key",
            ":onGridReady": "params => bomiGrid.ready(params)",
            ":onCellValueChanged": "params => bomiGrid.typed(params)",
            ":onCellEditingStopped": "params => bomiGrid.left(params)",
            ":onCellKeyDown": "params => bomiGrid.pressed(params)",
            ":onCellFocused": "params => bomiGrid.focused(params)",
            ":onFirstDataRendered": "params => bomiGrid.fit(params)",
            ":onNewColumnsLoaded": "params => bomiGrid.fit(params)",
            ":onGridPreDestroyed": "params => bomiGrid.gone(params)",
            "rowClassRules": {":excluded": "params => params.data.excluded"},
            "stopEditingWhenCellsLoseFocus": True,
            "tooltipShowDelay": 300,
            "animateRows": False,  # on its way to its place, a row would be clicked for another
            "suppressFieldDotNotation": True,
            "enableCellTextSelection": False,
            "autoSizeStrategy": {"type": "fitCellContents", "defaultMaxWidth": 260},
        }
        if self.session.draft.base.editable:
            options["rowSelection"] = {
                "mode": "multiRow",
                "headerCheckbox": True,
                "selectAll": "filtered",
                "enableClickSelection": False,
            }
            options["selectionColumnDef"] = {"pinned": "left", "width": 44, "minWidth": 44, "maxWidth": 44}
        grid = ui.aggrid(options, auto_size_columns=False).classes("grid")
        grid.props('aria-label="The table of experiments"')
        grid.on("selectionChanged", self._select, js_handler=_SELECTED.format(grid.id))
        return grid

    def _columns(self) -> list[dict[str, Any]]:
        """Those of the table in its order, but what was asked beside what was done."""
        header = self.session.draft.sheet.header
        asked = {name.removeprefix(RESERVED): place for place, name in enumerate(header) if name.startswith(RESERVED)}
        order = [
            place
            for here, name in enumerate(header)
            if not (name.startswith(RESERVED) and name.removeprefix(RESERVED) in header)
            for place in (here, *([asked[name]] if name in asked and header.index(name) == here else []))
        ]
        return [_numbers(), *(self._column(place, header[place]) for place in order)]

    def _column(self, place: int, name: str) -> dict[str, Any]:
        """A column of the table; one whose name is not its own cannot be edited."""
        base, sheet = self.session.draft.base, self.session.draft.sheet
        campaign = base.campaign
        parameter = campaign.space.parameters.get(name) if campaign else None
        objective = next((one for one in campaign.objectives if one.name == name), None) if campaign else None
        asked = name.startswith(RESERVED)
        means = parameter is not None or objective is not None
        about, unit = "", ""
        if parameter is not None:
            about, unit = f"may vary in {parameter.range_text}", parameter.unit
        elif objective is not None:
            about, unit = objective.wish + (f", in {objective.unit}" if objective.unit else ""), objective.unit
        elif asked:
            about = f"what was asked for {name.removeprefix(RESERVED)}"
        title = f"asked: {name.removeprefix(RESERVED)}" if asked else name
        number = objective is not None or _is_number(parameter) or (asked and self._asks_number(name))
        number = number or (parameter is None and _holds_numbers(row[place] for row in sheet.rows if place < len(row)))
        classes = [*(["number"] if number else []), *([] if means or campaign is None else ["aside"])]
        return {
            "field": f"c{place}",
            "context": name,
            "headerName": with_unit(title, unit),
            "headerTooltip": about,
            "headerClass": " ".join([*classes, *(["objective"] if objective else [])]),
            "cellClass": " ".join(classes),
            "hide": asked and self.folded,
            "editable": base.editable and bool(name) and name not in sheet.doubled,
        }

    def _asks_number(self, name: str) -> bool:
        campaign = self.session.draft.base.campaign
        return campaign is not None and _is_number(campaign.space.parameters.get(name.removeprefix(RESERVED)))

    @property
    def asked(self) -> list[str]:
        """The columns of what was asked."""
        header = self.session.draft.sheet.header
        return [f"c{place}" for place, name in enumerate(header) if name.startswith(RESERVED)]

    def fold(self, folded: bool) -> None:
        """Hide or show what was asked."""
        self.folded = folded
        self.element.run_grid_method("setColumnsVisible", self.asked, not folded)

    def search(self, text: str) -> None:
        """Show the rows that hold some text."""
        self.element.run_grid_method("setGridOption", "quickFilterText", text)

    def find(self, key: str, column: str, *, after: int = 0) -> None:
        """Bring a cell into view, after some milliseconds if the grid is still being drawn."""
        header = self.session.draft.sheet.header
        field = f"c{header.index(column)}" if column in header else "line"
        ui.run_javascript(f"setTimeout(() => bomiGrid.find({key!r}, {field!r}), {after})")

    def deselect(self) -> None:
        """No row is selected any more."""
        self.element.run_grid_method("deselectAll")

    def _select(self, event: events.GenericEventArguments) -> None:
        found = set(event.args) if isinstance(event.args, list) else set()
        self.selected([key for key in self.rows if key in found])

    # --- rows ------------------------------------------------------------------------------------------------------

    def _adopt(self) -> dict[str, dict[str, Any]]:
        """Take the rows as they are now; returns those before."""
        before = self.rows
        self.rows = self._made_rows()
        self._sheet = self.session.draft.sheet
        return before

    def _keys(self) -> list[str]:
        """A name for each row, which it keeps where others come and go, so that what is typed reaches its row."""
        draft, shown = self.session.draft, list(self.rows)
        shape = (draft.base.content, tuple(draft.origins), len(draft.changes.added))
        if shape == self._shape:
            return shown
        self._shape = shape
        found = []
        sheet = draft.sheet
        for place in continued(self._sheet, sheet, draft.identity) if self._sheet else [None] * len(sheet.rows):
            if place is None:
                self._made += 1
            found.append(f"r{self._made}" if place is None else shown[place])
        return found

    def _made_rows(self) -> dict[str, dict[str, Any]]:
        """The rows as the grid takes them, with what is special of each cell and why."""
        draft = self.session.draft
        result, sheet = draft.result, draft.sheet
        kinds, wrong = marks(result), plain_problems(result)
        special: dict[int, set[str]] = {}
        for place, name in (*kinds, *wrong):
            special.setdefault(place, set()).add(name)
        changed = _changed(draft)
        old, width = len(draft.origins), len(sheet.header)
        fields = [f"c{j}" for j in range(width)]
        excluded = _excluded(result)
        found = {}
        for place, (key, number, texts) in enumerate(zip(self._keys(), sheet.numbers, sheet.rows, strict=True)):
            row: dict[str, Any] = {"key": key, "line": number if place < old else "new", "number": number}
            row.update(zip(fields, texts if len(texts) >= width else texts + [""] * (width - len(texts)), strict=False))
            row["kinds"], row["told"] = {}, {}
            if excluded and place in excluded:
                row["excluded"] = True
            here = special.get(place, ()), changed.get(place, ())
            if any(here):
                for j, name in enumerate(sheet.header):
                    kind = kinds.get((place, name), "")
                    problem = wrong.get((place, name)) or (wrong.get((place, "")) if j == 0 else None)
                    marked = [kind, "problem" if problem else "", "changed" if name in here[1] else ""]
                    if any(marked):
                        row["kinds"][fields[j]] = " ".join(filter(None, marked))
                    if problem or kind:
                        row["told"][fields[j]] = problem or _MEANING[kind]
            found[key] = row
        return found

    def update(self) -> None:
        """Show what changed. Only rows that differ are sent."""
        before = self._adopt()
        now, header = self.rows, self.header()
        if header != self._drawn:
            self._drawn, columns = header, self._columns()
            with self.element.props.suspend_updates():
                self.element.options["columnDefs"] = columns
            self.run("setGridOption", "columnDefs", columns)
        changed = [row for key, row in now.items() if key in before and before[key] != row]
        added = [key for key in now if key not in before]
        if list(now) == [*(key for key in before if key in now), *added]:
            gone = [{"key": key} for key in before if key not in now]
            if changed or added or gone:
                transaction = {"update": changed, "add": [now[key] for key in added], "remove": gone}
                self.run("applyTransaction", transaction)
        else:  # a row came in between, or they stand in another order
            self.run("setGridOption", "rowData", list(now.values()))
        if changed:
            self.run("refreshCells", {"force": True})
        with self.element.props.suspend_updates():  # for a grid that is drawn anew; this one has them already
            self.element.options["rowData"] = list(now.values())

    def restore(self, keys: Sequence[str]) -> None:
        """Show again what these rows hold: the browser shows what was refused."""
        rows = [self.rows[key] for key in keys if key in self.rows]
        self.run("applyTransaction", {"update": rows})
        self.run("refreshCells", {"force": True})

    def run(self, method: str, *values: Any) -> None:
        """Run a method of the grid, once no cell of it is being typed into."""
        ui.run_javascript(f"bomiGrid.run({self.element.id}, {method!r}, {theme.dumps(values)})")

    def place(self, key: str) -> int:
        """Where a row stands in the table as it is shown."""
        return list(self.rows).index(key)

    # --- typing ----------------------------------------------------------------------------------------------------

    def typed(self, told: Any) -> Draft:
        """The draft with cells that were typed or pasted: all of them, or an error that says why none was taken.

        Somebody else may have changed a cell, or removed its row, a moment before.
        """
        draft = self.session.draft
        changes = told.get("changes", []) if isinstance(told, Mapping) else []
        extra = told.get("extra", []) if isinstance(told, Mapping) else []
        places = {key: place for place, key in enumerate(self.rows)}
        texts: dict[tuple[int, str], str] = {}
        for one in changes:
            key, name, text, before = (str(one[what] or "") for what in ("row", "column", "text", "before"))
            if key not in places or name not in draft.sheet.columns:
                gone = "column" if key in places else "row"
                raise FileError(f"{text!r} was not kept: its {gone} is gone")
            if (now := draft.sheet.columns[name][places[key]]) not in (before, text):
                raise FileError(f"{text!r} was not kept: the cell in column {name!r} says {now!r} now")
            texts[places[key], name] = text
        draft = draft.pasted(texts) if texts else draft
        for row in extra:
            named = {str(name): str(text) for name, text in row.items() if name in draft.sheet.columns}
            draft = draft.with_row(named)
        if extra:
            draft.sheet  # noqa: B018  # a cell that cannot be written is told now
        return draft


def _numbers() -> dict[str, Any]:
    """The line of each row, as a spreadsheet shows it."""
    return {
        "field": "line", "headerName": "row", "pinned": "left", "cellClass": "rownumber", "width": 68,
        "minWidth": 60, "headerClass": "aside", "filter": False, "suppressAutoSize": True,
        "cellDataType": False,
    }  # fmt: skip


def _is_number(parameter: Parameter | None) -> bool:
    return isinstance(parameter, Real | Integer)


def _holds_numbers(texts: Iterable[str]) -> bool:
    """Whether a column that the campaign does not speak of is one of numbers: these stand at the right."""
    some = [text.strip() for text in islice(texts, 200) if text.strip()]
    return 2 * sum(_NUMBER.fullmatch(text) is not None for text in some) > len(some)


def _changed(draft: Draft) -> dict[int, set[str]]:
    """The columns that were typed anew, by place of the row."""
    base = draft.base.sheet
    places = {base.numbers[origin]: place for place, origin in enumerate(draft.origins)} if base else {}
    found: dict[int, set[str]] = {}
    for edit in draft.changes.edits:
        if edit.number in places:
            found.setdefault(places[edit.number], set()).add(edit.column)
    return found


def _excluded(snapshot: Snapshot) -> set[int]:
    """The places of rows that nothing is learned from."""
    texts = snapshot.sheet.columns.get(EXCLUDE, ()) if snapshot.sheet else ()
    return {place for place, text in enumerate(texts) if read_exclude(text)}
