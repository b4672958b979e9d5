import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from botorch import test_functions as botorch_functions

from bomi import BomiError
from bomi.benchmarks.functions import NAMES, Problem, corners, problem

BOTORCH = {
    "ackley5d": botorch_functions.Ackley(dim=5),
    "ackley2d": botorch_functions.Ackley(dim=2),
    "beale2d": botorch_functions.Beale(),
    "branin2d": botorch_functions.Branin(),
    "bukin2d": botorch_functions.Bukin(),
    "cosine8d": botorch_functions.Cosine8(),
    "dixonprice5d": botorch_functions.DixonPrice(dim=5),
    "dropwave2d": botorch_functions.DropWave(),
    "eggholder2d": botorch_functions.EggHolder(),
    "griewank5d": botorch_functions.Griewank(dim=5),
    "hartmann3d": botorch_functions.Hartmann(dim=3),
    "hartmann6d": botorch_functions.Hartmann(dim=6),
    "holdertable2d": botorch_functions.HolderTable(),
    "levy5d": botorch_functions.Levy(dim=5),
    "michalewicz2d": botorch_functions.Michalewicz(dim=2),
    "michalewicz5d": botorch_functions.Michalewicz(dim=5),
    "michalewicz10d": botorch_functions.Michalewicz(dim=10),
    "powell4d": botorch_functions.Powell(dim=4),
    "rastrigin5d": botorch_functions.Rastrigin(dim=5),
    "rosenbrock5d": botorch_functions.Rosenbrock(dim=5),
    "shekel4d": botorch_functions.Shekel(),
    "sixhumpcamel2d": botorch_functions.SixHumpCamel(),
    "styblinskitang5d": botorch_functions.StyblinskiTang(dim=5),
    "threehumpcamel2d": botorch_functions.ThreeHumpCamel(),
}
OWN = [
    "schubert1d",
    "schubert2d",
    "schubert4d",
    "schubert5d",
    "alpine1d",
    "alpine5d",
    "schwefel1d",
    "schwefel5d",
]
EVERY = sorted(BOTORCH) + OWN


def uniform(chosen: Problem, count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(*corners(chosen.bounds), (count, chosen.dim))


def test_every_name_is_tested() -> None:
    assert {problem(name).name for name in NAMES} <= set(EVERY)


@pytest.mark.parametrize("name", sorted(BOTORCH))
def test_values_and_bounds_are_those_of_botorch(name: str) -> None:
    chosen, theirs = problem(name), BOTORCH[name]
    x = uniform(chosen, 200)
    sign = 1.0 if name == "cosine8d" else -1.0
    np.testing.assert_allclose(chosen(x), sign * theirs(torch.tensor(x)).numpy(), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(corners(chosen.bounds), theirs.bounds.numpy())


@pytest.mark.parametrize("name", sorted(BOTORCH))
def test_the_optimum_is_the_published_one(name: str) -> None:
    published = BOTORCH[name].optimal_value * (1.0 if name == "cosine8d" else -1.0)
    assert problem(name).optimum == pytest.approx(published, rel=3e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "maximum"),
    [
        ("eggholder2d", 959.6407),
        ("schubert1d", 12.870885),
        ("schubert2d", 186.7309),  # the literature's minimum, negated
        ("schubert4d", 14.508008**3 * 12.870885),
        ("schubert5d", 14.508008**4 * 12.870885),
        ("alpine5d", 0.0),
        ("schwefel5d", 0.0),
    ],
)
def test_the_papers_functions_have_their_known_maximum(name: str, maximum: float) -> None:
    assert problem(name).optimum == pytest.approx(maximum, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", EVERY)
def test_the_optimum_is_taken_at_the_maximizer_and_nowhere_exceeded(name: str) -> None:
    chosen = problem(name)
    assert chosen.optimum is not None
    assert chosen.maximizer is not None
    best, (low, high) = np.array(chosen.maximizer), corners(chosen.bounds)
    assert ((low <= best) & (best <= high)).all()
    assert float(chosen(best)) == pytest.approx(chosen.optimum, rel=1e-12, abs=1e-12)

    tolerance = 1e-9 * max(1.0, abs(chosen.optimum))
    near = best + (high - low) * np.random.default_rng(1).normal(0, 1e-4, (2_000, chosen.dim))
    assert chosen(uniform(chosen, 20_000)).max() <= chosen.optimum + tolerance
    assert chosen(np.clip(near, low, high)).max() <= chosen.optimum + tolerance


def test_hand_computed_values() -> None:
    # sin(pi/2) = 1 in each term; sum of i cos(i), and 47 sin sqrt 47 at the origin.
    half = np.pi / 2
    assert float(problem("alpine", dim=2)(np.array([half, half]))) == pytest.approx(-2.2 * half)
    assert float(problem("schubert", dim=1)(np.zeros(1))) == pytest.approx(-sum(i * np.cos(i) for i in range(1, 6)))
    assert float(problem("schwefel", dim=3)(np.zeros(3))) == pytest.approx(-3 * 418.9829, rel=1e-6)
    assert float(problem("eggholder")(np.zeros(2))) == pytest.approx(47 * np.sin(np.sqrt(47)))


@pytest.mark.parametrize("name", ["alpine5d", "branin2d", "hartmann6d"])
def test_one_point_and_many_give_the_same(name: str) -> None:
    chosen = problem(name)
    x = uniform(chosen, 7)
    many = chosen(x)
    assert many.shape == (7,)
    assert chosen(x[0]).shape == ()
    np.testing.assert_allclose([float(chosen(row)) for row in x], many, rtol=1e-13)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("alpine", "alpine5d"),
        ("alpine3d", "alpine3d"),
        ("Alpine-3d", "alpine3d"),
        ("Shubert", "schubert4d"),
        ("hartmann3", "hartmann3d"),
        ("Cosine8", "cosine8d"),
        ("Six-Hump Camel", "sixhumpcamel2d"),
    ],
)
def test_names_are_read_kindly(spelling: str, name: str) -> None:
    assert problem(spelling).name == name
    assert problem(name).name == name


