"""Where the campaigns of `bomi serve` are: a folder of files, or a PostgreSQL database. Each change is locked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bomi import saving
from bomi.campaign import locks
from bomi.errors import BomiError, FileError
from bomi.saving import Saved

if TYPE_CHECKING:
    from psycopg import Connection

NAME = re.compile(r"\w[\w .-]{0,99}")
DATABASE = ("postgresql://", "postgres://")
TABLE = "bomi_campaigns"
PATIENCE = 60  # seconds that a change waits for another one of the same campaign


class MissingError(BomiError):
    """There is no such campaign."""


class StoreError(BomiError):
    """The database cannot be reached, or does not do what it is asked."""


class Store(Protocol):
    """Campaigns by name. A store is a value: any process may use its copy."""

    def names(self) -> list[str]:
        """The campaigns."""

    def __contains__(self, name: str) -> bool:
        """Whether there is a campaign of this name."""

    def read(self, name: str) -> Saved:
        """A campaign, or MissingError."""

    def create(self, name: str, saved: Saved) -> None:
        """A new campaign; FileExistsError if there is one of that name."""

    def change(self, name: str, change: Callable[[Saved], Saved]) -> Saved:
        """Replace a campaign by what the function makes of it, and nobody else changes it meanwhile."""


def check_name(name: str) -> str:
    """A name that can be a file's."""
    if not NAME.fullmatch(name):
        raise FileError(f"a campaign's name has letters, digits, spaces, _ - and . within it, but got {name!r}")
    return name


def open_store(where: str) -> Store:
    """The folder, or the database of an address such as postgresql://me@host/lab."""
    if where.startswith(DATABASE):
        return Database(where).prepared()
    if not Path(where).is_dir():
        raise BomiError(f"there is no folder {where}; make it first")
    return Folder(Path(where).resolve())


@dataclass(frozen=True)
class Folder:
    """Each campaign is a file that `Optimizer.save` writes, and is replaced at one stroke."""

    path: Path

    def _file(self, name: str) -> Path:
        return self.path / f"{check_name(name)}.json"

    def names(self) -> list[str]:
        """The files' names."""
        return sorted(path.stem for path in self.path.glob("*.json") if NAME.fullmatch(path.stem))

    def __contains__(self, name: str) -> bool:
        return self._file(name).exists()

    def read(self, name: str) -> Saved:
        """The content of the file."""
        if name not in self:
            raise _missing(name)
        return saving.load(self._file(name))

    def create(self, name: str, saved: Saved) -> None:
        """A new file."""
        path = self._file(name)
        with locks.locked(path):
            if path.exists():
                raise _there_is_one(name)
            saving.save(path, saved)

    def change(self, name: str, change: Callable[[Saved], Saved]) -> Saved:
        """Under the lock beside the file."""
        if name not in self:  # no lock beside what is not there
            raise _missing(name)
        with locks.locked(self._file(name)):
            saved = change(self.read(name))
            saving.save(self._file(name), saved)
        return saved


@dataclass(frozen=True)
class Database:
    """Each campaign is a row of one table, which holds what the file would; PostgreSQL locks the row."""

    address: str

    @contextmanager
    def _connected(self) -> Iterator[Connection[tuple[Any, ...]]]:
        """A transaction: all of it happens, or nothing."""
        try:
            import psycopg
        except ImportError:
            raise BomiError("a database needs psycopg: pip install 'bomi[postgres]'") from None
        try:
            with psycopg.connect(self.address, connect_timeout=10) as connection:
                connection.execute(f"SET lock_timeout = '{PATIENCE}s'")
                yield connection
        except psycopg.Error as error:  # its first line, and never the address, which may hold a password
            raise StoreError(f"the database says: {str(error).strip().splitlines()[0]}") from None

    def prepared(self) -> Database:
        """With its table."""
        make = f"CREATE TABLE IF NOT EXISTS {TABLE} (name text PRIMARY KEY, campaign json NOT NULL)"
        with self._connected() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (TABLE,))  # two may start at once
            connection.execute(make)
        return self

    def names(self) -> list[str]:
        """The names in the table."""
        with self._connected() as connection:
            return sorted(name for (name,) in connection.execute(f"SELECT name FROM {TABLE}"))  # noqa: S608

    def __contains__(self, name: str) -> bool:
        query = f"SELECT 1 FROM {TABLE} WHERE name = %s"  # noqa: S608
        with self._connected() as connection:
            return connection.execute(query, (check_name(name),)).fetchone() is not None

    def read(self, name: str) -> Saved:
        """What the row holds."""
        with self._connected() as connection:
            return self._read(connection, name)

    def _read(self, connection: Connection[tuple[Any, ...]], name: str, locking: str = "") -> Saved:
        query = f"SELECT campaign::text FROM {TABLE} WHERE name = %s {locking}"  # noqa: S608
        found = connection.execute(query, (check_name(name),)).fetchone()
        if found is None:
            raise _missing(name)
        return saving.from_document(json.loads(found[0]))

    def create(self, name: str, saved: Saved) -> None:
        """A new row."""
        query = f"INSERT INTO {TABLE} VALUES (%s, %s) ON CONFLICT DO NOTHING"  # noqa: S608
        with self._connected() as connection:
            if connection.execute(query, (check_name(name), saving.text(saved))).rowcount == 0:
                raise _there_is_one(name)

    def change(self, name: str, change: Callable[[Saved], Saved]) -> Saved:
        """Under the lock of the row."""
        query = f"UPDATE {TABLE} SET campaign = %s WHERE name = %s"  # noqa: S608
        with self._connected() as connection:
            saved = change(self._read(connection, name, "FOR UPDATE"))
            connection.execute(query, (saving.text(saved), name))
        return saved


def _missing(name: str) -> MissingError:
    return MissingError(f"there is no campaign {name!r}")


def _there_is_one(name: str) -> FileExistsError:
    return FileExistsError(f"there is a campaign {name!r} already")
