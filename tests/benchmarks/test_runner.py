import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import bomi
import bomi.benchmarks
from bomi.benchmarks import missingness, results
from bomi.benchmarks.contenders import contender, contenders, split
from bomi.benchmarks.functions import Problem, problem
from bomi.benchmarks.missingness import Events, HistoryGaps, Initial
from bomi.benchmarks.problems import find_problem
from bomi.benchmarks.runner import run
from bomi.benchmarks.sweeps import Case, sweep
from bomi.errors import BenchmarkError, MethodError

ALWAYS = Events(1.0, 0.2)
CASES = [Case(problem="branin", budget=3, rows=8), Case(problem="hartmann3", budget=3, rows=8)]
QUICK = ["mean", "drop", "random"]


# --- one run ---------------------------------------------------------------------------------------------


def test_run_is_exported_and_its_result_is_json() -> None:
    result = bomi.benchmarks.run("branin", "mean", budget=4, seed=1)
    assert (result.problem, result.method, result.seed, result.budget) == ("branin2d", "mean", 1, 4)
    assert len(result.best) == 5
    assert len(result.outcomes) == len(result.seconds) == 4
    assert result.best == np.maximum.accumulate([result.best[0], *result.outcomes]).tolist()
    assert json.loads(json.dumps(asdict(result), allow_nan=False))["versions"]["bomi"] == bomi.__version__


def test_a_run_repeats_apart_from_times() -> None:
    first, second = (asdict(run("branin", "bomi", budget=2, seed=3)) for _ in range(2))
    assert first.pop("seconds") != second.pop("seconds")
    assert first == second


def test_all_methods_meet_the_same_data_and_events() -> None:
    runs = [
        run("branin", method, budget=6, seed=4, missing=Events(0.5, 0.1)) for method in ("mean", "random", "oracle")
    ]
    assert len({result.best[0] for result in runs}) == 1
    assert len({result.events for result in runs}) == 1
    assert 0 < runs[0].events < 6


def test_the_function_is_evaluated_where_the_event_led_and_the_gap_is_told() -> None:
    """With a linear function the outcome shows the actual input, which differs from the requested one."""
    seen = []

    def first(x: np.ndarray) -> np.ndarray:
        seen.extend(x[:, 0].tolist())
        return x[:, 0]

    line = Problem("line", {"a": (0.0, 1.0)}, first)
    start = Initial(np.array([[0.2], [0.8]]), np.array([[0.2], [0.8]]), np.array([0.2, 0.8]))
    result = run(line, "mean", budget=3, seed=0, missing=ALWAYS, initial=start)
    assert result.events == 3
    assert result.outcomes == seen[:3]
    assert result.event_gaps is not None
    assert result.event_gaps.count == 3
    assert result.history_gaps is not None
    assert result.history_gaps.count == 0


def test_execution_errors_of_the_equipment_are_told_with_their_gaps() -> None:
    """It always ends at half of the request; the event hides one of the two inputs, and the other is told as it was."""
    told: list[dict[str, float | None]] = []

    def halved(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x / 2, x.sum(1) / 2

    half = Problem("half", {"a": (0.0, 1.0), "b": (0.0, 1.0)}, lambda x: halved(x)[1], experiment=halved)
    original = bomi.Optimizer.tell

    def spy(self: bomi.Optimizer, *given: object, actual: dict[str, float | None] | None = None) -> None:
        told.append(dict(actual or {}))
        original(self, *given, actual=actual)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bomi.Optimizer, "tell", spy)
        result = run(half, "random", budget=8, seed=0, missing=Events([1.0, 0.0], 0.0))
    assert result.events == 8
    for one, outcome in zip(told[-8:], result.outcomes, strict=True):
        assert one["a"] is None
        assert one["b"] is not None
        assert 0 <= outcome - one["b"] <= 0.5


def test_without_events_nothing_goes_missing() -> None:
    result = run("branin", "mean", budget=3, seed=0, missing=None)
    assert result.events == 0
    assert result.event_gaps is not None
    assert result.event_gaps.count == 0


def test_the_recommended_setting_is_judged_by_its_true_value() -> None:
    result = run("branin", "mean", budget=4, seed=0, recommend_every=2)
    assert [t for t, _ in result.recommended] == [2, 4]
    assert all(value is not None and value <= problem("branin").optimum for _, value in result.recommended)


