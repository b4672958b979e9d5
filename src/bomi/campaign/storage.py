"""Bytes on disk: read with a limit, replace whole files that colleagues share."""

from __future__ import annotations

import gc
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bomi.errors import FileError, shown

LIMIT = 64 * 2**20  # bytes of a table; a hundred thousand rows of twenty columns have a quarter of it
RETRIES = 10  # times that a file may change under our hands before we give up
STALE = 3600.0  # seconds, after which nobody is still writing what lies there

_MOUNTS = Path("/proc/mounts")  # of Linux: what is mounted, where, and of which kind
_SHARED = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "9p", "fuse.sshfs", "fuse.rclone", "davfs")
_CONFLICT = re.compile(r"conflict|in konflikt|konfliktkopie|copie en conflit|copia en conflicto", re.IGNORECASE)
_TEMPORARY = re.compile(r"\.[0-9a-f]{8}\.new$")
FOLLOWS_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
WAITS_FOR_NOBODY = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)


def read_bytes(path: Path, *, limit: int = LIMIT) -> bytes:
    """The content of an ordinary file, unless it is larger than the limit."""
    check_file(path, limit=limit)
    with reported(path, "read"), open(os.open(path, os.O_RDONLY | WAITS_FOR_NOBODY | _BINARY), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise FileError(f"{path} is not an ordinary file; expected a table or a campaign.toml")
        return file.read()


def check_file(path: Path, *, limit: int = LIMIT) -> None:
    """Refuse what is no ordinary file, or one larger than the limit."""
    with reported(path, "read"):
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


def check_writable(path: Path) -> None:
    """Refuse to write to a file that somebody has set read-only, or that is not ours to write."""
    with reported(path, "written"):
        if not path.exists():
            return
        if not stat.S_IMODE(path.stat().st_mode) & 0o222:
            raise FileError(f"{path} is set read-only and was left as it is; allow writing to it first")
        if not os.access(path, os.W_OK):
            raise PermissionError


def as_path(path: object) -> Path:
    """The path that a text or a path is."""
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"a file is named by a text or a path, but got {shown(path)}")
    return Path(path)


