"""The documents cannot drift from the program. `python tests/test_docs.py` writes docs/cli.md."""

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
import typer
from typer.cli import get_docs_for_click

import bomi
from bomi import cli, knowledge, saving
from bomi.campaign import Campaign, read_experiments
from bomi.learning import learn

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "cli.md"
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def names(paths):
    return [path.relative_to(ROOT).as_posix() for path in paths]


def programs(path):
    return [text for kind, text in BLOCK.findall(path.read_text(encoding="utf-8")) if kind == "python"]


def reference() -> str:
    """The manual of the command line, from the commands themselves."""
    command = typer.main.get_command(cli.app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command, info_name="bomi"), name="bomi")
    for name, one in command.commands.items():  # in full, not cut short
        text = re.sub(rf"(?m)^\* `{name}`: .*", f"* `{name}`: {one.help}", text)
    return text.strip() + "\n"


@pytest.mark.skipif(tuple(map(int, typer.__version__.split(".")[:2])) < (0, 29), reason="typer writes it otherwise")
def test_the_reference_is_that_of_the_commands():
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run: python tests/test_docs.py"


def test_the_tutorial_runs_as_written(tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")
    fits = {}

    def learn_once(table, *more, **others):  # most commands learn from the same table
        key = table.inputs.numpy().tobytes(), table.targets.numpy().tobytes()
        if key not in fits:
            fits[key] = learn(table, *more, **others)
        return fits[key]

    monkeypatch.setattr(knowledge, "learn", learn_once)
    table, campaign = Path("heat-treatment.csv"), Path("campaign.toml")
    ran = []
    for kind, text in BLOCK.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")):
        if kind == "toml":
            campaign.write_text(text, encoding="utf-8")
        elif kind == "diff":
            rows = [line[1:] for line in text.splitlines() if line.startswith("+")]
            kept = table.read_text(encoding="utf-8").splitlines()[: -len(rows)]
            table.write_text("\n".join([*kept, *rows]) + "\n", encoding="utf-8")
        elif kind == "console":
            for line in text.splitlines():
                monkeypatch.setattr(sys, "argv", shlex.split(line.removeprefix("$ ")))
                with pytest.raises(SystemExit) as exit:
                    cli.main()
                output = capsys.readouterr()
                assert not exit.value.code, f"{line}\n{output.err}"
                ran.append(sys.argv[1])
    assert ran == ["init", "check", "suggest", "check", "suggest", "best", "gaps", "trust", "prospects", "plot", "best"]
    assert set(json.loads(output.out)) == {"recommended", "seen", "rivals", "note"}
    assert len(read_experiments(table, Campaign.read(campaign)).rows) == 42
    assert len(list(Path("figures").iterdir())) == 14


SOLVENTS = "solvent,polarity\nwater,80\nDMSO,47\nethanol,24\nhexane,2\n"  # the file that the pages speak of


def test_the_campaign_in_files_md_is_valid(tmp_path):
    (tmp_path / "solvents.csv").write_text(SOLVENTS, encoding="utf-8")
    (text,) = (text for kind, text in BLOCK.findall((ROOT / "docs" / "files.md").read_text()) if kind == "toml")
    assert tomllib.loads(text)
    path = tmp_path / "campaign.toml"
    path.write_text(text, encoding="utf-8")
    space = Campaign.read(path).space
    assert list(space.names) == ["temperature", "time", "passes", "quench", "humidity", "pressure", "solvent", "speed"]
    assert [str(constraint) for constraint in space.constraints] == [
        "temperature + 20 pressure <= 500",
        "pressure / passes <= 8",
    ]


def test_the_saved_campaign_in_files_md_can_be_loaded(tmp_path):
    (text,) = (text for kind, text in BLOCK.findall((ROOT / "docs" / "files.md").read_text()) if kind == "json")
    (tmp_path / "campaign.json").write_text(text, encoding="utf-8")
    optimizer = bomi.Optimizer.load(tmp_path / "campaign.json")
    assert saving.to_document(saving.load(tmp_path / "campaign.json"))["rows"] == json.loads(text)["rows"]
    assert optimizer.ask().id == "4"


EXTRAS = {"optuna": ["optuna"], "dask": ["distributed"]}  # what the examples of a page need
MORE = {"ax": ["ax"], "tracking": ["mlflow", "wandb", "optuna_integration"], "ray": ["ray"]}  # of `make test-more`
WITH_PROGRAMS = [path for path in DOCUMENTS if programs(path)]


@pytest.mark.filterwarnings("ignore:add_tracking_metric is deprecated:DeprecationWarning")  # Ax's, against itself
@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:PartialFixedSampler is experimental")
@pytest.mark.parametrize("path", WITH_PROGRAMS, ids=names(WITH_PROGRAMS))
def test_every_python_example_runs(path, tmp_path, monkeypatch):
    needed = {} if os.environ.get("BOMI_REQUIRE_ALL") == "1" else EXTRAS
    for module in {**needed, **MORE}.get(path.stem, []):
        pytest.importorskip(module, reason=f"the example needs {module}")
    if any("Robot" in text for text in programs(path)) and os.environ.get("BOMI_REQUIRE_ALL") != "1":
        pytest.importorskip("mujoco", reason='MuJoCo is not installed: pip install "bomi[robot]"')
    results = tmp_path / "results" / "performance" / "results.jsonl"  # what the example of docs/results.md reads
    results.parent.mkdir(parents=True)
    results.write_text('{"format": "bomi-results"}\n{"case": "a"}\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for text in programs(path):
        exec(compile(text, str(path), "exec"), namespace)


def test_the_example_of_the_method_says_what_the_text_says():
    namespace = {}
    for text in programs(ROOT / "docs" / "method.md"):
        exec(text, namespace)
    draws = namespace["gap"].draws
    assert 0.3 < namespace["left"] < 0.7
    assert 0.35 < sum(draws) / len(draws) < 0.65
    between = sum(abs(draw - 0.5) < 0.1 for draw in draws)
    assert between <= 0.02 * len(draws)  # where the outcome is taken for wrong


def test_the_campaigns_in_campaigns_md_are_valid(tmp_path):
    (tmp_path / "solvents.csv").write_text(SOLVENTS, encoding="utf-8")
    wishes = []
    for kind, text in BLOCK.findall((ROOT / "docs" / "campaigns.md").read_text(encoding="utf-8")):
        if kind == "toml":
            (tmp_path / "campaign.toml").write_text(text, encoding="utf-8")
            wishes.append(Campaign.read(tmp_path / "campaign.toml").wish)
    assert wishes == ["maximize yield", "maximize quality", "pH near 7", "maximize yield, minimize impurity"]


def test_the_readme_begins_with_the_two_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert BLOCK.search(readme).group(2) == "make demo\nmake test\n"


def test_the_readme_leads_to_every_document():
    linked = {(ROOT / link).resolve() for link in LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))}
    assert names(path for path in DOCUMENTS[1:] if path not in linked) == []


