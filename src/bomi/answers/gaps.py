"""What is known of each gap: draws of it, and their summary with what knowing it would be worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bomi.answers.recommend import best_of_each_draw
from bomi.impute.summary import gap_table
from bomi.knowledge import Knowledge
from bomi.results import GapDraws
from bomi.space import Array, Real
from bomi.space.cells import Known

if TYPE_CHECKING:
    import pandas as pd


def draws_of_gaps(known: Knowledge) -> list[GapDraws]:
    """Draws of each value that is not known exactly, in the parameter's own unit."""
    draws, tried, space = known.fit.draws, known.observations.tried, known.space
    world_row = {row: i for i, row in enumerate(draws.table_rows.tolist())}
    numbers = known.tried_numbers
    found = []
    for i, row in enumerate(tried):
        for (name, parameter), columns in zip(space.parameters.items(), space.columns, strict=True):
            if isinstance(row.recorded[name], Known):
                continue
            values: tuple[Known, ...] = ()
            places = draws.inputs[:, world_row[i], columns].numpy() if i in world_row else np.zeros((0, 1))
            if not np.isnan(places).any():  # a gap stays open while an outcome is unknown everywhere
                value = parameter.drawn if isinstance(parameter, Real) else parameter.from_unit
                values = tuple(value(place) for place in places)
            found.append(GapDraws(numbers[i], name, values, row.recorded[name], row.asked.get(name)))
    return found


def table_of_gaps(known: Knowledge) -> pd.DataFrame:
    """A line for each gap, the one most worth knowing first."""
    return gap_table(known.space, draws_of_gaps(known), _best_outcomes(known))


def _best_outcomes(known: Knowledge) -> list[Array]:
    """What each of many worlds expects of the best of each outcome; of several, in units of its own rows' spread.

    J times (M,), or none where there are too few worlds to say
    """
    fit = known.fit
    if not known.has_model or not fit.table.gaps.any():
        return []
    best = best_of_each_draw(fit, seed=known.seed_of_all_rows)
    if best is None or len(best) == 1:
        return [one.numpy() for one in best or ()]
    spreads = [float(one.std(correction=0)) or 1.0 for one in fit.told]
    return [one.numpy() / spread for one, spread in zip(best, spreads, strict=True)]
