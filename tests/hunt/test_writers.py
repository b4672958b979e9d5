"""Kills, races, faults and the soak, each for a short while; `make hunt` goes on for longer."""

import sys

import pytest

from bomi.campaign import storage
from tests.hunt import faults, killer, racer, soak, writers
from tests.hunt.hunting import hunt

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork, signals and /proc")


@pytest.mark.parametrize("hunter", [killer, racer, faults])
def test_nothing_that_is_written_is_lost_or_half_done(hunter):
    found = hunt(hunter.attempt, hunter.smallest, seconds=6)
    assert found.wrong == [], "\n\n" + "\n\n".join(found.wrong)


def test_every_writer_counts_its_own_writes(tmp_path):
    for number, writer in enumerate(writers.WRITERS):
        folder = tmp_path / str(number)
        folder.mkdir()
        writer.begin(folder)
        for count in range(3):
            assert writer.held(folder) == count
            writer.write(folder)
        assert writers.left_over(folder) == []


def test_a_write_that_is_not_at_one_stroke_is_found(monkeypatch):
    def in_two_strokes(path, content, **_):
        with open(path, "wb", buffering=0) as file:
            for start in range(0, len(content), 50):
                file.write(content[start : start + 50])

    monkeypatch.setattr(storage, "replace_bytes", in_two_strokes)
    found = hunt(killer.attempt, lambda seed: "", seconds=30, most=1)
    assert found.wrong


def test_a_lost_write_and_a_leftover_are_found(monkeypatch):
    writer = writers.WRITERS[0]
    monkeypatch.setattr("bomi.campaign.locks._try_lock", lambda descriptor: True)  # nobody waits for anybody
    monkeypatch.setattr("bomi.campaign.storage._sync_folder", lambda folder: None)
    assert any(_raced(writer, turn) for turn in range(20))


def _raced(writer, turn):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        writer.begin(Path(folder))
        return racer.race(writer, Path(folder), [4, 4, 4])


def test_turns_leave_nothing_behind():
    held, opened = soak.steady(20, "mean")
    assert soak.wrong(held, opened) == ""
    assert soak.wrong([300.0 + turn for turn in range(100)], [9] * 100).endswith("MB more over the last 50 turns")
    assert soak.wrong([300.0] * 100, list(range(100))).startswith("50 handles")


def test_a_turn_takes_as_long_as_its_table_makes_it():
    seconds, again = soak.growing(24, "mean", last=9)
    assert seconds < 3 * again  # 1.5 in the long form; a busy machine has its moods
