"""A real page in a real browser: `bomi web` in a process of its own, Chromium driven by Playwright.

Starting the page, loading torch and a cold browser cache take longer than most tests. So the tests share one page of a
folder, in which each of them has a campaign of its own; one that needs the page to itself says `alone`.
"""

import contextlib
import copy
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
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

# What the page has said in messages that go by themselves: a starved machine may look only once they are gone.
SAID = """window.said = [];
    const seen = new WeakMap();
    new MutationObserver(() => {
        for (const one of document.querySelectorAll('.q-notification')) {
            if (seen.get(one) !== one.innerText) said.push(one.innerText);
            seen.set(one, one.innerText);
        }
    }).observe(document, {childList: true, subtree: true, characterData: true})"""


def need(condition: object, what: str) -> None:
    """Skip without it, or fail where everything is required."""
    if not condition:
        (pytest.fail if REQUIRED else pytest.skip)(f"{what} is not installed")


class Page:
    """`bomi web` of a table or a folder, in a process of its own."""

    def __init__(self, path: Path, *options: str, port: int | None = None) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = port or probe.getsockname()[1]
        self.root = f"http://127.0.0.1:{self.port}/"
        self.below = ""  # the name of a table below the folder
        place = path if path.is_dir() else path.parent
        self.log, self.state = place / f".log-{self.port}", place / ".state"
        command = [sys.executable, "-m", "bomi", "web", str(path), "--no-browser", "--port", str(self.port), *options]
        # NiceGUI behaves otherwise where it finds pytest's own variables.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        environment |= {"PYTHONPATH": str(ROOT / "src"), "XDG_STATE_HOME": str(self.state)}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, cwd=place, stdout=log, stderr=log, env=environment)
        self.seen = 0  # of what it said, by earlier tests

    def of(self, table: str) -> "Page":
        """The same page, opened at one of the folder's tables."""
        found = copy.copy(self)
        found.below, found.seen = table, len(self.said())
        return found

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
        table = {"table": self.below} if self.below else {}
        return f"{self.root}?{urllib.parse.urlencode({'token': self.token, 'view': view, **table})}"

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def check(self) -> None:
        """Nothing went wrong since this test began."""
        assert "Traceback" not in self.said()[self.seen :], self.said()[self.seen :]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """Below which every test has a folder of its own."""
    return tmp_path_factory.mktemp("labs")


@pytest.fixture(scope="session")
def shared(folder: Path) -> Iterator[Page]:
    """The page of all of them."""
    need(_has("nicegui") and _has("plotly"), "bomi[web]")
    page = Page(folder)
    page.wait()
    yield page
    page.end()
    page.check()


@pytest.fixture
def tmp_path(folder: Path, request: pytest.FixtureRequest) -> Path:
    """A folder of the test's own, which the shared page can see."""
    made = folder / re.sub(r"\W+", "-", request.node.name)
    made.mkdir()
    return made


@pytest.fixture
def served(shared: Page) -> Iterator:
    """Gives a table its place on the shared page; or a page of its own, which ends with the test."""
    pages, own = [], []

    def start(table: Path, *options: str, port: int | None = None, alone: bool = False) -> Page:
        if alone or options or port or not (table.is_file() and (table.parent / "campaign.toml").is_file()):
            own.append(Page(table, *options, port=port))
            own[-1].wait()
            pages.append(own[-1])
        else:
            pages.append(shared.of(str(table.relative_to(shared.log.parent))))
        return pages[-1]

    yield start
    for page in own:
        page.end()
    for page in pages:
        page.check()


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    need(_has("playwright"), "Playwright")
    need(CHROMIUM, "Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def profile(chromium) -> Iterator:
    """One browser profile, which has the page's own scripts in its cache."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
    context.set_default_timeout(90_000)  # a starved machine is slow, not wrong
    context.add_init_script(SAID)
    yield context
    context.close()


@pytest.fixture
def tab(profile) -> Iterator:
    """Opens tabs of a browser; an error in the page's own scripts fails the test."""
    errors, pages = [], []

    def opened(address: str, heading: str = "Data"):
        page = profile.new_page()
        pages.append(page)
        page.on("pageerror", lambda error: errors.append(f"{error}\n{error.stack}"))
        page.goto(address)
        page.get_by_role("heading", name=heading, level=1, exact=True).wait_for()
        return page

    yield opened
    for page in pages:
        if not page.is_closed():
            page.evaluate("localStorage.clear()")
            page.close()
    profile.clear_cookies()
    assert errors == []


class Wire:
    """The connection of a tab, on which either direction can be held back."""

    def __init__(self, page):
        self.held = {"in": None, "out": None}
        page.route_web_socket(re.compile("socket.io"), self.lay)

    def lay(self, near):
        far = near.connect_to_server()
        self.ends = {"in": near, "out": far}
        near.on_message(lambda message: self.carry("out", message))
        far.on_message(lambda message: self.carry("in", message))

    def carry(self, way, message):
        if self.held[way] is not None:
            self.held[way].append(message)
        else:
            self.ends[way].send(message)

    def hold(self, way):
        self.held[way] = []

    def release(self, way):
        held, self.held[way] = self.held[way], None
        for message in held:
            self.ends[way].send(message)


@pytest.fixture
def slow_tab(profile):
    """A tab with its wire."""
    page = profile.new_page()
    yield page, Wire(page)
    page.evaluate("localStorage.clear()")
    page.close()


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
    """A connection to a port that can be cut and mended, and that can swallow what is sent before either end knows."""

    def __init__(self, target: int) -> None:
        self.target, self.whole, self.open, self.swallows = target, True, set(), False
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
                if not self.swallows:
                    other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            end.close()

    def swallow(self) -> None:
        self.swallows = True

    def cut(self) -> None:
        self.whole = False
        for end in self.open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.open = set()

    def mend(self) -> None:
        self.whole, self.swallows = True, False

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
