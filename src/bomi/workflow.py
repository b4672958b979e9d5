"""One turn of the loop with a table on disk: read it, learn from it, say what to do next, write that down.

The module is long because each question that the command line and the page both ask has one short function here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bomi.analysis import insight, sensitivity
from bomi.campaign import (
    Campaign,
    Experiments,
    Ledger,
    Library,
    campaign_path,
    ledger,
    read_experiments,
    read_library,
)
from bomi.campaign.digits import settable
from bomi.campaign.template import new_table
from bomi.data.settings import given_conditions, read_settings
from bomi.errors import BomiError, MethodError, TableError
from bomi.impute.summary import meanings
from bomi.names import DEFAULT
from bomi.optimizer import Optimizer
from bomi.results import Best, Front, Prediction, Prospects, Suggestion, Validation, percent
from bomi.space import Array, cells
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
    why: insight.Why
    nearest: int | None = None  # the line of the nearest complete row
    doubt: str = ""  # why the model behind it is not to be trusted yet


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
    given: Mapping[str, object] | None = None,
    same: Sequence[str] | None = None,
    candidates: Path | None = None,
    replacement: bool | None = None,
    append: bool = False,
    seed: int = 0,
    done: Callable[[int], None] = lambda number: None,
) -> list[Advice]:
    """The next experiments; with `append` they are added to the table as pending rows.

    They are chosen from a list if `candidates`, or the campaign, names a file, and share the values of what `same`, or
    the campaign, names.
    While appending, the table is held from reading to writing: who asks at the same time gets other suggestions.
    """
    if append and not table.exists():
        new_table(table, campaign)
    known = read_campaign(table, campaign)
    with ExitStack() as stack:
        held: Ledger | None = stack.enter_context(ledger(table, known)) if append else None
        loaded = study(held.experiments if held else read_experiments(table, known), seed=seed)
        advices = advise(loaded, count, done, given=given, same=same, candidates=candidates, replacement=replacement)
        if held is None:
            return advices
        beside = given_conditions(known.space, given)
        ids = held.append([advice.suggestion for advice in advices], beside)
    return [
        replace(advice, suggestion=replace(advice.suggestion, id=identity))
        for advice, identity in zip(advices, ids, strict=True)
    ]


def advise(
    loaded: LoadedTable,
    count: int = 1,
    done: Callable[[int], None] = lambda number: None,
    *,
    given: Mapping[str, object] | None = None,
    same: Sequence[str] | None = None,
    candidates: Path | None = None,
    replacement: bool | None = None,
) -> list[Advice]:
    """The next experiments, each with the ones before it taken as pending; the loaded table stays as it is."""
    optimizer = copy(loaded.optimizer)  # it shares what was learned, and keeps the new pending rows to itself
    library = _library(loaded, candidates, given)
    frame = _frame(library)
    expected, reason = _best(optimizer, given, frame), doubt(loaded)
    again = loaded.campaign.replacement if replacement is None else replacement
    alike = loaded.campaign.same_in_batch if same is None else same
    numbers, named = loaded.experiments.numbers, called(loaded)
    advices = []
    asked = optimizer.ask(count, given=given, same=alike, candidates=frame, replacement=again)
    for number, found in enumerate(asked, 1):
        suggestion = found
        if library is not None and isinstance(found.candidate, int):
            suggestion = replace(found, candidate=library.labels[found.candidate])
        near = insight.nearest(optimizer, suggestion)
        line = numbers[near.row] if near is not None and near.row < len(numbers) else None
        advices.append(Advice(suggestion, insight.why(optimizer, suggestion, expected, named), line, reason))
        done(number)
    return advices


def labels(loaded: LoadedTable) -> list[str]:
    """What people call each row in a figure: its id, or its number in the table."""
    pairs = zip(loaded.experiments.numbers, loaded.experiments.rows, strict=True)
    return [row.id or str(number) for number, row in pairs]


def called(loaded: LoadedTable) -> list[str]:
    """What people call each row in a sentence: "H40 (row 41)", or "row 41" without an id."""
    pairs = zip(loaded.experiments.numbers, loaded.experiments.rows, strict=True)
    return [f"{row.id} (row {number})" if row.id else f"row {number}" for number, row in pairs]


def validations(loaded: LoadedTable) -> list[Validation]:
    """Every row of each outcome predicted from the other rows; rows by line number. None without a model."""
    try:
        found = [loaded.optimizer.validation(name) for name in loaded.campaign.outcomes]
    except MethodError:
        return []
    numbers = loaded.experiments.numbers
    return [
        replace(one, rows=tuple(numbers[row] for row in one.rows), wrong=tuple(numbers[row] for row in one.wrong))
        for one in found
    ]


def doubt(loaded: LoadedTable) -> str:
    """Why the model is not to be trusted yet, if it is not."""
    return "; ".join(one.doubt for one in validations(loaded) if one.doubt)


def read_setting(campaign: Campaign, texts: Sequence[str]) -> dict[str, Known]:
    """A whole setting as it is typed: `time=6`, one text for each parameter."""
    names, told = campaign.space.names, {}
    for text in texts:
        known = next((name for name in names if text.startswith(f"{name}=")), None)
        name, equals, value = (known, "=", text[len(known) + 1 :]) if known else text.partition("=")
        if not equals:
            raise BomiError(f"a value is typed as NAME=VALUE, such as {names[0]}=..., but got {text!r}")
        told[name.strip()] = value
    return read_settings(campaign.space, told)[0]


def prospects(loaded: LoadedTable) -> tuple[Prospects, str]:
    """Whether to go on, and the advice in one line; rows by what people call them."""
    found = loaded.optimizer.prospects()
    return found, found.advice(called(loaded))


STRONGEST = 3  # rows and gaps that are named beside a prediction


@dataclass(frozen=True)
class Look:
    """What to expect of one outcome at a setting of one's own, and what that rests on, in words."""

    outcome: str
    predicted: Prediction
    reasons: tuple[str, ...]
    chance: float


