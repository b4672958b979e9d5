import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import wilcoxon

from bomi.benchmarks import report, scores
from bomi.benchmarks.results import Results, Run


def made(case: str, method: str, repeat: int, final: float, recommended: float | None = None) -> Run:
    gaps = {"count": 4, "filled": 4, "error": 0.25, "coverage": 0.5} if method == "bomi" else None
    return {
        "case": case,
        "method": method,
        "repeat": repeat,
        "best": [0.0, final / 2, final],
        "outcomes": [final / 2, final],
        "events": 1,
        "recommended": [[2, recommended]],
        "history_gaps": gaps,
        "event_gaps": None,
        "seconds": [0.5, 1.5],
    }


def results(finals: dict[str, dict[str, list[float]]], optimum: float | None = 10.0) -> Results:
    methods = {method: {} for found in finals.values() for method in found}
    runs = [
        made(case, method, repeat, value, value - 1)
        for case, by_method in finals.items()
        for method, values in by_method.items()
        for repeat, value in enumerate(values)
    ]
    settings = {"optimum": optimum, "budget": 2, "missing": None, "initial": {"rows": 3}}
    return Results({"bomi": "0"}, dict.fromkeys(finals, settings), methods, tuple(runs))


FOUR = results(
    {
        "f": {"bomi": [4, 5, 6.5, 7], "mean": [1, 2, 3, 3.5], "naive": [2, 2, 2, 2], "oracle": [8, 8, 8, 8]},
        "g": {"bomi": [4, 5, 6, 7], "mean": [5, 6, 7, 8], "naive": [2, 2, 2, 2], "oracle": [2, 2, 2, 2]},
    }
)


def score(case: str, method: str, what: str = scores.SEEN) -> scores.Score:
    return next(s for s in scores.scores(FOUR, case, what=what, reference="bomi") if s.method == method)


def test_means_errors_and_regrets() -> None:
    found = score("f", "bomi")
    assert found.mean == 5.625
    assert found.median == 5.75
    assert found.error == pytest.approx(np.std([4, 5, 6.5, 7], ddof=1) / 2)
    assert found.regret == 10 - 5.625
    assert score("f", "bomi", scores.RECOMMENDED).mean == 4.625


def test_the_paired_test_is_wilcoxons() -> None:
    assert score("f", "bomi").p is None
    assert score("f", "mean").p == wilcoxon([4 - 1, 5 - 2, 6.5 - 3, 7 - 3.5]).pvalue
    assert scores.paired_p({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0}) == 1
    assert scores.paired_p({0: 1.0}, {0: 2.0}) is None
    assert scores.paired_p({0: 1.0, 1: 2.0}, {2: 1.0, 3: 2.0}) is None


def test_share_of_the_way_closed() -> None:
    assert score("f", "oracle").closed == 1
    assert score("f", "naive").closed == 0
    assert score("f", "bomi").closed == pytest.approx((5.625 - 2) / (8 - 2))
    assert score("g", "bomi").closed is None  # gaps cost nothing


def test_ranks() -> None:
    assert scores.ranks(FOUR, "f") == {
        "bomi": 2.0,
        "mean": pytest.approx(3.375),
        "naive": pytest.approx(3.625),
        "oracle": 1,
    }
    assert scores.ranks(FOUR, "g")["naive"] == 3.5
    assert scores.average_ranks(FOUR)["bomi"] == 2
    assert scores.average_ranks(results({"f": {"a": [1.0]}, "g": {"b": [1.0]}})) == {}


def test_curves_are_means_over_repeats() -> None:
    mean, error = scores.curves(FOUR, "f")["bomi"]
    assert mean.tolist() == [0, 2.8125, 5.625]
    assert error[0] == 0


def test_a_run_without_a_recommendation_is_left_out() -> None:
    runs = (made("f", "random", 0, 3.0), made("f", "random", 1, 4.0, 2.0))
    found = Results({}, {"f": {"optimum": None}}, {"random": {}}, runs)
    (one,) = scores.scores(found, "f", what=scores.RECOMMENDED)
    assert (one.repeats, one.mean, one.regret) == (1, 2.0, None)
    assert np.isnan(one.error)
    assert "| f | random | 2 | 3.5 ± 0.5 |" in scores.markdown(found)


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [str(value) for name, value in attrs if name in ("src", "href")]
        self.rows += tag == "tr"


def test_the_report_has_every_file_and_the_page_needs_none(tmp_path: Path) -> None:
    page = report.write_report(FOUR, tmp_path / "deep" / "er", title="A < B")
    names = {path.name for path in page.parent.iterdir()}
    tables = {"best-seen.csv", "recommended.csv", "ranks.csv", "gaps.csv", "seconds.csv", "curves.csv"}
    assert names == tables | {"report.html", "curves.png", "curves.svg"}
    text = page.read_text(encoding="utf-8")
    parser = Links()
    parser.feed(text)
    assert len(parser.sources) == 1
    assert all(source.startswith("data:image/svg+xml;base64,") for source in parser.sources)
    assert "A &lt; B" in text
    assert "Wilcoxon" in text
    with (page.parent / "best-seen.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["mean"]) for row in rows if (row["case"], row["method"]) == ("f", "bomi")] == [5.625]
    with (page.parent / "gaps.csv").open(newline="") as file:
        assert [row["method"] for row in csv.DictReader(file)] == ["bomi", "bomi"]  # the others have no gaps
    with (page.parent / "seconds.csv").open(newline="") as file:
        assert {(row["s"], row["run"]) for row in csv.DictReader(file)} == {("1.0", "2.0")}


def test_the_same_results_give_the_same_files(tmp_path: Path) -> None:
    first, second = (report.write_report(FOUR, tmp_path / name, title="x").parent for name in "ab")
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


def test_curves_have_a_panel_for_each_case_and_one_legend() -> None:
    figure = report.curves_figure(FOUR)
    assert [re.sub(r" \(.*", "", axes.get_title(loc="left")) for axes in figure.axes] == ["f", "g"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["bomi", "mean", "naive", "oracle"]


def test_a_varied_setting_is_drawn_as_a_trend(tmp_path: Path) -> None:
    varied = results(
        {f"rho={rho}": {"bomi": [1.0, 2.0], "mean": [1.0, 3.0]} for rho in (0.25, 0.5, 0.75)}, optimum=None
    )
    figure = report.trends_figure(varied)
    assert figure is not None
    assert figure.axes[0].get_xlabel() == "rho"
    assert report.trends_figure(FOUR) is None
    page = report.write_report(varied, tmp_path, title="x")
    assert (page.parent / "trends.png").read_bytes().startswith(b"\x89PNG")


def test_no_two_methods_look_the_same() -> None:
    methods = [*report._KNOWN, *(f"bomi:worlds={n}" for n in range(12))]
    looks = [tuple(style.values()) for style in report._styles(methods).values()]
    assert len(set(looks)) == len(methods)


def test_one_run_is_enough_for_a_report(tmp_path: Path) -> None:
    assert report.write_report(results({"f": {"random": [1.0]}}), tmp_path, title="x").exists()
