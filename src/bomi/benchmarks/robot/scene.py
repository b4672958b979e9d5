"""The ground that the robot drives on: relief, bumps and trees, all from one seed, and its MuJoCo model.

Lengths are in metres. The origin is the corner of the box with the smallest X and Y. The robot starts at the middle of
the lower edge and looks along Y. `to_metres` and `to_units` convert from the mine's units and back.
"""

from __future__ import annotations

import functools
import importlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from bomi.benchmarks.functions import FloatArray
from bomi.errors import BenchmarkError

BOUNDS = {
    "X": (1899.94, 4301.51),
    "Y": (2177.37, 5400.19),
    "Z": (4330.96, 5467.46),
    "velocity": (200.0, 700.0),
}
"""Where the robot may be sent and drill, in the units of the mine, and the speed of its wheels in degrees a second."""

SCALE = 3.0 / (BOUNDS["Y"][1] - BOUNDS["Y"][0])  # metres for one unit of the mine
WIDTH, LENGTH = ((high - low) * SCALE for low, high in (BOUNDS["X"], BOUNDS["Y"]))
MARGIN = 0.35  # of ground around the box
CELL = 0.02  # of the height field
START = np.array([WIDTH / 2, 0.12])

TREES, BUMPS, RELIEF = 30, 40, 0.05
BUMP_HEIGHTS, BUMP_RADII, TRUNK_RADII = (0.010, 0.038), (0.05, 0.13), (0.015, 0.03)
CLEARING = 0.30  # around the start, and between trunks

WHEEL, TRACK, TORQUE = 0.04, 0.15, 0.2  # radius and distance of the wheels (m), largest torque of the motors (N m)
TIME_STEP = 0.002


def to_metres(place: FloatArray) -> FloatArray:  # (..., 2) -> (..., 2)
    """Convert from (X, Y) of the mine."""
    return np.asarray((place - np.array([BOUNDS["X"][0], BOUNDS["Y"][0]])) * SCALE)


def to_units(place: FloatArray) -> FloatArray:  # (..., 2) -> (..., 2)
    """Convert to (X, Y) of the mine."""
    return np.asarray(place / SCALE + np.array([BOUNDS["X"][0], BOUNDS["Y"][0]]))


@dataclass(frozen=True, eq=False)
class Scene:
    """Trees and the height of the ground."""

    trees: FloatArray  # (t, 3): x, y, radius of the trunk
    heights: FloatArray  # (rows, columns), from the corner (-MARGIN, -MARGIN), columns along x

    def height(self, place: FloatArray) -> float:  # (2,)
        """The height of the ground at the nearest cell."""
        column, row = np.rint((place + MARGIN) / CELL).astype(int)
        rows, columns = self.heights.shape
        return float(self.heights[np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)])


@functools.cache
def scene(seed: int = 0) -> Scene:
    """The scene of a seed."""
    rng = np.random.default_rng(seed)
    columns, rows = (round((side + 2 * MARGIN) / CELL) + 1 for side in (WIDTH, LENGTH))
    x, y = np.meshgrid(np.arange(columns) * CELL - MARGIN, np.arange(rows) * CELL - MARGIN)

    relief = gaussian_filter(rng.normal(size=(rows, columns)), sigma=0.35 / CELL, mode="reflect")
    heights = RELIEF * (relief - relief.min()) / np.ptp(relief)
    # Bumps are paraboloids: a half sphere would have a vertical rim.
    for _ in range(BUMPS):
        place = rng.uniform((0, 0), (WIDTH, LENGTH))
        height, radius = rng.uniform(*BUMP_HEIGHTS), rng.uniform(*BUMP_RADII)
        if np.hypot(*(place - START)) > CLEARING:
            away = ((x - place[0]) ** 2 + (y - place[1]) ** 2) / radius**2
            heights += height * np.maximum(1 - away, 0)

    trees: list[FloatArray] = []
    while len(trees) < TREES:
        tree = rng.uniform((0, 0, TRUNK_RADII[0]), (WIDTH, LENGTH, TRUNK_RADII[1]))
        others = np.array([START, *(one[:2] for one in trees)])
        if np.hypot(*(others - tree[:2]).T).min() > CLEARING:
            trees.append(tree)
    return Scene(np.array(trees), heights)


