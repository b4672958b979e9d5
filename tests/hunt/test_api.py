"""The hunt for wrong calls, for a short while; `make hunt` goes on for longer."""

import pytest

from bomi import Optimizer
from tests.hunt import api, doors
from tests.hunt.hunting import hunt


@pytest.mark.parametrize("part", range(4))
def test_every_wrong_call_is_a_bomi_error_and_changes_nothing(part):
    found = hunt(api.attempt, api.smallest, seconds=3, seed=1_000_000 * part)
    assert found.wrong == [], "\n\n" + "\n\n".join(found.wrong)
    assert found.count > 10
    assert found.kinds["tell: done"] > 0


def test_nothing_comes_in_by_any_door_that_should_not():
    calls, wrong = doors.hunt(part=0, parts=4)
    assert wrong == [], "\n" + "\n".join(wrong)
    assert calls > 1000


def test_a_fault_is_found_and_told_by_its_smallest_case(monkeypatch):
    def frame(self):
        raise KeyError("broken on purpose")

    monkeypatch.setattr(Optimizer, "frame", frame)
    (wrong,) = hunt(api.attempt, api.smallest, seconds=20, most=1).wrong
    *calls, said = wrong.splitlines()
    assert "KeyError" in said
    assert len(calls) == 4  # the case, its space, its optimizer and the one call
