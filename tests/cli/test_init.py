"""What `bomi init` asks on a terminal, and what it says without one."""

import fcntl
import json
import os
import pty
import subprocess
import sys
import termios

import pytest

from bomi.cli import tables

TABLE = "run,Betreuerin,T (°C),t (min),hardness\n" + "".join(
    f"{i + 1},{'Ada' if i % 3 else 'Eva'},{200 + 20 * (i % 4)},{30 * (1 + i % 3)},{40 + i * 1.3:.1f}\n"
    for i in range(12)
)


DRYNESS = "T (°C),t (min),dryness,gloss\n" + "".join(
    f"{200 + 20 * (i % 4)},{30 * (1 + i % 3)},{40 + i * 1.3:.1f},{80 - i * 1.7:.1f}\n" for i in range(12)
)


@pytest.fixture
def answers(monkeypatch):
    """Somebody at a terminal, who gives these answers."""
    given: list[str] = []
    monkeypatch.setattr(tables, "_on_terminal", lambda: True)
    monkeypatch.setattr(tables.typer, "prompt", lambda *_, **__: given.pop(0))
    return given


def test_without_a_terminal_a_doubtful_parameter_is_named_with_the_reason(bomi, tmp_path):
    (tmp_path / "lab.csv").write_text(TABLE)
    code, out, said = bomi("init", "lab.csv", "--format", "json")
    assert code == 0
    assert json.loads(out)["doubtful"] == [
        {"parameter": "Betreuerin", "why": "its values may be names of people or places"}
    ]
    assert "perhaps nobody sets 'Betreuerin'" in " ".join(said.split())
    assert "perhaps nobody sets it" in (tmp_path / "campaign.toml").read_text()


def test_on_a_terminal_it_is_asked_about_and_left_out(bomi, tmp_path, answers):
    (tmp_path / "lab.csv").write_text(TABLE)
    answers += ["Betreuer", "Betreuerin"]  # the first is misspelt
    code, out, said = bomi("init", "lab.csv", "--format", "json")
    assert (code, answers) == (0, [])
    assert "no parameter is called 'Betreuer'" in said
    assert [one["parameter"] for one in json.loads(out)["parameters"]] == ["T (°C)", "t (min)"]
    assert "Betreuerin]" not in (tmp_path / "campaign.toml").read_text()


def test_on_a_terminal_all_are_set_where_nothing_is_answered(bomi, tmp_path, answers):
    (tmp_path / "lab.csv").write_text(TABLE)
    answers.append("")
    code, out, _ = bomi("init", "lab.csv", "--format", "json")
    document = json.loads(out)
    assert (code, document["doubtful"]) == (0, [])
    assert [one["parameter"] for one in document["parameters"]] == ["Betreuerin", "T (°C)", "t (min)"]


def test_other_columns_that_seem_to_be_measured_are_named_beside_the_objective(bomi, tmp_path):
    (tmp_path / "lab.csv").write_text(DRYNESS)
    code, _, said = bomi("init", "lab.csv")
    assert code == 0
    assert "measured as well, it seems: 'dryness'; --objective says which are wanted" in " ".join(said.split())


def test_on_a_terminal_it_is_asked_what_is_wanted_where_the_name_does_not_tell(bomi, tmp_path, answers):
    (tmp_path / "lab.csv").write_text(DRYNESS)
    answers += ["lower", "less"]  # the first is none of the answers
    code, out, said = bomi("init", "lab.csv", "--objective", "dryness", "--format", "json")
    assert (code, answers) == (0, [])
    assert "expected more, less or a number, but got 'lower'" in said
    assert json.loads(out)["goal"] == "minimize"
    answers.append("52.5")
    assert bomi("init", "lab.csv", "--objective", "dryness", "--force")[0] == 0
    assert "target = 52.5" in (tmp_path / "campaign.toml").read_text()


def test_nothing_is_asked_where_a_campaign_is_there_already(bomi, tmp_path, answers):
    (tmp_path / "lab.csv").write_text(TABLE)
    (tmp_path / "campaign.toml").write_text("mine")
    code, _, said = bomi("init", "lab.csv")
    assert code == 2
    assert "is there already" in said
    assert (tmp_path / "campaign.toml").read_text() == "mine"


def test_what_the_flag_says_is_not_asked(bomi, tmp_path, answers):
    (tmp_path / "lab.csv").write_text(DRYNESS)
    assert bomi("init", "lab.csv", "--objective", "dryness", "--minimize")[0] == 0
    assert answers == []


def test_ctrl_c_at_a_later_question_leaves_nothing_half_done(tmp_path):
    (tmp_path / "lab.csv").write_text(TABLE.replace("hardness", "dryness"))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bomi", "init", "lab.csv", "--objective", "dryness"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    said = _until(ours, "which value is best?")
    os.write(ours, b"less\n")
    said += _until(ours, "which of them do you not set?")
    os.write(ours, b"\x03")
    assert process.wait(60) == 130
    *_, last = (said + _until(ours, None)).strip().splitlines()
    os.close(ours)
    assert "stopped" in last
    assert "Abort" not in last
    assert [path.name for path in tmp_path.iterdir()] == ["lab.csv"]


def _until(terminal, text):
    """What a terminal shows until a text, or until it closes."""
    shown = ""
    while text is None or text not in shown:
        try:
            shown += os.read(terminal, 1000).decode(errors="replace")
        except OSError:  # closed by the other side
            break
    return shown
