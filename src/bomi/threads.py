"""How the processor is used: one thread for small tables, and memory that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

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


@contextmanager
def single_threaded(rows: int) -> Iterator[None]:
    """Compute with one thread on a table of few rows; more lose a lot when other programs want the cores too."""
    _keep_memory()
    if rows > SMALL:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with _thread_pools().limit(limits=1):  # SciPy's own
            yield
    finally:
        torch.set_num_threads(before)
