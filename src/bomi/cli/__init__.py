"""The command line. Each command calls one function of the library and prints what it returns.

Results go to standard output, progress and messages to standard error. What loads torch is imported within the
commands that need it, so that help and completion answer at once.
"""

import contextlib
import os
import signal
from typing import Any


def _stop(*_: Any) -> None:
    """End at once, with a line and without a traceback: nothing has been begun while modules are loaded."""
    os.write(2, b"bomi: stopped\n")
    os._exit(130)


with contextlib.suppress(ValueError):  # signals belong to the main thread
    _before = signal.signal(signal.SIGINT, _stop)

from bomi.cli.app import app, main  # noqa: E402  # after that, so that Ctrl-C finds it

with contextlib.suppress(ValueError, NameError):
    signal.signal(signal.SIGINT, _before)

__all__ = ["app", "main"]
