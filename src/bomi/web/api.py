"""The campaigns of a folder for programs: tell, ask, best and gaps as JSON over HTTP, with a token.

Short requests are answered here, in threads; what learns runs in a pool of processes. Requests to learn from the same
campaign wait for each other before they enter the pool, so that one busy campaign never fills it.
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
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

import bomi
from bomi.campaign.storage import LIMIT
from bomi.errors import BomiError, FileError, TableError
from bomi.web import files

Row = dict[str, Any]  # of column to cell, as in a table


class NewCampaign(BaseModel, extra="forbid"):
    """A saved campaign, as docs/files.md describes it; all but the objectives and parameters may be left out."""

    objectives: dict[str, dict[str, Any]] = Field(examples=[{"hardness": {"goal": "maximize"}}])
    parameters: dict[str, dict[str, Any]] = Field(examples=[{"temperature": {"range": [120, 240]}}])
    constraints: list[dict[str, Any]] = []
    method: dict[str, Any] | None = None
    seed: int | None = None
    rows: list[Row] = []
    withdrawn: list[str] = []
    format: str = "bomi-campaign"
    version: int = 1


class Told(BaseModel, extra="forbid"):
    """Experiments. One with the id of a suggestion is that suggestion: what it does not name went as asked."""

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
    """Processes that learn, a turn for each campaign; after a crash there is another pool."""

    def __init__(self, workers: int) -> None:
        self._workers, self._turns = workers, dict[Path, asyncio.Lock]()
        self._pool = self._fresh()

    def _fresh(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._workers, mp_context=context, initializer=_end_with_the_server)

    async def run(self, compute: Callable[..., Any], path: Path, *arguments: Any) -> Any:
        """The answer, once it is the campaign's turn and a process is free."""
        async with self._turns.setdefault(path, asyncio.Lock()):
            pool = self._pool
            try:
                return await asyncio.get_running_loop().run_in_executor(pool, compute, path, *arguments)
            except BrokenProcessPool:
                if self._pool is pool:
                    self._pool = self._fresh()
                raise HTTPException(503, "the computation ended all at once; is there enough memory?") from None

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _end_with_the_server() -> None:
    """End this process when the server does, however it ends."""

    def wait() -> None:
        server = multiprocessing.parent_process()
        if server is not None:
            server.join()
            os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def make_app(folder: Path, token: str, workers: int = 2) -> FastAPI:
    """The API of a folder of campaigns."""
    pool = Pool(workers)

    def admit(given: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> None:
        if not secrets.compare_digest(given.credentials.encode(), token.encode()):
            raise HTTPException(401, "send the token that `bomi serve` printed: Authorization: Bearer TOKEN")

    def find(name: str) -> Path:
        path = files.find(folder, name)
        if not path.exists():
            raise HTTPException(404, f"there is no campaign {name!r}")
        return path

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        yield
        pool.close()

    app = FastAPI(title="bomi", version=bomi.__version__, lifespan=running, dependencies=[Depends(admit)])
    Campaign = Annotated[Path, Depends(find)]

    @app.middleware("http")
    async def limit(request: Request, answer: Callable[[Request], Any]) -> Any:
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LIMIT or "transfer-encoding" in request.headers:
            return JSONResponse({"detail": f"a request may have up to {LIMIT // 2**20} MB, and states its length"}, 413)
        return await answer(request)

    @app.exception_handler(BomiError)
    def refuse(request: Request, error: BomiError) -> JSONResponse:
        problems = [vars(one) for one in error.problems] if isinstance(error, TableError) else []
        status = 400 if isinstance(error, FileError) else 422
        return JSONResponse({"detail": str(error), "problems": problems}, status)

    @app.exception_handler(FileExistsError)
    def conflict(request: Request, error: FileExistsError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 409)

    @app.get("/campaigns")
    def list_campaigns() -> list[str]:
        """The names of the campaigns."""
        return files.names(folder)

    @app.put("/campaigns/{name}", status_code=201)
    def create(name: str, campaign: NewCampaign) -> dict[str, Any]:
        """Start a campaign."""
        document = campaign.model_dump(exclude_none=True, exclude_unset=True)
        return files.create(files.find(folder, name), document)

    @app.get("/campaigns/{name}")
    def read(campaign: Campaign) -> dict[str, Any]:
        """The whole campaign, as `Optimizer.save` writes it."""
        return files.read(campaign)

    @app.post("/campaigns/{name}/tell")
    def tell(campaign: Campaign, told: Told) -> Counts:
        """Tell experiments; all of them are taken in, or none."""
        return Counts(**files.tell(campaign, told.rows))

    @app.post("/campaigns/{name}/ask")
    async def ask(campaign: Campaign, count: Annotated[int, Query(ge=1, le=100)] = 1) -> list[Suggested]:
        """Ask for the next experiments; they are pending until told or withdrawn."""
        return [Suggested(**one) for one in await pool.run(files.ask, campaign, count)]

    @app.delete("/campaigns/{name}/rows/{identity}")
    def withdraw(campaign: Campaign, identity: str) -> Counts:
        """Take back a suggestion that will not be run."""
        return Counts(**files.withdraw(campaign, identity))

    @app.get("/campaigns/{name}/best")
    async def best(campaign: Campaign, risk: str = "expected") -> list[Recommended]:
        """The setting to ask for; of several outcomes, each trade-off."""
        return [Recommended(**one) for one in await pool.run(files.best, campaign, risk)]

    @app.get("/campaigns/{name}/gaps")
    async def gaps(campaign: Campaign) -> list[Mapping[str, Any]]:
        """What each missing value may have been, the one most worth knowing first."""
        found: list[Mapping[str, Any]] = await pool.run(files.gaps, campaign)
        return found

    return app
