"""Hunt for calls of the library that end in anything but a result or a BomiError.

A case is a random space with constraints, an optimizer and a history of random calls, right and wrong, all drawn from
one seed. Every wrong call must raise a BomiError and change nothing; no call may raise anything else or warn; what was
told must read back from `frame()`; suggestions must lie in the space.

    PYTHONPATH=src python tests/hunt/api.py --minutes 60      hunt
    PYTHONPATH=src python tests/hunt/api.py --case 1234       replay one case, and print its smallest form
"""

from __future__ import annotations

import copy
import datetime
import math
import pickle
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from bomi import BomiError, Categorical, Integer, Interval, Linear, Normal, Optimizer, Ordinal, Real, Space
from bomi.errors import SpaceError, shown
from bomi.results import Prediction, Suggestion, by_name
from tests.hunt.hunting import Tried, command_line

QUICK = ("random", "mean", "mode", "drop", "suggest", "knn")
SLOW = ("posterior", "bomi", "bpmf", "ugp")
CALLS = 8  # of a case, at most
WORDS = ("oak", "elm", "ash", "fir", "yew", "<b>", "2", "no", "Ü \u202e", "a" * 300)

JUNK = (
    None, math.nan, math.inf, -math.inf, 1e300, -1e300, 1e-300, 5e-324, 10**400, -(10**5000), 2**53 + 1, 0, -1, 1, 2.5,
    True, False, "", " ", "?", "x", "5", "2.0", "1e999", "300±15", "1±0", "290..310", "5..1", "failed", "a" * 5000,
    "<0.5", ">1e300", "≤0", "~3", "1,5", "5 g", "#N/A",
    "\x00", "\u202e", b"x", 1j, (), (1, 2), (3, 1), ..., NotImplemented, Normal(0.5, 0.1), Interval(0, 1), pd.NA,
    pd.NaT, Decimal("0.5"), Decimal("sNaN"), Decimal("1e999"), Fraction(1, 3), Fraction(10**400), range(3), int, len,
    [], {}, [1, 2], {"x": 1}, {1: 2}, {"x"}, [[0.5]], np.float32(0.5), np.int64(3), np.bool_(True), np.ma.masked,
    np.datetime64("NaT"), np.timedelta64(1, "s"), np.array(0.5), np.array([0.5]), np.array([0.1, 0.2]), np.array(["x"]),
    torch.tensor(0.5), torch.tensor([0.5, 0.5]), pd.DataFrame(), pd.DataFrame({"x": [1]}), pd.Series([0.5]),
    pd.Index([1]), object(), Real(0, 1), Suggestion("1", {"x": 1}), datetime.datetime(2020, 1, 1), Exception("x"),
)  # fmt: skip


def junk(rng: np.random.Generator) -> Any:
    """Anything."""
    return JUNK[int(rng.integers(len(JUNK)))]


