"""The report of a campaign: the question, the data, what is believed and how far, and what to do next, on one page."""

from __future__ import annotations

import io
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from hashlib import sha256
from typing import Any

import bomi
from bomi import workflow
from bomi.analysis import model_plots, plots, sensitivity
from bomi.analysis.drawing import STYLE
from bomi.campaign import summarize
from bomi.campaign.printed import heading, page, paragraph, table
from bomi.errors import BomiError
from bomi.impute.table import LARGE
from bomi.results import AnyPrediction, AsDone, Prediction, by_name, capitalized, rounded
from bomi.space import cells
from bomi.space.cells import Known
from bomi.space.units import with_unit
from bomi.workflow import LoadedTable, Recommendation

WORTH = 5  # gaps that are listed
SUGGESTIONS = 3
WIDE = 8  # columns that a sheet of paper has room for


def report(
    loaded: LoadedTable, *, suggestions: int = SUGGESTIONS, done: Callable[[str], None] = lambda what: None
) -> str:
    """A self-contained HTML page."""
    name = loaded.experiments.sheet.path.name
    wish = loaded.campaign.wish
    parts = [heading(capitalized(wish), 1), paragraph(f"{name}, {date.today():%d %B %Y}", "soft")]
    for section in (_question, _data, _belief, partial(_next, suggestions=suggestions), _origin):
        for part in section(loaded):
            parts.append(part)
            done(f"{len(parts)} parts done")
    return page(f"{name}: {wish}", parts)


def _question(loaded: LoadedTable) -> Iterator[str]:
    """What is varied, measured and wanted."""
    campaign = loaded.campaign
    yield heading("The question")
    rows = [(name, one.kind, one.range_text) for name, one in campaign.space.parameters.items()]
    yield table(("parameter", "kind", "range"), rows)
    for constraint in campaign.space.constraints:
        yield paragraph(f"It must hold that {constraint}.")


def _data(loaded: LoadedTable) -> Iterator[str]:
    """The rows, and what is missing in them."""
    summary = summarize(loaded.experiments)
    yield heading("The data")
    yield paragraph(capitalized(summary.said) + ".")
    yield _figure("outcomes over time", lambda: plots.outcomes(loaded.optimizer))
    gappy = [
        (one.column, str(one.known), str(one.uncertain), str(one.unknown))
        for one in summary.columns
        if one.uncertain or one.unknown
    ]
    if not gappy:
        return
    yield table(("column", "known", "uncertain", "unknown"), gappy, "What is missing")
    if len(loaded.experiments.rows) > LARGE:
        yield paragraph("bomi gaps lists what each missing value may have been.", "soft")
        return
    yield _figure(
        "what each gap may have been", lambda: plots.gap_strips(loaded.optimizer, labels=workflow.labels(loaded))
    )
    worth = [record for record in workflow.gaps(loaded).to_dict("records") if record["worth"] > 0][:WORTH]
    if worth:
        lines = [(str(one["row"]), one["id"], one["parameter"], f"{one['worth']:.2g}") for one in worth]
        unit = loaded.campaign.unit if len(loaded.campaign.outcomes) == 1 else ""
        header = ("row", "id", "parameter", with_unit("worth", unit))
        yield table(header, lines, "Most worth looking up")


