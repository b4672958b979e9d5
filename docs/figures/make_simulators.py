"""The figures of docs/simulators.md: `python docs/figures/make_simulators.py` writes them beside itself.

The robot's need the extra `bomi[robot]` and EGL or OSMesa; the map drives it about 400 times, in a minute or two.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from bomi.benchmarks import heat_figures
from bomi.benchmarks.heat_treatment import HeatTreatment
from bomi.benchmarks.robot import BOUNDS, Robot
from bomi.benchmarks.robot.pictures import copper_figure, scene_figure
from bomi.benchmarks.robot.scene import scene

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


if __name__ == "__main__":
    heat()
    robot_scene(Robot())
    copper_map(Robot())
