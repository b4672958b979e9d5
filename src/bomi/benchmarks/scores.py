"""The scores of a sweep: means with standard errors, paired tests, ranks, the share of the way closed.

In a repeat every method gets the same data, gaps and events, so methods are compared repeat by repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, wilcoxon

from bomi.benchmarks.functions import FloatArray
from bomi.benchmarks.results import Results, Run

SEEN, RECOMMENDED, KEPT = "best seen", "recommended", "best kept"
TEST = "two-sided Wilcoxon signed-rank test over the repeats that both have"


@dataclass(frozen=True)
class Score:
    """One method on one case, over its repeats."""

    case: str
    method: str
    repeats: int
    mean: float
    error: float  # standard error of the mean; NaN for one repeat
    median: float
    regret: float | None  # optimum - mean, if the optimum is known
    p: float | None  # paired test against the reference; None for the reference
    closed: float | None  # share of the way from naive to oracle


def final(run: Run, what: str) -> float:
    """The best outcome seen, or the true value of the setting recommended at the end; NaN if there is none.

    KEPT is how the program published with the paper counts: `drop` has not seen what it drops.
    """
    seen = "kept" if what == KEPT and run["method"] == "drop" else "best"
    value = run["recommended"][-1][1] if what == RECOMMENDED else run[seen][-1]
    return float("nan") if value is None else float(value)


def finals(results: Results, case: str, what: str) -> dict[str, dict[int, float]]:
    """Final values by method and repeat."""
    values: dict[str, dict[int, float]] = {method: {} for method in results.methods}
    for run in results.runs:
        if run["case"] == case and not np.isnan(value := final(run, what)):
            values[run["method"]][run["repeat"]] = value
    return {method: found for method, found in values.items() if found}


def scores(results: Results, case: str, *, what: str = SEEN, reference: str | None = None) -> list[Score]:
    """Every method on one case; the paired test is against `reference`."""
    values = finals(results, case, what)
    optimum = results.cases[case].get("optimum")
    found = []
    for method, by_repeat in values.items():
        sample = np.array(list(by_repeat.values()))
        mean = float(sample.mean())
        found.append(
            Score(
                case=case,
                method=method,
                repeats=len(sample),
                mean=mean,
                error=standard_error(sample),
                median=float(np.median(sample)),
                regret=None if optimum is None else optimum - mean,
                p=None if reference in (None, method) else paired_p(by_repeat, values.get(str(reference), {})),
                closed=share_closed(values, method),
            )
        )
    return found


def standard_error(sample: FloatArray) -> float:
    """The standard error of the mean; NaN for a single value."""
    return float(sample.std(ddof=1) / np.sqrt(len(sample))) if len(sample) > 1 else float("nan")


def paired_p(first: Mapping[int, float], second: Mapping[int, float]) -> float | None:
    """The p-value of a paired test; None for fewer than two common repeats."""
    common = sorted(first.keys() & second.keys())
    if len(common) < 2:
        return None
    differences = np.array([first[repeat] - second[repeat] for repeat in common])
    if not differences.any():
        return 1.0
    return float(wilcoxon(differences[differences != 0]).pvalue)


def share_closed(values: Mapping[str, Mapping[int, float]], method: str) -> float | None:
    """(regret_naive - regret_method) / (regret_naive - regret_oracle), over the repeats that all three have.

    1 means that the gaps cost nothing. None if a yardstick is absent, or if naive is as good as oracle.
    """
    if not {"naive", "oracle", method} <= values.keys():
        return None
    common = sorted(values["naive"].keys() & values["oracle"].keys() & values[method].keys())
    if not common:
        return None
    naive, oracle, ours = (
        float(np.mean([values[name][repeat] for repeat in common])) for name in ("naive", "oracle", method)
    )
    return (ours - naive) / (oracle - naive) if oracle > naive else None


def ranks(results: Results, case: str, *, what: str = SEEN) -> dict[str, float]:
    """Each method's rank (1 is best) on one case, averaged over the repeats that all its methods have."""
    values = finals(results, case, what)
    common = sorted(set.intersection(*(set(found) for found in values.values()))) if values else []
    if not common:
        return {}
    each = [rankdata([-values[method][repeat] for method in values]) for repeat in common]
    return dict(zip(values, np.mean(each, axis=0).tolist(), strict=True))


def average_ranks(results: Results, *, what: str = SEEN) -> dict[str, float]:
    """Each method's rank averaged over the cases that all methods have."""
    each = [found for case in results.cases if (found := ranks(results, case, what=what))]
    whole = [found for found in each if found.keys() == results.methods.keys()]
    return {method: float(np.mean([found[method] for found in whole])) for method in results.methods} if whole else {}


def curves(results: Results, case: str) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Mean and standard error of the best outcome seen after each evaluation, by method.  (T + 1,), (T + 1,)"""
    found = {}
    for method in results.methods:
        stacked = np.array([run["best"] for run in results.of(case, method)])
        if len(stacked):
            error = stacked.std(0, ddof=1) / np.sqrt(len(stacked)) if len(stacked) > 1 else np.zeros(stacked.shape[1])
            found[method] = stacked.mean(0), error
    return found


def average(runs: Sequence[Run], *path: str) -> float:
    """The mean over the runs of a number such as ("history_gaps", "error"); NaN if no run has it."""
    values = [_at(run, path) for run in runs]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def _at(run: Run, path: Sequence[str]) -> Any:
    value: Any = run
    for name in path:
        value = None if value is None else value[name]
    return value


def seconds(runs: Sequence[Run]) -> float:
    """The mean time of a suggestion."""
    return float(np.mean([second for run in runs for second in run["seconds"]]))


def markdown(results: Results, *, reference: str | None = None) -> str:
    """The final values as a Markdown table: one row for each case and method."""
    titles = ["case", "method", "runs", "best seen", "median", "regret", "closed", f"p vs {reference}"]
    titles += ["recommended", "median", "regret", "closed", f"p vs {reference}", "s/suggestion"]
    lines = [titles]
    for case in results.cases:
        recommended = {score.method: score for score in scores(results, case, what=RECOMMENDED, reference=reference)}
        for score in scores(results, case, reference=reference):
            row = [case, score.method, str(score.repeats), *_cells(score), *_cells(recommended.get(score.method))]
            lines.append([*row, number(seconds(results.of(case, score.method)))])
    return table(lines)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table; the first row holds the titles."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cells(score: Score | None) -> list[str]:
    if score is None:
        return ["-"] * 5
    return [
        f"{number(score.mean)} ± {number(score.error)}",
        number(score.median),
        number(score.regret),
        "-" if score.closed is None else f"{100 * score.closed:.0f} %",
        "-" if score.p is None else f"{score.p:.2g}",
    ]


def number(value: float | None) -> str:
    """Four digits, or a dash if there is no number."""
    return "-" if value is None or np.isnan(value) else f"{value:.4g}"
