"""Pictures of the page for docs/web.md, in Chromium: `python docs/figures/make_web_figures.py`."""

import io
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

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent.parent
FOLDER = Path(__file__).parent / "web"
SIZES = {"wide": (1280, 860), "narrow": (700, 1000), "phone": (390, 844)}
HEADINGS = {
    "home": "Home",
    "data": "Data",
    "suggest": "Suggest",
    "gaps": "Gaps",
    "progress": "Progress",
    "setup": "Set-up",
}
WHOLE = {"progress"}  # shown down to their end, if they are wide
COLOURS, EXACT = 192, 96
REACTOR = """
[objectives.yield]
unit = "%"

[objectives.impurity]
goal = "minimize"
unit = "%"

[parameters.temperature]
range = [40, 120]
unit = "°C"

[parameters.time]
range = [1, 8]
unit = "h"

[parameters.catalyst]
values = ["A", "B"]

[[constraints]]
terms = {temperature = 1, time = 5}
max = 150
"""


def prepare(folder: Path) -> Path:
    """The tutorial's table, with a row that awaits its outcome."""
    table = folder / "heat-treatment.csv"
    shutil.copy(ROOT / "examples" / "heat-treatment.csv", table)
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (folder / "campaign.toml").write_text(tutorial.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    subprocess.run([sys.executable, "-m", "bomi", "suggest", str(table), "--append"], check=True)
    return table


def prepare_several(folder: Path) -> Path:
    """A reactor with two outcomes: it yields most in the middle, and more impurity the hotter it is."""
    table = folder / "reactor.csv"
    rows = ["id,temperature,time,catalyst,yield,impurity"]
    for i in range(18):
        temperature, hours = 40 + 8 * (i % 10), 1 + 3 * i % 7
        yields = 62 - (temperature - 82) ** 2 / 60 + hours / 2 - 3 * (i % 2)
        impurity = 0.4 + temperature / 60 + hours / 10 - 0.3 * (i % 2)
        known = "?" if i == 5 else "70..80" if i == 13 else str(temperature)
        rows.append(f"{i + 1},{known},{hours},{'AB'[i % 2]},{yields:.1f},{impurity:.2f}")
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "campaign.toml").write_text(REACTOR, encoding="utf-8")
    return table


def save(page: Page, name: str, *, whole: bool = False) -> None:
    """A small file: few colours are enough for flat areas and text, the most frequent ones just as they are."""
    picture = Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")
    FOLDER.mkdir(exist_ok=True)
    pixels = np.asarray(picture).reshape(-1, 3)
    colours, place, often = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    exact = colours[np.argsort(-often)[:EXACT]]
    rest = picture.quantize(COLOURS - len(exact), method=Image.Quantize.MEDIANCUT).getpalette() or []
    palette = np.concatenate([exact, np.reshape(rest, (-1, 3))])
    nearest = np.concatenate(
        [
            ((some[:, None] - palette[None].astype(float)) ** 2).sum(-1).argmin(-1)
            for some in np.array_split(colours, 50)
        ]
    )
    few = Image.fromarray(nearest[place.ravel()].reshape(picture.height, picture.width).astype(np.uint8), "P")
    few.putpalette(palette.astype(np.uint8).tobytes())
    few.save(FOLDER / f"{name}.png", optimize=True)


def problems(page: Page) -> None:
    """The table with three mistakes typed into it."""
    for row, column, text in ((3, 2, "hot"), (4, 3, "500"), (5, 5, "oill")):
        cell = page.locator(f'.ag-row[row-index="{row}"] [col-id="c{column}"]')
        cell.dblclick()
        cell.locator("input").fill(text)
        cell.locator("input").press("Enter")
    page.get_by_text("3 problems").wait_for()
    page.wait_for_timeout(500)
    save(page, "problems-wide-light")
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("button", name="Discard 3 changes").click()
    page.get_by_text("3 problems").wait_for(state="detached")
    page.wait_for_timeout(500)


