"""One drive: the robot follows its path by pure pursuit until it arrives or cannot go on.

R. C. Coulter, Implementation of the Pure Pursuit Path Tracking Algorithm (1992): steer on the arc that meets the path
a fixed distance ahead. Everything is deterministic: the same query gives the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bomi.benchmarks.functions import FloatArray
from bomi.benchmarks.robot.scene import TIME_STEP, TRACK, load_mujoco, to_units

OUTCOMES = ("reached", "timeout", "overturned", "stuck")
"""How a drive can end."""

TIME = 10.0  # s, for the whole drive
CONTROL = 0.02  # s between two looks at where it is
NEAR = 0.05  # m from the end of the way: arrived
TILT, TILT_TIME = 60.0, 0.3  # more than these degrees for these seconds: overturned
STUCK, STUCK_TIME = 0.03, 2.0  # less than these metres in these seconds: stuck
AHEAD, STRIDE = 0.15, 0.01  # m: what it steers towards; between the points of the way


@dataclass(frozen=True, slots=True, eq=False)
class Drive:
    """How a drive ended, and its path; places are (X, Y) in the units of the mine."""

    outcome: str  # one of OUTCOMES
    x: float  # where the robot stands in the end
    y: float
    seconds: float  # how long it drove
    snapped: bool  # whether a tree stood at the goal, so that the path ends beside it
    planned: FloatArray = field(repr=False)  # (m, 2) the corners of the planned path
    path: FloatArray = field(repr=False)  # (n, 2) where it was, every 20 ms
    poses: FloatArray = field(repr=False)  # (n, q) positions of the model's joints at these moments

    @property
    def place(self) -> tuple[float, float]:
        """Where the robot stands in the end."""
        return self.x, self.y


def drive(model: Any, corners: FloatArray, velocity: float, *, snapped: bool = False) -> Drive:
    """Follow a path, given by its corners in metres (m, 2), with the wheels at `velocity` degrees a second."""
    mujoco = load_mujoco()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    body = data.body("robot")
    way, at = _points(corners), 0
    poses: list[FloatArray] = []
    tilted = 0
    steps = round(TIME / CONTROL)
    for step in range(steps + 1):
        poses.append(data.qpos.copy())
        here, turned = body.xpos[:2], body.xmat.reshape(3, 3)
        tilted = tilted + 1 if turned[2, 2] < math.cos(math.radians(TILT)) else 0
        before = poses[max(step - round(STUCK_TIME / CONTROL), 0)][:2]
        if math.dist(here, way[-1]) < NEAR:
            outcome = "reached"
        elif tilted * CONTROL >= TILT_TIME:
            outcome = "overturned"
        elif step * CONTROL >= STUCK_TIME and math.dist(here, before) < STUCK:
            outcome = "stuck"
        elif step == steps:
            outcome = "timeout"
        else:
            at = _progress(way, at, here)
            goal = way[min(at + round(AHEAD / STRIDE), len(way) - 1)]
            data.ctrl[:] = math.radians(velocity) * _wheels(here, math.atan2(turned[1, 0], turned[0, 0]), goal)
            mujoco.mj_step(model, data, nstep=round(CONTROL / TIME_STEP))
            continue
        break
    track = np.array(poses)
    path = to_units(track[:, :2])
    x, y = path[-1].tolist()
    return Drive(outcome, x, y, round(step * CONTROL, 2), snapped, to_units(corners), path, track)


def _points(corners: FloatArray) -> FloatArray:  # (m, 2) -> (n, 2)
    """Points along the path, about STRIDE apart."""
    lengths = np.hypot(*np.diff(corners, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    wanted = np.linspace(0, along[-1], max(math.ceil(along[-1] / STRIDE), 1) + 1)
    return np.stack([np.interp(wanted, along, side) for side in corners.T], axis=1)


def _progress(way: FloatArray, at: int, here: FloatArray) -> int:
    """The nearest point of the path that is not behind, among those a little ahead: the path may cross itself."""
    near = way[at : at + 2 * round(AHEAD / STRIDE)]
    return at + int(np.argmin(np.hypot(*(near - here).T)))


def _wheels(here: FloatArray, heading: float, goal: FloatArray) -> FloatArray:  # (2,)
    """Speeds of the left and right wheel, the faster one 1 (or -1): an arc to the goal, or on the spot if it is behind.

    The arc's curvature is 2 sin(angle) / distance (Coulter 1992).
    """
    away = goal - here
    angle = math.remainder(math.atan2(away[1], away[0]) - heading, 2 * math.pi)
    curvature = 2 * math.sin(angle) / max(math.hypot(*away), 0.05)
    turn = min(max(curvature * TRACK / 2, -1.0), 1.0)
    if abs(angle) > math.pi / 2:
        turn = math.copysign(1.0, angle)
    return np.array([1 - turn, 1 + turn]) / (1 + abs(turn))
