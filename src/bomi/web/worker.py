"""A process that computes, so that the page never waits: one job at a time, with progress, and it can be stopped."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from bomi.errors import BomiError


class StoppedError(BomiError):
    """The computation was ended: by the user, if it was `wanted`, or by the system."""

    def __init__(self, message: str, *, wanted: bool = False) -> None:
        super().__init__(message)
        self.wanted = wanted


class Worker:
    """The process. It starts with the first job, or when it is warmed up; after a crash the next job starts another."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._process: Any = None
        self._pipe: Connection | None = None
        self._asked_to_stop = False

    def warm_up(self) -> None:
        """Start the process now: loading what computes takes a few seconds."""
        if self._process is None or not self._process.is_alive():
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_work, args=(theirs,), daemon=True, name="bomi-worker")
            self._process.start()
            theirs.close()

    async def run(
        self,
        job: str,
        *arguments: Any,
        progress: Callable[[str, float], None] = lambda text, share: None,
        turn: Callable[[], None] = lambda: None,
    ) -> Any:
        """The result of a job of `bomi.web.jobs`, once its turn has come; BomiError if it fails."""
        async with self._turn:
            self._asked_to_stop = False
            turn()
            self.warm_up()
            process, pipe = self._process, self._pipe
            assert pipe is not None
            try:
                pipe.send((job, arguments))
                while True:
                    kind, value = await asyncio.to_thread(pipe.recv)
                    if kind == "done":
                        return value
                    if kind == "error":
                        raise BomiError(value)
                    progress(*value)
            except (EOFError, OSError):
                if self._process is process:  # and not another one that was started meanwhile
                    self.close()
                if self._asked_to_stop:
                    raise StoppedError("stopped", wanted=True) from None
                raise StoppedError("the computation ended all at once; is there enough memory?") from None

    def stop(self) -> None:
        """End what is being computed."""
        self._asked_to_stop = True
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _work(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the page ends us
    from bomi.web import jobs

    def tell(text: str, share: float = 0.0) -> None:
        pipe.send(("progress", (text, share)))

    while True:
        try:
            job, arguments = pipe.recv()
        except EOFError:  # the page is gone
            return
        try:
            pipe.send(("done", jobs.JOBS[job](*arguments, progress=tell)))
        except BomiError as error:
            pipe.send(("error", str(error)))
        except Exception as error:
            traceback.print_exc()
            pipe.send(("error", f"the computation failed: {type(error).__name__}: {error}"))
