"""The arguments and options that commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bomi.errors import BomiError


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"
    csv = "csv"


Table = Annotated[
    Path, typer.Argument(metavar="TABLE", readable=False, help="Your table: .csv, .tsv, .txt, .xlsx, .xls or .ods.")
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--campaign", "-c", readable=False, help="The campaign file; campaign.toml beside the table if not given."
    ),
]
Shape = Annotated[Format, typer.Option("--format", help="How to print the result.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed and table give the same answer.")]
Given = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="The value of a parameter that is not to be chosen, or of a group, such as lot=B; once for each.",
    ),
]
Candidates = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, help="A list to choose from, with the table's columns.")
]


def read_given(texts: list[str] | None) -> dict[str, object]:
    """The values of --given, by name; the name may hold an equals sign, the value cannot."""
    given: dict[str, object] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.rpartition("="))
        if not equals or not name or not value:
            raise BomiError(f"--given needs a parameter and its value, such as humidity=41, but got {text!r}")
        if name in given:
            raise BomiError(f"--given has two values for {name!r}")
        given[name] = value
    return given


def kind_of(figure: Path) -> str:
    """The format of a figure, by the file's name."""
    kind = figure.suffix.lstrip(".").lower() or "png"
    if kind not in ("png", "svg"):
        raise BomiError(f"a figure is saved as .png or .svg, but got {figure.name!r}")
    return kind


def _checked(figure: Path | None) -> Path | None:
    if figure is not None:
        kind_of(figure)
    return figure


def figure_option(what: str) -> Any:
    """The option that names the file of a figure; a wrong name is told before anything is computed."""
    return typer.Option("--output", "-o", help=what, callback=_checked)


Risk = Annotated[
    str,
    typer.Option(
        help="What is to be best: 'expected', the average over what the equipment makes of the request; 'nominal', the "
        "outcome if it is done exactly; 'worst:0.1', the mean of the worst tenth of what may come out."
    ),
]
