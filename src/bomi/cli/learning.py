"""Commands that learn from a table: `suggest`, `gaps`, `best`, `equipment` and `plot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bomi.cli.console import say, working
from bomi.cli.options import Config, Format, Risk, Seed, Shape, Table, read_risk
from bomi.cli.printing import flat, kind_of, missing, nested, pairs, show, with_shares
from bomi.errors import BomiError
from bomi.results import by_name
from bomi.space import cells
from bomi.space.cells import Cell, Known


def suggest(
    table: Table,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=1000, help="How many experiments.")] = 1,
    append: Annotated[
        bool, typer.Option("--append", help="Add them to the table as rows that await their outcome.")
    ] = False,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """The next experiments to run, what to expect of each, and why."""
    with working("learning from the table") as update:
        from bomi import workflow

        advices = workflow.suggest(
            table, campaign, count=count, append=append, seed=seed, done=lambda n: update(f"suggested {n} of {count}")
        )
    told = [(advice.suggestion, advice.why) for advice in advices]
    if shape is Format.table:
        show([{"id": one.id, **one, **pairs(one.predicted), **pairs(one.as_done, "as done")} for one, _ in told], shape)
        for one, why in told:
            typer.echo(f"{one.id}: {why}")
    else:
        records = [
            {"id": one.id, **one, **flat(one.predicted), **flat(one.as_done, "as_done"), "why": why}
            for one, why in told
        ]
        document = [
            {"id": one.id, "setting": dict(one), "predicted": nested(one.predicted), **_as_done(one), "why": why}
            for one, why in told
        ]
        show(records, shape, document)
    if append:
        say(
            f"added to {table}, the version before is {table.name}.bak; once done, enter the outcome, "
            "and where an input differed overwrite it, or blank it if nobody knows; bomi withdraw takes back "
            "what will not be run"
        )


def gaps(table: Table, campaign: Config = None, seed: Seed = 0, shape: Shape = Format.table) -> None:
    """What each missing value may have been, the one most worth looking up first."""
    with working("learning from the table"):
        from bomi import workflow

        frame = workflow.gaps(workflow.load(table, campaign, seed=seed))
    records = [{str(name): value for name, value in record.items()} for record in frame.to_dict("records")]
    judged = any(not missing(record["worth"]) for record in records)
    if shape is Format.table and not judged:
        records = [{name: value for name, value in record.items() if name != "worth"} for record in records]
    shown = [with_shares(record) for record in records]
    if shape is Format.table and not any(record["probabilities"] for record in shown):
        shown = [{name: value for name, value in record.items() if name != "probabilities"} for record in shown]
    show(shown, shape, records)
    if not records:
        say(f"{table} has no gap: every input is known")
    elif not judged:
        say("the most uncertain first: this method does not say what a gap is worth")


def best(
    table: Table,
    risk: Risk = "expected",
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """The setting to ask for with what to expect of it, beside the best row so far."""
    with working("learning from the table"):
        from bomi import workflow

        study = workflow.load(table, campaign, seed=seed)
        found = workflow.recommend(study, read_risk(risk))
    outcomes = study.campaign.outcomes
    several = len(outcomes) > 1
    records: list[dict[str, object]] = []
    documents = []
    for place, one in enumerate(found, 1):
        setting, predicted = one.best.setting, one.best.predicted
        recorded = {name: _plainly(cell) for name, cell in one.recorded.items()}
        if setting is not None:
            what = f"recommended {place}" if several else "recommended"
            if one.best.as_done is not None:
                records.append({"what": what, **setting, **_expected(one.best.as_done, outcomes)})
                what = "if done exactly"
            records.append({"what": what, **setting, **_expected(predicted, outcomes)})
        documents.append(
            {
                "recommended": None
                if setting is None
                else {"setting": dict(setting), "predicted": nested(predicted), **_as_done(one.best)},
                "seen": {"row": one.row, "recorded": recorded, "outcome": one.best.seen},
                "note": one.best.note,
            }
        )
    for one in {one.row: one for one in found}.values():
        recorded = {name: cells.text(cell) for name, cell in one.recorded.items()}
        seen = by_name(one.best.seen, outcomes)
        what = f"{'seen' if several else 'best so far'}, row {one.row}"
        records.append({"what": what, **recorded, **_expected(None, outcomes), **seen})
    show(records, shape, documents if several else documents[0])
    for note in {one.best.note for one in found if one.best.note}:
        say(note)
    done = found[0].best.as_done
    if done is not None and not isinstance(done, Mapping):
        say(f"of the ± {done.sd:.2g}, ± {done.execution:.2g} comes from what the equipment makes of the request")


def _as_done(one: Any) -> dict[str, Any]:
    """What to expect as the equipment does it, where it strays."""
    return {} if one.as_done is None else {"as_done": nested(one.as_done)}


def _plainly(cell: Cell) -> Known | None:
    """A cell in JSON: a number as a number, an uncertain value as a text, nothing where nobody knows."""
    return cell if cell is None or isinstance(cell, Known) else cells.text(cell)


def _expected(predicted: Any, outcomes: Sequence[str]) -> dict[str, float | None]:
    """Each outcome with its standard deviation beside it."""
    each = predicted if isinstance(predicted, Mapping) else {outcomes[0]: predicted}
    found: dict[str, float | None] = {}
    for name in outcomes:
        one = each.get(name)
        found |= {name: one and one.mean, "sd" if len(outcomes) == 1 else f"{name} sd": one and one.sd}
    return found


def equipment(
    table: Table,
    figure: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to save a figure of what was asked and done.")
    ] = None,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """How often each parameter is lost or strays from what was asked, how far, and what better control is worth."""
    with working("learning from the table"):
        from bomi import workflow
        from bomi.analysis import plots

        study = workflow.load(table, campaign, seed=seed)
        frame = study.optimizer.execution()
        records: list[dict[str, Any]] = [{str(k): v for k, v in record.items()} for record in frame.to_dict("records")]
        saved = (
            plots.save(plots.equipment(study.optimizer), figure.with_suffix(""), [kind_of(figure)]) if figure else []
        )
    shown = [{**record, "instead": _swaps(record["instead"])} for record in records]
    if shape is Format.table:
        empty = {
            name for name in ("above", "5 %", "50 %", "95 %", "instead") if all(missing(one[name]) for one in shown)
        }
        shown = [{name: value for name, value in record.items() if name not in empty} for record in shown]
    show(shown, shape, [{**record, "instead": _document(record["instead"])} for record in records])
    if not any(record["asked"] for record in records):
        say(f"{table} does not say what was asked: columns such as asked.{records[0]['parameter']} do")
    elif not any(record["strayed"] > 0 for record in records):
        say("as far as is known, everything was done as asked")
    for file in saved:
        say(f"figure: {file}")


def _document(swaps: object) -> Mapping[str, float] | None:
    return swaps if isinstance(swaps, Mapping) else None


def _swaps(swaps: object) -> str | None:
    """Swapped categories as one text, the commonest first."""
    each = _document(swaps) or {}
    return ", ".join(f"{name} {share:.0%}" for name, share in each.items()) or None


def plot(
    table: Table,
    folder: Annotated[Path, typer.Option("--output", "-o", help="The folder for the figures.")] = Path("figures"),
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """Figures as PNG and SVG: outcomes over time, gaps, slices through the recommended setting, importance."""
    with working("learning from the table") as update:
        from bomi import workflow as workflow
        from bomi.analysis import plots

        study = workflow.load(table, campaign, seed=seed)
        files, left_out = plots.save_all(
            study.optimizer,
            folder,
            labels=study.experiments.numbers,
            done=lambda name: update(f"drew {name}"),
        )
    if not files:
        raise BomiError("\n".join(left_out))
    records = [{"file": str(file)} for file in files]
    show(records, shape, records)
    for reason in left_out:
        say(reason)
