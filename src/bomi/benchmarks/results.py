"""The results file of a sweep: JSON Lines, appended run by run, so that a crash loses no finished run.

The first line holds the format, the versions and the settings; each other line is one run. `docs/results.md`
describes every field. Runs are added to a file only by the same versions with the same settings.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from bomi.errors import BenchmarkError

FORMAT = "bomi-results"
VERSION = 1
LIBRARIES = ("numpy", "scipy", "torch", "gpytorch", "botorch", "scikit-learn")

Run: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str, int]  # case, method, repeat


@dataclass(frozen=True)
class Results:
    """The contents of a results file."""

    versions: Mapping[str, str]
    cases: Mapping[str, Mapping[str, Any]]  # settings of each, by label
    methods: Mapping[str, Any]
    runs: tuple[Run, ...]
    commits: tuple[str, ...] = ()  # of the program, all that have added runs

    def of(self, case: str, method: str) -> list[Run]:
        """The runs of a method on a case."""
        return [run for run in self.runs if (run["case"], run["method"]) == (case, method)]


def read(path: Path | str) -> Results:
    """The results in a file."""
    header, runs = _parse(Path(path))
    return _results(header, runs.values())


def _results(header: Mapping[str, Any], runs: Iterable[Run]) -> Results:
    commits = tuple(header.get("commits", ()))
    return Results(header["versions"], header["cases"], header["methods"], tuple(runs), commits)


def open_file(path: Path, *, cases: Mapping[str, Any], methods: Mapping[str, Any]) -> ResultsFile:
    """The file at `path`: a new one, or one to which these cases and methods may be added."""
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "versions": versions(),
        "commits": [],
        "cases": dict(cases),
        "methods": dict(methods),
    }
    header = json.loads(_line(header))  # as it will be read back: tuples are lists
    runs: dict[Key, Run] = {}
    if path.exists() and path.stat().st_size:
        found, runs = _parse(path)
        differences = [*_differences(found["versions"], header["versions"], "version of ")]
        for part in ("cases", "methods"):
            common = [label for label in header[part] if label in found[part]]
            for label in common:
                differences += _differences(found[part][label], header[part][label], f"{part[:-1]} {label}: ")
            header[part] = {**found[part], **header[part]}
        if differences:
            raise BenchmarkError(
                f"{path} was made with other settings, and results are never mixed; use another file.\n"
                + "\n".join(f"  {difference}" for difference in differences)
            )
        header["commits"] = found.get("commits", [])
    if (now := commit()) not in header["commits"]:
        header["commits"].append(now)
    file = ResultsFile(path, header, runs)
    file.settle()  # writes the header, and drops what a crash damaged
    return file


class ResultsFile:
    """A results file that is open for new runs."""

    def __init__(self, path: Path, header: dict[str, Any], runs: dict[Key, Run]) -> None:
        self.path = path
        self._header = header
        self._runs = runs

    @property
    def keys(self) -> frozenset[Key]:
        """The runs it holds."""
        return frozenset(self._runs)

    def append(self, run: Run) -> None:
        """Add a finished run; it is on the disk when this returns."""
        self._runs[_key(run)] = run
        with self.path.open("ab") as file:
            file.write(_line(run))
            file.flush()
            os.fsync(file.fileno())

    def settle(self) -> Results:
        """Sort the runs, whatever order they were finished in; the file is replaced as a whole or not at all."""
        order = {part: {label: i for i, label in enumerate(self._header[part])} for part in ("cases", "methods")}
        runs = sorted(
            self._runs.values(),
            key=lambda run: (order["cases"][run["case"]], order["methods"][run["method"]], run["repeat"]),
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + ".new")
        with beside.open("wb") as file:
            file.writelines(_line(item) for item in (self._header, *runs))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)
        return _results(self._header, runs)


def _line(item: Mapping[str, Any]) -> bytes:
    return json.dumps(item, allow_nan=False, ensure_ascii=False).encode() + b"\n"


def _key(run: Run) -> Key:
    return run["case"], run["method"], run["repeat"]


def _parse(path: Path) -> tuple[dict[str, Any], dict[Key, Run]]:
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise BenchmarkError(f"cannot read {path}: {error.strerror}") from None
    header = _loaded(lines[0]) if lines else None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BenchmarkError(f"{path} is not a results file: its first line does not say {FORMAT!r}")
    if header.get("version") != VERSION:
        raise BenchmarkError(
            f"{path} has version {header.get('version')} of the format, but this program reads version {VERSION}; "
            f"use another file"
        )
    runs: dict[Key, Run] = {}
    for number, line in enumerate(lines[1:], 2):
        run = _loaded(line)
        if isinstance(run, dict) and run.keys() >= {"case", "method", "repeat"}:
            runs.setdefault(_key(run), run)
        elif number == len(lines):
            warnings.warn(f"{path}: the last line is damaged and was dropped; its run will be redone", stacklevel=4)
        else:
            raise BenchmarkError(f"{path}: line {number} is damaged; remove it to have its run redone")
    return header, runs


def _loaded(line: bytes) -> Any:
    """The content of a line; None for a damaged one, such as one without its end."""
    try:
        return json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None


def _differences(found: Any, wanted: Any, place: str = "") -> Iterator[str]:
    """Where two settings differ, one line each."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in {**found, **wanted}:
            yield from _differences(found.get(name), wanted.get(name), f"{place}{name} ")
    elif found != wanted:
        yield f"{place}is {json.dumps(found)} in the file, but {json.dumps(wanted)} now"


def versions() -> dict[str, str]:
    """The versions of this package and of the libraries that compute its numbers."""
    from bomi import __version__

    return {"bomi": __version__, **{name: metadata.version(name) for name in LIBRARIES}}


def commit() -> str:
    """The commit that the program was started from, with -dirty if it was changed since; "" if it has none.

    A copy of the sources without their history is told by the environment variable BOMI_COMMIT.
    """
    root = Path(__file__).parents[3]
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            pass
    return os.environ.get("BOMI_COMMIT", "")


def digest(*arrays: np.ndarray[Any, Any]) -> str:
    """A short fingerprint of data."""
    data = b"".join(np.ascontiguousarray(array, dtype="<f8").tobytes() for array in arrays)
    return hashlib.sha256(data).hexdigest()[:16]


def described(value: Any) -> Any:
    """A setting as plain JSON: a dataclass by its type and fields, a function by its name."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: described(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__, **parts}
    if isinstance(value, tuple | list):
        return [described(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return getattr(value, "__qualname__", None) or type(value).__name__
