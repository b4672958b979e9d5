"""Problems with mixed parameters and with linear constraints, each with a known best setting.

    func2c      two categories choose the summands, two numbers (Ru et al. 2020, "Bayesian optimisation over
                multiple continuous and categorical inputs")
    ackleymixed Ackley's function of numbers, integers and a category
    levels6     Hartmann's function of six inputs: two are ordered levels and one is an integer
    reactor     yield of the intermediate of two reactions in a row of stirred tanks: catalyst, its load in ordered
                levels, temperature, residence time on a log scale, number of tanks
    blend       strength of a mixture of four parts whose shares add up to one, with one of three fillers (a Scheffé
                polynomial)
    budget6     Hartmann's function of six inputs with a limit on their sum
    recipe      a mixture of three in steps of 5 %, a time and a temperature that share a limit

Inputs are arrays. A category or an ordered word is its index in the list, from 0; numbers are as they are. Best
settings without a known formula were found by a dense search, which a test repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from bomi.benchmarks.functions import FloatArray, Function, Problem, mixed_problem, problem
from bomi.space import Categorical, Integer, Ordinal, Parameter, Real, Space
from bomi.space.linear import Linear


def _problem(
    name: str, parameters: dict[str, Parameter], function: Function, best: Sequence[float], *constraints: Linear
) -> Problem:
    return mixed_problem(name, Space(parameters, constraints=constraints), function, np.array(best, dtype=float))


# --- mixed ------------------------------------------------------------------------------------------------------------


def _rosenbrock(x: FloatArray) -> FloatArray:  # (m, 2) -> (m,)
    return np.asarray((100 * (x[:, 1] - x[:, 0] ** 2) ** 2 + (x[:, 0] - 1) ** 2) / 300)


def _camel(x: FloatArray) -> FloatArray:  # (m, 2) -> (m,)
    a, b = x[:, 0], x[:, 1]
    return np.asarray(((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2) / 10)


def _beale(x: FloatArray) -> FloatArray:  # (m, 2) -> (m,)
    a, b = x[:, 0], x[:, 1]
    parts = (1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.625 - a + a * b**3) ** 2
    return np.asarray(parts / 50)


def func2c(x: FloatArray) -> FloatArray:  # (m, 4) -> (m,)
    """-(f_h1(2 x) + f_h2(2 x)); at most 2 * 0.1031628, since only the camel's summand falls below 0."""
    parts = np.stack([f(2 * x[:, 2:]) for f in (_rosenbrock, _camel, _beale)])  # (3, m)
    rows = np.arange(len(x))
    return np.asarray(-parts[x[:, 0].astype(int), rows] - parts[np.minimum(x[:, 1], 2).astype(int), rows])


SHIFTS = np.array([-2.0, -1.0, 0.0, 1.5, 2.5])  # what each category of `ackleymixed` stands for


def ackley_mixed(x: FloatArray) -> FloatArray:  # (m, 6) -> (m,)
    """-Ackley(z), z = three numbers, two integers and the category's shift; at most 0."""
    z = np.column_stack([x[:, :5], SHIFTS[x[:, 5].astype(int)]])
    root, wave = np.sqrt(np.square(z).mean(-1)), np.cos(2 * np.pi * z).mean(-1)
    return np.asarray(20 * np.exp(-0.2 * root) + np.exp(wave) - 20 - np.e)


@cache
def _hartmann6() -> Problem:
    return problem("hartmann6d")


def hartmann(x: FloatArray) -> FloatArray:  # (m, 6) -> (m,)
    """Hartmann's function of six inputs, as BoTorch has it."""
    return _hartmann6().function(x)


def levels6(x: FloatArray) -> FloatArray:  # (m, 6) -> (m,)
    """Hartmann's function whose third input is an integer, in tenths."""
    return hartmann(np.column_stack([x[:, :2], x[:, 2] / 10, x[:, 3:]]))


CATALYSTS = ("none", "acid", "base", "metal")
# For each catalyst: rates per minute at 80 °C of the wanted and the unwanted reaction, their activation energies in K,
# and how strongly the load raises each rate.
_RATES = np.array([[0.02, 0.002], [0.12, 0.06], [0.3, 0.25], [0.18, 0.03]])
_ENERGIES = np.array([[9000, 11000], [7000, 8000], [6000, 6500], [7500, 12000]])
_ORDERS = np.array([[0.0, 0.0], [0.5, 0.6], [0.4, 0.8], [0.6, 0.3]])


def reactor(x: FloatArray) -> FloatArray:  # (m, 5) -> (m,)
    """Percent of B after A -> B -> C in n equal stirred tanks, less what catalyst, time and tanks cost.

    In each tank a' = a / (1 + k1 t/n), b' = (b + k1 t/n a') / (1 + k2 t/n).
    """
    catalyst = x[:, 0].astype(int)
    load, temperature, time, tanks = x[:, 1], x[:, 2], x[:, 3], x[:, 4]
    warmth = 1 / 353.15 - 1 / (temperature + 273.15)
    rates = _RATES[catalyst] * np.exp(_ENERGIES[catalyst] * warmth[:, None]) * load[:, None] ** _ORDERS[catalyst]
    each = rates * (time / tanks)[:, None]
    a, b = np.ones(len(x)), np.zeros(len(x))
    for tank in range(6):
        after_a = a / (1 + each[:, 0])
        after_b = (b + each[:, 0] * after_a) / (1 + each[:, 1])
        a, b = np.where(tank < tanks, after_a, a), np.where(tank < tanks, after_b, b)
    return np.asarray(100 * b - 1.2 * load - 0.15 * time - 1.5 * tanks)


# --- with constraints -------------------------------------------------------------------------------------------------