def load_mujoco() -> Any:
    """The module `mujoco`, or an error that says how to install it."""
    try:
        return importlib.import_module("mujoco")
    except ImportError as error:
        raise BenchmarkError(
            f'the robot needs MuJoCo, which cannot be imported ({error}); install it with: pip install "bomi[robot]"'
        ) from None
    except (AttributeError, OSError, RuntimeError):
        # The library that MUJOCO_GL names for drawing is missing. Driving does not need it.
        wanted = os.environ.get("MUJOCO_GL", "")
        os.environ["MUJOCO_GL"] = "disable"
        try:
            return importlib.import_module("mujoco")
        finally:
            os.environ["MUJOCO_GL"] = wanted


def compile_model(ground: Scene) -> Any:
    """The MuJoCo model of a scene, with the robot at its start."""
    mujoco = load_mujoco()
    rows, columns = ground.heights.shape
    top = float(ground.heights.max())
    trees = "".join(_tree(x, y, radius, ground.height(np.array([x, y]))) for x, y, radius in ground.trees)
    half = np.array([columns - 1, rows - 1]) * CELL / 2
    start = START[0], START[1], ground.height(START) + WHEEL + 0.005
    model = mujoco.MjModel.from_xml_string(
        f"""
        <mujoco model="robot">
          <option timestep="{TIME_STEP}" integrator="implicitfast"/>
          <visual>
            <global offwidth="2000" offheight="2000"/>
            <headlight ambient="0.32 0.32 0.34" diffuse="0.12 0.12 0.12" specular="0 0 0"/>
            <quality shadowsize="2048"/>
            <map znear="0.01"/>
          </visual>
          <asset>
            <hfield name="ground" nrow="{rows}" ncol="{columns}" size="{half[0]} {half[1]} {top} 0.1"/>
            <material name="ground" rgba="0.80 0.70 0.53 1" specular="0" shininess="0"/>
            <material name="trunk" rgba="0.42 0.28 0.16 1"/>
            <material name="crown" rgba="0.30 0.50 0.28 1" specular="0"/>
            <material name="body" rgba="0.86 0.86 0.90 1"/>
            <material name="dark" rgba="0.15 0.15 0.17 1"/>
            <material name="drill" rgba="0.84 0.37 0.00 1"/>
          </asset>
          <worldbody>
            <light pos="0 0 3" dir="0.55 0.3 -1" directional="true" diffuse="0.62 0.60 0.56" ambient="0 0 0"/>
            <camera name="above" pos="{WIDTH / 2} {LENGTH / 2} 3" projection="orthographic" fovy="{2 * half[1]}"/>
            <geom type="hfield" hfield="ground" material="ground" pos="{WIDTH / 2} {LENGTH / 2} 0" friction="0.9"/>
            {trees}
            <body name="robot" pos="{start[0]} {start[1]} {start[2]}" euler="0 0 90">
              <freejoint/>
              <geom name="chassis" type="box" pos="-0.03 0 0.015" size="0.075 0.055 0.018" mass="0.6" material="body"/>
              <geom name="mast" type="cylinder" pos="-0.035 0 0.12" size="0.012 0.09" mass="0.23" material="drill"/>
              <geom name="head" type="box" pos="-0.035 0 0.21" size="0.02 0.02 0.015" mass="0.13" material="dark"/>
              <!-- of two geoms in contact the greater friction holds, unless one has priority -->
              <geom name="caster" type="sphere" pos="-0.09 0 -0.02" size="0.02" mass="0.05" friction="0.02"
                    priority="1" material="dark"/>
              {_wheel("left", TRACK / 2)}
              {_wheel("right", -TRACK / 2)}
            </body>
          </worldbody>
          <actuator>
            <velocity name="left" joint="left" kv="0.1" forcerange="-{TORQUE} {TORQUE}"/>
            <velocity name="right" joint="right" kv="0.1" forcerange="-{TORQUE} {TORQUE}"/>
          </actuator>
        </mujoco>
        """
    )
    model.hfield_data[:] = (ground.heights / top).ravel()
    return model


def _wheel(name: str, side: float) -> str:
    return f"""
      <body name="{name}" pos="0 {side} 0">
        <joint name="{name}" type="hinge" axis="0 1 0" damping="0.001"/>
        <geom type="ellipsoid" size="{WHEEL} 0.012 {WHEEL}" mass="0.1" friction="1.0 0.005 0.0005" material="dark"/>
      </body>"""


def _tree(x: float, y: float, radius: float, ground: float) -> str:
    return f"""
      <geom type="cylinder" pos="{x} {y} {ground + 0.1}" size="{radius} 0.12" material="trunk" friction="0.5"/>
      <geom type="ellipsoid" pos="{x} {y} {ground + 0.30}" size="{radius + 0.05} {radius + 0.05} 0.11" material="crown"
            contype="0" conaffinity="0"/>"""
