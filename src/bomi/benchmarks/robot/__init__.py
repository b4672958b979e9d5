"""A robot that looks for copper: it drives to (X, Y) among trees and bumps, and drills to depth Z.

    from bomi.benchmarks.robot import Robot
    Robot().measure(3100, 3900, 4900, velocity=450)

It has ten seconds. If it is late, overturns or is stuck, it drills where it stands, so the place of the measurement is
not always the requested place. MuJoCo simulates it; the extra `bomi[robot]` installs MuJoCo. The scene, its scale and
the copper are our own: see `scene` and `copper`.
"""

from bomi.benchmarks.robot.copper import CopperField, read_copper, synthetic_copper
from bomi.benchmarks.robot.driving import OUTCOMES, Drive
from bomi.benchmarks.robot.exploration import Robot
from bomi.benchmarks.robot.scene import BOUNDS

__all__ = ["BOUNDS", "OUTCOMES", "CopperField", "Drive", "Robot", "read_copper", "synthetic_copper"]
