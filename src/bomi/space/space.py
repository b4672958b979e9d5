"""Named parameters with constraints, and the map to and from the unit cube.

A space of p parameters is the cube [0, 1]^d with d >= p, and `columns` says which columns are whose.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bomi.errors import SpaceError, shown
from bomi.space import cells
from bomi.space.cells import Cell, Known
from bomi.space.choices import Categorical, Ordinal
from bomi.space.conditions import Conditions
from bomi.space.descriptors import Descriptors
from bomi.space.linear import Linear
from bomi.space.nonzero import NonZero
from bomi.space.numbers import Array
from bomi.space.parameters import Parameter
from bomi.space.polytope import Polytope
from bomi.space.product import Product
from bomi.space.quantities import Integer, Real
from bomi.space.sums import Constraint, Mask

RESERVED = "asked."  # the column prefix for what was asked of a parameter
IDENTITY = "id"  # the column that names an experiment
EXCLUDE = "exclude"  # the column that marks rows which nothing is learned from
TAKEN = (IDENTITY, EXCLUDE)  # names that no parameter and no outcome can have
_EXACT = Context(prec=400)  # digits: a number of size 1e100 to a millionth of a range of 1e-100, and more


def _parameter(name: str, spec: object) -> Parameter:
    if isinstance(spec, Real | Integer | Categorical | Ordinal):
        return spec
    try:
        if isinstance(spec, tuple) and len(spec) == 2:
            return Real(*spec)
        if isinstance(spec, list):
            return Categorical(spec)
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r}: {error}", *error.within("parameters", name)) from None
    raise SpaceError(
        f"parameter {name!r} must be a Real, an Integer, a Categorical, an Ordinal, a (low, high) tuple or a "
        f"list of values, but got {shown(spec)}",
        ("parameters", name),
    )


class Space:
    """The parameters of an experiment, by name.

    Args:
        parameters: A mapping of name to parameter; (low, high) stands for a `Real`, a list for a `Categorical`.
        constraints: Any number of `Linear`, `Product` and `NonZero`; every suggestion keeps them all.
        conditions: Columns of groups and of the time; `Optimizer(groups=..., drift=...)` fills them in.

    >>> space = Space({"temperature": (20, 400), "quench": ["water", "oil"]})
    >>> space.to_unit({"temperature": 115, "quench": "oil"})
    array([0.25, 0.  , 1.  ])
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        constraints: Sequence[Constraint] = (),
        conditions: Conditions = Conditions(),  # noqa: B008  # frozen, so one instance serves all
    ) -> None:
        if not isinstance(parameters, Mapping) or not parameters:
            raise SpaceError(f"a space needs a mapping of name to parameter, but got {shown(parameters)}")
        for name in parameters:
            if not isinstance(name, str) or not name.strip() or name.startswith(RESERVED) or name in TAKEN:
                raise SpaceError(
                    f"a parameter's name must be a text other than {' and '.join(map(repr, TAKEN))} that does not "
                    f"start with {RESERVED!r}, but got {shown(name)}",
                    ("parameters", shown(name) if not isinstance(name, str) else name),
                )
        made = {name: _parameter(name, spec) for name, spec in parameters.items()}
        self.parameters: Mapping[str, Parameter] = MappingProxyType(made)
        self.names: tuple[str, ...] = tuple(made)
        if not isinstance(constraints, Sequence) or isinstance(constraints, str):
            raise SpaceError(
                f"constraints must be a list of Linear, Product and NonZero, but got {shown(constraints)}",
                ("constraints",),
            )
        self.constraints = tuple(constraints)
        self.conditions = conditions
        for name in conditions.columns:
            if name in made or name in TAKEN or name.startswith(RESERVED):
                raise SpaceError(
                    f"{name!r} cannot be a column of groups or of the time: it is "
                    + ("a parameter" if name in made else "a name that bomi uses"),
                    ("groups", "columns") if name in conditions.groups else ("drift", "column"),
                )
        if len(self.measured) == len(made):
            raise SpaceError("every parameter is measured: nothing can be set", ("parameters",))
        if self.polytope is not None:
            self.polytope.check()

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Space)
            and list(self.parameters.items()) == list(other.parameters.items())
            and self.constraints == other.constraints
            and self.conditions == other.conditions
        )

    def __hash__(self) -> int:
        return hash((tuple(self.parameters.items()), self.constraints, self.conditions))

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (dict(self.parameters), self.constraints, self.conditions)

    def __repr__(self) -> str:
        beside = f", constraints={list(self.constraints)!r}" if self.constraints else ""
        beside += f", conditions={self.conditions!r}" if self.conditions else ""
        return f"Space({dict(self.parameters)!r}{beside})"

    def under(self, conditions: Conditions) -> Space:
        """The same parameters with other columns that tell of conditions."""
        return Space(self.parameters, constraints=self.constraints, conditions=conditions)

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The parameters that are measured and cannot be set."""
        return tuple(name for name, parameter in self.parameters.items() if parameter.measured)

    @cached_property
    def beside(self) -> tuple[str, ...]:
        """The columns beside the parameters that are read: those of rows that share a value, and of conditions."""
        named = [one.same_within for one in self.parameters.values() if one.same_within is not None]
        return tuple(name for name in dict.fromkeys((*named, *self.conditions.columns)) if name not in self.parameters)

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """Each parameter's columns of the cube."""
        ends = np.cumsum([0, *(parameter.width for parameter in self.parameters.values())])
        return tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(ends))

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The parameter that each column of the cube belongs to.  (d,)"""
        return np.repeat(np.arange(len(self)), [p.width for p in self.parameters.values()])

    @cached_property
    def described(self) -> tuple[tuple[int, Descriptors], ...]:
        """The parameters whose categories are described, and by what."""
        each = enumerate(self.parameters.values())
        return tuple((j, one.descriptors) for j, one in each if isinstance(one, Categorical) and one.descriptors)

    @property
    def dim(self) -> int:
        """How many columns the cube has."""
        return len(self.groups)

    def to_unit(self, values: Mapping[str, Known]) -> Array:
        """The place of a setting in the cube.  (d,)"""
        return np.array([u for name, p in self.parameters.items() for u in p.to_unit(values[name])])

    def place(self, values: Mapping[str, Cell]) -> Array:
        """The place of a setting in the cube as far as it is known, NaN elsewhere.  (d,)"""
        return np.asarray(self.places([values])[0])

    def places(self, settings: Sequence[Mapping[str, Cell]]) -> Array:
        """The places of many settings, as far as they are known.  (m, d)"""
        return self.table({name: [setting.get(name) for setting in settings] for name in self.names}, len(settings))

    def table(self, columns: Mapping[str, Sequence[Cell]], count: int) -> Array:
        """The places of many settings given by columns, as far as they are known.  (count, d)"""
        found = np.full((count, self.dim), np.nan)
        for (name, parameter), part in zip(self.parameters.items(), self.columns, strict=True):
            column = [one if isinstance(one, Known) else None for one in columns.get(name, ())]
            if isinstance(parameter, Real) and not parameter.log and column:
                found[:, part] = parameter.places(np.array(column, dtype=float))
            elif column:
                known: dict[Cell, list[float]] = {one: parameter.to_unit(one) for one in column if one is not None}
                blank = [np.nan] * parameter.width
                found[:, part] = [known.get(one, blank) for one in column]
        return found

    def from_unit(self, place: Array) -> dict[str, Known]:
        """The setting at a place of the cube."""
        return {
            name: p.from_unit(place[part])
            for (name, p), part in zip(self.parameters.items(), self.columns, strict=True)
        }

    def setting(self, place: Array) -> dict[str, Known]:
        """The setting at a place of the cube, in round numbers that a person can dial."""
        exact = self.from_unit(place)
        tidy = {name: self.parameters[name].tidy(value) for name, value in exact.items()}
        return tidy if self.polytope is None else self._tidied(exact, tidy)

    def snap(self, places: Array) -> Array:
        """The nearest admissible places of the cube.  (..., d)"""
        parts = zip(self.parameters.values(), self.columns, strict=True)
        return np.concatenate([p.snap(places[..., part]) for p, part in parts], axis=-1)

    def expand(self, places: Array) -> Array:
        """Positions of [0, 1]^p, one for each parameter, as admissible places of the cube.  (..., p) -> (..., d)"""
        return np.concatenate([p.expand(places[..., j]) for j, p in enumerate(self.parameters.values())], axis=-1)

    def rest(self, given: Mapping[str, Known]) -> Space:
        """What is left to set once some parameters have a value; what they leave of the constraints still holds."""
        known = (*given, *self.measured)
        left = {name: parameter for name, parameter in self.parameters.items() if name not in known}
        if not left:
            raise SpaceError("every parameter that can be set is given: nothing is left to choose")
        said = ", ".join(f"{name} = {cells.text(value)}" for name, value in given.items())
        if broken := self.broken(given):
            raise SpaceError(f"{said} breaks the constraint {broken[0]}")
        try:
            return Space(left, constraints=[one for each in self.constraints for one in each.rest(given)])
        except SpaceError as error:
            raise SpaceError(f"with {said}, {error}") from None

    # --- constraints -----------------------------------------------------------------------------------------------

    @cached_property
    def polytope(self) -> Polytope | None:
        """The settings that keep the constraints, of the parameters these speak of; None without constraints."""
        axes = {}
        for place, constraint in enumerate(self.constraints):
            if not isinstance(constraint, Linear | Product | NonZero):
                raise SpaceError(
                    f"a constraint must be a Linear, a Product or a NonZero, but got {shown(constraint)}",
                    ("constraints", place),
                )
            for name in constraint.names:
                at = ("constraints", place, constraint.key, name)
                parameter = self.parameters.get(name)
                if parameter is None:
                    near = difflib.get_close_matches(name, self.names, n=1)
                    hint = f"did you mean {near[0]!r}?" if near else f"the parameters are {', '.join(self.names)}"
                    raise SpaceError(
                        f"the constraint {constraint} speaks of {name!r}, which is no parameter; {hint}", at
                    )
                if isinstance(parameter, Categorical) or (isinstance(parameter, Ordinal) and not parameter.numeric):
                    raise SpaceError(
                        f"the constraint {constraint} speaks of {name!r}, which is no number but one of "
                        f"{parameter.range_text}",
                        at,
                    )
                if parameter.measured:
                    raise SpaceError(
                        f"the constraint {constraint} speaks of {name!r}, which is measured: nobody can keep it", at
                    )
                axes[name] = axis = parameter.axis(name)
                zero = not axis.levels or 0.0 in axis.levels
                if isinstance(constraint, NonZero) and not (axis.low <= 0 <= axis.high and zero):
                    raise SpaceError(
                        f"the constraint {constraint} speaks of {name!r}, which cannot be 0: it is in "
                        f"{parameter.range_text}",
                        at,
                    )
                if isinstance(constraint, Product) and axis.low < 0:
                    raise SpaceError(
                        f"the constraint {constraint} is a product, whose parameters must not be below 0, but {name!r} "
                        f"is in {parameter.range_text}",
                        at,
                    )
        ordered = [axes[name] for name in self.names if name in axes]
        return Polytope(self.constraints, ordered) if ordered else None

    @cached_property
    def constrained(self) -> NDArray[np.int64]:
        """The parameters that a constraint speaks of.  (k,)"""
        spoken = {name for constraint in self.constraints for name in constraint.names}
        return np.array([j for j, name in enumerate(self.names) if name in spoken], dtype=np.int64)

    @cached_property
    def _constrained(self) -> list[tuple[Any, slice]]:
        parameters = list(self.parameters.values())
        return [(parameters[j], self.columns[j]) for j in self.constrained]

    def numbers(self, places: Array) -> Array:
        """The constrained parameters' numbers at places of the cube.  (..., d) -> (..., k)"""
        return np.stack([parameter.numbers(places[..., part]) for parameter, part in self._constrained], -1)

    def slopes(self, place: Array) -> Array:
        """How fast the constrained parameters' numbers change along their columns.  (d,) -> (k,)"""
        return np.array([parameter.slope(place[part]) for parameter, part in self._constrained])

    def with_numbers(self, places: Array, numbers: Array) -> Array:
        """Places of the cube with other numbers of the constrained parameters.  (..., d), (..., k) -> (..., d)"""
        moved = places.copy()
        for i, (parameter, part) in enumerate(self._constrained):
            moved[..., part] = parameter.places(numbers[..., i])
        return moved

    def holds(self, places: Array) -> Mask:
        """Whether places of the cube keep all constraints, up to rounding.  (m, d) -> (m,)"""
        if self.polytope is None:
            return np.ones(len(places), dtype=bool)
        return self.polytope.holds(self.numbers(places))

    def project(self, places: Array, free: Mask | None = None, *, thorough: bool = True) -> Array:
        """The nearest admissible places that keep the constraints, moving only parameters that are free; a place from
        which none is reached stays.  (m, d), (m, p) -> (m, d)"""
        if self.polytope is None or not len(places):
            return places
        mine = None if free is None else free[:, self.constrained]
        numbers = self.numbers(places)
        if mine is None:
            numbers = np.clip(numbers, self.polytope.low, self.polytope.high)
        projected = self.polytope.project(numbers, mine, thorough=thorough)
        possible = ~np.isnan(projected).any(-1)
        moved = places.copy()
        moved[possible] = self.with_numbers(places[possible], projected[possible])
        return moved

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Random admissible places of the cube that keep the constraints.  (count, d)"""
        places = self.expand(rng.random((count, len(self))))
        if self.polytope is None:
            return places
        return self.with_numbers(places, self.polytope.draw(count, rng))

    def broken(self, values: Mapping[str, Cell]) -> list[Constraint]:
        """The constraints that a setting breaks, as far as its values are known."""
        if self.polytope is None:
            return []
        known = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
        z = np.array([known.get(axis.name, 0.0) for axis in self.polytope.axes])
        kept = self.polytope.kept(z[None])[0]
        return [
            one
            for one, fine in zip(self.constraints, kept, strict=True)
            if not fine and (isinstance(one, NonZero) or all(name in known for name in one.names))
        ]

    def _tidied(self, exact: dict[str, Known], tidy: dict[str, Known]) -> dict[str, Known]:
        """Round numbers that keep the constraints as well: a fixed sum by its roomiest term, a limit by rounding the
        other way; the exact numbers where that does not do."""
        tidy = dict(tidy)
        for one in self.constraints:
            moving = [name for name in one.names if self.parameters[name].levels is None]
            if isinstance(one, NonZero):
                continue
            weights = one.terms if isinstance(one, Linear) else one.powers
            total = one.total(tidy)  # type: ignore[arg-type]
            if one.equals is not None and moving and total != one.equals:
                moving = [name for name in moving if tidy[name] != 0] or moving  # what is 0 may have to be
                room = {name: _room(self.parameters[name], tidy[name]) for name in moving}
                name = max(moving, key=lambda name: room[name])
                if isinstance(one, Product):
                    tidy[name] = one.solve({n: float(tidy[n]) for n in one.names if n != name}).get(name, tidy[name])
                    continue
                rest = Decimal(repr(float(one.equals))) - sum(
                    Decimal(repr(float(c))) * Decimal(repr(float(tidy[other])))
                    for other, c in one.terms.items()
                    if other != name
                )
                number = rest / Decimal(repr(float(one.terms[name])))
                tidy[name] = float(round(number, 12) if abs(number) < 1e15 else number)  # a larger one has no decimals
            elif not one.lower <= total <= one.upper and moving:
                down = total > one.upper
                for name in moving:
                    tidy[name] = _rounded(self.parameters[name], exact[name], down=down == (weights[name] > 0))
        fine = all(self.parameters[name].contains(value) for name, value in tidy.items())
        return tidy if fine and not self.broken(tidy) else exact


def _made(
    parameters: Mapping[str, Parameter],
    constraints: Sequence[Constraint],
    conditions: Conditions = Conditions(),  # noqa: B008
) -> Space:
    """A space from its pickle."""
    return Space(parameters, constraints=constraints, conditions=conditions)


def _room(parameter: Parameter, value: Known) -> float:
    """How far a value is from the ends of its range, as a share of it."""
    assert isinstance(parameter, Real | Integer)
    return min(float(value) - parameter.low, parameter.high - float(value)) / (parameter.high - parameter.low)


def _rounded(parameter: Parameter, value: Known, *, down: bool) -> float:
    """A number rounded down or up as far as it is tidied, and not beyond its range."""
    assert isinstance(parameter, Real | Integer)
    unit = Decimal(10) ** -parameter.decimals_at(float(value))
    rounded = float(Decimal(repr(float(value))).quantize(unit, ROUND_FLOOR if down else ROUND_CEILING, _EXACT))
    return min(max(rounded, parameter.low), parameter.high)
