"""Bytes on disk: read with a limit, replace whole files, lock."""

from __future__ import annotations

import gc
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bomi.errors import FileError

LIMIT = 64 * 2**20  # bytes of a table; a hundred thousand rows of twenty columns have a quarter of it
PATIENCE = 60.0  # seconds to wait for another process that is writing
RETRIES = 10  # times that a file may change under our hands before we give up


def read_bytes(path: Path, *, limit: int = LIMIT) -> bytes:
    """The content of an ordinary file, unless it is larger than the limit."""
    check_file(path, limit=limit)
    with _reported(path, "read"):
        return path.read_bytes()


def check_file(path: Path, *, limit: int = LIMIT) -> None:
    """Refuse what is no ordinary file, or one larger than the limit."""
    with _reported(path, "read"):
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise FileError(f"{path} is a folder; expected a file")
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"{path} is not an ordinary file; expected a table or a campaign.toml")
        if status.st_size > limit:
            raise FileError(
                f"{path} has {status.st_size / 2**20:.0f} MB, and files up to {limit / 2**20:.0f} MB are read; "
                "is it the right file?"
            )


def replace_bytes(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Give a file new content at one stroke: whoever reads it, even after a crash, sees all of the old or the new."""
    path = path.resolve()  # a link stays a link to the file it names
    new = path.with_name(f".{path.name}.new")
    with _reported(path, "written"):
        with open(new, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            new.chmod(mode)
        os.replace(new, path)
        _sync_folder(path.parent)


def update_bytes(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Replace a file by a change of its content, and keep the version before as `.bak`.

    `change` is called again if the file changed meanwhile. Call it while holding the lock.
    """
    for _ in range(RETRIES):
        before = read_bytes(path)
        after = change(before)
        mode = stat.S_IMODE(path.stat().st_mode)
        replace_bytes(path.with_name(path.name + ".bak"), before, mode=mode)
        if read_bytes(path) == before:
            replace_bytes(path, after, mode=mode)
            return
    raise FileError(f"{path} changes all the time; nothing was written. Try again when nothing else writes to it")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file: a lock on a hidden file beside it, released by the system even if we are killed."""
    path = path.resolve()
    beside = path.with_name(f".{path.name}.lock")
    deadline = time.monotonic() + PATIENCE
    while True:
        with _reported(path, "locked"):
            file = open(beside, "ab")  # noqa: SIM115  # closed below, after what the caller does
        with file:
            if _try_lock(file.fileno()) and _is(file.fileno(), beside):
                try:
                    yield
                finally:
                    _remove(beside)
                return
        if time.monotonic() > deadline:
            raise FileError(
                f"another bomi has been writing to {path} for {PATIENCE:.0f} s; "
                "try again when it has finished, or end it"
            )
        time.sleep(0.02)


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

    def _sync_folder(folder: Path) -> None:
        """Windows writes a rename through by itself."""

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _remove(path: Path) -> None:
        path.unlink(missing_ok=True)

    def _sync_folder(folder: Path) -> None:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _reported(path: Path, done: str) -> Iterator[None]:
    """What the system says against it, in plain words."""
    try:
        yield
    except FileNotFoundError:
        raise FileError(f"there is no file {path}") from None
    except PermissionError:
        raise FileError(
            f"{path} cannot be {done}: no permission; see who owns it and whether another program has it open"
        ) from None
    except OSError as error:
        raise FileError(f"{path} cannot be {done}: {error.strerror or error}") from None
    except ValueError as error:  # a name with a NUL in it
        if isinstance(error, FileError):
            raise
        raise FileError(f"{str(path)!r} cannot be the name of a file: {error}") from None


@contextmanager
def uncollected() -> Iterator[None]:
    """Without looking for cycles among millions of new cells, which have none: a quarter less time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
