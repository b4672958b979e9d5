"""Memory of the page's server while people come and go: tabs that are opened, used a little and closed, one by one.

python perf/web_soak.py [TABS]
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from web_speed import started, write_table

TABS = 200
VIEWS = ("data", "suggest", "setup")  # those that compute nothing by themselves


def resident(process: int) -> float:
    """Megabytes that a process has in memory."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def main() -> None:
    """Open and close the tabs, and print the memory every twenty-five of them."""
    tabs = int(sys.argv[1]) if len(sys.argv) > 1 else TABS
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with started(write_table(Path(folder), 40)) as (process, address):
            for number in range(tabs + 1):
                if number % 25 == 0:
                    print(f"{number} tabs: {resident(process.pid):.0f} MB", flush=True)
                page = browser.new_page()
                page.goto(f"{address}&view={VIEWS[number % len(VIEWS)]}")
                page.get_by_role("heading", level=1).first.wait_for()
                page.close(run_before_unload=False)
            print(f"{tabs} tabs, a minute later: ", end="", flush=True)
            browser.new_page().wait_for_timeout(62_000)
            print(f"{resident(process.pid):.0f} MB")
        browser.close()


if __name__ == "__main__":
    main()
