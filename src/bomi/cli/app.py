"""The program: its commands and its own options."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

import bomi
from bomi.cli import benchmarks, judging, learning, showing, tables, unset
from bomi.cli.console import Commands

app = typer.Typer(
    name="bomi",
    cls=Commands,
    help="Finds the best settings of an experiment some of whose inputs are missing, from the table you already keep.",
    epilog="Start with: bomi init lab.csv, then bomi suggest lab.csv. To see it work: bomi demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog="Example: bomi init lab.csv --objective strength")(tables.init)
app.command(epilog="Example: bomi check lab.csv")(tables.check)
app.command(epilog="Example: bomi new lab.csv")(tables.new)
app.command(epilog="Example: bomi suggest lab.csv -n 2 --append")(learning.suggest)
app.command(epilog="Example: bomi predict lab.csv temperature=180 time=6")(learning.predict)
app.command(epilog="Example: bomi withdraw lab.csv H41 H42")(tables.withdraw)
app.command(epilog="Example: bomi gaps lab.csv")(learning.gaps)
app.command(epilog="Example: bomi best lab.csv --format json")(learning.best)
app.command(epilog="Example: bomi equipment lab.csv -o equipment.png")(unset.equipment)
app.command(epilog="Example: bomi groups lab.csv -o groups.png")(unset.groups)
app.command(epilog="Example: bomi measured lab.csv humidity -o humidity.png")(unset.measured)
app.command(epilog="Example: bomi trust lab.csv")(judging.trust)
app.command(epilog="Example: bomi prospects lab.csv")(judging.prospects)
app.command(epilog="Example: bomi plot lab.csv -o figures")(judging.plot)
app.command(epilog="Example: bomi report lab.csv -o report.html")(judging.report)
app.command(epilog="Example: bomi runsheet lab.csv -o runsheet.pdf")(tables.runsheet)
app.command(epilog="Example: bomi web lab.csv")(showing.web)
app.command(epilog="Example: bomi serve campaigns")(showing.serve)
app.command(epilog="Example: bomi demo -o demo.png")(showing.demo)
app.command()(benchmarks.bench)
app.command()(benchmarks.reproduce)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bomi {bomi.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Options of bomi itself."""


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ± is no reason to stop
    try:
        app(prog_name="bomi")
    except KeyboardInterrupt:
        sys.exit(130)
