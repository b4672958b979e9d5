"""What must hold of every suggestion in any space; perf/suggestions.py asks for 10,000 of them."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "perf" / "suggestions.py"


@pytest.mark.parametrize("seed", range(3))
def test_no_suggestion_breaks_a_constraint_or_repeats_a_pending_one(seed):
    asked, wrong = runpy.run_path(str(SCRIPT))["check"](120, 1000 + seed)
    assert asked.total() >= 120
    assert wrong == []
