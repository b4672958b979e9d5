"""The page with two outcomes, known errors of one of them, and a failed experiment."""

import csv
import re

from .driving import told

TOML = """
[objectives.yield]
goal = "maximize"
unit = "%"

[objectives.impurity]
goal = "minimize"

[parameters.temperature]
range = [40, 120]
unit = "°C"

[parameters.catalyst]
values = ["A", "B"]

[method]
name = "mean"
"""
ROWS = [(40 + 8 * i, "AB"[i % 2], 60 - (i - 5) ** 2, 1 + 0.2 * i) for i in range(10)]
SLOW = 120_000


def test_two_outcomes_and_their_trade_offs(tmp_path, served, tab):
    table = tmp_path / "reactor.csv"
    lines = ["id,temperature,catalyst,yield,impurity,yield.sd,asked.temperature,asked.catalyst"]
    lines += [f"{i},{t},{c},{y},{z:.1f},1,," for i, (t, c, y, z) in enumerate(ROWS)]
    lines += ["lost,,A,55,1.9,,,", "broken,100,B,failed,failed,,,", "now,88,A,,,,90,A"]
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "campaign.toml").write_text(TOML, encoding="utf-8")
    page = tab(served(table).address)
    page.get_by_text("13 rows, 11 with an outcome, 1 waiting, 1 failed. 1 value missing, 0 uncertain").wait_for()
    # One outcome is there before the other.
    page.get_by_role("tab", name="Suggest").click()
    page.get_by_role("button", name="Enter result").click()
    page.get_by_label("yield (%)").fill("58.5")
    page.get_by_label("its standard error, if known").fill("0.5")
    page.get_by_role("button", name="Save result").click()
    page.get_by_text("Saved. Suggestions").wait_for()
    page.locator("dd", has_text="58.5").wait_for()
    page.get_by_role("button", name="Enter result").click()
    assert page.get_by_label("yield (%)").input_value() == "58.5"
    page.get_by_label("impurity").fill("1.7")
    page.get_by_role("button", name="Save result").click()
    page.get_by_text("No row awaits its outcome").wait_for()
    with open(table, newline="", encoding="utf-8") as file:
        last = list(csv.DictReader(file))[-1]
    assert last == {
        "id": "now", "temperature": "88", "catalyst": "A", "yield": "58.5", "impurity": "1.7", "yield.sd": "0.5",
        "asked.temperature": "90", "asked.catalyst": "A",
    }  # fmt: skip
    page.get_by_role("button", name="Suggest").click()
    card = page.get_by_role("region", name="Suggestion 1")
    card.wait_for(timeout=SLOW)
    assert re.search(r"± [\d.]+\s%\nexpected yield", card.inner_text())
    assert "expected impurity" in card.inner_text()
    # The front, from little impurity to much yield, and one outcome at a time below it.
    page.get_by_role("tab", name="Progress").click()
    page.get_by_role("rowheader", name="2", exact=True).wait_for(timeout=SLOW)
    page.get_by_text("Maximize yield, minimize impurity").wait_for()
    page.get_by_role("heading", name="yield over time, more is better").wait_for()
    page.get_by_role("button", name="impurity", exact=True).click()
    page.get_by_role("heading", name="impurity over time, less is better").wait_for()
    page.get_by_role("button", name="Look around it").first.click()
    page.wait_for_timeout(500)
    page.get_by_role("tab", name="Set-up").click()
    page.get_by_label("Column of the outcome").nth(1).wait_for()
    before = (tmp_path / "campaign.toml").read_text(encoding="utf-8")
    page.get_by_role("button", name="Remove impurity").click()
    page.get_by_role("button", name="Save").click()
    told(page, "Saved as campaign.toml")
    after = (tmp_path / "campaign.toml").read_text(encoding="utf-8")
    assert "[objectives.impurity]" in before
    assert '[objective]\nname = "yield"' in after
