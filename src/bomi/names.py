"""The names of the methods: what can be checked of a campaign without loading torch."""

from __future__ import annotations

import difflib

from bomi.errors import MethodError, shown

METHOD_NAMES = ("posterior", "bomi", "drop", "suggest", "mean", "mode", "knn", "bpmf", "ugp", "random")
DEFAULT = METHOD_NAMES[0]


def check_method(name: object) -> None:
    """Refuse a name that no method has; the error lists those there are."""
    if not isinstance(name, str) or name not in METHOD_NAMES:
        near = difflib.get_close_matches(name, METHOD_NAMES, n=1) if isinstance(name, str) else []
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise MethodError(f"unknown method {shown(name)}; the known ones are {', '.join(METHOD_NAMES)}{hint}")