def pick(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    """One of several."""
    return values[int(rng.integers(len(values)))]


# --- spaces and optimizers ---


def parameter(rng: np.random.Generator) -> Any:
    """A parameter of any kind and size, and sometimes one that cannot be."""
    size = 10.0 ** rng.integers(-3, 4) if rng.random() < 0.8 else 10.0 ** rng.integers(-99, 99)
    low, high = sorted(float(np.round(x, 3)) * size for x in rng.uniform(-5, 5, 2))
    kinds: list[Callable[[], Any]] = [
        lambda: Real(low, high, default=low if rng.random() < 0.2 else None),
        lambda: Real(size, size * float(rng.choice([1.5, 100.0, 1e9])), log=True),
        lambda: Real(0, 10 * size, step=size * float(rng.choice([1.0, 2.5, 1e-6]))),
        lambda: Integer(int(rng.integers(-5, 5)), int(rng.integers(6, 99))),
        lambda: Integer(1, 10 ** int(rng.integers(3, 40)), log=bool(rng.random() < 0.5)),
        lambda: Ordinal([1, 2.5, 10][: rng.integers(2, 4)]),
        lambda: Ordinal(list(WORDS[: rng.integers(2, 6)])),
        lambda: Categorical(list(rng.choice(WORDS, size=rng.integers(2, 6), replace=False))),
        lambda: [True, False],
        lambda: (low, high),
    ]
    wrong: list[Callable[[], Any]] = [
        lambda: junk(rng),
        lambda: Real(junk(rng), high),
        lambda: Real(low, junk(rng)),
        lambda: Real(low, high, step=junk(rng), default=junk(rng)),
        lambda: Real(low, high, log=junk(rng), unit=junk(rng)),
        lambda: Integer(junk(rng), junk(rng), step=junk(rng)),
        lambda: Categorical([junk(rng), junk(rng)], default=junk(rng)),
        lambda: Categorical(junk(rng)),
        lambda: Ordinal([junk(rng), junk(rng)]),
        lambda: Normal(junk(rng), junk(rng)),
        lambda: Interval(junk(rng), junk(rng)),
    ]
    return pick(rng, wrong if rng.random() < 0.1 else kinds)()


def space(rng: np.random.Generator) -> Space:
    """A space of one to four parameters, some with constraints."""
    parameters = {
        f"x{j}" if rng.random() < 0.98 else pick(rng, (5, None, "", "id", "asked.x", "\x00")): parameter(rng)
        for j in range(rng.integers(1, 5))
    }
    if rng.random() < 0.5:
        return Space(parameters)
    plain = Space(parameters)
    inside = plain.setting(plain.draw(1, rng)[0])
    numeric = [name for name, value in inside.items() if not isinstance(value, str | bool)]
    constraints: list[Linear] = []
    right = True
    for _ in range(rng.integers(1, 3)):
        names = [name for name in numeric if rng.random() < 0.7] or numeric[:1]
        terms = {name: float(rng.choice([1.0, 1.0, -2.0, 0.5])) for name in names}
        total = sum(c * float(inside[name]) for name, c in terms.items())
        limit = pick(rng, ["max", "min", "equals"])
        if rng.random() < 0.1:
            right = False
            constraints.append(Linear({**terms, "x0": junk(rng)}, **{limit: junk(rng)}))
        else:
            constraints.append(Linear(terms, **{limit: total}))
    if rng.random() < 0.03:
        return Space(parameters, constraints=junk(rng))
    try:
        return Space(parameters, constraints=constraints)
    except SpaceError as error:
        if right and ("cannot be kept" in str(error) or "together" in str(error)):
            raise AssertionError(f"refused, though {inside} keeps them: {constraints}, {parameters}") from None
        raise


def optimizer(rng: np.random.Generator, log: list[str]) -> Optimizer:
    """An optimizer of one outcome or two."""
    where: Any = space(rng)
    log.append(f"space = {where!r}")
    method = pick(rng, QUICK) if rng.random() < 0.9 else pick(rng, SLOW)
    options: dict[str, Any] = {"method": method, "seed": int(rng.integers(100))}
    if rng.random() < 0.3:
        options["objective"] = {
            "y": pick(rng, ["maximize", ("target", 1.0)]),
            "z": pick(rng, ["minimize", ("limit", 0.5)]),
        }
    else:
        options["goal"] = pick(rng, ["maximize", "minimize", ("target", 1.0), None])
    if rng.random() < 0.1:
        name = pick(rng, ["objective", "goal", "method", "seed", "worlds", "acquisition", "device"])
        options[name] = pick(rng, [junk(rng), {"y": junk(rng)}, ("target", junk(rng))])
    log.append(f"optimizer = bomi.Optimizer(space, {_arguments((), options)})")
    return Optimizer(where, **options)


# --- calls ---


def cell(rng: np.random.Generator, p: Any) -> Any:
    """What may stand in a cell of a parameter: a value of it, nothing, or something uncertain."""
    value = p.tidy(p.from_unit(p.expand(rng.random(1)[0])))
    roll = rng.random()
    if roll < 0.7:
        return value
    if roll < 0.85 or isinstance(value, str | bool):
        return None
    return Normal(float(value), max(abs(float(value)) / 10, 1e-3))


def experiment(rng: np.random.Generator, where: Space) -> dict[str, Any]:
    """An experiment of one's own."""
    return {name: cell(rng, p) for name, p in where.parameters.items()}


def outcome(rng: np.random.Generator, o: Optimizer) -> Any:
    """An outcome, or several, of any size."""
    size = 1.0 if rng.random() < 0.8 else 10.0 ** rng.integers(-99, 99)
    each = {name: float(rng.normal()) * size for name in o.outcomes}
    return each if len(each) > 1 else each[o.outcomes[0]]


def table(rng: np.random.Generator, o: Optimizer) -> pd.DataFrame:
    """A table of a few rows."""
    rows = []
    for _ in range(rng.integers(0, 5)):
        y = outcome(rng, o)
        told = "failed" if rng.random() < 0.1 else None if rng.random() < 0.2 else ...
        each = {name: y[name] if isinstance(y, dict) else y for name in o.outcomes}
        rows.append({**experiment(rng, o.space), **(each if told is ... else dict.fromkeys(each, told))})
    frame = pd.DataFrame(rows, columns=[*o.space.names, *o.outcomes])
    if rng.random() < 0.3:
        frame[pick(rng, ["id", "exclude", "note", f"asked.{o.space.names[0]}"])] = junk_column(rng, len(frame))
    if len(frame) and rng.random() < 0.3:
        frame = frame.astype(object)
        frame.iat[int(rng.integers(len(frame))), int(rng.integers(frame.shape[1]))] = pick(rng, [junk(rng), "x", 5])
    if rng.random() < 0.1:
        frame = frame.rename(columns={pick(rng, list(frame.columns)): pick(rng, ["x00", "y", "exclude", 5])})
    return frame


def junk_column(rng: np.random.Generator, count: int) -> pd.Series:
    """A column of anything."""
    return pd.Series([junk(rng) for _ in range(count)], dtype=object)


def which(rng: np.random.Generator, o: Optimizer, suggestions: Sequence[Suggestion]) -> tuple[tuple, dict]:
    """An experiment, by suggestion, id or row."""
    rows = o.observations.rows
    ways: list[Callable[[], tuple[tuple, dict]]] = [lambda: ((), {"row": int(rng.integers(len(rows) + 1))})]
    ways += [lambda: ((pick(rng, suggestions),), {})] if suggestions else []
    ways += [lambda: ((pick(rng, rows).id,), {})] if rows else []
    return pick(rng, ways)()


def call(rng: np.random.Generator, o: Optimizer, suggestions: Sequence[Suggestion]) -> tuple[str, list, dict, bool]:
    """A call by name, with its arguments; and whether it must be refused."""
    name = pick(rng, (
        "tell", "tell", "tell", "ask", "ask", "best", "gaps", "predict", "success", "frame", "correct", "withdraw",
        "exclude", "include", "expected", "learned", "gap_draws",
    ))  # fmt: skip
    args: list[Any] = []
    options: dict[str, Any] = {}
    if name == "tell":
        kind = pick(rng, ["own", "table", "suggestion"])
        if kind == "table":
            args = [table(rng, o)]
        else:
            told = pick(rng, suggestions) if suggestions and kind == "suggestion" else experiment(rng, o.space)
            args = [told, outcome(rng, o)]
            if rng.random() < 0.2:
                args, options = [told], {"failed": True}
            if rng.random() < 0.3:
                options["actual"] = {pick(rng, o.space.names): pick(rng, [None, junk(rng)])}
            if rng.random() < 0.2:
                options["sd"] = pick(rng, [0.1, junk(rng)])
        if rng.random() < 0.3:
            options["out_of_bounds"] = pick(rng, ["keep", "error"])
    elif name == "ask":
        args = [] if rng.random() < 0.5 else [int(rng.integers(1, 4))]
    elif name in ("predict", "success"):
        settings = [o.space.setting(place) for place in o.space.draw(int(rng.integers(1, 4)), rng)]
        args = [pick(rng, [settings, settings[0], pd.DataFrame(settings)])]
    elif name == "expected":
        args = [o.space.draw(int(rng.integers(1, 4)), rng), pick(rng, o.outcomes)]
    elif name == "learned":
        args = [pick(rng, o.outcomes)]
    elif name in ("correct", "withdraw", "exclude", "include"):
        place, options = which(rng, o, suggestions)
        args = list(place)
        if name == "correct":
            options |= pick(rng, [
                {"outcome": outcome(rng, o)}, {"outcome": junk(rng)}, {"failed": bool(rng.random() < 0.5)},
                {"sd": None}, {"actual": experiment(rng, o.space)}, {"actual": {"x0": junk(rng)}}, {},
            ])  # fmt: skip
    must_fail = False
    if rng.random() < 0.25 and (args or options):
        must_fail = _spoil(rng, name, args, options)
    return name, args, options, must_fail


def _spoil(rng: np.random.Generator, name: str, args: list[Any], options: dict[str, Any]) -> bool:
    """Make something of a call wrong; whether it can no longer be right."""
    if args and isinstance(args[0], dict) and rng.random() < 0.5:
        args[0] = {**args[0], pick(rng, ["x00", "X0", 1, None]): 5}
        return True
    if args and isinstance(args[0], dict) and name in ("predict", "success") and rng.random() < 0.5:
        args[0] = {key: value for key, value in args[0].items() if key != pick(rng, list(args[0]))}
        return len(args[0]) == 0
    if args and rng.random() < 0.7:
        args[int(rng.integers(len(args)))] = junk(rng)
    elif options:
        options[pick(rng, list(options))] = junk(rng)
    else:
        args.append(junk(rng))
    return False


# --- one case ---


@dataclass
class Case:
    """What happened: the calls as one would type them, and what was wrong, if anything."""

    log: list[str] = field(default_factory=list)
    wrong: str = ""
    kinds: Counter[str] = field(default_factory=Counter)
    calls: int = 0


def run(seed: int, kept: Sequence[int] | None = None, *, history: bool = True) -> Case:
    """One case; with `kept`, only those of its calls, and without `history` nothing told before them."""
    case = Case()
    rng = np.random.default_rng([seed, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            o = optimizer(rng, case.log)
        except BomiError as error:
            case.kinds["no optimizer"] += 1
            case.wrong = _bad_message(error)
            return case
        except Exception as error:
            case.wrong = raised(error)
            case.log = case.log or ["the space or its parameters"]
            return case
        suggestions: list[Suggestion] = []
        if rng.random() < 0.5 and history:  # enough for a model
            for place in o.space.draw(int(rng.integers(2, 7)), rng):
                told = (dict(o.space.setting(place)), outcome(rng, o))
                case.log.append(f"optimizer.tell({_arguments(told, {})})")
                o.tell(*told)
        for i in range(int(rng.integers(1, CALLS + 1))) if kept is None else kept:
            try:
                case.wrong = _step(np.random.default_rng([seed, 1, i]), o, suggestions, case)
            except Exception as error:  # in the space's own methods, or in how a result shows
                case.wrong = raised(error)
            if case.wrong:
                return case
    return case


def _step(rng: np.random.Generator, o: Optimizer, suggestions: list[Suggestion], case: Case) -> str:
    name, args, options, must_fail = call(rng, o, suggestions)
    case.calls += 1
    case.log.append(f"optimizer.{name}({_arguments(args, options)})")
    before = o.observations
    try:
        found = getattr(o, name)(*args, **options)
    except BomiError as error:
        case.kinds[f"{name}: refused"] += 1
        if o.observations is not before:
            return "a refused call changed something"
        return _bad_message(error)
    except TypeError as error:
        if "positional argument" in str(error):  # Python's own check of a signature
            return ""
        return raised(error)
    except Exception as error:
        return raised(error)
    case.kinds[f"{name}: done"] += 1
    if must_fail:
        return "a wrong call was not refused"
    if name == "ask":
        suggestions += found if isinstance(found, list) else [found]
    return _broken(o, name, found, rng)


def raised(error: Exception) -> str:
    """An error that should not be, and where it was raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "bomi" in frame.filename]
    where = f"{frames[-1].filename.rpartition('bomi/')[2]}:{frames[-1].lineno}, " if frames else ""
    return f"{where}{type(error).__name__}: {shown(str(error))}"


def _bad_message(error: BomiError) -> str:
    try:
        text = str(error)
        pickle.loads(pickle.dumps(error))
    except Exception as other:
        return f"an error that cannot be shown or pickled: {type(other).__name__}: {other}"
    return "an error without a message" if not text.strip() else ""


def _broken(o: Optimizer, name: str, found: Any, rng: np.random.Generator) -> str:
    """What a call left that must not be."""
    for one in (found if isinstance(found, list) else [found]) if name == "ask" else []:
        outside = [key for key, value in one.items() if not o.space.parameters[key].contains(value)]
        if outside or o.space.broken(dict(one)):
            return f"a suggestion outside of the space: {one}"
    if name == "predict":
        each = [p for one in (found if isinstance(found, list) else [found]) for p in by_name(one, o.outcomes).values()]
        if not all(isinstance(p, Prediction) and math.isfinite(p.mean) and p.sd >= 0 for p in each):
            return f"a prediction that is none: {each}"
    if name == "success" and not all(0 <= p <= 1 for p in np.atleast_1d(found)):
        return f"a chance that is none: {found}"
    repr(o), o._repr_html_()
    if name in ("ask", "best"):
        for one in found if isinstance(found, list) else [found]:
            repr(one), one._repr_html_()
    if name in ("tell", "correct", "withdraw", "exclude", "include"):
        again = Optimizer(o.space, objective={one.name: one for one in o.objectives}, method="random")
        again.tell(o.frame(), out_of_bounds="keep")
        if not _has_odd_extra(o) and again.observations != o.observations:
            return f"the frame does not read back:\n{o.observations.rows}\n{again.observations.rows}"
        if rng.random() < 0.1 and not _has_odd_extra(o) and copy.deepcopy(o).observations != o.observations:
            return "a copy differs"
    return ""


def _has_odd_extra(o: Optimizer) -> bool:
    """Whether a column beside ours holds what pandas changes: not ours to keep."""
    return any(row.extra for row in o.observations.rows)


def _arguments(args: Sequence[Any], options: dict[str, Any]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, pd.DataFrame) and value.columns.is_unique:
            return f"pd.DataFrame({shown(value.to_dict('list'), 2000)})"
        return shown(value, 2000)

    return ", ".join([*map(text, args), *(f"{name}={text(value)}" for name, value in options.items())])


def least(seed: int) -> Case:
    """The case with as few of its calls as still go wrong in the same way."""
    whole = run(seed)
    kept = list(range(whole.calls))
    for i in reversed(range(whole.calls)):
        fewer = [k for k in kept if k != i]
        if run(seed, fewer).wrong[:40] == whole.wrong[:40]:
            kept = fewer
    if not whole.calls:
        return whole
    without = run(seed, kept, history=False)
    return without if without.wrong[:40] == whole.wrong[:40] else run(seed, kept)


def attempt(seed: int) -> Tried:
    """One case."""
    case = run(seed)
    return Tried(case.wrong, case.calls + 1, case.kinds)


def smallest(seed: int) -> str:
    """Its smallest form, as one would type it."""
    case = least(seed)
    return "\n".join([*case.log, f"# -> {case.wrong}"])


if __name__ == "__main__":
    command_line(__doc__, "calls", attempt, smallest)
