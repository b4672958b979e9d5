"""Deliberate faults in the core, each run against the tests that must notice it.

    python tests/mutants/run.py [--only PATTERN] [--jobs 2] [--fresh]

Each mutant of `mutants.toml` is made in a temporary copy of the sources; the working tree stays as it is. The libraries
are imported once, and every mutant is tested in a fork. Results are kept in build/mutants.json, so that a run that was
interrupted goes on where it stopped. A result holds until the mutant, the file that it changes or its tests change.

Survivors are printed. The exit status is 1 if fewer than 90 % are caught, if one survives without a reason given, or if
the list has rotted: an old text that does not occur exactly once, or a test that fails without any mutant.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutants.toml")
KEPT = ROOT / "build" / "mutants.json"
TO_BE_CAUGHT = 0.9
SLOWEST = 600.0  # seconds, after which a mutant has hung, which is as good as caught
LIBRARIES = (
    "botorch.acquisition.analytic",
    "botorch.acquisition.multi_objective",
    "botorch.optim.batched_lbfgs_b",
    "hypothesis",
    "pandas",
    "pytest",
    "scipy.stats",
    "sklearn.gaussian_process",
    "sklearn.impute",
    "torch",
)


@dataclass(frozen=True)
class Mutant:
    """A deliberate fault: in a file of src/bomi, one text in place of another."""

    about: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]  # files or test ids, below tests/
    why: str = ""  # it is no fault that a test could see, where it survives

    @property
    def title(self) -> str:
        """What it is called in reports."""
        return f"{self.file}: {self.about}"

    def applied(self, text: str) -> str:
        """The text of its file with the fault."""
        found = text.count(self.old)
        if found != 1 or self.old == self.new:
            raise ValueError(f"{self.title}: the old text must occur exactly once, and change; it occurs {found} times")
        return text.replace(self.old, self.new)

    def digest(self, root: Path) -> str:
        """What its result depends on most: itself, the file that it changes, and its tests."""
        files = [root / "src/bomi" / self.file, *(root / "tests" / one.partition("::")[0] for one in self.tests)]
        parts = [repr(self), *(path.read_text() for path in files)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def read_list(path: Path = LIST) -> list[Mutant]:
    """All mutants."""
    found = tomllib.loads(path.read_text())["mutant"]
    return [Mutant(**{**each, "tests": tuple(each["tests"])}) for each in found]


def make_tree(to: Path, mutant: Mutant | None) -> None:
    """A copy of what the tests need, with the fault in it."""
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, to / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", to)
    if mutant is not None:
        path = to / "src/bomi" / mutant.file
        path.write_text(mutant.applied(path.read_text()))


def start(tree: Path, tests: Sequence[str]) -> int:
    """Tests of a tree in a process of their own, whose id is returned."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        os.chdir(tree)
        log = os.open(tree / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(tree / "src")]
        import pytest

        options = ["-x", "-q", "--tb=line", "--rootdir", str(tree)]
        status = int(pytest.main([*options, *(f"tests/{one}" for one in tests)]))
    except BaseException:  # a fork must end here, whatever happens
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def run(
    jobs: Sequence[tuple[Mutant | None, Sequence[str]]], folder: Path, most: int
) -> Iterator[tuple[Mutant | None, int | None, str, float]]:
    """Each mutant (None: the sources as they are) after its tests: pytest's status, its last words and the seconds.

    The status is None for one that took too long.
    """
    waiting = list(reversed(jobs))
    running: dict[int, tuple[Mutant | None, Path, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < most:
                (mutant, tests), tree = waiting.pop(), Path(tempfile.mkdtemp(dir=folder))
                make_tree(tree, mutant)
                running[start(tree, tests)] = (mutant, tree, time.monotonic())
            time.sleep(0.05)
            for child, (mutant, tree, began) in list(running.items()):
                done, status = os.waitpid(child, os.WNOHANG)
                took = time.monotonic() - began
                if not done and took < SLOWEST:
                    continue
                if not done:
                    _end(child)
                del running[child]
                yield mutant, os.waitstatus_to_exitcode(status) if done else None, _last_line(tree / "log"), took
                shutil.rmtree(tree)
    finally:
        for child in running:
            _end(child)


def _end(child: int) -> None:
    """End a process that was started here."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return (failed or lines or [""])[-1]


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)  # noqa: T201


def main() -> int:
    """Run the mutants and say which survive."""
    parser = argparse.ArgumentParser(description="Run the tests against deliberate faults.")
    parser.add_argument(
        "--only", default="", metavar="PATTERN", help="mutants whose title or old text has this pattern"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes side by side")
    parser.add_argument("--fresh", action="store_true", help="forget the results of runs before")
    chosen = parser.parse_args()

    mutants = [one for one in read_list() if re.search(chosen.only, f"{one.title}\n{one.old}")]
    rotten = 0
    for one in mutants:
        try:
            one.applied((ROOT / "src/bomi" / one.file).read_text())
        except (ValueError, OSError) as error:
            rotten += 1
            say(f"ROTTEN    {error}")
    if rotten:
        return 1
    before = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    digests = {one: one.digest(ROOT) for one in mutants}
    results = {one: before[digests[one]] for one in mutants if digests[one] in before and not chosen.fresh}
    if results:
        say(f"{len(results)} of {len(mutants)} are known from before (--fresh runs them again)")

    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    for library in LIBRARIES:
        __import__(library)
    gc.freeze()  # so that no fork looks through all of them again
    left = [one for one in mutants if one not in results]
    KEPT.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        if left:
            every = sorted({test for one in left for test in one.tests})
            ((_, status, line, took),) = run([(None, every)], Path(folder), 1)
            if status != 0:
                say(f"the tests must pass before there is anything to learn from a failure: {line}")
                return 1
            say(f"without a mutant all tests pass ({took:.0f} s)")
        for tested, status, line, took in run([(one, one.tests) for one in left], Path(folder), chosen.jobs):
            assert tested is not None
            one = tested
            if status not in (0, 1, None):
                say(f"ROTTEN    {one.title}: pytest ended with {status}: {line}")
                rotten += 1
                continue
            results[one] = before[digests[one]] = status != 0
            KEPT.write_text(json.dumps(before))
            word = "SURVIVED" if status == 0 else f"caught by {line.removeprefix('FAILED tests/')}"
            say(f"[{len(results)}/{len(mutants)}] {took:4.1f} s  {one.title}: {word}")

    caught = sum(results.values())
    survivors = [one for one, seen in results.items() if not seen]
    say(f"\n{caught} of {len(mutants)} caught")
    for one in survivors:
        say(f"survivor  {one.title}: {one.why or 'UNEXPLAINED'}")
    for one, seen in results.items():
        if seen and one.why:
            say(f"caught    {one.title}, though the list says why it could not be: take that out")
    good = caught >= TO_BE_CAUGHT * len(mutants) and all(one.why for one in survivors)
    return 0 if good and not rotten else 1


if __name__ == "__main__":
    sys.exit(main())
