"""Commands that learn from a table: `suggest`, `predict`, `gaps`, `best`, `trust` and `plot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from bomi.cli.console import after, say, visible, working
from bomi.cli.options import Candidates, Config, Format, Given, Risk, Seed, Shape, Table, read_given
from bomi.cli.printing import flat, kind_of, pairs, show, with_shares
from bomi.errors import BomiError
from bomi.results import Suggestion, by_name, expected, missing, nested
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

        study = workflow.load(table, campaign, seed=seed)
        found = workflow.recommend(study, risk=risk, given=known, candidates=candidates)
        doubt = workflow.doubt(study)
    outcomes = study.campaign.outcomes
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

        study = workflow.load(table, campaign, seed=seed)
        asked = workflow.read_setting(study.campaign, setting)
        found, doubt = workflow.look(study, asked, known), workflow.doubt(study)
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


def prospects(
    table: Table,
    figure: Annotated[
        Path | None, typer.Option("--output", "-o", help="A PNG or SVG of the gains as the table grew.")
    ] = None,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """Whether to go on: what the next 1, 5 and 10 experiments, a look-up and a repeat are expected to gain."""
    kind = kind_of(figure) if figure else "png"
    with working("learning from the table") as update:
        from bomi import workflow

        study = workflow.load(table, campaign, seed=seed)
        found, advice = workflow.prospects(study)
        if figure is not None:
            from bomi.analysis import drawing, model_plots

            update("looking back")
            drawing.save(
                model_plots.prospects(study.optimizer, labels=workflow.labels(study)), figure.with_suffix(""), [kind]
            )
    named = workflow.called(study)
    records: list[dict[str, Any]] = [
        {"what": f"the next {count} experiments" if count > 1 else "the next experiment", "expected gain": gain}
        for count, gain in found.gains.items()
    ]
    if found.look_up is not None:
        row, parameter, gain = found.look_up
        records.append({"what": f"look up {parameter} of {named[row]}", "expected gain": gain})
    if found.repeat is not None:
        records.append({"what": f"repeat {named[found.repeat[0]]}", "expected gain": found.repeat[1]})
    document = {"action": found.action, "advice": advice, "gains": records, "spread": found.spread, "cost": found.cost}
    if shape is Format.table:
        shown = [{**record, "expected gain": found.told(record["expected gain"])} for record in records]
        show(shown, shape)
        typer.echo(advice[:1].upper() + advice[1:] + ".")
    else:
        show(records, shape, document)
    if figure is not None:
        say(f"drew {figure}")


SHOWN = 10  # rows that are told on a screen


def trust(table: Table, campaign: Config = None, seed: Seed = 0, shape: Shape = Format.table) -> None:
    """Whether to trust the model: every row predicted from all others, beside what was measured."""
    with working("learning from the table"):
        from bomi import workflow

        study = workflow.load(table, campaign, seed=seed)
        found = workflow.validations(study)
    if not found:
        raise BomiError(f"there is no model to judge yet: the method needs more rows with an outcome in {table}")
    ids = dict(zip(study.experiments.numbers, (row.id or "" for row in study.experiments.rows), strict=True))
    records: list[dict[str, Any]] = []
    documents: list[dict[str, Any]] = []
    surprises: list[dict[str, Any]] = []
    for one in found:
        named = {"outcome": one.outcome} if len(found) > 1 else {}
        lines: list[dict[str, Any]] = [
            {**named, "row": row["row"], "id": ids[int(row["row"])], **row} for row in one.records
        ]
        records += lines
        surprises += [line for line in lines if not line["5 %"] <= line["measured"] <= line["95 %"]]
        share = {"explained": one.explained, "error": one.error, "inside": one.inside, "trusted": one.trusted}
        wrong = {"wrong": list(one.wrong)}
        documents.append({"outcome": one.outcome, "sentence": one.sentence, **share, **wrong, "rows": lines})
    if shape is not Format.table:
        show(records, shape, documents if len(documents) > 1 else documents[0])
        return
    for said in (said for one in found for said in (one.sentence, one.disbelief) if said):
        typer.echo(said[:1].upper() + said[1:] + ".")
    if surprises and any(one.trusted for one in found):
        surprises.sort(key=lambda line: -abs(line["measured"] - line["expected"]) / (line["95 %"] - line["5 %"]))
        show(surprises[:SHOWN], shape, title="Outside their intervals, the most surprising first")
        more = f", and {len(surprises) - SHOWN} more; --format csv has them all" if len(surprises) > SHOWN else ""
        say(f"about one in ten lies outside by chance; the others deserve a second look{more}")


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


def plot(
    table: Table,
    folder: Annotated[Path, typer.Option("--output", "-o", help="The folder for the figures.")] = Path("figures"),
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """Figures as PNG and SVG: outcomes over time, gaps, slices and a map, what matters, whether to trust it."""
    with working("learning from the table") as update:
        from bomi import workflow as workflow
        from bomi.analysis import plots

        study = workflow.load(table, campaign, seed=seed)
        files, left_out = plots.save_all(
            study.optimizer,
            folder,
            labels=workflow.labels(study),
            done=lambda name: update(f"drew {name}"),
        )
    if not files:
        raise BomiError("\n".join(left_out))
    records = [{"file": str(file)} for file in files]
    show(records, shape, records)
    for reason in left_out:
        say(reason)


def report(
    table: Table,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="An .html file, or a .pdf where Chromium or Chrome is installed.")
    ] = Path("report.html"),
    count: Annotated[int, typer.Option("--count", "-n", min=0, max=50, help="How many experiments to suggest.")] = 3,
    campaign: Config = None,
    seed: Seed = 0,
    shape: Shape = Format.table,
) -> None:
    """One page for the group meeting: the question, the data, what is believed and how far, and what to do next."""
    with working("learning from the table") as update:
        from bomi import workflow
        from bomi.campaign.printed import write_page
        from bomi.report import report as make

        study = workflow.load(table, campaign, seed=seed)
        write_page(output, make(study, suggestions=count, done=update))
    show([{"file": str(output)}], shape, {"file": str(output)})
