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
