"""The list of deliberate faults is kept up to date: each can still be made, and its tests are still there."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("run_mutants", Path(__file__).with_name("run.py"))
run = sys.modules["run_mutants"] = importlib.util.module_from_spec(SPEC)  # where its dataclass looks for its module
SPEC.loader.exec_module(run)
MUTANTS = run.read_list()


def test_there_are_enough_and_no_two_are_called_alike():
    assert len(MUTANTS) >= 80
    assert len({one.title for one in MUTANTS}) == len(MUTANTS)
    assert sum(bool(one.why) for one in MUTANTS) <= 0.1 * len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[one.title for one in MUTANTS])
def test_the_old_text_is_there_exactly_once_and_so_are_the_tests(mutant):
    source = (ROOT / "src/bomi" / mutant.file).read_text()
    compile(mutant.applied(source), mutant.file, "exec")
    assert mutant.tests
    for test in mutant.tests:
        file, _, name = test.partition("::")
        text = (ROOT / "tests" / file).read_text()
        assert re.search(rf"^def {name.partition('[')[0] or 'test_'}", text, re.MULTILINE), test


def test_a_text_that_is_gone_or_there_twice_is_told():
    mutant = run.Mutant("a fault", "x.py", "a", "b", ("test_x.py",))
    assert mutant.applied("cat") == "cbt"
    for text in ("dog", "a cat"):
        with pytest.raises(ValueError, match="must occur exactly once"):
            mutant.applied(text)
