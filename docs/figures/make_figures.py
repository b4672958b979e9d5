"""The figures of docs/method.md, from fixed seeds: `python docs/figures/make_figures.py` writes them beside itself."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from numpy.typing import NDArray

import bomi
from bomi.impute.table import Table
from bomi.posterior.codes import to_codes
from bomi.posterior.execution import density
from bomi.posterior.priors import GapPriors, gap_priors
from bomi.posterior.sampler import inverse_of, kernel_of, sweep

Array = NDArray[np.float64]

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#777777"  # told apart by every eye
STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "figure.dpi": 140,
    "savefig.bbox": "tight",
}


# --- one gap, as evidence comes in ---------------------------------------------------------------------------------

LOW, HIGH, ASKED, TRUE, SEEN = 120.0, 240.0, 160.0, 169.0, 129.0  # °C, and the hardness of the row with the gap
ROWS = (
    (),
    (128.0, 186.0, 232.0),
    (128.0, 186.0, 232.0, 140.0, 152.0, 160.0, 174.0, 196.0, 207.0, 219.0),
)


def hardness(temperature: Array | float) -> Array:
    """A hump with a steep and a gentle side."""
    away = np.asarray(temperature) - 186.0
    return np.asarray(60 + 90 * np.exp(-0.5 * (away / np.where(away < 0, 23.0, 27.0)) ** 2))


def furnace(rows: tuple[float, ...], asked: float | None, seed: int) -> bomi.Optimizer:
    """Told some rows, and one more whose temperature nobody knows."""
    noise = np.random.default_rng(1).normal(0, 1.0, len(ROWS[-1]))
    optimizer = bomi.Optimizer({"temperature": (LOW, HIGH)}, objective="hardness", seed=seed)
    optimizer.tell(
        pd.DataFrame(
            {
                "temperature": [*rows, None],
                "hardness": [*(hardness(np.array(rows)) + noise[: len(rows)]), SEEN],
                "asked.temperature": [*[None] * len(rows), asked],
            }
        )
    )
    return optimizer


def prior_draws(optimizer: bomi.Optimizer) -> Array:
    """Draws of the gap before its outcome is looked at."""
    rows = optimizer.observations.done
    table = Table.of(optimizer.space, rows, torch.zeros(len(rows), dtype=torch.float64))
    priors = gap_priors(table, to_codes(table, table.inputs), 1)
    generator = torch.Generator().manual_seed(0)
    e = torch.randn(1, 20_000, 1, 1, generator=generator, dtype=torch.float64)
    return LOW + (HIGH - LOW) * priors.draw(e).flatten().numpy()


def posterior_draws(rows: tuple[float, ...], asked: float | None) -> Array:
    """Draws of the gap from eight fresh optimizers."""
    return np.array([furnace(rows, asked, seed).gap_draws()[-1].draws for seed in range(8)], dtype=float).flatten()


def gap_figure() -> None:
    """The posterior of one temperature: nothing but the prior, three other rows, ten other rows."""
    grid = np.linspace(LOW, HIGH, 241)
    figure, axes = plt.subplots(3, 3, figsize=(10.5, 6.4), sharex=True, height_ratios=(1.7, 1, 1), layout="constrained")
    titles = ("Before its outcome is used", "Outcome, and 3 other rows", "Outcome, and 10 other rows")
    for column, (rows, title) in enumerate(zip(ROWS, titles, strict=True)):
        top = axes[0, column]
        top.set_title(title)
        top.plot(grid, hardness(grid), color=GREY, ls=(0, (1, 1.5)), lw=1.6, label="true curve (nobody knows it)")
        if rows:
            optimizer = furnace(rows, ASKED, 0)
            mean, sd = optimizer.expected(((grid - LOW) / (HIGH - LOW))[:, None])
            top.fill_between(grid, mean - 2 * sd, mean + 2 * sd, color=BLUE, alpha=0.15, lw=0)
            top.plot(grid, mean, color=BLUE, label="the model, ± 2 sd")
            known = optimizer.frame().iloc[:-1]
            top.plot(known["temperature"], known["hardness"], "o", color="black", ms=4.5, label="rows without a gap")
            top.axhline(SEEN, color=ORANGE, lw=1.8, label="outcome of the row with the gap")
        top.plot(TRUE, SEEN, "o", mfc="white", mec="black", ms=6, label="where that row really is")
        top.set_ylim(35, 182)
        top.tick_params(labelleft=column == 0)
        for axis, asked in ((axes[1, column], ASKED), (axes[2, column], None)):
            draws = posterior_draws(rows, asked) if rows else prior_draws(furnace(rows, asked, 0))
            strip(axis, draws, ORANGE if rows else "#BBBBBB")
            axis.axvline(TRUE, color="black", lw=1.2)
            if asked:
                axis.axvline(asked, color=BLUE, lw=1.2, ls="--")
    axes[0, 0].set_ylabel("hardness")
    axes[1, 0].set_ylabel(f"{ASKED:g} °C\nwas asked")
    axes[2, 0].set_ylabel("an old blank,\nnothing asked")
    axes[1, 0].annotate("asked", (ASKED, 0.98), (-4, -9), **AT_TOP, ha="right", color=BLUE)
    axes[1, 0].annotate("really", (TRUE, 0.98), (4, -9), **AT_TOP, ha="left", color="black")
    axes[2, 0].annotate("really", (TRUE, 0.98), (4, -9), **AT_TOP, ha="left", color="black")
    for axis in axes[2]:
        axis.set_xlabel("temperature of the row with the gap, °C")
    handles, labels = axes[0, 2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9, columnspacing=1.2)
    figure.savefig(HERE / "gap.png")
    plt.close(figure)


AT_TOP = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "fontsize": 9}


def strip(axis: Axes, draws: Array, color: str) -> None:
    """Draws as a histogram with a scale of its own: only its shape matters."""
    axis.hist(draws, bins=60, range=(LOW, HIGH), density=True, color=color)
    axis.set_ylim(0, 1.3 * axis.get_ylim()[1])
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)


# --- how far the equipment strays ----------------------------------------------------------------------------------

OVERSHOOT, SPREAD = 0.065, 0.02  # of the range: this thermostat overshoots


def strayed(events: int, seed: int = 3) -> pd.DataFrame:
    """Forty rows that went as asked, and others whose first parameter strayed and is unknown."""
    rng = np.random.default_rng(seed)
    asked = rng.uniform(0.0, 0.85, (40 + events, 2))
    actual = asked.copy()
    actual[40:, 0] += rng.normal(OVERSHOOT, SPREAD, events)
    outcome = np.sin(6 * actual[:, 0]) + 0.5 * actual[:, 1] + rng.normal(0, 0.02, len(actual))
    recorded = actual.copy()
    recorded[40:, 0] = np.nan
    return pd.DataFrame(
        {"a": recorded[:, 0], "b": recorded[:, 1], "y": outcome, "asked.a": asked[:, 0], "asked.b": asked[:, 1]}
    )


def learned_straying(events: int, offsets: Array) -> Array:
    """Densities of how far a gap lies from the asked value, one for each of many draws of the weights.  (M, offsets)"""
    optimizer = bomi.Optimizer({"a": (0, 1), "b": (0, 1)}, seed=0)
    optimizer.tell(strayed(events))
    fit = optimizer._known.fit
    hyper, table = fit.model.hyper, fit.table
    codes = to_codes(table, fit.completed.inputs)
    priors = gap_priors(table, to_codes(table, table.inputs), len(codes))
    generator = torch.Generator().manual_seed(0)
    weights = [priors.pi]
    if events:
        P = inverse_of(kernel_of(table), hyper, fit.completed.inputs)
        weights = []
        for turn in range(60):
            P, priors = sweep(codes, P, table, priors, hyper, generator)
            weights += [priors.pi] if turn >= 10 else []
    return np.concatenate([mixture(priors, pi, offsets) for pi in weights])


def mixture(priors: GapPriors, pi: torch.Tensor, offsets: Array) -> Array:
    """The density of the first parameter's straying from the middle of the range.  (Q, offsets)"""
    asked = torch.full((len(offsets),), 0.5, dtype=torch.float64)
    each = density(asked + torch.from_numpy(offsets), asked)  # (offsets, K)
    return (pi[:, 0] @ each.T).numpy()


