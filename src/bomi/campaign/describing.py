"""The files of descriptors that a campaign names: a line for each category, a column for each number."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bomi.campaign import storage
from bomi.campaign.columns import Numbers
from bomi.campaign.faults import CampaignError, Fault
from bomi.campaign.marks import decide
from bomi.campaign.sheet import load_sheet
from bomi.errors import BomiError, CellError, FileError, SpaceError
from bomi.space.cells import Known
from bomi.space.descriptors import Descriptors

DESCRIPTORS = "descriptors"


def described(path: Path, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A campaign's sections with the content of each file of descriptors, which is looked for beside campaign.toml.

    A parameter without `values` gets those of the file.
    """
    parameters = document.get("parameters")
    named = {
        name: spec
        for name, spec in (parameters.items() if isinstance(parameters, Mapping) else ())
        if isinstance(spec, Mapping) and isinstance(spec.get(DESCRIPTORS), str)
    }
    faults, made = [], {}
    for name, spec in named.items():
        try:
            lines = read_descriptors(path.parent / spec[DESCRIPTORS], name)
            values: list[Known] = spec["values"] if isinstance(spec.get("values"), list) else list(lines)
            known = Descriptors.of(lines, values, spec[DESCRIPTORS])
            made[name] = {**spec, "values": values, DESCRIPTORS: known}
        except SpaceError as error:
            faults.append(Fault(f"{spec[DESCRIPTORS]}: {error}", (("parameters", name, DESCRIPTORS),)))
        except BomiError as error:
            faults.append(Fault(str(error), (("parameters", name, DESCRIPTORS),)))
    if faults:
        raise CampaignError.of(faults)
    return {**document, "parameters": {**(parameters or {}), **made}} if made else document


def read_descriptors(path: Path, parameter: str) -> dict[str, dict[str, float | str | None]]:
    """The lines of a file by category: the column called like the parameter, or else the first, names these."""
    sheet = load_sheet(path, storage.read_bytes(path), [parameter])
    names = list(sheet.columns)
    first = parameter if parameter in names else names[0]
    if len(names) < 2:
        raise FileError(f"{path} has one column; it needs one for the categories and one for each descriptor")
    categories = [text.strip() for text in sheet.columns[first]]
    twice = next((one for place, one in enumerate(categories) if one and one in categories[:place]), None)
    if twice is not None:
        raise FileError(f"{path} has two lines for {twice!r}; keep one of them")
    others = {name: column for name, column in sheet.columns.items() if name != first}
    marks = decide(others, separator=sheet.separator).marks
    read: dict[str, list[float | str | None]] = {}
    for name, column in others.items():
        reader = Numbers(marks[name])
        read[name] = [_cell(reader, text) for text in column]
    return {one: {name: read[name][place] for name in read} for place, one in enumerate(categories) if one}


def _cell(reader: Numbers, text: str) -> float | str | None:
    """A number, None for a blank; any other text as it is, which is an error in a column of numbers."""
    try:
        value = reader(text)
    except CellError:
        return text
    return value if value is None or isinstance(value, float) else text
