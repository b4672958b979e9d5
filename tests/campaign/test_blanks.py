"""What `check` says of the pattern of blanks."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from bomi.campaign.blanks import notes, rank_sum
from bomi.campaign.experiments import check
from bomi.campaign.sheet import parse_sheet
from bomi.campaign.toml import parse_campaign

COLUMNS = ["a", "b", "c"]


def told(blank, more=""):
    """What is noted of 60 rows whose second column has blanks at random, or where the first or the outcome is large."""
    rng = np.random.default_rng(1)
    x = rng.random((60, 3))
    y = 3 * x[:, 0] + x[:, 2] + 0.3 * rng.normal(size=60)
    chance = {"random": np.full(60, 0.4), "column": x[:, 0] > 0.5, "outcome": y > np.median(y)}[blank]
    lost = rng.random(60) < 0.8 * chance
    lines = [
        f"{a:.4f},{'' if gone else f'{b:.4f}'},{c:.4f},{t:.4f}" for (a, b, c), gone, t in zip(x, lost, y, strict=True)
    ]
    sections = "".join(f"[parameters.{name}]\nrange = [-1, 2]\n" + (more if name == "b" else "") for name in COLUMNS)
    campaign = parse_campaign(Path("campaign.toml"), f'[objective]\nname = "y"\n{sections}'.encode())
    sheet = parse_sheet(Path("lab.csv"), "\n".join(["a,b,c,y", *lines]).encode(), COLUMNS)
    return [note for note in notes(check(sheet, campaign)) if "accident" in note]


def test_blanks_that_are_no_accident_are_told():
    assert told("random") == []
    assert [note.split(",")[0] for note in told("column")] == ["'b' is blank more often where 'a' is large"]
    assert [note.split(",")[0] for note in told("outcome")] == ["'b' is blank more often where 'y' is large"]


def test_who_has_said_what_a_blank_means_is_not_asked():
    assert told("outcome", 'blank = "unknown"\n') == []


@pytest.mark.parametrize("seed", range(5))
def test_rank_sums_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    numbers, marked = rng.integers(0, 9, 40).astype(float), rng.random(40) < 0.3
    expected = mannwhitneyu(numbers[marked], numbers[~marked], use_continuity=False, method="asymptotic").pvalue
    assert math.erfc(abs(rank_sum(numbers, marked)) / math.sqrt(2)) == pytest.approx(expected)
