"""What is wanted of an outcome: as much of it as possible, as little, a certain value, or no more than that."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from bomi.errors import CellError, SpaceError, shown
from bomi.space.numbers import plain_number, space_number

MAXIMIZE, MINIMIZE, TARGET, LIMIT = GOALS = ("maximize", "minimize", "target", "limit")
WITH_VALUE = (TARGET, LIMIT)
ERROR = ".sd"  # what follows the name of an outcome in that of the column with its known standard errors


@dataclass(frozen=True)
class Objective:
    """An outcome and what is wanted of it.

    Args:
        name: As its column in a table.
        goal: "maximize", "minimize", "target", or "limit" where the outcome only has to stay at or below a value.
        target: The value wanted, where the goal is one, or the limit.
        unit: As people write it.
        range: Between which values it lies by its nature: (0, 100) for a yield in per cent, (0, inf) for a weight.
        cost: What an experiment costs, in the outcome's unit: the gain that makes it just worth while.
    """

    name: str
    goal: str = MAXIMIZE
    target: float | None = None
    unit: str = ""
    range: tuple[float, float] | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise SpaceError(f"an objective needs a name, but got {shown(self.name)}", ("name",))
        if not isinstance(self.goal, str) or self.goal not in GOALS:
            raise SpaceError(
                "goal must be 'maximize', 'minimize', ('target', value) or ('limit', value), "
                f"but got {shown(self.goal)}",
                ("goal",),
            )
        try:
            target = None if self.target is None else plain_number(self.target)
        except CellError:
            target = None
        if (self.goal in WITH_VALUE) != (target is not None) or (self.target is not None and target is None):
            raise SpaceError(
                f"a target goes with the goal 'target' or 'limit' and is a finite number, as in ('target', 7.0); "
                f"objective {self.name!r} got the goal {self.goal!r} and the target {shown(self.target)}",
                ("target",),
            )
        object.__setattr__(self, "target", target)
        if not isinstance(self.unit, str):
            raise SpaceError(f"the unit of {self.name!r} must be a text, but got {shown(self.unit)}", ("unit",))
        if self.range is not None:
            object.__setattr__(self, "range", self._checked_range(self.range))
        if self.cost is not None:
            cost = space_number(f"the cost of an experiment for {self.name!r}", self.cost, ("cost",))
            if cost < 0:
                raise SpaceError(f"the cost of an experiment must be 0 or more, but got {shown(self.cost)}", ("cost",))
            object.__setattr__(self, "cost", float(cost))

    def _checked_range(self, ends: object) -> tuple[float, float]:
        """Two numbers, the smaller one first; one of them may be infinite."""
        if isinstance(ends, list | tuple) and len(ends) == 2:
            low, high = (
                float(end)
                if end in (-math.inf, math.inf)
                else float(space_number("an end of a range", end, ("range",)))
                for end in ends
            )
            if low < high and not (math.isinf(low) and math.isinf(high)):
                return low, high
        raise SpaceError(
            f"the range of {self.name!r} must be [low, high] with low < high, such as [0, 100] or [0, inf], "
            f"but got {shown(ends)}",
            ("range",),
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which values it lies by its nature."""
        return self.range or (-math.inf, math.inf)

    @property
    def sign(self) -> float:
        """What the outcome is multiplied by so that more is better: -1 where less is."""
        return -1.0 if self.goal == MINIMIZE else 1.0

    @property
    def signed_bounds(self) -> tuple[float, float]:
        """The same, negated where less is better."""
        low, high = sorted(self.sign * end for end in self.bounds)
        return low, high

    @property
    def limited(self) -> bool:
        """Whether it only has to stay at or below a value."""
        return self.goal == LIMIT

    def merit(self, outcome: float) -> float:
        """How good an outcome is, larger is better: the outcome, its negative, or minus its distance to the target or
        beyond the limit.

        >>> Objective("pH", "target", 7.0).merit(6.5)
        -0.5
        """
        if self.target is None:
            return self.sign * outcome
        return min(self.target - outcome, 0.0) if self.limited else -abs(outcome - self.target)

    @property
    def wish(self) -> str:
        """In words.

        >>> Objective("pH", "target", 7.0).wish
        'pH near 7'
        """
        if self.target is None:
            return f"{self.goal} {self.name}"
        return f"{self.name} {'at most' if self.limited else 'near'} {self.target:g}"


def objective_of(name: str, goal: object = MAXIMIZE, unit: str = "") -> Objective:
    """An outcome with a goal as users write it: "maximize", "minimize", ("target", 7.0) or ("limit", 7.0); or an
    `Objective`."""
    if isinstance(goal, Objective):
        return replace(goal, name=name)
    if isinstance(goal, tuple | list) and len(goal) == 2 and isinstance(goal[0], str) and goal[0] in WITH_VALUE:
        return Objective(name, goal[0], goal[1], unit)
    return Objective(name, goal, None, unit)  # type: ignore[arg-type]  # it checks itself


def read_objectives(objective: str | Mapping[str, object], goal: object = None) -> tuple[Objective, ...]:
    """One outcome by name and goal, or several as a mapping of name to goal.

    >>> [one.wish for one in read_objectives({"yield": "maximize", "impurity": "minimize"})]
    ['maximize yield', 'minimize impurity']
    """
    if isinstance(objective, Mapping):
        if goal is not None:
            raise SpaceError(f"each of several objectives brings its own goal, but got goal={shown(goal)} beside them")
        if not objective:
            raise SpaceError("there must be at least one objective, but got none")
        return tuple(objective_of(name, wanted) for name, wanted in objective.items())
    if isinstance(objective, list | tuple | Set):
        raise SpaceError(
            "several objectives are a mapping of each to its goal, such as {'yield': 'maximize', 'cost': 'minimize'}, "
            f"but got {shown(objective)}"
        )
    return (objective_of(objective, MAXIMIZE if goal is None else goal),)


def wanted(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    """Those that are to be good; the others only have to keep their limits."""
    return tuple(objective for objective in objectives if not objective.limited)


def keeps_limits(objectives: Sequence[Objective], outcomes: Mapping[str, float]) -> bool:
    """Whether none of the outcomes that are known breaks its limit."""
    return all(one.merit(outcomes[one.name]) >= 0 for one in objectives if one.limited and one.name in outcomes)


def check_objectives(objectives: Sequence[Objective], taken: Sequence[str], reserved: str) -> None:
    """Refuse limits alone, and outcomes called like a parameter, each other, or a column with a meaning of its own."""
    if objectives and all(objective.limited for objective in objectives):
        raise SpaceError(
            "something must be wanted beside limits: maximize or minimize an outcome, or give it a target",
            ("objectives", objectives[0].name, "goal"),
        )
    names = [objective.name for objective in objectives]
    for name in names:
        errors = [other + ERROR for other in names]
        if name in taken or name in errors or name.startswith(reserved) or names.count(name) > 1:
            raise SpaceError(
                f"an objective needs a name of its own, that no parameter or column has, but got {name!r}",
                ("objectives", name),
            )
    for parameter in taken:
        if parameter in errors:
            raise SpaceError(
                f"{parameter!r} is the column for standard errors of {parameter.removesuffix(ERROR)!r}; "
                "a parameter needs another name",
                ("parameters", parameter),
            )
