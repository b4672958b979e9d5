"""One turn of the loop with a table on disk: read it, learn from it, say what to do next, write that down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bomi.analysis import insight
from bomi.campaign import Campaign, Experiments, Ledger, campaign_path, ledger, read_experiments
from bomi.campaign.digits import settable
from bomi.campaign.template import new_table
from bomi.errors import TableError
from bomi.names import DEFAULT
from bomi.optimizer import Optimizer
from bomi.results import Best, Front, Suggestion
from bomi.space.cells import Cell, Known

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LoadedTable:
    """A campaign's table, and an optimizer that has been told it."""

    experiments: Experiments
    optimizer: Optimizer

    @property
    def campaign(self) -> Campaign:
        """What is varied and wanted."""
        return self.experiments.campaign


@dataclass(frozen=True)
class Advice:
    """An experiment to run next, and why."""

    suggestion: Suggestion
    why: str
    nearest: int | None = None  # the line of the nearest complete row


def load(table: Path, campaign: Path | None = None, *, seed: int = 0) -> LoadedTable:
    """Read a table and its campaign.toml, the one beside it unless another is given, and learn from it."""
    return study(read_experiments(table, read_campaign(table, campaign)), seed=seed)


def read_campaign(table: Path, campaign: Path | None = None) -> Campaign:
    """The campaign of a table."""
    return Campaign.read(campaign_path(table, campaign))


def study(experiments: Experiments, *, seed: int = 0) -> LoadedTable:
    """An optimizer that has been told the table."""
    campaign = experiments.campaign
    optimizer = Optimizer(
        settable(experiments),
        objective={objective.name: objective for objective in campaign.objectives},
        method=campaign.method or DEFAULT,
        seed=seed,
    )
    optimizer.tell_rows(experiments.rows)
    return LoadedTable(experiments, optimizer)


def suggest(
    table: Path,
    campaign: Path | None = None,
    *,
    count: int = 1,
    append: bool = False,
    seed: int = 0,
    done: Callable[[int], None] = lambda number: None,
) -> list[Advice]:
    """The next experiments; with `append` they are added to the table as pending rows.

    While appending, the table is held from reading to writing: who asks at the same time gets other suggestions.
    """
    if append and not table.exists():
        new_table(table, campaign)
    known = read_campaign(table, campaign)
    with ExitStack() as stack:
        held: Ledger | None = stack.enter_context(ledger(table, known)) if append else None
        loaded = study(held.experiments if held else read_experiments(table, known), seed=seed)
        advices = advise(loaded, count, done)
        if held is None:
            return advices
        ids = held.append([advice.suggestion for advice in advices])
    return [
        replace(advice, suggestion=replace(advice.suggestion, id=identity))
        for advice, identity in zip(advices, ids, strict=True)
    ]


def advise(loaded: LoadedTable, count: int = 1, done: Callable[[int], None] = lambda number: None) -> list[Advice]:
    """The next experiments, each with the ones before it taken as pending; the study stays as it is."""
    optimizer = copy(loaded.optimizer)  # it shares what was learned, and keeps the new pending rows to itself
    expected = _best(optimizer)
    advices = []
    for number, suggestion in enumerate(optimizer.ask(count), 1):
        numbers = loaded.experiments.numbers
        near = insight.nearest(optimizer, suggestion)
        line = numbers[near.row] if near is not None and near.row < len(numbers) else None
        advices.append(Advice(suggestion, insight.why(optimizer, suggestion, expected, numbers), line))
        done(number)
    return advices


def _best(optimizer: Optimizer) -> Best | None:
    """What is best so far, if there is an outcome."""
    try:
        return optimizer.best()
    except TableError:
        return None


def gaps(loaded: LoadedTable) -> pd.DataFrame:
    """The gaps, the one most worth looking up first; rows by line number."""
    frame = insight.ranked_gaps(loaded.optimizer)
    rows = loaded.experiments.rows
    frame.insert(1, "id", [rows[row].id or "" for row in frame["row"]])
    return frame.assign(row=[loaded.experiments.numbers[row] for row in frame["row"]])