def look(loaded: LoadedTable, setting: Mapping[str, Known], given: Mapping[str, object] | None = None) -> list[Look]:
    """What to expect of each outcome at any setting, suggested or not; for the groups and the time that are given."""
    optimizer, named = loaded.optimizer, called(loaded)
    near = insight.distance(optimizer, setting, named)
    found = []
    for objective in loaded.campaign.objectives:
        why = optimizer.explain(setting, objective.name, given=given)
        reasons = [near]
        reasons.append(f"{insight.chance_of(optimizer)} is {percent(why.chance)}")
        if any(row.failed for row in loaded.experiments.rows):
            reasons.append(f"its probability of success is {percent(optimizer.success(setting))}")
        unit = f" {objective.unit}" if objective.unit else ""
        moves = [f"{named[row]} ({move:+.2g}{unit})" for row, move in why.rows[:STRONGEST]]
        reasons.append(f"the rows that move it most are {', '.join(moves)}")
        hang = [f"{name} of {named[row]} ({part:.2g}{unit})" for row, name, part in why.gaps[:STRONGEST]]
        if hang:
            reasons.append(f"its uncertainty hangs most on {', '.join(hang)}")
        found.append(Look(objective.name, why.predicted, tuple(reasons), why.chance))
    return found


def conditions(loaded: LoadedTable) -> list[str]:
    """What groups and time change, whatever is set, in words; nothing without a model."""
    try:
        return [said for name in loaded.campaign.outcomes for said in loaded.optimizer.conditions(name)]
    except MethodError:
        return []


def _library(loaded: LoadedTable, candidates: Path | None, given: Mapping[str, object] | None) -> Library | None:
    """The list to choose from: the one in a file, or else that of the campaign, which is found from the table."""
    named = loaded.campaign.candidates
    path = loaded.experiments.sheet.path.parent / named if candidates is None and named else candidates
    return None if path is None else read_library(path, loaded.campaign, given or ())


def _frame(library: Library | None) -> pd.DataFrame | None:
    import pandas as pd

    return None if library is None else pd.DataFrame(dict(library.columns), dtype=object)


def _best(optimizer: Optimizer, given: Mapping[str, object] | None, candidates: pd.DataFrame | None) -> Best | None:
    """What is best so far, if there is an outcome."""
    try:
        return optimizer.best(given=given, candidates=candidates)
    except TableError:
        return None


def gaps(loaded: LoadedTable) -> pd.DataFrame:
    """The gaps, the one most worth looking up first; rows by line number."""
    frame = insight.ranked_gaps(loaded.optimizer)
    rows = loaded.experiments.rows
    frame.insert(1, "id", [rows[row].id or "" for row in frame["row"]])
    return frame.assign(row=[loaded.experiments.numbers[row] for row in frame["row"]])


