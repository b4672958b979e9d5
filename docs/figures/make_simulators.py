"""The figures of docs/simulators.md: `python docs/figures/make_simulators.py` writes them beside itself.

The robot's need the extra `bomi[robot]` and EGL or OSMesa; the map drives it about 400 times, in a minute or two.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image

from bomi.analysis.drawing import BLUE, INK, VERMILION
from bomi.benchmarks import heat_figures
from bomi.benchmarks.functions import FloatArray
from bomi.benchmarks.heat_treatment import HeatTreatment
from bomi.benchmarks.robot import BOUNDS, Robot
from bomi.benchmarks.robot.copper import CopperField
from bomi.benchmarks.robot.driving import Drive
from bomi.benchmarks.robot.scene import CELL, MARGIN, START, Scene, scene, to_units

HERE = Path(__file__).parent
TREATMENT = (87, 296, 315, 298), (5446, 21512, 21173, 18171)  # the best that was found
DRIVE = (2059, 4889, 610)  # X, Y, velocity
FALL = (2900, 4800, 520)
SLOW, FAST = 400, 650
VELOCITIES = (200, 300, 400, 450, 500, 600, 650, 700)


def save(figure, name: str) -> None:  # type: ignore[no-untyped-def]
    """A PNG of few colours: small, and no eye sees the difference."""
    path = HERE / name
    figure.savefig(path, dpi=110, metadata={"Software": None})
    with Image.open(path) as image:
        image.convert("RGB").quantize(192, dither=Image.Dither.NONE).save(path, optimize=True)


def heat() -> None:
    """The best treatment along time."""
    save(heat_figures.figure(HeatTreatment().trace(*TREATMENT)), "heat.png")


def robot_scene(robot: Robot) -> None:
    """One drive from above, and another that moves."""
    drive = robot.drive(*DRIVE)
    save(scene_figure(scene(), robot.render(drive, height=900), drive), "robot.png")
    robot.animate(robot.drive(*FALL), HERE / "robot.gif", height=420)


def copper_map(robot: Robot) -> None:
    """Copper from above and from the side, where robots stop, and the most that each velocity finds."""
    goals = [(x, y) for x in np.linspace(*BOUNDS["X"], 7) for y in np.linspace(*BOUNDS["Y"], 8)]
    depths = np.linspace(*BOUNDS["Z"], 41)
    places = {velocity: np.array([robot.drive(*goal, velocity).place for goal in goals]) for velocity in VELOCITIES}
    best = {
        velocity: max(robot.copper.at(x, y, z) for x, y in stops for z in depths) for velocity, stops in places.items()
    }
    save(copper_figure(robot.copper, {SLOW: places[SLOW], FAST: places[FAST]}, best), "copper.png")


def scene_figure(ground: Scene, picture: NDArray[np.uint8], drive: Drive) -> Figure:
    """The picture of a drive with axes in the units of the mine, and a legend."""
    figure = Figure(figsize=(5.6, 6.6), layout="constrained")
    axes = figure.subplots()
    rows, columns = ground.heights.shape
    corners = to_units(np.array([[-MARGIN, -MARGIN], [(columns - 1) * CELL - MARGIN, (rows - 1) * CELL - MARGIN]]))
    axes.imshow(picture, extent=(corners[0, 0], corners[1, 0], corners[0, 1], corners[1, 1]), aspect="equal")
    axes.plot(*drive.planned[-1], "o", mfc="none", mec=BLUE, ms=10, mew=2)
    axes.plot(*drive.place, "x", color=VERMILION, ms=9, mew=2.5)
    _frame_box(axes)
    axes.set_xlabel("X")
    axes.set_ylabel("Y")
    lines = [
        Line2D([], [], color=BLUE, lw=2, marker="o", mfc="none"),
        Line2D([], [], color=VERMILION, lw=2, marker="x"),
    ]
    labels = ["planned", f"driven: {drive.outcome} after {drive.seconds:.1f} s"]
    figure.legend(lines, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def copper_figure(field: CopperField, reached: dict[float, FloatArray], best: dict[float, float]) -> Figure:
    """Copper from above and from the side, and the most copper that each velocity finds.

    `reached` holds the places (n, 2) where the robot stopped, for some velocities. `best` holds the most copper that
    was measured anywhere, for each velocity.
    """
    x, y, z = (np.linspace(*BOUNDS[name], count) for name, count in (("X", 61), ("Y", 81), ("Z", 31)))
    copper = np.array([[[field.at(a, b, c) for c in z] for a in x] for b in y])  # (y, x, z)
    figure = Figure(figsize=(10.5, 5.6), layout="constrained")
    above, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    side, value = right.get_subplotspec().subgridspec(2, 1, height_ratios=(1, 1)).subplots()
    right.remove()
    top = float(copper.max())
    levels = np.linspace(0, np.ceil(top * 10) / 10, 19)
    above.contourf(x, y, copper.max(axis=2), levels, cmap="YlOrBr")
    above.plot(*to_units(START), "s", color=INK, ms=7)
    above.annotate("start", to_units(START), (9, -3), textcoords="offset points", fontsize=9)
    above.set(xlabel="X", ylabel="Y", title="the most copper at any depth", aspect="equal")
    above.set(xlim=BOUNDS["X"], ylim=BOUNDS["Y"])
    markers = zip(reached.items(), (BLUE, VERMILION), ("o", "x"), strict=False)
    for (velocity, places), colour, marker in markers:
        face = {"mfc": "none"} if marker == "o" else {}
        above.plot(*places.T, marker, color=colour, ms=4.5, mew=1.1, label=f"stops at {velocity:g} °/s", **face)
    above.legend(loc="upper left", fontsize=9, framealpha=0.85)
    filled = side.contourf(x, z, copper.max(axis=0).T, levels, cmap="YlOrBr")
    side.set(xlabel="X", ylabel="Z", title="seen along Y")
    bar = figure.colorbar(filled, ax=side, pad=0.02)
    bar.set_label("copper (%)")
    value.plot(list(best), list(best.values()), "o-", color=BLUE)
    value.axhline(top, color="#777777", lw=1, ls="--")
    value.annotate("in the ground", (min(best), top), (0, 4), textcoords="offset points", fontsize=9, color="#777777")
    value.set(xlabel="velocity (°/s)", ylabel="copper (%)", title="the most that a robot of this velocity finds")
    value.set_ylim(0, 1.15 * top)
    for axes in (side, value):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _frame_box(axes: Axes) -> None:
    (left, right), (low, high) = BOUNDS["X"], BOUNDS["Y"]
    axes.add_patch(Rectangle((left, low), right - left, high - low, fill=False, ec=INK, lw=0.8, ls=(0, (4, 3))))


if __name__ == "__main__":
    heat()
    robot_scene(Robot())
    copper_map(Robot())
