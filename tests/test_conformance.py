"""What every method must do on every table: parametrized from the table of methods."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import torch

import bomi
from bomi import BomiError, Interval, Normal, Optimizer
from bomi.impute.table import Table

CUBE = bomi.Space({"a": (0, 1), "b": (-5, 5), "c": (100, 200)})
MIXED = bomi.Space(
    {
        "temperature": bomi.Real(20, 400),
        "time": bomi.Real(60, 21600, log=True),
        "dose": bomi.Real(0, 1, step=0.1),
        "passes": bomi.Integer(1, 8),
        "quench": ["water", "oil", "air"],
    }
)

KITCHEN = bomi.Space(
    {
        "flour": (0, 1),
        "water": (0, 1),
        "oil": (0, 1),
        "eggs": bomi.Integer(0, 4),
        "oven": bomi.Ordinal(["cool", "warm", "hot"]),
    },
    constraints=[
        bomi.Linear({"flour": 1, "water": 1, "oil": 1}, equals=1),
        bomi.Linear({"water": 1, "eggs": 0.1}, max=0.7),
    ],
)


def table(space, count=8, *, gaps=(), seed=0, outcomes=None):
    """Random rows with gaps at the given (row, parameter) places."""
    generator = np.random.default_rng(seed)
    settings = [space.from_unit(place) for place in space.draw(count, generator)]
    frame = pd.DataFrame(settings, columns=list(space.names), dtype=object)
    for row, name in gaps:
        frame.loc[row, name] = None
    frame["y"] = generator.normal(size=count) if outcomes is None else outcomes
    return frame


def every_row_with_a_gap():
    return [(i, CUBE.names[i % 3]) for i in range(8)]


def stated():
    frame = table(CUBE, gaps=[(0, "a")])
    frame.loc[1, "b"], frame.loc[2, "b"], frame.loc[3, "a"] = Normal(1, 0.5), Interval(-9, 2), "0.2..0.4"
    frame.loc[2, "c"] = Normal(101, 30)
    return frame


def pending():
    frame = table(CUBE, gaps=[(0, "a"), (7, "b")])
    frame.loc[[3, 7], "y"] = math.nan  # one as asked, one of which an input is not known either
    frame["asked.b"] = [None] * 6 + [1.0, 2.0]
    return frame


def asked():
    frame = table(CUBE, gaps=[(5, "a"), (6, "b"), (7, "c")])
    for name in CUBE.names:
        frame[f"asked.{name}"] = [None] * 4 + [CUBE.parameters[name].from_unit([0.3])] * 4
    return frame


MANY = bomi.Space({f"x{j}": (0, 1) for j in range(20)})
CASES = {
    "0 rows": (CUBE, table(CUBE, 0)),
    "1 row": (CUBE, table(CUBE, 1)),
    "1 row with a gap": (CUBE, table(CUBE, 1, gaps=[(0, "a")])),
    "2 rows": (CUBE, table(CUBE, 2, gaps=[(0, "a")])),
    "no gap": (CUBE, table(CUBE)),
    "a column with no value": (CUBE, table(CUBE, gaps=[(i, "b") for i in range(8)])),
    "no value at all": (CUBE, table(CUBE, gaps=[(i, name) for i in range(8) for name in CUBE.names])),
    "every row with a gap": (CUBE, table(CUBE, gaps=every_row_with_a_gap())),
    "duplicate rows": (CUBE, pd.concat([table(CUBE, gaps=[(0, "a")])] * 3, ignore_index=True)),
    "one row many times": (CUBE, pd.concat([table(CUBE, 1)] * 8, ignore_index=True)),
    "constant outcome": (CUBE, table(CUBE, gaps=[(0, "a")], outcomes=3.0)),
    "zero outcome": (CUBE, table(CUBE, gaps=[(0, "a")], outcomes=0.0)),
    "tiny outcomes": (CUBE, table(CUBE, gaps=[(0, "a")], outcomes=1e-12 * np.arange(8.0))),
    "huge outcomes": (CUBE, table(CUBE, gaps=[(0, "a")], outcomes=1e12 * np.arange(8.0))),
    "tiny differences": (CUBE, table(CUBE, gaps=[(0, "a")], outcomes=1e6 + 1e-6 * np.arange(8.0))),
    "one outlier": (CUBE, table(CUBE, gaps=[(0, "a")], outcomes=[0.0, 1, 2, 3, 1e100, 5, 6, -1e100])),
    "1 parameter": (bomi.Space({"x": (0, 1)}), table(bomi.Space({"x": (0, 1)}), gaps=[(0, "x")])),
    "20 parameters": (MANY, table(MANY, 30, gaps=[(0, "x1"), (1, "x2")])),
    "mixed space": (MIXED, table(MIXED, 12, gaps=[(i, name) for i, name in enumerate(MIXED.names)])),
    "all categories": (
        bomi.Space({"p": ["x", "y"], "q": [1, 2, 5]}),
        table(bomi.Space({"p": ["x", "y"], "q": [1, 2, 5]}), gaps=[(0, "p"), (1, "q")]),
    ),
    "ordered levels and constraints": (KITCHEN, table(KITCHEN, 12, gaps=[(i, KITCHEN.names[i % 5]) for i in range(9)])),
    "stated uncertainties": (CUBE, stated()),
    "pending rows": (CUBE, pending()),
    "asked values": (CUBE, asked()),
}

every_method = pytest.mark.parametrize("name", bomi.METHODS)
every_case = pytest.mark.parametrize("case", CASES)


def fresh(space, frame, method, **options):
    optimizer = Optimizer(space, method=method, seed=7, **options)
    optimizer.tell(frame)
    return optimizer


def assert_inside(space, setting):
    assert list(setting) == list(space.names)
    assert space.broken(setting) == []
    for name, value in setting.items():
        parameter = space.parameters[name]
        assert parameter.contains(value)
        np.testing.assert_allclose(parameter.snap(np.array(parameter.to_unit(value))), parameter.to_unit(value))


def is_gap(value):
    return value is None or value != value or isinstance(value, Normal | Interval) or ".." in str(value)


def gaps_of(space, frame):
    done = frame[frame["y"].notna()]
    return sorted((i, name) for i in done.index for name in space.names if is_gap(frame.loc[i, name]))


@every_case
@every_method
def test_suggestions_are_inside_the_space_and_repeat(name, case):
    space, frame = CASES[case]
    optimizer = fresh(space, frame, name)
    restarted = fresh(space, optimizer.frame(), name)
    first, second = optimizer.ask(2)
    assert_inside(space, first)
    assert_inside(space, second)
    if first.predicted is not None:
        assert math.isfinite(first.predicted.mean)
        assert 0 <= first.predicted.sd < math.inf
    for other in (fresh(space, frame, name), restarted):
        again = other.ask(2)
        assert again == [first, second]
        assert [s.predicted for s in again] == [first.predicted, second.predicted]
        assert [s.id for s in again] == [first.id, second.id]
        assert [s.note for s in again] == [first.note, second.note]


@every_case
@every_method
def test_best_and_gaps(name, case):
    space, frame = CASES[case]
    optimizer = fresh(space, frame, name)
    gaps = optimizer.gaps()
    assert sorted(zip(gaps["row"], gaps["parameter"], strict=True)) == gaps_of(space, frame)
    for _, gap in gaps.dropna(subset="mean").iterrows():
        parameter = space.parameters[gap["parameter"]]
        if parameter.kind != "categorical":
            assert parameter.low <= gap["5 %"] <= gap["50 %"] <= gap["95 %"] <= parameter.high
    if frame["y"].notna().sum() == 0:
        with pytest.raises(BomiError):
            optimizer.best()
        return
    best = optimizer.best()
    assert best.seen == frame["y"].max()
    assert best == optimizer.best()
    if best.setting is None:
        assert best.note
    else:
        assert_inside(space, best.setting)
    if best.predicted is not None:
        assert math.isfinite(best.predicted.mean)


@pytest.mark.parametrize(
    "case", ["no gap", "every row with a gap", "mixed space", "stated uncertainties", "asked values"]
)
@every_method
def test_minimizing_mirrors_maximizing(name, case):
    space, frame = CASES[case]
    up = fresh(space, frame, name)
    down = fresh(space, frame.assign(y=-frame["y"]), name, goal="minimize")
    first, second = up.ask(), down.ask()
    assert dict(first) == dict(second)
    if first.predicted is not None:
        assert second.predicted.mean == -first.predicted.mean
        assert second.predicted.sd == first.predicted.sd
    best, mirrored = up.best(), down.best()
    assert best.setting == mirrored.setting
    assert best.seen == -mirrored.seen


@dataclass(frozen=True)
class Watched:
    """An imputer that notes the tables it is given."""

    imputer: object
    seen: list[Table]

    @property
    def yields(self):
        return self.imputer.yields

    def init(self, table, rng):
        self.seen.append(table)
        return self.imputer.init(table, rng)

    def step(self, state, table, rng):
        self.seen.append(table)
        return self.imputer.step(state, table, rng)

    def completed(self, state):
        return self.imputer.completed(state)

    def draws(self, state, count, rng):
        return self.imputer.draws(state, count, rng)


@every_method
def test_a_gap_is_never_taken_for_an_observation_later(name):
    seen = []
    method = replace(bomi.METHODS[name], imputer=Watched(bomi.METHODS[name].imputer, seen))
    optimizer = Optimizer(CUBE, method=method, seed=0)
    optimizer.tell(table(CUBE, gaps=[(0, "a"), (1, "b")]))
    missed = {(0, 0), (1, 1)}
    for step in range(3):
        suggestion = optimizer.ask()
        optimizer.best()
        optimizer.gaps()
        j = step % 3
        optimizer.tell(suggestion, float(step), actual={CUBE.names[j]: None})
        missed.add((8 + step, j))
        frame = optimizer.frame()
        assert {(i, k) for i in frame.index for k in range(3) if pd.isna(frame.loc[i, CUBE.names[k]])} == missed
        optimizer.gaps()  # makes the method look at the table as it now is
        assert {tuple(place) for place in seen[-1].inputs.isnan().nonzero().tolist()} == missed
    assert len(seen) >= 3


@every_method
def test_what_was_recorded_is_the_same_in_every_world(name):
    space, frame = CASES["mixed space"]
    rows = fresh(space, frame, name).observations.done
    outcomes = torch.tensor([row.outcome for row in rows], dtype=torch.float64)
    imputer = bomi.METHODS[name].imputer
    gappy = Table.of(space, rows, outcomes)
    completed = imputer.completed(imputer.init(gappy, torch.Generator().manual_seed(0)))
    recorded = gappy.inputs if completed.rows is None else gappy.inputs[completed.rows]
    assert not completed.inputs.isnan().any()
    assert ((completed.inputs >= 0) & (completed.inputs <= 1)).all()
    for world in completed.inputs:
        assert torch.equal(world[~recorded.isnan()], recorded[~recorded.isnan()])
