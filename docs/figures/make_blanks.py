"""The figure of docs/blanks.md, from fixed seeds: `python docs/figures/make_blanks.py` writes it beside itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
from make_figures import BLUE, GREEN, GREY, HERE, ORANGE, RED, STYLE
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import bomi

ROWS, TRUE = 60, 205.0  # °C, of the furnace run


def alloys(*, none: bool) -> tuple[pd.DataFrame, bomi.Optimizer]:
    """Half of the rows do not name the molybdenum: there was none of it, or its value was lost."""
    rng = np.random.default_rng(0)
    heat, moly, blank = rng.uniform(120, 240, ROWS), rng.uniform(0.3, 1.5, ROWS), np.arange(ROWS) % 2 == 0
    moly = np.where(blank & none, 0.0, moly)
    strength = 40 * np.sin(heat / 40) + 60 * moly + rng.normal(size=ROWS)
    table = pd.DataFrame({"heat": heat, "Mo": np.where(blank, np.nan, moly), "strength": strength})
    optimizer = bomi.Optimizer({"heat": (120, 240), "Mo": bomi.Real(0, 1.5)}, objective="strength", seed=0)
    optimizer.tell(table)
    return table, optimizer


def draw_meaning(axes: Axes, title: str, *, none: bool) -> None:
    """Rows with a value, and where the blanks are drawn."""
    table, optimizer = alloys(none=none)
    rest = table["strength"] - 40 * np.sin(table["heat"] / 40)  # what the heat does not explain
    axes.plot(table["Mo"], rest, "o", color=GREY, ms=4, label="recorded")
    gaps = optimizer.gap_draws()
    for i, gap in enumerate(gaps):
        some = gap.draws[:: max(len(gap.draws) // 8, 1)]
        axes.plot(
            some, [rest[gap.row]] * len(some), "o", color=BLUE, ms=3, alpha=0.35, label=None if i else "blanks, drawn"
        )
    share = np.mean([np.mean([draw == 0 for draw in gap.draws]) for gap in gaps])
    axes.set(title=title, xlabel="Mo, %", ylabel="strength without the part of the heat")
    axes.text(0.97, 0.03, f"blanks mean 0 with\nprobability {share:.2f}", transform=axes.transAxes, ha="right")
    axes.legend(loc="upper left", handletextpad=0.2)


def draw_shared(axes: Axes) -> None:
    """The unknown temperature of one furnace run, by one of its specimens and by six."""
    rng = np.random.default_rng(1)
    heat = rng.uniform(120, 240, 14)
    hours = rng.uniform(1, 48, 20)
    every = np.concatenate([np.full(6, TRUE), heat])
    hard = 140 - 0.5 * (every - 120) + 0.4 * hours + 6 * rng.normal(size=20)
    run = ["A"] * 6 + [None] * 14
    known = np.where(np.arange(20) < 6, np.nan, every)
    table = pd.DataFrame({"temperature": known, "hours": hours, "run": run, "hardness": hard})
    for within, colour, label in ((None, ORANGE, "each specimen alone"), ("run", GREEN, "six specimens, one value")):
        space = {"temperature": bomi.Real(120, 240, same_within=within), "hours": (1, 48)}
        optimizer = bomi.Optimizer(space, objective="hardness", seed=0)
        optimizer.tell(table)
        draws = [gap.draws for gap in optimizer.gap_draws()]
        for i, some in enumerate(draws if within is None else draws[:1]):
            style = {"histtype": "step" if within is None else "stepfilled", "alpha": 0.8, "color": colour}
            axes.hist(some, bins=np.linspace(120, 240, 31), density=True, label=None if i else label, **style)
    axes.set_ylim(0, 1.35 * axes.get_ylim()[1])  # room for the legend
    axes.axvline(TRUE, color=RED, lw=1.5)
    axes.text(TRUE + 2, axes.get_ylim()[1] * 0.97, "true", color=RED, va="top")
    axes.set(title="One value for six rows", xlabel="temperature of the run, °C", yticks=[])
    axes.legend(loc="upper left")


def main() -> None:
    """Draw it."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
        draw_meaning(axes[0], "Blanks where there was none", none=True)
        draw_meaning(axes[1], "Blanks that were lost", none=False)
        draw_shared(axes[2])
        figure.savefig(HERE / "blanks.png")


if __name__ == "__main__":
    main()
