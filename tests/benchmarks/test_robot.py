import itertools
import json
import math
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from bomi import BomiError
from bomi.benchmarks.experiments import experiment
from bomi.benchmarks.problems import find_problem
from bomi.benchmarks.robot import BOUNDS, OUTCOMES, CopperField, Robot, read_copper, synthetic_copper
from bomi.benchmarks.robot.paths import CLEARANCE, Planner
from bomi.benchmarks.robot.scene import LENGTH, START, WHEEL, WIDTH, scene, to_metres, to_units
from bomi.benchmarks.runner import run
from bomi.errors import BenchmarkError

REQUIRED = os.environ.get("BOMI_REQUIRE_ALL") == "1"

QUERIES = np.random.default_rng(0).uniform(*np.array([BOUNDS[name] for name in ("X", "Y", "velocity")]).T, (60, 3))
BEST = (4036.6, 5316.0, 4780.5)  # where the synthetic field has most copper


@pytest.fixture(autouse=True)
def _own_copper(monkeypatch):
    monkeypatch.delenv("BOMI_BRENDA_FILE", raising=False)


@pytest.fixture(scope="module")
def robot():
    if not REQUIRED:
        pytest.importorskip("mujoco", reason='MuJoCo is not installed: pip install "bomi[robot]"')
    return Robot()


@pytest.fixture(scope="module")
def drives(robot):
    return [robot.drive(*query) for query in QUERIES]


# --- driving ------------------------------------------------------------------------------------------------------


def test_over_sixty_queries_every_ending_occurs(drives):
    counts = Counter(drive.outcome for drive in drives)
    assert set(counts) == set(OUTCOMES)
    assert counts["reached"] > 20


def test_each_ending_is_what_its_name_says(drives):
    for drive in drives:
        ended, end = to_metres(np.array(drive.place)), to_metres(drive.planned[-1])
        assert (math.dist(ended, end) < 0.05) == (drive.outcome == "reached")
        assert (drive.seconds == 10.0) == (drive.outcome == "timeout")
        if drive.outcome == "stuck":
            two_seconds = to_metres(drive.path[-101:])
            assert math.dist(two_seconds[0], two_seconds[-1]) < 0.03
        w, x, y, _ = drive.poses[-1, 3:7]
        upright = 1 - 2 * (x**2 + y**2)  # the third column of the rotation, from its quaternion
        assert w**2 + x**2 <= 1 + 1e-9
        assert (upright < 0.5) == (drive.outcome == "overturned")


def test_the_path_leads_from_the_start_to_where_it_stands_no_faster_than_its_wheels(drives):
    for drive, (_, _, velocity) in zip(drives, QUERIES, strict=True):
        np.testing.assert_allclose(drive.path[0], to_units(START))
        assert tuple(drive.path[-1]) == drive.place
        assert len(drive.path) == len(drive.poses) == round(drive.seconds / 0.02) + 1
        if drive.outcome != "overturned":  # then it tumbles
            length = np.hypot(*np.diff(to_metres(drive.path), axis=0).T).sum()
            assert length < 1.15 * math.radians(velocity) * WHEEL * drive.seconds + 0.05


def test_one_unit_of_x_moves_the_final_place_little(robot, drives):
    moved = []
    for query, drive in list(zip(QUERIES, drives, strict=True))[:30]:
        x = query[0] - math.copysign(1, query[0] - 3000)
        moved.append(math.dist(robot.drive(x, *query[1:]).place, drive.place))
    assert np.median(moved) < 3


def test_slow_robots_do_not_reach_the_far_end(robot):
    assert robot.drive(4037, 5316, 250).outcome == "timeout"
    assert robot.drive(4037, 5316, 600).outcome == "reached"


