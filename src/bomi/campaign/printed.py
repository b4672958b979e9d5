"""Pages to print or to send: one HTML file that needs nothing else, or a PDF where a browser is at hand."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from bomi.campaign import storage
from bomi.errors import FileError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
KINDS = (".html", ".htm", ".pdf")
STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } .soft { color: #5f6368; }
table { border-collapse: collapse; margin: .6rem 0; } caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
th { font-weight: 600; } .wide { overflow-x: auto; }
figure { margin: 1rem 0; break-inside: avoid; } figure svg, figure img { max-width: 100%; height: auto; }
.said { border-left: 4px solid #0072B2; padding: .4rem .8rem; background: #f4f8fb; } .bad { border-color: #D55E00;
        background: #fdf5f0; }
.box { border: 1px solid #444; min-width: 5.5rem; height: 2rem; }
.side { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 1rem 2rem;
        align-items: start; }
.side section { break-inside: avoid; } .side table { width: 100%; margin-bottom: 0; }
@page { margin: 10mm; }
@media print {
  body { margin: 0; max-width: none; font-size: 12px; } h2 { break-after: avoid; margin-top: 1.4rem; }
  table, tr { break-inside: avoid; } figure svg { max-width: 78%; max-height: 20cm; } .wide { overflow: visible; }
  .box { height: 1.7rem; }
}
"""


def page(title: str, parts: Iterable[str]) -> str:
    """A page of parts that are HTML already."""
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n'
        "</body>\n</html>\n"
    )


def side_by_side(groups: Iterable[Iterable[str]]) -> str:
    """Groups of parts, as many beside each other as there is room for; no page ends within one of them."""
    return '<div class="side">' + "\n".join(f"<section>{''.join(parts)}</section>" for parts in groups) + "</div>"


def heading(text: str, level: int = 2) -> str:
    """A heading."""
    return f"<h{level}>{escape(text)}</h{level}>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[str | None]], caption: str = "") -> str:
    """A table; None is a box to write into."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in header)
    lines = [
        "<tr>" + "".join('<td class="box"></td>' if t is None else f"<td>{escape(t)}</td>" for t in row) + "</tr>"
        for row in rows
    ]
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "\n".join(lines)
    return f'<div class="wide"><table>{above}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def write_page(path: Path, text: str) -> None:
    """Write a page as what its name says: .html, or .pdf by a browser that is installed."""
    if path.suffix.lower() not in KINDS:
        raise FileError(f"a page is an .html or a .pdf file, but got {path}")
    if path.suffix.lower() != ".pdf":
        storage.replace_bytes(path, text.encode("utf-8"))
        return
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise FileError(f"{path} needs Chromium or Chrome, and none is installed; write an .html file and print it")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(text, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={folder}"]
        try:
            subprocess.run(
                [browser, *options, f"--print-to-pdf={made}", source.as_uri()],
                check=True,
                capture_output=True,
                timeout=120,
            )
            content = made.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise FileError(f"{path} cannot be printed by {browser}: {error}; write an .html file instead") from None
    storage.replace_bytes(path, content)
