"""Firefox as it is installed, driven by WebDriver BiDi: https://w3c.github.io/webdriver-bidi."""

import base64
import contextlib
import json
import re
import subprocess
import time
from pathlib import Path


class Firefox:
    """A browser with a profile of its own and one tab."""

    def __init__(self, program: str, profile: Path) -> None:
        from websockets.sync.client import connect

        self.open_things = contextlib.ExitStack()
        profile.mkdir()
        self.log = profile / "log"
        command = [program, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.open_things.callback(self.process.wait, 20)
        self.open_things.callback(self.process.terminate)
        until = time.monotonic() + 60
        while not (found := re.search(r"ws://\S+", self.log.read_text(encoding="utf-8"))):
            assert time.monotonic() < until, self.log.read_text(encoding="utf-8")
            time.sleep(0.05)
        line = connect(f"{found[0]}/session", max_size=2**26, ping_interval=None)
        self.socket = self.open_things.enter_context(line)
        self.number, self.errors = 0, []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.tab = self.ask("browsingContext.getTree")["contexts"][0]["context"]
        self.ask("browsingContext.setViewport", context=self.tab, viewport={"width": 1280, "height": 860})

    def ask(self, method: str, **parameters):
        """The answer to a command; errors of scripts that come meanwhile are noted."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            said = json.loads(self.socket.recv(timeout=60))
            if said.get("method") == "log.entryAdded" and said["params"]["type"] == "javascript":
                self.errors.append(said["params"]["text"])
            if said.get("id") == self.number:
                assert said["type"] == "success", said
                return said["result"]

    def open(self, address: str) -> None:
        self.ask("browsingContext.navigate", context=self.tab, url=address, wait="complete")

    def run(self, script: str):
        """The value of an expression."""
        found = self.ask("script.evaluate", expression=script, target={"context": self.tab}, awaitPromise=True)
        assert found["type"] == "success", found
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = 30) -> None:
        """Until an expression is true."""
        until = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < until, f"{script}: {self.run('document.body.innerText')}"
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        pairs = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.act({"type": "key", "id": "keys", "actions": pairs})

    def click(self, element: str, times: int = 1) -> None:
        """Click in the middle of the first element that a selector finds."""
        self.wait(f"document.querySelector({element!r})")
        middle = "(b => JSON.stringify([b.x + b.width / 2, b.y + b.height / 2]))"
        x, y = json.loads(self.run(f"{middle}(document.querySelector({element!r}).getBoundingClientRect())"))
        moves = [{"type": "pointerMove", "x": round(x), "y": round(y)}]
        moves += [{"type": kind, "button": 0} for _ in range(times) for kind in ("pointerDown", "pointerUp")]
        self.act({"type": "pointer", "id": "mouse", "actions": moves})

    def act(self, *actions) -> None:
        self.ask("input.performActions", context=self.tab, actions=list(actions))

    def picture(self) -> bytes:
        return base64.b64decode(self.ask("browsingContext.captureScreenshot", context=self.tab)["data"])

    def end(self) -> None:
        self.open_things.close()
