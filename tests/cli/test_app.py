import csv
import io
import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bomi import Optimizer, __version__, cli
from bomi.analysis import plots
from bomi.analysis.plots import save_all
from bomi.report import _fitting

EXAMPLE = Path(__file__).parents[2] / "examples" / "heat-treatment.csv"
TOML = """
[objective]
name = "strength"
unit = "MPa"

[parameters.temperature]
range = [100, 250]
unit = "°C"

[parameters.time]
range = [0.5, 100]
scale = "log"

[parameters.cooling]
range = [1, 100]
scale = "log"

[parameters.quench]
values = ["water", "oil", "air"]

[method]
name = "mean"
"""
COMMANDS = (
    "init",
    "check",
    "suggest",
    "predict",
    "withdraw",
    "gaps",
    "best",
    "trust",
    "prospects",
    "plot",
    "report",
    "runsheet",
    "demo",
)


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "campaign.toml").write_text(TOML, encoding="utf-8")
    table = tmp_path / "lab.csv"
    table.write_bytes(EXAMPLE.read_bytes())
    return table


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["suggest", "--help"], ["check", "lab.csv"]])
def test_what_needs_no_model_loads_none(arguments, lab):
    (lab.parent / "campaign.toml").write_text(TOML[: TOML.index("[method]")], encoding="utf-8")
    program = (
        "import sys\nfrom bomi import cli\nsys.argv[0] = 'bomi'\n"
        "try:\n    cli.main()\nexcept SystemExit as exit:\n    assert not exit.code\n"
        "heavy = {'torch', 'botorch', 'gpytorch', 'matplotlib', 'pandas', 'sklearn', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], cwd=lab.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "bomi" in done.stdout + done.stderr


def test_help_has_an_example_of_every_command(bomi):
    for command in COMMANDS:
        code, out, _ = bomi(command, "--help")
        assert code == 0
        assert f"Example: bomi {command}" in " ".join(out.split())
    assert bomi("--version") == (0, f"bomi {__version__}\n", "")


def test_from_a_spreadsheet_to_the_next_experiment_in_two_commands(bomi, tmp_path):
    (tmp_path / "lab.csv").write_bytes(EXAMPLE.read_bytes())
    code, out, err = bomi("init", "lab.csv")
    assert code == 0
    assert "temperature" in out
    assert "wrote campaign.toml" in err
    toml = tmp_path / "campaign.toml"
    toml.write_text(
        toml.read_text(encoding="utf-8").replace("# [method]", "[method]").replace('# name = "..."', 'name = "mean"')
    )
    code, out, err = bomi("suggest", "lab.csv")
    assert code == 0
    assert "±" in out
    assert "explo" in out
    assert err == ""
    assert bomi("suggest", "lab.csv")[1] == out
    code, _, err = bomi("init", "lab.csv")
    assert code == 2
    assert "there already" in err
    assert bomi("init", "lab.csv", "--force", "--minimize", "--objective", "strength")[0] == 0
    assert 'goal = "minimize"' in toml.read_text(encoding="utf-8")


def test_the_whole_loop(bomi, lab):
    code, _, err = bomi("suggest", "lab.csv", "-n", 2, "--append")
    assert code == 0
    assert "added to lab.csv" in err
    lines = lab.read_text().splitlines()
    assert len(lines) == 43
    assert lines[0].endswith(",note,asked.temperature,asked.time,asked.cooling,asked.quench")
    first, second = lines[-2].split(","), lines[-1].split(",")
    assert first[9:] == first[2:6]
    first[2], first[6] = "", "440.1"  # nobody knows how hot it was
    second[3], second[6], second[8] = "3.5", "433", "interrupted"
    lab.write_text("\n".join([*lines[:-2], ",".join(first), ",".join(second)]) + "\n")
    code, _, err = bomi("check", "lab.csv")
    assert code == 0
    assert "42 rows, 41 with an outcome, 0 pending, 1 failed" in err
    code, out, _ = bomi("suggest", "lab.csv", "--format", "json")
    assert code == 0
    assert json.loads(out)[0]["id"] == "H43"
    gaps = json.loads(bomi("gaps", "lab.csv", "--format", "json")[1])
    assert {"row": 42, "id": "H41", "parameter": "temperature"}.items() <= next(
        g for g in gaps if g["row"] == 42
    ).items()


def test_pending_suggestions_are_not_suggested_again(bomi, lab):
    first = json.loads(bomi("suggest", "lab.csv", "--append", "--format", "json")[1])[0]["setting"]
    second = json.loads(bomi("suggest", "lab.csv", "--append", "--format", "json")[1])[0]["setting"]
    assert first != second


def test_values_that_are_given_today(bomi, lab):
    given = ("--given", "quench=oil", "--given", "temperature=180 °C")
    code, out, _ = bomi("suggest", "lab.csv", *given, "--append", "--format", "json")
    assert code == 0
    (one,) = json.loads(out)
    assert (one["setting"]["quench"], one["setting"]["temperature"]) == ("oil", 180)
    assert list(csv.DictReader(io.StringIO(lab.read_text("utf-8"))))[-1]["asked.quench"] == "oil"
    setting = json.loads(bomi("best", "lab.csv", *given, "--format", "json")[1])["recommended"]["setting"]
    assert (setting["quench"], setting["temperature"]) == ("oil", 180)


LIBRARY = """id,temperature,time,cooling,quench,supplier
L1,150,2,10,oil,Acme
L2,,8,20,water,Acme
L3,453.15 K,4,?,oil,Bolt
L4,200,1,30,air,Bolt
"""


def test_choosing_from_a_list(bomi, lab):
    (lab.parent / "library.csv").write_text(LIBRARY, encoding="utf-8")
    code, out, _ = bomi("suggest", "lab.csv", "--candidates", "library.csv", "-n", 4, "--append", "--format", "json")
    assert code == 0
    found = {one["candidate"]: one["setting"] for one in json.loads(out)}
    assert found["L2"] == {"time": 8, "cooling": 20, "quench": "water"}
    assert found["L3"] == {"temperature": 180, "time": 4, "quench": "oil"}
    table = {row["asked.time"]: row for row in csv.DictReader(io.StringIO(lab.read_text("utf-8")))}
    assert (table["8"]["temperature"], table["8"]["asked.temperature"], table["8"]["cooling"]) == ("", "", "20")
    code, out, err = bomi("suggest", "lab.csv", "--candidates", "library.csv")
    assert (code, out) == (2, "")
    assert "only 0 of 4 candidates are left to ask for, not 1: the others are pending" in err
    recommended = json.loads(bomi("best", "lab.csv", "--candidates", "library.csv", "--format", "json")[1])
    assert recommended["recommended"]["setting"] in found.values()
    identity = next(one["id"] for one in json.loads(bomi("withdraw", "lab.csv", "H42", "--format", "json")[1]))
    assert identity == "H42"


def test_the_list_of_the_campaign_each_candidate_once(bomi, lab):
    (lab.parent / "campaign.toml").write_text(
        'candidates = "library.csv"\nreplacement = false\n' + TOML, encoding="utf-8"
    )
    tried = "Z1,,150,2,10,oil,300,,\n"
    lab.write_text(lab.read_text("utf-8").rstrip("\n") + "\n" + tried, encoding="utf-8")
    (lab.parent / "library.csv").write_text(LIBRARY, encoding="utf-8")
    found = {one["candidate"] for one in json.loads(bomi("suggest", "lab.csv", "-n", 3, "--format", "json")[1])}
    assert found == {"L2", "L3", "L4"}
    every = bomi("suggest", "lab.csv", "-n", 4, "--replacement", "--format", "json")[1]
    assert {one["candidate"] for one in json.loads(every)} == {"L1", "L2", "L3", "L4"}


def test_a_suggestion_is_withdrawn(bomi, lab):
    lines = lab.read_text().splitlines()
    bomi("suggest", "lab.csv", "-n", 2, "--append")
    code, out, err = bomi("withdraw", "lab.csv", "H41", "--format", "json")
    assert code == 0
    assert [(gone["id"], set(gone["setting"])) for gone in json.loads(out)] == [
        ("H41", {"temperature", "time", "cooling", "quench"})
    ]
    assert err == "bomi: removed from lab.csv, the version before is lab.csv.bak\n"
    assert [line.partition(",")[0] for line in lab.read_text().splitlines()[len(lines) :]] == ["H42"]
    code, out, err = bomi("withdraw", "lab.csv", "H42", "H01")
    assert (code, out) == (2, "")
    assert "lab.csv, row 2: it has an outcome" in err
    assert bomi("withdraw", "lab.csv") == (
        2,
        "",
        "bomi: say which suggestions: by their ids, or each by --row and its number in the table\n",
    )
    assert len(lab.read_text().splitlines()) == len(lines) + 1
    assert "42" in bomi("withdraw", "lab.csv", "--row", len(lines) + 1)[1]
    assert len(lab.read_text().splitlines()) == len(lines)


@pytest.mark.parametrize("command", ["init", "check", "suggest", "gaps", "best", "plot"])
def test_every_format(bomi, lab, command, monkeypatch):
    drawn = []

    def drawn_once(*what, **how):  # the figures are the same, however their names are printed
        if not drawn:
            drawn.append(save_all(*what, **how))
        return drawn[0]

    monkeypatch.setattr(plots, "save_all", drawn_once)
    extra = ["-c", "new.toml"] if command == "init" else []
    code, table, _ = bomi(command, "lab.csv", *extra)
    assert code == 0
    assert "\x1b" not in table
    extra += ["--force"] if command == "init" else []
    code, text, _ = bomi(command, "lab.csv", "--format", "json", *extra)
    assert code == 0
    document = json.loads(text)
    assert document
    code, text, _ = bomi(command, "lab.csv", "--format", "csv", *extra)
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows
    assert all(None not in row and None not in row.values() for row in rows)


def test_json_and_csv_say_the_same_in_full(bomi, lab):
    advice = json.loads(bomi("suggest", "lab.csv", "--format", "json")[1])[0]
    row = next(csv.DictReader(io.StringIO(bomi("suggest", "lab.csv", "--format", "csv")[1])))
    assert float(row["predicted.mean"]) == advice["predicted"]["mean"]
    assert float(row["temperature"]) == advice["setting"]["temperature"]
    assert row["why"] == advice["why"]
    best = json.loads(bomi("best", "lab.csv", "--format", "json")[1])
    assert best["seen"] == {
        "row": 26, "recorded": {"temperature": 180, "time": 8, "cooling": None, "quench": "oil"}, "outcome": 445.9,
    }  # fmt: skip
    assert set(best["recommended"]["setting"]) == {"temperature", "time", "cooling", "quench"}


def test_a_cell_that_a_spreadsheet_would_run_is_printed_as_text(bomi, lab):
    lab.write_text(lab.read_text().replace("H01,", "=1+1,"))
    rows = csv.DictReader(io.StringIO(bomi("gaps", "lab.csv", "--format", "csv")[1]))
    assert next(row["id"] for row in rows if row["row"] == "2") == "'=1+1"


def test_a_workbook_is_read_and_added_to(bomi, lab):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in csv.reader(io.StringIO(lab.read_text())):
        book.active.append([float(cell) if cell.replace(".", "", 1).isdigit() else cell or None for cell in row])
    book.save(lab.parent / "lab.xlsx")
    code, _, err = bomi("check", "lab.xlsx")
    assert code == 0
    assert "lab.xlsx is fine (sheet 'Sheet' of a workbook): 40 rows, 39 with an outcome, 0 pending, 1 failed" in err
    assert bomi("suggest", "lab.xlsx")[1] == bomi("suggest", "lab.csv")[1]
    assert bomi("suggest", "lab.xlsx", "--append")[0] == 0
    assert ": 41 rows, 39 with an outcome, 1 pending" in bomi("check", "lab.xlsx")[2]
    assert openpyxl.load_workbook(lab.parent / "lab.xlsx").active["A42"].value == "H41"


def test_figures(bomi, lab):
    code, out, _ = bomi("plot", "lab.csv", "-o", "pictures", "--format", "csv")
    assert code == 0
    files = [lab.parent / row["file"] for row in csv.DictReader(io.StringIO(out))]
    assert len(files) == 14
    assert all(file.stat().st_size > 1000 for file in files)


def test_trust_is_one_sentence_and_what_surprised(bomi, lab):
    code, output, said = bomi("trust", lab)
    assert code == 0
    assert re.match(r"The model explains \d+ % of what varies in strength; errors of about \d+ MPa; 3\d of 39", output)
    assert "H35" in output
    assert "second look" in said
    found = json.loads(bomi("trust", lab, "--format", "json")[1])
    assert found["trusted"] is True
    assert len(found["rows"]) == 39
    assert found["sentence"][1:] in output.splitlines()[0]


def test_a_slipped_decimal_point_is_named_by_check_suggest_and_trust(bomi, tmp_path):
    random = np.random.default_rng(0)
    lines = ["temp,time,strength"]
    for i, (temp, hours) in enumerate(random.random((24, 2))):
        strength = 400 + 40 * temp + 20 * hours + random.normal()
        lines.append(f"{120 + 100 * temp:.1f},{1 + 8 * hours:.2f},{strength * (10 if i == 11 else 1):.1f}")
    table = tmp_path / "lab.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert bomi("init", table, "--objective", "strength")[0] == 0
    assert "far from all others; can it be?" in bomi("check", table)[2]
    assert "in row 13 cannot be believed" in bomi("suggest", table)[2]
    assert "in row 13 cannot be believed" in bomi("trust", table)[1]
    assert json.loads(bomi("trust", table, "--format", "json")[1])["wrong"] == [13]


def test_bad_news_stands_beside_suggestion_and_recommendation(bomi, lab):
    rows = list(csv.reader(io.StringIO(lab.read_text(encoding="utf-8"))))
    shuffled = np.random.default_rng(0).permutation([row[6] for row in rows[1:]])
    text = [",".join([*row[:6], outcome]) for row, outcome in zip(rows[1:], shuffled, strict=True)]
    lab.write_text("\n".join([",".join(rows[0][:7]), *text]), encoding="utf-8")
    for command in ("suggest", "best"):
        assert "but these 39 outcomes of strength cannot be told from noise" in bomi(command, lab)[2]
    assert bomi("trust", lab)[1].startswith("These 39 outcomes of strength cannot be told from noise")


def test_a_setting_of_one_s_own_is_predicted(bomi, lab):
    setting = ("temperature=180 °C", "time=6", "cooling=8", "quench=oil")
    code, output, _ = bomi("predict", lab, *setting)
    assert code == 0
    assert "its chance to beat the best row is" in output
    assert "the rows that move it most are H" in output
    found = json.loads(bomi("predict", lab, *setting, "--format", "json")[1])
    assert found["setting"] == {"temperature": 180, "time": 6, "cooling": 8, "quench": "oil"}
    assert 0 <= found["chance"] <= 1
    for wrong, said in (
        (("temperature=180",), "time"),
        ((*setting, "speed=3"), "speed"),
        (("temperature 180",), "a value is typed as NAME=VALUE, such as temperature=..."),
        (("temperature=400", *setting[1:]), "400"),
    ):
        code, _, error = bomi("predict", lab, *wrong)
        assert code == 2
        assert said in error


def test_whether_to_go_on_is_one_line(bomi, lab):
    output = bomi("prospects", lab)[1]
    assert "the next 10 experiments" in output
    found = json.loads(bomi("prospects", lab, "--format", "json")[1])
    assert found["advice"][1:] in output.splitlines()[-1]
    assert found["advice"].startswith(found["action"])
    toml = lab.parent / "campaign.toml"
    toml.write_text(TOML.replace('unit = "MPa"', 'unit = "MPa"\ncost = 1000\nrange = [0, inf]', 1), encoding="utf-8")
    found = json.loads(bomi("prospects", lab, "--format", "json")[1])
    assert (found["action"], found["cost"]) == ("stop", 1000)
    assert "less than they cost" in found["advice"]


def test_a_report_is_one_page_that_needs_nothing_else(bomi, lab):
    assert bomi("report", lab, "-o", "meeting.html", "-n", "1")[0] == 0
    page = (lab.parent / "meeting.html").read_text(encoding="utf-8")
    for said in ("The question", "39 with an outcome", "The model explains", "Suggested experiments", "SHA-256"):
        assert said in page
    assert page.count("<svg") == 6
    assert not re.findall(r"(?:src|href)=\"(?!#)[^\"]*\"|@import|url\((?!#)", page)
    marks = re.findall(r' id="([^"]+)"', page)
    assert set(re.findall(r"(?:href=\"#|url\(#)([^\")]+)", page)) <= set(marks)
    code, _, said = bomi("report", lab, "-o", "meeting.docx")
    assert code == 2
    assert "a page is an .html or a .pdf file, but got meeting.docx" in said


def test_a_table_of_the_report_that_is_wider_than_paper_stands_on_its_side():
    assert _fitting(("", *"abcd"), [["one", *"1234"]], "Both").count("<tr>") == 2
    sideways = _fitting(("", *"abcdefghij"), [["one", *"0123456789"], ["two", *"9876543210"]], "Both")
    assert sideways.count("<tr>") == 11
    assert "<tr><td>b</td><td>1</td><td>8</td></tr>" in sideways


def test_a_report_says_what_is_not_there_yet(bomi, lab):
    rows = lab.read_text(encoding="utf-8").splitlines()
    lab.write_text("\n".join(rows[:3]), encoding="utf-8")
    (lab.parent / "campaign.toml").write_text(TOML.replace('"mean"', '"random"'), encoding="utf-8")
    assert bomi("report", lab)[0] == 0
    assert "There is no model yet" in (lab.parent / "report.html").read_text(encoding="utf-8")


def test_a_run_sheet_has_a_box_for_everything(bomi, lab):
    code, _, said = bomi("runsheet", lab)
    assert code == 2
    assert "no row awaits its outcome" in said
    bomi("suggest", lab, "-n", "2", "--append")
    assert bomi("runsheet", lab)[0] == 0
    page = (lab.parent / "runsheet.html").read_text(encoding="utf-8")
    assert page.count('class="box"') == 2 * (5 + 3)
    assert "H41 (row 42)" in page
    assert "strength (MPa)" in page


@pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not installed")
def test_a_run_sheet_as_pdf(bomi, lab):
    bomi("suggest", lab, "--append")
    assert bomi("runsheet", lab, "-o", "sheet.pdf")[0] == 0
    assert (lab.parent / "sheet.pdf").read_bytes().startswith(b"%PDF")


def test_the_demonstration(bomi, tmp_path):
    code, out, err = bomi("demo")
    assert code == 0
    rows = [line for line in out.splitlines() if line.startswith("│")]
    assert len(rows) == 10
    assert all(len(row) < 80 for row in rows)  # the narrowest terminal
    assert any("stage" in row for row in rows)  # a thermostat failed
    assert "recommended: " in out
    found, old, top = (float(number) for number in re.search(r"is (\d+) MPa; .* had (\d+), .* has (\d+)", out).groups())
    assert old < found < top + 5  # it was worth it
    assert "figure of the recommended treatment: bomi-demo.png" in err
    assert (tmp_path / "bomi-demo.png").read_bytes().startswith(b"\x89PNG")
    assert bomi("demo", "-o", "x.pdf")[0] == 2


def test_the_demonstration_tells_what_its_furnace_did():
    """What is recorded is what was asked, but for the temperature of a thermostat that failed."""
    from bomi.benchmarks import demo

    table = demo.history()
    assert table.drop(columns="strength").isna().any(axis=1).sum() == 24
    assert (table.drop(columns="strength").isna().sum(axis=1) <= 1).all()
    optimizer = Optimizer(demo.SPACE, objective="strength", method="random", seed=0)
    rng = np.random.default_rng(0)
    steps = [demo.experiment(optimizer.ask(), rng) for _ in range(60)]
    as_asked = [step for step in steps if not step.actual]
    assert 30 < len(as_asked) < 50
    for step in as_asked:
        assert step.outcome == pytest.approx(demo.strength(step.suggestion), abs=5)
    assert {name for step in steps for name in step.actual} == {"te_2", "te_3", "te_4"}
    assert any(abs(step.outcome - demo.strength(step.suggestion)) > 5 for step in steps)


HOT = "bad.csv, B0 (row 2), column 'cooling': expected a number"
MISTAKES = [
    (["check", "none.csv"], "there is no file none.csv"),
    (["check", "."], "is a folder"),
    (["check", "lab.csv", "-c", "none.toml"], "there is no file none.toml"),
    (["check", "binary.csv"], "is no text"),
    (["check", "empty.csv"], "is empty"),
    (["check", "huge.csv"], "files up to 64 MB are read"),
    (["check", "lab.csv", "-c", "broken.toml"], "broken.toml is no valid TOML"),
    (["check", "lab.csv", "-c", "method.toml"], "method.toml: [method] unknown method 'meen'"),
    (["best", "header.csv"], "no outcome has been told"),
    (["plot", "header.csv"], "no figure of outcomes"),
    (["init", "text.csv", "-c", "x.toml"], "no column of numbers"),
    *(([command, "bad.csv"], HOT) for command in ("check", "suggest", "gaps", "best", "plot")),
    (["suggest", "lab.csv", "--given", "quench"], "--given needs a parameter and its value, such as humidity=41"),
    (["suggest", "lab.csv", "--given", "quench=oil", "--given", "quench=air"], "--given has two values for 'quench'"),
    (["suggest", "lab.csv", "--append", "--given", "time=200"], "parameter 'time': 200 is out of bounds [0.5, 100]"),
    (["best", "lab.csv", "--given", "quenh=oil"], "did you mean 'quench'?"),
    (["suggest", "lab.csv", "--candidates", "none.csv"], "there is no file none.csv"),
    (["suggest", "lab.csv", "--candidates", "header.csv"], "header.csv: the list of candidates is empty"),
    (
        ["suggest", "lab.csv", "--candidates", "text.csv"],
        "the list of candidates lacks 'temperature', 'time', 'cooling'",
    ),
    (["suggest", "lab.csv", "--candidates", "bad.csv"], HOT),
    (["suggest", "lab.csv", "--no-replacement"], "replacement goes with candidates, a list to choose from"),
    (["suggest", "bad.csv", "--append"], "bad.csv: and 1 more problems"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=[" ".join(arguments) for arguments, _ in MISTAKES])
def test_a_mistake_ends_in_clear_lines_and_code_2_and_changes_nothing(bomi, lab, arguments, said):
    folder = lab.parent
    header = lab.read_text().splitlines(keepends=True)[0]
    (folder / "bad.csv").write_text(header + "".join(f"B{i},,,,hot,oil,1,,\n" for i in range(21)))
    (folder / "header.csv").write_text(header)
    (folder / "text.csv").write_text("a,b\nx,y\n")
    (folder / "empty.csv").write_text("")
    (folder / "binary.csv").write_bytes(bytes(range(256)))
    (folder / "broken.toml").write_text("[objective\n")
    (folder / "method.toml").write_text(TOML.replace('"mean"', '"meen"'), encoding="utf-8")
    with open(folder / "huge.csv", "wb") as file:
        file.truncate(200 * 2**20)
    before = {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "huge.csv"}
    code, out, err = bomi(*arguments)
    assert code == 2
    assert out == ""
    assert said in err
    assert "Traceback" not in err
    assert all(line.startswith("bomi: ") for line in err.splitlines())
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "huge.csv"} == before


def test_wrong_usage_is_told(bomi, lab):
    for arguments in (["suggest"], ["chek"], ["suggest", "lab.csv", "-n", 0], ["best", "lab.csv", "--format", "xml"]):
        code, out, err = bomi(*arguments)
        assert code == 2
        assert out == ""
        assert "Error" in err


def test_the_program_is_a_module_too(bomi):
    done = subprocess.run([sys.executable, "-m", "bomi", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout == bomi("--help")[1]


def test_a_reader_who_has_seen_enough_ends_it_quietly(bomi, lab):
    """As in `bomi check lab.csv | head -1`: nothing reads on."""
    command = [sys.executable, "-m", "bomi", "check", str(lab), "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        running.stdout.close()
        assert "Traceback" not in running.stderr.read()
    assert running.returncode == 0


def test_completion(monkeypatch, capsys):
    monkeypatch.setenv("_BOMI_COMPLETE", "source_bash")
    monkeypatch.setattr(sys, "argv", ["bomi"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "complete" in capsys.readouterr().out


# --- several outcomes, a target, failures, known errors ---

PLANT = """temperature,time,yield,yield.sd,impurity
30,2,31,0.5,0.7
50,,52,0.5,1.8
70,5,70,,2.6
90,3,85,0.5,
110,9,90,0.5,6.1
60,1,50,2,1.5
118,4,failed,,
"""


@pytest.fixture
def plant(tmp_path):
    table = tmp_path / "plant.csv"
    table.write_text(PLANT, encoding="utf-8")
    return table


def test_several_outcomes_from_the_table_to_the_figures(bomi, plant):
    code, out, _ = bomi("init", plant, "--objective", "yield", "--objective", "impurity=minimize", "--format", "json")
    assert code == 0
    assert [(one["name"], one["goal"]) for one in json.loads(out)["objectives"]] == [
        ("yield", "maximize"),
        ("impurity", "minimize"),
    ]
    campaign = plant.parent / "campaign.toml"
    campaign.write_text(campaign.read_text() + '\n[method]\nname = "mean"\n')
    _, out, _ = bomi("check", plant, "--format", "json")
    summary = json.loads(out)
    assert (summary["rows"], summary["outcomes"], summary["failed"], summary["pending"]) == (7, 6, 1, 0)
    known = {column["column"]: column["known"] for column in summary["columns"]}
    assert known == {"temperature": 7, "time": 6, "yield": 6, "impurity": 5}
    _, out, _ = bomi("suggest", plant, "-n", "2", "--append", "--format", "json")
    first, second = json.loads(out)
    assert set(first["predicted"]) == {"yield", "impurity"}
    assert first["setting"] != second["setting"]
    assert "its probability of success is" in first["why"]
    assert len(plant.read_text().splitlines()) == 10
    _, out, _ = bomi("suggest", plant, "--format", "csv")
    assert "predicted.yield.mean,predicted.yield.sd,predicted.impurity.mean" in out
    _, out, _ = bomi("best", plant, "--format", "json")
    choices = json.loads(out)
    assert isinstance(choices, list)
    assert {choice["seen"]["row"] for choice in choices} <= {2, 3, 4, 6, 7}
    yields = [choice["recommended"]["predicted"]["yield"]["mean"] for choice in choices]
    assert yields == sorted(yields)
    _, out, _ = bomi("best", plant)
    assert "recommended 1" in out
    assert "impurity sd" in out
    _, out, _ = bomi("gaps", plant, "--format", "json")
    assert [(gap["row"], gap["parameter"]) for gap in json.loads(out)] == [(3, "time")]
    _, out, _ = bomi("plot", plant, "-o", plant.parent / "figures", "--format", "json")
    drawn = {Path(record["file"]).stem for record in json.loads(out)}
    kinds = ("slices", "importance", "interactions", "map", "trust")
    assert drawn == {"outcomes", "gaps", "front", *(f"{kind}-{name}" for kind in kinds
                                                   for name in ("yield", "impurity"))}  # fmt: skip


def test_a_target_on_the_command_line(bomi, plant):
    bomi("init", plant, "--objective", "yield=60")
    text = (plant.parent / "campaign.toml").read_text()
    assert 'goal = "target"' in text
    assert "target = 60" in text
    assert "yield.sd" not in text
    (plant.parent / "campaign.toml").write_text(text + '\n[method]\nname = "mean"\n')
    _, out, _ = bomi("best", plant, "--format", "json")
    found = json.loads(out)
    assert found["recommended"]["predicted"]["mean"] == pytest.approx(60, abs=3)
    assert found["seen"]["outcome"] == 52


def test_more_than_there_are_is_told(bomi, tmp_path):
    table = tmp_path / "few.csv"
    table.write_text("n,y\n1,1.0\n2,2.0\n", encoding="utf-8")
    (tmp_path / "campaign.toml").write_text(
        '[objective]\nname = "y"\n[parameters.n]\ntype = "integer"\nrange = [1, 3]\n'
    )
    code, _, err = bomi("suggest", table, "-n", "4", "--append")
    assert code == 2
    assert "no setting of the space is left: 3 are pending or asked for already; ask for fewer" in err
    assert table.read_text() == "n,y\n1,1.0\n2,2.0\n"


@pytest.mark.parametrize(("width", "lines"), [(50, True), (120, False)])
def test_on_a_narrow_terminal_each_value_has_a_line(bomi, lab, monkeypatch, width, lines):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = bomi("suggest", lab, "--count", "2")
    plain = re.sub(r"\x1b\[[\d;?]*\w", "", out)
    assert len(re.findall(r"^temperature  +[\d.]+$", plain, re.MULTILINE)) == (2 if lines else 0)
    assert ("│" in plain) is not lines
    assert "…" not in plain


def test_init_gives_values_as_a_list_in_json(bomi, lab):
    (lab.parent / "campaign.toml").unlink()
    document = json.loads(bomi("init", lab, "--format", "json")[1])
    assert {one["parameter"]: one["values"] for one in document["parameters"]}["quench"] == ["oil", "water", "air"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("full", [True, False], ids=["full disk", "closed pipe"])
def test_a_row_that_was_added_is_told_of_even_if_the_output_fails(lab, full):
    before = lab.read_text(encoding="utf-8")
    program = [sys.executable, "-m", "bomi", "suggest", str(lab), "--append"]
    if full:
        with open("/dev/full", "w") as output:
            done = subprocess.run(program, stdout=output, stderr=subprocess.PIPE, text=True)
        code, said = done.returncode, done.stderr
    else:
        started = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.stdout.close()
        said = started.stderr.read()
        started.stderr.close()
        code = started.wait()
    reason = "No space left on device" if full else "Broken pipe"
    assert (code, said) == (1, f"bomi: H41 added to {lab}, but the output was not written: {reason}\n")
    assert len(lab.read_text(encoding="utf-8").splitlines()) == len(before.splitlines()) + 1


@pytest.mark.parametrize("where", ["bomi.workflow.suggest", "bomi.campaign.campaign_path"])
def test_ctrl_c_is_one_line(bomi, lab, monkeypatch, where):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    code, out, err = bomi("suggest" if "workflow" in where else "check", lab)
    assert (code, out, err) == (130, "", "bomi: stopped\n")
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_ctrl_c_while_modules_are_loaded_is_one_line():
    program = (
        "import builtins, os, signal\nreal = builtins.__import__\n"
        "def load(name, *rest):\n"
        "    if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = load\nimport bomi.cli\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "bomi: stopped\n")


def test_control_characters_of_a_file_do_not_reach_the_terminal(bomi, tmp_path):
    table = tmp_path / "odd.csv"
    header = "rate [/min],length [mm],T \x9b31m (\u202eC),y"
    table.write_text(header + "\n1,2,3,4\n2,3,5,5\n3,5,4,6\n2,4,3,7\n", encoding="utf-8")
    for arguments in (["init", table, "--objective", "y"], ["check", table]):
        code, out, err = bomi(*arguments)
        assert code == 0
        assert not {"\x9b", "\u202e", "\x1b"} & set(out + err)
        assert "rate [/min]" in out
        assert "length [mm]" in out
        assert r"T \x9b31m (\u202eC)" in out


def test_an_outcome_is_no_markup(bomi, tmp_path):
    table = tmp_path / "odd.csv"
    table.write_text("heat,speed [/min]\n1,4\n2,5\n3,6\n2,7\n", encoding="utf-8")
    code, out, _ = bomi("init", table, "--objective", "speed [/min]")
    assert code == 0
    assert out.startswith("maximize speed [/min]")


@pytest.mark.parametrize(
    "arguments", [("check", "lab.csv", "a\u202eb"), ("--a\u202eb",), ("a\u202eb",), ("check", "--a\u202eb")]
)
def test_wrong_arguments_do_not_reach_the_terminal_either(bomi, arguments):
    code, out, err = bomi(*arguments)
    assert code == 2
    assert "\u202e" not in out + err
    assert r"a\u202eb" in err


def test_what_was_asked_lies_in_a_guessed_range(bomi, tmp_path):
    (tmp_path / "lab.csv").write_text("T,q,y,asked.T,asked.q\n10,a,4,12,a\n20,b,5,50,b\n30,a,6,-5,c\n20,b,7,20,B\n")
    assert bomi("init", "lab.csv", "--objective", "y")[0] == 0
    assert bomi("check", "lab.csv")[0] == 0
    text = (tmp_path / "campaign.toml").read_text()
    assert "range = [-5, 50]" in text
    assert 'values = ["a", "b", "c"]' in text


@pytest.mark.parametrize("command", ["groups", "equipment", "measured", "prospects"])
def test_a_wrong_name_of_a_figure_is_told_before_the_table_is_read(bomi, command):
    code, out, err = bomi(command, "no-such.csv", "-o", "figure.pdf")
    assert (code, out) == (2, "")
    assert err == "bomi: a figure is saved as .png or .svg, but got 'figure.pdf'\n"
