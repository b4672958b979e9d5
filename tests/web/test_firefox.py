"""The page in Firefox, where the machine has it: every view, typing into the table, and saving."""

import shutil

import pytest

from .bidi import Firefox
from .driving import rows

PROGRAM = shutil.which("firefox-esr") or shutil.which("firefox")
ENTER = "\ue007"
BUTTON = "[...document.querySelectorAll('button')].find(one => one.innerText.includes({!r}) && one.offsetParent)"
VIEWS = {
    "home": "document.body.innerText.includes('The model explains')",
    "data": "document.querySelectorAll('.ag-row').length > 5",
    "suggest": "document.querySelector('input[aria-label=\"How many experiments\"]')",
    "gaps": "document.querySelectorAll('svg.density').length > 5",
    "progress": "document.querySelectorAll('.js-plotly-plot .main-svg').length > 4",
    "setup": "document.querySelector('section[aria-label=temperature]')",
}


@pytest.fixture
def firefox(tmp_path):
    if PROGRAM is None:
        pytest.skip("Firefox is not installed")
    pytest.importorskip("websockets")
    browser = Firefox(PROGRAM, tmp_path / ".firefox")
    yield browser
    browser.end()


def test_every_view_and_the_way_of_a_cell_into_the_file(lab, served, firefox):
    server = served(lab)
    for view, there in VIEWS.items():
        firefox.open(server.at(view))
        firefox.wait(there, 120)
        assert "Firefox" in firefox.run("navigator.userAgent")
    firefox.open(server.address)
    cell = '.ag-row[row-index="1"] [col-id="c7"]'
    firefox.click(cell, times=2)
    firefox.wait(f"document.querySelector('{cell} input')")
    firefox.press(*"Zoe", ENTER)
    firefox.wait(BUTTON.format("Save 1 change"))
    firefox.open(server.address)  # a reload: what was typed is still there
    firefox.wait(f"document.querySelector('{cell}')?.innerText.includes('Zoe')")
    firefox.wait(BUTTON.format("Save 1 change"))
    firefox.run(BUTTON.format("Save 1 change") + ".click()")
    firefox.wait(f"!({BUTTON.format('Save 1 change')})")
    assert rows(lab)[1]["operator"].endswith("Zoe")
    assert firefox.errors == []
