"""One turn of the loop with a table on disk: read it, learn from it, say what to do next, write that down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bomi import insight
from bomi.cells import Cell
from bomi.errors import TableError
from bomi.files import Campaign, Experiments, Ledger, campaign_path, ledger, read_experiments
from bomi.names import DEFAULT
from bomi.optimizer import Best, Front, Optimizer, Suggestion

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Study:
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


def load(table: Path, campaign: Path | None = None, *, seed: int = 0) -> Study:
    """Read a table and its campaign.toml, the one beside it unless another is given, and learn from it."""
    return study(read_experiments(table, read_campaign(table, campaign)), seed=seed)


def read_campaign(table: Path, campaign: Path | None = None) -> Campaign:
    """The campaign of a table."""
    return Campaign.read(campaign_path(table, campaign))


def study(experiments: Experiments, *, seed: int = 0) -> Study:
    """An optimizer that has been told the table."""
    campaign = experiments.campaign
    optimizer = Optimizer(
        campaign.space,
        objective={objective.name: objective for objective in campaign.objectives},
        method=campaign.method or DEFAULT,
        seed=seed,
    )
    if experiments.rows:
        optimizer.tell(experiments.frame(), out_of_bounds=campaign.out_of_bounds)
    return Study(experiments, optimizer)


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
    known = read_campaign(table, campaign)
    with ExitStack() as stack:
        held: Ledger | None = stack.enter_context(ledger(table, known)) if append else None
        loaded = study(held.experiments if held else read_experiments(table, known), seed=seed)
        expected = _best(loaded.optimizer)
        advices = []
        for number, suggestion in enumerate(loaded.optimizer.ask(count), 1):
            why = insight.why(loaded.optimizer, suggestion, expected, loaded.experiments.numbers)
            advices.append(Advice(suggestion, why))
            done(number)
        if held is None:
            return advices
        ids = held.append([advice.suggestion for advice in advices])
    return [
        replace(advice, suggestion=replace(advice.suggestion, id=identity))
        for advice, identity in zip(advices, ids, strict=True)
    ]


def _best(optimizer: Optimizer) -> Best | None:
    """What is best so far, if there is an outcome."""
    try:
        return optimizer.best()
    except TableError:
        return None


def gaps(loaded: Study) -> pd.DataFrame:
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


def recommend(loaded: Study) -> list[Recommendation]:
    """The setting that is expected to be the best, and the best row seen; of several outcomes, for each trade-off."""
    best = loaded.optimizer.best()
    found = []
    for choice in (best.choices or (best,)) if isinstance(best, Front) else (best,):
        seen = choice.seen if isinstance(choice.seen, Mapping) else {loaded.campaign.objective: choice.seen}
        rows = enumerate(loaded.experiments.rows)
        place = next(i for i, row in rows if row.outcomes == seen and dict(row.recorded) == choice.seen_at)
        found.append(Recommendation(choice, loaded.experiments.numbers[place]))
    return found
