"""What the program says on standard error: messages, progress, and the user's mistakes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from bomi.errors import BomiError

if TYPE_CHECKING:
    from rich.console import Console


def say(message: str) -> None:
    """A message to standard error."""
    typer.echo(f"bomi: {message}", err=True)


class Commands(TyperGroup):
    """The commands; a mistake of the user ends in a clear line or several and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was called."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BomiError as error:
            for line in str(error).splitlines():
                say(line)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            say("stopped")
            raise typer.Exit(130) from None
        except BrokenPipeError:  # whoever read the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        return result


def console(*, stderr: bool = False) -> Console:
    """Colour and the terminal's width on a terminal; plain and wide elsewhere."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=200)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner on standard error, on a terminal; yields a function that changes its text."""
    with console(stderr=True).status(what) as status:
        yield status.update
