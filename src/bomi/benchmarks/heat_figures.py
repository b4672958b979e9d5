"""A picture of one heat treatment: temperature, precipitates and strength along time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bomi.analysis.drawing import BLUE, INK, VERMILION
from bomi.benchmarks.heat_treatment import Array, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADES = "Blues"
VISIBLE_FRACTION = 1e-6  # below this volume fraction the mean radius is not drawn


def figure(trace: Trace) -> Figure:
    """Temperature on top, the radii of the precipitates below it, and the strength at the bottom."""
    from matplotlib.figure import Figure  # loaded only when needed
    from matplotlib.ticker import MaxNLocator

    drawing = Figure(figsize=(7.5, 7.2), layout="constrained")
    top, middle, bottom = drawing.subplots(3, 1, sharex=True, height_ratios=(1.0, 1.35, 1.15))
    hours = trace.time / 3600
    starts = hours[1:][np.diff(trace.temperature) != 0]
    for axes in (top, middle, bottom):
        axes.spines[["top", "right"]].set_visible(False)
        for start in starts:
            axes.axvline(start, color="#AAAAAA", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    _draw_temperature(top, trace, hours)
    _draw_radii(middle, trace, hours)
    _draw_strength(bottom, trace, hours)
    bottom.set_xlabel("time (h)")
    bottom.set_xlim(0, hours[-1])
    bottom.xaxis.set_major_locator(MaxNLocator(9, steps=[1, 2, 5, 10]))
    drawing.align_ylabels()
    return drawing


def _draw_temperature(axes: Axes, trace: Trace, hours: Array) -> None:
    axes.plot(hours, trace.temperature, color=VERMILION, linewidth=2)
    axes.fill_between(hours, trace.temperature, color=VERMILION, alpha=0.12, linewidth=0)
    breaks = np.flatnonzero(np.diff(trace.temperature)) + 1
    for stage in np.split(np.arange(hours.size), breaks):
        start, end, temperature = hours[stage[0]], hours[stage[-1]], trace.temperature[stage[0]]
        if end - start > 0.08 * hours[-1]:  # room for its label
            place = ((start + end) / 2, temperature)
            axes.annotate(
                f"{temperature:.0f} °C",
                place,
                (0, 4),
                textcoords="offset points",
                ha="center",
                color=VERMILION,
            )
    axes.set_ylabel("temperature (°C)")
    axes.set_ylim(0, 1.2 * trace.temperature.max())


def _draw_radii(axes: Axes, trace: Trace, hours: Array) -> None:
    """The distribution by volume as shades, and the mean radius over them."""
    from matplotlib.ticker import FuncFormatter

    axes.set_ylabel("precipitate radius (nm)")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(0.3, 30)
    visible = trace.fraction > VISIBLE_FRACTION
    if not visible.any():
        axes.text(0.5, 0.5, "no precipitates", transform=axes.transAxes, ha="center", color=INK)
        return
    edges, volumes = trace.edges * 1e9, trace.distributions * (4 / 3 * np.pi * trace.radii**3)
    per_log_radius = volumes / np.diff(np.log(edges)) * 100  # in per cent of the alloy
    shown = np.ma.masked_less(per_log_radius, 0.01 * per_log_radius.max())
    shades = axes.pcolormesh(hours, edges, shown[1:].T, cmap=SHADES, vmin=0, rasterized=True, zorder=0)
    mean = np.where(visible, trace.mean_radius * 1e9, np.nan)
    axes.plot(hours, mean, color=INK, linewidth=2, label="mean radius")
    axes.set_ylim(0.3, max(30.0, 2 * edges[1:][shown.count(axis=0) > 0].max()))
    axes.legend(loc="lower right", frameon=False)
    bar = axes.figure.colorbar(shades, ax=axes, pad=0.01, aspect=18)
    bar.set_label("volume per unit of ln r (%)")
    bar.outline.set_visible(False)


def _draw_strength(axes: Axes, trace: Trace, hours: Array) -> None:
    end = (hours[-1], trace.strength[-1])
    axes.plot(hours, trace.strength, color=BLUE, linewidth=2)
    axes.plot(*end, "o", color=BLUE, clip_on=False)
    axes.annotate(
        f"{end[1]:.0f} MPa",
        end,
        (-8, 8),
        textcoords="offset points",
        ha="right",
        color=BLUE,
        fontweight="bold",
    )
    axes.set_ylabel("yield strength (MPa)")
    axes.set_ylim(0, 1.25 * trace.strength.max())
