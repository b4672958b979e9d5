"""Commands that ask what was learned from a table: `suggest`, `predict`, `gaps` and `best`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Annotated

import typer

from bomi.cli.console import after, say, visible, working
from bomi.cli.options import Candidates, Config, Format, Given, Risk, Seed, Shape, Table, read_given
from bomi.cli.printing import flat, pairs, records_of, show, with_shares, without_empty
from bomi.results import AnyPrediction, Suggestion, by_name, expected, missing, nested
from bomi.space import cells
from bomi.space.cells import Cell, Known


def suggest(
    table: Table,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=1000, help="How many experiments.")] = 1,
    append: Annotated[
        bool, typer.Option("--append", help="Add them to the table as rows that await their outcome.")
    ] = False,
    given: Given = None,
    same: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A parameter that has one value in all of them; once for each. If not given, as in the campaign.",
        ),
    ] = None,
    candidates: Candidates = None,
    replacement: Annotated[
        bool | None,
        typer.Option(
            "--replacement/--no-replacement",
            help="Whether a candidate may be suggested again once it has been tried; if not given, as in the campaign.",
        ),
    ] = None,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """The next experiments to run, what to expect of each, and why."""
    known = read_given(given)
    with working("learning from the table") as update:
        from bomi import workflow

        advices = workflow.suggest(
            table,
            campaign,
            count=count,
            given=known,
            same=same,
            candidates=candidates,
            replacement=replacement,
            append=append,
            seed=seed,
            done=lambda n: update(f"suggested {n} of {count}"),
        )
    told = [(advice.suggestion, str(advice.why)) for advice in advices]
    ids = ", ".join(one.id for one, _ in told)
    with after(f"{ids} added to {table}") if append else nullcontext():
        _show_suggestions(told, shape)
    if advices[0].doubt:
        say(f"but {advices[0].doubt}")
    if append:
        say(
            f"added to {table}, the version before is {table.name}.bak; once done, enter the outcome, "
            "and where an input differed overwrite it, or blank it if nobody knows; bomi withdraw takes back "
            "what will not be run"
        )


def _show_suggestions(told: Sequence[tuple[Suggestion, str]], shape: Format) -> None:
    names = dict.fromkeys(name for one, _ in sorted(told, key=lambda each: -len(each[0])) for name in one)

    def named(one: Suggestion) -> dict[str, object]:
        chosen = {} if one.candidate is None else {"candidate": one.candidate}
        return {"id": one.id, **chosen}

    def inputs(one: Suggestion) -> dict[str, object]:
        return {name: one.get(name) for name in names}

    if shape is Format.table:
        show(
            [{**named(one), **inputs(one), **pairs(one.predicted), **pairs(one.as_done, "as done")} for one, _ in told],
            shape,
        )
        for one, why in told:
            typer.echo(visible(f"{one.id}: {why}"))
        return
    records = [
        {**named(one), **inputs(one), **flat(one.predicted), **flat(one.as_done, "as_done"), "why": why}
        for one, why in told
    ]
    document = [{**named(one), "setting": dict(one), **expected(one), "why": why} for one, why in told]
    show(records, shape, document)


def gaps(table: Table, campaign: Config = None, seed: Seed = 0, shape: Shape = Format.table) -> None:
    """What each missing value may have been, the one most worth looking up first."""
    with working("learning from the table"):
        from bomi import workflow

        loaded = workflow.load(table, campaign, seed=seed)
        frame = workflow.gaps(loaded)
    records = records_of(frame)
    shown = with_shares(records, "probabilities")
    show(without_empty(shown, ["worth", "probabilities"]) if shape is Format.table else shown, shape, records)
    if not records:
        say(f"{table} has no gap: every input is known")
    elif all(missing(record["worth"]) for record in records):
        say("the most uncertain first: this method does not say what a gap is worth")
    for sentence in workflow.blanks(loaded, frame):
        say(sentence)


def best(
    table: Table,
    risk: Risk = "expected",
    given: Given = None,
    candidates: Candidates = None,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """The setting to ask for with what to expect of it, beside the best row so far."""
    known = read_given(given)
    with working("learning from the table"):
        from bomi import workflow

        loaded = workflow.load(table, campaign, seed=seed)
        found = workflow.recommend(loaded, risk=risk, given=known, candidates=candidates)
        doubt = workflow.doubt(loaded)
    outcomes = loaded.campaign.outcomes
    several = len(outcomes) > 1
    records: list[dict[str, object]] = []
    documents = []
    for place, one in enumerate(found, 1):
        setting, predicted = one.best.setting, one.best.predicted
        recorded = {name: _plainly(cell) for name, cell in one.recorded.items()}
        if setting is not None:
            what = f"recommended {place}" if several else "recommended"
            inputs = {name: setting.get(name) for name in one.recorded}
            if one.best.as_done is not None:
                records.append({"what": what, **inputs, **_expected(one.best.as_done, outcomes)})
                what = "if done exactly"
            records.append({"what": what, **inputs, **_expected(predicted, outcomes)})
        documents.append(
            {
                "recommended": None if setting is None else {"setting": dict(setting), **expected(one.best)},
                "seen": {"row": one.row, "recorded": recorded, "outcome": one.best.seen},
                "rivals": [{"row": row, "chance": chance} for row, chance in one.rivals],
                "note": one.best.note,
            }
        )
    for one in {one.row: one for one in found}.values():
        recorded = {name: cells.text(cell) for name, cell in one.recorded.items()}
        seen = by_name(one.best.seen, outcomes)
        what = f"{'seen' if several else 'best so far'}, {one.called}"
        records.append({"what": what, **recorded, **_expected(None, outcomes), **seen})
    show(records, shape, documents if several else documents[0])
    for note in {said for one in found for said in (one.best.note, one.apart) if said}:
        say(note)
    done = found[0].best.as_done
    if done is not None and not isinstance(done, Mapping):
        say(f"of the ± {done.sd:.2g}, ± {done.execution:.2g} comes from what the equipment makes of the request")
    if doubt:
        say(f"but {doubt}")


def predict(
    table: Table,
    setting: Annotated[
        list[str], typer.Argument(metavar="NAME=VALUE...", help="A value for every parameter, such as time=6.")
    ],
    given: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="The group or the time that it is for, such as lot=B; otherwise a new one, now."
        ),
    ] = None,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """What to expect of a setting of your own, its chance to beat the best row, and what that rests on."""
    known = read_given(given) or None
    with working("learning from the table"):
        from bomi import workflow

        loaded = workflow.load(table, campaign, seed=seed)
        asked = workflow.read_setting(loaded.campaign, setting)
        found, doubt = workflow.look(loaded, asked, known), workflow.doubt(loaded)
    predicted = {one.outcome: one.predicted for one in found}
    what = found[0].predicted if len(found) == 1 else predicted
    if shape is Format.table:
        show([{**asked, **pairs(what)}], shape)
        for one in found:
            typer.echo(f"{one.outcome}: {'; '.join(one.reasons)}")
    else:
        reasons = {one.outcome: list(one.reasons) for one in found}
        document = {"setting": asked, "predicted": nested(what), "chance": found[0].chance, "reasons": reasons}
        show([{**asked, **flat(what), "chance": found[0].chance}], shape, document)
    if doubt:
        say(f"but {doubt}")


def _plainly(cell: Cell) -> Known | None:
    """A cell in JSON: a number as a number, an uncertain value as a text, nothing where nobody knows."""
    return cell if cell is None or isinstance(cell, Known) else cells.text(cell)


def _expected(predicted: AnyPrediction, outcomes: Sequence[str]) -> dict[str, float | None]:
    """Each outcome with its standard deviation beside it."""
    each = predicted if isinstance(predicted, Mapping) else {outcomes[0]: predicted}
    found: dict[str, float | None] = {}
    for name in outcomes:
        one = each.get(name)
        found |= {name: one and one.mean, "sd" if len(outcomes) == 1 else f"{name} sd": one and one.sd}
    return found
