"""The page: a bar with the views, and one of them at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from nicegui import ui

from bomi.errors import BomiError
from bomi.web import theme
from bomi.web.desk import Desk, Session
from bomi.web.views.data import DataView
from bomi.web.views.gaps import GapsView
from bomi.web.views.progress import ProgressView
from bomi.web.views.setup import SetupView
from bomi.web.views.suggest import SuggestView

LOOK_EVERY = 1.0  # seconds between two looks at the files


class View(Protocol):
    """What can be shown below the bar."""

    def build(self) -> None:
        """Draw the view."""

    def update(self) -> None:
        """Show what changed in the session."""


VIEWS: dict[str, tuple[str, Callable[[Session, Callable[[str], None]], View]]] = {
    "data": ("Data", DataView),
    "suggest": ("Suggest", SuggestView),
    "gaps": ("Gaps", GapsView),
    "progress": ("Progress", ProgressView),
    "setup": ("Set-up", SetupView),
}


def build(desk: Desk, wanted: str) -> None:
    """One tab of a browser."""
    theme.dress()
    session = Session(desk)
    current: list[View] = []

    def show(name: str) -> None:
        body.clear()
        current.clear()
        view = VIEWS[name][1](session, go)
        with body:
            if session.draft.count and name != "data":
                with theme.note("The table has changes that are not saved; they are not taken into account here."):
                    theme.button("To the data", lambda: go("data"))
            try:
                view.build()
            except BomiError as error:
                theme.note(str(error), bad=True)
                return
        current.append(view)

    def go(name: str) -> None:
        if tabs.value == name:
            show(name)
        else:
            tabs.value = name  # which shows it

    def switched() -> None:
        name = str(tabs.value)
        ui.run_javascript(f"history.replaceState(null, '', '?view={name}')")
        show(name)

    def say(text: str, bad: bool = False) -> None:
        with body:  # which is always there, whatever became of the button that was pressed
            theme.say(text, bad=bad)

    def changed() -> None:
        for view in current:
            with body:
                view.update()

    async def look() -> None:
        await asyncio.to_thread(desk.look)
        before = len(session.conflicts)
        if session.refresh() and len(session.conflicts) == before:
            say("The files were changed outside; this is the new version.")

    with ui.element("header").classes("bar"):
        ui.label("bomi").classes("brand")
        with ui.element("nav").props('aria-label="Views"'):
            start = wanted if wanted in VIEWS else "data"
            with ui.tabs().props("no-caps inline-label shrink outside-arrows") as tabs:
                for name, (title, _) in VIEWS.items():
                    ui.tab(name, label=title).mark(name)
            tabs.value = start
        ui.element("div").classes("grow")
        ui.label(desk.table.name).classes("file").tooltip(str(desk.table))
        ui.button(icon="contrast").props('flat round dense color=primary aria-label="Light or dark"').on(
            "click",
            js_handler="() => { Quasar.Dark.toggle();"
            " localStorage.setItem('bomi-dark', Quasar.Dark.isActive ? '1' : '0') }",
        ).tooltip("Light or dark")
    with ui.element("div").classes("view") as body:
        pass
    ui.skip_link(target=body)
    session.on_change, session.say = changed, say
    tabs.on_value_change(switched)
    show(start)
    ui.timer(LOOK_EVERY, look)
