"""Results on standard output: a table for people, JSON or CSV for programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bomi.cli.console import console, visible
from bomi.cli.options import Format, kind_of
from bomi.results import AnyPrediction, missing, percent, plain, rounded
from bomi.space import cells

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from bomi.results import AsDone, Prediction

SHORT = 24  # characters of a text that is not wrapped


def records_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The lines of a table, by column."""
    return [{str(name): value for name, value in record.items()} for record in frame.to_dict("records")]


def show(
    records: Sequence[Mapping[str, Any]], shape: Format, document: object = None, *, title: str | None = None
) -> None:
    """Print records as a table or as CSV, or the document as JSON."""
    if shape is Format.json:
        typer.echo(json.dumps(plain(document), ensure_ascii=False, indent=2, allow_nan=False))
    elif shape is Format.csv:
        _show_csv(records)
    elif records:
        from rich.table import Table as RichTable
        from rich.text import Text

        above = Text(visible(title), style="bold") if title else None
        table = RichTable(title=above, title_justify="left", header_style="bold")
        for name in records[0]:
            numeric = all(isinstance(record[name], int | float) or record[name] is None for record in records)
            table.add_column(Text(visible(name)), justify="right" if numeric else "left")
        for record in records:
            table.add_row(*(Text(_text(value)) for value in record.values()))
        screen = console()
        if screen.is_terminal and _width(records) > screen.width:
            for record in records:  # a narrow terminal: one line for each value
                wide = max(map(len, record))
                lines = [f"{visible(name):<{wide}}  {_text(value)}" for name, value in record.items()]
                typer.echo("\n".join(lines) + "\n")
        else:
            screen.print(table)


def _width(records: Sequence[Mapping[str, Any]]) -> int:
    """How wide a table of the records is if only long texts are wrapped, between words."""

    def least(text: str) -> int:
        return len(text) if len(text) <= SHORT else max(map(len, text.split()), default=0)

    columns = [max(len(name), *(least(_text(record[name])) for record in records)) for name in records[0]]
    return sum(columns) + 3 * len(columns) + 1


def _show_csv(records: Sequence[Mapping[str, Any]]) -> None:
    from bomi.campaign.sheet import is_formula

    def cell(value: object) -> str:
        text = "" if missing(value) else cells.text(value)  # type: ignore[arg-type]
        return f"'{text}" if is_formula(text) else text  # so that a spreadsheet shows it and does not run it

    writer = csv.writer(sys.stdout, lineterminator="\n")
    if records:
        writer.writerow([cell(name) for name in records[0]])
    writer.writerows([cell(value) for value in record.values()] for record in records)


def with_shares(records: Sequence[Mapping[str, Any]], name: str) -> list[dict[str, Any]]:
    """The records with a column of shares as texts, the largest first: "oil 60 %, air 40 %"."""
    return [{**record, name: _shares(record[name])} for record in records]


def _shares(each: object) -> str | None:
    found = each.items() if isinstance(each, Mapping) else ()
    largest = sorted((item for item in found if item[1] > 0), key=lambda item: -item[1])
    return ", ".join(f"{cells.text(value)} {percent(share)}" for value, share in largest) or None


def without_empty(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """The records without those of the named columns that have nothing in any record."""
    empty = {name for name in names if all(missing(record[name]) for record in records)}
    return [{name: value for name, value in record.items() if name not in empty} for record in records]


def _text(value: object) -> str:
    """A value in a table that people read: numbers to four digits."""
    if missing(value):
        return "–"
    if isinstance(value, float) and value != int(value):
        return f"{value:.4g}"
    return visible(cells.text(value))  # type: ignore[arg-type]


def flat(predicted: AnyPrediction, what: str = "predicted") -> dict[str, float | None]:
    """The prediction of the outcome, or of each of several, by columns; none where equipment does not stray."""
    if predicted is None and what != "predicted":
        return {}
    if isinstance(predicted, Mapping):
        return {
            f"{what}.{name}.{part}": value for name, one in predicted.items() for part, value in one._asdict().items()
        }
    if predicted is None:
        return {"predicted.mean": None, "predicted.sd": None}
    return {f"{what}.{part}": value for part, value in predicted._asdict().items()}


def pairs(predicted: AnyPrediction, what: str = "predicted") -> dict[str, str | None]:
    """The same for people."""
    if predicted is None and what != "predicted":
        return {}
    if isinstance(predicted, Mapping):
        return {f"{what} {name}": _pair(one) for name, one in predicted.items()}
    return {what: _pair(predicted)}


def _pair(predicted: Prediction | AsDone | None) -> str | None:
    return rounded(predicted) if predicted else None


def save_figure(made: Figure, path: Path) -> Path:
    """Save a figure in the format that the name of its file says; its path."""
    from bomi.analysis import drawing

    return drawing.save(made, path.with_suffix(""), [kind_of(path)])[0]
