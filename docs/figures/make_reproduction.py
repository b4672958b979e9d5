"""Fills the tables of docs/reproduction.md from docs/results: `python docs/figures/make_reproduction.py`.

With a folder, `python docs/figures/make_reproduction.py RESULTS`, the results files are made anew first: RESULTS/NAME
holds what a command of `COMMANDS` wrote. `docs/results/NAME.jsonl` keeps of each run what the page tells, in the format
of docs/results.md, and the figures are drawn from the whole. In the document, everything between `<!-- NAME TABLE -->`
and `<!-- end -->` is replaced. People write the sentences around it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import linregress, rankdata

from bomi.analysis import drawing
from bomi.benchmarks import report, scores
from bomi.benchmarks.experiments import DIFFERENCES, PAPER_METHODS
from bomi.benchmarks.results import FORMAT, VERSION, Results, Run, read
from bomi.benchmarks.scores import KEPT, RECOMMENDED, SEEN, number

HERE = Path(__file__).parent
DOCUMENT = HERE.parent / "reproduction.md"
KEPT_HERE = HERE.parent / "results"
COMMANDS = {
    "performance": "bomi reproduce performance --initial DIR",
    "published": "bomi reproduce performance --as-published --initial DIR",
    "stability": "bomi reproduce stability --initial DIR",
    "heat": "bomi reproduce heat",
    "robot": "bomi reproduce robot",
    **{
        f"ablation-{name}": f"bomi reproduce performance --differences {name} --cases eggholder2d,schwefel5d "
        "--repeats 5 --initial DIR"
        for name in DIFFERENCES
    },
}
EIGHT = [*PAPER_METHODS]
AUTHORS = {"eggholder2d": 825.0, "schubert4d": 8150.0, "alpine5d": -0.75, "schwefel5d": -312.0}  # of 4 runs, each
AUTHORS_RUNS = 4

Rows = list[list[str]]


# --- results files ----------------------------------------------------------------------------------------------------


def thinned(results: Results) -> list[dict[str, Any]]:
    """The lines of a results file with what the page tells of each run."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "versions": dict(results.versions),
        "commits": list(results.commits),
        "cases": dict(results.cases),
        "methods": dict(results.methods),
    }
    return [header, *map(_thin, results.runs)]


def _thin(run: Run) -> Run:
    made: Run = {"case": run["case"], "method": run["method"], "repeat": run["repeat"]}
    made["best"] = [_round(run["best"][-1])]
    if run["method"] == "drop":
        made["kept"] = [_round(run["kept"][-1])]
    evaluations, value = run["recommended"][-1]
    made["recommended"] = [[evaluations, _round(value)]]
    for part in ("history_gaps", "event_gaps"):
        gaps = run[part]
        made[part] = gaps and {name: _round(gaps[name]) for name in ("error", "coverage")}
    made["seconds"] = [_round(float(np.mean(run["seconds"])))]
    return made


def _round(value: float | None, digits: int = 6) -> float | None:
    return None if value is None else float(f"{value:.{digits}g}")


def some(results: Results, *, methods: Iterable[str] | None = None, cases: Iterable[str] | None = None,
         repeats: Iterable[int] | None = None) -> Results:  # fmt: skip
    """The runs of some methods, cases and repeats."""
    names = list(results.methods) if methods is None else [name for name in methods if name in results.methods]
    labels = list(results.cases) if cases is None else [label for label in cases if label in results.cases]
    numbers = None if repeats is None else set(repeats)
    runs = [
        run for run in results.runs
        if run["method"] in names and run["case"] in labels and (numbers is None or run["repeat"] in numbers)
    ]  # fmt: skip
    return replace(
        results,
        cases={label: results.cases[label] for label in labels},
        methods={name: results.methods[name] for name in names},
        runs=tuple(runs),
    )


# --- tables -----------------------------------------------------------------------------------------------------------


def mean_ranks(results: Results, what: str = SEEN) -> dict[str, tuple[float, float]]:
    """Each method's rank, averaged over the cases that all methods have, with its standard error over the repeats."""
    every = [scores.finals(results, case, what) for case in results.cases]
    most = max((len(runs) for found in every for runs in found.values()), default=0)
    methods = list(results.methods)
    # A case that lacks runs has no say.
    values = [found for found in every if all(len(found.get(name, ())) == most for name in methods)]
    if not values:
        return {}
    common = sorted(set.intersection(*(set(found[name]) for found in values for name in methods)))
    each = np.array([
        np.mean([rankdata([-found[name][repeat] for name in methods]) for found in values], axis=0)
        for repeat in common
    ])  # fmt: skip
    return {name: (float(each[:, j].mean()), scores.standard_error(each[:, j])) for j, name in enumerate(methods)}


