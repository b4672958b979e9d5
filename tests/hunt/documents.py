"""Hunt for campaign.toml files and command lines that end in anything but a result or one clear line.

    PYTHONPATH=src python tests/hunt/documents.py --minutes 60     hunt
    PYTHONPATH=src python tests/hunt/documents.py --case 1234      replay one case

A case is a campaign.toml made of sections, keys and values that a campaign knows, in places where they may not belong,
with numbers of any size and texts that terminals act on; or a command with flags and values that make no sense. The
document must be read or refused by a BomiError; the command must exit with 0, 1 or 2, without a traceback, and what it
says must hold no control character.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from bomi.campaign.toml import parse_campaign
from bomi.cli.app import app
from bomi.errors import BomiError
from bomi.errors import shown as shortly
from tests.campaign.conftest import TABLE, TOML
from tests.hunt.hunting import Tried, command_line

NASTY = (
    "[/min]", "[bold]x[/]", "length [mm]", "\x1b[31mred", "a\u202eb", "\x9b2J", "\u2066x", "\ufeff", "{}", "%s", "../x",
    "asked.x", "id", "a b", "a/b", "'", '"', "\\", "é", "漢字", "🧪", " ", "", "x" * 300, "2", "nan", "-", "=1+1",
)  # fmt: skip
NUMBERS = (
    "0", "1", "-1", "2.5", "1e308", "-1e308", "1e400", "1e-320", "nan", "inf", "-inf", "9" * 30, "9" * 5000, "0x10",
    "1_000", "true", "1979-05-27", "07:32:00", "-0.0", "1e15", "9007199254740993",
)  # fmt: skip
SECTIONS = (
    "objective", "objectives", "objectives.x", "parameters", "parameters.x", "parameters.y", "method", "constraints",
    "candidates", "table", "sheet", "parameters.x.y",
)  # fmt: skip
KEYS = (
    "name", "goal", "target", "range", "unit", "values", "type", "scale", "step", "default", "blank", "same_within",
    "decimals", "cost", "file", "sum", "min", "max", "equals", "ordered", "measured", "tolerance", "sheet", "id",
    "method", "seed", "exclude", "missing", "descriptors",
)  # fmt: skip
WORDS = (
    "maximize", "minimize", "target", "limit", "log", "linear", "integer", "real", "ordinal", "zero", "maybe",
    "unknown", "x", "y", "strength", "oil", "posterior", "random",
)  # fmt: skip
COMMANDS = (
    "check", "suggest", "gaps", "best", "predict", "trust", "prospects", "runsheet", "withdraw", "equipment", "init",
)  # fmt: skip
FLAGS = (
    "--format", "--seed", "--count", "--campaign", "--given", "--candidates", "--risk", "--append", "--output",
    "--help", "--decimal", "--goal", "--outcome", "--suspects", "-n", "-o", "--nonsense", "--sheet", "--replacement",
)  # fmt: skip
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def value(draw: random.Random, depth: int = 0) -> str:
    """Anything that TOML can hold, and a little that it cannot."""
    roll = draw.random()
    if roll < 0.3:
        return draw.choice(NUMBERS)
    if roll < 0.6:
        return json.dumps(draw.choice(WORDS))
    if roll < 0.75:
        return json.dumps(draw.choice(NASTY))
    if roll < 0.93 and depth < 3:
        return f"[{', '.join(value(draw, depth + 1) for _ in range(draw.randrange(4)))}]"
    if roll < 0.98 and depth < 3:
        pairs = (f"{draw.choice(KEYS)} = {value(draw, depth + 1)}" for _ in range(draw.randrange(3)))
        return f"{{{', '.join(pairs)}}}"
    return draw.choice(("", "'''x", "1..2", "]", "\x00"))


def document(draw: random.Random) -> str:
    """A campaign with some of its lines changed, moved, doubled or made up."""
    lines = TOML.splitlines()
    for _ in range(draw.randrange(1, 6)):
        place = draw.randrange(len(lines) + 1)
        made = draw.choice(
            (
                lambda: f"{draw.choice(KEYS)} = {value(draw)}",
                lambda: f"[{draw.choice(SECTIONS)}]",
                lambda: f"[[{draw.choice(SECTIONS)}]]",
                lambda: f"{json.dumps(draw.choice(NASTY))} = {value(draw)}",
                lambda: f"[parameters.{json.dumps(draw.choice(NASTY))}]\nrange = [0, {draw.choice(NUMBERS)}]",
                lambda: draw.choice(lines) if lines else "",
            )
        )()
        lines[place : place + draw.randrange(2)] = [made]
    return "\n".join(lines)


def table(draw: random.Random) -> str:
    """A table with a name, a unit or a cell that terminals act on."""
    text = TABLE
    for _ in range(draw.randrange(3)):
        text = text.replace(draw.choice(("note", "strength", "first", "oil", "300")), draw.choice(NASTY), 1)
    return text


def arguments(draw: random.Random) -> list[str]:
    """A command with flags and values of which most make no sense."""
    made = [draw.choice(COMMANDS), "lab.csv"]
    for _ in range(draw.randrange(4)):
        made.append(draw.choice((*FLAGS, *NASTY, *NUMBERS, "json", "csv", "temperature=300", "time=6 h", "quench=oil")))
    return made


def attempt(seed: int) -> Tried:
    """One document, or one command line."""
    draw = random.Random(seed)
    if draw.random() < 0.9:
        return Tried(_read(document(draw)), kinds=Counter(["documents"]))
    return Tried(_called(*_case(draw)), kinds=Counter(["commands"]))


def _read(text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            parse_campaign(Path("campaign.toml"), text.encode(errors="surrogatepass"))
    except BomiError as error:
        return "" if str(error).strip() else "an error without a message"
    except Exception as error:
        return f"{type(error).__name__}: {shortly(str(error))}"
    return ""


def _case(draw: random.Random) -> tuple[list[str], str, str]:
    return arguments(draw), table(draw), document(draw) if draw.random() < 0.3 else TOML


def _called(told: list[str], cells: str, text: str) -> str:
    """Run a command in this process, in a folder of its own; what is wrong with how it ended."""
    here = Path.cwd()
    out, err, code = io.StringIO(), io.StringIO(), 0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "lab.csv").write_text(cells, encoding="utf-8")
        if told[0] != "init":
            (Path(folder) / "campaign.toml").write_text(text, encoding="utf-8", errors="surrogatepass")
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                app(told, standalone_mode=True)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException as error:
            return f"{type(error).__name__}: {shortly(str(error))}"
        finally:
            os.chdir(here)
    said = COLOURS.sub("", out.getvalue() + err.getvalue())
    if code not in (0, 1, 2):
        return f"exit code {code}: {shortly(said)}"
    if code and not said.strip():
        return f"exit code {code} without a word"
    if "Traceback" in said:
        return f"a traceback: {said[-300:]}"
    found: Any = CONTROL.search(said.replace("\r", ""))
    return f"a control character {found.group()!r} in {shortly(said[max(found.start() - 60, 0) :])}" if found else ""


def smallest(seed: int) -> str:
    """The fewest lines or arguments that go wrong alike."""
    draw = random.Random(seed)
    if draw.random() < 0.9:
        lines = document(draw).splitlines()
        said = _read("\n".join(lines))
        for i in reversed(range(len(lines))):
            if _read("\n".join(lines[:i] + lines[i + 1 :]))[:40] == said[:40]:
                del lines[i]
        return "\n".join([*(repr(line) for line in lines), f"# -> {said}"])
    told, cells, text = _case(draw)
    said = _called(told, cells, text)
    for i in reversed(range(2, len(told))):
        if _called(told[:i] + told[i + 1 :], cells, text)[:30] == said[:30]:
            del told[i]
    for plain, name in ((TABLE, "table"), (TOML, "campaign")):
        if _called(told, plain if name == "table" else cells, plain if name == "campaign" else text)[:30] == said[:30]:
            cells, text = (plain, text) if name == "table" else (cells, plain)
    return f"bomi {' '.join(map(repr, told))}\nthe table {cells!r}\nthe campaign {text!r}\n# -> {said}"


if __name__ == "__main__":
    command_line(__doc__, "documents and commands", attempt, smallest)
