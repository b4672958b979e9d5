"""Fills docs/reproduction.md with the results of full runs: `python docs/figures/make_reproduction.py RESULTS`.

RESULTS holds the folders that `bomi reproduce performance|stability|heat|robot -o RESULTS/NAME` wrote. Figures go
beside this file. In the document, everything between `<!-- NAME TABLE -->` and `<!-- end -->` is replaced. People write
the sentences around it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from bomi.benchmarks import report, scores
from bomi.benchmarks.results import Results, read
from bomi.benchmarks.scores import RECOMMENDED, SEEN, number

HERE = Path(__file__).parent
DOCUMENT = HERE.parent / "reproduction.md"


def finals(results: Results, what: str) -> list[list[str]]:
    """A row for each method, a column for each case: mean ± standard error; the best except for the oracle is bold."""
    by_case = {case: {s.method: s for s in scores.scores(results, case, what=what)} for case in results.cases}
    best = {
        case: max((s.mean for s in found.values() if s.method != "oracle"), default=None)
        for case, found in by_case.items()
    }
    ranks = scores.average_ranks(results, what=what)
    rows = [["method", *by_case, "average rank"]]
    for method in results.methods:
        cells = []
        for case, found in by_case.items():
            score = found.get(method)
            cell = "-" if score is None else f"{number(score.mean)} ± {number(score.error)}"
            cells.append(f"**{cell}**" if score is not None and score.mean == best[case] else cell)
        rows.append([method, *cells, f"{ranks[method]:.1f}" if method in ranks else "-"])
    return rows


def seen(results: Results) -> list[list[str]]:
    """The best outcome seen at the end."""
    return finals(results, SEEN)


def turned(results: Results) -> list[list[str]]:
    """The same with a row for each case and a column for each method: for many cases."""
    *cases, _ = zip(*seen(results), strict=True)
    return [["setting", *cases[0][1:]], *(list(row) for row in cases[1:])]


def recommended(results: Results) -> list[list[str]]:
    """The true value of the setting recommended at the end."""
    return finals(results, RECOMMENDED)


def gaps(results: Results) -> list[list[str]]:
    """How well the gaps were filled, over all cases."""
    rows = [["method", "error, history", "error, events", "coverage, history", "coverage, events"]]
    for method in results.methods:
        runs = [run for run in results.runs if run["method"] == method]
        cells = [
            number(scores.average(runs, part, what))
            for what in ("error", "coverage")
            for part in ("history_gaps", "event_gaps")
        ]
        if any(cell not in ("-", "nan") for cell in cells):
            rows.append([method, *cells])
    return rows


def seconds(results: Results) -> list[list[str]]:
    """Seconds for one suggestion."""
    rows = [["method", *results.cases]]
    for method in results.methods:
        cells = []
        for case in results.cases:
            runs = [run for run in results.runs if (run["case"], run["method"]) == (case, method)]
            cells.append(f"{scores.seconds(runs):.3f}" if runs else "-")
        rows.append([method, *cells])
    return rows


TABLES: dict[str, Callable[[Results], list[list[str]]]] = {
    "seen": seen,
    "turned": turned,
    "recommended": recommended,
    "gaps": gaps,
    "seconds": seconds,
}


def main(folder: Path) -> None:
    """Write every figure and table whose results exist."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for path in sorted(folder.glob("*/results.jsonl")):
        name, results = path.parent.name, read(path)
        figure = report.trends_figure(results) or report.curves_figure(results)
        target = HERE / f"reproduction-{name}.png"
        target.write_bytes(report.picture(figure, "png"))
        with Image.open(target) as image:
            image.convert("RGB").quantize(192, dither=Image.Dither.NONE).save(target, optimize=True)
        for table, made in TABLES.items():
            mark = rf"(<!-- {name} {table} -->\n).*?(<!-- end -->)"
            filled = scores.table(made(results))
            text = re.sub(mark, lambda found, t=filled: f"{found[1]}{t}\n{found[2]}", text, flags=re.DOTALL)
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