def spread(value: tuple[float, float] | None, digits: int = 1) -> str:
    """A mean with its standard error."""
    if value is None:
        return "-"
    mean, error = value
    return f"{mean:.{digits}f}" if np.isnan(error) else f"{mean:.{digits}f} ± {error:.{digits}f}"


def finals(results: Results, what: str) -> Rows:
    """A row for each method, a column for each case: mean ± standard error; the best except for the oracle is bold."""
    by_case = {case: {s.method: s for s in scores.scores(results, case, what=what)} for case in results.cases}
    best = {
        case: max((s.mean for s in found.values() if s.method != "oracle"), default=None)
        for case, found in by_case.items()
    }
    ranks = mean_ranks(results, what)
    eight = mean_ranks(some(results, methods=EIGHT), what)
    rows = [["method", *by_case, f"rank of {len(results.methods)}", "rank of the paper's eight"]]
    for method in results.methods:
        cells = []
        for case, found in by_case.items():
            score = found.get(method)
            cell = "-" if score is None else f"{number(score.mean)} ± {number(score.error)}"
            cells.append(f"**{cell}**" if score is not None and score.mean == best[case] else cell)
        rows.append([method, *cells, spread(ranks.get(method)), spread(eight.get(method))])
    return rows


def seen(results: Results) -> Rows:
    """The best outcome seen at the end."""
    return finals(results, SEEN)


def kept(results: Results) -> Rows:
    """The same, but what `drop` drops it has not seen."""
    return finals(results, KEPT)


def recommended(results: Results) -> Rows:
    """The true value of the setting recommended at the end."""
    return finals(results, RECOMMENDED)


def turned(results: Results) -> Rows:
    """The best seen with a row for each case and a column for each method: for many cases."""
    table = [row[: 1 + len(results.cases)] for row in seen(results)]
    cases = list(zip(*table, strict=True))
    return [["setting", *cases[0][1:]], *(list(row) for row in cases[1:])]


def slopes(results: Results) -> Rows:
    """The slope of the best outcome seen over a setting: a straight line through all runs."""
    settings: dict[str, dict[float, str]] = {}
    for case in results.cases:
        name, _, value = case.partition("=")
        settings.setdefault(name, {})[float(value)] = case
    rows = [["method", *(f"{name}, from {min(at):g} to {max(at):g}" for name, at in settings.items())]]
    for method in results.methods:
        cells = []
        for at in settings.values():
            points = [
                (x, value)
                for x, case in at.items()
                for value in scores.finals(results, case, SEEN).get(method, {}).values()
            ]
            if len({x for x, _ in points}) < 2:
                cells.append("-")
                continue
            line = linregress(*zip(*points, strict=True))
            wide = max(at) - min(at)
            cells.append(f"{line.slope * wide:.0f} ± {line.stderr * wide:.0f} (p = {p_value(line.pvalue)})")
        rows.append([method, *cells])
    return rows


def p_value(p: float | None) -> str:
    """A p-value in two digits."""
    return "-" if p is None else f"{p:.2g}" if p >= 0.001 else "< 0.001"


def against(results: Results, reference: str = "bomi") -> Rows:
    """The paper's other methods against one of them, by function: how many repeats it wins, and a paired test."""
    others = [name for name in EIGHT if name != reference and name in results.methods]
    rows = [[f"{reference} against", *results.cases]]
    for name in others:
        cells = []
        for case in results.cases:
            values = scores.finals(results, case, SEEN)
            own, other = values.get(reference, {}), values.get(name, {})
            common = sorted(own.keys() & other.keys())
            wins = sum(own[repeat] > other[repeat] for repeat in common)
            ties = sum(own[repeat] == other[repeat] for repeat in common)
            tied = f", {ties} equal" if ties else ""
            cells.append(f"{wins} of {len(common)}{tied} (p = {p_value(scores.paired_p(own, other))})")
        rows.append([name, *cells])
    return rows


def gaps(results: Results) -> Rows:
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