# For each filler: the coefficients of the four pure parts, and of their pairs (ab, ac, ad, bc, bd, cd).
_PURE = np.array([[12.0, 8, 20, 5], [10, 14, 16, 9], [15, 6, 18, 7]])
_PAIRS = np.array([[30.0, -12, 18, 40, 8, -20], [22, 16, -10, 36, 30, -6], [18, -20, 44, 25, 12, 6]])


def blend(x: FloatArray) -> FloatArray:  # (m, 5) -> (m,)
    """sum_i b_i x_i + sum_{i<j} b_ij x_i x_j + 150 x_a x_b x_c - 60 (x_d - 0.2)^2, with coefficients by filler."""
    filler, share = x[:, 4].astype(int), x[:, :4]
    i, j = np.triu_indices(4, 1)
    pairs = (_PAIRS[filler] * share[:, i] * share[:, j]).sum(-1)
    triple = 150 * share[:, 0] * share[:, 1] * share[:, 2]
    return np.asarray((_PURE[filler] * share).sum(-1) + pairs + triple - 60 * (share[:, 3] - 0.2) ** 2)


def recipe(x: FloatArray) -> FloatArray:  # (m, 5) -> (m,)
    """A bread: flour, water and oil add up to one; the sum of minutes and degrees is limited."""
    flour, water, oil, minutes, degrees = x.T
    crumb = np.exp(-30 * (water - 0.38 - 0.2 * oil) ** 2 - 12 * (oil - 0.12) ** 2)
    done = np.exp(-(((np.log(minutes) - np.log(38) + 0.008 * (degrees - 210)) / 0.35) ** 2))
    crust = 1 / (1 + np.exp(-(degrees - 215) / 12))
    return np.asarray(60 * crumb * done + 25 * crust * done + 15 * flour * crumb)


# --- the table --------------------------------------------------------------------------------------------------------


def _func2c() -> Problem:
    words = ["rosenbrock", "camel", "beale"]
    return _problem(
        "func2c",
        {
            "first": Categorical(words),
            "second": Categorical([*words, "beale too", "beale again"]),
            "x1": Real(-1, 1),
            "x2": Real(-1, 1),
        },
        func2c,
        [1, 1, 0.0898420131 / 2, -0.7126564030 / 2],
    )


def _ackleymixed() -> Problem:
    numbers: dict[str, Parameter] = {f"x{i}": Real(-2, 3) for i in (1, 2, 3)}
    wholes: dict[str, Parameter] = {f"n{i}": Integer(-3, 5) for i in (1, 2)}
    category: dict[str, Parameter] = {"kind": Categorical(["a", "b", "c", "d", "e"])}
    return _problem("ackleymixed", {**numbers, **wholes, **category}, ackley_mixed, [0, 0, 0, 0, 0, 2])


def _levels6() -> Problem:
    level = Ordinal([0.0, 0.1, 0.3, 0.6, 1.0])
    rest: dict[str, Parameter] = {f"x{i}": Real(0, 1) for i in (4, 5, 6)}
    return _problem("levels6", {"x1": level, "x2": level, "x3": Integer(0, 10), **rest}, levels6, BEST["levels6"])


def _reactor() -> Problem:
    return _problem(
        "reactor",
        {
            "catalyst": Categorical(CATALYSTS),
            "load": Ordinal([0.5, 1, 2, 5, 10]),
            "temperature": Real(20, 150, unit="°C"),
            "time": Real(0.5, 120, log=True, unit="min"),
            "tanks": Integer(1, 6),
        },
        reactor,
        BEST["reactor"],
    )


def _blend() -> Problem:
    shares: dict[str, Parameter] = {name: Real(0, 1) for name in "abcd"}
    return _problem(
        "blend",
        {**shares, "filler": Categorical(["chalk", "glass", "talc"])},
        blend,
        BEST["blend"],
        Linear(dict.fromkeys("abcd", 1.0), equals=1),
        Linear({"a": 1, "b": 1}, max=0.7),
    )


def _budget6() -> Problem:
    names = [f"x{i}" for i in range(1, 7)]
    numbers: dict[str, Parameter] = {name: Real(0, 1) for name in names}
    return _problem(
        "budget6",
        numbers,
        hartmann,
        BEST["budget6"],
        Linear(dict.fromkeys(names, 1.0), max=1.5),
        Linear({"x1": 1, "x4": 1}, min=0.5),
    )


def _recipe() -> Problem:
    return _problem(
        "recipe",
        {
            "flour": Real(0, 1, step=0.05),
            "water": Real(0, 1, step=0.05),
            "oil": Real(0, 1, step=0.05),
            "minutes": Real(10, 120, log=True, unit="min"),
            "degrees": Real(150, 260, unit="°C"),
        },
        recipe,
        BEST["recipe"],
        Linear({"flour": 1, "water": 1, "oil": 1}, equals=1),
        Linear({"minutes": 1, "degrees": 1}, max=240),
    )


BEST: dict[str, tuple[float, ...]] = {
    "levels6": (0.3, 0.1, 5, 0.2773411058, 0.3104845250, 0.6587346712),
    "reactor": (3, 5, 55.7973816940, 33.5136876964, 4),
    "blend": (0.2327386215, 0.3793748626, 0.3878865159, 0.0, 1),
    "budget6": (0.2170637154, 0.0134576875, 0.1017950623, 0.2829362846, 0.2777265280, 0.6070207222),
    "recipe": (0.5, 0.4, 0.1, 40.5257483792, 199.4742516208),
}

MIXED: dict[str, Callable[[], Problem]] = {
    "func2c": _func2c,
    "ackleymixed": _ackleymixed,
    "levels6": _levels6,
    "reactor": _reactor,
    "blend": _blend,
    "budget6": _budget6,
    "recipe": _recipe,
}
"""The problems with mixed parameters and with constraints."""
