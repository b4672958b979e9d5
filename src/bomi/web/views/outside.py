"""Rows outside the ranges: whether there are any, and admitting them to the campaign."""

from __future__ import annotations

from dataclasses import replace

from bomi.campaign.edits import replace_file
from bomi.campaign.experiments import check
from bomi.campaign.snapshot import Snapshot
from bomi.campaign.toml import from_document, parse_campaign, read_document
from bomi.errors import BomiError, TableError
from bomi.web.desk import Session


def are_outside(snapshot: Snapshot) -> bool:
    """Whether some problems of a table go away once rows outside the ranges are admitted."""
    campaign, sheet = snapshot.campaign, snapshot.sheet
    if campaign is None or sheet is None or campaign.out_of_bounds == "keep" or not snapshot.problems:
        return False
    try:
        check(sheet, replace(campaign, out_of_bounds="keep"))
    except TableError as error:
        return len(error.problems) < len(snapshot.problems)
    return True


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