def test_without_a_model_the_best_complete_row_is_recommended() -> None:
    inputs = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    recorded = np.array([[0.0, 0.0], [1.0, 1.0], [np.nan, 2.0]])
    plane = Problem(
        "plane", {"a": (-9.0, 9.0), "b": (-9.0, 9.0)}, lambda x: np.minimum(x.sum(1), 4) + 100 * (x == 2).all(1)
    )
    start = Initial(inputs, recorded, plane(inputs))
    result = run(plane, "random", budget=1, seed=0, missing=None, initial=start)
    assert result.best[0] == 104  # seen, but nobody knows where
    assert result.recommended[-1][1] == max(2.0, result.outcomes[0])


def test_oracle_has_no_gaps_and_naive_neither() -> None:
    for name in ("oracle", "naive"):
        result = run("branin", name, budget=2, seed=0, missing=ALWAYS)
        assert result.history_gaps is not None
        assert result.history_gaps.count == 0
        assert result.event_gaps is not None
        assert result.event_gaps.count == 0


def test_what_the_yardsticks_are_told() -> None:
    data = Initial(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, np.nan], [3.0, np.nan]]), np.zeros(2))
    naive, oracle, branin = contender("naive").view, contender("oracle").view, problem("branin")
    assert np.array_equal(naive.history(data, branin), data.recorded, equal_nan=True)  # no value, so no mean
    other = data._replace(recorded=np.array([[np.nan, 2.0], [3.0, 4.0]]))
    assert naive.history(other, branin).tolist() == [[3.0, 2.0], [3.0, 4.0]]
    assert oracle.history(other, branin).tolist() == data.inputs.tolist()
    asked, actual, recorded = np.array([0.5]), np.array([0.7]), np.array([np.nan])
    assert naive.evaluation(asked, actual, recorded) == asked
    assert oracle.evaluation(asked, actual, recorded) == actual
    assert np.isnan(contender("mean").view.evaluation(asked, actual, recorded))


def test_gap_scores_of_the_mean_are_those_computed_by_hand() -> None:
    data = missingness.initial(problem("branin"), rows=10, seed=2)
    result = run("branin", "mean", budget=1, seed=2, missing=None, initial=data)
    asked_rows = np.isnan(data.recorded)
    assert result.history_gaps is not None
    assert result.history_gaps.count == result.history_gaps.filled == asked_rows.sum()
    assert result.history_gaps.error is not None
    assert 0.1 < result.history_gaps.error < 0.6
    assert result.history_gaps.coverage is None  # one world has no quantiles


def test_dropped_rows_are_not_filled() -> None:
    result = run("branin", "drop", budget=1, seed=2, missing=None)
    assert result.history_gaps is not None
    assert (result.history_gaps.count, result.history_gaps.filled, result.history_gaps.error) == (24, 0, None)


@pytest.mark.skipif(
    tuple(map(int, version("scikit-learn").split(".")[:2])) < (1, 9), reason="scikit-learn itself looks for pandas"
)
def test_no_pandas_no_gap_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    result = run("branin", "mean", budget=1, seed=0)
    assert result.history_gaps is result.event_gaps is None


@pytest.mark.parametrize(("budget", "seed"), [(0, 0), (-1, 0), (2.5, 0), (True, 0), (3, -1), (3, 0.5)])
def test_bad_budgets_and_seeds(budget: object, seed: object) -> None:
    with pytest.raises(BenchmarkError, match="must be a whole number"):
        run("branin", "mean", budget=budget, seed=seed)  # type: ignore[arg-type]


def test_initial_data_of_other_dimensions() -> None:
    data = missingness.initial(problem("alpine3d"), seed=0)
    with pytest.raises(BenchmarkError, match=r"2 columns.*\(30, 3\)"):
        run("branin", "mean", budget=1, seed=0, initial=data)


# --- names -----------------------------------------------------------------------------------------------


def test_unknown_problem_and_method_list_the_known() -> None:
    with pytest.raises(BenchmarkError, match=r"did you mean alpine\?.*eggholder.*heat.*module:function"):
        find_problem("alpin")
    with pytest.raises(MethodError, match=r"bomi, drop.*oracle, naive"):
        contender("bomy")
    with pytest.raises(MethodError, match="has no setting 'worlds'"):
        contender("mean:worlds=3")
    with pytest.raises(MethodError, match="name=value"):
        contender("bomi:worlds")


def test_settings_follow_a_name() -> None:
    made = contender("bomi: worlds=3, beta_alpha=0.5")
    assert made.label == "bomi:worlds=3,beta_alpha=0.5"
    assert made.method.filler.worlds == 3  # type: ignore[attr-defined]
    assert split("bomi:worlds=3,rank=5, mean") == ["bomi:worlds=3,rank=5", "mean"]
    assert [one.label for one in contenders(["mean", "drop", "mean"])] == ["mean", "drop"]
    assert contender(bomi.METHODS["mean"]).label == "mean"