def seconds(results: Results) -> Rows:
    """Seconds for one suggestion."""
    rows = [["method", *results.cases]]
    for method in results.methods:
        cells = []
        for case in results.cases:
            runs = [run for run in results.runs if (run["case"], run["method"]) == (case, method)]
            cells.append(f"{scores.seconds(runs):.3f}" if runs else "-")
        rows.append([method, *cells])
    return rows


def authors(results: Results) -> Rows:
    """BOMI beside four runs of the authors' own program."""
    rows = [["function", "authors' program, 4 runs", "ours", "median", "range", "z"]]
    for case, theirs in AUTHORS.items():
        values = np.array(list(scores.finals(results, case, SEEN).get("bomi", {}).values()))
        if len(values) < 2:
            continue
        error = values.std(ddof=1) * np.sqrt(1 / len(values) + 1 / AUTHORS_RUNS)
        ours = f"{number(float(values.mean()))} ± {number(scores.standard_error(values))}"
        width = f"{number(float(values.min()))} to {number(float(values.max()))}"
        z = (theirs - values.mean()) / error
        rows.append([case, number(theirs), ours, number(float(np.median(values))), width, f"{z:.1f}"])
    return rows


# --- tables of several files ------------------------------------------------------------------------------------------


def claims(files: Mapping[str, Results]) -> Rows:
    """The numbers behind the paper's claims on four functions, by the text and as published."""
    rows = [["", *(f"{about}" for _, about in _CLAIM_FILES)]]
    found = [some(files[name], methods=EIGHT) for name, _ in _CLAIM_FILES]
    ranks = [
        mean_ranks(one, KEPT if name == "published" else SEEN)
        for one, (name, _) in zip(found, _CLAIM_FILES, strict=True)
    ]
    rows.append(["rank of BOMI", *(spread(one.get("bomi")) for one in ranks)])
    rows.append(["best rank of the eight", *(_extreme(one, min) for one in ranks)])
    rows.append(["worst rank of the eight", *(_extreme(one, max) for one in ranks)])
    rows.append(["functions on which BOMI's mean is the best", *(_firsts(one, "bomi") for one in found)])
    rows.append(["rank of Drop", *(spread(one.get("drop")) for one in ranks)])
    rows.append(
        ["rank of Drop if what it drops counts as seen", *(spread(mean_ranks(one).get("drop")) for one in found)]
    )
    rows.append(["rank of Drop if it does not", *(spread(mean_ranks(one, KEPT).get("drop")) for one in found)])
    for name in ("mean", "mode", "knn"):
        rows.append([f"rank of {name}", *(spread(one.get(name)) for one in ranks)])
    for name in EIGHT[1:]:
        rows.append([f"BOMI ahead of {name}: repeats of all functions", *(_pairs(one, "bomi", name) for one in found)])
    for name in ("mean", "mode"):
        rows.append([f"knn ahead of {name}: repeats of all functions", *(_pairs(one, "knn", name) for one in found)])
    return rows


_CLAIM_FILES = (("performance", "the paper's text"), ("published", "as published"))


def _extreme(ranks: Mapping[str, tuple[float, float]], which: Callable[..., str]) -> str:
    name = which(ranks, key=lambda one: ranks[one][0])
    return f"{name}, {spread(ranks[name])}"


def _firsts(results: Results, method: str) -> str:
    firsts = [
        case for case in results.cases
        if max(scores.scores(results, case), key=lambda one: one.mean).method == method
    ]  # fmt: skip
    return f"{len(firsts)} of {len(results.cases)}" + (f" ({', '.join(firsts)})" if firsts else "")


def _pairs(results: Results, first: str, second: str) -> str:
    """How often one is ahead of another, with a sign test over all functions and repeats."""
    from scipy.stats import binomtest

    wins = losses = 0
    for case in results.cases:
        values = scores.finals(results, case, SEEN)
        for repeat in values.get(first, {}).keys() & values.get(second, {}).keys():
            wins += values[first][repeat] > values[second][repeat]
            losses += values[first][repeat] < values[second][repeat]
    p = binomtest(wins, wins + losses).pvalue if wins + losses else None
    return f"{wins} to {losses} (p = {p_value(p)})"


