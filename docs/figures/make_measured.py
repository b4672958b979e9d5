"""Draws the figure of docs/campaigns.md: how the best setting of a dryer moves with the humidity of the day."""

from pathlib import Path

import numpy as np

import bomi
from bomi.analysis import drawing, measured

HERE = Path(__file__).parent


def main() -> None:
    """Draw it."""
    space = {
        "temperature": bomi.Real(120, 240, unit="°C"),
        "hours": (1, 12),
        "humidity": bomi.Measured(20, 80, unit="%"),
    }
    dryer = bomi.Optimizer(space, objective="quality", seed=0)
    for temperature, hours, humidity in np.random.default_rng(0).uniform([120, 1, 20], [240, 12, 80], (32, 3)):
        quality = 90 - humidity / 10 - ((temperature - 140 - humidity) / 20) ** 2 - (hours - 6) ** 2 / 8
        recorded = None if humidity > 75 else humidity
        dryer.tell({"temperature": temperature, "hours": hours, "humidity": recorded}, quality)
    drawing.save(measured.figure(dryer, measured.moved(dryer, "humidity")), HERE / "measured", ["png"])


if __name__ == "__main__":
    main()
