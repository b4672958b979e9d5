"""Every problem by name: the functions, the simulators, and your own as `module:function`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bomi.benchmarks import functions
from bomi.benchmarks.functions import FloatArray, Problem
from bomi.benchmarks.mixed import MIXED
from bomi.benchmarks.outcomes import OUTCOMES
from bomi.errors import BenchmarkError


def find_problem(name: str) -> Problem:
    """The problem of this name.

    alpine, alpine3d               a function
    heat                           the heat treatment of an aluminium alloy
    robot, robot@FILE              the robot that looks for copper; with the samples of a file
    reactor, blend, ...            mixed parameters and constraints: see `mixed`
    noisybranin, branincurrin, ... noise, or two outcomes: see `outcomes`
    my_module:my_problem           your own `Problem`, or a function without arguments that makes one; the module is in
                                   the current folder or installed

    >>> find_problem("heat").dim
    8
    """
    if name.startswith("robot@"):
        return _robot(name.removeprefix("robot@"))
    if ":" in name:
        return _own(name)
    if name.lower() in OTHERS:
        return OTHERS[name.lower()]()
    try:
        return functions.problem(name)
    except BenchmarkError as error:
        raise BenchmarkError(f"{error}; also {', '.join(OTHERS)}, and your own as module:function") from None


def _own(name: str) -> Problem:
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise BenchmarkError(f"problem {name!r}: cannot import {module_name!r}: {error}") from None
    if not hasattr(module, attribute):
        raise BenchmarkError(f"problem {name!r}: module {module_name!r} has no {attribute!r}")
    made = getattr(module, attribute)
    if not isinstance(made, Problem) and callable(made):
        try:
            made = made()
        except TypeError as error:
            raise BenchmarkError(
                f"problem {name!r}: {attribute} must be callable without arguments and return a "
                f"bomi.benchmarks.functions.Problem: {error}"
            ) from None
    if not isinstance(made, Problem):
        raise BenchmarkError(
            f"problem {name!r} must be a bomi.benchmarks.functions.Problem or a function that makes one, "
            f"but got {made!r}"
        )
    return made


def _heat() -> Problem:
    from bomi.benchmarks.heat_treatment import BOUNDS, HeatTreatment

    alloy = HeatTreatment()

    def strength(x: FloatArray) -> FloatArray:  # (m, 8) -> (m,)
        return np.array([alloy.strength(row[:4], row[4:]) for row in x])

    return Problem("heat", dict(BOUNDS), strength)


def _robot(file: str | None = None) -> Problem:
    from bomi.benchmarks.robot import BOUNDS, Robot, synthetic_copper

    robot = Robot(file)
    low, high = functions.corners(BOUNDS)

    def survey(x: FloatArray) -> tuple[FloatArray, FloatArray]:  # (m, 4) -> (m, 4), (m,)
        surveys = [robot.survey(*row) for row in x]
        places = np.array([drive.place for drive, _ in surveys])
        actual = np.clip(np.concatenate([places, x[:, 2:]], axis=1), low, high)
        return actual, np.array([copper for _, copper in surveys])

    own = robot.copper is synthetic_copper()
    return Problem(
        "robot" if own else f"robot-{robot.copper.digest}",
        dict(BOUNDS),
        lambda x: survey(x)[1],
        experiment=survey,
    )


SIMULATORS: dict[str, Callable[[], Problem]] = {"heat": _heat, "robot": _robot}
"""The simulated problems."""

OTHERS = {**SIMULATORS, **MIXED, **OUTCOMES}
