"""Rows whose boxes are ticked: they can be excluded or removed."""

from __future__ import annotations

from bomi.space import EXCLUDE
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views.grid import Grid

LISTED = 8  # rows that are named before they are removed


class SelectedRows:
    """The rows that are selected, and the buttons for them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.grid: Grid | None = None
        self._keys: list[str] = []
        self.exclude_button = theme.button("Exclude", self.exclude, icon="block").props("dense padding='4px 10px'")
        self.exclude_button.tooltip("Nothing is learned from an excluded row; it stays in the table")
        self.remove_button = theme.button("Remove", self.remove, icon="delete_outline")
        self.remove_button.props("dense padding='4px 10px'").tooltip("Ctrl+Delete in the table")
        self.select([])

    def select(self, keys: list[str]) -> None:
        """Rows were selected."""
        self._keys = keys
        chosen = bool(keys)
        self.remove_button.text = f"Remove {theme.count(len(keys), 'row')}"
        self.remove_button.set_visibility(chosen)
        out = chosen and all(self.grid.rows[key].get("excluded") for key in keys) if self.grid else False
        self.exclude_button.text = f"{'Use' if out else 'Exclude'} {theme.count(len(keys), 'row')}"
        self.exclude_button.set_visibility(chosen)

    def clear(self) -> None:
        """No row is selected any more."""
        if self.grid is not None:
            self.grid.deselect()
        self.select([])

    def exclude(self) -> None:
        """Leave rows out of what is learned from, or take them in again; they stay in the table."""
        if self.grid is None or not self._keys:
            return
        places = [self.grid.place(key) for key in self._keys]
        out = not all(self.grid.rows[key].get("excluded") for key in self._keys)
        draft = self.session.draft.with_columns([EXCLUDE])
        self.session.desk.change(draft.pasted({(place, EXCLUDE): "yes" if out else "" for place in places}))

    def remove(self) -> None:
        """Say what would be removed, and do it when told to."""
        grid, draft = self.grid, self.session.draft
        places = [grid.place(key) for key in self._keys if key in grid.rows] if grid else []
        if grid is None or not places:
            self.session.say("Select the rows to remove first: a click on their boxes, or Space.")
            return

        def remove() -> None:
            if self.session.draft is not draft:
                self.session.say("The table was changed meanwhile; look at it, then select the rows again.", bad=True)
                return
            self.clear()
            self.session.desk.change(draft.without(places))

        rows = theme.count(len(places), "row")
        listed = [self.told(place) for place in places[:LISTED]]
        listed += [f"and {len(places) - LISTED} more"] if len(places) > LISTED else []
        book = (
            ["In a workbook their cells are emptied; what stands below stays where it is."] if draft.sheet.book else []
        )
        safe = "The file stays as it is until you save; the version before is then kept as .bak."
        theme.ask(f"Remove {rows}?", "\n".join([*listed, *book, safe]), f"Remove {rows}", remove, no="Keep")

    def told(self, place: int) -> str:
        """A row in short: its line, and what it begins with."""
        row = list(self.grid.rows.values())[place] if self.grid else {}
        texts = [str(row[f"c{j}"]) for j in range(len(self.session.draft.sheet.header))]
        short = ", ".join(text for text in texts if text.strip())
        number = "A new row" if row["line"] == "new" else f"Row {row['line']}"
        return f"{number}: {short[:77]}..." if len(short) > 80 else f"{number}: {short}"
