"""Sweeps that go on where they were: a run that the results file holds is not made again."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar


class Named(Protocol):
    """What tells one run from the others: a NamedTuple, whose fields are in its record too."""

    _fields: Any

    def __iter__(self) -> Iterator[Any]: ...


R = TypeVar("R", bound=Named)
Record = dict[str, Any]


def add_options(parser: argparse.ArgumentParser, *, repeats: int) -> None:
    """What every sweep takes."""
    parser.add_argument("--first", type=int, default=0, help="number of the first repeat, which is its seed")
    parser.add_argument("--repeats", type=int, default=repeats)
    add_output(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Where the records go, and how many processes make them."""
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--out", type=Path, required=True, help="results file; runs that are in it are not made again")


def seeds(options: argparse.Namespace) -> range:
    """The repeats that the command line asks for."""
    return range(options.first, options.first + options.repeats)


def sweep(make: Callable[[R], Record], runs: Sequence[R], options: argparse.Namespace) -> list[Record]:
    """The records of the results file, once it has those of all runs."""
    out: Path = options.out
    records = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    made = {tuple(record.get(name) for name in run._fields) for run in runs[:1] for record in records}
    waiting = [run for run in runs if tuple(run) not in made]
    with out.open("a") as file:
        for count, record in enumerate(_parallel(make, waiting, options.jobs), 1):
            file.write(json.dumps(record) + "\n")
            file.flush()
            records.append(record)
            print(f"\r{count}/{len(waiting)} runs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return records


def _parallel(make: Callable[[R], Record], runs: Sequence[R], jobs: int) -> Iterable[Record]:
    """The finished runs, in any order."""
    if jobs == 1:
        return map(make, runs)
    import joblib

    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        found: Iterable[Record] = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(
            joblib.delayed(make)(run) for run in runs
        )
    return found
