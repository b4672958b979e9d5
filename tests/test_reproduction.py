"""The tables of docs/reproduction.md and docs/cases.md are what the results files in docs/results say."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from bomi.benchmarks.results import Results, read
from bomi.benchmarks.scores import RECOMMENDED, SEEN
from bomi.benchmarks.sweeps import Case, sweep

ROOT = Path(__file__).parent.parent


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "figures" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


made = script("make_reproduction")
FILES = made.kept_files()


def test_the_page_says_what_the_results_files_say():
    text = made.DOCUMENT.read_text(encoding="utf-8")
    marks = re.findall(r"<!-- ([\w-]+) (\w+) -->", text)
    assert len(marks) > 10
    assert made.filled(text, FILES) == text, "run: python docs/figures/make_reproduction.py"


def test_every_results_file_is_on_the_page_with_its_command_and_commit():
    text = made.DOCUMENT.read_text(encoding="utf-8")
    for name, found in FILES.items():
        assert f"(results/{name}.jsonl)" in text, name
        assert found.commits, name
        assert found.versions["torch"], name
    assert sum(path.stat().st_size for path in made.KEPT_HERE.iterdir()) < 1_000_000


def results(finals, **more):
    """A Results of best values by case and method, one for each repeat."""
    runs = [
        {"case": case, "method": method, "repeat": repeat, "best": [value], "kept": [value - 1],
         "recommended": [[9, value]], "history_gaps": None, "event_gaps": None, "seconds": [0.1]}
        for case, methods in finals.items()
        for method, values in methods.items()
        for repeat, value in enumerate(values)
    ]  # fmt: skip
    methods = {method: {} for by_method in finals.values() for method in by_method}
    return Results({"torch": "2"}, {case: {"optimum": None} for case in finals}, methods, tuple(runs), ("abc",), **more)


def test_ranks_are_averaged_over_cases_and_their_error_is_over_repeats():
    found = results(
        {"f": {"bomi": [3, 3], "drop": [2, 2], "mean": [1, 1]}, "g": {"bomi": [3, 1], "drop": [2, 3], "mean": [1, 2]}}
    )
    ranks = made.mean_ranks(found)  # by hand: bomi is 1, 1 in the first repeat and 1, 3 in the second
    assert ranks["bomi"] == (pytest.approx(1.5), pytest.approx(np.std([1, 2], ddof=1) / 2**0.5))
    assert ranks["mean"] == (pytest.approx(2.75), pytest.approx(0.25))
    assert sum(mean for mean, _ in ranks.values()) == pytest.approx(6)


def test_drop_is_ranked_by_what_it_keeps_where_the_program_counts():
    found = results({"f": {"bomi": [3.5, 3.5], "drop": [4, 4], "mean": [2, 2]}})
    assert made.mean_ranks(found, SEEN)["drop"][0] == 1
    assert made.mean_ranks(found, made.KEPT)["drop"][0] == 2
    assert made.mean_ranks(found, RECOMMENDED)["drop"][0] == 1


def test_tables_by_hand():
    found = results({"eggholder2d": {"bomi": [824, 828], "drop": [800, 900], "oracle": [950, 960]}})
    titles, bomi, drop, oracle = made.seen(found)
    assert titles == ["method", "eggholder2d", "rank of 3", "rank of the paper's eight"]
    assert bomi == ["bomi", "826 ± 2", "2.5 ± 0.5", "1.5 ± 0.5"]
    assert drop == ["drop", "**850 ± 50**", "2.5 ± 0.5", "1.5 ± 0.5"]
    assert oracle[1:] == ["955 ± 5", "1.0 ± 0.0", "-"]
    assert made.against(found)[1] == ["drop", "1 of 2 (p = 1)"]
    z = (825 - 826) / (np.std([824, 828], ddof=1) * (1 / 2 + 1 / 4) ** 0.5)
    assert made.authors(found)[1] == ["eggholder2d", "825", "826 ± 2", "826", "824 to 828", f"{z:.1f}"]


def test_the_slope_over_a_setting():
    found = results({f"eta=0.{n}": {"suggest": [-100 * n, -100 * n - 2]} for n in (1, 2, 3)})
    (_, about), (method, slope) = made.slopes(found)
    assert (about, method) == ("eta, from 0.1 to 0.3", "suggest")
    assert slope.startswith("-200 ± ")
    assert made.turned(found)[1] == ["eta=0.1", "**-101 ± 1**"]


def test_a_results_file_is_kept_with_what_the_page_tells(tmp_path, monkeypatch):
    case = Case(problem="branin", budget=3, rows=5)
    whole = sweep([case], ["mean", "drop", "random"], repeats=2, path=tmp_path / "raw" / "heat" / "results.jsonl")
    monkeypatch.setattr(made, "KEPT_HERE", tmp_path / "kept")
    monkeypatch.setattr(made, "HERE", tmp_path)
    made.take(tmp_path / "raw")
    kept = read(tmp_path / "kept" / "heat.jsonl")
    assert (kept.versions, kept.cases, kept.methods, kept.commits) == (
        whole.versions, whole.cases, whole.methods, whole.commits,
    )  # fmt: skip
    for table in (made.seen, made.recommended, made.gaps, made.seconds):
        assert table(kept) == table(whole)
    assert all("outcomes" not in run for run in kept.runs)
    assert (tmp_path / "reproduction-heat.png").stat().st_size > 1000
    text = "before\n<!-- heat seen -->\nold\n<!-- end -->\n<!-- heat source -->\n<!-- end -->\n"
    filled = made.filled(text, {"heat": kept})
    assert "| mean |" in filled
    assert "old" not in filled
    assert "bomi reproduce heat" in filled
    assert made.filled(filled, {"heat": kept}) == filled
    assert json.loads((tmp_path / "kept" / "heat.jsonl").read_text().splitlines()[0])["format"] == "bomi-results"
