"""The documents cannot drift from the program: `python tests/test_docs.py` writes docs/cli.md anew."""

import json
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
import typer
from typer.cli import get_docs_for_click

from bomi import cli
from bomi.files import Campaign, read_experiments

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "cli.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def reference() -> str:
    """The manual of the command line, from the commands themselves."""
    command = typer.main.get_command(cli.app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command, info_name="bomi"), name="bomi")
    for name, one in command.commands.items():  # in full, not cut short
        text = re.sub(rf"(?m)^\* `{name}`: .*", f"* `{name}`: {one.help}", text)
    return text.strip() + "\n"


def test_the_reference_is_that_of_the_commands():
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run: python tests/test_docs.py"


def test_the_tutorial_runs_as_written(tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")
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
    assert ran == ["init", "check", "suggest", "check", "suggest", "best", "gaps", "plot", "best"]
    assert set(json.loads(output.out)) == {"recommended", "seen", "note"}
    assert len(read_experiments(table, Campaign.read(campaign)).rows) == 42
    assert len(list(Path("figures").iterdir())) == 8


def test_the_campaign_in_the_description_of_the_files_is_one(tmp_path):
    (text,) = (text for kind, text in BLOCK.findall((ROOT / "docs" / "files.md").read_text()) if kind == "toml")
    assert tomllib.loads(text)
    path = tmp_path / "campaign.toml"
    path.write_text(text, encoding="utf-8")
    assert list(Campaign.read(path).space.names) == ["temperature", "time", "passes", "quench"]


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
