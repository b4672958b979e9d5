"""Pictures of the robot: the scene from above with the paths, and an animation of a drive.

MuJoCo draws without a window, by EGL or OSMesa; if both are missing, the error names the packages.
"""

from __future__ import annotations

import importlib
import itertools
import os
import platform
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bomi.benchmarks.functions import FloatArray
from bomi.benchmarks.robot.driving import CONTROL, Drive
from bomi.benchmarks.robot.scene import Scene, load_mujoco, to_metres
from bomi.errors import BenchmarkError

PLANNED, DRIVEN = (0.0, 0.45, 0.70, 1.0), (0.84, 0.37, 0.0, 1.0)  # blue and vermilion of Okabe and Ito
FRAMES = 10  # frames a second of an animation
ABOVE = 0.5  # m: the paths are drawn above the tree tops
LARGEST = 2000  # pixels


def render(model: Any, ground: Scene, drive: Drive | None, *, height: int) -> NDArray[np.uint8]:
    """The scene from above, (height, width, 3), with the paths of a drive and the robot at its end."""
    with _camera(model, ground, height) as shoot:
        return shoot(drive, len(drive.path) - 1 if drive else 0)


def animate(
    model: Any, ground: Scene, drive: Drive, path: Path, *, height: int, done: Callable[[int, int], None] | None
) -> Path:
    """The drive as a GIF, in real time; its last frame stays for a second and a half."""
    from PIL import Image

    moments = [*range(0, len(drive.path), round(1 / FRAMES / CONTROL)), len(drive.path) - 1]
    frames: list[Any] = []
    with _camera(model, ground, height) as shoot:
        # One palette for all frames, so that still parts are stored once; the last frame has every colour.
        palette = Image.fromarray(shoot(drive, moments[-1])).quantize(96)
        for moment in moments:
            image = Image.fromarray(shoot(drive, moment))
            frames.append(image.quantize(palette=palette, dither=Image.Dither.NONE))
            if done:
                done(len(frames), len(moments))
    durations = [1000 // FRAMES] * (len(frames) - 1) + [1500]
    try:
        frames[0].save(path, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    except OSError as error:
        raise BenchmarkError(f"cannot write the animation {path}: {error.strerror}") from None
    return path


@contextmanager
def _camera(model: Any, ground: Scene, height: int) -> Iterator[Callable[[Drive | None, int], NDArray[np.uint8]]]:
    """A function that draws one moment of a drive."""
    if not 16 <= height <= LARGEST:
        raise BenchmarkError(f"a picture's height must be from 16 to {LARGEST} pixels, but got {height}")
    mujoco = load_mujoco()
    rows, columns = ground.heights.shape
    width = round(height * (columns - 1) / (rows - 1))
    context, buffer = _open(model, width, height)
    try:
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, buffer)
        scene, options = mujoco.MjvScene(model, maxgeom=5000), mujoco.MjvOption()
        camera, frame = mujoco.MjvCamera(), mujoco.MjrRect(0, 0, width, height)
        camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, model.camera("above").id
        data = mujoco.MjData(model)

        def shoot(drive: Drive | None, moment: int) -> NDArray[np.uint8]:
            if drive is not None:
                data.qpos[:] = drive.poses[moment]
            mujoco.mj_forward(model, data)
            mujoco.mjv_updateScene(model, data, options, None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
            if drive is not None:
                _draw_way(scene, to_metres(drive.planned), PLANNED, 0.009, ABOVE)
                _draw_way(scene, to_metres(drive.path[: moment + 1 : 5]), DRIVEN, 0.012, ABOVE + 0.05)
            mujoco.mjr_render(frame, scene, buffer)
            pixels = np.empty((height, width, 3), dtype=np.uint8)
            mujoco.mjr_readPixels(pixels, None, frame, buffer)
            return pixels[::-1]

        yield shoot
    finally:
        buffer.free()
        context.free()


def _draw_way(scene: Any, way: FloatArray, colour: tuple[float, ...], radius: float, height: float) -> None:
    """Add a line through the corners (m, 2) to the scene."""
    mujoco = load_mujoco()
    corners = np.column_stack([way, np.full(len(way), height)])
    capsule = mujoco.mjtGeom.mjGEOM_CAPSULE
    for first, second in itertools.pairwise(corners):
        geom = scene.geoms[scene.ngeom]
        mujoco.mjv_initGeom(geom, capsule, np.zeros(3), np.zeros(3), np.eye(3).ravel(), np.array(colour, np.float32))
        mujoco.mjv_connector(geom, capsule, radius, first, second)
        geom.category, geom.emission = mujoco.mjtCatBit.mjCAT_DECOR, 0.4
        scene.ngeom += 1


def _open(model: Any, width: int, height: int) -> tuple[Any, Any]:
    """The contexts that MuJoCo draws into: as MUJOCO_GL says, else EGL on Linux, which needs no display."""
    mujoco = load_mujoco()
    wanted = os.environ.get("MUJOCO_GL", "").lower() or ("egl" if platform.system() == "Linux" else "")
    try:
        module = importlib.import_module(f"mujoco.{wanted}" if wanted in ("egl", "osmesa") else "mujoco")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # GLFW warns before it fails
            context = module.GLContext(width, height)
            context.make_current()
        return context, mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
    except Exception as error:  # each backend raises its own error if a library is missing
        raise BenchmarkError(
            "a picture of the robot needs EGL (on Debian and Ubuntu the package libegl1) or OSMesa (the package "
            "libosmesa6, and the environment variable MUJOCO_GL=osmesa); driving needs neither. MuJoCo says, with "
            f"MUJOCO_GL={wanted or 'unset'}: {error}"
        ) from None
