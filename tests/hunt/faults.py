"""Take something away from what writes: room on the disk, permissions, handles; or put something in its way.

    PYTHONPATH=src python tests/hunt/faults.py --minutes 60      hunt
    PYTHONPATH=src python tests/hunt/faults.py --case 1234       replay one case

A case is one write under up to two faults. It must succeed or be refused by a BomiError that says why, in bounded time;
the file must hold all of the old or the new version, belong to whom it belonged, and be as readable as before; and
nothing may be left beside it. Run as root to try it as another user and on a full disk, which is left out if not.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bomi.errors import BomiError
from tests.hunt.hunting import Tried, command_line
from tests.hunt.writers import Writer, begun, left_over

NOBODY = 65534
SECONDS = 20  # of one write: longer is a hang
ROOT = os.geteuid() == 0

Fault = Callable[[Writer, Path, random.Random], None]


# --- before the process: what lies in the folder ---


def read_only(writer: Writer, folder: Path, draw: random.Random) -> None:
    """The file is set read-only."""
    if writer.path(folder).exists():
        writer.path(folder).chmod(0o444)


def strict_folder(writer: Writer, folder: Path, draw: random.Random) -> None:
    """Nobody but its owner may make files in the folder."""
    folder.chmod(0o755)


def sticky_folder(writer: Writer, folder: Path, draw: random.Random) -> None:
    """Everybody may make files, and only owners remove them."""
    folder.chmod(0o1777)


def private(writer: Writer, folder: Path, draw: random.Random) -> None:
    """Only its owner may read the file."""
    if writer.path(folder).exists():
        writer.path(folder).chmod(0o600)


def group_only(writer: Writer, folder: Path, draw: random.Random) -> None:
    """The file is one of a group."""
    if writer.path(folder).exists():
        writer.path(folder).chmod(0o664)
        with suppress(PermissionError):
            os.chown(writer.path(folder), -1, draw.choice((0, NOBODY)))


def hard_link(writer: Writer, folder: Path, draw: random.Random) -> None:
    """The file has a second name."""
    if writer.path(folder).exists():
        os.link(writer.path(folder), folder / "campaign.toml.bak")


def in_the_way(writer: Writer, folder: Path, draw: random.Random) -> None:
    """A pipe, a folder or a link stands where the lock, the version before or the draft should be."""
    place = folder / draw.choice((f".{writer.file}.lock", f"{writer.file}.bak"))
    if not os.path.lexists(place):
        kind = draw.choice((os.mkfifo, os.mkdir, lambda path: path.symlink_to("/etc/hostname")))
        kind(place)


# --- in the process that writes ---


def small_files(writer: Writer, folder: Path, draw: random.Random) -> None:
    """No file may grow beyond a size: the disk is full at a random byte."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = draw.choice((0, 1, 100, 300, 1000, 5000, 20000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def few_handles(writer: Writer, folder: Path, draw: random.Random) -> None:
    """No or hardly any file can be opened any more."""
    used = max(map(int, os.listdir("/proc/self/fd"))) if Path("/proc/self/fd").exists() else 20
    most = used + draw.randrange(3)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def another_user(writer: Writer, folder: Path, draw: random.Random) -> None:
    """Somebody else writes."""
    if ROOT:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


BEFORE: tuple[Fault, ...] = (read_only, strict_folder, sticky_folder, private, group_only, hard_link, in_the_way)
WITHIN: tuple[Fault, ...] = (small_files, few_handles, another_user, another_user)


def attempt(seed: int) -> Tried:
    """One write under faults."""
    draw = random.Random(f"faults {seed}")
    before = draw.sample(BEFORE, draw.randrange(3))
    within = draw.sample(WITHIN, draw.randrange(0 if before else 1, 2))
    return tried(seed, before, within, full=ROOT and draw.random() < 0.1)


def tried(seed: int, before: list[Fault], within: list[Fault], *, full: bool) -> Tried:
    """One write under these faults, and on a disk without room."""
    folder = Path(tempfile.mkdtemp(prefix="bomi-"))
    try:
        if full and not _mounted(folder):
            full = False
        folder.chmod(0o777)
        writer, draw = begun(seed, folder)
        for one in before:
            one(writer, folder, draw)
        if full:
            _fill(folder, draw.choice((0, 0, 1000, 3000)))
        names = [one.__name__ for one in (*before, *within)] + ["full disk"] * full
        return Tried(_wrong(writer, folder, within, draw), kinds=Counter([f"{writer.name}: {', '.join(names)}"]))
    finally:
        if full:
            subprocess.run(["umount", str(folder)], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _mounted(folder: Path) -> bool:
    """A disk of 64 kB, where we may make one."""
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _fill(folder: Path, left: int) -> None:
    """Take all room but a few bytes."""
    with suppress(OSError), open(folder / "lab.csv.bak", "ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    if left:
        os.truncate(folder / "lab.csv.bak", max((folder / "lab.csv.bak").stat().st_size - left, 0))


def _wrong(writer: Writer, folder: Path, within: list[Fault], draw: random.Random) -> str:
    """What must not be after one write under faults."""
    path = writer.path(folder)
    there = path.exists()
    before, status = writer.count(folder), path.stat() if there else None
    lying = set(os.listdir(folder))
    start = time.monotonic()
    said = _said(writer, folder, within, draw)
    if said not in ("done", "refused"):
        return said
    if time.monotonic() - start > SECONDS:
        return f"{time.monotonic() - start:.0f} s"
    held = writer.held(folder)
    if held != before + (said == "done"):
        return f"{said}, {before} writes before, and now {held}"
    if status is not None and not writer.file.endswith(".draft"):  # a file of ours, which nobody else may read
        now = path.stat()
        for name in ("st_mode", "st_uid", "st_gid", "st_nlink"):
            if getattr(now, name) != getattr(status, name):
                return f"{said}, but {name} was {getattr(status, name):o} and is {getattr(now, name):o}"
    left = sorted(set(left_over(folder)) - lying)
    sticky = folder.stat().st_mode & 0o1000 and all(name.endswith(".lock") for name in left)
    return f"{said}, and left over: {left}" if left and not sticky else ""


def _said(writer: Writer, folder: Path, within: list[Fault], draw: random.Random) -> str:
    """What a process that writes once says: "done", "refused", or what went wrong."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(2 * SECONDS)
        said = "done"
        try:
            for one in within:
                one(writer, folder, draw)
            writer.write(folder)
        except BomiError as error:
            said = "refused" if str(error).strip() else "an error without a message"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode(errors="replace")[:2000])
        os._exit(0)
    os.close(writing)
    said = b""
    while part := os.read(reading, 4096):
        said += part
    os.close(reading)
    os.waitpid(child, 0)
    return said.decode() or "it ended without a word, or hung"


def smallest(seed: int) -> str:
    """The fewest faults under which it goes wrong alike."""
    draw = random.Random(f"faults {seed}")
    before = draw.sample(BEFORE, draw.randrange(3))
    within = draw.sample(WITHIN, draw.randrange(0 if before else 1, 2))
    full = ROOT and draw.random() < 0.1
    whole = tried(seed, before, within, full=full)
    for one in [*before]:
        fewer = tried(seed, [other for other in before if other is not one], within, full=full)
        if fewer.wrong[:20] == whole.wrong[:20]:
            before, whole = [other for other in before if other is not one], fewer
    return f"{', '.join(whole.kinds)}\n# -> {whole.wrong}"


if __name__ == "__main__":
    command_line(__doc__, "faults", attempt, smallest)