@pytest.mark.parametrize("query", [QUERIES[0], QUERIES[1], QUERIES[5]])
def test_the_same_query_gives_the_same_bits_in_a_new_process(robot, query):
    code = (
        "import json, sys; from bomi.benchmarks.robot import Robot; robot = Robot(); query = json.loads(sys.argv[1])\n"
        "robot.drive(3000, 3000, 300)\n"  # what came before does not matter
        "drive, copper = robot.survey(query[0], query[1], 4800, query[2])\n"
        "print(drive.path.tobytes().hex(), drive.poses.tobytes().hex(), copper.hex(), drive.outcome)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(query.tolist())], capture_output=True, text=True, check=True
    )
    drive, copper = robot.survey(query[0], query[1], 4800, query[2])
    assert done.stdout.split() == [drive.path.tobytes().hex(), drive.poses.tobytes().hex(), copper.hex(), drive.outcome]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ((0, 3000, 4800, 300), "X must be a number from 1899.94 to 4301.51, but got 0"),
        ((3000, math.nan, 4800, 300), "Y must be a number from 2177.37 to 5400.19, but got nan"),
        ((3000, 3000, math.inf, 300), "Z must be a number"),
        ((3000, 3000, 4800, 701), "velocity must be a number from 200 to 700, but got 701"),
        ((3000, "north", 4800, 300), "but got 'north'"),
        ((3000, None, 4800, 300), "but got None"),
    ],
)
def test_what_cannot_be_asked_is_told_and_nothing_moves(robot, monkeypatch, place, said):
    monkeypatch.setattr("bomi.benchmarks.robot.driving.drive", lambda *given, **more: pytest.fail("it drove"))
    with pytest.raises(BenchmarkError) as error:
        robot.measure(*place)
    assert said in str(error.value)
    if "Z" not in said:
        with pytest.raises(BenchmarkError, match="must be a number"):
            robot.drive(place[0], place[1], place[3])


def test_without_mujoco_the_error_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(BomiError, match=r'pip install "bomi\[robot\]"'):
        Robot()
    with pytest.raises(BomiError, match=r'pip install "bomi\[robot\]"'):
        find_problem("robot")


# --- ways ---------------------------------------------------------------------------------------------------------


def test_paths_avoid_trees_and_are_not_much_longer_than_the_crow_flies():
    ground = scene()
    planner = Planner(ground)
    snapped = 0
    for goal in np.random.default_rng(1).uniform((0, 0), (WIDTH, LENGTH), (100, 2)):
        way = planner.plan(goal)
        np.testing.assert_array_equal(way[0], START)
        inside = (np.hypot(*(ground.trees[:, :2] - goal).T) < ground.trees[:, 2] + CLEARANCE).any()
        snapped += not np.array_equal(way[-1], goal)
        assert inside <= (not np.array_equal(way[-1], goal))
        assert math.dist(way[-1], goal) < 0.25
        points = np.concatenate([np.linspace(a, b, 50) for a, b in itertools.pairwise(way)])
        away = np.hypot(*(points[:, None] - ground.trees[:, :2]).transpose(2, 0, 1)) - ground.trees[:, 2]
        # The first piece leads from the start to the grid.
        assert away.min() > CLEARANCE - 0.03
        length = np.hypot(*np.diff(way, axis=0).T).sum()
        assert math.dist(START, way[-1]) - 1e-9 <= length < 1.5 * math.dist(START, way[-1]) + 0.2
    assert 5 < snapped < 50


def test_a_goal_in_a_tree_is_reported(robot):
    tree = to_units(scene().trees[0, :2])
    drive = robot.drive(*tree, 450)
    assert drive.snapped
    assert 0.1 < math.dist(to_metres(drive.planned[-1]), to_metres(tree)) < 0.25
    assert not robot.drive(3100, 2500, 450).snapped


# --- copper -------------------------------------------------------------------------------------------------------


def test_the_synthetic_field_has_the_shape_of_the_real_one():
    field = synthetic_copper()
    assert field.places.shape == (1800, 3)
    assert field.copper.max() == 1.024
    assert field.copper.min() > 0
    holes = field.places.reshape(90, 20, 3)
    drift = np.hypot(*(holes[:, -1, :2] - holes[:, 0, :2]).T)
    assert np.median(drift) < 0.15 * np.ptp(holes[0, :, 2])  # nearly vertical
    assert synthetic_copper(0).digest != field.digest


def test_copper_between_samples_is_their_weighted_average():
    field = CopperField(np.array([[0.0, 0, 0], [300.0, 0, 0]]), np.array([0.2, 0.8]))
    assert field.at(150, 0, 0) == pytest.approx(0.5)
    assert field.at(150, 500, -80) == pytest.approx(0.5)
    weights = [(d**2 + 120**2) ** -2.5 for d in (100, 200)]
    assert field.at(100, 0, 0) == pytest.approx((0.2 * weights[0] + 0.8 * weights[1]) / sum(weights))
    rng = np.random.default_rng(0)
    ours = synthetic_copper()
    for place in rng.uniform(*np.array([BOUNDS[name] for name in "XYZ"]).T, (50, 3)):
        assert 0 < ours.at(*place) < 1.024


