"""A real page in a real browser: `bomi web` in a process of its own, Chromium driven by Playwright."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
REQUIRED = os.environ.get("BOMI_REQUIRE_ALL") == "1"
# The tutorial's campaign, with a method that needs a second: what is tested here is the page.
CAMPAIGN = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"), re.DOTALL)[1]
QUICK = CAMPAIGN + '\n[method]\nname = "mean"\n'


def need(condition: object, what: str) -> None:
    """Skip without it, or fail where everything is required."""
    if not condition:
        (pytest.fail if REQUIRED else pytest.skip)(f"{what} is not installed")


class Page:
    """`bomi web` of a table, in a process of its own."""

    def __init__(self, table: Path, *options: str, port: int | None = None) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = port or probe.getsockname()[1]
        self.root = f"http://127.0.0.1:{self.port}/"
        self.table = table
        self.log = table.parent / f".log-{self.port}"
        command = [
            sys.executable,
            "-m",
            "bomi",
            "web",
            table.name,
            "--no-browser",
            "--port",
            str(self.port),
            *options,
        ]
        # NiceGUI behaves otherwise where it finds pytest's own variables.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        environment |= {"PYTHONPATH": str(ROOT / "src"), "XDG_STATE_HOME": str(table.parent / ".state")}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, cwd=table.parent, stdout=log, stderr=log, env=environment)

    def wait(self) -> None:
        """Until it answers."""
        for _ in range(600):
            assert self.process.poll() is None, self.said()
            try:
                urllib.request.urlopen(self.root, timeout=5)
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.05)
            else:
                return
        pytest.fail(f"the page does not answer: {self.said()}")

    @property
    def token(self) -> str:
        return self.said().partition("?token=")[2].split()[0]

    @property
    def address(self) -> str:
        """The Data view, which most tests are about."""
        return self.at("data")

    def at(self, view: str) -> str:
        """The address of a view."""
        return f"{self.root}?token={self.token}&view={view}"

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture
def served() -> Iterator:
    """Starts the page of a table, waits for it, and ends it with the test."""
    need(_has("nicegui") and _has("plotly"), "bomi[web]")
    pages = []

    def start(table: Path, *options: str, port: int | None = None) -> Page:
        pages.append(Page(table, *options, port=port))
        pages[-1].wait()
        return pages[-1]

    yield start
    for page in pages:
        page.end()
    assert [page.said() for page in pages if "Traceback" in page.said()] == []


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    need(_has("playwright"), "Playwright")
    need(CHROMIUM, "Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium) -> Iterator:
    """Opens tabs of one browser profile; an error in the page's own scripts fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, accept_downloads=True)
    context.set_default_timeout(30_000)
    errors = []

    def opened(address: str, heading: str = "Data"):
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(f"{error}\n{error.stack}"))
        page.goto(address)
        page.get_by_role("heading", name=heading, level=1, exact=True).wait_for()
        return page

    yield opened
    context.close()
    assert errors == []


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """The tutorial's table and campaign in a folder of their own."""
    table = tmp_path / "heat-treatment.csv"
    shutil.copy(ROOT / "examples" / "heat-treatment.csv", table)
    (tmp_path / "campaign.toml").write_text(QUICK, encoding="utf-8")
    return table


def _has(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is not None


class Line:
    """A connection to a port that can be cut and mended."""

    def __init__(self, target: int) -> None:
        self.target, self.whole, self.open = target, True, set()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            if not self.whole:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self.target))
            self.open |= {near, far}
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            end.close()

    def cut(self) -> None:
        self.whole = False
        for end in self.open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.open = set()

    def mend(self) -> None:
        self.whole = True

    def end(self) -> None:
        self.cut()
        self.server.close()


@pytest.fixture
def cut() -> Iterator:
    """Lays lines to ports."""
    lines = []

    def lay(port: int) -> Line:
        lines.append(Line(port))
        return lines[-1]

    yield lay
    for line in lines:
        line.end()
