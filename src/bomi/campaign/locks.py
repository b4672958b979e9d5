"""Locks: two who write to one file at once wait for each other."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bomi.campaign import storage
from bomi.errors import FileError

PATIENCE = 60.0  # seconds to wait for another process that is writing


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file: a lock on a hidden file beside it, released by the system even if we are killed.

    Many may wait for each other: patience ends where one of them has held it for too long.
    """
    path = path.resolve()
    beside = path.with_name(f".{path.name}.lock")
    deadline, held = time.monotonic() + PATIENCE, None
    while True:
        with open(_open_lock(path, beside), "rb") as file:
            with storage.reported(beside, "locked"):
                ours = _try_lock(file.fileno()) and _is(file.fileno(), beside)
            if ours:
                try:
                    yield
                finally:
                    _remove(beside)
                return
            if held != (holder := _identity(file.fileno())):  # another one: the last has finished
                deadline, held = time.monotonic() + PATIENCE, holder
        if time.monotonic() > deadline:
            raise FileError(
                f"another bomi has been writing to {path} for {PATIENCE:.0f} s; "
                f"try again when it has finished, or end it (its lock is {beside.name}{_whose(beside)})"
            )
        time.sleep(0.02)


def _open_lock(path: Path, beside: Path) -> int:
    """Open the file that is locked; never a link, a pipe or a folder that somebody has put there."""
    found: int | None = None
    for access in (os.O_RDWR, os.O_RDONLY):  # what another user left can often be read only, which is enough
        with suppress(PermissionError), _unlinked(beside):
            found = os.open(beside, access | os.O_CREAT | storage.FOLLOWS_NO_LINK | storage.WAITS_FOR_NOBODY, 0o666)
            break
    if found is None and beside.exists():
        raise FileError(
            f"{beside}, the lock of {path.name}{_whose(beside)}, is in the way; if nobody writes there, remove it"
        )
    if found is None:
        raise FileError(f"{path} cannot be written: no permission to make files in its folder {path.parent}")
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise FileError(f"{beside} is no ordinary file, and stands where the lock of {path.name} should be; remove it")
    return found


@contextmanager
def _unlinked(beside: Path) -> Iterator[None]:
    """Permission is asked for again; anything else that is wrong with a lock is reported."""
    try:
        yield
    except PermissionError:
        raise
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise FileError(f"the lock {beside} cannot be had: {reason}") from None


def _whose(path: Path) -> str:
    """Who left a file, and how long ago, in words."""
    try:
        status = path.lstat()
        age = max(time.time() - status.st_mtime, 0.0)
    except OSError:
        return ""
    unit, size = next(((u, s) for u, s in (("days", 86400), ("h", 3600), ("min", 60)) if age >= 2 * s), ("s", 1))
    try:
        owner = path.owner()
    except (KeyError, NotImplementedError, OSError):
        owner = f"user {status.st_uid}"
    return f", of {owner}, {age / size:.0f} {unit} old"


def _identity(descriptor: int) -> tuple[int, int]:
    """What tells a lock from the one before, which was removed at its end."""
    status = os.fstat(descriptor)
    return status.st_ino, status.st_mtime_ns


def _is(descriptor: int, path: Path) -> bool:
    """Whether an open file still goes by this name: who held the lock before us has removed it at the end."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _remove(path: Path) -> None:
        """Windows removes no file that is open; it stays, and does no harm."""

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _remove(path: Path) -> None:
        with suppress(OSError):  # of another user, in a folder where only owners remove files: it stays, unlocked
            path.unlink()