def test_the_heat_treatment_is_a_problem() -> None:
    heat = find_problem("heat")
    assert heat.dim == 8
    assert heat.optimum is None
    point = np.array([20.0, 300.0, 300.0, 300.0, 60.0, 21600.0, 60.0, 60.0])
    assert 100 < float(heat(point)) < 170


OWN = """
from bomi.benchmarks.functions import Problem

def hill():
    return Problem("hill", {"a": (0.0, 1.0), "b": (0.0, 1.0)}, lambda x: -((x - 0.3) ** 2).sum(1), 0.0)

ready = hill()
number = 3

def needs(argument):
    return ready
"""


def test_a_problem_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_problems.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert find_problem("own_problems:hill").name == find_problem("own_problems:ready").name == "hill"
    for name, message in {
        "own_problems:number": "must be a .*Problem.*but got 3",
        "own_problems:needs": "without arguments",
        "own_problems:nothing": "has no 'nothing'",
        "no_such_module:f": "cannot import",
    }.items():
        with pytest.raises(BenchmarkError, match=message):
            find_problem(name)


# --- sweeps ----------------------------------------------------------------------------------------------


def without_times(path: Path) -> bytes:
    return re.sub(rb'"seconds": \[[^\]]*\]', b"", path.read_bytes())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of an uninterrupted sweep."""
    path = tmp_path_factory.mktemp("sweep") / "results.jsonl"
    sweep(CASES, QUICK, repeats=3, path=path)
    return path


def test_a_sweep_holds_every_run_once_in_order(finished: Path) -> None:
    found = results.read(finished)
    keys = [(run["case"], run["method"], run["repeat"]) for run in found.runs]
    assert keys == [(case, m, r) for case in ("branin2d", "hartmann3d") for m in QUICK for r in range(3)]
    assert found.cases["branin2d"]["initial"] == {"rows": 8, "gaps": {"type": "HistoryGaps", "share": 0.8, "most": 1}}
    lone = run("branin", "mean", budget=3, seed=1, initial=missingness.initial(problem("branin"), rows=8, seed=1))
    assert found.runs[1]["outcomes"] == lone.outcomes


def test_more_repeats_methods_and_cases_are_added(finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    seen: list[tuple[int, int]] = []
    sweep(CASES, QUICK[:2], repeats=1, path=path)
    sweep(CASES, QUICK, repeats=2, path=path, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (4, 12)
    assert seen[-1] == (12, 12)
    sweep(CASES, QUICK, repeats=3, path=path)
    assert without_times(path) == without_times(finished)
    before = path.read_bytes()
    sweep(CASES, QUICK, repeats=3, path=path)  # nothing left to do
    assert path.read_bytes() == before


SWEEP = """
import sys
from bomi.benchmarks.sweeps import Case, sweep
if __name__ == "__main__":
    cases = [Case(problem="branin", budget=3, rows=8), Case(problem="hartmann3", budget=3, rows=8)]
    sweep(cases, ["mean", "drop", "random"], repeats=3, path=sys.argv[1], processes=int(sys.argv[2]))
