"""How the processor is used: one thread for small tables, idle cores alone for large ones, and memory that is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import torch
from threadpoolctl import ThreadpoolController

SMALL = 1000  # rows up to which a second thread costs more than it brings


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _keep_memory() -> None:
    """Let glibc keep the memory of large arrays, of which it asks for again what it has given back a moment before.

    That is a tenth of a suggestion. It keeps what is smaller than the largest block it has seen freed: this one.
    """
    torch.empty(2**25 - 2**16, dtype=torch.uint8)


def idle_cores() -> int | None:
    """How many cores other programs leave us just now, at least one; None where the system does not tell.

    Threads that share a core wait for each other by spinning: two on a busy core take ten times the processor time of
    one.
    """
    with suppress(OSError, ValueError, IndexError, AttributeError):
        running = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])  # we are one of these
        return max(len(os.sched_getaffinity(0)) - (running - 1), 1)
    return None


@contextmanager
def single_threaded(rows: int = 0) -> Iterator[None]:
    """Compute with one thread on a table of few rows, and else with as many as there are idle cores, at most as set."""
    _keep_memory()
    before = torch.get_num_threads()
    threads = 1 if rows <= SMALL else min(before, idle_cores() or before)
    if threads == before > 1:
        yield
        return
    torch.set_num_threads(threads)
    try:
        with _thread_pools().limit(limits=threads):  # SciPy's own
            yield
    finally:
        torch.set_num_threads(before)
