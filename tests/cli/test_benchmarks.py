import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from bomi.benchmarks import results
from bomi.cli import app


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


def call(line: str) -> Result:
    return CliRunner().invoke(app, line.split())


BENCH = "bench branin --methods mean,random --budget 2 --rows 6 --jobs 1"


def test_bench_prints_the_table_and_writes_the_report() -> None:
    done = call(f"{BENCH} --repeats 2 -o out")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("| case | method | runs |")
    assert "| branin2d | mean | 2 |" in done.stdout
    assert "report: out/report.html" in done.stderr
    assert "report" not in done.stdout
    assert Path("out/report.html").exists()
    assert call(f"{BENCH} --repeats 3 -o out").exit_code == 0
    assert len(results.read("out/results.jsonl").runs) == 6


def test_a_problem_of_ones_own_and_missingness_options() -> None:
    Path("mine.py").write_text(
        "from bomi.benchmarks.functions import Problem\n"
        "def slope():\n"
        "    return Problem('slope', {'a': (0.0, 1.0), 'b': (0.0, 1.0)}, lambda x: x.sum(1), 2.0)\n"
    )
    options = "--rho 0.5 --eta 0.3 --most 2 --events per-coordinate --offset sign --gap-share 0.5 --gap-most 2"
    done = call(f"bench mine:slope --methods random --repeats 1 --budget 2 --jobs 1 {options}")
    assert done.exit_code == 0, done.output
    settings = results.read("results/bench/results.jsonl").cases["slope"]
    assert settings["missing"] == {
        "type": "Events", "rho": 0.5, "eta": 0.3, "most": 2, "kind": "per-coordinate", "offset": "sign",
    }  # fmt: skip
    assert settings["initial"]["gaps"] == {"type": "HistoryGaps", "share": 0.5, "most": 2}


def test_reproduce_quick_with_few_methods() -> None:
    done = call("reproduce performance --quick --methods random --repeats 1 --jobs 1")
    assert done.exit_code == 0, done.output
    assert Path("results/performance-quick/curves.svg").exists()
    assert done.stdout.count("| random |") == 4


def test_as_published_and_single_differences_have_files_of_their_own() -> None:
    base = "reproduce performance --quick --methods drop --cases eggholder2d --repeats 1 --jobs 1"
    for option, name in (("--as-published", "as-published"), ("--differences fit,events", "fit-events")):
        done = call(f"{base} {option}")
        assert done.exit_code == 0, done.output
        found = results.read(f"results/performance-{name}-quick/results.jsonl")
        assert found.methods["drop"]["method"]["surrogate"]["fit"] == "adam"
        assert found.cases["eggholder2d"]["missing"]["kind"] == "per-coordinate"
        assert len(found.commits) == 1
        (run,) = found.runs
        assert len(run["kept"]) == 31


@pytest.mark.parametrize("name", ["heat", "robot"])
def test_the_simulators_can_be_reproduced_and_compared_on(name: str) -> None:
    if name == "robot" and os.environ.get("BOMI_REQUIRE_ALL") != "1":
        pytest.importorskip("mujoco", reason='MuJoCo is not installed: pip install "bomi[robot]"')
    done = call(f"reproduce {name} --quick --methods random --repeats 1 --jobs 1")
    assert done.exit_code == 0, done.output
    assert f"| {name} | random | 1 |" in done.stdout
    assert len(results.read(f"results/{name}-quick/results.jsonl").runs[0]["outcomes"]) == 30
    done = call(f"bench {name} --methods random --repeats 1 --budget 2 --rows 4 --jobs 1 -o out")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bench alpin", "unknown problem 'alpin'; did you mean alpine?"),
        ("bench branin --methods meen", "unknown method 'meen'"),
        ("bench branin --rho 1.5", "`0 <= rho <= 1` must hold, but got rho=1.5"),
        ("bench branin --events daily", "kind must be 'per-run' or 'per-coordinate', but got 'daily'"),
        ("bench branin --gap-share 2", "`0 <= share <= 1` must hold"),
        ("bench nowhere:f", "cannot import 'nowhere'"),
        ("bench branin --initial .", "initial data of problem 'branin2d' must be in the folder Branin2d"),
        ("reproduce performance --differences fits", "unknown difference 'fits'; the known ones are fit, variance"),
        ("reproduce performance --cases alpine", "has no case 'alpine'; it has eggholder2d"),
        ("reproduce speed", "unknown experiment 'speed'; the known ones are performance, stability, heat"),
        ("reproduce robot --brenda none.csv", "cannot read the copper file none.csv: No such file or directory"),
        ("reproduce performance --initial .", "must be in the folder Eggholder2d"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(line: str, message: str) -> None:
    done = call(f"{line} --jobs 1 --repeats 1")
    assert done.exit_code == 2
    assert done.stdout == ""
    told = [text for text in done.stderr.splitlines() if text.startswith("bomi: ")]
    assert len(told) == 1
    assert message in told[0]
    assert not Path("results").exists()


def test_other_settings_and_damage_are_told() -> None:
    assert call(f"{BENCH} --repeats 1 -o out").exit_code == 0
    done = call(f"{BENCH} --repeats 1 -o out --eta 0.1")
    assert done.exit_code == 2
    assert "missing eta is 0.05 in the file, but 0.1 now" in done.stderr
    path = Path("out/results.jsonl")
    path.write_bytes(path.read_bytes()[:-9])
    done = call(f"{BENCH} --repeats 1 -o out")
    assert done.exit_code == 0
    assert "warning: out/results.jsonl: the last line is damaged" in done.stderr


def test_the_commands_load_nothing_heavy() -> None:
    code = (
        "import sys, bomi.cli.benchmarks;"
        "print([name for name in ('torch', 'pandas', 'matplotlib', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_a_sweep_that_is_stopped_says_how_to_go_on() -> None:
    command = [sys.executable, "-m", "bomi", *BENCH.split(), "--repeats", "500", "-o", "out"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not (path := Path("out/results.jsonl")).exists() or path.read_bytes().count(b"\n") < 3:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == ""
    assert err.endswith("bomi: what is finished is kept, and the same command goes on from there\nbomi: stopped\n")