def test_the_richest_place_needs_a_velocity_above_400(robot):
    """No goal around it makes up for a slow robot, whichever way it is sent."""
    x, y, z = BEST
    field = robot.copper
    grid = [(a, b, c) for a in np.linspace(*BOUNDS["X"], 25) for b in np.linspace(*BOUNDS["Y"], 33)
            for c in np.linspace(*BOUNDS["Z"], 9)]  # fmt: skip
    best = field.at(*BEST)
    assert best > max(field.at(*place) for place in grid) - 1e-3
    goals = [(x, y), (x - 200, y), (x + 200, y), (x, y - 150), (x - 400, y - 100)]
    slow = [robot.measure(*goal, z, velocity) for goal in goals for velocity in (300, 350, 400)]
    fast = [robot.measure(*goals[0], z, velocity) for velocity in (450, 550, 650)]
    assert max(slow) < 0.75 * best
    assert max(fast) > 0.95 * best


HEADER = "X,Y,Z,Cu%,Mo%,length,From,To"


def test_a_file_of_samples_is_read_whatever_separates_its_columns(tmp_path, robot, monkeypatch):
    path = tmp_path / "brenda.csv"
    lines = [HEADER, "2000,3000,5000,0.5,0.01,10,0,10", "2100,3100,4900,0.25,0.02,10,10,20", ""]
    for mark in (",", ";", "\t", " "):
        path.write_text("\n".join(lines).replace(",", mark))
        field = read_copper(path)
        np.testing.assert_array_equal(field.places, [[2000, 3000, 5000], [2100, 3100, 4900]])
        np.testing.assert_array_equal(field.copper, [0.5, 0.25])
    for names in ("east,north,up,grade,Mo,length,from,to", " x , y , z , CU (%) ,mo,l,f,t"):
        path.write_text("\n".join([names, *lines[1:]]))
        assert read_copper(path).digest == field.digest
    path.write_text("Cu%;Z;Y;X\n0.5;5000;3000;2000\n0.25;4900;3100;2100\n")
    assert read_copper(path).digest == field.digest
    assert Robot(path).copper.digest == field.digest
    monkeypatch.setenv("BOMI_BRENDA_FILE", str(path))
    assert Robot().copper.digest == field.digest
    assert find_problem("robot").name == find_problem(f"robot@{path}").name == f"robot-{field.digest}"
    (case,) = experiment("robot", brenda=path).cases
    assert (case.label, case.settings()["problem"]) == ("robot", f"robot-{field.digest}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "brenda.csv is empty; its columns must be X, Y, Z, Cu%, Mo%, length, From, To"),
        (HEADER, "has no row under the names of its columns"),
        ("X,Y,Z\n1,2,3", "line 1: the column Cu% is missing"),
        ("X,Y,Z,Mo%,length,From,To\n1,2,3,0.1,1,0,1", "line 1: the column Cu% is missing"),
        ("X,Z,Cu%\n1,2,0.1", "line 1: the column Y is missing"),
        ("east,north,up\n1,2,3", "line 1: the column Cu% is missing"),
        ("1,2,3,0.4\n1,2,3,0.5", "line 1: expected the names of the columns, but got numbers"),
        (f"{HEADER}\n1,2,3,0.4,0,0,0,0\n\n1,2,deep,0.4", "line 4, column 3 (Z): expected a number, but got 'deep'"),
        (f"{HEADER}\n1,2,3", "line 2, column 4 (Cu%): expected a number, but the line ends before it"),
        (f"{HEADER}\n1,2,3,nan", "line 2, column 4 (Cu%): expected a number, but got 'nan'"),
        (f"{HEADER}\n1,,3,0.1", "line 2, column 2 (Y): expected a number, but got ''"),
        (f"{HEADER}\n1,2,3,-0.1", "line 2, column 4 (Cu%): copper cannot be negative, but got -0.1"),
    ],
)
def test_a_file_with_mistakes_is_told_by_line_and_column(tmp_path, text, said):
    path = tmp_path / "brenda.csv"
    path.write_text(text)
    with pytest.raises(BenchmarkError) as error:
        read_copper(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(BenchmarkError, match=r"cannot read the copper file .*none\.csv: No such file"):
        read_copper(tmp_path / "none.csv")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BenchmarkError, match="is no text"):
        read_copper(tmp_path / "binary")


# --- as a problem ---------------------------------------------------------------------------------------------------


