"""The arguments and options that commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


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


def read_risk(text: str) -> str | tuple[str, float]:
    """`expected`, `nominal` or `worst:0.1`; what is none of them is refused where it is used."""
    kind, colon, share = text.partition(":")
    try:
        return (kind, float(share)) if colon else text
    except ValueError:
        return text


Risk = Annotated[
    str,
    typer.Option(
        help="What is to be best: 'expected', the average over what the equipment makes of the request; 'nominal', the "
        "outcome if it is done exactly; 'worst:0.1', the mean of the worst tenth of what may come out."
    ),
]
