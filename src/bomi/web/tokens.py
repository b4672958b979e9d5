"""The token that opens the page: one for each user of this machine, so that a page started again knows its tabs."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path


def own_token() -> str:
    """The token in the user's own folder, made the first time; a fresh one where no such file can be had."""
    path = _folder() / "web-token"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(24))
        except FileExistsError:
            pass
        if os.name == "posix":
            path.chmod(0o600)
        token = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return secrets.token_urlsafe(24)
    return token if re.fullmatch(r"[\w-]{32,}", token) else secrets.token_urlsafe(24)


def _folder() -> Path:
    """Where programs keep their state."""
    given = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(given) if given else Path.home() / ".local" / "state") / "bomi"
