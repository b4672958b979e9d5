"""Processes that are killed while they append, and two that append at once.

APPENDS sets how many appends are killed, 30 if it is not given.
"""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from bomi.campaign import append, read_experiments

from .conftest import TABLE

APPENDS = int(os.environ.get("APPENDS", "30"))
SETTING = {"temperature": 312.5, "time": 900.0, "passes": 3, "quench": "oil"}
APPEND = """
import sys
from pathlib import Path
from bomi.campaign import Campaign, append
table, count = Path(sys.argv[1]), int(sys.argv[2])
campaign = Campaign.read(table.parent / "campaign.toml")
print("ready", flush=True)
for _ in range(count):
    append(table, campaign, [dict(temperature=312.5, time=900.0, passes=3, quench="oil")])
    print("done", flush=True)
"""
OURS = ("storage.py", "locks.py")


def start(table, count):
    command = [sys.executable, "-c", APPEND, str(table), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_killed_append_leaves_the_old_or_the_new_version_whole(lab, campaign):
    draw = random.Random(0)
    wide = TABLE.splitlines()[0] + ",asked.temperature,asked.time,asked.passes,asked.quench\n"
    typed = [line + ",,,," for line in TABLE.splitlines()[1:]]
    appended, killed, longest = 0, 0, 0.03
    while appended < APPENDS:
        process = start(lab, APPENDS)
        assert process.stdout.readline() == "ready\n"
        time.sleep(draw.uniform(0.0005, longest))
        process.send_signal(signal.SIGKILL)
        reported = process.stdout.read().count("done")
        process.wait()
        process.stdout.close()
        lines = lab.read_text().splitlines()
        if lines[0] + "\n" != wide:
            assert lab.read_text() == TABLE
            longest *= 1.5  # a busy machine gets no further
            continue
        rows = len(lines) - len(typed) - 1
        assert lines[1 : len(typed) + 1] == typed
        assert appended + reported <= rows <= appended + reported + 1
        assert all(line.endswith(",312.5,900,3,oil,,,312.5,900,3,oil") for line in lines[len(typed) + 1 :])
        assert lab.read_text().endswith("\n")
        read_experiments(lab, campaign)
        longest *= 1.5 if rows == appended else 1.0
        appended, killed = rows, killed + 1
    assert killed


def dying(table, campaign, moment):
    """Append in a process that is killed before the given call of the modules that write; whether it got through."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    left = moment

    def die(frame, event, _):
        nonlocal left
        near = [frame.f_code.co_filename, frame.f_back.f_code.co_filename if frame.f_back else ""]
        if event == "c_call" and any(name.endswith(OURS) for name in near):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(die)
    append(table, campaign, [SETTING])
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_append_that_dies_before_any_call_leaves_the_old_or_the_new_version_whole(lab, campaign):
    append(lab, campaign, [SETTING])
    new, backup = lab.read_bytes(), lab.parent / "lab.csv.bak"
    seen = set()
    for moment in range(1, 500):
        lab.write_text(TABLE)
        finished = dying(lab, campaign, moment)
        seen.add(lab.read_bytes())
        assert seen <= {TABLE.encode(), new}
        assert backup.read_bytes() == TABLE.encode()
        if finished:
            break
    assert finished
    assert moment > 20
    assert seen == {TABLE.encode(), new}
    append(lab, campaign, [SETTING])
    assert sorted(os.listdir(lab.parent)) == ["campaign.toml", "lab.csv", "lab.csv.bak"]  # what was left is swept away


def test_two_processes_that_append_at_once_lose_nothing(lab, campaign):
    both = [start(lab, 100), start(lab, 100)]
    for process in both:
        process.communicate()
        assert process.returncode == 0
    rows = read_experiments(lab, campaign).rows
    assert len(rows) == 204
    assert len({row.id for row in rows}) == 204
