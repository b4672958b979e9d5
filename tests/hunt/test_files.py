"""The hunt for files that break it, for a short while; `make hunt` goes on for longer."""

import runpy
from pathlib import Path

hunter = runpy.run_path(str(Path(__file__).parent / "files.py"), run_name="hunter")


def test_every_mutated_file_is_read_or_refused():
    count, _, wrong = hunter["hunt"](seconds=5)
    assert wrong == [], "\n\n" + "\n\n".join(wrong)
    assert count > 20


def test_a_fault_is_found_and_told_by_its_smallest_case(monkeypatch):
    def broken(*_, **__):
        raise KeyError("broken on purpose")

    monkeypatch.setitem(hunter["wrong"].__globals__, "guess", broken)
    _, _, wrong = hunter["hunt"](seconds=20, most=1)
    assert "KeyError" in wrong[0]
