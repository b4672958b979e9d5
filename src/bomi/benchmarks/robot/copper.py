"""The copper underground: samples along drill holes, and interpolation between them.

The experiment of Luong et al. 2020 measures copper in the Brenda Mines data set (1,800 drill-core samples, the richest
1.024 % copper). We cannot ship it. `synthetic_copper` makes samples of the same shape from a seed, and `read_copper`
reads your copy. Copper is interpolated by inverse distance (Shepard 1968).
"""

from __future__ import annotations

import csv
import functools
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bomi.benchmarks.functions import FloatArray
from bomi.benchmarks.results import digest
from bomi.benchmarks.robot.scene import BOUNDS
from bomi.errors import BenchmarkError

HOLES, SAMPLES = 90, 20  # of the synthetic field
RICHEST = 1.024  # % copper
# Ore bodies: place, size and grade. The richest is as far as possible from the start; a poorer one is on the way.
BODIES = (
    ((4080.0, 5330.0, 4750.0), (420.0, 420.0, 330.0), 1.0),
    ((3800.0, 3000.0, 5100.0), (300.0, 300.0, 260.0), 0.40),
    ((3150.0, 4450.0, 4600.0), (260.0, 260.0, 260.0), 0.30),
)
BARREN = 0.04  # far from all of them
WAVES, WAVE_LENGTH, ROUGHNESS, NUGGET = 200, 450.0, 0.5, 0.15

SMOOTHING, POWER = 120.0, 5.0  # units of the mine; how quickly a sample's weight falls with distance

COLUMNS = ("X", "Y", "Z", "Cu%", "Mo%", "length", "From", "To")
"""The columns of a file, named in its header; the first four are used."""
USED = COLUMNS[:4]


@dataclass(frozen=True, eq=False)
class CopperField:
    """Copper (%) at sampled places, interpolated elsewhere."""

    places: FloatArray  # (n, 3): X, Y, Z
    copper: FloatArray  # (n,)

    def at(self, x: float, y: float, z: float) -> float:
        """Copper at one place.

        sum_i w_i c_i / sum_i w_i, with w_i = (d_i^2 + s^2)^(-p/2) for the sample c_i at distance d_i. The smoothing
        s keeps a sample from being a needle.
        """
        square = ((self.places - np.array([x, y, z])) ** 2).sum(axis=1)
        weights = (square + SMOOTHING**2) ** (-POWER / 2)
        return float((weights * self.copper).sum() / weights.sum())

    @property
    def digest(self) -> str:
        """A short fingerprint of this field."""
        return digest(self.places, self.copper)[:8]


@functools.cache
def synthetic_copper(seed: int = 2) -> CopperField:
    """Samples down 90 nearly vertical holes, 20 in each; the richest has exactly 1.024 %.

    copper ~ (barren + sum_k grade_k exp(-|(place - centre_k) / size_k|^2 / 2)) exp(random waves + a sample's scatter):
    roughly how grades fall off around the cores of a porphyry.
    """
    rng = np.random.default_rng(seed)
    low, high = np.array([BOUNDS[name] for name in ("X", "Y", "Z")]).T
    collars = rng.uniform(low[:2], high[:2], (HOLES, 2))
    lean = rng.normal(0, 0.05, (HOLES, 1, 2))  # sideways for one unit down
    depths = np.linspace(high[2], low[2], SAMPLES)
    sideways = collars[:, None] + lean * (high[2] - depths)[:, None]  # (holes, samples, 2)
    every = np.concatenate([sideways, np.broadcast_to(depths[:, None], (HOLES, SAMPLES, 1))], axis=2)
    places = every.reshape(-1, 3)

    directions = rng.normal(0, 2 / WAVE_LENGTH, (WAVES, 3))
    phases = rng.uniform(0, 2 * math.pi, WAVES)
    waves = np.cos((places[:, None] * directions).sum(axis=2) + phases).sum(axis=1) * math.sqrt(2 / WAVES)
    grade = BARREN + sum(
        top * np.exp(-0.5 * (((places - np.array(centre)) / np.array(size)) ** 2).sum(axis=1))
        for centre, size, top in BODIES
    )
    log_copper = np.log(grade) + ROUGHNESS * waves + NUGGET * rng.normal(size=len(places))
    copper = np.exp(log_copper - log_copper.max()) * RICHEST
    return CopperField(places, copper)


def read_copper(path: Path | str) -> CopperField:
    """The samples of a file whose header has the columns X, Y, Z, Cu%, Mo%, length, From, To.

    Commas, semicolons, tabs or spaces separate the columns. X, Y, Z and Cu are found by name, or in the first four
    columns if none of these names occurs. An error names the line and the column.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise BenchmarkError(f"cannot read the copper file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BenchmarkError(f"the copper file {path} is no text in UTF-8") from None
    rows = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise BenchmarkError(f"the copper file {path} is empty; its columns must be {', '.join(COLUMNS)}")
    (first, header), *body = rows
    separator = next((mark for mark in "\t;," if mark in header), None)
    names = _cells(header, separator)
    columns = _columns(path, first, names)
    if all(_number(names[j]) is not None for j in columns):
        raise BenchmarkError(f"{path}, line {first}: expected the names of the columns, but got numbers: {header!r}")
    if not body:
        raise BenchmarkError(f"{path} has no row under the names of its columns")
    table = np.array([_read_row(path, number, _cells(line, separator), names, columns) for number, line in body])
    return CopperField(table[:, :3], table[:, 3])


def _cells(line: str, separator: str | None) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))] if separator else line.split()


def _columns(path: Path, line: int, names: list[str]) -> list[int]:
    """Where X, Y, Z and Cu are: by name, or the first four if no name is known."""
    words = ["".join(filter(str.isalpha, name)).lower() for name in names]
    known = {used: words.index(word) for used in USED if (word := used.rstrip("%").lower()) in words}
    if not known:
        known = dict(zip(USED, range(len(names)), strict=False))
    missing = [used for used in USED if used not in known]
    if missing:
        raise BenchmarkError(
            f"{path}, line {line}: the column {missing[0]} is missing; the columns must be {', '.join(COLUMNS)}, "
            f"but are {', '.join(names)}"
        )
    return [known[used] for used in USED]


def _read_row(path: Path, line: int, cells: list[str], names: list[str], columns: list[int]) -> list[float]:
    row = []
    for j in columns:
        where = f"{path}, line {line}, column {j + 1} ({names[j]})"
        if j >= len(cells):
            raise BenchmarkError(f"{where}: expected a number, but the line ends before it")
        value = _number(cells[j])
        if value is None:
            raise BenchmarkError(f"{where}: expected a number, but got {cells[j]!r}")
        if j == columns[-1] and value < 0:
            raise BenchmarkError(f"{where}: copper cannot be negative, but got {cells[j]}")
        row.append(value)
    return row


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