@dataclass(frozen=True)
class Recommendation:
    """The recommended setting beside the best row seen, which is called by its line number."""

    best: Best
    row: int

    @property
    def recorded(self) -> Mapping[str, Cell]:
        """What is known of the best row's inputs."""
        return self.best.seen_at


def recommend(loaded: LoadedTable, risk: str | tuple[str, float] = "expected") -> list[Recommendation]:
    """The setting that is expected to be the best, and the best row seen; of several outcomes, for each trade-off."""
    best = loaded.optimizer.best(risk)
    choices = (best.choices or (best,)) if isinstance(best, Front) else (best,)
    seen = [(choice, choice.seen_row) for choice in choices]
    return [Recommendation(choice, loaded.experiments.numbers[row]) for choice, row in seen if row is not None]


@dataclass(frozen=True)
class Gap:
    """A value that is not known exactly, in the table as people see it, with how likely each value is."""

    number: int  # the line of its row
    id: str
    parameter: str
    recorded: Cell
    asked: Known | None
    values: tuple[Known, ...]  # along the parameter's scale, or the categories
    heights: tuple[float, ...]  # their density, or their shares; none if the method leaves the row out
    low: float | None  # 5 %
    middle: float | None
    high: float | None  # 95 %
    worth: float | None


def gap_list(loaded: LoadedTable) -> list[Gap]:
    """The gaps, the one most worth looking up first."""
    rows = dict(zip(loaded.experiments.numbers, range(len(loaded.experiments.rows)), strict=True))
    draws = {(gap.row, gap.parameter): gap for gap in loaded.optimizer.gap_draws()}
    found = []
    for record in gaps(loaded).to_dict("records"):
        drawn = draws[rows[record["row"]], record["parameter"]]
        parameter = loaded.optimizer.space.parameters[drawn.parameter]
        values, heights = insight.density(parameter, drawn.draws) if drawn.draws else ((), ())
        numbers = {name: None if isnan(record[name]) else record[name] for name in ("5 %", "50 %", "95 %", "worth")}
        found.append(
            Gap(
                record["row"],
                record["id"],
                drawn.parameter,
                drawn.recorded,
                drawn.asked,
                values,
                tuple(map(float, heights)),
                numbers["5 %"],
                numbers["50 %"],
                numbers["95 %"],
                numbers["worth"],
            )
        )
    return found


@dataclass(frozen=True)
class Overview:
    """Where a campaign stands: what is recommended, one or several trade-offs, and what each outcome depends on.

    Without a model there is no importance and no slice; `note` says why.
    """

    recommended: list[Recommendation]
    importance: Mapping[str, list[insight.Importance]]  # by outcome
    slices: Mapping[str, list[insight.Slice]]  # through the first that is recommended
    fitted: Mapping[str, list[tuple[int, float, float]]]  # of complete rows: line, expected mean and its sd, by outcome
    note: str = ""


def overview(loaded: LoadedTable) -> Overview:
    """The best, what matters, and slices through the recommended setting; of trade-offs, the one in the middle."""
    found = recommend(loaded)
    middle = found[len(found) // 2].best
    if middle.setting is None or middle.predicted is None:
        return Overview(found, {}, {}, {}, middle.note)
    optimizer, setting = loaded.optimizer, middle.setting
    names = loaded.campaign.outcomes
    return Overview(
        found,
        {name: insight.importance(optimizer, outcome=name) for name in names},
        {name: insight.slices(optimizer, setting, outcome=name) for name in names},
        {name: _fitted(loaded, name) for name in names},
    )


def _fitted(loaded: LoadedTable, outcome: str) -> list[tuple[int, float, float]]:
    """What is expected of the complete rows that have an outcome: line, mean, standard deviation."""
    rows = [
        (number, row)
        for number, row in zip(loaded.experiments.numbers, loaded.experiments.rows, strict=True)
        if row.complete and outcome in row.outcomes
    ]
    if not rows:
        return []
    space = loaded.optimizer.space
    known = [{name: cell for name, cell in row.recorded.items() if isinstance(cell, Known)} for _, row in rows]
    mean, sd = loaded.optimizer.expected(np.array([space.to_unit(setting) for setting in known]), outcome)
    return [(number, float(m), float(s)) for (number, _), m, s in zip(rows, mean, sd, strict=True)]
