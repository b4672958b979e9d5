"""What is told while something is computed, and steps that are undone: without a browser."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from bomi.campaign.snapshot import Snapshot
from bomi.web.computing import Computing
from bomi.web.steps import TOGETHER, Steps


class Slow:
    """A worker that says how far it is, and goes on when told to."""

    def __init__(self, told):
        self.told, self.go = told, asyncio.Event()

    async def run(self, name, *arguments, progress, turn):
        turn()
        progress(*self.told)
        await self.go.wait()
        return name


def told(share, seconds, monkeypatch, *, before=None):
    """What is said of a job after so many seconds."""

    async def main():
        worker = Slow(("2 of 8 found", share))
        computing, snapshot = Computing(worker), Snapshot("lab.csv", "campaign.toml", b"table", b"toml")
        if before is not None:
            computing._seconds["suggest"] = before
        now = [100.0]
        monkeypatch.setattr("bomi.web.computing.time.monotonic", lambda: now[0])
        task = asyncio.ensure_future(computing.wait("tab", snapshot, "suggest", 8))
        while not computing.told("tab", "suggest").startswith("2 of"):
            await asyncio.sleep(0)
        now[0] += seconds
        said = computing.told("tab", "suggest")
        worker.go.set()
        assert await task == "suggest"
        return said

    with ThreadPoolExecutor(1) as other:  # the browser of other tests has a loop in this thread
        return other.submit(asyncio.run, main()).result()


def test_long_work_tells_how_long_it_has_taken_and_how_long_it_will(monkeypatch):
    assert told(0.25, 10, monkeypatch) == "2 of 8 found … 10 s, about 30 s to go"
    assert told(0.0, 10, monkeypatch) == "2 of 8 found … 10 s"
    assert told(0.0, 10, monkeypatch, before=42) == "2 of 8 found … 10 s, about 42 s the last time"


def test_steps_go_back_and_forward_and_letters_of_one_field_are_one_step(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("bomi.web.steps.time.monotonic", lambda: now[0])
    steps = Steps()
    steps.record("", "name")
    steps.record("a", "name")  # typed at once
    now[0] += 2 * TOGETHER
    steps.record("ab", "name")
    steps.record("abc", "unit")
    assert steps.past == ["", "ab", "abc"]
    assert steps.back("abcd") == "abc"
    assert steps.back("abc") == "ab"
    assert steps.forward("ab") == "abc"
    steps.record("abc")
    assert steps.future == []
    steps.clear()
    assert (steps.past, steps.future) == ([], [])
