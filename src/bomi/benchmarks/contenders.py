"""Who takes part in a comparison: every method, and two yardsticks beside them.

    oracle   told every true input, as if nothing had ever gone missing
    naive    told that everything went as asked, and history gaps filled with the column's mean

Both use the best surrogate there is, so that what lies between them is the price of the gaps alone. A method's
settings may follow its name: `bomi:worlds=10,rank=5`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bomi.benchmarks.functions import FloatArray
from bomi.benchmarks.missingness import Initial
from bomi.errors import MethodError
from bomi.methods import METHODS, Method, method


class View(NamedTuple):
    """What of the truth an optimizer is told; NaN for unknown."""

    history: Callable[[Initial], FloatArray]  # -> (n, d)
    evaluation: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # asked, actual, recorded -> (d,)


def _recorded(initial: Initial) -> FloatArray:  # (n, d)
    return initial.recorded


def _true(initial: Initial) -> FloatArray:  # (n, d)
    return initial.inputs


def _column_means(initial: Initial) -> FloatArray:  # (n, d)
    known = ~np.isnan(initial.recorded)
    # A column without a single value keeps its gaps: there is no mean to fill them with.
    total = np.where(known, initial.recorded, 0.0).sum(0)
    means = np.divide(total, known.sum(0), out=np.full(total.shape, np.nan), where=known.any(0))
    return np.where(known, initial.recorded, means)


def _as_recorded(asked: FloatArray, actual: FloatArray, recorded: FloatArray) -> FloatArray:  # (d,)
    return recorded


def _as_it_was(asked: FloatArray, actual: FloatArray, recorded: FloatArray) -> FloatArray:  # (d,)
    return actual


def _as_asked(asked: FloatArray, actual: FloatArray, recorded: FloatArray) -> FloatArray:  # (d,)
    return asked


RECORDED = View(_recorded, _as_recorded)
_YARDSTICKS = {"oracle": View(_true, _as_it_was), "naive": View(_column_means, _as_asked)}
YARDSTICKS = tuple(_YARDSTICKS)
"""The contenders that are no methods."""


@dataclass(frozen=True)
class Contender:
    """A method, its name in tables, and what it is told."""

    label: str
    method: Method
    view: View = RECORDED


def contender(spec: str | Method | Contender) -> Contender:
    """The contender that a text such as `bomi`, `bomi:worlds=10` or `oracle` names.

    >>> contender("bomi: worlds=10").label
    'bomi:worlds=10'
    """
    if isinstance(spec, Contender):
        return spec
    if isinstance(spec, Method):
        return Contender(spec.name, spec)
    name, _, text = (part.strip() for part in spec.partition(":"))
    settings = _settings(text, spec)
    label = name + (":" + ",".join(f"{key}={value}" for key, value in settings.items()) if settings else "")
    if name in _YARDSTICKS:
        return Contender(label, method(_best_method(), **settings), _YARDSTICKS[name])
    try:
        return Contender(label, method(name, **settings))
    except MethodError as error:
        beside = "" if name in METHODS else f"; also {', '.join(YARDSTICKS)}"
        raise MethodError(f"{error}{beside}") from None


def split(text: str) -> list[str]:
    """The contenders of a list such as `bomi,posterior:worlds=10,sweeps=5,mean`: a setting belongs to the name before.

    >>> split("bomi, posterior:worlds=10,sweeps=5, mean")
    ['bomi', 'posterior:worlds=10,sweeps=5', 'mean']
    """
    found: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        if found and re.match(r"\w+\s*=", part):
            found[-1] += ("," if ":" in found[-1] else ":") + part
        elif part:
            found.append(part)
    return found


def contenders(specs: Iterable[str | Method | Contender]) -> list[Contender]:
    """Each of them, once."""
    found = {made.label: made for made in map(contender, specs)}
    return list(found.values())


def _best_method() -> str:
    return "posterior" if "posterior" in METHODS else "bomi"


def _settings(text: str, spec: str) -> dict[str, Any]:
    settings = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise MethodError(f"a setting is written name=value, but got {part!r} in {spec!r}")
        try:
            settings[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            settings[key] = value  # a word
    return settings
