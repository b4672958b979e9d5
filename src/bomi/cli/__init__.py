"""The command line. Each command calls one function of the library and prints what it returns.

Results go to standard output, progress and messages to standard error. What loads torch is imported within the
commands that need it, so that help and completion answer at once.
"""

from bomi.cli.app import app, main

__all__ = ["app", "main"]
