"""The figure of docs/equipment.md, from fixed seeds: `python docs/figures/make_equipment.py` writes it."""

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


def hardness(temperature: Array) -> Array:
    """MPa; too hot is worse than too cool."""
    hot = np.clip(temperature - 200, 0, None)
    cool = np.clip(200 - temperature, 0, None)
    return 150 * np.exp(-0.5 * (cool / 40) ** 2 - 0.5 * (hot / 8) ** 2)


def furnace(asked: Array, rng: np.random.Generator) -> Array:
    """What becomes of a request: every second time it overshoots, the more the hotter."""
    return asked + (rng.random(len(asked)) < 0.5) * rng.exponential(0.12 * (asked - 120))


def campaign(rows: int = 40) -> bomi.Optimizer:
    """An optimizer that has been told this furnace's history."""
    rng = np.random.default_rng(0)
    asked = np.linspace(125, 235, rows).round()
    done = furnace(asked, rng)
    lost = rng.random(rows) < 0.2
    table = {"temperature": np.where(lost, np.nan, done.round(1)), "asked.temperature": asked}
    optimizer = bomi.Optimizer({"temperature": (120, 260)}, objective="hardness", seed=0)
    optimizer.tell(pd.DataFrame({**table, "hardness": hardness(done) + rng.normal(0, 1, rows)}))
    return optimizer


def main() -> None:
    """Draw it."""
    optimizer = campaign()
    along = np.linspace(125, 240, 70)
    settings = [{"temperature": float(value)} for value in along]
    place, asking = (np.array(found) for found in (optimizer.predict(settings), optimizer.predict_asked(settings)))
    truth = [hardness(furnace(np.full(20_000, value), np.random.default_rng(1))).mean() for value in along]
    likely, done = optimizer.done_of(((along - 120) / 140)[:, None])
    order = done[..., 0].argsort(0)
    values = np.take_along_axis(done[..., 0], order, 0) * 140 + 120
    levels = np.take_along_axis(likely, order, 0).cumsum(0)
    low, high = (values[(levels >= level - 1e-9).argmax(0), np.arange(len(along))] for level in (0.05, 0.95))

    matplotlib.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    frame = optimizer.frame()
    left.fill_between(along, low, high, color=ORANGE, alpha=0.3, linewidth=0, label="90 % of what is done, as learned")
    left.plot(along, along, color=GREY, linewidth=0.9, linestyle="--", label="as asked")
    left.scatter(frame["asked.temperature"], frame["temperature"], s=22, color=BLUE, zorder=3, label="recorded")
    left.set(xlabel="asked (°C)", ylabel="done (°C)", ylim=(115, 265))
    left.legend(frameon=False, fontsize=9)
    right.plot(along, place[:, 0], color=BLUE, label="if it is done exactly")
    right.fill_between(
        along, asking[:, 0] - asking[:, 1], asking[:, 0] + asking[:, 1], color=ORANGE, alpha=0.25, linewidth=0
    )
    right.plot(along, asking[:, 0], color=ORANGE, label="as this furnace does it, ± 1 sd")
    right.plot(along, truth, color=GREY, linestyle="--", linewidth=1, label="the same, true")
    for risk, color in (("nominal", BLUE), ("expected", ORANGE)):
        setting = optimizer.best(risk).setting
        assert setting is not None
        right.axvline(float(setting["temperature"]), color=color, linewidth=0.9, linestyle=":")
    right.set(xlabel="asked (°C)", ylabel="expected hardness (MPa)", ylim=(0, 190))
    right.legend(frameon=False, fontsize=9, loc="upper left")
    figure.savefig(Path(__file__).with_name("equipment.png"), dpi=130)


if __name__ == "__main__":
    main()