def ablation(files: Mapping[str, Results]) -> Rows:
    """What each difference does alone, on the functions and repeats that all files have."""
    names = [f"ablation-{name}" for name in DIFFERENCES if f"ablation-{name}" in files]
    chosen = {"none: the text": files["performance"], **{name.removeprefix("ablation-"): files[name] for name in names}}
    chosen["all: as published"] = files["published"]
    cases = [case for case in files["performance"].cases if all(case in one.cases for one in chosen.values())]
    repeats = set.intersection(*(
        {run["repeat"] for run in one.runs if run["case"] == case} for one in chosen.values() for case in cases
    ))  # fmt: skip
    titles = [f"BOMI on {case}" for case in cases]
    rows = [
        ["difference", *titles, "rank of BOMI", "rank of Drop", "rank of mean", "rank of mode", "rank of knn", "best"]
    ]
    for name, results in chosen.items():
        part = some(results, methods=EIGHT, cases=cases, repeats=repeats)
        ranks = mean_ranks(part, KEPT if results is files["published"] else SEEN)
        means = []
        for case in cases:
            values = np.array(list(scores.finals(part, case, SEEN)["bomi"].values()))
            means.append(f"{number(float(values.mean()))} ± {number(scores.standard_error(values))}")
        ranked = [spread(ranks.get(one)) for one in ("bomi", "drop", "mean", "mode", "knn")]
        rows.append([name, *means, *ranked, _extreme(ranks, min)])
    return rows


def source(name: str, results: Results) -> str:
    """Where the numbers of a section come from."""
    versions = ", ".join(f"{library} {version}" for library, version in results.versions.items())
    commits = ", ".join(commit or "unknown" for commit in results.commits) or "unknown"
    repeats = sorted({run["repeat"] for run in results.runs})
    lacking = [
        f"{missing} of {method} on {case}"
        for case in results.cases
        for method in results.methods
        if (missing := len(repeats) - sum((run["case"], run["method"]) == (case, method) for run in results.runs))
    ]
    minutes = sum(scores.seconds([run]) * results.cases[run["case"]]["budget"] for run in results.runs) / 60
    lacks = f" It lacks {', '.join(lacking)}; ranks are over the other cases." if lacking else ""
    return (
        f"```console\n{COMMANDS[name]}\n```\n\n"
        f"[results/{name}.jsonl](results/{name}.jsonl): {len(results.runs)} runs, repeats {min(repeats)} to "
        f"{max(repeats)}, {minutes:.0f} minutes of one core; {versions}; commit {commits}.{lacks}"
    )


TABLES: dict[str, Callable[[Results], Rows]] = {
    "seen": seen,
    "kept": kept,
    "turned": turned,
    "slopes": slopes,
    "recommended": recommended,
    "against": against,
    "gaps": gaps,
    "seconds": seconds,
    "authors": authors,
}
JOINT: dict[str, Callable[[Mapping[str, Results]], Rows]] = {"claims": claims, "ablation": ablation}


def filled(text: str, files: Mapping[str, Results]) -> str:
    """The document with every table as the results files have it."""

    def content(found: re.Match[str]) -> str:
        name, table = found[1], found[2]
        if name == "all":
            made = scores.table(JOINT[table](files))
        elif table == "source":
            made = source(name, files[name])
        else:
            made = scores.table(TABLES[table](files[name]))
        return f"<!-- {name} {table} -->\n{made}\n<!-- end -->"

    return re.sub(r"<!-- ([\w-]+) (\w+) -->\n.*?<!-- end -->", content, text, flags=re.DOTALL)


def kept_files() -> dict[str, Results]:
    """The results files of the repository, by name."""
    return {path.stem: read(path) for path in sorted(KEPT_HERE.glob("*.jsonl"))}


def take(folder: Path) -> None:
    """Make the results files of the repository and the figures from whole results."""
    from PIL import Image

    KEPT_HERE.mkdir(exist_ok=True)
    for path in sorted(folder.glob("*/results.jsonl")):
        name = path.parent.name
        if name not in COMMANDS:
            continue
        results = read(path)
        lines = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in thinned(results)]
        (KEPT_HERE / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        if name.startswith("ablation"):
            continue
        figure = report.trends_figure(results) or report.curves_figure(results)
        target = HERE / f"reproduction-{name}.png"
        drawing.save(figure, target.with_suffix(""), ["png"])
        with Image.open(target) as image:
            image.convert("RGB").quantize(192, dither=Image.Dither.NONE).save(target, optimize=True)


def main(arguments: Sequence[str]) -> None:
    """Write everything whose results exist."""
    for folder in arguments:
        take(Path(folder))
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(filled(text, kept_files()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