def test_a_run_is_told_where_the_robot_stood_and_half_of_the_time_lacks_x_or_y(robot):
    (case,) = experiment("robot").cases
    assert (case.problem, case.budget, case.rows) == ("robot", 100, 30)
    failed = np.array([case.missing.draw(0, t, 4).failed for t in range(1, 2001)])
    assert failed[:, 2:].sum() == 0
    assert failed.sum(axis=1).max() == 1
    assert failed.any(axis=1).mean() == pytest.approx(0.5, abs=0.04)
    assert failed[:, 0].mean() == pytest.approx(0.25, abs=0.04)

    problem = find_problem("robot")
    asked = np.array([[4037, 5316, 4780, 250], [3100, 3000, 4800, 400]])
    actual, values = problem.evaluate(asked)
    np.testing.assert_array_equal(actual[:, 2:], asked[:, 2:])
    assert math.dist(actual[0, :2], asked[0, :2]) > 1000  # it was too slow
    assert values.tolist() == [robot.copper.at(*row[:3]) for row in actual]
    np.testing.assert_array_equal(problem(asked), values)

    result = run(problem, "random", budget=4, seed=0, missing=case.missing, initial=case.data(problem, 0))
    assert len(result.outcomes) == 4
    assert result.event_gaps.count == result.events


# --- pictures -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn(robot, drives):
    drive = next(drive for drive in drives if drive.outcome == "reached" and drive.seconds > 4)
    try:
        return drive, robot.render(drive, height=400), robot.render(height=400)
    except BenchmarkError as error:
        if REQUIRED:
            raise
        pytest.skip(str(error))


def test_the_picture_shows_the_scene_and_the_driven_path(drawn):
    drive, picture, empty = drawn
    assert picture.dtype == np.uint8
    assert picture.shape == empty.shape == (400, 318, 3)
    green = (picture[..., 1] > 1.2 * picture[..., 0].astype(float)).mean()
    assert 0.01 < green < 0.2  # trees
    changed = (np.abs(picture.astype(int) - empty).sum(axis=2) > 60).nonzero()
    # Every place of the driven way has changed its colour, and the ground far from it has not.
    places = to_metres(drive.path[::10]) + 0.35
    columns = np.clip((places[:, 0] / (WIDTH + 0.7) * 318).round().astype(int), 0, 317)
    rows = np.clip(399 - (places[:, 1] / (LENGTH + 0.7) * 400).round().astype(int), 0, 399)
    pixels = np.stack(changed, axis=1)
    near = [np.abs(pixels - [row, column]).max(axis=1).min() for row, column in zip(rows, columns, strict=True)]
    assert max(near) <= 3
    assert len(pixels) < 0.1 * picture.shape[0] * picture.shape[1]


def test_the_animation_moves(robot, drawn, tmp_path):
    from PIL import Image

    drive = robot.drive(3100, 2600, 600)
    counted = []
    path = robot.animate(drive, tmp_path / "drive.gif", height=120, done=lambda *count: counted.append(count))
    with Image.open(path) as image:
        assert drive.seconds * 10 <= len(counted) == counted[0][1]
        assert 5 < image.n_frames <= len(counted)  # pictures alike are one
        first = np.asarray(image.convert("RGB")).astype(int)
        image.seek(image.n_frames - 1)
        assert (np.abs(np.asarray(image.convert("RGB")) - first).sum(axis=2) > 60).sum() > 20
    with pytest.raises(BenchmarkError, match="cannot write the animation"):
        robot.animate(drive, tmp_path / "nowhere" / "drive.gif", height=64)


def test_a_picture_of_no_size_is_refused(robot):
    with pytest.raises(BenchmarkError, match="height must be from 16 to 2000 pixels, but got 0"):
        robot.render(height=0)


@pytest.mark.parametrize("way", ["", "egl", "osmesa", "disable"])
def test_without_a_library_for_drawing_it_drives_and_names_the_packages(robot, way):
    code = (
        "import OpenGL.platform.ctypesloader as loader\n"
        "load, absent = loader._loadLibraryPosix, ('EGL', 'OSMesa')\n"
        "loader._loadLibraryPosix = lambda kind, name, mode: None if name in absent else load(kind, name, mode)\n"
        "from bomi.benchmarks.robot import Robot; from bomi import BomiError\n"
        "robot = Robot(); drive = robot.drive(3100, 2700, 600); print(drive.outcome)\n"
        "try: robot.render(drive)\n"
        "except BomiError as error: print(error)"
    )
    if sys.platform != "linux":
        pytest.skip("elsewhere the system draws")
    environment = {name: value for name, value in os.environ.items() if name != "PYOPENGL_PLATFORM"}
    environment["MUJOCO_GL"] = way
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    outcome, said = done.stdout.splitlines()
    assert outcome == "reached"
    assert "libegl1" in said
    assert "libosmesa6" in said
