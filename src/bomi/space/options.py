"""What every kind of parameter can be given beside its values: its unit, what a blank means, who sets it."""

from __future__ import annotations

from typing import Any

from bomi.errors import CellError, SpaceError, shown
from bomi.space.cells import Known

SEVERAL = 20  # blanks of a column, from which their meaning is learned unasked
MAYBE, UNKNOWN, ZERO = "maybe", "unknown", "zero"  # what `blank` may say; otherwise it is a value


def check_options(parameter: Any) -> None:
    """SpaceError, if an option makes no sense. The default comes last, since the parameter reads it."""
    if not isinstance(parameter.unit, str):
        raise SpaceError(f"`unit` must be a text, but got {shown(parameter.unit)}", ("unit",))
    if not isinstance(parameter.measured, bool):
        raise SpaceError(f"`measured` must be True or False, but got {shown(parameter.measured)}", ("measured",))
    if parameter.same_within is not None and not isinstance(parameter.same_within, str):
        raise SpaceError(
            f"`same_within` must be the name of a column, but got {shown(parameter.same_within)}", ("same_within",)
        )
    _check_default(parameter)


def _check_default(parameter: Any) -> None:
    """What blanks are taken for must be a value that the parameter can read, inside its bounds or not.

    A value of `blank` is the default under another name.
    """
    key = "default"
    if parameter.blank is not None and parameter.blank not in (MAYBE, UNKNOWN):
        key = "blank"
        value = 0 if parameter.blank == ZERO and ZERO not in getattr(parameter, "values", ()) else parameter.blank
        if parameter.default is not None:
            raise SpaceError(
                f"`blank` says that a blank is {shown(value)}, and `default` that it is {shown(parameter.default)}; "
                f"keep one of them, or say blank={MAYBE!r}",
                ("blank",),
                ("default",),
            )
        object.__setattr__(parameter, "default", value)
        object.__setattr__(parameter, "blank", None)
    if parameter.default is None:
        return
    try:
        value = parameter.read(parameter.default)
        if not isinstance(value, Known):
            raise CellError(f"it must be a plain value, but got {shown(parameter.default)}")
        parameter.to_unit(value)
    except CellError as error:
        hint = f" (or {MAYBE!r}, {UNKNOWN!r}, {ZERO!r})" if key == "blank" else ""
        raise SpaceError(f"`{key}`{hint}: {error}", (key,)) from None
    object.__setattr__(parameter, "default", value)