"""


def test_kill_in_the_middle_then_resume(finished: Path, tmp_path: Path) -> None:
    path, script = tmp_path / "results.jsonl", tmp_path / "go.py"
    script.write_text(SWEEP)
    # A session of its own, so that its workers are killed with it.
    with subprocess.Popen([sys.executable, script, path, "2"], start_new_session=True) as process:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 4):
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
    left = path.read_bytes().count(b"\n")
    assert 4 <= left < 19
    sweep(CASES, QUICK, repeats=3, path=path)
    assert without_times(path) == without_times(finished)


@pytest.mark.parametrize("cut", [1, 40])
def test_a_damaged_last_line_is_dropped_and_its_run_redone(finished: Path, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(finished.read_bytes()[:-cut])
    with pytest.warns(UserWarning, match="last line is damaged"):
        sweep(CASES, QUICK, repeats=3, path=path)
    assert without_times(path) == without_times(finished)


def test_damage_elsewhere_is_refused(finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    lines = finished.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:50] + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(BenchmarkError, match="line 4 is damaged"):
        sweep(CASES, QUICK, repeats=3, path=path)
    assert path.read_bytes() == b"".join(lines)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 4}, r"case branin2d: budget is 3 in the file, but 4 now"),
        ({"rows": 9}, r"case branin2d: initial rows is 8 in the file, but 9 now"),
        ({"gaps": HistoryGaps(share=0.5)}, r"initial gaps share is 0.8 in the file, but 0.5 now"),
        ({"missing": Events(0.3, 0.05)}, r"missing rho is 0.25 in the file, but 0.3 now"),
        ({"missing": None}, r"missing is .* in the file, but null now"),
    ],
)
def test_other_settings_are_refused_naming_what_differs(
    finished: Path, change: dict[str, object], message: str
) -> None:
    before = finished.read_bytes()
    case = Case(**{"problem": "branin", "budget": 3, "rows": 8, **change})  # type: ignore[arg-type]
    with pytest.raises(BenchmarkError, match=message):
        sweep([case], QUICK, repeats=3, path=finished)
    assert finished.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (f'"bomi": "{bomi.__version__}"', '"bomi": "0.0.9"', 'version of bomi is "0.0.9" in the file'),
        ('"version": 1', '"version": 7', "has version 7 of the format"),
        ('"bomi-results"', '"else"', "is not a results file"),
        ('"points": 10000', '"points": 500', "method mean: method search points is 500 in the file"),
    ],
)
def test_other_versions_are_refused(finished: Path, tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(finished.read_text().replace(old, new))
    with pytest.raises(BenchmarkError, match=re.escape(message).replace(r"\.\*", ".*")):
        sweep(CASES, QUICK, repeats=3, path=path)


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("buy milk\n")
    with pytest.raises(BenchmarkError, match="not a results file"):
        sweep(CASES, QUICK, repeats=1, path=path)
    assert path.read_text() == "buy milk\n"
    with pytest.raises(BenchmarkError, match="cannot read"):
        results.read(tmp_path / "nowhere.jsonl")


def test_an_interrupt_keeps_what_is_finished(finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"

    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(CASES, QUICK, repeats=3, path=path, progress=stop)
    assert len(results.read(path).runs) == 5
    sweep(CASES, QUICK, repeats=3, path=path)
    assert without_times(path) == without_times(finished)


def test_another_engine_can_map_the_runs(finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    sweep(CASES, QUICK, repeats=3, path=path, engine=lambda work, jobs: map(work, reversed(jobs)))
    assert without_times(path) == without_times(finished)


def test_bad_sweeps(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with pytest.raises(BenchmarkError, match="repeats must be a whole number from 1"):
        sweep(CASES, QUICK, repeats=0, path=path)
    with pytest.raises(BenchmarkError, match="branin2d is used twice"):
        sweep([CASES[0], CASES[0]], QUICK, repeats=1, path=path)
    with pytest.raises(BenchmarkError, match="budget must be"):
        Case(problem="branin", budget=0)
    assert not path.exists()


def test_initial_data_from_a_folder(authors_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    case = Case(problem="eggholder", budget=1, initial=authors_folder)
    found = sweep([case], ["random"], repeats=2, path=path)
    data = missingness.read_initial(authors_folder, problem("eggholder"), 0)
    assert found.runs[0]["best"][0] == data.outcomes.max()
    assert str(authors_folder) not in path.read_text()
    with pytest.raises(BenchmarkError, match=r"X_10\.csv"):  # there are ten repeats
        sweep([case], ["random"], repeats=11, path=path)
    with pytest.raises(BenchmarkError, match=r"initial read is .* in the file, but null now"):
        sweep([Case(problem="eggholder", budget=1)], ["random"], repeats=1, path=path)


def test_a_folder_that_lacks_files_or_has_other_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    case = Case(problem="branin", budget=1, initial=tmp_path)
    with pytest.raises(BenchmarkError, match="must be in the folder"):
        sweep([case], ["random"], repeats=1, path=path)
    folder = tmp_path / "Branin2d"
    folder.mkdir()
    for name in ("aX.csv", "aX_0.csv"):
        (folder / name).write_text("a,b,c\n1,2,3\n")
    (folder / "aY.csv").write_text("y\n1\n")
    with pytest.raises(BenchmarkError, match="number of columns must be 2, but is 3"):
        sweep([case], ["random"], repeats=1, path=path)
    (folder / "aX_0.csv").unlink()
    (folder / "aX.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BenchmarkError, match=r"one file \*X_0\.csv must be in"):
        sweep([case], ["random"], repeats=1, path=path)
    assert not path.exists()


def test_running_needs_neither_pandas_nor_the_command_line() -> None:
    """A machine may have the numerical libraries alone."""
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('pandas', 'typer', 'rich', 'matplotlib'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import bomi.benchmarks\n"
        "print(len(bomi.benchmarks.run('branin', 'knn', budget=2, seed=0).best))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "3\n"