def take(browser: Browser, address: str, size: str, light: str) -> None:
    """Every view in one size and one light."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=light)
    context.set_default_timeout(180_000)
    page = context.new_page()
    for view, heading in HEADINGS.items():
        page.goto(f"{address}&view={view}")
        page.get_by_role("heading", name=heading, level=1, exact=True).wait_for()
        if view == "suggest" and not page.get_by_role("region", name="Suggestion 2").count():
            page.get_by_label("How many experiments").fill("2")
            page.get_by_role("button", name="Suggest").click()
            page.get_by_role("region", name="Suggestion 2").wait_for()
        page.wait_for_timeout(1000)
        page.wait_for_function("!document.querySelector('[aria-busy]')")
        page.wait_for_timeout(1000)
        page.mouse.move(0, 0)
        if view == "progress":
            page.locator(".js-plotly-plot .main-svg").first.wait_for()
            page.wait_for_timeout(500)
        if view == "progress" and size == "wide":
            page.get_by_role("button", name="Draw").click()
            page.get_by_role("img", name="expected strength over time and temperature").wait_for()
            tall = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": width, "height": tall})  # so that the bar stays at the top
            page.wait_for_timeout(1500)
        if view == "data" and (size, light) == ("wide", "light"):
            problems(page)
        save(page, f"{view}-{size}-{light}", whole=view in WHOLE and size == "wide")
        page.set_viewport_size({"width": width, "height": height})
        if view == "suggest" and size == "wide":
            page.get_by_role("button", name="Enter result").click()
            page.get_by_label("strength (MPa)").fill("428.7")
            page.get_by_role("group", name="temperature").get_by_role("button", name="don't know").click()
            page.get_by_role("group", name="time").get_by_role("button", name="other value").click()
            page.get_by_label("time (h)").fill("70±5")
            page.wait_for_timeout(600)
            save(page, f"result-{size}-{light}")
            page.get_by_role("button", name="Cancel").click()
            page.get_by_role("button", name="Throw it away").click()
            page.get_by_role("dialog").first.wait_for(state="detached")
    context.close()


def several(browser: Browser, address: str) -> None:
    """Trade-offs between two outcomes, and a set-up with them and a constraint."""
    for light in ("light", "dark"):
        context = browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme=light)
        context.set_default_timeout(180_000)
        page = context.new_page()
        page.goto(f"{address}&view=progress")
        page.get_by_role("rowheader", name="1", exact=True).wait_for()
        page.locator(".js-plotly-plot .main-svg").first.wait_for()
        page.wait_for_timeout(1000)
        save(page, f"tradeoffs-wide-{light}")
        page.goto(f"{address}&view=setup")
        page.get_by_role("region", name="Constraint 1").wait_for()
        page.wait_for_timeout(1000)
        save(page, f"constraint-wide-{light}", whole=True)
        context.close()


@contextmanager
def served(table: Path) -> Iterator[str]:
    """The page of a table, and the address that it prints."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "bomi", "web", str(table), "--no-browser", "--port", str(port)]
    environment = {**os.environ, "XDG_STATE_HOME": str(table.parent)}
    log = table.with_suffix(".log")
    with open(log, "w", encoding="utf-8") as said:
        process = subprocess.Popen(command, stderr=said, env=environment)
    try:
        while "(Ctrl+C" not in log.read_text(encoding="utf-8"):
            time.sleep(0.05)
        yield next(word for word in log.read_text(encoding="utf-8").split() if word.startswith("http"))
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Serve the page and take its pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        one, two = Path(folder) / "one", Path(folder) / "two"
        one.mkdir()
        two.mkdir()
        with served(prepare_several(one)) as address:
            several(browser, address)
        with served(prepare(two)) as address:
            for light in ("light", "dark"):
                for size in SIZES:
                    take(browser, address, size, light)
        browser.close()


if __name__ == "__main__":
    main()
