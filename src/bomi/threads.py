"""One thread for small tables: many small matrices gain nothing from more."""

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


@contextmanager
def single_threaded(rows: int) -> Iterator[None]:
    """Compute with one thread on a table of few rows; more lose a lot when other programs want the cores too."""
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
