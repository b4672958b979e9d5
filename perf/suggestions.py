"""Ask for many suggestions in random spaces: none may violate a constraint, leave its range or repeat a pending one.

`PYTHONPATH=src python perf/suggestions.py 10000` prints how many were checked, by method, and what was wrong.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections import Counter

import numpy as np

import bomi
from bomi import BomiError, Integer, Linear, Optimizer, Ordinal, Real, Space
from bomi.errors import SuggestionError
from bomi.space import Parameter

WORDS = ("oak", "elm", "ash", "fir", "yew")
BATCH = 20  # at most this many suggestions are pending at the same time
METHODS = ("random", "mean", "suggest", "knn", "bomi", "posterior")
WEIGHTS = (0.4, 0.24, 0.15, 0.15, 0.03, 0.03)  # the slow ones less often


def random_parameter(rng: np.random.Generator) -> Parameter:
    """A parameter of any kind."""
    low = float(np.round(rng.uniform(0.1, 50), 2))
    high = float(np.round(low * rng.uniform(1.5, 40), 2))
    kinds = {
        "real": lambda: Real(low, high),
        "around zero": lambda: Real(-high, high),
        "log": lambda: Real(low, high, log=True),
        "steps": lambda: Real(0, 1, step=float(rng.choice([0.05, 0.1, 0.25]))),
        "integer": lambda: Integer(int(low), int(high) + 2),
        "levels": lambda: Ordinal(sorted({round(float(x), 1) for x in rng.uniform(low, high, 5)} | {low, high})),
        "ordered words": lambda: Ordinal(WORDS[: rng.integers(2, 6)]),
        "category": lambda: bomi.Categorical(WORDS[: rng.integers(2, 6)]),
    }
    return kinds[str(rng.choice(list(kinds)))]()


def random_space(rng: np.random.Generator) -> Space:
    """A space of two to six parameters with up to three constraints that some setting satisfies."""
    while True:
        parameters = {f"x{j}": random_parameter(rng) for j in range(rng.integers(2, 7))}
        plain = Space(parameters)
        numeric = [
            name
            for name, p in parameters.items()
            if isinstance(p, Real | Integer) or (isinstance(p, Ordinal) and p.numeric)
        ]
        inside = plain.setting(plain.draw(1, rng)[0])
        constraints = []
        for _ in range(rng.integers(0, 4) if len(numeric) > 1 else 0):
            names = rng.choice(numeric, size=rng.integers(2, len(numeric) + 1), replace=False)
            terms = {str(name): float(rng.choice([1.0, 1.0, 2.0, -1.0, 0.5])) for name in names}
            total = sum(c * float(inside[name]) for name, c in terms.items())
            room = 0.2 * sum(abs(c) * abs(float(inside[name])) for name, c in terms.items())
            kind = rng.choice(["max", "min", "equals", "both"])
            limits = {
                "max": {"max": total + room},
                "min": {"min": total - room},
                "both": {"min": total - room, "max": total + room},
                "equals": {"equals": total},
            }[str(kind)]
            constraints.append(Linear(terms, **limits))
        try:
            return Space(parameters, constraints=constraints)
        except BomiError:
            continue  # the constraints contradict each other by chance


def settings_of(space: Space) -> float:
    """How many settings there are; infinite with a continuous parameter."""
    levels = [parameter.levels for parameter in space.parameters.values()]
    if any(level is None for level in levels):
        fixed = any(one.equals is not None for one in space.constraints)
        return 1 if fixed else math.inf  # a fixed sum may leave few: not counted
    count = math.prod(level or 1 for level in levels)
    if count > 20_000:
        return count if not space.constraints else 1
    points = itertools.product(*(parameter.every() for parameter in space.parameters.values()))
    return int(space.holds(np.array([[u for part in point for u in part] for point in points])).sum())


def wrong_with(space: Space, setting: dict[str, object]) -> list[str]:
    """What is wrong with a suggestion, by the constraints' own arithmetic."""
    found = [f"{name} = {v!r}" for name, v in setting.items() if not space.parameters[name].contains(v)]  # type: ignore[arg-type]
    for name, value in setting.items():
        parameter = space.parameters[name]
        place = np.array(parameter.to_unit(value))  # type: ignore[arg-type]
        if np.abs(parameter.snap(place) - place).max() > 1e-9:
            found.append(f"{name} = {value!r} is between the steps")
    for one in space.constraints:
        total = sum(c * float(setting[name]) for name, c in one.terms.items())  # type: ignore[arg-type]
        size = 1e-9 * sum(
            abs(c) * max(abs(p.axis(n).low), abs(p.axis(n).high))  # type: ignore[union-attr]
            for n, c in one.terms.items()
            for p in [space.parameters[n]]
        )
        if not one.lower - size <= total <= one.upper + size:
            found.append(f"{one}: {total!r}")
    return found


def check(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Check this many suggestions in random spaces: how many by method, and what was wrong."""
    rng = np.random.default_rng(seed)
    asked: Counter[str] = Counter()
    wrong: list[str] = []
    while asked.total() < count:
        space = random_space(rng)
        method = str(rng.choice(METHODS, p=WEIGHTS))
        optimizer = Optimizer(space, method=method, seed=int(rng.integers(2**31)))
        for place in space.draw(int(rng.integers(0, 12)), rng):
            setting = space.setting(place)
            gap = str(rng.choice(space.names)) if rng.random() < 0.5 else None
            optimizer.tell({n: None if n == gap else v for n, v in setting.items()}, float(rng.normal()))
        most = settings_of(space)
        batch = min(BATCH if method == "random" else 4, count - asked.total())
        for turn in range(3):
            try:
                suggestions = optimizer.ask(batch)
            except SuggestionError:  # correct if there are no more settings
                if len(optimizer.observations.pending) + batch <= most:
                    wrong.append(f"{method}, {space}: no setting left, though there are {most}")
                break
            for suggestion in suggestions:
                problems = wrong_with(space, dict(suggestion))
                wrong += [f"{method}, {space}: {problem}" for problem in problems]
            pending = [tuple(row.asked.values()) for row in optimizer.observations.pending]
            if len(set(pending)) < len(pending) <= most:
                wrong.append(f"{method}, {space}: a pending suggestion was made again")
            asked[method] += len(suggestions)
            for suggestion in suggestions[turn:]:  # some are never told
                gap = {str(rng.choice(space.names)): None} if rng.random() < 0.3 else {}
                optimizer.tell(suggestion, float(rng.normal()), actual=gap)
            if asked.total() >= count:
                break
    return asked, wrong


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start, asked, wrong, part = time.monotonic(), Counter[str](), [], 0
    while asked.total() < options.count:
        more, found = check(min(500, options.count - asked.total()), options.seed + part)
        asked, wrong, part = asked + more, wrong + found, part + 1
        print(f"\r{asked.total()} suggestions, {len(wrong)} wrong", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for problem in wrong[:20]:
        print(problem)
    by_method = ", ".join(f"{name} {number}" for name, number in asked.most_common())
    print(f"{asked.total()} suggestions in {time.monotonic() - start:.0f} s ({by_method}): {len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