def replace_bytes(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Give a file new content at one stroke: whoever reads it, even after a crash, sees all of the old or the new.

    Its owner, group, mode, access list and attributes stay. Where they, or another name of the file, could not be kept,
    it is written in place.
    """
    with reported(path, "written"):
        path = path.resolve()  # a link stays a link to the file it names
        _sweep(path, older=STALE)
        if path.exists():
            check_file(path, limit=sys.maxsize)
            check_writable(path)
        before = path.stat() if path.exists() else None
        if before is not None and before.st_nlink > 1:
            _write_in_place(path, content)
            return
        with _temporary(path, content, 0o666 if before is None and mode is None else 0o600) as new:
            if mode is not None:
                new.chmod(mode)
            elif before is not None and not _made_alike(new, path, before):
                _write_in_place(path, content)
                return
            os.replace(new, path)
        _sync_folder(path.parent)


def update_bytes(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Replace a file by a change of its content, and keep the version before as `.bak`.

    `change` is called again if the file changed meanwhile. Call it while holding the lock.
    """
    _sweep(path.resolve())
    for _ in range(RETRIES):
        before = read_bytes(path)
        after = change(before)
        check_writable(path)
        _back_up(path, before)
        if read_bytes(path) == before:
            replace_bytes(path, after)
            return
    raise FileError(f"{path} changes all the time; nothing was written. Try again when nothing else writes to it")


def _back_up(path: Path, content: bytes) -> None:
    """Keep a version of a file beside it, for whoever may read the file; a link in its place is never followed."""
    backup = path.with_name(path.name + ".bak")
    with reported(backup, "written"):
        if backup.exists() and not backup.is_file():
            raise FileError(f"{backup} is not an ordinary file, and the version before is kept there; move it away")
        with _temporary(backup, content, 0o600) as new:
            _made_alike(new, path, path.stat())
            os.replace(new, backup)
        _sync_folder(backup.parent)


@contextmanager
def _temporary(path: Path, content: bytes, mode: int) -> Iterator[Path]:
    """A new file beside another, with content that is on disk; gone at the end, unless it was renamed."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    made = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FOLLOWS_NO_LINK | _BINARY, mode)
    try:
        with open(made, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield new
    finally:
        new.unlink(missing_ok=True)


def _sweep(path: Path, *, older: float = 0.0) -> None:
    """Remove what killed processes left beside a file.

    Nobody else writes there while we hold its lock; without it, what others may be writing just now is younger.
    """
    with suppress(OSError):
        for left in path.parent.iterdir():
            ours = left.name.startswith(f".{path.name}.") and _TEMPORARY.search(left.name)
            if ours and time.time() - left.lstat().st_mtime >= older:
                left.unlink(missing_ok=True)


def _made_alike(new: Path, path: Path, before: os.stat_result) -> bool:
    """Give a new file the owner, group, mode, access list and attributes of another; whether all of it was allowed."""
    if sys.platform == "win32":
        return True
    allowed = True
    made = new.stat()
    for owner, group in ((before.st_uid, -1), (-1, before.st_gid)):
        if owner not in (-1, made.st_uid) or group not in (-1, made.st_gid):
            try:
                os.chown(new, owner, group)
            except OSError:
                allowed = False
    new.chmod(stat.S_IMODE(before.st_mode))
    with suppress(OSError, AttributeError):  # a file system, or a platform, without attributes
        for name in os.listxattr(path):
            try:
                os.setxattr(new, name, os.getxattr(path, name))
            except OSError:
                allowed = allowed and name.startswith(("security.", "trusted."))
    return allowed


def _write_in_place(path: Path, content: bytes) -> None:
    """Write over a file: its room is had first, so that a full disk changes nothing; after a crash there is `.bak`."""
    with open(os.open(path, os.O_RDWR | FOLLOWS_NO_LINK | _BINARY), "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            if len(content) > size:
                file.seek(size)
                file.write(bytes(len(content) - size))
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), size)
            raise
        file.seek(0)
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def company(path: Path) -> list[str]:
    """What says that others work on a file: copies beside it that disagree, programs that have it open, a drive that
    several machines share."""
    told = []
    if (kind := _file_system(path)) in _SHARED:
        told.append(
            f"it is on a network drive ({kind}), where two machines may not see each other's locks; "
            "let one of them write at a time"
        )
    with suppress(OSError):
        for name in sorted(other.name for other in path.parent.iterdir()):
            if name in (f".~lock.{path.name}#", f"~${path.name}"):
                told.append(
                    f"{name} says that it is open in another program; save and close it there before it is written to"
                )
            elif name.startswith(path.stem) and name.endswith(path.suffix) and _CONFLICT.search(name):
                told.append(
                    f"{name} seems to be a copy of it that a synchronized folder made of two versions; compare them"
                )
    return told


def _file_system(path: Path) -> str:
    """The kind of file system that a file is on, where the system tells: that of the longest mount point above it."""
    with suppress(OSError, ValueError):
        path = path.resolve()
        mounts = (line.split()[1:3] for line in _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines())
        plain = [(Path(point.replace("\\040", " ")), kind) for point, kind in mounts]  # a blank in a name
        above = [(len(point.parts), kind) for point, kind in plain if path.is_relative_to(point)]
        return max(above, default=(0, ""))[1]
    return ""


def _sync_folder(folder: Path) -> None:
    """Have a rename on disk; Windows writes it through by itself."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def reported(path: Path, done: str) -> Iterator[None]:
    """What the system says against it, in plain words."""
    try:
        yield
    except FileNotFoundError:
        missing = f"file {path}" if os.path.isdir(path.parent) else f"folder {path.parent}"
        raise FileError(f"there is no {missing}") from None
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
