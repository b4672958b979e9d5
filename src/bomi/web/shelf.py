"""The page of a folder: the campaigns below it, with their state."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from nicegui import ui

from bomi.web import theme
from bomi.web.campaigns import find_campaigns, state


def build(folder: Path) -> None:
    """A card for each campaign."""
    theme.dress(str(folder))
    ui.page_title(f"{folder.name} – bomi")
    with ui.element("header").classes("bar"):
        ui.label("bomi").classes("brand")
        ui.element("div").classes("grow")
        ui.label(folder.name).classes("file").tooltip(str(folder))
        ui.button(icon="contrast").props('flat round dense color=primary aria-label="Light or dark"').on(
            "click", js_handler="() => bomi.toggle()"
        )
    with ui.element("div").classes("view"):
        theme.heading("Campaigns", 1)
        found = find_campaigns(folder)
        if not found:
            theme.empty(
                "folder_open",
                "There is no campaign here",
                f"A campaign is a table with a campaign.toml beside it, in {folder.name} or below. "
                "Start one with: bomi web TABLE.csv",
            )
            return
        with theme.block("cards"):
            for one in found:
                told, snapshot = state(one)
                with theme.sheet() as card:
                    card.props["aria-label"] = one.name
                    theme.heading(one.name)
                    if snapshot.campaign is not None:
                        ui.label(snapshot.campaign.wish).classes("soft")
                    ui.label(told).classes("soft small")
                    ui.element("div").classes("grow")
                    link = ui.link("Open", f"/?{urlencode({'table': one.name})}")
                    link.props["aria-label"] = f"Open {one.name}"