def _belief(loaded: LoadedTable) -> Iterator[str]:
    """What the model says, and whether to trust it."""
    optimizer = loaded.optimizer
    yield heading("What is believed")
    validations = workflow.validations(loaded)
    if not validations:
        yield paragraph("There is no model yet: more rows with an outcome are needed.", "said bad")
    for one in validations:
        yield paragraph(capitalized(one.sentence) + ".", "said" if one.trusted else "said bad")
        if one.disbelief:
            yield paragraph(capitalized(one.disbelief) + ".", "said bad")
    try:
        found = workflow.recommend(loaded)
    except BomiError as error:
        yield paragraph(str(error))
        return
    yield from _recommended(loaded, found)
    middle = found[len(found) // 2].best.setting
    for one in validations:
        more: dict[str, Any] = {"outcome": one.outcome}
        ranked = sensitivity.importance(optimizer, outcome=one.outcome)
        draw = partial(model_plots.validation, optimizer, labels=workflow.labels(loaded), **more)
        yield _figure("predicted against measured", draw)
        yield _figure("which parameters matter", partial(model_plots.importance, optimizer, ranked=ranked, **more))
        yield _figure("slices", partial(model_plots.slices, optimizer, setting=middle, unit=one.unit, **more))
        if any(share.total > 0 for share in ranked[1:]):
            yield _figure("a map", partial(model_plots.surface, optimizer, setting=middle, ranked=ranked, **more))


def _recommended(loaded: LoadedTable, found: Sequence[Recommendation]) -> Iterator[str]:
    """The recommended setting beside the best row, or the best trade-offs."""
    outcomes = loaded.campaign.outcomes
    lines = []
    for one in found:
        if one.best.setting is not None:
            inputs = _setting(one.best.setting, loaded)
            exactly = "recommended"
            if one.best.as_done is not None:
                lines.append(["recommended", *inputs, *_expected(one.best.as_done, outcomes)])
                exactly = "if it is done exactly"
            lines.append([exactly, *inputs, *_expected(one.best.predicted, outcomes)])
    for one in {one.row: one for one in found}.values():
        seen = by_name(one.best.seen, outcomes)
        inputs = [cells.text(cell) for cell in one.recorded.values()]
        lines.append([f"best so far, {one.called}", *inputs, *(f"{seen[name]:.5g}" for name in outcomes)])
    yield _fitting(("", *_columns(loaded), *_outcomes(loaded)), lines, "Best and recommended")
    notes = {said for one in found for said in (one.best.note, one.apart) if said}
    for note in (*notes, *loaded.optimizer.equipment(), *workflow.conditions(loaded)):
        yield paragraph(capitalized(note) + ".")


def _next(loaded: LoadedTable, *, suggestions: int) -> Iterator[str]:
    """What to do next, and whether to go on."""
    yield heading("Next")
    if len(loaded.experiments.rows) > LARGE:
        yield paragraph("bomi prospects tells whether it is worth going on.", "soft")
    elif workflow.validations(loaded):
        advice = workflow.prospects(loaded)[1]
        yield paragraph(capitalized(advice) + ".", "said")
    if suggestions:
        advices = workflow.advise(loaded, suggestions)
        outcomes = loaded.campaign.outcomes
        each = [(str(place), one.suggestion, str(one.why)) for place, one in enumerate(advices, 1)]
        lines = [
            [place, *_setting(one, loaded), *_expected(one.as_done or one.predicted, outcomes)]
            for place, one, _ in each
        ]
        header = ("", *_columns(loaded), *(f"expected {name}" for name in _outcomes(loaded)))
        yield _fitting(header, lines, "Suggested experiments")
        for place, _, why in each:
            yield paragraph(f"{place}. {capitalized(why)}.", "soft")


def _origin(loaded: LoadedTable) -> Iterator[str]:
    """What it takes to make this page again."""
    import torch

    sheet = loaded.experiments.sheet
    yield heading("How this was made")
    print_of_table = sha256(sheet.path.read_bytes()).hexdigest()[:16] if sheet.path.exists() else "not on disk"
    rows = [
        ("bomi", bomi.__version__),
        ("method", loaded.optimizer.method.name),
        ("seed", str(loaded.optimizer.seed)),
        ("table", f"{sheet.path.name}, SHA-256 {print_of_table}"),
        ("Python", platform.python_version()),
        ("torch", torch.__version__),
    ]
    yield table(("", ""), rows)


def _fitting(header: Sequence[str], lines: Sequence[Sequence[str]], caption: str) -> str:
    """A table; one that is wider than a sheet of paper stands on its side."""
    if len(header) <= WIDE:
        return table(header, lines, caption)
    first, *others = zip(header, *lines, strict=True)
    return table(first, others, caption)


def _setting(setting: Mapping[str, Known], loaded: LoadedTable) -> list[str]:
    """The values of a setting, in the order of the columns."""
    found = []
    for name in loaded.campaign.space.names:
        value = setting[name]
        text = f"{value:.5g}" if isinstance(value, float) else cells.text(value)
        found.append(text)
    return found


def _columns(loaded: LoadedTable) -> list[str]:
    """The names of the parameters, with their units."""
    return [with_unit(name, one.unit) for name, one in loaded.campaign.space.parameters.items()]


def _outcomes(loaded: LoadedTable) -> list[str]:
    """The names of the outcomes, with their units."""
    return [with_unit(one.name, one.unit) for one in loaded.campaign.objectives]


def _expected(predicted: AnyPrediction, outcomes: tuple[str, ...]) -> list[str]:
    if predicted is None:
        return ["" for _ in outcomes]
    each: Mapping[str, Prediction | AsDone] = by_name(predicted, outcomes)
    return [rounded(each[name]).replace(" ", "\u00a0") for name in outcomes]


def _figure(what: str, draw: Callable[[], Any]) -> str:
    """A figure as SVG within the page, or why there is none."""
    import matplotlib as mpl

    try:
        figure = draw()
    except BomiError as error:
        return paragraph(f"No figure of {what}: {error}.", "soft")
    held = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(held, format="svg", metadata={"Date": None})
    svg = held.getvalue()
    # Every figure defines marks by the same names: each keeps its own.
    mark = sha256(what.encode()).hexdigest()[:6]
    for quote in ('id="', 'href="#', "url(#"):
        svg = svg.replace(quote, f"{quote}{mark}")
    return f'<figure role="img" aria-label="{what}">{svg[svg.index("<svg") :]}</figure>'