def straying_figure() -> None:
    """The learned distribution of how far equipment strays, beside the true one."""
    offsets = np.linspace(-0.25, 0.25, 401)
    truth = np.exp(-0.5 * ((offsets - OVERSHOOT) / SPREAD) ** 2) / (SPREAD * np.sqrt(2 * np.pi))
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 2.9), sharex=True, sharey=True, layout="constrained")
    for axis, events in zip(axes, (0, 5, 30), strict=True):
        densities = learned_straying(events, offsets)
        low, high = np.quantile(densities, [0.05, 0.95], axis=0)
        if events:
            axis.fill_between(100 * offsets, low, high, color=BLUE, alpha=0.18, lw=0, label="90 % of its draws")
        axis.plot(100 * offsets, densities.mean(0), color=BLUE, lw=2, label="learned (mean of its draws)")
        axis.plot(100 * offsets, truth, color="black", ls="--", lw=1.3, label="true")
        axis.axvline(0, color=GREY, lw=0.8)
        axis.set_ylim(0, 29)
        axis.set_title(f"after {events} events" if events else "before any event")
        axis.set_xlabel("actual − asked, % of the range")
        axis.set_yticks([])
        axis.spines["left"].set_visible(False)
    handles, labels = axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    figure.savefig(HERE / "straying.png")
    plt.close(figure)


# --- columns that move together ------------------------------------------------------------------------------------


def sheet_figure() -> None:
    """A sheet whose second column follows the first, with an outcome that says nothing of it."""
    rng = np.random.default_rng(5)
    first = np.linspace(0.08, 0.88, 60)
    second = first + rng.normal(0, 0.05, 60)
    gap = np.zeros(60, dtype=bool)
    gap[1::3] = True
    optimizer = bomi.Optimizer({"first": (0, 1), "second": (0, 1)}, seed=0)
    optimizer.tell(pd.DataFrame({"first": first, "second": np.where(gap, np.nan, second), "y": rng.normal(0, 1, 60)}))
    found = optimizer.gaps()
    place = found["row"].to_numpy()
    figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
    axis.axhline(np.mean(second[~gap]), color=GREY, lw=1.2, ls=":", label="what filling with the mean would say")
    axis.plot(first[~gap], second[~gap], "o", color="black", ms=4, label="rows that know both")
    axis.vlines(
        first[place], found["5 %"], found["95 %"], color=BLUE, lw=6, alpha=0.35, label="gaps: 90 % of their draws"
    )
    axis.plot(first[place], found["50 %"], "_", color=BLUE, ms=9, mew=2, label="gaps: median of their draws")
    axis.plot(first[gap], second[gap], "x", color=RED, ms=5, mew=1.6, label="their true values", zorder=5)
    axis.set_xlabel("first column")
    axis.set_ylabel("second column")
    axis.legend(fontsize=9, loc="upper left")
    axis.set_ylim(-0.02, 1.2)
    figure.savefig(HERE / "sheet.png")
    plt.close(figure)


if __name__ == "__main__":
    matplotlib.use("agg")
    with plt.rc_context(STYLE):
        gap_figure()
        straying_figure()
        sheet_figure()
