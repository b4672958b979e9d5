"""Campaigns for programs: tell, ask, best and gaps as JSON over HTTP, with a token.

Short requests are answered here, in threads; what learns runs in worker processes. Requests to learn from the same
campaign wait for each other before they go to a worker, so that one busy campaign never fills it.
"""

# No postponed annotations: FastAPI reads those of the routes, which speak of names within `make_app`.
import asyncio
import multiprocessing
import os
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

import bomi
from bomi.campaign.storage import LIMIT
from bomi.errors import BomiError, FileError, TableError
from bomi.web import service
from bomi.web.stores import MissingError, Store, StoreError

_STATUS = {MissingError: 404, StoreError: 503, FileError: 400}  # of mistakes; of all others it is 422

Row = dict[str, Any]  # of column to cell, as in a table


class NewCampaign(BaseModel, extra="forbid"):
    """A saved campaign, as docs/files.md describes it; all but the objectives and parameters may be left out."""

    objectives: dict[str, dict[str, Any]] = Field(examples=[{"hardness": {"goal": "maximize"}}])
    parameters: dict[str, dict[str, Any]] = Field(examples=[{"temperature": {"range": [120, 240]}}])
    constraints: list[dict[str, Any]] = []
    groups: dict[str, Any] | None = None
    drift: dict[str, Any] | None = None
    method: dict[str, Any] | None = None
    seed: int | None = None
    rows: list[Row] = []
    withdrawn: list[str] = []
    format: str = "bomi-campaign"
    version: int = 1


class Told(BaseModel, extra="forbid"):
    """Experiments. One with the id of a suggestion is that suggestion: what it does not name went as asked.

    Any other names an outcome, which is null while it is still to come.
    """

    rows: list[Row] = Field(examples=[[{"id": "7", "temperature": "150±8", "hardness": 131}]])


class Counts(BaseModel):
    """How many experiments there are."""

    rows: int
    outcomes: int
    pending: int


class Suggested(BaseModel):
    """An experiment to run next."""

    id: str
    setting: dict[str, Any]
    predicted: dict[str, Any] | None
    as_done: dict[str, Any] | None = None
    note: str


class Recommended(BaseModel):
    """The recommended setting, and the best outcome seen."""

    setting: dict[str, Any] | None
    predicted: dict[str, Any] | None
    as_done: dict[str, Any] | None = None
    seen: dict[str, Any]
    note: str


class Pool:
    """Worker processes, each with a queue; after a crash there is another one.

    A campaign goes to the worker that had it last and remembers it, unless that one is busy and another is idle.
    """

    def __init__(self, workers: int) -> None:
        self._workers = [self._fresh() for _ in range(workers)]
        self._waiting = [0] * workers  # requests in each queue, with the one that is computed
        self._own, self._turns = dict[str, int](), dict[str, asyncio.Lock]()

    def _fresh(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        worker = ProcessPoolExecutor(1, mp_context=context, initializer=_end_with_the_server)
        worker.submit(_warm_up)
        return worker

    async def run(self, compute: Callable[..., Any], store: Store, name: str, *arguments: Any) -> Any:
        """The answer, once it is the campaign's turn and its worker is free."""
        async with self._turns.setdefault(name, asyncio.Lock()):
            idlest = min(range(len(self._waiting)), key=self._waiting.__getitem__)
            own = self._own.get(name, idlest)
            own = self._own[name] = idlest if self._waiting[own] and not self._waiting[idlest] else own
            worker = self._workers[own]
            self._waiting[own] += 1
            try:
                return await asyncio.get_running_loop().run_in_executor(worker, compute, store, name, *arguments)
            except BrokenProcessPool:
                if self._workers[own] is worker:
                    self._workers[own] = self._fresh()
                raise HTTPException(503, "the computation ended all at once; is there enough memory?") from None
            finally:
                self._waiting[own] -= 1

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.shutdown(wait=False, cancel_futures=True)


def _warm_up() -> None:
    """Have what computes loaded, which takes a few seconds, before the first request comes."""


def _end_with_the_server() -> None:
    """End this process when the server does, however it ends."""

    def wait() -> None:
        server = multiprocessing.parent_process()
        if server is not None:
            server.join()
            os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def make_app(store: Store, token: str, workers: int = 2) -> FastAPI:
    """The API of the campaigns of a store."""
    pool = Pool(workers)

    def admit(given: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> None:
        if not secrets.compare_digest(given.credentials.encode(), token.encode()):
            raise HTTPException(401, "send the token that `bomi serve` printed: Authorization: Bearer TOKEN")

    def find(name: str) -> str:
        if name not in store:
            raise MissingError(f"there is no campaign {name!r}")
        return name

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        yield
        pool.close()

    app = FastAPI(title="bomi", version=bomi.__version__, lifespan=running, dependencies=[Depends(admit)])
    Campaign = Annotated[str, Depends(find)]

    @app.middleware("http")
    async def limit(request: Request, answer: Callable[[Request], Any]) -> Any:
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LIMIT or "transfer-encoding" in request.headers:
            return JSONResponse({"detail": f"a request may have up to {LIMIT // 2**20} MB, and states its length"}, 413)
        return await answer(request)

    @app.exception_handler(BomiError)
    def refuse(request: Request, error: BomiError) -> JSONResponse:
        problems = [vars(one) for one in error.problems] if isinstance(error, TableError) else []
        status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 422)
        return JSONResponse({"detail": str(error), "problems": problems}, status)

    @app.exception_handler(FileExistsError)
    def conflict(request: Request, error: FileExistsError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 409)

    @app.get("/campaigns")
    def list_campaigns() -> list[str]:
        """The names of the campaigns."""
        return store.names()

    @app.put("/campaigns/{name}", status_code=201)
    def create(name: str, campaign: NewCampaign) -> dict[str, Any]:
        """Start a campaign."""
        return service.create(store, name, campaign.model_dump(exclude_none=True, exclude_unset=True))

    @app.get("/campaigns/{name}")
    def read(name: str) -> dict[str, Any]:
        """The whole campaign, as `Optimizer.save` writes it."""
        return service.read(store, name)

    @app.post("/campaigns/{name}/tell")
    def tell(name: str, told: Told) -> Counts:
        """Tell experiments; all of them are taken in, or none."""
        return Counts(**service.tell(store, name, told.rows))

    @app.post("/campaigns/{name}/ask")
    async def ask(name: Campaign, count: Annotated[int, Query(ge=1, le=100)] = 1) -> list[Suggested]:
        """Ask for the next experiments; they are pending until told or withdrawn."""
        return [Suggested(**one) for one in await pool.run(service.ask, store, name, count)]

    @app.delete("/campaigns/{name}/rows/{identity}")
    def withdraw(name: str, identity: str) -> Counts:
        """Take back a suggestion that will not be run."""
        return Counts(**service.withdraw(store, name, identity))

    @app.get("/campaigns/{name}/best")
    async def best(name: Campaign, risk: str = "expected") -> list[Recommended]:
        """The setting to ask for; of several outcomes, each trade-off."""
        return [Recommended(**one) for one in await pool.run(service.best, store, name, risk)]

    @app.get("/campaigns/{name}/gaps")
    async def gaps(name: Campaign) -> list[Mapping[str, Any]]:
        """What each missing value may have been, the one most worth knowing first."""
        found: list[Mapping[str, Any]] = await pool.run(service.gaps, store, name)
        return found

    return app
