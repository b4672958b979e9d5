"""The robot and its measurements."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bomi.benchmarks.functions import FloatArray, number_within
from bomi.benchmarks.robot import driving
from bomi.benchmarks.robot.copper import CopperField, read_copper, synthetic_copper
from bomi.benchmarks.robot.driving import Drive
from bomi.benchmarks.robot.paths import Planner
from bomi.benchmarks.robot.scene import BOUNDS, compile_model, load_mujoco, scene, to_metres

FILE_VARIABLE = "BOMI_BRENDA_FILE"
"""The environment variable that may name a file of copper samples."""


class Robot:
    """A robot at its start, over unknown copper.

    `copper` is a file of samples (see `read_copper`). By default it is the file that the environment variable
    BOMI_BRENDA_FILE names, or else the synthetic field.
    """

    def __init__(self, copper: Path | str | None = None) -> None:
        load_mujoco()  # raises an error now rather than at the first drive
        file = copper or os.environ.get(FILE_VARIABLE)
        self.copper: CopperField = read_copper(file) if file else synthetic_copper()

    def drive(self, x: float, y: float, velocity: float) -> Drive:
        """Drive towards (x, y) with the wheels at `velocity` degrees a second."""
        return self._drive(*_checked(X=x, Y=y, velocity=velocity))

    def measure(self, x: float, y: float, z: float, velocity: float) -> float:
        """Drive towards (x, y), drill to z where the robot then stands, and return the copper (%) there."""
        return self.survey(x, y, z, velocity)[1]

    def survey(self, x: float, y: float, z: float, velocity: float) -> tuple[Drive, float]:
        """The drive and the copper (%) that was measured after it."""
        x, y, z, velocity = _checked(X=x, Y=y, Z=z, velocity=velocity)
        drive = self._drive(x, y, velocity)
        return drive, self.copper.at(*drive.place, z)

    def render(self, drive: Drive | None = None, *, height: int = 800) -> NDArray[np.uint8]:
        """The scene from above, (height, width, 3): planned and driven path, and the robot where the drive ended."""
        from bomi.benchmarks.robot import pictures

        return pictures.render(_model(), scene(), drive, height=height)

    def animate(
        self, drive: Drive, path: Path | str, *, height: int = 400, done: Callable[[int, int], None] | None = None
    ) -> Path:
        """Write the drive as an animated GIF; `done(frames, all)` is called after each frame."""
        from bomi.benchmarks.robot import pictures

        return pictures.animate(_model(), scene(), drive, Path(path), height=height, done=done)

    def _drive(self, x: float, y: float, velocity: float) -> Drive:
        goal = to_metres(np.array([x, y]))
        corners = _planner().plan(goal)
        return driving.drive(_model(), corners, velocity, snapped=math.dist(corners[-1], goal) > 1e-9)


@functools.cache
def _planner() -> Planner:
    return Planner(scene())


@functools.cache
def _model() -> Any:
    return compile_model(scene())


def _checked(**values: object) -> FloatArray:
    """The values as numbers, each within its bounds."""
    return np.array([number_within(name, value, *BOUNDS[name]) for name, value in values.items()])
