"""What people do with the page, in short."""

import csv

SLOW = 120_000  # milliseconds that a computation may take on a busy machine


def rows(table):
    with open(table, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cell(tab, row, column):
    return tab.locator(f'.ag-row[row-index="{row}"] [col-id="c{column}"]').first


def marked(tab, row, column, kind):
    """Wait until a cell is marked."""
    tab.locator(f'.ag-row[row-index="{row}"] [col-id="c{column}"].{kind}').first.wait_for()


def scroll(tab, row):
    tab.evaluate("row => getElement(document.querySelector('.grid').id.slice(1)).api.ensureIndexVisible(row)", row)
    tab.locator(f'.ag-center-cols-container .ag-row[row-index="{row}"]').first.wait_for()


def retype(tab, row, column, text):
    scroll(tab, row)
    cell(tab, row, column).dblclick()
    editor = cell(tab, row, column).locator("input")
    editor.fill(text)
    editor.press("Enter")


def only(tab, parameter):
    """Show the gaps of one parameter."""
    tab.get_by_label("Show", exact=True).click(timeout=SLOW)
    tab.get_by_role("option", name=parameter).click()
    every = "name => [...document.querySelectorAll('.cards h2')].every(title => title.textContent === name)"
    tab.wait_for_function(every, arg=parameter)


def go(tab, view):
    tab.get_by_role("tab", name=view, exact=True).click()
    tab.get_by_role("heading", name=view, level=1, exact=True).wait_for()
    tab.wait_for_url(f"**view={view.lower().replace('-', '')}*")  # which a reload and the back button go by


def idle(tab):
    """Until nothing is computed for it."""
    tab.wait_for_function("!document.querySelector('[aria-busy]')", timeout=SLOW)


def told(tab, text):
    """Wait for a message; each is heard once."""
    hear = "text => { const at = said.findIndex(one => one.includes(text)); return at >= 0 && said.splice(at, 1) }"
    tab.wait_for_function(hear, arg=text)


def button(tab, name):
    return tab.get_by_role("button", name=name)


def save(tab, name):
    """Save, and wait until it is done: an earlier notice may still be shown."""
    button(tab, name).click()
    button(tab, name).wait_for(state="hidden")
