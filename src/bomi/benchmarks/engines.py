"""Engines that make the runs of a sweep: processes on this machine, or the workers of a Dask cluster.

A run depends on its job alone, so every engine gives the same runs.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from bomi.benchmarks import results
from bomi.benchmarks.results import Run
from bomi.benchmarks.sweeps import Engine, Job, local
from bomi.errors import BenchmarkError

SCHEME = "dask://"
PATIENCE = 10  # seconds to wait for a scheduler


def find_engine(name: str, processes: int) -> Engine:
    """The engine of this name: `local`, `dask` (a cluster of `processes` here) or `dask://HOST:PORT`."""
    if name == "local":
        return local(processes)
    if name == "dask":
        return dask(None, processes)
    if name.startswith(SCHEME) and len(name) > len(SCHEME):
        return dask("tcp://" + name.removeprefix(SCHEME))
    raise BenchmarkError(f"unknown engine {name!r}; the known ones are local, dask and dask://HOST:PORT")


def dask(address: str | None, processes: int = 1) -> Engine:
    """The workers of the Dask scheduler at an address, or of a new cluster on this machine.

    If a worker is lost, others make its runs again. Workers must have the same versions as this program.
    """
    try:
        import distributed
    except ImportError:
        raise BenchmarkError('this engine needs Dask; install it by: pip install "bomi[dask]"') from None

    def engine(work: Callable[[Job], Run], jobs: Sequence[Job]) -> Iterator[Run]:
        with _in_time(address or "this machine"), ExitStack() as stack:
            if address is None:
                cluster: Any = distributed.LocalCluster(
                    n_workers=processes, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
                )
                stack.enter_context(cluster)
            else:
                cluster = address
            try:
                client = distributed.Client(cluster, timeout=PATIENCE, set_as_default=False)
            except OSError as error:
                raise BenchmarkError(f"no Dask scheduler answers at {address}: {error}") from None
            stack.enter_context(client)
            if not client.scheduler_info(n_workers=-1)["workers"]:
                warnings.warn(
                    f"the Dask scheduler at {address} has no workers: waiting for one; "
                    f"start it by: dask worker {address}",
                    stacklevel=2,
                )
            task = partial(_work, work, results.versions())
            futures = client.map(task, jobs, pure=False)
            finished = distributed.as_completed(futures, with_results=True, loop=client.loop)
            del futures  # a result that somebody still holds would be computed again if its worker were lost
            try:
                for future, run in finished:
                    future.release()
                    del future
                    yield run
            except distributed.scheduler.KilledWorker as error:
                raise BenchmarkError(f"a run has taken every worker with it that tried it: {error}") from None
            except ModuleNotFoundError as error:
                raise BenchmarkError(f"the workers of the Dask cluster lack something: {error}") from None

    return engine


@contextmanager
def _in_time(place: str) -> Iterator[None]:
    """A cluster that does not answer in time, as one that begins or ends on a busy machine may."""
    try:
        yield
    except TimeoutError as error:
        reason = str(error) or "it took too long"
        raise BenchmarkError(
            f"the Dask cluster ({place}) does not answer: {reason}; the runs so far are kept"
        ) from None


def _work(work: Callable[[Job], Run], versions: dict[str, str], job: Job) -> Run:
    """Make a run, on a worker that has these versions."""
    here = results.versions()
    other = [f"{name} {here[name]} instead of {version}" for name, version in versions.items() if here[name] != version]
    if other:
        raise BenchmarkError(f"a worker of the Dask cluster has {', '.join(other)}; results of both are never mixed")
    return work(job)