def blanks(loaded: LoadedTable, frame: pd.DataFrame) -> list[str]:
    """What was concluded of the blanks of each column, given the table of the gaps."""
    return meanings(loaded.optimizer.space, zip(frame["parameter"], frame["probabilities"], strict=True))


def suspects(loaded: LoadedTable) -> list[dict[str, Any]]:
    """Cells that look wrong, the likeliest first; rows by line number, with a sentence each."""
    units = {name: one.unit for name, one in loaded.optimizer.space.parameters.items()}
    units |= {one.name: one.unit for one in loaded.experiments.campaign.objectives}
    found = []
    for record in loaded.optimizer.suspects().to_dict("records"):
        number, name = loaded.experiments.numbers[record["row"]], record["column"]
        recorded = f"{cells.text(record['recorded'])} {units[name]}".strip()
        likely = record["likely"] if isinstance(record["likely"], str) else f"about {float(record['likely']):.3g}"
        said = f"row {number}: {name} {recorded}, more likely {likely}: probability {record['probability']:.2f}"
        found.append({**{str(key): value for key, value in record.items()}, "row": number, "said": said})
    return found


@dataclass(frozen=True)
class Recommendation:
    """The recommended setting beside the best row seen."""

    best: Best
    row: int  # the line of the best row seen
    called: str  # what people call it
    around: Mapping[str, Known] | None = None  # the setting with what is not known of it as in a typical row
    rivals: tuple[tuple[int, float], ...] = ()  # rows that may be better, by line number, with the chance of that
    apart: str = ""  # that the best few cannot be told apart, where that is so

    @property
    def recorded(self) -> Mapping[str, Cell]:
        """What is known of the best row's inputs."""
        return self.best.seen_at


def recommend(
    loaded: LoadedTable,
    *,
    risk: str | tuple[str, float] = "expected",
    given: Mapping[str, object] | None = None,
    candidates: Path | None = None,
) -> list[Recommendation]:
    """The setting that is expected to be the best, and the best row seen; of several outcomes, for each trade-off."""
    best = loaded.optimizer.best(risk, given=given, candidates=_frame(_library(loaded, candidates, given)))
    choices = (best.choices or (best,)) if isinstance(best, Front) else (best,)
    seen, named = [(choice, choice.seen_row) for choice in choices], called(loaded)
    return [
        Recommendation(
            choice,
            loaded.experiments.numbers[row],
            named[row],
            loaded.optimizer.completed(choice.setting) if choice.setting and choice.predicted else choice.setting,
            tuple((loaded.experiments.numbers[other], chance) for other, chance in choice.rivals),
            choice.apart(named),
        )
        for choice, row in seen
        if row is not None
    ]


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
    probabilities: Mapping[Known, float] | None = None  # of the values of a list, or of what a blank may mean


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
                record["probabilities"],
            )
        )
    return found


@dataclass(frozen=True)
class Overview:
    """Where a campaign stands: what is recommended, one or several trade-offs, and what each outcome depends on.

    Without a model there is no importance and no slice; `note` says why.
    """

    recommended: list[Recommendation]
    importance: Mapping[str, list[sensitivity.Importance]]  # by outcome
    slices: Mapping[str, list[insight.Slice]]  # through the first that is recommended
    validations: Mapping[str, Validation]  # rows by line number
    interactions: Mapping[str, Array]  # of every two parameters, (p, p)
    equipment: Sequence[str] = ()  # what it makes of requests, where it strays
    conditions: Sequence[str] = ()  # what days, lots or time change, whatever is set
    note: str = ""


def overview(loaded: LoadedTable) -> Overview:
    """The best, what matters, and slices through the recommended setting; of trade-offs, the one in the middle."""
    found = recommend(loaded)
    middle = found[len(found) // 2]
    if middle.around is None or middle.best.predicted is None:
        return Overview(found, {}, {}, {}, {}, note=middle.best.note)
    optimizer, setting = loaded.optimizer, middle.around
    judged = {one.outcome: one for one in validations(loaded)}
    return Overview(
        found,
        {name: sensitivity.importance(optimizer, outcome=name) for name in judged},
        {name: insight.slices(optimizer, setting, outcome=name) for name in judged},
        judged,
        {name: sensitivity.interactions(optimizer, outcome=name) for name in judged},
        optimizer.equipment(),
        conditions(loaded),
    )
