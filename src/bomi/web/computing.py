"""What is computed for the tabs: each result once for a version of the files, and given up when nobody waits for it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from bomi.campaign.snapshot import Snapshot
from bomi.errors import BomiError
from bomi.web.worker import StoppedError, Worker

Key = tuple[Any, ...]


@dataclass(eq=False)
class Job:
    """One computation: who waits for it, what it is at, and since when."""

    name: str
    task: asyncio.Task[Any]
    waiting: set[object] = field(default_factory=set)
    doing: str = ""
    began: float | None = None  # when its turn came
    share: float = 0.0  # that is done, where that is known
    ended: bool = False


class Computing:
    """The jobs of one table. One worker does them in turn; who asks for the same shares it."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._jobs: dict[Key, Job] = {}
        self._seconds: dict[str, float] = {}  # that a job of each name took the last time

    async def wait(self, who: object, snapshot: Snapshot, name: str, *arguments: Any) -> Any:
        """The result of a job for a version of the files."""
        if snapshot.content is None or snapshot.toml is None:
            raise BomiError("there is no table or no set-up yet")
        key = (snapshot.key, name, *arguments)
        job = self._jobs.get(key)
        if job is None or (job.task.done() and (job.task.cancelled() or job.task.exception())):
            self._jobs = {k: v for k, v in self._jobs.items() if not v.ended or (k[0] == snapshot.key and len(k) < 4)}
            version = (snapshot.table, snapshot.campaign_path, snapshot.content, snapshot.toml)
            job = self._jobs[key] = Job(name, asyncio.ensure_future(asyncio.sleep(0)))
            job.task = asyncio.ensure_future(self._run(job, version, arguments))
        job.waiting.add(who)
        try:
            return await asyncio.shield(job.task)
        except asyncio.CancelledError:
            raise StoppedError("stopped", wanted=True) from None
        finally:
            job.waiting.discard(who)

    async def _run(self, job: Job, version: Any, arguments: tuple[Any, ...]) -> Any:
        def say(text: str, share: float) -> None:
            job.doing, job.share = text, share

        def turn() -> None:
            job.began = time.monotonic()

        try:
            result = await self.worker.run(job.name, version, *arguments, progress=say, turn=turn)
            self._seconds[job.name] = time.monotonic() - (job.began or 0.0)
            return result
        finally:
            job.ended = True

    def computed(self, snapshot: Snapshot, name: str) -> Any:
        """The result, if it is there already."""
        job = self._jobs.get((snapshot.key, name))
        done = job is not None and job.task.done() and not job.task.cancelled() and not job.task.exception()
        return job.task.result() if job is not None and done else None

    def join(self, who: object, name: str) -> None:
        """Somebody else waits too for what is being computed."""
        for job in self._jobs.values():
            if job.name == name and not job.ended:
                job.waiting.add(who)

    def leave(self, who: object, name: str | None = None) -> None:
        """Somebody no longer waits, for one kind of job or for all; a job for which nobody waits is given up."""
        for job in list(self._jobs.values()):
            if who in job.waiting and name in (None, job.name):
                job.waiting.discard(who)
                if not job.waiting and not job.ended:
                    self._give_up(job)

    def _give_up(self, job: Job) -> None:
        if job.began is not None:
            self.worker.stop()
        else:
            job.task.cancel()

    def told(self, who: object, name: str) -> str:
        """What the job that somebody waits for is at, in words."""
        job = next((job for job in self._jobs.values() if who in job.waiting and job.name == name), None)
        if job is None:
            return "Loading …"
        if job.began is None:
            return "Waiting for another computation to end …"
        seconds, usual = time.monotonic() - job.began, self._seconds.get(name)
        text = f"{(job.doing or 'loading').capitalize()} … {seconds:.0f} s"
        if job.share:
            return f"{text}, about {seconds * (1 - job.share) / job.share:.0f} s to go"
        return text + (f", about {usual:.0f} s the last time" if usual is not None and usual >= 1 else "")