def test_dim_chooses_the_dimension() -> None:
    assert problem("alpine", dim=3).bounds == {"x1": (-10.0, 10.0), "x2": (-10.0, 10.0), "x3": (-10.0, 10.0)}
    assert problem("alpine3d", dim=3).dim == 3


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("alpin", {}, "unknown problem 'alpin'; did you mean alpine.* Known: eggholder, schubert"),
        ("", {}, "unknown problem ''; Known"),
        ("alpine5d", {"dim": 3}, "has 5 dimensions by its name, but got dim=3"),
        ("alpine0d", {}, "defined in 1, 2, 3, ... dimensions, but got 0"),
        ("alpine", {"dim": 0}, "defined in 1, 2, 3, ... dimensions, but got 0"),
        ("alpine", {"dim": -2}, "but got -2"),
        ("eggholder3d", {}, "defined in 2 dimensions, but got 3"),
        ("hartmann", {"dim": 4}, "defined in 3, 6 dimensions, but got 4"),
        ("powell5d", {}, "defined in 4, 8, 12, ... dimensions, but got 5"),
    ],
)
def test_unknown_problems_are_refused(name: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(BomiError, match=message):
        problem(name, **options)


def test_an_experiment_may_take_place_elsewhere_than_asked() -> None:
    branin = problem("branin")
    asked = np.array([[1.0, 2.0], [3.0, 4.0]])
    actual, values = branin.evaluate(asked)
    np.testing.assert_array_equal(actual, asked)
    np.testing.assert_array_equal(values, branin(asked))
    moved = Problem("moved", branin.bounds, lambda x: x.sum(1) + 2, experiment=lambda x: (x + 1, x.sum(1) + 2))
    actual, value = moved.evaluate(asked[0])
    assert (actual.tolist(), float(value)) == ([2.0, 3.0], 5.0)
    with pytest.raises(BomiError, match="takes 2 inputs"):
        moved.evaluate(np.zeros(3))


def test_a_problem_checks_itself_and_its_inputs() -> None:
    with pytest.raises(BomiError, match=r"low < high.*'a'"):
        Problem("mine", {"a": (1.0, 1.0)}, np.sum)
    with pytest.raises(BomiError, match="at least one parameter"):
        Problem("mine", {}, np.sum)
    with pytest.raises(BomiError, match=r"needs 1 values.*got 2"):
        Problem("mine", {"a": (0.0, 1.0)}, np.sum, 0.0, (0.0, 0.0))
    for wrong in (np.zeros(4), np.zeros((2, 4)), np.array(0.0)):
        with pytest.raises(BomiError, match="takes 5 inputs"):
            problem("alpine")(wrong)


@pytest.mark.parametrize("name", ["alpine5d", "levy5d"])
def test_problems_travel_between_processes(name: str) -> None:
    chosen = problem(name)
    x = uniform(chosen, 5)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(chosen))(x), chosen(x))


def test_torch_is_loaded_only_for_the_functions_of_botorch() -> None:
    lines = (
        "import sys",
        "from bomi.benchmarks.functions import problem",
        "problem('alpine')",
        "assert 'torch' not in sys.modules",
        "problem('branin')",
        "assert 'torch' in sys.modules",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
