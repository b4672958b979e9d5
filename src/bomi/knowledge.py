"""What is known of a campaign at one moment: what was told, and what was learned from it.

m places, d columns of the unit cube, r columns of what is to be chosen
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bomi.data.conditions import Coded
from bomi.data.objectives import Objective, wanted
from bomi.data.observations import Observations
from bomi.data.settings import read_candidates, read_given, read_settings
from bomi.errors import BomiError, MethodError, TableError, shown
from bomi.learning import Fit, conditions_of, draw_seed, learn, table_of
from bomi.methods import Method
from bomi.results import Suggestion, Validation
from bomi.search.choices import Choices, Listed
from bomi.space import Array, Space
from bomi.space.cells import Known
from bomi.space.numbers import unwrapped


@dataclass(frozen=True)
class Knowledge:
    """What was told, and, once somebody needs it, what the method has learned from it."""

    objectives: tuple[Objective, ...]
    method: Method
    seed: int
    observations: Observations
    device: str = "cpu"
    before: Any = None  # the state of the method's imputer that learning continues from

    def after(self, observations: Observations) -> Knowledge:
        """The same campaign once something else is told; what was learned is kept while what was tried is the same."""
        learned = vars(self).get("fit")
        other = replace(self, observations=observations, before=self.before if learned is None else learned.state)
        if observations.tried_keys == self.observations.tried_keys:
            vars(other).update({name: vars(self)[name] for name in ("fit", "validations") if name in vars(self)})
        return other

    def under(self, conditions: Mapping[str, object]) -> Knowledge:
        """The same for an experiment under conditions that are given; itself without any."""
        if not conditions:
            return self
        other = replace(self)
        vars(other)["fit"] = self.fit.under(torch.from_numpy(self.coded.now(conditions)))
        return other

    @cached_property
    def fit(self) -> Fit:
        """What the rows that were tried say."""
        table = table_of(self.space, self.objectives, self.observations, self.device)
        fit = learn(table, self.method, self.seed, before=self.before)
        return fit.under(torch.from_numpy(self.coded.now())) if self.space.conditions else fit

    @cached_property
    def validations(self) -> dict[int, Validation]:
        """What was computed of the model's trustworthiness, by outcome."""
        return {}

    @property
    def has_model(self) -> bool:
        """Whether the method learns, and has enough rows to."""
        return self.method.acquisition is not None and self.fit.enough

    def modelled(self) -> Fit:
        """What was learned, if it is enough for a model."""
        if not self.has_model:
            raise MethodError(
                f"method {self.method.name!r} has no model of these rows: it can use {self.fit.usable} "
                f"of them and needs {self.method.rows}; tell more outcomes, or take another method"
            )
        return self.fit

    def with_conditions(self) -> Fit:
        """What was learned, if that is something of groups or drift."""
        if not self.space.conditions:
            raise MethodError('no groups and no drift are learned: say which columns, groups=["day"] or drift="date"')
        return self.modelled()

    @property
    def space(self) -> Space:
        """What can be set, and what is measured."""
        return self.observations.space

    @property
    def wanted(self) -> tuple[Objective, ...]:
        """Those that are to be good; the others only have to keep their limits."""
        return wanted(self.objectives)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of the outcomes."""
        return tuple(objective.name for objective in self.objectives)

    def outcome(self, name: object) -> int:
        """Which outcome has a name, from 0; the first without one."""
        if name is not None and (not isinstance(name, str) or name not in self.outcomes):
            raise TableError(f"no outcome is called {shown(name)}; the outcomes are {', '.join(self.outcomes)}")
        return 0 if name is None else self.outcomes.index(name)

    @property
    def coded(self) -> Coded:
        """The conditions of the experiments as numbers."""
        return conditions_of(self.space, self.observations)

    @property
    def tried_numbers(self) -> list[int]:
        """The places of the rows of the table among all rows."""
        return [i for i, row in enumerate(self.observations.rows) if row.tried]

    @property
    def seed_of_all_rows(self) -> int:
        """A seed for whatever is drawn from this state of the table."""
        return draw_seed(self.seed, len(self.observations.rows))

    @property
    def pending_places(self) -> Tensor:
        """The pending experiments whose inputs, or what was asked, are known; NaN in what is open of these.  (m, d)"""
        each = [({**row.asked, **row.known}, row.asked) for row in self.observations.pending]
        known = [
            here for here, asked in each if len(here) == len(self.space) or (asked and here.keys() == asked.keys())
        ]
        return torch.from_numpy(self.space.places(known))

    def choices(self, given: object, candidates: object = None, replacement: object = True) -> Choices:
        """What there is to choose from."""
        known = read_given(self.space, given)
        if not isinstance(unwrapped(replacement), bool):
            raise BomiError(f"replacement must be True or False, but got {shown(replacement)}")
        if candidates is None:
            if not replacement:
                raise BomiError("replacement goes with candidates, a list to choose from")
            return Choices(self.space, known)
        rows = [row for row in self.observations.rows if not (row.pending or replacement)]
        tried = [row.asked or row.known for row in rows if row.asked or row.complete]
        return Listed.of(self.space, read_candidates(self.space, candidates, known), known, tried)

    def places(self, settings: object) -> Array:
        """The places of settings in the unit cube; a suggestion may have gaps.  (m, d)"""
        each = [settings] if isinstance(settings, Mapping) else settings
        own = isinstance(each, Sequence) and all(isinstance(one, Suggestion) for one in each)
        return self.space.places(read_settings(self.space, settings, whole=not own))

    def typical(self, places: Array) -> Array:
        """Places with what is not known of them as in a typical row: of a measured parameter, its median.  (..., d)"""
        if not np.isnan(places).any():
            return places
        typical = self.modelled().typical
        return np.where(np.isnan(places), typical[len(typical) // 2].numpy(), places)

    def typical_place(self, setting: Mapping[str, Known]) -> Tensor:
        """The place of a setting in the unit cube, the same way.  (d,)"""
        return torch.from_numpy(self.typical(self.space.place(setting)))
