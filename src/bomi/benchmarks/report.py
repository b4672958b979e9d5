"""The report of a sweep: figures (PNG and SVG), tables (CSV) and one page (HTML) with all of them.

curves   the best outcome seen against the number of evaluations, one panel for each case
trends   the final values against a setting, if cases are labelled `setting=number`
"""

from __future__ import annotations

import base64
import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bomi.analysis import drawing
from bomi.benchmarks import scores
from bomi.benchmarks.results import Results, Run
from bomi.benchmarks.scores import RECOMMENDED, SEEN, number
from bomi.campaign import printed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ReportTable:
    """Titles and rows, with the name of its file and a caption; a cell is a text, a number or None."""

    name: str
    caption: str
    titles: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]


def write_report(results: Results, folder: Path | str, *, title: str) -> Path:
    """Write figures, tables and `report.html` into the folder; return the path of the page.

    The other methods are tested against `posterior`, else `bomi`, else the first.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    figures = [("curves", curves_figure(results))]
    if trends := trends_figure(results):
        figures.append(("trends", trends))
    for name, figure in figures:
        drawing.save(figure, folder / name)
    pictures = [(name, (folder / f"{name}.svg").read_bytes()) for name, _ in figures]
    tables = list(all_tables(results, default_reference(results)))
    for table in (*tables, curves_table(results)):
        _write_csv(folder / f"{table.name}.csv", table)
    page = folder / "report.html"
    page.write_text(_page(results, title, pictures, tables), encoding="utf-8")
    return page


def default_reference(results: Results) -> str:
    """The method to test the others against."""
    return next((name for name in ("posterior", "bomi") if name in results.methods), next(iter(results.methods)))


# --- tables -----------------------------------------------------------------------------------------------------------


def all_tables(results: Results, reference: str) -> Iterator[ReportTable]:
    """The tables of a report."""
    yield final_table(results, SEEN, reference)
    yield final_table(results, RECOMMENDED, reference)
    yield ranks_table(results)
    yield gaps_table(results)
    yield seconds_table(results)


def final_table(results: Results, what: str, reference: str) -> ReportTable:
    """Final values of every case and method."""
    caption = {
        SEEN: "Best outcome seen at the end of a run; it may have been measured at inputs that nobody knows.",
        RECOMMENDED: "True value of the setting recommended at the end of a run, which is what a user gets.",
    }[what]
    closed = "Closed: share of the way from naive to oracle. " if {"naive", "oracle"} <= results.methods.keys() else ""
    titles = ["case", "method", "runs", "mean", "standard error", "median", "regret", "closed", "rank", "p"]
    rows: list[list[str | float | None]] = []
    for case in results.cases:
        ranks = scores.ranks(results, case, what=what)
        for score in scores.scores(results, case, what=what, reference=reference):
            numbers = [score.mean, score.error, score.median, score.regret, score.closed]
            rows.append([case, score.method, score.repeats, *numbers, ranks.get(score.method), score.p])
    about = (
        f"{caption} {closed}Rank: averaged over repeats, 1 is best. p: {scores.TEST}, against {reference}, "
        f"not corrected for the number of comparisons."
    )
    return ReportTable(what.replace(" ", "-"), about, titles, rows)


def ranks_table(results: Results) -> ReportTable:
    """Average ranks over all cases."""
    seen, recommended = (scores.average_ranks(results, what=what) for what in (SEEN, RECOMMENDED))
    rows = [[method, seen.get(method), recommended.get(method)] for method in results.methods]
    rows.sort(key=lambda row: math.inf if row[1] is None else float(row[1]))
    about = "Ranks (1 is best) averaged over all cases and the repeats that all methods have."
    return ReportTable("ranks", about, ["method", "by best seen", "by recommended"], rows)


def gaps_table(results: Results) -> ReportTable:
    """How well the gaps were filled."""
    titles = ["case", "method", "history: filled", "error", "coverage", "events: filled", "error", "coverage"]
    rows: list[list[str | float | None]] = []
    for case, method, runs in _groups(results):
        row: list[str | float | None] = [case, method]
        for part in ("history_gaps", "event_gaps"):
            count, filled = (scores.average(runs, part, name) for name in ("count", "filled"))
            row += [filled / count if count else None, *(scores.average(runs, part, n) for n in ("error", "coverage"))]
        if not all(value is None or np.isnan(value) or value == 0 for value in row[2:] if not isinstance(value, str)):
            rows.append(row)
    about = (
        "Gaps at the end of a run, in the history and in evaluations that went wrong. Filled: share that the method "
        "gives a value to. Error: root mean square, as a share of the parameter's range. Coverage: share of true "
        "values inside the 5 % to 95 % interval of the worlds; 0.9 is right, and methods with a single world have none."
    )
    return ReportTable("gaps", about, titles, rows)


def seconds_table(results: Results) -> ReportTable:
    """How long a suggestion takes."""
    rows: list[list[str | float | None]] = [
        [case, method, scores.seconds(runs), float(np.mean([sum(run["seconds"]) for run in runs]))]
        for case, method, runs in _groups(results)
    ]
    return ReportTable(
        "seconds",
        "Seconds for one suggestion, and for all suggestions of a run, on one core.",
        ["case", "method", "s", "run"],
        rows,
    )


def curves_table(results: Results) -> ReportTable:
    """The numbers behind the curves."""
    rows: list[list[str | float | None]] = [
        [case, method, t, mean, error]
        for case in results.cases
        for method, curve in scores.curves(results, case).items()
        for t, (mean, error) in enumerate(zip(*curve, strict=True))
    ]
    return ReportTable("curves", "", ["case", "method", "evaluations", "mean", "standard error"], rows)


def _groups(results: Results) -> Iterator[tuple[str, str, list[Run]]]:
    """The runs of each case and method."""
    for case in results.cases:
        for method in results.methods:
            if runs := results.of(case, method):
                yield case, method, runs


def _write_csv(path: Path, table: ReportTable) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.titles)
        writer.writerows([_blank(cell) for cell in row] for row in table.rows)


def _blank(cell: str | float | None) -> str | float:
    return "" if cell is None or cell != cell else cell


# --- figures ----------------------------------------------------------------------------------------------------------

# Okabe and Ito's colours, which colour-blind readers can distinguish; lines and markers differ too.
_KNOWN: dict[str, tuple[str, str, str]] = {
    "posterior": ("#0072B2", "-", "o"),
    "bomi": ("#D55E00", "-", "s"),
    "bpmf": ("#E69F00", "--", "D"),
    "knn": ("#009E73", "-", "^"),
    "mean": ("#56B4E9", "-", "v"),
    "mode": ("#56B4E9", ":", "<"),
    "suggest": ("#CC79A7", "-", "P"),
    "ugp": ("#009E73", "--", "X"),
    "drop": ("#CC79A7", "--", "p"),
    "random": ("#888888", ":", "x"),
    "oracle": ("#000000", "--", "*"),
    "naive": ("#888888", "-.", "+"),
}
_OTHERS = [
    (color, line, marker)
    for line, marker in (("-.", "h"), (":", "d"), ("--", ">"))
    for color in ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9")
]
_BARS: dict[str, Any] = {"linewidth": 1.6, "markersize": 5, "elinewidth": 0.9, "capsize": 2}


def _styles(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """How each method is drawn, the same in every figure."""
    spare = iter(_OTHERS * 100)
    styles = {}
    for method in methods:
        color, line, marker = _KNOWN.get(method) or next(spare)
        styles[method] = {"color": color, "linestyle": line, "marker": marker}
    return styles


@drawing.styled
def curves_figure(results: Results) -> Figure:
    """The best outcome seen against the number of evaluations: mean and standard error, one panel for each case."""
    from matplotlib.ticker import MaxNLocator

    cases, styles = list(results.cases), _styles(results.methods)
    figure, panels = _panels(len(cases))
    for case, axes in zip(cases, panels, strict=True):
        curves = scores.curves(results, case)
        for place, (method, (mean, error)) in enumerate(curves.items()):
            every = max(len(mean) // 6, 1)
            # Markers of different methods are beside each other, not on top of each other.
            marked = (place * every // len(curves), every)
            axes.errorbar(
                np.arange(len(mean)), mean, error, label=method, errorevery=marked, markevery=marked, **_BARS,
                **styles[method],
            )  # fmt: skip
        optimum = results.cases[case].get("optimum")
        repeats = len({run["repeat"] for run in results.runs if run["case"] == case})
        axes.set_title(f"{case} ({repeats} {'run' if repeats == 1 else 'runs'})", fontsize=10)
        axes.set_xlabel("evaluations")
        axes.set_ylabel("best outcome seen")
        axes.margins(x=0.01)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        if optimum is not None:
            low, high = axes.get_ylim()
            if optimum - high < 0.35 * (high - low):  # close enough not to squeeze the curves
                axes.axhline(optimum, color="#555555", linewidth=0.8, linestyle=(0, (1, 2)))
                axes.annotate(
                    "optimum", (1, optimum), (-2, -2), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
                    ha="right", va="top", fontsize=7, color="#555555",
                )  # fmt: skip
    drawing.legend_below(figure, panels)
    return figure


@drawing.styled
def trends_figure(results: Results) -> Figure | None:
    """Final values against a setting, one panel for each; None if no case is labelled `setting=number`."""
    settings: dict[str, dict[float, str]] = {}
    for case in results.cases:
        if match := re.fullmatch(r"(.+)=([\d.]+)", case):
            settings.setdefault(match[1], {})[float(match[2])] = case
    settings = {name: places for name, places in settings.items() if len(places) > 1}
    if not settings:
        return None
    styles = _styles(results.methods)
    figure, panels = _panels(len(settings))
    for (name, places), axes in zip(settings.items(), panels, strict=True):
        found = {x: {s.method: s for s in scores.scores(results, case)} for x, case in sorted(places.items())}
        dodge = 0.004 * (max(places) - min(places))  # beside each other, not on top of each other
        for place, method in enumerate(results.methods):
            points = [(x, by_method[method]) for x, by_method in found.items() if method in by_method]
            if points:
                x, y, error = np.array([(x, score.mean, score.error) for x, score in points]).T
                x += dodge * (place - len(results.methods) / 2)
                axes.errorbar(x, y, np.nan_to_num(error), label=method, **_BARS, **styles[method])
        axes.set_xlabel(name)
        axes.set_ylabel("best outcome seen at the end")
        axes.set_xticks(sorted(places))
    drawing.legend_below(figure, panels)
    return figure


def _panels(count: int) -> tuple[Figure, list[Any]]:
    """A panel for each case or setting."""
    figure, panels = drawing.new_panels(count, 4.6, 3.3, most=2 if count == 4 else 3)
    for axes in panels:
        drawing.grid(axes)
    return figure, panels


# --- the page ---------------------------------------------------------------------------------------------------------


def _page(results: Results, title: str, pictures: Sequence[tuple[str, bytes]], tables: Sequence[ReportTable]) -> str:
    """One self-contained page."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    parts = [printed.heading(title, 1), printed.paragraph(f"{len(results.runs)} runs; {versions}.", "soft")]
    for name, image in pictures:
        data = base64.b64encode(image).decode()
        picture = f"<figure><img alt='{name}' src='data:image/svg+xml;base64,{data}'></figure>"
        parts += [printed.heading(name.capitalize()), picture]
    parts.append(printed.paragraph("Lines are means over the repeats; bars are one standard error either way.", "soft"))
    for table in (*(table for table in tables if table.rows), _settings_table(results)):
        cells = ([cell if isinstance(cell, str) else number(cell) for cell in row] for row in table.rows)
        parts += [printed.heading(table.name.replace("-", " ").capitalize()), printed.paragraph(table.caption, "soft")]
        parts.append(printed.table(table.titles, cells))
    return printed.page(title, parts)


def _settings_table(results: Results) -> ReportTable:
    shown = ("budget", "missing", "initial")
    rows = [[case, *(_text(settings[name]) for name in shown)] for case, settings in results.cases.items()]
    return ReportTable("settings", "The settings of each case.", ["case", "evaluations", "missing", "initial"], rows)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items() if name != "type")
    return "nothing" if value is None else str(value)
