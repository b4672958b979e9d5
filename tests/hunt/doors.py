"""Hunt at every door: each argument of the library's calls gets each thing that is no argument.

    PYTHONPATH=src python tests/hunt/doors.py

Each call must end in a result or in a BomiError with a message. Most of what is tried is wrong. What happens to be
right, such as a NumPy number, must work from there on.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import bomi
from bomi import BomiError, Categorical, Integer, Linear, Optimizer, Ordinal, Real, Space
from bomi.errors import shown
from tests.hunt import api

JUNK = (*api.JUNK, abs, -5, 3, 10**6, 1e99, -1e99, 1e-99, 1e15)

SPACE = {"x0": (0, 1), "x1": Integer(1, 8)}
SETTING = {"x0": 0.5, "x1": 2}


def lab(**options: Any) -> Optimizer:
    """Three experiments, one with a gap."""
    optimizer = Optimizer(SPACE, **{"method": "mean", "seed": 0, **options})
    for i, x in enumerate((0.2, None, 0.9)):
        optimizer.tell({"x0": x, "x1": i + 1}, float(i))
    return optimizer


def use(optimizer: Optimizer) -> None:
    """What must work afterwards."""
    optimizer.ask(2), optimizer.best(), optimizer.gaps(), optimizer.predict(SETTING), optimizer.frame()


def tell_and_use(*args: Any, **options: Any) -> None:
    """Tell something and go on."""
    optimizer = lab()
    optimizer.tell(*args, **options)
    use(optimizer)


def _somewhere(junk: Any) -> Any:
    """A name of a file as it is, but in a folder that is not there: nothing is to be written."""
    return f"/no such folder/{junk}" if isinstance(junk, str) else junk


def doors() -> Iterator[tuple[str, Callable[[Any], object]]]:
    """Every argument by name, as a call that takes it."""
    yield "Optimizer(space)", Optimizer
    for name in ("objective", "goal", "method", "seed", "worlds", "acquisition", "device"):
        yield f"Optimizer({name}=)", lambda junk, n=name: Optimizer(SPACE, **{"method": "bomi", n: junk}).ask()
    yield "method()", bomi.method
    for name in ("worlds", "rank", "noise", "sweeps", "points", "delta", "beta_alpha"):
        yield f"method({name}=)", lambda junk, n=name: lab(method=bomi.method("bomi", **{n: junk})).ask()
    for name in ("worlds", "radius"):
        yield f"method('posterior', {name}=)", lambda junk, n=name: bomi.method("posterior", **{n: junk})

    yield "Space()", Space
    yield "Space(constraints=)", lambda junk: Space(SPACE, constraints=junk)
    yield "Space(constraints=[])", lambda junk: Space(SPACE, constraints=[junk])
    yield "Linear()", lambda junk: Space(SPACE, constraints=[Linear(junk, max=1)])
    yield "Linear({})", lambda junk: Space(SPACE, constraints=[Linear({"x0": junk}, max=1)])
    for name in ("min", "max", "equals"):
        yield f"Linear({name}=)", lambda junk, n=name: Space(SPACE, constraints=[Linear({"x0": 1}, **{n: junk})])
    for kind in (Real, Integer):
        for name in ("low", "high", "log", "step", "unit", "default"):
            whole = {"low": 1, "high": 8}
            yield (
                f"{kind.__name__}({name}=)",
                lambda junk, k=kind, n=name, w=whole: Optimizer({"a": k(**{**w, n: junk})}, method="random").ask(),
            )
    for kind in (Categorical, Ordinal):
        yield f"{kind.__name__}()", lambda junk, k=kind: Optimizer({"a": k(junk)}, method="random").ask()
        yield f"{kind.__name__}([])", lambda junk, k=kind: Optimizer({"a": k([junk, 3])}, method="random").ask()
        yield f"{kind.__name__}(default=)", lambda junk, k=kind: k([1, 2], default=junk)

    yield "tell(table)", lambda junk: lab().tell(junk)
    yield "tell(experiment, 1.0)", lambda junk: lab().tell(junk, 1.0)
    yield "tell(value)", lambda junk: tell_and_use({"x0": junk, "x1": 2}, 1.0, out_of_bounds="keep")
    yield "tell(level)", lambda junk: lab().tell({"x0": 0.5, "x1": junk}, 1.0)
    yield "tell(outcome)", lambda junk: tell_and_use(SETTING, junk)
    yield "tell(sd=)", lambda junk: tell_and_use(SETTING, 1.0, sd=junk)
    yield "tell(actual=)", lambda junk: lab().tell(SETTING, 1.0, actual=junk)
    yield "tell(actual={})", lambda junk: lab().tell(SETTING, 1.0, actual={"x0": junk})
    yield "tell(failed=)", lambda junk: lab().tell(SETTING, failed=junk)
    yield "tell(out_of_bounds=)", lambda junk: lab().tell(SETTING, 1.0, out_of_bounds=junk)
    for name in ("outcome", "actual", "sd", "failed", "out_of_bounds"):
        yield f"correct({name}=)", lambda junk, n=name: lab().correct("1", **{"outcome": 1.0, n: junk})
    for call in ("correct", "withdraw", "exclude", "include"):
        more = {"outcome": 1.0} if call == "correct" else {}
        yield f"{call}()", lambda junk, c=call, m=more: getattr(lab(), c)(junk, **m)
        yield f"{call}(row=)", lambda junk, c=call, m=more: getattr(lab(), c)(row=junk, **m)

    yield "ask()", lambda junk: lab(method="random").ask(junk)
    for call in ("predict", "success"):
        yield f"{call}()", lambda junk, c=call: getattr(lab(), c)(junk)
        yield f"{call}([])", lambda junk, c=call: getattr(lab(), c)([junk])
        yield f"{call}(value)", lambda junk, c=call: getattr(lab(), c)({"x0": junk, "x1": 2})
    for name in ("given", "same", "candidates", "replacement"):
        yield f"ask({name}=)", lambda junk, n=name: lab(method="random").ask(2, **{n: junk})
    yield "ask(given={})", lambda junk: lab(method="random").ask(given={"x1": junk})
    yield "ask(candidates=[{}])", lambda junk: lab(method="random").ask(candidates=[{"x0": junk, "x1": 2}, SETTING])
    for name in ("risk", "given", "candidates"):
        yield f"best({name}=)", lambda junk, n=name: lab().best(**{n: junk})
    yield "best(risk=('worst', ))", lambda junk: lab().best(("worst", junk))
    for call in ("explain", "chances", "completed"):
        yield f"{call}()", lambda junk, c=call: getattr(lab(), c)(junk)
    for call in ("explain", "validation"):
        first = (SETTING,) if call == "explain" else ()
        yield f"{call}(outcome)", lambda junk, c=call, f=first: getattr(lab(), c)(*f, outcome=junk)
    yield "predict(given=)", lambda junk: lab().predict(SETTING, given=junk)
    yield "save()", lambda junk: lab().save(_somewhere(junk))
    yield "load()", lambda junk: Optimizer.load(_somewhere(junk))
    for kind in (bomi.Normal, bomi.Interval, bomi.Censored):
        yield f"{kind.__name__}(, 2)", lambda junk, k=kind: tell_and_use({"x0": k(junk, 2), "x1": 2}, 1.0)
        yield f"{kind.__name__}(0.1, )", lambda junk, k=kind: tell_and_use({"x0": k(0.1, junk), "x1": 2}, 1.0)
    for name in ("goal", "target", "range", "cost", "unit"):
        yield f"Objective({name}=)", lambda junk, n=name: lab(objective=bomi.Objective("y", **{n: junk}))
    yield "Objective()", bomi.Objective
    for kind in (bomi.Product, bomi.NonZero):
        yield f"{kind.__name__}()", lambda junk, k=kind: Space(SPACE, constraints=[k(junk, max=1)])
        yield f"{kind.__name__}(max=)", lambda junk, k=kind: Space(SPACE, constraints=[k(("x0", "x1"), max=junk)])
    yield "expected()", lambda junk: lab().expected(junk)
    yield "expected(outcome)", lambda junk: lab().expected([[0.5, 0.5]], junk)
    yield "learned()", lambda junk: lab().learned(junk)


def hunt(part: int = 0, parts: int = 1) -> tuple[int, list[str]]:
    """Every so many calls: how many there were, and what was wrong."""
    calls, wrong = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, (door, junk) in enumerate((door, junk) for door in doors() for junk in JUNK):
            if number % parts != part:
                continue
            calls += 1
            try:
                door[1](junk)
            except BomiError as error:
                if not str(error).strip():
                    wrong.append(f"{door[0]} with {shown(junk)}: an error without a message")
            except Exception as error:
                wrong.append(f"{door[0]} with {shown(junk)}: {api.raised(error)}")
    return calls, wrong


def main() -> None:
    """Run all."""
    start = time.monotonic()
    calls, wrong = hunt()
    print(*wrong, sep="\n")
    print(f"{calls} calls in {time.monotonic() - start:.0f} s: {len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
