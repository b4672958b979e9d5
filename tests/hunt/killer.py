"""Kill what writes at random moments, and look whether anything is lost, half written or in the way afterwards.

    PYTHONPATH=src python tests/hunt/killer.py --minutes 60      hunt
    PYTHONPATH=src python tests/hunt/killer.py --case 1234       replay one case

A case is one process that appends, saves, keeps a draft or serves, and gets SIGKILL, SIGTERM or Ctrl-C: after a random
time, or before a random one of the calls it makes, which replays exactly. The file must then hold every write that was
reported and at most the one under way; the next write must succeed and leave nothing but the file.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.hunt.hunting import Tried, command_line
from tests.hunt.writers import Writer, begun, left_over

OURS = ("storage.py", "locks.py", "kept.py", "saving.py", "pending.py", "edits.py", "files.py", "sheet.py", "xlsx.py")
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
HELD = {signal.SIGTERM, signal.SIGINT}
LONGEST = 0.5  # seconds until a signal is sent
MOST = 30  # writes of one process
HOURS = 2  # after which what is left of a killed process is swept away


def attempt(seed: int) -> Tried:
    """One process, killed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer, draw = begun(seed, folder)
        before = writer.count(folder)
        sent = draw.choice(SIGNALS)
        moment = draw.randrange(1, 400) if draw.random() < 0.5 else 0  # 0: by the clock
        done = _killed(writer, folder, sent, moment, draw.uniform(0, LONGEST) ** 2)
        kinds = Counter([f"{writer.name}, {signal.Signals(sent).name}"])
        return Tried(_wrong(writer, folder, before, done), kinds=kinds)


def _killed(writer: Writer, folder: Path, sent: int, moment: int, delay: float) -> int:
    """Write again and again in a process that gets a signal; how many writes it reported."""
    reading, writing = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD)  # until the child is ready for them
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if moment:
                sys.setprofile(_before_call(moment, sent))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
            for _ in range(MOST):  # Python swallows Ctrl-C where an object is being deleted
                writer.write(folder)
                os.write(writing, b".")
            os._exit(0)
        except BaseException:  # Ctrl-C, or the pipe is closed
            sys.setprofile(None)
            os._exit(1)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
    os.close(writing)
    if not moment:
        time.sleep(delay)
        os.kill(child, sent)
    done = 0
    while part := os.read(reading, 4096):
        done += len(part)
    os.close(reading)
    os.waitpid(child, 0)
    return done


def _before_call(moment: int, sent: int) -> Callable[[FrameType, str, object], None]:
    """Send ourselves a signal before the so-many-th call that the modules that write make."""
    left = moment

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        if event == "c_call" and frame.f_code.co_filename.endswith(OURS):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), sent)

    return watch


def _wrong(writer: Writer, folder: Path, before: int, done: int) -> str:
    """What must not be after a process has been killed."""
    held = writer.held(folder)
    if not isinstance(held, int) or not before + done <= held <= before + done + 1:
        return f"{before} writes before and {done} reported, but {held}"
    old = time.time() - HOURS * 3600
    for name in left_over(folder):
        os.utime(folder / name, (old, old))
    writer.write(folder)
    if writer.held(folder) != held + 1:
        return f"the next write is lost: {held}, then {writer.held(folder)}"
    left = left_over(folder)
    return f"left over after the next write: {[re.sub('[0-9a-f]{8}', '*', name) for name in left]}" if left else ""


def smallest(seed: int) -> str:
    """The case in words: there is nothing to leave out of one process and one signal. By the clock it takes luck."""
    tried = next((one for one in map(attempt, [seed] * 20) if one.wrong), Tried("fine in 20 more kills by the clock"))
    return f"{', '.join(attempt(seed).kinds)}\n# -> {tried.wrong}"


if __name__ == "__main__":
    command_line(__doc__, "kills", attempt, smallest)
