"""The figure of docs/groups.md, from fixed seeds: `python docs/figures/make_groups.py` writes it."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from numpy.typing import NDArray

import bomi

Array = NDArray[np.float64]
BLUE, ORANGE, RED, GREY = "#0072B2", "#E69F00", "#D55E00", "#777777"  # told apart by every eye
DAYS, A_DAY = 9, 4


def strength(temperature: Array) -> Array:
    """MPa, on an ordinary day."""
    return 140 - 0.012 * (temperature - 185) ** 2


def history() -> tuple[pd.DataFrame, Array, Array]:
    """A lab with good and bad days, whose press wears out; the true offsets and the true drift beside it."""
    rng = np.random.default_rng(3)
    day = np.repeat(np.arange(DAYS), A_DAY)
    luck, worn = 8 * rng.normal(size=DAYS), np.linspace(0, -25, DAYS * A_DAY)
    temperature = rng.uniform(120, 240, DAYS * A_DAY).round()
    outcome = strength(temperature) + luck[day] + worn + rng.normal(size=len(day))
    table = pd.DataFrame({"temperature": temperature, "strength": outcome.round(1), "day": day + 1})
    table.loc[rng.random(len(day)) < 0.15, "temperature"] = np.nan
    return table, luck, worn


def main() -> None:
    """Draw it."""
    table, luck, worn = history()
    space = {"temperature": (120, 240)}
    plain = bomi.Optimizer(space, objective="strength", seed=0)
    told = bomi.Optimizer(space, objective="strength", groups=["day"], drift=True, seed=0)
    for optimizer in (plain, told):
        optimizer.tell(table)
    along = np.linspace(120, 240, 80)
    settings = [{"temperature": float(value)} for value in along]
    without = np.array(plain.predict(settings))
    today = np.array(told.predict(settings, given={"day": DAYS}))
    offsets, drift = told.offsets().iloc[:-1], told.drift()

    matplotlib.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(11.5, 3.8), layout="constrained", width_ratios=[5, 4, 4]
    )
    rows = left.scatter(table["temperature"], table["strength"], c=table["day"], cmap="viridis", s=26, zorder=3)
    figure.colorbar(rows, ax=left, label="day", shrink=0.8)
    for found, color, label in ((without, GREY, "days ignored"), (today, BLUE, f"for day {DAYS}")):
        left.fill_between(along, found[:, 0] - found[:, 1], found[:, 0] + found[:, 1], color=color, alpha=0.2, lw=0)
        left.plot(along, found[:, 0], color=color, label=label)
    true = strength(along) + luck[-1] + worn[-A_DAY:].mean()
    left.plot(along, true, color=RED, linestyle="--", linewidth=1.2, label=f"day {DAYS}, true")
    for optimizer, color in ((plain, GREY), (told, BLUE)):
        setting = optimizer.best().setting
        assert setting is not None
        left.axvline(float(setting["temperature"]), color=color, linewidth=0.9, linestyle=":")
    left.set(xlabel="temperature (°C)", ylabel="strength (MPa)")
    left.legend(frameon=False, fontsize=9, loc="lower center")

    middle.errorbar(np.arange(DAYS) + 1, offsets["offset"], 1.645 * offsets["sd"], fmt="o", color=BLUE, label="learned")
    middle.plot(np.arange(DAYS) + 1, luck - luck.mean(), "x", color=RED, label="true")
    middle.axhline(0, color=GREY, linewidth=0.8)
    middle.set(xlabel="day", ylabel="offset (MPa)", xticks=range(1, DAYS + 1))
    middle.legend(frameon=False, fontsize=9)

    low, high = (drift["change"] + side * 1.645 * drift["sd"] for side in (-1, 1))
    right.fill_between(drift["time"], low, high, color=ORANGE, alpha=0.3, linewidth=0)
    right.plot(drift["time"], drift["change"], color=ORANGE, label="learned")
    right.plot(worn - worn[-1], color=RED, linestyle="--", linewidth=1.2, label="true")
    right.axhline(0, color=GREY, linewidth=0.8)
    right.set(xlabel="row", ylabel="higher than now by (MPa)")
    right.legend(frameon=False, fontsize=9)
    figure.savefig(Path(__file__).with_name("groups.png"), dpi=130)


if __name__ == "__main__":
    main()
