"""Seconds until the page shows a table: from the command, and from opening the address, to the first cell in Chromium.

A busy machine takes longer; it changes little of the processor time of the server, which is told too.

python perf/web_speed.py [ROWS ...]
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
RUNS = 3


def write_table(folder: Path, rows: int) -> Path:
    """The tutorial's table, over and over."""
    lines = (ROOT / "examples" / "heat-treatment.csv").read_text(encoding="utf-8").splitlines()
    many = [f"{i}-{lines[1 + i % (len(lines) - 1)]}" for i in range(rows)]
    table = folder / "lab.csv"
    table.write_text("\n".join([lines[0], *many]) + "\n", encoding="utf-8")
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (folder / "campaign.toml").write_text(tutorial.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    return table


@contextmanager
def started(table: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`bomi web` of a table, and the address that it prints."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "bomi", "web", str(table), "--no-browser", "--port", str(port)]
    environment = {**os.environ, "XDG_STATE_HOME": str(table.parent), "PYTHONPATH": str(ROOT / "src")}
    log = table.with_suffix(".log")
    with open(log, "w", encoding="utf-8") as said:
        process = subprocess.Popen(command, stderr=said, env=environment)
    try:
        while "(Ctrl+C" not in log.read_text(encoding="utf-8"):
            time.sleep(0.01)
        yield process, next(word for word in log.read_text(encoding="utf-8").split() if word.startswith("http"))
    finally:
        process.terminate()
        process.wait()


def used(process: int) -> float:
    """Seconds of processor time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(browser: Browser, table: Path) -> tuple[float, float, float, float]:
    """Until the server answers, until the first cell is seen, the second of these for another tab, and the processor
    time of the server for both tabs and its start."""
    start = time.perf_counter()
    with started(table) as (process, address):
        answered = time.perf_counter() - start
        seen = []
        for _ in range(2):
            opened = time.perf_counter()
            page = browser.new_page()
            page.goto(f"{address}&view=data", wait_until="commit")
            page.locator('.ag-row[row-index="0"] [col-id="c2"]').first.wait_for()
            seen.append(time.perf_counter() - opened)
            page.close()
        return answered, seen[0], seen[1], used(process.pid)


def main() -> None:
    """Measure three runs of each size."""
    sizes = [int(text) for text in sys.argv[1:]] or [40, 2000]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for rows in sizes:
            with tempfile.TemporaryDirectory() as folder:
                table = write_table(Path(folder), rows)
                for run in range(RUNS):
                    server, first, again, busy = measure(browser, table)
                    print(
                        f"{rows} rows, run {run + 1}: server up after {server:.2f} s, first view {first:.2f} s after "
                        f"opening ({server + first:.2f} s from the command), in another tab {again:.2f} s; "
                        f"{busy:.2f} s of processor time for all of it"
                    )
        browser.close()


if __name__ == "__main__":
    main()
