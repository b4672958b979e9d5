"""What the program says on standard error: messages, progress, and the user's mistakes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperGroup

from bomi.errors import BomiError

if TYPE_CHECKING:
    from rich.console import Console


def say(message: str) -> None:
    """A message to standard error."""
    typer.echo(f"bomi: {visible(message)}", err=True)


def visible(text: str) -> str:
    """A text from a file, with its control characters and marks of direction spelled out: a terminal may obey them."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        mark if mark.isprintable() or mark in "\n\u00a0\u202f\u2009" else mark.encode("unicode_escape").decode()
        for mark in text
    )


class Commands(TyperGroup):
    """The commands; a mistake of the user ends in a clear line or several and exit code 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options of bomi itself."""
        with _spelled_out():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was called."""
        try:
            with _spelled_out():
                result = super().invoke(ctx)
            sys.stdout.flush()
        except BomiError as error:
            for line in str(error).splitlines():
                say(line)
            raise typer.Exit(2) from None
        except (KeyboardInterrupt, typer.Abort):  # at a question, too
            stopped()
        except OSError as error:
            _give_up_output()
            if isinstance(error, BrokenPipeError):  # whoever read the output has seen enough
                raise typer.Exit(0) from None
            say(f"the output cannot be written: {error.strerror or error}")
            raise typer.Exit(1) from None
        return result


@contextmanager
def _spelled_out() -> Iterator[None]:
    """A wrong argument, such as the name of a file that a pattern found, is printed as typed and not obeyed."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):  # Typer's own
            error.message = visible(getattr(error, "message", ""))  # type: ignore[attr-defined]
        raise


def stopped() -> NoReturn:
    """Ctrl-C: one line, and no more of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    say("stopped")
    raise typer.Exit(130)


@contextmanager
def after(done: str) -> Iterator[None]:
    """Print what came of something done: if the output cannot be written, the message says that it is done."""
    try:
        yield
        sys.stdout.flush()
    except (OSError, KeyboardInterrupt) as error:
        _give_up_output()
        reason = "stopped" if isinstance(error, KeyboardInterrupt) else error.strerror or str(error)
        say(f"{done}, but the output was not written: {reason}")
        raise typer.Exit(130 if isinstance(error, KeyboardInterrupt) else 1) from None


def _give_up_output() -> None:
    """Nothing more goes to standard output: what it still holds would fail again at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console(*, stderr: bool = False) -> Console:
    """Colour and the terminal's width on a terminal; plain and wide elsewhere."""
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich would end the program here, without a word

    made = Ours(stderr=stderr, highlight=False)
    return made if made.is_terminal else Ours(stderr=stderr, highlight=False, width=200)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Show what is done and for how long, if standard error is a terminal; yields a function that sets the text."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    there = console(stderr=True)
    if not there.is_terminal:  # where older versions of rich end what they do not show with an empty line
        yield lambda text: None
        return
    with Progress(*columns, console=there, transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda text: shown.update(task, description=text)