def test_the_readme_shows_every_method_as_the_table_of_methods_does():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| `(\w+)` \| (.*) \|$", readme, re.MULTILINE)
    assert shown == [(method.name, method.about) for method in bomi.METHODS.values()]


ROOMS = ("space", "data", "campaign", "impute", "model", "search", "posterior", "analysis", "cli")


def test_a_long_module_says_why():
    """Three screens are enough for one job; a module of more than 400 lines has two jobs or a reason."""
    package = Path(bomi.__file__).parent
    long = [path for path in package.rglob("*.py") if len(path.read_text(encoding="utf-8").splitlines()) > 400]
    unexplained = [path.name for path in long if "The module is long because" not in path.read_text(encoding="utf-8")]
    assert unexplained == []


def test_the_design_names_every_module():
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "bomi"
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    modules |= {f"{path.parent.name}/{path.stem}" for room in ROOMS for path in (package / room).glob("[!_]*.py")}
    assert [name for name in sorted(modules) if f"`{name}`" not in design] == []
    named = re.findall(rf"`((?:{'|'.join(ROOMS)})/\w+)`", design)
    assert set(named) <= modules


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_every_link_leads_to_a_file(path):
    targets = [link.partition("#")[0] for link in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in link]
    files = {(path.parent / target).resolve() for target in targets if target}
    assert [str(file) for file in files if not file.is_file()] == []


def anchors(path):
    """The anchors of a page, as GitHub makes them: lower case, hyphens, no other punctuation."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_every_link_to_a_section_leads_to_its_heading(path):
    links = [link.partition("#") for link in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in link]
    sections = [((path.parent / file).resolve() if file else path, anchor) for file, _, anchor in links if anchor]
    assert [(file.name, anchor) for file, anchor in sections if anchor not in anchors(file)] == []


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
