"""Rows outside the ranges: which they are, in plain words, and admitting them to the campaign."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from bomi.campaign.draft import Draft, cell_problems
from bomi.campaign.edits import replace_file
from bomi.campaign.experiments import check
from bomi.campaign.snapshot import Snapshot
from bomi.campaign.toml import from_document, parse_campaign, read_document
from bomi.errors import BomiError, TableError
from bomi.web import theme
from bomi.web.desk import Session

USE = "Use the rows outside the range"
Spot = tuple[object, str]  # a row, by its line, and a column


def outside(snapshot: Snapshot) -> Collection[Spot]:
    """The cells whose problems go away once rows outside the ranges are admitted."""
    campaign, sheet = snapshot.campaign, snapshot.sheet
    if campaign is None or sheet is None or campaign.out_of_bounds == "keep" or not snapshot.problems:
        return ()
    now = {(problem.row, problem.column) for problem in snapshot.problems}
    try:
        check(sheet, replace(campaign, out_of_bounds="keep"))
    except TableError as error:
        return now - {(problem.row, problem.column) for problem in error.problems}
    return now


def plain(snapshot: Snapshot, text: str) -> str:
    """A message without the folder, which everybody who looks at the page knows."""
    return text.replace(f"{snapshot.table.parent}{os.sep}", "")


def plain_problems(snapshot: Snapshot) -> dict[tuple[int, str], str]:
    """What is wrong with cells, by place of the row and column, in words that the page has a button for."""
    found, campaign, sheet = cell_problems(snapshot), snapshot.campaign, snapshot.sheet
    if campaign is None or sheet is None or not found:
        return found
    beyond = set(outside(snapshot))
    return {
        (place, name): f"{sheet.columns[name][place]} is outside {campaign.space.parameters[name].range_text}"
        if (sheet.numbers[place], name) in beyond and name in campaign.space.parameters
        else message
        for (place, name), message in found.items()
    }


def refused(snapshot: Snapshot, place: int, texts: Mapping[str, str]) -> tuple[list[tuple[str, str]], bool]:
    """Why texts cannot be written into a row: columns and reasons in plain words; whether `use_outside` helps."""
    result = Draft(snapshot).pasted({(place, name): text for name, text in texts.items()}).result
    wrong = {name: message for (row, name), message in plain_problems(result).items() if row == place and name in texts}
    number = result.sheet.numbers[place] if result.sheet else None
    return list(wrong.items()), bool(wrong) and {(number, name) for name in wrong} <= set(outside(result))


def offer(session: Session, then: Callable[[], None]) -> None:
    """A button that admits rows outside the ranges, and goes on."""

    def use() -> None:
        use_outside(session)
        then()

    theme.button(USE, use)


def use_outside(session: Session) -> None:
    """Write into the campaign that rows outside the ranges are used; suggestions stay inside."""
    snapshot = session.snapshot
    path, toml = snapshot.campaign_path, snapshot.toml or b""
    try:
        document = read_document(path, toml)
        if "out_of_bounds" in document:
            content = from_document(path, {**document, "out_of_bounds": "keep"}).text().encode()
        else:  # above all sections, and all else as it was typed
            content = b'out_of_bounds = "keep"\n' + toml.removeprefix(b"\xef\xbb\xbf")
        parse_campaign(path, content)
        replace_file(path, content, expected=toml)
    except BomiError as error:
        session.say(str(error), bad=True)
        return
    session.refresh()
    session.say("Rows outside the ranges are used from now on; suggestions stay inside. Set-up can change it back.")
