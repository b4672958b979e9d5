"""The hunt for wrong calls, for a short while; `make hunt` goes on for longer."""

import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parent
hunter = runpy.run_path(str(HERE / "api.py"), run_name="hunter")


@pytest.mark.parametrize("part", range(4))
def test_every_wrong_call_is_a_bomi_error_and_changes_nothing(part):
    calls, kinds, wrong = hunter["hunt"](seconds=3, seed=1_000_000 * part)
    assert wrong == [], "\n\n" + "\n\n".join(wrong)
    assert calls > 10
    assert kinds["tell: done"] > 0


def test_nothing_comes_in_by_any_door_that_should_not():
    calls, wrong = runpy.run_path(str(HERE / "doors.py"), run_name="doors")["hunt"](part=0, parts=4)
    assert wrong == [], "\n" + "\n".join(wrong)
    assert calls > 1000


def test_a_fault_is_found_and_told_by_its_smallest_case(monkeypatch):
    from bomi import Optimizer

    def frame(self):
        raise KeyError("broken on purpose")

    monkeypatch.setattr(Optimizer, "frame", frame)
    _, _, wrong = hunter["hunt"](seconds=20, seed=0, most=1)
    assert wrong
    *calls, said = wrong[0].splitlines()
    assert "KeyError" in said
    assert len(calls) == 4  # the case, its space, its optimizer and the one call
