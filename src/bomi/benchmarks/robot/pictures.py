"""Pictures of the robot: the scene from above with the paths, an animation of a drive, and maps.

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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bomi.benchmarks.functions import FloatArray
from bomi.benchmarks.robot.copper import CopperField
from bomi.benchmarks.robot.driving import CONTROL, Drive
from bomi.benchmarks.robot.scene import BOUNDS, CELL, MARGIN, START, Scene, load_mujoco, to_metres, to_units
from bomi.errors import BenchmarkError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILION, INK = "#0072B2", "#D55E00", "#222222"  # by Okabe and Ito, for colour-blind readers too
PLANNED, DRIVEN = (0.0, 0.45, 0.70, 1.0), (0.84, 0.37, 0.0, 1.0)  # the same for MuJoCo
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


# --- figures -------------------------------------------------------------------------------------------------------


def scene_figure(ground: Scene, picture: NDArray[np.uint8], drive: Drive) -> Figure:
    """The picture of a drive with axes in the units of the mine, and a legend."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

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
    from matplotlib.figure import Figure

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
    from matplotlib.patches import Rectangle

    (left, right), (low, high) = BOUNDS["X"], BOUNDS["Y"]
    axes.add_patch(Rectangle((left, low), right - left, high - low, fill=False, ec=INK, lw=0.8, ls=(0, (4, 3))))
