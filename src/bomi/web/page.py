"""The page: a bar with the views, and one of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import events, ui

from bomi.errors import BomiError
from bomi.web import held, theme
from bomi.web.desk import Desk, Session
from bomi.web.views import View
from bomi.web.views.data import DataView
from bomi.web.views.gaps import GapsView
from bomi.web.views.home import HomeView
from bomi.web.views.progress import ProgressView
from bomi.web.views.setup import SetupView
from bomi.web.views.suggest import SuggestView

VIEWS: dict[str, tuple[str, Callable[[Session, Callable[[str], None]], View]]] = {
    "home": ("Home", HomeView),
    "data": ("Data", DataView),
    "suggest": ("Suggest", SuggestView),
    "gaps": ("Gaps", GapsView),
    "progress": ("Progress", ProgressView),
    "setup": ("Set-up", SetupView),
}


def build(desk: Desk, wanted: str, *, title: str, others: bool) -> None:
    """One tab of a browser; `others`: there are other campaigns to go back to."""
    Tab(Session(desk), title).build(wanted if wanted in VIEWS else "home", others)


class Tab:
    """What one tab of a browser shows."""

    def __init__(self, session: Session, title: str) -> None:
        self.session = session
        self.title = title
        self.view: View | None = None
        self.client = ui.context.client
        self.client.on_delete(session.close)
        agent = self.client.request.headers.get("user-agent", "") if self.client.request else ""
        session.small = "Mobi" in agent  # until the browser says how wide it is
        session.on_change, session.say, session.on_safe = self.changed, self.say, self.safe
        session.on_kept = self.mark

    def build(self, start: str, others: bool) -> None:
        """Draw the bar and the first view."""
        desk = self.session.desk
        theme.dress(str(desk.table))
        with ui.element("header").classes("bar"):
            with ui.link(target="/" if others else "?view=home").classes("brand").props('aria-label="bomi, home"'):
                ui.label("bomi")
            with ui.element("nav").props('aria-label="Views"'):
                self.tabs = ui.tabs().props("no-caps inline-label shrink outside-arrows align=left")
                with self.tabs:
                    self.dots = {name: self.tab(name, label) for name, (label, _) in VIEWS.items()}
                self.tabs.value = start
            ui.element("div").classes("grow")
            ui.label(self.title).classes("file").tooltip(str(desk.table))
            ui.button(icon="contrast").props('flat round dense color=primary aria-label="Light or dark"').on(
                "click", js_handler="() => bomi.toggle()"
            ).tooltip("Light or dark")
        self.body = ui.element("div").classes("view")
        self.session.stage = ui.element("div")
        ui.skip_link(target=self.body)
        self.tabs.on_value_change(lambda: self.show(str(self.tabs.value)))
        self.listen()
        self.show(start)

    def tab(self, name: str, label: str) -> ui.element:
        """A view's tab, with a dot while something in it is not saved."""
        with ui.tab(name, label=label).mark(name):
            dot = ui.element("span").classes("dot").props("aria-hidden=true")
        dot.tooltip("not saved yet")
        return dot

    def listen(self) -> None:
        """Take what the page's own scripts send."""

        def of_view(name: str) -> Callable[[events.GenericEventArguments], None]:
            return lambda event: getattr(self.view, name)(event.args) if self.view else None

        for method in ("undo", "redo", "remove"):
            ui.on(f"bomi-{method}", of_view(method))
        ui.on("bomi-cells", self.cells)
        ui.on("bomi-save", lambda: self.view.save() if self.view else None)
        ui.on("bomi-view", lambda event: self.go(str(event.args)))
        ui.on("bomi-held", self.take_back)
        ui.on("bomi-enter", self.enter)
        ui.on("bomi-chosen", self.chosen)
        ui.on("bomi-small", lambda event: self.fit(bool(event.args)))

    def fit(self, small: bool) -> None:
        """The page is as narrow as a phone, or not any more."""
        if self.session.small != small:
            self.session.small = small
            if self.tabs.value == "data":
                self.show("data")

    def cells(self, event: events.GenericEventArguments) -> None:
        """Cells were typed or pasted; the view may be another one by now."""
        if isinstance(self.view, DataView) and self.view.grid is not None:
            self.view.cells(event.args)
        else:
            held.take_cells(self.session, event.args)

    def enter(self, event: events.GenericEventArguments) -> None:
        """Enter was pressed in a field that keeps what is typed."""
        key, text = (event.args.get(name) if isinstance(event.args, dict) else None for name in ("key", "text"))
        if isinstance(text, str) and (action := self.session.enter.get(str(key))):
            action(text)

    def chosen(self, event: events.GenericEventArguments) -> None:
        """Something was chosen from a list; the list may be another one by now, or not be shown any more."""
        key, value = (event.args.get(name) if isinstance(event.args, dict) else None for name in ("key", "value"))
        if not isinstance(key, str) or not isinstance(value, str) or self.session.got.get(key) == value:
            return
        if action := self.session.choose.get(key):
            action(value)
        if self.session.got.get(key) != value:
            held.take(self.session, [{"key": key, "value": value}])

    def take_back(self, event: events.GenericEventArguments) -> None:
        """The browser still holds what did not reach us before the connection was lost."""
        found = event.args if isinstance(event.args, list) else []
        before = self.session.draft.changes
        other = held.take(self.session, found)
        if other and self.view is not None:
            self.show(str(self.tabs.value))
        if other or before != self.session.draft.changes:
            self.say("What you typed before is here again.")

    def show(self, name: str) -> None:
        """Draw a view."""
        self.body.clear()
        view = VIEWS[name][1](self.session, self.go)
        ui.run_javascript(f"window.bomi?.visit('{name}')")
        ui.page_title(f"{VIEWS[name][0]} · {self.title} – bomi")
        self.mark()
        with self.body:
            if self.session.draft.count and name not in ("data", "home"):
                with theme.note("The table has changes that are not saved; they are not taken into account here."):
                    theme.button("To the data", lambda: self.go("data"))
            try:
                view.build()
            except BomiError as error:
                theme.note(str(error), bad=True)
                self.view = None
                return
        self.view = view

    def go(self, name: str) -> None:
        """To a view; the one that is shown is drawn anew."""
        if name not in VIEWS:
            return
        with self.client:
            if self.tabs.value == name:
                self.show(name)
            else:
                self.tabs.value = name  # which shows it

    def mark(self) -> None:
        """A dot where something is not saved."""
        desk = self.session.desk
        waits = {"data": bool(desk.draft.count), "setup": "setup" in desk.texts, "gaps": bool(desk.kept("gap/")),
                 "suggest": bool(desk.kept("result/"))}  # fmt: skip
        with self.client:
            for name, dot in self.dots.items():
                dot.set_visibility(waits.get(name, False))

    def changed(self) -> None:
        """Something changed: show it."""
        with self.client:
            self.mark()
            if self.view is not None:
                with self.body:
                    self.view.update()

    def say(self, text: str, bad: bool = False) -> None:
        """A message that goes by itself."""
        with self.client, self.body:  # which is always there, whatever became of the button that was pressed
            theme.say(text, bad=bad)

    def safe(self, found: Any) -> None:
        """The browser may forget what is on disk."""
        with self.client:
            ui.run_javascript(f"window.bomi?.safe({theme.dumps(found)})")
