"""The report of a sweep: figures (PNG and SVG), tables (CSV) and one page (HTML) with all of them.

curves   the best outcome seen against the number of evaluations, one panel for each case
trends   the final values against a setting, if cases are labelled `setting=number`
"""

from __future__ import annotations

import base64
import csv
import html
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bomi.benchmarks import scores
from bomi.benchmarks.results import Results, Run
from bomi.benchmarks.scores import RECOMMENDED, SEEN, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Table:
    """Titles and rows, with the name of its file and a caption; a cell is a text, a number or None."""

    name: str
    caption: str
    titles: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]


def write_report(results: Results, folder: Path | str, *, title: str, reference: str | None = None) -> Path:
    """Write figures, tables and `report.html` into the folder; return the path of the page.

    The other methods are tested against `reference`: by default `posterior`, else `bomi`, else the first.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    against = reference or default_reference(results)
    figures = [("curves", curves_figure(results))]
    if trends := trends_figure(results):
        figures.append(("trends", trends))
    pictures = []
    for name, figure in figures:
        for kind in ("png", "svg"):
            (folder / f"{name}.{kind}").write_bytes(picture(figure, kind))
        pictures.append((name, picture(figure, "svg")))
    tables = list(all_tables(results, against))
    for table in (*tables, curves_table(results)):
        _write_csv(folder / f"{table.name}.csv", table)
    page = folder / "report.html"
    page.write_text(_page(results, title, pictures, tables), encoding="utf-8")
    return page


def default_reference(results: Results) -> str:
    """The method to test the others against."""
    return next((name for name in ("posterior", "bomi") if name in results.methods), next(iter(results.methods)))


# --- tables -----------------------------------------------------------------------------------------------------------


def all_tables(results: Results, reference: str) -> Iterator[Table]:
    """The tables of a report."""
    yield final_table(results, SEEN, reference)
    yield final_table(results, RECOMMENDED, reference)
    yield ranks_table(results)
    yield gaps_table(results)
    yield seconds_table(results)


def final_table(results: Results, what: str, reference: str) -> Table:
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
    return Table(what.replace(" ", "-"), about, titles, rows)


def ranks_table(results: Results) -> Table:
    """Average ranks over all cases."""
    seen, recommended = (scores.average_ranks(results, what=what) for what in (SEEN, RECOMMENDED))
    rows = [[method, seen.get(method), recommended.get(method)] for method in results.methods]
    rows.sort(key=lambda row: math.inf if row[1] is None else float(row[1]))
    about = "Ranks (1 is best) averaged over all cases and the repeats that all methods have."
    return Table("ranks", about, ["method", "by best seen", "by recommended"], rows)


def gaps_table(results: Results) -> Table:
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
    return Table("gaps", about, titles, rows)


def seconds_table(results: Results) -> Table:
    """How long a suggestion takes."""
    rows: list[list[str | float | None]] = [
        [case, method, scores.seconds(runs), float(np.mean([sum(run["seconds"]) for run in runs]))]
        for case, method, runs in _groups(results)
    ]
    return Table(
        "seconds",
        "Seconds for one suggestion, and for all suggestions of a run, on one core.",
        ["case", "method", "s", "run"],
        rows,
    )


def curves_table(results: Results) -> Table:
    """The numbers behind the curves."""
    rows: list[list[str | float | None]] = [
        [case, method, t, mean, error]
        for case in results.cases
        for method, curve in scores.curves(results, case).items()
        for t, (mean, error) in enumerate(zip(*curve, strict=True))
    ]
    return Table("curves", "", ["case", "method", "evaluations", "mean", "standard error"], rows)


def _groups(results: Results) -> Iterator[tuple[str, str, list[Run]]]:
    """The runs of each case and method."""
    for case in results.cases:
        for method in results.methods:
            runs = [run for run in results.runs if (run["case"], run["method"]) == (case, method)]
            if runs:
                yield case, method, runs


def _write_csv(path: Path, table: Table) -> None:
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
    _legend(figure, panels)
    return figure


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
    _legend(figure, panels)
    return figure


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure  # loaded only when needed

    columns = min(count, 2 if count in (2, 4) else 3)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(0.6 + 4.4 * columns, 0.9 + 3.1 * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in panels[count:]:
        axes.set_visible(False)
    for axes in panels[:count]:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#E6E6E6", linewidth=0.7)
        axes.set_axisbelow(True)
    return figure, panels[:count]


def _legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend for all panels, in the order of the methods."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    width = figure.get_figwidth()
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center", ncols=max(int(width / 1.15), 1),
        frameon=False, fontsize=9, handlelength=3.2,
    )  # fmt: skip


def picture(figure: Figure, kind: str) -> bytes:
    """The figure as a file; the same figure gives the same bytes."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "bomi", "svg.fonttype": "path"}):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue()


# --- the page ---------------------------------------------------------------------------------------------------------

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th.word, td.word { text-align: left; }
tr.new td { border-top: 2px solid #999; }
.wide { overflow-x: auto; } .note { color: #555; max-width: 50rem; }
"""


def _page(results: Results, title: str, pictures: Sequence[tuple[str, bytes]], tables: Sequence[Table]) -> str:
    """One self-contained page."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p class='note'>{len(results.runs)} runs; {html.escape(versions)}.</p>",
    ]
    for name, image in pictures:
        data = base64.b64encode(image).decode()
        parts.append(f"<h2>{name.capitalize()}</h2><img alt='{name}' src='data:image/svg+xml;base64,{data}'>")
    parts.append("<p class='note'>Lines are means over the repeats; bars are one standard error either way.</p>")
    parts += [_html_table(table) for table in tables if table.rows]
    parts.append(_html_table(_settings_table(results)))
    body = "\n".join(parts)
    return (
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{html.escape(title)}</title>"
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _settings_table(results: Results) -> Table:
    rows = []
    for case, settings in results.cases.items():
        shown = {name: value for name, value in settings.items() if name in ("budget", "missing", "initial")}
        rows.append([case, *(_text(shown[name]) for name in ("budget", "missing", "initial"))])
    return Table("settings", "The settings of each case.", ["case", "evaluations", "missing", "initial"], rows)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items() if name != "type")
    return "nothing" if value is None else str(value)


def _html_table(table: Table) -> str:
    words = [any(isinstance(row[i], str) for row in table.rows) for i in range(len(table.titles))]
    kinds = ["word" if word else "" for word in words]

    def line(tag: str, cells: Iterable[str], new: bool = False) -> str:
        inner = "".join(
            f"<{tag} class='{kind}'>{html.escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True)
        )
        return f"<tr{' class=new' if new else ''}>{inner}</tr>"

    lines = [line("th", table.titles)]
    before: Any = None
    for row in table.rows:
        cells = [cell if isinstance(cell, str) else number(cell) for cell in row]
        lines.append(line("td", cells, new=before is not None and words[0] and len(row) > 4 and row[0] != before))
        before = row[0]
    heading = table.name.replace("-", " ").capitalize()
    return (
        f"<h2>{heading}</h2><p class='note'>{html.escape(table.caption)}</p>"
        f"<div class='wide'><table>{''.join(lines)}</table></div>"
    )
